"""Is one point stated by one sentence? Deterministic; a miss is preferred to a false credit.

A point's words must stand in the sentence in one of the point's orders (inflection free), with little
between them and no clause boundary. What is denied, supposed, doubted or reported is not stated; a negative
point is stated by a negative sentence only.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import keypoints_solid as solid
from .keypoints_doubt import after, before
from .keypoints_gap import in_gap
from .keypoints_lists import (
    ALONE,
    BOUNDING,
    IRREGULAR,
    NEGATORS,
    PARTICLES,
    SCALES,
    SEPARATORS,
    SKIPPED,
    word_set,
)
from .keypoints_points import BE, BY, Need, Order, Pattern
from .keypoints_words import DENIED, STATED, forms, is_participle, words

MAX_STARTS, MAX_REACH = 16, 20
_DURING = frozenset(("in", "during", "at", "on", "within"))


@dataclass(frozen=True)
class Sentence:
    """A sentence's tokens and their forms."""

    tokens: list[str]
    forms: list[frozenset[str]]


@lru_cache(maxsize=64)
def _taken_apart(text: str, turned: bool) -> Sentence:
    tokens = words(text, turned=turned)
    return Sentence(tokens, [forms(token) for token in tokens])


def find(pattern: Pattern, text: str) -> str:
    """or "" if the normalised sentence does not speak of the point."""
    if pattern.solid:
        return solid.find(pattern.solid, text)
    sentence = _taken_apart(text, not pattern.negated)
    if pattern.tokens == tuple(word for word in sentence.tokens if word not in SEPARATORS):
        return STATED
    known = frozenset().union(*sentence.forms, ("=",))
    if any(need.isdisjoint(known) for need in pattern.needs if need not in (BE, BY)):
        return ""
    verdict = ""
    for start, end, denials in _spans(pattern, sentence):
        outer = before(sentence.tokens, start, pattern.said)
        if outer is None or _goes_on(pattern, sentence.tokens, start, end):
            continue
        if _acts(pattern, sentence, end) or _ranked(sentence.tokens, start, end, pattern):
            continue
        denials += outer + after(sentence.tokens, end, pattern.said)
        if denials == pattern.negated:
            return STATED
        verdict = DENIED
    return verdict


Span = tuple[int, int, int]
"""(first token, after the last token, denials between them)"""


def _spans(pattern: Pattern, sentence: Sentence) -> Iterator[Span]:
    for order in pattern.orders:
        for start in _places(order.needs[0], sentence)[:MAX_STARTS]:
            walked = _walk(order.needs, start, pattern, sentence, order.joints)
            if walked and _voiced(order, walked[0], sentence):
                places, denials = walked
                aside = _stands(order.aside, sentence.tokens) if order.aside else 0
                closed = not order.closed or _closed(sentence.tokens, places[-1] + 1)
                if aside >= 0 and closed:
                    yield places[0], max(places[-1] + 1, aside), denials


def _places(need: Need, sentence: Sentence) -> list[int]:
    return [at for at, form in enumerate(sentence.forms) if not need.isdisjoint(form)]


def _walk(
    needs: Sequence[Need],
    start: int,
    pattern: Pattern,
    sentence: Sentence,
    joints: Collection[int] = (),
) -> tuple[list[int], int] | None:
    """(where each need is met, denials between) from a token that meets the first; None if they are not."""
    places, denials = [start], 0
    for number, need in enumerate(needs[1:], start=1):
        first = places[-1] + 1
        reach = range(first, min(first + MAX_REACH, len(sentence.tokens)))
        at = next((k for k in reach if not need.isdisjoint(sentence.forms[k])), None)
        if at is None:
            return None
        gap = sentence.tokens[first:at]
        if number in joints and gap[:1] == [","]:
            del gap[0]
        found = in_gap(gap, sentence.tokens[at], pattern)
        if found is None:
            return None
        places.append(at)
        denials += found
    return places, denials


def _voiced(order: Order, places: list[int], sentence: Sentence) -> bool:
    """Whether the verb of a passive is one here too."""
    if order.participle < 0:
        return True
    at = places[order.participle]
    if order.alone and not ALONE.isdisjoint(sentence.forms[at]):
        return True
    helpers = sentence.tokens[max(0, at - 4) : at]
    helped = any(IRREGULAR.get(word, word) in ("be", "get") for word in helpers)
    helped = helped or helpers[-1:] == [","]  # `the treaty, signed in 1648, …`
    return is_participle(sentence.tokens[at]) and (helped or not order.helped)


def _stands(aside: tuple[str, ...], tokens: Sequence[str]) -> int:
    """Where the moved words end, after their preposition or one of the same sense and not denied; or -1."""
    prepositions = _DURING if aside[0] in _DURING else frozenset(aside[:1])
    wanted = [forms(word) for word in aside[1:] if word not in SKIPPED]
    for at, token in enumerate(tokens):
        lead = tokens[at - 1] if at else ""
        if token not in prepositions or lead in NEGATORS or lead == "than":
            continue
        following = [k for k in range(at + 1, min(at + 8, len(tokens))) if tokens[k] not in SKIPPED]
        if len(following) >= len(wanted) and all(
            not need.isdisjoint(forms(tokens[k]))
            for need, k in zip(wanted, following, strict=False)
        ):
            return [at, *following][len(wanted)] + 1
    return -1


# --- what stands around the words --------------------------------------------------------------

_UNITS_ON = SCALES | {"%", "°"}
_NO_OBJECT = word_set(
    "again first too each every more less most faster slower soon early late later earlier away today now here there fast"
    " well also over under up down after before during in on at for with without by to from into as when while because if"
    " since until unless and but or so then that which who whereas although though than through between within upon due"
    " is are was were be has have had will can may does do did not of about around against along per once where"
)
_DETERMINERS = word_set("the a an its their this these those our your his her")

_RANKS = word_set("second third fourth fifth sixth seventh eighth ninth tenth next nd rd th among")
_SUPERLATIVE = re.compile(r"\w{2,}est\Z|(?:best|worst|most|least)\Z")


def _ranked(tokens: Sequence[str], start: int, end: int, pattern: Pattern) -> bool:
    """Whether a superlative is one of several or not the first: `second highest`, `one of the highest`."""
    for at in range(max(start, 1), end):
        if not _SUPERLATIVE.match(tokens[at]):
            continue
        lead = [word for word in tokens[max(0, at - 4) : at] if word not in _DETERMINERS]
        lower = lead[-1:] if lead[-2:] != ["1", "of"] else ["1"]
        if lower and lower[0] not in pattern.said and lower[0] in _RANKS | {"1"}:
            return True
    return False


def _goes_on(pattern: Pattern, tokens: Sequence[str], start: int, end: int) -> bool:
    """Whether a longer number or quantity stands around: 100 of `90 to 100`, of `100 million`, of `over 100`."""
    if not pattern.numbered:
        return False
    following = [*tokens[end : end + 2], "", ""]
    if tokens[end - 1][-1].isdigit():
        ranged = following[0] == "to" and following[1][-1:].isdigit()
        if following[0] in _UNITS_ON or following[0][-1:].isdigit() or ranged:
            return True
    lead = tokens[start - 1] if start else ""
    return tokens[start][-1].isdigit() and (lead in BOUNDING or lead[-1:].isdigit())


def _acts(pattern: Pattern, sentence: Sentence, end: int) -> bool:
    """Whether an object follows `S breaks down`, so that S does it rather than suffers it."""
    last = pattern.needs[-1]
    if len(pattern.needs) < 2 or not last & (PARTICLES | ALONE):
        return False
    return not last.isdisjoint(sentence.forms[end - 1]) and not _closed(sentence.tokens, end)


def _closed(tokens: Sequence[str], end: int) -> bool:
    """Whether no object begins there: `breaks down (the starch)`, but `breaks down (every autumn)`."""
    word = tokens[end] if end < len(tokens) else ""
    if word in _DETERMINERS:
        return False
    return not word.isalpha() or word in _NO_OBJECT or word.endswith(("ly", "ing"))
