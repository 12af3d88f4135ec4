"""SIGKILL in the middle: nothing is asked twice, nothing is lost, no half record is left."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from benchgen import config, jobs
from benchgen.errors import StateError
from benchgen.records import Benchmark, PlanRecord
from benchgen.store import read_jsonl
from benchgen.workspace import Workspace

pytestmark = [pytest.mark.torch, pytest.mark.slow]

KILLS = int(os.environ.get("BENCHGEN_KILLS", "3"))
"""20 in `make soak`."""
QUESTIONS = 8 * KILLS


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")


@pytest.fixture
def bench(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(
        spec,
        count=QUESTIONS,
        mix={},
        categories={},
        evaluation=dataclasses.replace(spec.evaluation, max_new_tokens=24),
    )
    return ws.create(ws.author(spec)).publish()


def start(ws: Workspace, *argv: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "benchgen.cli", *argv, f"workspace={ws.path}", "output=json"]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def wait_for(true: Callable[[], bool], seconds: float = 120) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


def lines(path: Path) -> list[bytes]:
    """The whole lines of a file that may still be written."""
    data = path.read_bytes() if path.exists() else b""
    return data[: data.rfind(b"\n") + 1].splitlines()


def moved(log: Path, number: int, process: subprocess.Popen[bytes]) -> bool:
    return len(lines(log)) >= number or process.poll() is not None


def test_a_run_killed_again_and_again_asks_every_question_once(
    ws: Workspace, bench: Benchmark, tiny_model: Path, soak: Callable[..., None]
) -> None:
    log = ws.path / "runs" / "1" / "traces.jsonl"
    kept: list[bytes] = []
    command = ["run", f"benchmark_id={bench.id}", f"model={tiny_model}", "hardware.batch_rows=2"]
    kills = 0
    for kill in range(KILLS):
        more = len(kept) + 1 + kill % 3
        process = start(ws, *command)
        wait_for(partial(moved, log, more, process))
        process.kill()
        process.communicate()
        kills += 1
        found = lines(log)
        assert found[: len(kept)] == kept  # what was finished stays as it was
        kept = found
        command = ["resume", "run_id=1", "hardware.batch_rows=2"]
        if len(kept) == QUESTIONS:
            break
    assert 0 < len(kept)
    if len(kept) < QUESTIONS:
        assert ws.get_run(1).state == "interrupted"
        with pytest.raises(StateError, match="resume"):
            ws.get_run(1).dataset()
    process = start(ws, *command)
    told = json.loads(process.communicate()[0].splitlines()[-1])
    assert process.returncode == 0
    assert (told["state"], told["asked"]) == ("finished", QUESTIONS)
    assert lines(log)[: len(kept)] == kept
    keys = [json.loads(line)["key"] for line in lines(log)]
    assert sorted(keys) == sorted(q.key for q in bench.questions)
    assert ws.runs().height == 1
    soak("killed_runs", kills=kills, questions=QUESTIONS, asked_twice=0, lost=0)


NOTEBOOK = """
import sys, benchgen
benchgen.Workspace(sys.argv[1]).confirm(int(sys.argv[2]), "yes").wait()
"""


def confirmed_elsewhere(ws: Workspace, plan: PlanRecord) -> subprocess.Popen[bytes]:
    """A process that confirms the plan and waits for its job, as a notebook's kernel does."""
    command = [sys.executable, "-c", NOTEBOOK, str(ws.path), str(plan.id)]
    return subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True)


def test_notebook_killed_then_worker_killed_one_model_lands(
    ws: Workspace, bench: Benchmark, tiny_model: Path
) -> None:
    run = ws.run(bench, "reference")
    plan = ws.plan(
        "from_run",
        run=run,
        mode="distill",
        base_model=str(tiny_model),
        max_steps=16,
        save_steps=2,
        name="survivor",
    )
    notebook = confirmed_elsewhere(ws, plan)
    wait_for(lambda: ws.jobs().height == 1)
    job = ws.job(1)
    wait_for(lambda: len(job.metrics()) >= 2)
    os.killpg(notebook.pid, signal.SIGKILL)
    notebook.wait()
    left = len(job.metrics())
    wait_for(lambda: len(job.metrics()) >= left + 3)  # the job goes on without it
    pid = json.loads((job.folder / jobs.HEARTBEAT).read_text())["pid"]
    os.kill(pid, signal.SIGKILL)
    wait_for(lambda: job.state == "failed")
    assert job.logs()
    assert job.model is None
    assert "survivor" not in ws.models()["name"]
    job.resume().wait()
    assert job.model is not None
    assert (ws.models()["name"] == "survivor").sum() == 1
    steps = [row["step"] for row in read_jsonl(job.folder / "metrics.jsonl") if "loss" in row]
    assert set(steps) == set(range(1, 17))
    assert steps[-1] == 16
    assert job.row.result["steps"] == 16
    run = ws.run(bench, "survivor")
    assert run.status()["asked"] == QUESTIONS


def test_a_second_worker_is_refused(ws: Workspace, bench: Benchmark, tiny_model: Path) -> None:
    run = ws.run(bench, "reference")
    plan = ws.plan("from_run", run=run, mode="distill", base_model=str(tiny_model), max_steps=2)
    # The job's own worker waits for the device, and holds its record meanwhile.
    with jobs.device_lock(plan.plan.device["kind"]):
        job = ws.confirm(plan, "yes")
        wait_for(lambda: any("waiting for the device" in line for line in job.logs()))
        with pytest.raises(StateError, match=r"running|queued"):
            job.resume()
        second = subprocess.run(
            [sys.executable, "-m", "benchgen.worker", str(ws.path), str(job.id)],
            capture_output=True,
            text=True,
            check=False,
        )
    assert second.returncode != 0
    assert "another process" in second.stdout + second.stderr
    job.wait()
    assert job.state == "finished"
    assert ws.jobs().height == 1


def test_two_runs_at_once_both_finish(ws: Workspace, bench: Benchmark, tiny_model: Path) -> None:
    both = [
        start(ws, "run", f"benchmark_id={bench.id}", f"model={tiny_model}", "limit=4") for _ in "ab"
    ]
    told = [json.loads(p.communicate()[0].splitlines()[-1]) for p in both]
    assert [p.returncode for p in both] == [0, 0]
    assert {t["run"] for t in told} == {1, 2}
    first, second = (ws.get_run(t["run"]).traces() for t in told)
    assert [t.reply for t in first] == [t.reply for t in second]
