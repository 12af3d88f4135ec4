"""What a GRPO training would do, worked out and frozen before anything starts."""

from __future__ import annotations

import dataclasses
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.config import RecipeConfig
from benchgen.errors import ConfigError, DataError, StoreError
from benchgen.models.device import Device
from benchgen.plan.grpo_limits import check_grpo, grpo_steps
from benchgen.plan.memory import BYTES, MemorySettings, ModelShape, estimate_memory
from benchgen.plan.planner import (
    FLOPS,
    Ask,
    Base,
    check_recipe,
    choose_device,
    choose_trainer,
    row_lengths,
)
from benchgen.plan.preflight import Preflight
from benchgen.rundata.prompts import PromptRow
from benchgen.rundata.rows import TrainingRow
from benchgen.store import read_json
from benchgen.types import Estimate, Evaluation, Plan, sha256

SHARED = (
    *("learning_rate", "epochs", "max_steps", "batch_size", "gradient_accumulation"),
    *("r", "alpha", "dropout", "targets", "layers", "scheduler", "warmup", "weight_decay"),
    *("max_grad_norm", "max_length", "save_steps", "optimizer", "gradient_checkpointing"),
)
"""Settings that GRPO has in common with every training of an adapter."""
SLOW = 3e-6
"""A learning rate of full fine-tuning: with LoRA nothing moves (trl's issue 2872)."""
READING = {"cpu": 4e9, "cuda": 1e12}
"""Bytes of weights read a second: what a token of all rows takes. Rule of thumb; a measured pass replaces it."""


@dataclasses.dataclass(frozen=True)
class Task:
    """The benchmark that rewards, as the plan binds it."""

    benchmark: int
    evaluation: Evaluation
    program_sha256: str
    evaluation_sha256: str
    questions: int
    held_out: int
    preflight: Preflight | None = None
    """What a sampling pass of this model showed, if there was one with these settings."""


def make_grpo_plan(ask: Ask, base: Base, rows: Sequence[PromptRow], task: Task) -> Plan:
    """The plan; equal inputs give an equal hash.

    Raises ConfigError for an unknown device or trainer or a setting that cannot train, DataError where
    too few prompts are left.
    """
    recipe, own = ask.recipe, dataclasses.asdict(ask.recipe.grpo)
    check_recipe(recipe)
    check_grpo(own, recipe.batch_size, recipe.gradient_accumulation)
    device = choose_device(ask.hardware)
    trainer = choose_trainer(ask.trainer, device)
    _check_sampler(own, trainer, device, task.evaluation)
    lengths = row_lengths(base, [TrainingRow(row.key, row.messages, "") for row in rows])
    fitting = _fitting(recipe, lengths, len(rows))
    estimates, untold = _estimates(ask, base, device, lengths, fitting, task.preflight)
    settings = {name: getattr(recipe, name) for name in SHARED}
    return Plan(
        job_type="grpo",
        base_model=base.id,
        base={
            "name": base.name,
            "revision": base.revision,
            "fingerprint": base.fingerprint,
            **({"adapter": dict(ask.adapter)} if ask.adapter else {}),
        },
        dataset={
            "source": ask.source,
            "mode": None,
            "runs": [],
            "benchmark": task.benchmark,
            "rows": len(rows),
            "questions_held_out": task.held_out,
            "program_sha256": task.program_sha256,
            "evaluation_sha256": task.evaluation_sha256,
            "sha256": sha256([row.to_dict() for row in rows]),
        },
        hyperparameters={**settings, **own, "seed": ask.seed},
        device={
            "trainer": trainer,
            "kind": device.kind,
            "name": device.name,
            "dtype": device.dtype,
        },
        name=ask.name,
        tracking=dict(ask.tracking),
        estimates=estimates,
        warnings=(*ask.notes, *_warnings(recipe, task, len(rows) - fitting), *untold),
        seen=tuple(sorted(ask.seen | base.seen)),
    )


def _check_sampler(
    own: Mapping[str, Any], trainer: str, device: Device, evaluation: Evaluation
) -> None:
    """None; ConfigError where completions could not be sampled as evaluation would."""
    if own["vllm"]:
        import importlib.util

        if device.kind != "cuda" or importlib.util.find_spec("vllm") is None:
            raise ConfigError(
                "recipe.grpo.vllm=true needs vLLM and a CUDA device",
                got=f"{device.kind}, vLLM {'not ' * (importlib.util.find_spec('vllm') is None)}installed",
                next="recipe.grpo.vllm=false",
            )
    if evaluation.stop and (trainer == "unsloth" or own["vllm"]):
        raise ConfigError(
            "this benchmark ends replies at stop strings, which only our own sampling knows",
            got=list(evaluation.stop),
            next="trainer=trl recipe.grpo.vllm=false",
        )


def _fitting(recipe: RecipeConfig, lengths: Sequence[int], rows: int) -> int:
    """Prompts that are short enough; DataError where they do not fill a step."""
    longest = recipe.max_length - recipe.grpo.max_completion_length
    fitting = sum(n <= longest for n in lengths) if lengths else rows
    a_step = recipe.batch_size * recipe.gradient_accumulation // recipe.grpo.num_generations
    if fitting < a_step:
        raise DataError(
            f"a step compares completions of {a_step} prompts",
            got=f"{fitting} prompts of at most {longest} tokens",
            next="a smaller recipe.batch_size, a larger recipe.max_length, or more questions",
        )
    return fitting


def _estimates(
    ask: Ask,
    base: Base,
    device: Device,
    lengths: Sequence[int],
    fitting: int,
    found: Preflight | None,
) -> tuple[dict[str, Estimate], list[str]]:
    """The estimates, and why one is missing."""
    recipe, grpo = ask.recipe, ask.recipe.grpo
    step = recipe.batch_size * recipe.gradient_accumulation
    steps = grpo_steps(recipe.max_steps, recipe.epochs, fitting, step // grpo.num_generations)
    basis = (
        "max_steps"
        if recipe.max_steps > 0
        else f"{recipe.epochs:g} epochs of {step // grpo.num_generations} prompts a step"
    )
    told = {
        "steps": Estimate(steps, "steps", basis),
        "completions": Estimate(
            steps * step,
            "completions",
            f"{step} a step: {step // grpo.num_generations} prompts x {grpo.num_generations}",
        ),
    }
    told |= _shown(found)
    if not lengths or base.folder is None:
        return told, ["no estimate of tokens, memory and time: the base's files are not here yet"]
    prompt = statistics.mean(lengths)
    reply = found.length_mean if found else float(grpo.max_completion_length)
    basis = "mean of the sampling pass" if found else "max_completion_length, the most it can be"
    tokens = round(steps * step * (prompt + reply))
    told["tokens"] = Estimate(
        tokens,
        "tokens",
        f"prompts of {prompt:.0f} by the base's tokenizer, replies of {reply:.0f}: {basis}",
    )
    try:
        shape = ModelShape.from_config(read_json(base.folder / "config.json"))
    except (DataError, StoreError) as error:
        return told, [error.what]
    settings = MemorySettings(
        rank=recipe.r,
        batch_rows=recipe.batch_size,
        tokens=min(max(lengths) + grpo.max_completion_length, recipe.max_length),
        dtype=device.dtype,
        optimiser="adamw_torch" if recipe.optimizer == "auto" else recipe.optimizer,
        checkpointing=recipe.gradient_checkpointing,
        fused_loss=choose_trainer(ask.trainer, device) == "unsloth",
        logit_tokens=grpo.max_completion_length,
        generated=step,
    )
    told["memory"] = estimate_memory(shape, settings, device.kind)
    told["seconds"] = _seconds(ask, device, shape.num_parameters, steps, tokens, found)
    return told, []


def _seconds(
    ask: Ask, device: Device, parameters: int, steps: int, tokens: int, found: Preflight | None
) -> Estimate:
    """Sampling and training together, by a measured job, a sampling pass, or rules of thumb."""
    recipe = ask.recipe
    if ask.tokens_per_s:
        basis = f"{ask.tokens_per_s:.0f} tokens a second in the last GRPO job on this device"
        return Estimate(round(tokens / ask.tokens_per_s, 1), "s", basis)
    flops = FLOPS[device.dtype] * (50 if device.kind == "cuda" else 1)
    training = 4 * parameters * tokens / flops
    if found is not None:
        samples = found.prompts * found.num_generations
        step = recipe.batch_size * recipe.gradient_accumulation
        sampling = found.seconds / samples * steps * step
        how = f"{found.seconds / samples:.2f} s a sample in run {found.run}"
    else:
        passes = steps * recipe.grpo.max_completion_length
        sampling = passes * parameters * BYTES[device.dtype] / READING[device.kind]
        how = f"sampling reads the weights at {READING[device.kind]:.0e} bytes a second"
    basis = f"{how}; 4 operations a parameter and token at {flops:.0e} a second (rule of thumb)"
    return Estimate(round(sampling + training, 1), "s", basis)


def _shown(found: Preflight | None) -> dict[str, Estimate]:
    """The sampling pass's figures, each with what it rests on."""
    if found is None:
        return {}
    basis = f"run {found.run}: {found.prompts} prompts x {found.num_generations} samples"
    low, high = found.mixed_ci
    shares = {
        "pass_at_1": (found.pass_at_1, "% right"),
        f"pass_at_{found.num_generations}": (found.pass_at_g, "% of the prompts"),
        "mixed_outcomes": (found.mixed, f"% of the prompts (95 %: {low:.0%} to {high:.0%})"),
        "cut_replies": (found.clipped, "% of the replies"),
    }
    told = {
        name: Estimate(round(100 * share, 1), unit, basis)
        for name, (share, unit) in shares.items()
        if share is not None
    }
    told["reply_p95"] = Estimate(found.length_p95, "tokens", basis)
    told["scorer"] = Estimate(round(1000 * found.scorer_ms, 1), "µs a call", basis)
    return told


def _warnings(recipe: RecipeConfig, task: Task, too_long: int) -> list[str]:
    own, told = recipe.grpo, []
    if task.preflight is None:
        told.append(
            f"no sampling pass of this model with these settings: benchgen preflight benchmark_id={task.benchmark} "
            "model=NAME shows whether there is anything to learn from"
        )
    else:
        told += task.preflight.warnings
    if too_long:
        told.append(
            f"{too_long} prompts leave less than max_completion_length of max_length={recipe.max_length} and are left out"
        )
    if task.held_out:
        told.append(
            f"{task.held_out} of the {task.questions} questions are held out: they are not trained on"
        )
    else:
        told.append(
            f"every question is trained on: benchgen create sibling_of={task.benchmark}, or "
            "recipe.grpo.hold_out=0.2, for questions that a later score can be taken from"
        )
    if recipe.learning_rate < SLOW:
        told.append(
            f"learning_rate={recipe.learning_rate:g} is one of full fine-tuning: with LoRA hardly anything will move"
        )
    limit = task.evaluation.max_new_tokens
    if own.max_completion_length < limit:
        told.append(
            f"completions are cut at {own.max_completion_length} tokens here, in evaluation at {limit}"
        )
    if not math.isclose(own.format_weight, 0):
        told.append(
            f"the reward is 1 for a right answer and {own.format_weight:g} more for one in strict form"
        )
    return told
