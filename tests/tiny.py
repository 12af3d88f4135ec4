"""A model that is quick to make, load, train and ask: real files, random weights, few words."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from benchgen.models.embedded import embedded_model

WORDS = 4096
"""Of the embedded model's 49,152: a step takes a tenth of the time, and a tokenizer loads in one."""


def tiny_tokenizer(folder: Path) -> None:
    """Writes the embedded model's tokenizer, its first `WORDS` words: the same template, the same ids."""
    source = embedded_model()
    told = json.loads((source / "tokenizer.json").read_text())
    model = told["model"]
    vocab = {word: n for word, n in model["vocab"].items() if n < WORDS}
    merges = [pair for pair in model["merges"] if {*pair, "".join(pair)} <= vocab.keys()]
    told["model"] = {**model, "vocab": vocab, "merges": merges}
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tokenizer.json").write_text(json.dumps(told))
    shutil.copy(source / "tokenizer_config.json", folder)


def tiny_llama(folder: Path, **settings: Any) -> Path:
    """`folder`, with a llama of two layers in it, 64 wide; `settings` are those of its config."""
    ends = {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2}
    save_llama(folder, vocab_size=WORDS, hidden_size=64, intermediate_size=128, **ends, **settings)
    tiny_tokenizer(folder)
    return folder


def save_llama(folder: Path, **settings: Any) -> None:
    """Writes the random weights of a llama of two layers, without a tokenizer; always the same ones."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    shape = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2}
    LlamaForCausalLM(LlamaConfig(**shape, **settings)).save_pretrained(str(folder))
