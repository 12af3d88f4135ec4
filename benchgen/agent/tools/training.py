"""Trainings and merges: planned in full, started by the gate alone, then followed by their status and logs."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Situation, Waiting
from benchgen.agent.tools import looking, words
from benchgen.agent.tools.desk import Desk, asking, wrong
from benchgen.agent.tools.seeing import steps_of
from benchgen.errors import InputError, NotFound, StateError
from benchgen.models import catalogue
from benchgen.plan import gate
from benchgen.plan.grpo_limits import check_grpo
from benchgen.records import Job, PlanRecord, Run
from benchgen.rundata.rows import rows_from_file
from benchgen.stages import datasets
from benchgen.stages.planning import NAME
from benchgen.store import JobRow, PlanRow
from benchgen.types import MODES, UNDER_WAY, Plan, sha256

TYPES = {"lora": "lora", "grpo": "grpo", "continue": "continue", "from-run": "from_run"}
"""{type of a job as a person says it: its recipe}"""
SETTINGS = {
    **{key: key for key in ("epochs", "max_steps", "learning_rate", "alpha", "batch_size")},
    **{key: key for key in ("max_length", "warmup", "weight_decay", "dropout")},
    "gradient_accumulation": "gradient_accumulation",
    "rank": "r",
}
"""{argument: setting of a recipe}"""
GRPO = {
    "num_generations": "num_generations",
    "temperature": "temperature",
    "beta": "beta",
    "max_tokens": "max_completion_length",
}
"""{argument: setting of recipe.grpo}"""
SHOW = "the updated plan, wait for a new yes"
NO_WEIGHTS = "no Hugging Face repository id"
MOST_LINES = 200
OUT_OF_MEMORY = "out of memory"
CHOICES = 8


# ---- plans -----------------------------------------------------------------------------------------


def plan(desk: Desk, situation: Situation, asked: Mapping[str, Any]) -> Outcome:
    """The plan of a training with everything that it would do; nothing is started."""
    told = {key: value for key, value in asked.items() if value is not None}
    job_type = told.get("job_type") or _guessed(told)
    if job_type is None:
        text = (
            "Which training? from-run learns from what a run showed, lora from a dataset, grpo from a benchmark's own "
            "scorer, continue trains an adapter further. Reply with a number."
        )
        return asking(text, ["job_type"], tuple(TYPES), **told)
    if job_type not in TYPES:
        return wrong(
            "unknown job type", f"There is no {words.name(job_type)}: {words.listed(TYPES, 'or')}."
        )
    told["job_type"] = job_type
    check = {"from-run": _from_run, "lora": _lora, "grpo": _grpo, "continue": _continue}[job_type]
    ready = check(desk, situation, told)
    if isinstance(ready, Outcome):
        return ready
    found = _planned(desk, job_type, ready, told)
    named = told.get("base_model") or found.waiting is None
    note = "" if named else _base_taken(desk, job_type, ready)
    return dataclasses.replace(found, text=words.paragraphs(note, found.text)) if note else found


def _guessed(told: Mapping[str, Any]) -> str | None:
    """The type that the other arguments leave no doubt about."""
    for key, found in (("run", "from-run"), ("runs", "from-run"), ("job", "continue")):
        if told.get(key):
            return found
    return "lora" if told.get("dataset") else "grpo" if told.get("benchmark") else None


Ready = dict[str, Any]
"""Arguments of `Workspace.plan`."""


def _from_run(desk: Desk, situation: Situation, told: Mapping[str, Any]) -> Ready | Outcome:
    runs = list(told.get("runs") or ([told["run"]] if told.get("run") is not None else []))
    if not runs:
        finished = [run for run in situation.runs if run.state == "finished"][-CHOICES:]
        choices = tuple(f"run {run.id}: {words.name(run.model)}" for run in reversed(finished))
        return asking("From which run?", ["run"], choices, job_type="from-run")
    mode = told.get("mode") or "failures"
    about = {"job_type": "from-run", "run": runs[0], "mode": mode}
    if mode not in MODES or mode == "all":
        text = (
            f"Mode {words.name(mode)} cannot be trained on. The modes are failures (worked answers of what was wrong) and "
            "distill (right replies as given)."
        )
        return wrong("unknown mode" if mode not in MODES else "mode all", text, **about)
    found = [desk.ws.get_run(one) for one in runs]
    for run in found:
        if (early := looking.not_finished(run)) is not None:
            return early
    base = _base(desk, situation, told, "from-run", about)
    if isinstance(base, Outcome):
        return base
    empty = _nothing_to_learn(found, mode)
    if empty is not None:
        return empty
    if told.get("job_type") == "continue":  # the adapter that goes on is the one that learns
        return {"run": runs if len(runs) > 1 else runs[0], "mode": mode}
    own = None if mode == "distill" and _is_adapter(found) else _own_base(desk, found)
    name = base or own
    if name is None:
        model = words.listed(dict.fromkeys(run.model.row.name for run in found))
        teaches = "may teach any model" if _is_adapter(found) else "has no weights here"
        text = f"{model} {teaches}, so which model is to learn from it? Reply with a number, or name another."
        return _ask_base(text, situation, about)
    return {"run": runs if len(runs) > 1 else runs[0], "mode": mode, "base_model": name}


def _nothing_to_learn(runs: Sequence[Run], mode: str) -> Outcome | None:
    """What is said where the runs hold no row of the mode; None where they do."""
    right = sum(int(run.summary["right"]) for run in runs)
    scored = sum(int(run.summary["scored"]) for run in runs)
    first = runs[0].id
    if mode == "failures" and right == scored:
        text = (
            f"Run {first} has no wrong answers ({right} of {scored} right), so there is nothing to learn from its failures. "
            f"What it can do can be taught to a smaller model: `plan a from-run training from run {first}, mode distill, "
            "base model MODEL`."
        )
        told = {"run": first, "mode": mode, "n_failures": 0, "suggest": "distill with a base model"}
        return Outcome(text, told, "explain")
    if mode == "distill" and right == 0:
        text = (
            f"Run {first} has no right answers (0 of {scored}), so there is nothing to distil. "
            f"`dataset of run {first} in mode all` shows what it answered."
        )
        return wrong("no right answers", text, run=first, mode=mode, n_correct=0)
    return None


def _own_base(desk: Desk, runs: Sequence[Run]) -> str | None:
    """The model of the runs where it can be trained, the base of its adapter, or None."""
    rows = {run.model.row.name: run.model.row for run in runs}
    if len(rows) != 1:
        return None
    base = catalogue.base_of(desk.ws.store, next(iter(rows.values())))
    return str(base.name) if base.kind in catalogue.TRAINABLE else None


def _is_adapter(runs: Sequence[Run]) -> bool:
    """Whether the runs are all of adapters."""
    return all(run.model.row.kind == "adapter" for run in runs)


def _base_taken(desk: Desk, job_type: str, ready: Mapping[str, Any]) -> str:
    """Which base is taken where the run's own model is an adapter, and how that itself is trained; else nothing."""
    run = ready.get("run")
    if job_type != "from-run" or not isinstance(run, int):
        return ""
    row = desk.ws.get_run(run).model.row
    if row.kind != "adapter":
        return ""
    return (
        f"Run {run} is of {words.name(row.name)}, the adapter of job {row.job_id}: base_model is what it stands on, "
        f"{words.name(ready['base_model'])}, which is trained anew. To train the adapter itself further: "
        f"`continue job {row.job_id} on the {ready['mode']} of run {run}`."
    )


def _ask_missing(missing: list[str], situation: Situation, about: Mapping[str, Any]) -> Outcome:
    """A question for what a plan cannot do without: a base by numbered choices, where only that is open."""
    if missing == ["base_model"]:
        return _ask_base("Which model is to learn?", situation, about)
    still = words.listed(name.replace("_", " ") for name in missing)
    return asking(f"What is still open: {still}.", missing, **about)


def _lora(desk: Desk, situation: Situation, told: Mapping[str, Any]) -> Ready | Outcome:
    about = {key: told[key] for key in ("job_type", "base_model", "dataset") if key in told}
    base = _base(desk, situation, told, "lora", about)
    if isinstance(base, Outcome):
        return base
    missing = [
        key for key, value in (("base_model", base), ("dataset", told.get("dataset"))) if not value
    ]
    if missing:
        return _ask_missing(missing, situation, about)
    file = _dataset(desk, str(told["dataset"]), about)
    return file if isinstance(file, Outcome) else {"dataset": file, "base_model": base}


def _grpo(desk: Desk, situation: Situation, told: Mapping[str, Any]) -> Ready | Outcome:
    about = {key: told[key] for key in ("job_type", "base_model", "benchmark") if key in told}
    generations, batch = told.get("num_generations"), told.get("batch_size")
    recipe = config.load_recipe("grpo")
    group = int(generations or recipe.grpo.num_generations)
    size = int(batch or recipe.batch_size)
    accumulation = int(told.get("gradient_accumulation") or recipe.gradient_accumulation)
    if group > 0 and size > 0 and size * accumulation % group:
        text = (
            f"{group} generations do not divide a step: batch size {size} times {accumulation} accumulated is "
            f"{size * accumulation} completions, which must be whole groups. Next: a batch size that {group} divides, "
            f"or generations that divide {size * accumulation}."
        )
        return wrong("not divisible", text, **about, num_generations=group, batch_size=size)
    try:
        own = {GRPO[key]: told[key] for key in GRPO if key in told}
        check_grpo(own | {"num_generations": group}, size, accumulation)
    except InputError as error:
        return wrong(words.line(error.what, 200), words.line(error.message, 400), **about)
    base = _base(desk, situation, told, "grpo", about)
    if isinstance(base, Outcome):
        return base
    bench = told.get("benchmark")
    missing = [key for key, value in (("base_model", base), ("benchmark", bench)) if not value]
    if missing:
        return _ask_missing(missing, situation, about)
    record = desk.ws.benchmark(int(bench or 0))
    if record.row.state != "published":
        text = (
            f"Benchmark {record.id} is a {record.state}: its scorer rewards only once it is published. "
            f"Next: `publish benchmark {record.id}`, then plan again."
        )
        return wrong("draft", text, **about)
    return {"benchmark": record.id, "base_model": base}


def _continue(desk: Desk, situation: Situation, told: Mapping[str, Any]) -> Ready | Outcome:
    about = {key: told[key] for key in ("job_type", "job", "dataset", "run") if key in told}
    job, model = told.get("job"), told.get("base_model")
    if job is None and model:
        seen = [one for one in situation.models if one.name == model and one.job is not None]
        job = seen[0].job if seen else None
    if job is None:
        made = [one for one in situation.models if one.kind == "adapter" and one.job is not None][
            :CHOICES
        ]
        choices = tuple(f"job {one.job}: {words.name(one.name)}" for one in made)
        return asking(
            "Which adapter is to be trained further? Say the job that made it.",
            ["job"],
            choices,
            **about,
        )
    found = desk.ws.job(int(job))
    if found.state != "finished":
        text = f"Job {found.id} is {found.state}: it has made no model yet that could be trained further. Next: `training status of job {found.id}`."
        return wrong("not finished", text, **{**about, "job": found.id}, state=found.state)
    more: Ready = {"job": found.id}
    runs = told.get("runs") or ([told["run"]] if told.get("run") is not None else [])
    if runs:
        ready = _from_run(desk, situation, {**told, "base_model": None})
        if isinstance(ready, Outcome):
            return dataclasses.replace(ready, arguments={**ready.arguments, "job_type": "continue"})
        return {**more, "run": ready["run"], "mode": ready["mode"]}
    if not told.get("dataset"):
        text = f"On what? Name a dataset, or a run: `continue job {found.id} on FILE`, `continue job {found.id} from run 3`."
        return asking(text, ["dataset"], job_type="continue", job=found.id)
    file = _dataset(desk, str(told["dataset"]), about)
    return file if isinstance(file, Outcome) else {**more, "dataset": file}


def _base(
    desk: Desk,
    situation: Situation,
    told: Mapping[str, Any],
    job_type: str,
    about: Mapping[str, Any],
) -> str | Outcome | None:
    """The model that is to learn, by its whole name; None where none was named; what is said where it cannot."""
    candidates = list(told.get("base_model_candidates") or ())
    typed = told.get("base_model")
    if not typed and candidates:
        return _several(candidates, about)
    if not typed:
        return None
    try:
        model, others = desk.model(str(typed))
    except NotFound:
        text = (
            f"There is no model {words.name(typed)}. A training starts from a Hugging Face id such as "
            "Qwen/Qwen2.5-0.5B-Instruct, or from a model of this workspace with weights."
        )
        return wrong("unknown model", text, **{**about, "base_model": typed})
    row = model.row
    if others:
        return _several([row.name, *others], about)
    if row.kind == "adapter" and job_type != "grpo":
        text = (
            f"{words.name(row.name)} is an adapter: a training would start again from its base. Next: "
            f"`continue training of job {row.job_id}`, or name the base itself."
        )
        return wrong("an adapter", text, **{**about, "base_model": typed})
    if row.kind not in (*catalogue.TRAINABLE, "adapter"):
        text = (
            f"{words.name(row.name)} is of kind {row.kind} and has no weights to train: a base model is a Hugging Face id such as "
            "Qwen/Qwen2.5-0.5B-Instruct. What it answers can be taught to one: a from-run training in mode distill."
        )
        return wrong(NO_WEIGHTS, text, **{**about, "base_model": typed})
    return str(row.name)


def _several(names: Sequence[str], about: Mapping[str, Any]) -> Outcome:
    """Which of several models that fit: asked, since a training is not planned on a guess."""
    found = tuple(names[:CHOICES])
    text = "Several models have that name. Which one is to learn? Reply with a number."
    return asking(text, ["base_model"], found, **about, base_model_candidates=list(found))


def _ask_base(text: str, situation: Situation, about: Mapping[str, Any]) -> Outcome:
    names = tuple(model.name for model in situation.models if model.trainable)[:CHOICES]
    return asking(text, ["base_model"], names, **about)


def _dataset(desk: Desk, typed: str, about: Mapping[str, Any]) -> str | Outcome:
    """The dataset as `Workspace.plan` takes it: a hub id as it is, else the file; what is said where there is none."""
    try:
        return str(desk.file(typed))
    except NotFound:
        if datasets.is_hub_id(typed):
            return typed
        text = (
            f"There is no file {words.line(typed)}, and it is no dataset id of the hub (owner/name). Next: the file's full "
            "path, or its name once it lies in the workspace's folder files."
        )
        return wrong("not found", text, **{**about, "dataset": typed})


def _planned(desk: Desk, job_type: str, ready: Ready, told: Mapping[str, Any]) -> Outcome:
    """The plan, recorded and shown."""
    recipe = "qlora" if told.get("quantize") and job_type == "lora" else TYPES[job_type]
    settings: dict[str, Any] = {SETTINGS[key]: told[key] for key in SETTINGS if key in told}
    own = {GRPO[key]: told[key] for key in GRPO if key in told} if job_type == "grpo" else {}
    if own:
        settings["grpo"] = own
    if "epochs" in settings and job_type == "grpo" and "max_steps" not in settings:
        settings["max_steps"] = -1
    try:
        record = desk.ws.plan(
            recipe,
            name=told.get("name"),
            seed=told.get("seed") or 0,
            **ready,
            **settings,
        )
    except InputError as error:
        about = {
            key: told[key]
            for key in told
            if key
            in (
                *SETTINGS,
                *GRPO,
                "run",
                "mode",
                "dataset",
                "base_model",
                "benchmark",
                "job",
                "name",
            )
        }
        return wrong(
            words.line(error.what, 200), words.line(error.message, 500), job_type=job_type, **about
        )
    return shown(record, told)


def shown(record: PlanRecord, asked: Mapping[str, Any]) -> Outcome:
    """A plan in full: what would run, on what, how, where, and what it would take."""
    plan = record.plan
    label = f"P{record.id}"
    facts = plan_facts(plan)
    rows = [("job_type", plan.job_type), ("base_model", plan.base_model), ("model", plan.name)]
    if "adapter" in plan.base:
        adapter = plan.base["adapter"]
        rows.append(("adapter", f"{adapter['name']} of job {adapter['job']}"))
    rows += [("dataset", data_words(plan)), ("device", device_words(plan))]
    rows += [(key, value) for key, value in sorted(plan.hyperparameters.items())]
    rows += [(f"estimated {key}", f"{e.words} ({e.basis})") for key, e in plan.estimates.items()]
    text = words.paragraphs(
        f"Plan {label}, hash {record.hash}. Nothing has started.",
        words.table(("setting", "value"), rows, 240),
        "\n".join(f"- {words.line(one, 300)}" for one in [*_cap(plan, asked), *plan.warnings[:10]]),
        f"Reply `{gate.WORD}` to start exactly this; anything else cancels it. To change something, say what.",
    )
    kept = {key: value for key, value in asked.items() if key not in ("base_model_candidates",)}
    waiting = Waiting(
        "plan", label, {**facts, "record": record.id, "hash": record.hash, "asked": kept}
    )
    return Outcome(text, {**facts, "plan": label, "hash": record.hash}, waiting=waiting)


def _cap(plan: Plan, asked: Mapping[str, Any]) -> list[str]:
    """That a cap of steps stands above the epochs that were asked for."""
    steps, epochs = plan.hyperparameters.get("max_steps", -1), asked.get("epochs")
    return (
        [f"max_steps {steps} ends it, whatever {epochs} epochs come to"]
        if steps > 0 and epochs
        else []
    )


def plan_facts(plan: Plan) -> dict[str, Any]:
    """A plan's facts under the names of the contract."""
    data, settings = plan.dataset, plan.hyperparameters
    facts: dict[str, Any] = {
        "job_type": plan.job_type,
        "base_model": plan.base_model,
        "dataset": _source(plan),
        "n_rows": data["rows"],
        "gpu": plan.device["kind"] == "cuda",
    }
    for key, name in (("run", "runs"), ("mode", "mode"), ("benchmark", "benchmark")):
        value = data.get(name)
        if value:
            facts[key] = value[0] if name == "runs" else value
    names = {**SETTINGS, **(GRPO if plan.job_type == "grpo" else {})}
    for argument, setting in names.items():
        if setting in settings and not (setting == "max_steps" and settings[setting] < 0):
            facts[argument] = settings[setting]
    return facts


def _source(plan: Plan) -> str:
    source = str(plan.dataset["source"])
    return Path(source).name if source.startswith("/") else source


def data_words(plan: Plan) -> str:
    """What a plan trains on, and how much of it, in words."""
    data = plan.dataset
    number = words.plural(int(data["rows"]), "row")
    if plan.job_type == "grpo":
        return f"the questions of benchmark {data['benchmark']}: {data['rows']}"
    if not data.get("runs"):
        return f"{_source(plan)}: {number}"
    again = data.get("replayed") or 0
    if data["mode"] == "distill":
        what = f"{data['rows']} correct trajectories to {data.get('questions', data['rows'])} questions"
    else:
        more = f", and {again} right replies so that they stay" if again else ""
        what = f"worked answers of {data['rows'] - again} wrong answers{more}"
    return f"{data['source']}, mode {data['mode']}: {what}"


def device_words(plan: Plan) -> str:
    """Where a plan would run, in words."""
    device = plan.device
    if device["kind"] == "cuda":
        return f"GPU available: {device['name']}, {device['dtype']}, trainer {device['trainer']}"
    return f"no GPU here: trains on the {device['kind'].upper()} ({device['name']}), {device['dtype']}, trainer {device['trainer']}"


def revise(
    desk: Desk, situation: Situation, waiting: Waiting | None, changes: Mapping[str, Any]
) -> Outcome:
    """The plan again with the changes; the old one is cancelled and can no longer be confirmed."""
    if waiting is None:
        return asking("No plan waits. Say what is to be trained, on what.", ["plan"])
    cancel(desk, waiting, "changed")
    told = {"plan": waiting.label, "show": SHOW}
    asked = dict(waiting.told.get("asked") or {})
    if waiting.kind == "merge":
        found = merge(
            desk,
            changes.get("job", asked.get("job")),
            changes.get("model", asked.get("model")),
            changes.get("name", asked.get("name")),
        )
    else:
        found = plan(desk, situation, _joined(asked, changes))
    text = words.paragraphs(f"{waiting.label} is cancelled.", found.text)
    made = {} if found.waiting is None else {"new_plan": found.waiting.label}
    arguments = {**found.arguments, **told, **made}
    return dataclasses.replace(found, text=text, arguments=arguments)


def _joined(asked: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """What was asked with its changes; another subject (a run, a dataset, a benchmark) makes it another training."""
    told = {**asked, **changes}
    if "job_type" in changes or told.get("job_type") == "continue":
        return told
    subjects = {"run": "from-run", "runs": "from-run", "dataset": "lora", "benchmark": "grpo"}
    for subject, job_type in subjects.items():
        if subject in changes and told.get("job_type") != job_type:
            left = {
                key: value for key, value in told.items() if key not in subjects or key in changes
            }
            return {**left, "job_type": job_type}
    return told


# ---- merges ----------------------------------------------------------------------------------------


def merge(desk: Desk, job: int | None, model: str | None, name: str | None) -> Outcome:
    """The plan of a merge: which adapter into which base, and the name that the model will have."""
    about: dict[str, Any] = {
        key: value
        for key, value in (("job", job), ("model", model), ("name", name))
        if value is not None
    }
    missing = [*(["job"] if job is None and model is None else []), *([] if name else ["name"])]
    if missing or name is None:
        return asking(f"What is still open: {words.listed(missing)}.", missing, **about)
    if not NAME.fullmatch(name):
        text = (
            f"{words.line(name, 80)} cannot name a model: letters, digits, dots, dashes and underscores, 80 at most, and "
            "no path."
        )
        return wrong("not a valid name", text, **about)
    if name in catalogue.names(desk.ws.store):
        text = f"A model named {words.name(name)} is there already, and stays as it is. Next: another name."
        return wrong("name is taken", text, **about)
    if job is not None:
        found = desk.ws.job(job)
        if found.state != "finished":
            text = f"Job {job} is {found.state}: it has no adapter to merge yet. Next: `training status of job {job}`."
            return wrong("not finished", text, **about, state=found.state)
    try:
        record = desk.ws.merge(job, name, model=model if job is None else None)
    except InputError as error:
        return wrong(words.line(error.what, 200), words.line(error.message, 500), **about)
    return _merge_shown(record, about)


def _merge_shown(record: PlanRecord, about: Mapping[str, Any]) -> Outcome:
    plan = record.plan
    label, adapter = f"M{record.id}", plan.base["adapter"]
    rows: list[tuple[str, Any]] = [
        ("adapter", f"{adapter['name']} of job {adapter['job']}"),
        ("base_model", plan.base_model),
        ("name", plan.name),
        ("device", device_words(plan)),
        *sorted(plan.hyperparameters.items()),
        *((f"estimated {key}", f"{e.words} ({e.basis})") for key, e in plan.estimates.items()),
    ]
    text = words.paragraphs(
        f"Merge plan {label}, hash {record.hash}: {words.name(adapter['name'])} merged into {words.name(plan.base_model)}, as "
        f"{words.name(plan.name)}. Nothing has started.",
        words.table(("setting", "value"), rows, 240),
        "\n".join(f"- {words.line(one, 300)}" for one in plan.warnings[:10]),
        f"Reply `{gate.WORD}` to start it; anything else cancels it. The model is in the catalogue only once it is whole and "
        "answers as the adapter does.",
    )
    facts = {"job": adapter["job"], "name": plan.name, "base_model": plan.base_model}
    told = {**facts, "record": record.id, "hash": record.hash, "asked": dict(about)}
    return Outcome(
        text, {**facts, "merge": label, "hash": record.hash}, waiting=Waiting("merge", label, told)
    )


# ---- the gate's --------------------------------------------------------------------------------------


def confirm(desk: Desk, waiting: Waiting, answer: str) -> Outcome:
    """The job of the plan or merge, started; already_done where it was before."""
    record = int(waiting.told["record"])
    label = {waiting.kind: waiting.label}
    before = desk.ws.store.all(JobRow, JobRow.plan_id == record)
    if before:
        text = f"{waiting.label} was confirmed before: it is job {before[0].id}."
        return Outcome(text, {**label, "job": before[0].id}, "already_done")
    job = desk.ws.confirm(record, answer)
    plan = job.plan
    text = (
        f"Job {job.id} is started in the background ({plan.job_type}): {words.name(plan.name)} will be in the catalogue once it "
        "is finished.\n\nNext: `training status`."
    )
    return Outcome(text, {**label, "job": job.id})


def cancel(desk: Desk, waiting: Waiting, answer: str) -> None:
    """The plan's record cancelled; one that was decided before stays as it is."""
    record = waiting.told.get("record")
    if record is None or gate.says_yes(answer):
        return
    row = desk.ws.store.get(PlanRow, int(record))
    if row.state == "pending":
        with suppress(StateError):
            desk.ws.confirm(row.id, answer)


def changed(desk: Desk, waiting: Waiting) -> str:
    """What changed since the plan was shown, in words; empty where nothing did."""
    record = waiting.told.get("record")
    if record is None:
        return ""
    row = desk.ws.store.get(PlanRow, int(record))
    try:
        plan = gate.load(row)
    except StateError as error:
        return error.what
    source = str(plan.dataset["source"])
    if plan.job_type not in ("lora", "continue") or plan.dataset.get("runs"):
        return ""
    try:
        rows = rows_from_file(datasets.file_of(desk.ws.place, source))
    except InputError as error:
        return f"the dataset can no longer be read: {error.what}"
    if sha256([one.to_dict() for one in rows]) != plan.dataset["sha256"]:
        return "the dataset file changed after the plan was shown"
    return ""


# ---- jobs ------------------------------------------------------------------------------------------


def status(desk: Desk, job: int | None) -> Outcome:
    """How far a job is; the model once it landed; why it failed."""
    if job is None:
        rows = desk.ws.store.all(JobRow)
        if not rows:
            return Outcome(
                "There is no training yet. Next: `plan a from-run training from run 3`.",
                {"job": None},
            )
        active = [row for row in rows if row.state in UNDER_WAY]
        job = (active or rows)[-1].id
    found = desk.ws.job(job)
    told, row = found.status(), desk.ws.store.get(PlanRow, found.row.plan_id).plan
    steps = steps_of(row)
    arguments: dict[str, Any] = {
        "job": found.id,
        "state": told["state"],
        "step": told.get("step", 0),
        "max_steps": steps,
        "job_type": row.get("job_type"),
    }
    head = f"Job {found.id} ({row.get('job_type')}, {words.name(row.get('base_model'))})"
    state = told["state"]
    if state == "finished":
        model = told.get("model")
        arguments["model"] = model
        text = (
            f"{head} is finished: {words.name(model)} is in the catalogue.\n\n"
            f"Next: `run benchmark {_asked_of(desk, row)} on {words.name(model)}`."
        )
    elif state in ("failed", "stopped"):
        why = cause(found)
        arguments["error"] = short(why)
        text = f"{head} {state}: {words.line(why, 300)}.\n\nNext: `training logs of job {found.id}`; `benchgen resume job_id={found.id}` goes on at its last checkpoint."
    else:
        loss = f", loss {told['loss']:.3f}" if isinstance(told.get("loss"), float) else ""
        left = f", about {told['seconds_left']} s left" if "seconds_left" in told else ""
        text = f"{head} is {state}: step {arguments['step']} of {steps}{loss}{left}.\n\nNext: ask again at any time; `training logs of job {found.id}` shows its lines."
    return Outcome(text, arguments)


def _asked_of(desk: Desk, plan: Mapping[str, Any]) -> Any:
    """The benchmark that a plan was made around; NUMBER where there is none."""
    data = plan.get("dataset") or {}
    if data.get("runs"):
        return desk.ws.get_run(data["runs"][0]).row.benchmark_id
    return data.get("benchmark") or "NUMBER"


def logs(desk: Desk, job: int | None, lines: int | None) -> Outcome:
    """The last lines that a job wrote, and the cause where it failed."""
    if job is None:
        rows = desk.ws.store.all(JobRow)
        if not rows:
            return Outcome("There is no training yet, so there are no logs.", {"job": None})
        job = rows[-1].id
    wanted = 20 if lines is None else lines
    if wanted < 0:
        return wrong("not a number of lines", "Lines are 0 or more.", job=job, lines=wanted)
    found = desk.ws.job(job)
    state = found.state
    told = found.logs(min(wanted, MOST_LINES))
    arguments: dict[str, Any] = {"job": found.id, "lines": wanted, "state": state}
    head = f"Job {found.id} is {state}."
    if state == "failed":
        why = cause(found)
        arguments["error"] = short(why)
        head = f"Job {found.id} failed: {words.line(why, 300)}."
    block = "\n".join(words.line(one, 300) for one in told)
    shown = f"```\n{block}\n```" if block else "It has written no lines."
    cut = (
        f"{MOST_LINES} lines at most are shown: `benchgen logs job_id={job} lines={wanted}`."
        if wanted > MOST_LINES
        else ""
    )
    return Outcome(words.paragraphs(head, shown, cut, _remedy(found, state)), arguments)


def _remedy(job: Job, state: str) -> str:
    if state != "failed":
        return f"Next: `training status of job {job.id}`."
    if short(cause(job)) == OUT_OF_MEMORY:
        return "The device's memory was full. Next: plan again with a smaller batch size or max length."
    return f"Next: `benchgen resume job_id={job.id}`, or plan again."


def cause(job: Job) -> str:
    """Why a job failed, as its record or its last lines say."""
    last = job.logs(1)
    return str(job.row.error or (last[0] if last else "its process is gone"))


def short(why: str) -> str:
    """The cause in a few words where it is a known one, else the line itself, bounded."""
    return OUT_OF_MEMORY if OUT_OF_MEMORY in why.casefold() else words.line(why, 200)
