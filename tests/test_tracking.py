"""Weights & Biases beside a job's own metrics: offline for real, continued under one id, never in the way."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchgen import tracking
from benchgen.errors import ConfigError
from benchgen.tracking import Nothing

OFFLINE = {"name": "wandb", "mode": "offline", "project": "tests", "entity": None}


def recorded(run: Path) -> list[dict[str, Any]]:
    """What W&B's own reader finds in an offline run."""
    file = next(run.glob("run-*.wandb"))
    command = [str(Path(sys.executable).parent / "wandb"), "leet", "inspect", "--json", str(file)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [json.loads(line) for line in told.splitlines() if line.startswith("{")]


def job(folder: Path, first: int) -> subprocess.CompletedProcess[str]:
    """Three steps tracked in a process of its own, as a worker is."""
    code = (
        "import sys\nfrom pathlib import Path\nfrom benchgen.tracking import tracking\n"
        f"folder = Path({str(folder)!r})\n"
        f"with tracking({OFFLINE!r}, folder, {{'name': 'm', 'lr': 0.1}}) as tracker:\n"
        f"    for step in range({first}, {first + 3}):\n"
        "        tracker.log({'step': step, 'loss': 1 / step, 'note': 'a text'})\n"
        "    tracker.table('replies', [{'prompt': 'p', 'reply': '<b>', 'right': True}])\n"
        "    (folder / 'adapter').mkdir(exist_ok=True)\n"
        "    (folder / 'adapter' / 'weights').write_text('w')\n"
        "    tracker.artifact('m', 'adapter', folder / 'adapter', {'base': 'b'})\n"
    )
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_a_job_without_a_network_is_recorded_and_its_resumption_continues_the_run(
    tmp_path: Path,
) -> None:
    for first in (1, 4):
        done = job(tmp_path, first)
        assert done.returncode == 0, done.stderr
        assert "offline" in done.stdout
    runs = sorted(p for p in (tmp_path / "wandb").glob("offline-run-*") if p.is_dir())
    assert len(runs) == 2
    rows = [[r for r in recorded(run) if "type" in r] for run in runs]
    ids = {r["run"]["run_id"] for part in rows for r in part if r["type"] == "run"}
    assert ids == {json.loads((tmp_path / "wandb.json").read_text())["id"]}
    losses = {
        r["history"]["step"]["num"]: r["history"]["item"]["loss"]
        for part in rows
        for r in part
        if r["type"] == "history" and "loss" in r["history"]["item"]
    }
    assert losses == pytest.approx({step: 1 / step for step in range(1, 7)})
    config = next(r["run"]["config"]["update"] for r in rows[0] if r["type"] == "run")
    assert config["lr"] == 0.1
    kinds = {r["artifact"]["type"] for r in rows[0] if r["type"] == "artifact"}
    assert kinds == {"run_table", "adapter"}


def test_what_fails_is_said_once_and_stops_nothing(tmp_path: Path) -> None:
    class Broken:
        def log(self, *args: Any, **kwargs: Any) -> None:
            raise OSError("the disk is full\nand more")

        def finish(self, **kwargs: Any) -> None:
            raise AssertionError("never reached")

    said: list[str] = []
    tracker = tracking._Wandb(Broken(), said.append)
    for step in range(3):
        tracker.log({"step": step, "loss": 1.0})
    tracker.artifact("a", "adapter", tmp_path, {})
    tracker.finish(failed=False)
    assert said == [
        "Weights & Biases stopped (OSError: the disk is full); metrics.jsonl has it all"
    ]


def test_a_run_that_cannot_start_is_said_and_the_job_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "wandb", None)
    said: list[str] = []
    with tracking.tracking(OFFLINE, tmp_path, {}, said.append) as tracker:
        tracker.log({"step": 1, "loss": 1.0})
    assert len(said) == 1
    assert "did not start" in said[0]


def test_none_keeps_nothing(tmp_path: Path) -> None:
    with tracking.tracking({"name": "none"}, tmp_path, {}) as tracker:
        tracker.log({"step": 1})
    assert isinstance(tracker, Nothing)
    assert list(tmp_path.iterdir()) == []


def test_an_error_of_the_job_passes_through(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Run:
        ended: int | None = None

        def finish(self, exit_code: int) -> None:
            self.ended = exit_code

    run = Run()
    monkeypatch.setattr(tracking, "_started", lambda *rest: run)

    def work() -> None:
        with tracking.tracking(OFFLINE, tmp_path, {}):
            raise ValueError("the job's own")

    with pytest.raises(ValueError, match="the job's own"):
        work()
    assert run.ended == 1


@pytest.mark.parametrize(
    ("name", "mode"), [("mlflow", "auto"), ("wandb", "sometimes"), ("wandb", "online")]
)
def test_what_cannot_be_tracked_is_refused(
    name: str, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracking, "has_key", lambda: False)
    with pytest.raises(ConfigError):
        tracking.check(name, mode)


def test_a_key_is_looked_for_and_never_read_out(tmp_path: Path) -> None:
    file = tmp_path / "netrc"
    assert not tracking.has_key({}, file)
    file.write_text("machine api.wandb.ai\n  login user\n  password secret\n")
    file.chmod(0o600)
    assert tracking.has_key({}, file)
    assert tracking.has_key({"WANDB_API_KEY": "x"}, tmp_path / "absent")
