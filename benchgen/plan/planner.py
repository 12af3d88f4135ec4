"""What a training would do, worked out and frozen before anything starts."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.config import HardwareConfig, RecipeConfig
from benchgen.errors import ConfigError
from benchgen.models.device import Device, detect
from benchgen.plan.memory import MemorySettings, ModelShape, estimate_memory
from benchgen.rundata.rows import TrainingRow
from benchgen.store import read_json
from benchgen.types import Estimate, Plan, sha256

TEMPLATE_TOKENS = 5
"""Tokens that a chat template adds to a message, about: turn marks, role, line ends."""
FLOPS = {"float32": 5e10, "bfloat16": 4e11, "float16": 4e11}
"""Rule of thumb for two CPU cores, in operations a second; a measured speed replaces it."""


@dataclass(frozen=True)
class Base:
    """The model that would be trained."""

    name: str
    id: str
    folder: Path | None
    """Where its files lie; None for a hub id that is not here, whose estimates are then left out."""
    revision: str | None
    fingerprint: str
    seen: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Ask:
    """What was asked for: where the rows come from and how to train on them."""

    job_type: str
    source: str
    mode: str | None
    name: str
    recipe: RecipeConfig
    trainer: str
    hardware: HardwareConfig
    seed: int
    seen: frozenset[str]
    tokens_per_s: float | None = None
    """Trained tokens a second that an earlier job reached on this device, if there was one."""


def make_plan(ask: Ask, base: Base, rows: Sequence[TrainingRow]) -> Plan:
    """The plan for these rows: hyperparameters in full, device, estimates with their basis."""
    device = choose_device(ask.hardware)
    trainer = choose_trainer(ask.trainer, device)
    settings = {**dataclasses.asdict(ask.recipe), "seed": ask.seed}
    del settings["name"]
    steps = num_steps(ask.recipe, len(rows))
    lengths = row_lengths(base, rows)
    return Plan(
        job_type=ask.job_type,
        base_model=base.id,
        base={"name": base.name, "revision": base.revision, "fingerprint": base.fingerprint},
        dataset={
            "source": ask.source,
            "mode": ask.mode,
            "rows": len(rows),
            "sha256": sha256([row.to_dict() for row in rows]),
        },
        hyperparameters=settings,
        device={"trainer": trainer, "kind": device.kind, "name": device.name, "dtype": device.dtype},
        name=ask.name,
        estimates=_estimates(ask, base, device, steps, lengths),
        warnings=tuple(_warnings(ask.recipe, rows, lengths)),
        seen=tuple(sorted(ask.seen | base.seen)),
    )


def choose_device(hardware: HardwareConfig) -> Device:
    """The device that the config means on this machine."""
    found = detect()
    if hardware.device not in ("auto", found.kind, "cpu"):
        raise ConfigError(
            f"hardware.device={hardware.device} is not usable here",
            got=hardware.device,
            allowed=sorted({"auto", "cpu", found.kind}),
        )
    if hardware.device == "cpu" and found.kind != "cpu":
        found = dataclasses.replace(found, kind="cpu", dtype="float32")
    return found if hardware.dtype == "auto" else dataclasses.replace(found, dtype=hardware.dtype)


def choose_trainer(name: str, device: Device) -> str:
    """`auto`: unsloth on CUDA where it is installed, else plain trl."""
    has_unsloth = importlib.util.find_spec("unsloth") is not None
    if name == "auto":
        return "unsloth" if device.kind == "cuda" and has_unsloth else "trl"
    if name == "unsloth" and not has_unsloth:
        raise ConfigError(
            "trainer=unsloth is not installed",
            got=name,
            allowed=["auto", "trl"],
            next="pip install 'benchgen[gpu]'",
        )
    return name


def num_steps(recipe: RecipeConfig, rows: int) -> int:
    """Optimiser steps: the cap if one is given, else epochs over the rows."""
    if recipe.max_steps > 0:
        return recipe.max_steps
    effective = recipe.batch_size * recipe.gradient_accumulation
    return math.ceil(recipe.epochs * math.ceil(rows / effective))


def row_lengths(base: Base, rows: Sequence[TrainingRow]) -> list[int]:
    """Tokens of each row by the base's own tokenizer; the template's share is a constant. [] if not here."""
    if base.folder is None or not (base.folder / "tokenizer.json").exists():
        return []
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(base.folder / "tokenizer.json"))
    texts = [[*(m["content"] for m in row.messages), row.completion] for row in rows]
    return [
        sum(len(tokenizer.encode(t, add_special_tokens=False).ids) + TEMPLATE_TOKENS for t in text)
        for text in texts
    ]


def _estimates(
    ask: Ask, base: Base, device: Device, steps: int, lengths: Sequence[int]
) -> dict[str, Estimate]:
    recipe = ask.recipe
    effective = recipe.batch_size * recipe.gradient_accumulation
    basis = "max_steps" if recipe.max_steps > 0 else f"{recipe.epochs:g} epochs of {effective} rows a step"
    found = {"steps": Estimate(steps, "steps", basis)}
    if not lengths or base.folder is None:
        return found
    tokens = round(steps * effective * statistics.mean(lengths))
    found["tokens"] = Estimate(
        tokens, "tokens", f"the base's tokenizer over {len(lengths)} rows, mean {tokens // (steps * effective)}"
    )
    cut = sum(n > recipe.max_length for n in lengths)
    found["truncated_rows"] = Estimate(cut, "rows", f"longer than max_length={recipe.max_length}")
    shape = ModelShape.from_config(read_json(base.folder / "config.json"))
    longest = min(max(lengths), recipe.max_length)
    settings = MemorySettings(recipe.r, recipe.batch_size, longest, device.dtype)
    found["memory"] = estimate_memory(shape, settings, device.kind)
    found["seconds"] = _seconds(ask, device, shape.num_parameters, tokens)
    return found


def _seconds(ask: Ask, device: Device, parameters: int, tokens: int) -> Estimate:
    if ask.tokens_per_s:
        basis = f"{ask.tokens_per_s:.0f} tokens a second in the last job on this device"
        return Estimate(round(tokens / ask.tokens_per_s, 1), "s", basis)
    flops = FLOPS[device.dtype] * (50 if device.kind == "cuda" else 1)
    basis = f"4 operations a parameter and token at {flops:.0e} a second (rule of thumb)"
    return Estimate(round(4 * parameters * tokens / flops, 1), "s", basis)


def _warnings(
    recipe: RecipeConfig, rows: Sequence[TrainingRow], lengths: Sequence[int]
) -> list[str]:
    warnings = []
    cut = sum(n > recipe.max_length for n in lengths)
    if cut:
        warnings.append(f"{cut} of {len(rows)} rows are longer than max_length and would be cut")
    effective = recipe.batch_size * recipe.gradient_accumulation
    if len(rows) < effective:
        warnings.append(f"{len(rows)} rows fill less than one step of {effective}")
    return warnings
