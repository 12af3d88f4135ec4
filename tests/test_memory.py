"""The memory formulas against exact counts and against a table worked out by hand from the same sources."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.errors import ConfigError, DataError
from benchgen.plan.memory import (
    GIB,
    SAFETY,
    MemorySettings,
    ModelShape,
    estimate_memory,
    lora_parameters,
    memory_parts,
)

SMOLLM2 = {
    "model_type": "llama",
    "hidden_size": 576,
    "num_hidden_layers": 30,
    "num_attention_heads": 9,
    "num_key_value_heads": 3,
    "head_dim": 64,
    "intermediate_size": 1536,
    "vocab_size": 49152,
    "tie_word_embeddings": True,
}


def shape(
    hidden: int, layers: int, heads: tuple[int, int, int], mlp: int, vocabulary: int, tied: bool
) -> ModelShape:
    """A shape from the figures of a model card; `heads` = (heads, key-value heads, width)."""
    number, shared, width = heads
    return ModelShape(hidden, layers, number * width, shared * width, mlp, vocabulary, tied)


# Published configurations; then GiB for LoRA, QLoRA, LoRA with full logits, GRPO, GRPO with full logits.
TABLE = {
    "Qwen3-0.6B": (
        shape(1024, 28, (16, 8, 128), 3072, 151936, True),
        0.60,
        (4.1, 3.3, 9.3, 8.2, 9.4),
    ),
    "Llama-3.2-1B": (
        shape(2048, 16, (32, 8, 64), 8192, 128256, True),
        1.24,
        (5.6, 4.1, 9.9, 5.8, 10.1),
    ),
    "Qwen3-1.7B": (
        shape(2048, 28, (16, 8, 128), 6144, 151936, True),
        1.72,
        (6.9, 4.6, 12.2, 10.6, 12.4),
    ),
    "Qwen3-4B": (
        shape(2560, 36, (32, 8, 128), 9728, 151936, True),
        4.02,
        (12.4, 6.6, 17.7, 17.1, 18.0),
    ),
    "Llama-3.1-8B": (
        shape(4096, 32, (32, 8, 128), 14336, 128256, False),
        8.03,
        (21.3, 10.4, 25.6, 24.6, 26.1),
    ),
    "Qwen3-8B": (
        shape(4096, 36, (32, 8, 128), 12288, 151936, False),
        8.19,
        (21.8, 10.8, 27.0, 25.8, 27.5),
    ),
}
LORA = MemorySettings(
    rank=32, batch_rows=2, tokens=2048, dtype="bfloat16", checkpointing=True, optimiser="adamw_8bit"
)
GRPO = dataclasses.replace(LORA, rank=16, batch_rows=4, tokens=1536, generated=32)
COLUMNS = (
    LORA,
    dataclasses.replace(LORA, quantised="nf4_double"),
    dataclasses.replace(LORA, fused_loss=False),
    GRPO,
    dataclasses.replace(GRPO, fused_loss=False, logit_tokens=1024),
)


def test_smollm2_has_exactly_these_weights() -> None:
    """The published model has 134,515,008 weights, 61 norms of 576 among them, which the formula leaves out."""
    found = ModelShape.from_config(SMOLLM2)
    assert found == shape(576, 30, (9, 3, 64), 1536, 49152, True)
    assert found.num_parameters == 134_515_008 - 61 * 576


@pytest.mark.parametrize(("rank", "expected"), [(8, 2_442_240), (16, 4_884_480), (32, 9_768_960)])
def test_lora_on_smollm2_trains_exactly_these(rank: int, expected: int) -> None:
    """peft prints these numbers for `target_modules="all-linear"`."""
    assert lora_parameters(ModelShape.from_config(SMOLLM2), rank) == expected


@pytest.mark.torch
def test_lora_parameters_are_what_peft_makes() -> None:
    """Counted on the real model class, without its weights."""
    import torch
    from peft import LoraConfig, get_peft_model
    from transformers import AutoModelForCausalLM, LlamaConfig

    with torch.device("meta"):
        base = AutoModelForCausalLM.from_config(LlamaConfig(**SMOLLM2))
        model = get_peft_model(base, LoraConfig(r=16, target_modules="all-linear"))
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    assert trained == lora_parameters(ModelShape.from_config(SMOLLM2), 16)


@pytest.mark.parametrize("name", TABLE)
def test_known_models_within_rounding(name: str) -> None:
    """Billions of weights and GiB of five trainings, worked out by hand to one decimal place."""
    model, billions, expected = TABLE[name]
    assert round(model.num_parameters / 1e9, 2) == billions
    found = [estimate_memory(model, settings, "cuda").value for settings in COLUMNS]
    assert found == pytest.approx(expected, abs=0.06)


def test_parts_add_up_to_the_estimate() -> None:
    """The figure that a plan shows is the sum of what it says it is made of, with the safety factor."""
    model = ModelShape.from_config(SMOLLM2)
    parts = memory_parts(model, MemorySettings(), "cpu")
    estimate = estimate_memory(model, MemorySettings(), "cpu")
    assert list(parts) == [
        "runtime",
        "weights",
        "adapter",
        "gradients",
        "optimiser",
        "activations",
        "loss",
    ]
    assert estimate.value == round(SAFETY * sum(parts.values()) / GIB, 2)
    assert estimate.unit == "GiB"
    assert "134 M weights in float32" in estimate.basis
    assert parts["weights"] == 4 * model.num_parameters


def test_bf16_on_a_cpu_halves_weights_and_activations() -> None:
    """The adapter stays in fp32 on either base."""
    model = ModelShape.from_config(SMOLLM2)
    wide = memory_parts(model, MemorySettings(dtype="float32"), "cpu")
    narrow = memory_parts(model, MemorySettings(dtype="bfloat16"), "cpu")
    assert narrow["weights"] * 2 == wide["weights"]
    assert narrow["activations"] * 2 == wide["activations"]
    assert narrow["adapter"] == wide["adapter"] == 4 * lora_parameters(model, 16)


def test_training_and_generating_take_turns() -> None:
    """Only the larger of the two counts, not both."""
    model = ModelShape.from_config(SMOLLM2)
    assert "kv_cache" not in memory_parts(model, MemorySettings(generated=1), "cpu")
    many = memory_parts(model, MemorySettings(generated=4096), "cpu")
    assert "activations" not in many
    assert many["kv_cache"] == 2 * 4 * 30 * 192 * 256 * 4096


@given(
    more=st.sampled_from(["rank", "batch_rows", "tokens"]),
    checkpointing=st.booleans(),
    fused=st.booleans(),
    device=st.sampled_from(["cpu", "cuda"]),
)
def test_more_of_anything_never_needs_less(
    more: str, checkpointing: bool, fused: bool, device: str
) -> None:
    """A plan that shrinks a batch to make it fit must be able to rely on that."""
    model = ModelShape.from_config(SMOLLM2)
    small = MemorySettings(checkpointing=checkpointing, fused_loss=fused)
    large = dataclasses.replace(small, **{more: 2 * getattr(small, more)})
    assert sum(memory_parts(model, large, device).values()) > sum(
        memory_parts(model, small, device).values()
    )


def test_a_config_without_optional_fields() -> None:
    """No grouped heads, no head width of its own, text part nested as in models that also see."""
    plain = {k: v for k, v in SMOLLM2.items() if k not in {"num_key_value_heads", "head_dim"}}
    found = ModelShape.from_config({"model_type": "vision", "text_config": plain})
    assert (found.query, found.key) == (576, 576)


BAD: dict[str, dict[str, Any]] = {
    "empty": {},
    "another family's names": {"model_type": "gpt2", "n_embd": 768, "n_layer": 12},
    "a mixture of experts": {**SMOLLM2, "num_experts": 8},
    "no heads": {**SMOLLM2, "num_attention_heads": 0, "head_dim": None},
    "text for a number": {**SMOLLM2, "hidden_size": "wide"},
}


@pytest.mark.parametrize("reason", BAD)
def test_a_config_the_formulas_do_not_hold_for(reason: str) -> None:
    """Refused with what was found, never guessed."""
    with pytest.raises(DataError, match="no memory estimate"):
        ModelShape.from_config(BAD[reason])


@pytest.mark.parametrize(
    ("settings", "device"),
    [
        (MemorySettings(dtype="int4"), "cuda"),
        (MemorySettings(optimiser="sgd"), "cuda"),
        (MemorySettings(quantised="fp8"), "cuda"),
        (MemorySettings(), "tpu"),
        (MemorySettings(quantised="nf4"), "cpu"),
    ],
)
def test_settings_without_a_formula(settings: MemorySettings, device: str) -> None:
    """An unknown word is an error that lists the known ones."""
    with pytest.raises(ConfigError, match="Allowed"):
        estimate_memory(ModelShape.from_config(SMOLLM2), settings, device)
