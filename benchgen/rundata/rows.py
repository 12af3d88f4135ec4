"""Training rows: from what runs showed, or from a dataset file. A row is prompt messages and one answer."""

from __future__ import annotations

import io
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeGuard

import polars as pl

from benchgen.benchmark import bounded
from benchgen.benchmark.exchange.folder import open_plain
from benchgen.benchmark.prompts import worked_answer
from benchgen.errors import DataError, NotFound
from benchgen.rundata.select import check_mode, chosen
from benchgen.types import Evaluation, Message, Question, Record, Trace, sha256

SHAPES = (
    "prompt + completion, instruction + input + output, or messages (role and content) that end with the "
    "assistant's"
)
ROLES = {
    "system": "system",
    "human": "user",
    "user": "user",
    "gpt": "assistant",
    "assistant": "assistant",
}
"""Who speaks in `conversations` -> the role of a chat."""

MAX_BYTES, SMALL = 256 * 2**20, 2**20
"""Of a file of rows; text of at most SMALL is read without a process of its own."""
LIMITS = bounded.Limits(memory=4 * 2**30, seconds=120, output=2**30)


@dataclass(frozen=True)
class TrainingRow(Record):
    """What is asked, and the answer that is learnt. `key` is the question's, or a hash of the row."""

    key: str
    messages: tuple[Message, ...]
    completion: str


@dataclass(frozen=True)
class RunData:
    """One finished run, as the rows need it."""

    questions: Sequence[Question]
    evaluation: Evaluation
    traces: Sequence[Trace]


@dataclass(frozen=True)
class Chosen:
    """The rows of a training, and how they came about: what its plan says of them."""

    rows: list[TrainingRow]
    replayed: int = 0
    """Rows that repeat what the model answered right."""
    held_out: int = 0
    """Questions of the runs that are marked as held out: no row asks one."""


def rows_from_runs(
    runs: Iterable[RunData],
    mode: str,
    *,
    replay: float = 0.0,
    per_question: int = 4,
    seed: int = 0,
) -> Chosen:
    """distill: the right replies as given; failures: the worked answers of questions answered wrong.

    The prompt is the one that was asked, so training and evaluation cannot differ. Of the right replies
    to a question the `per_question` shortest different ones are taken. With failures come right replies
    to other questions, drawn by `seed`, until they are the share `replay` of all rows, or all there are.
    Questions that their benchmark holds out are left out and counted.
    """
    check_mode(mode)
    if mode == "all":
        raise DataError(
            "mode=all shows every question and cannot be trained on",
            got="all",
            allowed=["failures", "distill"],
        )
    held = list(runs)
    right = _right(held, per_question)
    rows = right if mode == "distill" else _worked(held)
    out = {q.key for run in held for q in run.questions if q.held_out}
    if not rows:
        what = "right answers" if mode == "distill" else "wrong answers"
        where = f" outside their {len(out)} held-out questions" if out else ""
        raise DataError(
            f"these runs hold no {what}{where}, so mode={mode} has nothing to train on",
            got=0,
            next="look at them with benchgen dataset run_id=… mode=all",
        )
    again = _replayed(rows, right, replay, seed) if mode == "failures" else []
    return Chosen([*rows, *again], len(again), len(out))


def _shown(run: RunData, mode: str) -> Iterator[tuple[Question, Trace]]:
    """(question, trace) of what the mode shows and may be learnt from."""
    by_key = {q.key: q for q in run.questions}
    for trace in run.traces:
        question = by_key[trace.key]
        if chosen(trace, mode) and not question.held_out:
            yield question, trace


def _worked(runs: Sequence[RunData]) -> list[TrainingRow]:
    """The worked answer of each question answered wrong, once."""
    rows: dict[tuple[str, str], TrainingRow] = {}
    for run in runs:
        for question, trace in _shown(run, "failures"):
            text = worked_answer(question, run.evaluation).strip()
            rows.setdefault((trace.key, text), TrainingRow(trace.key, trace.messages, text))
    return list(rows.values())


def _right(runs: Sequence[RunData], per_question: int) -> list[TrainingRow]:
    """Right replies in the order of their questions, of each the shortest different ones.

    Replies that differ in spaces alone are one. An option picked by its likelihood is no reply.
    """
    found: dict[str, dict[str, TrainingRow]] = {}
    for run in runs:
        for _, trace in _shown(run, "distill"):
            if not trace.likelihood:
                row = TrainingRow(trace.key, trace.messages, trace.reply.strip())
                found.setdefault(trace.key, {}).setdefault(" ".join(row.completion.split()), row)
    return [
        row
        for replies in found.values()
        for row in sorted(replies.values(), key=lambda row: len(row.completion))[:per_question]
    ]


def _replayed(
    rows: Sequence[TrainingRow], right: Sequence[TrainingRow], share: float, seed: int
) -> list[TrainingRow]:
    """Right replies, one a question, to questions that no row asks already."""
    asked = {row.key for row in rows}
    first = {row.key: row for row in reversed(right) if row.key not in asked}
    wanted = round(len(rows) * share / (1 - share))
    keys = sorted(first)
    random.Random(seed).shuffle(keys)
    return [first[key] for key in sorted(keys[:wanted])]


def rows_from_file(path: Path) -> list[TrainingRow]:
    """Rows of a JSONL, JSON, CSV or Parquet file; DataError names the row that cannot be used."""
    if not path.exists():
        raise NotFound(f"there is no file {path}", got=str(path), next="dataset=FILE")
    if path.suffix.lower() not in FORMATS:
        raise DataError(f"{path} is not a dataset file", got=path.suffix, allowed=sorted(FORMATS))
    rows = [_row(record, number, path) for number, record in _records(path)]
    if not rows:
        raise DataError(f"{path} holds no rows", got=0, allowed="at least 1 row of " + SHAPES)
    return rows


def _records(path: Path) -> Iterator[tuple[int, Any]]:
    """(number, record) of each row; what is packed, or not small, is read in a process with limits."""
    told = {"path": str(path), "ending": path.suffix.lower()}
    with open_plain(path, MAX_BYTES, str(path)) as file:
        if told["ending"] != ".parquet" and os.fstat(file.fileno()).st_size <= SMALL:
            lines = in_child(told, file.read(MAX_BYTES))
        else:
            work = f"{__name__}:{in_child.__name__}"
            lines = bounded.call(work, told, file, str(path), LIMITS)
    for line in lines.splitlines():
        number, record = json.loads(line)
        yield number, record


def in_child(told: Mapping[str, Any], raw: bytes) -> bytes:
    """The rows of a file with these bytes as JSON lines of [number, record]."""
    try:
        records = FORMATS[told["ending"]](raw)
        return b"".join(json.dumps(row, default=str).encode() + b"\n" for row in records)
    except (
        *(pl.exceptions.PolarsError, pl.exceptions.PanicException),
        *(OSError, ValueError, RecursionError),
    ) as error:
        raise DataError(
            f"{told['path']} cannot be read as {told['ending']}: {error}",
            got=told["path"],
            allowed="rows of " + SHAPES,
        ) from error


def _jsonl(raw: bytes) -> Iterator[tuple[int, Any]]:
    """(line number, value): a row may have other fields than the one before it, unlike in a table."""
    for number, line in enumerate(raw.decode("utf-8-sig").split("\n"), 1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise ValueError(f"line {number}: {error}") from error


def _json(raw: bytes) -> Iterator[tuple[int, Any]]:
    value = json.loads(raw.decode("utf-8-sig"))
    if not isinstance(value, list):
        raise ValueError("it is not a list of rows")
    yield from enumerate(value, 1)


def _csv(raw: bytes) -> Iterator[tuple[int, Any]]:
    """Every cell as text: an answer such as 007 stays what it is."""
    yield from enumerate(pl.read_csv(io.BytesIO(raw), infer_schema=False).to_dicts(), 1)


def _parquet(raw: bytes) -> Iterator[tuple[int, Any]]:
    yield from enumerate(pl.read_parquet(io.BytesIO(raw)).to_dicts(), 1)


FORMATS = {".jsonl": _jsonl, ".json": _json, ".csv": _csv, ".parquet": _parquet}


def _row(record: Any, number: int, path: Path) -> TrainingRow:
    messages: tuple[Message, ...] = ()
    completion = None
    chat = _chat_of(record) if isinstance(record, dict) else None
    if chat is not None:
        messages, completion = _split(chat)
    elif isinstance(record, dict):
        prompt, completion = _plain_pair(record)
        messages = ({"role": "user", "content": prompt},) if _filled(prompt) else ()
    if not messages or not _filled(completion):
        raise DataError(
            f"row {number} of {path} cannot be trained on",
            got=sorted(str(k) for k, v in record.items() if v not in (None, ""))
            if isinstance(record, dict)
            else record,
            allowed=SHAPES,
        )
    key = sha256([list(messages), completion])[:16]
    return TrainingRow(key, messages, completion.strip())


def _plain_pair(record: Mapping[str, Any]) -> tuple[Any, Any]:
    """(prompt, answer) of prompt + completion, or of instruction + input + output."""
    if record.get("instruction") is None:
        return record.get("prompt"), record.get("completion")
    more = record.get("input")
    parts = [record["instruction"], *([more] if more else [])]
    return ("\n\n".join(parts) if all(map(_filled, parts)) else None), record.get("output")


def _chat_of(record: Mapping[str, Any]) -> Any:
    """The messages of a row: as they are, a prompt and a completion of messages, or those of `conversations`."""
    told = record.get("messages")
    both = record.get("prompt"), record.get("completion")
    if told is None and all(isinstance(part, list) for part in both):
        return [*record["prompt"], *record["completion"]]
    if told is not None or not isinstance(record.get("conversations"), list):
        return told
    turns = [turn if isinstance(turn, dict) else {} for turn in record["conversations"]]
    return [{"role": ROLES.get(str(t.get("from"))), "content": t.get("value")} for t in turns]


def _filled(text: Any) -> TypeGuard[str]:
    """Whether it is a text with something in it that a file can hold (no half of a character)."""
    if not isinstance(text, str) or not text.strip():
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _split(messages: Any) -> tuple[tuple[Message, ...], str | None]:
    """(prompt messages, last assistant message); () where the list is not a chat."""
    if isinstance(messages, str):
        try:
            messages = json.loads(messages)
        except (ValueError, RecursionError):
            return (), None
    fits = isinstance(messages, list) and all(
        isinstance(m, dict)
        and m.get("role") in ("system", "user", "assistant")
        and _filled(m.get("content"))
        for m in messages
    )
    if not fits or len(messages) < 2 or messages[-1]["role"] != "assistant":
        return (), None
    chat = tuple({"role": m["role"], "content": m["content"]} for m in messages)
    return chat[:-1], chat[-1]["content"]
