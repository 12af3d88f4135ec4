"""GRPO from the plan to the catalogue: rewarded, killed in a worker of its own, resumed, started from an adapter."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from benchgen import config, jobs
from benchgen.errors import StateError
from benchgen.records import Benchmark, PlanRecord
from benchgen.run.runner import scored
from benchgen.store import BenchmarkRow, read_jsonl
from benchgen.workspace import Workspace
from tests.trained import ended, worked

pytestmark = [pytest.mark.torch, pytest.mark.slow]

SMALL: dict[str, Any] = {
    "max_steps": 4,
    "batch_size": 4,
    "gradient_accumulation": 1,
    "r": 4,
    "alpha": 8,
    "save_steps": 1,
    "grpo": {"num_generations": 2, "max_completion_length": 6},
}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")


@pytest.fixture
def bench(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    draft = ws.author(dataclasses.replace(spec, count=6, mix={}, categories={}))
    return ws.create(draft).publish()


def plan(ws: Workspace, bench: Benchmark, base: Path | str, **more: Any) -> PlanRecord:
    return ws.plan("grpo", benchmark=bench, base_model=str(base), **{**SMALL, **more})


def test_it_lands_in_the_catalogue_is_asked_and_reported(
    ws: Workspace, bench: Benchmark, tiny_model: Path
) -> None:
    own = config.GrpoConfig(num_generations=2, max_completion_length=6)
    run, found = ws.preflight(bench, str(tiny_model), grpo=own, limit=4)
    assert (found.prompts, found.num_generations, len(run.traces())) == (4, 2, 8)
    job = ended(ws, plan(ws, bench, tiny_model, name="rewarded")).wait()
    assert job.model is not None
    assert job.model.row.name == "rewarded"
    assert set(job.model.row.seen) == {q.key for q in bench.questions}
    result = job.row.result
    assert (result["steps"], result["completions"]) == (4, 16)
    assert [row["step"] for row in job.metrics()] == [1, 2, 3, 4]
    assert "reward" in job.logs(9)[0]
    samples = read_jsonl(job.folder / "samples.jsonl")
    asked = {q.key: q for q in bench.questions}
    verdicts = [
        scored(asked[s["key"]], s["reply"], s["finish_reason"], bench.scorer()) for s in samples
    ]
    assert samples
    assert [s["reward"] for s in samples] == [v["value"] for v in verdicts]  # as a run would score
    before, after = ws.run(bench, str(tiny_model)), ws.run(bench, "rewarded")
    assert after.status()["asked"] == 6
    page = ws.report([before, after])
    text = (page.parent / "report.md").read_text()
    assert "recipe=grpo benchmark_id=1" in text
    assert "recipe.grpo.num_generations=2" in text
    assert "completions" in text


def test_killed_it_goes_on_and_lands_one_model(
    ws: Workspace, bench: Benchmark, tiny_model: Path
) -> None:
    job = ws.confirm(plan(ws, bench, tiny_model, name="survivor"), "yes")
    end = time.monotonic() + 300
    while len(job.metrics()) < 2:
        assert time.monotonic() < end
        assert job.state in ("queued", "running")
        time.sleep(0.05)
    pid = json.loads((job.folder / jobs.HEARTBEAT).read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    while job.state != "failed":
        assert time.monotonic() < end
        time.sleep(0.05)
    assert "survivor" not in ws.models()["name"]
    job.resume().wait()
    assert (ws.models()["name"] == "survivor").sum() == 1
    assert job.row.result["steps"] == 4
    assert [row["step"] for row in job.metrics()] == [1, 2, 3, 4]


def test_a_hopeless_one_fails_with_the_reason(
    ws: Workspace, bench: Benchmark, tiny_model: Path
) -> None:
    """A random model never ends its replies."""
    job = ended(ws, plan(ws, bench, tiny_model, max_steps=9))
    with pytest.raises(StateError, match="were cut at their limit"):
        job.wait()
    told = job.status()
    assert told["state"] == "failed"
    assert "max_completion_length" in told["error"]
    assert told["step"] == 5


def test_it_starts_from_a_short_sft_adapter(
    ws: Workspace, bench: Benchmark, tiny_model: Path
) -> None:
    """The way that is recommended: the adapter's shape, its questions among the seen, its base below."""
    other = dataclasses.replace(config.load_benchmark("solar_system_basics"), count=4, seed=5)
    practice = ws.create(ws.author(dataclasses.replace(other, mix={}, categories={}))).publish()
    reference = ws.run(practice, "reference")
    sft = ws.plan(
        "from_run",
        run=reference,
        mode="distill",
        base_model=str(tiny_model),
        name="short",
        max_steps=2,
        r=2,
        alpha=4,
    )
    worked(ws, sft)
    record = plan(ws, bench, "short", name="longer")
    assert record.plan.base["adapter"]["name"] == "short"
    assert record.plan.hyperparameters["r"] == 2
    assert any("its own shape" in w for w in record.plan.warnings)
    keys = {q.key for b in (bench, practice) for q in b.questions}
    assert set(record.plan.seen) == keys
    job = worked(ws, record)
    assert job.model is not None
    landed = json.loads((job.folder / "adapter" / "adapter_config.json").read_text())
    assert landed["r"] == 2
    parent = ws.store.get(type(job.model.row), job.model.row.parent_id)
    assert parent.name == "short"
    assert ws.run(bench, "longer").status()["asked"] == 6


def test_a_benchmark_that_changed_meanwhile_is_refused_by_the_worker(
    ws: Workspace, bench: Benchmark, tiny_model: Path
) -> None:
    record = plan(ws, bench, tiny_model)
    ws.store.change(BenchmarkRow, bench.id, program_sha256="0" * 64)
    with pytest.raises(StateError, match="program_sha256 is another"):
        worked(ws, record)
