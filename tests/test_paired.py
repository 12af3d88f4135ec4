"""Paired figures: known values, edges, coverage, and what may be called an improvement."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.compare.paired import (
    IMPROVED,
    UNCLEAR,
    WORSE,
    RunView,
    compare_runs,
    mcnemar,
    newcombe,
    paired,
    smallest_difference,
    split_by_seen,
)
from benchgen.errors import InputError
from benchgen.types import Question, Trace

tables = st.tuples(*[st.integers(0, 40)] * 4).filter(lambda t: sum(t) > 0)


def outcome_pair(
    both: int, wins: int, losses: int, neither: int
) -> tuple[dict[str, bool | None], dict[str, bool | None]]:
    cells = [(True, True)] * both + [(False, True)] * wins
    cells += [(True, False)] * losses + [(False, False)] * neither
    return (
        {str(i): cell[0] for i, cell in enumerate(cells)},
        {str(i): cell[1] for i, cell in enumerate(cells)},
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
    assert there.right_b - there.right_a == there.wins - there.losses
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
    a: dict[str, bool | None] = {"1": True, "2": None, "3": False, "4": True}
    b: dict[str, bool | None] = {"1": True, "2": True, "3": True, "5": False}
    result = paired(a, b)
    assert (result.n, result.unpaired, result.wins, result.losses) == (2, 3, 1, 0)
    narrowed = paired(a, b, keys=["1", "3"])
    assert (narrowed.n, narrowed.unpaired) == (2, 0)


def test_nothing_in_common_claims_nothing() -> None:
    result = paired({"1": True}, {"2": True})
    assert (result.n, result.delta, result.ci, result.p) == (0, None, (-1.0, 1.0), 1.0)
    assert result.verdict == UNCLEAR
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
