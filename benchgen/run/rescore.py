"""A run's stored replies under another scoring program, beside the verdicts it has; no model is asked."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.run.metrics import summary
from benchgen.run.runner import Scorer, rescored
from benchgen.types import Question, Trace

FIELDS = ("key", "correct", "value", "strict", "extracted", "status", "reason")
"""What a program decides about a trace: a line of the stored re-scoring."""


@dataclass(frozen=True)
class Scored:
    """The same replies as one program scores them."""

    version: str
    sha256: str
    traces: tuple[Trace, ...]


@dataclass(frozen=True)
class Rescoring:
    """A run under its benchmark's own program and under another one."""

    run_id: int
    questions: tuple[Question, ...]
    own: Scored
    other: Scored

    @property
    def changed(self) -> list[tuple[Trace, Trace]]:
        """(before, after) of every reply that the two programs judge differently, in question order."""
        pairs = zip(self.own.traces, self.other.traces, strict=True)
        return [(a, b) for a, b in pairs if (a.correct, a.status) != (b.correct, b.status)]

    def __str__(self) -> str:
        """Both scores, and how many verdicts changed; `to_dict()` has each changed reply."""
        told = self.to_dict()
        scores = (
            f"program {row['program']}: {row['right']} of {row['scored']} scored answers right"
            for row in told["scores"]
        )
        moves = ", ".join(f"{n} {move}" for move, n in told["changed"].items())
        return "\n".join((f"run {self.run_id}", *scores, f"changed verdicts: {moves or 'none'}"))

    def to_dict(self) -> dict[str, Any]:
        """Both scores, how many verdicts changed and how, and each changed reply."""
        words = {True: "right", False: "wrong", None: "not measured"}
        moves = Counter(f"{words[a.correct]} to {words[b.correct]}" for a, b in self.changed)
        return {
            "run": self.run_id,
            "scores": [self._score(self.own), self._score(self.other)],
            "changed": dict(sorted(moves.items())),
            "rows": [
                {"key": a.key, "reply": a.reply, "before": _verdict(a), "after": _verdict(b)}
                for a, b in self.changed
            ],
        }

    def lines(self) -> list[dict[str, Any]]:
        """The other program's verdicts, one a question."""
        return [{name: getattr(t, name) for name in FIELDS} for t in self.other.traces]

    def _score(self, scored: Scored) -> dict[str, Any]:
        figures = summary(scored.traces, self.questions)
        told = ("score", "ci", "right", "scored", "asked", "strict", "by_status")
        return {
            "program": scored.version,
            "sha256": scored.sha256,
            "own": scored is self.own,
            **{name: figures[name] for name in told},
        }


def rescore(
    run_id: int,
    questions: Sequence[Question],
    own: Scored,
    other: tuple[str, str, Scorer],
) -> Rescoring:
    """The run's traces under `other` (version, sha256, score function) beside its own verdicts."""
    by_key = {question.key: question for question in questions}
    version, sha, scorer = other
    traces = tuple(rescored(trace, by_key[trace.key], scorer) for trace in own.traces)
    return Rescoring(run_id, tuple(questions), own, Scored(version, sha, traces))


def _verdict(trace: Trace) -> dict[str, Any]:
    return {name: getattr(trace, name) for name in FIELDS if name not in ("key", "value")}
