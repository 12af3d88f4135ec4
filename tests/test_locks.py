"""The locks: complete, in range, agreeing with each other, and free of any one machine."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
REQUIREMENTS = ROOT / "requirements"
LOCKS = ("cpu.lock", "gpu.lock")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
GPU_ONLY = {"diffusers", "torchvision", "triton", "xformers"}


def pins(lock: str) -> dict[str, str]:
    """{normalised name: version} of a lock."""
    lines = [
        line for line in (REQUIREMENTS / lock).read_text().splitlines() if not line.startswith("#")
    ]
    return dict(line.split("==") for line in lines)


@pytest.mark.parametrize("lock", [*LOCKS, "ray.lock"])
def test_every_line_is_a_comment_or_a_pin(lock: str) -> None:
    """No address, path, option or range: the same file installs the same versions from any index."""
    for line in (REQUIREMENTS / lock).read_text().splitlines():
        assert re.fullmatch(r"#.*|[a-z0-9-]+==[0-9][0-9a-z.]*", line), line
        assert not re.search(r"://|file:|/home/|/root/|/opt/", line), line


def test_rays_lock_lists_what_the_other_one_has_not_got() -> None:
    """On top of cpu.lock: a package stands in both only where the launcher needs another version."""
    ray, cpu = pins("ray.lock"), pins("cpu.lock")
    assert list(ray) == sorted(ray)
    both = {name for name in ray.keys() & cpu.keys() if ray[name] == cpu[name]}
    assert not both
    assert ray.keys() & cpu.keys() == {"cloudpickle", "python-dateutil"}
    assert {"ray", "hydra-ray-launcher"} <= ray.keys()


@pytest.mark.parametrize("lock", LOCKS)
def test_names_are_normalised_sorted_and_unique(lock: str) -> None:
    """So that a change shows as the lines that changed."""
    names = [
        line.split("==")[0]
        for line in (REQUIREMENTS / lock).read_text().splitlines()
        if line[0] != "#"
    ]
    assert names == sorted(set(names))
    assert names == [canonicalize_name(name) for name in names]


@pytest.mark.parametrize("lock", LOCKS)
def test_every_declared_dependency_is_pinned_in_its_range(lock: str) -> None:
    """Core and extras of `pyproject.toml`."""
    listed = pins(lock)
    extras = [r for group in PROJECT["optional-dependencies"].values() for r in group]
    for need in map(Requirement, [*PROJECT["dependencies"], *extras]):
        version = listed.get(canonicalize_name(need.name))
        assert version is not None, f"{need.name} is not in {lock}"
        assert version in need.specifier, f"{need.name} {version} is outside {need.specifier}"


def test_the_two_agree() -> None:
    """The GPU set is the CPU set and what only a GPU uses."""
    cpu, gpu = pins("cpu.lock"), pins("gpu.lock")
    assert {name: gpu.get(name) for name in cpu} == cpu
    assert GPU_ONLY <= gpu.keys() - cpu.keys()
    assert any(name.startswith("nvidia-") for name in gpu)
    assert not any(name.startswith("nvidia-") for name in cpu)


@pytest.mark.parametrize("lock", LOCKS)
def test_the_set_that_hangs_together(lock: str) -> None:
    """unsloth's upper bounds, and the trl release that cannot train on a CPU, hold in both."""
    listed = pins(lock)
    assert listed["torch"] == "2.13.0"
    assert listed["trl"] == "1.14.2"
    assert Version(listed["transformers"]) <= Version("5.17.0")
    assert Version(listed["datasets"]) < Version("5")
    assert Version(listed["unsloth"]) >= Version("2026.10.9")


def test_the_cpu_lock_is_exactly_what_is_needed() -> None:
    """Nothing missing, nothing idle, and what is installed here is what the lock says."""
    result = subprocess.run(
        [sys.executable, str(REQUIREMENTS / "closure.py")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
