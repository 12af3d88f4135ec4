"""Plain files of questions: what goes out as CSV or JSONL comes back with equal keys."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from benchgen.author.file import FileSpec, QuestionFile, read_file
from benchgen.benchmark.bundle import Bundle
from benchgen.benchmark.exchange.formats import write_as
from benchgen.errors import DataError
from benchgen.types import LETTERS, Evaluation, Question

FORMS = ("csv", "jsonl")
PING = {
    "name": "ping",
    "parameters": {"type": "object", "properties": {"host": {"type": "string"}}},
}
KINDS: dict[str, list[Question]] = {
    "mcq": [
        Question("mcq", "Which planet is red?", "B", ("Venus", "Mars", "Earth"), "planets", "easy"),
        Question("mcq", "Which letter follows A?", "C", ("A", "C", "B", "D"), language="de"),
        Question(
            "mcq",
            "2 + 2, in \u201cone\u201d digit?\n(Think.)",
            "A",
            ("4", "1"),
            rationale="2, 3, 4.",
        ),
        Question(
            "mcq",
            "What is the path?",
            "A",
            ("C:\\, or so\\", 'a "b"\\', "\u05d0, \u05d1;\tc", "=1+1"),
        ),
    ],
    "many options": [
        Question("mcq", "Which of twelve?", "L", tuple(f"no. {i}" for i in range(12)))
    ],
    "several right": [
        Question("mcq", "Which are even?", ["A", "C"], ("2", "3", "6")),
        Question("mcq", "Which are odd?", ["B"], ("2", "3", "6")),
    ],
    "qa": [
        Question("qa", "Which planet is red?", ["Mars", "the red planet"]),
        Question("qa", "Which list?", ["[1, 2]"], source="a.md: \u201cx\u201d"),
        Question("qa", "Which code?", ["007"]),
        Question("qa", "Which one, | or ;?", ["a|b;c"]),
        Question("qa", "Is nothing\u2028lost?", ["NA"]),
    ],
    "yes and no": [Question("qa", f"Is it {i}?", [a]) for i, a in enumerate(("yes", "No", "true"))],
    "numeric": [
        Question("numeric", "How long is it?", 1.125, options={"rel_tol": 0.01}),
        Question("numeric", "How many are there?", 1200, options={"units": ["m", "metre"]}),
        Question("numeric", "Which part of it?", "1/2", options={"abs_tol": 1e-9}),
        Question("numeric", "How large is it?", -6.02e23),
        Question("numeric", "How much of it?", 2.0),
    ],
    "tool": [
        Question(
            "tool",
            "Ping a.",
            [{"name": "ping", "arguments": {"host": "a"}}],
            options={"tools": [PING]},
        ),
        Question("tool", "Say hello.", [], options={"tools": [PING]}),
    ],
    "keypoints": [
        Question("keypoints", "Why do leaves turn yellow?", ["chlorophyll breaks down"]),
        Question(
            "keypoints",
            "Why?",
            [{"text": "it rains; hard", "weight": 2}, {"text": "it is wet", "weight": 1}],
        ),
    ],
}


def exported(questions: list[Question], path: Path) -> Path:
    bundle = Bundle("x", tuple(questions), Evaluation(), b"")
    return write_as(bundle, path, path.suffix.removeprefix("."))


def read_again(path: Path, **told: Any) -> tuple[Question, ...]:
    found = read_file(FileSpec(path, **told))
    assert isinstance(found, QuestionFile)
    return found.questions


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", KINDS)
def test_questions_come_back_with_equal_keys(tmp_path: Path, name: str, form: str) -> None:
    asked = KINDS[name]
    path = exported(asked, tmp_path / f"x.{form}")
    back = read_again(path, multi=True if name == "several right" else None)
    assert [q.key for q in back] == [q.key for q in asked]
    for field in (
        "kind",
        "prompt",
        "target",
        "choices",
        "category",
        "difficulty",
        "language",
        "rationale",
    ):
        assert [getattr(q, field) for q in back] == [getattr(q, field) for q in asked], field
    if name != "tool":  # whose functions are written in OpenAI's shape
        assert [q.options for q in back] == [q.options for q in asked]


TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5), st.sampled_from(FORMS))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_the_texts_are(tmp_path: Path, texts: list[tuple[str, str]], form: str) -> None:
    asked = [
        Question("qa", f"{i} {q} ?", [f"w{a}.", f"{i} {a} x"]) for i, (q, a) in enumerate(texts)
    ]
    path = tmp_path / f"x.{form}"
    path.unlink(missing_ok=True)
    assert [q.key for q in read_again(exported(asked, path))] == [q.key for q in asked]


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=5), st.sampled_from(FORMS))
@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_whatever_the_numbers_are(tmp_path: Path, numbers: list[float], form: str) -> None:
    assume(all("e" not in repr(number) for number in numbers))
    asked = [Question("numeric", f"Number {i}?", number) for i, number in enumerate(numbers)]
    path = tmp_path / f"n.{form}"
    path.unlink(missing_ok=True)
    assert [q.target for q in read_again(exported(asked, path))] == numbers


def test_a_csv_has_a_column_an_option_and_jsonl_a_list(tmp_path: Path) -> None:
    asked = KINDS["mcq"]
    with exported(asked, tmp_path / "x.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [rows[0][name] for name in (*"ABC", "answer_letter")] == ["Venus", "Mars", "Earth", "B"]
    assert rows[2]["C"] == ""
    line = exported(asked, tmp_path / "x.jsonl").read_bytes().split(b"\n")[0]
    row = json.loads(line)
    assert row["choices"][LETTERS.index(row["answer_letter"])] == "Mars"
    assert row["id"] == asked[0].key


@pytest.mark.parametrize("form", FORMS)
def test_what_a_plain_file_cannot_hold_is_refused(tmp_path: Path, form: str) -> None:
    path = tmp_path / f"x.{form}"
    with pytest.raises(DataError, match=r"one kind.*mcq, qa.*codabench"):
        exported([KINDS["mcq"][0], KINDS["qa"][0]], path)
    assert not path.exists()
    exported(KINDS["qa"], path)
    before = path.read_bytes()
    with pytest.raises(DataError, match="there already"):
        exported(KINDS["qa"][:1], path)
    assert path.read_bytes() == before
