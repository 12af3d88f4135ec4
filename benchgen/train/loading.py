"""A base model with the adapter that is trained, fresh or an earlier one, through peft or unsloth."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from benchgen.errors import ConfigError, StateError
from benchgen.models.engine.load import load_adapter, load_base
from benchgen.train.job import Job
from benchgen.train.settings import PROJECTIONS, SFTSettings, targets


def unsloth_first() -> None:
    """Import unsloth while it still can patch trl and peft; StateError or ConfigError where it cannot."""
    if "unsloth" not in sys.modules:
        if "trl" in sys.modules or "peft" in sys.modules:
            raise StateError(
                "unsloth must be imported before trl and peft", next="train in a process of its own"
            )
        try:
            import unsloth  # noqa: F401
        except Exception as error:
            raise ConfigError(
                f"trainer=unsloth cannot be used here: {error}",
                got="unsloth",
                allowed=["auto", "trl"],
            ) from error


def load_for_training(
    base: Path | str, job: Job, revision: str | None, adapter: Path | None = None
) -> tuple[Any, Any]:
    """(model with a fresh adapter, or with the one in the folder `adapter` to be trained on, tokenizer).

    An earlier adapter brings its own rank, alpha, dropout and targets; the settings' are then not read.
    """
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed

    settings = job.settings
    set_seed(settings.seed)
    if job.trainer == "unsloth":
        return _load_unsloth(base, job, revision, adapter)
    model, tokenizer, folder = load_base(base, job.place, revision, settings.quantization)
    model.config.use_cache = False
    if settings.quantization != "none":
        from peft import prepare_model_for_kbit_training

        model = prepare_model_for_kbit_training(
            model, use_gradient_checkpointing=settings.gradient_checkpointing
        )
    if adapter is not None:
        return load_adapter(model, adapter, trainable=True), tokenizer
    config = LoraConfig(
        base_model_name_or_path=str(folder),
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules=_target_modules(model, settings),
        layers_to_transform=_layers(settings, model.config.num_hidden_layers),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config), tokenizer


def _load_unsloth(
    base: Path | str, job: Job, revision: str | None, adapter: Path | None
) -> tuple[Any, Any]:
    import torch
    from unsloth import FastLanguageModel

    settings = job.settings
    model, tokenizer = FastLanguageModel.from_pretrained(
        str(base),
        max_seq_length=settings.max_length,
        dtype=getattr(torch, job.place.dtype),
        load_in_4bit=settings.quantization == "nf4",
        revision=revision,
        use_exact_model_name=True,
        random_state=settings.seed,
    )
    checkpointing = "unsloth" if settings.gradient_checkpointing else False
    if adapter is not None:
        model = load_adapter(model, adapter, trainable=True)
        # Its fused kernels, on a GPU; its CPU mode has none to put in.
        patch = getattr(FastLanguageModel, "patch_peft_model", None)
        return (patch(model, checkpointing) if patch else model), tokenizer
    names = targets(settings)
    model = FastLanguageModel.get_peft_model(
        model,
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules=list(PROJECTIONS) if names == "all-linear" else names,
        layers_to_transform=_layers(settings, model.config.num_hidden_layers),
        use_gradient_checkpointing=checkpointing,
        random_state=settings.seed,
    )
    return model, tokenizer


def _target_modules(model: Any, settings: SFTSettings) -> str | list[str]:
    """As set; with a share of the layers peft wants the names that `all-linear` stands for."""
    import torch

    found = targets(settings)
    if found != "all-linear" or settings.layers >= 1:
        return found
    linear = {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    return sorted(linear - {"lm_head"})


def _layers(settings: SFTSettings, count: int) -> list[int] | None:
    """Indices of the layers that get an adapter; None = all."""
    if settings.layers >= 1:
        return None
    return list(range(count - max(1, round(count * settings.layers)), count))
