"""A draft made a benchmark: its questions, evaluation and scoring program frozen beside each other."""

from __future__ import annotations

import shutil
from collections.abc import Mapping

from benchgen.author.write import Draft
from benchgen.benchmark import registry
from benchgen.records import EVALUATION, FOREIGN, PROGRAM, QUESTIONS, Benchmark, Place, begun
from benchgen.records.editing import check_name
from benchgen.store import BenchmarkRow, write_atomic


def freeze(
    place: Place,
    draft: Draft,
    program: Mapping[str, bytes] | None = None,
    foreign: bytes | None = None,
) -> Benchmark:
    """The benchmark with the newest scoring program, or this trusted one, and beside it a foreign one."""

    def make() -> int:
        with begun(place, new_row(place, draft)) as bench:
            return fill(bench, draft, program, foreign).id

    return Benchmark(place, place.once(BenchmarkRow, (draft.name, draft.hash), make))


def new_row(place: Place, draft: Draft) -> BenchmarkRow:
    """The row of a benchmark whose files are still to be written: state `writing`."""
    check_name(draft.name)
    kinds = sorted({q.kind for q in draft.questions})
    return BenchmarkRow(
        owner=place.user,
        name=draft.name,
        state="writing",
        kind=kinds[0] if len(kinds) == 1 else "mixed",
        questions=len(draft.questions),
        questions_sha256="",
        evaluation_sha256="",
        program_sha256="",
        spec={"config": draft.config, "report": draft.report},
    )


def fill(
    bench: Benchmark,
    draft: Draft,
    program: Mapping[str, bytes] | None = None,
    foreign: bytes | None = None,
) -> Benchmark:
    """The benchmark with its files, a draft from now on; what a killed process left of them is replaced.

    The caller holds its lock.
    """
    folder = bench.folder
    shutil.rmtree(folder / PROGRAM, ignore_errors=True)
    hashes = {
        "questions_sha256": registry.write_questions(folder / QUESTIONS, draft.questions),
        "evaluation_sha256": registry.write_evaluation(folder / EVALUATION, draft.evaluation),
        "program_sha256": registry.copy_program(folder / PROGRAM, program),
    }
    if foreign is not None:
        write_atomic(folder / FOREIGN, foreign)
    bench.place.store.change(BenchmarkRow, bench.id, "writing", state="draft", **hashes)
    bench.write_page()
    return bench
