"""A key point prepared for matching: the words that it asks for, and the orders in which they may come.

Beside the point's own order: the passive, the two sides of `is the`, `breaking down of X`, a moved adverbial or clause, a genitive,
and the two sides of an `and`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from . import keypoints_solid as solid
from . import spelling
from .keypoints_lists import (
    ALONE,
    FORMULA_OF,
    IRREGULAR,
    LINKING,
    MARKS,
    NEGATORS,
    OPPOSITES,
    PARTICLES,
    PREPOSITIONS,
    SKIPPED,
    word_set,
)
from .keypoints_words import MAY, forms, is_participle, words

MAX_REORDERED = 12
"""Words: of a longer point only its own order is looked for."""
Need = frozenset[str]
"""The forms of a word: one of them must be met."""


@dataclass(frozen=True)
class Order:
    """The needs in an order in which a sentence may give them."""

    needs: tuple[Need, ...]
    participle: int = -1
    """Which need must be met by a participle: the verb of a passive."""
    helped: bool = False
    """With a form of `be` before it, or a comma."""
    alone: bool = False
    """The verb may also be one that says the same without `be`: `breaks down`, `is broken down`."""
    aside: tuple[str, ...] = ()
    """Words that stand elsewhere in the sentence, as they stand in the point."""
    joints: frozenset[int] = frozenset()
    """Needs that a comma may stand before."""
    closed: bool = False
    """No noun or verb may follow."""


@dataclass(frozen=True)
class Pattern:
    """A point prepared for matching."""

    needs: tuple[Need, ...]
    said: frozenset[str]
    """All words of the point, with their forms: none of them casts doubt on it."""
    opposed: frozenset[str]
    """Opposites of its words: one of them between its words says something else."""
    anchors: tuple[tuple[str, ...], ...]
    """A sentence in lower case without one of each of these cannot state the point."""
    negated: bool = False
    numbered: bool = False
    tokens: tuple[str, ...] = ()
    """All its words: a sentence of just these states it."""
    solid: str = ""
    """The point in a script without spaces, compared as a piece of text."""
    orders: tuple[Order, ...] = ()
    """In which its needs may be met, its own first."""


_DIRECTED = word_set("from to into by than between before after against over under")
"""With these the order of the words around tells who does what."""
_MOVABLE = word_set("in during at on within after before when under through between inside for")
BY, _OF = frozenset(("by",)), frozenset(("of",))
BE = frozenset(("be", "=", ":", "--"))


@lru_cache(maxsize=2048)
def prepared(point: str) -> Pattern | None:
    """The pattern of a normalised point; None if it says nothing that can be looked for."""
    if solid.written(point):
        text = solid.squeezed(point)
        return Pattern((), frozenset(), frozenset(), (), solid=text) if text else None
    found = _words_of(point)
    asked = _asked_of(found)
    if not asked.words:
        return None
    needs = _needs(asked.words)
    plain = tuple(word for word in found if word != ",")
    said = frozenset(found).union(*map(forms, found))
    opposites = frozenset().union(*(OPPOSITES.get(word, frozenset()) for word in said))
    # No preposition and no pair of opposites makes the order of its words say who or what is which.
    free = _DIRECTED.isdisjoint(said) and opposites.isdisjoint(said - SKIPPED)
    orders = [_order(asked, asked.joints | {asked.passive})]
    if 1 < len(needs) <= MAX_REORDERED:
        orders += _voices(needs, asked, subject=plain[0] not in _PRONOUNS)
        orders += [
            *_identity(needs, found),
            *_moved(needs, plain, asked.passive),
            *_clauses(needs, asked),
            *_genitives(point),
        ]
        orders += _paired(needs, asked) if free else ()
    return Pattern(
        needs,
        said,
        opposed=opposites - said,
        anchors=_anchors(asked.words),
        negated=not NEGATORS.isdisjoint(found),
        numbered=any(word[-1].isdigit() for word in asked.words),
        tokens=plain,
        orders=tuple(orders),
    )


def _words_of(point: str) -> list[str]:
    """Its words and commas."""
    return [word for word in words(point, turned=False) if word == "," or word not in MARKS]


def _order(asked: Asked, joints: frozenset[int]) -> Order:
    """The words as they stand."""
    return Order(_needs(asked.words), asked.passive, helped=True, alone=True, joints=joints)


def _paired(needs: tuple[Need, ...], asked: Asked) -> Iterator[Order]:
    """`glucose and oxygen` for `oxygen and glucose`."""
    for at in asked.pairs:
        if 0 < at < len(needs):
            yield Order((*needs[: at - 1], needs[at], needs[at - 1], *needs[at + 1 :]))


# --- what a point asks for ---------------------------------------------------------------------


@dataclass(frozen=True)
class Asked:
    """The words of a point that a reply is asked for, and places among them."""

    words: list[str]
    passive: int
    """The verb of a passive, or -1."""
    joints: frozenset[int]
    """After a comma."""
    phrases: frozenset[int]
    """With a preposition before them, or themselves one."""
    pairs: frozenset[int]
    """After `and`."""


def _needs(kept: Sequence[str]) -> tuple[Need, ...]:
    return tuple(BE if IRREGULAR.get(word, word) == "be" else forms(word) for word in kept)


def _asked_of(found: list[str]) -> Asked:
    """The words of a point that a reply is asked for."""
    kept: list[str] = []
    joints: set[int] = set()
    phrases: set[int] = set()
    pairs: set[int] = set()
    passive, helped = -1, False
    for at, word in enumerate(found):
        if word in PREPOSITIONS:
            phrases.add(len(kept))
        if word in (",", "and"):
            (joints if word == "," else pairs).add(len(kept))
        if word in SKIPPED or word in NEGATORS or word == ",":
            continue
        base = IRREGULAR.get(word, word)
        if base in ("be", "have") and _helps(found, at):
            helped = helped or base == "be"
            continue
        if helped and passive < 0 and not word.endswith("ly"):
            passive = len(kept) if is_participle(word) else -2
        kept.append(word)
    kept = kept or [word for word in found if word.isalnum()][:1]
    return Asked(kept, max(passive, -1), frozenset(joints), frozenset(phrases), frozenset(pairs))


def _helps(found: list[str], at: int) -> bool:
    """The form of `be` or `have` is an auxiliary: a participle follows."""
    following = [word for word in found[at + 1 : at + 5] if word not in SKIPPED | NEGATORS]
    verb = next((word for word in following if not word.endswith("ly")), "")
    return (
        is_participle(verb)
        or IRREGULAR.get(verb) == "be"
        or (verb.endswith("ing") and len(verb) > 5)
    )


_BASES = frozenset(IRREGULAR.values()) | IRREGULAR.keys()
_ENDING = re.compile(r"(?:ies|ied|ying|ation|ion|ing|ves|fe|ed|es|s|y|e|f)\Z")
_SPELT_TWO_WAYS = re.compile("our|or|tre|ter|bre|ber|ae|oe")


def _anchors(kept: list[str]) -> tuple[tuple[str, ...], ...]:
    """For each regular word its beginning, common to its inflections, or the formula in its place."""
    found = []
    for word in kept:
        stem = _ENDING.sub("", word)
        if len(stem) < 3 or not word.isalpha() or word == MAY or not _BASES.isdisjoint(forms(word)):
            continue
        start = stem[: 3 if _SPELT_TWO_WAYS.search(word) else 5]
        start = start[:-1] if start[-1] == start[-2] else start
        found.append((start, FORMULA_OF[word]) if word in FORMULA_OF else (start,))
    return tuple(sorted(found, key=lambda starts: -len(starts[0])))


def may_state(pattern: Pattern, low: str) -> bool:
    """The cheap test before a sentence, in lower case, is taken apart."""
    low = low.replace("-", "")
    for starts in pattern.anchors:  # noqa: SIM110 - a generator costs more than the search
        if not spelling.any_of(starts, low):
            return False
    return True


# --- other orders ------------------------------------------------------------------------------


def _voices(needs: tuple[Need, ...], asked: Asked, *, subject: bool) -> Iterator[Order]:
    """The passive of an active point and the reverse, `V-ing of S` for `S V`, a particle after its object.

    `subject` False: the point's subject is a pronoun, so that the first need is its verb.
    """
    by = next((at for at, need in enumerate(needs) if need == BY), 0)
    for at in range(int(subject), len(needs)):
        end = at + 1
        if end < len(needs) and needs[end] & PARTICLES:
            end += 1
        agent, verb, thing = needs[:at], needs[at:end], needs[end:]
        if verb[0] & (LINKING | PARTICLES) or verb[0] == BE or BY in verb:
            continue
        if by:
            if end == by and by + 1 < len(needs):
                yield Order((*needs[by + 1 :], *verb, *agent))
        elif thing:
            first = next(
                (k - end for k in range(end, len(needs)) if k in asked.phrases), len(thing)
            )
            yield from _passives(agent, verb, thing[:first], thing[first:])
        elif asked.passive == at:
            yield Order((*verb, *agent))
        elif BE not in needs and agent:
            yield Order((*verb, _OF, *agent))
            if verb[0] & ALONE:
                yield Order((*verb, *agent), closed=True)


def _passives(
    agent: tuple[Need, ...],
    verb: tuple[Need, ...],
    patient: tuple[Need, ...],
    rest: tuple[Need, ...],
) -> Iterator[Order]:
    """`amylase breaks down starch into sugars`: `starch is broken down (by amylase) into sugars (by amylase)`."""
    if not patient:
        return
    count = len(patient)
    if not agent:
        yield Order((*patient, *verb, *rest), count, helped=True, joints=frozenset((count,)))
        return
    yield Order((*patient, *verb, *rest, BY, *agent), count, joints=frozenset((count,)))
    if rest:
        yield Order((*patient, *verb, BY, *agent, *rest), count)
    if len(verb) == 2:
        yield Order((*agent, verb[0], *patient, verb[1], *rest))


def _identity(needs: tuple[Need, ...], found: Sequence[str]) -> Iterator[Order]:
    """`the largest continent is Asia` for `Asia is the largest continent`: what is one with `the …`."""
    verb = next((at for at, word in enumerate(found) if IRREGULAR.get(word) == "be"), -1)
    at = next((k for k, need in enumerate(needs) if need == BE), 0)
    if 0 < at < len(needs) - 1 and found[verb + 1 : verb + 2] == ["the"]:
        yield Order((*needs[at + 1 :], BE, *needs[:at]))


_PRONOUNS = word_set("it they he she this that these we you there")


def _clauses(needs: tuple[Need, ...], asked: Asked) -> Iterator[Order]:
    """`the price rises when supply falls` for `when supply falls, the price rises` and the reverse."""
    at = next((k for k, word in enumerate(asked.words) if word in _SUBORDINATING), -1)
    if at == 0:
        at = min(asked.joints, default=0)
    if at > 0:
        yield Order((*needs[at:], *needs[:at]), joints=frozenset((len(needs) - at,)))
        yield Order(needs, joints=asked.joints | {at})


_SUBORDINATING = word_set("when whenever if because while once before after until unless since")
_GENITIVE = re.compile(r"(\w{2,30})'s (\w{2,30})")
_OF_GENITIVE = re.compile(r"(\w{2,30}) of (?:the |an? )?(\w{2,30})")


def _genitives(point: str) -> Iterator[Order]:
    """`the axis of the Earth` for `Earth's axis` and the reverse."""
    for turned in (_GENITIVE.sub(r"\2 of \1", point), _OF_GENITIVE.sub(r"\2 \1", point)):
        if turned != point:
            asked = _asked_of(_words_of(turned))
            yield _order(asked, asked.joints)


def _moved(needs: tuple[Need, ...], found: Sequence[str], passive: int) -> Iterator[Order]:
    """The point without its last adverbial (`in autumn`), which then stands elsewhere."""
    places = [at for at, word in enumerate(found) if word in _MOVABLE and at > 1]
    if not places:
        return
    aside = tuple(found[places[-1] :])
    count = sum(word not in SKIPPED for word in aside)
    if 0 < count <= 4 and len(needs) - count > 1:
        left = needs[: len(needs) - count]
        passive = passive if passive < len(left) else -1
        yield Order(left, passive, helped=True, alone=True, aside=aside)
