"""How long a page of a run's 1,000,000 replies takes: `python experiments/speed/paging.py [FOLDER]`.

Writes such a run's Parquet file into FOLDER (a temporary one unless told; 1 to 3 minutes), with the
writer that ends every run, then asks for pages of 25 rows at the beginning, in the middle and at the end,
without filters and with each of them, and writes paging.json beside this file.

"first" is the first page of a filter: the places of all rows that fit are found then. "next" are later
pages of the same filter, their median. "cold" is a process of its own that imports, opens the file and
shows one page. The operating system has the file in its cache, as it was just written.
Target: 0.3 s a page. A text that stands in few replies has to be looked for in all of them; with
patience_s=0.2 a page comes in time all the same, with how far was looked.
"""

from __future__ import annotations

import json
import os
import platform
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl

from benchgen.models.device import detect
from benchgen.run.table import write_parquet
from benchgen.rundata.pages import ROWS, Filters, RunPages
from benchgen.types import Question, Trace

QUESTIONS, REPEATS = 2_000, 500
TARGET_S = 0.3
PATIENCE_S = 0.2
WORDS = [
    "the",
    "a",
    "planet",
    "moon",
    "star",
    "orbit",
    "answer",
    "is",
    "therefore",
    "because",
    "large",
    "small",
    "ring",
    "of",
    "in",
    "and",
    "second",
    "first",
    "axis",
    "mass",
    "day",
    "year",
    "crater",
    "ocean",
    "storm",
    "probe",
    "signal",
    "comet",
    "dust",
]
FILTERS = {
    "none": Filters(),
    "status, 1 in 40": Filters(status="error"),
    "failures of a category": Filters(mode="failures", category="moons"),
    "right ones, one repeat": Filters(outcome="right", repeat=250),
    "a text in 1 of 2,000": Filters(text="number 77 "),
    "a text in none": Filters(text="zebra"),
}


def questions() -> list[Question]:
    """2,000 questions of five categories."""
    names = ("moons", "planets", "stars", "galaxies", "missions")
    return [
        Question(
            "qa", f"What is known of body {i} of the list?", [f"body {i}"], category=names[i % 5]
        )
        for i in range(QUESTIONS)
    ]


def traces(asked: list[Question]) -> Iterator[Trace]:
    """Every question 500 times, in the order of a run; replies of about 330 characters, none repeated."""
    rng = random.Random(0)
    for number, question in enumerate(asked):
        asking = ({"role": "user", "content": question.prompt},)
        for repeat in range(REPEATS):
            draw = rng.random()
            status = (
                "ok" if draw < 0.9 else rng.choice(("no_answer", "truncated", "empty", "error"))
            )
            correct = None if status == "error" else status == "ok" and draw < 0.6
            text = " ".join(rng.choices(WORDS, k=60))
            yield Trace(
                key=question.key,
                messages=asking,
                reply=f"{text}. Number {number} it is.\nAnswer: body {number}",
                extracted=f"body {number}",
                status=status,
                reason="timeout" if status == "error" else "",
                correct=correct,
                value=None if correct is None else float(correct),
                tokens_in=40,
                tokens_out=70,
                seconds=0.5,
                repeat=repeat,
            )


def page_times(pages: RunPages, filters: Filters) -> dict[str, Any]:
    """Seconds of the first page and of later ones: in the middle, at the end, and each a second time."""
    told: dict[str, Any] = {}
    started = time.perf_counter()
    page = pages.page(0, ROWS, filters)
    told["first_s"] = time.perf_counter() - started
    total = page.total
    if total is None:  # a text is looked for to the end once, which is told apart
        started = time.perf_counter()
        total = pages.page(len(pages), ROWS, filters).total or 0
        told["to_the_end_s"] = time.perf_counter() - started
    for name, offset in (("middle", total // 2), ("end", max(0, total - ROWS))):
        times = []
        for step in range(5):
            started = time.perf_counter()
            pages.page(max(0, offset - step), ROWS, filters)
            times.append(time.perf_counter() - started)
        told[f"{name}_first_s"], told[f"{name}_median_s"] = times[0], statistics.median(times)
    return {"rows": total, **{k: round(v, 4) for k, v in told.items()}}


def patient(path: Path, asked: list[Question]) -> dict[str, Any]:
    """The rare text asked for with patience: seconds of each page until all was looked through."""
    pages, times, page = RunPages(path, asked), [], None
    while page is None or page.looked < len(pages):
        started = time.perf_counter()
        page = pages.page(0, ROWS, FILTERS["a text in none"], PATIENCE_S)
        times.append(time.perf_counter() - started)
    return {
        "pages": len(times),
        "longest_s": round(max(times), 4),
        "together_s": round(sum(times), 4),
    }


COLD = """
import sys, time
started = time.perf_counter()
from pathlib import Path
from benchgen.rundata.pages import Filters, RunPages
from benchgen.types import Question
names = ("moons", "planets", "stars", "galaxies", "missions")
asked = [Question("qa", f"What is known of body {i} of the list?", [f"body {i}"], category=names[i % 5]) for i in range(2000)]
imported = time.perf_counter()
pages = RunPages(Path(sys.argv[1]), asked)
page = pages.page(len(pages) // 2, 25, Filters(status="error") if sys.argv[2] == "filter" else None)
print(imported - started, time.perf_counter() - imported)
"""


def cold(path: Path, what: str) -> dict[str, float]:
    """Medians of five processes: seconds to import, and to open the file and have its middle page."""
    found = []
    for _ in range(5):
        command = [sys.executable, "-c", COLD, str(path), what]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        found.append([float(part) for part in done.stdout.split()])
    imported, shown = (statistics.median(column) for column in zip(*found, strict=True))
    return {"import_s": round(imported, 4), "open_and_page_s": round(shown, 4)}


def main(folder: Path) -> None:
    """Write the run, time its pages, write the result."""
    path, asked = folder / "traces.parquet", questions()
    started = time.perf_counter()
    write_parquet(traces(asked), path)
    written = time.perf_counter() - started
    load = os.getloadavg()[0]
    started = time.perf_counter()
    pages = RunPages(path, asked)
    opened = time.perf_counter() - started
    found = {name: page_times(pages, filters) for name, filters in FILTERS.items()}
    result = {
        "rows": len(pages),
        "bytes": path.stat().st_size,
        "row_groups": -(-len(pages) // 1_000),
        "write_s": round(written, 1),
        "open_s": round(opened, 4),
        "pages_of_25": found,
        "text_in_none_with_patience_0.2": patient(path, asked),
        "cold": {what: cold(path, what) for what in ("none", "filter")},
        "target_s": TARGET_S,
        "machine": {
            "cpu": detect().name,
            "cores": len(os.sched_getaffinity(0)),
            "load_before": round(load, 2),
            "python": platform.python_version(),
            "polars": pl.__version__,
        },
    }
    text = json.dumps(result, indent=1)
    (Path(__file__).parent / "paging.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="paging-") as place:
            main(Path(place))
