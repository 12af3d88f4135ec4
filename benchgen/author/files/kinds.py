"""What a table holds: which kind of question, by its columns, then by its answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchgen.author.files.headers import Layout, plain_name, require, stray_options
from benchgen.author.files.mcq import has_options_inside
from benchgen.author.files.numbers import looks_numeric
from benchgen.author.files.plain import is_gsm8k
from benchgen.author.files.source import Source, Table
from benchgen.types import KINDS


def refuse_replies(table: Table, source: Source) -> None:
    """Nothing; an error for replies of a model with their verdicts, which are no questions."""
    names = {plain_name(column) for column in table.columns}
    verdicts = {"correct", "extracted", "is_correct", "score", "status"}
    asked = {"question", "prompt", "query", "problem", "input"}
    if "reply" in names and not names & asked and names & ({"target"} | verdicts):
        raise source.wrong(
            f"it is no benchmark: its {len(table.rows)} rows are a model's replies with their targets "
            "(scorer pairs) and have no question",
            got=list(table.columns),
            next="a benchmark's rows have a question and its answer",
        )


def kind_of(table: Table, layout: Layout, source: Source) -> str:
    """The kind of question by the columns, then by the answers."""
    named = _named_kind(table, layout, source)
    if named:
        return named
    answer = layout.get("answer")
    if layout.get("tools") or layout.get("calls"):
        return "tool"
    if _has_points(table, layout):
        return "keypoints"
    if is_truthful(layout):
        source.decide(
            "TruthfulQA's layout: every correct answer is accepted; kind=mcq asks with options"
        )
        return "qa"
    if layout.has_options or has_options_inside(table, layout):
        return "mcq"
    asked = ("answer",) if layout.get("messages") else ("question", "answer")
    require(layout, table, source, asked)
    values = [row.get(answer) for row in table.rows]
    if is_gsm8k(table, answer or ""):
        return "numeric"
    if looks_numeric([value for value in values if value is not None]):
        source.decide("every answer is a number, so kind=numeric; kind=qa takes them as texts")
        return "numeric"
    _doubt_letters(values, layout, source)
    return "qa"


def _doubt_letters(values: Sequence[Any], layout: Layout, source: Source) -> None:
    """Nothing; an error or a warning where the answers are letters of options that were not found."""
    letters = all(
        isinstance(v, str) and len(v.strip()) == 1 and v.strip().isalpha() for v in values
    )
    stray = stray_options(layout)
    if letters and stray:
        raise source.wrong(
            f"the columns {', '.join(stray)} look like options, and the first one (A) is not among them",
            got=stray,
            next="name them all: author.columns.A=… author.columns.B=…",
        )
    if letters:
        source.warn(
            "every answer is one letter, and no options were found: read as texts (kind=qa)"
        )


def _has_points(table: Table, layout: Layout) -> bool:
    """Whether a column holds key points, and not the marks that a question is worth."""
    column = layout.get("points")
    values = [row.get(column) for row in table.rows]
    held = [value for value in values if value is not None]
    return column is not None and not (held and looks_numeric(held))


def _named_kind(table: Table, layout: Layout, source: Source) -> str:
    """The kind that a column of the file names, "" if none does."""
    column = layout.get("kind")
    kinds = {str(row.get(column)) for row in table.rows} if column is not None else set()
    if not kinds or not kinds <= set(KINDS):
        return ""
    if len(kinds) > 1:
        raise source.wrong(
            f"the rows are a mix of kinds: {', '.join(sorted(kinds))}",
            column=column,
            got=sorted(kinds),
        )
    return kinds.pop()


def is_truthful(layout: Layout) -> bool:
    """Best answer, correct answers and incorrect answers: the table of TruthfulQA's free answers."""
    names = {plain_name(column) for column in layout.answers}
    return {"best_answer", "correct_answers"} <= names and layout.get("wrong") is not None
