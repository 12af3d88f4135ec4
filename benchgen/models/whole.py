"""Whether a folder holds a model that can be loaded, seen from its files alone: no torch."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from benchgen.errors import DataError, NotFound
from benchgen.models.fingerprint import WEIGHTS
from benchgen.types import DTYPES

INDEX = "*.index.json"
"""Names the files that the weights are split over."""
TOKENIZERS = ("tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt", "spiece.model")


def check_folder(folder: Path, name: str) -> None:
    """Nothing; NotFound or DataError, in one line, for a model without weights or with a foreign tokenizer."""
    config = _json(folder / "config.json", name)
    found = {file.name for pattern in WEIGHTS for file in folder.glob(pattern)}
    if not found:
        raise NotFound(
            f"the folder of {name} has a config.json and no weights",
            got=str(folder),
            allowed=WEIGHTS,
            next="download it whole, or name another model",
        )
    for index in folder.glob(INDEX):
        parts = set(_json(index, name).get("weight_map", {}).values())
        if parts - found:
            raise NotFound(
                f"the weights of {name} are not whole: {len(parts - found)} of {len(parts)} files are missing",
                got=sorted(parts - found)[0],
                next="download it whole, or name another model",
            )
    if not any((folder / file).is_file() for file in TOKENIZERS):
        raise NotFound(
            f"the folder of {name} has no tokenizer",
            got=str(folder),
            allowed=TOKENIZERS,
            next="put the tokenizer that it was trained with beside its weights",
        )
    _check_tokenizer(folder, config, name)


def weights_dtype(folder: Path, name: str) -> str:
    """The type its weights are saved in; DataError for quantised ones, which nothing can be merged into."""
    config = _json(folder / "config.json", name)
    inner = config.get("text_config") or {}
    if config.get("quantization_config"):
        raise DataError(
            f"the weights of {name} are quantised: an adapter merged into them would be rounded away",
            got=str(config["quantization_config"].get("quant_method", "quantised")),
            allowed=DTYPES,
            next="train and merge on the model before it was quantised",
        )
    told = (config.get(key) or inner.get(key) for key in ("dtype", "torch_dtype"))
    found = str(next(filter(None, told), "float32"))
    if found not in DTYPES:
        raise DataError(f"the weights of {name} are of an unknown type", got=found, allowed=DTYPES)
    return found


def weights_bytes(folder: Path) -> int:
    """Size of all files of weights."""
    return sum(file.stat().st_size for pattern in WEIGHTS for file in folder.glob(pattern))


def _check_tokenizer(folder: Path, config: dict[str, Any], name: str) -> None:
    file = folder / "tokenizer.json"
    size = config.get("vocab_size") or (config.get("text_config") or {}).get("vocab_size")
    if not file.is_file() or not isinstance(size, int):
        return
    from tokenizers import Tokenizer

    try:
        ids = Tokenizer.from_file(str(file)).get_vocab(with_added_tokens=True).values()
    except Exception as error:  # the library raises nothing narrower
        raise DataError(
            f"the tokenizer of {name} cannot be read: {error}", got=str(file)
        ) from error
    if ids and max(ids) >= size:
        raise DataError(
            f"the tokenizer of {name} is not its own: it writes tokens that the model does not know",
            got=f"token ids up to {max(ids)}",
            allowed=f"up to {size - 1} (vocab_size in config.json)",
            next="put the tokenizer that it was trained with beside its weights",
        )


def _json(file: Path, name: str) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise DataError(f"{file.name} of {name} cannot be read: {error}", got=str(file)) from error
    if not isinstance(found, dict):
        raise DataError(f"{file.name} of {name} is no JSON object", got=str(file))
    return found
