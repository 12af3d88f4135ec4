"""Rows of a training by reward: what is asked, and the question that its replies are scored by."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.author.write import drawn
from benchgen.benchmark.prompts import render
from benchgen.errors import DataError
from benchgen.types import Evaluation, Message, Question, Record


@dataclass(frozen=True)
class PromptRow(Record):
    """One prompt. `question` is the whole question as a dict, so that a job's folder holds all it needs."""

    key: str
    messages: tuple[Message, ...]
    question: dict[str, Any]


def prompt_rows(
    questions: Sequence[Question], evaluation: Evaluation, held_out: Collection[str]
) -> list[PromptRow]:
    """A row for each question that is not held out, with the messages that evaluation asks it with.

    DataError where options are chosen by likelihood, since then the model writes nothing to reward, or
    where nothing is left.
    """
    if evaluation.method == "likelihood" and any(q.kind == "mcq" for q in questions):
        raise DataError(
            "this benchmark scores the likelihood of options: the model writes no reply to reward",
            got="evaluation.method=likelihood",
            next="a benchmark made with benchmark.evaluation.method=generate",
        )
    rows = [
        PromptRow(q.key, render(q, evaluation), q.to_dict())
        for q in questions
        if q.key not in held_out
    ]
    if not rows:
        raise DataError(
            "every question is held out: none is left to train on", got=f"{len(questions)} held out"
        )
    return rows


def held_out(questions: Sequence[Question], share: float, seed: int) -> frozenset[str]:
    """Keys that are not trained on: those marked so, and a `share` of the others drawn by key and seed.

    By key, so that the same questions are left out whatever their order, and in an edited version too.
    """
    marked = {q.key for q in questions if q.held_out}
    return drawn((q.key for q in questions if q.key not in marked), share, seed) | marked
