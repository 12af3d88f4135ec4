"""A finished experiment done again, from its recorded config, in a workspace of its own; and what came out the same."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from benchgen.config import (
    GrpoConfig,
    HardwareConfig,
    LoopConfig,
    RecipeConfig,
    RowsConfig,
    StopConfig,
    TrackerConfig,
)
from benchgen.errors import ConfigError, InputError, StoreError
from benchgen.loop import LoopResult, Settings, Watcher, run_loop
from benchgen.plan.gate import WORD, says_yes
from benchgen.records import Job, Run
from benchgen.reports import SPEC, report_folder
from benchgen.store import FILE, ModelRow, Store, make_folder, read_json
from benchgen.verifying import stored
from benchgen.verifying.checks import Check, Verification, counted, matched
from benchgen.verifying.experiment import PARTS, Experiment, words
from benchgen.workspace import Workspace

FOLDER = "reruns"
"""In a workspace: those in which its experiments were done again, 1, 2, 3 …"""
QUESTIONS = "another config, pack or version of the author writes other questions; a model that writes them always may"
ANSWERS = (
    "another machine, dtype, number of threads or version of torch adds numbers in another order: where two "
    "next words are almost equally likely the other one is taken, and the reply goes on from there"
)
TRAINING = "as with answers, and each step goes on from the last: small differences grow"
FOLLOWS = "follows from the answers"


def rerun(
    ws: Workspace, name: str, answer: str | None, watch: Watcher | None = None
) -> Verification:
    """What the newest experiment of that name gives when it is done again: a line for each thing compared.

    `answer` is the person's own word on the plan, given beforehand: it trains, so only `yes` begins it.
    ConfigError for any other word, InputError for an experiment that cannot be done elsewhere.
    """
    if not says_yes(answer):
        raise ConfigError(
            "doing an experiment again trains again: only the word yes begins that",
            got=answer,
            allowed=[WORD],
            next=f"benchgen verify experiment={name} rerun=yes",
        )
    done, _ = Experiment.found(ws.place, name)
    path, settings = settings_of(done)
    rows = models(ws, path, settings)
    check_first(ws, done)
    again = fresh(ws)
    for row in rows:
        again.store.add(row)
    result = run_loop(again, path, settings, answer, watch or Watcher())
    assert isinstance(result, LoopResult)  # a plan that waits would mean no answer
    return Verification(
        f"experiment {name}, done again",
        tuple(compared(ws, done, again, result)),
        notes(machine(ws, done.runs), machine(again, result.runs)),
        str(again.path),
    )


def settings_of(done: Experiment) -> tuple[LoopConfig, Settings]:
    """What the loop was told then; StoreError where its config is not one of this version."""
    given = dict(done.config)
    try:
        recipe = dict(given["recipe"])
        for part, kind in (("rows", RowsConfig), ("stop", StopConfig), ("grpo", GrpoConfig)):
            recipe[part] = kind(**recipe[part])
        return LoopConfig(**given["loop"]), Settings(
            recipe=RecipeConfig(**recipe),
            trainer=given["trainer"],
            hardware=HardwareConfig(**given["hardware"]),
            seed=given["seed"],
            limit=given["limit"],
            tracker=TrackerConfig(**given["tracker"]),
        )
    except (TypeError, KeyError, ValueError) as error:
        raise StoreError(
            f"the config of experiment {done.name} is not one that this version knows: {error}",
            next="do it again with the version that made it",
        ) from error


def models(ws: Workspace, path: LoopConfig, settings: Settings) -> list[ModelRow]:
    """Student and teacher as the new workspace needs them; InputError for what exists in this one alone."""
    if settings.recipe.stop.benchmark_id is not None:
        raise InputError(
            "its early stop asks a benchmark of this workspace, which another one has not",
            got=f"recipe.stop.benchmark_id={settings.recipe.stop.benchmark_id}",
            next="benchgen loop here once more, and compare",
        )
    found = []
    for name in dict.fromkeys((path.student, path.teacher)):
        for row in ws.store.all(ModelRow, ModelRow.name == name):
            if row.kind in ("adapter", "merged"):
                raise InputError(
                    f"{name} was made in this workspace, which another one has not",
                    got=row.kind,
                    next="benchgen loop here once more, and compare",
                )
            found.append(ModelRow(owner=ws.user, name=name, kind=row.kind, spec=row.spec))
    return found


def check_first(ws: Workspace, done: Experiment) -> None:
    """Nothing; StoreError or StateError where the first one was changed, so that there is nothing to compare with."""
    for id in done.runs.values():
        ws.get_run(id).traces()
    _ = ws.job(done.job).plan


def fresh(ws: Workspace) -> Workspace:
    """An empty workspace inside this one, with the same user and permissions, its records in SQLite."""
    number, parent = 1, make_folder(ws.path / FOLDER)
    while (folder := parent / str(number)).exists():
        number += 1
    folder.mkdir()
    with Store(folder / FILE).write():  # made now: a database on a server is another workspace's
        pass
    place = ws.place
    return Workspace(
        folder, user=ws.user, on_convert=place.on_convert, permissions=place.permissions
    )


def compared(
    ws: Workspace, done: Experiment, again: Workspace, result: LoopResult
) -> Iterator[Check]:
    """A line for each thing of the experiment, as it was and as it came out now."""
    for role, id in done.runs.items():
        yield from _same_run(f"again: {role}", ws.get_run(id), again.get_run(result.runs[role]))
    trained = again.get_run(result.runs["trained"]).model.row
    yield from _same_training("again: training", ws.job(done.job), again.job(trained.job_id))
    for part in PARTS:
        before, now = getattr(done, part), getattr(result, part)
        yield matched("again: report", f"difference, {part}", words(before), words(now), FOLLOWS)


def _same_run(name: str, before: Run, now: Run) -> Iterator[Check]:
    """The same questions in the same order, the same replies, the same figures."""
    then, here = (dict(enumerate(q.key for q in run.questions)) for run in (before, now))
    yield counted(name, "question ids", then, here, QUESTIONS)
    said, says = ({(t.key, t.repeat): t.reply for t in run.traces()} for run in (before, now))
    yield counted(name, "answers", said, says, ANSWERS)
    first, second = (stored.words(stored.shown(run.summary)) for run in (before, now))
    yield matched(name, "score and breakdown", first, second, FOLLOWS)


def _same_training(name: str, before: Job, now: Job) -> Iterator[Check]:
    """The same rows, settings and base, the same losses step by step, the same weights."""
    was, is_now = before.plan, now.plan
    yield matched(name, "rows", was.dataset["sha256"], is_now.dataset["sha256"], QUESTIONS)
    settings = was.hyperparameters, is_now.hyperparameters
    yield counted(name, "settings", *settings, "the recorded config gives other ones here")
    there = "the model is another one here, or its files were changed"
    prints = was.base["fingerprint"], is_now.base["fingerprint"]
    yield matched(name, "base model", *prints, there)
    first, second = (
        {row["step"]: row["loss"] for row in job.metrics() if "loss" in row}
        for job in (before, now)
    )
    yield counted(name, "losses", first, second, TRAINING)
    made, makes = (str(job.row.result.get("adapter_sha256", "")) for job in (before, now))
    yield matched(name, "adapter", made, makes, TRAINING)


def notes(then: Mapping[str, Any], now: Mapping[str, Any]) -> tuple[str, ...]:
    """Why answers may differ: what differs between the machine then and the one now; that nothing does."""
    apart = [f"{k}: {then[k]} then, {now.get(k)} now" for k in then if then[k] != now.get(k)]
    if not apart:
        return (
            "done again with the device, dtype, threads and versions of the first time: "
            "all of it should be equal",
        )
    return (
        f"answers, and what follows from them, may differ, since this does: {'; '.join(apart)}",
        "question ids, rows and settings may not differ on any machine",
    )


def machine(ws: Workspace, runs: Mapping[str, int]) -> dict[str, Any]:
    """Versions as the report of these runs names them; device, dtype and threads of the first local one."""
    spec = read_json(report_folder(ws.place, list(runs.values())) / SPEC)["environment"]
    devices = [ws.get_run(id).row.settings.get("device") for id in runs.values()]
    device: dict[str, Any] = next(filter(None, devices), {})
    used = {key: device.get(key) for key in ("name", "kind", "dtype", "threads")}
    return {"python": spec["python"], **spec["versions"], **used}
