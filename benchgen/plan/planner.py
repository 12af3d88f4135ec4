"""What a training would do, worked out and frozen before anything starts."""

from __future__ import annotations

import dataclasses
import importlib.util
import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgen.config import HardwareConfig, RecipeConfig, check_hardware
from benchgen.errors import ConfigError, DataError, StoreError
from benchgen.models.device import GIB, Device, detect, memory, processor
from benchgen.plan.memory import OPTIMISERS, MemorySettings, ModelShape, estimate_memory
from benchgen.rundata.rows import TrainingRow
from benchgen.store import read_json
from benchgen.types import Estimate, Plan, sha256

TEMPLATE_TOKENS = 5
"""Tokens that a chat template adds to a message, about: turn marks, role, line ends."""
FLOPS = {"float32": 5e10, "bfloat16": 4e11, "float16": 4e11}
"""Rule of thumb for two CPU cores, in operations a second; a measured speed replaces it."""
FASTER, SLOWER = 5.0, 20.0
"""How far machines were found from the rule of thumb: many cores, and cores without matrix units."""
TRAINERS = ("auto", "trl", "unsloth")
BATCHINGS = ("auto", "packed", "padded")
QUANTIZATIONS = ("none", "nf4")
SCHEDULERS = ("linear", "cosine", "constant", "constant_with_warmup")
Limit = tuple[Callable[[Any], bool], str]
LIMITS: Mapping[str, Limit] = {
    "learning_rate": (lambda v: 0 < v < 1, "above 0, below 1"),
    "epochs": (lambda v: v > 0, "above 0"),
    "max_steps": (lambda v: v == -1 or v > 0, "at least 1, or -1 to go by epochs"),
    "batch_size": (lambda v: v >= 1, "at least 1"),
    "gradient_accumulation": (lambda v: v >= 1, "at least 1"),
    "r": (lambda v: v >= 1, "at least 1"),
    "alpha": (lambda v: v >= 1, "at least 1"),
    "dropout": (lambda v: 0 <= v < 1, "0 to below 1"),
    "warmup": (lambda v: 0 <= v < 1, "0 to below 1, a share of the steps"),
    "weight_decay": (lambda v: v >= 0, "0 or above"),
    "max_grad_norm": (lambda v: v > 0, "above 0"),
    "max_length": (lambda v: v >= 16, "at least 16 tokens"),
    "save_steps": (lambda v: v >= 1, "at least 1"),
    "scheduler": (lambda v: v in SCHEDULERS, ", ".join(SCHEDULERS)),
    "layers": (lambda v: 0.001 <= v <= 1, "above 0, at most 1: the upper share of the layers"),
    "optimizer": (lambda v: v in ("auto", *OPTIMISERS), ", ".join(("auto", *OPTIMISERS))),
    "batching": (lambda v: v in BATCHINGS, ", ".join(BATCHINGS)),
    "quantization": (lambda v: v in QUANTIZATIONS, ", ".join(QUANTIZATIONS)),
    "targets": (
        lambda v: bool(v.strip(" ,")) and "lm_head" not in v,
        "all-linear, or names of projections separated by commas",
    ),
}
"""{setting: (whether a value fits, what fits in words)}"""


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
    runs: tuple[int, ...] = ()
    """Ids of the runs that the rows were chosen from."""
    replayed: int = 0
    """Rows that repeat what the model answered right."""
    questions_held_out: int = 0
    """Questions of those runs that their benchmark holds out: no row asks one."""
    overlap: tuple[Mapping[str, Any], ...] = ()
    """Benchmarks whose prompts the rows hold: benchmark, name, questions, of."""
    held_out: Mapping[str, Any] | None = None
    """The benchmark asked on the way: benchmark, name, questions, sha256, every, patience."""
    tracking: Mapping[str, Any] = field(default_factory=dict)
    """Where its metrics go beside its own folder: name, project, entity, mode."""
    tokens_per_s: float | None = None
    """Trained tokens a second that an earlier job reached on this device, if there was one."""
    adapter: Mapping[str, Any] | None = None
    """The earlier adapter that is trained further: name, job, sha256, fingerprint."""
    notes: tuple[str, ...] = ()
    """What the plan has to say about how it came to its settings."""


def make_plan(ask: Ask, base: Base, rows: Sequence[TrainingRow]) -> Plan:
    """The plan for these rows: hyperparameters in full, device, estimates with their basis."""
    check_recipe(ask.recipe)
    if not rows:
        raise DataError("there are no rows to train on", got=0, allowed="at least 1 row")
    device = choose_device(ask.hardware)
    if ask.recipe.quantization != "none" and device.kind != "cuda":
        raise ConfigError(
            "a base in 4 bits is trained on a CUDA device only",
            got=f"recipe.quantization={ask.recipe.quantization} on {device.kind}",
            allowed="none",
            next="recipe=lora trains the same adapter on the base as it is",
        )
    trainer = choose_trainer(ask.trainer, device, ask.hardware.processes)
    _check_processes(ask, trainer)
    settings = {**dataclasses.asdict(ask.recipe), "seed": ask.seed}
    for told_elsewhere in ("name", "rows", "stop", "grpo"):
        del settings[told_elsewhere]
    steps = num_steps(ask.recipe, len(rows))
    lengths = row_lengths(base, rows)
    _check_lengths(ask.recipe, lengths)
    estimates, untold = _estimates(ask, base, device, steps, lengths)
    return Plan(
        job_type=ask.job_type,
        base_model=base.id,
        base={
            "name": base.name,
            "revision": base.revision,
            "fingerprint": base.fingerprint,
            **({"adapter": dict(ask.adapter)} if ask.adapter else {}),
        },
        dataset={
            "source": ask.source,
            "mode": ask.mode,
            "runs": list(ask.runs),
            "rows": len(rows),
            "questions": len({row.key for row in rows}),
            "replayed": ask.replayed,
            "questions_held_out": ask.questions_held_out,
            "overlap": [dict(one) for one in ask.overlap],
            "held_out": dict(ask.held_out) if ask.held_out else None,
            "sha256": sha256([row.to_dict() for row in rows]),
        },
        hyperparameters=settings,
        device={
            "trainer": trainer,
            "kind": device.kind,
            "name": device.name,
            "dtype": device.dtype,
            **({"processes": ask.hardware.processes} if ask.hardware.processes > 1 else {}),
        },
        name=ask.name,
        tracking=dict(ask.tracking),
        estimates=estimates,
        warnings=(*ask.notes, *_warnings(ask.recipe, rows, lengths), *untold),
        seen=tuple(sorted(ask.seen | base.seen)),
    )


def choose_device(hardware: HardwareConfig) -> Device:
    """The device that the config means on this machine."""
    check_hardware(hardware)
    found = detect()
    if hardware.device not in ("auto", found.kind, "cpu"):
        raise ConfigError(
            f"hardware.device={hardware.device} is not usable here",
            got=hardware.device,
            allowed=sorted({"auto", "cpu", found.kind}),
            next="hardware.device=auto takes the fastest there is; benchgen doctor shows what",
        )
    if hardware.device == "cpu":
        found = processor()
    return found if hardware.dtype == "auto" else dataclasses.replace(found, dtype=hardware.dtype)


def _check_processes(ask: Ask, trainer: str) -> None:
    """Nothing; ConfigError for what several processes cannot train together."""
    processes, rows = ask.hardware.processes, ask.recipe.batch_size
    if processes == 1:
        return
    if trainer != "trl":
        raise ConfigError(
            f"trainer={trainer} trains in one process",
            got=f"hardware.processes={processes}",
            next="trainer=trl",
        )
    if rows % processes:
        raise ConfigError(
            f"hardware.processes={processes} do not share the {rows} rows of a batch evenly",
            got=f"recipe.batch_size={rows}",
            allowed=f"a multiple of {processes}",
            next=f"recipe.batch_size={-(-rows // processes) * processes}",
        )
    if ask.held_out:
        raise ConfigError(
            "a benchmark is asked on the way of trainings in one process only",
            got=f"hardware.processes={processes}",
            next="leave recipe.stop out, and run the benchmark afterwards",
        )


def choose_trainer(name: str, device: Device, processes: int = 1) -> str:
    """`auto`: unsloth on one CUDA device where it is installed, else plain trl."""
    if name not in TRAINERS:
        raise ConfigError(
            f"trainer={name} is not known", got=name, allowed=TRAINERS, next="trainer=auto"
        )
    has_unsloth = importlib.util.find_spec("unsloth") is not None
    if name == "auto":
        return "unsloth" if device.kind == "cuda" and has_unsloth and processes == 1 else "trl"
    if name == "unsloth" and not has_unsloth:
        raise ConfigError(
            "trainer=unsloth is not installed",
            got=name,
            allowed=["auto", "trl"],
            next="pip install 'benchgen[gpu]'",
        )
    return name


def check_recipe(recipe: RecipeConfig) -> None:
    """Nothing; ConfigError for a value that could only fail, or do nothing, once training began."""
    for name, (fits, words) in LIMITS.items():
        value = getattr(recipe, name)
        if not (isinstance(value, str) or math.isfinite(value)) or not fits(value):
            raise ConfigError(
                f"recipe.{name}={value} cannot be trained with",
                got=value,
                allowed=words,
                next=f"recipe.{name}={getattr(RecipeConfig(), name)} is the default",
            )


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


def _check_lengths(recipe: RecipeConfig, lengths: Sequence[int]) -> None:
    """None; DataError where more rows would be cut than may be."""
    cut = sum(n > recipe.max_length for n in lengths)
    if cut > recipe.rows.max_truncated * len(lengths):
        raise DataError(
            f"{cut} of {len(lengths)} rows are longer than max_length and would lose their beginning",
            got=f"longest row: {max(lengths)} tokens",
            allowed=f"{recipe.rows.max_truncated:.0%} of the rows",
            next=f"recipe.max_length={-(-max(lengths) // 64) * 64}, or recipe.rows.max_truncated=1",
        )


def _estimates(
    ask: Ask, base: Base, device: Device, steps: int, lengths: Sequence[int]
) -> tuple[dict[str, Estimate], list[str]]:
    """The estimates, and why one is missing."""
    recipe = ask.recipe
    effective = recipe.batch_size * recipe.gradient_accumulation
    basis = (
        "max_steps"
        if recipe.max_steps > 0
        else f"{recipe.epochs:g} epochs of {effective} rows a step"
    )
    found = {"steps": Estimate(steps, "steps", basis)}
    if not lengths or base.folder is None:
        return found, ["no estimate of tokens, memory and time: the base's files are not here yet"]
    mean = statistics.mean(min(n, recipe.max_length) for n in lengths)
    tokens = round(steps * effective * mean)
    basis = f"the base's tokenizer over {len(lengths)} rows, mean {mean:.0f}"
    found["tokens"] = Estimate(tokens, "tokens", basis)
    cut = sum(n > recipe.max_length for n in lengths)
    found["truncated_rows"] = Estimate(cut, "rows", f"longer than max_length={recipe.max_length}")
    try:
        shape = ModelShape.from_config(read_json(base.folder / "config.json"))
    except (DataError, StoreError) as error:
        return found, [error.what]
    longest = min(max(lengths), recipe.max_length)
    settings = MemorySettings(
        rank=recipe.r,
        batch_rows=recipe.batch_size,
        tokens=longest,
        dtype=device.dtype,
        quantised="nf4_double" if recipe.quantization == "nf4" else "none",
        optimiser="adamw_torch" if recipe.optimizer == "auto" else recipe.optimizer,
        checkpointing=recipe.gradient_checkpointing,
    )
    found["memory"] = estimate_memory(shape, settings, device.kind)
    found["seconds"] = _seconds(ask, device, shape.num_parameters, tokens)
    room = memory(device.kind)
    held = f"; held by {', '.join(room.holders)}" if room.holders else ""
    basis = f"of {room.total / GIB:.1f} GiB on {device.name} now{held}"
    found["free_memory"] = Estimate(round(room.free / GIB, 2), "GiB", basis)
    if found["memory"].value > found["free_memory"].value:
        needed, free = found["memory"].value, found["free_memory"].value
        return found, [f"it needs about {needed:g} GiB and {free:g} GiB are free{held}"]
    return found, []


def _seconds(ask: Ask, device: Device, parameters: int, tokens: int) -> Estimate:
    if ask.tokens_per_s:
        basis = f"{ask.tokens_per_s:.0f} tokens a second in the last job on this device"
        return Estimate(round(tokens / ask.tokens_per_s, 1), "s", basis)
    flops = FLOPS[device.dtype] * (50 if device.kind == "cuda" else 1)
    seconds = 4 * parameters * tokens / flops
    low, high = seconds / FASTER, seconds * SLOWER
    basis = (
        "not measured yet on this machine: its first steps measure it "
        f"(rule of thumb: 4 operations a parameter and token, {flops / SLOWER:.0e} to "
        f"{flops * FASTER:.0e} a second)"
    )
    return Estimate(round(math.sqrt(low * high), 1), "s", basis, round(low, 1), round(high, 1))


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
