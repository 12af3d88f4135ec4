"""A benchmark: questions with what asks and scores them, frozen beside."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from benchgen import jobs
from benchgen.benchmark import registry
from benchgen.benchmark.bundle import Bundle, packed_program
from benchgen.compare.report import BenchmarkView, RunLine, benchmark_page
from benchgen.errors import BenchgenError, ConfigError, StateError
from benchgen.records import showing
from benchgen.records.base import PAGE, Place, Record
from benchgen.records.editing import changed, check_name
from benchgen.run import runner
from benchgen.store import (
    BenchmarkRow,
    ModelRow,
    PlanRow,
    RunRow,
    WriteRow,
    write_atomic,
)
from benchgen.types import Evaluation, Question, sha256

QUESTIONS, EVALUATION, PROGRAM = "questions.jsonl", "evaluation.json", "program"
FOREIGN = "foreign_scoring_program.zip"
"""The scoring program of an imported bundle that is not one of ours: bytes, never unpacked to be run."""


@lru_cache(maxsize=16)
def _read(path: Path, sha: str, changed: int) -> tuple[Question, ...]:
    """The file's questions; read again once it was `changed` (its time of change in nanoseconds)."""
    return tuple(registry.read_questions(path, sha))


class Benchmark(Record):
    """Questions with the scoring program and evaluation frozen beside them."""

    kind = BenchmarkRow

    def _repr_html_(self) -> str:
        return showing.benchmark_html(self)

    @property
    def state(self) -> str:
        """draft, published, writing, or failed: its process is gone before it was a draft."""
        state = str(self.row.state)
        if state == "writing" and not jobs.held(self.folder):
            state = str(self.row.state)  # it may have ended between the two looks
            return "failed" if state == "writing" else state
        return state

    def check_published(self, does: str) -> None:
        """StateError for a draft; `does` is what only a published one may: runs, is asked."""
        if self.row.state != "published":
            raise StateError(
                f"benchmark {self.id} is a {self.row.state}: only a published one {does}",
                got=self.row.state,
                allowed=["published"],
                next=f"benchgen publish benchmark_id={self.id}",
            )

    def check_whole(self) -> None:
        """StateError unless all of it was written."""
        state = self.state
        if state in ("writing", "failed"):
            made_by = self.place.store.all(WriteRow, WriteRow.benchmark_id == self.id)
            again = f"benchgen resume write_id={made_by[0].id}" if made_by else "create it again"
            raise StateError(
                f"benchmark {self.id} is {state}: its files are not all there",
                got=state,
                allowed=["draft", "published"],
                next="benchgen benchmarks shows when it is"
                if state == "writing"
                else f"{again}; benchgen delete benchmark_id={self.id} takes this one away",
            )

    @property
    def questions(self) -> list[Question]:
        """The questions in file order, as frozen."""
        path, sha = self.folder / QUESTIONS, str(self.row.questions_sha256)
        if not sha:
            self.check_whole()
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
            page = Path(RunRow.__tablename__) / str(row.id) / PAGE  # seen from this one's own page
            link = f"../../{page}" if (self.place.path / page).is_file() else ""
            counts, (low, high) = (s["right"], s["scored"], s["asked"]), s["ci"]
            yield RunLine(row.id, model, *counts, s["score"], (low, high), link)

    def edit(self, number: int, **changes: Any) -> Benchmark:
        """Itself with question `number` (from 1) changed; of a published one a new draft, linked to it.

        `changes` are fields of a question, as `editing.changed` takes them. DataError where the question
        then proves nothing, or is there already.
        """
        self.check_whole()
        changed(self.id, self.questions, number, changes, self.evaluation)
        # so far nothing was touched, and what cannot be was refused
        with jobs.record_lock(self.folder):
            questions = changed(self.id, self.questions, number, changes, self.evaluation)
            if self.row.state == "published":
                return self._next_version(questions)
            edited = (self.folder / QUESTIONS).with_suffix(".edited")
            sha = registry.write_questions(edited, questions)
            self.place.store.change(BenchmarkRow, self.id, "draft", questions_sha256=sha)
            edited.replace(self.folder / QUESTIONS)
            self.write_page()
        return self

    def _next_version(self, questions: list[Question]) -> Benchmark:
        """A draft with these questions, and this benchmark's evaluation and scoring programs."""
        row = self.row
        _ = self.scorer()  # raises if the frozen program was changed since
        program = registry.program_sources(self.folder / PROGRAM)
        copied = ("name", "kind", "questions", "evaluation_sha256", "program_sha256")
        new = BenchmarkRow(
            owner=self.place.user,
            state="writing",
            spec={**row.spec, "version_of": self.id},
            questions_sha256="",
            **{name: getattr(row, name) for name in copied},
        )
        with begun(self.place, new) as made:
            sha = registry.write_questions(made.folder / QUESTIONS, questions)
            registry.write_evaluation(made.folder / EVALUATION, self.evaluation)
            registry.copy_program(made.folder / PROGRAM, program)
            if (self.folder / FOREIGN).exists():  # it goes out again on export, of this version too
                write_atomic(made.folder / FOREIGN, (self.folder / FOREIGN).read_bytes())
            self.place.store.change(
                BenchmarkRow, made.id, "writing", state="draft", questions_sha256=sha
            )
            made.write_page()
        return made

    def rename(self, name: str) -> Benchmark:
        """Itself, a draft, under another name; a published one keeps its own."""
        check_name(name)
        with jobs.record_lock(self.folder):
            self._check_draft("renamed")
            self.place.store.change(BenchmarkRow, self.id, "draft", name=name)
            self.write_page()
        return self

    def delete(self) -> None:
        """Take away a draft, or what a killed process left of one, with its files.

        StateError for a published one. A model's writing that made it can make it again (`resume`).
        """
        with jobs.record_lock(self.folder):
            if self.row.state != "writing":  # of a dead process: a living one holds the lock
                self._check_draft("deleted")
            _discard(self.place, self.id)

    def unpublish(self) -> Benchmark:
        """Itself, a draft again; StateError unless it is published and nothing rests on it.

        Runs and trainings name it by its id and what it then was, so with any of them it stays.
        """
        self.place.allow("publish")
        with jobs.record_lock(self.folder), self.place.store.write() as session:
            row = session.get_one(BenchmarkRow, self.id)
            if row.state != "published":
                raise StateError(
                    f"benchmark {self.id} is {row.state}: only a published one is taken back",
                    got=row.state,
                    allowed=["published"],
                )
            resting = self._resting(session)
            if resting:
                raise StateError(
                    f"benchmark {self.id} stays published: it is used by {resting}",
                    got=resting,
                    allowed="a benchmark that no run and no plan uses",
                    next=f"benchgen edit benchmark_id={self.id} makes a changed copy of it, a draft",
                )
            row.state = "draft"
        self.write_page()
        return self

    def _resting(self, session: Session) -> str:
        """What uses it, in words: its runs, and plans that train or stop by it; empty where nothing does."""
        runs = session.scalars(sa.select(RunRow.id).where(RunRow.benchmark_id == self.id)).all()
        query = sa.select(PlanRow).where(PlanRow.state != "cancelled")
        plans = [row.id for row in session.scalars(query) if self.id in _named(row.plan)]
        return " and ".join(
            f"{name}{'s' * (len(ids) > 1)} {', '.join(map(str, ids[:5]))}{', …' * (len(ids) > 5)}"
            for name, ids in (("run", runs), ("plan", plans))
            if ids
        )

    def _check_draft(self, done: str) -> None:
        state = self.row.state
        if state == "draft":
            return
        with self.place.store.read() as session:
            resting = self._resting(session)
        mend = f"benchgen unpublish benchmark_id={self.id} makes it a draft again"
        if resting:
            mend = f"it stays, since it is used by {resting}; benchgen edit makes a changed copy"
        raise StateError(
            f"benchmark {self.id} is {state} and cannot be {done}",
            got=state,
            allowed=["draft"],
            next=mend if state == "published" and done != "published" else "",
        )

    def write_page(self) -> None:
        """Its page, with the runs so far."""
        write_atomic(self.folder / PAGE, benchmark_page(self.view()))

    def publish(self) -> Benchmark:
        """Itself, published: from now on it never changes and can be run."""
        self.place.allow("publish")
        self.check_whole()
        self._check_draft("published")
        _ = self.questions, self.evaluation  # raises if a frozen file was changed since
        self.place.store.change(BenchmarkRow, self.id, "draft", state="published")
        self.write_page()
        return self


def _named(plan: dict[str, Any]) -> set[Any]:
    """Ids of the benchmarks that a plan rewards by, asks on the way, or checks a merge with."""
    data, settings = plan.get("dataset") or {}, plan.get("hyperparameters") or {}
    asked = data.get("held_out") or {}
    return {data.get("benchmark"), settings.get("benchmark"), asked.get("benchmark")} - {None}


@contextmanager
def begun(place: Place, row: BenchmarkRow, write_id: int | None = None) -> Iterator[Benchmark]:
    """A new benchmark whose files the block writes, its lock held meanwhile; gone again if that fails.

    `write_id` is the model's writing that it is made of: it notes the benchmark in the same transaction.
    """
    with ExitStack() as lock:
        with place.store.write() as session:
            session.add(row)
            session.flush()
            if write_id is not None:
                session.get_one(WriteRow, write_id).benchmark_id = row.id
            bench = Benchmark(place, row.id)
            # before anybody can see the row: one that nobody holds is a dead process's
            lock.enter_context(jobs.record_lock(bench.folder, wait=True))
        try:
            yield bench
        except BaseException:
            if bench.row.state == "writing":
                with suppress(BenchgenError):  # a full disk: it stays, and is shown as failed
                    _discard(place, bench.id)
            raise


def _discard(place: Place, id: int) -> None:
    """Take away a benchmark's row, what a writing notes of it, and its files."""
    with place.store.write() as session:
        session.execute(
            sa.update(WriteRow).where(WriteRow.benchmark_id == id).values(benchmark_id=None)
        )
        session.execute(sa.delete(BenchmarkRow).where(BenchmarkRow.id == id))
    shutil.rmtree(Benchmark(place, id).folder, ignore_errors=True)
