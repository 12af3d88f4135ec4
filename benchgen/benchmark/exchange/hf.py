"""A benchmark as a Hugging Face dataset folder.

    README.md                              card with the YAML header that the hub and `datasets` read
    data/test-00000-of-00001.parquet       a question a row; targets and options as JSON text
    evaluation.json, scoring_program.zip   how it is asked and scored

`datasets.load_dataset(FOLDER)` reads it. The scoring program is only carried, so any may go out.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from benchgen.benchmark import bounded
from benchgen.benchmark.bundle import Bundle, checked_questions, unpacked
from benchgen.benchmark.exchange.content import about_files, read_about
from benchgen.benchmark.exchange.folder import MAX_FILE, read_inside, write_folder
from benchgen.benchmark.prompts import render
from benchgen.errors import DataError
from benchgen.types import Evaluation, Question, canonical

FORM = "Hugging Face dataset"
DATA, PROGRAM, CARD = "data/test-00000-of-00001.parquet", "scoring_program.zip", "README.md"
SIZES = ((1_000, "n<1K"), (10_000, "1K<n<10K"), (100_000, "10K<n<100K"))
MAX_ROWS = 10_000

_TEXTS = ("kind", "prompt", "category", "difficulty", "language", "rationale", "source", "template")
_JSON = ("target", "options")
_FIELDS = ("key", *_TEXTS, "choices", *_JSON, "held_out")
_SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "kind": pl.String,
    "prompt": pl.String,
    "choices": pl.List(pl.String),
    "target": pl.String,
    "target_text": pl.String,
    "category": pl.String,
    "difficulty": pl.String,
    "language": pl.String,
    "rationale": pl.String,
    "source": pl.String,
    "template": pl.String,
    "options": pl.String,
    "held_out": pl.Boolean,
    "messages": pl.List(pl.Struct({"role": pl.String, "content": pl.String})),
}

# A parquet file of a few kilobytes can unpack to any size, and only its reader sees how far.
LIMITS = bounded.Limits(output=MAX_FILE)


_ABOUT = f"""written by benchgen.

`messages` is what a model is asked; `target` and `options` are JSON texts; `key` is the question's identity;
`held_out` marks questions that no training is to learn from.
`evaluation.json` says how a reply is generated. `{PROGRAM}` is the scoring program that was frozen with the
questions; unpacked into a folder `program`, it scores a reply to a row so:

```python
import json
from program.score import score

score(row["kind"], reply=reply, target=json.loads(row["target"]), choices=row["choices"] or None,
      **json.loads(row["options"]))
```
"""


def write_hf(bench: Bundle, folder: Path) -> Path:
    """The folder written, with the same bytes for the same benchmark; DataError if it is not empty."""
    rows = [_row(question, bench.evaluation) for question in bench.questions]
    parquet = io.BytesIO()
    pl.DataFrame(rows, schema=_SCHEMA).write_parquet(parquet, compression="zstd")
    files = {
        **about_files(bench, FORM),
        CARD: _card(bench, len(parquet.getvalue())).encode(),
        DATA: parquet.getvalue(),
        PROGRAM: bench.program,
    }
    return write_folder(folder, files)


def read_hf(folder: Path) -> Bundle:
    """The benchmark in a folder that `write_hf` wrote; none of its code is run."""
    name, evaluation = read_about(folder, FORM)
    rows = _questions(read_inside(folder, DATA), f"{folder.name}: {DATA}")
    program = read_inside(folder, PROGRAM)
    unpacked(program, PROGRAM)
    return Bundle(name, checked_questions(rows, evaluation, folder.name), evaluation, program)


def _row(question: Question, evaluation: Evaluation) -> dict[str, Any]:
    return {
        **{name: getattr(question, name) for name in _TEXTS},
        **{name: canonical(getattr(question, name)) for name in _JSON},
        "key": question.key,
        "held_out": question.held_out,
        "choices": list(question.choices),
        "target_text": question.target_text,
        "messages": list(render(question, evaluation)),
    }


def _questions(parquet: bytes, name: str) -> Iterator[dict[str, Any]]:
    """The fields of each row's question."""
    for line in _ndjson(parquet, name).split(b"\n"):
        if line.strip():
            try:
                row = json.loads(line)
                yield {**row, **{field: json.loads(row[field]) for field in _JSON}}
            except (ValueError, TypeError, RecursionError) as error:
                raise DataError(f"{name}: a row that cannot be read: {error}") from error


def _ndjson(parquet: bytes, name: str) -> bytes:
    """The rows as JSON lines, read in a process with a limit on memory, time and output."""
    with tempfile.TemporaryFile() as given:
        given.write(parquet)
        given.seek(0)
        return bounded.call(f"{__name__}:{rows_of.__name__}", {}, given, name, LIMITS)


def rows_of(told: Mapping[str, Any], parquet: bytes) -> bytes:
    """The rows of a parquet file's questions as JSON lines: the work of a process with limits."""
    try:
        rows = pl.scan_parquet(io.BytesIO(parquet)).select(pl.len()).collect().item()
        if rows > MAX_ROWS:  # before a single one is unpacked
            raise DataError(f"it has {rows} rows", got=rows, allowed=f"up to {MAX_ROWS}")
        return pl.read_parquet(io.BytesIO(parquet), columns=list(_FIELDS)).write_ndjson().encode()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as error:
        raise DataError(
            f"it does not hold a benchmark's questions, or unpacks to too much: {error}"[:300],
            allowed=f"columns {', '.join(_FIELDS)}; up to {MAX_FILE} bytes",
        ) from error


def _card(bench: Bundle, num_bytes: int) -> str:
    """README.md: YAML header, what the columns hold, how to score with the program beside it."""
    count = len(bench.questions)
    split = {"name": "test", "num_bytes": num_bytes, "num_examples": count}
    header = {
        "pretty_name": bench.name,
        "language": sorted({q.language for q in bench.questions if q.language}),
        "size_categories": [next((text for n, text in SIZES if count < n), "n>100K")],
        "task_categories": ["question-answering"],
        "tags": ["benchgen", "benchmark"],
        "configs": [
            {
                "config_name": "default",
                "data_files": [{"split": "test", "path": "data/test-*.parquet"}],
            }
        ],
        "dataset_info": {
            "features": [_feature(name, kind) for name, kind in _SCHEMA.items()],
            "splits": [split],
            "download_size": num_bytes,
            "dataset_size": num_bytes,
        },
    }
    kinds = ", ".join(sorted({q.kind for q in bench.questions}))
    text = yaml.safe_dump(header, sort_keys=False, allow_unicode=True)
    return f"---\n{text}---\n\n# {bench.name}\n\n{count} questions ({kinds}), {_ABOUT}"


def _feature(name: str, kind: Any) -> dict[str, Any]:
    if name == "messages":
        parts = [{"name": part, "dtype": "string"} for part in ("role", "content")]
        return {"name": name, "list": parts}
    if isinstance(kind, pl.List):
        return {"name": name, "list": "string"}
    return {"name": name, "dtype": "bool" if kind == pl.Boolean else "string"}
