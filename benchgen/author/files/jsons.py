"""Rows of JSON and JSON Lines. A key that stands twice is an error: a plain reader keeps the last one."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from benchgen.author.files.headers import known
from benchgen.author.files.source import MAX_ROWS, Row, Source, Table, brief

HOLDERS = frozenset(
    ("data", "questions", "rows", "items", "examples", "records", "instances", "results", "entries")
    + ("samples", "quiz", "train", "test", "validation")
)
"""Keys under which a file's one list of rows may stand beside other keys."""


class _Twice(ValueError):
    pass


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise _Twice(
            f"the key '{twice}' stands twice in one object (duplicate), with one value lost"
        )
    return values


def _nothing(_: str) -> None:
    """NaN and Infinity are no JSON; data frames write them for an empty cell."""


def _fraction(digits: str) -> Decimal:
    try:
        return Decimal(digits)
    except ArithmeticError:
        raise ValueError(f"{brief(digits, 30)} is too large a number") from None


DECODER = json.JSONDecoder(
    object_pairs_hook=_object, parse_float=_fraction, parse_constant=_nothing
)
"""Fractions stay as they are written: 1.10 is not 1.1."""


def read_json(text: str, source: Source) -> Table:
    """The rows of a JSON file, or of JSON Lines in a file of that name."""
    try:
        value = _whole(text)
    except _Twice as error:
        raise source.wrong(str(error)) from error
    except (ValueError, RecursionError) as error:
        first = _first(text)
        if first is None:
            raise _broken(source, error, text, 0, 1) from error
        source.decide("the file holds one JSON object after the other, and is read as JSON Lines")
        return read_jsonl(text, source)
    return _table(_rows(value, source), source)


def read_jsonl(text: str, source: Source) -> Table:
    """One object a line; a whole list, and objects that go over several lines, are read and reported."""
    try:
        return _table(list(_lines(text, source)), source)
    except _Broken as broken:
        if broken.number == 1:
            values = _stream(text)
            if values is not None:
                return _table(_several(values, source), source)
        raise broken.error from broken


class _Broken(Exception):
    def __init__(self, number: int, error: Exception) -> None:
        super().__init__(number)
        self.number, self.error = number, error


def _lines(text: str, source: Source) -> Iterator[Row]:
    number, start = 0, 0
    for line_number, line in enumerate(text.split("\n"), 1):
        if line.strip("\ufeff \t\r\n"):
            number += 1
            if number > MAX_ROWS:
                raise source.too_long(number)
            try:
                value = _whole(line)
            except (ValueError, RecursionError) as error:
                told = _broken(source, error, line, start, line_number)
                raise _Broken(line_number if not isinstance(error, _Twice) else 0, told) from error
            yield _row(value, number, f"line {line_number}", source)
        start += len(line) + 1


def _whole(text: str) -> Any:
    """The one JSON value of the text."""
    text = text.strip("\ufeff \t\r\n")
    value, end = DECODER.raw_decode(text)
    if end != len(text):
        raise json.JSONDecodeError("Extra data", text, end)
    return value


def _broken(source: Source, error: Exception, line: str, start: int, number: int) -> Exception:
    if isinstance(error, _Twice):
        return source.wrong(f"line {number}: {error}", next="keep one of the two")
    if not isinstance(error, json.JSONDecodeError):
        return source.wrong(f"line {number} is no JSON that can be read: {brief(str(error))}")
    number += error.doc.count("\n", 0, error.pos) if start == 0 and "\n" in line else 0
    rest = error.doc[error.pos :].strip()
    cut = not rest or error.msg.startswith("Unterminated")
    why = "it is cut off (truncated): the text ends in the middle" if cut else error.msg
    if not cut and "'" in error.doc[max(0, error.pos - 1) : error.pos + 2]:
        why += "; JSON has double quotes, Python's single ones are none"
    if error.msg == "Extra data" and rest == ",":
        why = "a comma follows the object; JSON Lines has none between lines"
    return source.wrong(
        f"line {number} is no valid JSON: {why}",
        got=line.strip()[:80],
        next="mend or take out that line; nothing was imported",
    )


def _first(text: str) -> Any:
    """The first value of a text with more after it, None if there is none."""
    try:
        value, end = DECODER.raw_decode(text.lstrip("\ufeff \t\r\n"))
    except (ValueError, RecursionError):
        return None
    rest = text.lstrip("\ufeff \t\r\n")[end:].lstrip()
    return value if isinstance(value, dict) and rest.startswith("{") else None


def _stream(text: str) -> list[Any] | None:
    """All values of the text, one after the other; None if it is not made of whole JSON values."""
    values, position, text = [], 0, text.strip("\ufeff \t\r\n")
    while position < len(text):
        try:
            value, position = DECODER.raw_decode(text, position)
        except (ValueError, RecursionError):
            return None
        values.append(value)
        while position < len(text) and text[position] in " \t\r\n":
            position += 1
    return values


def _several(values: list[Any], source: Source) -> list[Row]:
    if len(values) == 1 and isinstance(values[0], list):
        source.decide("the file is called .jsonl and holds one JSON array: its items are the rows")
        return _rows(values[0], source)
    source.decide("the objects go over several lines each: read one after the other")
    return [
        _row(value, number, f"object {number}", source) for number, value in enumerate(values, 1)
    ]


def _rows(value: Any, source: Source) -> list[Row]:
    """The rows of a JSON value: a list, a list under one key, lists by column, one object."""
    if isinstance(value, dict):
        value = _held(value, source)
    if not isinstance(value, list):
        raise source.wrong(
            "it holds one JSON value and no rows", got=brief(value), allowed="a list of objects"
        )
    return [_row(item, number, f"item {number}", source) for number, item in enumerate(value, 1)]


def _held(value: dict[str, Any], source: Source) -> Any:
    lists = {name: item for name, item in value.items() if _is_rows(item)}
    held = [name for name in lists if name in HOLDERS] if len(value) > 1 else list(lists)
    if len(held) == 1:
        source.decide(f"the rows are the list '{held[0]}'")
        others = [name for name in lists if name != held[0]]
        if others:
            source.decide(f"other lists, not read: {', '.join(map(repr, others))}")
        return [r["row"] if set(r) >= {"row", "row_idx"} else r for r in lists[held[0]]]
    if len(lists) > 1 and set(lists) == set(value):
        raise source.wrong(
            "it holds several lists of rows",
            got=list(lists),
            next="save the one to import by itself",
        )
    return _by_columns(value, source) or _by_ids(value, source) or [value]


def _by_ids(value: dict[str, Any], source: Source) -> list[dict[str, Any]] | None:
    """Rows of {"q1": {"question": …}, "q2": {…}}; None for anything else."""
    rows = [row for row in value.values() if isinstance(row, dict) and row]
    if len(rows) < 2 or len(rows) != len(value) or any(map(known, value)):
        return None
    shared = set(rows[0]).intersection(*rows[1:])
    if not any(map(known, shared)):
        return None
    source.decide("the file holds an object an id: each is a row")
    return [{"id": name, **row} for name, row in value.items()]


def _is_rows(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(v, dict) for v in value)


def _by_columns(value: dict[str, Any], source: Source) -> list[dict[str, Any]] | None:
    """Rows of {"question": [...], "answer": [...]} or of pandas' {"question": {"0": ...}}."""
    columns = {}
    for name, cells in value.items():
        if isinstance(cells, dict) and all(key.isdecimal() for key in cells):
            columns[name] = list(cells.values())
        elif isinstance(cells, list):
            columns[name] = cells
    lengths = {len(cells) for cells in columns.values()}
    texts = value.get("question", value.get("prompt"))
    if (
        len(columns) != len(value)
        or len(lengths) != 1
        or len(columns) < 2
        or isinstance(texts, str)
    ):
        return None
    source.decide("the file holds one list a column")
    return [dict(zip(columns, cells, strict=True)) for cells in zip(*columns.values(), strict=True)]


def _row(value: Any, number: int, place: str, source: Source) -> Row:
    if not isinstance(value, dict):
        what = "list" if isinstance(value, list) else type(value).__name__
        raise source.wrong(
            f"row {number} ({place}) is a {what}, not an object with named fields", got=brief(value)
        )
    inner = value.get("question")
    if isinstance(inner, dict) and "stem" in inner:  # ARC as it was first published
        value = {**value, **inner, "question": inner["stem"]}
        del value["stem"]
    return Row(number, value, place)


def _table(rows: list[Row], source: Source) -> Table:
    if not rows:
        raise source.wrong("it is empty: there are no rows", got=0)
    return Table(
        tuple(dict.fromkeys(name for row in rows for name in row.values)), rows, typed=True
    )
