"""A person's own questions as a draft: from a file that was read, or from rows that are at hand."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import polars as pl

from benchgen.author.file import (
    FileSpec,
    QuestionFile,
    TrainingFile,
    read_rows,
    refers_to_positions,
)
from benchgen.author.files import words
from benchgen.author.files.headers import plain_name
from benchgen.author.files.source import Row, Source, Table
from benchgen.author.frame import pack_from_frame
from benchgen.author.table import write_benchmark
from benchgen.author.write import Draft, check_count, check_evaluation, even, fault, report_of
from benchgen.config import BenchmarkConfig, load_author
from benchgen.errors import DataError
from benchgen.types import Evaluation


def draft_of_rows(rows: pl.DataFrame | Sequence[Mapping[str, Any]]) -> Draft:
    """The draft of rows that are at hand: of questions where a column is named so, else on a table of facts.

    `rows`: a polars frame, or a list of one dict a row (of a pandas frame: `frame.to_dict("records")`).
    """
    frame = rows if isinstance(rows, pl.DataFrame) else None
    records = frame.to_dicts() if frame is not None else [dict(row) for row in rows]
    columns = tuple(dict.fromkeys(str(name) for row in records for name in row))
    if not {plain_name(column) for column in columns} & set(words.STRONG["question"]):
        table = frame if frame is not None else pl.DataFrame(records, infer_schema_length=None)
        pack = pack_from_frame(table, "table")
        return write_benchmark(replace(load_author("table"), name=pack.name), pack=pack)
    table_of = Table(columns, [Row(n, row) for n, row in enumerate(records, 1)], typed=True)
    found = read_rows(table_of, FileSpec(Path("rows")), Source("rows"))
    if isinstance(found, TrainingFile):
        raise DataError(
            "these rows are training rows, no questions",
            got=found.format,
            next="write them to a file: ws.plan('lora', dataset=FILE, base_model=…)",
        )
    return draft_of(found, load_author("file"), "rows", "rows")


def draft_of(found: QuestionFile, spec: BenchmarkConfig, shown: str, name: str) -> Draft:
    """The draft of a person's own questions, each of which must prove itself."""
    check_count(len(found.questions))
    evaluation = evaluation_of(spec)
    for number, question in enumerate(found.questions, start=1):
        if reason := fault(question, evaluation):
            raise DataError(
                f"{shown}: question {number} cannot be used: {reason}",
                got=question.prompt[:100],
            )
    questions = even(found.questions, refers_to_positions)
    report = report_of(questions, ())
    decisions = [*found.decisions, *(report["decisions"] if questions != found.questions else ())]
    return Draft(
        name=spec.name or as_name(name),
        questions=questions,
        evaluation=evaluation,
        report={"decisions": decisions, "warnings": list(found.warnings)},
        config=asdict(spec),
    )


def as_name(stem: str) -> str:
    """A name that a benchmark can have, of a file's or a topic."""
    return re.sub(r"[^\w.-]+", "_", stem).strip("_.-")[:80] or "questions"


def evaluation_of(spec: BenchmarkConfig) -> Evaluation:
    """The config's evaluation, checked."""
    evaluation = Evaluation(**asdict(spec.evaluation))
    check_evaluation(evaluation)
    return evaluation
