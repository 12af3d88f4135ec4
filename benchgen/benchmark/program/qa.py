"""Short answers: is the one that the reply declares among the accepted texts? Policy: score.py."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import declared, reading, spelling
from .verdict import Score, judged, missed, unmeasured

MAX_PLACES = 64
"""Declarations looked at, from the last backwards."""
MAX_UNDECLARED_WORDS = 12
"""A longer reply that declares nothing is no answer, rather than a wrong one."""


def score(  # noqa: PLR0913 - the options are the caller's words
    reply: str,
    target: object,
    *,
    truncated: bool = False,
    format: str = "",
    keep_case: bool = False,
    keep_articles: bool = False,
    keep_punctuation: bool = False,
) -> Score:
    """The verdict on one reply; `target` is an accepted text or a list of them."""
    accepted = target if isinstance(target, (list, tuple)) else [target]
    if not accepted or not all(_usable(text) for text in accepted):
        return unmeasured("error", "unreadable_target")
    read = reading.read(reply, truncated=truncated)
    text = read.parts[0].strip()
    whole = not (read.cut and len(read.parts) == 1)
    if format == "json":
        return _score_json(text, accepted, whole)
    if format not in ("", "text"):
        return unmeasured("error", "unknown_format")
    fold = partial(spelling.folded, case=keep_case, articles=keep_articles, marks=keep_punctuation)
    golds = {fold(spelling.normalised(str(gold))) for gold in accepted}
    if not text:
        return missed("truncated" if truncated else "no_answer", read.note or "no_text")
    return _score_text(text, golds, fold, whole)


def _usable(text: object) -> bool:
    return isinstance(text, (str, int, float)) and bool(str(text).strip())


def _score_text(text: str, golds: set[str], fold: Callable[[str], str], whole: bool) -> Score:
    longest = 4 * max(map(len, golds)) + 200  # a longer text folds to none of them

    def accepted(value: str) -> bool:
        return len(value) <= longest and fold(value) in golds

    answer = _declared(text, whole)
    if answer is not None:
        right = next((value for value in _readings(answer) if accepted(value)), None)
        shown = declared.peeled(answer if right is None else right)
        return judged(right is not None, shown or answer)
    if not whole:
        return missed("truncated", "no_final_answer")
    answer = declared.without_comment(text).strip()
    last = answer.rpartition("\n")[2]
    for candidate in dict.fromkeys((text, answer, last)):
        if len(candidate) > 2 * longest:
            continue
        for value in _readings(candidate):
            if accepted(value):
                return judged(True, declared.peeled(value) or value)
    if reading.refused(text):
        return missed("refused", "by_model")
    if len(answer.split(None, MAX_UNDECLARED_WORDS)) > MAX_UNDECLARED_WORDS:
        return missed("no_answer", "undeclared")
    return judged(False, declared.peeled(answer) or answer)


_A_LINE = re.compile(r"^[ \t]*\**a\**:\**[ \t]*(?=\S)", re.MULTILINE)
_NO_VALUE = re.compile(
    r"(?:helpful|correct|right|wrong|incorrect|clear|useful|given|found|based|below|as follows|that|because|also|in the)\b"
)


def _declared(text: str, whole: bool) -> str | None:
    """The value of the last declaration; of a cut text only that of a finished line."""
    low = spelling.lowered(text)
    found = [
        (d.value, d.line)
        for d in declared.declarations(text, low)
        if d.style not in ("pick", "label")
    ]
    found += [(m.end(), True) for m in _A_LINE.finditer(low)]
    for position, line in sorted(found)[: -MAX_PLACES - 1 : -1]:
        if not whole and (not line or "\n" not in text[position:].lstrip()):
            continue
        value = declared.line_at(text, position)
        if not value or (not line and _NO_VALUE.match(spelling.lowered(value))):
            continue
        return value
    return None


_NOT_BUT = re.compile(r"not\b[^\n]{0,200}?\b(?:but(?: rather)?|it(?:'s| is))\s+", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(
    r"\s*(?:,|-|\()?\s*\b(?:because|since|as|which|who|where|when|due to|so|being|rather than|instead of|not)\b"
    r"|\s+\(|\s-\s|;\s|[.!?]\s",
    re.IGNORECASE,
)


_YES_NO = re.compile(r"(yes|no|true|false)\b[,.;:!]", re.IGNORECASE)


def _readings(value: str) -> Iterator[str]:
    """The declared text, then what is left of it without fillers and afterthoughts."""
    yield value
    value = declared.peeled(value)
    yield value
    bare = declared.FILLER.match(value)
    if bare:
        value = value[bare.end() :]
        yield value
    turned = _NOT_BUT.match(value)
    if turned:
        value = value[turned.end() :]
        yield value
    after = _AFTERTHOUGHT.search(value)
    if after and value[: after.start()].strip():
        yield declared.peeled(value[: after.start()])
    verdict = _YES_NO.match(value)
    if verdict:
        yield verdict[1]
    stated = _sentence_end(value)
    if stated:
        yield stated


_COPULA = re.compile(r"\b(?:is|are|was|were)\s|\s=\s")
_UNSURE = re.compile(
    r"\b(?:not|never|no|n't|cannot|doubt|if|whether|maybe|wrong|incorrect|false|unless|might|could)\b|n't|\?"
)


def _sentence_end(line: str) -> str:
    """`X` of a short last sentence `... is X`, unless it is denied or doubted; else empty."""
    sentence = re.split(r"(?<=[.!?])\s+", line.strip())[-1]
    if len(sentence.split()) > 2 * MAX_UNDECLARED_WORDS or _UNSURE.search(sentence.lower()):
        return ""
    found = list(_COPULA.finditer(sentence))
    return declared.peeled(sentence[found[-1].end() :]) if found else ""


# --- JSON ------------------------------------------------------------------------------------

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def _score_json(text: str, accepted: Any, whole: bool) -> Score:
    """Equal by content: the order of an object's keys is free, a list's is not, 1 equals 1.0."""
    golds = [_json(gold) if isinstance(gold, str) else (gold,) for gold in accepted]
    if any(gold is None for gold in golds):
        return unmeasured("error", "unreadable_target")
    if not whole:
        return missed("truncated", "no_final_answer")
    fenced = _FENCE.findall(text)
    source = fenced[-1] if fenced else text
    starts = [at for at in (source.find("{"), source.find("[")) if at >= 0]
    found = _json(source) or (_json(source[min(starts) :]) if starts else None)
    if found is None:
        return missed("no_answer", "malformed_json")
    right = any(gold is not None and _equal(found[0], gold[0]) for gold in golds)
    return judged(right, source.strip()[:2000])


def _json(text: str) -> tuple[Any] | None:
    """The JSON value in a tuple, so that null can be told from none."""
    try:
        return (json.loads(text),)
    except (ValueError, RecursionError):
        return None


def _equal(a: Any, b: Any) -> bool:
    if isinstance(a, bool) or isinstance(b, bool):
        return a is b
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(_equal(a[key], b[key]) for key in a)
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(_equal, a, b))
    if isinstance(a, str) and isinstance(b, str):
        return spelling.normalised(a) == spelling.normalised(b)
    return bool(a == b)
