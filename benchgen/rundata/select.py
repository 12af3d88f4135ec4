"""A finished run as a table: mode `failures`, `all` or `distill`, one row a reply."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from benchgen.errors import InputError
from benchgen.types import LETTERS, MODES, Question, Trace

SCHEMA: dict[str, Any] = {
    "key": pl.String,
    "category": pl.String,
    "difficulty": pl.String,
    "prompt": pl.String,
    "choices": pl.List(pl.String),
    "target": pl.String,
    "extracted": pl.String,
    "correct": pl.Boolean,
    "status": pl.String,
    "reason": pl.String,
    "reply": pl.String,
    "language": pl.String,
    "repeat": pl.Int32,
    "value": pl.Float64,
    "strict": pl.Boolean,
    "held_out": pl.Boolean,
}


def check_mode(mode: str) -> str:
    """The mode itself; InputError with the three names for any other."""
    if mode not in MODES:
        raise InputError(f"mode={mode} is not known", got=mode, allowed=MODES, next="mode=failures")
    return mode


def chosen(trace: Trace, mode: str) -> bool:
    """Whether a mode shows this trace: failures = scored and wrong, distill = scored and right."""
    return mode == "all" or trace.correct is (mode == "distill")


def shown(question: Question, extracted: str | None) -> str | None:
    """What was read from the reply, in the form of `target`: an option's text instead of its letter."""
    if question.kind == "mcq" and extracted and extracted in LETTERS[: len(question.choices)]:
        return question.choices[LETTERS.index(extracted)]
    return extracted


def frame(
    questions: Sequence[Question], traces: Sequence[Trace], mode: str = "failures"
) -> pl.DataFrame:
    """Rows of the mode in question order; columns of SCHEMA, `reply` in full, `correct` null = unmeasured."""
    check_mode(mode)
    by_key = {q.key: q for q in questions}
    rows = []
    for trace in traces:
        if not chosen(trace, mode):
            continue
        question = by_key[trace.key]
        rows.append(
            {
                "key": trace.key,
                "category": question.category,
                "difficulty": question.difficulty,
                "prompt": question.prompt,
                "choices": list(question.choices),
                "target": question.target_text,
                "extracted": shown(question, trace.extracted),
                "correct": trace.correct,
                "status": trace.status,
                "reason": trace.reason,
                "reply": trace.reply,
                "language": question.language,
                "repeat": trace.repeat,
                "value": trace.value,
                "strict": trace.strict,
                "held_out": question.held_out,
            }
        )
    return pl.DataFrame(rows, schema=SCHEMA)
