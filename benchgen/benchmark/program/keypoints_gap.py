"""What may stand between two words of a point: little, and no second statement."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from .keypoints_lists import (
    BLOCKING,
    BOUNDING,
    FILLING,
    IRREGULAR,
    LINE_BREAK,
    NEGATORS,
    PREPOSITIONS,
    SCALES,
    WEAKENING,
    word_set,
)
from .keypoints_points import Pattern

_MONTHS = word_set(
    "january february march april maymonth june july august september october november december"
)
_RELATIVE = ([":"], [",", "which"], ["which"], ["that"], ["who"], [",", "who"], [",", "that"])


def in_gap(gap: list[str], following: str, point: Pattern) -> int | None:
    """How many words between two words of a point deny the second, `following`; None if they part the two."""
    gap = [word for word in gap if word != LINE_BREAK]
    if not gap or gap in _RELATIVE:
        return 0
    if gap[:2] == ["used", "to"]:  # it did, and does no longer
        return None
    rest = _without_asides(gap)
    if rest is None or len(rest) > 12 or not _joins(rest, len(rest) < len(gap), point.said):
        return None
    shared = rest[-1:] == ["and"]  # `S does this and V`: what denies `this` need not deny V
    if _IS_ONE_THAT.fullmatch(" ".join(rest)):
        rest.pop()
    relative = rest[:1] in (["that"], ["which"], ["who"]) and len(rest) < 9
    if relative:
        del rest[0]
    numbered = point.numbered and not (shared and following.isalpha())
    while rest and rest[-1] in ("to", "help", "helps", "helped"):  # `S helps (to) V`
        rest.pop()
    dated = _MONTHS.intersection(rest)  # `on 8 May 1945` for `in 1945`
    if any(_breaks(word, point, numbered and not dated) for word in rest) or _by_last(rest):
        return None
    if _room(rest, 4 if shared or relative else 2, point.said) < 0:
        return None
    strict = sum(word in NEGATORS for word in rest) * (not shared or following[-1:] != "s")
    return strict + (not shared) * sum(
        word in WEAKENING and word not in point.said for word in rest
    )


_IS_ONE_THAT = re.compile(
    r"(?:is|are|was|were) (?:an?|the|one of the|those) (?:\w+ ){1,4}(?:that|which|who)"
)


def _joins(rest: Sequence[str], aside: bool, said: Collection[str]) -> bool:
    """`and` joins what is around it to the same statement: first (`S and others V`) or last (`S does this and V`)."""
    places = [at for at, word in enumerate(rest) if word == "and"]
    if not places or "and" in said:
        return True
    return not aside and len(places) == 1 < len(rest) and places[0] in (0, len(rest) - 1)


def _room(rest: Sequence[str], room: int, said: Collection[str]) -> int:
    """How many more words of its own a gap might hold; below 0 it holds another statement."""
    for word in rest:
        if word in PREPOSITIONS:
            room = max(room, 3)
        elif not (word in FILLING or word in said or word.endswith("ly")):
            room -= 1
            if room < 0:
                break
    return room


def _breaks(word: str, point: Pattern, numbered: bool) -> bool:
    if word in point.said:
        return False
    if word in BLOCKING or word in point.opposed or IRREGULAR.get(word) in point.opposed:
        return True
    return numbered and (word[-1].isdigit() or word in BOUNDING | SCALES)


def _by_last(rest: Sequence[str]) -> bool:
    """Nothing but articles after `by`: what follows does it, where the point says that it suffers it."""
    left = [word for word in rest if word not in ("a", "an", "the", "its", "their")]
    return left[-1:] == ["by"]


def _without_asides(gap: Sequence[str]) -> list[str] | None:
    """The gap without what stands in brackets or between a pair of commas or dashes; None if unpaired."""
    kept: list[str] = []
    closing = ""
    for word in gap:
        if closing:
            closing = "" if word == closing else closing
        elif word in ("(", ",", "--"):
            closing = ")" if word == "(" else word
        elif word in (")", ":", ";"):
            return None
        else:
            kept.append(word)
    return None if closing else kept
