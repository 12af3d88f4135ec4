"""Open answers: which key points does a reply state? Each point has a verdict of its own, with its evidence.

Without a judge a point is stated if one sentence of the answer states it in the point's own words
(keypoints_sentence.py). With a judge, the judge decides every point: nothing but its pass counts, and where it says
nothing that can be read the reply is not measured. What is found last counts: a later denial takes a
statement back. Reasoning, questions, echoes, reported errors and words to the grader state nothing
(keypoints_stated.py). In a truncated reply only finished sentences count, and only if they state
all that is asked.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from . import judge as judging
from . import reading, spelling
from .keypoints_doubt import taken_back
from .keypoints_lists import LINE_BREAK
from .keypoints_points import Pattern, may_state, prepared
from .keypoints_sentence import find
from .keypoints_stated import Statement, holds, own, stated
from .keypoints_text import MAX_ANSWER, cleaned, sentences, unpacked
from .keypoints_words import STATED
from .verdict import Score, missed, unmeasured

MAX_POINTS, MAX_QUOTE, MAX_EXTRACTED = 200, 160, 2000


@dataclass(frozen=True)
class Point:
    """A key point: any one of its wordings will do, and of a wording every sentence is asked."""

    texts: tuple[str, ...]
    weight: float
    wordings: tuple[tuple[Pattern, ...], ...]


@dataclass(frozen=True)
class Met:
    """The verdict on one point."""

    share: float | None
    """1.0 = stated, 0.0 = not; between: a judge's partial score; None = not measured."""
    evidence: str = ""
    reason: str = ""


def score(  # noqa: PLR0913 - the options are the caller's words
    reply: str,
    target: object,
    *,
    truncated: bool = False,
    judge: Callable[[str], str] | None = None,
    question: str = "",
    require: str = "all",
    threshold: float | None = None,
) -> Score:
    """The verdict on one reply; `target` is a list of points, each a text or {"text", "weight", "accept"}.

    `require` "all": every point of a weight above 0, value = 1.0 or 0.0. "weighted": value = weight of
    the stated points over that of all; right if it reaches `threshold`, 1.0 unless given.
    """
    points = _points(target)
    if points is None:
        return unmeasured("error", "unreadable_target")
    limit = _threshold(require, threshold)
    if limit is None:
        return unmeasured("error", "unusable_requirement")
    read = reading.read(reply.replace("—", " — "), truncated=truncated)
    part = read.parts[0]
    inner = unpacked(part)
    if inner != part:
        part = reading.read(inner).parts[0]
    text = cleaned(part)
    cut = (read.cut and len(read.parts) == 1) or len(part) > MAX_ANSWER
    if not text.strip():
        return missed("truncated" if truncated else "no_answer", read.note or "no_text")
    folded = spelling.folded(spelling.normalised(question))
    answer = Answer(stated(text, cut=cut), folded, read.parts[0])
    if cut and not answer.statements:
        return missed("truncated", "no_finished_sentence")
    if judge is None:
        found = [_matched(point, answer) for point in points]
    else:
        shown = "\n".join(_one_line(s.text) for s in answer.statements) if cut else part.strip()
        found = [_judged(judge, question, point, shown, answer) for point in points]
    verdict = _verdict(points, found, limit if require == "weighted" else None)
    if verdict.correct is False and cut:
        return missed("truncated", verdict.reason, verdict.extracted)
    if verdict.correct is False and not any(met.share for met in found) and reading.refused(text):
        return missed("refused", "by_model", verdict.extracted)
    return verdict


# --- points ------------------------------------------------------------------------------------


def _points(target: object) -> list[Point] | None:
    """The points of a question; None if one of them cannot be used, or none counts."""
    items = target if isinstance(target, (list, tuple)) else [target]
    if not 0 < len(items) <= MAX_POINTS:
        return None
    points = [_point(item) for item in items]
    usable = [point for point in points if point is not None]
    if len(usable) < len(items) or not any(point.weight for point in usable):
        return None
    return usable


def _point(item: object) -> Point | None:
    weight: object = 1.0
    accept: object = ()
    if isinstance(item, dict):
        weight, accept, item = item.get("weight", 1.0), item.get("accept", ()), item.get("text")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < 1e9:
        return None
    accept = [accept] if isinstance(accept, str) else accept
    if not isinstance(accept, (list, tuple)):
        return None
    texts = (item, *accept)
    wordings = [_wording(text) for text in texts]
    if not all(wordings):
        return None
    return Point(tuple(map(str, texts)), float(weight), tuple(w for w in wordings if w))


def _wording(text: object) -> tuple[Pattern, ...] | None:
    if not isinstance(text, str) or len(text) > 4000 or not text.strip():
        return None
    lines = cleaned(spelling.normalised(text)).strip("-*• \n").split("\n")
    pieces = [sentence for line in lines for sentence in sentences(line)]
    patterns = [prepared(piece) for piece in pieces]
    return tuple(pattern for pattern in patterns if pattern) or None


def _threshold(require: str, threshold: object) -> float | None:
    """The share that is right; None if the requirement cannot be used."""
    if require == "all" and threshold is None:
        return 1.0
    if require != "weighted":
        return None
    if threshold is None:
        return 1.0
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    return float(threshold) if number and 0 < threshold <= 1 else None  # type: ignore[operator,arg-type]


# --- one point ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What of a reply may state a point."""

    statements: list[Statement]
    question: str
    """Folded: a sentence of the answer that stands in it is its echo."""
    written: str
    """The answer with its markup."""


def _matched(point: Point, answer: Answer) -> Met:
    for wording in point.wordings:
        places = [_last(pattern, answer) for pattern in wording]
        if all(places):
            return Met(1.0, " ".join(dict.fromkeys(place for place in places if place)))
    return Met(0.0)


_CORRECTS = re.compile(
    r"\W*(?:but|however|no|wait|actually|correction|sorry|in fact|in reality|on second thoughts?|i was wrong)\b"
)


def _last(pattern: Pattern, answer: Answer) -> str:
    """The last sentence that states it, unless a later one plainly denies it; else empty."""
    evidence = ""
    for statement in answer.statements:
        if not may_state(pattern, statement.low) or not own(statement.whole, answer.question):
            continue
        found = find(pattern, statement.text)
        if found == STATED and not taken_back(statement.following):
            evidence = evidence or statement.text
        elif found and evidence and _plain(pattern, statement):
            evidence = ""
    return evidence


def _plain(pattern: Pattern, denial: Statement) -> bool:
    """The denial is of the point itself, not of it under some condition (`in spring it does not …`)."""
    return bool(_CORRECTS.match(denial.low)) or len(denial.low.split()) <= len(pattern.needs) + 3


def _judged(
    judge: Callable[[str], str],
    question: str,
    point: Point,
    shown: str,
    answer: Answer,
) -> Met:
    verdict = judging.asked(judge, question, point.texts, shown, answer.written)
    if verdict.share and verdict.quote.strip() and not holds(cleaned(shown), verdict.quote):
        return Met(None, reason="quote_not_in_answer")
    evidence = verdict.quote or (_matched(point, answer).evidence if verdict.share else "")
    return Met(verdict.share, evidence, verdict.reason)


# --- all points --------------------------------------------------------------------------------


def _verdict(points: Sequence[Point], found: Sequence[Met], limit: float | None) -> Score:
    """`limit` None: all points are required, so one that is surely missing decides."""
    counted = [(p, met) for p, met in zip(points, found, strict=True) if p.weight]
    unread = next((met.reason for _, met in counted if met.share is None), "")
    surely_missing = any(met.share is not None and met.share < 1 for _, met in counted)
    if unread and not (limit is None and surely_missing):
        return unmeasured("error", unread)
    missing = [
        str(i) for i, met in enumerate(found, start=1) if met.share is not None and met.share < 1
    ]
    reason = f"missing: {', '.join(missing)}" if missing else ""
    total = sum(point.weight for point, _ in counted)
    value = sum(point.weight * (met.share or 0.0) for point, met in counted) / total
    right = not surely_missing if limit is None else value >= limit - 1e-9
    return Score(right, float(right) if limit is None else value, _told(found), "ok", reason, False)


def _one_line(text: str) -> str:
    return " ".join(text.replace(LINE_BREAK, " ").split())


def _told(found: Sequence[Met]) -> str:
    """`1 met: "evidence"; 2 missing`."""
    told = []
    for number, met in enumerate(found, start=1):
        if met.share is None:
            told.append(f"{number} unscored")
        elif met.share < 1:
            told.append(
                f"{number} missing" if not met.share else f"{number} in part: {met.share:g}"
            )
        else:
            quote = _one_line(met.evidence)
            quote = quote if len(quote) <= MAX_QUOTE else quote[: MAX_QUOTE - 1] + "…"
            told.append(f'{number} met: "{quote}"' if quote else f"{number} met")
    return "; ".join(told)[:MAX_EXTRACTED]
