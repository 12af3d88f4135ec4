"""What a run costs beside the model: `python experiments/speed/overhead.py`. Writes overhead.json.

2,000 questions through prompts, log, scoring, summary, table and page, with a model that says the same to
all; then 20,000 askings (each question ten times). Every figure is of a process of its own; the target is
2,000 rows a second, and a peak memory at 20,000 of at most 1.1 times that at 2,000.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.models.device import detect
from benchgen.run.runner import Sampling
from benchgen.workspace import Workspace

ROUNDS = 3
QUESTIONS = 2_000


def prepare(path: Path) -> None:
    """A workspace whose benchmark 1 has 2,000 published questions of short text."""
    ws = Workspace(path)
    spec = config.load_benchmark("arithmetic")
    spec = dataclasses.replace(spec, count=QUESTIONS, mix={}, categories={}, name="overhead")
    ws.create(ws.author(spec)).publish()


def one(path: Path, repeats: int) -> dict[str, Any]:
    """Seconds of asking alone and of the whole run, and the process's peak memory in MB."""
    ws = Workspace(path)
    began = time.perf_counter()
    asked: list[float] = []

    def progress(done: int, total: int) -> None:
        if done in (0, total):
            asked.append(time.perf_counter())

    run = ws.run(
        ws.benchmark(1),
        "mock",
        repeats=repeats,
        sampling=Sampling(temperature=1.0),
        progress=progress,
    )
    assert run.summary["asked"] == QUESTIONS * repeats
    return {
        "rows": QUESTIONS * repeats,
        "asking_s": asked[-1] - asked[0],
        "run_s": time.perf_counter() - began,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def main() -> None:
    """Rounds of both sizes, one after the other, each in a new process."""
    found: dict[int, list[dict[str, Any]]] = {1: [], 10: []}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ws"
        prepare(path)
        for _ in range(ROUNDS):
            for repeats, rows in found.items():
                command = [sys.executable, __file__, str(path), str(repeats)]
                done = subprocess.run(command, capture_output=True, text=True, check=True)
                rows.append(json.loads(done.stdout.splitlines()[-1]))
    sizes = {
        str(rows[0]["rows"]): {
            key: round(statistics.median(row[key] for row in rows), 3)
            for key in ("asking_s", "run_s", "peak_mb")
        }
        for rows in found.values()
    }
    small, large = sizes[str(QUESTIONS)], sizes[str(QUESTIONS * 10)]
    result = {
        "machine": {
            "cpu": detect().name,
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
        },
        "rounds": ROUNDS,
        "sizes": sizes,
        "rows_a_second": {
            "asking": round(QUESTIONS / small["asking_s"]),
            "whole run": round(QUESTIONS / small["run_s"]),
        },
        "peak_ratio": round(large["peak_mb"] / small["peak_mb"], 3),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(json.dumps(one(Path(sys.argv[1]), int(sys.argv[2]))))
    else:
        main()
