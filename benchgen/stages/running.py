"""A model asked the questions of a published benchmark."""

from __future__ import annotations

import dataclasses
import time
from contextlib import suppress
from typing import Any

from benchgen import config, jobs
from benchgen.benchmark.prompts import worked_answer
from benchgen.compare.runpage import run_page, waiting_page
from benchgen.errors import BenchgenError, InputError, StateError
from benchgen.models import catalogue
from benchgen.models.device import Device
from benchgen.plan import planner
from benchgen.records import PAGE, Benchmark, Model, Place, Run
from benchgen.run import runner
from benchgen.run.log import TraceLog
from benchgen.run.metrics import summary
from benchgen.run.table import write_parquet
from benchgen.stages import cards
from benchgen.stages.loading import loaded
from benchgen.store import ModelRow, RunRow, file_sha256, now, write_atomic
from benchgen.types import Evaluation
from benchgen.types import Model as ModelSeam

MOST_REPEATS = 100
SAMPLING = {
    "temperature": "0 to 5",
    "top_p": "over 0, to 1",
    "top_k": "0 (all) or more",
    "max_new_tokens": "1 or more",
}
"""What a run's own sampling settings may be."""


def begin(  # noqa: PLR0913 - what a run is, keywords only
    place: Place,
    benchmark: Benchmark | int,
    model: str | Model | config.ModelConfig,
    *,
    limit: int | None = None,
    seed: int = 0,
    repeats: int = 1,
    sampling: runner.Sampling | None = None,
    hardware: config.HardwareConfig | None = None,
) -> Run:
    """A run of the model on the published benchmark's first `limit` questions (all), recorded and not yet begun.

    Each question is asked `repeats` times, which needs a temperature above 0. What could not be asked, on
    that `hardware` or at all, is refused before there is a record.
    """
    if hardware is not None:
        planner.choose_device(hardware)
    bench = Benchmark.of(place, benchmark)
    bench.check_whole()
    bench.check_published("runs")
    if limit is not None and not 0 < limit <= bench.row.questions:
        raise InputError(
            f"limit={limit} does not fit benchmark {bench.id}",
            got=limit,
            allowed=f"1 to {bench.row.questions}",
            next="leave limit out: all are asked",
        )
    if isinstance(model, config.ModelConfig):
        model = entry(place, model)
    found = model.row if isinstance(model, Model) else catalogue.find(place.store, model)
    if found.kind == "endpoint":
        place.allow("endpoint")
    drawn = sampling or runner.Sampling()
    _check_sampling(bench.evaluation, found, drawn, repeats)
    _check_context(place, bench.evaluation, found, drawn)
    model_id = catalogue.record(place.store, found, place.user).id
    settings = {
        "limit": limit,
        "seed": seed,
        "repeats": repeats,
        "sampling": dataclasses.asdict(drawn),
    }
    row = RunRow(owner=place.user, benchmark_id=bench.id, model_id=model_id, settings=settings)
    asked = (bench.id, model_id, settings)
    return Run(place, place.once(RunRow, asked, lambda: place.store.add(row).id))


def _check_sampling(
    evaluation: Evaluation, model: ModelRow, drawn: runner.Sampling, repeats: int
) -> None:
    """InputError for what cannot be asked so: it would fail on every question, or repeat one answer."""
    if evaluation.method == "likelihood" and model.kind == "endpoint":
        raise InputError(
            f"{model.name} is an endpoint: it writes replies and tells no likelihoods of options",
            got="evaluation.method=likelihood",
            next="a local model, or a benchmark made with benchmark.evaluation.method=generate",
        )
    if not 1 <= repeats <= MOST_REPEATS:
        raise InputError("repeats is out of range", got=repeats, allowed=f"1 to {MOST_REPEATS}")
    limits = {
        "temperature": drawn.temperature is None or 0 <= drawn.temperature <= 5,
        "top_p": 0 < drawn.top_p <= 1,
        "top_k": drawn.top_k >= 0,
        "max_new_tokens": drawn.max_new_tokens is None or drawn.max_new_tokens > 0,
    }
    for name, fits in limits.items():
        if not fits:
            got = getattr(drawn, name)
            raise InputError(f"sampling.{name} is out of range", got=got, allowed=SAMPLING[name])
    warm = evaluation.temperature if drawn.temperature is None else drawn.temperature
    if repeats > 1 and (not warm or evaluation.method == "likelihood"):
        raise InputError(
            "repeats of one question would all be equal: this is asked without drawing",
            got=f"repeats={repeats}, temperature {warm:g}, method {evaluation.method}",
            next="sampling.temperature=0.7, or repeats=1",
        )


def _check_context(
    place: Place, evaluation: Evaluation, model: ModelRow, drawn: runner.Sampling
) -> None:
    """InputError where a reply may be as long as all that the model can hold: no question would fit before it."""
    longest = drawn.max_new_tokens or evaluation.max_new_tokens
    context = catalogue.context(place.store, model, place.path)
    if evaluation.method == "likelihood" or context is None or longest < context:
        return
    mine = "sampling.max_new_tokens" if drawn.max_new_tokens else "the benchmark's max_new_tokens"
    raise InputError(
        f"{mine}={longest} leaves no room for a question: {model.name} holds {context} tokens, question and "
        "reply together",
        got=longest,
        allowed=f"less than {context}",
        next=f"sampling.max_new_tokens={min(1024, context // 2)}",
    )


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
    retry_errors: bool = False,
) -> Run:
    """The run, finished: questions that have a trace are not asked again.

    With `retry_errors` those that got no reply are, also where the run had ended with them.
    """
    run = Run.of(place, run)
    if not _is_left(run, retry_errors):
        return run
    if hardware is not None:  # before the run is taken up, and would count as failed
        planner.choose_device(hardware)
    line = f"benchgen resume run_id={run.id}"
    with jobs.going_on(line), jobs.record_lock(run.folder), jobs.beating(run.folder):
        if not _is_left(run, retry_errors):  # by another process meanwhile
            return run
        started = time.monotonic()
        try:
            asked = hardware or config.HardwareConfig()
            traces = _kept(run)
            if _is_missing(run, traces, retry_errors):
                traces = _answer(place, run, asked, progress, retry_errors)
        except Exception as error:
            _stopped(place, run, error)
            raise
        finish(place, run, traces, run.row.seconds + time.monotonic() - started)
    return run


def go_on_in_background(place: Place, run: Run | int) -> Run:
    """The run, handed to a process of its own that asks all that is left; itself where nothing is.

    It is `queued` until that process has the device. Killed at any moment, it is interrupted, and this or
    `resume` goes on with it.
    """
    run = Run.of(place, run)
    if run.row.state == "finished":
        return run
    if jobs.alive(run.folder):
        raise StateError(
            f"run {run.id} is under way already",
            got=run.state,
            next=f"benchgen status run_id={run.id}",
        )
    place.store.change(RunRow, run.id, state="queued", error="")
    if not (run.folder / PAGE).exists():
        write_atomic(run.folder / PAGE, waiting_page(run.id, run.model.row.name))
    place.start(run.id, run.folder, "benchgen.asker")
    return run


def _kept(run: Run) -> TraceLog:
    """The log as it is on the disk."""
    return TraceLog(run.folder / "traces.jsonl", [q.key for q in run.questions])


def _is_missing(run: Run, traces: TraceLog, retry_errors: bool) -> bool:
    """Whether the model is to be asked: not where every asking has its line and only the end was missed."""
    if retry_errors and traces.unanswered:
        return True
    repeats = run.row.settings.get("repeats", 1)
    wanted = {(q.key, repeat) for q in run.questions for repeat in range(repeats)}
    return not wanted <= traces.askings


def _stopped(place: Place, run: Run, error: Exception) -> None:
    """Failed, with the reason; a run that had ended before it asked again what got no reply is finished again."""
    told = str(error).encode("utf-8", "replace").decode()[:1000]
    with suppress(BenchgenError, OSError):
        traces = _kept(run)
        if run.row.traces_sha256 and not _is_missing(run, traces, False):
            finish(place, run, traces, run.row.seconds)
            return
    place.store.change(RunRow, run.id, state="failed", error=told)


def _is_left(run: Run, retry_errors: bool) -> bool:
    """Whether something is to be asked: always of a run that has not ended."""
    if run.row.state != "finished":
        return True
    return retry_errors and bool(run.traces().unanswered)


def _answer(
    place: Place,
    run: Run,
    hardware: config.HardwareConfig,
    progress: runner.Progress | None,
    retry_errors: bool,
) -> TraceLog:
    bench, row, questions = run.benchmark, run.row, run.questions
    answers = {q.key: worked_answer(q, bench.evaluation) for q in questions}
    task = runner.Task(
        questions,
        bench.evaluation,
        bench.scorer(),
        seed=row.settings["seed"],
        repeats=row.settings.get("repeats", 1),
        sampling=runner.Sampling(**row.settings.get("sampling", {})),
    )
    path = run.folder / "traces.jsonl"
    begun = row.settings.get("device") or {}
    if row.fingerprint and hardware.dtype == "auto" and begun:
        hardware = dataclasses.replace(hardware, dtype=begun["dtype"])
    with loaded(place, run.model.row, hardware, answers) as model:
        if row.fingerprint and row.fingerprint != model.fingerprint:
            raise StateError(
                f"model {model.name} is not the one that run {run.id} was begun with",
                got=model.fingerprint,
                allowed=[row.fingerprint],
                next="put that model back as it was, or begin a new run"
                if begun.get("dtype") in (None, hardware.dtype)
                else f"hardware.dtype={begun['dtype']}, as it was begun, or begin a new run",
            )
        place.store.change(
            RunRow,
            run.id,
            state="running",
            fingerprint=model.fingerprint,
            error="",
            settings={**row.settings, **_served(model)},
        )
        traces = runner.run(task, model, path, progress, retry_errors=retry_errors)
        # An endpoint shows only when asked which settings it does not take.
        place.store.change(RunRow, run.id, settings={**row.settings, **_served(model)})
        return traces


def _served(model: ModelSeam) -> dict[str, Any]:
    """How the model was served, for readers of its scores: device, notes, what an endpoint ignores."""
    device = getattr(model, "device", None)
    ignored = ", ".join(getattr(model, "left_out", ()))
    notes = [*getattr(model, "notes", ())]
    if ignored:
        notes.append(f"the endpoint did not take {ignored}: asked without")
    return {"device": device.to_dict() if isinstance(device, Device) else None, "notes": notes}


def _cost(spec: dict[str, Any], tokens_in: int, tokens_out: int) -> float | None:
    """What the tokens cost by the model's prices per million; None where no price is known."""
    asked, said = spec.get("price_in"), spec.get("price_out")
    if asked is None or said is None:
        return None
    return float(tokens_in * asked + tokens_out * said) / 1e6


def finish(place: Place, run: Run, traces: TraceLog, seconds: float) -> None:
    """The run's figures, table and page from its traces; finished from now on."""
    result = summary(traces, run.questions, run.row.settings["seed"])
    result["cost"] = _cost(run.model.row.spec, result["tokens_in"], result["tokens_out"])
    write_parquet(traces, run.folder / "traces.parquet")
    place.store.change(
        RunRow,
        run.id,
        state="finished",
        summary=result,
        seconds=round(seconds, 2),
        traces_sha256=file_sha256(run.folder / "traces.jsonl"),
        finished=now(),
    )
    write_atomic(run.folder / PAGE, run_page(run.view()))
    run.benchmark.write_page()
    model = run.model.row
    if model.kind == "adapter" and model.job_id is not None:
        cards.keep(place, model)
