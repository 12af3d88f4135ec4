"""Rows that are decoded together, and the keys and values computed for them so far."""

from __future__ import annotations

import inspect
from dataclasses import dataclass, field
from typing import Any

import psutil
import torch
from transformers.cache_utils import DynamicCache, DynamicLayer

from benchgen.errors import ModelError
from benchgen.models.engine.packing import pack_weights
from benchgen.types import Request

MEMORY = 0.5
"""Share of the free memory that keys and values may fill."""
CACHES = ("past_key_values", "cache_params")
"""What models call the keys and values, or the state, of the tokens before."""
PADDING = 0
"""What stands where no token does; any id that every model knows, since nothing looks at it."""
ROOM = 32
"""Columns by which a row's key and value buffers grow, so that they are not copied at every token."""

Start = list[tuple[torch.Tensor, torch.Tensor]]
"""Keys and values per layer, [1, heads, tokens, d], of a beginning that several rows share."""


@dataclass
class Row:
    """One request on its way: what was asked, what has been generated."""

    index: int
    request: Request
    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    stops: frozenset[int] = frozenset()
    started: float = 0.0
    generator: torch.Generator | None = None


class Layer(DynamicLayer):
    """Keys and values of one layer, [rows, heads, columns, d], in buffers with room for more columns.

    transformers' own layer copies everything at every token.
    """

    def update(
        self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any
    ) -> tuple[torch.Tensor, torch.Tensor]:
        if not self.is_initialized:
            self.lazy_initialization(key_states, value_states)
            self.keys, self.values = key_states, value_states
            self._buffers: list[torch.Tensor] = []
            return self.keys, self.values
        used, new = self.keys.shape[-2], key_states.shape[-2]
        if not self._buffers or self._buffers[0].shape[-2] < used + new:
            shape = (*self.keys.shape[:2], used + new + ROOM, self.keys.shape[-1])
            self._buffers = [self.keys.new_empty(shape) for _ in range(2)]
            for buffer, old in zip(self._buffers, (self.keys, self.values), strict=True):
                buffer[..., :used, :] = old
        for buffer, states in zip(self._buffers, (key_states, value_states), strict=True):
            buffer[..., used : used + new, :] = states
        self.keys, self.values = (b[..., : used + new, :] for b in self._buffers)
        return self.keys, self.values

    def replace(self, keys: torch.Tensor, values: torch.Tensor) -> None:
        """Take these instead (rows left, came in or moved)."""
        self.keys, self.values, self._buffers = keys, values, []


@dataclass
class Batch:
    """Rows being decoded together. Every row's tokens are aligned to the right."""

    rows: list[Row]
    cache: DynamicCache
    mask: torch.Tensor
    """[rows, columns], 1 = the column holds a token of the row, 0 = padding on its left."""

    def keep(self, kept: list[int]) -> None:
        """Drop the other rows, and the columns that then hold no token of any row."""
        chosen = torch.tensor(kept, dtype=torch.long, device=self.mask.device)
        mask = self.mask[chosen]
        first = mask.shape[1] - (int(mask.sum(1).max()) if kept else 0)
        for layer in self.cache.layers if kept else []:
            if isinstance(layer, Layer):
                layer.replace(layer.keys[chosen, :, first:], layer.values[chosen, :, first:])
            else:
                layer.reorder_cache(chosen)  # of every kind of layer: keys and values, or a state
                first = 0
        self.mask = mask[:, first:].contiguous()
        self.rows = [self.rows[i] for i in kept]

    def squeeze(self) -> None:
        """Move each row's tokens to the right end, closing gaps between a shared start and the rest."""
        order = self.mask.argsort(dim=1, stable=True)  # [rows, columns]: padding first, then tokens
        rows = torch.arange(len(self.rows), device=self.mask.device)[:, None]
        for layer in self.cache.layers:
            # Indexing two axes around the heads' puts them in front: [rows, columns, heads, d].
            layer.replace(
                layer.keys[rows, :, order].transpose(1, 2),
                layer.values[rows, :, order].transpose(1, 2),
            )
        self.mask = self.mask.gather(1, order)

    def join(self, other: Batch) -> None:
        """Add another batch's rows below this one's, both padded on the left to one width."""
        width = max(self.mask.shape[1], other.mask.shape[1])
        mask = torch.cat([_widen(b.mask, width, -1) for b in (self, other)])
        for mine, theirs in zip(self.cache.layers, other.cache.layers, strict=True):
            mine.replace(
                torch.cat([_widen(layer.keys, width, -2) for layer in (mine, theirs)]),
                torch.cat([_widen(layer.values, width, -2) for layer in (mine, theirs)]),
            )
        self.mask, self.rows = mask, self.rows + other.rows


class Network:
    """A loaded causal language model as the engine calls it; on a CPU its frozen weights are packed."""

    def __init__(self, model: Any, device: str) -> None:
        self.model, self.device = model, device
        pack_weights(model)
        inner = model.get_base_model() if hasattr(model, "get_base_model") else model
        takes = inspect.signature(inner.forward).parameters
        self._cache = next((name for name in CACHES if name in takes), "")
        if not self._cache:
            raise ModelError(
                f"a {model.config.model_type} model cannot be asked here: it keeps nothing of the tokens"
                " before, or keeps it in a way of its own",
                next="a model of another architecture, or one behind an endpoint",
            )
        config = model.config.get_text_config()
        layers = DynamicCache(config=model.config).layers
        self.plain = (
            all(type(layer) is DynamicLayer for layer in layers)
            and "position_ids" in takes
            and not _by_column(config)
        )
        """Plain full attention: only it lets rows share a beginning and move to other columns."""
        self._num_layers = len(layers)
        self.vocabulary = int(config.vocab_size)
        self.context = int(getattr(config, "max_position_embeddings", None) or 1 << 30)
        """Tokens that prompt and answer may have together."""
        self.column_bytes = _column_bytes(model)

    def cache(self, start: Start | None = None, rows: int = 1) -> DynamicCache:
        """An empty cache, or one that holds a shared beginning for that many rows."""
        cache = DynamicCache(config=self.model.config)
        if self.plain:
            cache.layers = [Layer() for _ in range(self._num_layers)]
        for layer, (keys, values) in zip(cache.layers, start or [], strict=False):
            shape = (rows, -1, -1, -1)
            layer.update(keys.expand(shape), values.expand(shape))
        return cache

    @torch.inference_mode()
    def start(self, tokens: list[int]) -> Start:
        """Keys and values of a beginning that several rows share; nothing for no tokens."""
        if not tokens:
            return []
        cache = self.cache()
        ids = torch.tensor([tokens], device=self.device)
        self.model(input_ids=ids, use_cache=True, logits_to_keep=1, **{self._cache: cache})
        return [(layer.keys, layer.values) for layer in cache.layers]

    def forward(
        self, ids: torch.Tensor, mask: torch.Tensor, cache: DynamicCache, keep: int = 1
    ) -> torch.Tensor:
        """Logits after each of the last `keep` columns, [rows, keep, vocabulary].

        `mask` is [rows, columns in the cache afterwards]; the cache then holds the new columns.
        """
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        # A state holds no columns: its mask is that of the new ones, of which then none is padding.
        begun = self._cache == "cache_params" and mask.shape[1] > ids.shape[1]
        return self.model(
            input_ids=ids,
            attention_mask=None if begun else mask,
            position_ids=positions,
            use_cache=True,
            logits_to_keep=keep,
            **{self._cache: cache},
        ).logits

    def columns_held(self) -> int:
        """Columns of keys and values, over all rows, that the free memory may hold."""
        if self.device == "cuda":
            free = int(torch.cuda.mem_get_info()[0])
        else:
            free = int(psutil.virtual_memory().available)
        return int(free * MEMORY) // max(1, self.column_bytes)


def _by_column(config: Any) -> bool:
    """Whether distances are counted in columns, whatever `position_ids` say.

    So do a bias by distance (ALiBi; Bloom and MPT take no `position_ids` either) and GPT-Neo's local layers.
    """
    return bool(getattr(config, "alibi", False)) or "local" in getattr(
        config, "attention_layers", ()
    )


def _column_bytes(model: Any) -> int:
    """Bytes of keys and values that one token of one row takes; an upper bound for linear attention."""
    config = model.config.get_text_config()
    attention = getattr(config, "num_attention_heads", 1) or 1
    heads = getattr(config, "num_key_value_heads", None) or attention
    size = getattr(config, "head_dim", None) or getattr(config, "hidden_size", 0) // attention
    layers = getattr(config, "num_hidden_layers", 1)
    return int(2 * layers * heads * size * torch.finfo(model.dtype).bits // 8)


def _widen(tensor: torch.Tensor, width: int, axis: int) -> torch.Tensor:
    """The tensor with zeros put in front along `axis` until it is `width` long."""
    missing = width - tensor.shape[axis]
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[axis] = missing
    return torch.cat([tensor.new_zeros(shape), tensor], dim=axis)
