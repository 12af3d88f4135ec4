"""The newest scoring program: `score(kind, reply=…, target=…, …) -> Score`, and GRPO's `reward`.

A benchmark is scored by the copy frozen into it (`benchmark/registry.py`); this is the one that a
benchmark made now would get.
"""

from __future__ import annotations

from benchgen.benchmark.program.score import KINDS, VERSION, Score, reward, score

__all__ = ["KINDS", "VERSION", "Score", "reward", "score"]
