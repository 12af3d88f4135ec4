"""Questions answered in words or numbers: qa, numeric (GSM8K too)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from benchgen.author.files import words
from benchgen.author.files.fields import answer_missing, common
from benchgen.author.files.headers import Layout, plain_name
from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.numbers import decimal_mark, exact, numeric_target, written
from benchgen.author.files.source import (
    Row,
    Source,
    Table,
    alike,
    brief,
    listed,
    missing,
    normal,
    trimmed,
)
from benchgen.types import Question

Made = list[tuple[Row, Question]]
MARKER = "####"
"""What GSM8K writes between the worked solution and the final answer."""
LONG = 200
"""Characters from which on an accepted text is a text to compare with, and no short answer."""
_YES, _NO = ("true", "yes"), ("false", "no")


@dataclass(frozen=True)
class Told:
    """What the person said: the decimal mark, the language."""

    decimal: str | None = None
    language: str = "en"


# --- qa ---------------------------------------------------------------------------------------


def qa_questions(table: Table, layout: Layout, source: Source, told: Told) -> Made:
    """Each row's accepted answers as they are written; yes and no stand for true and false."""
    column = layout.first_answer
    truth = _is_truth(table, column)
    if truth:
        source.decide(
            f"column '{column}' holds yes or no: true and yes count alike, as do false and no"
        )
    made = []
    for row in table.rows:
        fields = common(row, layout, source, told.language)
        accepted = _accepted(row, column, layout, source)
        if truth and len(accepted) == 1:
            accepted = _both(accepted[0])
        made.append((row, Question(kind="qa", target=accepted, **fields)))
    _warn_of(made, column, source)
    return made


def _is_truth(table: Table, column: str) -> bool:
    values = [row.get(column) for row in table.rows]
    if any(isinstance(value, bool) for value in values):
        return True
    return all(isinstance(v, str) and alike(v) in (*_YES, *_NO) for v in values)


def _both(text: str) -> list[str]:
    folded = alike(text)
    for pair in (_YES, _NO):
        if folded in pair:
            first = folded if folded in ("true", "false") else text
            return [first, *(word for word in pair if word != folded)]
    return [text]


def _accepted(row: Row, column: str, layout: Layout, source: Source) -> list[str]:
    """Accepted texts, the first one first; no text twice."""
    value = row.get(column)
    if value is None:
        raise answer_missing(row, column, source)
    texts = _texts(value, row, column, source)
    for name in _further(layout, column):
        more = row.get(name)
        if more is None:
            continue
        listed_as_text = isinstance(more, str) and layout.get("wrong") is not None
        said = _texts(more.split(";") if listed_as_text else more, row, name, source)
        if plain_name(name) not in words.SEVERAL and name != layout.get("aliases"):
            _same(said, texts, row, (column, name), source)
        texts += said
    unique: dict[str, str] = {}
    for text in texts:
        unique.setdefault(normal(text), text)
    return list(unique.values())


def _further(layout: Layout, column: str) -> list[str]:
    """The other columns of answers: more of them, or the same ones again."""
    aliases = layout.get("aliases")
    return [c for c in layout.answers if c != column] + ([aliases] if aliases is not None else [])


def _same(
    said: list[str], texts: list[str], row: Row, columns: tuple[str, str], source: Source
) -> None:
    """Nothing; an error where two columns that each hold the answer hold different ones."""
    if {alike(text) for text in said} <= {alike(text) for text in texts}:
        return
    raise source.wrong(
        f"the columns '{columns[0]}' and '{columns[1]}' hold different answers",
        row=row,
        column=columns[1],
        got=[*texts, *said],
        next=f"say which is right with author.columns.answer={columns[0]}",
    )


def _texts(value: Any, row: Row, column: str, source: Source) -> list[str]:
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = read_literal(value)
            source.decide(
                f"the lists that column '{column}' holds as text are read as accepted answers"
            )
        except Unreadable:
            return [source.text(value, row, column)]
    if isinstance(value, Mapping):
        value = _of_mapping(value, row, column, source)
    values = value if isinstance(value, (list, tuple)) else [value]
    texts = []
    for item in values:
        if missing(item):
            raise source.wrong(
                "an accepted answer in the list is missing (empty or null)",
                row=row,
                column=column,
                got=brief(value),
            )
        texts.append(source.text(item, row, column))
    if not texts:
        raise source.wrong(
            "the list of accepted answers is empty: the answer is missing",
            row=row,
            column=column,
            got="[]",
        )
    return texts


def _of_mapping(value: Mapping[str, Any], row: Row, column: str, source: Source) -> list[Any]:
    """SQuAD's {"text": [...]}, TriviaQA's {"value": ..., "aliases": [...]}."""
    texts = value.get("text")
    if isinstance(texts, (list, tuple)):
        return list(texts)
    first = value.get("value", texts)
    if isinstance(first, (str, int, float, Decimal)):
        aliases = value.get("aliases")
        return [first, *(aliases if isinstance(aliases, (list, tuple)) else [])]
    raise source.wrong(
        "the answer is an object of an unknown shape", row=row, column=column, got=brief(value)
    )


def _warn_of(made: Made, column: str, source: Source) -> None:
    barred = [row for row, q in made if len(q.target) == 1 and "|" in q.target[0]]
    if barred:
        source.warn(
            f"{listed(barred)}: the answer in column '{column}' contains '|' and is one text; several "
            'accepted answers are written as a JSON list: ["Danube", "Donau"]'
        )
    long = [row for row, q in made if len(q.target[0]) > LONG]
    if long:
        source.warn(
            f"{listed(long)}: an answer of more than {LONG} characters is hardly ever given to the letter; "
            "kind=keypoints scores what an answer says"
        )
    unread = [row for row, q in made if q.target[0].casefold() in ("nan", "null", "#n/a", "n/a")]
    if unread:
        source.warn(
            f"{listed(unread)}: the answer is the text {unread[0].get(column)!r}; a lost value?"
        )


# --- numeric ----------------------------------------------------------------------------------


def numeric_questions(table: Table, layout: Layout, source: Source, told: Told) -> Made:
    """Numbers, exact where Python has them exactly; the decimal mark is the column's."""
    column = layout.get("answer") or ""
    fields = [common(row, layout, source, told.language) for row in table.rows]
    cells: list[Any] = []
    if is_gsm8k(table, column):
        source.decide(
            f"GSM8K's layout: the number after {MARKER} is the answer, the text before it the way"
        )
        told = Told("point", told.language)
        for row, field in zip(table.rows, fields, strict=True):
            way, answer = _after_marker(row, column, source)
            cells.append(answer)
            field["rationale"] = way
    else:
        for row in table.rows:
            value = row.get(column)
            value = value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
            if missing(value):
                raise answer_missing(row, column, source)
            if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
                raise source.wrong(
                    "the answer is no number", row=row, column=column, got=brief(value)
                )
            for other in layout.answers[1:]:
                more = row.get(other)
                if more is not None:
                    texts = [
                        source.text(cell, row, name)
                        for cell, name in ((value, column), (more, other))
                    ]
                    _same(texts[1:], texts[:1], row, (column, other), source)
            cells.append(value)
    numbers = {
        i: written(source.text(cell, row, column), row)
        for i, (cell, row) in enumerate(zip(cells, table.rows, strict=True))
        if isinstance(cell, str)
    }
    mark = decimal_mark(list(numbers.values()), told.decimal, source, column)
    made = []
    for i, (row, field) in enumerate(zip(table.rows, fields, strict=True)):
        target = (
            numeric_target(numbers[i], mark, source, column) if i in numbers else exact(cells[i])
        )
        options = _tolerances(row, layout, source)
        made.append((row, Question(kind="numeric", target=target, options=options, **field)))
    return made


def is_gsm8k(table: Table, column: str) -> bool:
    """Whether an answer has the marker; then every answer needs it."""
    return any(MARKER in str(row.get(column)) for row in table.rows)


def _after_marker(row: Row, column: str, source: Source) -> tuple[str, str]:
    """(the worked solution, the final answer) of a GSM8K answer."""
    value = row.get(column)
    if value is None:
        raise answer_missing(row, column, source)
    way, marker, answer = source.text(value, row, column).rpartition(MARKER)
    if not marker or not trimmed(answer):
        what = f"nothing follows {MARKER}" if marker else f"there is no {MARKER}"
        raise source.wrong(
            f"{what}: the final answer after the marker is missing",
            row=row,
            column=column,
            got=brief(value, 80),
            next=f"end the solution with a line '{MARKER} 42'",
        )
    return trimmed(way), trimmed(answer)


def _tolerances(row: Row, layout: Layout, source: Source) -> dict[str, Any]:
    """The scorer's options that the file has: rel_tol, abs_tol, units."""
    options: dict[str, Any] = {}
    for role in ("rel_tol", "abs_tol"):
        column = layout.get(role)
        value = row.get(column)
        if column is None or value is None:
            continue
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = -1.0
        if not 0 <= number < float("inf"):
            raise source.wrong(
                "a tolerance is a number of at least 0", row=row, column=column, got=brief(value)
            )
        options[role] = number
    units = layout.get("units")
    if units is not None and row.get(units) is not None:
        options["units"] = _texts(row.values[units], row, units, source)
    return options
