"""Numbers as people write them: which sign is the decimal mark is told from the whole column, or asked."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any

from benchgen.author.files.source import Row, Source, brief, trimmed
from benchgen.errors import DataError

MARK = {"point": ".", "comma": ","}
_SIGNS = str.maketrans({"\u2212": "-", "\u2013": "-", "\u066b": ".", "\u066c": ","})
_GROUPED = re.compile(r"(?<=\d)[\s'’_](?=\d{3}(?!\d))")
_SHAPE = re.compile(r"[+-]?(?:\d[\d.,]*|[.,]\d+)(?:[eE][+-]?\d+)?")
_FRACTION = re.compile(r"[+-]?\d+\s?/\s?\d+")
_DRESSED = re.compile(r"(?:[€$£¥]\s?)?([+-]?[\d.,\s'’]*\d)(?:\s?[%€$£¥])?")
_LEADING_ZEROS = re.compile(r"[+-]?0\d")


@dataclass(frozen=True, slots=True)
class Written:
    """A number as text: `body` in plain digits with its own marks, "" for one that is only looked like."""

    row: Row
    text: str
    body: str


def written(text: str, row: Row) -> Written:
    """The text with plain signs and digits, without marks between thousands that are no decimal mark."""
    plain = unicodedata.normalize("NFKC", trimmed(text)).translate(_SIGNS)
    plain = re.sub(r"^([+-])\s+", r"\1", plain)
    body = _GROUPED.sub("", plain)
    return Written(row, trimmed(text), body if _SHAPE.fullmatch(body) else "")


def looks_numeric(values: Sequence[Any]) -> bool:
    """Whether every value is a number or a text that is one; 007 is a text, and a date is one too."""
    plain = False
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float, Decimal, str)):
            return False
        if not isinstance(value, str):
            plain = True
            continue
        text = unicodedata.normalize("NFKC", trimmed(value)).translate(_SIGNS)
        body = written(value, Row(0, {})).body
        dressed = _DRESSED.fullmatch(text) or _FRACTION.fullmatch(text)
        if _LEADING_ZEROS.match(text) or not (body or dressed):
            return False
        if body and not _marks(body):
            return False
        plain = plain or bool(body) or text[-1] == "%" or not text[0].isdigit()
    return plain


def _marks(body: str) -> set[str]:
    """The decimal marks that the number can have: point, comma, or both where either reading is one."""
    mantissa = re.split("[eE]", body)[0].lstrip("+-")
    fitting = set()
    for name, mark in MARK.items():
        thousands = "," if mark == "." else "."
        whole, _, fraction = mantissa.partition(mark)
        groups = whole.split(thousands)
        grouped = len(groups) == 1 or (
            0 < len(groups[0]) < 4
            and groups[0][0] != "0"
            and len(groups[-1]) == 3
            and all(len(group) in (2, 3) for group in groups[1:])
        )
        if (
            grouped
            and (not fraction or fraction.isdigit())
            and all(g.isdigit() or not g for g in groups)
        ):
            fitting.add(name)
    return fitting


def decimal_mark(numbers: Sequence[Written], told: str | None, source: Source, column: str) -> str:
    """'point' or 'comma' for the whole column; a DataError where the numbers fit both or neither."""
    open_ones: list[Written] = []
    evidence: dict[str, Written] = {}
    for number in numbers:
        fitting = _marks(number.body) if number.body else set()
        if len(fitting) == 1:
            evidence.setdefault(next(iter(fitting)), number)
        elif fitting and {".", ","} & set(number.body):
            open_ones.append(number)
    if told is not None:
        for mark, number in evidence.items():
            if mark != told:
                raise _not_so(number, told, mark, source, column)
        return told
    if len(evidence) == 2:
        one, two = evidence["point"], evidence["comma"]
        later = max(one, two, key=lambda number: number.row.number)
        raise source.wrong(
            f"mixed decimal marks: {one.text!r} in {one.row} has a decimal point, {two.text!r} in "
            f"{two.row} a decimal comma",
            row=later.row,
            column=column,
            got=later.text,
            next="write all numbers in one way",
        )
    if open_ones and not evidence:
        raise _unclear(open_ones[0], source, column)
    mark = next(iter(evidence), "point")
    if mark == "comma" or open_ones:
        found = evidence[mark]
        source.decide(
            f"column '{column}' has a decimal {mark}: {found.text!r} in {found.row} can be nothing else"
        )
    return mark


def _not_so(number: Written, told: str, mark: str, source: Source, column: str) -> DataError:
    return source.wrong(
        f"author.decimal={told} does not fit: {number.text!r} has a decimal {mark}",
        row=number.row,
        column=column,
        got=number.text,
    )


def _unclear(number: Written, source: Source, column: str) -> DataError:
    values = [brief(str(_value(number.body, mark))) for mark in MARK]
    return source.wrong(
        f"ambiguous: {number.text!r} is {values[0]} with a decimal point and {values[1]} with a decimal "
        "comma, and no other number of the column tells which",
        row=number.row,
        column=column,
        got=number.text,
        next="say which: author.decimal=point or author.decimal=comma",
    )


def _value(body: str, mark: str) -> int | float | str:
    """The number; an int or float where that is exact, else its plain text."""
    sign = MARK[mark]
    plain = body.replace("," if sign == "." else ".", "").replace(sign, ".")
    return exact(plain)


def exact(value: Any) -> int | float | str:
    """An int, or a float that prints as the same number, else the digits as text."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return str(value)
    text = str(value)
    if re.fullmatch(r"[+-]?\d+", text):
        return int(text) if len(text) < 400 else text
    close = float(number)
    return close if Decimal(repr(close)) == number else text


def numeric_target(number: Written, mark: str, source: Source, column: str) -> int | float | str:
    """The target of a number with this decimal mark; the text itself for a fraction, a unit or a sign."""
    if number.body and not _LEADING_ZEROS.match(number.body.split(".")[0].split(",")[0]):
        value = _value(number.body, mark)
        if isinstance(value, str) and not _scored(value):
            raise _unread(number, source, column)
        if re.search(rf"[{MARK[mark]}]\d*[1-9]0+$", number.body):
            source.note(
                "numbers that end in 0 after the mark lose it (1.10 is 1.1); kind=qa keeps them as texts",
                number.row,
                column,
            )
        return value
    if _scored(number.text):
        return number.text
    raise _unread(number, source, column)


def _unread(number: Written, source: Source, column: str) -> DataError:
    return source.wrong(
        "the answer cannot be read as a number",
        row=number.row,
        column=column,
        got=number.text,
        next="write a number, or kind=qa for answers that are texts",
    )


def _scored(text: str) -> bool:
    """Whether the scoring program reads the text as a number."""
    from benchgen.scoring import score

    return score("numeric", reply=f"Answer: {text}", target=text).correct is True
