"""Processes that outlive a turn: started in a session of their own, one a record, seen when dead.

A record's folder holds `lock` (held by the process that works on it, so a second one cannot) and
`heartbeat.json` (host, pid, start time of that process: a pid used again is not mistaken for it).
"""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

import psutil

from benchgen.config import cache_folder
from benchgen.errors import BenchgenError, StateError, StoreError
from benchgen.store import make_folder, read_json, write_json

LOG = "log.txt"
LOCK = "lock"
HEARTBEAT = "heartbeat.json"
BEAT_S = 5.0
SILENT_S = 60.0
_children: set[int] = set()
"""Workers that this process started and has not yet seen ended."""


def spawn(workspace: Path, record_id: int, folder: Path, module: str = "benchgen.worker") -> int:
    """The pid of a new process for this record: `python -m MODULE WORKSPACE ID`.

    It has a session of its own, so it outlives this one; its output goes to `log.txt`.
    """
    command = [sys.executable, "-m", module, str(workspace), str(record_id)]
    with (make_folder(folder) / LOG).open("ab") as log:
        # not subprocess.Popen: a worker is meant to outlive this process, which Popen warns about
        pid = os.posix_spawn(
            sys.executable,
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, log.fileno(), 2),
            ],
            setsid=True,
        )
    _children.add(pid)
    beat(folder, pid)
    return pid


def in_process(work: Callable[[], str]) -> int:
    """The exit code of a record's process: 0 after `work`, whose last words are logged; 1 where it stopped.

    The record keeps its own state; the log says why it stopped.
    """
    try:
        last = work()
    except Exception as error:  # noqa: BLE001 - whatever it is, the log must say so
        if not isinstance(error, BenchgenError):
            traceback.print_exc()
        print(f"stopped: {error}", flush=True)  # noqa: T201 - its log
        return 1
    print(last, flush=True)  # noqa: T201
    return 0


def _reap() -> None:
    """Let the system forget workers of ours that have ended."""
    for pid in list(_children):
        with suppress(ChildProcessError):
            if os.waitpid(pid, os.WNOHANG) == (0, 0):
                continue
        _children.discard(pid)


def beat(folder: Path, pid: int | None = None) -> None:
    """Write who works on this record."""
    pid = pid or os.getpid()
    try:
        started = psutil.Process(pid).create_time()
    except psutil.NoSuchProcess:
        started = 0.0
    write_json(
        folder / HEARTBEAT,
        {"host": socket.gethostname(), "pid": pid, "started": started, "beat": time.time()},
    )


@contextmanager
def beating(folder: Path) -> Iterator[None]:
    """A heartbeat every few seconds while the block runs; none is left when it ends by itself.

    A kernel that goes on after its run was interrupted is then not taken for one that still works on it.
    """
    done = threading.Event()

    def _beat() -> None:
        while not done.wait(BEAT_S):
            with suppress(
                BenchgenError
            ):  # a full disk for a moment: the next beat may come through
                beat(folder)

    beat(folder)
    thread = threading.Thread(target=_beat, daemon=True, name="heartbeat")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        (folder / HEARTBEAT).unlink(missing_ok=True)


@contextmanager
def going_on(line: str) -> Iterator[None]:
    """A KeyboardInterrupt in the block says how to go on: its text is that command line."""
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(line) from stop


def alive(folder: Path) -> bool:
    """Whether the process that last worked on this record still runs.

    On another host only the age of the heartbeat can tell: silent for a minute counts as dead.
    """
    if _process(folder) is not None:
        return True
    told = _told(folder)
    if told is None or told["host"] == socket.gethostname():
        return False
    return time.time() - float(told["beat"]) < SILENT_S


def left(folder: Path) -> bool:
    """Whether a process that worked on this record was killed: it left its heartbeat behind."""
    return (folder / HEARTBEAT).exists() and not alive(folder)


def runs_as(folder: Path, module: str) -> bool:
    """Whether the process at work on this record is one that was started for it alone: `python -m MODULE`."""
    process = _process(folder)
    try:
        return process is not None and module in process.cmdline()
    except psutil.Error:
        return False


def stop(folder: Path, grace_s: float = 10.0) -> bool:
    """True if a running process was ended, with its group where it leads one.

    Asked first, killed after `grace_s`; children that did not listen are killed once it is gone.
    """
    process = _process(folder)
    if process is None:
        return False
    leads = _group(process.pid) == process.pid
    send = os.killpg if leads else os.kill  # a run in a notebook shares the group of its server
    with suppress(ProcessLookupError, psutil.NoSuchProcess):
        send(process.pid, signal.SIGTERM)
        with suppress(psutil.TimeoutExpired):
            process.wait(grace_s)
            if not leads:
                return True
        send(process.pid, signal.SIGKILL)
        process.wait(grace_s)
    return True


def _group(pid: int) -> int | None:
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return None


def tail(folder: Path, lines: int) -> list[str]:
    """The last lines of a record's log; [] before it wrote one."""
    path = folder / LOG
    if not path.exists():
        return []
    return path.read_text(errors="replace").splitlines()[-lines:] if lines > 0 else []


@contextmanager
def record_lock(folder: Path, *, wait: bool = False) -> Iterator[None]:
    """Held while a process works on a record; StateError where another one does, unless it may `wait`."""
    with (make_folder(folder) / LOCK).open("a") as file:
        if wait:
            fcntl.flock(file, fcntl.LOCK_EX)
        elif not _try_lock(file):
            raise StateError(
                f"another process works on {folder.parent.name}/{folder.name}",
                next=f"benchgen status {folder.parent.name[:-1]}_id={folder.name}",
            )
        yield


def held(folder: Path) -> bool:
    """Whether a process of this host holds the record's lock at this moment."""
    try:
        with (folder / LOCK).open("a") as file:
            return not _try_lock(file)
    except OSError:  # no such folder, or one that only others may write to
        return False


@contextmanager
def device_lock(device: str, on_wait: Any = None) -> Iterator[None]:
    """Held while a local model uses a device of this host, over all workspaces; waits its turn.

    `on_wait()` is called once if another process has it.
    """
    folder = make_folder(cache_folder() / "locks")
    name = f"{socket.gethostname()}-{device.replace(':', '-')}.lock"  # hosts may share a home
    with (folder / name).open("a") as file:
        if not _try_lock(file):
            if on_wait is not None:
                on_wait()
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _told(folder: Path) -> dict[str, Any] | None:
    """The newest heartbeat; None where there is none, or it was removed meanwhile."""
    try:
        told: dict[str, Any] = read_json(folder / HEARTBEAT)
    except StoreError:
        return None
    return told


def _process(folder: Path) -> psutil.Process | None:
    told = _told(folder)
    if told is None or told["host"] != socket.gethostname():
        return None
    _reap()
    try:
        process = psutil.Process(told["pid"])
        same = abs(process.create_time() - told["started"]) < 1.0
        return process if same and process.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def _try_lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
