"""What a process costs before it does its work: `python experiments/speed/starting.py`.

CPU seconds, medians of five, one process after the other: the imports of a training, as they come and as a
worker does them; a worker that trains one step; a run of two questions, by the embedded model and by the
worked answers. Prints and writes starting.json beside this file.
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
from collections.abc import Callable
from pathlib import Path

from benchgen.models.device import detect
from benchgen.workspace import Workspace

TIMES = 5
TRAINER = "trl.trainer.sft_trainer"
OURS = f"""
from benchgen import models
models.quiet_libraries(); models.without_gpu_libraries(); models.leave_out("wandb")
models.import_once({TRAINER!r})
"""
Command = Callable[[], list[str]]


def cpu_seconds(command: list[str]) -> float:
    """User and system time of one process and of those it waited for."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main() -> None:
    """Measure, print and write."""
    with tempfile.TemporaryDirectory() as folder:
        ws = Workspace(Path(folder) / "ws")
        ws.place = dataclasses.replace(ws.place, started_by=lambda *_: None)  # started here, below
        bench = ws.create(ws.author("solar_system_basics")).publish()
        run = ws.run(bench, "reference", limit=8)

        def worker() -> list[str]:
            plan = ws.plan("from_run", run=run, mode="distill", base_model="smollm2_135m",
                           max_steps=1, batch_size=2)  # fmt: skip
            job = ws.confirm(plan, "yes")
            return [sys.executable, "-m", "benchgen.worker", str(ws.path), str(job.id)]

        def asked(model: str) -> Command:
            told = [f"benchmark_id={bench.id}", f"model={model}", "limit=2", f"workspace={ws.path}"]
            return lambda: [str(Path(sys.executable).with_name("benchgen")), "run", *told]

        measured: dict[str, Command] = {
            "imports_as_they_come": lambda: [sys.executable, "-c", f"import {TRAINER}"],
            "imports_of_a_worker": lambda: [sys.executable, "-c", OURS],
            "worker_of_one_step": worker,
            "run_of_the_embedded_model": asked("smollm2_135m"),
            "run_of_worked_answers": asked("reference"),
        }
        took: dict[str, list[float]] = {name: [] for name in measured}
        for _ in range(TIMES):
            for name, command in measured.items():
                took[name].append(cpu_seconds(command()))
    told = {name: round(statistics.median(seconds), 2) for name, seconds in took.items()}
    about = {"cpu": detect().name, "cores": os.cpu_count(), "python": platform.python_version()}
    Path(__file__).with_suffix(".json").write_text(json.dumps({**told, **about}, indent=1) + "\n")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
