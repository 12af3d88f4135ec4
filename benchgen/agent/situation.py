"""What a brain may know when it reads a message: the records by name and id, what waits, what `it` means."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchgen.errors import InputError

WAITING = ("plan", "merge", "preview", "batch", "question")
"""What can wait for the person's word."""


@dataclass(frozen=True)
class BenchmarkSeen:
    """A benchmark as lists show it."""

    id: int
    name: str
    kind: str
    questions: int
    state: str
    language: str = "en"


@dataclass(frozen=True)
class ModelSeen:
    """A model that can be named in a message."""

    name: str
    kind: str
    """base, endpoint, adapter, merged or mock."""
    trainable: bool
    """Whether it has weights here that a training can begin from."""
    base: str = ""
    """An adapter's base model."""
    job: int | None = None
    """The job that made it."""


@dataclass(frozen=True)
class RunSeen:
    """A run as lists show it."""

    id: int
    benchmark: int
    model: str
    state: str
    """queued, running, finished or failed."""
    right: int = 0
    wrong: int = 0
    done: int = 0
    total: int = 0
    error: str = ""


@dataclass(frozen=True)
class JobSeen:
    """A training or merge as lists show it."""

    id: int
    job_type: str
    """lora, grpo, continue, from-run or merge."""
    state: str
    base_model: str
    dataset: str = ""
    run: int | None = None
    mode: str = ""
    benchmark: int | None = None
    model: str = ""
    """Name of the model that it made, once it landed."""
    step: int = 0
    max_steps: int = 0
    error: str = ""


@dataclass(frozen=True)
class View:
    """Rows of a run dataset that were shown last: what `the next ten` goes on from."""

    run: int
    mode: str
    offset: int
    rows: int


@dataclass(frozen=True)
class Waiting:
    """One thing that waits for the person's word."""

    kind: str
    """plan, merge, preview, batch or question."""
    label: str
    """Its id as shown: a plan's number, or a preview's own."""
    told: dict[str, Any] = field(default_factory=dict)
    """What was shown of it: a plan's settings, a preview's name, kind and n, a question's options."""

    def __post_init__(self) -> None:
        if self.kind not in WAITING:
            raise InputError("nothing of that kind can wait", got=self.kind, allowed=WAITING)


@dataclass(frozen=True)
class Situation:
    """Everything that a message can refer to."""

    benchmarks: tuple[BenchmarkSeen, ...] = ()
    models: tuple[ModelSeen, ...] = ()
    runs: tuple[RunSeen, ...] = ()
    jobs: tuple[JobSeen, ...] = ()
    files: tuple[str, ...] = ()
    """Names of files in the workspace's `files` folder."""
    datasets: tuple[str, ...] = ()
    """Hub datasets that are known to be there."""
    waiting: tuple[Waiting, ...] = ()
    """Oldest first."""
    last_benchmark: int | None = None
    last_run: int | None = None
    last_job: int | None = None
    last_view: View | None = None
    just_created: int | None = None
    """The benchmark that the last confirmation made."""
    submitted: dict[str, Any] = field(default_factory=dict)
    """{"plan": label, "job": id} of the last plan that was confirmed."""


@dataclass(frozen=True)
class Wish:
    """What a message asks for: an intent and what was understood of it, both under the names of the contract."""

    intent: str
    arguments: dict[str, Any] = field(default_factory=dict)
    later: tuple[Wish, ...] = ()
    """What it asks for after that; done only once the first is, each with its own word of the person."""
