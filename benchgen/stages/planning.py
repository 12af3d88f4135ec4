"""What a training would do, and the job that a person's word makes of it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchgen import config, tracking
from benchgen.errors import ConfigError, StateError
from benchgen.models import catalogue
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.models.whole import check_folder
from benchgen.plan import gate, planner
from benchgen.records import Benchmark, Job, Place, PlanRecord, Run
from benchgen.reports import tokens_trained
from benchgen.rundata.rows import (
    Chosen,
    RunData,
    rows_from_file,
    rows_from_runs,
)
from benchgen.stages import datasets, held_out, parents
from benchgen.stages.advice import advice, overlaps, parameters
from benchgen.store import JobRow, ModelRow, PlanRow, write_json, write_jsonl
from benchgen.types import Plan, sha256
from benchgen.types import Record as Row

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class NameTaken(ConfigError):
    """The name was free when the plan was begun, and is no more."""


@dataclass(frozen=True)
class Wanted:
    """What a person asks of a training; `settings` change a recipe that is named.

    Beside a whole recipe they say which of its values were asked for and are not just its defaults.
    """

    recipe: str | config.RecipeConfig
    job: Job | int | None = None
    """recipe=continue: the job whose adapter is trained further."""
    run: Run | int | Sequence[Run | int] | None = None
    mode: str = "failures"
    benchmark: Benchmark | int | None = None
    """recipe=grpo: the one whose questions are asked and whose scorer rewards."""
    dataset: str | Path | None = None
    base_model: str | None = None
    name: str | None = None
    trainer: str = "auto"
    hardware: config.HardwareConfig = field(default_factory=config.HardwareConfig)
    seed: int = 0
    settings: Mapping[str, Any] = field(default_factory=dict)
    tracker: config.TrackerConfig = field(default_factory=config.TrackerConfig)


def plan(place: Place, wanted: Wanted) -> PlanRecord:
    """What a training would do, frozen under a hash; starts nothing."""

    def make() -> int:
        while True:
            try:
                return _planned(place, wanted).id
            except NameTaken:  # by a plan made at the same time: a made-up name may be the next one
                if wanted.name is not None:
                    raise

    return PlanRecord(place, place.once(PlanRow, wanted, make))


def _planned(place: Place, wanted: Wanted) -> PlanRecord:
    recipe, base_model = wanted.recipe, wanted.base_model
    chosen = config.load_recipe(recipe, **wanted.settings) if isinstance(recipe, str) else recipe
    if chosen.name == "grpo":
        from benchgen.stages import rewarding  # which stands on this module

        return rewarding.plan(place, wanted, chosen)
    if chosen.grpo != config.GrpoConfig():
        raise ConfigError(
            f"recipe.grpo is read by recipe=grpo alone, not by recipe={chosen.name}",
            got=chosen.name,
            next="recipe=grpo benchmark_id=1, or leave recipe.grpo out",
        )
    goes_on = chosen.name == "continue"
    parent = parents.parent_of(place, wanted.job, base_model) if goes_on else None
    notes: list[str] = []
    if parent is not None:
        chosen, notes = parents.recipe_from(parent, chosen, wanted.settings)
        base_model = str(parent.base.name)
    from_run = chosen.name == "from_run" or (goes_on and wanted.run is not None)
    if from_run:
        runs = _runs(place, wanted.run)
        rows, seen = _rows_from(runs, wanted.mode, chosen.rows, wanted.seed)
        source = "runs " + ", ".join(str(r.id) for r in runs)
        ids = tuple(r.id for r in runs)
        base_model = base_model or _base_of(runs)
    else:
        if wanted.dataset is None:
            raise ConfigError(
                f"recipe={chosen.name} needs a dataset",
                next="dataset=FILE, or "
                + ("run_id=1 mode=failures" if goes_on else "recipe=from_run"),
            )
        runs = []
        read = rows_from_file(datasets.file_of(place, wanted.dataset))
        rows, seen, source = Chosen(read), frozenset[str](), str(wanted.dataset)
        ids = ()
    if base_model is None:
        raise ConfigError(
            "the plan needs a base model", next="base_model=smollm2_135m or a Hugging Face id"
        )
    found, note = base_named(place, base_model)
    row = catalogue.check_trainable(found)
    notes += [note] if note else []
    tracking.check(wanted.tracker.name, wanted.tracker.mode)
    base, shared = base_from(place, row), overlaps(place, rows.rows)
    told = advice(place, runs, row, shared, parameters(base))
    asked = held_out.told(place, chosen.stop)
    if asked:
        seen |= {q.key for q in held_out.questions(place, asked)}
        told.append(
            f"{asked['questions']} questions of benchmark {asked['benchmark']} decide when training ends: the "
            "score on them afterwards is not held out, compare on others"
        )
    how = "continue" if goes_on else wanted.mode if from_run else "lora"
    ask = planner.Ask(
        job_type="from-run" if from_run and not goes_on else chosen.name,
        source=source,
        mode=wanted.mode if from_run else None,
        name=free_name(place, wanted.name, row.name, how),
        recipe=chosen,
        trainer=wanted.trainer,
        hardware=wanted.hardware,
        seed=wanted.seed,
        seen=seen | (catalogue.seen_keys(place.store, parent.row) if parent else set()),
        runs=ids,
        adapter=parent.told() if parent else None,
        notes=(*notes, *told),
        replayed=rows.replayed,
        questions_held_out=rows.held_out,
        overlap=tuple(shared),
        held_out=asked,
        tracking=dataclasses.asdict(wanted.tracker),
        tokens_per_s=_measured_speed(place, row, wanted.hardware),
    )
    return record_plan(place, planner.make_plan(ask, base, rows.rows), rows.rows)


def confirm(place: Place, plan: PlanRecord | int, answer: str) -> Job:
    """The job that `yes` starts; StateError for any other answer, which cancels the plan."""
    id = plan if isinstance(plan, int) else plan.id
    row = place.store.get(PlanRow, id)
    job_type = gate.load(row).job_type
    if gate.says_yes(answer):  # the plan waits on: the same word may be allowed later
        place.allow("push" if job_type == "publish" else "train")
    record = PlanRecord(place, id)
    if row.state == "pending" and sha256(record.rows()) != record.plan.dataset["sha256"]:
        raise StateError(
            f"the training rows of plan {id} changed since it was made", next="plan again"
        )
    if row.state == "confirmed" and gate.says_yes(answer) and _was_begun(place, id):
        return _going_on(place, id)
    job = Job(place, gate.decide(place.store, id, answer, place.user).id)
    write_json(job.folder / "plan.json", {"hash": row.hash, **row.plan})
    place.start(job.id, job.folder, "benchgen.worker")
    return job


def _was_begun(place: Place, plan: int) -> bool:
    """Whether this is the work of a sweep's job that was interrupted after its own yes to the plan."""
    return place.trail is not None and place.trail.took_up(PlanRow.__tablename__, plan)


def _going_on(place: Place, plan: int) -> Job:
    """The job of a plan that is confirmed: at work still, or again from its last checkpoint."""
    (row,) = place.store.all(JobRow, JobRow.plan_id == plan)
    job = Job(place, row.id)
    return job.resume() if job.state in ("failed", "stopped") else job


def record_plan(place: Place, plan: Plan, rows: Sequence[Row]) -> PlanRecord:
    """The plan with its frozen rows: both are there or neither is."""
    row = PlanRow(owner=place.user, hash=plan.hash, plan=plan.to_dict())
    with place.store.write() as session:
        others = session.scalars(sa.select(PlanRow).where(PlanRow.state != "cancelled"))
        lands = plan.job_type != "publish"  # one more upload of a model takes no name
        if lands and any(other.plan.get("name") == plan.name for other in others):
            raise NameTaken(
                f"another plan has just taken the name {plan.name}",
                got=plan.name,
                next="plan again, or another name=…",
            )
        session.add(row)
        session.flush()
        record = PlanRecord(place, row.id)
        write_jsonl(record.folder / "rows.jsonl", [r.to_dict() for r in rows])
    return record


def _runs(place: Place, run: Run | int | Sequence[Run | int] | None) -> list[Run]:
    if run is None:
        raise ConfigError(
            "recipe=from_run needs a run", next="run_id=1, or run_id=[1,2] for several"
        )
    asked: list[Any] = list(run) if isinstance(run, (list, tuple)) else [run]
    if not asked or any(isinstance(r, bool) or not isinstance(r, (Run, int)) for r in asked):
        raise ConfigError(
            "run_id names no runs",
            got=run,
            allowed="an id, or a list of ids",
            next="run_id=1, or run_id=[1,2]",
        )
    found = [Run.of(place, r) for r in asked]
    for one in found:
        one.check_finished()
    return found


def _rows_from(
    runs: Sequence[Run], mode: str, rows: config.RowsConfig, seed: int
) -> tuple[Chosen, frozenset[str]]:
    data = [RunData(r.questions, r.benchmark.evaluation, r.traces()) for r in runs]
    seen = frozenset(q.key for r in runs for q in r.questions if not q.held_out)
    found = rows_from_runs(
        data, mode, replay=rows.replay, per_question=rows.per_question, seed=seed
    )
    return found, seen


def _base_of(runs: Sequence[Run]) -> str:
    names = {r.model.row.name for r in runs}
    model = runs[0].model.row
    if len(names) > 1 or model.kind not in catalogue.TRAINABLE:
        raise ConfigError(
            f"the runs were made by {', '.join(sorted(names))}, which is not one trainable base",
            got=sorted(names),
            allowed=catalogue.TRAINABLE,
            next="say which model learns: base_model=smollm2_135m",
        )
    return str(model.name)


def base_named(place: Place, typed: str) -> tuple[ModelRow, str]:
    """(the model that a person's words for a base mean, what a plan says of how they were taken).

    A name is taken as it stands, else as a display name of one model; ConfigError where it fits several.
    """
    row, others = catalogue.resolve(place.store, typed)
    if others:
        raise ConfigError(
            f"base_model={typed} fits several models, and a training takes none by guessing",
            got=typed,
            allowed=[row.name, *others],
            next=f"base_model={row.name}",
        )
    as_typed = typed in (row.name, catalogue.model_id(row)) or Path(typed).is_dir()
    meant = f"base_model={typed} is taken as {row.name} ({catalogue.model_id(row)})"
    return row, "" if as_typed else meant


def base_from(place: Place, row: ModelRow) -> planner.Base:
    """The base as it lies here; InputError where it is gone, or is no whole model."""
    folder = catalogue.local_folder(row, place.path, place.on_convert)
    if folder is not None:
        check_folder(folder, row.name)
    return planner.Base(
        name=row.name,
        id=catalogue.model_id(row),
        folder=folder,
        revision=row.spec.get("revision"),
        fingerprint=weights_fingerprint(folder) if folder else "",
        seen=frozenset(catalogue.seen_keys(place.store, row)),
    )


def free_name(place: Place, name: str | None, base: str, how: str) -> str:
    """The name itself if no model or plan has it, else ConfigError; without one, a free one is made up."""
    taken = set(catalogue.names(place.store))
    pending = place.store.all(PlanRow, PlanRow.state != "cancelled")
    taken |= {str(row.plan.get("name")) for row in pending}
    if name is not None:
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"name={name!r} cannot name a model",
                got=name,
                allowed="letters, digits, dots, dashes and underscores, 80 at most",
            )
        if name in taken:
            raise ConfigError(
                f"a model named {name} is there already", got=name, next="another name=…"
            )
        return name
    stem = f"{base.rsplit('/', 1)[-1]}-{how}"
    number = next(n for n in range(1, len(taken) + 2) if f"{stem}-{n}" not in taken)
    return f"{stem}-{number}"


def trained_here(
    place: Place, base: ModelRow, hardware: config.HardwareConfig
) -> Iterator[tuple[JobRow, dict[str, Any]]]:
    """(job, its plan) of those on this base and device that one process did whole, the newest first."""
    device = planner.choose_device(hardware)
    here = {"kind": device.kind, "name": device.name, "dtype": device.dtype}
    for row in reversed(place.store.all(JobRow, JobRow.state == "finished")):
        plan = place.store.get(PlanRow, row.plan_id).plan
        same = here.items() <= plan["device"].items() and plan["base"]["name"] == base.name
        same &= plan["device"].get("processes", 1) == hardware.processes
        if same and not row.result.get("resumed_at"):
            yield row, plan


def _measured_speed(place: Place, base: ModelRow, hardware: config.HardwareConfig) -> float | None:
    """Trained tokens a second of the newest job on this base and device; None without one."""
    for row, plan in trained_here(place, base, hardware):
        if row.result.get("tokens") and row.result.get("seconds"):  # not a merge
            return tokens_trained(row.result, plan) / float(row.result["seconds"])
    return None
