"""Ask every question once, score each reply as it comes, and lose nothing when killed.

`traces.jsonl` is the log, the resume point and the source of all views: a line a question, flushed and
synced in small groups. Starting again reads what is there, drops a torn last line and asks the rest.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import NoneType
from typing import IO, Any, overload

from benchgen.benchmark import choosing
from benchgen.benchmark.prompts import render
from benchgen.errors import ModelError, StoreError
from benchgen.run.log import NOT_ANSWERED, TraceLog
from benchgen.store import cut_torn_line, make_folder
from benchgen.types import STATUSES, Evaluation, Model, Question, Reply, Request, Trace, canonical

SYNC_S = 0.5  # at most this much finished work is asked again after a power cut; a kill loses none

Scorer = Callable[..., Any]
Progress = Callable[[int, int], None]


@dataclass(frozen=True)
class Sampling:
    """How replies are drawn in this run; None = as the benchmark's evaluation says."""

    temperature: float | None = None
    top_p: float = 1.0
    top_k: int = 0
    max_new_tokens: int | None = None


@dataclass(frozen=True)
class Task:
    """What a run asks: the benchmark's own questions, each `repeats` times, evaluation and scoring."""

    questions: Sequence[Question]
    evaluation: Evaluation
    scorer: Scorer
    seed: int = 0
    repeats: int = 1
    sampling: Sampling = Sampling()


def run(
    task: Task,
    model: Model,
    path: Path,
    progress: Progress | None = None,
    *,
    retry_errors: bool = False,
) -> TraceLog:
    """The log at `path`, with a trace of every question and repeat.

    Those already there are not asked again, but with `retry_errors` those that got no reply.
    """
    keys = [q.key for q in task.questions]
    if len(set(keys)) != len(keys):
        raise StoreError("two questions of this benchmark have the same key")
    log = TraceLog(path, keys)
    done = log.askings - log.unanswered if retry_errors else log.askings
    missing = [
        (question, repeat)
        for question in task.questions
        for repeat in range(task.repeats)
        if (question.key, repeat) not in done
    ]
    total = len(keys) * task.repeats
    if progress:
        progress(total - len(missing), total)
    if not missing:
        return log
    make_folder(path.parent)
    cut_torn_line(path)
    with path.open("a", encoding="utf-8", newline="\n") as file:
        _ask(task, model, missing, _Writer(file, total - len(missing), total, progress))
    return TraceLog(path, keys)


def replies(task: Task, model: Model) -> Iterator[Trace]:
    """A scored trace of each question as it comes, kept nowhere: for a look at a model in training."""
    asked = [(question, repeat) for question in task.questions for repeat in range(task.repeats)]
    requests = _Requests(task, asked)
    for index, reply in model.generate(requests):
        yield trace_of(asked[index][0], requests[index], reply, task)


class _Requests(Sequence[Request]):
    """The requests of a run, made when they are looked at."""

    def __init__(self, task: Task, asked: Sequence[tuple[Question, int]]) -> None:
        self.task, self.asked = task, asked

    def __len__(self) -> int:
        return len(self.asked)

    @overload
    def __getitem__(self, index: int) -> Request: ...
    @overload
    def __getitem__(self, index: slice) -> list[Request]: ...
    def __getitem__(self, index: int | slice) -> Request | list[Request]:
        if isinstance(index, slice):
            return [request_for(q, self.task, repeat) for q, repeat in self.asked[index]]
        question, repeat = self.asked[index]
        return request_for(question, self.task, repeat)


def request_for(question: Question, task: Task, repeat: int = 0) -> Request:
    """What a model is asked for this question."""
    evaluation, sampling = task.evaluation, task.sampling
    scored = question.kind == "mcq" and evaluation.method == "likelihood"
    told, longest = sampling.temperature, sampling.max_new_tokens
    return Request(
        messages=render(question, evaluation),
        max_new_tokens=evaluation.max_new_tokens if longest is None else longest,
        temperature=evaluation.temperature if told is None else told,
        stop=tuple(text for text in evaluation.stop if text),  # an empty one stands everywhere
        top_p=sampling.top_p,
        top_k=sampling.top_k,
        seed=task.seed,
        key=question.key,
        repeat=repeat,
        opening=choosing.OPENING if scored else "",
        choices=choosing.continuations(question, evaluation) if scored else (),
    )


def trace_of(question: Question, request: Request, reply: Reply, task: Task) -> Trace:
    """The scored record; an unanswered request or a crashed scorer is unmeasured, never wrong."""
    text, error, likelihood = _writable(reply.text), reply.error, None
    if error is None and reply.likelihood is not None:
        try:
            likelihood = choosing.measured(question, task.evaluation, reply.likelihood)
            text = choosing.pick(likelihood, choosing.normalisation(task.evaluation))
        except ModelError as fault:
            error = fault.message
    finish = reply.finish_reason if error is None else NOT_ANSWERED
    outcome = scored(question, text, finish, task.scorer) if error is None else _unmeasured(error)
    return Trace(
        key=question.key,
        messages=request.messages,
        reply=text,
        finish_reason=finish,
        tokens_in=reply.tokens_in,
        tokens_out=reply.tokens_out,
        seconds=round(reply.seconds, 4),
        repeat=request.repeat,
        likelihood=likelihood,
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
    done: int
    total: int
    progress: Progress | None
    synced: float = 0.0

    def add(self, trace: Trace) -> None:
        self.file.write(canonical(trace.to_dict()) + "\n")
        self.file.flush()
        if time.monotonic() - self.synced > SYNC_S:
            os.fsync(self.file.fileno())
            self.synced = time.monotonic()
        self.done += 1
        if self.progress:
            self.progress(self.done, self.total)


def _ask(task: Task, model: Model, asked: Sequence[tuple[Question, int]], writer: _Writer) -> None:
    requests = _Requests(task, asked)
    left = set(range(len(requests)))
    for index, reply in model.generate(requests):
        if index not in left:
            raise ModelError(f"model {model.name} answered request {index} twice or unasked")
        left.remove(index)
        writer.add(trace_of(asked[index][0], requests[index], reply, task))
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
    kinds: dict[str, tuple[type, ...]] = {
        "correct": (bool, NoneType),
        "strict": (bool, NoneType),
        "value": (int, float, NoneType),
        "extracted": (str, NoneType),
        "status": (str,),
        "reason": (str,),
    }
    strange = [name for name, kind in kinds.items() if not isinstance(found[name], kind)]
    if strange or found["status"] not in STATUSES or not 0 <= (found["value"] or 0) <= 1:
        raise ValueError(", ".join(f"{name}={found[name]!r}" for name in strange or found))
    canonical(found).encode()  # no lone surrogate
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
