"""Ask every question once, score each reply as it comes, and lose nothing when killed.

`traces.jsonl` is the log, the resume point and the source of all views: a line a question, flushed and
synced in small groups. Starting again reads what is there, drops a torn last line and asks the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from benchgen.benchmark.prompts import render
from benchgen.errors import ModelError, StoreError
from benchgen.store import cut_torn_line, make_folder, read_jsonl
from benchgen.types import STATUSES, Evaluation, Model, Question, Reply, Request, Trace, canonical

NOT_ANSWERED = "error"
"""The finish reason of a request that got no reply."""
SYNC_S = 0.5  # at most this much finished work is asked again after a power cut; a kill loses none

Scorer = Callable[..., Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Task:
    """What a run asks: the benchmark's own questions, evaluation and scoring."""

    questions: Sequence[Question]
    evaluation: Evaluation
    scorer: Scorer
    seed: int = 0


def run(task: Task, model: Model, path: Path, progress: Progress | None = None) -> list[Trace]:
    """One trace a question, in the questions' order; those already in `path` are not asked again."""
    wanted = {q.key for q in task.questions}
    if len(wanted) != len(task.questions):
        raise StoreError("two questions of this benchmark have the same key")
    done = {key: trace for key, trace in load_traces(path).items() if key in wanted}
    missing = [q for q in task.questions if q.key not in done]
    if progress:
        progress(len(task.questions) - len(missing), len(task.questions))
    if missing:
        make_folder(path.parent)
        cut_torn_line(path)
        with path.open("a", encoding="utf-8", newline="\n") as file:
            _ask(task, model, missing, _Writer(file, done, len(task.questions), progress))
    return [done[q.key] for q in task.questions]


def load_traces(path: Path) -> dict[str, Trace]:
    """{question key: trace} of a run's log; the first one of a key counts."""
    traces: dict[str, Trace] = {}
    for row in read_jsonl(path):
        if "key" not in row:
            raise StoreError(f"{path.name} holds a line that is no trace")
        traces.setdefault(row["key"], Trace.from_dict(row))
    return traces


def request_for(question: Question, task: Task) -> Request:
    """What a model is asked for this question."""
    evaluation = task.evaluation
    return Request(
        messages=render(question, evaluation),
        max_new_tokens=evaluation.max_new_tokens,
        temperature=evaluation.temperature,
        stop=evaluation.stop,
        seed=task.seed,
        key=question.key,
    )


def trace_of(question: Question, request: Request, reply: Reply, scorer: Scorer) -> Trace:
    """The scored record; an unanswered request or a crashed scorer is unmeasured, never wrong."""
    text = _writable(reply.text)
    finish = reply.finish_reason if reply.error is None else NOT_ANSWERED
    if reply.error is None:
        outcome = scored(question, text, finish, scorer)
    else:
        outcome = _unmeasured(reply.error)
    return Trace(
        key=question.key,
        messages=request.messages,
        reply=text,
        finish_reason=finish,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        seconds=round(reply.seconds, 4),
        **outcome,
    )


def scored(question: Question, reply: str, finish_reason: str, scorer: Scorer) -> dict[str, Any]:
    """The scored fields of a trace; those of an unmeasured one where the scorer crashed."""
    try:
        score = scorer(
            question.kind,
            reply=reply,
            target=question.target,
            choices=list(question.choices) or None,
            finish_reason=finish_reason,
            **question.options,
        )
        return _checked(score)
    except Exception as error:  # noqa: BLE001 - a frozen program may fail in any way it likes
        return _unmeasured(f"scorer: {type(error).__name__}: {error}")


def rescored(trace: Trace, question: Question, scorer: Scorer) -> Trace:
    """The trace with another program's verdict on its stored reply; unanswered ones stay as they are."""
    if trace.finish_reason == NOT_ANSWERED:
        return trace
    return replace(trace, **scored(question, trace.reply, trace.finish_reason, scorer))


@dataclass
class _Writer:
    file: IO[str]
    done: dict[str, Trace]
    total: int
    progress: Progress | None
    synced: float = 0.0

    def add(self, trace: Trace) -> None:
        self.file.write(canonical(trace.to_dict()) + "\n")
        self.file.flush()
        if time.monotonic() - self.synced > SYNC_S:
            os.fsync(self.file.fileno())
            self.synced = time.monotonic()
        self.done[trace.key] = trace
        if self.progress:
            self.progress(len(self.done), self.total)


def _ask(task: Task, model: Model, questions: Sequence[Question], writer: _Writer) -> None:
    requests = [request_for(q, task) for q in questions]
    left = set(range(len(requests)))
    for index, reply in model.generate(requests):
        if index not in left:
            raise ModelError(f"model {model.name} answered request {index} twice or unasked")
        left.remove(index)
        writer.add(trace_of(questions[index], requests[index], reply, task.scorer))
    os.fsync(writer.file.fileno())
    if left:
        raise ModelError(f"model {model.name} left {len(left)} requests without a reply")


def _checked(score: Any) -> dict[str, Any]:
    """The parts of a score; an error where they are not what a trace can hold.

    `strict` stays None for a program of version 1, which knew no strict form.
    """
    found = {
        name: getattr(score, name) for name in ("correct", "value", "extracted", "status", "reason")
    }
    found["strict"] = getattr(score, "strict", None)
    if {found["correct"], found["strict"]} - {True, False, None} or found["status"] not in STATUSES:
        raise ValueError(f"correct={found['correct']!r}, status={found['status']!r}")
    canonical(found).encode()  # no NaN, no object, no lone surrogate
    return found


def _writable(text: str) -> str:
    """The text with `?` for each lone surrogate, which an endpoint's JSON may hold and no file can."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _unmeasured(reason: str) -> dict[str, Any]:
    return {
        "correct": None,
        "value": None,
        "strict": None,
        "extracted": None,
        "status": "error",
        "reason": _writable(" ".join(reason.split())[:300]),
    }
