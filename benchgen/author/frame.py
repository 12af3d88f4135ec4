"""A person's own table as a pack: what it can be asked follows from its columns, the wording is general.

One text column names the entities; every other is asked for by what it holds (`wording.py`). A text is looked up
both ways, a number or date is looked up and compared, categories and yes and no are counted. What the table leaves open is not
asked: empty cells, equal numbers, and facts of an entity whose rows disagree.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime, time
from math import isfinite
from typing import Any

import polars as pl

from benchgen.author.files.frames import within
from benchgen.author.packs import Pack, Template, alike, make_table
from benchgen.author.wording import forms_of, phrases, words_of
from benchgen.errors import ConfigError, DataError

LONGEST = 120
"""Characters: a column with a longer text is prose, which is neither a name nor an option."""
LARGE = 9999
"""Whole numbers up to this are asked for exactly, as years and counts are; larger ones and decimals within REL_TOL."""
REL_TOL = 0.01
YEARS = range(1000, 2200)
"""Whole numbers that may be years, if all of a column are."""

Values = list[tuple[str, ...]]
"""The true values of a column, row by row."""

_LEVELS = {"lookup": 0, "reverse": 1, "most": 1, "least": 1, "count": 2}
_SAYS_NOTHING = ("name", "title", "label", "entity", "id", "key")
_ROW_NUMBERS = ("", "id", "index", "row", "nr", "no", "no.", "#", "unnamed: 0")
_YES_NO = ({"yes", "no"}, {"true", "false"})


def pack_from_frame(
    frame: pl.DataFrame,
    name: str,
    *,
    entity: str | None = None,
    columns: Sequence[str] | None = None,
    category: str | None = None,
    language: str = "en",
) -> Pack:
    """A pack of one table with general templates for its columns.

    Args:
        frame: a row an entity; rows without any value are left out.
        name: what the questions name as their source.
        entity: the column that names the entities; None = the only text column without a repeated value.
        columns: the columns to ask for; None = all that hold texts, numbers, or yes and no.
        category: a column whose values are the questions' categories, or the category of all; None = `name`.
        language: of the wording, which is English.

    Raises:
        ConfigError: an unknown column or language, or no column or several that could name the entities.
        DataError: no rows, an entity without a name, or nothing that can be asked for.
    """
    if language != "en":
        raise ConfigError(
            "the questions on a table of your own are worded in English",
            got=language,
            allowed=["en"],
            next="language=en, or another author for another language",
        )
    within(frame, name)
    rows = frame.filter(~pl.all_horizontal(pl.all().is_null())) if frame.width else frame
    if rows.is_empty():
        raise DataError(f"{name} has no rows to ask about", got=frame.shape)
    frame = rows
    _known(frame, [entity] if entity else [], "author.entity")
    _known(frame, columns or [], "columns")
    given = {column: _values(frame[column]) for column in frame.columns}
    entity = entity or _entity(given, name, set(columns or ()))
    asked = _asked(frame, given, entity, columns)
    if not asked:
        raise DataError(
            f"{name} has no column to ask for: none holds two different short texts, numbers, or yes and no",
            got=[column for column in frame.columns if column != entity],
        )
    by = category if category in given else ""
    made = _rows(given, entity, [*asked, *([_Column(by, "by")] if by else [])])
    kind = words_of(entity) if entity.casefold() not in _SAYS_NOTHING else "entry"
    templates = [t for number, c in enumerate(asked, start=1) for t in c.templates(number, kind)]
    table = make_table(name, name if by or not category else category, made, templates)
    return Pack(name, (replace(table, by=f"by {by}" if by else ""),), language=language)


# ---- columns ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Column:
    """A column that is asked for. Rows keep it under `key`, so that none of its names means more than that."""

    name: str
    holds: str
    rel_tol: float = 0.0
    full: bool = True
    """No cell is empty or holds several values: only then is a value's one holder known to be the only one."""
    called: str = ""
    """The column it was made of, for one that the table does not have."""

    @property
    def key(self) -> str:
        return f"by {self.name}" if self.holds == "by" else f"column {self.name}"

    def templates(self, number: int, entity: str) -> list[Template]:
        """The ways to ask for it; `number` tells two columns apart whose names are alike."""
        called = self.called or self.name
        slug = re.sub(r"\W+", "_", called.casefold()).strip("_") or f"column_{number}"
        label, forms = forms_of(self.holds, words_of(called), entity)
        return [
            Template(
                name=f"{slug}_{number}_{way}",
                column=self.key,
                label=label,
                level=_LEVELS[about["form"]],
                rel_tol=self.rel_tol if about["form"] == "lookup" else 0.0,
                **about,
            )
            for way, about in forms.items()
            if self.full or "qa" not in about.get("kinds", ()) or about["form"] != "reverse"
        ]


def _asked(
    frame: pl.DataFrame, given: dict[str, Values], entity: str, columns: Sequence[str] | None
) -> list[_Column]:
    """The columns to ask for with what they hold; of those named by hand, each must be fit.

    What a question needs and the table has not is added to `given`: the order of dates, phrases for yes and no.
    """
    found = []
    for column in columns or [c for c in frame.columns if c != entity]:
        holds = _holds(frame[column], given[column])
        if column == entity:
            raise ConfigError(f"column {column!r} names the entities and cannot be asked for")
        if not holds and columns:
            raise DataError(
                f"column {column!r} cannot be asked for",
                got=str(frame.schema[column]),
                allowed="two or more different values: short texts, numbers, dates, or yes and no",
            )
        if holds and (columns or not _numbers_rows(column, given[column])):
            tolerance = _tolerance(given[column]) if holds in _NUMBERS else 0.0
            full = all(len(cell) == 1 for cell in given[column])
            found.append(_Column(column, holds, tolerance, full))
        if holds == "date":
            order = f"{column} in order"
            given[order] = [tuple(str(_seconds(text)) for text in cell) for cell in given[column]]
            found.append(_Column(order, "order", called=column))
        said = phrases(words_of(column)) if holds == "boolean" else None
        if said:
            given[column] = [tuple(said[_is_no(text)] for text in cell) for cell in given[column]]
            found[-1] = replace(found[-1], holds="phrase")
    return found


def _is_no(text: str) -> bool:
    return alike(text) in ("no", "false")


def _numbers_rows(column: str, values: Values) -> bool:
    texts = [text for cell in values for text in cell]
    return column.strip().casefold() in _ROW_NUMBERS and len(set(texts)) == len(texts)


def _holds(series: pl.Series, values: Values) -> str:
    """What `wording.forms_of` has words for, or "" for what cannot be asked for."""
    texts = [text for cell in values for text in cell]
    different = {alike(text) for text in texts}
    if len(different) < 2 or max(map(len, texts)) > LONGEST or series.dtype in _NESTED:
        return ""
    if series.dtype == pl.Boolean or different in _YES_NO:
        return "boolean"
    if series.dtype.is_numeric() or (_is_text(series.dtype) and all(map(_is_number, texts))):
        return _number_kind([float(text) for text in texts])
    if series.dtype.is_temporal() or _is_text(series.dtype):
        return "date" if _dates(texts) else _text_kind(texts)
    return _text_kind(texts)


def _number_kind(numbers: Sequence[float]) -> str:
    """number, or whole for what may be a count, or year for what may be one."""
    if not all(number == int(number) and 0 <= number <= LARGE for number in numbers):
        return "number"
    return "year" if all(number in YEARS for number in numbers) else "whole"


def _text_kind(texts: Sequence[str]) -> str:
    """category for texts that several rows share."""
    return "category" if 2 * len(set(texts)) <= len(texts) else "text"


def _dates(texts: Sequence[str]) -> bool:
    try:
        return all(_DATE.match(text) and _seconds(text) is not None for text in texts)
    except ValueError:
        return False


def _seconds(text: str) -> int:
    """Seconds from the calendar's beginning to an ISO date, to put dates in order by; ValueError if it is none."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is not None:
        raise ValueError("places in different zones have different dates at once")
    clock = moment.hour * 3600 + moment.minute * 60 + moment.second
    return moment.toordinal() * 86_400 + clock


def _tolerance(values: Values) -> float:
    numbers = [float(text) for cell in values for text in cell]
    whole = all(number == int(number) and abs(number) <= LARGE for number in numbers)
    return 0.0 if whole else REL_TOL


def _is_text(kind: pl.DataType) -> bool:
    return kind in (pl.String, pl.Categorical, pl.Enum)


_NUMBERS = ("number", "whole", "year")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?:[ T]|$)")
_NESTED = (pl.Struct, pl.Object, pl.Binary)
_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?")


def _is_number(text: str) -> bool:
    """Whether it is a plain number; 007 is a code, and so is 1,5, which may be two things."""
    return bool(_NUMBER.fullmatch(text))


def _values(series: pl.Series) -> Values:
    """Row by row the cell's texts: none for an empty one, several for a list."""
    if series.dtype in (pl.List, pl.Array):
        return [tuple(_texts(cell)) for cell in series.to_list()]
    return [tuple(_texts([cell])) for cell in series.to_list()]


def _texts(cells: Sequence[Any] | None) -> list[str]:
    return [text for text in map(_text, cells or ()) if text]


def _text(cell: Any) -> str:
    if cell is None or (isinstance(cell, float) and not isfinite(cell)):
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    if isinstance(cell, datetime) and cell.time() == time():
        return cell.date().isoformat()
    if isinstance(cell, float) and cell == int(cell) and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(str(cell).split())


# ---- entities -----------------------------------------------------------------------------------


def _entity(given: dict[str, Values], name: str, asked: set[str]) -> str:
    """The only column whose cells are different short texts, all there."""
    found = [c for c, values in given.items() if c not in asked and _names(values)]
    if len(found) == 1:
        return found[0]
    what = (
        "several columns could name"
        if found
        else "no text column without empty and equal cells names"
    )
    raise ConfigError(
        f"{name}: {what} what the questions are about",
        got=found or None,
        allowed=found or list(given),
        next=f"say which: author.entity={(found or list(given))[0]!r}",
    )


def _names(values: Values) -> bool:
    texts = [cell[0] for cell in values if len(cell) == 1 and len(cell[0]) <= LONGEST]
    different = {alike(text) for text in texts}
    plain = all(map(_is_number, texts)) or _dates(texts)
    return len(different) == len(values) and not plain and len(values) > 1


def _rows(
    given: dict[str, Values], entity: str, columns: Sequence[_Column]
) -> list[dict[str, tuple[str, ...]]]:
    """A row an entity, each column with the value to ask for and, as `X_also`, what must not be called wrong.

    Where an entity's rows differ, there is none to ask for.
    """
    made: dict[str, dict[str, tuple[str, ...]]] = {}
    for number, title in enumerate(given[entity], start=1):
        if len(title) != 1:
            raise DataError(f"row {number} has no single {entity!r}, which names it", got=title)
        made.setdefault(alike(title[0]), {"name": title, "fame": ("1",)})
    for column in columns:
        spellings = _spellings(given[column.name], one=column.holds == "by")
        held: dict[str, list[tuple[str, ...]]] = {}
        for title, cell in zip(given[entity], given[column.name], strict=True):
            spelled = tuple(t if t in spellings[alike(t)] else spellings[alike(t)][0] for t in cell)
            held.setdefault(alike(title[0]), []).extend([spelled] if spelled else [])
        for same, row in made.items():
            cells = list(dict.fromkeys(held[same]))
            row[column.key] = cells[0] if len(cells) == 1 and len(cells[0]) == 1 else ()
            every = dict.fromkeys(v for cell in cells for t in cell for v in spellings[alike(t)])
            row[f"{column.key}_also"] = tuple(text for text in every if text not in row[column.key])
    return list(made.values())


def _spellings(values: Values, *, one: bool) -> dict[str, list[str]]:
    """A text without its case and spaces -> how it is written in the column.

    The first spelling stands for all where values repeat, or with `one`. Where all are different as
    written they may be codes, such as P and p: each is kept, and none is called wrong for the other.
    """
    texts = [text for cell in values for text in cell]
    found: dict[str, list[str]] = {}
    for text in dict.fromkeys(texts):
        found.setdefault(alike(text), []).append(text)
    if one or len(set(texts)) < len(texts):
        return {same: several[:1] for same, several in found.items()}
    return found


def _known(frame: pl.DataFrame, columns: Sequence[str], what: str) -> None:
    for column in columns:
        if column not in frame.columns:
            raise ConfigError(
                f"{what} names a column that the table does not have",
                got=column,
                allowed=list(frame.columns),
            )
