"""What a run's traces add up to: score, interval, and the same by category, difficulty, language, status."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

from benchgen.errors import DataError
from benchgen.run.statistics import clustered, mean_interval, pass_at_k, wilson
from benchgen.types import KINDS, STATUSES, Question, Trace

T = TypeVar("T")
Outcomes = Mapping[str, Sequence[bool | None]]
"""{question key: one outcome a repeat}; None = asked but not measured."""
BREAKDOWNS = ("category", "difficulty", "language")
"""The fields of a question by which a score is broken down."""
SHARED = ("source", "template")
"""The fields of a question that say what it was made from: those with an equal one form a cluster."""


def tally(outcomes: Iterable[bool | None]) -> dict[str, Any]:
    """{"right", "scored", "asked", "score", "ci"} of the outcomes; None = asked but not measured.

    `score` is None when nothing was scored: unmeasured is not wrong, and not right either.
    """
    counts = Counter(outcomes)
    right, scored = counts[True], counts[True] + counts[False]
    return {
        "right": right,
        "scored": scored,
        "asked": scored + counts[None],
        "score": right / scored if scored else None,
        "ci": list(wilson(right, scored)),
    }


def share_right(outcomes: Outcomes, seed: int = 0) -> dict[str, Any]:
    """`tally` of all outcomes; where a question was asked more than once, its repeats count as one.

    Then `score` is the mean over questions of their shares right, and `ci` draws whole questions,
    because replies to one question are no independent evidence; the counts are of replies.
    """
    told = tally(outcome for repeats in outcomes.values() for outcome in repeats)
    if all(len(repeats) < 2 for repeats in outcomes.values()):
        return told
    means = question_means(outcomes)
    score = math.fsum(means.values()) / len(means) if means else None
    ends, _ = mean_interval(list(means.values()), seed=seed)
    return {**told, "score": score, "ci": list(ends)}


def question_means(grid: Mapping[str, Sequence[float | None]]) -> dict[str, float]:
    """{key: mean of its measured repeats}; a question without any measured one is left out."""
    found = {}
    for key, repeats in grid.items():
        measured = [float(value) for value in repeats if value is not None]
        if measured:
            found[key] = math.fsum(measured) / len(measured)
    return found


def outcomes(traces: Iterable[Trace]) -> dict[str, list[bool | None]]:
    """{key: correct of each repeat}; of two traces of one repeat the later one holds."""
    return _grid(traces, lambda trace: trace.correct)


def values(traces: Iterable[Trace]) -> dict[str, list[float | None]]:
    """{key: value in [0, 1] of each repeat}, None where it was not measured."""
    return _grid(traces, lambda trace: None if trace.correct is None else trace.value)


def verdicts(traces: Iterable[Trace]) -> list[Trace]:
    """The traces without their texts, and without those that a later one of the same asking replaces.

    All that figures are made of, in a fraction of the memory.
    """
    found = {}
    for trace in traces:
        found[trace.key, trace.repeat] = _without_texts(trace)
    return list(found.values())


def _without_texts(trace: Trace) -> Trace:
    """The trace, itself where it is without them already: figures are made of the same ones many times."""
    if not (trace.messages or trace.reply or trace.likelihood) and trace.extracted is None:
        return trace
    return replace(trace, messages=(), reply="", extracted=None, likelihood=None)


def _grid(traces: Iterable[Trace], read: Callable[[Trace], T]) -> dict[str, list[T]]:
    told = {(trace.key, trace.repeat): read(trace) for trace in traces}
    found: dict[str, list[T]] = {}
    for (key, _), value in told.items():
        found.setdefault(key, []).append(value)
    return found


def is_graded(grid: Mapping[str, Sequence[float | None]]) -> bool:
    """Whether any value lies between 0 and 1, so that its mean says more than the share right."""
    return any(value is not None and 0 < value < 1 for row in grid.values() for value in row)


def summary(
    traces: Sequence[Trace], questions: Sequence[Question], seed: int = 0
) -> dict[str, Any]:
    """The run's figures: `share_right` of all, and what stands beside it. `seed` draws the bootstraps.

    - strict: the same for right answers in exactly the form asked for; its `scored` is 0 where the
      benchmark's program does not tell.
    - by_category, by_difficulty, by_language: the same for each group of questions.
    - by_status: replies by status; status_shares: their share of all with its interval.
    - graded: mean of values in [0, 1] with its interval and method, None where all are 0 or 1.
    - clustered: intervals for questions that share a source or a template, [] where none do.
    - pass_at_k: for k = 1, 2, 4 … repeats, [] where each question was asked once.
    - not_measured: the five most frequent reasons; questions, repeats, tokens_in, tokens_out.

    `asked` counts the replies that have a trace, so a run with a limit is not blamed for the rest.
    Traces and questions are joined by key; a trace of a question that is not among `questions` is a
    DataError, because it could not be put in any category.
    """
    by_key = {question.key: question for question in questions}
    last = verdicts(traces)
    strange = sorted({trace.key for trace in last} - by_key.keys())
    if strange:
        raise DataError(
            f"{len(strange)} of {len(last)} traces answer questions that this benchmark lacks",
            got=strange[:3],
            next="take the questions of the benchmark that the run was made on",
        )
    right = outcomes(last)
    asked = {key: by_key[key] for key in right}
    statuses = Counter(trace.status for trace in last)
    by_status = {s: statuses[s] for s in (*STATUSES, *sorted(statuses)) if statuses[s]}
    return {
        **share_right(right, seed),
        "strict": share_right(_grid(last, lambda trace: trace.strict), seed),
        **{f"by_{name}": _groups(right, asked, name, seed) for name in BREAKDOWNS},
        "by_status": by_status,
        "status_shares": _status_shares(last, by_status, seed),
        "graded": graded(values(last), seed),
        "clustered": by_shared(question_means(right), asked),
        "pass_at_k": passes(right, seed),
        "not_measured": dict(
            Counter(
                trace.reason.partition(":")[0] or trace.status
                for trace in last
                if trace.correct is None
            ).most_common(5)
        ),
        "questions": len(right),
        "repeats": max((len(repeats) for repeats in right.values()), default=0),
        "tokens_in": sum(trace.tokens_in for trace in last),
        "tokens_out": sum(trace.tokens_out for trace in last),
    }


def graded(grid: Mapping[str, Sequence[float | None]], seed: int = 0) -> dict[str, Any] | None:
    """{"mean", "ci", "n", "method"} over questions of values in [0, 1]; None where all are 0 or 1."""
    if not is_graded(grid):
        return None
    means = list(question_means(grid).values())
    ends, method = mean_interval(means, seed=seed)
    return {
        "mean": math.fsum(means) / len(means),
        "ci": list(ends),
        "n": len(means),
        "method": method,
    }


def by_shared(means: Mapping[str, float], asked: Mapping[str, Question]) -> list[dict[str, Any]]:
    """[{"by", "groups", "se", "ci", "effect"}] for each field of SHARED that questions have in common."""
    found = []
    for name in SHARED:
        groups = clusters(means, asked, name)
        told = clustered(list(means.values()), groups) if groups else None
        if told is not None:
            found.append({"by": name, **told.to_dict(), "ci": list(told.ci)})
    return found


def clusters(
    keys: Iterable[str], asked: Mapping[str, Question], name: str
) -> list[tuple[str, str]] | None:
    """The cluster of each key by that field, alone where it is empty; None where no two share one."""
    found = []
    for key in keys:
        shared = str(getattr(asked[key], name))
        found.append((name, shared) if shared else ("key", key))
    return found if len(set(found)) < len(found) else None


def passes(right: Outcomes, seed: int = 0) -> list[dict[str, Any]]:
    """[{"k", "score", "ci", "n"}] for k = 1, 2, 4 … and the number of repeats; [] without repeats.

    n = questions with k measured repeats at least; the others say nothing about k and are left out.
    """
    most = max((len(repeats) for repeats in right.values()), default=0)
    if most < 2:
        return []
    sizes = sorted({2**power for power in range(most.bit_length())} | {most})
    found = []
    for k in sizes:
        told = [
            pass_at_k(len(measured), sum(measured), k)
            for measured in ([o for o in row if o is not None] for row in right.values())
        ]
        known = [value for value in told if value is not None]
        ends, _ = mean_interval(known, seed=seed)
        score = math.fsum(known) / len(known) if known else None
        found.append({"k": k, "score": score, "ci": list(ends), "n": len(known)})
    return found


def _groups(
    right: Outcomes, asked: Mapping[str, Question], name: str, seed: int
) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Sequence[bool | None]]] = {}
    for key, repeats in right.items():
        found.setdefault(str(getattr(asked[key], name)), {})[key] = repeats
    return {group: share_right(found[group], seed) for group in sorted(found)}


def _status_shares(
    traces: Sequence[Trace], by_status: Mapping[str, int], seed: int
) -> dict[str, dict[str, Any]]:
    """{status: {"n", "share", "ci"}}: the share of all replies that have it, questions drawn whole."""
    found = {}
    for status, n in by_status.items():
        has = share_right(_grid(traces, lambda trace, status=status: trace.status == status), seed)  # type: ignore[misc]
        found[status] = {"n": n, "share": has["score"], "ci": has["ci"]}
    return found


def score_all(
    kind: str,
    predictions: Sequence[str | None],
    references: Sequence[Any],
    choices: Sequence[Sequence[str]] | None = None,
    scorer: Callable[..., Any] | None = None,
    **options: Any,
) -> dict[str, Any]:
    """`tally` of the predictions, with the share in exactly the form asked for and the mean value.

    `references` are targets as a question holds them, also as JSON text; `options` are those of the
    kind. Scored by the newest scoring program, or by `scorer`, such as a benchmark's own.
    """
    from benchgen.scoring import score

    judge = scorer or score
    offered = choices or [()] * len(predictions)
    found = [
        judge(kind, reply=reply, target=_target(kind, told), choices=list(texts) or None, **options)
        for reply, told, texts in zip(predictions, references, offered, strict=True)
    ]
    measured = [one.value for one in found if one.correct is not None and one.value is not None]
    told = tally(one.correct for one in found)
    ends, _ = mean_interval(measured)
    return {
        "accuracy": told.pop("score"),
        **told,
        "strict": tally(one.strict for one in found)["score"],
        "value": math.fsum(measured) / len(measured) if measured else None,
        "value_ci": list(ends),
    }


def _target(kind: str, told: Any) -> Any:
    """A target as the program takes it: `evaluate` carries calls, points and several texts as JSON."""
    if not isinstance(told, str):
        return told
    try:
        read = json.loads(told) if told.lstrip().startswith("[") else told
    except ValueError:
        read = told
    if kind == "tool" and read is told:
        raise DataError("a tool target is a JSON list of calls", got=told[:100])
    if kind in ("tool", "keypoints") or (read and all(isinstance(part, str) for part in read)):
        return read
    return told


def load_metric(kind: str) -> Any:
    """The `evaluate` module of that kind, read from this package: no network is asked."""
    import evaluate

    if kind not in KINDS:
        raise DataError("there is no metric of this kind", got=kind, allowed=list(KINDS))
    return evaluate.load(str(Path(__file__).parent / "evaluate" / f"benchgen_{kind}"))
