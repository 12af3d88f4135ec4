"""An adapter merged into its base: the same answers, whole or not at all, and a card that says what it is."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import time
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchgen import cli  # noqa: E402
from benchgen.config import HardwareConfig  # noqa: E402
from benchgen.errors import BenchgenError, ConfigError, DataError, StateError, TrainingError  # noqa: E402
from benchgen.models import catalogue  # noqa: E402
from benchgen.models.whole import weights_dtype  # noqa: E402
from benchgen.plan import gate  # noqa: E402
from benchgen.records import Job, PlanRecord  # noqa: E402
from benchgen.stages import cards, merging  # noqa: E402
from benchgen.store import JobRow, ModelRow, PlanRow  # noqa: E402
from benchgen.train import merge  # noqa: E402
from benchgen.types import Trace  # noqa: E402
from benchgen.workspace import Workspace  # noqa: E402
from tests.trained import dataset, finished, worked  # noqa: E402

pytestmark = [pytest.mark.torch, pytest.mark.slow]

FLOAT32 = HardwareConfig(device="cpu", dtype="float32", threads=1)
QUESTIONS = 6


def trained_on(base: Path, folder: Path, **hardware: Any) -> Workspace:
    """A workspace with a benchmark, and an adapter of that base trained on its worked answers (job 1)."""
    ws = Workspace(folder / "workspace")
    bench = ws.create(ws.author("solar_system_basics")).publish()
    taught = ws.run(bench, "reference", limit=QUESTIONS)
    record = ws.plan(
        "from_run", run=taught, mode="distill", base_model=str(base),
        hardware=dataclasses.replace(FLOAT32, **hardware),
        max_steps=4, batch_size=3, learning_rate=3e-2, r=4, save_steps=50,
    )  # fmt: skip
    worked(ws, record)
    return ws


@pytest.fixture(scope="module")
def made(tiny_model: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of such a workspace: each test gets a copy."""
    folder = tmp_path_factory.mktemp("made")
    base = folder / "base"
    shutil.copytree(tiny_model, base)
    trained_on(base, folder)
    return folder


@pytest.fixture
def ws(made: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(made / "workspace", tmp_path / "workspace")
    return Workspace(tmp_path / "workspace")


def plan(ws: Workspace, name: str = "tiny-merged", **asked: Any) -> PlanRecord:
    return ws.merge(1, name, **{"hardware": FLOAT32, "limit": QUESTIONS, **asked})


def nothing_landed(ws: Workspace, name: str = "tiny-merged") -> None:
    assert not (ws.path / "models" / name).exists()
    assert ws.store.all(ModelRow, ModelRow.name == name) == []


# ---------------------------------------------------------------------------------- the same answers


def test_a_merged_model_answers_as_the_adapter_on_its_base(ws: Workspace, made: Path) -> None:
    adapter = str(ws.job(1).model.row.name)  # type: ignore[union-attr]
    before = ws.run(1, adapter, limit=QUESTIONS, hardware=FLOAT32)
    record = plan(ws)
    assert record.plan.job_type == "merge"
    assert record.plan.hyperparameters["tolerance"] == 1e-4
    assert len(ws.store.all(JobRow)) == 1  # nothing has started
    job = worked(ws, record)

    agreed, asked = job.row.result["agreement"], job.row.result["benchmark"]
    assert agreed["apart"] <= 1e-5 < 0.01 < agreed["effect"]
    assert agreed["prompts"] == 8
    assert asked["same_replies"] == asked["same_verdicts"] == asked["questions"] == QUESTIONS
    assert asked["adapter"] == asked["merged"]
    low, high = asked["merged"]["ci"]
    assert 0 <= low <= high <= 1
    assert job.row.result["written"]["changed"] == 14  # 7 maps in each of 2 layers

    row = catalogue.find(ws.store, "tiny-merged")
    assert row.kind == "merged"
    after = ws.run(1, "tiny-merged", limit=QUESTIONS, hardware=FLOAT32)
    assert [t.reply for t in after.traces()] == [t.reply for t in before.traces()]
    assert catalogue.seen_keys(ws.store, row) >= {q.key for q in before.questions}
    [label] = {r.label for r in ws.compare([before, after]).rows}
    assert "trained on" in label  # a merge forgets nothing of what was seen
    assert Path(ws.report([before, after])).exists()

    again = ws.plan("lora", base_model="tiny-merged", dataset=dataset(made)).plan
    assert again.base_model == "tiny-merged"
    assert set(again.seen) == catalogue.seen_keys(ws.store, row)
    models = {r["name"]: r for r in ws.models().to_dicts()}
    assert models["tiny-merged"]["kind"] == "merged"
    assert models["tiny-merged"]["parent"] == adapter


def test_a_base_in_bfloat16_stays_one(tiny_model: Path, tmp_path: Path) -> None:
    """Rounding is part of it: within the tolerance said, far below what the adapter does."""
    from transformers import AutoModelForCausalLM

    base = tmp_path / "half"
    shutil.copytree(tiny_model, base)
    AutoModelForCausalLM.from_pretrained(tiny_model, dtype=torch.bfloat16).save_pretrained(base)
    ws = trained_on(base, tmp_path)
    for computed, tolerance in {"float32": 0.0501, "bfloat16": 0.15}.items():
        hardware = dataclasses.replace(FLOAT32, dtype=computed)
        record = plan(ws, f"half-{computed}", hardware=hardware)
        assert record.plan.hyperparameters["dtype"] == "bfloat16"
        assert record.plan.hyperparameters["tolerance"] == tolerance
        result = worked(ws, record).row.result
        assert 1e-4 < result["agreement"]["apart"] <= tolerance
        assert result["agreement"]["apart"] < result["agreement"]["effect"]
        config = json.loads((ws.path / f"models/half-{computed}/config.json").read_text())
        assert config["dtype"] == "bfloat16"


def test_an_adapter_trained_further_lands_with_its_proof_and_merges(ws: Workspace) -> None:
    first = ws.job(1)
    held = ws.create(ws.author("solar_system_sibling")).publish()
    taught = ws.run(held, "reference", limit=3)
    record = ws.plan("continue", job=1, run=taught, mode="distill", hardware=FLOAT32, max_steps=2)
    assert record.plan.hyperparameters["learning_rate"] == pytest.approx(0.3 * 3e-2)
    job = worked(ws, record)
    proof = job.row.result["continued"]
    assert proof["adapter_sha256"] == first.row.result["adapter_sha256"]
    assert proof["first_loss"] == pytest.approx(proof["parent_loss"], abs=proof["tolerance"])
    assert job.status()["continued"] == proof
    assert job.model is not None
    row = job.model.row
    assert row.parent_id == first.row.model_id
    assert catalogue.base_of(ws.store, row).kind == "base"
    seen = catalogue.seen_keys(ws.store, row)
    assert seen == set(first.plan.seen) | {q.key for q in taught.questions}
    again = ws.run(
        held, row.name, limit=2, hardware=FLOAT32
    )  # served on the base, not on the first
    assert again.state == "finished"
    merged = worked(ws, ws.merge(job, "twice-merged", hardware=FLOAT32, limit=3))
    assert merged.row.result["benchmark"]["id"] == held.id  # what it was last trained around
    card = (ws.path / "models" / "twice-merged" / "README.md").read_text()
    assert card.index("job 1, from-run") < card.index("job 2, continue")


def test_without_a_benchmark_logits_are_compared(made: Path, tmp_path: Path) -> None:
    ws = Workspace(tmp_path / "workspace")
    told: dict[str, Any] = {"max_steps": 2, "learning_rate": 3e-2, "hardware": FLOAT32}
    record = ws.plan("lora", dataset=dataset(tmp_path), base_model=str(made / "base"), **told)
    worked(ws, record)
    merged = plan(ws)
    assert merged.plan.hyperparameters["questions"] == 0
    assert any("no benchmark" in note for note in merged.plan.warnings)
    result = worked(ws, merged).row.result
    assert result["benchmark"] is None
    assert result["agreement"]["prompts"] == len(merging.NEUTRAL)


# --------------------------------------------------------------------------------- files and the card


def test_the_folder_is_a_whole_model_and_its_card_says_what_it_is(
    ws: Workspace, made: Path, tmp_path: Path
) -> None:
    base = str(made / "base")
    adapter = str(ws.job(1).model.row.name)  # type: ignore[union-attr]
    held = ws.create(ws.author("solar_system_sibling")).publish()
    for bench in (1, held):
        for name in (base, adapter):
            ws.run(bench, name, limit=3, hardware=FLOAT32)
    job = worked(ws, plan(ws))
    folder = ws.path / "models" / "tiny-merged"
    assert {f.name for f in folder.iterdir()} >= {
        "README.md", "config.json", "generation_config.json", "model.safetensors", "tokenizer.json",
        "tokenizer_config.json",
    }  # fmt: skip
    assert json.loads((folder / "generation_config.json").read_text())["eos_token_id"] == [2]
    for name in ("tokenizer.json", "tokenizer_config.json"):
        assert (folder / name).read_bytes() == (made / "base" / name).read_bytes()
    card = (folder / "README.md").read_text()
    training = ws.job(1).plan
    for told in (
        training.base["fingerprint"],
        ws.job(1).row.result["adapter_sha256"],
        training.dataset["sha256"],
        job.row.result["template_sha256"],
        *job.row.result["written"]["sha256"].values(),
        job.plan.hash,
        "transformers 5",
        "held-out",
        "seen in training",
        "paired, 95 %",
        "not known here",  # the licence of a base that does not state one
    ):
        assert told in card
    assert str(made) not in card
    assert str(tmp_path) not in card
    assert "improved" not in card.split("## Scores")[0]


def test_the_licence_is_the_bases_own(ws: Workspace, made: Path) -> None:
    row = catalogue.find(ws.store, str(made / "base"))
    assert cards.licence(ws.place, row) is None
    card = made / "base" / "README.md"
    try:
        card.write_text("---\nlicense: mit\n---\n# A model\n")
        assert cards.licence(ws.place, row) == "mit"
        card.write_text("---\nlicense: [a, b\n---\n")
        assert cards.licence(ws.place, row) is None
    finally:
        card.unlink()
    assert cards.licence(ws.place, catalogue.find(ws.store, "smollm2_135m")) == "apache-2.0"


def test_the_embedded_model_is_said_to_be_rounded(workspace_path: Path, tmp_path: Path) -> None:
    ws = Workspace(workspace_path)
    record = ws.plan("lora", dataset=dataset(tmp_path), base_model="smollm2_135m")
    finished(ws, record)
    told = ws.merge(1, "mine").plan
    assert any("Q4_1" in note and "not the published weights" in note for note in told.warnings)
    assert told.hyperparameters["dtype"] == "bfloat16"


# --------------------------------------------------------------------------- killed, and not by halves


def test_a_killed_merge_leaves_nothing_and_is_done_again(ws: Workspace) -> None:
    job = ws.confirm(plan(ws), "yes")
    deadline = time.monotonic() + 240
    while not any((job.folder / "merged").glob("*")):
        assert job.state in ("queued", "running"), job.logs()
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.kill(json.loads((job.folder / "heartbeat.json").read_text())["pid"], signal.SIGKILL)
    while job.state != "failed":
        assert time.monotonic() < deadline
        time.sleep(0.1)
    nothing_landed(ws)
    job.resume().wait()
    assert job.model is not None
    assert job.model.row.name == "tiny-merged"
    assert not (job.folder / "merged").exists()


def test_killed_between_the_folder_and_the_catalogue_it_lands_what_is_there(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = plan(ws)
    job = Job(ws.place, gate.decide(ws.store, record.id, "yes", "test").id)
    outcome = merging.run(ws.place, record.plan, job, lambda line: None)
    assert ws.store.all(ModelRow, ModelRow.name == "tiny-merged") == []
    monkeypatch.setattr(merging, "_make", None)  # would fail: nothing is made a second time
    assert merging.run(ws.place, record.plan, job, lambda line: None) == outcome
    weights = ws.path / "models" / "tiny-merged" / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(StateError, match="did not make"):
        merging.run(ws.place, record.plan, job, lambda line: None)


# ----------------------------------------------------------------------------------- what is refused


def refused(ws: Workspace, kind: type[BenchgenError], match: str, **asked: Any) -> BenchgenError:
    before = len(ws.store.all(PlanRow))
    with pytest.raises(kind, match=match) as failed:
        plan(ws, **asked)
    assert failed.value.exit_code == 2
    assert "\n" not in failed.value.message
    assert len(ws.store.all(PlanRow)) == before
    return failed.value


def test_a_name_that_is_taken(ws: Workspace) -> None:
    refused(ws, ConfigError, "there already", name=str(ws.job(1).model.row.name))  # type: ignore[union-attr]
    refused(ws, ConfigError, "there already", name="smollm2_135m")
    refused(ws, ConfigError, "cannot name", name="../out")
    plan(ws, "waiting")
    refused(ws, ConfigError, "there already", name="waiting")
    (ws.path / "models" / "foreign").mkdir(parents=True)
    refused(ws, ConfigError, "models/foreign already", name="foreign")
    with pytest.raises(ConfigError, match="needs the name"):
        ws.merge(1)


def test_a_name_taken_while_it_worked(ws: Workspace) -> None:
    record = plan(ws)
    ws.store.add(ModelRow(name="tiny-merged", kind="base", spec={"source": "org/name"}))
    with pytest.raises(StateError, match="meanwhile"):
        worked(ws, record)
    assert not (ws.path / "models" / "tiny-merged").exists()


def test_other_weights(ws: Workspace, made: Path, tmp_path: Path) -> None:
    """Planned on a base that changed since training: refused. Changed after the plan: the job fails."""
    record = plan(ws)
    file = made / "base" / "model.safetensors"
    kept = file.read_bytes()
    try:
        file.write_bytes(kept[:-4096] + bytes(4096))
        refused(ws, StateError, "not what the adapter was trained on", name="other")
        with pytest.raises(StateError, match="base model changed"):
            worked(ws, record)
    finally:
        file.write_bytes(kept)
    nothing_landed(ws)


def test_a_changed_adapter(ws: Workspace) -> None:
    record = plan(ws)
    file = ws.job(1).folder / "adapter" / "adapter_model.safetensors"
    file.write_bytes(file.read_bytes()[:-1] + b"\x01")
    with pytest.raises(StateError, match="changed since it was trained"):
        worked(ws, record)
    nothing_landed(ws)


def test_what_is_no_adapter_and_what_is_not_written(ws: Workspace, made: Path) -> None:
    with pytest.raises(ConfigError, match="not an adapter"):
        ws.merge(name="x", model=str(made / "base"))
    found = refused(ws, ConfigError, "format=gguf", form="gguf")
    assert "convert_hf_to_gguf.py" in found.next
    job = worked(ws, plan(ws))
    with pytest.raises(ConfigError, match="is a merged, not an adapter"):
        ws.merge(job, "twice")


def test_quantised_weights(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(
        '{"quantization_config": {"quant_method": "bitsandbytes"}}'
    )
    with pytest.raises(DataError, match="quantised"):
        weights_dtype(tmp_path, "small")


def test_weights_spoilt_on_the_way_do_not_land(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a merge that lost an adapter's part would: the logits tell."""
    write = merge.write_merged

    def spoil(base: Any, adapter: Any, out: Path, *rest: Any) -> Any:
        from safetensors.torch import load_file, save_file

        written = write(base, adapter, out, *rest)
        tensors = load_file(out / "model.safetensors")
        original = load_file(Path(base) / "model.safetensors")
        name = "model.layers.0.mlp.down_proj.weight"
        tensors[name] = original[name]
        save_file(tensors, out / "model.safetensors", metadata={"format": "pt"})
        return written

    monkeypatch.setattr(merge, "write_merged", spoil)
    with pytest.raises(TrainingError, match="logits differ"):
        worked(ws, plan(ws))
    nothing_landed(ws)


def test_an_adapter_that_does_nothing(ws: Workspace, tmp_path: Path, made: Path) -> None:
    from safetensors.torch import load_file, save_file

    file = ws.job(1).folder / "adapter" / "adapter_model.safetensors"
    zero = {k: torch.zeros_like(v) if "lora_B" in k else v for k, v in load_file(file).items()}
    save_file(zero, tmp_path / "adapter_model.safetensors", metadata={"format": "pt"})
    shutil.copy(file.parent / "adapter_config.json", tmp_path)
    place = merge.place_of({"kind": "cpu", "dtype": "float32"})
    with pytest.raises(TrainingError, match="changes none"):
        merge.write_merged(made / "base", tmp_path, tmp_path / "out", place, "float32", None)


def test_scores_too_far_apart_do_not_land(ws: Workspace) -> None:
    bench = ws.benchmark(1)
    questions = bench.questions[:4]

    def traces(right: int) -> Any:
        return [
            Trace(q.key, (), "x", "x", "ok", "", i < right, None) for i, q in enumerate(questions)
        ]

    settings = {"questions": 4, "answers_apart": 1}
    told = merging._scores(bench, traces(2), traces(3), settings)
    assert told is not None
    assert (told["adapter"]["right"], told["merged"]["right"], told["same_verdicts"]) == (2, 3, 3)
    with pytest.raises(TrainingError, match="at most 1 of 4"):
        merging._scores(bench, traces(1), traces(3), settings)


# ------------------------------------------------------------------------------------- by typed words


def test_by_the_command_line(ws: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    where = [f"workspace={ws.path}", "hardware.dtype=float32", "output=json"]
    assert cli.run(["merge", "job_id=1", "name=typed", *where]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["job_type"], told["name"], told["state"]) == ("merge", "typed", "pending")
    name = str(ws.job(1).model.row.name)  # type: ignore[union-attr]
    assert told["base"]["adapter"]["name"] == name  # what is merged, and what it will be called
    assert told["base"]["adapter"]["job"] == 1
    assert cli.run(["merge", f"model={name}", "name=typed-too", *where]) == 0
    assert cli.run(["confirm", f"plan_id={told['plan']}", "answer=ok", *where]) == 2
    assert cli.run(["merge", "job_id=1", *where]) == 2
    error = json.loads(capsys.readouterr().out.splitlines()[-1])["error"]
    assert "needs the name" in error["message"]
    assert len(ws.store.all(JobRow)) == 1


def test_two_plans_of_the_same_are_the_same_but_for_their_names(ws: Workspace) -> None:
    one, two = plan(ws, "one").plan, plan(ws, "two").plan
    assert dataclasses.replace(one, name="two").hash == two.hash
