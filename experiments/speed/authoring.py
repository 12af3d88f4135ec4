"""How fast benchmarks are written and files imported: `python experiments/speed/authoring.py`.

Prints a table and writes authoring.json beside this file. Each figure is the median of three times, in
process, after imports: questions written, proved by their own worked answer, told apart and their letters
evened; a person's table includes its reading into a pack; `stored` adds the benchmark in a workspace, with
its frozen program and its page. Targets: 2,000 table questions stored in under 5 s, a file of 2,000 rows
imported in under 1 s.
"""

from __future__ import annotations

import dataclasses
import json
import os
import platform
import random
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import polars as pl

from benchgen import config
from benchgen.author.frame import pack_from_frame
from benchgen.author.packs import Pack, packs
from benchgen.author.table import TableSpec, write_table
from benchgen.author.write import write
from benchgen.errors import DataError
from benchgen.models.device import detect
from benchgen.scoring import VERSION
from benchgen.types import Evaluation
from benchgen.workspace import Workspace

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


def stored() -> tuple[int, float]:
    """QUESTIONS of a shipped pack as a benchmark of a workspace."""
    with tempfile.TemporaryDirectory() as folder:
        ws = Workspace(Path(folder) / "ws")
        spec = config.load_author("table", pack="elements")
        spec = dataclasses.replace(spec, kind="mcq", count=QUESTIONS, name="speed")
        return seconds(lambda: len(ws.create(ws.author(spec)).questions))


def imported(ending: str) -> tuple[int, float]:
    """A file of QUESTIONS rows, multiple choice as CSV and short answers as JSONL."""
    with tempfile.TemporaryDirectory() as folder:
        path, ws = Path(folder) / f"rows.{ending}", Workspace(Path(folder) / "ws")
        rng = random.Random(0)
        rows = []
        for n in range(QUESTIONS):
            words = [f"{rng.randrange(10**6)} {rng.choice('abcdefgh')}" for _ in range(4)]
            prompt = f"Which number follows {rng.randrange(10**9)} in the list of {n}?"
            if ending == "csv":
                options = dict(zip("ABCD", words, strict=True))
                rows.append({"question": prompt, **options, "answer": rng.choice("ABCD")})
            else:
                rows.append({"question": prompt, "answer": words[0]})
        frame = pl.DataFrame(rows)
        frame.write_csv(path) if ending == "csv" else frame.write_ndjson(path)
        return seconds(lambda: len(ws.author(path).questions))


def main() -> None:
    """Measure, print and write."""
    found = {f"{name} {kind}": shipped(name, kind) for name in packs() for kind in KINDS}
    found |= {f"{rows} rows {kind}": own(rows, kind) for rows in ROWS for kind in KINDS}
    found["elements mcq, stored"] = stored()
    found |= {f"file of {QUESTIONS} rows, {form}": imported(form) for form in ("csv", "jsonl")}
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
