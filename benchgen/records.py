"""Handles on records: a benchmark, run, model, plan or job by its id, with its files.

A handle holds no state of its own: its row is read when asked for, so that what another process did
is seen at once.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from benchgen import jobs
from benchgen.author.drafts import assignment, spec_of
from benchgen.author.parts import Written, read_parts
from benchgen.author.write import Draft, fault
from benchgen.benchmark import registry
from benchgen.benchmark.bundle import Bundle, packed_program
from benchgen.benchmark.exchange.inspect_log import RunLog
from benchgen.compare.paired import RunView
from benchgen.compare.report import BenchmarkView, RunLine, benchmark_page
from benchgen.config import BenchmarkConfig
from benchgen.errors import ConfigError, DataError, InputError, StateError, StoreError
from benchgen.models import catalogue
from benchgen.plan import gate
from benchgen.run import runner
from benchgen.run.rescore import Rescoring, Scored, rescore
from benchgen.rundata.select import frame
from benchgen.store import (
    BenchmarkRow,
    JobRow,
    ModelRow,
    PlanRow,
    RunRow,
    Store,
    WriteRow,
    now,
    read_json,
    read_jsonl,
    write_atomic,
    write_jsonl,
)
from benchgen.types import Evaluation, Plan, Question, Trace, sha256

PAGE = "index.html"
QUESTIONS, EVALUATION, PROGRAM = "questions.jsonl", "evaluation.json", "program"
DOUBTFUL = "doubtful.json"
"""Of a writing: the keys that a blind solve disputes."""
FOREIGN = "foreign_scoring_program.zip"
"""The scoring program of an imported bundle that is not one of ours: bytes, never unpacked to be run."""


EDITABLE = ("prompt", "choices", "target", "rationale", "category", "difficulty", "options")
"""Fields of a question that a person may change."""


@lru_cache(maxsize=16)
def _read(path: Path, sha: str, changed: int) -> tuple[Question, ...]:
    """The file's questions; read again once it was `changed` (its time of change in nanoseconds)."""
    return tuple(registry.read_questions(path, sha))


@dataclass(frozen=True)
class Place:
    """Where records live, and who acts."""

    path: Path
    store: Store
    user: str


class _Record:
    """One record by id: its row is read when asked for, so it is never stale."""

    kind: type[Any]
    """The table of its row."""

    def __init__(self, place: Place, id: int) -> None:
        self.place = place
        self.id = id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    @property
    def row(self) -> Any:
        return self.place.store.get(self.kind, self.id)

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.place.path / str(self.kind.__tablename__) / str(self.id)

    def logs(self, lines: int = 20) -> list[str]:
        """The last lines that its process wrote; [] where it has none."""
        if lines < 0:
            raise InputError(f"lines={lines} cannot be shown", got=lines, allowed="0 or more")
        return jobs.tail(self.folder, lines)

    @property
    def link(self) -> str:
        """Path of its self-contained HTML page."""
        return str(self.folder / PAGE)


class Benchmark(_Record):
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
            run = Run(self.place, row.id)
            s = row.summary
            yield RunLine(run.id, run.model.row.name, s["right"], s["scored"], s["asked"], run.link)

    def edit(self, number: int, **changes: Any) -> Benchmark:
        """Itself with question `number` (from 1) changed; of a published one a new draft, linked to it.

        `changes` are fields of a question: prompt, choices, target, rationale, category, difficulty,
        options. DataError where the question then proves nothing, or is there already.
        """
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
        changed = dataclasses.replace(questions[number - 1], **changes)
        reason = fault(changed, self.evaluation)
        if not reason and changed.key in {
            q.key for i, q in enumerate(questions) if i != number - 1
        }:
            reason = "it is the same as another question of the benchmark"
        if reason:
            raise DataError(f"question {number} cannot be so: {reason}", got=str(changes)[:200])
        questions[number - 1] = changed
        if self.row.state == "published":
            return self._next_version(questions)
        edited = (self.folder / QUESTIONS).with_suffix(".edited")
        sha = registry.write_questions(edited, questions)
        self.place.store.change(BenchmarkRow, self.id, "draft", questions_sha256=sha)
        edited.replace(self.folder / QUESTIONS)
        self.write_page()
        return self

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


class Write(_Record):
    """A benchmark being written by a model, part by part."""

    kind = WriteRow

    @property
    def spec(self) -> BenchmarkConfig:
        """The config it is written by."""
        return spec_of(self.row.spec)

    @property
    def state(self) -> str:
        """begun, waiting (for `resume`), writing, finished, or failed with all that was written kept."""
        state = str(self.row.state)
        return "writing" if state != "finished" and jobs.alive(self.folder) else state

    def written(self) -> Written:
        """The questions and refused candidates so far."""
        return read_parts(self.folder)

    def draft(self) -> Draft:
        """The draft; StateError until all questions are written."""
        if self.row.state != "finished":
            raise StateError(
                f"write {self.id} is {self.state}: {len(self.written().questions)} of {self.row.wanted} questions",
                got=self.state,
                allowed=["finished"],
                next=f"benchgen resume write_id={self.id}",
            )
        return assignment(self.spec).draft(self.written(), read_json(self.folder / DOUBTFUL))

    def status(self) -> dict[str, Any]:
        """state, how many of how many questions, the benchmark once it is made, the newest error."""
        row = self.row
        told = {
            "write": self.id,
            "state": self.state,
            "written": len(self.written().questions),
            "wanted": row.wanted,
            "benchmark": row.benchmark_id,
        }
        return {**told, "error": row.error} if row.error else told


class Model(_Record):
    """A catalogue entry."""

    kind = ModelRow


class Run(_Record):
    """One model on one benchmark."""

    kind = RunRow

    @property
    def state(self) -> str:
        """running, finished, failed, or interrupted: its process is gone before it ended."""
        state = str(self.row.state)
        if state == "running" and not jobs.alive(self.folder):
            return "interrupted"
        return state

    @property
    def benchmark(self) -> Benchmark:
        return Benchmark(self.place, self.row.benchmark_id)

    @property
    def model(self) -> Model:
        return Model(self.place, self.row.model_id)

    @property
    def questions(self) -> list[Question]:
        """Those that this run asks."""
        return self.benchmark.questions[: self.row.settings.get("limit")]

    @property
    def score(self) -> float | None:
        """Right of scored, in [0, 1]; None when nothing was scored."""
        return self.summary["score"]  # type: ignore[no-any-return]

    @property
    def ci(self) -> tuple[float, float]:
        """Wilson 95 % interval of the score."""
        low, high = self.summary["ci"]
        return low, high

    @property
    def by_category(self) -> dict[str, Any]:
        """{category: {right, scored, asked, score, ci}}."""
        return self.summary["by_category"]  # type: ignore[no-any-return]

    @property
    def summary(self) -> dict[str, Any]:
        """`metrics.summary`: score, ci, right, scored, asked, strict, by_category, by_status, tokens …"""
        self.check_finished()
        return self.row.summary  # type: ignore[no-any-return]

    def traces(self) -> list[Trace]:
        """Every trace so far, in question order."""
        path, row = self.folder / "traces.jsonl", self.row
        if row.state == "finished":
            found = sha256(path.read_bytes()) if path.exists() else "no file"
            if found != row.traces_sha256:
                raise StoreError(
                    f"traces.jsonl of run {self.id} was changed since it finished",
                    got=found[:12],
                    allowed=[row.traces_sha256[:12]],
                    next="restore the run's folder from a backup, or run again",
                )
        done = runner.load_traces(path)
        return [done[q.key] for q in self.questions if q.key in done]

    def dataset(self, mode: str = "failures", rows: int | None = None) -> pl.DataFrame:
        """The run dataset: one row a question of the mode, the first `rows` of them."""
        self.check_finished()
        if rows is not None and rows < 0:
            raise InputError(f"rows={rows} cannot be shown", got=rows, allowed="0 or more")
        table = frame(self.questions, self.traces(), mode)
        return table if rows is None else table.head(rows)

    def log(self) -> RunLog:
        """The run as other tools' logs need it."""
        row, bench = self.row, self.benchmark
        return RunLog(
            name=bench.row.name,
            model=self.model.row.name,
            created=row.created,
            questions=tuple(self.questions),
            traces=tuple(self.traces()),
            evaluation=bench.evaluation,
            program_sha256=bench.row.program_sha256,
            config=dict(row.settings),
            finished=row.finished or "",
        )

    def rescore(self, program: str = "latest") -> Rescoring:
        """The stored replies under another scoring program beside the run's own verdicts.

        `program` is latest, own, or the beginning of a sha256. The run stays as it is; the other
        verdicts are kept in its folder.
        """
        self.check_finished()
        bench = self.benchmark
        version, sha, _ = bench.program("own")
        own = Scored(version, sha, tuple(self.traces()))
        found = rescore(self.id, self.questions, own, bench.program(program))
        write_jsonl(self.folder / "rescored" / f"{found.other.sha256[:12]}.jsonl", found.lines())
        return found

    def check_finished(self) -> None:
        """StateError unless the run is finished."""
        state = self.state
        if state != "finished":
            raise StateError(
                f"run {self.id} is {state}: it has no score and no dataset yet",
                got=state,
                allowed=["finished"],
                next=f"benchgen resume run_id={self.id}"
                if state != "running"
                else f"benchgen status run_id={self.id}",
            )

    def status(self) -> dict[str, Any]:
        """state with progress; score, interval and breakdown once finished."""
        state = self.state
        told: dict[str, Any] = {"run": self.id, "link": self.link, "state": state}
        if state == "finished":
            row = self.row
            return {**told, **row.summary, "seconds": row.seconds}
        told["asked"] = len(self.questions)
        told["done"] = len(runner.load_traces(self.folder / "traces.jsonl"))
        return {**told, "error": self.row.error} if self.row.error else told

    def view(self, program: str | None = None) -> RunView:
        """The run as comparisons and pages need it, scored by its own program or by another one."""
        bench, model = self.benchmark, self.model.row
        traces, sha = tuple(self.traces()), str(bench.row.program_sha256)
        if program is not None:
            other = self.rescore(program).other
            traces, sha = other.traces, other.sha256
        return RunView(
            run_id=self.id,
            model=model.name,
            model_kind=model.kind,
            benchmark_id=bench.id,
            benchmark=bench.row.name,
            program_sha256=sha,
            evaluation_sha256=bench.row.evaluation_sha256,
            questions=tuple(self.questions),
            traces=traces,
            seen=frozenset(catalogue.seen_keys(self.place.store, model)),
            link=self.link,
        )


class PlanRecord(_Record):
    """A recorded plan."""

    kind = PlanRow

    @property
    def plan(self) -> Plan:
        """The plan itself; StateError if it was changed since it was shown."""
        return gate.load(self.row)

    @property
    def hash(self) -> str:
        return str(self.row.hash)

    def rows(self) -> list[dict[str, Any]]:
        """The frozen training rows."""
        return read_jsonl(self.folder / "rows.jsonl")

    def table(self) -> pl.DataFrame:
        """The plan as a person reads it: columns setting, value, basis (of an estimate)."""
        plan = self.plan
        rows = [{"setting": k, "value": str(v), "basis": ""} for k, v in plan_settings(plan)]
        rows += [
            {"setting": f"estimated {k}", "value": f"{e.value:,.0f} {e.unit}", "basis": e.basis}
            for k, e in plan.estimates.items()
        ]
        rows += [{"setting": "warning", "value": w, "basis": ""} for w in plan.warnings]
        return pl.DataFrame([{"setting": "hash", "value": self.hash, "basis": ""}, *rows])

    def summary(self) -> dict[str, Any]:
        """Everything the plan says, flat enough to print: what the person confirms."""
        plan = self.plan
        told = plan.to_dict()
        told["seen"], told["warnings"] = len(plan.seen), list(plan.warnings)
        return {"plan": self.id, "hash": self.hash, "state": self.row.state, **told}


class Job(_Record):
    """A confirmed plan at work in its own process."""

    kind = JobRow

    @property
    def state(self) -> str:
        """queued, running, finished, failed, stopped; one whose process is gone is failed."""
        state = str(self.row.state)
        if state in ("queued", "running") and not jobs.alive(self.folder):
            state = str(self.row.state)  # it may have ended between the two looks
            return "failed" if state in ("queued", "running") else state
        return state

    @property
    def model(self) -> Model | None:
        """The trained model, once it landed."""
        id = self.row.model_id
        return Model(self.place, id) if id else None

    def metrics(self) -> list[dict[str, Any]]:
        """One row a step: step, loss and what else the trainer logged.

        A resumed training does the steps after its last checkpoint again; the later row holds.
        """
        rows = {row["step"]: row for row in read_jsonl(self.folder / "metrics.jsonl")}
        return [rows[step] for step in sorted(rows)]

    def status(self) -> dict[str, Any]:
        """state, step of steps, newest loss; result when finished, last lines when failed."""
        row, state, metrics = self.row, self.state, self.metrics()
        told: dict[str, Any] = {"job": self.id, "plan": row.plan_id, "state": state}
        steps = [m for m in metrics if "loss" in m]
        if steps:
            told |= {"step": steps[-1]["step"], "loss": steps[-1]["loss"]}
        if state == "finished":
            model = self.model
            told |= {"model": model.row.name if model else None, **row.result}
        if state == "failed":
            told |= {"error": row.error or "its process is gone", "log": self.logs(5)}
        return told

    def resume(self) -> Job:
        """Itself, started again from its last checkpoint; StateError unless it failed or was stopped."""
        state, stored = self.state, str(self.row.state)
        if state not in ("failed", "stopped"):
            raise StateError(f"job {self.id} is {state}", got=state, allowed=["failed", "stopped"])
        # of two resumes at once only one finds the state as it was: a dead worker leaves `running`
        moved = "queued" if stored != "queued" else "running"
        self.place.store.change(JobRow, self.id, stored, state=moved, error="")
        jobs.spawn(self.place.path, self.id, self.folder)
        return self

    def stop(self) -> Job:
        """Itself, its process ended; as it is if it ended by itself meanwhile."""
        state = self.state
        if state not in ("queued", "running"):
            raise StateError(f"job {self.id} is {state}: nothing to stop", got=state)
        jobs.stop(self.folder)
        left = str(self.row.state)
        if left in ("queued", "running"):
            self.place.store.change(JobRow, self.id, left, state="stopped", finished=now())
        return self

    def wait(
        self, on_metrics: Callable[[dict[str, Any]], None] | None = None, poll_s: float = 0.5
    ) -> Job:
        """Itself, once it has ended; StateError with its last log lines if it failed."""
        told = 0
        while True:
            state = self.state
            rows = self.metrics()
            for row in rows if on_metrics else []:
                if row["step"] > told:
                    on_metrics(row)  # type: ignore[misc]
                    told = row["step"]
            if state not in ("queued", "running"):
                break
            time.sleep(poll_s)
        if state != "finished":
            raise StateError(
                f"job {self.id} {state}: {self.row.error or ' | '.join(self.logs(3))}",
                got=state,
                allowed=["finished"],
                next=f"benchgen logs job_id={self.id}, then benchgen resume job_id={self.id}",
            )
        return self


def plan_settings(plan: Plan) -> list[tuple[str, Any]]:
    """(setting, value) of everything that would run, in a fixed order, for tables and panels."""
    fields = dataclasses.asdict(plan)
    rows: list[tuple[str, Any]] = [
        ("job_type", plan.job_type),
        ("base_model", plan.base_model),
        ("model", plan.name),
    ]
    for part in ("dataset", "hyperparameters", "device"):
        rows += [(f"{part}: {key}", value) for key, value in sorted(fields[part].items())]
    return rows
