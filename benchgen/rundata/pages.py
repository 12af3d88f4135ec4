"""Pages of a finished run's Parquet file, of any length, without reading the whole of it.

Without a filter a page is a slice, so one or two row groups are unpacked. With one, the columns that it
is about are scanned for the places of the rows that fit, once a filter; then only the row groups of the
page itself are unpacked. A text is looked for window by window, and only as far as the page needs.
"""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from benchgen.errors import InputError, NotFound
from benchgen.rundata.select import SCHEMA, check_mode, shown
from benchgen.types import STATUSES, Question, Record

ROWS = 25
MOST_ROWS = 10_000
"""Of one page: more is what an export is for."""
WINDOW = 20_000  # rows that are looked through for a text at once
KEPT = 8  # filters whose places are kept: 4 bytes for each row that fits

TRACE_COLUMNS = (
    *("key", "repeat", "extracted", "correct", "value", "strict", "status", "reason", "reply"),
    *("tokens_in", "tokens_out", "seconds"),
)
OUTCOMES = {"right": True, "wrong": False, "unmeasured": None}


@dataclass(frozen=True)
class Filters(Record):
    """Which rows are wanted; what is None or empty lets all pass."""

    mode: str = "all"
    """all | failures (scored and wrong) | distill (scored and right)"""
    outcome: str | None = None
    """right | wrong | unmeasured"""
    status: str | None = None
    category: str | None = None
    difficulty: str | None = None
    language: str | None = None
    repeat: int | None = None
    text: str = ""
    """Stands in the question or in the reply, in any case."""

    def __post_init__(self) -> None:
        check_mode(self.mode)
        for name, known in (("outcome", tuple(OUTCOMES)), ("status", STATUSES)):
            told = getattr(self, name)
            if told is not None and told not in known:
                raise InputError(f"{name}={told} is not known", got=told, allowed=list(known))

    @property
    def is_open(self) -> bool:
        return self == Filters()


@dataclass(frozen=True)
class Page:
    """One page: its rows in the run's order, and how many there are in all."""

    rows: pl.DataFrame
    offset: int
    total: int | None
    """Rows that fit the filters; None while a text has not been looked for to the end."""
    more: bool
    """Whether rows follow this page, as far as was looked."""
    looked: int
    """Rows of the run that were looked through for it: all, but where a text was looked for in part."""


@dataclass
class _Found:
    """Places of the rows that fit so far, and the windows still to be looked through."""

    left: Iterator[tuple[int, pl.Series]]
    total: int
    looked: int = 0
    places: pl.Series = field(default_factory=lambda: pl.Series(dtype=pl.UInt32))

    @property
    def done(self) -> bool:
        return self.looked >= self.total

    def at_least(self, count: int, patience_s: float) -> None:
        """Look on until so many are found, the end is reached, or patience has run out."""
        until = time.monotonic() + patience_s
        while not self.done and len(self.places) < count:
            self.looked, part = next(self.left)
            self.places = pl.concat([self.places, part])
            if time.monotonic() >= until:
                break


class RunPages:
    """A finished run's traces as pages, with what its questions say beside them."""

    def __init__(self, path: Path, questions: Sequence[Question]) -> None:
        if not path.exists():
            raise NotFound(
                f"there is no {path.name} of this run",
                got=str(path),
                next="benchgen resume run_id=…",
            )
        self._scan = pl.scan_parquet(path)
        self._names = [name for name in TRACE_COLUMNS if name in self._scan.collect_schema()]
        self._questions = {question.key: question for question in questions}
        self._total: int = self._scan.select(pl.len()).collect().item()
        self._found: OrderedDict[Filters, _Found] = OrderedDict()

    def __len__(self) -> int:
        return self._total

    def page(
        self,
        offset: int = 0,
        rows: int = ROWS,
        filters: Filters | None = None,
        patience_s: float = math.inf,
    ) -> Page:
        """Rows `offset` to `offset + rows` of those that fit; none where there are not so many.

        A rare text is looked for in all replies; after `patience_s` what was found until then is the
        page, and asking for it again looks on from there.
        """
        if offset < 0 or not 0 < rows <= MOST_ROWS:
            raise InputError(
                f"a page of rows={rows} from offset={offset} cannot be shown",
                got=(offset, rows),
                allowed=f"offset 0 or more, rows 1 to {MOST_ROWS}",
                next="benchgen dataset run_id=… path=FILE writes them all",
            )
        wanted = filters or Filters()
        if wanted.is_open:
            traces = self._scan.select(self._names).slice(offset, rows).collect()
            more = offset + rows < self._total
            return Page(self._joined(traces), offset, self._total, more, self._total)
        found = self._places(wanted)
        found.at_least(offset + rows + 1, patience_s)
        places = found.places.slice(offset, rows)
        more = len(found.places) > offset + rows
        total = len(found.places) if found.done else None
        return Page(self._joined(self._at(places)), offset, total, more, found.looked)

    def _at(self, places: pl.Series) -> pl.DataFrame:
        """The traces at these places: a slice for each stretch of them, joined in order.

        One after the other: measured on 25 rows far apart in 1,000,000, `pl.collect_all` on the slices
        took 30 times as long.
        """
        scan = self._scan.select(self._names)
        found = [scan.head(0).collect()]
        for stretch in _stretches(places.to_list()):
            first, last = stretch[0], stretch[-1]
            part = scan.slice(first, last - first + 1).collect()
            found.append(part[[place - first for place in stretch]])
        return pl.concat(found)

    def _places(self, filters: Filters) -> _Found:
        found = self._found.get(filters)
        if found is None:
            found = _Found(self._matches(filters), self._total)
            self._found[filters] = found
            if len(self._found) > KEPT:
                self._found.popitem(last=False)
        self._found.move_to_end(filters)
        return found

    def _matches(self, filters: Filters) -> Iterator[tuple[int, pl.Series]]:
        """(rows looked through so far, places in the newest window that fit); one window but for a text."""
        fits = self._fits(filters)
        size = WINDOW if filters.text else max(1, self._total)
        for start in range(0, self._total, size):
            window = self._scan.slice(start, size).with_row_index("place", offset=start)
            found = window.filter(fits).select(pl.col("place").cast(pl.UInt32)).collect()["place"]
            yield min(start + size, self._total), found

    def _fits(self, filters: Filters) -> pl.Expr:
        told: list[pl.Expr] = []
        if filters.mode != "all":
            told.append(pl.col("correct") == (filters.mode == "distill"))
        if filters.outcome is not None:
            told.append(pl.col("correct").eq_missing(OUTCOMES[filters.outcome]))
        if filters.status is not None:
            told.append(pl.col("status") == filters.status)
        if filters.repeat is not None:
            told.append(pl.col("repeat") == filters.repeat)
        for name in ("category", "difficulty", "language"):
            value = getattr(filters, name)
            if value is not None:
                told.append(self._asks(lambda q, n=name, v=value: getattr(q, n) == v))
        if filters.text:
            told.append(self._holds(filters.text))
        return pl.all_horizontal(*told) if told else pl.lit(True)

    def _asks(self, wanted: Any) -> pl.Expr:
        return pl.col("key").is_in([k for k, q in self._questions.items() if wanted(q)])

    def _holds(self, text: str) -> pl.Expr:
        low = text.lower()
        in_reply = pl.col("reply").str.contains("(?i)" + pl.escape_regex(text))
        return in_reply | self._asks(lambda q: low in q.prompt.lower())

    def _joined(self, traces: pl.DataFrame) -> pl.DataFrame:
        """The columns of `select.SCHEMA`, then what else the traces have."""
        asked = [self._questions[key] for key in traces["key"]]
        pairs = zip(asked, traces["extracted"], strict=True)
        more: dict[str, list[Any]] = {
            "prompt": [q.prompt for q in asked],
            "choices": [list(q.choices) for q in asked],
            "target": [q.target_text for q in asked],
            "category": [q.category for q in asked],
            "difficulty": [q.difficulty for q in asked],
            "language": [q.language for q in asked],
            "held_out": [q.held_out for q in asked],
            "extracted": [shown(q, extracted) for q, extracted in pairs],
        }
        columns = [
            pl.Series(name, cells, SCHEMA.get(name, pl.String)) for name, cells in more.items()
        ]
        table = traces.with_columns(columns)
        return table.select([*SCHEMA, *(name for name in table.columns if name not in SCHEMA)])


def _stretches(places: Sequence[int], gap: int = 1_000, span: int = 20_000) -> Iterator[list[int]]:
    """The places in runs of neighbours less than a row group apart, no run over `span` rows."""
    run: list[int] = []
    for place in places:
        if run and (place - run[-1] >= gap or place - run[0] >= span):
            yield run
            run = []
        run.append(place)
    if run:
        yield run
