"""What a trainer tells as it goes: a row a step, whole checkpoints, and a stop when the loss is no number."""

from __future__ import annotations

import math
import time
from pathlib import Path
from typing import Any

from benchgen.errors import TrainingError
from benchgen.train.checkpoints import mark_whole
from benchgen.train.job import Metrics
from benchgen.train.ranks import rank

MOST_STRANGE = 3
"""Steps in a row whose gradient may not be a number."""


def reporter(on_metrics: Metrics | None) -> Any:
    """A trainer callback that reports each step and marks whole checkpoints."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        strange = 0
        """Steps in a row whose gradient was no number; one alone is skipped by the scaler of float16."""

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.began = time.monotonic()

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
        ) -> None:
            if not logs or "loss" not in logs:
                return
            if not math.isfinite(float(logs["loss"])):
                raise TrainingError(
                    f"the loss of step {state.global_step} is not a number",
                    got=logs["loss"],
                    next="a lower recipe.learning_rate",
                )
            norm = float(logs.get("grad_norm", 0.0))
            self.strange = 0 if math.isfinite(norm) else self.strange + 1
            if self.strange == MOST_STRANGE:
                raise TrainingError(
                    f"the gradient was not a number for {MOST_STRANGE} steps up to {state.global_step}",
                    got=norm,
                    next="a lower recipe.learning_rate, or hardware.dtype=float32",
                )
            if on_metrics is None:
                return
            on_metrics(
                {
                    "step": int(state.global_step),
                    "steps": int(state.max_steps),
                    "loss": float(logs["loss"]),
                    "token_accuracy": float(logs.get("mean_token_accuracy", 0.0)),
                    "grad_norm": norm if math.isfinite(norm) else None,
                    "learning_rate": float(logs.get("learning_rate", 0.0)),
                    "epoch": round(float(state.epoch or 0.0), 4),
                    "seconds": round(time.monotonic() - self.began, 3),
                }
            )

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            if rank() == 0:
                mark_whole(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    return Reporter()
