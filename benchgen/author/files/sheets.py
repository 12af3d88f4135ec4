"""Rows of an Excel workbook, with each cell as a person sees it: 007 by its format, 25 % with its sign."""

from __future__ import annotations

import datetime
import io
import re
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.author.files.delimited import Line, table_of
from benchgen.author.files.headers import is_header
from benchgen.author.files.source import Source, Table, brief, library, missing

MAX_CELLS = 5_000_000
_ZEROS = re.compile(r"0{2,}")
_PERCENT = re.compile(r"0(?:\.(0+))?%")
_DAMAGED: tuple[type[Exception], ...] = (
    KeyError,
    ValueError,
    TypeError,
    OSError,
    AttributeError,
    SyntaxError,
    IndexError,
)
_DAMAGED += (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError)
_ERRORS = ("#N/A", "#REF!", "#VALUE!", "#DIV/0!", "#NAME?", "#NUM!", "#NULL!")


def read_workbook(raw: bytes, source: Source, told: Mapping[str, str], sheet: str | None) -> Table:
    """The rows of the named sheet, or of the only one that holds questions."""
    openpyxl = library("openpyxl", source)
    try:
        book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True, data_only=True)
        sheets = {s.title: s for s in book.worksheets if s.sheet_state == "visible"}
        name = sheet if sheet is not None else _only(sheets, source, told)
        if name not in sheets:
            raise source.wrong(
                f"author.sheet={name} names no sheet", got=name, allowed=list(sheets) or "none"
            )
        lines, gaps = _lines(sheets[name], source)
        if gaps:
            _formulas(openpyxl, raw, name, lines, source)
    except _DAMAGED as error:
        raise source.wrong(
            f"it is no Excel file that can be read: {brief(str(error), 120)}",
            next="open it in a spreadsheet program and save it anew, or as CSV",
        ) from error
    return table_of(lines, source, told, "sheet row", typed=True)


def _only(sheets: Mapping[str, Any], source: Source, told: Mapping[str, str]) -> str:
    """The sheet with content, or the only one of several whose head names columns."""
    heads = {name: _head(sheet) for name, sheet in sheets.items()}
    filled = [name for name, head in heads.items() if head]
    if not filled:
        raise source.wrong("it is empty: no visible sheet has a filled cell", got=0)
    if len(filled) == 1:
        return filled[0]
    fitting = [n for n in filled if any(is_header(line, told) for line in heads[n])]
    if len(fitting) != 1:
        raise source.wrong(
            "it has several sheets with rows, and one file is one benchmark",
            got=filled,
            next=f"say which with author.sheet='{(fitting or filled)[0]}'",
        )
    others = ", ".join(f"'{name}'" for name in filled if name != fitting[0])
    source.decide(f"read from the sheet '{fitting[0]}'; not read: {others}")
    return fitting[0]


def _head(sheet: Any) -> list[list[str]]:
    """The first filled lines of a sheet as texts."""
    lines = [
        ["" if cell is None else str(cell) for cell in cells]
        for cells in sheet.iter_rows(max_row=30, values_only=True)
        if not all(map(missing, cells))
    ]
    return lines[:10]


def _lines(sheet: Any, source: Source) -> tuple[list[Line], bool]:
    """(the filled lines, whether a cell among or between them is empty)."""
    lines, seen, gaps = [], 0, False
    for number, cells in enumerate(sheet.iter_rows(), 1):
        seen += len(cells)
        if seen > MAX_CELLS:
            raise source.wrong(f"sheet '{sheet.title}' has more than {MAX_CELLS} cells", got=seen)
        values = [_shown(cell, source) for cell in cells]
        empty = sum(map(missing, values))
        gaps = gaps or empty > 0
        if empty < len(values):
            lines.append(Line(values, number))
    return lines, gaps


def _shown(cell: Any, source: Source) -> Any:
    """The cell's value as Excel shows it."""
    value = cell.value
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _number(value, cell.number_format or "General")
    if isinstance(value, (datetime.date, datetime.time)):
        midnight = isinstance(value, datetime.datetime) and value.time() == datetime.time()
        shown = value.date().isoformat() if midnight else value.isoformat()  # type: ignore[union-attr]
        if not any("is a date in Excel" in told for told in source.warnings):
            source.warn(
                f"cell {cell.coordinate} (and maybe others) is a date in Excel, read as {shown}: if it was no "
                "date when it was typed (1/2, 3-4), format the column as text and type it again"
            )
        return shown
    if isinstance(value, str) and value in _ERRORS:
        raise source.wrong(f"cell {cell.coordinate} holds Excel's error {value}", got=value)
    return value


def _number(value: float, form: str) -> int | float | str:
    percent = _PERCENT.fullmatch(form)
    if percent:
        return f"{value * 100:.{len(percent[1] or '')}f}%"
    if float(value).is_integer() and abs(value) < 1e15:
        return str(int(value)).zfill(len(form)) if _ZEROS.fullmatch(form) else int(value)
    return float(f"{value:.15g}")


def _formulas(openpyxl: Any, raw: bytes, name: str, lines: Sequence[Line], source: Source) -> None:
    """Nothing; an error for a formula whose result was never stored, so that its cell looks empty."""
    book = openpyxl.load_workbook(io.BytesIO(raw), read_only=True)
    values = {line.number: line.cells for line in lines}
    for number, cells in enumerate(book[name].iter_rows(), 1):
        for index, cell in enumerate(cells):
            shown = values.get(number, ())
            stored = index < len(shown) and not missing(shown[index])
            if not stored and isinstance(cell.value, str) and cell.value.startswith("="):
                raise source.wrong(
                    f"cell {cell.coordinate} is a formula without a stored result",
                    got=cell.value,
                    next="open the file in a spreadsheet program and save it, or paste the values",
                )
