"""Two runs on the same questions: the difference, its interval, a test, and what could have been seen.

Everything here takes values by question key and no trace. What counts is the question: repeats of one
are averaged, and questions of one source may be kept together.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.run.statistics import Z95, clustered, mean_interval, wilson
from benchgen.types import Record

Z80 = 0.8416212335729143
"""80 % point of the standard normal distribution: the power asked of the smallest difference."""
EXACT = 16
"""Differing questions up to which every sign is tried: 65,536 arrangements."""
SHUFFLES = 20_000
"""Random arrangements beyond that: the p of 0.05 is then off by about 0.0015."""
CHUNK = 2_000_000  # signs drawn at once: 16 MB

IMPROVED, WORSE, UNCLEAR = "improved", "worse", "not distinguishable"
NOTHING = "nothing to compare"
"""The verdict where the two share no scored question: unmeasured is not equal."""
RIGHT, VALUE = "right", "value"
"""What is compared: the share right, or the mean of graded values in [0, 1]."""

Grid = Mapping[str, Sequence[float | None]]
"""{question key: one value in [0, 1] a repeat}; None = asked but not measured."""


@dataclass(frozen=True)
class PairedResult(Record):
    """Two runs, a then b, on the questions that both have scored."""

    n: int
    """Questions scored in both."""
    unpaired: int
    """Questions asked for but scored in only one of the two or in none: left out of the test."""
    score_a: float | None
    """Mean over the n questions, in [0, 1]; None when n is 0."""
    score_b: float | None
    delta: float | None
    """score_b minus score_a, in [-1, 1]."""
    ci: tuple[float, float]
    """95 % interval of `delta`; (-1, 1) when n is 0."""
    interval: str
    """The method of `ci`."""
    wins: int
    """Questions on which b is better."""
    losses: int
    p: float
    """Two-sided, of `test`."""
    test: str
    smallest: float | None
    """Smallest difference that this many questions can show; None = not even 1."""
    verdict: str
    """improved | worse | not distinguishable | nothing to compare"""
    measure: str = RIGHT
    clustered: dict[str, Any] | None = None
    """{"by", "groups", "ci"}: t interval of `delta` where questions share a source or a template."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "ci", (self.ci[0], self.ci[1]))

    @property
    def borderline(self) -> bool:
        """The interval excludes zero, but the test does not reach 5 %, or the clustered one holds zero."""
        held = (
            self.clustered is not None and self.clustered["ci"][0] <= 0 <= self.clustered["ci"][1]
        )
        return self.verdict not in (UNCLEAR, NOTHING) and (self.p >= 0.05 or held)


@dataclass(frozen=True)
class Groups:
    """What each question shares with others: the name of the field, and the group of each key."""

    by: str
    of: Mapping[str, Hashable]


def paired(
    a: Grid,
    b: Grid,
    keys: Iterable[str] | None = None,
    *,
    measure: str = RIGHT,
    groups: Groups | None = None,
    seed: int = 0,
) -> PairedResult:
    """The paired comparison of two runs, b against a, on `keys` or on all of them.

    Right or wrong, asked once: Newcombe's interval and the exact McNemar test. Graded values or
    repeats: BCa bootstrap of the per-question differences and a permutation test. Only questions that
    both runs have scored count; the rest are told as `unpaired`.
    """
    wanted = list(dict.fromkeys([*a, *b]) if keys is None else dict.fromkeys(keys))
    pairs = {key: (_mean(a.get(key, ())), _mean(b.get(key, ()))) for key in sorted(wanted)}
    scored = {k: (x, y) for k, (x, y) in pairs.items() if x is not None and y is not None}
    binary = measure == RIGHT and all(x in (0, 1) and y in (0, 1) for x, y in scored.values())
    once = all(len(grid.get(key, ())) < 2 for key in scored for grid in (a, b))
    result = _binary(scored) if binary and once else _graded(scored, seed)
    return PairedResult(
        n=len(scored),
        unpaired=len(wanted) - len(scored),
        score_a=_average([x for x, _ in scored.values()]),
        score_b=_average([y for _, y in scored.values()]),
        verdict=_verdict(result["ci"]) if scored else NOTHING,
        measure=measure,
        clustered=_clustered(scored, groups),
        **result,
    )


def _mean(repeats: Sequence[float | None]) -> float | None:
    return _average([float(value) for value in repeats if value is not None])


def _average(values: Sequence[float]) -> float | None:
    return math.fsum(values) / len(values) if values else None


Scored = Mapping[str, tuple[float, float]]


def _binary(scored: Scored) -> dict[str, Any]:
    cells = [(bool(x), bool(y)) for x, y in scored.values()]
    n, both = len(cells), cells.count((True, True))
    wins, losses = cells.count((False, True)), cells.count((True, False))
    return {
        "delta": (wins - losses) / n if n else None,
        "ci": newcombe(both, wins, losses, n - both - wins - losses),
        "interval": "Newcombe 1998, method 10",
        "wins": wins,
        "losses": losses,
        "p": mcnemar(wins, losses),
        "test": "exact McNemar",
        "smallest": smallest_difference(n, wins + losses),
    }


def _graded(scored: Scored, seed: int) -> dict[str, Any]:
    gains = [y - x for x, y in scored.values()]
    ends, method = mean_interval(gains, seed=seed, bounds=(-1.0, 1.0))
    p, test = permutation(gains, seed)
    return {
        "delta": _average(gains),
        "ci": ends,
        "interval": method,
        "wins": sum(gain > 0 for gain in gains),
        "losses": sum(gain < 0 for gain in gains),
        "p": p,
        "test": test,
        "smallest": smallest_mean_difference(gains),
    }


def _clustered(scored: Scored, groups: Groups | None) -> dict[str, Any] | None:
    if groups is None:
        return None
    of = [groups.of[key] for key in scored]
    found = clustered([y - x for x, y in scored.values()], of, (-1.0, 1.0))
    if found is None or found.groups == len(of):  # none of these questions share anything
        return None
    return {"by": groups.by, "groups": found.groups, "ci": list(found.ci)}


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


def permutation(gains: Sequence[float], seed: int = 0) -> tuple[float, str]:
    """(two-sided p, name) of the paired permutation test: each difference might have had the other sign.

    Exact for up to EXACT differences that are not zero; beyond that (1 + hits) / (1 + SHUFFLES) of
    seeded arrangements, which never is 0. Source: Fisher 1935, The Design of Experiments, section 21;
    Phipson and Smyth 2010, Statistical Applications in Genetics and Molecular Biology 9:39.
    """
    import numpy as np

    moved = np.array([gain for gain in gains if gain])
    seen = abs(float(moved.sum())) * (
        1 - 1e-12
    )  # sums in another order may differ in the last digit
    if len(moved) <= EXACT:
        signs = 1 - 2.0 * (np.arange(1 << len(moved))[:, None] >> np.arange(len(moved)) & 1)
        same = int(np.count_nonzero(np.abs(signs @ moved) >= seen - 1e-15))
        return same / (1 << len(moved)), "exact paired permutation"
    rng, hits, left = np.random.default_rng(seed), 0, SHUFFLES
    while left:
        rows = min(left, max(1, CHUNK // len(moved)))
        signs = 1 - 2.0 * rng.integers(0, 2, size=(rows, len(moved)))
        hits += int(np.count_nonzero(np.abs(signs @ moved) >= seen - 1e-15))
        left -= rows
    return (1 + hits) / (1 + SHUFFLES), f"paired permutation, {SHUFFLES:,} draws, seed {seed}"


def holm(p: Sequence[float]) -> list[float]:
    """The p values adjusted for there being several, in the given order. Source: Holm 1979, step-down."""
    order = sorted(range(len(p)), key=lambda place: p[place])
    adjusted, largest = [1.0] * len(p), 0.0
    for rank, place in enumerate(order):
        largest = min(1.0, max(largest, p[place] * (len(p) - rank)))
        adjusted[place] = largest
    return adjusted


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


def smallest_mean_difference(gains: Sequence[float]) -> float | None:
    """The same for graded values: (z95 + z80) times the standard error of the mean difference.

    Source: Miller 2024, "Adding Error Bars to Evals" (arXiv 2411.00640), on power. None where n < 2, where all differences are
    equal (the spread is then not known), or where not even 1 would show.
    """
    n = len(gains)
    mean = math.fsum(gains) / n if n else 0.0
    spread = math.fsum((gain - mean) ** 2 for gain in gains)
    if n < 2 or spread == 0:
        return None
    found = (Z95 + Z80) * math.sqrt(spread / (n - 1) / n)
    return found if found <= 1 else None


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
