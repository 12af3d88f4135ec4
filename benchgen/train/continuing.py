"""Proof that a training goes on from an earlier adapter: the same weights, and the same loss on its first rows."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from benchgen.errors import TrainingError
from benchgen.models.embedded import file_sha256
from benchgen.types import Record

WEIGHTS = "adapter_model.safetensors"
PARENT = "parent"
"""peft's name, for a moment, of the second copy that is loaded as a served adapter is."""
TOLERANCE = {torch.float32: 1e-4, torch.bfloat16: 1e-2, torch.float16: 1e-2}
"""Of the loss, as a share of it or of 1 where it is less: both are computed alike."""


@dataclass(frozen=True)
class Continued(Record):
    """What was measured before the first step."""

    adapter_sha256: str
    """Of the weights about to be trained, written as the parent's file is: equal to that file's."""
    rows: int
    """Rows, packed or not, of the first batch."""
    parent_loss: float
    """Of the parent on that batch, loaded once more as it is served."""
    first_loss: float
    """Of the model about to be trained, on that batch."""
    tolerance: float


def prove(trainer: Any, adapter: Path, batch_rows: int) -> Continued:
    """What was measured; TrainingError unless weights and loss are those of the adapter in that folder."""
    model, file = trainer.model, adapter / WEIGHTS
    expected, found = file_sha256(file), weights_sha256(model, file)
    if found != expected:
        raise TrainingError(
            "the weights about to be trained are not the earlier adapter's",
            got=found,
            allowed=[expected],
        )
    with torch.random.fork_rng(devices=[]):  # what the training draws stays what it was
        batch = next(iter(trainer.get_train_dataloader()))
    first, parent = _loss(trainer, batch), _parent_loss(trainer, batch, adapter)
    kind = next(model.parameters()).dtype
    tolerance = TOLERANCE.get(kind, 1e-2) * max(1.0, abs(parent))
    if not abs(first - parent) <= tolerance:  # also where one is no number
        raise TrainingError(
            "the first loss is not the earlier adapter's on the same rows",
            got=first,
            allowed=f"{parent:.6g}, plus or minus {tolerance:.1g}",
        )
    rows = min(batch_rows, len(trainer.train_dataset))
    return Continued(found, rows, round(parent, 6), round(first, 6), round(tolerance, 6))


def weights_sha256(model: Any, file: Path) -> str:
    """Hex sha256 of the model's adapter, saved as `file` is: its names, types and order of tensors.

    On a 16-bit base peft holds an adapter in float32, so it is written back in the file's own types.
    """
    from peft import get_peft_model_state_dict
    from safetensors.torch import load_file, save

    kinds = {name: tensor.dtype for name, tensor in load_file(file).items()}
    held = get_peft_model_state_dict(model, save_embedding_layers=False)
    tensors = {
        name: tensor.detach().to("cpu", kinds.get(name, tensor.dtype)).contiguous()
        for name, tensor in held.items()
    }
    return hashlib.sha256(save(tensors, metadata={"format": "pt"})).hexdigest()


def _parent_loss(trainer: Any, batch: Any, adapter: Path) -> float:
    model = trainer.model
    trained = {name: p.requires_grad for name, p in model.named_parameters()}
    active = model.active_adapter
    model.load_adapter(str(adapter), adapter_name=PARENT, is_trainable=False)
    try:
        model.set_adapter(PARENT)
        return _loss(trainer, batch)
    finally:
        model.set_adapter(active)
        model.delete_adapter(PARENT)
        for name, parameter in model.named_parameters():
            parameter.requires_grad_(trained[name])


@torch.no_grad()
def _loss(trainer: Any, batch: Any) -> float:
    """Mean loss of the batch, without dropout, computed as the training computes it."""
    model = trainer.model
    was_training = model.training
    model.eval()
    try:
        with trainer.compute_loss_context_manager():
            return float(model(**batch, use_cache=False).loss)
    finally:
        model.train(was_training)
