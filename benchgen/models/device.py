"""What this machine can compute with, found without loading torch."""

from __future__ import annotations

import importlib.util
import os
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psutil

from benchgen.types import Record

GIB = 2**30
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


@dataclass(frozen=True)
class Memory:
    """What a device's memory holds at this moment."""

    free: int
    """Bytes."""
    total: int
    holders: tuple[str, ...]
    """`python (pid 12) 3.1 GiB` of each process that holds most of it, three at most."""


def memory(kind: str) -> Memory:
    """Of the first GPU, as nvidia-smi tells, or of the machine for a CPU; a GPU it tells nothing of has none."""
    return _gpu_memory() if kind == "cuda" else _machine_memory()


def _machine_memory() -> Memory:
    found = psutil.virtual_memory()
    held = []
    for process in psutil.process_iter(["pid", "name", "memory_info"]):
        info = process.info["memory_info"]
        if info is not None and info.rss > GIB and process.info["pid"] != os.getpid():
            held.append((info.rss, process.info["name"] or "?", process.info["pid"]))
    return Memory(found.available, found.total, _holders(held))


def _gpu_memory() -> Memory:
    sizes = _smi("--query-gpu=memory.free,memory.total")
    if not sizes:
        return Memory(0, 0, ())
    free, total = (int(part) * 2**20 for part in sizes[0])
    apps = _smi("--query-compute-apps=used_memory,process_name,pid")
    held = [
        (int(size) * 2**20, Path(name).name, int(pid)) for size, name, pid in apps if size.isdigit()
    ]
    return Memory(free, total, _holders(held))


def _smi(query: str) -> list[list[str]]:
    """The rows of a query to nvidia-smi; [] where it cannot be asked."""
    command = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
    try:
        told = subprocess.run(
            command, capture_output=True, text=True, timeout=10, check=True
        ).stdout
    except (OSError, subprocess.SubprocessError):
        return []
    return [
        [part.strip() for part in line.split(",")] for line in told.splitlines() if line.strip()
    ]


def _holders(held: list[tuple[int, str, int]]) -> tuple[str, ...]:
    most = sorted(held, reverse=True)[:3]
    return tuple(f"{name} (pid {pid}) {size / GIB:.1f} GiB" for size, name, pid in most)


def _torch_has_cuda() -> bool:
    """Whether the torch installed here was built for CUDA; it is looked at, not loaded."""
    found = importlib.util.find_spec("torch")
    folders = (found.submodule_search_locations if found else None) or []
    return any((Path(folder) / "lib" / "libtorch_cuda.so").exists() for folder in folders)


def _nvidia() -> Device | None:
    """The first GPU that nvidia-smi lists; bf16 from compute capability 8.0 on."""
    try:
        name, capability, mib = _smi("--query-gpu=name,compute_cap,memory.total")[0]
        dtype = "bfloat16" if float(capability) >= 8.0 else "float16"
        return Device("cuda", name, dtype, 1, int(mib) * 2**20)
    except (ValueError, IndexError):
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
