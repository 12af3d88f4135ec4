"""GRPO on a benchmark: the sampling pass before it, its plan, and the reward that its job learns from."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

from benchgen import config, tracking
from benchgen.errors import ConfigError, StateError
from benchgen.models import catalogue
from benchgen.plan import grpo, planner
from benchgen.plan.grpo_limits import check_grpo
from benchgen.plan.junk import Probe, check_probes, probe
from benchgen.plan.preflight import Preflight, preflight
from benchgen.records import Benchmark, Model, Place, PlanRecord, Run
from benchgen.run import runner
from benchgen.rundata.prompts import held_out, prompt_rows
from benchgen.stages import parents, planning, running
from benchgen.store import ModelRow, RunRow
from benchgen.train.rewards import Judge, Verdict
from benchgen.types import Question

PROMPTS = 64
"""Of a sampling pass, unless told: enough to tell a mixed share of 30 % from one of 50 %."""


def sample(  # noqa: PLR0913 - what a sampling pass is, keywords only
    place: Place,
    benchmark: Benchmark | int,
    model: str | Model | config.ModelConfig,
    own: config.GrpoConfig,
    *,
    limit: int | None = None,
    seed: int = 0,
    hardware: config.HardwareConfig | None = None,
    progress: runner.Progress | None = None,
) -> tuple[Run, Preflight]:
    """(a run of G replies to each of the first `limit` questions, what it says about GRPO).

    Drawn as the recipe would draw them, and kept as any run: the plan finds it. DataError, before
    anything is asked, where the scorer pays for junk.
    """
    bench = Benchmark.of(place, benchmark)
    _check_published(bench)
    check_grpo(dataclasses.asdict(own), own.num_generations, 1)
    prompt_rows(bench.questions, bench.evaluation, ())  # refuses what cannot be rewarded
    probes = _probed(bench)
    run = running.begin(
        place,
        bench,
        model,
        limit=limit or min(PROMPTS, bench.row.questions),
        seed=seed,
        repeats=own.num_generations,
        sampling=_sampling(own),
        hardware=hardware,
    )
    done = running.resume(place, run, hardware=hardware, progress=progress)
    return done, _looked_at(done, probes, frozenset())


def plan(place: Place, wanted: planning.Wanted, chosen: config.RecipeConfig) -> PlanRecord:
    """What GRPO on a benchmark would do, frozen under a hash; starts nothing."""
    if wanted.benchmark is None:
        raise ConfigError("recipe=grpo needs a benchmark", next="benchmark_id=1")
    if wanted.base_model is None:
        raise ConfigError(
            "the plan needs a base model", next="base_model=smollm2_135m, or a short SFT adapter"
        )
    if chosen.stop != config.StopConfig():
        raise ConfigError(
            "recipe.stop is read by trainings on rows; GRPO ends by the rules of its own reward",
            got="recipe=grpo",
            next="leave recipe.stop out, and run the held-out benchmark afterwards",
        )
    if wanted.hardware.processes > 1:
        raise ConfigError(
            "recipe=grpo trains in one process",
            got=f"hardware.processes={wanted.hardware.processes}",
            allowed=[1],
            next="leave hardware.processes out",
        )
    bench, own = Benchmark.of(place, wanted.benchmark), chosen.grpo
    _check_published(bench)
    tracking.check(wanted.tracker.name, wanted.tracker.mode)
    started, note = planning.base_named(place, wanted.base_model)
    parent = parents.parent_of(place, None, started.name) if started.kind == "adapter" else None
    row = parent.base if parent else catalogue.check_trainable(started)
    notes = [note] if note else []
    if parent is not None:
        chosen, told = _with_shape_of(parent, chosen)
        notes += told
    check_grpo(dataclasses.asdict(own), chosen.batch_size, chosen.gradient_accumulation)
    questions = bench.questions
    out = held_out(questions, own.hold_out, wanted.seed)
    rows = prompt_rows(questions, bench.evaluation, out)
    probes = _probed(bench)
    check = _pass_before(place, bench, started, own)
    task = grpo.Task(
        benchmark=bench.id,
        evaluation=bench.evaluation,
        program_sha256=bench.row.program_sha256,
        evaluation_sha256=bench.row.evaluation_sha256,
        questions=len(questions),
        held_out=len(out),
        preflight=_looked_at(check, probes, out) if check else None,
    )
    base = planning.base_from(place, row)
    ask = planner.Ask(
        job_type="grpo",
        source=f"benchmark {bench.id}",
        mode=None,
        name=planning.free_name(place, wanted.name, started.name, "grpo"),
        recipe=chosen,
        trainer=wanted.trainer,
        hardware=wanted.hardware,
        seed=wanted.seed,
        seen=frozenset(r.key for r in rows) | catalogue.seen_keys(place.store, started),
        adapter=parent.told() if parent else None,
        notes=tuple(notes),
        tracking=dataclasses.asdict(wanted.tracker),
        tokens_per_s=_measured_speed(place, row, wanted.hardware),
    )
    return planning.record_plan(place, grpo.make_grpo_plan(ask, base, rows, task), rows)


def judge(rows: Sequence[dict[str, Any]], scorer: runner.Scorer) -> Judge:
    """The reward function of a job: the verdict that a run would give on a reply to a row's question."""
    questions = {row["key"]: Question.from_dict(row["question"]) for row in rows}

    def verdict(key: str, reply: str, finish_reason: str) -> Verdict:
        found = runner.scored(questions[key], reply, finish_reason, scorer)
        return Verdict(found["value"], found["strict"])

    return verdict


def checked_benchmark(place: Place, dataset: dict[str, Any]) -> Benchmark:
    """The benchmark that a plan's dataset names; StateError where it is not as it was planned with."""
    bench = Benchmark.of(place, dataset["benchmark"])
    for name in ("program_sha256", "evaluation_sha256"):
        if getattr(bench.row, name) != dataset[name]:
            raise StateError(
                f"benchmark {bench.id} is not as the plan was made with: its {name} is another",
                got=getattr(bench.row, name),
                allowed=[dataset[name]],
                next="plan again",
            )
    return bench


def _check_published(bench: Benchmark) -> None:
    bench.check_whole()
    bench.check_published("can reward")


def _probed(bench: Benchmark) -> list[Probe]:
    """What junk earns here; DataError where it earns anything."""
    probes = probe(bench.questions, bench.evaluation, bench.scorer())
    check_probes(probes)
    return probes


def _sampling(own: config.GrpoConfig) -> runner.Sampling:
    return runner.Sampling(
        temperature=own.temperature, top_p=1.0, top_k=0, max_new_tokens=own.max_completion_length
    )


def _pass_before(
    place: Place, bench: Benchmark, model: ModelRow, own: config.GrpoConfig
) -> Run | None:
    """The newest finished run of this model here that was drawn as the recipe would; None without one."""
    wanted = {"repeats": own.num_generations, "sampling": dataclasses.asdict(_sampling(own))}
    rows = place.store.all(
        RunRow,
        RunRow.benchmark_id == bench.id,
        RunRow.model_id == (model.id or 0),
        RunRow.state == "finished",
    )
    fitting = [row for row in rows if wanted.items() <= row.settings.items()]
    return Run(place, fitting[-1].id) if fitting else None


def _looked_at(run: Run, probes: Sequence[Probe], out: frozenset[str]) -> Preflight:
    """What the run says of the questions that would be trained on."""
    questions = {q.key: q for q in run.questions if q.key not in out}
    traces = list(run.traces())
    share = sum(t.key in questions for t in traces) / max(1, len(traces))
    return preflight(
        run.id,
        questions,
        traces,
        run.benchmark.scorer(),
        seconds=run.row.seconds * share,
        probes=probes,
    )


def _with_shape_of(
    parent: parents.Parent, chosen: config.RecipeConfig
) -> tuple[config.RecipeConfig, list[str]]:
    """(the recipe with the adapter's own shape, what the plan says of it)."""
    before = parent.plan.hyperparameters
    shape = {key: parent.shape.get(key, before.get(key)) for key in parents.SHAPE}
    shape = {key: value for key, value in shape.items() if value is not None}
    told = ", ".join(f"{key}={value}" for key, value in shape.items())
    return dataclasses.replace(chosen, **shape), [
        f"{parent.row.name} is trained further, in its own shape: {told}"
    ]


def _measured_speed(place: Place, base: ModelRow, hardware: config.HardwareConfig) -> float | None:
    """Tokens a second of the newest GRPO job on this base and device, sampling included; None without one."""
    for row, plan in planning.trained_here(place, base, hardware):
        if plan["job_type"] == "grpo":
            return float(row.result["tokens_seen"]) / float(row.result["seconds"])
    return None
