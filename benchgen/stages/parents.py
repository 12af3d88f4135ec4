"""The adapter that a plan starts from: which one is meant, and that it and its base are as they were."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.errors import ConfigError, StateError
from benchgen.models import catalogue
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.plan import gate
from benchgen.records import Job, Place
from benchgen.store import ModelRow, PlanRow, read_json
from benchgen.types import Plan

SHARE = 0.3
"""Of the earlier learning rate, where a training goes on and none is given."""
SHAPE = ("r", "alpha", "dropout", "targets", "layers")
"""What an adapter has from its first training; another value would make another adapter."""


@dataclass(frozen=True)
class Parent:
    """An adapter with the plan that it came from."""

    row: ModelRow
    base: ModelRow
    plan: Plan
    folder: Path
    shape: Mapping[str, Any]
    """Rank, alpha and dropout as its own files say."""
    trained_on: str
    """Fingerprint of the base's files in its training; empty where none was taken."""

    def told(self) -> dict[str, Any]:
        """What a plan binds of it: name, job, sha256 of its weights, fingerprint with its configuration."""
        return {
            "name": self.row.name,
            "job": self.row.job_id,
            "sha256": self.row.spec["adapter_sha256"],
            "fingerprint": weights_fingerprint(self.folder),
        }


def parent_of(place: Place, job: Job | int | None, name: str | None) -> Parent:
    """The adapter that a job made, or that a name means; InputError unless it and its base are whole.

    `name` is not read where a job is given.
    """
    if job is None and name is None:
        raise ConfigError("no adapter is named", next="job_id=1, or the adapter's own name")
    row = (
        _made_by(place, Job.of(place, job))
        if job is not None
        else catalogue.find(place.store, str(name))
    )
    if row.kind != "adapter" or row.job_id is None:
        raise ConfigError(
            f"model {row.name} is a {row.kind}, not an adapter",
            got=row.kind,
            allowed=["adapter"],
            next="benchgen models lists them; job_id=1 names the job that trained one",
        )
    folder = catalogue.adapter_folder(row, place.path)
    job_of = Job.of(place, row.job_id)
    plan = gate.load(place.store.get(PlanRow, job_of.row.plan_id))
    base = catalogue.base_of(place.store, row)
    # of a base that was fetched by the training itself, the plan knew none
    trained_on = plan.base["fingerprint"] or job_of.row.result.get("base_fingerprint", "")
    _check_base(place, base, trained_on)
    told = read_json(folder / "adapter_config.json")
    shape = {"r": told["r"], "alpha": told["lora_alpha"], "dropout": told["lora_dropout"]}
    for key, value in shape.items():
        if plan.hyperparameters.get(key, value) != value:
            raise StateError(
                f"the adapter {row.name} was changed since it was trained: its {key} is another",
                got=value,
                allowed=[plan.hyperparameters[key]],
                next=f"restore the folder of job {row.job_id}, or train it again",
            )
    return Parent(row, base, plan, folder, shape, trained_on)


def recipe_from(
    parent: Parent, asked: config.RecipeConfig, given: Mapping[str, Any]
) -> tuple[config.RecipeConfig, list[str]]:
    """(every hyperparameter of a training that goes on, what the plan has to say about them).

    As in the adapter's own training unless `given`, or set in the recipe; its shape is always its own.
    """
    fields = [f.name for f in dataclasses.fields(config.RecipeConfig) if f.name != "name"]
    unset = config.load_recipe(asked.name)
    own = {f: getattr(asked, f) for f in fields if getattr(asked, f) != getattr(unset, f)}
    own |= {f: getattr(asked, f) for f in given if f in fields}
    before = {f: v for f, v in parent.plan.hyperparameters.items() if f in fields}
    rate, whose = before["learning_rate"], "the earlier training's"
    if parent.plan.job_type == "grpo":  # whose steps, batches and rate mean something else
        before = {f: v for f, v in before.items() if f in SHAPE}
        rate, whose = unset.learning_rate, "the recipe's, since the earlier training was grpo:"
    values = {**before, **own}
    notes = []
    if "learning_rate" not in own:
        values["learning_rate"] = float(f"{SHARE * rate:.6g}")
        notes.append(f"learning_rate={values['learning_rate']:g} is {SHARE} of {whose} {rate:g}")
    if "epochs" in own and "max_steps" not in own:
        values["max_steps"] = -1  # a cap of the earlier training would override what was asked for
    shape = {key: parent.shape.get(key, before.get(key)) for key in SHAPE}
    shape = {key: value for key, value in shape.items() if value is not None}
    told = [f"{key}={own[key]}" for key in SHAPE if key in own and own[key] != shape.get(key)]
    if told:
        stays = ", ".join(f"{key}={value}" for key, value in shape.items())
        notes.append(f"{', '.join(told)} cannot be had: the adapter's own shape stays, {stays}")
    return dataclasses.replace(asked, **{**values, **shape}), notes


def _made_by(place: Place, job: Job) -> ModelRow:
    if job.state != "finished":
        raise StateError(
            f"job {job.id} is {job.state}: it has made no model yet",
            got=job.state,
            allowed=["finished"],
            next=f"benchgen status job_id={job.id}",
        )
    model = job.model
    if model is None:
        raise ConfigError(
            f"job {job.id} made no model", got=job.id, next="benchgen jobs lists which did"
        )
    row: ModelRow = model.row
    return row


def _check_base(place: Place, base: ModelRow, wanted: str) -> None:
    """Nothing; NotFound where the base is gone, StateError where it is not the one trained on."""
    folder = catalogue.local_folder(base, place.path, place.on_convert)
    if folder is None or not wanted:
        return  # a hub id that is not here: loading it fails, or its revision binds it
    found = weights_fingerprint(folder)
    if found != wanted:
        raise StateError(
            f"the base {base.name} is not what the adapter was trained on: its weights, tokenizer or "
            "configuration changed",
            got=found,
            allowed=[wanted],
            next="put the base's files back as they were, or train again from the base as it is",
        )
