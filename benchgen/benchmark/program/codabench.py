"""The program as a Codabench scoring program: two files in, two files out.

A submission is a file of replies that somebody else made, so all that keeps one from being scored counts
as wrong here: a missing prediction, one that says that it failed or was filtered, one that is no text.
`scores.json` holds `accuracy` = right / asked, `right`, `scored` and `asked` (equal), `strict`, and
`failed`: how many of the wrong ones were no answer of a model. A question that cannot be scored is the
organiser's fault and stops the run.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from .score import OPTIONS, score
from .verdict import Score, unmeasured

__all__ = ["main", "score_files"]

_PROBE = "x"
"""A reply that any question of use can judge."""


def score_files(questions: Path, predictions: Path) -> list[dict[str, Any]]:
    """One verdict a question, in the file's order. ValueError for a file that cannot be used."""
    replies = {str(row.get("key")): row for _, row in _rows(predictions)}
    verdicts = []
    for number, question in _rows(questions):
        known = _known(question, f"{questions.name} line {number}")
        verdict = _verdict(replies.get(str(question.get("key"))), known)
        failed = verdict.correct is None
        if failed:
            verdict = replace(verdict, correct=False, value=0.0, strict=False)
        verdicts.append({"key": question.get("key"), **vars(verdict), "failed": failed})
    return verdicts


def _known(question: Mapping[str, Any], place: str) -> dict[str, Any]:
    """What `score` takes of a question; ValueError if no reply to it could be judged."""
    kind, options = question.get("kind"), question.get("options") or {}
    if not isinstance(options, dict):
        raise ValueError(f"{place}: options {str(options)[:80]!r} is not a JSON object")
    if not isinstance(kind, str) or kind not in OPTIONS:
        raise ValueError(f"{place}: kind {kind!r} is not one of {', '.join(OPTIONS)}")
    allowed = OPTIONS[kind]
    for name in options:
        if name not in allowed:
            raise ValueError(
                f"{place}: kind {kind!r} has no option {name!r}; it has {', '.join(allowed)}"
            )
    known = {
        "kind": kind,
        "target": question.get("target"),
        "choices": question.get("choices"),
        **options,
    }
    probe = score(reply=_PROBE, **known)
    if probe.correct is None:
        raise ValueError(f"{place}: the question cannot be scored: {probe.reason}")
    return known


def _verdict(row: Mapping[str, Any] | None, known: Mapping[str, Any]) -> Score:
    """The verdict on one prediction, None for a question without one."""
    if row is None:
        return unmeasured("error", "no_prediction")
    return score(
        reply=row.get("reply"),
        messages=row.get("messages"),
        finish_reason=row.get("finish_reason") or "stop",
        **known,
    )


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """(line number, JSON object) of each line that is not blank."""
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise ValueError(f"{path.name} line {number}: {error}") from error
            if not isinstance(row, dict):
                raise ValueError(f"{path.name} line {number}: not a JSON object")
            yield number, row


def main(arguments: Sequence[str]) -> int:
    """Exit status: 0 done, 2 with one line on stderr when the input cannot be used."""
    source, out = (Path(arg) for arg in (arguments or ("/app/input", "/app/output")))
    try:
        verdicts = score_files(
            source / "ref" / "questions.jsonl", source / "res" / "predictions.jsonl"
        )
    except (OSError, ValueError) as error:
        sys.stderr.write(f"cannot score: {' '.join(str(error).split())}\n")
        return 2
    right = sum(verdict["correct"] for verdict in verdicts)
    scores = {
        "accuracy": right / len(verdicts) if verdicts else None,
        "right": right,
        "scored": len(verdicts),
        "asked": len(verdicts),
        "failed": sum(verdict["failed"] for verdict in verdicts),
        "strict": sum(verdict["strict"] is True for verdict in verdicts),
    }
    out.mkdir(parents=True, exist_ok=True)
    # ASCII: a reply may hold half a surrogate pair, which no file in UTF-8 can.
    (out / "verdicts.jsonl").write_text("".join(json.dumps(v) + "\n" for v in verdicts), "ascii")
    (out / "scores.json").write_text(json.dumps(scores) + "\n", "ascii")
    return 0
