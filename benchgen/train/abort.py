"""When a GRPO training is worth no further step, told from its metrics rows alone.

Thresholds after axolotl's table of unstable trainings and trl's issues 3452, 5697 and 3006.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

from benchgen.errors import TrainingError

STILL, STILL_STEPS = 0.8, 20
"""Share of groups that teach nothing, on average over so many steps."""
CLIPPED, CLIPPED_STEPS = 0.8, 5
NO_REWARD_STEPS = 20
NAN_STEPS = 3
UNMEASURED, FEWEST = 0.02, 50
"""Share of all completions so far that the scorer could not measure, once there are this many."""


@dataclass
class AbortRules:
    """Looks at every row; `completions` is how many a step has."""

    completions: int
    still: deque[float] = field(default_factory=lambda: deque(maxlen=STILL_STEPS))
    clipped: deque[float] = field(default_factory=lambda: deque(maxlen=CLIPPED_STEPS))
    rewards: deque[float] = field(default_factory=lambda: deque(maxlen=NO_REWARD_STEPS))
    nans: int = 0
    seen: int = 0
    unmeasured: float = 0.0

    def look(self, row: Mapping[str, Any]) -> None:
        """None; TrainingError once a rule is broken, which says which and what to do."""
        self.note(row)
        step = row["step"]
        if _full(self.still) and fmean(self.still) > STILL:
            raise TrainingError(
                f"stopped at step {step}: over {STILL_STEPS} steps {fmean(self.still):.0%} of the groups had "
                "one reward for all their completions, so there was next to nothing to learn from",
                allowed=f"at most {STILL:.0%}",
                next="start from a short SFT adapter, or an easier benchmark; benchgen preflight shows how "
                "many prompts have mixed outcomes",
            )
        if _full(self.clipped) and fmean(self.clipped) > CLIPPED:
            raise TrainingError(
                f"stopped at step {step}: over {CLIPPED_STEPS} steps {fmean(self.clipped):.0%} of the "
                "completions were cut at their limit",
                allowed=f"at most {CLIPPED:.0%}",
                next="raise recipe.grpo.max_completion_length, or start from a short SFT adapter that "
                "ends its answers",
            )
        if _full(self.rewards) and not any(self.rewards):
            raise TrainingError(
                f"stopped at step {step}: the mean reward was 0 for {NO_REWARD_STEPS} steps",
                next="start from a short SFT adapter, or an easier benchmark",
            )
        if self.nans >= NAN_STEPS:
            raise TrainingError(
                f"stopped at step {step}: the gradient was no number {NAN_STEPS} times in a row",
                next="a lower recipe.learning_rate, or hardware.dtype=float32",
            )
        if self.seen >= FEWEST and self.unmeasured > UNMEASURED * self.seen:
            raise TrainingError(
                f"stopped at step {step}: the scorer could not measure {round(self.unmeasured)} of "
                f"{self.seen} completions",
                allowed=f"at most {UNMEASURED:.0%}",
                next="samples.jsonl in the job's folder shows them; a benchmark whose scorer measures them",
            )

    def note(self, row: Mapping[str, Any]) -> None:
        """None; counts the row in and judges nothing."""
        self.still.append(row["zero_variance"])
        self.clipped.append(row["clipped"])
        if row["reward"] is not None:
            self.rewards.append(row["reward"])
        norm = row["grad_norm"]  # None: it was no number, which JSON cannot hold
        self.nans = self.nans + 1 if norm is None or not math.isfinite(norm) else 0
        self.seen += self.completions
        self.unmeasured += row["unmeasured"] * self.completions


def _full(window: deque[float]) -> bool:
    return len(window) == window.maxlen
