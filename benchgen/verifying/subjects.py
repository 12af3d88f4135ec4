"""What is verified, an experiment, some runs or one run, and all that it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

from benchgen.errors import InputError, NotFound
from benchgen.records import Benchmark, Job, Place, Run
from benchgen.store import ModelRow, PlanRow
from benchgen.types import sha256
from benchgen.verifying import stored, written
from benchgen.verifying.checks import MISSING, Check, Verification, worked_out
from benchgen.verifying.experiment import PARTS, Experiment, difference, words

CHANGED = "changed since the experiment ended"


@dataclass
class Basis:
    """Ids of the records that some runs rest on, those runs among them."""

    benchmarks: set[int] = field(default_factory=set)
    runs: set[int] = field(default_factory=set)
    jobs: set[int] = field(default_factory=set)


def verify(place: Place, what: str | Run | int | Sequence[Run | int]) -> Verification:
    """Every recorded hash under an experiment (its name), a report (its runs) or one run, against what is there.

    NotFound for an experiment or a run that is not here, StateError for a run that has not ended.
    """
    if isinstance(what, str):
        return _experiment(place, what)
    named = [what] if isinstance(what, (Run, int)) else what
    runs = [Run.of(place, one) for one in named]
    if not runs:
        raise InputError("no run is named", got=[], next="runs=[1,2]")
    for run in runs:
        run.check_finished()
    checks = [*_basis_checks(place, runs)]
    notes: tuple[str, ...] = ()
    if len(runs) > 1:
        checks += written.of_report(place, runs, expected=False)
        notes = written.elsewhere(place, runs)
    listed = ", ".join(str(run.id) for run in runs)
    return Verification(f"run{'s' * (len(runs) > 1)} {listed}", tuple(checks), notes)


def _experiment(place: Place, name: str) -> Verification:
    done, older = Experiment.found(place, name)
    listed = ", ".join(map(str, done.runs.values()))
    notes = [f"{older} older of that name: verify runs=[…] looks at them"] if older else []
    checks = [worked_out("experiment", "config", done.config_sha256, lambda: sha256(done.config), CHANGED)]  # fmt: skip
    runs = []
    for role, id in done.runs.items():
        try:
            runs.append(Run.of(place, id))
        except NotFound as error:
            checks.append(
                Check("experiment", f"run of {role}", MISSING, f"run {id}", why=error.what)
            )
    checks += _found_again(place, done)
    checks += _basis_checks(place, runs)
    checks += written.of_report(place, runs, expected=True)
    notes += written.elsewhere(place, runs)
    return Verification(f"experiment {name} (runs {listed})", tuple(checks), tuple(notes))


def _found_again(place: Place, done: Experiment) -> Iterator[Check]:
    """What the experiment found, against what its runs give now."""
    for part, roles in PARTS.items():
        told, work = words(getattr(done, part)), partial(_words_now, place, done, roles)
        yield worked_out("experiment", f"difference, {part}", told, work, CHANGED)


def _words_now(place: Place, done: Experiment, roles: tuple[str, str]) -> str:
    base, trained = (Run(place, done.runs[role]) for role in roles)
    return words(difference(base, trained))


def _basis_checks(place: Place, runs: Sequence[Run]) -> Iterator[Check]:
    """Of every benchmark, run and job that these runs rest on, in the order of their ids."""
    basis = basis_of(place, runs)
    for id in sorted(basis.benchmarks):
        yield from stored.of_benchmark(Benchmark(place, id))
    for id in sorted(basis.runs):
        yield from stored.of_run(Run(place, id))
    for id in sorted(basis.jobs):
        yield from stored.of_job(Job(place, id))


def basis_of(place: Place, runs: Sequence[Run]) -> Basis:
    """The runs, their benchmarks, the jobs that made their models, the runs those learned from, and so on."""
    found, left = Basis(), [run.id for run in runs]
    while left:
        id = left.pop()
        if id in found.runs:
            continue
        found.runs.add(id)
        row = Run(place, id).row
        found.benchmarks.add(row.benchmark_id)
        for job in _made_by(place, place.store.get(ModelRow, row.model_id)):
            if job not in found.jobs:
                found.jobs.add(job)
                left += _learned_from(place, job, found.benchmarks)
    return found


def _made_by(place: Place, row: ModelRow) -> Iterator[int]:
    """Ids of the jobs that made a model and those that it came from."""
    if row.job_id is not None:
        yield row.job_id
    if row.parent_id is not None:
        yield from _made_by(place, place.store.get(ModelRow, row.parent_id))


def _learned_from(place: Place, job: int, benchmarks: set[int]) -> list[int]:
    """Ids of the runs whose replies a job trained on; benchmarks that it asked are added to those."""
    told = place.store.get(PlanRow, Job(place, job).row.plan_id).plan["dataset"]
    asked = [told.get("benchmark"), (told.get("held_out") or {}).get("benchmark")]
    benchmarks |= {id for id in asked if isinstance(id, int)}
    return list(told.get("runs") or ())
