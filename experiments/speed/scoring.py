"""How fast replies are scored on one core: `python experiments/speed/scoring.py`.

Prints a table and writes scoring.json beside this file. Each figure is the median of five passes over
the same replies; the replies of a kind are of different forms, lengths and verdicts, none repeated.
Targets: 20,000 multiple choice and 2,000 numeric replies of up to 200 characters a second, and 1 ms
for a reply of 4 kB.
"""

from __future__ import annotations

import json
import os
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgen.models.device import detect
from benchgen.scoring import VERSION, score

PASSES = 5
REPLIES = 5000
CHOICES = ["Mercury", "Venus", "Mars", "Jupiter"]
CALL = '{"name": "get_weather", "arguments": {"city": "Paris", "days": %d}}'
LONG = (
    "The planets move around the Sun on nearly round paths, and each of them takes its own time. "
    "A reader may ask whether the inner ones are faster than the outer ones; they are. "
)
FORMS: dict[str, list[str]] = {
    "mcq": [
        *("Answer: {letter}", "{letter}", "**Answer: ({letter})**", "The answer is {letter}."),
        "It is the fourth planet and its soil holds iron.\nAnswer: {letter}",
        "Let me think about number {n}. Venus is hotter, so it cannot be B; {letter} is correct.",
        "I would say {text}, since it is the one that is red, and no other is (try {n}).",
        "<think>Could it be B? No.</think>\nAnswer: {text}",
        "I am not sure about this one, and number {n} does not help.",
    ],
    "numeric": [
        *("Answer: {n}", "{n}", "**Answer: \\${n}.00**", "The answer is {n},000 km."),
        "There are 3 groups of {n}, so 3 x {n} = {three}.\nAnswer: {three}",
        "Half of it: $\\frac{{{n}}}{{2}}$",
        "First {n}, then twice that. The total is {n}.5 %.",
        "I am not sure about this one, because it was never said how many there are.",
    ],
    "qa": [
        *("Answer: word{n}", "word{n}", "The answer is **Word{n}**.", "It is called word{n}."),
        "I am not sure about this one, and number {n} does not help at all in finding it.",
    ],
    "tool": [
        "<tool_call>{call}</tool_call>",
        "{call}",
        "```json\n{call}\n```",
        "I need no function for number {n}.",
    ],
    "keypoints": [
        "In autumn the chlorophyll breaks down in leaf {n}, so yellow pigments become visible.",
        "- Chlorophyll does not break down in leaf {n}.\n- Yellow pigments become visible.",
    ],
}
TARGETS: dict[str, dict[str, Any]] = {
    "mcq": {"target": "C", "choices": CHOICES},
    "numeric": {"target": 42},
    "qa": {"target": ["word42"]},
    "tool": {"target": [json.loads(CALL % 3)]},
    "keypoints": {"target": ["chlorophyll breaks down", "yellow pigments become visible"]},
}


def replies(kind: str) -> list[str]:
    """Replies of at most 200 characters, every form in turn."""
    made = []
    for n in range(REPLIES):
        letter = "ABCD"[n % 4]
        parts = {"n": n, "three": 3 * n, "letter": letter, "text": CHOICES[n % 4]}
        made.append(FORMS[kind][n % len(FORMS[kind])].format(call=CALL % n, **parts)[:200])
    return made


def seconds(work: Callable[[], None]) -> float:
    """Median CPU seconds of the passes, after one that is not counted."""
    work()
    taken = []
    for _ in range(PASSES):
        started = time.process_time()
        work()
        taken.append(time.process_time() - started)
    return statistics.median(taken)


def rate(kind: str) -> float:
    """Replies scored a second."""
    made, known = replies(kind), TARGETS[kind]

    def work() -> None:
        for reply in made:
            score(kind, reply=reply, **known)

    return len(made) / seconds(work)


def long_reply(kind: str) -> float:
    """Milliseconds for a reply of 4 kB that ends in its answer."""
    ending = "\n" + replies(kind)[3]
    reply = (LONG * 40)[: 4096 - len(ending)] + ending

    def work() -> None:
        for _ in range(100):
            score(kind, reply=reply, **TARGETS[kind])

    return 10 * seconds(work)


def hostile(kind: str) -> float:
    """Seconds for the worst of some replies of 10 MB that repeat one pattern."""
    units = ("answer ", "<tool_call>{", "1,", "(", "9", "\\frac{", "not ", "<think>", " \n", "[")
    worst = 0.0
    for unit in units:
        started = time.process_time()
        score(kind, reply=(unit * 10_000_000)[:10_000_000], **TARGETS[kind])
        worst = max(worst, time.process_time() - started)
    return worst


def main() -> None:
    """Measure, print and write."""
    found = {
        kind: {
            "replies_per_s": round(rate(kind)),
            "ms_for_4_kB": round(long_reply(kind), 3),
            "s_for_10_MB_hostile": round(hostile(kind), 2),
        }
        for kind in FORMS
    }
    told = {
        "program": VERSION,
        "cpu": detect().name,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "replies": REPLIES,
        "passes": PASSES,
        "kinds": found,
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"{'kind':<10} {'replies/s':>10} {'4 kB, ms':>9} {'10 MB hostile, s':>17}")
    for kind, row in found.items():
        print("{:<10} {:>10,} {:>9} {:>17}".format(kind, *row.values()))


if __name__ == "__main__":
    main()
