"""What must be said beside a comparison: where the runs are not like for like, and what was left out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.compare.inference import IMPROVED, NOTHING, UNCLEAR
from benchgen.compare.views import Pair, RunView
from benchgen.run.metrics import outcomes

TRAINED = ("adapter", "merged")
FORMLESS = ("no_answer", "ambiguous", "truncated", "empty")
"""Statuses of a wrong reply whose fault is its form."""
MOST_FORMLESS, FEWEST = 0.2, 5
"""Share of replies without a readable answer that is surprising; replies below which nothing is."""
SETTINGS = {
    "dtype": "another precision",
    "quantisation": "another precision",
    "repeats": "another number of repeats",
    "temperature": "other sampling",
    "top_p": "other sampling",
    "top_k": "other sampling",
    "max_new_tokens": "another token limit",
    "stop": "other stops",
    "method": "another way to answer",
    "normalisation": "another way to answer",
}
"""Settings of a run that change its answers, with what a difference in them is."""


def of_group(group: Sequence[RunView], common: int) -> list[str]:
    """Warnings about runs that share questions; `common` = how many all of them were asked."""
    return [*_benchmarks(group), *_hashes(group), *_settings(group), *_subset(group, common)]


def _ids(group: Sequence[RunView]) -> str:
    return ", ".join(str(run.run_id) for run in group)


def _benchmarks(group: Sequence[RunView]) -> list[str]:
    """One line where the runs are of several benchmarks, which tells versions of one another."""
    benches = {run.benchmark_id: run for run in group}
    if len(benches) < 2:
        return []
    told = [
        f"{id} ({run.benchmark}"
        + (f", a changed copy of {run.version_of})" if run.version_of in benches else ")")
        for id, run in sorted(benches.items())
    ]
    versions = any(run.version_of in benches for run in benches.values())
    word = "different versions of a benchmark" if versions else "different benchmarks"
    return [
        f"Runs {_ids(group)} are of {word}: {', '.join(told)}. They are compared on shared questions only."
    ]


def _settings(group: Sequence[RunView]) -> list[str]:
    """One line for each setting of SETTINGS in which the runs differ; what none tells is passed over."""
    known = [_flat(run.settings) for run in group]
    lines = []
    for name, word in SETTINGS.items():
        found = {str(one[name]) for one in known if one.get(name) is not None}
        if len(found) > 1:
            lines.append(
                f"Runs {_ids(group)} were made with {word}: {name} is {', '.join(sorted(found))}. "
                "A difference may come from that."
            )
    sampled = any(float(one.get("temperature") or 0) > 0 for one in known)
    seeds = {str(one["seed"]) for one in known if one.get("seed") is not None}
    if sampled and len(seeds) > 1:
        lines.append(f"Runs {_ids(group)} drew with different seeds: {', '.join(sorted(seeds))}.")
    return lines


def _flat(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with those of nested maps beside them, by their own names."""
    found: dict[str, Any] = {}
    for name, value in settings.items():
        found.update(_flat(value) if isinstance(value, Mapping) else {str(name): value})
    return found


def of_pairs(pairs: Sequence[Pair]) -> list[str]:
    """One line for each pair with questions that were not measured in both runs, and so left out."""
    return [
        f"{pair.result.unpaired} of {pair.result.n + pair.result.unpaired} questions that runs "
        f"{pair.baseline} and {pair.run} were both asked have no measured answer in one of them: they "
        "are left out of the test and count for neither."
        for pair in pairs
        if pair.result.unpaired and not pair.ceiling
    ]


def of_worse(runs: Sequence[RunView], pairs: Sequence[Pair]) -> list[str]:
    """One line for each trained model that is worse than the baseline: where to look first."""
    by_id = {run.run_id: run for run in runs}
    lines = []
    for pair in pairs:
        after, before = by_id[pair.run], by_id[pair.baseline]
        told = pair.ceiling or pair.verdict in (IMPROVED, UNCLEAR, NOTHING)
        if told or after.model_kind not in TRAINED:
            continue
        formless = [
            sum(run.figures["by_status"].get(s, 0) for s in FORMLESS) for run in (after, before)
        ]
        lines.append(
            f"{after.model} is worse than {before.model} on {pair.benchmark}: look at its replies (benchgen "
            f"dataset run_id={after.run_id} mode=all), first at their form: {formless[0]} of "
            f"{after.figures['asked']} hold no answer that can be read, against {formless[1]} of "
            f"{before.figures['asked']} before training"
        )
    return list(dict.fromkeys(lines))


def of_run(run_id: int, figures: Mapping[str, Any], options: int | None) -> list[str]:
    """What of one run's figures is surprising, each with the look that tells why.

    `options` is the number that every multiple choice question has; None where they differ or are of
    another kind.
    """
    scored, score, (low, high) = figures["scored"], figures["score"], figures["ci"]
    look = f"benchgen dataset run_id={run_id} mode=all shows every reply"
    told = []
    if not scored and (why := figures.get("not_measured")):
        reasons = ", ".join(f"{reason}: {count}" for reason, count in why.items())
        told.append(
            f"nothing was measured ({reasons}): mend that first, then benchgen resume run_id={run_id} retry_errors=yes"
        )
    formless = sum(figures["by_status"].get(status, 0) for status in FORMLESS)
    if scored and formless > MOST_FORMLESS * scored:
        told.append(f"{formless} of {scored} replies hold no answer that can be read: {look}")
    if score in (0, 1) and scored >= FEWEST:
        word = "none" if score == 0 else "all"
        told.append(f"{word} of {scored} answers right is a surprising score: {look}")
    elif options and scored >= FEWEST and low <= 1 / options <= high:
        told.append(f"the score is what guessing among {options} options gives: {look}")
    return told


def _hashes(group: Sequence[RunView]) -> list[str]:
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


def _subset(group: Sequence[RunView], common: int) -> list[str]:
    most = max(len(outcomes(run.verdicts)) for run in group)
    if common == most:
        return []
    ids = ", ".join(str(run.run_id) for run in group)
    line = (
        f"Runs {ids} were not asked the same questions: the split scores and the tests use the "
        f"{common} that all of them were asked (up to {most} a run)."
    )
    return [line]


def of_training(runs: Sequence[RunView]) -> list[str]:
    """One line for each trained model without a held-out figure, with the offer of a sibling."""
    lines = []
    for run in runs:
        seen_here = [r for r in runs if r.model == run.model and set(outcomes(r.verdicts)) & r.seen]
        unseen = any(set(outcomes(r.verdicts)) - r.seen for r in runs if r.model == run.model)
        if run.is_reference or not seen_here or unseen:
            continue
        lines.append(
            f"{run.model} was trained on these questions, so its score includes memorisation, and "
            "no held-out question was asked. Make a sibling benchmark (same kind, no question in "
            f"common): benchgen create sibling_of={seen_here[0].benchmark_id}"
        )
    return lines
