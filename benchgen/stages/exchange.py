"""Benchmarks and runs out to other tools, and back in."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from benchgen.author.write import Draft, check_bundle
from benchgen.benchmark import registry
from benchgen.benchmark.bundle import read_bundle, write_bundle
from benchgen.benchmark.exchange.formats import read_any, write_as
from benchgen.benchmark.exchange.inspect_log import write_inspect_log
from benchgen.errors import InputError
from benchgen.records import Benchmark, Place, Run
from benchgen.rundata.export import write_dataset
from benchgen.stages.freezing import freeze
from benchgen.store import BenchmarkRow

FORMS: Mapping[str, str] = {
    "codabench": "codabench",
    "inspect": "inspect",
    "lm_eval": "lm_eval",
    "hf": "huggingface",
    "csv": "csv",
    "jsonl": "jsonl",
}
"""What `export` can write, and what the exchange calls it."""
_FOREIGN_NOTE = (
    "the bundle's scoring program is not one of benchgen's: it is kept and goes out again on export, "
    "is never run, and benchgen's newest program scores instead"
)


def export(
    place: Place, benchmark: Benchmark | int, path: str | Path, form: str = "codabench"
) -> Path:
    """Path of what was written: a Codabench bundle (a zip), or a folder of another form.

    `form` is one of `FORMS`. DataError if something is there already or a tool would have to run a
    scoring program that is not ours.
    """
    bench = Benchmark.of(place, benchmark)
    path = place.outside(Path(path))
    if form not in FORMS:
        raise InputError(f"format={form} is not known", got=form, allowed=list(FORMS))
    if form == "codabench":
        write_bundle(bench.bundle(), path)
    else:
        write_as(bench.bundle(), path, FORMS[form], frozen_here(place))
    return path


def export_run(place: Place, run: Run | int, path: str | Path) -> Path:
    """Path of the run written as a log of Inspect AI."""
    run = Run.of(place, run)
    return write_inspect_log(run.log(), place.outside(Path(path)))


def export_dataset(
    place: Place, table: pl.DataFrame, path: str | Path, form: str, name: str = ""
) -> Path:
    """Path of a run dataset written as jsonl, csv, parquet, or a Hugging Face folder (hf)."""
    return write_dataset([table], form, place.outside(Path(path)), name)


def import_bundle(place: Place, path: str | Path) -> Benchmark:
    """A draft made of a Codabench bundle, or of a folder that `export` wrote in another form.

    No line of its scoring program is run. A program that is a released one, or that this workspace
    froze, stays the benchmark's own. Any other is kept as it is, goes out again on export, and the
    newest program scores instead. DataError where a question does not accept its own worked answer.
    """
    bundle = read_any(Path(path)) if Path(path).is_dir() else read_bundle(Path(path))
    check_bundle(bundle, str(path))
    sources = bundle.sources()
    trusted = registry.sources_sha256(sources) in registry.trusted_programs(frozen_here(place))
    warnings = [] if trusted else [f"{_FOREIGN_NOTE}: {', '.join(sources) or 'no Python file'}"]
    report = {"decisions": [f"read from {Path(path).name}"], "warnings": warnings}
    draft = Draft(bundle.name, bundle.questions, bundle.evaluation, report=report)
    if trusted:
        return freeze(place, draft, program=sources)
    return freeze(place, draft, foreign=bundle.program)


def frozen_here(place: Place) -> set[str]:
    """sha256 of every scoring program that this workspace froze."""
    return {row.program_sha256 for row in place.store.all(BenchmarkRow)}
