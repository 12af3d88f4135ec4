"""A model on this machine: any Hugging Face id or folder, with or without an adapter.

Replies come from an own batched decoding loop: rows are sorted by length, their common beginning is
computed once, a finished row leaves the batch at once and a waiting one takes its place. Greedy answers
do not depend on that beyond float rounding; sampled ones draw from a generator of their own.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchgen.errors import BenchgenError, ConfigError, ModelError, NotFound
from benchgen.models import quiet_libraries
from benchgen.models.chat import encode_prompt, stop_ids
from benchgen.models.device import Device, detect
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.types import Reply, Request

quiet_libraries()

import torch  # noqa: E402 - telemetry and log switches must be set before the libraries load
from transformers import AutoModelForCausalLM, AutoTokenizer  # noqa: E402
from transformers.cache_utils import DynamicCache, DynamicLayer  # noqa: E402

DTYPES = ("auto", "float32", "bfloat16", "float16")
ROWS_CPU, ROWS_CUDA = 64, 128
"""Rows decoded at once by default: on a CPU reading the weights dominates up to about 64."""
ROOM = 32
"""Columns by which a row's key and value buffers grow, so that they are not copied at every token."""


# ---------------------------------------------------------------- device


def pick_device(device: str = "auto", dtype: str = "auto", threads: int | None = None) -> Device:
    """The device asked for, its dtype chosen by what the hardware has units for.

    bfloat16 only with matrix units for it (CPU flags amx_bf16 or avx512_bf16, CUDA capability >= 8.0),
    else float32 on a CPU and float16 on a GPU. Raises ConfigError for what is not usable here.
    """
    if device not in ("auto", "cpu", "cuda"):
        raise ConfigError("unknown device", got=device, allowed=["auto", "cpu", "cuda"])
    if dtype not in DTYPES:
        raise ConfigError("unknown dtype", got=dtype, allowed=DTYPES)
    if threads is not None and threads < 1:
        raise ConfigError("threads must be at least 1", got=threads)
    found = detect()
    if device == "cuda" or (device == "auto" and found.kind == "cuda"):
        if _cuda_works():
            found = _cuda_device()
        elif device == "cuda":
            raise ConfigError("no usable CUDA device", got=device, allowed=["auto", "cpu"])
        else:
            found = _cpu_device(found)
    elif found.kind != "cpu":
        found = _cpu_device(found)
    found = found if dtype == "auto" else replace(found, dtype=dtype)
    return found if threads is None else replace(found, threads=threads)


def _cuda_works() -> bool:
    try:
        return torch.cuda.is_available() and bool((torch.zeros(1, device="cuda") + 1).item() == 1)
    except (RuntimeError, AssertionError):
        return False


def _cuda_device() -> Device:
    properties = torch.cuda.get_device_properties(0)
    dtype = "bfloat16" if torch.cuda.get_device_capability(0) >= (8, 0) else "float16"
    return Device("cuda", properties.name, dtype, 1, properties.total_memory)


def _cpu_device(found: Device) -> Device:
    has = torch.cpu.get_capabilities()
    fast = has.get("amx_bf16") or has.get("avx512_bf16")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    threads = len(os.sched_getaffinity(0))
    return Device(
        "cpu", str(has.get("cpu_name", "cpu")), "bfloat16" if fast else "float32", threads, memory
    )


# ---------------------------------------------------------------- loading


def load_base(
    source: Path | str, device: Device, revision: str | None = None
) -> tuple[Any, Any, Path]:
    """(model in evaluation mode on its device, tokenizer, folder of its files).

    `source` is a folder or a Hugging Face id. Raises NotFound or ModelError with the line that mends it.
    """
    quiet_libraries()
    name = str(source)
    if isinstance(source, Path) or name.startswith((".", "/", "~")):
        folder = Path(name).expanduser()
        if not (folder / "config.json").is_file():
            raise NotFound(
                "There is no model in that folder (no config.json)",
                got=name,
                next="give the folder that holds config.json, or a Hugging Face id",
            )
        name, revision = str(folder), None
    torch.set_num_threads(device.threads)
    torch.set_flush_denormal(True)
    try:
        tokenizer = AutoTokenizer.from_pretrained(name, revision=revision)
        model = AutoModelForCausalLM.from_pretrained(
            name, revision=revision, dtype=getattr(torch, device.dtype)
        )
        folder = _folder(name, revision)
    except (OSError, ValueError, KeyError, ImportError, RuntimeError) as error:
        raise _load_error(name, error) from error
    return model.to(device.kind).eval(), tokenizer, folder


def load_adapter(model: Any, adapter: Path) -> Any:
    """The model with a LoRA adapter in front of its frozen weights, not merged."""
    if not (adapter / "adapter_config.json").is_file():
        raise NotFound(
            "There is no adapter in that folder (no adapter_config.json)",
            got=str(adapter),
            next="train one (plan, confirm), or give a folder written by peft",
        )
    from peft import PeftModel

    try:
        return PeftModel.from_pretrained(model, str(adapter), is_trainable=False).eval()
    except (OSError, ValueError, KeyError, RuntimeError, TypeError) as error:
        raise ModelError(
            f"The adapter does not fit its base model: {error}", got=str(adapter)
        ) from error


def _folder(name: str, revision: str | None) -> Path:
    if Path(name).is_dir():
        return Path(name)
    from transformers.utils import cached_file

    return Path(str(cached_file(name, "config.json", revision=revision))).parent


def _load_error(name: str, error: Exception) -> BenchgenError:
    kinds, cause = set[str](), error
    while cause is not None:
        kinds.add(type(cause).__name__)
        cause = cause.__cause__ or cause.__context__  # type: ignore[assignment]
    if Path(name).is_dir():
        return ModelError(f"The model in that folder cannot be loaded: {error}", got=name)
    if "GatedRepoError" in kinds:
        return ModelError(
            "That model asks for its licence to be accepted first",
            got=name,
            next=f"accept it at https://huggingface.co/{name}, then export HF_TOKEN",
        )
    if kinds & {"RepositoryNotFoundError", "RevisionNotFoundError", "HFValidationError"}:
        return NotFound(
            "There is no such model on the Hugging Face hub",
            got=name,
            next="check the id, or give a local folder; model=smollm2_135m needs no network",
        )
    if isinstance(error, OSError):
        return NotFound(
            "That model is not on this machine and the Hugging Face hub cannot be reached",
            got=name,
            next="download it with a network (hf download ID), or use model=smollm2_135m",
        )
    return ModelError(f"That model cannot be loaded: {error}", got=name)


# ---------------------------------------------------------------- answering


@dataclass
class _Row:
    """One request on its way: what was asked, what has been generated."""

    index: int
    request: Request
    prompt: list[int]
    tokens: list[int] = field(default_factory=list)
    started: float = 0.0
    generator: torch.Generator | None = None


class _Layer(DynamicLayer):
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
class _Batch:
    """Rows being decoded together. Every row's tokens are aligned to the right."""

    rows: list[_Row]
    cache: DynamicCache
    mask: torch.Tensor
    """[rows, columns], 1 = the column holds a token of the row, 0 = padding on its left."""

    def keep(self, kept: list[int]) -> None:
        """Drop the other rows, and the columns that then hold no token of any row."""
        chosen = torch.tensor(kept, dtype=torch.long, device=self.mask.device)
        mask = self.mask[chosen]
        first = mask.shape[1] - (int(mask.sum(1).max()) if kept else 0)
        for layer in self.cache.layers if kept else []:
            if isinstance(layer, _Layer):
                layer.replace(layer.keys[chosen, :, first:], layer.values[chosen, :, first:])
            else:
                layer.batch_select_indices(chosen)
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

    def join(self, other: _Batch) -> None:
        """Add another batch's rows below this one's, both padded on the left to one width."""
        width = max(self.mask.shape[1], other.mask.shape[1])
        mask = torch.cat([_widen(b.mask, width, -1) for b in (self, other)])
        for mine, theirs in zip(self.cache.layers, other.cache.layers, strict=True):
            mine.replace(
                torch.cat([_widen(layer.keys, width, -2) for layer in (mine, theirs)]),
                torch.cat([_widen(layer.values, width, -2) for layer in (mine, theirs)]),
            )
        self.mask, self.rows = mask, self.rows + other.rows


def _widen(tensor: torch.Tensor, width: int, axis: int) -> torch.Tensor:
    """The tensor with zeros put in front along `axis` until it is `width` long."""
    missing = width - tensor.shape[axis]
    if not missing:
        return tensor
    shape = list(tensor.shape)
    shape[axis] = missing
    return torch.cat([tensor.new_zeros(shape), tensor], dim=axis)


class LocalModel:
    """A `Model` (see types.py) that runs here; loaded when it is made.

    `adapter` is a folder written by peft, served in front of its frozen base. `batch_rows` is how many
    questions are decoded at once; on a GPU it is halved when memory runs out.
    """

    def __init__(  # noqa: PLR0913 - the settings of a model, keywords only
        self,
        path_or_id: Path | str,
        *,
        name: str,
        adapter: Path | None = None,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
        threads: int | None = None,
        batch_rows: int | None = None,
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ConfigError("batch_rows must be at least 1", got=batch_rows)
        self.name = name
        self.device = pick_device(device, dtype, threads)
        self.batch_rows = batch_rows or (ROWS_CUDA if self.device.kind == "cuda" else ROWS_CPU)
        self.model, self.tokenizer, folder = load_base(path_or_id, self.device, revision)
        self._fingerprint = weights_fingerprint(folder, adapter, self.device.dtype)
        if adapter is not None:
            self.model = load_adapter(self.model, adapter)
        self.stops = stop_ids(self.model, self.tokenizer)
        # Only plain full attention lets rows share a beginning and move to other columns.
        layers = DynamicCache(config=self.model.config).layers
        self._plain = all(type(layer) is DynamicLayer for layer in layers)
        self._num_layers = len(layers)

    @property
    def fingerprint(self) -> str:
        """16 hex digits over config, tokenizer, template, weights, adapter and dtype."""
        return self._fingerprint

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index into `requests`, its reply), each once, as they finish.

        Greedy at temperature 0, else sampled with the request's own seed. `tokens_in` and `tokens_out`
        are the row's own, the end token included; `seconds` is the wall clock from the row's entry into
        the batch to its end, so rows decoded together overlap and their seconds do not add up.
        """
        rows = [
            _Row(i, request, encode_prompt(self.tokenizer, request.messages))
            for i, request in enumerate(requests)
        ]
        limit = getattr(self.model.config, "max_position_embeddings", None) or 1 << 30
        for row in rows:
            if len(row.prompt) + row.request.max_new_tokens > limit:
                yield row.index, _unmeasured(row, f"prompt and answer exceed {limit} tokens")
        fitting = [r for r in rows if len(r.prompt) + r.request.max_new_tokens <= limit]
        yield from self._decode(sorted(fitting, key=lambda r: (-len(r.prompt), r.index)))

    @torch.inference_mode()
    def _start(self, rows: Sequence[_Row]) -> list[tuple[torch.Tensor, torch.Tensor]]:
        """Keys and values per layer, [1, heads, k, d], of the k tokens that all prompts begin with."""
        shared = _common(row.prompt for row in rows) if self._plain and len(rows) > 1 else 0
        if shared < 8:  # not worth a forward pass of its own
            return []
        cache = self._cache()
        ids = torch.tensor([rows[0].prompt[:shared]], device=self.device.kind)
        self.model(input_ids=ids, past_key_values=cache, use_cache=True, logits_to_keep=1)
        return [(layer.keys, layer.values) for layer in cache.layers]

    def _cache(self) -> DynamicCache:
        cache = DynamicCache(config=self.model.config)
        if self._plain:
            cache.layers = [_Layer() for _ in range(self._num_layers)]
        return cache

    def _decode(self, rows: list[_Row]) -> Iterator[tuple[int, Reply]]:
        """Replies of all rows, at most `batch_rows` at once; freed places are filled again."""
        start = self._start(rows) if rows else []
        waiting, batch = rows, None
        while waiting or batch:
            entering = waiting[: self._places(batch)]
            try:
                if entering or batch is None:
                    batch, finished = self._enter(batch, entering, start)
                else:
                    finished = self._step(batch)
            except torch.OutOfMemoryError as error:
                waiting, batch = self._shrink(batch, waiting, error), None
                continue
            waiting = waiting[len(entering) :]
            yield from finished
            batch = batch if batch.rows else None

    def _places(self, batch: _Batch | None) -> int:
        """Rows to take in now: all places of an empty batch; else only once an eighth has come free."""
        if batch is None:
            return self.batch_rows
        free = self.batch_rows - len(batch.rows)
        return free if self._plain and free >= max(1, self.batch_rows // 8) else 0

    def _enter(
        self, batch: _Batch | None, rows: list[_Row], start: list[tuple[torch.Tensor, torch.Tensor]]
    ) -> tuple[_Batch, list[tuple[int, Reply]]]:
        new, finished = self._prefill(rows, start)
        if batch is None:
            return new, finished
        if new.rows:
            batch.join(new)
        return batch, finished

    @torch.inference_mode()
    def _prefill(
        self, rows: list[_Row], start: list[tuple[torch.Tensor, torch.Tensor]]
    ) -> tuple[_Batch, list[tuple[int, Reply]]]:
        """A batch of these rows with one token each, and the replies of those that end with it."""
        where, done = self.device.kind, start[0][0].shape[2] if start else 0
        cache = self._cache()
        for layer, (keys, values) in zip(cache.layers, start, strict=False):
            shape = (len(rows), -1, -1, -1)
            layer.update(keys.expand(shape), values.expand(shape))
        rests = [row.prompt[done:] for row in rows]
        width = max(map(len, rests))
        padding = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([[padding] * (width - len(r)) + r for r in rests], device=where)
        mask = torch.tensor(
            [[1] * done + [0] * (width - len(r)) + [1] * len(r) for r in rests], device=where
        )
        now = time.perf_counter()
        for row in rows:
            row.started, row.tokens = now, []
            row.generator = _generator(row) if row.request.temperature > 0 else None
        logits = self._forward(ids, mask, cache)
        batch = _Batch(rows, cache, mask)
        if done:
            batch.squeeze()
        return batch, self._take(batch, logits)

    @torch.inference_mode()
    def _step(self, batch: _Batch) -> list[tuple[int, Reply]]:
        """One more token for every row; the replies of the rows that end with it, which then leave."""
        ids = torch.tensor([[row.tokens[-1]] for row in batch.rows], device=self.device.kind)
        batch.mask = torch.cat([batch.mask, batch.mask.new_ones(len(batch.rows), 1)], dim=1)
        return self._take(batch, self._forward(ids, batch.mask, batch.cache))

    def _forward(self, ids: torch.Tensor, mask: torch.Tensor, cache: DynamicCache) -> torch.Tensor:
        """Logits after the last column, [rows, vocabulary]; the cache then holds the new columns."""
        positions = (mask.cumsum(1) - 1).clamp(min=0)[:, -ids.shape[1] :]
        out = self.model(
            input_ids=ids,
            attention_mask=mask,
            position_ids=positions,
            past_key_values=cache,
            use_cache=True,
            logits_to_keep=1,
        )
        return out.logits[:, -1]

    def _take(self, batch: _Batch, logits: torch.Tensor) -> list[tuple[int, Reply]]:
        best = logits.argmax(-1).tolist()
        finished, kept = [], []
        for i, row in enumerate(batch.rows):
            row.tokens.append(best[i] if row.generator is None else _draw(logits[i], row))
            reply = self._reply(row)
            if reply is None:
                kept.append(i)
            else:
                finished.append((row.index, reply))
        if finished:
            batch.keep(kept)
        return finished

    def _reply(self, row: _Row) -> Reply | None:
        """The reply if the row has ended: by an end token, a stop string or the token limit."""
        ended = row.tokens[-1] in self.stops
        text, cut = None, -1
        if row.request.stop and not ended:
            text = self._text(row.tokens)
            cut = min((at for s in row.request.stop if (at := text.find(s)) >= 0), default=-1)
        if not ended and cut < 0 and len(row.tokens) < row.request.max_new_tokens:
            return None
        if text is None:
            text = self._text(row.tokens[:-1] if ended else row.tokens)
        return Reply(
            text=text[:cut] if cut >= 0 else text,
            finish_reason="stop" if ended or cut >= 0 else "length",
            tokens_in=len(row.prompt),
            tokens_out=len(row.tokens),
            seconds=time.perf_counter() - row.started,
        )

    def _text(self, tokens: list[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))

    def _shrink(
        self, batch: _Batch | None, waiting: list[_Row], error: torch.OutOfMemoryError
    ) -> list[_Row]:
        """All rows, to be begun again with half as many at once."""
        if self.batch_rows == 1:
            raise ModelError(
                "The device's memory does not hold one question",
                next="hardware.device=cpu, a smaller model or a smaller max_new_tokens",
            ) from error
        self.batch_rows = max(1, self.batch_rows // 2)
        torch.cuda.empty_cache()
        return (batch.rows if batch else []) + waiting


def _common(prompts: Iterator[list[int]]) -> int:
    """Tokens that all prompts begin with; always one less than the shortest, which must compute something."""
    first = next(prompts)
    shared = len(first) - 1
    for prompt in prompts:
        same = (i for i, (a, b) in enumerate(zip(first, prompt, strict=False)) if a != b)
        shared = min(shared, next(same, len(prompt) - 1), len(prompt) - 1)
    return shared


def _generator(row: _Row) -> torch.Generator:
    """A generator of the row's own: the same request draws the same numbers in any batch."""
    body = f"{row.request.seed}:{row.request.temperature}:{row.prompt}".encode()
    seed = int.from_bytes(hashlib.sha256(body).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(seed)


def _draw(logits: torch.Tensor, row: _Row) -> int:
    """A token drawn from softmax(logits / temperature) by one uniform number, in float64 on the CPU."""
    weights = torch.softmax(logits.double().cpu() / row.request.temperature, -1).cumsum(-1)
    at = torch.rand(1, generator=row.generator, dtype=torch.float64) * weights[-1]
    return min(int(torch.searchsorted(weights, at)), len(weights) - 1)


def _unmeasured(row: _Row, reason: str) -> Reply:
    return Reply("", "error", tokens_in=len(row.prompt), error=reason)
