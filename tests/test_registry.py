"""Freezing and loading: only known programs run, and only the bytes that were hashed."""

from __future__ import annotations

import importlib.util
import os
import py_compile
import re
import sys
from pathlib import Path

import pytest

from benchgen.benchmark import registry
from benchgen.errors import StateError, StoreError
from benchgen.scoring import VERSION
from benchgen.types import Evaluation, Question

QUESTIONS = [
    Question("mcq", "Which planet is red?", "C", ("Mercury", "Venus", "Mars"), "planets", "easy"),
    Question("qa", "Quelle planète\u2028est « rouge » ?", ["Mars"], language="fr"),
]


@pytest.fixture
def frozen(tmp_path: Path) -> tuple[Path, str]:
    folder = tmp_path / "program"
    return folder, registry.copy_program(folder)


def test_newest_program_is_listed_or_marked_unreleased() -> None:
    """`VERSION` ends in `.dev` while a program is worked on. Without it, the program must be the last
    entry of released.json: after a change, raise the version and add `.dev`."""
    newest = registry.released()[-1:] if registry.released() else []
    if not VERSION.endswith(".dev"):
        sha = registry.program_sha256(registry.PROGRAM)
        assert [(e["version"], e["sha256"]) for e in newest] == [(VERSION, sha)]
    else:
        assert VERSION not in {entry["version"] for entry in registry.released()}


def test_released_list_is_well_formed() -> None:
    entries = registry.released()
    assert all(set(entry) == {"version", "sha256", "date"} for entry in entries)
    assert all(re.fullmatch(r"[0-9a-f]{64}", entry["sha256"]) for entry in entries)
    for unique in ("version", "sha256"):
        assert len({entry[unique] for entry in entries}) == len(entries)
    assert [e["date"] for e in entries] == sorted(e["date"] for e in entries)


def test_copy_has_the_same_hash_and_no_list_of_releases(frozen: tuple[Path, str]) -> None:
    folder, sha = frozen
    assert sha == registry.program_sha256(folder) == registry.program_sha256(registry.PROGRAM)
    assert {path.suffix for path in folder.iterdir()} == {".py"}


def test_copy_over_something_is_refused(frozen: tuple[Path, str]) -> None:
    with pytest.raises(StoreError, match="exists"):
        registry.copy_program(frozen[0])


def test_hash_sees_names_and_bytes_of_python_files_only(frozen: tuple[Path, str]) -> None:
    folder, sha = frozen
    (folder / "notes.txt").write_text("x")
    assert registry.program_sha256(folder) == sha
    (folder / "mcq.py").rename(folder / "mcq2.py")
    assert registry.program_sha256(folder) != sha


def test_frozen_copy_scores_under_its_own_module_names(frozen: tuple[Path, str]) -> None:
    folder, sha = frozen
    before = set(sys.modules)
    score = registry.load_program(folder, {sha})
    verdict = score("mcq", reply="Answer: B", target="B", choices=["x", "y"])
    assert (verdict.correct, verdict.extracted) == (True, "B")
    assert all(sha in name for name in set(sys.modules) - before)
    assert score.__module__ != "benchgen.benchmark.program.score"
    assert registry.load_program(folder, {sha}) is score


def test_two_programs_live_side_by_side(frozen: tuple[Path, str], tmp_path: Path) -> None:
    folder, sha = frozen
    other = tmp_path / "other"
    registry.copy_program(other)
    (other / "qa.py").write_text((other / "qa.py").read_text("utf-8") + "\nMARK = 1\n", "utf-8")
    other_sha = registry.program_sha256(other)
    first = registry.load_program(folder, {sha})
    second = registry.load_program(other, {other_sha})
    assert first is not second
    assert not hasattr(sys.modules[first.__module__].qa, "MARK")
    assert sys.modules[second.__module__].qa.MARK == 1


@pytest.mark.parametrize("change", ["append", "add", "remove"])
def test_a_changed_program_is_never_run(frozen: tuple[Path, str], change: str) -> None:
    folder, sha = frozen
    trap = folder.parent / "ran"
    code = f"\nopen({str(trap)!r}, 'w').close()\n"
    if change == "append":
        with (folder / "__init__.py").open("a") as file:
            file.write(code)
    elif change == "add":
        (folder / "json.py").write_text(code)
    else:
        (folder / "qa.py").unlink()
    with pytest.raises(StateError, match="not run"):
        registry.load_program(folder, {sha})
    assert not trap.exists()


def test_planted_bytecode_is_never_run(tmp_path: Path) -> None:
    """A .pyc beside an unchanged source is what Python's own import would run."""
    folder, trap = tmp_path / "planted", tmp_path / "ran"
    registry.copy_program(folder)
    source = folder / "verdict.py"
    text = source.read_text("utf-8")
    source.write_text(text + "\nPLANTED_HERE = 1\n", "utf-8")  # a hash no other test has loaded
    sha = registry.program_sha256(folder)
    evil = tmp_path / "evil.py"
    evil.write_text(f"open({str(trap)!r}, 'w').close()\n")
    cache = Path(importlib.util.cache_from_source(str(source)))
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(evil), cfile=str(cache), dfile=str(source), invalidation_mode=mode)
    (folder / f"mcq{importlib.machinery.EXTENSION_SUFFIXES[0]}").write_bytes(b"not a library")
    score = registry.load_program(folder, {sha})
    assert score("qa", reply="Mars", target="Mars").correct is True
    assert not trap.exists()


def test_no_program_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match=r"score\.py"):
        registry.load_program(tmp_path, set())


def test_trusted_are_the_released_and_the_own() -> None:
    released = {entry["sha256"] for entry in registry.released()}
    assert registry.trusted_programs(["f" * 64]) == released | {"f" * 64}


def test_evaluation_comes_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "evaluation.json"
    evaluation = Evaluation(system="Be “brief”.", options="names", stop=("\n\n",))
    sha = registry.write_evaluation(path, evaluation)
    assert registry.read_evaluation(path, sha) == evaluation
    assert registry.write_evaluation(tmp_path / "again.json", evaluation) == sha


def test_questions_come_back_equal(tmp_path: Path) -> None:
    path = tmp_path / "questions.jsonl"
    sha = registry.write_questions(path, QUESTIONS)
    assert registry.read_questions(path, sha) == QUESTIONS
    assert [path.name for path in tmp_path.iterdir()] == ["questions.jsonl"]


@pytest.mark.parametrize("name", ["evaluation.json", "questions.jsonl"])
def test_a_changed_file_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "evaluation.json":
        sha = registry.write_evaluation(path, Evaluation())
    else:
        sha = registry.write_questions(path, QUESTIONS)
    path.write_bytes(path.read_bytes().replace(b"e", b"E", 1))
    with pytest.raises(StoreError, match="changed since it was frozen"):
        (registry.read_evaluation if name == "evaluation.json" else registry.read_questions)(
            path, sha
        )


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("{", "line 1: not JSON"),
        ("[1]", "not a JSON object"),
        ('{"kind": "qa", "prompt": "p", "target": ["t"], "new_field": 1}', "upgrade"),
        ('{"kind": "qa", "prompt": "p", "target": ["t"], "key": "0"}', "key is not that"),
    ],
)
def test_an_unusable_line_is_told(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "questions.jsonl"
    path.write_text(text + os.linesep, "utf-8")
    with pytest.raises(StoreError, match=told):
        registry.read_questions(path)
