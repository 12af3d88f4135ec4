"""An adapter merged into its base: what a merge would do, the work itself, and the model that lands.

A merged model is a folder `models/NAME` that holds all of a model. It is made under the job's folder,
checked there, renamed in one step, and only then entered in the catalogue: killed at any moment, nothing
half is found, and `resume` does it again.
"""

from __future__ import annotations

import os
import resource
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchgen import config
from benchgen.benchmark.prompts import render
from benchgen.errors import ConfigError, InputError, StateError, StoreError, TrainingError
from benchgen.models import catalogue, import_once
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.models.whole import weights_bytes, weights_dtype
from benchgen.plan import planner
from benchgen.plan.memory import BYTES
from benchgen.records import Benchmark, Job, Place, PlanRecord, Run
from benchgen.run import runner
from benchgen.run.log import TraceLog
from benchgen.run.metrics import outcomes, summary
from benchgen.stages import cards, parents, planning
from benchgen.store import JobRow, ModelRow, PlanRow, now, read_json, write_atomic, write_json
from benchgen.types import Estimate, Message, Plan, sha256

MARK = "benchgen.json"
"""Written into the folder last: which job made it, and the size of each file."""
QUESTIONS = 30
"""Of the benchmark, asked of both models, unless told otherwise."""
PROMPTS = 8
ROUNDED = {"float32": 0.0, "float16": 0.01, "bfloat16": 0.05}
COMPUTED = {"float32": 1e-4, "float16": 0.02, "bfloat16": 0.1}
"""How far merged logits may be from the adapter's, as a share of their standard deviation: by the type
that the weights are rounded to, plus by the type that is computed in. Of SmolLM2-135M with an adapter of 20
steps were measured: 2.6e-6 (float32 in both), 0.014 (bfloat16 weights), 0.048 (bfloat16 in both)."""
FORMATS = ("safetensors",)
Tell = Callable[[str], None]
NEUTRAL = tuple(
    ({"role": "user", "content": text},)
    for text in (
        "What is the capital of France?",
        "Write one sentence about the sea.",
        "Add 17 and 25.",
        "Name three colours.",
        "Is ice colder than steam?",
        "Translate 'good morning' into Spanish.",
        "List the days of the week.",
        "Explain in a few words what a prime number is.",
    )
)
"""Asked where no benchmark is known."""


@dataclass(frozen=True)
class Wanted:
    """What a person asks of a merge: the adapter by its job or by its name, and the name of the model to be."""

    name: str | None
    job: Job | int | None = None
    model: str | None = None
    hardware: config.HardwareConfig = field(default_factory=config.HardwareConfig)
    limit: int | None = None
    form: str | None = None


def plan(place: Place, wanted: Wanted) -> PlanRecord:
    """What a merge would do, frozen under a hash; starts nothing."""
    return PlanRecord(place, place.once(PlanRow, wanted, lambda: _planned(place, wanted).id))


def _planned(place: Place, wanted: Wanted) -> PlanRecord:
    if wanted.name is None:
        raise ConfigError("a merge needs the name of the model to be", next="name=my-model-merged")
    _check_format(place, wanted)
    name = planning.free_name(place, wanted.name, "", "merged")
    target = _target(place, name)
    if target.exists():
        raise ConfigError(
            f"there is a folder models/{name} already", got=str(target), next="another name=…"
        )
    parent = parents.parent_of(place, wanted.job, wanted.model)
    base = planning.base_from(place, parent.base)
    if base.folder is None or not parent.trained_on:
        raise StateError(
            f"the weights that {parent.row.name} was trained on cannot be told from others here",
            got=base.id,
            allowed="a base whose files are on this machine, as they were in training",
            next=f"hf download {base.id}, train again, then merge",
        )
    dtype, size = weights_dtype(base.folder, base.name), weights_bytes(base.folder)
    _check_disk(place, size)
    device = planner.choose_device(wanted.hardware)
    bench = benchmark_of(place, parent)
    questions = min(wanted.limit or QUESTIONS, bench.row.questions) if bench else 0
    made = Plan(
        job_type="merge",
        base_model=base.id,
        base={
            "name": base.name,
            "revision": base.revision,
            "fingerprint": base.fingerprint,
            "adapter": parent.told(),
        },
        dataset={
            "source": "nothing is trained on",
            "mode": None,
            "runs": [],
            "rows": 0,
            "sha256": sha256([]),
        },
        hyperparameters={
            "dtype": dtype,
            "tolerance": round(ROUNDED[dtype] + COMPUTED[device.dtype], 6),
            "prompts": PROMPTS,
            "benchmark": bench.id if bench else None,
            "questions": questions,
            "answers_apart": answers_apart(dtype, device.dtype, questions),
        },
        device={
            "trainer": "peft",
            "kind": device.kind,
            "name": device.name,
            "dtype": device.dtype,
        },
        name=name,
        estimates=_estimates(size, dtype, device.dtype),
        warnings=tuple(_notes(parent, dtype, bench)),
        seen=tuple(sorted(catalogue.seen_keys(place.store, parent.row))),
    )
    return planning.record_plan(place, made, [])


def run(place: Place, plan: Plan, job: Job, tell: Tell) -> dict[str, Any]:
    """What was done and measured; the model then lies whole in `models/NAME`. `tell` is told what begins.

    Raises TrainingError where it does not answer as the adapter on its base does.
    """
    target, work = _target(place, plan.name), job.folder / "merged"
    if (found := _landed(target, job, plan)) is not None:
        return found
    if target.exists():
        raise StateError(
            f"there is a folder models/{plan.name} that this job did not make", got=str(target)
        )
    for folder in (work, job.folder / "check"):
        shutil.rmtree(folder, ignore_errors=True)
    work.mkdir(parents=True)
    outcome = _make(place, plan, job, tell)
    files = {file.name: file.stat().st_size for file in sorted(work.iterdir())}
    write_json(
        work / MARK,
        {"job": job.id, "plan": plan.hash, "name": plan.name, "files": files, "outcome": outcome},
    )
    _sync(work)
    target.parent.mkdir(exist_ok=True)
    work.rename(target)
    return outcome


def land(place: Place, job: Job, plan: Plan, outcome: dict[str, Any]) -> None:
    """The merged model in the catalogue and the job finished, in one transaction."""
    adapter = catalogue.find(place.store, plan.base["adapter"]["name"])
    model = ModelRow(
        owner=place.user,
        name=plan.name,
        kind="merged",
        spec={
            "folder": f"models/{plan.name}",
            "sha256": outcome["written"]["sha256"],
            "base": plan.base_model,
        },
        fingerprint=outcome["fingerprint"],
        parent_id=adapter.id,
        job_id=job.id,
        seen=list(plan.seen),
    )
    try:
        with place.store.write() as session:
            session.add(model)
            session.flush()
            row = session.get_one(JobRow, job.id)
            row.state, row.model_id, row.result, row.finished = "finished", model.id, outcome, now()
    except sa.exc.IntegrityError as error:
        shutil.rmtree(_target(place, plan.name), ignore_errors=True)
        raise StateError(
            f"another model has taken the name {plan.name} meanwhile",
            got=plan.name,
            next="merge again under another name",
        ) from error


def answers_apart(saved: str, computed: str, questions: int) -> int:
    """How many right answers the two models may differ by: rounding turns answers that hung on little."""
    exact = saved == computed == "float32"
    return (
        0 if not questions else max(1, questions // 50) if exact else max(2, questions * 7 // 100)
    )


def benchmark_of(place: Place, parent: parents.Parent) -> Benchmark | None:
    """The benchmark that the adapter was trained around: that of its newest training which names one."""
    row = parent.row
    while row.kind == "adapter" and row.job_id is not None:
        told = Job(place, row.job_id).plan.dataset
        if told.get("runs"):
            return Run(place, told["runs"][0]).benchmark
        if told.get("benchmark"):
            return Benchmark(place, told["benchmark"])
        row = place.store.get(ModelRow, int(row.parent_id or 0))
    return None


def _make(place: Place, plan: Plan, job: Job, tell: Tell) -> dict[str, Any]:
    """Write, load again, compare, and describe; returns the outcome."""
    import_once("benchgen.train.merge")
    from benchgen.train import merge

    began, work = time.monotonic(), job.folder / "merged"
    base = catalogue.find(place.store, plan.base["name"])
    adapter_row = catalogue.find(place.store, plan.base["adapter"]["name"])
    adapter = catalogue.adapter_folder(adapter_row, place.path)
    source, settings = catalogue.weights(base, place.path, place.on_convert), plan.hyperparameters
    revision = plan.base["revision"]
    tell(f"merging {adapter_row.name} into {plan.base_model}")
    written = merge.write_merged(
        source, adapter, work, merge.place_of(plan.device), settings["dtype"], revision
    )
    bench = Benchmark.of(place, settings["benchmark"]) if settings["benchmark"] else None
    prompts = _prompts(bench, settings["prompts"])
    served = merge.serve(source, adapter_row.name, plan.device, adapter=adapter, revision=revision)
    logits, alone = merge.last_logits(served, prompts), merge.base_logits(served, prompts)
    before = _asked(served, bench, settings, job.folder / "check" / "adapter.jsonl")
    template = merge.template_sha256(served)
    del served
    tell("loading it again, and comparing it with the adapter on its base")
    again = merge.serve(work, plan.name, plan.device)
    agreed = merge.agreement(
        logits, merge.last_logits(again, prompts), alone, settings["tolerance"]
    )
    after = _asked(again, bench, settings, job.folder / "check" / "merged.jsonl")
    outcome: dict[str, Any] = {
        "folder": f"models/{plan.name}",
        "written": written.to_dict(),
        "agreement": agreed.to_dict(),
        "benchmark": _scores(bench, before, after, settings),
        "template_sha256": template,
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
    write_atomic(work / "README.md", cards.merged_card(place, plan, job, outcome))
    outcome["fingerprint"] = weights_fingerprint(work)
    return {**outcome, "seconds": round(time.monotonic() - began, 3)}


def _prompts(bench: Benchmark | None, count: int) -> list[tuple[Message, ...]]:
    if bench is None:
        return list(NEUTRAL[:count])
    return [render(question, bench.evaluation) for question in bench.questions[:count]]


def _asked(
    model: Any, bench: Benchmark | None, settings: dict[str, Any], file: Path
) -> TraceLog | None:
    """The model's replies to the benchmark's first questions, greedy; None without a benchmark."""
    if bench is None:
        return None
    questions = bench.questions[: settings["questions"]]
    greedy = runner.Sampling(temperature=0.0)
    task = runner.Task(questions, bench.evaluation, bench.scorer(), sampling=greedy)
    return runner.run(task, model, file)


def _scores(
    bench: Benchmark | None,
    before: TraceLog | None,
    after: TraceLog | None,
    settings: dict[str, Any],
) -> dict[str, Any] | None:
    """Both scores with their intervals; TrainingError where they are further apart than was said."""
    if bench is None or before is None or after is None:
        return None
    questions = bench.questions[: settings["questions"]]
    figures = [summary(traces, questions) for traces in (before, after)]
    told = [{k: f[k] for k in ("right", "scored", "asked", "score", "ci")} for f in figures]
    apart = abs(told[0]["right"] - told[1]["right"]) + abs(told[0]["scored"] - told[1]["scored"])
    if apart > settings["answers_apart"]:
        raise TrainingError(
            "the merged model does not score as the adapter on its base does",
            got=f"{told[1]['right']}/{told[1]['scored']} against {told[0]['right']}/{told[0]['scored']}",
            allowed=f"at most {settings['answers_apart']} of {len(questions)} answers apart",
        )
    replies = [{t.key: t.reply for t in traces} for traces in (before, after)]
    verdicts = [outcomes(traces) for traces in (before, after)]
    return {
        "id": bench.id,
        "name": bench.row.name,
        "questions": len(questions),
        "adapter": told[0],
        "merged": told[1],
        "same_replies": sum(replies[1].get(key) == text for key, text in replies[0].items()),
        "same_verdicts": sum(verdicts[1].get(key) == found for key, found in verdicts[0].items()),
        "answers_apart": settings["answers_apart"],
    }


def _target(place: Place, name: str) -> Path:
    return place.path / "models" / name


def _landed(target: Path, job: Job, plan: Plan) -> dict[str, Any] | None:
    """The outcome of a folder that this job made whole before it was killed; None where there is none."""
    try:
        told = read_json(target / MARK)
        mine = (told["job"], told["plan"]) == (job.id, plan.hash)
        sizes = {name: (target / name).stat().st_size for name in told["files"]}
    except (StoreError, OSError, KeyError, TypeError):
        return None
    return dict(told["outcome"]) if mine and sizes == told["files"] else None


def _sync(folder: Path) -> None:
    """The folder's files, all of one mode, on the disk before their names are."""
    for file in folder.iterdir():
        file.chmod(
            (folder / "config.json").stat().st_mode
        )  # weights are written for their owner alone
        with file.open("rb") as stream:
            os.fsync(stream.fileno())


def _check_format(place: Place, wanted: Wanted) -> None:
    if wanted.form in (None, *FORMATS):
        return
    tool = ""
    if wanted.form == "gguf":
        tool = (
            "merge without format=, then llama.cpp's converter makes one of it: "
            f"python convert_hf_to_gguf.py {_target(place, wanted.name or 'NAME')}"
        )
    raise ConfigError(
        f"format={wanted.form} is not written here", got=wanted.form, allowed=FORMATS, next=tool
    )


def _check_disk(place: Place, size: int) -> None:
    there = next(folder for folder in (place.path, *place.path.parents) if folder.is_dir())
    free = shutil.disk_usage(there).free
    if free < 1.1 * size:
        raise InputError(
            "the disk has no room for the merged model",
            got=f"{free / 2**30:.1f} GiB free",
            allowed=f"{1.1 * size / 2**30:.1f} GiB or more",
            next="make room, or workspace=PATH on a larger disk",
        )


def _estimates(size: int, saved: str, computed: str) -> dict[str, Estimate]:
    gib = size / 2**30
    memory = 0.7 + 1.3 * gib * max(1, BYTES[computed] / BYTES[saved])
    basis = f"the libraries, and 1.3 times the weights in {computed}"
    return {
        "disk": Estimate(round(size / 2**20), "MiB", f"the base's weights in {saved}"),
        "memory": Estimate(round(memory, 2), "GiB", basis),
    }


def _notes(parent: parents.Parent, dtype: str, bench: Benchmark | None) -> list[str]:
    told = [f"weights are saved in {dtype}, as the base's are"]
    if cards.is_embedded(parent.base):
        told.append(cards.EMBEDDED_NOTE)
    if bench is None:
        told.append("no benchmark is known for this adapter: logits alone are compared")
    return told
