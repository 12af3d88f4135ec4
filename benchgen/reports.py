"""From records to a report: which runs, which training made their models, what repeats them."""

from __future__ import annotations

import importlib.metadata
import platform
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from benchgen.author.drafts import spec_of
from benchgen.compare.paired import compare_runs
from benchgen.compare.report import ReportView, Trained, report_files, write_report
from benchgen.compare.views import Comparison, RunView
from benchgen.config import GrpoConfig, ModelConfig, SamplingConfig, load_author
from benchgen.config.overrides import SHORT, changed
from benchgen.models import catalogue
from benchgen.models.device import detect
from benchgen.plan import gate
from benchgen.records import Benchmark, Job, Place, Run
from benchgen.store import ModelRow, PlanRow, read_json, write_json
from benchgen.types import Plan

HELD_OUT = "questions asked here that it has not (held-out)"
NEAR = "held-out questions on a fact that training rows also state"
LIMITS = (
    "One run a model with greedy answers: nothing is said about the spread between seeds.",
    "Held-out questions are other questions of the same kinds, some on the same facts (see Data): they show "
    "what carries over to new questions, not what carries over to other subjects.",
    "No control benchmark on another subject was run, so forgetting was not measured.",
)
PACKAGES = ("benchgen", "torch", "transformers", "peft", "trl", "unsloth", "polars", "hydra-core")
SPEC = "spec.json"
"""Of a report: what was frozen when it was built first."""


def build_report(
    place: Place, runs: Sequence[Run], title: str = "", seconds: Mapping[str, float] | None = None
) -> Path:
    """Path of the HTML page written for these finished runs, with report.md, plots and their data.

    What cannot be worked out again later (title, stage seconds, versions of this machine) is frozen
    in `spec.json` the first time, so that building it again gives the same bytes.
    """
    folder = report_folder(place, [run.id for run in runs])
    # changed traces, and runs that are not to be compared, are refused before anything is written
    beside = _beside(runs)
    spec = _spec(folder / SPEC, title or _heading(runs), seconds)
    return write_report(_view(place, runs, beside, spec), folder)


def report_folder(place: Place, runs: Sequence[int]) -> Path:
    """Where the report of the runs with these ids lies, or would."""
    return place.path / "reports" / ("runs-" + "-".join(map(str, runs)))


def rebuilt(place: Place, runs: Sequence[Run]) -> dict[str, str]:
    """{file: text} of the report of these runs as their records give it now; nothing is written."""
    folder = report_folder(place, [run.id for run in runs])
    return report_files(_view(place, runs, _beside(runs), read_json(folder / SPEC)), folder)


Beside = tuple[tuple[RunView, ...], Comparison]


def _beside(runs: Sequence[Run]) -> Beside:
    """The runs as they are read, and compared."""
    views = tuple(run.view() for run in runs)
    return views, compare_runs(views)


def _view(place: Place, runs: Sequence[Run], beside: Beside, spec: Mapping[str, Any]) -> ReportView:
    """All that the report says."""
    views, comparison = beside
    trainings = _trainings_of(place, runs)
    job = trainings[0] if trainings else None
    trained: dict[str, Any] = {}
    if job is not None:
        plan = gate.load(place.store.get(PlanRow, job.row.plan_id))
        facts = _data_facts(place, plan, runs)
        comparison = replace(comparison, warnings=(*comparison.warnings, *_near_words(facts)))
        trained = {
            "plan": plan,
            "actual": actual_of(job, plan),
            "curve": tuple(job.metrics()),
            "data": facts,
            "others": tuple(
                Trained(other.id, other.plan, actual_of(other, other.plan))
                for other in trainings[1:]
            ),
        }
    return ReportView(
        title=spec["title"],
        runs=views,
        comparison=comparison,
        stages=dict(spec["seconds"]),
        limits=LIMITS if job is not None else LIMITS[:1],
        commands=_commands(runs, job),
        manifest={**spec["environment"], **_hashes(place, runs, job)},
        **trained,
    )


def _heading(runs: Sequence[Run]) -> str:
    return f"Runs {', '.join(str(r.id) for r in runs)}"


def _spec(path: Path, title: str, seconds: Mapping[str, float] | None) -> dict[str, Any]:
    """The frozen part of a report: as it was written first, unless new stage seconds are told."""
    if seconds is not None or not path.exists():
        stages = [[name, value] for name, value in (seconds or {}).items()]
        write_json(path, {"title": title, "seconds": stages, "environment": environment()})
    spec: dict[str, Any] = read_json(path)
    return spec


def _near_words(data: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """The sentence that belongs beside a held-out figure: how many ask for facts that were trained on."""
    facts = {row["fact"]: row["number"] for row in data}
    held_out, near = facts[HELD_OUT], facts.get(NEAR)
    if not held_out or near is None:
        return ()
    return (
        f"{near} of the {held_out} held-out questions ask about a fact that a training row also "
        "states, in other words or with other options; the others ask about facts that none states.",
    )


def _trainings_of(place: Place, runs: Sequence[Run]) -> list[Job]:
    """The jobs that made the runs' models, the newest first."""
    made = {catalogue.trained_by(place.store, r.model.row) for r in runs}
    return [Job(place, id) for id in sorted((id for id in made if id is not None), reverse=True)]


def _data_facts(place: Place, plan: Plan, runs: Sequence[Run]) -> tuple[dict[str, Any], ...]:
    """How much was trained on, and how near the held-out questions are to it."""
    teaching = [q for id in plan.dataset["runs"] for q in Run(place, id).questions]
    facts = {q.source for q in teaching if q.source}
    asked = {q.key: q for r in runs for q in r.questions}
    held_out = [q for key, q in asked.items() if key not in plan.seen]
    told: list[tuple[str, Any]] = [
        ("rows trained on", plan.dataset["rows"]),
        ("questions of the runs they were chosen from", len({q.key for q in teaching})),
        ("questions asked here that training has seen", len(asked) - len(held_out)),
        (HELD_OUT, len(held_out)),
    ]
    near = sum(q.source in facts for q in held_out)
    if facts and held_out:
        told.append((NEAR, near))
    return tuple({"fact": name, "number": number} for name, number in told)


def _commands(runs: Sequence[Run], job: Job | None) -> tuple[str, ...]:
    """The command lines that make these runs again, in an order in which they work.

    Ids are those of this workspace; in an empty one they are given out anew, in this order.
    """
    made = job.row.model_id if job is not None else None
    benches = {run.benchmark.id: run.benchmark for run in runs}
    lines = []
    for id, bench in benches.items():
        lines += [
            _create_line(bench),
            f"benchgen publish benchmark_id={id}",
        ]
    lines += [_run_line(run) for run in runs if run.model.id != made]
    if job is not None:
        lines += [_plan_line(job), f"benchgen confirm plan_id={job.row.plan_id} answer=yes"]
    lines += [_run_line(run) for run in runs if run.model.id == made]
    listed = ",".join(str(r.id) for r in runs)
    return (*lines, f"benchgen report runs=[{listed}]")


def _create_line(bench: Benchmark) -> str:
    """How it was made; of a person's own file by its path, for no option of conf/benchmark/ has it."""
    told = bench.row.spec.get("config", {})
    if not told.get("author", {}).get("path"):
        return f"benchgen create benchmark={bench.row.name}"
    spec = replace(spec_of(told), name=bench.row.name)
    usual = load_author(spec.author.name)
    words = [f"author={spec.author.name}", *changed(spec.author, usual.author, "author.")]
    words += changed(spec, usual, "benchmark.", SHORT)
    words += changed(spec.evaluation, usual.evaluation, "benchmark.evaluation.")
    return _line("create", *words)


def _run_line(run: Run) -> str:
    """How it was asked: the model with its address where it has one, and every setting that is not the default."""
    settings = run.row.settings
    words = [f"benchmark_id={run.benchmark.id}", *_model_words(run.model.row)]
    words.append(f"seed={settings['seed']}")
    if settings["limit"]:
        words.append(f"limit={settings['limit']}")
    if settings.get("repeats", 1) > 1:
        words.append(f"repeats={settings['repeats']}")
    drawn = SamplingConfig(**settings.get("sampling", {}))
    return _line("run", *words, *changed(drawn, SamplingConfig(), "sampling."))


def _model_words(model: ModelRow) -> list[str]:
    """A model by its name, an endpoint's by its address, so that a workspace without it knows it."""
    if model.kind != "endpoint":
        return [f"model={model.name}"]
    usual = ModelConfig()
    own = {key: value for key, value in model.spec.items() if hasattr(usual, key)}
    served = own["name"] if own["name"] != model.name else ""
    told = replace(usual, **{**own, "name": model.name, "served": served})
    return ["model=endpoint", *changed(told, usual, "model.")]


def _line(verb: str, *words: str) -> str:
    return " ".join(["benchgen", verb, *map(shlex.quote, words)])


def _plan_line(job: Job) -> str:
    plan = gate.load(job.place.store.get(PlanRow, job.row.plan_id))
    if plan.job_type == "from-run":
        listed = ",".join(map(str, plan.dataset["runs"]))
        where = f"recipe=from_run run_id=[{listed}] mode={plan.dataset['mode']}"
    elif plan.job_type == "grpo":
        where = f"recipe=grpo benchmark_id={plan.dataset['benchmark']}"
    else:
        where = f"recipe={plan.job_type} dataset={plan.dataset['source']}"
    if "adapter" in plan.base and plan.job_type != "grpo":
        where = (
            f"recipe={plan.job_type} job_id={plan.base['adapter']['job']} "
            + where.partition(" ")[2]
        )
    settings = dict(plan.hyperparameters)
    seed = settings.pop("seed")
    own = {f.name for f in fields(GrpoConfig)}
    told = " ".join(
        f"recipe.{'grpo.' * (key in own)}{key}={value}" for key, value in sorted(settings.items())
    )
    started = plan.base.get("adapter", plan.base) if plan.job_type == "grpo" else plan.base
    model = f"base_model={started['name']} name={plan.name} trainer={plan.device['trainer']}"
    return f"benchgen plan {where} {model} seed={seed} {told}"


def _hashes(place: Place, runs: Sequence[Run], job: Job | None) -> dict[str, Any]:
    told: dict[str, Any] = {}
    for run in runs:
        row, bench = run.row, run.benchmark.row
        told[f"run {run.id}"] = {
            "traces sha256": row.traces_sha256,
            "model fingerprint": row.fingerprint,
            "questions sha256": bench.questions_sha256,
            "scoring program sha256": bench.program_sha256,
            "evaluation sha256": bench.evaluation_sha256,
        }
    if job is not None:
        plan = place.store.get(PlanRow, job.row.plan_id)
        told[f"job {job.id}"] = {
            "plan hash": plan.hash,
            "training rows sha256": plan.plan["dataset"]["sha256"],
            "adapter sha256": job.row.result.get("adapter_sha256", ""),
        }
    return told


def environment() -> dict[str, Any]:
    """Versions and hardware that a report names; never a path, a host or a variable's value."""
    versions = {}
    for name in PACKAGES:
        try:
            versions[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            versions[name] = "not installed"
    device = detect()
    return {
        "versions": versions,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "device": f"{device.name}, {device.kind}, {device.dtype}, {device.threads} threads",
    }


def tokens_trained(result: Mapping[str, Any], plan: Mapping[str, Any]) -> float:
    """Tokens of all rows of all steps of a job, padding not counted: mean row length times rows seen."""
    if "tokens_seen" in result:  # GRPO counts as it samples
        return float(result["tokens_seen"])
    settings = plan["hyperparameters"]
    rows_seen = result["steps"] * settings["batch_size"] * settings["gradient_accumulation"]
    return float(result["tokens"]) / float(result["rows_used"]) * float(rows_seen)


def actual_of(job: Job, plan: Plan) -> dict[str, float]:
    """What a finished job took, under the names and in the units of its plan's estimates."""
    result = job.row.result
    peak = result["peak_cuda_bytes"] or result["peak_rss_bytes"]
    counted = ("rows_truncated", "truncated_rows"), ("completions", "completions")
    return {
        "steps": float(result["steps"]),
        "tokens": round(tokens_trained(result, plan.to_dict())),
        **{ours: float(result[name]) for name, ours in counted if name in result},
        "seconds": float(result["seconds"]),
        "memory": round(peak / 2**30, 2),
    }
