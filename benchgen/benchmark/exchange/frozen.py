"""Scores replies with the frozen scoring program that lies beside this file, in the folder `program`.

A copy of this file stands in every exported task, so it needs nothing but the standard library.
"""

from __future__ import annotations

import hashlib
import importlib
import json
import sys
import types
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent


def about() -> dict[str, Any]:
    """What the folder says of itself: name, format, sha256 of the program."""
    told: dict[str, Any] = json.loads((HERE / "benchgen.json").read_bytes())
    return told


def rows(name: str) -> list[dict[str, Any]]:
    """The objects of a JSONL file beside this one."""
    lines = (HERE / name).read_bytes().split(b"\n")
    return [json.loads(line) for line in lines if line.strip()]


def score(
    question: Mapping[str, Any], reply: str | None, finish_reason: str = "stop"
) -> dict[str, Any]:
    """{correct, value, extracted, status, reason, strict}; `correct` None = not measured, never wrong."""
    program = _program()
    try:
        verdict = program(
            question["kind"],
            reply=reply,
            target=question["target"],
            choices=question["choices"] or None,
            finish_reason=finish_reason,
            **question["options"],
        )
    except Exception as error:  # noqa: BLE001 - a crash of the scorer says nothing about the model
        reason = f"scorer: {type(error).__name__}: {error}"
        return {
            **dict.fromkeys(("correct", "value", "extracted", "strict")),
            "status": "error",
            "reason": reason,
        }
    return dict(vars(verdict))


@cache
def _program() -> Any:
    """The program's score function; RuntimeError if its files are not those that were frozen."""
    folder = HERE / "program"
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.py"))
    hashes = [[name, hashlib.sha256((folder / name).read_bytes()).hexdigest()] for name in names]
    listed = json.dumps(hashes, ensure_ascii=False, separators=(",", ":"))
    sha = hashlib.sha256(listed.encode()).hexdigest()
    if sha != about()["program_sha256"]:
        raise RuntimeError(f"{folder} was changed since the benchmark was frozen: export it again")
    package = f"benchgen_program_{sha}"
    if package not in sys.modules:
        module = types.ModuleType(package)
        module.__path__ = [str(folder)]
        sys.modules[package] = module
    return importlib.import_module(f"{package}.score").score
