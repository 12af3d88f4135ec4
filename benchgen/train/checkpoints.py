"""What a training leaves on the disk, each file either whole or not there."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

WHOLE = "whole.json"
"""Written into a checkpoint last, with the size of each file: a folder without it was cut off."""


def last_checkpoint(folder: Path) -> Path | None:
    """The newest whole checkpoint; those cut off while being written are removed."""
    whole = {}
    for checkpoint in folder.glob("checkpoint-*") if folder.is_dir() else []:
        number = checkpoint.name.rpartition("-")[2]
        if number.isdigit() and is_whole(checkpoint):
            whole[int(number)] = checkpoint
        else:
            shutil.rmtree(checkpoint, ignore_errors=True)
    return whole[max(whole)] if whole else None


def step_of(checkpoint: Path | None) -> int:
    """The step that a checkpoint was written after; 0 for none."""
    return int(checkpoint.name.rpartition("-")[2]) if checkpoint else 0


def is_whole(checkpoint: Path) -> bool:
    """Whether every file of a checkpoint is there in the size it was written with."""
    try:
        sizes = json.loads((checkpoint / WHOLE).read_text())
        return bool(sizes) and all(
            (checkpoint / name).stat().st_size == size for name, size in sizes.items()
        )
    except (OSError, ValueError, AttributeError):
        return False


def mark_whole(checkpoint: Path) -> None:
    """None; the checkpoint counts from now on."""
    sizes = {f.name: f.stat().st_size for f in sorted(checkpoint.iterdir()) if f.is_file()}
    write_json(checkpoint / WHOLE, sizes)


def save_adapter(model: Any, out: Path, base_id: str) -> Path:
    """`out/adapter`, written beside it first and then renamed; it names `base_id` as its base."""
    work, adapter = out / ".adapter", out / "adapter"
    shutil.rmtree(work, ignore_errors=True)
    # Left on "auto", peft asks the hub whether the base's vocabulary was changed.
    # Only what was trained: beside it GRPO may hold a frozen copy that it measures a divergence from.
    model.save_pretrained(
        str(work),
        safe_serialization=True,
        save_embedding_layers=False,
        selected_adapters=["default"],
    )
    (work / "README.md").unlink(missing_ok=True)  # peft's card: a form with nothing filled in
    config = json.loads((work / "adapter_config.json").read_text())
    config["base_model_name_or_path"] = base_id
    write_json(work / "adapter_config.json", config)
    shutil.rmtree(adapter, ignore_errors=True)
    work.rename(adapter)
    return adapter


def write_json(file: Path, value: Any) -> None:
    """None; the file is the new JSON or as before, also after a power cut."""
    work = file.with_name(f".{file.name}.tmp")
    with work.open("w", encoding="utf-8") as stream:
        json.dump(value, stream, sort_keys=True, indent=2)
        stream.flush()
        os.fsync(stream.fileno())
    work.replace(file)
