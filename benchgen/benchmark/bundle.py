"""A benchmark as a Codabench bundle: one zip that travels, read without trusting a byte of it.

    competition.yaml       title, one task, one leaderboard; the part `benchgen` is ours
    reference_data.zip     questions.jsonl: the questions with their keys
    input_data.zip         prompts.jsonl: what a model is asked, without the answers
    scoring_program.zip    the frozen program and metadata.yaml with its command
    evaluation.json        how the benchmark is asked
    overview.md, terms.md, logo.png   pages and image, without which Codabench takes no bundle

Nothing of a bundle is ever run here: its program is bytes to keep, show and hand on.
"""

from __future__ import annotations

import base64
import io
import json
import stat
import zipfile
import zlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from benchgen.benchmark import registry
from benchgen.benchmark.exchange.folder import read_plain, write_file
from benchgen.benchmark.prompts import render
from benchgen.errors import BenchgenError, DataError
from benchgen.types import Evaluation, Question, canonical

MAX_ENTRIES = 10_000
MAX_BYTES = 512 * 2**20
"""Unpacked size of everything read from one file, all archives within it together."""
MAX_RATIO, RATIO_FROM = 200, 2**20
"""An entry of a mebibyte or more that unpacks to over 200 times its packed size is a bomb."""
MAX_YAML = 2**20
PROGRAM = "scoring_program.zip"
COMMAND = "python3 /app/program/score.py /app/input /app/output"
_STAMP = (1980, 1, 1, 0, 0, 0)
_LOGO = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNgYGAAAAAEAAH2FzhVAAAAAElFTkSuQmCC"
)
"""A PNG of one black pixel."""
_TEXTS = (*("prompt", "category", "difficulty", "language", "rationale", "source", "template"),)
_FAULTS = (
    *(BenchgenError, TypeError, ValueError, KeyError, IndexError),
    *(AttributeError, RecursionError),
)
_PARTS = ("reference_data", "input_data", "scoring_program")
_UNREADABLE = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, ValueError),
)


@dataclass(frozen=True)
class Bundle:
    """A benchmark that travels."""

    name: str
    questions: tuple[Question, ...]
    evaluation: Evaluation
    program: bytes
    """scoring_program.zip as it is."""

    def sources(self) -> dict[str, bytes]:
        """{relative name: bytes} of the program's Python files, sorted; they are not run."""
        files = unpacked(self.program, PROGRAM)
        return {name: files[name] for name in sorted(files) if name.endswith(".py")}


def packed_program(sources: Mapping[str, bytes]) -> bytes:
    """scoring_program.zip of a frozen program: its files, and the command that Codabench gives."""
    return _packed({**sources, "metadata.yaml": f"command: {COMMAND}\n".encode()})


def write_bundle(bundle: Bundle, path: Path) -> None:
    """Write the zip; the same benchmark gives the same bytes. DataError if something is there, or it cannot be."""
    prompts = [
        canonical({"key": q.key, "messages": render(q, bundle.evaluation)})
        for q in bundle.questions
    ]
    kinds = sorted({q.kind for q in bundle.questions})
    about = f"{len(bundle.questions)} questions ({', '.join(kinds)}), written by benchgen.\n"
    evaluation = json.dumps(bundle.evaluation.to_dict(), indent=2, sort_keys=True)
    files = {
        "competition.yaml": yaml.safe_dump(
            _competition(bundle.name, about), sort_keys=False, allow_unicode=True
        ).encode(),
        "overview.md": f"# {bundle.name}\n\n{about}".encode(),
        "terms.md": b"No terms are set.\n",
        "logo.png": _LOGO,
        "evaluation.json": evaluation.encode(),
        "reference_data.zip": _packed(
            {"questions.jsonl": registry.question_lines(bundle.questions).encode()}
        ),
        "input_data.zip": _packed({"prompts.jsonl": _lines(prompts)}),
        PROGRAM: bundle.program,
    }
    write_file(path, _packed(files))


def read_bundle(path: Path) -> Bundle:
    """The bundle in that zip; DataError, with nothing written, where it is not one or not a safe one."""
    data = read_plain(path, MAX_BYTES)
    if not data:
        raise DataError(f"{path.name} is empty", got=str(path))
    budget = Budget()
    files = _at_root(unpacked(data, path.name, budget), path.name)
    competition = _yaml(files["competition.yaml"], path.name)
    task = _first_task(competition, path.name)
    reference = _part(files, task, "reference_data", path.name, budget)
    if "questions.jsonl" not in reference:
        raise DataError(
            f"{path.name}: its reference data hold no questions.jsonl",
            got=sorted(reference)[:5],
            next="import the questions themselves: create author=file author.path=FILE",
        )
    program = files.get(str(task.get("scoring_program")))
    if program is None:
        program = _packed(_part(files, task, "scoring_program", path.name, budget))
    else:
        unpacked(program, PROGRAM, budget)
    where = f"{path.name}: evaluation.json"
    try:
        evaluation = Evaluation.from_dict(
            registry.json_object(files.get("evaluation.json", b"{}"), where)
        )
    except (TypeError, ValueError, AttributeError) as error:
        raise DataError(f"{where} cannot be read: {error}") from error
    rows = registry.json_lines(reference["questions.jsonl"], f"{path.name}: questions.jsonl")
    questions = checked_questions(rows, evaluation, path.name)
    name = str(competition.get("title") or path.stem)[:200]
    return Bundle(name, questions, evaluation, program)


def checked_questions(
    rows: Iterable[dict[str, Any]], evaluation: Evaluation, name: str
) -> tuple[Question, ...]:
    """The questions of those rows, each a question's fields and its key; DataError where one is not right."""
    try:
        lines = "".join(canonical(row) + "\n" for row in rows)
        questions = registry.parse_questions(lines.encode(), "questions")
        for question in questions:
            _check_types(question)
            render(question, evaluation)
    except DataError:
        raise
    except _FAULTS as error:
        raise DataError(f"{name}: questions that cannot be read: {error}") from error
    if not questions or len({question.key for question in questions}) != len(questions):
        raise DataError(f"{name}: no question in it, or one that stands in it twice")
    return tuple(questions)


@dataclass
class Budget:
    """What one file may still unpack to, however many archives lie within one another in it."""

    entries: int = MAX_ENTRIES
    bytes: int = MAX_BYTES

    def take(self, entries: int, size: int, name: str) -> None:
        """Nothing; DataError where it is not enough for these."""
        if entries > self.entries or size > self.bytes:
            raise DataError(
                f"{name} unpacks to too much",
                got=f"{entries} files, {size} bytes",
                allowed=f"{MAX_ENTRIES} files, {MAX_BYTES} bytes, with all that lies within it",
            )
        self.entries -= entries
        self.bytes -= size


def unpacked(data: bytes, name: str, budget: Budget | None = None) -> dict[str, bytes]:
    """{relative POSIX path: bytes} of a zip's files, held in memory and taken from the budget.

    Archives among them stay packed. DataError for a path that leads out, a link, an encrypted or
    repeated entry, or a bomb.
    """
    files: dict[str, bytes] = {}
    budget = budget or Budget()
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = [entry for entry in archive.infolist() if not entry.is_dir()]
            budget.take(len(entries), sum(entry.file_size for entry in entries), name)
            _check_ratios(entries, name)
            for entry in entries:
                inside = _inside(entry, name)
                if inside in files:
                    raise DataError(f"{name}: {inside} stands in it twice", got=inside)
                files[inside] = archive.read(entry)
    except _UNREADABLE as error:
        table = Path(name).suffix.lower() in (
            ".csv",
            ".tsv",
            ".json",
            ".jsonl",
            ".xlsx",
            ".parquet",
        )
        raise DataError(
            f"{name} is not a zip that can be read: {error}",
            got=name,
            next=f"benchgen create author=file author.path={name}" if table else "",
        ) from error
    return files


def _check_types(question: Question) -> None:
    texts: Sequence[object] = (*(getattr(question, name) for name in _TEXTS), *question.choices)
    plain = isinstance(question.options, dict) and isinstance(question.held_out, bool)
    if not plain or not all(isinstance(text, str) for text in texts):
        raise TypeError("a field has a value of the wrong type")


def _check_ratios(entries: list[zipfile.ZipInfo], name: str) -> None:
    for entry in entries:
        packed = max(1, entry.compress_size)
        if entry.file_size > RATIO_FROM and entry.file_size / packed > MAX_RATIO:
            raise DataError(
                f"{name}: {entry.filename[:100]} unpacks to over {MAX_RATIO} times its size",
                got=f"{entry.file_size} bytes of {packed}",
            )


def _inside(entry: zipfile.ZipInfo, name: str) -> str:
    """The entry's path, if it stays inside."""
    raw = entry.filename
    path = PurePosixPath(raw)
    linked = stat.S_ISLNK(entry.external_attr >> 16)
    if linked or path.is_absolute() or ".." in path.parts or "\\" in raw or ":" in raw:
        raise DataError(
            f"{name} holds a path that leads out of it",
            got=raw[:200],
            allowed="relative paths of plain files",
        )
    return path.as_posix()


def _at_root(files: dict[str, bytes], name: str) -> dict[str, bytes]:
    """The files, without the one folder that a zipped folder puts before them all."""
    if "competition.yaml" in files:
        return files
    found = [path for path in files if path.count("/") == 1 and path.endswith("/competition.yaml")]
    if len(found) != 1:
        raise DataError(f"{name} has no competition.yaml: it is no bundle", got=sorted(files)[:5])
    top = found[0].partition("/")[0] + "/"
    return {path.removeprefix(top): data for path, data in files.items() if path.startswith(top)}


class _PlainLoader(yaml.SafeLoader):
    """YAML without aliases, which a few lines of nest into gigabytes."""

    def compose_node(self, parent: Any, index: Any) -> Any:
        if self.check_event(yaml.events.AliasEvent):
            raise yaml.YAMLError("aliases are not read")
        return super().compose_node(parent, index)


def _yaml(data: bytes, name: str) -> dict[str, Any]:
    if len(data) > MAX_YAML:
        raise DataError(f"{name}: competition.yaml is too long", got=len(data), allowed=MAX_YAML)
    try:
        found = yaml.load(data.decode(), Loader=_PlainLoader)  # noqa: S506 - a SafeLoader
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise DataError(f"{name}: competition.yaml cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise DataError(f"{name}: competition.yaml is no mapping")
    return found


def _first_task(competition: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    tasks = competition.get("tasks")
    if not isinstance(tasks, list) or not tasks or not isinstance(tasks[0], dict):
        raise DataError(f"{name}: competition.yaml lists no task", got=str(tasks)[:100])
    return tasks[0]


def _part(
    files: Mapping[str, bytes], task: Mapping[str, Any], part: str, name: str, budget: Budget
) -> dict[str, bytes]:
    """The files of a part that the task names: a zip inside the bundle, or a folder of it."""
    named = str(task.get(part) or f"{part}.zip")
    if named in files:
        return unpacked(files[named], named, budget)
    folder = named.rstrip("/") + "/"
    found = {p.removeprefix(folder): data for p, data in files.items() if p.startswith(folder)}
    if not found:
        raise DataError(f"{name}: the task's {part} is not in the bundle", got=named)
    return found


def _competition(name: str, about: str) -> dict[str, Any]:
    columns = (("Accuracy", "accuracy"), ("Right", "right"), ("Scored", "scored"))
    return {
        "version": 2,
        "title": name,
        "description": about.strip(),
        "docker_image": "python:3.11",
        "image": "logo.png",
        "terms": "terms.md",
        "pages": [{"title": "Overview", "file": "overview.md"}],
        "tasks": [{"index": 0, "name": name, **{part: f"{part}.zip" for part in _PARTS}}],
        "phases": [{"index": 0, "name": "Test", "start": "2026-01-01", "tasks": [0]}],
        "leaderboards": [
            {
                "index": 0,
                "title": "Results",
                "key": "results",
                "columns": [
                    {"index": i, "title": title, "key": key, "sorting": "desc"}
                    for i, (title, key) in enumerate(columns)
                ],
            }
        ],
        "benchgen": {"bundle": 1},
    }


def _packed(files: Mapping[str, bytes]) -> bytes:
    """A zip of those files: equal files give equal bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, _STAMP)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def _lines(rows: list[str]) -> bytes:
    return "".join(row + "\n" for row in rows).encode()
