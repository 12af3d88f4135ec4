"""From a run to a better one by ids alone, in the words of the command line: no name is typed twice."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config
from benchgen.errors import StateError
from benchgen.store import PlanRow
from benchgen.workspace import Workspace

pytestmark = [pytest.mark.torch, pytest.mark.slow]


@pytest.fixture
def base(tiny_model: Path, tmp_path: Path) -> Path:
    """A base of this test's own, to be changed."""
    return Path(shutil.copytree(tiny_model, tmp_path / "base"))


@pytest.fixture
def ws(tmp_path: Path, base: Path) -> Workspace:
    """A workspace in which the base has run 1 on benchmark 1."""
    ws = Workspace(tmp_path / "ws")
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=6, mix={}, categories={})
    spec.evaluation = dataclasses.replace(spec.evaluation, max_new_tokens=8)
    ws.run(ws.create(ws.author(spec)).publish(), str(base))
    return ws


def do(ws: Workspace, capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    code = cli.run([*words, f"workspace={ws.path}", "output=json"])
    told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 0, told
    return told


def test_run_plan_yes_run_again_compare(
    ws: Workspace, base: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    small = ["recipe.max_steps=2", "recipe.batch_size=2", "recipe.r=2"]
    plan = do(ws, capsys, "plan", "recipe=from_run", "run_id=1", *small)
    assert plan["base_model"] == str(base)  # the run's own, since it can be trained
    assert plan["dataset"]["mode"] == "failures"
    assert ws.jobs().is_empty()
    job = do(ws, capsys, "confirm", f"plan_id={plan['plan']}", "answer=yes")["job"]
    ws.job(job).wait()
    logs = do(ws, capsys, "logs", f"job_id={job}", "lines=9")["lines"]
    assert any(line.startswith("step 2: loss") for line in logs)
    status = do(ws, capsys, "status", f"job_id={job}")
    assert (status["state"], status["steps"]) == ("finished", 2)
    again = do(ws, capsys, "run", "benchmark_id=1", f"job_id={job}")
    assert again["model"] == status["model"]
    first, second = ws.get_run(1), ws.get_run(again["run"])
    assert first.benchmark.id == second.benchmark.id
    found = do(ws, capsys, "compare", f"runs=[1,{again['run']}]")
    assert [row["run_id"] for row in found["rows"]] == [1, again["run"]]
    assert found["rows"][1]["label"].startswith("trained on these questions")
    by_id = do(ws, capsys, "run", "benchmark_id=1", f"model_id={second.model.id}", "limit=1")
    assert by_id["model"] == status["model"]
    card = (ws.job(job).folder / "adapter" / "README.md").read_text()
    assert "trained minus base" in card


@pytest.mark.parametrize("changed", ["base", "rows", "plan"])
def test_what_changed_since_the_plan_is_refused_and_named(
    ws: Workspace, base: Path, changed: str
) -> None:
    """Between the plan and the word, or after it, while the job waits for the device."""
    plan = ws.plan("from_run", run=1, max_steps=2, batch_size=2)
    if changed == "plan":
        row = plan.row
        row.plan["hyperparameters"]["learning_rate"] = 0.5
        ws.store.change(PlanRow, plan.id, plan=row.plan)
        with pytest.raises(StateError, match="plan 1 was changed since it was shown"):
            ws.confirm(plan, "yes")
    elif changed == "rows":
        file = plan.folder / "rows.jsonl"
        file.write_text(file.read_text().replace("Answer", "Reply"))
        with pytest.raises(StateError, match="the training rows of plan 1 changed"):
            ws.confirm(plan, "yes")
    else:
        config_file = base / "config.json"
        config_file.write_text(config_file.read_text() + " ")
        with pytest.raises(StateError, match="the base model changed since the plan was made"):
            ws.confirm(plan, "yes").wait()
        assert ws.job(1).model is None
        return
    assert ws.jobs().is_empty()
