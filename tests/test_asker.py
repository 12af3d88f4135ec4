"""Runs in a process of their own: begun without waiting, killed at any moment, gone on with."""

from __future__ import annotations

import dataclasses
import os
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgen import config
from benchgen.errors import StateError
from benchgen.records import Benchmark, Run
from benchgen.store import read_json
from benchgen.workspace import Workspace
from tests.servers import Answer, Received, ScriptedServer, said

pytestmark = pytest.mark.slow
PATIENCE_S = 120.0


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


def published(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=6, mix={}, categories={}, exclude=[])
    return ws.create(ws.author(spec)).publish()


def until(holds: Callable[[], bool], run: Run) -> None:
    end = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < end, (run.state, run.logs(20))
        time.sleep(0.05)


def test_a_run_goes_on_without_whoever_began_it(ws: Workspace) -> None:
    run = ws.begin_run(published(ws), "reference", limit=4)
    ws.run_in_background(run)
    assert run.state in ("queued", "running", "finished")
    assert "is being asked" in Path(run.link).read_text()
    until(lambda: run.logs(1) == [f"run {run.id} is finished"], run)
    assert (run.score, run.summary["asked"]) == (1.0, 4)
    assert "is being asked" not in Path(run.link).read_text()
    assert ws.run_in_background(run).state == "finished"


def test_a_killed_run_is_seen_and_asks_nothing_twice(ws: Workspace) -> None:
    asked: list[str] = []
    slow = True

    def answer(received: Received) -> Answer:
        asked.append(received.prompt)
        if slow and len(asked) > 2:
            time.sleep(30)
        return said("Answer: nothing known")

    bench = published(ws)
    with ScriptedServer(answer) as server:
        option = config.ModelConfig(
            name="served", kind="endpoint", base_url=server.url, max_retries=0, concurrency=1
        )
        run = ws.run_in_background(ws.begin_run(bench, option))
        until(lambda: len(run.traces()) == 2, run)
        with pytest.raises(StateError, match="under way"):
            ws.run_in_background(run)
        os.kill(read_json(run.folder / "heartbeat.json")["pid"], signal.SIGKILL)
        until(lambda: run.state == "interrupted", run)
        slow = False
        before = set(asked[:2])
        del asked[:]
        ws.run_in_background(run)
        until(lambda: run.state == "finished", run)
        assert not before & set(asked)
    assert run.summary["asked"] == 6


def test_a_run_that_fails_says_why(ws: Workspace) -> None:
    run = ws.begin_run(published(ws), "owner/model-that-is-not-here")
    ws.run_in_background(run)
    until(lambda: run.state == "failed", run)
    assert run.row.error
    until(lambda: "stopped" in "\n".join(run.logs(5)), run)  # said after it is recorded
    assert "resume" in run.status()["next"]
