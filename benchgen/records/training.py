"""A plan and the job that it became."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

import polars as pl

from benchgen import jobs
from benchgen.errors import StateError
from benchgen.plan import gate
from benchgen.records import showing
from benchgen.records.base import Record
from benchgen.records.run import Model
from benchgen.store import (
    JobRow,
    PlanRow,
    now,
    read_jsonl,
)
from benchgen.types import UNDER_WAY, Plan


class PlanRecord(Record):
    """A recorded plan."""

    kind = PlanRow

    def _repr_html_(self) -> str:
        return showing.plan_html(self)

    def __str__(self) -> str:
        """What would run, a line a setting; `table()` has it as a table."""
        lines = (
            f"{row['setting']}: {row['value']}" + f" ({row['basis']})" * bool(row["basis"])
            for row in self.table().to_dicts()
        )
        return "\n".join((f"plan {self.id} ({self.row.state})", *lines))

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
            {"setting": f"estimated {k}", "value": e.words.removeprefix("about "), "basis": e.basis}
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


class Job(Record):
    """A confirmed plan at work in its own process."""

    kind = JobRow

    def _repr_html_(self) -> str:
        return showing.job_html(self)

    @property
    def state(self) -> str:
        """queued, running, finished, failed, stopped; one whose process is gone is failed."""
        state = str(self.row.state)
        if state in UNDER_WAY and not jobs.alive(self.folder):
            state = str(self.row.state)  # it may have ended between the two looks
            return "failed" if state in UNDER_WAY else state
        return state

    @property
    def plan(self) -> Plan:
        """The plan that it carries out; StateError if that was changed since it was shown."""
        return gate.load(self.place.store.get(PlanRow, self.row.plan_id))

    @property
    def model(self) -> Model | None:
        """The trained model, once it landed."""
        id = self.row.model_id
        return Model(self.place, id) if id else None

    @property
    def planned_steps(self) -> int:
        """Steps that its plan expects; 0 where it expects none, as for a merge."""
        plan = self.place.store.get(PlanRow, self.row.plan_id).plan
        return round(float(plan["estimates"].get("steps", {"value": 0})["value"]))

    def metrics(self) -> list[dict[str, Any]]:
        """One row a step: step, loss and what else the trainer logged, held-out scores among it.

        A resumed training does the steps after its last checkpoint again; the later values hold.
        """
        rows: dict[int, dict[str, Any]] = {}
        for row in read_jsonl(self.folder / "metrics.jsonl"):
            rows.setdefault(row["step"], {}).update(row)
        return [rows[step] for step in sorted(rows)]

    def status(self) -> dict[str, Any]:
        """state, step of steps, newest loss; result when finished, last lines when failed."""
        state = self.state  # first: what came of it is recorded with the state
        row, metrics = self.row, self.metrics()
        told: dict[str, Any] = {"job": self.id, "plan": row.plan_id, "state": state}
        steps = [m for m in metrics if "loss" in m]
        if steps:
            told |= {"step": steps[-1]["step"], "loss": steps[-1]["loss"]}
        if state == "running" and (left := self._seconds_left(steps)) is not None:
            told["seconds_left"] = left
        if state == "finished":
            model = self.model
            told |= {"model": model.row.name if model else None, **row.result}
        if state == "failed":
            told |= {"error": row.error or "its process is gone", "log": self.logs(5)}
        if state in ("failed", "stopped"):
            told["next"] = f"benchgen resume job_id={self.id}"
        return told

    def _seconds_left(self, steps: list[dict[str, Any]]) -> int | None:
        """By the speed of the steps since it was last begun; None before two of them are done."""
        last = steps[-1:]
        for row in reversed(steps[:-1]):
            if "seconds" not in row or row["seconds"] >= last[0].get("seconds", 0):
                break  # an earlier process's clock
            last.insert(0, row)
        if len(last) < 2:
            return None
        spent = last[-1]["seconds"] - last[0]["seconds"]
        total = self.planned_steps
        done = last[-1]["step"] - last[0]["step"]
        return round(spent / done * max(0, total - last[-1]["step"])) if done > 0 else None

    def resume(self) -> Job:
        """Itself, started again from its last checkpoint; StateError unless it failed or was stopped."""
        self.place.allow("push" if self.plan.job_type == "publish" else "train")
        state, stored = self.state, str(self.row.state)
        if state not in ("failed", "stopped"):
            raise StateError(f"job {self.id} is {state}", got=state, allowed=["failed", "stopped"])
        # of two resumes at once only one finds the state as it was: a dead worker leaves `running`
        moved = "queued" if stored != "queued" else "running"
        self.place.store.change(JobRow, self.id, stored, state=moved, error="")
        self.place.start(self.id, self.folder, "benchgen.worker")
        return self

    def stop(self) -> Job:
        """Itself, its process ended; as it is if it ended by itself meanwhile."""
        state = self.state
        if state not in UNDER_WAY:
            raise StateError(f"job {self.id} is {state}: nothing to stop", got=state)
        jobs.stop(self.folder)
        left = str(self.row.state)
        if left in UNDER_WAY:
            self.place.store.change(JobRow, self.id, left, state="stopped", finished=now())
        return self

    def wait(
        self, on_metrics: Callable[[dict[str, Any]], None] | None = None, poll_s: float = 0.5
    ) -> Job:
        """Itself, once it has ended; StateError with its last log lines if it failed.

        Interrupted, only the waiting ends: the job goes on.
        """
        with jobs.going_on(f"benchgen status job_id={self.id}"):
            return self._waited(on_metrics, poll_s)

    def _waited(self, on_metrics: Callable[[dict[str, Any]], None] | None, poll_s: float) -> Job:
        told = 0
        while True:
            state = self.state
            rows = self.metrics()
            for row in rows if on_metrics else []:
                if row["step"] > told:
                    on_metrics(row)  # type: ignore[misc]
                    told = row["step"]
            if state not in UNDER_WAY:
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
    if "adapter" in plan.base:
        adapter = plan.base["adapter"]
        rows.append(("adapter", f"{adapter['name']} of job {adapter['job']}"))
    for part in ("dataset", "hyperparameters", "device"):
        rows += [(f"{part}: {key}", value) for key, value in sorted(fields[part].items())]
    return rows
