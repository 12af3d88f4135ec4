"""What a plan that starts from an adapter says, and when it refuses to start from one."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli
from benchgen.config import load_recipe
from benchgen.errors import BenchgenError, ConfigError, NotFound, StateError
from benchgen.models import catalogue
from benchgen.records import Job
from benchgen.stages import parents
from benchgen.store import JobRow, PlanRow
from benchgen.workspace import Workspace
from tests.trained import dataset, finished, planned

pytestmark = pytest.mark.slow


@pytest.fixture
def ws(workspace_path: Path) -> Workspace:
    return Workspace(workspace_path)


@pytest.fixture
def job(ws: Workspace, base_folder: Path) -> Job:
    """A finished training with settings that are nobody's default."""
    record = planned(
        ws, base_folder, r=4, alpha=12, learning_rate=2e-4, max_steps=30, batch_size=2, dropout=0.05
    )
    return finished(ws, record, seen=["k1", "k2"])


def settings(ws: Workspace, job: Job, tmp_path: Path, **asked: Any) -> dict[str, Any]:
    record = ws.plan("continue", job=job, dataset=dataset(tmp_path), **asked)
    return record.plan.hyperparameters


def test_everything_is_as_before_but_a_lower_learning_rate(
    ws: Workspace, job: Job, tmp_path: Path
) -> None:
    before = ws.store.get(PlanRow, job.row.plan_id).plan["hyperparameters"]
    assert settings(ws, job, tmp_path) == {**before, "learning_rate": 6e-5}
    [plan] = [r for r in ws.store.all(PlanRow) if r.plan["job_type"] == "continue"]
    assert plan.plan["base"]["adapter"]["name"] == job.model.row.name  # type: ignore[union-attr]
    assert plan.plan["base"]["adapter"]["job"] == job.id
    assert plan.plan["seen"] == ["k1", "k2"]  # of the lineage
    assert any("0.3 of the earlier" in note for note in plan.plan["warnings"])
    assert len(ws.store.all(JobRow)) == 1  # nothing started


def test_what_is_given_holds_also_where_it_is_the_default(
    ws: Workspace, job: Job, tmp_path: Path
) -> None:
    found = settings(ws, job, tmp_path, learning_rate=1e-3, batch_size=8, epochs=2.0)
    assert (found["learning_rate"], found["batch_size"], found["epochs"]) == (1e-3, 8, 2.0)
    assert found["max_steps"] == -1  # the earlier cap would override the epochs


def test_another_shape_is_told_and_not_had(ws: Workspace, job: Job, tmp_path: Path) -> None:
    record = ws.plan("continue", job=job, dataset=dataset(tmp_path), r=64, targets="q_proj")
    assert record.plan.hyperparameters["r"] == 4
    assert record.plan.hyperparameters["alpha"] == 12
    assert record.plan.hyperparameters["targets"] == "all-linear"
    [note] = [w for w in record.plan.warnings if "cannot be had" in w]
    assert "r=64" in note
    assert "targets=q_proj" in note
    assert "r=4" in note


def test_by_the_command_line(
    ws: Workspace, job: Job, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is typed counts as given, at its default too; shown with the adapter's name."""
    told = [f"workspace={ws.path}", f"job_id={job.id}", f"dataset={dataset(tmp_path)}"]
    assert (
        cli.run(["plan", "recipe=continue", "recipe.learning_rate=1e-3", *told, "output=json"]) == 0
    )
    made = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert made["job_type"] == "continue"
    assert made["hyperparameters"]["learning_rate"] == 1e-3
    assert made["hyperparameters"]["batch_size"] == 2
    assert made["base"]["adapter"]["job"] == job.id
    assert cli.run(["plan", "recipe=continue", *told]) == 0
    assert f"of job {job.id}" in capsys.readouterr().out
    assert cli.run(["plan", "recipe=lora", "given=[r]", *told]) == 2


def test_an_adapter_can_be_named_instead_of_its_job(
    ws: Workspace, job: Job, tmp_path: Path
) -> None:
    name = str(job.model.row.name)  # type: ignore[union-attr]
    by_name = ws.plan("continue", base_model=name, dataset=dataset(tmp_path), name="one").plan
    by_job = ws.plan("continue", job=job, dataset=dataset(tmp_path), name="two").plan
    assert by_name.base == by_job.base


def test_the_lineage_is_walked_through(ws: Workspace, job: Job, tmp_path: Path) -> None:
    record = ws.plan("continue", job=job, dataset=dataset(tmp_path))
    second = finished(ws, record, seen=list(record.plan.seen))
    third = ws.plan("continue", job=second, dataset=dataset(tmp_path)).plan
    assert third.hyperparameters["learning_rate"] == pytest.approx(0.3 * 0.3 * 2e-4)
    assert third.seen == ("k1", "k2")
    assert third.base["adapter"]["job"] == second.id


def test_after_grpo_the_recipes_own_settings_hold(ws: Workspace, job: Job, tmp_path: Path) -> None:
    """Its learning rate and steps are of another kind: 0.3 of them would train next to nothing."""
    parent = parents.parent_of(ws.place, job, None)
    settings = {**parent.plan.hyperparameters, "learning_rate": 1e-5}
    grpo = dataclasses.replace(parent.plan, job_type="grpo", hyperparameters=settings)
    parent = dataclasses.replace(parent, plan=grpo)
    recipe, notes = parents.recipe_from(parent, load_recipe("continue"), {})
    assert recipe.learning_rate == pytest.approx(0.3 * 1e-3)
    assert (recipe.max_steps, recipe.batch_size, recipe.r, recipe.alpha) == (-1, 8, 4, 12)
    assert any("grpo" in note for note in notes)


def test_lora_on_an_adapter_names_the_recipe_that_goes_on(
    ws: Workspace, job: Job, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"recipe=continue job_id={job.id}"):
        ws.plan("lora", base_model=job.model.row.name, dataset=dataset(tmp_path))  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------ what is refused


def refused(kind: type[BenchgenError], match: str, ws: Workspace, tmp_path: Path, **asked: Any) -> BenchgenError:  # fmt: skip
    plans = len(ws.store.all(PlanRow))
    with pytest.raises(kind, match=match) as failed:
        ws.plan("continue", dataset=dataset(tmp_path), **asked)
    assert "\n" not in failed.value.message
    assert failed.value.next
    assert len(ws.store.all(PlanRow)) == plans
    return failed.value


def test_a_job_that_has_not_finished(ws: Workspace, job: Job, tmp_path: Path) -> None:
    ws.store.change(JobRow, job.id, state="stopped")
    refused(StateError, f"job {job.id} is stopped", ws, tmp_path, job=job)


def test_an_adapter_that_is_gone(ws: Workspace, job: Job, tmp_path: Path) -> None:
    shutil.rmtree(job.folder / "adapter")
    refused(NotFound, "is gone", ws, tmp_path, job=job)


def test_an_adapter_whose_weights_changed(ws: Workspace, job: Job, tmp_path: Path) -> None:
    file = job.folder / "adapter" / "adapter_model.safetensors"
    data = bytearray(file.read_bytes())
    data[-1] ^= 1
    file.write_bytes(data)
    refused(StateError, "changed since it was trained", ws, tmp_path, job=job)


def test_an_adapter_whose_scale_changed(ws: Workspace, job: Job, tmp_path: Path) -> None:
    file = job.folder / "adapter" / "adapter_config.json"
    file.write_text(file.read_text().replace('"lora_alpha": 12', '"lora_alpha": 120'))
    refused(StateError, "alpha", ws, tmp_path, job=job)


def test_a_base_that_is_gone(ws: Workspace, job: Job, tmp_path: Path, base_folder: Path) -> None:
    shutil.rmtree(base_folder)
    refused(NotFound, "weights of model .* are gone", ws, tmp_path, job=job)


@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_base_that_changed(
    ws: Workspace, job: Job, tmp_path: Path, base_folder: Path, file: str
) -> None:
    path = base_folder / file
    path.write_bytes(path.read_bytes() + b" ")
    refused(StateError, "not what the adapter was trained on", ws, tmp_path, job=job)


def test_a_model_that_is_no_adapter(
    ws: Workspace, job: Job, tmp_path: Path, base_folder: Path
) -> None:
    refused(ConfigError, "is a base, not an adapter", ws, tmp_path, base_model=str(base_folder))
    refused(ConfigError, "no adapter is named", ws, tmp_path)


# ------------------------------------------------------------------------- wrong plans of any training


def _no_weights(folder: Path) -> None:
    (folder / "model.safetensors").unlink()


def _half_the_weights(folder: Path) -> None:
    parts = {"weight_map": {"a": "model.safetensors", "b": "model-2.safetensors"}}
    (folder / "model.safetensors.index.json").write_text(json.dumps(parts))


def _no_tokenizer(folder: Path) -> None:
    (folder / "tokenizer.json").unlink()


def _foreign_tokenizer(folder: Path) -> None:
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 1}))


def _no_folder(folder: Path) -> None:
    shutil.rmtree(folder)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (_no_weights, "no weights"),
        (_half_the_weights, "not whole: 1 of 2"),
        (_no_tokenizer, "no tokenizer"),
        (_foreign_tokenizer, "does not know"),
        (_no_folder, "not in the catalogue"),
    ],
)
def test_a_base_that_cannot_be_trained(
    ws: Workspace, base_folder: Path, spoil: Any, match: str
) -> None:
    file = dataset(base_folder.parent)
    spoil(base_folder)
    with pytest.raises(BenchgenError, match=match) as failed:
        ws.plan("lora", dataset=file, base_model=str(base_folder))
    assert failed.value.exit_code == 2
    assert "\n" not in failed.value.message
    assert ws.store.all(PlanRow) == []


@pytest.mark.parametrize(
    ("asked", "match"),
    [
        ({"dataset": "nowhere.jsonl"}, "no file"),
        ({"dataset": "empty.jsonl"}, "no rows"),
        ({"max_steps": 0}, "max_steps"),
        ({"name": "taken"}, "there already"),
        ({"name": "smollm2_135m"}, "there already"),
        ({"base_model": None}, "base model"),
    ],
)
def test_a_plan_that_cannot_be_made(
    ws: Workspace, base_folder: Path, asked: dict[str, Any], match: str
) -> None:
    planned(ws, base_folder, name="taken")
    (base_folder.parent / "empty.jsonl").write_text("")
    told: dict[str, Any] = {"dataset": "rows.jsonl", "base_model": str(base_folder), **asked}
    told["dataset"] = base_folder.parent / told["dataset"]
    with pytest.raises(BenchgenError, match=match) as failed:
        ws.plan("lora", **told)
    assert failed.value.exit_code == 2
    assert "\n" not in failed.value.message
    assert len(ws.store.all(PlanRow)) == 1


def test_a_base_gone_after_the_adapter_is_said_when_it_is_asked(
    ws: Workspace, job: Job, base_folder: Path
) -> None:
    shutil.rmtree(base_folder)
    row = job.model.row  # type: ignore[union-attr]
    with pytest.raises(NotFound, match="are gone"):
        catalogue.weights(catalogue.base_of(ws.store, row), ws.path)
