"""How long the embedded brain takes from a message to what it is about: `python experiments/speed/rules.py`.

Each message of tests/cases/chat_own.jsonl, in a workspace that has the cases' account (no pending plan or
preview: what waits is in the tests), after one message that loads the words; then texts of 100 kB that
repeat one pattern. Prints and writes rules.json beside this file. Target: 50 ms a message.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import tempfile
import time
from pathlib import Path

from benchgen.agent.rules.brain import understand
from benchgen.agent.situation import Situation
from benchgen.models.device import detect
from benchgen.testing import agent_in, workspace_from

CASES = Path(__file__).parents[2] / "tests" / "cases"
HOSTILE = (
    *("a ", "1,", "((", '"', "create ", "a/b ", "C:\\a ", ".csv ", "run 1080, ", "qwen-"),
    *("fünf", "und", "二", "の", "question,A,B,answer\n", "\n", "e\u0301", "then run ", "“"),
)


def seconds(text: str, situation: Situation) -> float:
    """CPU seconds of one reading."""
    started = time.process_time()
    understand(text, situation)
    return time.process_time() - started


def main() -> None:
    """Measure, print and write."""
    lines = (CASES / "chat_own.jsonl").read_text(encoding="utf-8").splitlines()
    texts = [json.loads(line)["text"] for line in lines if line.strip()]
    with tempfile.TemporaryDirectory() as folder:
        account = workspace_from(CASES / "chat_account.json", Path(folder) / "ws")
        situation = agent_in(account).situation
        seconds(texts[0], situation)
        took = [1000 * seconds(text, situation) for text in texts]
        worst = max(seconds((unit * 100_000)[:100_000], situation) for unit in HOSTILE)
    told = {
        "messages": len(texts),
        "ms_median": round(statistics.median(took), 2),
        "ms_99_percent": round(statistics.quantiles(took, n=100)[98], 2),
        "ms_longest": round(max(took), 2),
        "s_for_100_kB_hostile": round(worst, 2),
        "cpu": detect().name,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    print(json.dumps(told))


if __name__ == "__main__":
    main()
