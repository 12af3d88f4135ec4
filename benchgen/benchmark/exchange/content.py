"""What every exported folder holds beside its own format, and the check of what comes back.

benchgen.json      format, name, sha256 of the scoring program
evaluation.json    how the benchmark is asked
"""

from __future__ import annotations

import dataclasses
import json
import re
import unicodedata
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any

from benchgen.benchmark import registry
from benchgen.benchmark.bundle import Bundle, checked_questions, packed_program
from benchgen.benchmark.exchange.folder import read_inside, read_sources
from benchgen.errors import DataError
from benchgen.types import Evaluation, Question, canonical, sha256

ABOUT, EVALUATION, PROGRAM, FROZEN = "benchgen.json", "evaluation.json", "program", "frozen.py"
VERSION = 1
MAX_ABOUT = 2**20


def task_name(name: str) -> str:
    """A name that a file, a task of lm-evaluation-harness and one of Inspect can have."""
    letters = unicodedata.normalize("NFKD", name).encode("ascii", "ignore").decode().lower()
    plain = re.sub(r"[^a-z0-9]+", "_", letters).strip("_")[:60].strip("_")
    return f"benchgen_{plain or sha256(name)[:8]}"


def about_files(bench: Bundle, form: str) -> dict[str, bytes]:
    """The two files that all formats share. DataError for a benchmark without questions."""
    if not bench.questions:
        raise DataError("a benchmark without questions cannot be exported", got=bench.name)
    told = {
        "exchange": VERSION,
        "format": form,
        "name": bench.name,
        "program_sha256": registry.sources_sha256(bench.sources()),
    }
    return {ABOUT: _pretty(told), EVALUATION: _pretty(bench.evaluation.to_dict())}


def runnable_files(bench: Bundle, form: str, frozen_here: Collection[str]) -> dict[str, bytes]:
    """The shared files of a task that runs the scoring program, and that program.

    DataError unless the program is a released one, the newest, or one of `frozen_here`: whoever runs
    the task runs the program.
    """
    sources = bench.sources()
    sha = registry.sources_sha256(sources)
    newest = registry.program_sha256(registry.PROGRAM)
    if sha not in registry.trusted_programs({newest, *frozen_here}):
        raise DataError(
            f"{bench.name}: its scoring program is not one of benchgen's, and a task of {form} would run it",
            got=sha[:12],
            next="export it as a Codabench bundle or a Hugging Face folder, which only carry it",
        )
    return {
        **about_files(bench, form),
        FROZEN: Path(__file__).with_name(FROZEN).read_bytes(),
        **{f"{PROGRAM}/{name}": source for name, source in sources.items()},
    }


def runnable_bundle(folder: Path, form: str, rows: Iterable[dict[str, Any]], name: str) -> Bundle:
    """The benchmark of a folder with `runnable_files` and these rows of questions with their keys."""
    told, evaluation = read_about(folder, form)
    questions = checked_questions(rows, evaluation, f"{folder.name}: {name}")
    program = packed_program(read_sources(folder, PROGRAM))
    return Bundle(told, questions, evaluation, program)


def read_told(folder: Path) -> dict[str, Any]:
    """What the folder says of itself, unchecked."""
    return registry.json_object(read_inside(folder, ABOUT, MAX_ABOUT), f"{folder.name}: {ABOUT}")


def read_about(folder: Path, form: str) -> tuple[str, Evaluation]:
    """(the benchmark's name, how it is asked) of a folder in that format; DataError if it is not one."""
    told = read_told(folder)
    if told.get("format") != form or told.get("exchange") != VERSION:
        raise DataError(
            f"{folder.name} is no benchmark that benchgen wrote as {form}",
            got=f"{told.get('format')} {told.get('exchange')}"[:100],
            allowed=f"{form} {VERSION}",
        )
    name = f"{folder.name}: {EVALUATION}"
    fields = registry.json_object(read_inside(folder, EVALUATION, MAX_ABOUT), name)
    try:
        evaluation = Evaluation.from_dict(fields)
    except TypeError as error:
        raise DataError(f"{name} cannot be read: {error}") from error
    for field in dataclasses.fields(Evaluation):
        if not _fits(getattr(evaluation, field.name), field.default):
            raise DataError(f"{name}: {field.name} has a value of the wrong type")
    return str(told.get("name") or folder.name)[:200], evaluation


def read_rows(folder: Path, name: str) -> list[dict[str, Any]]:
    """The objects of a JSONL file of the folder."""
    return list(registry.json_lines(read_inside(folder, name), f"{folder.name}: {name}"))


def keyed(row: dict[str, Any], name: str) -> dict[str, Any]:
    """The fields of a row's question with the row's key, as `checked_questions` takes them."""
    question = row.get("question")
    if not isinstance(question, dict):
        raise DataError(f"{name}: a row without a question")
    return {**question, "key": row.get("key")}


def target_texts(question: Question) -> list[str]:
    """The accepted answers in the form that is asked for; of key points and calls the one text."""
    target = question.target
    if question.kind == "mcq":
        return [", ".join(target) if isinstance(target, list) else str(target)]
    if question.kind == "qa" and isinstance(target, list):
        return [str(text) for text in target]
    return [question.target_text]


def jsonl(rows: Iterable[dict[str, Any]]) -> bytes:
    """One object a line, the same bytes for the same rows."""
    return "".join(canonical(row) + "\n" for row in rows).encode()


def _fits(value: object, default: object) -> bool:
    """Whether a value has the type of the field's default; a whole number is a number."""
    if isinstance(default, tuple):
        return isinstance(value, tuple) and all(isinstance(item, str) for item in value)
    if isinstance(default, float):
        return type(value) in (int, float)
    return type(value) is type(default)


def _pretty(value: dict[str, Any]) -> bytes:
    return (json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n").encode()
