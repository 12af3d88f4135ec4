"""How fast the author `table` writes: `python experiments/speed/authoring.py`.

Prints a table and writes authoring.json beside this file. Each figure is the median of three times, in
process, after imports: questions written, proved by their own worked answer, told apart and their letters
evened; a person's table includes its reading into a pack. Target: 2,000 questions in under 5 s.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from benchgen.author.frame import pack_from_frame
from benchgen.author.packs import Pack, packs
from benchgen.author.table import TableSpec, write_table
from benchgen.author.write import write
from benchgen.errors import DataError
from benchgen.models.device import detect
from benchgen.scoring import VERSION
from benchgen.types import Evaluation

PASSES = 3
QUESTIONS = 2000
ROWS = (2_000, 20_000)
KINDS = ("mcq", "qa", "numeric")
EVALUATION = Evaluation(options="names")


def wares(rows: int) -> pl.DataFrame:
    """A table as a shop might have it: texts, categories, prices, years, yes and no, some cells empty."""
    rng = random.Random(rows)
    return pl.DataFrame(
        {
            "item": [f"item {n} of series {rng.randrange(10**6)}" for n in range(rows)],
            "colour": [rng.choice(["red", "green", "blue", "black", None]) for _ in range(rows)],
            "maker": [f"maker {rng.randrange(400)}" for _ in range(rows)],
            "price": [round(rng.random() * 1000, 2) for _ in range(rows)],
            "year": [rng.randrange(1900, 2020) for _ in range(rows)],
            "sold": [rng.random() < 0.3 for _ in range(rows)],
        }
    )


def number(spec: TableSpec) -> int:
    """Draft the spec; how many questions it has."""
    return len(write(partial(write_table, spec), EVALUATION, name="speed").questions)


def most(spec: TableSpec) -> TableSpec:
    """The spec, or with as many questions as there are."""
    try:
        number(spec)
    except DataError as error:
        allowed = int(str(error.allowed).split(" to ")[1])
        return TableSpec(spec.pack, spec.kind, allowed, templates=spec.templates)
    return spec


def seconds(work: Callable[[], int]) -> tuple[int, float]:
    """(questions, median seconds of the passes)."""
    taken, made = [], 0
    for _ in range(PASSES):
        started = time.perf_counter()
        made = work()
        taken.append(time.perf_counter() - started)
    return made, round(statistics.median(taken), 3)


def shipped(name: str, kind: str) -> tuple[int, float]:
    """Every question of the pack up to QUESTIONS, its files read again each time."""
    spec = most(TableSpec(name, kind, QUESTIONS))
    return seconds(lambda: number(spec))


def own(rows: int, kind: str) -> tuple[int, float]:
    """QUESTIONS on a frame of that many rows."""
    frame = wares(rows)

    def pack() -> Pack:
        return pack_from_frame(frame, "wares", entity="item")

    return seconds(lambda: number(TableSpec(pack(), kind, QUESTIONS)))


def main() -> None:
    """Measure, print and write."""
    found = {f"{name} {kind}": shipped(name, kind) for name in packs() for kind in KINDS}
    found |= {f"{rows} rows {kind}": own(rows, kind) for rows in ROWS for kind in KINDS}
    told = {
        "program": VERSION,
        "cpu": detect().name,
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "passes": PASSES,
        "sets": {name: {"questions": n, "seconds": s} for name, (n, s) in found.items()},
    }
    Path(__file__).with_suffix(".json").write_text(json.dumps(told, indent=1) + "\n")
    print(f"{'table':<24} {'questions':>9} {'seconds':>8}")
    for name, (made, taken) in found.items():
        print(f"{name:<24} {made:>9,} {taken:>8}")


if __name__ == "__main__":
    main()
