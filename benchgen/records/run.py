"""A run: one model on one benchmark."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from benchgen import jobs
from benchgen.benchmark.exchange.inspect_log import RunLog
from benchgen.compare import cautions
from benchgen.compare.views import RunView
from benchgen.errors import InputError, StateError, StoreError
from benchgen.models import catalogue
from benchgen.records import showing
from benchgen.records.base import Record
from benchgen.records.benchmark import Benchmark
from benchgen.run.log import TraceLog
from benchgen.run.rescore import Rescoring, Scored, rescore
from benchgen.rundata.pages import RunPages
from benchgen.rundata.select import frame
from benchgen.store import (
    ModelRow,
    RunRow,
    file_sha256,
    write_jsonl,
)
from benchgen.types import UNDER_WAY, Question, Trace

ASKER = "benchgen.asker"
"""The module of a run's own process."""


def processing(done: int, total: int) -> str:
    """How far a run is: `Processing: 10/100 (10%)`."""
    return f"Processing: {done}/{total} ({done * 100 // max(1, total)}%)"


class Model(Record):
    """A catalogue entry."""

    kind = ModelRow


class Run(Record):
    """One model on one benchmark."""

    kind = RunRow

    def _repr_html_(self) -> str:
        return showing.run_html(self)

    @property
    def state(self) -> str:
        """queued, running, finished, failed, or interrupted: its process is gone before it ended."""
        state = str(self.row.state)
        if state in UNDER_WAY and not jobs.alive(self.folder):
            state = str(self.row.state)  # it may have ended between the two looks
            return "interrupted" if state in UNDER_WAY else state
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
    def done(self) -> tuple[int, int]:
        """(replies that are there, replies asked for)."""
        return len(self.traces()), len(self.questions) * self.row.settings.get("repeats", 1)

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

    def traces(self) -> TraceLog:
        """Every trace so far, in question order, read from the disk when looked at."""
        path, row = self.folder / "traces.jsonl", self.row
        if row.state == "finished":
            found = file_sha256(path) if path.exists() else "no file"
            if found != row.traces_sha256:
                raise StoreError(
                    f"traces.jsonl of run {self.id} was changed since it finished",
                    got=found[:12],
                    allowed=[row.traces_sha256[:12]],
                    next="restore the run's folder from a backup, or run again",
                )
        return TraceLog(path, [q.key for q in self.questions])

    def dataset(self, mode: str = "failures", rows: int | None = None) -> pl.DataFrame:
        """The run dataset: one row a question of the mode, the first `rows` of them."""
        self.check_finished()
        if rows is not None and rows < 0:
            raise InputError(f"rows={rows} cannot be shown", got=rows, allowed="0 or more")
        table = frame(self.questions, self.traces(), mode)
        return table if rows is None else table.head(rows)

    def pages(self) -> RunPages:
        """The run's replies page by page, filtered, read from its Parquet file: any number of them."""
        self.check_finished()
        return RunPages(self.folder / "traces.parquet", self.questions)

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

    def stop(self) -> Run:
        """Itself, its process in the background ended: `resume` goes on. StateError where there is none to end."""
        state = self.state
        if state not in UNDER_WAY:
            raise StateError(f"run {self.id} is {state}: nothing to stop", got=state)
        if not jobs.runs_as(self.folder, ASKER):
            raise StateError(
                f"run {self.id} is not in the background: ending it would end the notebook or shell it is in",
                got=state,
                next="interrupt it where it was started",
            )
        jobs.stop(self.folder)
        return self

    def check_finished(self) -> None:
        """StateError unless the run is finished."""
        state = self.state
        if state != "finished":
            raise StateError(
                f"run {self.id} is {state}: it has no score and no dataset yet",
                got=state,
                allowed=["finished"],
                next=f"benchgen resume run_id={self.id}"
                if state not in UNDER_WAY
                else f"benchgen status run_id={self.id}",
            )

    def status(self) -> dict[str, Any]:
        """state with progress; score, interval and breakdown once finished."""
        state = self.state
        told: dict[str, Any] = {"run": self.id, "link": self.link, "state": state}
        told["model"] = self.model.row.name
        if state == "finished":
            row = self.row
            told |= {**row.summary, "seconds": row.seconds, "notes": row.settings.get("notes", [])}
            if advice := self.advice():
                told["advice"] = advice
            if self.traces().unanswered:
                told["next"] = f"benchgen resume run_id={self.id} retry_errors=yes"
            return told
        told["done"], told["asked"] = self.done
        told["progress"] = processing(told["done"], told["asked"])
        if self.row.error:
            told["error"] = self.row.error
        if state not in UNDER_WAY:
            told["next"] = f"benchgen resume run_id={self.id}"
        return told

    def advice(self) -> list[str]:
        """Sentences on what of its score is surprising, each with the look that tells why; [] of a reference."""
        if self.model.row.kind == "reference":
            return []
        options = {len(q.choices) if q.kind == "mcq" else 0 for q in self.questions}
        alike = options.pop() if len(options) == 1 else 0
        return cautions.of_run(self.id, self.summary, alike or None)

    def view(self, program: str | None = None) -> RunView:
        """The run as comparisons and pages need it, scored by its own program or by another one."""
        bench, model = self.benchmark, self.model.row
        traces: Sequence[Trace] = self.traces()
        sha = str(bench.row.program_sha256)
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
            settings=dict(self.row.settings),
            version_of=bench.row.spec.get("version_of"),
        )
