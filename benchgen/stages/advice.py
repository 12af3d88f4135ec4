"""What a plan should say before a person confirms it: overlap with benchmarks, and what to expect."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from benchgen.errors import BenchgenError
from benchgen.plan.memory import ModelShape
from benchgen.plan.overlap import overlap
from benchgen.plan.planner import Base
from benchgen.records import Benchmark, Place, Run
from benchgen.rundata.rows import TrainingRow
from benchgen.store import BenchmarkRow, ModelRow, RunRow, read_json

SMALL = 1_000_000_000
"""Parameters under which a student is called small."""


def overlaps(place: Place, rows: Sequence[TrainingRow]) -> list[dict[str, Any]]:
    """[{"benchmark", "name", "questions", "of"}] of each benchmark here whose questions the rows hold.

    With `held_out` where some of those are marked so.
    """
    texts = [f"{_asked(row)} {row.completion}" for row in rows]
    found = []
    for row in place.store.all(BenchmarkRow):
        asked = Benchmark(place, row.id).questions
        shared = overlap(texts, asked)
        if shared:
            told = {"benchmark": row.id, "name": row.name, "questions": shared, "of": len(asked)}
            marked = overlap(texts, [q for q in asked if q.held_out])
            found.append({**told, "held_out": marked} if marked else told)
    return found


def _asked(row: TrainingRow) -> str:
    return " ".join(m["content"] for m in row.messages if m["role"] != "system")


def advice(
    place: Place,
    runs: Sequence[Run],
    base: ModelRow,
    shared: Sequence[dict[str, Any]],
    parameters: int | None,
) -> list[str]:
    """Sentences for the plan's warnings: guess level, no baseline, language, capacity, memorisation."""
    benches = {run.benchmark.id: run.benchmark for run in runs}
    told = [line for bench in benches.values() for line in _baseline(place, bench, base)]
    languages = sorted({q.language for run in runs for q in run.questions} - {"en", ""})
    if languages:
        told.append(
            f"the questions are in {', '.join(languages)}: the base must know that language already"
        )
    if parameters is not None and parameters < SMALL and runs:
        told.append(
            f"the base has {parameters / 1e6:,.0f} million parameters: a larger student gains more"
        )
    for one in shared:
        if one["benchmark"] in benches:
            continue
        marked = f", {one['held_out']} of them held out," if "held_out" in one else ""
        told.append(
            f"the rows hold {one['questions']} of the {one['of']} questions{marked} of benchmark "
            f"{one['benchmark']} ({one['name']}): a score on it will include memorisation"
        )
    told += [_held_out(bench) or _sibling(place, bench) for bench in benches.values()]
    return [line for line in told if line]


def _baseline(place: Place, bench: Benchmark, base: ModelRow) -> Iterator[str]:
    """What is known of the base on this benchmark."""
    rows = place.store.all(
        RunRow,
        RunRow.benchmark_id == bench.id,
        RunRow.model_id == (base.id or 0),
        RunRow.state == "finished",
    )
    if not rows:
        yield (
            f"{base.name} has no run on benchmark {bench.id}: run it first, so that there is a baseline"
        )
        return
    options = {len(q.choices) for q in bench.questions if q.kind == "mcq"}
    low, high = rows[-1].summary["ci"]
    if len(options) == 1 and low <= 1 / max(options) <= high:
        score = rows[-1].summary["score"]
        yield (
            f"{base.name} is at guess level on benchmark {bench.id} ({score or 0:.0%} right of "
            f"{max(options)} options): look at its replies first (dataset mode=all)"
        )


def _held_out(bench: Benchmark) -> str:
    """How many questions the benchmark keeps for asking; empty where none."""
    marked = sum(q.held_out for q in bench.questions)
    if not marked:
        return ""
    return (
        f"{marked} of the {bench.row.questions} questions of benchmark {bench.id} are held out: they are not "
        "trained on, and comparisons show the score on them by itself"
    )


def _sibling(place: Place, bench: Benchmark) -> str:
    """How to tell learning from memorising, where there is no sibling yet."""
    rows = place.store.all(BenchmarkRow)
    mine = _spec(bench.row).get("sibling_of")
    related = any(
        _spec(row).get("sibling_of") == bench.row.name or (mine and row.name == mine)
        for row in rows
    )
    if related:
        return ""
    return (
        f"a score on benchmark {bench.id} after this includes memorisation: "
        f"benchgen create sibling_of={bench.id} writes new questions on the same facts"
    )


def parameters(base: Base) -> int | None:
    """Of the base whose files are here; None where they are not, or say it in no known way."""
    if base.folder is None:
        return None
    try:
        return ModelShape.from_config(read_json(base.folder / "config.json")).num_parameters
    except BenchgenError:
        return None


def _spec(row: BenchmarkRow) -> dict[str, Any]:
    """The author's config that a benchmark was made from; {} of an imported one."""
    found: dict[str, Any] = row.spec.get("config") or {}
    return found
