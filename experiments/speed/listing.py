"""How long lists, comparisons and reports take: `python experiments/speed/listing.py [FOLDER]`.

Fills two workspaces under FOLDER (a temporary one unless told) and writes listing.json beside this file.
One has 10,000 runs of five models on three benchmarks, 20 of them begun by processes that are gone; the
other one benchmark of 2,000 questions with two runs of all of them and 20 of 200, by scripted models that
are right on two in three. All are real records on SQLite; the 10,000 share the figures of one real run.

Each figure is the median of five times, after imports and in this process: what `benchgen runs` does, as
text and with output=json, into a file; what `ws.runs()`, `ws.compare` and `ws.report` do. Targets: a list
0.2 s, a comparison of two runs of 2,000 questions 0.5 s, a report of 20 runs 5 s.
"""

from __future__ import annotations

import dataclasses
import io
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import polars as pl
import sqlalchemy as sa

from benchgen import cli
from benchgen.models.device import detect
from benchgen.models.mock import MockModel
from benchgen.records import Benchmark, Run
from benchgen.store import ModelRow, RunRow
from benchgen.types import Question, Request
from benchgen.workspace import Workspace

PASSES = 5
RUNS, QUESTIONS, SHORT, REPORTED = 10_000, 2_000, 200, 20
BEGUN = 20
TARGETS_S = {"list": 0.2, "compare": 0.5, "report": 5.0}


def facts(rows: int) -> pl.DataFrame:
    """Questions of four options each, as a person's table of questions has them."""
    letters = "ABCD"
    return pl.DataFrame(
        {
            "question": [f"Which probe was number {n} of series {n % 17}?" for n in range(rows)],
            **{
                letter: [f"probe {n * 4 + place}" for n in range(rows)]
                for place, letter in enumerate(letters)
            },
            "answer": [letters[n * 7 % 4] for n in range(rows)],
            "category": [("moons", "planets", "stars")[n % 3] for n in range(rows)],
        }
    )


def published(ws: Workspace, rows: int, folder: Path) -> Benchmark:
    """A benchmark of so many questions."""
    file = folder / f"questions-{rows}.csv"
    facts(rows).write_csv(file)
    return ws.create(ws.author(file)).publish()


def scripted(ws: Workspace, questions: list[Question], names: list[str]) -> None:
    """Models that are right on two questions in three, each on others."""
    known = {q.key: q for q in questions}

    def model(number: int, name: str) -> MockModel:
        def say(request: Request) -> str:
            question = known[request.key]
            right = int(request.key[:8], 16) % (number + 3) > 0
            wrong = next(c for c in "ABCD" if c != question.target)
            return f"It comes to this.\nAnswer: {question.target if right else wrong}"

        return MockModel(say, name=name)

    for name in names:
        row = ModelRow(name=name, kind="mock", spec={"source": "Answer: A"})
        ws.store.add(row)
    ws.place = dataclasses.replace(
        ws.place, scripted={name: model(n, name) for n, name in enumerate(names)}
    )


def many(folder: Path) -> Workspace:
    """A workspace of 10,000 runs: the figures are those of one real run, copied."""
    ws = Workspace(folder / "many")
    benches = [published(ws, 60 + n, folder) for n in range(3)]
    names = [f"model-{n}" for n in range(5)]
    scripted(ws, benches[0].questions, names)
    first = ws.run(benches[0], names[0]).row
    models = {row.name: row.id for row in ws.store.all(ModelRow)}
    with ws.store.write() as session:
        for n in range(RUNS - 1):
            begun = n >= RUNS - 1 - BEGUN
            row = RunRow(
                owner=first.owner,
                benchmark_id=benches[n % 3].id,
                model_id=models[names[n % 5]],
                state="running" if begun else "finished",
                settings={**first.settings, "seed": n},
                summary={} if begun else first.summary,
                seconds=first.seconds,
                fingerprint=first.fingerprint,
                traces_sha256=first.traces_sha256,
            )
            session.add(row)
    return ws


def few(folder: Path) -> tuple[Workspace, list[Run], list[Run]]:
    """(workspace, two runs of 2,000 questions, 20 runs of 200)."""
    ws = Workspace(folder / "few")
    bench = published(ws, QUESTIONS, folder)
    names = [f"model-{n}" for n in range(REPORTED)]
    scripted(ws, bench.questions, names)
    long = [ws.run(bench, name) for name in names[:2]]
    return ws, long, [ws.run(bench, name, limit=SHORT) for name in names]


def seconds(work: Callable[[], object]) -> dict[str, float]:
    """Median and slowest of five times; the first time is told apart."""
    times = []
    for _ in range(PASSES + 1):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    found = {"first_s": times[0], "median_s": statistics.median(times[1:]), "most_s": max(times)}
    return {name: round(value, 4) for name, value in found.items()}


def command(ws: Workspace, *argv: str) -> Callable[[], None]:
    """A command line done in this process, its words thrown away."""

    def work() -> None:
        with redirect_stdout(io.StringIO()):
            if cli.run([*argv, f"workspace={ws.path}"]):
                raise RuntimeError(argv)

    return work


def main(folder: Path) -> None:
    """Fill both workspaces, time what is done with them, write the result."""
    load = os.getloadavg()[0]
    ws = many(folder)
    listed = {
        "ws.runs()": seconds(ws.runs),
        "benchgen runs": seconds(command(ws, "runs")),
        "benchgen runs output=json": seconds(command(ws, "runs", "output=json")),
    }
    ws, long, short = few(folder)
    ids = ",".join(str(run.id) for run in long)
    result = {
        f"list of {RUNS:,} runs": listed,
        f"comparison of two runs of {QUESTIONS:,} questions": {
            "ws.compare": seconds(lambda: ws.compare(long)),
            "benchgen compare": seconds(command(ws, "compare", f"runs=[{ids}]")),
        },
        f"report of {REPORTED} runs of {SHORT} questions": {
            "ws.report": seconds(lambda: ws.report(short))
        },
        "target_s": TARGETS_S,
        "machine": {
            "cpu": detect().name,
            "cores": len(os.sched_getaffinity(0)),
            "load_before": round(load, 2),
            "python": platform.python_version(),
            "polars": pl.__version__,
            "sqlalchemy": sa.__version__,
        },
    }
    text = json.dumps(result, indent=1)
    (Path(__file__).parent / "listing.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).mkdir(parents=True, exist_ok=True)
        main(Path(sys.argv[1]))
    else:
        with tempfile.TemporaryDirectory(prefix="listing-") as place:
            main(Path(place))
