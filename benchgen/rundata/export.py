"""A run dataset as a file for other tools: Parquet, CSV, JSON lines, or a Hugging Face dataset folder.

Written part by part into a file beside it, and given its name when it is whole: nothing that is there is
overwritten, and nothing half-written stays.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

import polars as pl
import yaml

from benchgen.benchmark.exchange.folder import write_folder
from benchgen.errors import DataError, InputError
from benchgen.rundata.pages import MOST_ROWS, Filters, RunPages
from benchgen.rundata.select import SCHEMA

JOINED = " | "
"""Between the options of a question in a CSV cell."""
DATA = "data/train-00000-of-00001.parquet"


def chunks(pages: RunPages, filters: Filters) -> Iterator[pl.DataFrame]:
    """The rows that fit, columns of `select.SCHEMA`, up to MOST_ROWS at a time; one empty frame if none."""
    offset, more = 0, True
    while more:
        page = pages.page(offset, MOST_ROWS, filters)
        offset, more = offset + MOST_ROWS, page.more
        yield page.rows.select(list(SCHEMA))


def write_dataset(parts: Iterable[pl.DataFrame], form: str, path: Path, name: str = "") -> Path:
    """The new file, or the new folder of form `hf`; InputError for an unknown form.

    `name` heads the folder's card. DataError, and nothing left, where it cannot be written or is there.
    """
    if form not in FORMS:
        raise InputError(f"format={form} is not known", got=form, allowed=list(FORMS))
    if path.exists() and (form != "hf" or path.is_file()):
        raise DataError(f"{path} is there already", got=str(path), allowed="a new file")
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            with part.open("wb") as file:
                rows = _WRITERS["parquet" if form == "hf" else form](parts, file)
            if form == "hf":
                files = {"README.md": _card(name, rows).encode(), DATA: part.read_bytes()}
                return write_folder(path, files)
            os.link(part, path)  # fails where the name is taken, and is whole at once
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise DataError(f"{path} is there already", got=str(path), allowed="a new file") from error
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}", got=str(path)) from error
    return path


def _jsonl(parts: Iterable[pl.DataFrame], file: IO[bytes]) -> int:
    rows = 0
    for part in parts:
        rows += part.height
        part.write_ndjson(file)
    return rows


def _csv(parts: Iterable[pl.DataFrame], file: IO[bytes]) -> int:
    rows = 0
    for place, part in enumerate(parts):
        rows += part.height
        flat = part.with_columns(pl.col("choices").list.join(JOINED))
        flat.write_csv(file, include_header=place == 0)
    return rows


def _parquet(parts: Iterable[pl.DataFrame], file: IO[bytes]) -> int:
    import pyarrow.parquet as pq

    empty = pl.DataFrame(schema=SCHEMA).to_arrow().schema
    rows = 0
    with pq.ParquetWriter(file, empty, compression="zstd") as writer:
        for part in parts:
            rows += part.height
            writer.write_table(part.to_arrow().cast(empty), row_group_size=1_000)
    return rows


_WRITERS: dict[str, Callable[[Iterable[pl.DataFrame], IO[bytes]], int]] = {
    "parquet": _parquet,
    "csv": _csv,
    "jsonl": _jsonl,
}
FORMS = (*_WRITERS, "hf")


def _card(name: str, rows: int) -> str:
    """The header that the hub and `datasets` read, and what the columns are."""
    header = {
        "pretty_name": name or "run dataset",
        "tags": ["benchgen", "run"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": "train", "path": "data/train-*.parquet"}],
            }
        ],
    }
    text = yaml.safe_dump(header, sort_keys=False, allow_unicode=True)
    told = " ".join((name or "run dataset").split())
    return (
        f"---\n{text}---\n\n# {told}\n\n{rows} replies of a model, written by benchgen. `target` is the right "
        "answer, `extracted` what was read from `reply`; `correct` is null where it was not measured.\n"
    )
