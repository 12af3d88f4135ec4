"""What records hold of their files, against the files: a benchmark, a run, a model, a plan and its job."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.benchmark import registry
from benchgen.benchmark.prompts import worked_answer
from benchgen.errors import NotFound
from benchgen.models import catalogue
from benchgen.models.embedded import FOLDER, is_whole
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.records import EVALUATION, PROGRAM, QUESTIONS, Benchmark, Job, Place, PlanRecord, Run
from benchgen.run.log import TraceLog
from benchgen.run.metrics import summary
from benchgen.run.rescore import FIELDS
from benchgen.run.runner import rescored
from benchgen.store import ModelRow
from benchgen.types import Plan, Trace, sha256
from benchgen.verifying.checks import Check, of_file, worked_out

FIGURES = (
    "score",
    "ci",
    "right",
    "scored",
    "asked",
    "strict",
    "by_category",
    "by_status",
    "graded",
)
"""Of a run's summary: what reports and pages show of it."""


def of_benchmark(bench: Benchmark) -> Iterator[Check]:
    """Questions, evaluation and scoring program, each against the hash that it was frozen with."""
    name, row, folder = f"benchmark {bench.id}", bench.row, bench.folder

    def program() -> str | None:
        there = (folder / PROGRAM).is_dir()
        return registry.program_sha256(folder / PROGRAM) if there else None

    yield of_file(name, "questions", folder / QUESTIONS, row.questions_sha256)
    yield of_file(name, "evaluation", folder / EVALUATION, row.evaluation_sha256)
    yield worked_out(name, "scoring program", row.program_sha256, program)


def of_run(run: Run) -> Iterator[Check]:
    """Traces by their hash, the model by its fingerprint, and what the traces say: verdicts and figures."""
    name, row = f"run {run.id}", run.row
    yield of_file(name, "traces", run.folder / "traces.jsonl", row.traces_sha256)
    yield worked_out(name, "model fingerprint", row.fingerprint, lambda: fingerprint(run))
    yield worked_out(name, "verdicts", f"{row.summary['asked']} stand", lambda: verdicts(run))
    told = shown(row.summary)
    yield worked_out(name, "score and breakdown", words(told), lambda: words(figures(run, told)))


def words(told: dict[str, Any]) -> str:
    """A run's figures on one line: the counts, and a hash over all that is told beside them."""
    return f"{told['right']} of {told['scored']} right, all figures {sha256(told)[:12]}"


def figures(run: Run, names: Iterable[str]) -> dict[str, Any]:
    """The run's figures of these names, worked out from its traces as they lie there now."""
    found = summary(_traces(run), run.questions, run.row.settings["seed"])
    return {name: found[name] for name in names}


def shown(summary: Mapping[str, Any]) -> dict[str, Any]:
    """Of a run's summary what reports and pages show of it."""
    return {name: summary[name] for name in FIGURES if name in summary}


def verdicts(run: Run) -> str:
    """How many of the run's verdicts its benchmark's own program still gives to the stored replies."""
    questions, scorer = {q.key: q for q in run.questions}, run.benchmark.scorer()
    traces = _traces(run)
    stand = sum(_verdict(t) == _verdict(rescored(t, questions[t.key], scorer)) for t in traces)
    return f"{stand} stand"


def _traces(run: Run) -> TraceLog:
    """As they lie there, changed or not: `Run.traces` refuses changed ones."""
    path = run.folder / "traces.jsonl"
    if not path.is_file():
        raise NotFound(f"{path.name} is gone")
    return TraceLog(path, [q.key for q in run.questions])


def _verdict(trace: Trace) -> list[Any]:
    return [getattr(trace, field) for field in FIELDS]


def fingerprint(run: Run) -> str | None:
    """The fingerprint that the run's model would have now, from its files alone; None where they are gone."""
    place, row = run.place, run.model.row
    if row.name in place.scripted:
        return str(place.scripted[row.name].fingerprint)
    if row.kind in catalogue.REMOTE:
        answers = {q.key: worked_answer(q, run.benchmark.evaluation) for q in run.questions}
        hardware = config.HardwareConfig()
        return catalogue.load(place.store, row, place.path, hardware, answers).fingerprint
    base = catalogue.base_of(place.store, row)
    folder, adapter = base_folder(place, base), row.spec.get("adapter")
    if folder is None or (adapter and not (place.path / adapter).is_dir()):
        return None
    return weights_fingerprint(
        folder,
        place.path / adapter if adapter else None,
        run.row.settings["device"]["dtype"],
        bool(base.spec.get("thinking")),
    )


def base_folder(place: Place, base: ModelRow) -> Path | None:
    """Where a base's files lie; None where they are gone, or the embedded model is not converted here."""
    if base.spec.get("source") != "embedded":
        return catalogue.local_folder(base, place.path)
    folder = config.cache_folder() / FOLDER
    return folder if is_whole(folder) else None


def of_job(job: Job) -> Iterator[Check]:
    """The plan that was confirmed, with its rows and base, and what the job made."""
    record = PlanRecord(job.place, job.row.plan_id)
    yield from _of_plan(record, job)
    name, result, made = f"job {job.id}", job.row.result, job.model
    if "metrics_sha256" in result or (job.folder / "metrics.jsonl").is_file():
        yield of_file(
            name, "metrics", job.folder / "metrics.jsonl", result.get("metrics_sha256", "")
        )
    if made is not None:
        yield from _of_made(name, job.place, made.row)


def _of_plan(record: PlanRecord, job: Job) -> Iterator[Check]:
    name, row = f"plan {record.id}", record.row
    yield worked_out(name, "plan hash", row.hash, lambda: Plan.from_dict(row.plan).hash)
    rows, told = record.folder / "rows.jsonl", row.plan["dataset"].get("sha256", "")
    if told:
        yield worked_out(
            name, "training rows", told, lambda: sha256(record.rows()) if rows.is_file() else None
        )
    shown = row.plan["base"].get("fingerprint") or job.row.result.get("base_fingerprint", "")

    def base() -> str | None:
        found = catalogue.find(job.place.store, row.plan["base"]["name"])
        folder = base_folder(job.place, found)
        return weights_fingerprint(folder) if folder else None

    yield worked_out(name, "base model", shown, base)


def _of_made(name: str, place: Place, row: ModelRow) -> Iterator[Check]:
    """The adapter's weights, or each file of a merged model, by sha256."""
    if "adapter_sha256" in row.spec:
        file = place.path / str(row.spec["adapter"]) / catalogue.ADAPTER_WEIGHTS
        yield of_file(name, "adapter", file, str(row.spec["adapter_sha256"]))
    for file_name, told in sorted(dict(row.spec.get("sha256") or {}).items()):
        yield of_file(
            name, f"merged {file_name}", place.path / row.spec["folder"] / file_name, told
        )
