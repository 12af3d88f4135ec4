"""A benchmark's questions as a plain CSV or JSONL file: for spreadsheets, and for whoever reads rows.

`create author=file author.path=F` reads either again with equal keys (of questions with several right options
with `author.multi=true`). How the questions are asked and scored does not travel with them; a bundle has that.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from benchgen.benchmark.bundle import Bundle
from benchgen.benchmark.exchange.content import jsonl
from benchgen.benchmark.exchange.folder import write_file
from benchgen.errors import DataError
from benchgen.types import LETTERS, Question

MAX_COLUMNS = 10
"""Options that get a column each; more of them stand in one cell, as a JSON list."""
_ABOUT = ("category", "difficulty", "language", "rationale", "source")
_OPTIONS = ("rel_tol", "abs_tol", "units")
_TRUTH = ("yes", "no", "true", "false")
_OPEN = re.compile(r"[+-]?[1-9]\d{0,2}\.\d{3}")
"""A number whose point might as well stand between thousands."""


def write_jsonl(bench: Bundle, path: Path) -> Path:
    """The new file: an object a question. DataError if it is there, or the kinds are several."""
    kind = _kind(bench)
    return write_file(path, jsonl(_row(question, kind) for question in bench.questions))


def write_csv(bench: Bundle, path: Path) -> Path:
    """The new file: UTF-8, a line a question, options in columns; what is no text is written as JSON."""
    kind = _kind(bench)
    rows = [_cells(_row(question, kind)) for question in bench.questions]
    names = dict.fromkeys(name for row in rows for name in row)
    most = max(len(question.choices) for question in bench.questions)
    if 0 < most <= MAX_COLUMNS:
        names = dict.fromkeys(
            each for n in names for each in (LETTERS[:most] if n == "choices" else (n,))
        )
        rows = [
            {**row, **dict(zip(LETTERS, question.choices, strict=False))}
            for row, question in zip(rows, bench.questions, strict=True)
        ]
    text = io.StringIO()
    writer = csv.DictWriter(text, list(names), restval="", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    return write_file(path, text.getvalue().encode())


WRITERS: Mapping[str, Callable[[Bundle, Path], Path]] = {"csv": write_csv, "jsonl": write_jsonl}


def _kind(bench: Bundle) -> str:
    kinds = sorted({question.kind for question in bench.questions})
    if len(kinds) != 1:
        raise DataError(
            f"{bench.name}: a plain file holds questions of one kind",
            got=kinds,
            next="format=codabench, which holds several",
        )
    return kinds[0]


def _row(question: Question, kind: str) -> dict[str, Any]:
    """The question under the names that the author `file` knows."""
    row: dict[str, Any] = {"id": question.key, "kind": kind, "question": question.prompt}
    if kind == "mcq":
        row |= {"choices": list(question.choices), "answer_letter": question.target}
    elif kind == "tool":
        row |= {"tools": question.options.get("tools", []), "expected_calls": question.target}
    elif kind == "keypoints":
        row["key_points"] = question.target
    else:
        row["answer"] = question.target
    row |= {name: question.options[name] for name in _OPTIONS if name in question.options}
    return row | {name: value for name in _ABOUT if (value := getattr(question, name))}


def _cells(row: Mapping[str, Any]) -> dict[str, Any]:
    """The row with texts only."""
    cells = {}
    for name, value in row.items():
        if name == "answer" and row["kind"] == "qa":
            cells[name] = _accepted(value)
        elif name == "answer" and _OPEN.fullmatch(str(value)):
            cells[name] = f"{value}0"
        else:
            cells[name] = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return cells


def _accepted(answers: list[str]) -> str:
    """One accepted answer as it is, unless it would be read as more than itself; else a JSON list."""
    alone = answers[0] if len(answers) == 1 else "["
    if alone.lstrip().startswith("[") or alone.strip().casefold() in _TRUTH:
        return json.dumps(answers, ensure_ascii=False)
    return alone
