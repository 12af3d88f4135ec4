"""The benchmark's own verdict as a reward, and what of the completions is kept to be looked at."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.types import json_line

SHOWN = 4
"""Completions kept of each step: the first of so many groups."""
MOST_LINES = 2_000
"""Of all steps together: of a long training every second step is shown, or every tenth."""
MOST_CHARACTERS = 2_000
"""Of one kept completion."""


@dataclass(frozen=True)
class Verdict:
    """What the scorer says of one completion: `value` in [0, 1], both None where it was not measured."""

    value: float | None
    strict: bool | None = None
    """Right, and in exactly the form asked for."""


Judge = Callable[[str, str, str], Verdict]
"""From a prompt's key, a completion's text and its finish_reason to the verdict."""


class Rewards:
    """A reward function for trl: `value`, and `format_weight` more for a right answer in strict form.

    None where the scorer measured nothing: trl then leaves the completion out of its group's mean and
    gives it no advantage. One function for both terms on purpose: of two functions trl would sum what
    is not None, and a completion that was not measured would count as one with reward 0.
    """

    __name__ = "benchmark"

    def __init__(
        self, judge: Judge, format_weight: float, group: int, stops: frozenset[int], samples: Path
    ) -> None:
        self.judge, self.format_weight, self.group = judge, format_weight, group
        self.stops, self.samples = stops, samples

    def __call__(  # noqa: PLR0913 - trl's keywords
        self,
        *,
        prompts: list[str],
        completions: list[str],
        completion_ids: list[list[int]],
        trainer_state: Any,
        log_metric: Callable[[str, float], None],
        reply: list[str] | None = None,
        finish_reason: list[str] | None = None,
        **others: Any,
    ) -> list[float | None]:
        """One reward a completion; those of one prompt stand together. Tells trl what a step was like.

        `reply` and `finish_reason` come from our own sampling; of another's the text is trl's, and a
        completion that does not end with a stop token was cut.
        """
        texts = reply or completions
        ends = finish_reason or [
            "stop" if ids and ids[-1] in self.stops else "length" for ids in completion_ids
        ]
        verdicts = [self.judge(*asked) for asked in zip(prompts, texts, ends, strict=True)]
        rewards = [self.reward(verdict) for verdict in verdicts]
        lengths = [len(ids) for ids in completion_ids]
        told = {
            "zero_variance": zero_variance(rewards, self.group),
            "unmeasured": sum(r is None for r in rewards) / len(rewards),
            "clipped": ends.count("length") / len(ends),
            "length": statistics.fmean(lengths),
        }
        for name, value in told.items():
            log_metric(name, value)
        rows = list(zip(prompts, texts, ends, rewards, strict=True))
        every = math.ceil(trainer_state.max_steps * SHOWN / MOST_LINES)
        if trainer_state.global_step % max(1, every) == 0:
            self._keep(trainer_state.global_step + 1, rows)
        return rewards

    def reward(self, verdict: Verdict) -> float | None:
        """The verdict as a number; None for one that was not measured."""
        if verdict.value is None:
            return None
        return verdict.value + self.format_weight * bool(verdict.strict)

    def _keep(self, step: int, rows: list[tuple[str, str, str, float | None]]) -> None:
        """Write a few completions of a step to samples.jsonl."""
        with self.samples.open("a", encoding="utf-8") as file:
            for key, text, end, reward in rows[:: self.group][:SHOWN]:
                row = {"step": step, "key": key, "reply": text[:MOST_CHARACTERS]}
                file.write(json_line({**row, "finish_reason": end, "reward": reward}))


def zero_variance(rewards: Sequence[float | None], group: int) -> float:
    """Share of the groups that teach nothing: fewer than two of them measured, or all rewarded alike.

    trl's own figure counts a group without any reward as one that teaches.
    """
    groups = [rewards[at : at + group] for at in range(0, len(rewards), group)]
    still = sum(len({r for r in rewarded if r is not None}) < 2 for rewarded in groups)
    return still / len(groups)
