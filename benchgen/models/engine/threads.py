"""How many threads a decoding step is fastest with on this machine: measured once, then remembered.

On machines that others share, two threads waiting for each other can be slower than one.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import torch
from torch.nn import functional

from benchgen.config import cache_folder
from benchgen.models.device import Device

ROUNDS = 5
MARGIN = 1.15
"""Fewer threads than there are must be this much faster, so that a busy moment decides nothing."""
ROWS, WIDTH, INNER = 64, 576, 1536
"""Shapes of the embedded model's feed-forward layers with a full batch."""


def probed(device: Device) -> int:
    """The fastest of 1, half and all of the device's threads for its dtype; read from the cache if known."""
    choices = sorted({1, max(1, device.threads // 2), device.threads})
    if len(choices) == 1:
        return choices[0]
    file = cache_folder() / "threads.json"
    name = f"{device.name} x{device.threads} {device.dtype} torch {torch.__version__}"
    known = _read(file)
    if (told := known.get(name)) in choices and type(told) is int:  # not true, not 2.0
        return told
    before = torch.get_num_threads()
    seconds = {n: _seconds(n, getattr(torch, device.dtype)) for n in choices}
    torch.set_num_threads(before)
    best = min(choices, key=lambda n: seconds[n] * (1 if n == device.threads else MARGIN))
    _write(file, {**_read(file), name: best})
    return best


@torch.inference_mode()
def _seconds(threads: int, dtype: torch.dtype) -> float:
    """Least wall clock of a few rounds of one decoding step's products."""
    torch.set_num_threads(threads)
    rows = torch.ones(ROWS, WIDTH, dtype=dtype)
    into, out = torch.ones(INNER, WIDTH, dtype=dtype), torch.ones(WIDTH, INNER, dtype=dtype)
    best = float("inf")
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(30):
            rows = functional.linear(functional.linear(rows, into), out) * 1e-6
        best = min(best, time.perf_counter() - began)
    return best


def _read(file: Path) -> dict[str, int]:
    try:
        found = json.loads(file.read_text())
        return found if isinstance(found, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def _write(file: Path, known: dict[str, int]) -> None:
    """Whole or not at all; what cannot be written is measured again next time."""
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        part = file.with_suffix(f".{time.time_ns()}.part")
        part.write_text(json.dumps(known, indent=1))
        part.replace(file)
    except OSError:
        return
