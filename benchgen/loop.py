"""The whole path, top to bottom: read this first.

author -> publish -> run -> run dataset -> plan -> confirm -> job -> model -> run -> compare -> report
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from typing import Any

from benchgen.config import HardwareConfig, LoopConfig, RecipeConfig, TrackerConfig
from benchgen.errors import ConfigError
from benchgen.plan.gate import says_yes
from benchgen.records import Benchmark, Job, PlanRecord, Run
from benchgen.store import now
from benchgen.sweeps.folder import commit_of_code
from benchgen.types import Record, sha256
from benchgen.verifying.experiment import Experiment, difference
from benchgen.workspace import Workspace


@dataclass(frozen=True)
class Settings:
    """What the loop is told beside its path: how to train, on what, from which seed."""

    recipe: RecipeConfig
    trainer: str = "auto"
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    seed: int = 0
    limit: int | None = None
    """First questions of each benchmark only, for a quick look; None = all."""
    tracker: TrackerConfig = field(default_factory=TrackerConfig)


@dataclass(frozen=True)
class Watcher:
    """Where the loop tells what happens: a stage begins, work goes on, the plan is ready."""

    stage: Callable[[str], None] = lambda name: None
    progress: Callable[[int, int], None] = lambda done, total: None
    metrics: Callable[[dict[str, Any]], None] = lambda row: None
    plan: Callable[[PlanRecord], None] = lambda plan: None


@dataclass(frozen=True)
class LoopResult(Record):
    """What the loop found. Scores in [0, 1]; `ci` is the paired 95 % interval of `delta`."""

    runs: dict[str, int]
    same: dict[str, Any]
    held_out: dict[str, Any]
    scores: dict[str, list[dict[str, Any]]]
    """{"same": rows, "held_out": rows}: score, interval and label of each model."""
    seconds: dict[str, float]
    report: str


def run_loop(
    ws: Workspace, path: LoopConfig, settings: Settings, answer: str | None, watch: Watcher
) -> LoopResult | PlanRecord:
    """The result of the whole path; the plan that waits, if `answer` was not given.

    `answer` is the person's own word on the plan, given beforehand: only `yes` trains.
    """
    for key in ("benchmark", "held_out", "student", "teacher"):
        if not getattr(path, key):
            raise ConfigError(f"the experiment says no loop.{key}", next=f"loop.{key}=NAME")
    ws.allow("publish")
    if says_yes(answer):  # before anything is asked
        ws.allow("train")
    clock = Clock(watch.stage)
    runs: dict[str, Run] = {}

    def ask(name: str, bench: Benchmark, model: str) -> Run:
        with clock.stage(f"run {model} on {bench.row.name}"):
            runs[name] = ws.run(
                bench,
                model,
                limit=settings.limit,
                seed=settings.seed,
                hardware=settings.hardware,
                progress=watch.progress,
            )
        return runs[name]

    with clock.stage("write and publish the benchmarks"):
        benches = {
            name: published(ws.create(ws.author(name)))
            for name in (path.benchmark, path.held_out, path.practice)
            if name
        }
    same, held_out = benches[path.benchmark], benches[path.held_out]
    ask("base", same, path.student)
    ask("base_held_out", held_out, path.student)
    teaching = [ask("reference", same, path.teacher)]
    if path.practice:
        teaching.append(ask("practice", benches[path.practice], path.teacher))

    with clock.stage("plan"):
        record = ws.plan(
            settings.recipe,
            run=teaching,
            mode=path.mode,
            base_model=path.student,
            trainer=settings.trainer,
            hardware=settings.hardware,
            tracker=settings.tracker,
            seed=settings.seed,
        )
    watch.plan(record)
    if answer is None:
        return record
    job = ws.confirm(record, answer)
    with clock.stage("train"):
        trained = landed(job.wait(watch.metrics))
    ask("trained", same, trained)
    ask("trained_held_out", held_out, trained)
    with clock.stage("compare and report"):
        page = ws.report(list(runs.values()), title=path.title or path.name, seconds=clock.seconds)
    result = LoopResult(
        runs={name: run.id for name, run in runs.items()},
        same=difference(runs["base"], runs["trained"]),
        held_out=difference(runs["base_held_out"], runs["trained_held_out"]),
        scores={
            "same": score_rows(ws, [runs["reference"], runs["base"], runs["trained"]]),
            "held_out": score_rows(ws, [runs["base_held_out"], runs["trained_held_out"]]),
        },
        seconds=clock.seconds,
        report=str(page),
    )
    remember(ws, path, settings, job, result)
    return result


def remember(
    ws: Workspace, path: LoopConfig, settings: Settings, job: Job, result: LoopResult
) -> None:
    """Keep beside the report what was told and found: `benchgen verify experiment=…` looks at it again."""
    told = {"loop": asdict(path), **asdict(settings)}
    Experiment(
        name=path.name,
        config=told,
        config_sha256=sha256(told),
        runs=result.runs,
        plan=job.row.plan_id,
        job=job.id,
        same=result.same,
        held_out=result.held_out,
        finished=now(),
        commit=commit_of_code(),
    ).write(ws.place)


def published(bench: Benchmark) -> Benchmark:
    """The benchmark, published: it is already where an interrupted sweep goes on."""
    return bench if bench.row.state == "published" else bench.publish()


def landed(job: Job) -> str:
    """Catalogue name of the model that a finished job made."""
    assert job.model is not None  # a finished job has one: both are set in one transaction
    return str(job.model.row.name)


def score_rows(ws: Workspace, runs: list[Run]) -> list[dict[str, Any]]:
    """One row a run: model, score, interval, counts, and what must be said beside the score."""
    return [row.to_dict() for row in ws.compare(runs).rows]


class Clock:
    """Seconds of each stage, in order."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.seconds: dict[str, float] = {}
        self._tell = tell

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Tell that a stage begins, and note how long it took."""
        self._tell(name)
        started = time.monotonic()
        yield
        self.seconds[name] = round(time.monotonic() - started, 2)
