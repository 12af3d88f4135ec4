"""Paired figures: known values, edges, coverage, and what may be called an improvement."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.compare import cautions
from benchgen.compare.inference import (
    IMPROVED,
    NOTHING,
    RIGHT,
    SHUFFLES,
    UNCLEAR,
    VALUE,
    WORSE,
    Grid,
    Groups,
    holm,
    mcnemar,
    newcombe,
    paired,
    permutation,
    smallest_difference,
    smallest_mean_difference,
    split_by_seen,
)
from benchgen.compare.paired import compare_runs
from benchgen.compare.views import RunView
from benchgen.errors import InputError
from benchgen.run.statistics import mean_interval
from benchgen.types import Question, Trace

tables = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda t: sum(t) > 0)


def outcome_pair(both: int, wins: int, losses: int, neither: int) -> tuple[Grid, Grid]:
    cells = [(True, True)] * both + [(False, True)] * wins
    cells += [(True, False)] * losses + [(False, False)] * neither
    return (
        {str(i): [cell[0]] for i, cell in enumerate(cells)},
        {str(i): [cell[1]] for i, cell in enumerate(cells)},
    )


def test_newcombe_gives_the_published_interval() -> None:
    """Airway hyper-responsiveness before and after transplantation (1, 1, 7, 12 of 21), in Fagerland,
    Lydersen and Laake, Statistical Analysis of Contingency Tables, chapter 8: -0.507 to -0.026."""
    assert newcombe(1, 1, 7, 12) == pytest.approx((-0.507, -0.026), abs=5e-4)


@pytest.mark.parametrize(
    ("cells", "verdict"),
    [
        ((15, 0, 0, 15), UNCLEAR),  # no question on which they differ: still no zero-width interval
        ((0, 30, 0, 0), IMPROVED),  # all wins
        ((0, 0, 30, 0), WORSE),
        ((0, 0, 0, 1), UNCLEAR),
        ((13, 4, 0, 13), UNCLEAR),  # exact p = 0.125
        ((13, 9, 1, 7), IMPROVED),
        ((10, 5, 5, 10), UNCLEAR),
    ],
)
def test_edges_have_intervals_and_sober_verdicts(
    cells: tuple[int, int, int, int], verdict: str
) -> None:
    result = paired(*outcome_pair(*cells))
    low, high = result.ci
    assert -1 <= low < high <= 1
    assert result.delta is not None
    assert low <= result.delta <= high
    assert result.verdict == verdict
    assert (result.verdict == UNCLEAR) == (low <= 0 <= high)


@given(tables)
def test_swapping_the_runs_mirrors_everything(cells: tuple[int, int, int, int]) -> None:
    a, b = outcome_pair(*cells)
    there, back = paired(a, b), paired(b, a)
    assert there.ci == pytest.approx((-back.ci[1], -back.ci[0]), abs=1e-12)
    assert (there.wins, there.losses, there.p) == (back.losses, back.wins, back.p)
    assert there.delta == pytest.approx(there.score_b - there.score_a)  # type: ignore[operator]
    low, high = there.ci
    assert -1 <= low <= there.delta <= high <= 1  # type: ignore[operator]


@given(tables, st.integers(2, 5))
def test_more_of_the_same_narrows_the_interval(
    cells: tuple[int, int, int, int], times: int
) -> None:
    low, high = newcombe(*cells)
    low_more, high_more = newcombe(*(cell * times for cell in cells))
    assert high_more - low_more < high - low


@pytest.mark.parametrize(
    "truth", [(0.5, 0.1, 0.1, 0.3), (0.3, 0.4, 0.1, 0.2), (0.2, 0.6, 0.05, 0.15)]
)
def test_the_interval_covers_the_truth_about_95_times_in_100(
    truth: tuple[float, float, float, float],
) -> None:
    """Exact, not sampled: every table of 20 questions, weighted by its probability."""
    n, covered = 20, 0.0
    logs = [math.log(p) for p in truth]
    for both, wins, losses in itertools.product(range(n + 1), repeat=3):
        cells = (both, wins, losses, n - both - wins - losses)
        if cells[3] < 0:
            continue
        low, high = newcombe(*cells)
        if low <= truth[1] - truth[2] <= high:
            weight = math.lgamma(n + 1) - sum(math.lgamma(c + 1) for c in cells)
            covered += math.exp(weight + sum(c * p for c, p in zip(cells, logs, strict=True)))
    assert 0.94 <= covered <= 0.98


@pytest.mark.parametrize(
    ("wins", "losses", "p"),
    [
        (0, 0, 1.0),
        (1, 0, 1.0),
        (5, 0, 2 / 32),
        (6, 0, 2 / 64),
        (9, 1, 22 / 1024),
        (3, 3, 1.0),
        (2000, 0, 2.0**-1999),  # underflows to 0 if the powers are taken as floats
    ],
)
def test_mcnemar_is_the_exact_binomial_tail(wins: int, losses: int, p: float) -> None:
    assert mcnemar(wins, losses) == mcnemar(losses, wins) == pytest.approx(p)


@pytest.mark.parametrize(("n", "discordant"), [(60, 24), (200, 40), (400, 80)])
def test_the_smallest_difference_is_found_four_times_in_five(n: int, discordant: int) -> None:
    d = smallest_difference(n, discordant)
    assert d is not None
    win, lose = (discordant / n + d) / 2, (discordant / n - d) / 2
    found = 0.0
    for wins in range(n + 1):
        for losses in range(n + 1 - wins):
            if wins + losses and (wins - losses) / math.sqrt(wins + losses) > 1.96:
                ways = math.lgamma(n + 1) - math.lgamma(wins + 1) - math.lgamma(losses + 1)
                rest = n - wins - losses
                ways += wins * math.log(win) + losses * math.log(lose)
                found += math.exp(ways - math.lgamma(rest + 1) + rest * math.log(1 - win - lose))
    assert 0.75 <= found <= 0.86


def test_the_smallest_difference_at_the_edges() -> None:
    assert smallest_difference(0, 0) is None
    assert smallest_difference(3, 1) is None  # three questions can show nothing
    few, many = smallest_difference(30, 0), smallest_difference(3000, 0)
    assert few is not None
    assert many is not None
    assert 0.15 < few < 0.25
    assert many < 0.003
    noisy = smallest_difference(30, 20)
    assert noisy is not None
    assert noisy > few


def test_only_questions_scored_in_both_count() -> None:
    a: Grid = {"1": [True], "2": [None], "3": [False], "4": [True]}
    b: Grid = {"1": [True], "2": [True], "3": [True], "5": [False]}
    result = paired(a, b)
    assert (result.n, result.unpaired, result.wins, result.losses) == (2, 3, 1, 0)
    narrowed = paired(a, b, keys=["1", "3"])
    assert (narrowed.n, narrowed.unpaired) == (2, 0)


def test_nothing_in_common_claims_nothing() -> None:
    result = paired({"1": [True]}, {"2": [True]})
    assert (result.n, result.delta, result.ci, result.p) == (0, None, (-1.0, 1.0), 1.0)
    assert result.verdict == NOTHING
    assert not result.borderline
    assert result.smallest is None
    assert (result.score_a, result.score_b) == (None, None)


def test_an_interval_without_zero_but_p_above_five_percent_is_called_borderline() -> None:
    result = paired(*outcome_pair(13, 5, 0, 12))
    assert result.verdict == IMPROVED
    assert result.p == 0.0625
    assert result.borderline
    assert not paired(*outcome_pair(10, 12, 0, 8)).borderline


def test_split_keeps_order_and_drops_repeats() -> None:
    assert split_by_seen(["c", "a", "b", "a"], {"a", "x"}) == (("a",), ("c", "b"))


QUESTIONS = tuple(
    Question(kind="qa", prompt=f"Question {i}?", target=[str(i)], category="ab"[i % 2])
    for i in range(40)
)


def run_view(
    run: int,
    model: str,
    right: range,
    asked: range = range(20),
    *,
    kind: str = "base",
    seen: range = range(0),
    program: str = "p" * 64,
    benchmark: int = 1,
) -> RunView:
    traces = tuple(
        Trace(
            key=QUESTIONS[i].key,
            messages=(),
            reply="r",
            extracted=None,
            status="ok",
            reason="",
            correct=i in right,
            value=None,
        )
        for i in asked
    )
    return RunView(
        run_id=run,
        model=model,
        model_kind=kind,
        benchmark_id=benchmark,
        benchmark=f"bench{benchmark}",
        program_sha256=program,
        evaluation_sha256="e" * 64,
        questions=QUESTIONS,
        traces=traces,
        seen=frozenset(QUESTIONS[i].key for i in seen),
        link=f"runs/{run}/run.html",
    )


def test_the_loop_is_split_into_same_and_held_out_on_identical_keys() -> None:
    seen = range(20)
    got = compare_runs(
        [
            run_view(1, "reference", range(20), kind="reference"),
            run_view(2, "base", range(5)),
            run_view(3, "tuned", range(19), kind="adapter", seen=seen),
            run_view(4, "base", range(20, 25), range(20, 40), benchmark=2),
            run_view(5, "tuned", range(20, 38), range(20, 40), kind="adapter", seen=seen, benchmark=2),
        ]
    )  # fmt: skip
    assert [(p.baseline, p.run, p.part, p.verdict) for p in got.pairs] == [
        (2, 1, "same", "ceiling, not an achievement"),
        (2, 3, "same", IMPROVED),
        (4, 5, "held_out", IMPROVED),
    ]
    assert [(r.run_id, r.part) for r in got.parts] == [
        (1, "same"), (2, "same"), (3, "same"), (4, "held_out"), (5, "held_out")
    ]  # fmt: skip
    labels = {row.run_id: row.label for row in got.rows}
    assert labels[2] == labels[4] == labels[5] == ""
    assert labels[3] == "trained on these questions"
    assert labels[1].startswith("reference: the author's worked answers")
    assert got.warnings == ()
    assert next(row.link for row in got.rows) == "runs/1/run.html"


def test_one_benchmark_partly_seen_is_split_for_every_model_alike() -> None:
    got = compare_runs(
        [
            run_view(1, "base", range(8)),
            run_view(2, "tuned", range(12), kind="adapter", seen=range(6)),
        ]
    )
    asked = {(row.run_id, row.part): row.asked for row in got.parts}
    assert asked == {(1, "same"): 6, (2, "same"): 6, (1, "held_out"): 14, (2, "held_out"): 14}
    assert [row.label for row in got.rows] == ["", "trained on 6 of these 20 questions"]


def test_a_model_asked_only_what_it_was_trained_on_is_warned_about_with_an_offer() -> None:
    got = compare_runs(
        [
            run_view(1, "base", range(8)),
            run_view(2, "tuned", range(20), kind="adapter", seen=range(20)),
        ]
    )
    assert len(got.warnings) == 1
    assert "memorisation" in got.warnings[0]
    assert "sibling_of=1" in got.warnings[0]


def test_different_scoring_programs_are_warned_about() -> None:
    got = compare_runs([run_view(1, "a", range(3)), run_view(2, "b", range(9), program="q" * 64)])
    assert len(got.warnings) == 1
    assert "different programs" in got.warnings[0]
    apart = [
        run_view(1, "a", range(3)),
        run_view(2, "a", range(20, 22), range(20, 40), program="q" * 64),
    ]
    (told,) = compare_runs(apart).warnings
    assert "cannot be compared" in told


def test_runs_with_different_limits_are_compared_on_what_both_were_asked() -> None:
    got = compare_runs([run_view(1, "a", range(3)), run_view(2, "b", range(9), range(10))])
    assert got.pairs[0].result.n == 10
    assert got.pairs[0].result.unpaired == 0
    assert "not asked the same questions" in got.warnings[0]


def test_the_baseline_can_be_chosen_and_is_never_the_reference_by_itself() -> None:
    runs = [
        run_view(1, "reference", range(20), kind="reference"),
        run_view(2, "tuned", range(9), kind="adapter"),
        run_view(3, "base", range(5)),
    ]
    assert {pair.baseline for pair in compare_runs(runs).pairs} == {3}
    assert {pair.baseline for pair in compare_runs(runs, baseline=2).pairs} == {2}
    with pytest.raises(InputError, match="baseline"):
        compare_runs(runs, baseline=9)
    with pytest.raises(InputError, match="each once"):
        compare_runs([runs[0], runs[0]])


def test_many_tests_are_adjusted_together() -> None:
    runs = [run_view(1, "base", range(5))]
    runs += [run_view(i, f"m{i}", range(9 + i), kind="adapter") for i in (2, 3, 4)]
    pairs = compare_runs(runs).pairs
    assert all(pair.p_holm >= pair.result.p for pair in pairs)
    least = min(pairs, key=lambda pair: pair.result.p)
    assert least.p_holm == pytest.approx(3 * least.result.p)


def test_records_survive_json() -> None:
    got = compare_runs([run_view(1, "a", range(3)), run_view(2, "b", range(9))])
    data = got.to_dict()
    assert data["pairs"][0]["result"]["wins"] == 6
    assert data["rows"][1]["score"] == 0.45


# ---- graded values, repeats, clusters ----------------------------------------------------------


@pytest.mark.parametrize(
    ("gains", "p"),
    [
        # Made with scipy 1.17.1: permutation_test((gains,), sum, permutation_type="samples", exact)
        ([0.5, -0.25, 0.25, 1, 0, 0.75, 0.5, -0.5, 0.25, 0.25], 0.12109375),
        ([0.1, -0.3, 0.25, 0.6], 0.5),
        ([], 1.0),
        ([0.0, 0.0], 1.0),
        ([0.3] * 6, 2 / 64),
    ],
)
def test_the_permutation_test_is_exact_when_small(gains: list[float], p: float) -> None:
    got, name = permutation(gains)
    assert got == pytest.approx(p)
    assert name == "exact paired permutation"


def test_equal_gains_make_the_permutation_test_the_exact_mcnemar_test() -> None:
    for wins, losses in ((9, 1), (5, 0), (7, 6), (12, 3)):
        got, _ = permutation([1.0] * wins + [-1.0] * losses + [0.0] * 20)
        assert got == pytest.approx(mcnemar(wins, losses))


def test_the_drawn_permutation_test_is_seeded_and_near_the_exact_one() -> None:
    gains = [1.0] * 20 + [-1.0] * 8
    got, name = permutation(gains, seed=3)
    assert "20,000 draws, seed 3" in name
    assert (got, name) == permutation(gains, seed=3)
    assert got == pytest.approx(mcnemar(20, 8), abs=0.006)
    assert permutation([1.0] * 400)[0] == pytest.approx(1 / 20_001)  # never 0


def test_false_alarms_of_the_permutation_test_stay_at_its_level() -> None:
    """2,000 comparisons of 40 questions without a difference: at most 6 in 100 come out below 5 %."""
    rng = random.Random(1)
    alarms = 0
    for _ in range(2_000):
        gains = [rng.choice((-0.5, -0.25, 0.0, 0.0, 0.25, 0.5)) for _ in range(14)]
        alarms += permutation(gains)[0] <= 0.05
    assert 0.02 <= alarms / 2_000 <= 0.06


@pytest.mark.slow
def test_the_interval_of_graded_differences_covers() -> None:
    """2,000 pairs of runs on 50 questions, graded in quarters, with a true difference of 0.1."""
    rng = np.random.default_rng(4)
    held = 0
    for _ in range(2_000):
        hard = rng.beta(2, 2, 50) * 0.8
        a, b = rng.binomial(4, hard) / 4, rng.binomial(4, hard + 0.1) / 4
        (low, high), _ = mean_interval((b - a).tolist(), bounds=(-1, 1))
        held += low <= 0.1 <= high
    assert 0.93 <= held / 2_000 <= 0.97


def test_repeats_are_averaged_by_question_and_never_counted_as_questions() -> None:
    a: Grid = {"1": [1, 0, 1, 0], "2": [0, 0, None, 0], "3": [None, None], "4": [1, 1]}
    b: Grid = {"1": [1, 1, 1, 1], "2": [0, 1, 1, 0], "3": [1, 1], "4": [1, 1]}
    got = paired(a, b)
    assert (got.n, got.unpaired, got.wins, got.losses) == (3, 1, 2, 0)
    assert got.score_a == pytest.approx(0.5)
    assert got.score_b == pytest.approx(2.5 / 3)
    assert got.test == "exact paired permutation"
    assert got.p == pytest.approx(0.5)
    assert got.interval == "Wilson bound"


def test_asking_again_makes_no_more_questions_of_them() -> None:
    """The same 0/1 answers repeated 10 times: the interval does not shrink."""
    a, b = outcome_pair(10, 8, 2, 10)
    again = [{key: list(row) * 10 for key, row in grid.items()} for grid in (a, b)]
    once, many = paired(a, b), paired(*again)
    assert many.n == 30
    assert many.delta == pytest.approx(once.delta)
    assert many.p == pytest.approx(once.p)
    assert many.ci[1] - many.ci[0] > 0.9 * (once.ci[1] - once.ci[0])


def test_questions_of_one_source_make_a_difference_borderline() -> None:
    """Twelve wins that all lie in one of four documents are evidence of one document."""
    a, b = outcome_pair(10, 12, 0, 18)
    of = {key: "doc 0" if a[key] != b[key] else f"doc {1 + int(key) % 3}" for key in a}
    got = paired(a, b, groups=Groups("source", of))
    assert got.verdict == IMPROVED
    assert got.clustered is not None
    assert got.clustered["groups"] == 4
    assert got.clustered["ci"][0] < 0 < got.clustered["ci"][1]
    assert got.borderline
    alone = paired(a, b, groups=Groups("source", {key: key for key in a}))
    assert alone.clustered is None
    assert not alone.borderline


def test_holm_is_the_published_procedure() -> None:
    """p = 0.01, 0.04, 0.03, 0.005: the example of Wikipedia's "Holm-Bonferroni method"; statsmodels
    0.14 multipletests(method="holm") gives these."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([]) == []
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_the_smallest_mean_difference_is_found_four_times_in_five() -> None:
    rng = np.random.default_rng(9)
    spread = rng.normal(0, 0.3, 100)
    d = smallest_mean_difference((spread - spread.mean()).tolist())
    assert d is not None
    found = 0
    for _ in range(2_000):
        gains = rng.normal(d, spread.std(ddof=1), 100)
        found += abs(gains.mean()) / (gains.std(ddof=1) / 10) > 1.96
    assert 0.76 <= found / 2_000 <= 0.84
    assert smallest_mean_difference([0.1, 0.1]) is None
    assert smallest_mean_difference([1.0, -1.0]) is None


def test_graded_values_are_tested_beside_the_share_right() -> None:
    asked = tuple(Question("keypoints", f"Why {i}?", ["a", "b"]) for i in range(20))
    a = tuple(scored_trace(q, False, 0.25 * (i % 3)) for i, q in enumerate(asked))
    b = tuple(scored_trace(q, i < 3, 0.25 * (i % 3) + 0.25) for i, q in enumerate(asked))
    got = compare_runs([simple_view(1, asked, a), simple_view(2, asked, b)])
    assert [(p.result.measure, p.result.test) for p in got.pairs] == [
        (RIGHT, "exact McNemar"), (VALUE, f"paired permutation, {SHUFFLES:,} draws, seed 0"),
    ]  # fmt: skip
    assert got.pairs[1].result.delta == pytest.approx(0.25)
    assert got.pairs[1].p_holm == pytest.approx(2 * got.pairs[1].result.p)
    assert got.rows[0].graded is not None
    assert got.rows[0].graded["mean"] == pytest.approx(sum(0.25 * (i % 3) for i in range(20)) / 20)
    assert got.differences()["measure"].to_list() == [RIGHT, VALUE]
    assert got.rows[0].label.startswith("mean value 23.8 % (95 % interval ")


def test_every_pair_of_many_runs_can_be_tested() -> None:
    asked = tuple(Question("qa", f"Who {i}?", ["a"]) for i in range(12))
    views = [
        simple_view(id, asked, tuple(scored_trace(q, i < 3 * id) for i, q in enumerate(asked)))
        for id in (1, 2, 3, 4)
    ]
    got = compare_runs(views, every=True)
    assert [(p.baseline, p.run) for p in got.pairs] == [
        (1, 2),
        (1, 3),
        (1, 4),
        (2, 3),
        (2, 4),
        (3, 4),
    ]
    assert all(p.p_holm >= p.result.p for p in got.pairs)
    assert [(p.baseline, p.run) for p in compare_runs(views).pairs] == [(1, 2), (1, 3), (1, 4)]


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        (
            {"dtype": "bfloat16"},
            {"dtype": "float32"},
            "another precision: dtype is bfloat16, float32",
        ),
        ({"sampling": {"temperature": 0.7}}, {"sampling": {"temperature": 0.0}}, "other sampling"),
        ({"repeats": 1}, {"repeats": 5}, "another number of repeats"),
        ({"max_new_tokens": 16}, {"max_new_tokens": 64}, "another token limit"),
        ({"temperature": 1, "seed": 1}, {"temperature": 1, "seed": 2}, "different seeds: 1, 2"),
    ],
)
def test_other_settings_are_warned_about(
    one: dict[str, Any], other: dict[str, Any], told: str
) -> None:
    asked = tuple(Question("qa", f"Who {i}?", ["a"]) for i in range(4))
    traces = tuple(scored_trace(q, True) for q in asked)
    a, b = simple_view(1, asked, traces), simple_view(2, asked, traces)
    assert compare_runs([a, b]).warnings == ()
    got = compare_runs([replace(a, settings=one), replace(b, settings=other)]).warnings
    assert len(got) == 1
    assert told in got[0]
    assert compare_runs([replace(a, settings=one), replace(b, settings=one)]).warnings == ()


def test_seeds_of_greedy_runs_and_settings_that_nobody_told_are_passed_over() -> None:
    asked = (Question("qa", "Who?", ["a"]),)
    traces = (scored_trace(asked[0], True),)
    a = simple_view(1, asked, traces, settings={"seed": 1, "limit": None, "dtype": None})
    b = simple_view(2, asked, traces, settings={"seed": 2, "dtype": "float32"})
    assert compare_runs([a, b]).warnings == ()


def test_other_benchmarks_and_versions_are_named() -> None:
    asked = tuple(Question("qa", f"Who {i}?", ["a"]) for i in range(5))
    traces = tuple(scored_trace(q, True) for q in asked)
    a = simple_view(1, asked, traces, benchmark_id=1)
    b = simple_view(2, asked[:4], traces[:4], benchmark_id=2)
    told = compare_runs([a, b]).warnings
    assert "different benchmarks: 1 (bench), 2 (bench)" in told[0]
    assert "the 4 that all of them were asked" in told[1]
    version = compare_runs([a, replace(b, version_of=1)]).warnings[0]
    assert "different versions of a benchmark: 1 (bench), 2 (bench, a changed copy of 1)" in version


def test_what_was_not_measured_is_counted_and_left_out() -> None:
    asked = tuple(Question("qa", f"Who {i}?", ["a"]) for i in range(5))
    a = tuple(scored_trace(q, None if i == 0 else True) for i, q in enumerate(asked))
    b = tuple(scored_trace(q, None if i in (0, 1) else False) for i, q in enumerate(asked))
    got = compare_runs([simple_view(1, asked, a), simple_view(2, asked, b)])
    assert (got.pairs[0].result.n, got.pairs[0].result.unpaired) == (3, 2)
    assert got.differences()["left_out"].to_list() == [2]
    assert any(line.startswith("2 of 5 questions that runs 1 and 2") for line in got.warnings)


def test_a_run_that_measured_nothing_says_what_to_mend_first() -> None:
    figures = {"scored": 0, "score": None, "ci": (0.0, 1.0), "by_status": {"error": 4}}
    told = cautions.of_run(3, {**figures, "not_measured": {"connection_refused": 4}}, None)
    assert told == [
        "nothing was measured (connection_refused: 4): mend that first, then benchgen resume run_id=3 retry_errors=yes"
    ]
    assert cautions.of_run(3, {**figures, "not_measured": {}}, None) == []


def scored_trace(question: Question, correct: bool | None, value: float | None = None) -> Trace:
    return Trace(
        question.key, (), "r", None, "ok" if correct is not None else "error", "", correct, value
    )


def simple_view(
    id: int, asked: tuple[Question, ...], traces: tuple[Trace, ...], **more: Any
) -> RunView:
    told = {"benchmark_id": 1, **more}
    return RunView(
        run_id=id, model=f"m{id}", model_kind="base", benchmark="bench", program_sha256="p",
        evaluation_sha256="e", questions=asked, traces=traces, **told,
    )  # fmt: skip
