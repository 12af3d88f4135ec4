"""Freezing and loading what a benchmark is scored and asked with, by sha256.

A scoring program is a folder of Python files. It is run only if its hash is trusted: it stands in
`program/released.json`, or the workspace froze it itself. Loading compiles the very bytes that were
hashed, so neither a changed file, a planted `.pyc` or extension module, nor a file swapped between
check and import is ever run.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from benchgen.errors import BenchgenError, DataError, StateError, StoreError
from benchgen.types import Evaluation, Question, json_line, sha256

PROGRAM = Path(__file__).parent / "program"
ENTRY = "score"
_PREFIX = "benchgen_frozen_program_"


def program_sha256(folder: Path) -> str:
    """Hex sha256 over the sorted relative names and the bytes of the folder's Python files."""
    return sources_sha256(program_sources(folder))


def released(path: Path = PROGRAM / "released.json") -> list[dict[str, str]]:
    """Every released program, oldest first: {"version", "sha256", "date"}."""
    entries: list[dict[str, str]] = json.loads(path.read_text("utf-8"))
    return entries


def trusted_programs(frozen_here: Iterable[str] = ()) -> set[str]:
    """The hashes that may run: all released ones, and those that this workspace froze."""
    return {entry["sha256"] for entry in released()} | set(frozen_here)


def program_sources(folder: Path = PROGRAM) -> dict[str, bytes]:
    """{relative POSIX name: bytes} of every Python file, sorted by name."""
    files = sorted(p for p in folder.rglob("*.py") if p.is_file() and not p.is_symlink())
    sources = {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}
    if f"{ENTRY}.py" not in sources:
        raise StoreError("no scoring program there: a folder with score.py", got=str(folder))
    return dict(sorted(sources.items()))


def sources_sha256(sources: Mapping[str, bytes]) -> str:
    """What `program_sha256` gives for a folder of these files."""
    # Hashing each file first keeps names and contents apart: no two folders share a byte stream.
    return sha256([[name, sha256(source)] for name, source in sorted(sources.items())])


def copy_program(to: Path, sources: Mapping[str, bytes] | None = None) -> str:
    """The sha256 of a program, the newest one by default, after its files were written to the new folder."""
    if to.exists():
        raise StoreError("the folder for the scoring program exists already", got=str(to))
    sources = dict(sources or program_sources(PROGRAM))
    write_whole(to, sources)
    return sources_sha256(sources)


def write_whole(folder: Path, files: Mapping[str, bytes]) -> None:
    """The folder with these files, by relative POSIX name, in one step: never half of it under its name."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        part.chmod(0o755)
        for name, data in files.items():
            (part / name).parent.mkdir(parents=True, exist_ok=True)
            (part / name).write_bytes(data)
        part.rename(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise


def load_program(folder: Path, trusted: set[str]) -> Callable[..., Any]:
    """The `score` function of the program in `folder`; StateError unless its hash is in `trusted`.

    The same program is loaded once a process, under a module name of its own.
    """
    sources = program_sources(folder)
    sha = sources_sha256(sources)
    if sha not in trusted:
        raise StateError(
            "this scoring program is neither a released one nor frozen by this workspace, "
            "or it was changed since, and is not run",
            got=f"{folder.name} {sha[:12]}",
            next="score with the newest program, or restore the folder from a backup",
        )
    package = _PREFIX + sha
    _FINDER.offer(package, folder, sources)
    module = importlib.import_module(f"{package}.{ENTRY}")
    function: Callable[..., Any] = module.score
    return function


def version_of(score: Callable[..., Any]) -> str:
    """The version that the program of a loaded `score` function gives itself."""
    return str(getattr(sys.modules[score.__module__], "VERSION", "unknown"))


def write_evaluation(path: Path, evaluation: Evaluation) -> str:
    """The sha256 of the file written: `evaluation.json`, data only."""
    text = json.dumps(evaluation.to_dict(), indent=2, sort_keys=True, ensure_ascii=False) + "\n"
    return _write(path, text)


def read_evaluation(path: Path, sha: str | None = None) -> Evaluation:
    """The evaluation in that file; StoreError if it is not the file that was frozen."""
    data = json_object(_checked(path, sha), path.name, StoreError)
    try:
        return Evaluation.from_dict(data)
    except TypeError as error:
        raise _newer(path.name, error) from error


def write_questions(path: Path, questions: Sequence[Question]) -> str:
    """The sha256 of the file written: one question a line, each with its key."""
    return _write(path, question_lines(questions))


def question_lines(questions: Iterable[Question]) -> str:
    """The text of a file of questions: what `parse_questions` reads."""
    return "".join(json_line({"key": q.key, **q.to_dict()}) for q in questions)


def read_questions(path: Path, sha: str | None = None) -> list[Question]:
    """The questions of that file, in order; StoreError if the file or a key is not what was frozen."""
    return parse_questions(_checked(path, sha), path.name)


def parse_questions(data: bytes, name: str) -> list[Question]:
    """The questions of such a file's bytes; StoreError where a line or its key is not right."""
    questions = []
    for number, fields in enumerate(json_lines(data, name, StoreError), start=1):
        key = fields.pop("key", None)
        try:
            question = Question.from_dict(fields)
        except TypeError as error:
            raise _newer(name, error) from error
        if key != question.key:
            raise StoreError(f"{name}, question {number}: the key is not that of the question")
        questions.append(question)
    return questions


def json_lines(
    data: bytes, name: str, error: type[BenchgenError] = DataError
) -> Iterator[dict[str, Any]]:
    """The object of each line that is not blank; `error`, which names the line, for one that is none.

    A line ends with a line feed and nothing else: U+2028 may stand inside a JSON text as it is.
    """
    for number, line in enumerate(data.split(b"\n"), start=1):
        if line.strip():
            yield json_object(line, f"{name} line {number}", error)


def json_object(data: bytes, where: str, error: type[BenchgenError] = DataError) -> dict[str, Any]:
    """The JSON object of these bytes; `error` for anything else."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as cause:
        raise error(f"{where}: not JSON") from cause
    if not isinstance(value, dict):
        raise error(f"{where}: not a JSON object")
    return value


def _write(path: Path, text: str) -> str:
    """The sha256 of the text, after it replaced the file in one step."""
    data = text.encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        part.write_bytes(data)
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)
    return sha256(data)


def _checked(path: Path, sha: str | None) -> bytes:
    try:
        data = path.read_bytes()
    except OSError as error:
        raise StoreError(f"{path.name} cannot be read", got=error.strerror) from error
    if sha is not None and sha256(data) != sha:
        raise StoreError(
            f"{path.name} was changed since it was frozen",
            got=sha256(data)[:12],
            allowed=[sha[:12]],
            next="restore the benchmark's folder from a backup",
        )
    return data


def _newer(name: str, error: TypeError) -> StoreError:
    return StoreError(
        f"{name} has fields that this version does not know",
        got=str(error),
        next="upgrade benchgen",
    )


class _Source(importlib.abc.SourceLoader):
    """Loads one module from bytes in memory; never reads or writes compiled files."""

    def __init__(self, filename: str, source: bytes) -> None:
        self.filename = filename
        self.source = source

    def get_filename(self, fullname: str) -> str:
        return self.filename

    def get_data(self, path: str) -> bytes:
        if path != self.filename:  # the cached bytecode that importlib asks for
            raise OSError(path)
        return self.source


class _Finder(importlib.abc.MetaPathFinder):
    """Finds the modules of the programs that were offered, and no others."""

    def __init__(self) -> None:
        self.modules: dict[str, tuple[str, bytes]] = {}

    def offer(self, package: str, folder: Path, sources: dict[str, bytes]) -> None:
        self.modules.setdefault(package, (str(folder / "__init__.py"), b""))
        for name, source in sources.items():
            dotted = ".".join([package, *name.removesuffix(".py").split("/")])
            self.modules.setdefault(dotted.removesuffix(".__init__"), (str(folder / name), source))
        if self not in sys.meta_path:
            sys.meta_path.insert(0, self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname not in self.modules:
            return None
        filename, source = self.modules[fullname]
        is_package = filename.endswith("__init__.py")
        spec = importlib.machinery.ModuleSpec(
            fullname, _Source(filename, source), origin=filename, is_package=is_package
        )
        spec.has_location = True
        return spec


_FINDER = _Finder()
