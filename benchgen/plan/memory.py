"""How many bytes a LoRA training needs at its peak, from the shape of the model and the settings alone.

Formulas after EleutherAI's "Transformer Math 101" and Korthikanti et al. 2022 (arXiv 2205.05198) for
activations, Dettmers et al. 2023 (arXiv 2305.14314) for 4-bit weights. Symbols in the comments:
H hidden, L layers, Q = heads x head width, K = key-value heads x head width, M MLP width, V vocabulary,
r rank, B rows at once, S tokens a row. Calibrated on nothing: to be shown as plus or minus 25 %.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from benchgen.errors import ConfigError, DataError
from benchgen.types import Estimate

GIB = 2**30
SAFETY = 1.10
"""Fragments of the allocator and small buffers, on top of the sum."""

BYTES = {"float32": 4, "bfloat16": 2, "float16": 2}
QUANTISED = {"none": 0.0, "nf4": 0.5625, "nf4_double": 0.516, "int8": 1.0}
"""Bytes a quantised weight takes, its scales included (0: weights are of the computing type)."""
OPTIMISERS = {"adamw_torch": 8, "adamw_torch_fused": 8, "adamw_8bit": 2}
"""Bytes of state a trained parameter: two moments in fp32, or in 8 bits."""
RUNTIME = {"cpu": 0.7 * GIB, "cuda": 1.0 * GIB}
"""The process itself with torch and the trl stack loaded; on CUDA the context on the GPU."""


@dataclass(frozen=True)
class ModelShape:
    """The widths of a decoder of the Llama family (Llama, Qwen, Mistral, SmolLM2, Gemma)."""

    hidden: int
    layers: int
    query: int
    """Q: heads x head width."""
    key: int
    """K: key-value heads x head width."""
    mlp: int
    vocabulary: int
    tied: bool
    """Whether the input and the output embedding are one matrix."""

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> ModelShape:
        """The shape that a Hugging Face `config.json` describes.

        Raises DataError where it describes none that these formulas hold for.
        """
        config = config.get("text_config") or config
        try:
            heads = int(config["num_attention_heads"])
            width = int(config.get("head_dim") or config["hidden_size"] // heads)
            return cls(
                hidden=int(config["hidden_size"]),
                layers=int(config["num_hidden_layers"]),
                query=heads * width,
                key=int(config.get("num_key_value_heads") or heads) * width,
                mlp=_dense_mlp(config),
                vocabulary=int(config["vocab_size"]),
                tied=bool(config.get("tie_word_embeddings", True)),
            )
        except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise DataError(
                "no memory estimate: the model's config.json is not one of a dense Llama-like decoder",
                got=f"model_type={config.get('model_type')!r}, {type(error).__name__}: {error}",
                allowed="hidden_size, num_hidden_layers, num_attention_heads, intermediate_size, vocab_size",
            ) from error

    @property
    def linear(self) -> int:
        """Weights in the layers' linear maps (what 4-bit loading shrinks)."""
        attention = 2 * self.hidden * self.query + 2 * self.hidden * self.key
        return self.layers * (attention + 3 * self.hidden * self.mlp)

    @property
    def embedding(self) -> int:
        """Weights in the embeddings (never quantised)."""
        return self.vocabulary * self.hidden * (1 if self.tied else 2)

    @property
    def num_parameters(self) -> int:
        """All weights; norms and biases, under 0.1 %, are left out."""
        return self.linear + self.embedding


@dataclass(frozen=True)
class MemorySettings:
    """What of a training decides its memory."""

    rank: int = 16
    batch_rows: int = 8
    """B: rows in one forward pass."""
    tokens: int = 256
    """S: tokens of a long row as tokenised (the 99th percentile, not the limit)."""
    dtype: str = "float32"
    quantised: str = "none"
    optimiser: str = "adamw_torch"
    checkpointing: bool = False
    """Whether activations are computed again in the backward pass instead of kept."""
    fused_loss: bool = True
    """Whether the loss is taken in chunks (trl's SFT, unsloth) or over all logits at once."""
    logit_tokens: int | None = None
    """Tokens a row that get logits; None: all (GRPO without a fused loss: the completion only)."""
    generated: int = 0
    """Sequences generated at once through `generate` (GRPO); 0 for SFT."""


def lora_parameters(shape: ModelShape, rank: int) -> int:
    """How many weights LoRA of that rank trains on all seven linear maps of every layer: exact.

    A map from m to n inputs gets two factors, rank x (m + n) weights (Hu et al. 2021, arXiv 2106.09685).
    """
    attention = 2 * (shape.hidden + shape.query) + 2 * (shape.hidden + shape.key)
    return shape.layers * rank * (attention + 3 * (shape.hidden + shape.mlp))


def estimate_memory(shape: ModelShape, settings: MemorySettings, device: str) -> Estimate:
    """The peak of a LoRA training in GiB, as a plan shows it; `memory_parts` says what it is made of."""
    peak = SAFETY * sum(memory_parts(shape, settings, device).values())
    kind = settings.dtype if settings.quantised == "none" else settings.quantised
    basis = (
        f"formula, plus or minus 25 %: {shape.num_parameters / 1e6:.0f} M weights in {kind}, LoRA r={settings.rank}, "
        f"{settings.batch_rows} rows of {settings.tokens} tokens on {device}"
    )
    return Estimate(round(peak / GIB, 2), "GiB", basis)


def memory_parts(shape: ModelShape, settings: MemorySettings, device: str) -> dict[str, int]:
    """{part: bytes} at the peak, before `SAFETY`, on "cpu" (the process) or "cuda" (the GPU).

    Weights, adapter and optimiser state stay throughout; training and generating (GRPO) take turns, so
    only the larger of the two counts.
    """
    _check("device", device, RUNTIME)
    _check("dtype", settings.dtype, BYTES)
    _check("quantised", settings.quantised, QUANTISED)
    _check("optimiser", settings.optimiser, OPTIMISERS)
    if device == "cpu" and settings.quantised != "none":
        raise ConfigError(
            "4-bit and 8-bit weights need a GPU", got=settings.quantised, allowed=["none"]
        )
    trained = lora_parameters(shape, settings.rank)
    # peft keeps the adapter in fp32 on a 16-bit base; trl casts it to bf16 on a quantised one.
    adapter = trained * (4 if settings.quantised == "none" else 2)
    parts = {
        "runtime": RUNTIME[device],
        "weights": _weights(shape, settings),
        "adapter": adapter,
        "gradients": adapter,
        "optimiser": trained * OPTIMISERS[settings.optimiser],
        **_turn(shape, settings),
    }
    return {name: round(size) for name, size in parts.items()}


def _weights(shape: ModelShape, settings: MemorySettings) -> float:
    wide = BYTES[settings.dtype]
    packed = QUANTISED[settings.quantised] or wide
    return packed * shape.linear + wide * shape.embedding


def _turn(shape: ModelShape, settings: MemorySettings) -> dict[str, float]:
    """What training, or generating if that needs more, holds beside the weights and states."""
    training = {"activations": _activations(shape, settings), "loss": _loss(shape, settings)}
    # One key and one value of K numbers a layer and token.
    cache = (
        2 * BYTES[settings.dtype] * shape.layers * shape.key * settings.tokens * settings.generated
    )
    return training if sum(training.values()) >= cache else {"kv_cache": float(cache)}


def _activations(shape: ModelShape, settings: MemorySettings) -> float:
    wide = BYTES[settings.dtype]
    positions = settings.batch_rows * settings.tokens
    if not settings.checkpointing:
        # 34 bytes a number at 16 bits with attention that keeps no S x S matrix (SDPA, flash).
        return 17 * wide * shape.layers * positions * shape.hidden
    kept = wide * shape.layers * positions * shape.hidden
    widths = 2 * shape.query + 2 * shape.key + 4 * shape.hidden + 4 * shape.mlp
    return kept + wide * positions * widths  # one layer at a time is computed again


def _loss(shape: ModelShape, settings: MemorySettings) -> float:
    if settings.fused_loss:
        # Upper bound of a chunk: fp32 logits and their gradient.
        chunk = min(settings.batch_rows * settings.tokens, 4096)
        return 8 * chunk * min(shape.vocabulary, 32768)
    # Logits in the computing type, a copy in fp32, and its gradient.
    each = settings.tokens if settings.logit_tokens is None else settings.logit_tokens
    return (BYTES[settings.dtype] + 8) * settings.batch_rows * each * shape.vocabulary


def _dense_mlp(config: Mapping[str, Any]) -> int:
    if (
        config.get("num_experts")
        or config.get("num_local_experts")
        or config.get("n_routed_experts")
    ):
        raise ValueError("a mixture of experts")
    return int(config["intermediate_size"])


def _check(name: str, got: str, known: Mapping[str, Any]) -> None:
    if got not in known:
        raise ConfigError(f"no memory estimate for {name}={got}", got=got, allowed=sorted(known))
