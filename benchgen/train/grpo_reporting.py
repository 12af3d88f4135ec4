"""What a GRPO training tells as it goes: a row a step, whole checkpoints, and the end of a hopeless one."""

from __future__ import annotations

import math
import shutil
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from benchgen.train.abort import AbortRules
from benchgen.train.checkpoints import mark_whole
from benchgen.train.job import Metrics

NAMES = (
    *("loss", "reward", "reward_std", "zero_variance", "clipped", "unmeasured", "length"),
    *("entropy", "kl", "grad_norm", "learning_rate"),
)
"""What of a step's log a row holds; `kl` is there only with a beta above 0."""


def grpo_reporter(on_metrics: Metrics | None, completions: int) -> Any:
    """A trainer callback; `completions` is how many a step has."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.watch = AbortRules(completions)
            for entry in state.log_history:  # of the steps before a resumption
                if "reward" in entry:
                    self.watch.note({**entry, "grad_norm": entry.get("grad_norm")})

        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.began = time.monotonic()

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
        ) -> None:
            if not logs or "reward" not in logs:
                return
            row = row_of(logs, int(state.global_step))
            row |= {
                "steps": int(state.max_steps),
                "seconds": round(time.monotonic() - self.began, 3),
            }
            if on_metrics is not None:
                on_metrics(row)
            self.watch.look(row)

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            checkpoint = Path(args.output_dir) / f"checkpoint-{state.global_step}"
            # Beside a folder of the frozen copy transformers would not read what was trained. The copy is
            # made anew, of what training began with.
            shutil.rmtree(checkpoint / "ref", ignore_errors=True)
            mark_whole(checkpoint)

    return Reporter()


def row_of(logs: Mapping[str, Any], step: int) -> dict[str, Any]:
    """A metrics row of what trl logged; None for what was no number (of no completion measured, say)."""
    row: dict[str, Any] = {"step": step}
    for name in NAMES:
        value = logs.get(name)
        if value is None and name == "kl":
            continue
        number = None if value is None else float(value)
        row[name] = number if number is not None and math.isfinite(number) else None
    return row
