"""Processes that outlive a turn: one a record, seen when dead, ended with all that they started."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from benchgen import jobs
from benchgen.errors import StateError
from benchgen.store import read_json, write_json

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

HOLD = """
import sys, time
from pathlib import Path
from benchgen import jobs
with {lock}:
    print("held", flush=True)
    time.sleep(60)
"""
QUIET = "import sys, time; print('up', flush=True); time.sleep(60)"
# Ignores the polite signal, and has a child that does so too.
DEAF = """
import signal, subprocess, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
print(child.pid, flush=True)
time.sleep(60)
"""
# Ends at the polite signal and leaves a child behind that ignores it.
LEAVER = """
import signal, subprocess, sys, time
deaf = "import signal, time; signal.signal(15, signal.SIG_IGN); print('up', flush=True); time.sleep(60)"
child = subprocess.Popen([sys.executable, "-c", deaf], stdout=subprocess.PIPE)
child.stdout.readline()
print(child.pid, flush=True)
time.sleep(60)
"""

Start = Callable[..., tuple["subprocess.Popen[str]", str]]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts Python code in a session of its own; gives the process and its first line of output."""
    started: list[subprocess.Popen[str]] = []

    def begin(code: str, *arguments: str) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code, *arguments],
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    yield begin
    for process in started:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def gone(pid: int, within_s: float = 60.0) -> bool:
    """Whether a process ends (a zombie has ended) before that many seconds are over."""
    until = time.monotonic() + within_s
    while time.monotonic() < until:
        try:
            if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
                return True
        except psutil.NoSuchProcess:
            return True
        time.sleep(0.02)
    return False


# -------------------------------------------------------------------------------------------- locks


def test_a_record_is_worked_on_by_one_process_and_free_when_that_is_killed(
    tmp_path: Path, start: Start
) -> None:
    folder = tmp_path / "runs" / "7"
    other, said = start(HOLD.format(lock="jobs.record_lock(Path(sys.argv[1]))"), str(folder))
    assert said == "held"
    with pytest.raises(StateError) as failed, jobs.record_lock(folder):
        pass
    assert "runs/7" in failed.value.message
    assert failed.value.next == "benchgen status run_id=7"
    os.kill(other.pid, signal.SIGKILL)
    other.wait()
    with jobs.record_lock(folder):
        pass


def test_a_lock_is_free_after_its_block_even_after_an_error(tmp_path: Path) -> None:
    for _ in range(2):
        with pytest.raises(ZeroDivisionError), jobs.record_lock(tmp_path / "jobs" / "1"):
            _ = 1 / 0


def test_a_device_is_used_by_one_process_at_a_time(
    tmp_path: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Over all workspaces: the lock belongs to the machine. Another device is free meanwhile."""
    monkeypatch.setenv("BENCHGEN_CACHE", str(tmp_path / "cache"))
    other, said = start(HOLD.format(lock="jobs.device_lock('cuda:0')"))
    assert said == "held"
    waited: list[float] = []

    def end_other() -> None:
        waited.append(time.monotonic())
        os.kill(other.pid, signal.SIGKILL)

    with jobs.device_lock("cpu", on_wait=lambda: pytest.fail("another device is not waited for")):
        pass
    with jobs.device_lock("cuda:0", on_wait=end_other):
        assert len(waited) == 1  # told once, and only then waited
    names = [p.name for p in (tmp_path / "cache" / "locks").iterdir()]
    assert all(socket.gethostname() in name for name in names)  # a home may be shared by hosts


# ---------------------------------------------------------------------------------------- heartbeat


def test_a_heartbeat_names_its_process(tmp_path: Path) -> None:
    assert not jobs.alive(tmp_path)  # none yet
    with jobs.beating(tmp_path):
        told = read_json(tmp_path / jobs.HEARTBEAT)
        assert (told["pid"], told["host"]) == (os.getpid(), socket.gethostname())
        assert jobs.alive(tmp_path)


def test_the_heart_goes_on_beating(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another host knows by its age alone; one missed beat (a full disk) is not the end."""
    monkeypatch.setattr(jobs, "BEAT_S", 0.02)
    with jobs.beating(tmp_path):
        (tmp_path / jobs.HEARTBEAT).unlink()
        (tmp_path / jobs.HEARTBEAT).mkdir()  # this beat cannot be written
        time.sleep(0.1)
        (tmp_path / jobs.HEARTBEAT).rmdir()
        until = time.monotonic() + 60
        while not (tmp_path / jobs.HEARTBEAT).exists() and time.monotonic() < until:
            time.sleep(0.02)
        assert jobs.alive(tmp_path)


def test_a_dead_process_is_not_alive(tmp_path: Path, start: Start) -> None:
    process, _ = start(QUIET)
    jobs.beat(tmp_path, process.pid)
    assert jobs.alive(tmp_path)
    os.kill(process.pid, signal.SIGKILL)
    assert gone(process.pid)
    assert not jobs.alive(tmp_path)  # a zombie, not yet waited for
    process.wait()
    assert not jobs.alive(tmp_path)


def test_a_pid_used_again_is_not_mistaken_for_the_old_process(tmp_path: Path) -> None:
    jobs.beat(tmp_path)
    told = read_json(tmp_path / jobs.HEARTBEAT)
    write_json(tmp_path / jobs.HEARTBEAT, {**told, "started": told["started"] - 100})
    assert not jobs.alive(tmp_path)
    assert not jobs.stop(tmp_path)  # above all, it is not ended


@pytest.mark.parametrize(("age_s", "alive"), [(5, True), (300, False)])
def test_on_another_host_only_the_age_tells(tmp_path: Path, age_s: float, alive: bool) -> None:
    told = {"host": "elsewhere", "pid": os.getpid(), "started": 0.0, "beat": time.time() - age_s}
    write_json(tmp_path / jobs.HEARTBEAT, told)
    assert jobs.alive(tmp_path) is alive
    assert not jobs.stop(tmp_path)


# ------------------------------------------------------------------------------------ start and stop


def test_stop_ends_a_whole_group_that_does_not_listen(tmp_path: Path, start: Start) -> None:
    process, child = start(DEAF)
    jobs.beat(tmp_path, process.pid)
    assert jobs.stop(tmp_path, grace_s=0.2)
    assert gone(process.pid)
    assert gone(int(child))
    assert not jobs.alive(tmp_path)
    assert not jobs.stop(tmp_path)  # nothing is left to end


def test_stop_leaves_no_child_behind(tmp_path: Path, start: Start) -> None:
    """The leader goes at once, a data loader of its group does not listen."""
    process, child = start(LEAVER)
    jobs.beat(tmp_path, process.pid)
    assert jobs.stop(tmp_path, grace_s=5)
    assert gone(process.pid)
    assert gone(int(child))


def test_stop_ends_only_the_process_where_the_group_is_not_its_own(
    tmp_path: Path, start: Start
) -> None:
    """A run in the foreground shares its group with the shell or the notebook that began it."""
    code = "import subprocess, sys, time; p = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)']); print(p.pid, flush=True); p.wait(); time.sleep(60)"
    parent, child = start(code)
    jobs.beat(tmp_path, int(child))
    assert jobs.stop(tmp_path, grace_s=5)
    assert gone(int(child))
    assert parent.poll() is None


def test_a_worker_runs_in_a_session_of_its_own_and_writes_its_log(tmp_path: Path) -> None:
    """The real worker on a workspace without such a job: it says so in its log and is seen as dead."""
    folder = tmp_path / "jobs" / "1"
    pid = jobs.spawn(tmp_path, 1, folder)
    assert read_json(folder / jobs.HEARTBEAT)["pid"] == pid
    assert os.getsid(pid) == pid != os.getsid(0)
    until = time.monotonic() + 60
    while jobs.alive(folder) and time.monotonic() < until:
        time.sleep(0.05)
    assert not jobs.alive(folder)
    assert "job 1" in "\n".join(jobs.tail(folder, 50))


def test_the_tail_of_a_log(tmp_path: Path) -> None:
    assert jobs.tail(tmp_path, 5) == []
    (tmp_path / jobs.LOG).write_bytes(b"one\ntwo\nthr\xffee\n")
    assert jobs.tail(tmp_path, 2) == ["two", "thr\ufffdee"]
    assert jobs.tail(tmp_path, 99)[0] == "one"
    assert jobs.tail(tmp_path, 0) == jobs.tail(tmp_path, -1) == []
