"""A draft made a benchmark: its questions, evaluation and scoring program frozen beside each other."""

from __future__ import annotations

from collections.abc import Mapping

from benchgen.author.write import Draft
from benchgen.benchmark import registry
from benchgen.records import EVALUATION, FOREIGN, PROGRAM, QUESTIONS, Benchmark, Place
from benchgen.store import BenchmarkRow, write_atomic


def freeze(
    place: Place,
    draft: Draft,
    program: Mapping[str, bytes] | None = None,
    foreign: bytes | None = None,
) -> Benchmark:
    """The benchmark with the newest scoring program, or this trusted one, and beside it a foreign one."""
    kinds = sorted({q.kind for q in draft.questions})
    row = place.store.add(
        BenchmarkRow(
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
    )
    bench = Benchmark(place, row.id)
    hashes = {
        "questions_sha256": registry.write_questions(bench.folder / QUESTIONS, draft.questions),
        "evaluation_sha256": registry.write_evaluation(bench.folder / EVALUATION, draft.evaluation),
        "program_sha256": registry.copy_program(bench.folder / PROGRAM, program),
    }
    if foreign is not None:
        write_atomic(bench.folder / FOREIGN, foreign)
    place.store.change(BenchmarkRow, row.id, "writing", state="draft", **hashes)
    bench.write_page()
    return bench
