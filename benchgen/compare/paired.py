"""The honest comparison: runs joined on question keys, and never a claim without its interval.

Models that answer the same questions are compared question by question. What counts are the questions
on which they differ: wins (only the second is right) and losses (only the first is).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from benchgen.compare import cautions
from benchgen.compare.inference import (
    RIGHT,
    VALUE,
    Groups,
    holm,
    paired,
    split_by_seen,
)
from benchgen.compare.views import Comparison, Pair, RunView, ScoreRow
from benchgen.errors import InputError
from benchgen.run.metrics import SHARED, clusters, is_graded, outcomes, summary, values


def compare_runs(
    runs: Sequence[RunView], baseline: int | None = None, *, every: bool = False, seed: int = 0
) -> Comparison:
    """The runs side by side, each tested against the baseline on identical question keys.

    Runs that share questions form a group; tests stay inside a group. The baseline is run
    `baseline` where the group has it, else the group's first base model, else its first model that
    is not the reference; with `every`, each run is tested against each one before it. Every test is
    split by the keys that any model of the comparison has seen; where none was trained on anything the
    one part is called "all". Where replies have graded values, their mean is tested beside the share
    right. `seed` draws the bootstraps and permutations.
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
        two = list(_twos(group, _baseline(group, baseline), every))
        pairs += [_pair(a, b, part, keys, RIGHT, seed) for part, keys in split for a, b in two]
        pairs += [
            _pair(a, b, part, keys, VALUE, seed)
            for part, keys in split
            for a, b in two
            if any(_is_graded(run, set(keys)) for run in (a, b))
        ]
        warnings += cautions.of_group(group, len(common))
    if len(runs) > 1 and not pairs:
        warnings.append("No question was asked in common: these runs cannot be compared.")
    warnings += cautions.of_pairs(pairs)
    warnings += cautions.of_training(runs)
    warnings += cautions.of_worse(runs, pairs)
    return Comparison(
        rows=tuple(_row(run, "all", outcomes(run.verdicts)) for run in runs),
        parts=tuple(parts),
        pairs=tuple(_adjusted(pairs)),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _is_graded(run: RunView, keys: set[str]) -> bool:
    return is_graded(values(trace for trace in run.verdicts if trace.key in keys))


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
        keys, members = set(outcomes(run.verdicts)), [run]
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
    asked = [outcomes(run.verdicts) for run in group]
    return tuple(sorted(set(asked[0]).intersection(*asked[1:])))


def _row(run: RunView, part: str, keys: Iterable[str]) -> ScoreRow:
    wanted = set(keys)
    figures = summary([t for t in run.verdicts if t.key in wanted], run.questions, run.seed)
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
        label="; ".join(_labels(run, trained_on, figures)),
        link=run.link,
        repeats=figures["repeats"],
        graded=figures["graded"],
        clustered=tuple(figures["clustered"]),
    )


def _labels(run: RunView, trained_on: int, figures: Mapping[str, Any]) -> Iterator[str]:
    asked = figures["questions"]
    if run.is_reference:
        yield "reference: the author's worked answers, a ceiling and no model's achievement"
    elif trained_on and trained_on == asked:
        yield "trained on these questions"
    elif trained_on:
        yield f"trained on {trained_on} of these {asked} questions"
    if figures["repeats"] > 1:
        yield f"each question asked {figures['repeats']} times"
    graded = figures["graded"]
    if graded:
        low, high = (f"{100 * end:.1f} %" for end in graded["ci"])
        yield f"mean value {100 * graded['mean']:.1f} % (95 % interval {low} to {high})"


def _twos(
    group: Sequence[RunView], first: RunView, every: bool
) -> Iterator[tuple[RunView, RunView]]:
    """(before, after) of each test."""
    if every:
        yield from combinations(sorted(group, key=lambda run: run is not first), 2)
    else:
        yield from ((first, run) for run in group if run is not first)


def _pair(
    before: RunView, after: RunView, part: str, keys: Sequence[str], measure: str, seed: int
) -> Pair:
    read = outcomes if measure == RIGHT else values
    result = paired(
        read(before.verdicts),
        read(after.verdicts),
        keys,
        measure=measure,
        groups=_shared(before, keys),
        seed=seed,
    )
    ceiling = before.is_reference or after.is_reference
    return Pair(
        baseline=before.run_id,
        run=after.run_id,
        benchmark=after.benchmark,
        part=part,
        ceiling=ceiling,
        result=result,
        p_holm=result.p,
        verdict="ceiling, not an achievement" if ceiling and result.n else result.verdict,
    )


def _shared(run: RunView, keys: Sequence[str]) -> Groups | None:
    """The first field of SHARED that questions among the keys have in common."""
    asked = {question.key: question for question in run.questions}
    for name in SHARED:
        groups = clusters(keys, asked, name)
        if groups:
            return Groups(name, dict(zip(keys, groups, strict=True)))
    return None


def _baseline(group: Sequence[RunView], wanted: int | None) -> RunView:
    def rank(run: RunView) -> int:
        if run.run_id == wanted:
            return 0
        return 3 if run.is_reference else 1 if run.model_kind == "base" else 2

    return min(group, key=rank)  # the first of the best rank


def _adjusted(pairs: Sequence[Pair]) -> list[Pair]:
    """The pairs with `p_holm` set over all tests that are not about the ceiling."""
    tests = [place for place, pair in enumerate(pairs) if pair.result.n and not pair.ceiling]
    told = dict(zip(tests, holm([pairs[place].result.p for place in tests]), strict=True))
    return [replace(pair, p_holm=told.get(place, pair.p_holm)) for place, pair in enumerate(pairs)]
