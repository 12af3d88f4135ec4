"""What this machine can compute with, found without loading torch."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from benchgen.types import Record

BF16_FLAGS = ("amx_bf16", "avx512_bf16")
"""CPU flags of bf16 matrix units; without them bf16 is emulated and far slower than fp32."""


@dataclass(frozen=True)
class Device(Record):
    """Where a local model runs. `dtype` is the fastest type that is safe there."""

    kind: str
    """cpu | cuda"""
    name: str
    dtype: str
    """float32 | bfloat16 | float16"""
    threads: int
    memory_bytes: int


@cache
def detect() -> Device:
    """The device that `auto` means on this machine: the first CUDA GPU that torch can use, else the CPU."""
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")
    gpu = _nvidia() if not hidden and _torch_has_cuda() else None
    return gpu or processor()


@cache
def processor() -> Device:
    """The CPU, with as many threads as this process may use, or fewer where OMP_NUM_THREADS says so."""
    name, flags = _cpu()
    cores, told = len(os.sched_getaffinity(0)), os.environ.get("OMP_NUM_THREADS", "")
    return Device(
        kind="cpu",
        name=name,
        dtype="bfloat16" if any(f in flags for f in BF16_FLAGS) else "float32",
        threads=max(1, min(cores, int(told))) if told.isdigit() else cores,
        memory_bytes=psutil.virtual_memory().total,
    )


def _torch_has_cuda() -> bool:
    """Whether the torch installed here was built for CUDA; it is looked at, not loaded."""
    found = importlib.util.find_spec("torch")
    folders = (found.submodule_search_locations if found else None) or []
    return any((Path(folder) / "lib" / "libtorch_cuda.so").exists() for folder in folders)


def _nvidia() -> Device | None:
    """The first GPU that nvidia-smi lists; bf16 from compute capability 8.0 on."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return None
    query = "--query-gpu=name,compute_cap,memory.total"
    try:
        out = subprocess.run(
            [tool, query, "--format=csv,noheader,nounits"],
            capture_output=True,
            text=True,
            timeout=10,
            check=True,
        ).stdout
        name, capability, mib = (part.strip() for part in out.splitlines()[0].split(","))
        dtype = "bfloat16" if float(capability) >= 8.0 else "float16"
        return Device("cuda", name, dtype, 1, int(mib) * 2**20)
    except (OSError, subprocess.SubprocessError, ValueError, IndexError):
        return None


def _cpu() -> tuple[str, set[str]]:
    name, flags = "cpu", set[str]()
    info = Path("/proc/cpuinfo")
    for line in info.read_text().splitlines() if info.exists() else []:
        if line.startswith("model name"):
            name = line.split(":", 1)[1].strip()
        elif line.startswith("flags"):
            flags = set(line.split(":", 1)[1].split())
    return name, flags
