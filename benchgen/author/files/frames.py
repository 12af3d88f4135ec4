"""A person's own table of facts as a frame with types: CSV, TSV, Parquet or Excel's first sheet."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from benchgen.author.files.source import Source
from benchgen.author.files.tables import MAX_BYTES, safe_zip
from benchgen.benchmark import bounded
from benchgen.benchmark.exchange.folder import open_plain
from benchgen.errors import DataError

READERS = (".csv", ".tsv", ".parquet", ".xlsx")
DELIMITERS = (",", ";", "\t", "|")
MAX_ROWS = 100_000
"""Rows of a table of facts: far more than the 2,000 questions that are made of it need."""
SMALL = 2 * 2**20
"""Bytes of text that are read here; more, and what is packed, in a process with limits."""


def read_frame(path: Path) -> pl.DataFrame:
    """The table in the file; DataError if it cannot be read or is too long.

    CSV: UTF-8 or UTF-16 with a byte order mark; the delimiter is that of `DELIMITERS` which the header
    has most often. An empty cell is null, and only that: NA is a code of Namibia.
    """
    ending = path.suffix.casefold()
    if ending not in READERS:
        raise DataError(
            f"{path} is no kind of table that can be read", got=path.suffix, allowed=list(READERS)
        )
    if not path.exists():
        raise DataError(f"{path} is not a file", next="give the path of a table")
    with open_plain(path, MAX_BYTES, str(path)) as file:
        if ending in (".csv", ".tsv") and os.fstat(file.fileno()).st_size <= SMALL:
            return frame_of(file.read(MAX_BYTES), ending, path)
        told = {"path": str(path), "ending": ending}
        data = bounded.call(f"{__name__}:{in_child.__name__}", told, file, str(path))
    return pl.read_ipc(io.BytesIO(data))


def in_child(told: Mapping[str, Any], raw: bytes) -> bytes:
    """The frame of these bytes in Arrow's own form, which needs no unpacking."""
    frame = frame_of(raw, told["ending"], Path(told["path"]))
    data = io.BytesIO()
    frame.write_ipc(data, compression="uncompressed")
    return data.getvalue()


def frame_of(raw: bytes, ending: str, path: Path) -> pl.DataFrame:
    """The frame of a file with these bytes."""
    try:
        frame = _read(raw, ending, path)
    except (
        *(pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, UnicodeError),
        *(ValueError, KeyError, TypeError, AttributeError, SyntaxError),
    ) as error:
        reason = str(error).strip().partition("\n")[0] or type(error).__name__
        raise DataError(
            f"{path} cannot be read: {reason}", next="mend it, or save it anew"
        ) from None
    return within(frame, str(path))


def within(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    """The frame; DataError for one with more rows than are asked about."""
    if frame.height > MAX_ROWS:
        raise _too_long(name, frame.height)
    return frame


def _too_long(name: str, rows: int) -> DataError:
    return DataError(
        f"{name} has {rows} rows, too many for a table of facts",
        got=rows,
        allowed=f"up to {MAX_ROWS}",
        next="leave the rows out that nobody would ask about",
    )


def _read(raw: bytes, ending: str, path: Path) -> pl.DataFrame:
    if ending == ".parquet":
        rows = pl.scan_parquet(io.BytesIO(raw)).select(pl.len()).collect().item()
        if rows > MAX_ROWS:  # before a single one is unpacked
            raise _too_long(str(path), rows)
        return pl.read_parquet(io.BytesIO(raw))
    if ending == ".xlsx":
        safe_zip(raw, Source(str(path)))
        return pl.read_excel(io.BytesIO(raw), engine="openpyxl", infer_schema_length=None)
    text = raw.decode("utf-16" if raw[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig")
    if not text.strip():
        raise ValueError("it is empty")
    header = re.sub(r'"[^"]*"', "", text.partition("\n")[0])
    delimiter = "\t" if ending == ".tsv" else max(DELIMITERS, key=header.count)
    return pl.read_csv(text.encode(), separator=delimiter, infer_schema_length=None)
