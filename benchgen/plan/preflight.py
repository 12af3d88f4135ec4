"""What a sampling pass says about GRPO before it: whether there is anything to learn from, and whether it fits."""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.plan.junk import Probe
from benchgen.run.metrics import outcomes, passes, share_right
from benchgen.run.runner import Scorer, scored
from benchgen.run.statistics import wilson
from benchgen.types import Question, Record, Trace

LEAST_MIXED = 0.30
"""Share of prompts with right and wrong replies under which GRPO has next to nothing to compare."""
MOST_CLIPPED = 0.2
MOST_UNMEASURED = 0.02
TIMED = 200
"""Replies that are scored again to time the scorer."""


@dataclass(frozen=True)
class Preflight(Record):
    """What G samples of each of some prompts showed. Shares in [0, 1], each with its 95 % interval."""

    run: int
    """Id of the run that holds the samples."""
    prompts: int
    num_generations: int
    pass_at_1: float | None
    pass_at_1_ci: tuple[float, float]
    pass_at_g: float | None
    """Share of prompts with a right reply among the G."""
    mixed: float | None
    """Share of prompts with right and wrong replies: only those move the model. None = none measured."""
    mixed_ci: tuple[float, float]
    all_right: int
    all_wrong: int
    strict: float | None
    """Share of the measured replies that are right in exactly the form asked for."""
    clipped: float
    """Share of the replies that were cut at the limit."""
    unmeasured: float
    length_mean: float
    """Tokens of a reply, its end token included."""
    length_p95: int
    scorer_ms: float
    seconds: float
    """Wall clock of the sampling, loading the model included."""
    probes: tuple[Probe, ...] = ()
    warnings: tuple[str, ...] = ()


def preflight(
    run: int,
    questions: Mapping[str, Question],
    traces: Sequence[Trace],
    scorer: Scorer,
    *,
    seconds: float,
    probes: Sequence[Probe] = (),
) -> Preflight:
    """The figures of a run's traces of these questions {key: question}; traces of others are not looked at."""
    kept = [trace for trace in traces if trace.key in questions]
    grid = outcomes(kept)
    groups = [[o for o in repeats if o is not None] for repeats in grid.values()]
    groups = [group for group in groups if len(group) > 1]
    mixed = sum(len(set(group)) == 2 for group in groups)
    measured = [trace for trace in kept if trace.correct is not None]
    generations = max((len(repeats) for repeats in grid.values()), default=0)
    right, known = share_right(grid), passes(grid)
    found = Preflight(
        run=run,
        prompts=len(grid),
        num_generations=generations,
        pass_at_1=right["score"],
        pass_at_1_ci=tuple(right["ci"]),
        pass_at_g=known[-1]["score"] if known else None,
        mixed=mixed / len(groups) if groups else None,
        mixed_ci=wilson(mixed, len(groups)),
        all_right=sum(all(group) for group in groups),
        all_wrong=sum(not any(group) for group in groups),
        strict=_share([bool(trace.strict) for trace in measured]),
        clipped=_share([trace.finish_reason == "length" for trace in kept]) or 0.0,
        unmeasured=1 - len(measured) / len(kept) if kept else 1.0,
        length_mean=round(statistics.fmean(t.tokens_out for t in kept), 1) if kept else 0.0,
        length_p95=_p95([trace.tokens_out for trace in kept]),
        scorer_ms=_scorer_ms(kept, questions, scorer),
        seconds=round(seconds, 1),
        probes=tuple(probes),
    )
    return Preflight(**{**vars(found), "warnings": tuple(warnings(found))})


def warnings(found: Preflight) -> list[str]:
    """What a person should know before GRPO, in plain words; [] where nothing speaks against it."""
    told = []
    if found.mixed is None or found.mixed < LEAST_MIXED:
        share = "none" if found.mixed is None else f"{found.mixed:.0%}"
        why, mend = _one_sided(found.all_right, found.all_wrong)
        told.append(
            f"{share} of the prompts had both right and wrong replies (at least {LEAST_MIXED:.0%} should): {why}, "
            f"and GRPO learns only from the difference; {mend}"
        )
    if found.clipped > MOST_CLIPPED:
        told.append(
            f"{found.clipped:.0%} of the replies were cut at their limit (at most {MOST_CLIPPED:.0%} should): raise "
            "recipe.grpo.max_completion_length, or start from a short SFT adapter that ends its answers"
        )
    if found.unmeasured > MOST_UNMEASURED:
        told.append(
            f"the scorer could not measure {found.unmeasured:.0%} of the replies: training stops above "
            f"{MOST_UNMEASURED:.0%}"
        )
    return told


def _one_sided(right: int, wrong: int) -> tuple[str, str]:
    """(why hardly any prompt is mixed, what mends it)."""
    if right > 2 * wrong:
        return "the model is nearly always right here", "take harder questions"
    if wrong >= 2 * right:
        mend = "start from a short SFT adapter, or take easier questions"
        return "the model is nearly always wrong here", mend
    return (
        "the model answers each question always right or always wrong",
        "raise recipe.grpo.temperature or num_generations, or take other questions",
    )


def summary_lines(found: Preflight) -> dict[str, str]:
    """{figure: value in words}, for a person to read."""
    low, high = found.mixed_ci
    return {
        "sampling pass": f"run {found.run}: {found.prompts} prompts x {found.num_generations} replies",
        "pass@1": _percent(found.pass_at_1),
        f"pass@{found.num_generations}": _percent(found.pass_at_g),
        "mixed outcomes": f"{_percent(found.mixed)} of the prompts ({low:.0%} to {high:.0%})",
        "cut replies": _percent(found.clipped),
        "tokens a reply": f"mean {found.length_mean:g}, 95th percentile {found.length_p95}",
        "scorer": f"{found.scorer_ms:.2f} ms a call",
        "junk probes": f"{len(found.probes)} kinds, none of them paid",
    }


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{share:.0%}"


def _share(flags: Sequence[bool]) -> float | None:
    return sum(flags) / len(flags) if flags else None


def _p95(lengths: Sequence[int]) -> int:
    """Nearest rank: the smallest length that 95 % do not exceed."""
    return sorted(lengths)[-(-95 * len(lengths) // 100) - 1] if lengths else 0


def _scorer_ms(traces: Sequence[Trace], questions: Mapping[str, Question], scorer: Scorer) -> float:
    """Mean milliseconds of scoring one of the replies once more."""
    timed: list[Any] = [*traces[:TIMED]]
    began = time.perf_counter()
    for trace in timed:
        scored(questions[trace.key], trace.reply, trace.finish_reason, scorer)
    return round((time.perf_counter() - began) / max(1, len(timed)) * 1000, 3)
