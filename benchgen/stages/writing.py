"""From what a person names to checked questions; those that a model writes, part by part."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from benchgen import config, jobs
from benchgen.author.drafts import (
    BY_MODEL,
    Assignment,
    assignment,
    author_name,
    spec_of,
    write_draft,
)
from benchgen.author.imported import draft_of_rows
from benchgen.author.llm import doubtful
from benchgen.author.parts import Turn, write_parts
from benchgen.author.write import Draft
from benchgen.errors import ConfigError, StateError
from benchgen.models import catalogue
from benchgen.records import DOUBTFUL, Benchmark, Place, Write, begun
from benchgen.run import runner
from benchgen.stages.freezing import fill, new_row
from benchgen.stages.loading import loaded
from benchgen.store import BenchmarkRow, WriteRow, write_json
from benchgen.types import Question

Authored = str | Path | pl.DataFrame | list[dict[str, Any]] | config.BenchmarkConfig
"""What questions can be made of."""


def author(place: Place, what: Authored) -> Draft:
    """Checked questions that are not yet a benchmark.

    `what`: the name of a config of conf/benchmark/, a file of questions, rows (a polars frame, or a list
    of one dict a row) of questions or of facts, or a config. Authors that ask a model write all of it,
    part by part, before this returns.
    """
    if isinstance(what, (pl.DataFrame, list)):
        return draft_of_rows(what)
    if isinstance(what, Path) or (isinstance(what, str) and Path(what).is_file()):
        return write_draft(config.load_author("file", path=str(what)))
    spec = config.load_benchmark(what) if isinstance(what, str) else what
    if author_name(spec) in BY_MODEL:
        return go_on(place, begin(place, spec), limit=None).draft()
    return _after_others(place, spec, ())


def sibling(place: Place, benchmark: Benchmark | int, count: int | None = None) -> Draft:
    """Questions of the same make as a benchmark's, none of them in any benchmark of this workspace."""
    bench = Benchmark.of(place, benchmark)
    made_from = bench.row.spec["config"]
    if not made_from or made_from["author"]["name"] == "file":
        raise StateError(f"benchmark {bench.id} was imported: no author here can write more of it")
    spec = spec_of(made_from)
    rows = place.store.all(BenchmarkRow, BenchmarkRow.state != "writing")
    name = f"{bench.row.name}_sibling_{len(rows)}"
    spec = dataclasses.replace(spec, name=name, sibling_of=bench.row.name, seed=spec.seed + 1)
    spec = spec if count is None else dataclasses.replace(spec, count=count)
    if author_name(spec) in BY_MODEL:
        return go_on(place, begin(place, spec), limit=None).draft()
    return write_draft(spec, taken(place))


def taken(place: Place) -> frozenset[str]:
    """The keys of all questions of this workspace's benchmarks."""
    rows = place.store.all(BenchmarkRow, BenchmarkRow.state != "writing")
    return frozenset(q.key for row in rows for q in Benchmark(place, row.id).questions)


def _after_others(place: Place, spec: config.BenchmarkConfig, above: tuple[str, ...]) -> Draft:
    """The draft, after those of the benchmarks it must share no question with."""
    if spec.name in above:
        raise ConfigError(f"benchmark.exclude leads back to {spec.name}", got=[*above, spec.name])
    taken: set[str] = set()
    for other in spec.exclude:
        draft = _after_others(place, config.load_benchmark(other), (*above, spec.name))
        taken |= {q.key for q in draft.questions}
    return write_draft(spec, frozenset(taken))


def begin(place: Place, spec: config.BenchmarkConfig) -> Write:
    """A writing by a model, recorded and not yet begun; ConfigError where the config cannot be met."""
    wanted = assignment(spec)
    for name in {spec.author.model, spec.author.checker} - {"", "none"}:
        if catalogue.find(place.store, name).kind == "endpoint":
            place.allow("endpoint")
    row = WriteRow(owner=place.user, wanted=wanted.layout.count, spec=dataclasses.asdict(spec))
    return Write(place, place.once(WriteRow, row.spec, lambda: place.store.add(row).id))


def go_on(
    place: Place,
    write: Write | int,
    *,
    limit: int | None = None,
    hardware: config.HardwareConfig | None = None,
    progress: runner.Progress | None = None,
) -> Write:
    """The writing, some parts further: `limit` questions (None = all that are left).

    When all are written, a blind solve flags the keys it disputes. ModelError, with all that was
    written kept, where the model does not answer or gives nothing usable.
    """
    write = Write.of(place, write)
    if write.row.state == "finished":
        return write
    task, hardware = assignment(write.spec), hardware or config.HardwareConfig()
    line = f"benchgen resume write_id={write.id}"
    with jobs.going_on(line), jobs.record_lock(write.folder), jobs.beating(write.folder):
        try:
            row = catalogue.find(place.store, write.spec.author.model)
            with loaded(place, row, hardware, {}) as model:
                turn = Turn(limit, taken(place), progress)
                written = write_parts(
                    task.author(model), task.layout, task.evaluation, write.folder, turn=turn
                )
        except Exception as error:
            place.store.change(WriteRow, write.id, state="failed", error=str(error)[:1000])
            raise
        full = len(written.questions) == task.layout.count
        if full:
            _check(place, write, task, written.questions, hardware)
        state = "finished" if full else "waiting"
        place.store.change(
            WriteRow, write.id, state=state, written=len(written.questions), error=""
        )
    return write


def go_on_in_background(place: Place, write: Write | int) -> Write:
    """The writing, handed to a process of its own that writes all that is left and makes the benchmark."""
    write = Write.of(place, write)
    if jobs.alive(write.folder):
        raise StateError(f"write {write.id} is being written already", got=write.state)
    place.start(write.id, write.folder, "benchgen.writer")
    return write


def created(place: Place, write: Write) -> Benchmark:
    """The benchmark of a finished writing: made now, or the one made before. One writing, one benchmark.

    The benchmark's row and the writing's note of it come in one transaction, and whoever holds the
    writing's lock fills it: two processes at once, or one after a kill, find the same one.
    """
    draft = write.draft()
    with jobs.record_lock(write.folder, wait=True):
        made = write.row.benchmark_id
        if made is None:
            with begun(place, new_row(place, draft), write.id) as bench:
                return fill(bench, draft)
        bench = Benchmark.of(place, made)
        if bench.row.state == "writing":  # killed while it was filled
            with jobs.record_lock(bench.folder, wait=True):
                return fill(bench, draft)
    return bench


def _check(
    place: Place,
    write: Write,
    task: Assignment,
    questions: Sequence[Question],
    hardware: config.HardwareConfig,
) -> None:
    """Solve the questions blind and keep the keys that the solver disputes."""
    solver = write.spec.author.checker or write.spec.author.model
    found: list[str] = []
    if solver != "none":
        row = catalogue.find(place.store, solver)
        with loaded(place, row, hardware, {}) as model:
            found = doubtful(questions, model, task.evaluation)
    write_json(write.folder / DOUBTFUL, found)
