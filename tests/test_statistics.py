"""Intervals and estimators against published values, other implementations, and simulated truth."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence

import numpy as np
import pytest

from benchgen.errors import DataError
from benchgen.run.statistics import (
    bca,
    clustered,
    mean_interval,
    pass_at_k,
    student_t95,
    wilson,
)

TIMES = 2_000  # simulated samples; a share of 0.95 of them is then known to 0.005
COVERS = (0.93, 0.97)


@pytest.mark.parametrize(
    ("df", "t"),
    # Student's t, two-sided 5 %: NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (7, 2.365), (10, 2.228), (20, 2.086),
     (30, 2.042), (60, 2.000), (100, 1.984)],
)  # fmt: skip
def test_student_t_is_the_published_table(df: int, t: float) -> None:
    assert student_t95(df) == pytest.approx(t, abs=5e-4)


@pytest.mark.parametrize(
    ("df", "t"),
    # Made with scipy 1.17.1: scipy.stats.t.ppf(0.975, df)
    [(5, 2.5705818356363146), (57, 2.002465459291007), (199, 1.9719565442517533),
     (200, 1.9718962236339088), (201, 1.971836506779859), (1000, 1.9623390808264083)],
)  # fmt: skip
def test_student_t_equals_a_known_implementation(df: int, t: float) -> None:
    assert student_t95(df) == pytest.approx(t, rel=1e-9)


def test_one_group_has_no_interval() -> None:
    with pytest.raises(DataError, match="two groups"):
        student_t95(0)
    assert clustered([1, 0], ["a", "a"]) is None
    assert clustered([], []) is None


def test_each_value_alone_gives_the_ordinary_standard_error() -> None:
    values = [0.0, 1.0, 1.0, 0.5, 0.25, 1.0]
    got = clustered(values, range(len(values)))
    assert got is not None
    assert got.se == pytest.approx(np.std(values, ddof=1) / math.sqrt(len(values)))
    assert got.effect == pytest.approx(1.0)


def test_groups_that_are_all_alike_still_have_an_interval() -> None:
    """A standard error of 0 is no certainty: nine groups, all right, are nine of nine."""
    got = clustered([1.0] * 30, [place % 9 for place in range(30)])
    assert got is not None
    assert (got.se, got.ci) == (0.0, wilson(9, 9))
    none = clustered([0.0] * 30, [place % 9 for place in range(30)], (-1, 1))
    assert none is not None
    assert none.ci == pytest.approx((-none.ci[1], none.ci[1]))
    assert none.ci[1] > 0.2


def test_equal_values_in_a_group_count_as_one() -> None:
    """Five copies of each question say no more than one: the standard error of the single ones."""
    single = [1.0, 0.0, 1.0, 1.0, 0.0, 1.0, 0.0, 0.0]
    copied = [value for value in single for _ in range(5)]
    groups = [place for place in range(len(single)) for _ in range(5)]
    alone, together = clustered(single, range(8)), clustered(copied, groups)
    assert alone is not None
    assert together is not None
    assert together.se == pytest.approx(alone.se)
    assert together.ci == pytest.approx(alone.ci)
    assert together.effect == pytest.approx(5 * 39 / 40 * 8 / 7)


def test_the_clustered_error_is_the_double_sum_of_its_source() -> None:
    """Miller 2024: sqrt(SE^2 + sum over pairs of one cluster of products of deviations / n^2)."""
    rng = np.random.default_rng(3)
    values = rng.random(24).tolist()
    groups = (rng.integers(0, 6, 24)).tolist()
    n, mean = len(values), sum(values) / len(values)
    own = sum((v - mean) ** 2 for v in values)
    cross = sum(
        (values[i] - mean) * (values[j] - mean)
        for i, j in itertools.permutations(range(n), 2)
        if groups[i] == groups[j]
    )
    count = len(set(groups))
    got = clustered(values, groups)
    assert got is not None
    assert got.se == pytest.approx(math.sqrt((own + cross) / n**2 * count / (count - 1)))


def _covered(
    draw: Callable[[np.random.Generator], Sequence[float]],
    interval: Callable[[Sequence[float]], tuple[float, float]],
    truth: float,
    times: int = TIMES,
) -> float:
    rng = np.random.default_rng(20261130)
    held = 0
    for _ in range(times):
        low, high = interval(draw(rng))
        held += low <= truth <= high
    return held / times


@pytest.mark.parametrize(("n", "truth"), [(30, 0.3), (60, 0.8), (200, 0.5), (300, 0.1)])
def test_wilson_covers(n: int, truth: float) -> None:
    share = _covered(
        lambda rng: [float(rng.binomial(n, truth))], lambda s: wilson(s[0], n), truth, 4 * TIMES
    )
    assert COVERS[0] <= share <= COVERS[1]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "a", "b"), [(40, 2.0, 2.0), (60, 1.0, 3.0), (80, 4.0, 1.0)])
def test_the_bootstrap_covers_a_mean_of_graded_values(n: int, a: float, b: float) -> None:
    share = _covered(
        lambda rng: rng.beta(a, b, n).tolist(),
        lambda v: mean_interval(v)[0],
        a / (a + b),
        TIMES // 2,
    )
    assert COVERS[0] <= share <= COVERS[1]


@pytest.mark.slow
def test_the_bootstrap_covers_repeats_of_questions() -> None:
    """60 questions asked 4 times: question means are the data, each question of its own difficulty."""

    def draw(rng: np.random.Generator) -> list[float]:
        hard = rng.beta(1.0, 1.0, 60)
        return list(rng.binomial(4, hard) / 4)

    share = _covered(draw, lambda v: mean_interval(v)[0], 0.5, TIMES // 2)
    assert COVERS[0] <= share <= COVERS[1]


def _documents(rng: np.random.Generator) -> list[float]:
    """40 documents of 5 questions, right or wrong, alike within a document (correlation 1/3)."""
    shares = rng.beta(1.0, 1.0, 40)
    return [float(x) for share in shares for x in rng.random(5) < share]


OF = [place for place in range(40) for _ in range(5)]


def test_the_clustered_interval_covers_where_the_plain_one_does_not() -> None:
    def by_document(values: Sequence[float]) -> tuple[float, float]:
        found = clustered(values, OF)
        assert found is not None
        return found.ci

    assert COVERS[0] <= _covered(_documents, by_document, 0.5) <= COVERS[1]
    assert _covered(_documents, lambda v: wilson(sum(v), len(v)), 0.5) < 0.90


def test_the_design_effect_is_that_of_the_correlation() -> None:
    """1 + (m - 1) rho for groups of m (Kish 1965): here 1 + 4/3, the mean over many samples."""
    rng = np.random.default_rng(5)
    found = [clustered(_documents(rng), OF) for _ in range(300)]
    assert np.mean([one.effect for one in found if one]) == pytest.approx(1 + 4 / 3, rel=0.05)


@pytest.mark.parametrize(
    ("values", "low", "high"),
    # Made with scipy 1.17.1: scipy.stats.bootstrap(method="BCa", n_resamples=200_000, seed 0)
    [
        ([0.05, 0.03, 0.04, 0.17, 0.35, 0.33, 0.52, 0.19, 0.53, 0.77, 0.26, 0.52], 0.19667, 0.4525),
        ([0.26, 0.0, 0.86, 0.01, 0.31, 0.01, 0.09, 0.13, 0.0, 0.35, 0.89, 0.07, 0.53, 0.39, 0.32, 0.54,
          0.06, 0.0, 0.03, 0.0, 0.03, 0.04, 0.01, 0.16, 0.02], 0.1212, 0.3292),
    ],
)  # fmt: skip
def test_bca_agrees_with_a_known_implementation(
    values: list[float], low: float, high: float
) -> None:
    """Two seeds of 5,000 draws may differ by some 2 % of the width."""
    got = bca(values)
    assert got is not None
    assert got == pytest.approx((low, high), abs=0.04 * (high - low))


def test_the_same_seed_draws_the_same_and_another_one_nearly() -> None:
    values = np.random.default_rng(0).beta(1, 2, 50).tolist()
    assert mean_interval(values, seed=7) == mean_interval(values, seed=7)
    one, other = mean_interval(values, seed=7)[0], mean_interval(values, seed=8)[0]
    assert one != other
    assert one == pytest.approx(other, abs=0.02)


def test_drawing_groups_whole_widens_the_interval() -> None:
    values = _documents(np.random.default_rng(1))
    alone, whole = bca(values), bca(values, OF)
    assert alone is not None
    assert whole is not None
    assert whole[1] - whole[0] > 1.3 * (alone[1] - alone[0])


@pytest.mark.parametrize("values", [[0.5] * 30, [1.0] * 30, [0.2, 0.9, 0.4], [0.0] * 12])
def test_where_a_bootstrap_says_too_much_the_wilson_bound_stands(values: list[float]) -> None:
    ends, method = mean_interval(values)
    assert method == "Wilson bound"
    assert ends == wilson(sum(values), len(values))
    assert ends[0] < ends[1]


def test_no_values_claim_nothing() -> None:
    assert mean_interval([]) == ((0.0, 1.0), "none")
    assert mean_interval([], bounds=(-1, 1)) == ((-1, 1), "none")


def test_bounds_move_the_interval() -> None:
    gains = np.random.default_rng(2).uniform(-0.5, 0.7, 40)
    there, _ = mean_interval(gains.tolist(), bounds=(-1, 1))
    scaled, _ = mean_interval(((gains + 1) / 2).tolist())
    assert there == pytest.approx((2 * scaled[0] - 1, 2 * scaled[1] - 1))


@pytest.mark.parametrize(
    ("tried", "right", "k", "chance"),
    [
        (5, 0, 1, 0.0), (5, 5, 3, 1.0), (5, 2, 1, 0.4),
        (5, 2, 2, 0.7),      # 1 - (3 choose 2) / (5 choose 2)
        (10, 3, 8, 1.0),     # 8 of 10 cannot miss 3
        (200, 10, 10, 0.40854786608141724),  # the product form of the paper: 1 - prod(1 - k / (n - c + 1 … n))
        (3, 1, 4, None),
    ],
)  # fmt: skip
def test_pass_at_k(tried: int, right: int, k: int, chance: float | None) -> None:
    got = pass_at_k(tried, right, k)
    assert got == (None if chance is None else pytest.approx(chance))
    if chance is not None and tried - right >= k:
        product = math.prod(1 - k / i for i in range(tried - right + 1, tried + 1))
        assert got == pytest.approx(1 - product)


def test_pass_at_k_is_the_mean_over_every_choice_of_k() -> None:
    """Unbiased: over all ways to choose 3 of 7 replies of which 2 are right."""
    replies = [True, True, False, False, False, False, False]
    hits = [any(chosen) for chosen in itertools.combinations(replies, 3)]
    assert pass_at_k(7, 2, 3) == pytest.approx(sum(hits) / len(hits))


@pytest.mark.parametrize(("tried", "right", "k"), [(3, 4, 1), (3, -1, 1), (3, 1, 0)])
def test_impossible_counts_are_refused(tried: int, right: int, k: int) -> None:
    with pytest.raises(DataError, match="pass@k"):
        pass_at_k(tried, right, k)
