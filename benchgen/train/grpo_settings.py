"""The hyperparameters that GRPO has beside those of every LoRA training."""

from __future__ import annotations

from dataclasses import dataclass

from benchgen.types import Record


@dataclass(frozen=True)
class GRPOSettings(Record):
    """Every hyperparameter, none left to a library's default; the learning rate and the like are SFT's."""

    num_generations: int = 8
    """G: completions of one prompt, compared with one another."""
    temperature: float = 1.0
    max_completion_length: int = 64
    """Tokens; a longer completion is cut there."""
    loss_type: str = "dapo"
    beta: float = 0.0
    """Weight of the divergence from the model that training began with; 0 = none is computed."""
    epsilon: float = 0.2
    epsilon_high: float = 0.28
    scale_rewards: str = "group"
    mask_truncated_completions: bool = True
    """Leave a completion that was cut out of the loss; its reward still counts in its group's mean."""
    format_weight: float = 0.0
    """Reward of a right answer in exactly the form asked for, on top of 1 for being right."""
    vllm: bool = False
