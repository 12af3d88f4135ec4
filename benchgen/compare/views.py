"""What a comparison is made of and what it comes to: runs, score rows, pairs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import polars as pl

from benchgen.compare.inference import PairedResult
from benchgen.run.metrics import summary, verdicts
from benchgen.types import Question, Record, Trace


@dataclass(frozen=True)
class RunView:
    """All that a comparison or a page needs to know about one run."""

    run_id: int
    model: str
    model_kind: str
    """base | adapter | endpoint | merged | reference (answers with the author's worked answers)"""
    benchmark_id: int
    benchmark: str
    """The benchmark's name."""
    program_sha256: str
    evaluation_sha256: str
    questions: tuple[Question, ...]
    traces: Sequence[Trace]
    """Perhaps read from the disk each time they are looked at: figures take `verdicts`."""
    seen: frozenset[str] = frozenset()
    """Keys of every question that the model or one it descends from was trained around."""
    link: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)
    """How it was run: limit, seed, repeats, sampling, dtype … as its record holds them."""
    version_of: int | None = None
    """The benchmark that this run's one is a changed copy of."""

    @property
    def seed(self) -> int:
        """Of the run: its bootstraps are drawn with it wherever they are shown."""
        return int(self.settings.get("seed") or 0)

    @cached_property
    def verdicts(self) -> list[Trace]:
        """The traces without their texts."""
        return verdicts(self.traces)

    @cached_property
    def figures(self) -> dict[str, Any]:
        """`metrics.summary` of the run."""
        return summary(self.verdicts, self.questions, self.seed)

    @property
    def is_reference(self) -> bool:
        return self.model_kind == "reference"


@dataclass(frozen=True)
class ScoreRow(Record):
    """One run's score on one part of its questions."""

    run_id: int
    model: str
    model_kind: str
    benchmark_id: int
    benchmark: str
    part: str
    """same | held_out | all (whole runs, or nothing was trained on)"""
    right: int
    scored: int
    asked: int
    score: float | None
    ci: tuple[float, float]
    strict: dict[str, Any]
    """Tally of those right in exactly the form asked for; its `scored` is 0 where a program does not tell."""
    by_status: dict[str, int]
    trained_on: int
    """How many of these questions the run's own model was trained around."""
    label: str
    """What must be said beside the score; empty when nothing must."""
    link: str
    repeats: int = 1
    graded: dict[str, Any] | None = None
    """Mean of graded values with its interval (`metrics.summary`); None where all are 0 or 1."""
    clustered: tuple[dict[str, Any], ...] = ()
    """Wider or narrower intervals for questions that share a source or a template."""


@dataclass(frozen=True)
class Pair(Record):
    """One run against the baseline on one part of the questions that all compared runs were asked."""

    baseline: int
    run: int
    benchmark: str
    part: str
    ceiling: bool
    """One of the two is the reference: a distance to the ceiling, no model's achievement."""
    result: PairedResult
    p_holm: float
    """p adjusted (Holm 1979) for all tests of this comparison that are not about the ceiling."""
    verdict: str


@dataclass(frozen=True)
class Comparison(Record):
    """Runs side by side: whole runs, the same split by what was trained on, pairs and warnings."""

    rows: tuple[ScoreRow, ...]
    parts: tuple[ScoreRow, ...]
    pairs: tuple[Pair, ...]
    warnings: tuple[str, ...]

    def scores(self) -> pl.DataFrame:
        """One row a run: score in [0, 1], its 95 % interval, counts, and what must be said beside it."""
        return pl.DataFrame(
            {
                "run": row.run_id,
                "model": row.model,
                "benchmark": row.benchmark,
                "score": row.score,
                "low": row.ci[0],
                "high": row.ci[1],
                "strict": row.strict["score"],
                "right": row.right,
                "scored": row.scored,
                "asked": row.asked,
                "note": row.label,
                "link": row.link,
            }
            for row in self.rows
        )

    def __str__(self) -> str:
        """A line a run, a line a test, and what must be said beside them; `scores()` has them as a table."""
        from benchgen.compare.report import score_words, test_words  # it stands on this module

        names = {row.run_id: row.model for row in self.rows}
        runs = (
            f"run {row.run_id}, {row.model} on {row.benchmark}: {score_words(row.to_dict())}"
            + f" ({row.label})" * bool(row.label)
            for row in self.rows
        )
        tests = (test_words(pair, names) for pair in self.pairs)
        return "\n".join((*runs, *tests, *(f"note: {warning}" for warning in self.warnings)))

    def _repr_html_(self) -> str:
        from benchgen.compare.markup import to_notebook  # they stand on this module
        from benchgen.compare.report import comparison_page

        return to_notebook(comparison_page(self))

    def differences(self) -> pl.DataFrame:
        """One row a paired test: difference with its 95 % interval, wins, losses, p, verdict.

        `left_out` counts questions that one of the two runs, or both, did not measure.
        """
        return pl.DataFrame(
            {
                "run": pair.run,
                "minus": pair.baseline,
                "questions": pair.part,
                "measure": pair.result.measure,
                "n": pair.result.n,
                "left_out": pair.result.unpaired,
                "difference": pair.result.delta,
                "low": pair.result.ci[0],
                "high": pair.result.ci[1],
                "wins": pair.result.wins,
                "losses": pair.result.losses,
                "p": pair.result.p,
                "p_holm": pair.p_holm,
                "verdict": pair.verdict,
            }
            for pair in self.pairs
        )
