"""What a run's traces add up to: score, interval, and the same by category, difficulty and status."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from benchgen.errors import DataError
from benchgen.types import STATUSES, Question, Trace

Z95 = 1.959963984540054
"""97.5 % point of the standard normal distribution: a two-sided 95 % interval."""


def wilson(right: int, scored: int) -> tuple[float, float]:
    """95 % Wilson score interval of a proportion, in [0, 1]; (0, 1) when nothing was scored.

    Source: Wilson 1927; chosen over the normal interval because benchmarks here have tens of
    questions. Written out because importing scipy.stats for these five lines takes 1.5 to 3 s and
    113 MB; equal to `scipy.stats.binomtest(...).proportion_ci(method="wilson")` to 1e-15.
    """
    if not 0 <= right <= scored:
        raise DataError(
            "A score needs 0 <= right <= scored",
            got=f"right={right}, scored={scored}",
            next="count right answers among the scored ones only",
        )
    if scored == 0:
        return 0.0, 1.0
    share = right / scored
    shrink = 1 + Z95**2 / scored
    middle = (share + Z95**2 / (2 * scored)) / shrink
    half = Z95 * math.sqrt(share * (1 - share) / scored + Z95**2 / (4 * scored**2)) / shrink
    # At the edges the formula gives exactly 0 or 1; rounding must not move it inside.
    low = 0.0 if right == 0 else max(0.0, middle - half)
    high = 1.0 if right == scored else min(1.0, middle + half)
    return low, high


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


def outcomes(traces: Iterable[Trace]) -> dict[str, bool | None]:
    """{key: correct} of the traces; of two traces of one question the later one holds."""
    return {trace.key: trace.correct for trace in traces}


def summary(traces: Sequence[Trace], questions: Sequence[Question]) -> dict[str, Any]:
    """The run's figures: `tally` of all, plus strict, by_category, by_difficulty, by_status, tokens.

    `not_measured` has the five most frequent reasons. `strict` is the tally of right answers in exactly the form asked for, beside the forgiving one; its
    `scored` is 0 where the benchmark's program does not tell.
    `asked` counts the questions that have a trace, so a run with a limit is not blamed for the
    rest. Traces and questions are joined by key; a trace of a question that is not among
    `questions` is a DataError, because it could not be put in any category.
    """
    by_key = {question.key: question for question in questions}
    last = {trace.key: trace for trace in traces}
    strange = sorted(last.keys() - by_key.keys())
    if strange:
        raise DataError(
            f"{len(strange)} of {len(last)} traces answer questions that this benchmark lacks",
            got=strange[:3],
            next="take the questions of the benchmark that the run was made on",
        )
    statuses = Counter(trace.status for trace in last.values())
    return {
        **tally(trace.correct for trace in last.values()),
        "strict": tally(trace.strict for trace in last.values()),
        "by_category": _groups(last, {k: q.category for k, q in by_key.items()}),
        "by_difficulty": _groups(last, {k: q.difficulty for k, q in by_key.items()}),
        "by_status": {s: statuses[s] for s in (*STATUSES, *sorted(statuses)) if statuses[s]},
        "not_measured": dict(
            Counter(
                trace.reason.partition(":")[0] or trace.status
                for trace in last.values()
                if trace.correct is None
            ).most_common(5)
        ),
        "tokens_in": sum(trace.tokens_in for trace in last.values()),
        "tokens_out": sum(trace.tokens_out for trace in last.values()),
    }


def _groups(traces: Mapping[str, Trace], label: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    found: dict[str, list[bool | None]] = defaultdict(list)
    for key, trace in traces.items():
        found[label[key]].append(trace.correct)
    return {name: tally(found[name]) for name in sorted(found)}
