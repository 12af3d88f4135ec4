"""Model names as people type them: other case, no vendor, spaces for hyphens, only the telling parts."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

PREFIX = "models--"
"""Of a model's folder in the hub cache."""
WHOLE, MODEL, BEGINNING, PARTS = range(4)
"""How well a name fits, best first."""


@dataclass(frozen=True)
class Match:
    """What a typed name stands for. `others` fit as well and were not picked."""

    name: str
    others: tuple[str, ...] = ()


def match(typed: str, known: Iterable[str], worst: int = PARTS) -> Match | None:
    """The known name that fits best, None where none does; `known` is in order of preference.

    The same letters and digits fit best, then those without the vendor, then a name that begins with the
    typed one, then one that has all of its parts ("qwen 0.5b"). Only names that fit equally well are
    others; what fits worse than `worst` does not fit.
    """
    parts = _parts(typed)
    if not parts:
        return None
    ranked: dict[int, list[str]] = {}
    for name in dict.fromkeys(known):
        rank = _rank(parts, name)
        if rank is not None and rank <= worst:
            ranked.setdefault(rank, []).append(name)
    if not ranked:
        return None
    first, *others = ranked[min(ranked)]
    return Match(first, tuple(others))


def _rank(typed: list[str], name: str) -> int | None:
    whole, asked = _parts(name), "".join(typed)
    model = _parts(name.rpartition("/")[2])
    if asked == "".join(whole):
        return WHOLE
    if asked == "".join(model):
        return MODEL
    if "".join(model).startswith(asked) and len(asked) >= 4:
        return BEGINNING
    if all(part in whole for part in typed):
        return PARTS
    return None


def _parts(name: str) -> list[str]:
    """Words and numbers in small letters: "SmolLM2-135M" gives smollm2 and 135m, "0.5B" stays 0.5b."""
    return re.findall(r"\d+\.\d+[a-z]*|[^\W_]+", name.casefold())


def downloaded() -> list[str]:
    """Hugging Face ids of the models in this machine's hub cache."""
    try:
        found = [path.name for path in _cache().iterdir() if (path / "snapshots").is_dir()]
    except OSError:
        return []
    return sorted(n.removeprefix(PREFIX).replace("--", "/") for n in found if n.startswith(PREFIX))


def snapshot(id: str, revision: str | None = None) -> Path | None:
    """The folder of a model in the hub cache, at a branch, tag or commit; None unless weights are there."""
    folder = _cache() / (PREFIX + id.replace("/", "--"))
    name = revision or "main"
    with suppress(OSError):
        name = (folder / "refs" / name).read_text().strip()
    found = folder / "snapshots" / name
    whole = (found / "config.json").is_file() and any(
        any(found.glob(pattern)) for pattern in ("*.safetensors", "*.bin")
    )
    return found if whole else None


def _cache() -> Path:
    home = os.environ.get("HF_HOME") or Path("~/.cache/huggingface").expanduser()
    return Path(os.environ.get("HF_HUB_CACHE") or Path(home) / "hub")
