"""Attention on a CPU, a part of the queries at a time, so that keys no query of the part may see are not computed.

PyTorch's kernel for CPUs goes through the keys in blocks of 512: up to there a causal mask saves it nothing, and
half of the work is thrown away. Registered beside transformers' own implementations.

Behind a beginning that all rows share, the queries of all rows look at its keys in one product, as if they were
one row, and at their own in another; the two are joined by their log-sum-exps, as in Flash-Decoding and Hydragen
(Juravsky et al. 2024, arXiv:2402.05099). Nothing of the beginning is then copied for each row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import torch
from transformers import AttentionInterface, AttentionMaskInterface
from transformers.integrations.sdpa_attention import sdpa_attention_forward
from transformers.masking_utils import sdpa_mask

NAME = "benchgen_in_parts"
PART = 64
"""Queries computed at once."""


Pair = tuple[torch.Tensor, torch.Tensor]
"""Keys and values, [1, heads, tokens, d]."""
_BEGINNING: ContextVar[Sequence[Pair]] = ContextVar("beginning", default=())


@contextmanager
def behind(start: Sequence[Pair]) -> Iterator[None]:
    """Within it, every row of a pass of a model that `attend_in_parts` has changed comes after that beginning,
    whose keys and values are given by layer, and sees itself causally: without a mask, and without a cache.
    """
    token = _BEGINNING.set(start)
    try:
        yield
    finally:
        _BEGINNING.reset(token)


def attends_in_parts(model: Any) -> bool:
    """Whether it was changed so."""
    return bool(model.config._attn_implementation == NAME)


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
    if start := _BEGINNING.get():
        return _behind(query, key, value, start[module.layer_idx], settings.get("scaling")), None
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


def _behind(
    query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, start: Pair, scale: float | None
) -> torch.Tensor:
    """Attention of rows that see a shared beginning whole and themselves causally: [rows, queries, heads, d]."""
    rows, heads, queries, width = query.shape
    kept = key.shape[1]
    flash = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
    grouped = query.unflatten(1, (kept, -1)).transpose(0, 1).reshape(1, kept, -1, width)
    seen, seen_sum = flash(grouped, *start, scale=scale)
    seen = seen.view(kept, rows, -1, queries, width).transpose(0, 1).reshape(query.shape)
    seen_sum = seen_sum.view(kept, rows, -1, queries).transpose(0, 1).reshape(rows, heads, queries)
    own = (states.repeat_interleave(heads // kept, dim=1) for states in (key, value))
    found, found_sum = flash(query, *own, is_causal=True, scale=scale)
    share = (seen_sum - found_sum.view_as(seen_sum)).sigmoid()[..., None].to(query.dtype)
    return torch.lerp(found, seen, share).transpose(1, 2)
