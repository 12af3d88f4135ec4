"""A benchmark asked on the way of a training: in the plan, in the worker's process, in the job's metrics."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from benchgen import config
from benchgen.errors import ConfigError, StateError
from benchgen.records import Benchmark
from benchgen.workspace import Workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        {"prompt": f"How much is {i} plus {i}?", "completion": f"Answer: {2 * i}"} for i in range(8)
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def draft(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=6, mix={}, categories={}, exclude=[])
    spec.evaluation = dataclasses.replace(spec.evaluation, max_new_tokens=8)
    return ws.create(ws.author(spec))


def test_the_plan_says_what_is_asked_and_counts_it_as_seen(
    ws: Workspace, file: Path, base_folder: Path
) -> None:
    bench = draft(ws).publish()
    stop = config.StopConfig(benchmark_id=bench.id, every=3, patience=1, limit=4)
    plan = ws.plan("lora", dataset=file, base_model=str(base_folder), stop=stop).plan
    assert plan.dataset["held_out"] == {
        "benchmark": 1,
        "name": bench.row.name,
        "questions": 4,
        "sha256": bench.row.questions_sha256,
        "every": 3,
        "patience": 1,
    }
    assert set(plan.seen) == {q.key for q in bench.questions[:4]}
    assert any("not held out" in line for line in plan.warnings)


def test_a_draft_and_senseless_settings_are_refused(
    ws: Workspace, file: Path, base_folder: Path
) -> None:
    bench = draft(ws)
    plain = config.StopConfig(benchmark_id=bench.id)
    with pytest.raises(StateError, match="only a published one"):
        ws.plan("lora", dataset=file, base_model=str(base_folder), stop=plain)
    bench.publish()
    for name in ("every", "patience", "limit"):
        stop = dataclasses.replace(plain, **{name: 0})
        with pytest.raises(ConfigError, match=f"recipe.stop.{name}"):
            ws.plan("lora", dataset=file, base_model=str(base_folder), stop=stop)
    assert ws.plans().is_empty()


@pytest.mark.slow
@pytest.mark.torch
def test_a_job_asks_it_and_stops_when_nothing_is_learned(ws: Workspace, file: Path) -> None:
    """Two steps of so small a training change no answer: the second evaluation without a gain ends it."""
    bench = draft(ws).publish()
    plan = ws.plan(
        "lora",
        dataset=file,
        base_model="smollm2_135m",
        stop=config.StopConfig(benchmark_id=bench.id, every=1, patience=1),
        max_steps=6,
        learning_rate=1e-6,
        batch_size=2,
    )
    job = ws.confirm(plan, "yes").wait()
    scores = [e["score"] for e in job.row.result["evaluations"]]
    assert job.row.result["steps"] == len(scores) == 2
    assert scores[0] == scores[1] is not None
    assert job.row.result["best_step"] == 1
    rows = job.metrics()
    assert [row["held_out_score"] for row in rows] == scores
    assert all("loss" in row for row in rows)
    assert any("of 6 held-out" in line for line in job.logs(20))
    model = job.model
    assert model is not None
    ws.run(bench, model)  # the adapter landed and runs
