"""Attention on a CPU, a part of the queries at a time, so that keys no query of the part may see are not computed.

PyTorch's kernel for CPUs goes through the keys in blocks of 512: up to there a causal mask saves it nothing, and
half of the work is thrown away. Registered beside transformers' own implementations.
"""

from __future__ import annotations

from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "benchgen_in_parts"
PART = 64
"""Queries computed at once."""


def attend_in_parts(model: Any) -> None:
    """Let the model use it, where it runs on a CPU and its architecture takes transformers' sdpa by name."""
    by_name = model.config._attn_implementation == "sdpa" and model._can_set_attn_implementation()
    if model.device.type == "cpu" and by_name:
        AttentionInterface.register(NAME, _attention)
        AttentionMaskInterface.register(NAME, sdpa_mask)
        model.set_attn_implementation(NAME)


def _attention(
    module: torch.nn.Module,
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    attention_mask: torch.Tensor | None,
    **settings: Any,
) -> tuple[torch.Tensor, None]:
    """What sdpa gives: [rows, queries, heads, d]. Query, key and value are [rows, heads, tokens, d]."""
    queries, columns = query.shape[2], key.shape[2]
    asked = settings.get("is_causal")
    causal = getattr(module, "is_causal", True) if asked is None else asked
    aligned = queries == columns if attention_mask is None else attention_mask.shape[-1] == columns
    if queries <= PART or not causal or not aligned or settings.get("position_bias") is not None:
        return sdpa_attention_forward(module, query, key, value, attention_mask, **settings)
    before, found = columns - queries, []
    for begin in range(0, queries, PART):
        end = min(begin + PART, queries)
        seen = before + end  # a query sees no column behind its own
        if attention_mask is None:
            mask = torch.ones(end - begin, seen, dtype=torch.bool, device=query.device)
            mask = mask.tril(before + begin)[None, None]
        else:
            mask = attention_mask[..., begin:end, :seen]
        part = query[:, :, begin:end], key[:, :, :seen], value[:, :, :seen]
        found.append(sdpa_attention_forward(module, *part, mask, **settings)[0])
    return torch.cat(found, dim=1), None
