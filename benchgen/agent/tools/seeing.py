"""The workspace as a brain may see it: lists of its records, read in milliseconds, no trace and no file but small ones."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

import yaml

from benchgen import config
from benchgen.agent.situation import BenchmarkSeen, JobSeen, ModelSeen, RunSeen, Situation
from benchgen.agent.tools.desk import FILES
from benchgen.models import catalogue
from benchgen.models.embedded import EMBEDDED_ID
from benchgen.models.names import downloaded
from benchgen.records import Benchmark, Job, Place, Run
from benchgen.stages import datasets
from benchgen.store import BenchmarkRow, JobRow, ModelRow, PlanRow, RunRow
from benchgen.types import UNDER_WAY

MOST_FILES = 500
TAIL = 4096
"""Bytes at the end of a file in which its last line is looked for."""


def situation(place: Place, **chat: Any) -> Situation:
    """The records of the workspace with the facts of a chat, which are Situation's fields from `waiting` on."""
    # first those that point to others: what they point to was recorded before them
    runs = [_now(Run(place, row.id), row) for row in place.store.all(RunRow)]
    jobs = [_now(Job(place, row.id), row) for row in place.store.all(JobRow)]
    plans = {row.id: row.plan for row in place.store.all(PlanRow)}
    benches = place.store.all(BenchmarkRow)
    models = place.store.all(ModelRow)
    names, asked = {row.id: row.name for row in models}, {row.id: row for row in benches}
    return Situation(
        benchmarks=tuple(_benchmark(place, row) for row in benches),
        models=tuple(_models(place, models)),
        runs=tuple(_run(place, row, state, asked, names) for row, state in runs),
        jobs=tuple(_job(place, row, state, plans[row.plan_id], names) for row, state in jobs),
        files=tuple(_files(place.path / FILES)),
        datasets=tuple(datasets.names(place)),
        **chat,
    )


def _benchmark(place: Place, row: BenchmarkRow) -> BenchmarkSeen:
    state = Benchmark(place, row.id).state if row.state == "writing" else row.state
    asked = row.spec.get("config") or {}
    language = str(asked.get("language") or "en")
    return BenchmarkSeen(row.id, row.name, row.kind, row.questions, state, language)


def _models(place: Place, rows: list[ModelRow]) -> Iterator[ModelSeen]:
    names = {row.id: row.name for row in rows}
    for row in rows:
        if row.name in place.scripted:
            continue
        base = names.get(row.parent_id, "") if row.kind == "adapter" and row.parent_id else ""
        trainable = row.kind in catalogue.TRAINABLE
        yield ModelSeen(row.name, row.kind, trainable, base, row.job_id)
    known = set(names.values())
    for name in config.options("model"):
        kind, source = _option(config.root() / "model" / f"{name}.yaml")
        hidden = name in catalogue.UNNAMED or name in known
        if not hidden and not (source == "embedded" and EMBEDDED_ID in known):
            yield ModelSeen(name, kind, kind in catalogue.TRAINABLE)
    for name in downloaded():
        if name not in known:
            yield ModelSeen(name, "base", True)


@lru_cache(maxsize=64)
def _option(file: Path) -> tuple[str, str]:
    """(kind, source) of an option of conf/model/, read without composing it."""
    told = yaml.safe_load(file.read_text(encoding="utf-8")) or {}
    return str(told.get("kind", "base")), str(told.get("source", ""))


def _now(record: Run | Job, row: Any) -> tuple[Any, str]:
    """(its row, its state), looked at again where it is under way: its process may be gone, or have ended it."""
    if row.state not in UNDER_WAY:
        return row, row.state
    state = record.state
    return record.row, state


def _run(
    place: Place,
    row: RunRow,
    state: str,
    benches: dict[int, BenchmarkRow],
    models: dict[int, str],
) -> RunSeen:
    asked = row.settings.get("limit") or benches[row.benchmark_id].questions
    total = int(asked) * int(row.settings.get("repeats") or 1)
    figures = row.summary
    right, scored = int(figures.get("right") or 0), int(figures.get("scored") or 0)
    return RunSeen(
        id=row.id,
        benchmark=row.benchmark_id,
        model=models[row.model_id],
        state=state,
        right=right,
        wrong=scored - right,
        done=total if state == "finished" else _lines(Run(place, row.id).folder / "traces.jsonl"),
        total=total,
        error=row.error,
    )


def _job(
    place: Place, row: JobRow, state: str, plan: dict[str, Any], models: dict[int, str]
) -> JobSeen:
    told = plan.get("dataset") or {}
    runs = told.get("runs") or []
    return JobSeen(
        id=row.id,
        job_type=str(plan.get("job_type", "")),
        state=state,
        base_model=str(plan.get("base_model", "")),
        dataset=str(told.get("source", "")),
        run=runs[0] if runs else None,
        mode=str(told.get("mode") or ""),
        benchmark=told.get("benchmark"),
        model=models.get(row.model_id or 0, ""),
        step=last_step(Job(place, row.id).folder),
        max_steps=steps_of(plan),
        error=row.error,
    )


def steps_of(plan: dict[str, Any]) -> int:
    """Optimiser steps that a plan, as stored, comes to; 0 where it has none."""
    estimate = (plan.get("estimates") or {}).get("steps") or {}
    return int(estimate.get("value") or 0)


def last_step(folder: Path) -> int:
    """The newest step that a job has told of; 0 before the first."""
    for line in reversed(_tail(folder / "metrics.jsonl")):
        try:
            return int(json.loads(line).get("step") or 0)
        except (ValueError, AttributeError, TypeError):
            continue  # a torn line
    return 0


def _tail(path: Path) -> list[bytes]:
    try:
        with path.open("rb") as file:
            file.seek(max(0, path.stat().st_size - TAIL))
            return file.read().splitlines()
    except OSError:
        return []


def _lines(path: Path) -> int:
    """Whole lines of a file: about how many replies there are."""
    try:
        with path.open("rb") as file:
            return sum(part.count(b"\n") for part in iter(lambda: file.read(1 << 20), b""))
    except OSError:
        return 0


def _files(folder: Path) -> list[str]:
    try:
        return sorted(file.name for file in folder.iterdir() if file.is_file())[:MOST_FILES]
    except OSError:
        return []
