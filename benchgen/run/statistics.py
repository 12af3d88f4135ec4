"""Intervals of a mean score, from values alone: no trace, no file, no clock.

Values lie in [0, 1]; a group is what is drawn together (questions of one document, replies to one
question). Every random draw is seeded, so the same values give the same figures.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from benchgen.errors import DataError
from benchgen.types import Record

if TYPE_CHECKING:
    import numpy as np

Z95 = 1.959963984540054
"""97.5 % point of the standard normal distribution: a two-sided 95 % interval."""
DRAWS = 5_000
"""Bootstrap samples: the ends of an interval then move by about a 50th of its width between seeds."""
FEWEST = 10
"""Groups that a bootstrap needs: with fewer its samples cannot show how far the mean may be off."""
CHUNK = 200_000  # indices drawn at once: under 5 MB with what is looked up by them


def wilson(right: float, scored: int) -> tuple[float, float]:
    """95 % Wilson score interval of a proportion, in [0, 1]; (0, 1) when nothing was scored.

    `right` may be a sum of values in [0, 1]: of all values with that mean, 0 and 1 spread most, so the
    interval is then on the safe side. Source: Wilson 1927; chosen over the normal interval because
    benchmarks here have tens of questions. Written out because importing scipy.stats for these five
    lines takes 1.5 to 3 s and 113 MB; equal to
    `scipy.stats.binomtest(...).proportion_ci(method="wilson")` to 1e-15.
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


@cache
def student_t95(df: int) -> float:
    """97.5 % point of Student's t with `df` degrees of freedom: a two-sided 95 % interval.

    Up to 200 by bisection of the exact finite sum for whole degrees of freedom (Abramowitz and Stegun
    1964, 26.7.3 and 26.7.4), above by their expansion 26.7.5, there good to 1e-9.
    """
    if df < 1:
        raise DataError("an interval by groups needs two groups or more", got=df + 1)
    if df > 200:
        z = Z95
        terms = (
            (z**3 + z) / 4,
            (5 * z**5 + 16 * z**3 + 3 * z) / 96,
            (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
        )
        return z + sum(term / float(df) ** power for power, term in enumerate(terms, 1))
    low, high = 1.9, 13.0  # 12.706 at one degree of freedom
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _within_t(middle, df) < 0.95 else (low, middle)
    return high


def _within_t(t: float, df: int) -> float:
    """P(|T| <= t)."""
    angle = math.atan(t / math.sqrt(df))
    cos2, odd = math.cos(angle) ** 2, df % 2
    term = math.cos(angle) if odd else 1.0
    total = 0.0
    for step in range(1, df // 2 + 1):
        total += term
        term *= cos2 * (2 * step if odd else 2 * step - 1) / (2 * step + 1 if odd else 2 * step)
    total *= math.sin(angle)
    return 2 / math.pi * (angle + total) if odd else total


@dataclass(frozen=True)
class Clustered(Record):
    """A mean whose values come in groups: standard error and 95 % interval that allow for it."""

    groups: int
    se: float
    ci: tuple[float, float]
    effect: float
    """Design effect: by what the variance is larger (or smaller) than for independent values."""


def clustered(
    values: Sequence[float], groups: Sequence[Hashable], bounds: tuple[float, float] = (0.0, 1.0)
) -> Clustered | None:
    """The clustered standard error of the mean with its t interval; None for fewer than two groups.

    se^2 = C / (C - 1) * sum over groups of (sum of deviations in the group)^2 / n^2, the interval with
    C - 1 degrees of freedom, cut to `bounds`; the Wilson bound of C values where se is 0. Source: Miller 2024, "Adding Error Bars to Evals"
    (arXiv 2411.00640), on clustered questions, with the usual correction for the number of groups C (Cameron and
    Miller 2015, Journal of Human Resources 50:317-372); with each value its own group it is the
    standard error of an ordinary mean.
    """
    n = len(values)
    sums: dict[Hashable, float] = {}
    mean = math.fsum(values) / n if n else 0.0
    for value, group in zip(values, groups, strict=True):
        sums[group] = sums.get(group, 0.0) + value - mean
    count = len(sums)
    if count < 2:
        return None
    se = math.sqrt(count / (count - 1) * math.fsum(s * s for s in sums.values())) / n
    plain = math.fsum((value - mean) ** 2 for value in values) / (n * (n - 1))
    if se < 1e-12:  # all alike, which is no proof that the next group would be
        ci = _bounded(mean, count, bounds)
    else:
        half = student_t95(count - 1) * se
        ci = (max(bounds[0], mean - half), min(bounds[1], mean + half))
    return Clustered(count, se, ci, se**2 / plain if plain else 1.0)


def mean_interval(
    values: Sequence[float],
    groups: Sequence[Hashable] | None = None,
    seed: int = 0,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> tuple[tuple[float, float], str]:
    """(95 % interval of the mean of graded values, name of the method); `bounds` when there are none.

    BCa bootstrap over groups (over values without `groups`). With fewer than FEWEST groups, or where
    all groups agree, a bootstrap would claim too much: then the Wilson interval of the mean, which
    holds for any values within the bounds.
    """
    low, high = bounds
    if not values:
        return bounds, "none"
    ends = bca([(value - low) / (high - low) for value in values], groups, seed)
    if ends is None:
        count = len(values) if groups is None else len(set(groups))
        return _bounded(math.fsum(values) / len(values), count, bounds), "Wilson bound"
    method = f"BCa bootstrap, {DRAWS:,} draws, seed {seed}"
    return (low + ends[0] * (high - low), low + ends[1] * (high - low)), method


def _bounded(mean: float, count: int, bounds: tuple[float, float]) -> tuple[float, float]:
    """The Wilson interval of the mean of `count` values that lie within the bounds."""
    low, high = bounds
    share = min(1.0, max(0.0, (mean - low) / (high - low)))
    ends = wilson(share * count, count)
    return low + ends[0] * (high - low), low + ends[1] * (high - low)


def bca(
    values: Sequence[float], groups: Sequence[Hashable] | None = None, seed: int = 0
) -> tuple[float, float] | None:
    """95 % BCa bootstrap interval of the mean, whole groups drawn; None where it would say too much.

    Bias z0 from the share of draws below the mean (ties half), acceleration from the jackknife over
    groups. Source: Efron 1987, Journal of the American Statistical Association 82:171-185.
    """
    import numpy as np

    totals, sizes = _by_group(values, groups)
    count = len(totals)
    if count < FEWEST or np.ptp(totals / sizes) < 1e-12:
        return None
    mean = totals.sum() / sizes.sum()
    drawn = _resampled(totals, sizes, seed)
    below = (np.count_nonzero(drawn < mean) + np.count_nonzero(drawn <= mean)) / 2 / DRAWS
    left_out = (totals.sum() - totals) / (sizes.sum() - sizes)
    pull = left_out.mean() - left_out
    spread = float((pull**2).sum())
    if not 0 < below < 1 or spread == 0:
        return None
    normal = NormalDist()
    bias, bend = normal.inv_cdf(float(below)), float((pull**3).sum()) / (6 * spread**1.5)
    ends = []
    for z in (-Z95, Z95):
        moved = bias + z
        ends.append(normal.cdf(bias + moved / (1 - bend * moved)))
    low, high = np.quantile(drawn, ends)
    return float(low), float(high)


def _by_group(
    values: Sequence[float], groups: Sequence[Hashable] | None
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """(sum, size) of each group, in the order of first appearance."""
    import numpy as np

    found: dict[Hashable, list[float]] = {}
    for value, group in zip(values, groups or range(len(values)), strict=True):
        found.setdefault(group, []).append(value)
    return (
        np.array([math.fsum(members) for members in found.values()]),
        np.array([float(len(members)) for members in found.values()]),
    )


def _resampled(
    totals: np.ndarray[Any, Any], sizes: np.ndarray[Any, Any], seed: int
) -> np.ndarray[Any, Any]:
    """Means of DRAWS samples of as many groups as there are, with replacement."""
    import numpy as np

    rng, count = np.random.default_rng(seed), len(totals)
    alike = float(sizes.sum()) if np.ptp(sizes) == 0 else None
    parts, left = [], DRAWS
    while left:
        rows = min(left, max(1, CHUNK // count))
        picks = rng.integers(0, count, size=(rows, count), dtype=np.int32)
        members = sizes[picks].sum(axis=1) if alike is None else alike
        parts.append(totals[picks].sum(axis=1) / members)
        left -= rows
    return np.concatenate(parts)


def pass_at_k(tried: int, right: int, k: int) -> float | None:
    """Chance in [0, 1] that one of k replies is right, from `right` of `tried`; None if tried < k.

    1 - C(tried - right, k) / C(tried, k): unbiased. Source: Chen et al. 2021, "Evaluating Large
    Language Models Trained on Code" (arXiv 2107.03374), equation 1.
    """
    if not 0 <= right <= tried or k < 1:
        raise DataError("pass@k needs 0 <= right <= tried and k >= 1", got=(tried, right, k))
    if tried < k:
        return None
    return 1 - math.comb(tried - right, k) / math.comb(tried, k)
