"""The work beside the model, beside the rivals: 2,000 questions, each answered alike. Writes overhead.json.

    experiments/speed/side_by_side/setup.sh               # once: the rivals' environment
    .venv/bin/python experiments/speed/side_by_side/overhead.py

One benchmark, exported for each tool, scored by the same frozen program everywhere. A figure is the median
of ROUNDS processes, from their start to their end, and without imports (`evaluate_s`), one tool after the other.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchgen.models.device import detect
from benchgen.workspace import Workspace

sys.path.insert(0, str(Path(__file__).parents[1]))
import overhead as ours  # the script of that name one folder up

HERE = Path(__file__).parent
ROUNDS = 3


def once(command: list[str]) -> dict[str, Any]:
    """What the process told, with its wall clock from start to end."""
    began = time.perf_counter()
    environment = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return {**told, "process_s": time.perf_counter() - began}


def main() -> None:
    """Rounds of all tools in turn."""
    found: dict[str, list[dict[str, Any]]] = {"benchgen": [], "lm_eval": [], "inspect": []}
    rival = str(HERE / ".venv/bin/python")
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        ours.prepare(place / "ws")
        ws = Workspace(place / "ws")
        for form in ("lm_eval", "inspect"):
            ws.export(1, place / form, form)
        for _ in range(ROUNDS):
            told = once([sys.executable, str(HERE.parent / "overhead.py"), str(place / "ws"), "1"])
            found["benchgen"].append({**told, "evaluate_s": told["run_s"]})
            for form in ("lm_eval", "inspect"):
                script = str(HERE / "overhead_rival.py")
                found[form].append(once([rival, script, form, str(place / form)]))
    keys = ("evaluate_s", "process_s", "peak_mb")
    medians = {
        tool: {key: round(statistics.median(row[key] for row in rows), 2) for key in keys}
        for tool, rows in found.items()
    }
    assert {rows[0]["rows"] for rows in found.values()} == {ours.QUESTIONS}
    result = {
        "machine": {
            "cpu": detect().name,
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
        },
        "rounds": ROUNDS,
        "rows": ours.QUESTIONS,
        "medians": medians,
    }
    (HERE / "overhead.json").write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(result, indent=1))


if __name__ == "__main__":
    main()
