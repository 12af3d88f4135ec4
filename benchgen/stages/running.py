"""A model asked the questions of a published benchmark."""

from __future__ import annotations

import time
from collections.abc import Sequence

import polars as pl

from benchgen import config, jobs
from benchgen.benchmark.prompts import worked_answer
from benchgen.compare.report import run_page
from benchgen.errors import InputError, StateError
from benchgen.models import catalogue
from benchgen.records import PAGE, Benchmark, Model, Place, Run
from benchgen.run import runner
from benchgen.run.metrics import summary
from benchgen.stages.loading import loaded
from benchgen.store import RunRow, now, write_atomic
from benchgen.types import Trace, sha256


def begin(
    place: Place,
    benchmark: Benchmark | int,
    model: str | Model | config.ModelConfig,
    *,
    limit: int | None = None,
    seed: int = 0,
) -> Run:
    """A run of the model on the published benchmark's first `limit` questions (all), recorded and not yet begun."""
    bench = Benchmark.of(place, benchmark)
    if bench.row.state != "published":
        raise StateError(
            f"benchmark {bench.id} is a {bench.row.state}: only a published one runs",
            got=bench.row.state,
            allowed=["published"],
            next=f"benchgen publish benchmark_id={bench.id}",
        )
    if limit is not None and not 0 < limit <= bench.row.questions:
        raise InputError(
            f"limit={limit} does not fit benchmark {bench.id}",
            got=limit,
            allowed=f"1 to {bench.row.questions}",
        )
    if isinstance(model, config.ModelConfig):
        model = entry(place, model)
    found = model.row if isinstance(model, Model) else catalogue.find(place.store, model)
    row = place.store.add(
        RunRow(
            owner=place.user,
            benchmark_id=bench.id,
            model_id=catalogue.record(place.store, found, place.user).id,
            settings={"limit": limit, "seed": seed},
        )
    )
    return Run(place, row.id)


def entry(place: Place, option: config.ModelConfig) -> Model:
    """The catalogue's entry of a model config; an endpoint is stored under its name when first used."""
    if option.kind == "endpoint":
        row = catalogue.stored_endpoint(place.store, option)
    else:
        row = catalogue.find(place.store, option.name)
    return Model(place, catalogue.record(place.store, row, place.user).id)


def resume(
    place: Place,
    run: Run | int,
    *,
    hardware: config.HardwareConfig | None = None,
    progress: runner.Progress | None = None,
) -> Run:
    """The run, finished: questions that have a trace are not asked again."""
    run = Run.of(place, run)
    if run.row.state == "finished":
        return run
    with jobs.record_lock(run.folder), jobs.beating(run.folder):
        if run.row.state == "finished":  # by another process meanwhile
            return run
        started = time.monotonic()
        try:
            traces = _answer(place, run, hardware or config.HardwareConfig(), progress)
        except Exception as error:
            place.store.change(RunRow, run.id, state="failed", error=str(error)[:1000])
            raise
        _finish(place, run, traces, run.row.seconds + time.monotonic() - started)
    return run


def _answer(
    place: Place, run: Run, hardware: config.HardwareConfig, progress: runner.Progress | None
) -> list[Trace]:
    bench, row = run.benchmark, run.row
    answers = {q.key: worked_answer(q, bench.evaluation) for q in run.questions}
    task = runner.Task(run.questions, bench.evaluation, bench.scorer(), row.settings["seed"])
    path = run.folder / "traces.jsonl"
    with loaded(place, run.model.row, hardware, answers) as model:
        if row.fingerprint and row.fingerprint != model.fingerprint:
            raise StateError(
                f"model {model.name} is not the one that run {run.id} was begun with",
                got=model.fingerprint,
                allowed=[row.fingerprint],
                next="begin a new run",
            )
        place.store.change(RunRow, run.id, state="running", fingerprint=model.fingerprint, error="")
        return runner.run(task, model, path, progress)


def _finish(place: Place, run: Run, traces: Sequence[Trace], seconds: float) -> None:
    result = summary(traces, run.questions)
    columns = pl.DataFrame([t.to_dict() for t in traces], infer_schema_length=None)
    columns.write_parquet(run.folder / "traces.parquet")
    place.store.change(
        RunRow,
        run.id,
        state="finished",
        summary=result,
        seconds=round(seconds, 2),
        traces_sha256=sha256((run.folder / "traces.jsonl").read_bytes()),
        finished=now(),
    )
    write_atomic(run.folder / PAGE, run_page(run.view()))
    run.benchmark.write_page()
