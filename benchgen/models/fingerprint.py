"""What tells two models apart, computed from their files alone: no torch, a few milliseconds."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

SAMPLES = 64
"""Places at which a weights file is read; with its header and size that tells trained weights apart."""
SAMPLE_BYTES = 4096

READ_WHOLE = (
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer.model",
    "tokenizer_config.json",
    "vocab.json",
    "merges.txt",
    "special_tokens_map.json",
    "chat_template.jinja",
    "adapter_config.json",
)
WEIGHTS = ("*.safetensors", "*.bin")


def weights_fingerprint(
    folder: Path, adapter: Path | None = None, dtype: str = "", thinking: bool = False
) -> str:
    """16 hex digits over configuration, tokenizer, template, weights, adapter, dtype and thinking.

    Small files count whole. Of a weights file count its size, the first kilobytes (a safetensors header
    names every tensor) and 64 evenly spaced samples: an edit between the samples goes unseen, two trained
    models do not.
    """
    digest = hashlib.sha256()
    for part in [folder] if adapter is None else [folder, adapter]:
        for name, data in _parts(part):
            digest.update(f"{name}:{len(data)}:".encode() + data)
        digest.update(b"/")
    digest.update(dtype.encode() + (b"thinking" if thinking else b""))
    return digest.hexdigest()[:16]


def template_sha256(folder: Path) -> str | None:
    """Hex sha256 of the chat template in a model's folder, as its tokenizer reads it; None without one."""
    file, told = folder / "chat_template.jinja", folder / "tokenizer_config.json"
    try:
        if file.is_file():
            template = file.read_text(encoding="utf-8")
        else:
            template = json.loads(told.read_text(encoding="utf-8")).get("chat_template")
    except (OSError, ValueError, AttributeError):
        return None
    if not isinstance(template, str) or not template:
        return None
    return hashlib.sha256(template.encode()).hexdigest()


def _parts(folder: Path) -> Iterator[tuple[str, bytes]]:
    for name in READ_WHOLE:
        file = folder / name
        if file.is_file():
            yield name, _without_paths(file)
    for file in sorted(f for pattern in WEIGHTS for f in folder.glob(pattern)):
        yield f"weights:{file.name}", _sampled(file)


def _sampled(file: Path) -> bytes:
    size = file.stat().st_size
    places = sorted({size * i // SAMPLES for i in range(SAMPLES)} | {max(0, size - SAMPLE_BYTES)})
    parts = [str(size).encode()]
    with file.open("rb") as stream:
        for place in places:
            stream.seek(place)
            parts.append(stream.read(SAMPLE_BYTES))
    return b"".join(parts)


def _without_paths(file: Path) -> bytes:
    """The file's bytes; of an adapter's configuration without the place its base was loaded from."""
    data = file.read_bytes()
    if file.name != "adapter_config.json":
        return data
    config = json.loads(data)
    config.pop("base_model_name_or_path", None)
    return json.dumps(config, sort_keys=True).encode()
