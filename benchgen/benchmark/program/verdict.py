"""The verdict on one reply."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Score:
    """`correct` None = not measured: never counted as wrong, never trained on."""

    correct: bool | None
    value: float | None
    """In [0, 1]; None exactly when `correct` is."""
    extracted: str | None
    """What was read as the answer. mcq: the label (`B`; several: `A,C`); qa: the text as written."""
    status: str
    """ok | no_answer | ambiguous | truncated | empty | refused | error"""
    reason: str = ""
    """Refines the status; empty for a plain right answer."""
    strict: bool | None = None
    """Right, and in exactly the form asked for (form.py); None exactly when `correct` is."""


def judged(right: bool, extracted: str, reason: str = "") -> Score:
    """A reply with a readable answer, right or wrong; score.py looks at its form."""
    return Score(right, float(right), extracted, "ok", reason or ("" if right else "wrong"), False)


def missed(status: str, reason: str, extracted: str | None = None) -> Score:
    """A measured reply without a countable answer: wrong."""
    return Score(False, 0.0, extracted, status, reason, False)


def unmeasured(status: str, reason: str) -> Score:
    """A reply that says nothing about the model: neither right nor wrong."""
    return Score(None, None, None, status, reason)
