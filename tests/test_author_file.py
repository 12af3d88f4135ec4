"""The file author: every file of the manifest, and the rules that hold for files that are not in it."""

from __future__ import annotations

import ast
import contextlib
import csv
import importlib.util
import io
import json
import os
import re
import socket
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.author import files
from benchgen.author.file import (
    DocumentFile,
    FileSpec,
    Imported,
    QuestionFile,
    TrainingFile,
    read_file,
    refers_to_positions,
)
from benchgen.author.files.documents import passages
from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.source import trimmed
from benchgen.errors import DataError, InputError, NotFound
from benchgen.types import Question
from tests.bounded import bounded

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "cases" / "files"
MANIFEST = [json.loads(line) for line in (CASES / "manifest.jsonl").read_text().splitlines()]
NEEDS = {".xlsx": "openpyxl", ".pdf": "pypdf"}
TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30)


def read(name: str, **told: Any) -> Imported:
    library = NEEDS.get(Path(name).suffix)
    if library and importlib.util.find_spec(library) is None:
        pytest.skip(f"waits for {library}")
    return read_file(FileSpec(CASES / name, **told))


def questions(name: str, **told: Any) -> QuestionFile:
    found = read(name, **told)
    assert isinstance(found, QuestionFile)
    return found


def made(path: Path, text: str | bytes, **told: Any) -> QuestionFile:
    """The questions of a file with that content."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    found = read_file(FileSpec(path, **told))
    assert isinstance(found, QuestionFile), found
    return found


def fault(path: Path, text: str | bytes, **told: Any) -> str:
    """The message of the error that a file with that content gives."""
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    with pytest.raises(DataError) as caught:
        read_file(FileSpec(path, **told))
    return caught.value.message


def lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


# ---- the manifest -------------------------------------------------------------------------------


def as_expected(want: Any, target: Any) -> bool:
    """A manifest writes one accepted text for a list of one, and a number as text or number."""
    return want in (target, str(target)) or [want] == target


LOOKS: dict[str, Callable[[QuestionFile], Any]] = {
    "kind": lambda found: found.kind,
    "n_questions": lambda found: len(found.questions),
    "first_target_text": lambda found: found.questions[0].target_text,
    "second_target_text": lambda found: found.questions[1].target_text,
    "first_prompt": lambda found: found.questions[0].prompt,
    "first_call": lambda found: found.questions[0].target[0],
    "targets_text": lambda found: [q.target_text for q in found.questions],
    "targets_any": lambda found: [q.target for q in found.questions],
    "rationales": lambda found: [q.rationale for q in found.questions],
    "options_of_first": lambda found: found.questions[0].options,
    "categories": lambda found: sorted({q.category for q in found.questions}),
    "n_options": lambda found: [len(q.choices) for q in found.questions],
    "n_points": lambda found: [len(q.target) for q in found.questions],
    "n_calls": lambda found: [len(q.target) for q in found.questions],
}


def wrong_questions(expected: dict[str, Any], found: QuestionFile) -> Iterator[str]:
    for name, look in LOOKS.items():
        if name in expected and look(found) != expected[name]:
            yield f"{name}: {look(found)}"
    targets = [q.target for q in found.questions]
    wanted = [expected["first_target"]] if "first_target" in expected else []
    for want, target in zip(expected.get("targets", wanted), targets, strict=False):
        if not as_expected(want, target):
            yield f"target {target}, not {want}"
    pattern = expected.get("options_must_not_match", "(?!)")
    yield from (c for q in found.questions for c in q.choices if re.search(pattern, c))
    if expected.get("keep_order_or_warn") and not any(map(refers_to_positions, found.questions)):
        yield "order"


def wrong(expected: dict[str, Any], outcome: Imported | str) -> list[str]:
    """What of an outcome (or an error's message) is not as the manifest has it."""
    if isinstance(outcome, str):
        if "error" not in expected and expected.get("kind") != "scorer_pairs":
            return [outcome]
        missing = [p for p in expected.get("error", []) if not re.search(p, outcome, re.IGNORECASE)]
        return [f"{pattern} is not in {outcome}" for pattern in missing]
    if isinstance(outcome, DocumentFile):
        facts = {f: f in outcome.text for f in expected.get("facts", {}).values()}
        facts |= {f: f not in outcome.text for f in expected.get("absent", [])}
        fine = expected.get("kind") == "document"
        return [f for f, holds in facts.items() if not holds] or ([] if fine else ["document"])
    if isinstance(outcome, TrainingFile):
        told = (
            expected.get("kind"),
            expected.get("n_rows"),
            expected.get("format", outcome.format),
        )
        return [] if told == ("train", outcome.rows, outcome.format) else [str(outcome)]
    warned = re.search(expected.get("warns", ""), " ".join(outcome.warnings))
    return [*wrong_questions(expected, outcome), *([] if warned else ["no warning"])]


@pytest.mark.parametrize("case", MANIFEST, ids=lambda case: case["file"])
def test_every_file_of_the_manifest_gives_what_it_must(case: dict[str, Any]) -> None:
    outcome: Imported | str
    try:
        outcome = read(case["file"], **case.get("options", {}))
    except InputError as error:
        outcome = error.message
        assert case["file"] in outcome  # names the file as given
        assert "\n" not in outcome
    faults = wrong(case["expected"], outcome)
    others = [wrong(other, outcome) for other in case["expected"].get("also_ok", [])]
    assert not faults or [] in others, faults


def test_what_is_read_though_the_manifest_allows_to_refuse_it_is_said() -> None:
    # where an error would do as well, the import has a reason, and the report has it too
    german = questions("mcq_german_headers.csv")
    assert [q.target_text for q in german.questions] == ["7"]
    assert any("'Frage'" in d and "'Lösung'" in d for d in german.decisions)
    assert any("several lines" in d for d in questions("qa_pretty_objects.jsonl").decisions)
    assert any("as lists" in d for d in questions("arc_choices_as_repr.csv").decisions)


# ---- answers --------------------------------------------------------------------------------------

HEAD = "question,A,B,C,D,answer\n"


@pytest.mark.parametrize(
    ("told", "targets"),
    [
        ({"index_base": 0}, ["C", "B"]),
        ({"index_base": 1}, ["B", "A"]),
        ({"answers_are": "text"}, ["D", "B"]),
        ({"answers_are": "index", "index_base": 1}, ["B", "A"]),
    ],
)
def test_each_option_that_the_error_names_decides(told: dict[str, Any], targets: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        questions("mcq_answer_numeric_options.csv")
    for setting in ("author.answers_are=text", "author.index_base=0", "author.index_base=1"):
        assert setting in caught.value.message
    found = questions("mcq_answer_numeric_options.csv", **told)
    assert [q.target for q in found.questions] == targets


@pytest.mark.parametrize(
    "form", ["{}", "({})", "{}.", "{})", " {} ", "Option {}", "option_{}", "\u200f{}"]
)
def test_a_letter_is_read_in_every_dress(tmp_path: Path, form: str) -> None:
    rows = "".join(f"Q{i}?,x{i},y{i},z{i},w{i},{form.format(c)}\n" for i, c in enumerate("ABCDa"))
    found = made(tmp_path / "f.csv", HEAD + rows)
    assert [q.target for q in found.questions] == list("ABCDA")


def test_no_reading_is_taken_that_one_row_refutes(tmp_path: Path) -> None:
    # options that are digits in row 1 only: row 2 shows that positions are meant
    text = HEAD + "How many?,1,2,3,4,0\nWhich?,x,y,z,w,3\n"
    assert [q.target for q in made(tmp_path / "f.csv", text).questions] == ["A", "D"]
    message = fault(tmp_path / "f.csv", HEAD + "Who?,x,y,z,w,A\nWhich?,x,y,z,w,w\n")
    assert "mix" in message
    assert "row 2 (line 3)" in message


@given(st.lists(st.integers(0, 3), min_size=1, max_size=8), st.integers(0, 1))
@settings(max_examples=40, deadline=None)
def test_positions_are_read_right_or_asked_about(
    tmp_path_factory: pytest.TempPathFactory, right: list[int], base: int
) -> None:
    path = tmp_path_factory.getbasetemp() / "positions.csv"
    rows = "".join(f"Q{i}?,x{i},y{i},z{i},w{i},{r + base}\n" for i, r in enumerate(right))
    open_to_both = {r + base for r in right} <= {1, 2, 3}
    if open_to_both:
        assert "author.index_base" in fault(path, HEAD + rows)
    found = made(path, HEAD + rows, index_base=base if open_to_both else None)
    assert [q.target for q in found.questions] == ["ABCD"[r] for r in right]


def test_several_right_options_are_letters_in_order(tmp_path: Path) -> None:
    rows = [
        {"question": f"Q{i}?", "choices": ["x", "y", "z"], "answer": a}
        for i, a in enumerate((["C", "A"], ["B"]))
    ]
    found = made(tmp_path / "f.jsonl", lines(*rows), multi=True)
    assert [q.target for q in found.questions] == [["A", "C"], ["B"]]
    assert "author.multi=true" in fault(tmp_path / "f.jsonl", lines(*rows))


@pytest.mark.parametrize(
    ("choices", "refers"),
    [
        (("Mars", "Venus", "Both A and B"), True),
        (("x", "y", "None of the above"), True),
        (("x", "y", "A and C only"), True),
        (("x", "y", "Alle oben genannten"), True),
        (("x", "y", "Ninguna de las anteriores"), True),
        (("甲", "乙", "以上都不是"), True),
        (("Bee", "Dog", "A cat and a dog"), False),
        (("vitamin A", "a and b", "Both of his arms"), False),
        (("The answer to life", "An option", "above zero"), False),
    ],
)
def test_options_that_name_places_are_known(choices: tuple[str, ...], refers: bool) -> None:
    question = Question("mcq", "Which?", "A", choices)
    assert refers_to_positions(question) is refers
    assert refers_to_positions(replace(question, rationale="(B) is too small.")) is True
    assert not refers_to_positions(Question("qa", "Which?", ["Both A and B"]))


# ---- texts and numbers ----------------------------------------------------------------------------


@given(
    rows=st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=6),
    delimiter=st.sampled_from(",;\t|"),
)
@settings(max_examples=50, deadline=None)
def test_texts_come_out_of_a_table_as_they_went_in(
    tmp_path_factory: pytest.TempPathFactory, rows: list[tuple[str, str]], delimiter: str
) -> None:
    rows = [(f"{i} {q}?", f"word {a}.") for i, (q, a) in enumerate(rows)]
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter, quoting=csv.QUOTE_ALL).writerows(
        [("question", "answer"), *rows]
    )
    path = tmp_path_factory.getbasetemp() / "texts.csv"
    found = made(path, text.getvalue(), kind="qa")
    assert [(q.prompt, q.target) for q in found.questions] == [
        (trimmed(q), [trimmed(a)]) for q, a in rows
    ]


@given(st.integers(-999_999, 999_999), st.integers(0, 99), st.booleans())
@settings(max_examples=40, deadline=None)
def test_a_number_is_the_same_in_both_notations(
    tmp_path_factory: pytest.TempPathFactory, whole: int, cents: int, grouped: bool
) -> None:
    english = f"{whole:,}.{cents:02}" if grouped else f"{whole}.{cents:02}"
    german = english.translate(str.maketrans(",.", ".,"))
    path = tmp_path_factory.getbasetemp() / "numbers.csv"
    targets = [
        made(path, f"question;answer\nHow?;{n}\n").questions[0].target for n in (english, german)
    ]
    assert targets == [float(f"{whole}.{cents:02}")] * 2


@pytest.mark.parametrize(
    ("written", "told", "target"),
    [
        ("1.200", "comma", 1200),
        ("1.200", "point", 1.2),
        ("0,125", None, 0.125),
        ("1,234,567", None, 1234567),
        ("1 234,5", None, 1234.5),
        ("1'234.5", None, 1234.5),
        ("−7", None, -7),
        ("6.02e23", None, 6.02e23),
        ("99999999999999999999", None, 99999999999999999999),
        ("0.1234567890123456789012", None, "0.1234567890123456789012"),
        ("3/4", None, "3/4"),
    ],
)
def test_numbers_as_people_write_them(
    tmp_path: Path, written: str, told: str | None, target: Any
) -> None:
    text = f"question\tanswer\nHow many?\t{written}\nAnd more?\t5\n"
    found = made(tmp_path / "f.tsv", text, decimal=told)
    assert (found.kind, found.questions[0].target) == ("numeric", target)


@pytest.mark.parametrize("text", ["007", "2024-05-01", "2:30", "12a", "1.2.3", "5/12"])
def test_what_only_looks_like_a_number_stays_a_text(tmp_path: Path, text: str) -> None:
    found = made(tmp_path / "f.csv", f"question,answer\nWhich?,{text}\nWhich else?,{text}\n")
    assert (found.kind, found.questions[0].target) == ("qa", [text])


def test_a_word_of_the_person_that_the_numbers_refute_is_an_error(tmp_path: Path) -> None:
    message = fault(tmp_path / "f.csv", 'question,answer\nHow?,"1,5"\n', decimal="point")
    assert "author.decimal=point does not fit" in message


# ---- repeats, ids, damage -------------------------------------------------------------------------


def test_nothing_is_dropped_in_silence(tmp_path: Path) -> None:
    text = "question,answer\nWhich?,tin\nWhich?,tin\nWHICH?,tin\nWho?,Ann\n"
    found = made(tmp_path / "f.csv", text)
    assert [q.prompt for q in found.questions] == ["Which?", "WHICH?", "Who?"]
    assert any("row 2 (line 3) repeats row 1 (line 2)" in decision for decision in found.decisions)
    assert any("row 3 (line 4) of row 1 (line 2)" in warning for warning in found.warnings)


def test_columns_that_are_not_used_are_named() -> None:
    assert "columns not used: 'column 1'" in questions("own_saved_index.csv").decisions


def test_a_warning_that_many_rows_share_is_said_once(tmp_path: Path) -> None:
    rows = "".join(f"Which {i}?,&quot;x{i}&quot;\n" for i in range(40))
    found = made(tmp_path / "f.csv", "question,answer\n" + rows)
    assert found.questions[0].target == ["&quot;x0&quot;"]
    assert len(found.warnings) == 1
    assert "rows 1, 2, 3, 4, 5 and 35 more" in found.warnings[0]


OLD = {
    "cp932 euc_jp": ("赤い惑星はどれですか？", "火星"),
    "gb18030": ("下列哪个是行星？ 中国的首都是哪里？", "北京"),
    "big5": ("下列哪個是行星？ 臺灣最高的山是什麼？", "玉山"),
    "cp949": ("붉은 행성은 무엇입니까? 한국의 수도는 어디입니까?", "서울"),
    "cp1251 koi8-r cp866 iso8859-5": ("Какая планета самая большая?", "Юпитер"),
    "cp1252": ("Größte Stadt der Schweiz für Ärzte?", "Zürich"),
}


@pytest.mark.parametrize(
    ("encoding", "row"), [(e, row) for names, row in OLD.items() for e in names.split()]
)
def test_old_encodings_are_told_by_the_commonest_signs_of_their_scripts(
    tmp_path: Path, encoding: str, row: tuple[str, str]
) -> None:
    text = f"question,answer\n{row[0]},{row[1]}\n"
    found = made(tmp_path / "a.csv", text.encode(encoding))
    assert (found.questions[0].prompt, found.questions[0].target) == (row[0], [row[1]])
    assert any("not UTF-8" in warning and encoding in warning for warning in found.warnings)


def test_an_old_encoding_without_a_sign_of_its_own_is_asked_about(tmp_path: Path) -> None:
    # names alone: nothing says whether these bytes are Chinese, Japanese or Korean
    assert "UTF-8" in fault(tmp_path / "a.csv", "question,answer\n山田,田中\n".encode("cp932"))


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.csv", "question,answer,answer\nWhich?,x,x\n", "duplicate"),
        ("a.csv", "question,А,B,C,D,answer\nWhich?,x,y,z,w,B\n", "look like options"),
        ("a.csv", "question,options,answer\nWhich?,red and blue,A\n", "taken apart"),
        ("a.csv", "question,options,answer\nWhich?,a;b|c;d,A\n", "ambiguous"),
        ("a.jsonl", '{"question": "Q?", "choices": ["x", "y"]}\n', "answer"),
        ("a.jsonl", '{"question": "Q?", "choices": ["x", "y"], "answer": -1}\n', "hidden"),
        ("a.jsonl", '{"question": "Q?", "query": "R?", "answer": "x"}\n', "ambiguous"),
        ("a.jsonl", '{"question": "Q?", "answer": {"a": 1}}\n', "unknown shape"),
        ("a.jsonl", "[1]\n[2]\n", "list"),
        (
            "a.jsonl",
            '{"question": "Q?", "tools": [{"name": "\\ud800"}], "answer": []}\n',
            "surrogate",
        ),
        ("a.json", "5", "no rows"),
        ("a.json", '{"a": [{"x": 1}], "b": [{"x": 1}]}', "several lists"),
        ("a.json", '{"question": "Q?"', "line 1"),
        ("a.json", "[]", "empty"),
        ("a.xlsx", "PK", "damaged"),
        ("a.docx", "no zip", "damaged"),
        ("a.html", "<html><script>var x = 1</script></html>", "empty"),
        ("a.csv", b"\x1f\x8b\x08\x00", "gzip"),
    ],
)
def test_faults_are_told_by_their_kind(
    tmp_path: Path, name: str, text: str | bytes, says: str
) -> None:
    message = fault(tmp_path / name, text)
    assert says in message
    assert name in message


# ---- literals, passages, any bytes ----------------------------------------------------------------

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


@given(VALUES)
@settings(max_examples=100, deadline=None)
def test_what_python_prints_is_read_back(value: Any) -> None:
    assert read_literal(repr(value)) == value
    assert read_literal(f"array({value!r}, dtype=object)") == value


@pytest.mark.parametrize(
    "text", ["__import__('os')", "[1, x]", "1 + 1", "['a', ...]", "[" * 90, "{1}", "f('a')"]
)
def test_what_is_no_literal_is_refused(text: str) -> None:
    with pytest.raises(Unreadable):
        read_literal(text)


def test_nothing_is_ever_evaluated() -> None:
    for path in Path(files.__path__[0]).glob("*.py"):
        called = [n.func for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        names = {f.id for f in called if isinstance(f, ast.Name)}
        assert not names & {"eval", "exec", "compile", "__import__"}, path


@given(st.lists(st.text(st.sampled_from("ab #|-.\n"), max_size=300), max_size=12))
@settings(max_examples=50, deadline=None)
def test_passages_stand_in_the_text_and_leave_nothing_out(parts: list[str]) -> None:
    text = "\n\n".join(parts)
    found = passages(text)
    assert all(passage in text for passage in found)
    assert "".join("".join(found).split()) == "".join(text.split())


@cache
def small_files() -> list[Path]:
    kinds = (".csv", ".json", ".jsonl", ".tsv", ".docx", ".html", ".md")
    return sorted(f for f in CASES.iterdir() if f.suffix in kinds and f.stat().st_size < 5000)


@given(data=st.data())
@settings(max_examples=100, deadline=None)
def test_damaged_files_give_one_line_and_no_traceback(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    source = data.draw(st.sampled_from(small_files()))
    raw = source.read_bytes()
    at = data.draw(st.integers(0, len(raw)))
    inserted = data.draw(
        st.binary(max_size=6) | st.sampled_from([b"null", b"[]", b'"', b"\\ud800", b"9" * 5000])
    )
    path = tmp_path_factory.getbasetemp() / f"damaged{source.suffix}"
    path.write_bytes(raw[:at] + inserted + raw[at + data.draw(st.integers(0, 40)) :])
    message = "none"
    try:
        read_file(FileSpec(path))
    except InputError as error:
        message = error.message
    assert len(message.encode().splitlines()) == 1


# ---- limits, paths, speed -------------------------------------------------------------------------


def test_a_string_of_arguments_is_the_same_call_as_an_object() -> None:
    strings, objects = questions("tool_openai_strings.jsonl"), questions("tool_dict_args.jsonl")
    assert strings.questions[0].key == objects.questions[0].key
    assert [t["function"]["name"] for t in strings.questions[0].options["tools"]] == [
        "get_forecast",
        "convert_money",
        "list_lamps",
    ]


def test_padding_goes_and_a_null_that_may_be_stays(tmp_path: Path) -> None:
    padded = questions("tool_null_padded.jsonl").questions[0]
    assert "null" not in json.dumps(padded.to_dict()["options"])
    properties = {"town": {"type": ["string", "null"]}, "days": {"type": "integer"}}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": properties}}]
    row = {
        "question": "Q?",
        "tools": tools,
        "answer": [{"name": "f", "arguments": {"town": None, "days": None}}],
    }
    assert made(tmp_path / "f.jsonl", lines(row)).questions[0].target[0]["arguments"] == {
        "town": None
    }


def test_the_kind_that_is_asked_for_is_the_kind_that_comes(tmp_path: Path) -> None:
    found = questions("mcq_all_A.csv", kind="qa")
    assert found.questions[0].target == ["night"]
    assert "no columns of options" in fault(
        tmp_path / "f.csv", "question,answer\nQ?,x\n", kind="mcq"
    )
    chat = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello."}]
    assert "kind=train" in fault(tmp_path / "f.csv", "question,answer\nQ?,x\n", kind="train")
    (tmp_path / "f.jsonl").write_text(lines({"messages": chat}))
    assert isinstance(read_file(FileSpec(tmp_path / "f.jsonl", kind="train")), TrainingFile)
    with pytest.raises(DataError, match="author=document"):
        read_file(FileSpec(CASES / "doc_handbook.md", kind="mcq"))


@pytest.mark.parametrize(
    ("told", "says"),
    [
        ({"kind": "essay"}, "kind=essay"),
        ({"index_base": 2}, "author.index_base=2"),
        ({"answers_are": "guess"}, "author.answers_are=guess"),
        ({"columns": {"colour": "A"}}, "author.columns.colour"),
        ({"columns": {"question": "Frage"}}, "author.columns.question=Frage"),
        ({"sheet": "one"}, "author.sheet"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_its_name(told: dict[str, Any], says: str) -> None:
    with pytest.raises(DataError, match=re.escape(says)):
        read("mcq_all_A.csv", **told)


def test_options_are_named_by_their_letters(tmp_path: Path) -> None:
    columns = {"question": "was", "option_a": "eins", "B": "zwei", "answer": "gut"}
    found = made(tmp_path / "f.csv", "was,eins,zwei,gut\nWas?,x,y,B\n", columns=columns)
    assert [q.target_text for q in found.questions] == ["y"]


def test_limits_are_named_with_what_was_there(tmp_path: Path) -> None:
    rows = "".join(f"Q{i}?,x{i}\n" for i in range(2001))
    message = fault(tmp_path / "f.csv", "question,answer\n" + rows)
    assert "2001" in message
    assert "2000" in message
    large = tmp_path / "large.csv"
    large.touch()
    os.truncate(large, 200_000_001)  # a hole: takes no space
    with pytest.raises(DataError, match="too large: 200 MB"):
        read_file(FileSpec(large))


# Files of kilobytes that would take hours or gigabytes, or that break the library that reads them.

_WORD = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"


def docx(inside: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        xml = f'<w:document xmlns:w="{_WORD}"><w:body>{inside}</w:body></w:document>'
        archive.writestr("word/document.xml", xml)
    return data.getvalue()


def pdf(*objects: str) -> bytes:
    data = b"%PDF-1.4\n"
    places = []
    for number, body in enumerate(objects, 1):
        places.append(len(data))
        data += f"{number} 0 obj\n{body}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    tail = f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
    tail += f"trailer<</Size {len(objects) + 1}/Root 1 0 R>>\nstartxref\n{len(data)}\n%%EOF"
    return data + tail.encode()


def parquet(frame: pl.DataFrame) -> bytes:
    data = io.BytesIO()
    frame.write_parquet(data, compression="zstd")
    return data.getvalue()


def repeated_parquet(text: str, times: int) -> bytes:
    """A column that holds the text once and refers to it in each row."""
    rows = pa.DictionaryArray.from_arrays(pa.array([0] * times, pa.int32()), [text])
    data = io.BytesIO()
    table = pa.table({"question": rows, "answer": ["y"] * times})
    pq.write_table(table, data, compression="zstd", store_schema=False)
    return data.getvalue()


def damaged_workbook() -> bytes:
    data = bytearray((CASES / "own_excel.xlsx").read_bytes())
    name = b"xl/worksheets/sheet1.xml"
    at = data.index(name) + len(name) + 20
    data[at : at + 40] = bytes(byte ^ 0x5A for byte in data[at : at + 40])
    return bytes(data)


_RUN = "<w:p><w:r><w:t>Hello.</w:t></w:r></w:p>"
_TABLE = ("<w:tbl><w:tr><w:tc>", "</w:tc></w:tr></w:tbl>")
_CATALOG = "<</Type/Catalog/Pages 2 0 R>>"
HARD: dict[str, tuple[str, Callable[[], bytes], str]] = {
    "60 million rows": (
        "a.parquet",
        lambda: parquet(pl.select(pl.repeat("x", 60_000_000).alias("question"))),
        "60000000 rows",
    ),
    "one text, referred to a thousand times": (
        "a.parquet",
        lambda: repeated_parquet("x" * 4_000_000, 1000),
        "unpacks to too much",
    ),
    "a damaged sheet": ("a.xlsx", damaged_workbook, "no Excel file that can be read"),
    "a document that nests": (
        "a.docx",
        lambda: docx("<w:sdt>" * 9000 + _RUN + "</w:sdt>" * 9000),
        "nested too deeply",
    ),
    "pages in a ring": (
        "a.pdf",
        lambda: pdf(_CATALOG, "<</Type/Pages/Kids[2 0 R]/Count 1>>"),
        "cyclic",
    ),
    "a hundred thousand pages": (
        "a.pdf",
        lambda: pdf(
            _CATALOG,
            f"<</Type/Pages/Kids[{'3 0 R ' * 100_000}]/Count 100000>>",
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 9 9]>>",
        ),
        "100000 pages",
    ),
    "brackets": ("a.jsonl", lambda: b"[" * 3_000_000, "line 1 is no JSON"),
    "one cell": (
        "a.csv",
        lambda: b'question,answer\n"' + b"x" * 11_000_000 + b'",y\n',
        "a cell is longer",
    ),
    "a million and one rows": (
        "a.jsonl",
        lambda: b'{"question": "Q?", "answer": "x"}\n' * 1_000_001,
        "1000001 rows",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", HARD)
def test_what_is_too_hard_to_read_is_told_in_one_line(tmp_path: Path, name: str) -> None:
    file, make, says = HARD[name]
    message = fault(tmp_path / file, make())
    assert says in message
    assert message.startswith(file)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.html", b"<div>" * 60_000 + b"Hello."),
        ("a.docx", docx(_TABLE[0] * 60 + _RUN + _TABLE[1] * 60)),
        ("a.txt", b"Hello." + b" and so on" * 200_000),
    ],
    ids=["elements that nest", "tables that nest", "one paragraph"],
)
def test_what_nests_or_goes_on_is_read(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    found = read_file(FileSpec(tmp_path / name))
    assert isinstance(found, DocumentFile)
    assert found.text.count("Hello.") == 1  # of a table in a table, too
    assert max(map(len, found.passages)) <= 6_000


def test_a_table_in_a_cell_is_read_where_it_stands(tmp_path: Path) -> None:
    inner = "<w:tbl><w:tr><w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr></w:tbl>"
    cells = [f"<w:p><w:r><w:t>{text}</w:t></w:r></w:p>" for text in "abc"]
    (tmp_path / "a.docx").write_bytes(docx(inner.format(inner.format(*cells[:2]), cells[2])))
    found = read_file(FileSpec(tmp_path / "a.docx"))
    assert isinstance(found, DocumentFile)
    assert found.text == "a | b | c"


def test_a_line_ends_where_its_line_feed_is(tmp_path: Path) -> None:
    # U+2028 and U+0085 may stand inside a JSON text as they are
    rows = [{"question": f"Which\u2028one{i}?", "answer": f"this\x85{i}"} for i in range(2)]
    found = made(tmp_path / "a.jsonl", lines(*rows))
    assert [q.target for q in found.questions] == [[f"this\x85{i}"] for i in range(2)]


@pytest.mark.parametrize(
    ("name", "what"),
    [
        ("pipe.csv", "a pipe"),
        ("pipe.pdf", "a pipe"),
        ("zero.jsonl", "a device"),
        ("socket.csv", "a socket"),
        ("loop.csv", "no file"),
    ],
)
def test_what_is_no_plain_file_is_refused_at_once(tmp_path: Path, name: str, what: str) -> None:
    path = tmp_path / name
    if "pipe" in name:
        os.mkfifo(path)  # reading it would wait for a writer that never comes
    elif name == "zero.jsonl":
        path.symlink_to("/dev/zero")
    elif name == "loop.csv":
        path.symlink_to(path)
    else:
        with contextlib.chdir(tmp_path), socket.socket(socket.AF_UNIX) as made_here:
            made_here.bind(name)
    with pytest.raises(InputError, match=what) as caught:
        read_file(FileSpec(path))
    assert name in caught.value.message


def test_a_path_that_is_no_file_is_told(tmp_path: Path) -> None:
    with pytest.raises(NotFound, match="there is no file"):
        read_file(FileSpec(tmp_path / "none.csv"))
    (tmp_path / "folder.csv").mkdir()
    with pytest.raises(DataError, match="folder"):
        read_file(FileSpec(tmp_path / "folder.csv"))


@pytest.mark.parametrize("ending", ["csv", "jsonl"])
def test_two_thousand_rows_are_read_whole(tmp_path: Path, ending: str) -> None:
    names = ("question", "A", "B", "C", "D", "answer", "category")
    rows = [
        (f"What is {i} plus {i % 7}?", f"{i}a", f"{i}b", f"{i}ç", f"{i}d", "ABCD"[i % 4], "sums")
        for i in range(2000)
    ]
    text = io.StringIO()
    csv.writer(text).writerows([names, *rows])
    as_json = lines(*(dict(zip(names, row, strict=True)) for row in rows))
    path = tmp_path / f"f.{ending}"
    path.write_text(text.getvalue() if ending == "csv" else as_json)
    with bounded():
        found = read_file(FileSpec(path))
    assert isinstance(found, QuestionFile)
    assert [q.target for q in found.questions] == [row[5] for row in rows]


def test_options_under_names_that_say_nothing_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "quiz.csv"
    path.write_text(
        "stem,first,second,third,solution\nRed?,Venus,Mars,Earth,Mars\nHot?,Venus,Mars,Pluto,Venus\n"
    )
    with pytest.raises(DataError, match=r"look like its options.*author\.columns"):
        read_file(FileSpec(path))
    columns = {"A": "first", "B": "second", "C": "third"}
    found = read_file(FileSpec(path, columns=columns))
    assert isinstance(found, QuestionFile)
    assert [q.target for q in found.questions] == ["B", "A"]
    assert read_file(FileSpec(path, kind="qa")).kind == "qa"  # type: ignore[union-attr]
