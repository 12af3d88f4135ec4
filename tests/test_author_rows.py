"""Rows that are at hand: a frame or a list of dicts, of questions or of facts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchgen.author.imported import draft_of_rows
from benchgen.errors import DataError
from benchgen.workspace import Workspace

ROWS: list[dict[str, Any]] = [
    {"question": "Which planet is red?", "choices": ["Venus", "Mars"], "answer": "B"},
    {"question": "Which planet is hot?", "choices": ["Venus", "Pluto"], "answer": "A"},
]


@pytest.mark.parametrize("rows", [ROWS, pl.DataFrame(ROWS)], ids=["dicts", "frame"])
def test_rows_of_questions_are_questions(rows: Any, tmp_path: Path) -> None:
    draft = Workspace(tmp_path).author(rows)
    assert [q.kind for q in draft.questions] == ["mcq", "mcq"]
    assert [q.target_text for q in draft.questions] == ["Mars", "Venus"]
    assert draft.config["author"]["name"] == "file"  # so no author here writes more of them


@pytest.mark.parametrize("form", [list, pl.DataFrame], ids=["dicts", "frame"])
def test_rows_of_facts_are_a_table(form: Any, tmp_path: Path) -> None:
    rows = [{"hill": f"Hill {i}", "height_m": 10 * i + 7} for i in range(1, 30)]
    draft = Workspace(tmp_path).author(form(rows))
    assert len(draft.questions) == 30
    assert all("height" in q.prompt for q in draft.questions)


def test_a_fault_names_the_row(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"rows, row 2.*answer is missing"):
        draft_of_rows([ROWS[0], {**ROWS[1], "answer": None}])
    with pytest.raises(DataError, match="no rows"):
        draft_of_rows([])
    chat = {"messages": [{"role": "user", "content": "Hi"}], "question": "Hi"}
    with pytest.raises(DataError):
        draft_of_rows([chat])
