"""What the parts of one training need to know about it, and what it left."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.models.device import Device
from benchgen.train.settings import SFTSettings
from benchgen.types import Record

Metrics = Callable[[dict[str, Any]], None]
"""Takes the row of a step: step, steps, loss and what else the trainer logged."""


@dataclass(frozen=True)
class HeldOut:
    """Questions that are asked on the way; training stops once their score has fallen for a while."""

    evaluate: Callable[[Any, Any], dict[str, Any]]
    """(model, tokenizer) -> {"score": in [0, 1] or None, "right", "scored"}; leaves the model as it was."""
    every: int
    """Steps between two evaluations."""
    patience: int = 2
    """Evaluations without a better score after which training stops."""


@dataclass(frozen=True)
class TrainOutcome(Record):
    """What a training did and what it left."""

    steps: int
    rows_used: int
    rows_dropped: int
    rows_truncated: int
    tokens: int
    """Tokens of the rows of one epoch, padding not counted."""
    supervised_share: float
    seconds: float
    """Of this process; a resumed training counts from its resumption."""
    final_loss: float
    """Of the last step."""
    peak_rss_bytes: int
    peak_cuda_bytes: int
    adapter_path: str
    adapter_sha256: str
    """Of adapter_model.safetensors."""
    trainer: str
    dtype: str
    batching: str
    resumed_at: int = 0
    """The step this process began after; 0 = it did them all."""
    batch_size: int = 0
    gradient_accumulation: int = 0
    """As trained with at last: smaller and more where memory ran out, with the same product."""
    notes: tuple[str, ...] = ()
    """What differed from the plan on the way, such as a halved batch."""
    evaluations: tuple[dict[str, Any], ...] = ()
    """Held-out scores on the way: step, score, right, scored."""
    best_step: int | None = None
    """The step whose adapter this is, where an earlier one scored best; None = the last."""
    continued: dict[str, Any] | None = None
    """Of a training that went on from an earlier adapter: `continuing.Continued`."""

    def __post_init__(self) -> None:
        for name in ("notes", "evaluations"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True)
class Job:
    """What the parts of one training need to know about it."""

    settings: SFTSettings
    out: Path
    trainer: str
    place: Device
    on_metrics: Metrics | None
    held_out: HeldOut | None = None

    @property
    def packs(self) -> bool:
        """Whether packing is worth a try: unsloth's kernels and GPUs have means of their own."""
        asked = self.settings.batching
        return asked == "packed" or (
            asked == "auto" and self.trainer == "trl" and self.place.kind == "cpu"
        )


def peak_cuda(place: Device) -> int:
    """Most bytes that this process held on the GPU; 0 on a CPU."""
    if place.kind != "cuda":
        return 0
    import torch

    return int(torch.cuda.max_memory_allocated())
