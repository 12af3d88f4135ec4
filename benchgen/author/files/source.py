"""The file that is read: its rows, what was decided about it, and the errors that name a place in it."""

from __future__ import annotations

import importlib
import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchgen.errors import DataError

MARKS = (
    "\u00ad\u061c\u180e\u200b\u200c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2060\u2061\u2062"
    "\u2063\u2064\u2066\u2067\u2068\u2069\ufeff"
)
"""Characters that are not seen: direction marks, soft hyphens, zero-width spaces, byte order marks."""
_SPACES = "".join(chr(i) for i in range(0x3001) if chr(i).isspace())
_EDGES = _SPACES + MARKS + "\u200d"
_NO_MARKS = str.maketrans("", "", MARKS)
_ENTITY = re.compile(r"&(?:quot|amp|lt|gt|apos|nbsp|#\d{1,6}|#x[0-9a-fA-F]{1,6});")
_TWICE_READ = ("Ã¼", "Ã¤", "Ã¶", "Ã©", "Ã¨", "ÃŸ", "â€")
MAX_ROWS = 1_000_000
"""Rows of any file. Questions have a limit of their own; a set of training rows may be as large."""
SHOWN_ROWS = 5
"""Row numbers that one line of the report names; the rest are counted."""


def trimmed(text: str) -> str:
    """The text without outer white space and unseen marks; what stands inside is kept."""
    return text.strip(_EDGES)


def normal(text: str) -> str:
    """The text to compare by: one character form, no unseen marks, single spaces."""
    if not text.isascii():
        text = unicodedata.normalize("NFC", text.translate(_NO_MARKS))
    return " ".join(text.split())


def alike(text: str) -> str:
    """The same for texts that differ only in case, spaces or character forms."""
    if not text.isascii():
        text = unicodedata.normalize("NFKC", text.translate(_NO_MARKS))
    return " ".join(text.casefold().split())


def missing(value: Any) -> bool:
    """Whether a cell holds nothing: null, NaN, or a text of spaces."""
    if value is None:
        return True
    if isinstance(value, str):
        return not trimmed(value)
    return isinstance(value, float) and math.isnan(value)


def brief(value: Any, limit: int = 60) -> str:
    """The value for an error or a line of the report, in one line of at most `limit` characters."""
    text = value if isinstance(value, str) else repr(value)
    text = " ".join(_printable(text).split())
    return text if len(text) <= limit else text[: limit - 1] + "…"


def _printable(text: str) -> str:
    """The text without halves of characters, which no terminal and no file can take."""
    return text.encode("utf-8", "backslashreplace").decode()


def _all_printable(value: Any) -> Any:
    if isinstance(value, str):
        return _printable(value)
    return [_all_printable(v) for v in value] if isinstance(value, (list, tuple)) else value


@dataclass(frozen=True, slots=True)
class Row:
    """One row. `number` counts data rows from 1, `place` is where the person finds it: line or sheet row."""

    number: int
    values: Mapping[str, Any]
    place: str = ""

    def __str__(self) -> str:
        return f"row {self.number}" + (f" ({self.place})" if self.place else "")

    def get(self, column: str | None) -> Any:
        """The cell, None where it holds nothing or the row has no such column."""
        value = self.values.get(column) if column is not None else None
        return None if missing(value) else value


@dataclass(frozen=True)
class Table:
    """Rows with names. `typed`: numbers, lists and truth values are told apart from texts (no CSV)."""

    columns: tuple[str, ...]
    rows: Sequence[Row]
    typed: bool
    names: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """{column: class names}: such a column holds positions from 0 (Hugging Face's ClassLabel)."""
    headerless: bool = False

    def filled(self, column: str) -> bool:
        return any(row.get(column) is not None for row in self.rows)


@dataclass
class Source:
    """The file's name and its report, handed to every reader."""

    name: str
    decisions: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    noted: dict[tuple[str, str], dict[int, Row]] = field(default_factory=dict)

    def decide(self, text: str) -> None:
        if text not in self.decisions:
            self.decisions.append(text)

    def warn(self, text: str) -> None:
        if text not in self.warnings:
            self.warnings.append(text)

    def note(self, what: str, row: Row, column: str) -> None:
        """A warning that many rows may share: said once, with the rows."""
        self.noted.setdefault((column, what), {})[row.number] = row

    def told(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(decisions, warnings), each once."""
        shared = [
            f"{listed(rows.values())}, column '{column}': {what}"
            for (column, what), rows in self.noted.items()
        ]
        return tuple(map(_printable, self.decisions)), tuple(
            map(_printable, [*self.warnings, *shared])
        )

    def wrong(
        self,
        what: str,
        *,
        row: Row | None = None,
        column: str | None = None,
        next: str = "",
        **told: Any,
    ) -> DataError:
        """The error to raise: file, row, column, then `what`; `told` is `got` and `allowed`."""
        place = [self.name]
        place += [str(row)] if row is not None else []
        place += [f"column '{column}'"] if column is not None else []
        if told.get("got") == []:
            told["got"] = "[]"
        if isinstance(told.get("got"), str):
            told["got"] = brief(told["got"], 200)
        told = {name: _all_printable(value) for name, value in told.items()}
        return DataError(_printable(f"{', '.join(place)}: {what}"), next=_printable(next), **told)

    def too_long(self, rows: int) -> DataError:
        """The error for a file of more rows than are read."""
        return self.wrong(
            f"it has at least {rows} rows", got=rows, allowed=f"up to {MAX_ROWS}", next="split it"
        )

    def text(self, value: Any, row: Row, column: str) -> str:
        """The cell as text, trimmed; an error for what is no text or cannot be stored as one."""
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
            value = str(int(value))
        elif not isinstance(value, (dict, list, tuple, bytes)):
            value = str(value)
        if not isinstance(value, str):
            raise self.wrong(
                f"a text is needed, and this is a {_named(value)}",
                row=row,
                column=column,
                got=brief(value),
            )
        return self.sound(trimmed(value), row, column)

    def sound(self, text: str, row: Row, column: str) -> str:
        """The same text; an error for half a character or a NUL, a warning for damage that can be seen."""
        if "&" in text and _ENTITY.search(text):
            self.note(
                "signs of HTML such as &amp; or &quot;, kept as they are written", row, column
            )
        if text.isascii():
            if "\0" in text:
                raise self.wrong(
                    "a NUL character (U+0000) stands in the text: the file was damaged or cut",
                    row=row,
                    column=column,
                    got=brief(text),
                )
            return text
        for character in text:
            if "\ud800" <= character <= "\udfff":
                raise self.wrong(
                    f"half of a character stands alone (lone surrogate U+{ord(character):04X}), "
                    "which no UTF-8 file can hold",
                    row=row,
                    column=column,
                    got=brief(text),
                    next="write the whole character, or take it out",
                )
        if "\ufffd" in text:
            self.note("U+FFFD stands where a character was lost before", row, column)
        elif any(pair in text for pair in _TWICE_READ):
            self.note(
                "looks like UTF-8 that was once read in another encoding (Ã¼ for ü)", row, column
            )
        return text


def library(name: str, source: Source) -> Any:
    """A module that reads one format, imported when it is needed."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        package = name.split(".", maxsplit=1)[0]
        raise source.wrong(
            f"reading this format needs {package}, which is not installed",
            next=f"pip install {package}",
        ) from error


def listed(rows: Iterable[Row]) -> str:
    """'rows 2, 3 and 7 more' for the report."""
    numbers = [row.number for row in rows]
    shown = ", ".join(map(str, numbers[:SHOWN_ROWS]))
    more = len(numbers) - SHOWN_ROWS
    return f"row{'s' if len(numbers) > 1 else ''} {shown}" + (
        f" and {more} more" if more > 0 else ""
    )


def _named(value: Any) -> str:
    if isinstance(value, dict):
        return "object"
    return "list" if isinstance(value, (list, tuple)) else type(value).__name__
