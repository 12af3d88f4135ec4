"""Scores, intervals and breakdowns of a run."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.errors import DataError
from benchgen.run.metrics import outcomes, summary, tally
from benchgen.run.statistics import wilson
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
    assert outcomes(traces) == {q.key: [True]}
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


# ---- repeats, grades, clusters, breakdowns ------------------------------------------------------


def again(q: Question, *correct: bool | None) -> list[Trace]:
    return [replace(trace(q, c), repeat=i) for i, c in enumerate(correct)]


def test_repeats_make_a_mean_over_questions_and_counts_of_replies() -> None:
    """A question with fewer measured repeats counts as much as any other."""
    qs = [question(i) for i in range(3)]
    traces = [
        *again(qs[0], True, True, True, True),
        *again(qs[1], False, True, False, False),
        *again(qs[2], True, None, None, None),
    ]
    got = summary(traces, qs)
    assert got["score"] == pytest.approx((1 + 0.25 + 1) / 3)
    assert (got["right"], got["scored"], got["asked"]) == (6, 9, 12)
    assert (got["questions"], got["repeats"]) == (3, 4)
    assert got["by_category"]["planets"]["score"] == got["score"]


def test_asking_again_does_not_narrow_the_interval() -> None:
    qs = [question(i) for i in range(40)]
    once = summary([trace(q, i % 3 == 0) for i, q in enumerate(qs)], qs)
    many = summary([t for i, q in enumerate(qs) for t in again(q, *[i % 3 == 0] * 8)], qs)
    assert many["score"] == pytest.approx(once["score"])
    widths = [got["ci"][1] - got["ci"][0] for got in (once, many)]
    assert widths[1] == pytest.approx(widths[0], rel=0.1)


def test_more_repeats_narrow_the_interval_where_only_the_draw_varies() -> None:
    """Every question the same fair coin: 16 tosses of each say more than one."""
    rng, qs = random.Random(0), [question(i) for i in range(40)]
    once = summary([trace(q, rng.random() < 0.5) for q in qs], qs)
    many = summary([t for q in qs for t in again(q, *(rng.random() < 0.5 for _ in range(16)))], qs)
    assert many["ci"][1] - many["ci"][0] < 0.5 * (once["ci"][1] - once["ci"][0])


def test_pass_at_k_leaves_out_questions_with_too_few_repeats() -> None:
    qs = [question(i) for i in range(3)]
    traces = [*again(qs[0], True, False, False), *again(qs[1], False, False, False), *again(qs[2], True, None, None)]  # fmt: skip
    got = {row["k"]: row for row in summary(traces, qs)["pass_at_k"]}
    assert sorted(got) == [1, 2, 3]
    assert (got[1]["n"], got[3]["n"]) == (3, 2)
    assert got[1]["score"] == pytest.approx((1 / 3 + 0 + 1) / 3)
    assert got[2]["score"] == pytest.approx((2 / 3 + 0) / 2)
    assert got[3]["score"] == pytest.approx(0.5)
    assert got[3]["ci"][0] < 0.5 < got[3]["ci"][1]
    assert summary([trace(qs[0], True)], qs)["pass_at_k"] == []


def test_every_breakdown_has_counts_and_an_interval() -> None:
    qs = [replace(question(i), language=("en", "de")[i % 2]) for i in range(6)]
    statuses = ("ok", "ok", "no_answer", "ok", "error", "ok")
    got = summary(
        [
            trace(q, None if s == "error" else s == "ok", s)
            for q, s in zip(qs, statuses, strict=True)
        ],
        qs,
    )
    assert {name: row["asked"] for name, row in got["by_language"].items()} == {"de": 3, "en": 3}
    for name in ("by_category", "by_difficulty", "by_language"):
        for row in got[name].values():
            assert {"right", "scored", "asked", "score"} <= set(row)
            assert row["ci"] == list(wilson(row["right"], row["scored"]))
    assert got["status_shares"]["no_answer"] == {
        "n": 1, "share": pytest.approx(1 / 6), "ci": list(wilson(1, 6))
    }  # fmt: skip
    assert sum(row["n"] for row in got["status_shares"].values()) == got["asked"]


def test_questions_of_one_source_or_template_get_an_interval_that_says_so() -> None:
    """Ten documents with three questions each, all right or all wrong: ten facts, not thirty."""
    qs = [replace(question(i), source=f"doc {i // 3}", template=f"t{i % 2}") for i in range(30)]
    got = summary([trace(q, i // 3 % 2 == 0) for i, q in enumerate(qs)], qs)
    by_source, by_template = got["clustered"]
    assert (by_source["by"], by_source["groups"]) == ("source", 10)
    assert (by_template["by"], by_template["groups"]) == ("template", 2)
    low, high = by_source["ci"]
    assert high - low > 1.5 * (got["ci"][1] - got["ci"][0])
    assert by_source["effect"] == pytest.approx(3, rel=0.1)
    apart = [replace(q, source=f"doc {i}", template="") for i, q in enumerate(qs)]
    assert summary([trace(q, True) for q in apart], apart)["clustered"] == []


def test_graded_values_have_a_mean_beside_the_share_right() -> None:
    qs = [question(i) for i in range(12)]
    traces = [replace(trace(q, i == 11), value=i / 11) for i, q in enumerate(qs)]
    got = summary([*traces[:-1], replace(traces[-1], correct=None, value=None)], qs)["graded"]
    assert (got["n"], got["mean"]) == (11, pytest.approx(5 / 11))
    assert got["ci"][0] < 5 / 11 < got["ci"][1]
    assert got["method"].startswith("BCa")
    assert summary([replace(trace(qs[0], True), value=1.0)], qs)["graded"] is None


def test_the_same_traces_give_the_same_figures() -> None:
    qs = [question(i) for i in range(25)]
    traces = [t for i, q in enumerate(qs) for t in again(q, i % 2 == 0, i % 3 == 0)]
    assert summary(traces, qs) == summary(list(traces), qs)
    rng = random.Random(1)
    graded = [replace(trace(q, False), value=rng.random()) for q in qs]
    one, other = (summary(graded, qs, seed=s)["graded"] for s in (0, 1))
    assert one["ci"] != other["ci"]
    assert one["ci"] == pytest.approx(other["ci"], abs=0.02)
