"""The script for a CUDA machine: in its miniature anywhere, and whole where there is a GPU."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECK = Path(__file__).with_name("check.py")


def run(out: Path, *options: str) -> dict[str, dict[str, object]]:
    done = subprocess.run(
        [sys.executable, str(CHECK), str(out), *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=480,
    )
    assert out.exists(), done.stderr[-2000:]
    checks: dict[str, dict[str, object]] = json.loads(out.read_text())["checks"]
    failed = {name: check["error"] for name, check in checks.items() if not check["ok"]}
    assert failed == {}
    return checks


@pytest.mark.slow
@pytest.mark.torch
def test_the_script_itself_runs_in_miniature(tmp_path: Path) -> None:
    checks = run(tmp_path / "small.json", "--small", "--device", "cpu", "--without-unsloth")
    assert set(checks) == {"sft trl", "merge", "memory", "grpo trl"}


@pytest.mark.gpu
def test_on_a_gpu_everything_holds(tmp_path: Path) -> None:
    checks = run(tmp_path / "gpu.json")
    assert {"four bits", "unsloth"} <= set(checks)
