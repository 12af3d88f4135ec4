"""A run's traces as Parquet, for everything that reads tables: written and read part by part."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow.parquet as pq

from benchgen.types import Trace

PART = 1_000
"""Rows in memory at once, and in a row group, so that a reader of one page unpacks no more."""

COLUMNS: dict[str, Any] = {
    "key": pl.String,
    "repeat": pl.Int32,
    "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
    "reply": pl.String,
    "extracted": pl.String,
    "status": pl.String,
    "reason": pl.String,
    "correct": pl.Boolean,
    "value": pl.Float64,
    "strict": pl.Boolean,
    "finish_reason": pl.String,
    "tokens_in": pl.Int64,
    "tokens_out": pl.Int64,
    "seconds": pl.Float64,
    "likelihood": pl.Struct(
        {
            "text": pl.List(pl.String),
            "logprob": pl.List(pl.Float64),
            "tokens": pl.List(pl.Int32),
            "characters": pl.List(pl.Int32),
            "bytes": pl.List(pl.Int32),
            "greedy": pl.List(pl.Boolean),
        }
    ),
    "version": pl.Int32,
}
SCHEMA = pl.Schema(COLUMNS)


def write_parquet(traces: Iterable[Trace], path: Path) -> None:
    """One row a trace, in the order given; whole or not at all."""
    part = path.with_suffix(".part")
    empty = pl.DataFrame(schema=SCHEMA).to_arrow()
    with pq.ParquetWriter(part, empty.schema, compression="zstd") as writer:
        left = iter(traces)
        while rows := list(islice(left, PART)):
            table = pl.DataFrame([t.to_dict() for t in rows], schema=SCHEMA, strict=False)
            writer.write_table(table.to_arrow().cast(empty.schema))
    part.replace(path)
