"""Rows of CSV and the like, and of any grid of cells: delimiter, header line, empty and uneven rows."""

from __future__ import annotations

import csv
import io
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.author.files.headers import is_header, known, plain_name, plays_a_part
from benchgen.author.files.source import MAX_ROWS, Row, Source, Table, brief, missing, trimmed
from benchgen.errors import DataError

DELIMITERS = {",": "comma", ";": "semicolon", "\t": "tab", "|": "vertical bar"}
SAMPLE = 65_536
"""Characters that the delimiter is told from."""
HEADER_WITHIN = 10
"""Lines at the top among which the header line may stand, below a title."""
MAX_CELL = 10_000_000
_SEP = re.compile(r'"?sep=(.)"?\r?\n')
_ESCAPED = re.compile(r'\\"(?!\s*(?:[,;\t|\r\n]|$))')
"""A backslash before a quote that does not close its cell; before one that does, it may be a cell's last sign."""
_LETTER = re.compile(r"\s*\(?([A-J])[).]?\s*")


@dataclass(frozen=True)
class Line:
    """The cells of one record, and where it begins."""

    cells: Sequence[Any]
    number: int


def read_delimited(text: str, source: Source, told: Mapping[str, str], tabs: bool = False) -> Table:
    """The rows of a CSV or TSV text; each cell is text as it is written."""
    text = text.removeprefix("\ufeff")
    told_separator = _SEP.match(text)
    skipped = 0
    if told_separator:
        text, skipped = text[told_separator.end() :], 1
        delimiter = told_separator[1]
    else:
        delimiter = _delimiter(text, told, tabs)
    if delimiter != ("\t" if tabs else ","):
        source.decide(f"the cells are separated by {DELIMITERS.get(delimiter, repr(delimiter))}")
    lines = [Line(c, n + skipped) for c, n in _quoted_or_not(text, delimiter, source)]
    return table_of(lines, source, told, "line", typed=False)


def _delimiter(text: str, told: Mapping[str, str], tabs: bool) -> str:
    """The delimiter whose lines have known names at the head and as many cells each."""
    sample = text[:SAMPLE]
    if len(text) > SAMPLE:
        sample = sample[: sample.rfind("\n") + 1] or sample

    def fit(delimiter: str) -> tuple[bool, int, float, int, bool]:
        text = io.StringIO(sample, newline="")
        reader = csv.reader(text, delimiter=delimiter, skipinitialspace=True)
        try:
            lines = [line for line in reader if any(map(trimmed, line))]
        except csv.Error:
            return (False, 0, 0.0, 0, False)
        widths = Counter(map(len, lines))
        width, share = widths.most_common(1)[0] if widths else (0, 0)
        if width < 2:
            return (False, 0, 0.0, 0, False)
        heads = [line for line in lines[:HEADER_WITHIN] if is_header(line, told)]
        names = sum(map(known, heads[0])) if heads else 0
        return (bool(heads), names, share / len(lines), width, delimiter == ("\t" if tabs else ","))

    return max(DELIMITERS, key=fit) if text else ","


def _quoted_or_not(text: str, delimiter: str, source: Source) -> list[tuple[list[str], int]]:
    """The records; in a file with tabs a quote may be a sign like any other."""
    try:
        return list(_records(text, delimiter, source))
    except DataError:
        plain = [line.split("\t") for line in re.split(r"\r\n|\n|\r", text)]
        filled = [cells for cells in plain if any(map(trimmed, cells))]
        if delimiter != "\t" or len({len(cells) for cells in filled}) != 1:
            raise
        source.decide("quotes are signs like any other: read as quotes of cells they never close")
        return [
            (cells, number) for number, cells in enumerate(plain, 1) if any(map(trimmed, cells))
        ]


def _records(text: str, delimiter: str, source: Source) -> Iterator[tuple[list[str], int]]:
    """(cells, line where the record begins), blank lines left out; an error for a quote that never ends."""
    before = csv.field_size_limit(MAX_CELL)
    escaped = '""' not in text and bool(_ESCAPED.search(text))
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter=delimiter,
        strict=True,
        skipinitialspace=delimiter != "\t",
        doublequote=not escaped,
        escapechar="\\" if escaped else None,
    )
    last = 0
    try:
        for number, cells in enumerate(reader, 1):
            if number > MAX_ROWS:
                raise source.too_long(number)
            if cells:
                yield cells, last + 1
            last = reader.line_num
    except csv.Error as error:
        if "unexpected end" in str(error):
            why = "a quote opens a cell and is never closed, so the rest of the file falls into it"
        elif "field larger" in str(error):
            why = f"a cell is longer than {MAX_CELL} characters: a quote is probably never closed"
        else:
            why = f"a quoted cell goes on after its closing quote ({error})"
        raise source.wrong(
            f"line {last + 1}: {why}",
            got=_line(text, last),
            next='write a quote inside a quoted cell twice: ""',
        ) from error
    finally:
        csv.field_size_limit(before)


def _line(text: str, index: int) -> str:
    lines = re.split(r"\r\n|\n|\r", text)
    return brief(lines[index], 80) if index < len(lines) else ""


def table_of(
    lines: Sequence[Line], source: Source, told: Mapping[str, str], place: str, *, typed: bool
) -> Table:
    """The table of a grid: header line found, unseen columns dropped, empty rows counted."""
    filled = [line for line in lines if not all(map(missing, line.cells))]
    if not filled:
        raise source.wrong("it is empty: there are no rows", got=0)
    empty = len(lines) - len(filled)
    if empty:
        source.decide(f"{empty} empty row{'s' if empty > 1 else ''} left out")
    head, body, headerless = _header(filled, source, told)
    names = _names(head, body, source, told)
    rows = [
        Row(number, _cells(names, line, number, place, source), f"{place} {line.number}")
        for number, line in enumerate(body, 1)
    ]
    if not rows:
        raise source.wrong("it has a header line and no rows: no questions", got=0)
    return Table(tuple(n for n in names if n), rows, typed=typed, headerless=headerless)


def _header(
    lines: Sequence[Line], source: Source, told: Mapping[str, str]
) -> tuple[list[str], Sequence[Line], bool]:
    """(names, the lines below, whether there are no names in the file)."""
    for index, line in enumerate(lines[:HEADER_WITHIN]):
        cells = [str(cell) if cell is not None else "" for cell in line.cells]
        above = lines[:index]
        if any(sum(not missing(c) for c in a.cells) > 2 for a in above):
            break
        if is_header(cells, told) and not _of_a_group(line, lines[index + 1 :], told):
            if above:
                source.decide(f"the header is line {line.number}; {index} above it left out")
            return cells, lines[index + 1 :], False
    wide = _mmlu_width(lines)
    if wide:
        source.decide(
            f"no header line: every line ends in a letter, so the cells are the question, {wide} options "
            "and the answer (MMLU's layout)"
        )
        letters = [chr(65 + i) for i in range(wide)]
        return ["question", *letters, "answer"], lines, True
    first = [str(cell) if cell is not None else "" for cell in lines[0].cells]
    return first, lines[1:], False


def _of_a_group(line: Line, below: Sequence[Line], told: Mapping[str, str]) -> bool:
    """Whether the one name of a line stands over several columns that the next line names: a merged cell."""
    if sum(not missing(cell) for cell in line.cells) > 1 or not below:
        return False
    names = [str(cell) for cell in below[0].cells if not missing(cell)]
    return len(names) > 1 and is_header(names, told)


def _mmlu_width(lines: Sequence[Line]) -> int:
    """Number of options if every line is a question, options and the letter of one; 0 if not."""
    width = len(lines[0].cells)
    for line in lines:
        found = _LETTER.fullmatch(str(line.cells[-1])) if line.cells else None
        if len(line.cells) != width or found is None or ord(found[1]) - 65 >= width - 2:
            return 0
        if missing(line.cells[0]) or len(str(line.cells[0])) < 3:
            return 0
    return width - 2 if width >= 4 else 0


def _names(
    head: Sequence[str], body: Sequence[Line], source: Source, told: Mapping[str, str]
) -> list[str]:
    """One name a column, "" for a column without name and content; an error for a name used twice."""
    names = [trimmed(name) for name in head]
    seen: dict[str, int] = {}
    for index, name in enumerate(names):
        plain = plain_name(name)
        first = seen.setdefault(plain, index) if plain else index
        if first == index:
            continue
        if plays_a_part(name) or len(plain) == 1 or name in told.values():
            raise source.wrong(
                f"the column name '{name}' stands twice (duplicate): columns {first + 1} and {index + 1}",
                got=names,
                next="rename or take out one of the two",
            )
        names[index] = f"{name} ({index + 1})"
    return [
        name or (f"column {index + 1}" if _any_in(body, index) else "")
        for index, name in enumerate(names)
    ]


def _any_in(body: Sequence[Line], index: int) -> bool:
    return any(index < len(line.cells) and not missing(line.cells[index]) for line in body)


def _width(cells: Sequence[Any]) -> int:
    """Number of cells without the empty ones at the end."""
    width = len(cells)
    while width and missing(cells[width - 1]):
        width -= 1
    return width


def _cells(
    names: Sequence[str], line: Line, number: int, place: str, source: Source
) -> dict[str, Any]:
    if _width(line.cells) > len(names):
        raise source.wrong(
            f"row {number} ({place} {line.number}) has {len(line.cells)} cells, the header {len(names)} columns: "
            "a delimiter inside a cell that is not quoted?",
            got=[brief(cell, 40) for cell in line.cells],
            next='put the cell in double quotes: "a, b"',
        )
    cells = {name: cell for name, cell in zip(names, line.cells, strict=False) if name}
    if len(line.cells) < len(names):
        cells[""] = f"{len(line.cells)} of {len(names)} cells"
    return cells
