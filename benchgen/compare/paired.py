"""The honest comparison: runs joined on question keys, and never a claim without its interval.

Two models that answer the same questions are compared question by question. What counts are the
questions on which they differ: wins (only the second is right) and losses (only the first is).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from benchgen.errors import InputError
from benchgen.run.metrics import Z95, outcomes, summary, wilson
from benchgen.types import Question, Record, Trace

Z80 = 0.8416212335729143
"""80 % point of the standard normal distribution: the power asked of the smallest difference."""

IMPROVED, WORSE, UNCLEAR = "improved", "worse", "not distinguishable"


@dataclass(frozen=True)
class PairedResult(Record):
    """Two runs, a then b, on the questions that both have scored."""

    n: int
    """Questions scored in both."""
    unpaired: int
    """Questions asked for but scored in only one of the two or in none."""
    right_a: int
    right_b: int
    delta: float | None
    """Share right of b minus that of a, in [-1, 1]; None when n is 0."""
    ci: tuple[float, float]
    """95 % interval of `delta`; (-1, 1) when n is 0."""
    wins: int
    losses: int
    p: float
    """Exact McNemar test, two-sided."""
    smallest: float | None
    """Smallest difference that this many questions can show; None = not even 1."""
    verdict: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "ci", (self.ci[0], self.ci[1]))

    @property
    def score_a(self) -> float | None:
        return self.right_a / self.n if self.n else None

    @property
    def score_b(self) -> float | None:
        return self.right_b / self.n if self.n else None

    @property
    def borderline(self) -> bool:
        """The interval excludes zero but the exact test does not reach 5 %: said wherever it is so."""
        return self.verdict != UNCLEAR and self.p >= 0.05


def paired(
    a: Mapping[str, bool | None],
    b: Mapping[str, bool | None],
    keys: Iterable[str] | None = None,
) -> PairedResult:
    """The paired comparison of two runs' {key: correct}, b against a, on `keys` or on all of them.

    Only questions that both runs have scored count; the rest are told as `unpaired`.
    """
    wanted = set(a) | set(b) if keys is None else set(keys)
    pairs = [(a.get(key), b.get(key)) for key in wanted]
    scored = [pair for pair in pairs if None not in pair]
    n = len(scored)
    wins, losses = scored.count((False, True)), scored.count((True, False))
    right_both = scored.count((True, True))
    interval = newcombe(right_both, wins, losses, n - right_both - wins - losses)
    return PairedResult(
        n=n,
        unpaired=len(pairs) - n,
        right_a=right_both + losses,
        right_b=right_both + wins,
        delta=(wins - losses) / n if n else None,
        ci=interval,
        wins=wins,
        losses=losses,
        p=mcnemar(wins, losses),
        smallest=smallest_difference(n, wins + losses),
        verdict=_verdict(interval),
    )


def _verdict(ci: tuple[float, float]) -> str:
    if ci[0] > 0:
        return IMPROVED
    return WORSE if ci[1] < 0 else UNCLEAR


def newcombe(both: int, wins: int, losses: int, neither: int) -> tuple[float, float]:
    """95 % interval of the difference of two paired proportions, second minus first, in [-1, 1].

    Source: Newcombe 1998, Statistics in Medicine 17:2635-2650, method 10: the Wilson limits of the
    two proportions put together with the correlation phi, which is continuity-corrected when it is
    positive. Simulated over 300 truths each for n = 30, 60 and 120: mean coverage 0.964, 0.959,
    0.955, smallest 0.92; false alarms at no difference at most 0.061. Tango's score interval covers
    as well, but calls four wins and no loss of 30 (exact p = 0.125) a difference.
    """
    n = both + wins + losses + neither
    if n == 0:
        return -1.0, 1.0
    right_a, right_b = both + losses, both + wins
    p_a, p_b = right_a / n, right_b / n
    low_a, high_a = wilson(right_a, n)
    low_b, high_b = wilson(right_b, n)
    phi = _phi(both, wins, losses, neither)
    below = _joined(p_b - low_b, high_a - p_a, phi)
    above = _joined(high_b - p_b, p_a - low_a, phi)
    delta = (wins - losses) / n
    return max(-1.0, delta - below), min(1.0, delta + above)


def _phi(both: int, wins: int, losses: int, neither: int) -> float:
    n = both + wins + losses + neither
    margins = (both + losses) * (wins + neither) * (both + wins) * (losses + neither)
    if margins == 0:
        return 0.0
    cross = both * neither - wins * losses
    corrected = max(cross - n / 2, 0.0) if cross > 0 else float(cross)
    return corrected / math.sqrt(margins)


def _joined(one: float, other: float, phi: float) -> float:
    return math.sqrt(max(0.0, one**2 - 2 * phi * one * other + other**2))


def mcnemar(wins: int, losses: int) -> float:
    """Two-sided p of the exact McNemar test: the binomial tail of wins among wins + losses at 1/2."""
    n = wins + losses
    tail = sum(math.comb(n, k) for k in range(min(wins, losses) + 1))
    return min(1.0, 2 * tail / (1 << n))  # integers up to the last division: exact for any n


def smallest_difference(n: int, discordant: int) -> float | None:
    """Smallest true difference in (0, 1] that n paired questions show with 80 % power at two-sided 5 %.

    Solves sqrt(n) d = z95 sqrt(psi) + z80 sqrt(psi - d^2) for d (Miettinen 1968; Connor 1987,
    Biometrics 43:207-211), where psi is the share of questions on which the two differ: the
    observed one, but at least d, because a difference of d needs that many. None = not even a
    difference of 1 would show.
    """
    if n == 0:
        return None
    observed = discordant / n

    def lacks(d: float) -> bool:
        psi = max(observed, d)
        return math.sqrt(n) * d < Z95 * math.sqrt(psi) + Z80 * math.sqrt(max(0.0, psi - d * d))

    if lacks(1.0):
        return None
    low, high = 0.0, 1.0
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if lacks(middle) else (low, middle)
    return high


def split_by_seen(
    keys: Iterable[str], seen: Iterable[str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(same, held_out): the keys that training has seen and those it has not, each in given order."""
    known = frozenset(seen)
    ordered = tuple(dict.fromkeys(keys))
    return (
        tuple(key for key in ordered if key in known),
        tuple(key for key in ordered if key not in known),
    )


@dataclass(frozen=True)
class RunView:
    """All that a comparison or a page needs to know about one run."""

    run_id: int
    model: str
    model_kind: str
    """base | adapter | endpoint | merged | reference (answers with the author's worked answers)"""
    benchmark_id: int
    benchmark: str
    """The benchmark's name."""
    program_sha256: str
    evaluation_sha256: str
    questions: tuple[Question, ...]
    traces: tuple[Trace, ...]
    seen: frozenset[str] = frozenset()
    """Keys of every question that the model or one it descends from was trained around."""
    link: str = ""

    @property
    def is_reference(self) -> bool:
        return self.model_kind == "reference"


@dataclass(frozen=True)
class ScoreRow(Record):
    """One run's score on one part of its questions."""

    run_id: int
    model: str
    model_kind: str
    benchmark_id: int
    benchmark: str
    part: str
    """same | held_out | all (whole runs, or nothing was trained on)"""
    right: int
    scored: int
    asked: int
    score: float | None
    ci: tuple[float, float]
    strict: dict[str, Any]
    """Tally of those right in exactly the form asked for; its `scored` is 0 where a program does not tell."""
    by_status: dict[str, int]
    trained_on: int
    """How many of these questions the run's own model was trained around."""
    label: str
    """What must be said beside the score; empty when nothing must."""
    link: str


@dataclass(frozen=True)
class Pair(Record):
    """One run against the baseline on one part of the questions that all compared runs were asked."""

    baseline: int
    run: int
    benchmark: str
    part: str
    ceiling: bool
    """One of the two is the reference: a distance to the ceiling, no model's achievement."""
    result: PairedResult
    p_holm: float
    """p adjusted (Holm 1979) for all tests of this comparison that are not about the ceiling."""
    verdict: str


@dataclass(frozen=True)
class Comparison(Record):
    """Runs side by side: whole runs, the same split by what was trained on, pairs and warnings."""

    rows: tuple[ScoreRow, ...]
    parts: tuple[ScoreRow, ...]
    pairs: tuple[Pair, ...]
    warnings: tuple[str, ...]

    def scores(self) -> pl.DataFrame:
        """One row a run: score in [0, 1], its 95 % interval, counts, and what must be said beside it."""
        return pl.DataFrame(
            {
                "run": row.run_id,
                "model": row.model,
                "benchmark": row.benchmark,
                "score": row.score,
                "low": row.ci[0],
                "high": row.ci[1],
                "strict": row.strict["score"],
                "right": row.right,
                "scored": row.scored,
                "asked": row.asked,
                "note": row.label,
                "link": row.link,
            }
            for row in self.rows
        )

    def differences(self) -> pl.DataFrame:
        """One row a paired test: difference of shares with its 95 % interval, wins, losses, p, verdict."""
        return pl.DataFrame(
            {
                "run": pair.run,
                "minus": pair.baseline,
                "questions": pair.part,
                "n": pair.result.n,
                "difference": pair.result.delta,
                "low": pair.result.ci[0],
                "high": pair.result.ci[1],
                "wins": pair.result.wins,
                "losses": pair.result.losses,
                "p": pair.result.p,
                "verdict": pair.verdict,
            }
            for pair in self.pairs
        )


def compare_runs(runs: Sequence[RunView], baseline: int | None = None) -> Comparison:
    """The runs side by side, each tested against the baseline on identical question keys.

    Runs that share questions form a group; tests stay inside a group. The baseline is run
    `baseline` where the group has it, else the group's first base model, else its first model that
    is not the reference. Every test is split by the keys that any model of the comparison has seen;
    where none was trained on anything the one part is called "all".
    """
    _check(runs, baseline)
    seen = frozenset().union(*(run.seen for run in runs))
    names = ("same", "held_out") if seen else ("same", "all")
    parts: list[ScoreRow] = []
    pairs: list[Pair] = []
    warnings: list[str] = []
    for group in _groups(runs):
        common = _common_keys(group)
        split = [
            (name, keys)
            for name, keys in zip(names, split_by_seen(common, seen), strict=True)
            if keys
        ]
        parts += [_row(run, part, keys) for part, keys in split for run in group]
        pairs += _pairs(group, split, baseline)
        warnings += _hash_warnings(group) + _subset_warnings(group, len(common))
    if len(runs) > 1 and not pairs:
        warnings.append("No question was asked in common: these runs cannot be compared.")
    warnings += _training_warnings(runs)
    return Comparison(
        rows=tuple(_row(run, "all", outcomes(run.traces)) for run in runs),
        parts=tuple(parts),
        pairs=tuple(_holm(pairs)),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _check(runs: Sequence[RunView], baseline: int | None) -> None:
    ids = [run.run_id for run in runs]
    if not ids or len(set(ids)) < len(ids):
        raise InputError(
            "A comparison takes at least one run, each once", got=ids, next="compare runs=[1,2]"
        )
    if baseline is not None and baseline not in ids:
        raise InputError("The baseline is not among the runs", got=baseline, allowed=ids)


def _groups(runs: Sequence[RunView]) -> list[list[RunView]]:
    """Runs that share at least one question, directly or through another run, in the given order."""
    groups: list[tuple[set[str], list[RunView]]] = []
    for run in runs:
        keys, members = set(outcomes(run.traces)), [run]
        apart = []
        for known, others in groups:
            if known & keys:
                keys, members = keys | known, others + members
            else:
                apart.append((known, others))
        groups = [*apart, (keys, members)]
    order = {run.run_id: place for place, run in enumerate(runs)}
    found = [sorted(members, key=lambda run: order[run.run_id]) for _, members in groups]
    return sorted(found, key=lambda members: order[members[0].run_id])


def _common_keys(group: Sequence[RunView]) -> tuple[str, ...]:
    asked = [outcomes(run.traces) for run in group]
    return tuple(sorted(set(asked[0]).intersection(*asked[1:])))


def _row(run: RunView, part: str, keys: Iterable[str]) -> ScoreRow:
    wanted = set(keys)
    figures = summary([t for t in run.traces if t.key in wanted], run.questions)
    trained_on = len(wanted & run.seen)
    return ScoreRow(
        run_id=run.run_id,
        model=run.model,
        model_kind=run.model_kind,
        benchmark_id=run.benchmark_id,
        benchmark=run.benchmark,
        part=part,
        right=figures["right"],
        scored=figures["scored"],
        asked=figures["asked"],
        score=figures["score"],
        ci=(figures["ci"][0], figures["ci"][1]),
        strict=figures["strict"],
        by_status=figures["by_status"],
        trained_on=trained_on,
        label=_label(run, trained_on, figures["asked"]),
        link=run.link,
    )


def _label(run: RunView, trained_on: int, asked: int) -> str:
    if run.is_reference:
        return "reference: the author's worked answers, a ceiling and no model's achievement"
    if not trained_on:
        return ""
    if trained_on == asked:
        return "trained on these questions"
    return f"trained on {trained_on} of these {asked} questions"


def _pairs(
    group: Sequence[RunView],
    split: Sequence[tuple[str, tuple[str, ...]]],
    baseline: int | None,
) -> list[Pair]:
    first = _baseline(group, baseline)
    found = []
    for part, keys in split:
        for run in group:
            if run is first:
                continue
            result = paired(outcomes(first.traces), outcomes(run.traces), keys)
            ceiling = run.is_reference or first.is_reference
            verdict = "ceiling, not an achievement" if ceiling else result.verdict
            found.append(
                Pair(
                    baseline=first.run_id,
                    run=run.run_id,
                    benchmark=run.benchmark,
                    part=part,
                    ceiling=ceiling,
                    result=result,
                    p_holm=result.p,
                    verdict=verdict,
                )
            )
    return found


def _baseline(group: Sequence[RunView], wanted: int | None) -> RunView:
    def rank(run: RunView) -> int:
        if run.run_id == wanted:
            return 0
        return 3 if run.is_reference else 1 if run.model_kind == "base" else 2

    return min(group, key=rank)  # the first of the best rank


def _holm(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with `p_holm` set. Source: Holm 1979, step-down."""
    tests = sorted((pair.result.p, place) for place, pair in enumerate(pairs) if not pair.ceiling)
    adjusted: dict[int, float] = {}
    largest = 0.0
    for rank, (p, place) in enumerate(tests):
        largest = min(1.0, max(largest, p * (len(tests) - rank)))
        adjusted[place] = largest
    return [
        replace(pair, p_holm=adjusted.get(place, pair.p_holm)) for place, pair in enumerate(pairs)
    ]


def _hash_warnings(group: Sequence[RunView]) -> list[str]:
    ids = ", ".join(str(run.run_id) for run in group)
    told = (
        (
            "scored by different programs",
            [run.program_sha256 for run in group],
            "score both with one: program=latest",
        ),
        (
            "asked under different evaluations (prompt, limit or stops)",
            [run.evaluation_sha256 for run in group],
            "run them again on one benchmark",
        ),
    )
    return [
        f"Runs {ids} were {what} ({', '.join(sorted({h[:12] for h in hashes}))}): "
        f"their scores are not like for like; {mend}."
        for what, hashes, mend in told
        if len(set(hashes)) > 1
    ]


def _subset_warnings(group: Sequence[RunView], common: int) -> list[str]:
    most = max(len(outcomes(run.traces)) for run in group)
    if common == most:
        return []
    ids = ", ".join(str(run.run_id) for run in group)
    line = (
        f"Runs {ids} were not asked the same questions: the split scores and the tests use the "
        f"{common} that all of them were asked (up to {most} a run)."
    )
    return [line]


def _training_warnings(runs: Sequence[RunView]) -> list[str]:
    """One line for each trained model without a held-out figure, with the offer of a sibling."""
    lines = []
    for run in runs:
        seen_here = [r for r in runs if r.model == run.model and set(outcomes(r.traces)) & r.seen]
        unseen = any(set(outcomes(r.traces)) - r.seen for r in runs if r.model == run.model)
        if run.is_reference or not seen_here or unseen:
            continue
        lines.append(
            f"{run.model} was trained on these questions, so its score includes memorisation, and "
            "no held-out question was asked. Make a sibling benchmark (same kind, no question in "
            f"common): benchgen create sibling_of={seen_here[0].benchmark_id}"
        )
    return lines
