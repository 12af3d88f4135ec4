"""Previews: drafts that wait for `Create it`, kept as files, so that exactly what was shown is what is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from benchgen.author.write import Draft, Rejected
from benchgen.compare.markup import Page, Section, to_html
from benchgen.compare.tables import question_table
from benchgen.errors import NotFound, StateError
from benchgen.store import make_folder, read_json, write_atomic, write_json
from benchgen.types import Evaluation, Question
from benchgen.workspace import Workspace

FOLDER = "drafts"


@dataclass(frozen=True)
class Kept:
    """A draft with what became of it."""

    label: str
    draft: Draft
    asked: Mapping[str, Any]
    """What the person asked for, under the arguments' names: a change is asked for on top of it."""
    write: int | None = None
    """The writing that it came from."""
    benchmark: int | None = None
    """The benchmark that was made of it."""


def keep(
    ws: Workspace, draft: Draft, asked: Mapping[str, Any], label: str = "", write: int | None = None
) -> Kept:
    """The draft under a new label, or under this one in place of what it was."""
    label = label or _free(ws)
    told: dict[str, Any] = {
        "name": draft.name,
        "hash": draft.hash,
        "questions": [question.to_dict() for question in draft.questions],
        "evaluation": draft.evaluation.to_dict(),
        "rejected": [
            {"question": r.question.to_dict(), "reason": r.reason} for r in draft.rejected
        ],
        "report": {name: list(lines) for name, lines in draft.report.items()},
        "config": dict(draft.config),
        "asked": dict(asked),
        "write": write,
        "benchmark": None,
    }
    write_json(_file(ws, label), told)
    title = f"Preview of {draft.name}"
    line = "Nothing is created yet: this is what `Create it` would make."
    page = Page(title, [line], (Section("Questions", tables=(question_table(draft.questions),)),))
    write_atomic(page_of(ws, label), to_html(page))
    return Kept(label, draft, asked, write)


def read(ws: Workspace, label: str) -> Kept:
    """The draft of that label; NotFound without one, StateError where its file was changed since it was shown."""
    file = _file(ws, label)
    if not file.is_file():
        raise NotFound("there is no such preview", got=label, next="ask for the benchmark again")
    told = read_json(file)
    draft = Draft(
        name=told["name"],
        questions=tuple(Question.from_dict(q) for q in told["questions"]),
        evaluation=Evaluation.from_dict(told["evaluation"]),
        rejected=tuple(
            Rejected(Question.from_dict(r["question"]), r["reason"]) for r in told["rejected"]
        ),
        report=told["report"],
        config=told["config"],
    )
    if draft.hash != told["hash"]:
        raise StateError(
            f"the preview {label} was changed since it was shown",
            got=draft.hash,
            allowed=[told["hash"]],
            next="ask for the benchmark again",
        )
    return Kept(label, draft, told["asked"], told["write"], told["benchmark"])


def created(ws: Workspace, label: str, benchmark: int) -> None:
    """Note which benchmark was made of the draft."""
    told = read_json(_file(ws, label))
    write_json(_file(ws, label), {**told, "benchmark": benchmark})


def page_of(ws: Workspace, label: str) -> Path:
    """The page that shows all questions of a preview with their answers."""
    return ws.path / FOLDER / f"{label}.html"


def _file(ws: Workspace, label: str) -> Path:
    if not label.isalnum():
        raise NotFound("there is no such preview", got=label)
    return ws.path / FOLDER / f"{label}.json"


def _free(ws: Workspace) -> str:
    """A label that no preview of this workspace has; taken at once, so that two chats never share one."""
    make_folder(ws.path / FOLDER)
    for number in count(1):
        try:
            _file(ws, f"D{number}").touch(exist_ok=False)
        except FileExistsError:
            continue
        return f"D{number}"
    raise AssertionError("unreachable")
