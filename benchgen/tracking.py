"""Where a job's metrics go beside its own metrics.jsonl: nowhere, or Weights & Biases.

W&B never holds what is not also in the job's folder, and whatever happens to it, a training goes on: the
tracker says once what failed and is silent from then on. The run's id lies in the job's folder, so that a
resumed job continues the same W&B run. Online with a key, else offline: `wandb sync` uploads it later.
"""

from __future__ import annotations

import json
import netrc
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Protocol

from benchgen.errors import ConfigError

NAMES = ("none", "wandb")
MODES = ("auto", "online", "offline")
RUN = "wandb.json"
"""In a job's folder: {"id", "project", "entity", "mode"}."""
SAMPLES = 200
"""Rows of a table that are sent at most."""

Say = Callable[[str], None]


class Tracker(Protocol):
    """What a job tells as it goes."""

    def log(self, row: Mapping[str, Any]) -> None:
        """The metrics of a step; `step` counts from 1."""

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Sample replies or scores, one row each."""

    def artifact(self, name: str, kind: str, folder: Path, about: Mapping[str, Any]) -> None:
        """A folder that the job made, such as its adapter."""


class Nothing:
    """Keeps nothing beyond the job's own files."""

    def log(self, row: Mapping[str, Any]) -> None:
        """Nothing."""

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        """Nothing."""

    def artifact(self, name: str, kind: str, folder: Path, about: Mapping[str, Any]) -> None:
        """Nothing."""


class _Wandb:
    """A W&B run; the first failure is said, and ends the tracking alone."""

    def __init__(self, run: Any, say: Say) -> None:
        self.run, self.say = run, say

    def log(self, row: Mapping[str, Any]) -> None:
        told = {key: value for key, value in row.items() if key != "step" and _is_number(value)}
        self._try(lambda run: run.log(told, step=int(row["step"])))

    def table(self, name: str, rows: Sequence[Mapping[str, Any]]) -> None:
        if not rows:
            return
        columns = list(rows[0])
        data = [[_cell(row.get(column)) for column in columns] for row in rows[:SAMPLES]]

        def send(run: Any) -> None:
            import wandb

            run.log({name: wandb.Table(columns=columns, data=data)})

        self._try(send)

    def artifact(self, name: str, kind: str, folder: Path, about: Mapping[str, Any]) -> None:
        def send(run: Any) -> None:
            import wandb

            made = wandb.Artifact(name, type=kind, metadata=json.loads(json.dumps(about)))
            made.add_dir(str(folder))
            run.log_artifact(made)

        self._try(send)

    def finish(self, failed: bool) -> None:
        self._try(lambda run: run.finish(exit_code=int(failed)))

    def _try(self, act: Callable[[Any], None]) -> None:
        if self.run is None:
            return
        try:
            act(self.run)
        except Exception as error:  # noqa: BLE001 - whatever it is, the training goes on
            self.run = None
            self.say(f"Weights & Biases stopped ({_first_line(error)}); metrics.jsonl has it all")


def check(name: str, mode: str) -> None:
    """None; ConfigError for a tracker or mode that there is not, or online without a key."""
    if name not in NAMES:
        raise ConfigError(f"tracker={name} is not known", got=name, allowed=list(NAMES))
    if mode not in MODES:
        raise ConfigError(f"tracker.mode={mode} is not known", got=mode, allowed=list(MODES))
    if name == "wandb" and mode == "online" and not has_key():
        raise ConfigError(
            "tracker.mode=online needs a key of Weights & Biases",
            got="no WANDB_API_KEY and no entry in ~/.netrc",
            next="export WANDB_API_KEY=…, or tracker.mode=offline and `wandb sync` later",
        )


def has_key(environment: Mapping[str, str] = os.environ, file: Path | None = None) -> bool:
    """Whether a key of Weights & Biases is set; it is not read."""
    if environment.get("WANDB_API_KEY"):
        return True
    try:
        return any("wandb" in host for host in netrc.netrc(file or Path.home() / ".netrc").hosts)
    except (OSError, netrc.NetrcParseError, RuntimeError):
        return False


@contextmanager
def tracking(
    settings: Mapping[str, Any], folder: Path, config: Mapping[str, Any], say: Say = print
) -> Iterator[Tracker]:
    """The tracker of a job while the block runs. `settings` are name, project, entity and mode.

    `config` is what the job does, flat or nested, plain values only. Never raises for W&B's own faults.
    """
    if settings.get("name", "none") == "none":
        yield Nothing()
        return
    tracker = _Wandb(_started(settings, folder, config, say), say)
    failed = True
    try:
        yield tracker
        failed = False
    finally:
        tracker.finish(failed)


def _started(settings: Mapping[str, Any], folder: Path, config: Mapping[str, Any], say: Say) -> Any:
    """A run of W&B, continued where the folder names one; None, said once, where it cannot be had."""
    # All of it stays in the job's folder, also what waits to be uploaded.
    os.environ.setdefault("WANDB_DATA_DIR", str(folder / "wandb"))
    os.environ.setdefault("WANDB_CACHE_DIR", str(folder / "wandb" / "cache"))
    try:
        import wandb

        told = _run_of(settings, folder)
        run = wandb.init(
            id=told["id"],
            resume="allow",
            project=told["project"],
            entity=told["entity"],
            mode=told["mode"],
            name=str(config.get("name") or told["id"]),
            dir=str(folder),
            config=json.loads(json.dumps(config, default=str)),
            settings=wandb.Settings(silent=True, disable_git=True, save_code=False, console="off"),
        )
    except Exception as error:  # noqa: BLE001 - no network, a wrong key, a full disk: train all the same
        say(f"Weights & Biases did not start ({_first_line(error)}); metrics.jsonl has it all")
        return None
    where = (
        run.url
        if told["mode"] == "online"
        else f"offline; later: wandb sync {Path(run.dir).parent}"
    )
    say(f"Weights & Biases run {told['id']}: {where}")
    return run


def _run_of(settings: Mapping[str, Any], folder: Path) -> dict[str, Any]:
    """Which run this job's is: as before, or a new one, which is written down before it starts."""
    if (folder / RUN).exists():
        return dict(json.loads((folder / RUN).read_text()))
    mode = settings.get("mode", "auto")
    if mode == "auto":
        mode = "online" if has_key() else "offline"
    told = {
        "id": os.urandom(6).hex(),
        "project": settings.get("project") or "benchgen",
        "entity": settings.get("entity"),
        "mode": mode,
    }
    part = folder / f".{RUN}.part"
    part.write_text(json.dumps(told))
    part.replace(folder / RUN)
    return told


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _cell(value: Any) -> Any:
    return value if isinstance(value, (str, int, float, bool)) or value is None else str(value)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".splitlines()[0][:200]
