"""Rows of every table format by the file's ending: CSV, TSV, JSON, JSON Lines, Parquet, Excel."""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping

from benchgen.author.files.decode import decoded
from benchgen.author.files.delimited import read_delimited
from benchgen.author.files.jsons import read_json, read_jsonl
from benchgen.author.files.sheets import read_workbook
from benchgen.author.files.source import MAX_ROWS, Row, Source, Table, brief, trimmed

MAX_BYTES = 200_000_000
"""Largest file, and largest content of a packed one."""
MAX_RATIO = 200
"""How many times larger than its archive the content of a zip may be, once it is over 10 MB."""
TEXT = {".csv": "csv", ".tsv": "tsv", ".tab": "tsv", ".json": "json"}
TEXT |= {".jsonl": "jsonl", ".ndjson": "jsonl", ".jsonlines": "jsonl", ".txt": "csv"}
ENDINGS = (*TEXT, ".parquet", ".xlsx")


def read_table(
    raw: bytes, ending: str, source: Source, told: Mapping[str, str], sheet: str | None = None
) -> Table:
    """The rows of a file with these bytes; a DataError that names what cannot be read."""
    if sheet is not None and ending != ".xlsx":
        raise source.wrong("author.sheet names a sheet, and only Excel files have some", got=sheet)
    if ending == ".parquet":
        return _parquet(raw, source)
    if ending == ".xlsx":
        safe_zip(raw, source)
        return read_workbook(raw, source, told, sheet)
    text = decoded(raw, source)
    if not trimmed(text):
        raise source.wrong("it is empty: there is nothing but white space", got=0)
    if TEXT[ending] == "json":
        return read_json(text, source)
    if TEXT[ending] == "jsonl":
        return read_jsonl(text, source)
    return read_delimited(text, source, told, tabs=TEXT[ending] == "tsv")


def safe_zip(raw: bytes, source: Source) -> zipfile.ZipFile:
    """The archive inside a Word or Excel file; an error for what is none, or unpacks to too much."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(raw))
        size = sum(item.file_size for item in archive.infolist())
    except (zipfile.BadZipFile, NotImplementedError, ValueError, OSError) as error:
        old = raw.startswith(b"\xd0\xcf\x11\xe0")
        why = "it is encrypted, or in the format from before 2007" if old else "it is damaged"
        raise source.wrong(
            f"{why}: no Word or Excel file of today's kind",
            next="save it as .xlsx or .docx without a password",
        ) from error
    if size > MAX_BYTES or (size > 10_000_000 and size > MAX_RATIO * len(raw)):
        raise source.wrong(
            f"{len(raw) / 1e6:.1f} MB would unpack to {size / 1e6:.0f} MB: refused as a zip bomb",
            got=size,
            allowed=f"up to {MAX_BYTES // 1_000_000} MB and {MAX_RATIO} times the file's size",
        )
    return archive


def _parquet(raw: bytes, source: Source) -> Table:
    import polars as pl

    try:
        metadata = dict(pl.read_parquet_metadata(io.BytesIO(raw)))
        height = pl.scan_parquet(io.BytesIO(raw)).select(pl.len()).collect().item()
        if height > MAX_ROWS:  # before a single one is unpacked
            raise source.too_long(height)
        records = pl.read_parquet(io.BytesIO(raw)).to_dicts()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        raise source.wrong(
            f"it is no Parquet that can be read, or unpacks to too much: {brief(str(error), 120)}"
        ) from error
    if not records:
        raise source.wrong("it is empty: it has columns and no rows", got=0)
    rows = [Row(number, values) for number, values in enumerate(records, 1)]
    return Table(tuple(records[0]), rows, typed=True, names=_class_names(metadata))


def _class_names(metadata: Mapping[str, str]) -> dict[str, tuple[str, ...]]:
    """{column: names} of the columns that Hugging Face's datasets stores as positions in a list of names."""
    try:
        features = json.loads(metadata.get("huggingface", "{}"))["info"]["features"]
        return {
            column: tuple(map(str, feature["names"]))
            for column, feature in features.items()
            if isinstance(feature, dict) and feature.get("_type") == "ClassLabel"
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        return {}
