"""Which number a reply settles on: declared, or stated at its end. Policy: numeric.py."""

from __future__ import annotations

import re
from typing import NamedTuple

from . import declared, reading, spelling
from . import numeric_stated as statements
from .corrections import corrections, retractions
from .numeric_end import MAX_TAIL, SENTENCE, undeclared
from .numeric_items import SEVERAL, UNREADABLE, Notation
from .numeric_spelled import Number, literal
from .numeric_stated import NOTHING, Stated

MAX_PART = 200_000
"""Characters from the end of one part of the reply in which its answer may stand."""
MAX_PLACES = 64
"""Declarations looked at, from the last backwards, until one can be read."""
MAX_AFTER = 20_000
"""Characters, of the end or behind a declaration, in which a second thought is looked for."""


def settled(read: reading.Reading, notation: Notation) -> Stated:
    """The number of the first part of the reply that settles on any; later parts are other questions'.

    Without numbers: `reason` says why there is none; `truncated` if the reply was cut before it.
    """
    first = NOTHING
    for number, part in enumerate(read.parts):
        part = part[-MAX_PART:]
        low = spelling.lowered(part)
        if read.cut and number == len(read.parts) - 1:
            found = _before_the_cut(part, low, notation)
        else:
            found = _last_line(part, low, notation) or _declared(part, low, notation)
        if found.numbers or found.reason not in ("", "truncated"):
            return found
        first = first if first.reason else found
    return first


_PLAIN = re.compile(r"[-+]?\d{1,15}(?:\.\d{1,15})?")
_BEFORE_PLAIN = frozenset(("", "final", "the final", "the", "so the", "so the final"))


def _last_line(part: str, low: str, notation: Notation) -> Stated | None:
    """The common case without a search: the last line is `Answer: 42` and nothing else."""
    at = low.rfind("answer:")
    if at < 0 or "\n" in low[at:].rstrip() or notation.decimal == "comma":
        return None
    value = part[at + 7 :].strip(" \n\t*$").removesuffix(".")
    lead = low[low.rfind("\n", 0, at) + 1 : at].strip(" *#_>")
    if lead not in _BEFORE_PLAIN or not _PLAIN.fullmatch(value):
        return None
    number = literal(value.lstrip("+-"))
    if number is None:
        return None
    signed = -number.value if value[0] == "-" else number.value
    return Stated((Number(signed, number.decimal),), value)


# --- declarations ----------------------------------------------------------------------------


class _Place(NamedTuple):
    value: int
    """Where the declared text begins."""
    style: str
    """declared.py's, or hash or correction."""
    start: int


_HASHES = re.compile(r"^[ \t*]{0,4}#{4}[ \t*]{0,6}(?=[^#\s])", re.MULTILINE)
_A_LINE = re.compile(r"^[ \t*]{0,4}a\**[ \t]?:\**[ \t]{0,4}(?=\S)", re.MULTILINE)
# Not the answer but a stage on the way to it.
_STAGE = re.compile(r"\b(?:part|step|first|second|intermediate|previous|sub-?question|so far)\b")


def _declared(part: str, low: str, notation: Notation) -> Stated:
    """The last readable declaration that is not taken back; without any, what the end states."""
    places = _places(part, low)
    broken = NOTHING
    for place in places[: -MAX_PLACES - 1 : -1]:
        if place.style == "answer" and _STAGE.search(low, place.start, place.value):
            continue
        if broken.reason and place.style not in ("answer", "hash", "tag"):
            continue
        found = _value(part, place, place is places[-1], notation)
        if place.style == "boxed" and found.reason == UNREADABLE:
            broken = broken if broken.reason else found  # an answer line beside it may be readable
        elif found.numbers or found.reason:
            return _unless_retracted(found, part, low, place.value, notation)
    return broken if broken.reason else undeclared(part, notation)


def _places(part: str, low: str) -> list[_Place]:
    places = [_Place(d.value, d.style, d.start) for d in declared.declarations(part, low)]
    if "a:" in low or "a*" in low:
        places += [_Place(m.end(), "answer", m.start()) for m in _A_LINE.finditer(low)]
    if "####" in low:
        places += [_Place(m.end(), "hash", m.start()) for m in _HASHES.finditer(low)]
    tail = max(0, len(low) - MAX_AFTER)
    places += [_Place(m.end(), "correction", m.start()) for m in corrections(low, tail)]
    return sorted(places)


def _value(part: str, place: _Place, last: bool, notation: Notation) -> Stated:
    """What is declared at that place."""
    if place.style == "boxed":
        return _boxed(part, place.value, notation)
    if place.style == "correction":
        line = SENTENCE.split(part[place.value : place.value + 120], maxsplit=1)[0]
        found = statements.bare(line, notation)
        return found if found.numbers else NOTHING
    line = declared.line_at(part, place.value)
    if place.style == "hash":
        return statements.bare(line, notation)
    if place.style in ("pick", "label"):
        return _weak(part, place, line, notation)
    return _answer(part, place.value, line, last, notation)


_BOX_BEFORE = re.compile(
    r"\\boxed\s?\{([^{}\n]{1,80})\}[\s$,;]{0,6}(?:(?:and|or)[\s$]{1,4})?\\boxed\s?\{\Z"
)


def _boxed(part: str, position: int, notation: Notation) -> Stated:
    inside, _ = _braced(part, position)
    if not inside.strip():
        return NOTHING
    beside = _BOX_BEFORE.search(part[max(0, position - 200) : position])
    if beside and beside[1].strip() != inside.strip():
        return Stated(reason=SEVERAL)
    inside = f"{{{inside}}}" if inside.rstrip().endswith("!") else inside  # a factorial
    for rule in (statements.bare, statements.concluded, statements.worded):
        found = rule(inside, notation)
        if found.numbers or found.reason:
            return found
    return Stated(reason=UNREADABLE)


def _braced(text: str, position: int) -> tuple[str, int]:
    """What stands in the braces that open before `position`, and where they close; ("", 0) if they do not."""
    depth = 1
    for at in range(position, min(len(text), position + declared.MAX_VALUE)):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return text[position:at], at
    return "", 0


def _weak(part: str, place: _Place, line: str, notation: Notation) -> Stated:
    """`Result: 5` and `I would say 5` count where no number follows them."""
    sentence = SENTENCE.split(line, maxsplit=1)[0]
    if _said_first(sentence, notation).numbers and _COMPUTED.search(sentence):
        return Stated(reason=SEVERAL)  # `The result is 12, and 12 / 4 = 3`: which of them?
    at = max(part.find(sentence, place.value), place.value) + len(sentence)
    if len(part) - at > MAX_TAIL or _DIGIT.search(declared.without_comment("\n" + part[at:])):
        return NOTHING
    rule = statements.bare if place.style == "label" else statements.headed
    found = rule(sentence, notation)
    return found if found.numbers else NOTHING


_FIRST = re.compile(
    r"[\s*_`$]{0,6}(?P<value>[-+]?[$€£¥]?\d[\d.,]{0,30}?%?(?:[ ][a-zA-Z]{1,12})?)[*_`$]{0,4}"
    r"(?:[,;](?=\s)|\.(?=\s)|\s\()(?=[^\n]*\d)"
)
_COMPUTED = re.compile(r"\d\s?=|=\s?[-+$]?\d")


def _said_first(line: str, notation: Notation) -> Stated:
    """The plain number that a declared line begins with, where other numbers follow in its remarks."""
    first = _FIRST.match(line)
    return statements.bare(first["value"], notation) if first else NOTHING


_DIGIT = re.compile(r"\d")
_COMPUTES = re.compile(r"\d\s?[-+*/×·]\s?\$?\d[^=\n]{0,60}=")
_NO_NUMBER = re.compile(
    r"\W{0,8}(?:(?:it|this|that) )?(?:is |are |would be |be )?"
    r"(?:unknown|undefined|undetermined|indeterminate|infinit\w{1,3}|inf|nan|none|null|n/a"
    r"|not (?:enough|defined|possible|known|given|determin\w{1,6})|impossible|cannot|can't|there is no"
    r"|no (?:real )?(?:solution|answer)|true|false|yes|no)(?![^\W\d_])"
)


def _answer(part: str, position: int, line: str, last: bool, notation: Notation) -> Stated:
    """The value of `Answer: …`; where a worked solution stands there, what that comes to."""
    at = max(part.find(line, position), position)
    if _BULLET.match(line) and "\n" in part[position:at]:
        if _goes_on_as_list(part, at + len(line)):
            return Stated(reason=SEVERAL)
        line = line[2:]
    for rule in (_said_first, statements.bare):
        found = rule(line, notation)
        if found.numbers or found.reason:
            return found
    found = statements.headed(line, notation)
    if found.numbers or found.reason:
        end = at + len(SENTENCE.split(line, maxsplit=1)[0])
        if last and _COMPUTES.search(line) and _COMPUTES.search(part, end):
            later = undeclared(part[at:], notation)
            return later if later.numbers else found
        return _unless_asked(found, line, part[at:])
    if _NO_NUMBER.match(spelling.lowered(line)):
        return Stated(reason="not_a_number")
    found = statements.worded(line, notation)
    if found.numbers or found.reason:
        return found
    found = undeclared(part[at:], notation) if last else NOTHING
    return found if found.numbers else _in_prose(line, notation)


def _in_prose(line: str, notation: Notation) -> Stated:
    """What the declared line's first sentence states; a few words that cannot be read are no answer."""
    found = statements.concluded(SENTENCE.split(line, maxsplit=1)[0], notation)
    short = any(c.isdigit() for c in line) and len(line.split()) <= 3
    return found if found.numbers or found.reason or not short else Stated(reason=UNREADABLE)


def _unless_asked(found: Stated, line: str, rest: str) -> Stated:
    """`The answer is 42? No.` asks; a question mark that ends the reply does not."""
    end = line.find(found.text) + len(found.text) + 2 if found.text else 0
    return NOTHING if "?" in line[:end] and rest.strip() != line.strip() else found


_BULLET = re.compile(r"[-*•+][ \t]")


def _goes_on_as_list(part: str, at: int) -> bool:
    """Whether the next line is a bullet with a number too."""
    follows = part[at : at + 200].lstrip("\n").split("\n", 1)[0].lstrip()
    return bool(_BULLET.match(follows) and _DIGIT.search(follows))


def _unless_retracted(
    found: Stated, part: str, low: str, position: int, notation: Notation
) -> Stated:
    """The declared value, unless what follows takes it back: then what stands after that, if anything."""
    after = low[position : position + MAX_AFTER]
    ends = [match.end() for match in retractions(after)]
    if not ends:
        return found
    later = undeclared(part[position + ends[-1] :], notation)
    return later if later.numbers else Stated(reason="retracted")


# --- cut at the token limit ------------------------------------------------------------------

_RECONSIDERS = re.compile(
    r"\b(?:wait|actually|however|reconsider|hmm|let me|let's|but|no,|correction|sorry|answer|mistake)\b|\d"
)
_OPENING = re.compile(
    r"(?:(?:so|thus|therefore|hence|now)?[ ,]{0,2}(?:the |my )?(?:final |correct )?)?\Z"
)


def _before_the_cut(part: str, low: str, notation: Notation) -> Stated:
    """A truncated text counts only by a whole answer line with no number or second thought behind it."""
    end = part.rfind("\n") + 1
    whole = part[:end]
    places = _places(whole, low[:end])
    for place in places[: -MAX_PLACES - 1 : -1]:
        if place.style in ("pick", "correction"):
            continue
        lead = low[low.rfind("\n", 0, place.start) + 1 : place.start].strip(" \t#*_>`$\\[(-✅")
        if place.style == "boxed":
            inside, at = _braced(whole, place.value)
            lead = ""
        else:
            inside = declared.line_at(whole, place.value)
            at = max(whole.find(inside, place.value), place.value)
        found = statements.bare(inside, notation) if inside else NOTHING
        after = low[at : at + MAX_AFTER].partition("\n")[2]
        if found.numbers and _OPENING.match(lead) and not _RECONSIDERS.search(after):
            return found
        break
    return Stated(reason="truncated")
