"""Held-out scores on the way: training stops when they no longer rise, and the best adapter is kept."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from benchgen.train.checkpoints import write_json
from benchgen.train.job import HeldOut, Metrics

STATE = "held_out.json"
"""In the training's folder: evaluations so far and the best step, so that a resumption knows them."""
BEST = "best"
"""Folder of the weights of the best step."""


class EarlyStop:
    """Evaluates every few steps. `evaluations` and `best_step` are what it found."""

    def __init__(self, held_out: HeldOut, out: Path, on_metrics: Metrics | None) -> None:
        self.held_out, self.out, self.on_metrics = held_out, out, on_metrics
        self.evaluations: list[dict[str, Any]] = []
        self.best_step: int | None = None

    def begin(self, resumed_at: int) -> None:
        """Take up what was found up to the step that training resumes after; nothing where it begins."""
        if not resumed_at:
            (self.out / STATE).unlink(missing_ok=True)
            shutil.rmtree(self.out / BEST, ignore_errors=True)
            return
        if (self.out / STATE).exists():
            told = json.loads((self.out / STATE).read_text())
            self.evaluations = [e for e in told["evaluations"] if e["step"] <= resumed_at]
            self._find_best()

    def look(self, step: int, model: Any, tokenizer: Any) -> bool:
        """Whether training should stop now, after this step was evaluated."""
        found = {"step": step, **self.held_out.evaluate(model, tokenizer)}
        self.evaluations.append(found)
        before = self.best_step
        self._find_best()
        if self.best_step == step and before != step:
            self._keep(model)
        write_json(self.out / STATE, {"evaluations": self.evaluations})
        if self.on_metrics:
            told = {key: found[key] for key in ("score", "right", "scored")}
            self.on_metrics({"step": step, **{f"held_out_{k}": v for k, v in told.items()}})
        late = sum(e["step"] > (self.best_step or 0) for e in self.evaluations)
        return late >= self.held_out.patience

    def restore(self, model: Any) -> int | None:
        """Put the best step's weights into the model; its step, None where the last one is the best."""
        last = self.evaluations[-1]["step"] if self.evaluations else None
        if self.best_step in (None, last) or not (self.out / BEST / "adapter.safetensors").exists():
            return None
        from peft import set_peft_model_state_dict
        from safetensors.torch import load_file

        set_peft_model_state_dict(model, load_file(self.out / BEST / "adapter.safetensors"))
        return self.best_step

    def clear(self) -> None:
        """Remove the kept weights, once the adapter is saved."""
        shutil.rmtree(self.out / BEST, ignore_errors=True)

    def _find_best(self) -> None:
        """The first of the highest scores: later ones that only equal it have trained for nothing."""
        scored = [e for e in self.evaluations if e["score"] is not None]
        self.best_step = (
            max(scored, key=lambda e: (e["score"], -e["step"]))["step"] if scored else None
        )

    def _keep(self, model: Any) -> None:
        from peft import get_peft_model_state_dict
        from safetensors.torch import save_file

        (self.out / BEST).mkdir(parents=True, exist_ok=True)
        weights = {
            name: tensor.detach().cpu().contiguous()
            for name, tensor in get_peft_model_state_dict(model).items()
        }
        part = self.out / BEST / "adapter.part"
        save_file(weights, part)
        part.replace(self.out / BEST / "adapter.safetensors")


def callback(watch: EarlyStop, tokenizer: Any) -> Any:
    """A trainer callback that evaluates every few steps and after the last."""
    from transformers import TrainerCallback

    class Stopping(TrainerCallback):
        def on_step_end(
            self, args: Any, state: Any, control: Any, model: Any = None, **kwargs: Any
        ) -> Any:
            step, every = int(state.global_step), watch.held_out.every
            if step % every == 0 or step == int(state.max_steps):
                control.should_training_stop |= watch.look(step, model, tokenizer)
            return control

    return Stopping()
