"""Author `file`: questions, training rows or a document from a file as people have it.

Evidence decides, ambiguity asks: where the rows fit two readings the import stops, names both, and the
option of the command that chooses. Every decision is reported, and a file is imported whole or not at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgen.author.files.documents import READERS, read_document
from benchgen.author.files.headers import Layout, layout_of, require
from benchgen.author.files.kinds import is_truthful, kind_of, refuse_replies
from benchgen.author.files.mcq import (
    Wishes,
    as_answers,
    has_options_inside,
    mcq_questions,
)
from benchgen.author.files.plain import (
    Told,
    numeric_questions,
    qa_questions,
)
from benchgen.author.files.points import keypoint_questions
from benchgen.author.files.positions import refers_to_positions
from benchgen.author.files.source import Row, Source, Table
from benchgen.author.files.tables import ENDINGS, read_table
from benchgen.author.files.tools import tool_questions
from benchgen.author.files.training import check_training, format_of
from benchgen.author.files.twins import without_repeats
from benchgen.author.write import MAX_QUESTIONS
from benchgen.errors import DataError, NotFound
from benchgen.types import KINDS, Question

__all__ = [
    "DocumentFile",
    "FileSpec",
    "Imported",
    "QuestionFile",
    "TrainingFile",
    "read_file",
    "refers_to_positions",
]

CHOICES: Mapping[str, tuple[Any, ...]] = {
    "kind": (*KINDS, "train", "document"),
    "index_base": (0, 1),
    "answers_are": ("letter", "index", "text"),
    "decimal": ("point", "comma"),
}


@dataclass(frozen=True)
class FileSpec:
    """What is read, and the person's word where the file leaves something open; None = by the evidence."""

    path: Path
    kind: str | None = None
    """One of the kinds of question, `train` or `document`."""
    index_base: int | None = None
    """Answers that are positions count from 0 or from 1."""
    columns: Mapping[str, str] = field(default_factory=dict)
    """{role: column}: question, answer, A, B … (the options), options, category … (headers.py)."""
    answers_are: str | None = None
    """letter | index | text"""
    decimal: str | None = None
    """point | comma"""
    multi: bool | None = None
    """Several options may be right: every target is a list of letters."""
    sheet: str | None = None
    language: str = "en"

    def __post_init__(self) -> None:
        for name, allowed in CHOICES.items():
            value = getattr(self, name)
            if value is not None and value not in allowed:
                setting = name if name == "kind" else f"author.{name}"
                raise DataError(f"{setting}={value} is unknown", got=value, allowed=list(allowed))


@dataclass(frozen=True)
class QuestionFile:
    """Questions in the file's order, all of one kind; options are not yet reordered."""

    kind: str
    questions: tuple[Question, ...]
    decisions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class TrainingFile:
    """Rows to train on, all of one format: alpaca, sharegpt, messages or prompt+completion."""

    rows: int
    format: str
    decisions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class DocumentFile:
    """A document's text; every passage stands in it to the letter."""

    text: str
    passages: tuple[str, ...]
    characters: int
    decisions: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


Imported = QuestionFile | TrainingFile | DocumentFile


def read_file(spec: FileSpec) -> Imported:
    """What the file holds; NotFound without a file, a one-line DataError for all that cannot be used."""
    path, source = Path(spec.path), Source(Path(spec.path).name)
    _check_path(path, spec, source)
    ending = path.suffix.lower()
    if ending in READERS and (spec.kind in (None, "document") or ending not in ENDINGS):
        return _document(path, spec, source)
    if spec.kind == "document":
        raise source.wrong(
            "kind=document, and this is a table", got=ending, allowed=sorted(READERS)
        )
    table = read_table(path, source, spec.columns, spec.sheet)
    form = format_of(table) if spec.kind in (None, "train") and not spec.columns else None
    if form is not None:
        check_training(table, form, source)
        source.decide(f"training rows in the format {form}")
        return TrainingFile(len(table.rows), form, *source.told())
    if spec.kind == "train":
        raise source.wrong(
            "kind=train, and no row has a known training format",
            got=list(table.columns),
            allowed=[
                "instruction, input, output",
                "conversations",
                "messages",
                "prompt, completion",
            ],
        )
    return _questions(table, spec, source)


def _refuse_unseen_options(table: Table, layout: Layout, source: Source) -> None:
    """DataError where columns that nobody named hold the answer in every row: they are its options."""
    if layout.has_options or len(layout.unused) < 2 or len(table.rows) < 2:
        return
    holders: set[str] = set()
    for row in table.rows:
        answer = str(row.get(layout.first_answer) or "").strip()
        found = {c for c in layout.unused if answer and str(row.get(c) or "").strip() == answer}
        if not found:
            return
        holders |= found
    if len(holders) < 2:
        return
    labels = ", ".join(f"{chr(65 + i)}: {c}" for i, c in enumerate(layout.unused[:26]))
    raise source.wrong(
        "in every row the answer stands in a column that has no role too: these look like its options",
        got=list(layout.unused),
        allowed=["mcq", "qa"],
        next=f"author.columns='{{{labels}}}' (those that are options), or kind=qa",
    )


def _check_path(path: Path, spec: FileSpec, source: Source) -> None:
    if path.is_dir():
        raise source.wrong(
            "it is a folder, and a file is needed", got=str(path), next="author.path=FILE"
        )
    if not path.exists():
        raise NotFound(f"there is no file {path}", got=str(path), next="author.path=FILE")
    known = {*READERS, *ENDINGS}
    if path.suffix.lower() not in known:
        raise source.wrong(
            f"files that end in '{path.suffix}' are not read",
            got=path.suffix,
            allowed=sorted(known),
            next="save it as one of these (old .xls as .xlsx, .doc as .docx)",
        )


def _document(path: Path, spec: FileSpec, source: Source) -> DocumentFile:
    if spec.kind not in (None, "document"):
        raise source.wrong(
            f"kind={spec.kind}, and this is a document without rows",
            got=path.suffix,
            next="author=document writes questions about a text",
        )
    text, passages = read_document(path, source)
    return DocumentFile(text, passages, len(text), *source.told())


def _questions(table: Table, spec: FileSpec, source: Source) -> QuestionFile:
    refuse_replies(table, source)
    if len(table.rows) > MAX_QUESTIONS:
        raise source.wrong(
            f"it has {len(table.rows)} rows, more than the limit of {MAX_QUESTIONS} questions",
            got=len(table.rows),
            allowed=f"up to {MAX_QUESTIONS}",
            next="split the file",
        )
    layout = layout_of(table, source, spec.columns)
    kind = spec.kind or kind_of(table, layout, source)
    if spec.kind is None:
        _refuse_unseen_options(table, layout, source)
    made = without_repeats(_made(kind, table, layout, spec, source), layout, source)
    if layout.unused:
        source.decide(f"columns not used: {', '.join(repr(column) for column in layout.unused)}")
    questions = tuple(question for _, question in made)
    return QuestionFile(kind, questions, *source.told())


def _made(
    kind: str, table: Table, layout: Layout, spec: FileSpec, source: Source
) -> list[tuple[Row, Question]]:
    if layout.get("messages") is None or layout.get("question") is not None:
        require(layout, table, source, ("question",))
    told = Told(spec.decimal, spec.language)
    if kind == "mcq" or (kind == "qa" and layout.has_options and not is_truthful(layout)):
        wishes = Wishes(spec.answers_are, spec.index_base, bool(spec.multi), spec.language)
        made = _multiple_choice(table, layout, source, wishes)
        return as_answers(made, source) if kind == "qa" else made
    if kind == "tool":
        return tool_questions(table, layout, source, spec.language)
    if kind == "keypoints":
        require(layout, table, source, ("points",))
        return keypoint_questions(table, layout, source, spec.language)
    require(layout, table, source, ("answer",))
    if kind == "numeric":
        return numeric_questions(table, layout, source, told)
    return qa_questions(table, layout, source, told)


def _multiple_choice(
    table: Table, layout: Layout, source: Source, wishes: Wishes
) -> list[tuple[Row, Question]]:
    if not layout.has_options and not has_options_inside(table, layout):
        raise source.wrong(
            "kind=mcq, and no columns of options were found",
            got=list(table.columns),
            next="name them: author.columns.A=… author.columns.B=…, or author.columns.options=…",
        )
    return mcq_questions(table, layout, source, wishes)
