"""An adapter added to its base's weights, written as a model of its own, and measured against the two apart."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from benchgen.errors import ConfigError, TrainingError
from benchgen.models import quiet_libraries
from benchgen.models.chat import encode_prompt, stop_ids
from benchgen.models.device import Device
from benchgen.models.embedded import file_sha256
from benchgen.models.engine.load import load_adapter, load_base, pick_device
from benchgen.models.local import LocalModel
from benchgen.train.checkpoints import write_json
from benchgen.train.continuing import WEIGHTS, weights_sha256
from benchgen.types import Message, Record

quiet_libraries()

TOKENIZER_FILES = (
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "vocab.txt",
    "spiece.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "chat_template.json",
)
"""Copied as they are: what a library writes anew may split a text in other places."""
POSITIONS = 16
"""The last tokens of each prompt whose logits are compared."""


@dataclass(frozen=True)
class Written(Record):
    """What was written, and what of the base's weights it changed."""

    dtype: str
    tensors: int
    changed: int
    """Tensors that the adapter changed: each one that it has a part for."""
    parameters: int
    sha256: dict[str, str]
    """Of each file of weights."""
    stops: list[int]
    """Every token id that ends an answer, in generation_config.json."""


@dataclass(frozen=True)
class Agreement(Record):
    """How far the logits of the merged model lie from those of the adapter on its base.

    `apart` and `effect` are root mean squares as a share of the logits' standard deviation, of the
    prompt where it is largest: over the vocabulary, at the last tokens.
    """

    prompts: int
    positions: int
    apart: float
    max_abs: float
    """The largest single difference, in logits."""
    effect: float
    """How far the adapter itself moves the base, measured alike."""
    tolerance: float
    """Of `apart`."""


def write_merged(
    base: Path | str, adapter: Path, out: Path, place: Device, dtype: str, revision: str | None
) -> Written:
    """What was written to `out`: weights of type `dtype` and configuration, tokenizer, every stop token.

    Raises TrainingError where the adapter was not loaded whole, changes nothing, changes weights that it
    has no part for, or gives a weight that is no number.
    """
    model, tokenizer, folder = load_base(base, replace(place, dtype=dtype), revision)
    stops = sorted(stop_ids(model, tokenizer))
    before = _digests(model)
    joined = load_adapter(model, adapter)
    found, expected = weights_sha256(joined, adapter / WEIGHTS), file_sha256(adapter / WEIGHTS)
    if found != expected:
        raise TrainingError("the adapter was not loaded whole", got=found, allowed=[expected])
    try:
        merged = joined.merge_and_unload(safe_merge=True)
    except ValueError as error:  # a weight that is no number
        raise TrainingError(f"the adapter cannot be merged: {error}") from error
    after = _digests(merged)
    changed = {name for name in before if after.get(name) != before[name]}
    _check_changed(before.keys(), after.keys(), changed, _targets(adapter))
    _save(merged, folder, out, stops)
    files = sorted(out.glob("*.safetensors"))
    return Written(
        dtype=dtype,
        tensors=len(after),
        changed=len(changed),
        parameters=sum(p.numel() for p in merged.parameters()),
        sha256={file.name: file_sha256(file) for file in files},
        stops=stops,
    )


def serve(source: Path | str, name: str, plan_device: dict[str, Any], **options: Any) -> LocalModel:
    """The model as runs load it, on the plan's device."""
    kind, dtype = plan_device["kind"], plan_device["dtype"]
    return LocalModel(source, name=name, device=kind, dtype=dtype, **options)


def place_of(plan_device: dict[str, Any]) -> Device:
    """The plan's device, as loading takes it."""
    return pick_device(plan_device["kind"], plan_device["dtype"])


def last_logits(model: LocalModel, prompts: Sequence[Sequence[Message]]) -> list[torch.Tensor]:
    """Logits [POSITIONS or fewer, vocabulary] of each prompt's last tokens, float32 on the CPU."""
    found = []
    for messages in prompts:
        ids = torch.tensor([encode_prompt(model.tokenizer, messages)], device=model.device.kind)
        with torch.inference_mode():
            logits = model.model(ids, use_cache=False).logits[0, -POSITIONS:]
        found.append(logits.float().cpu())
    return found


def base_logits(model: LocalModel, prompts: Sequence[Sequence[Message]]) -> list[torch.Tensor]:
    """`last_logits` of the base alone, of a model that has an adapter."""
    with model.model.disable_adapter():
        return last_logits(model, prompts)


def agreement(
    served: Sequence[torch.Tensor],
    merged: Sequence[torch.Tensor],
    base: Sequence[torch.Tensor],
    tolerance: float,
) -> Agreement:
    """How far `merged` is from `served`; TrainingError where that is further than the tolerance."""
    found = Agreement(
        prompts=len(served),
        positions=sum(len(logits) for logits in served),
        apart=_furthest(served, merged),
        max_abs=round(
            max(float((a - b).abs().max()) for a, b in zip(served, merged, strict=True)), 6
        ),
        effect=_furthest(served, base),
        tolerance=tolerance,
    )
    if not found.apart <= tolerance:  # also where it is no number
        raise TrainingError(
            "the merged model does not answer as the adapter on its base does: their logits differ",
            got=f"{found.apart:.3g} of the logits' standard deviation",
            allowed=f"at most {tolerance:g}",
        )
    return found


def template_sha256(model: LocalModel) -> str | None:
    """Hex sha256 of the chat template; None without one."""
    template = model.tokenizer.chat_template
    return hashlib.sha256(str(template).encode()).hexdigest() if template else None


def _furthest(reference: Sequence[torch.Tensor], other: Sequence[torch.Tensor]) -> float:
    shares = [
        float((a - b).pow(2).mean().sqrt() / a.std()) for a, b in zip(reference, other, strict=True)
    ]
    return float(f"{max(shares):.4g}") if all(s == s for s in shares) else float("nan")


def _digests(model: Any) -> dict[str, str]:
    """{parameter: digest of its bytes}; a tied one counts once."""
    return {
        name: hashlib.blake2b(
            parameter.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes()
        ).hexdigest()
        for name, parameter in model.named_parameters()
    }


def _targets(adapter: Path) -> set[str]:
    """Names of the base's weights that the adapter has a part for."""
    from safetensors import safe_open

    with safe_open(adapter / WEIGHTS, framework="pt") as file:
        names = list(file.keys())
    return {
        re.sub(r"\.lora_[AB]\.weight$", ".weight", name.removeprefix("base_model.model."))
        for name in names
    }


def _check_changed(before: Any, after: Any, changed: set[str], targets: set[str]) -> None:
    if set(before) != set(after):
        raise TrainingError("merging made other weights than the base has")
    if not changed:
        raise TrainingError(
            "the merged weights are the base's: the adapter changes none of them",
            got=0,
            allowed=f"{len(targets)} changed weights",
            next="an adapter that was trained for some steps",
        )
    if changed - targets:
        raise TrainingError(
            "merging changed weights that the adapter has no part for",
            got=sorted(changed - targets),
        )


def _save(model: Any, base: Path, out: Path, stops: Sequence[int]) -> None:
    from transformers import GenerationConfig

    # Sampling settings that a base came with may be such that saving refuses them: copied below instead.
    model.generation_config = GenerationConfig(eos_token_id=list(stops))
    model.save_pretrained(str(out))
    file = base / "generation_config.json"
    told = json.loads(file.read_text(encoding="utf-8")) if file.is_file() else {}
    write_json(out / "generation_config.json", {**told, "eos_token_id": list(stops)})
    for name in TOKENIZER_FILES:
        if (base / name).is_file():
            shutil.copyfile(base / name, out / name)
    if not any(out.glob("*.safetensors")):
        raise ConfigError("no weights were written", got=str(out))
