"""The folder of a sweep: which jobs it has, how each ended, and what it was run with.

sweeps/NAME/sweep.json            the verb, the command lines, the jobs in the order they were named
sweeps/NAME/3/status.json         running | done | failed | stopped, seconds, result or error
sweeps/NAME/3/heartbeat.json      of its process, while it is at work
sweeps/NAME/3/made.jsonl          the records that it made so far: interrupted, it goes on with them
sweeps/NAME/3/traceback.txt       of a job that failed
sweeps/NAME/3/manifest.json       command, overrides, config, versions, commit, seconds
"""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import time
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.config import Config
from benchgen.errors import BenchgenError, ConfigError, NotFound, StateError, StoreError
from benchgen.jobs import alive, beating, record_lock
from benchgen.records.trail import Trail
from benchgen.reports import environment
from benchgen.store import read_json, write_atomic, write_json
from benchgen.types import sha256

DONE, FAILED, RUNNING, STOPPED, WAITING = "done", "failed", "running", "stopped", "waiting"
INTERRUPTED = "interrupted"
"""Its process is gone, and left no last word."""
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,79}")
ERROR_CHARS = 2_000  # of an error's line, which may quote what a model or a file said
Result = dict[str, Any]


def check_name(name: str) -> str:
    """The name, which is a folder's; ConfigError for what cannot be one."""
    if not NAME.fullmatch(name):
        raise ConfigError(
            "a sweep's name is letters, digits, dots, dashes and underscores, 80 at most",
            got=name,
            next="sweep=my-sweep",
        )
    return name


@dataclass(frozen=True)
class SweepJob:
    """One combination of a sweep."""

    job: int
    overrides: tuple[str, ...]
    folder: Path

    @property
    def status(self) -> dict[str, Any]:
        """{"state", "seconds", "result" | "error"} as its process left it."""
        path = self.folder / "status.json"
        told = dict(read_json(path)) if path.exists() else {"state": WAITING}
        if told["state"] == RUNNING and not alive(self.folder):
            told = dict(read_json(path))  # it may have ended between the two looks
            return {"state": INTERRUPTED} if told["state"] == RUNNING else told
        return told

    @property
    def state(self) -> str:
        return str(self.status["state"])

    @property
    def manifest(self) -> dict[str, Any]:
        """What it was run with; {} before it ended."""
        path = self.folder / "manifest.json"
        return dict(read_json(path)) if path.exists() else {}

    def fail(self, error: str, trace: str, seconds: float | None = None) -> None:
        """Note that it failed: one line in its status, the rest in traceback.txt."""
        write_atomic(self.folder / "traceback.txt", trace.encode("utf-8", "replace"))
        told = error.encode("utf-8", "replace").decode()[:ERROR_CHARS]
        write_json(
            self.folder / "status.json", {"state": FAILED, "seconds": seconds, "error": told}
        )


@dataclass(frozen=True)
class SweepFolder:
    """All jobs of a sweep, by its name."""

    path: Path

    @classmethod
    def of(cls, workspace: Path, name: str) -> SweepFolder:
        return cls(workspace / "sweeps" / check_name(name))

    @classmethod
    def found(cls, workspace: Path, name: str) -> SweepFolder:
        """That of a sweep that was begun; NotFound names those that were."""
        folder = cls.of(workspace, name)
        if not (folder.path / "sweep.json").exists():
            known = sorted(p.parent.name for p in (workspace / "sweeps").glob("*/sweep.json"))
            raise NotFound(
                f"there is no sweep {name!r} in this workspace",
                got=name,
                allowed=known,
                next=f"benchgen run … -m sweep={name}",
            )
        return folder

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def spec(self) -> dict[str, Any]:
        """{"verb", "commands", "jobs"}."""
        path = self.path / "sweep.json"
        return dict(read_json(path)) if path.exists() else {"commands": [], "jobs": []}

    @property
    def jobs(self) -> list[SweepJob]:
        """In the order in which they were first named."""
        return [
            SweepJob(number, tuple(told["overrides"]), self.path / str(number))
            for number, told in enumerate(self.spec["jobs"])
        ]

    def add(self, verb: str, lines: Sequence[Sequence[str]], command: str) -> list[SweepJob]:
        """The jobs of these combinations; those that the sweep has not yet become its last ones."""
        spec = self.spec
        if spec.get("verb", verb) != verb:
            raise StateError(
                f"sweep {self.name} is one of {spec['verb']}, not of {verb}",
                got=verb,
                allowed=spec["verb"],
                next="sweep=NAME of another",
            )
        known = {job_id(told["overrides"]): number for number, told in enumerate(spec["jobs"])}
        for line in lines:
            if job_id(line) not in known:
                known[job_id(line)] = len(spec["jobs"])
                spec["jobs"].append({"overrides": list(line)})
        commands = list(dict.fromkeys([*spec["commands"], command]))
        write_json(self.path / "sweep.json", {**spec, "verb": verb, "commands": commands})
        jobs = self.jobs
        return [jobs[number] for number in sorted({known[job_id(line)] for line in lines})]

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Held while its jobs are launched; StateError where another process launches them."""
        with ExitStack() as held:
            try:
                held.enter_context(record_lock(self.path))
            except StateError as error:
                raise StateError(
                    f"another process runs the sweep {self.name}", next="wait until it has ended"
                ) from error
            yield

    def results(self) -> list[Result]:
        """One a job: number, overrides, state, the ids and figures it made, or its error and traceback's path."""
        found = []
        for job in self.jobs:
            status = job.status
            told = {"job": job.job, "overrides": list(job.overrides), **status}
            if "result" in status:
                told["result"] = {k: v for k, v in status["result"].items() if _is_short(k, v)}
            if status["state"] == FAILED:
                told["traceback"] = str(job.folder / "traceback.txt")
            found.append(told)
        return found


def _is_short(name: str, value: Any) -> bool:
    return name == "runs" or (value is not None and not isinstance(value, dict | list))


def job_id(overrides: Sequence[str]) -> str:
    """What tells combinations apart: their overrides, in whatever order they were typed."""
    return sha256("\n".join(sorted(overrides)))


def sweep_name(verb: str, lines: Sequence[Sequence[str]]) -> str:
    """The name of a sweep that was given none: the same one for the same combinations."""
    return f"{verb}-{sha256(' '.join(sorted(map(job_id, lines))))[:10]}"


def as_typed(overrides: Sequence[str]) -> list[str]:
    """The overrides as a person can give them again: maps by their names, nothing that the command line adds."""
    found = []
    for override in overrides:
        key, sign, value = override.lstrip("+").partition("=")
        if key.startswith("replace."):  # a whole map, as Hydra had to be told it
            key = key.removeprefix("replace.").replace("__", ".")
        if key != "given":
            found.append(key + sign + value)
    return found


def settings_of(overrides: Sequence[str]) -> dict[str, str]:
    """{setting: value} of a job's overrides, a model of the catalogue under its name."""
    pairs = (override.partition("=") for override in as_typed(overrides))
    told = {key: value.strip("'\"") for key, _, value in pairs}
    if told.get("model") == "catalogue" and "model.name" in told:
        told["model"] = told.pop("model.name")
    return told


def work(
    job: SweepJob, command: str, commit: str, cfg: Config, act: Callable[[Trail], Result]
) -> None:
    """Do the job's work and note how it ended; what fails is noted and does not go further.

    Where an earlier process of it was interrupted, it goes on with the records that this one made.
    """
    for name in ("traceback.txt", "manifest.json"):
        (job.folder / name).unlink(missing_ok=True)
    with beating(job.folder):
        write_json(job.folder / "status.json", {"state": RUNNING})
        _work(job, command, commit, cfg, act)


def _work(
    job: SweepJob, command: str, commit: str, cfg: Config, act: Callable[[Trail], Result]
) -> None:
    started = time.monotonic()
    trail = Trail(job.folder / "made.jsonl")

    def taken() -> float:
        return round(time.monotonic() - started, 2)

    try:
        result = act(trail)
        write_json(
            job.folder / "status.json", {"state": DONE, "seconds": taken(), "result": result}
        )
    except Exception as error:  # noqa: BLE001 - one job's fault is no other job's
        job.fail(error_line(error), traceback.format_exc(), taken())
        trail.give_up()
    except BaseException:
        write_json(job.folder / "status.json", {"state": STOPPED, "seconds": taken()})
        raise
    finally:
        _write_manifest(job, command, commit, cfg, taken())


def error_line(error: BaseException) -> str:
    """What happened, on one line."""
    if isinstance(error, BenchgenError):
        return error.message
    return " ".join(f"unexpected {type(error).__name__}: {error}".split())


def _write_manifest(job: SweepJob, command: str, commit: str, cfg: Config, seconds: float) -> None:
    told: Mapping[str, Any] = {
        "command": command,
        "overrides": list(job.overrides),
        "config": dataclasses.asdict(cfg),
        "commit": commit,
        "seconds": seconds,
        **environment(),
    }
    write_json(job.folder / "manifest.json", told)


def commit_of_code() -> str:
    """The commit of the checkout that this package lies in, with "-dirty" where files differ; else empty."""
    root = Path(__file__).parents[2]
    git = shutil.which("git")
    if git is None or not (root / ".git").exists():
        return ""
    told = subprocess.run(
        [git, "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"],
        capture_output=True,
        text=True,
        check=False,
        timeout=30,
    )
    return told.stdout.strip()


def unfinished(job: SweepJob) -> bool:
    """Whether its process left no last word."""
    try:
        return job.state not in (DONE, FAILED)
    except StoreError:
        return True
