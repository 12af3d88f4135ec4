"""The benchmark that a training asks on the way, to stop when it learns nothing more."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from benchgen import config
from benchgen.errors import ConfigError
from benchgen.records import Benchmark, Place
from benchgen.run.metrics import tally
from benchgen.run.runner import Task, replies
from benchgen.types import Question


def told(place: Place, stop: config.StopConfig) -> dict[str, Any] | None:
    """What a plan says of it; None where none is asked, StateError for a draft."""
    if stop.benchmark_id is None:
        return None
    for name in ("every", "patience", "limit"):
        if getattr(stop, name) < 1:
            raise ConfigError(f"recipe.stop.{name} must be at least 1", got=getattr(stop, name))
    bench = Benchmark.of(place, stop.benchmark_id)
    bench.check_published("is asked")
    return {
        "benchmark": bench.id,
        "name": bench.row.name,
        "questions": min(stop.limit, len(_kept(bench))),
        "sha256": bench.row.questions_sha256,
        "every": stop.every,
        "patience": stop.patience,
    }


def questions(place: Place, asked: dict[str, Any]) -> list[Question]:
    """Those that the plan says."""
    return _kept(Benchmark(place, asked["benchmark"]))[: asked["questions"]]


def _kept(bench: Benchmark) -> list[Question]:
    """The questions that the benchmark holds out of trainings; all of them where it marks none."""
    found = bench.questions
    return [q for q in found if q.held_out] or found


def evaluator(
    place: Place, asked: dict[str, Any], serve: Callable[[Any, Any], Any]
) -> Callable[[Any, Any], dict[str, Any]]:
    """(model, tokenizer) -> {"score", "right", "scored"}; `serve` makes a loaded model answer.

    The model is left in the mode that it was in.
    """
    bench = Benchmark(place, asked["benchmark"])
    task = Task(questions(place, asked), bench.evaluation, bench.scorer())

    def evaluate(model: Any, tokenizer: Any) -> dict[str, Any]:
        training = model.training
        model.eval()
        try:
            found = tally(trace.correct for trace in replies(task, serve(model, tokenizer)))
        finally:
            model.train(training)
        return {name: found[name] for name in ("score", "right", "scored")}

    return evaluate
