"""A benchmark: questions with what asks and scores them, frozen beside."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchgen import jobs
from benchgen.author.write import fault
from benchgen.benchmark import registry
from benchgen.benchmark.bundle import Bundle, packed_program
from benchgen.compare.report import BenchmarkView, RunLine, benchmark_page
from benchgen.errors import ConfigError, DataError, InputError, StateError
from benchgen.records.base import PAGE, Record
from benchgen.run import runner
from benchgen.store import (
    BenchmarkRow,
    ModelRow,
    RunRow,
    write_atomic,
)
from benchgen.types import Evaluation, Question, sha256

QUESTIONS, EVALUATION, PROGRAM = "questions.jsonl", "evaluation.json", "program"
FOREIGN = "foreign_scoring_program.zip"
"""The scoring program of an imported bundle that is not one of ours: bytes, never unpacked to be run."""
EDITABLE = ("prompt", "choices", "target", "rationale", "category", "difficulty", "options")
"""Fields of a question that a person may change."""


@lru_cache(maxsize=16)
def _read(path: Path, sha: str, changed: int) -> tuple[Question, ...]:
    """The file's questions; read again once it was `changed` (its time of change in nanoseconds)."""
    return tuple(registry.read_questions(path, sha))


class Benchmark(Record):
    """Questions with the scoring program and evaluation frozen beside them."""

    kind = BenchmarkRow

    @property
    def questions(self) -> list[Question]:
        """The questions in file order, as frozen."""
        path, sha = self.folder / QUESTIONS, str(self.row.questions_sha256)
        edited = path.with_suffix(".edited")
        if (
            edited.exists() and sha256(edited.read_bytes()) == sha
        ):  # its editor was killed at the end
            edited.replace(path)
        changed = path.stat().st_mtime_ns if path.exists() else 0
        return list(_read(path, sha, changed))

    @cached_property
    def evaluation(self) -> Evaluation:
        """How they are asked, as frozen."""
        return registry.read_evaluation(self.folder / EVALUATION, self.row.evaluation_sha256)

    def scorer(self) -> runner.Scorer:
        """The score function of the benchmark's own program."""
        return registry.load_program(self.folder / PROGRAM, {self.row.program_sha256})

    def program(self, name: str = "own") -> tuple[str, str, runner.Scorer]:
        """(version, sha256, score function) of a program: `own`, `latest`, or one of this workspace.

        Those that benchmarks here were frozen with are named by the beginning of their sha256.
        """
        known = {self.row.program_sha256: self.folder / PROGRAM}
        newest = registry.program_sha256(registry.PROGRAM)
        if name not in ("own", "latest"):
            rows = self.place.store.all(BenchmarkRow, BenchmarkRow.state != "writing")
            known |= {
                row.program_sha256: Benchmark(self.place, row.id).folder / PROGRAM for row in rows
            }
        known |= {newest: registry.PROGRAM}
        named = {"own": [self.row.program_sha256], "latest": [newest]}
        found = named.get(name) or [sha for sha in known if len(name) > 5 and sha.startswith(name)]
        if len(found) != 1:
            raise ConfigError(
                f"program={name} names no scoring program of this workspace",
                got=name,
                allowed=["latest", "own", *(sha[:12] for sha in known)],
            )
        score = registry.load_program(known[found[0]], {found[0]})
        return registry.version_of(score), found[0], score

    def bundle(self) -> Bundle:
        """The benchmark as a bundle that travels; a foreign scoring program goes out as it came."""
        foreign = self.folder / FOREIGN
        if foreign.exists():
            program = foreign.read_bytes()
        else:
            _ = self.scorer()  # raises if the frozen program was changed since
            program = packed_program(registry.program_sources(self.folder / PROGRAM))
        return Bundle(self.row.name, tuple(self.questions), self.evaluation, program)

    def view(self) -> BenchmarkView:
        """The benchmark as its page needs it."""
        row = self.row
        return BenchmarkView(
            benchmark_id=self.id,
            name=row.name,
            state=row.state,
            questions=tuple(self.questions),
            evaluation=self.evaluation,
            program_sha256=row.program_sha256,
            evaluation_sha256=row.evaluation_sha256,
            notes=tuple(row.spec["report"].get("warnings") or ()),
            version_of=row.spec.get("version_of"),
            runs=tuple(self._runs()),
        )

    def _runs(self) -> Iterator[RunLine]:
        """Its finished runs, oldest first."""
        mine = sa.and_(RunRow.benchmark_id == self.id, RunRow.state == "finished")
        for row in self.place.store.all(RunRow, mine):
            model, s = self.place.store.get(ModelRow, row.model_id).name, row.summary
            link = str(self.place.path / RunRow.__tablename__ / str(row.id) / PAGE)
            yield RunLine(row.id, model, s["right"], s["scored"], s["asked"], link)

    def edit(self, number: int, **changes: Any) -> Benchmark:
        """Itself with question `number` (from 1) changed; of a published one a new draft, linked to it.

        `changes` are fields of a question: prompt, choices, target, rationale, category, difficulty,
        options. A new target takes the old worked answer away, unless another comes with it. DataError where the question then proves nothing, or is there already.
        """
        self._changed(number, changes)  # what cannot be is refused before anything is touched
        with jobs.record_lock(self.folder):
            questions = self._changed(number, changes)
            if self.row.state == "published":
                return self._next_version(questions)
            edited = (self.folder / QUESTIONS).with_suffix(".edited")
            sha = registry.write_questions(edited, questions)
            self.place.store.change(BenchmarkRow, self.id, "draft", questions_sha256=sha)
            edited.replace(self.folder / QUESTIONS)
            self.write_page()
        return self

    def _changed(self, number: int, changes: dict[str, Any]) -> list[Question]:
        """All questions, with that one changed; InputError or DataError where it cannot be."""
        questions = list(self.questions)
        if not 1 <= number <= len(questions):
            raise InputError(
                f"benchmark {self.id} has no question {number}",
                got=number,
                allowed=f"1 to {len(questions)}",
            )
        unknown = sorted(set(changes) - set(EDITABLE))
        if unknown or not changes:
            raise InputError("a question has no such field", got=unknown, allowed=list(EDITABLE))
        if "target" in changes and "rationale" not in changes:
            changes["rationale"] = ""  # it led to the old answer
        changed = dataclasses.replace(questions[number - 1], **changes)
        try:
            reason = fault(changed, self.evaluation)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            reason = str(error)
        if not reason and changed.key in {
            q.key for i, q in enumerate(questions) if i != number - 1
        }:
            reason = "it is the same as another question of the benchmark"
        if reason:
            raise DataError(f"question {number} cannot be so: {reason}", got=str(changes)[:200])
        questions[number - 1] = changed
        return questions

    def _next_version(self, questions: list[Question]) -> Benchmark:
        """A draft with these questions, and this benchmark's evaluation and scoring program."""
        row = self.row
        spec = {**row.spec, "version_of": self.id}
        copied = ("name", "kind", "questions", "evaluation_sha256", "program_sha256")
        new = BenchmarkRow(
            owner=self.place.user,
            state="writing",
            spec=spec,
            questions_sha256="",
            **{name: getattr(row, name) for name in copied},
        )
        made = Benchmark(self.place, self.place.store.add(new).id)
        sha = registry.write_questions(made.folder / QUESTIONS, questions)
        registry.write_evaluation(made.folder / EVALUATION, self.evaluation)
        _ = self.scorer()  # raises if the frozen program was changed since
        registry.copy_program(
            made.folder / PROGRAM, registry.program_sources(self.folder / PROGRAM)
        )
        self.place.store.change(
            BenchmarkRow, made.id, "writing", state="draft", questions_sha256=sha
        )
        made.write_page()
        return made

    def write_page(self) -> None:
        """Its page, with the runs so far."""
        write_atomic(self.folder / PAGE, benchmark_page(self.view()))

    def publish(self) -> Benchmark:
        """Itself, published: from now on it never changes and can be run."""
        if self.row.state != "draft":
            raise StateError(
                f"benchmark {self.id} is {self.row.state} and cannot be published",
                got=self.row.state,
                allowed=["draft"],
            )
        _ = self.questions, self.evaluation  # raises if a frozen file was changed since
        self.place.store.change(BenchmarkRow, self.id, "draft", state="published")
        self.write_page()
        return self
