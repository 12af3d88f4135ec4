"""Completions of the model in training, from the same engine that evaluates it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.models.engine.batch import Network
from benchgen.models.engine.decode import Decoder
from benchgen.train.grpo_settings import GRPOSettings
from benchgen.types import Request

STEPS = 1_000_003
"""A prime: (seed, step) pairs give different numbers for any step below it."""


@dataclass(frozen=True)
class Rollouts:
    """trl's `rollout_func`: token ids, texts and ends of one completion for each prompt given.

    Prompts are keys of `prompts` {key: token ids}. Each completion draws from a generator of its own,
    seeded by the job's seed, the step and its place, so a resumed job samples what it would have.
    """

    decoder: Decoder
    prompts: Mapping[str, list[int]]
    settings: GRPOSettings
    seed: int
    stop: tuple[str, ...] = ()

    @classmethod
    def of(
        cls, model: Any, tokenizer: Any, stops: frozenset[int], device: str, **others: Any
    ) -> Rollouts:
        """Rollouts of a peft model as it stands at each call, adapter included."""

        def text(tokens: Sequence[int]) -> str:
            return str(tokenizer.decode(tokens, skip_special_tokens=True))

        # The adapter sits inside the base's modules. Around the peft model trl lays mixed precision,
        # which evaluation does without.
        network = Network(model.get_base_model(), device)
        return cls(Decoder(network, stops, text, 128 if device == "cuda" else 64), **others)

    def __call__(self, keys: list[str], trainer: Any) -> dict[str, Any]:
        settings = self.settings
        asked = [
            (
                Request(
                    messages=(),
                    max_new_tokens=settings.max_completion_length,
                    temperature=settings.temperature,
                    stop=self.stop,
                    seed=self.seed * STEPS + int(trainer.state.global_step),
                    repeat=place,
                ),
                self.prompts[key],
            )
            for place, key in enumerate(keys)
        ]
        model = trainer.model
        training = model.training
        model.eval()  # no dropout, and a cache also where gradients are checkpointed
        try:
            done = {row.index: (row.tokens, reply) for row, reply in self.decoder.finished(asked)}
        finally:
            model.train(training)
        found = [done[place] for place in range(len(keys))]
        masked = settings.mask_truncated_completions
        return {
            "prompt_ids": [self.prompts[key] for key in keys],
            "completion_ids": [tokens for tokens, _ in found],
            "logprobs": None,  # trl then takes the model's own
            "reply": [reply.text for _, reply in found],
            "finish_reason": [reply.finish_reason for _, reply in found],
            # 1 = in the loss. trl's own mask looks for an end token, which a stop string does not leave.
            "env_mask": [
                [int(not (masked and reply.finish_reason == "length"))] * len(tokens)
                for tokens, reply in found
            ],
        }
