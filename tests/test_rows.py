"""Training rows from runs and from files: what was asked, and an answer that is worth learning."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchgen.benchmark.prompts import render, worked_answer
from benchgen.errors import DataError, InputError, NotFound
from benchgen.rundata import rows
from benchgen.rundata.rows import (
    FORMATS,
    MAX_BYTES,
    SMALL,
    RunData,
    rows_from_file,
    rows_from_runs,
)
from benchgen.types import Evaluation, Question, Trace

pytestmark = pytest.mark.slow

EVALUATION = Evaluation(options="names")
QUESTIONS = [
    Question("mcq", "Largest planet?", "B", choices=("Mars", "Jupiter"), rationale="Jupiter is 11 Earths wide."),
    Question("qa", "Who saw four moons?", ["Galileo"], rationale="He had a telescope."),
    Question("qa", "When?", ["1610"]),
]  # fmt: skip


def run(*correct: bool | None, replies: tuple[str, ...] = ("r0", "r1", "r2")) -> RunData:
    traces = [
        Trace(q.key, render(q, EVALUATION), reply, None, "ok", "", right, None)
        for q, right, reply in zip(QUESTIONS, correct, replies, strict=False)
    ]
    return RunData(QUESTIONS, EVALUATION, traces)


# ----------------------------------------------------------------------------------------- from runs


def test_failures_learn_the_worked_answers_of_what_was_wrong() -> None:
    rows = rows_from_runs([run(True, False, None)], "failures").rows
    assert [row.key for row in rows] == [QUESTIONS[1].key]
    assert rows[0].completion == worked_answer(QUESTIONS[1], EVALUATION)
    assert rows[0].completion == "He had a telescope.\nAnswer: Galileo"
    assert rows[0].messages == render(QUESTIONS[1], EVALUATION)  # as it was asked


def test_distill_learns_the_right_replies_as_given() -> None:
    data = run(True, False, None, replies=("  Because.\nAnswer: Jupiter \n", "x", "y"))
    rows = rows_from_runs([data], "distill").rows
    assert [(row.key, row.completion) for row in rows] == [
        (QUESTIONS[0].key, "Because.\nAnswer: Jupiter")
    ]


def test_equal_rows_count_once_and_different_answers_to_one_question_each() -> None:
    """Several runs of one teacher on one benchmark must not weigh a question twice."""
    same = rows_from_runs([run(True, True), run(True, True)], "distill").rows
    assert [row.completion for row in same] == ["r0", "r1"]
    other = rows_from_runs([run(True), run(True, replies=("another way",))], "distill").rows
    assert [row.completion for row in other] == ["r0", "another way"]
    wrong = rows_from_runs([run(False), run(False, replies=("worse",))], "failures").rows
    assert len(wrong) == 1


MANY = [Question("qa", f"What is {i}?", [f"word{i}"]) for i in range(12)]


def many(right: int, replies: int = 1) -> RunData:
    """The first `right` of twelve questions answered right, each `replies` times."""
    traces = [
        Trace(q.key, render(q, EVALUATION), f"{'so ' * r}{q.target[0]}", None, "ok", "", i < right, None, repeat=r)
        for i, q in enumerate(MANY)
        for r in range(replies)
    ]  # fmt: skip
    return RunData(MANY, EVALUATION, traces)


def test_failures_come_with_right_replies_to_other_questions() -> None:
    chosen = rows_from_runs([many(right=9)], "failures", replay=0.4)
    failed = {q.key for q in MANY[9:]}
    assert [row.key in failed for row in chosen.rows] == [True] * 3 + [False] * 2
    assert chosen.replayed == 2  # two of five rows
    assert all(row.completion.startswith("word") for row in chosen.rows[3:])
    again = rows_from_runs([many(right=9)], "failures", replay=0.4)
    assert again == chosen
    others = [rows_from_runs([many(9)], "failures", replay=0.4, seed=s).rows[3:] for s in range(9)]
    assert len({tuple(row.key for row in rows) for rows in others}) > 1
    assert rows_from_runs([many(right=9)], "failures", replay=0.0).replayed == 0
    few = rows_from_runs([many(right=1)], "failures", replay=0.4)
    assert (len(few.rows), few.replayed) == (12, 1)  # all that there are


def test_a_question_answered_right_once_and_wrong_once_is_a_failure_alone() -> None:
    both = many(right=12, replies=1)
    wrong = many(right=0, replies=1)
    chosen = rows_from_runs([both, wrong], "failures", replay=0.4)
    assert chosen.replayed == 0
    assert len(chosen.rows) == 12


def test_of_many_right_replies_the_shortest_different_ones_are_taken() -> None:
    rows = rows_from_runs([many(right=2, replies=6)], "distill", per_question=3).rows
    assert [row.completion for row in rows[:3]] == ["word0", "so word0", "so so word0"]
    assert len(rows) == 6
    spaced = many(right=1)
    traces = [*spaced.traces, replace(spaced.traces[0], reply=" word0  \n", repeat=1)]
    rows = rows_from_runs([replace(spaced, traces=traces)], "distill").rows
    assert [row.completion for row in rows] == ["word0"]


def test_an_option_picked_by_its_likelihood_is_no_reply_to_learn() -> None:
    data = many(right=3)
    picked = [replace(t, likelihood={"logprob": [-1.0]}) for t in data.traces]
    with pytest.raises(DataError, match="nothing to train on"):
        rows_from_runs([replace(data, traces=picked)], "distill")


@pytest.mark.parametrize(
    ("mode", "correct"),
    [("failures", (True, True, None)), ("distill", (False, None)), ("failures", ())],
)
def test_runs_without_a_usable_row_are_refused(mode: str, correct: tuple[bool | None, ...]) -> None:
    with pytest.raises(DataError, match="nothing to train on") as failed:
        rows_from_runs([run(*correct)], mode)
    assert failed.value.exit_code == 2
    assert "mode=all" in failed.value.next


def test_modes_that_cannot_be_trained_on() -> None:
    """`all` has wrong answers among it; any other word is unknown."""
    with pytest.raises(DataError) as failed:
        rows_from_runs([run(True)], "all")
    assert failed.value.allowed == ["failures", "distill"]
    with pytest.raises(InputError, match="mode=best"):
        rows_from_runs([run(True)], "best")


# ----------------------------------------------------------------------------------------- from files

CHAT = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "2 + 2?"},
    {"role": "assistant", "content": " 4 "},
]


def write_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows))


WRITERS: dict[str, Callable[[Path, list[dict[str, Any]]], Any]] = {
    ".jsonl": write_jsonl,
    ".json": lambda path, rows: path.write_text(json.dumps(rows)),
    ".csv": lambda path, rows: pl.DataFrame(rows).write_csv(path),
    ".parquet": lambda path, rows: pl.DataFrame(rows).write_parquet(path),
}


@pytest.mark.parametrize("suffix", sorted(FORMATS))
def test_prompt_and_completion_in_every_format(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix.upper()}"
    WRITERS[suffix](path, [{"prompt": "Ä, \"b\"\nc?", "completion": " yes "}, {"prompt": "d?", "completion": "007"}])  # fmt: skip
    rows = rows_from_file(path)
    assert [row.completion for row in rows] == ["yes", "007"]
    assert rows[0].messages == ({"role": "user", "content": 'Ä, "b"\nc?'},)
    assert len({row.key for row in rows}) == 2
    assert rows == rows_from_file(path)


@pytest.mark.parametrize("suffix", [".jsonl", ".json", ".parquet"])
def test_messages_end_with_what_is_learnt(tmp_path: Path, suffix: str) -> None:
    WRITERS[suffix](tmp_path / f"rows{suffix}", [{"messages": CHAT}])
    (row,) = rows_from_file(tmp_path / f"rows{suffix}")
    assert row.messages == tuple(CHAT[:2])
    assert row.completion == "4"


def test_messages_in_a_csv_are_json_text(tmp_path: Path) -> None:
    pl.DataFrame({"messages": [json.dumps(CHAT)]}).write_csv(tmp_path / "rows.csv")
    (row,) = rows_from_file(tmp_path / "rows.csv")
    assert (len(row.messages), row.completion) == (2, "4")


def test_rows_of_both_shapes_and_with_other_fields_share_a_file(tmp_path: Path) -> None:
    """JSON Lines is no table: the 200th row may hold what the first did not."""
    many = [{"prompt": f"{i}?", "completion": "a"} for i in range(200)]
    more: list[dict[str, Any]] = [
        {"messages": CHAT, "source": {"page": 3}},
        {"prompt": "x", "completion": "y", "id": 1},
    ]
    write_jsonl(tmp_path / "rows.jsonl", [*many, *more])
    assert len(rows_from_file(tmp_path / "rows.jsonl")) == 202


def test_a_mark_at_the_start_and_blank_lines_are_no_rows(tmp_path: Path) -> None:
    """As editors on Windows write it."""
    text = '\ufeff{"prompt": "a", "completion": "b"}\r\n\r\n{"prompt": "c", "completion": "d"}'
    (tmp_path / "rows.jsonl").write_bytes(text.encode())
    assert [row.completion for row in rows_from_file(tmp_path / "rows.jsonl")] == ["b", "d"]


@pytest.mark.parametrize(
    "row",
    [
        {"prompt": "a"},
        {"prompt": "a", "completion": ""},
        {"prompt": "a", "completion": "  \n"},
        {"prompt": " ", "completion": "b"},
        {"prompt": "a", "completion": 4},
        {"prompt": "a", "completion": "half \ud800"},
        {"question": "a", "answer": "b"},
        {"messages": []},
        {"messages": CHAT[:2]},
        {"messages": CHAT[2:]},
        {"messages": "no JSON"},
        {"messages": [{"role": "robot", "content": "a"}, CHAT[2]]},
        {"messages": [{"role": "user", "content": None}, CHAT[2]]},
        {"messages": {"role": "user"}},
        {},
        ["a", "b"],
        "text",
        7,
    ],
)
def test_a_row_that_cannot_be_trained_on_is_named_by_its_number(tmp_path: Path, row: Any) -> None:
    good = json.dumps({"prompt": "a", "completion": "b"})
    (tmp_path / "rows.jsonl").write_text(f"{good}\n{json.dumps(row)}\n{good}\n")
    with pytest.raises(DataError, match=r"row 2 of .*rows\.jsonl") as failed:
        rows_from_file(tmp_path / "rows.jsonl")
    assert "prompt + completion" in str(failed.value.allowed)
    assert "\n" not in failed.value.message
    failed.value.message.encode()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("rows.jsonl", b'{"prompt": "a", "completion": "b"}\n{"prompt": '),
        ("rows.jsonl", b"\xff\xfe\x00"),
        ("rows.json", b'{"prompt": "a", "completion": "b"}'),
        ("rows.json", b"["),
        ("rows.json", b"[" * 100_000),
        ("rows.parquet", b"PAR1 not really"),
        ("rows.csv", b""),
        ("rows.jsonl", b""),
        ("rows.json", b"[]"),
        ("rows.csv", b"prompt,completion\n"),
        ("rows.txt", b"text"),
        ("rows", b"text"),
    ],
)
def test_a_file_without_rows_is_refused_in_one_line(
    tmp_path: Path, name: str, content: bytes
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError) as failed:
        rows_from_file(tmp_path / name)
    assert str(tmp_path / name) in failed.value.what
    assert failed.value.allowed
    assert "\n" not in failed.value.message


def test_a_broken_line_is_named_by_its_number(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"prompt": "a", "completion": "b"}\n{"prompt": \n')
    with pytest.raises(DataError, match="line 2"):
        rows_from_file(tmp_path / "rows.jsonl")


def test_a_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "rows.jsonl")
    with pytest.raises(DataError, match="a pipe, and a file is needed"):
        rows_from_file(tmp_path / "rows.jsonl")


@pytest.mark.parametrize("suffix", [".jsonl", ".parquet"])
def test_a_file_that_is_too_large_is_not_read(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"rows{suffix}"
    with path.open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(DataError, match="too large"):
        rows_from_file(path)


def test_what_unpacks_to_more_than_its_reader_may_use_ends_that_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A few kilobytes of parquet that hold megabytes of one letter, and a reader who may use one of them."""
    path = tmp_path / "rows.parquet"
    pl.DataFrame({"prompt": ["b"] * 8, "completion": ["a" * 2**20] * 8}).write_parquet(path)
    assert path.stat().st_size < 2**20
    assert len(rows_from_file(path)) == 8
    monkeypatch.setattr(rows, "LIMITS", replace(rows.LIMITS, output=2**20))
    with pytest.raises(DataError, match=r"rows.parquet: it unpacks to more than 1 MiB"):
        rows_from_file(path)


def test_a_large_file_is_read_like_a_small_one(tmp_path: Path) -> None:
    row = {"prompt": "a\u2028b" * 20, "completion": "c\nd"}
    for suffix, count in ((".jsonl", 3), (".jsonl", 20_000)):
        path = tmp_path / f"{count}{suffix}"
        path.write_text((json.dumps(row) + "\n") * count)
    small, large = (rows_from_file(tmp_path / f"{n}.jsonl") for n in (3, 20_000))
    assert (tmp_path / "20000.jsonl").stat().st_size > SMALL
    assert large[:3] == small
    assert len(large) == 20_000


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file") as failed:
        rows_from_file(tmp_path / "absent.jsonl")
    assert failed.value.exit_code == 2
    (tmp_path / "folder.jsonl").mkdir()
    with pytest.raises(DataError):
        rows_from_file(tmp_path / "folder.jsonl")
