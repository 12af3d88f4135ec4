"""What a finished run shows, by mode."""

from __future__ import annotations

import polars as pl
import pytest

from benchgen.errors import InputError
from benchgen.rundata.select import SCHEMA, check_mode, chosen, frame
from benchgen.types import MODES, Question, Trace

QUESTIONS = [
    Question("mcq", "Largest planet?", "B", choices=("Mars", "Jupiter"), category="planets", difficulty="easy"),
    Question("qa", "Who?", ["Galileo", "G. Galilei"]),
    Question("qa", "When?", ["1610"]),
]  # fmt: skip


def trace(question: Question, correct: bool | None, status: str = "ok") -> Trace:
    return Trace(question.key, (), "the reply\nin full", "x", status, "", correct, None)


TRACES = [
    trace(QUESTIONS[0], True),
    trace(QUESTIONS[1], False, "no_answer"),
    trace(QUESTIONS[2], None, "error"),
]


@pytest.mark.parametrize(
    ("mode", "shown"), [("all", [0, 1, 2]), ("failures", [1]), ("distill", [0])]
)
def test_a_mode_shows_its_traces(mode: str, shown: list[int]) -> None:
    """Unmeasured is neither a failure nor something to learn from."""
    table = frame(QUESTIONS, TRACES, mode)
    assert table["key"].to_list() == [QUESTIONS[i].key for i in shown]
    assert [i for i, t in enumerate(TRACES) if chosen(t, mode)] == shown


def test_a_row_joins_question_and_trace_by_key() -> None:
    table = frame(QUESTIONS[::-1], TRACES, "all")
    assert table.schema == pl.Schema(SCHEMA)
    assert table.row(0, named=True) == {
        "key": QUESTIONS[0].key,
        "category": "planets",
        "difficulty": "easy",
        "prompt": "Largest planet?",
        "choices": ["Mars", "Jupiter"],
        "target": "Jupiter",
        "extracted": "x",
        "correct": True,
        "status": "ok",
        "reason": "",
        "reply": "the reply\nin full",
        "language": "en",
        "repeat": 0,
        "value": None,
        "strict": None,
        "held_out": False,
    }
    assert table["target"].to_list()[1] == "Galileo"
    assert table["correct"].to_list() == [True, False, None]


def test_failures_is_the_usual_mode_and_an_empty_view_keeps_its_columns() -> None:
    assert frame(QUESTIONS, TRACES).height == 1
    empty = frame(QUESTIONS, [])
    assert (empty.height, empty.schema) == (0, pl.Schema(SCHEMA))


def test_an_unknown_mode_names_the_three() -> None:
    assert [check_mode(mode) for mode in MODES] == ["failures", "all", "distill"]
    for ask in (lambda: check_mode("wrong"), lambda: frame(QUESTIONS, TRACES, "Failures")):
        with pytest.raises(InputError) as failed:
            ask()
        assert failed.value.exit_code == 2
        assert failed.value.allowed == ["failures", "all", "distill"]
