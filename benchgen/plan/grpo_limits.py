"""What a GRPO training may be told, checked before it is confirmed and again before it begins. No imports but errors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from benchgen.errors import ConfigError

LOSS_TYPES = ("dapo", "dr_grpo", "bnpo", "grpo")
SCALES = ("group", "batch", "none")
MOST_FORMAT = 0.1
"""Of the form in the reward: more, and a model learns to look right instead of being right."""
Limit = tuple[Callable[[Any], bool], str]
LIMITS: Mapping[str, Limit] = {
    "num_generations": (
        lambda v: v >= 2,
        "at least 2: an advantage is a difference within a group",
    ),
    "temperature": (lambda v: 0 < v <= 2, "above 0, at most 2: greedy samples would all be equal"),
    "max_completion_length": (lambda v: v >= 1, "at least 1 token"),
    "loss_type": (lambda v: v in LOSS_TYPES, ", ".join(LOSS_TYPES)),
    "beta": (lambda v: 0 <= v <= 1, "0 (no KL term) to 1"),
    "epsilon": (lambda v: 0 < v < 1, "above 0, below 1"),
    "epsilon_high": (lambda v: 0 < v < 10, "above 0, below 10"),
    "scale_rewards": (lambda v: v in SCALES, ", ".join(SCALES)),
    "hold_out": (lambda v: 0 <= v < 1, "0 to below 1, a share of the questions"),
    "format_weight": (lambda v: 0 <= v <= MOST_FORMAT, f"0 to {MOST_FORMAT}"),
}
"""{setting of recipe.grpo: (whether a value fits, what fits in words)}"""

ANY: Limit = (lambda v: True, "")


def check_grpo(settings: Mapping[str, Any], batch_size: int, accumulation: int) -> None:
    """Nothing; ConfigError for a value of `recipe.grpo` that could only fail or learn nothing.

    A step's completions, `batch_size` times `accumulation`, are whole groups of `num_generations`.
    """
    for name, value in settings.items():
        fits, words = LIMITS.get(name, ANY)
        if (isinstance(value, float) and not math.isfinite(value)) or not fits(value):
            raise ConfigError(
                f"recipe.grpo.{name}={value} cannot be trained with", got=value, allowed=words
            )
    group, step = settings["num_generations"], batch_size * accumulation
    if step % group:
        raise ConfigError(
            f"recipe.grpo.num_generations={group} does not divide the {step} completions of a step",
            got=f"batch_size {batch_size} x gradient_accumulation {accumulation} = {step}",
            allowed=[n for n in range(2, step + 1) if step % n == 0] or "2 or more",
            next=f"recipe.batch_size={group}",
        )


def grpo_steps(max_steps: int, epochs: float, prompts: int, prompts_a_step: int) -> int:
    """Optimiser steps: the cap if one is given, else epochs over the prompts, each in a group."""
    return max_steps if max_steps > 0 else math.ceil(epochs * prompts / prompts_a_step)
