"""What is read, and what a file was found to hold; each goes through JSON, between processes, unchanged."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgen.errors import DataError
from benchgen.types import KINDS, Question

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

    def to_dict(self) -> dict[str, Any]:
        """Plain values that `FileSpec(**…)` takes."""
        return {**dataclasses.asdict(self), "path": str(self.path), "columns": dict(self.columns)}


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
_FORMS: Mapping[str, type[QuestionFile] | type[TrainingFile] | type[DocumentFile]] = {
    form.__name__: form for form in (QuestionFile, TrainingFile, DocumentFile)
}


def to_plain(found: Imported) -> list[Any]:
    """What JSON can hold of it."""
    return [type(found).__name__, dataclasses.asdict(found)]


def from_plain(plain: list[Any]) -> Imported:
    """What `to_plain` was given."""
    name, fields = plain
    fields = {key: tuple(v) if isinstance(v, list) else v for key, v in fields.items()}
    if "questions" in fields:
        fields["questions"] = tuple(Question.from_dict(each) for each in fields["questions"])
    return _FORMS[name](**fields)
