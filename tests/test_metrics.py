"""Scores, intervals and breakdowns of a run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.errors import DataError
from benchgen.run.metrics import outcomes, summary, tally, wilson
from benchgen.types import Question, Trace


def question(i: int, category: str = "planets", difficulty: str = "easy") -> Question:
    return Question(
        kind="qa", prompt=f"Q{i}?", target=[f"A{i}"], category=category, difficulty=difficulty
    )


def trace(q: Question, correct: bool | None, status: str = "ok") -> Trace:
    return Trace(
        key=q.key,
        messages=({"role": "user", "content": q.prompt},),
        reply="r",
        extracted=None,
        status=status,
        reason="",
        correct=correct,
        value=None,
        tokens_in=10,
        tokens_out=3,
    )


@pytest.mark.parametrize(
    ("right", "scored", "low", "high"),
    [
        # Made with scipy 1.17.1: binomtest(right, scored).proportion_ci(method="wilson")
        (0, 30, 0.0, 0.11351339317396875),
        (7, 30, 0.11792388144489496, 0.40928326158122164),
        (30, 30, 0.8864866068260312, 1.0),
        (1, 1, 0.20654931437723745, 1.0),
        (57, 60, 0.8629948352365148, 0.9828504978356044),
        (500, 1000, 0.4690696003681042, 0.5309303996318958),
    ],
)
def test_wilson_equals_a_known_implementation(
    right: int, scored: int, low: float, high: float
) -> None:
    assert wilson(right, scored) == pytest.approx((low, high), abs=1e-14)


def test_nothing_scored_says_nothing() -> None:
    assert wilson(0, 0) == (0.0, 1.0)
    assert tally([None, None]) == {
        "right": 0, "scored": 0, "asked": 2, "score": None, "ci": [0.0, 1.0]
    }  # fmt: skip


@pytest.mark.parametrize(("right", "scored"), [(2, 1), (-1, 3)])
def test_impossible_counts_are_refused(right: int, scored: int) -> None:
    with pytest.raises(DataError, match="right"):
        wilson(right, scored)


@given(st.integers(0, 500).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
def test_wilson_holds_the_score_and_is_symmetric(counts: tuple[int, int]) -> None:
    right, scored = counts
    low, high = wilson(right, scored)
    assert 0 <= low <= high <= 1
    if scored:
        assert low <= right / scored <= high
    mirror = wilson(scored - right, scored)
    assert (1 - high, 1 - low) == pytest.approx(mirror, abs=1e-12)


def test_unmeasured_is_out_of_the_denominator_and_counted_apart() -> None:
    qs = [question(i) for i in range(4)]
    got = summary(
        [
            trace(qs[0], True),
            trace(qs[1], False),
            trace(qs[2], False, "no_answer"),
            trace(qs[3], None, "error"),
        ],
        qs,
    )
    assert (got["right"], got["scored"], got["asked"]) == (1, 3, 4)
    assert got["score"] == pytest.approx(1 / 3)
    assert got["by_status"] == {"ok": 2, "no_answer": 1, "error": 1}
    assert (got["tokens_in"], got["tokens_out"]) == (40, 12)


def test_groups_add_up_and_join_by_key_not_by_place() -> None:
    qs = [question(0, "b", "hard"), question(1, "a"), question(2, "b"), question(3, "c")]
    got = summary([trace(qs[2], False), trace(qs[1], True), trace(qs[0], True)], qs)
    assert list(got["by_category"]) == ["a", "b"]  # sorted; nothing of "c" was asked
    assert got["by_category"]["b"]["right"] == 1
    assert got["by_category"]["b"]["asked"] == 2
    assert got["by_difficulty"]["hard"]["score"] == 1.0
    assert sum(group["asked"] for group in got["by_category"].values()) == got["asked"] == 3


def test_a_question_asked_again_counts_once_with_its_later_answer() -> None:
    q = question(0)
    traces = [trace(q, None, "error"), trace(q, True)]
    assert outcomes(traces) == {q.key: True}
    got = summary(traces, [q])
    assert (got["right"], got["asked"], got["by_status"]) == (1, 1, {"ok": 1})


def test_a_trace_of_another_benchmark_is_refused() -> None:
    with pytest.raises(DataError, match="1 of 1 traces"):
        summary([trace(question(0), True)], [question(1)])


def test_a_run_without_traces_has_no_score() -> None:
    got = summary([], [question(0)])
    assert got["score"] is None
    assert got["asked"] == 0
    assert got["by_status"] == {}
