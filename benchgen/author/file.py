"""Author `file`: questions, training rows or a document from a file as people have it.

Evidence decides, ambiguity asks: where the rows fit two readings the import stops, names both, and the
option of the command that chooses. Every decision is reported, and a file is imported whole or not at all.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
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
from benchgen.author.files.results import (
    DocumentFile,
    FileSpec,
    Imported,
    QuestionFile,
    TrainingFile,
    from_plain,
    to_plain,
)
from benchgen.author.files.source import Row, Source, Table
from benchgen.author.files.tables import ENDINGS, MAX_BYTES, read_table
from benchgen.author.files.tools import tool_questions
from benchgen.author.files.training import check_training, format_of
from benchgen.author.files.twins import without_repeats
from benchgen.author.write import MAX_QUESTIONS
from benchgen.benchmark import bounded
from benchgen.benchmark.exchange.folder import open_plain
from benchgen.errors import NotFound
from benchgen.types import Question

__all__ = [
    "DocumentFile",
    "FileSpec",
    "Imported",
    "QuestionFile",
    "TrainingFile",
    "read_file",
    "refers_to_positions",
]

PACKED = frozenset((".parquet", ".xlsx", ".docx", ".pdf", ".html", ".htm", ".xhtml"))
"""Endings of files whose content may be far larger, or far harder to read, than their bytes show."""
_FOREIGN_LETTER = re.compile(r"[^\W\d_\x00-\x7f\u0370-\u03ffªºµ]")
"""Any letter but those of ASCII and Greek, which formulas have in every language."""
FOREIGN_SHARE = 0.2
PARTS_OF = {"points": "keypoints", "tools": "tool", "calls": "tool"}
"""{role of a column: the only kind of question that has it}."""
SMALL = 2 * 2**20
"""Bytes of text up to which it is read here; more, and whatever is packed, in a process with limits."""


def read_file(spec: FileSpec) -> Imported:
    """What the file holds; NotFound without a file, a one-line DataError for all that cannot be used."""
    path = Path(spec.path)
    _check_path(path, Source(path.name))
    with open_plain(path, MAX_BYTES) as file:
        if path.suffix.lower() not in PACKED and os.fstat(file.fileno()).st_size <= SMALL:
            raw = file.read(SMALL + 1)
            if len(raw) <= SMALL:
                return read_bytes(spec, raw)
            file.seek(0)
        work = f"{__name__}:{in_child.__name__}"
        return from_plain(json.loads(bounded.call(work, spec.to_dict(), file, path.name)))


def in_child(told: Mapping[str, Any], raw: bytes) -> bytes:
    """What `read_bytes` finds, as JSON: the work of a process with limits."""
    spec = FileSpec(**{**told, "path": Path(told["path"])})
    return json.dumps(to_plain(read_bytes(spec, raw))).encode()


def read_bytes(spec: FileSpec, raw: bytes) -> Imported:
    """What a file of that name with these bytes holds."""
    path, source = Path(spec.path), Source(Path(spec.path).name)
    if not raw:
        raise source.wrong("it is empty (0 bytes): there are no rows", got=0)
    if len(raw) > MAX_BYTES:
        raise source.wrong("it is too large", allowed=f"up to {MAX_BYTES // 1_000_000} MB")
    ending = path.suffix.lower()
    if ending in READERS and (spec.kind in (None, "document") or ending not in ENDINGS):
        return _document(raw, spec, source)
    if spec.kind == "document":
        raise source.wrong(
            "kind=document, and this is a table", got=ending, allowed=sorted(READERS)
        )
    return read_rows(read_table(raw, ending, source, spec.columns, spec.sheet), spec, source)


def read_rows(table: Table, spec: FileSpec, source: Source) -> QuestionFile | TrainingFile:
    """The questions or training rows of a table."""
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


def _check_path(path: Path, source: Source) -> None:
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


def _document(raw: bytes, spec: FileSpec, source: Source) -> DocumentFile:
    if spec.kind not in (None, "document"):
        raise source.wrong(
            f"kind={spec.kind}, and this is a document without rows",
            got=Path(spec.path).suffix,
            next="author=document writes questions about a text",
        )
    text, passages = read_document(raw, Path(spec.path).suffix.lower(), source)
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
    unused = [*layout.unused, *_of_other_kinds(kind, layout)]
    if unused:
        source.decide(f"columns not used: {', '.join(map(repr, unused))}")
    questions = tuple(question for _, question in made)
    _doubt_language(questions, layout, spec, source)
    return QuestionFile(kind, questions, *source.told())


def _doubt_language(
    questions: Sequence[Question], layout: Layout, spec: FileSpec, source: Source
) -> None:
    """Nothing; a warning where many questions have letters that English has not and are marked as English."""
    if spec.language != "en" or layout.get("language") is not None:
        return
    number = sum(_FOREIGN_LETTER.search(question.prompt) is not None for question in questions)
    if number >= FOREIGN_SHARE * len(questions):
        source.warn(
            f"{number} of {len(questions)} questions have letters that English has not, and nothing says "
            "their language: they are marked en. benchmark.language=CODE says it, or a column 'language'"
        )


def _of_other_kinds(kind: str, layout: Layout) -> list[str]:
    """Columns whose names say a part that questions of this kind do not have."""
    others = {role for role, of in PARTS_OF.items() if of != kind}
    return [c for role, c in layout.roles.items() if role in others and c not in layout.answers]


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
