"""Sweeps of the whole loop with real trainings, one of which fails; and sweeps killed in the middle, done again."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from safetensors.numpy import load_file, save_file

from benchgen import cli, jobs
from benchgen.store import read_jsonl
from benchgen.workspace import Workspace
from tests.faults.test_kill import lines, start, wait_for
from tests.servers import Answer, Received, ScriptedServer
from tests.servers import said as said_by_model

pytestmark = [pytest.mark.torch, pytest.mark.slow]

WHOLE = "BENCHGEN_SOAK" in os.environ
"""In `make soak` two models, two recipes and three seeds: twelve jobs; else one recipe and one seed: two."""
RECIPES, SEEDS = ("1,2", "0,1,2") if WHOLE else ("1", "0")
JOBS = 12 if WHOLE else 2
LOOP = ["experiment=solar_system", "confirm=yes", "limit=3", "recipe.batch_size=2"]


@pytest.fixture
def other_model(tiny_model: Path, tmp_path: Path) -> Path:
    """The tiny model with other weights."""
    folder = tmp_path / "other"
    shutil.copytree(tiny_model, folder)
    file = folder / "model.safetensors"
    save_file({k: v * 0.5 for k, v in load_file(file).items()}, file, metadata={"format": "pt"})
    return folder


def said(
    ws: Workspace, argv: list[str], capfd: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    """(exit code, the JSON of the last line) of a command line."""
    capfd.readouterr()
    code = cli.run([*argv, f"workspace={ws.path}", "output=json"])
    told: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
    return code, told


def test_a_sweep_of_loops_with_one_job_that_fails(
    tmp_path: Path,
    tiny_model: Path,
    other_model: Path,
    capfd: pytest.CaptureFixture[str],
    soak: Callable[..., None],
) -> None:
    """All but the one are trained and measured; done again, that one goes on with its own plan and runs."""
    ws = Workspace(tmp_path / "ws")
    blocked = ws.path / "jobs" / "2"
    blocked.parent.mkdir(parents=True)
    blocked.write_text("in the way")  # of the second training
    models = f"model={tiny_model},{other_model}"
    line = ["loop", *LOOP, models, f"recipe.max_steps={RECIPES}", f"seed={SEEDS}", "-m", "sweep=s"]
    code, told = said(ws, line, capfd)
    assert (code, told["jobs"], told["done"], told["failed"]) == (1, JOBS, JOBS - 1, 1)
    (failed,) = (job for job in told["results"] if job["state"] == "failed")
    assert failed["job"] == 1
    assert "Traceback" in Path(failed["traceback"]).read_text()
    table = ws.sweep("s").table()
    assert table["state"].to_list().count("done") == JOBS - 1
    assert table["trained_score"].null_count() == 1
    assert Path(told["report"]).is_file()

    blocked.unlink()
    runs, plans = ws.runs().height, ws.plans().height
    code, again = said(ws, line, capfd)
    assert (code, again["ran"], again["done"]) == (0, [1], JOBS)
    assert ws.plans().height == plans == ws.jobs().height == JOBS  # none was planned twice
    assert (
        ws.runs().height == runs + 2
    )  # of the trained model: what was asked before was not asked again
    assert ws.sweep("s").scores().filter(role="trained")["seeds"].to_list() == [len(SEEDS.split(","))] * (
        JOBS // len(SEEDS.split(","))
    )  # fmt: skip
    seconds = [job["seconds"] for job in told["results"] if job["state"] == "done"]
    soak("sweep", jobs=JOBS, done=JOBS - 1, failed=1, redone=1, seconds_of_a_job=seconds)


def slowly(request: Received) -> Answer:
    """What a model says that takes its time."""
    return Answer(said_by_model("Answer: A", "stop").body, delay_s=0.1)


def test_a_killed_sweep_goes_on_with_its_run(tmp_path: Path) -> None:
    """SIGKILL while the second of two jobs asks its questions: they are asked once, in one run a job."""
    ws = Workspace(tmp_path / "ws")
    small = ["benchmark.count=24", "benchmark.mix={}", "benchmark.categories={}"]
    last_of(start(ws, "create", *small))
    last_of(start(ws, "publish", "benchmark_id=1"))
    log = ws.path / "runs" / "2" / "traces.jsonl"
    with ScriptedServer(slowly) as server:
        line = [
            "run", "benchmark_id=1", "model=endpoint", "model.name=far", "model.api_key_env=null",
            f"model.base_url={server.url}", "model.concurrency=1", "seed=0,1", "-m", "sweep=s",
        ]  # fmt: skip
        process = start(ws, *line)
        wait_for(lambda: len(lines(log)) > 1 or process.poll() is not None, 300)
        process.kill()
        process.communicate()
        kept = lines(log)
        assert 1 < len(kept) < 24
        assert ws.sweep("s").table()["state"].to_list() == ["done", "interrupted"]
        told = last_of(start(ws, *line))
    assert (told["ran"], told["done"]) == ([1], 2)
    assert ws.runs()["state"].to_list() == ["finished"] * 2
    assert lines(log)[: len(kept)] == kept
    assert len({json.loads(one)["key"] for one in lines(log)}) == len(lines(log)) == 24


def test_a_killed_sweep_goes_on_with_its_training(tmp_path: Path, tiny_model: Path) -> None:
    """SIGKILL of the sweep, then of the training it left behind: one plan, one job, one model in the end."""
    ws = Workspace(tmp_path / "ws")
    line = ["loop", *LOOP, f"model={tiny_model}", "recipe.max_steps=60", "recipe.save_steps=2",
            "seed=0", "-m", "sweep=s"]  # fmt: skip
    process = start(ws, *line)
    metrics = ws.path / "jobs" / "1" / "metrics.jsonl"
    wait_for(lambda: len(lines(metrics)) > 3 or process.poll() is not None, 300)
    process.kill()
    process.communicate()
    assert ws.job(1).state == "running"  # a process of its own
    heartbeat = json.loads((ws.path / "jobs" / "1" / jobs.HEARTBEAT).read_text())
    os.kill(heartbeat["pid"], signal.SIGKILL)
    wait_for(lambda: ws.job(1).state == "failed")
    before = ws.runs()
    told = last_of(start(ws, *line))
    assert (told["ran"], told["done"], told["failed"]) == ([0], 1, 0)
    assert (ws.plans().height, ws.jobs()["state"].to_list()) == (1, ["finished"])
    assert (ws.models()["kind"] == "adapter").sum() == 1
    assert ws.runs()["id"].to_list()[: before.height] == before["id"].to_list()
    assert ws.runs().height == before.height + 2
    assert ws.benchmarks().height == 3
    steps = {row["step"] for row in read_jsonl(metrics) if "loss" in row}
    assert steps == set(range(1, 61))


def last_of(process: subprocess.Popen[bytes]) -> dict[str, Any]:
    """What a command said last, once it has ended well."""
    out, _ = process.communicate()
    assert process.returncode == 0, out.decode()[-2000:]
    told: dict[str, Any] = json.loads(out.splitlines()[-1])
    return told
