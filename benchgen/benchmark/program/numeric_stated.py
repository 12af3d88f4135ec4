"""Which number a line or a sentence states, from what stands between its numbers.

`x = 3`, `2 + 3 = 5` and `1/3 ≈ 0.333` are what stands last; `3 and 7` is no one number.
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from .numeric_exact import as_float, plain
from .numeric_items import COPULA, NOT_COMPUTED, SEVERAL, UNREADABLE, Item, Notation, scan
from .numeric_markup import cleaned
from .numeric_operations import operated_on
from .numeric_parse import PERCENT
from .numeric_spelled import Number, in_words
from .spelling import any_of, lowered
from .values import standing


@dataclass(frozen=True, slots=True)
class Stated:
    """The number that a text states: several of equal standing (`1/3 ≈ 0.333`), or why there is none."""

    numbers: tuple[Number, ...] = ()
    text: str = ""
    unit: str = ""
    reason: str = ""


NOTHING = Stated()

# --- what is between them --------------------------------------------------------------------

_STOP = re.compile(
    r"[(:]|[.!?]\s|\s-\s|\b(?:because|since|as|which|that|who|if|when|where|while|given|but|due|i\.e|e\.g|namely|instead"
    r"|after|before|using|based|rounded|not|i|we|you|he|she|it|they|this|these|there)\b"
)
_CONCLUDES = re.compile(
    r"\b(?:so|thus|therefore|hence|total|altogether|making|giving|in all|leaving)\b"
)
_LIST = re.compile(
    r"[,;&/+*~…|]|\b(?:and|or|to|through|till|until|versus|vs|und|oder|bis|et|ou|y|o|plus|minus|times|divided|multiplied|by)\b"
    r"|[和或と到至、]"
)
_SOFT = frozenset(
    str.split(
        "of out per for in on at from with every each than more less left over under after ago among within into"
    )
)
_WORDS = re.compile(r"[^\W\d_]+")
_THAT_IS = re.compile(
    r"\W{0,4}(?:i\.e\.|namely|or|so(?: (?:it|that|the (?:total|sum|answer)) is)?|giving|making|totall?ing|equal(?:s|ling| to)"
    r"|(?:which|that|this|it)(?: (?:is|are|equals?|(?:gives|makes)(?: us)?|totals|(?:comes|adds up) to)|'s)),?"
    r"\s(?:about |roughly |just |exactly |equal to )?[$€£]?"
)
"""Behind an operation: what it comes to."""
_NAMED = re.compile(r"(?:\b(?:and|or)|[,;])\s+[a-hj-z]_?\d?\s*(?:=|is|≈)\s*\Z")
_FILLED = re.compile(
    r"(?:about|approximately|approx|around|roughly|exactly|precisely|only|just|nearly|almost|close to|equal to|a total of|total of"
    r"|simply|therefore|thus|so|is|it is|it's|that is|that's|to|then|usd|eur|gbp|rs|ca|circa|etwa|ungefähr|environ|约|大约|約|为|是"
    r"|:|=|≈|~|\W){0,12}\Z"
)


def _relation(gap: str) -> bool:
    """The text before a number says that it is what stands before it: `=`, `is`, `is about`."""
    gap = gap.rstrip(" \"'$€£¥*({[")
    if gap.endswith(("=", "≈", "→")):
        return True
    words = _WORDS.findall(gap[-60:])
    while words and words[-1] in (
        "about",
        "approximately",
        "exactly",
        "roughly",
        "only",
        "just",
        "to",
        "around",
        "usd",
    ):
        words.pop()
    return bool(words) and words[-1] in COPULA


def _is_operation(item: Item) -> bool:
    """Whether it stands there as an operation that is still to be done: `18 + 21`, `half of 42`."""
    return item.reason == NOT_COMPUTED or any(number.open for number in item.numbers)


def _gap(low: str, before: Item, after: Item) -> str:
    """What a gap between two numbers is: relation, list, soft, concludes or stop."""
    gap = low[before.next : after.start]
    if "→" in gap or (_is_operation(before) and _THAT_IS.fullmatch(gap)):
        return "relation"
    if _NAMED.search(gap):
        return "relation" if _unsolved(low, before) else "list"
    if gap.lstrip().startswith("(or "):
        return "list"
    if _STOP.search(gap):
        return "concludes" if _CONCLUDES.search(gap) else "stop"
    if _relation(gap):
        return "relation"
    words = _WORDS.findall(gap)
    if _CONCLUDES.search(gap):
        return "concludes"
    if _LIST.search(gap):
        return "list" if len(words) <= 4 else "soft"
    return "soft" if len(words) > 3 or not _SOFT.isdisjoint(words) else "list"


_BRACED = re.compile(r"\{[^{}]{0,40}\}")
_CALL = re.compile(
    r"\\?[^\W\d_]{2,20}\([^()]{0,30}\)|\b[a-z]\([^()=]{0,30}\)|_\{?\w{1,3}\}?|\\(?:angle|triangle)"
)
_WORD = re.compile(r"\\?[^\W\d_]{2,}")
_OPERATION = re.compile(r"\\(?:int|sum|prod|lim|max|min|binom|det|gcd|log|ln|mathbb)")
_VARIABLE = re.compile(
    r"(?<![^\W\d_])(?!(?:[mgshlLKJNWVACFBTd]|e|x)(?![^\W_]))[^\W\d_](?![^\W\d_])|(?<=\d)x(?!\s?\d)|\bx\b(?!\s?\d)"
)
_WORKING = re.compile(r"[-+*/^]\s?[\d{(]|\d\s?[-+*/^]|\d\s?[^\W\d_](?![^\W\d_])|\^")


def _unsolved(low: str, item: Item) -> bool:
    """The number is one side of an equation whose other side is no name: `3x + 2 = 0`, `x^2 = 4`."""
    before = low[max(0, item.start - 80) : item.start].rstrip(" $({[")
    if not before.endswith("="):
        return False
    before = _BRACED.sub("0", before)
    side = re.split(r"[=≈<,;:.→]\s|[=≈<;→]", before[:-1])[-1]
    if _OPERATION.search(side):
        return False
    formula = _WORD.split(_CALL.sub(" ", side))[-1]
    if "|" in formula:
        return True
    return bool(_VARIABLE.search(formula) and _WORKING.search(formula))


# --- what is stated --------------------------------------------------------------------------


def _result(items: list[Item], text: str, low: str) -> Stated:
    """What the first item and those that belong to it come to."""
    held = [items[0]]
    soft = False
    for item in items[1:]:
        if item.passing:
            continue
        kind = _gap(low, held[-1] if not soft else items[items.index(item) - 1], item)
        if kind == "stop" or (kind == "concludes" and len(held) == 1):
            break
        if kind in ("relation", "concludes"):
            held = [_chained(held[-1], item)]
            soft = False
        elif kind == "list" and not soft:
            held.append(item)
        else:
            soft = True
    first = held[0]
    if _unsolved(low, first):
        return Stated(reason=UNREADABLE)
    return _agreed(held, text)


def _chained(before: Item, after: Item) -> Item:
    """The later of two that are equal; the earlier stands beside it if the later is its rounding."""
    if not (before.numbers and after.numbers):
        return after
    a, b = before.numbers[0], after.numbers[0]
    x, y = plain(a), plain(b)
    if b.decimal and x != y and isinstance(y, Fraction):
        places = len(str(y.denominator)) - 1
        if abs(as_float(x) - as_float(y)) <= 0.501 * 10.0**-places:
            return replace(after, numbers=(b, a))
    return after


def _agreed(held: list[Item], text: str) -> Stated:
    first = held[0]
    reasons = [item.reason for item in held if item.reason]
    if reasons:
        return Stated(reason=SEVERAL if len(held) > 1 else reasons[0])
    if len({plain(item.numbers[0]) for item in held}) > 1:
        return Stated(reason=SEVERAL)
    return Stated(first.numbers, text[first.start : first.end].strip(" $"), first.unit)


@lru_cache(maxsize=256)
def _answers(given: str, notation: Notation) -> tuple[str, str, list[Item]]:
    """The cleaned text, its lower case, and its numbers that may be the answer.

    Those are not denied, and no step's number beside another. Kept for the next rule that asks.
    """
    text = cleaned(given)
    low = lowered(text)
    items = scan(text, notation)
    if any_of(_DENIALS, low):
        spans = [(item.start, item.end, i) for i, item in enumerate(items)]
        items = [items[i] for i in standing(low, spans)]
    return text, low, [item for item in items if not item.passing] or items[:1]


_DENIALS = (
    "not",
    "n't",
    "never",
    "wrong",
    "false",
    "correct",
    "instead",
    "rather",
    "than",
    "neither",
    "cannot",
    "unlike",
)


def headed(text: str, notation: Notation) -> Stated:
    """The number that the text begins with, fillers aside, and what it is said to equal."""
    text, low, items = _answers(text, notation)
    if not items or not _leads(low[: items[0].start]):
        return NOTHING
    return _result(items, text, low)


_NAME = re.compile(
    r"\W{0,6}(?:[^\W\d_]\w{0,2}|\\[a-z]{2,8})(?:_\{?\w{1,6}\}?)?(?:\s?\(\w\))?\s{0,2}[=≈:]\s?\W{0,4}\Z"
)


def _leads(before: str) -> bool:
    return len(before) < 80 and bool(_FILLED.match(before) or _NAME.match(before))


_TITLED = re.compile(r"\W{0,6}(?:[^\W_]+[ -]){0,5}[^\W_]+\W{0,3}[:=≈]\W{0,6}\Z")


_FUNCTION = re.compile(
    r"(?<![a-zA-Z\\])(?:log|ln|lg|sin|cos|tan|cot|sec|csc|exp|arc\w{3}|floor|ceil|gcd|lcm|max|min)[ ]?\(?[ ]?[-+]?\d"
    r"(?![^\n]{0,200}(?:=|\bis\b))"
)
"""A function that is not worked out: `log(4)` is no 4."""
_REMARK = re.compile(
    r"\bis\s+(\d[\d.]{0,15}),?\s(?:and|which|since|as|because)\b[^\n]{0,60}?(?<![\d.])\1\s?[-+*/×÷·]\s?\d[^=\n]{0,40}="
)
"""`is 12, and 12 / 4 = 3`: a value, and a computation with it."""
_COMPARES = re.compile(
    r"\s{0,3}(?:more|less|fewer|times|greater|larger|smaller|higher|lower|older|younger|percent of)\b"
)


def bare(text: str, notation: Notation) -> Stated:
    """The number that the text is, with a name before it and a unit behind it at most."""
    if _FUNCTION.search(text):
        return Stated(reason=UNREADABLE)
    text, low, items = _answers(text, notation)
    if not items:
        return NOTHING
    before = low[: items[0].start]
    titled = len(before) < 80 and bool(_TITLED.match(before))
    gaps = {_gap(low, a, b) for a, b in itertools.pairwise(items)}
    if not (titled or _leads(before)) or gaps - {"relation", "list"}:
        return NOTHING
    after = low[items[-1].next :]
    words = _WORDS.findall(after[:120])
    if len(words) > 4 or len(after) > 100 or _STOP.search(after) or not COPULA.isdisjoint(words):
        return NOTHING
    return _result(items, text, low)


def concluded(sentence: str, notation: Notation) -> Stated:
    """The number that a sentence comes to: after `=` or `is`, at its head, or the only one in it."""
    if _FUNCTION.search(sentence):
        return Stated(reason=UNREADABLE)
    if _REMARK.search(sentence):
        return Stated(reason=SEVERAL)
    text, low, items = _answers(sentence, notation)
    if not items:
        return NOTHING
    if _leads(low[: items[0].start]):
        return _result(items, text, low)
    for k in range(len(items) - 1, -1, -1):
        start = items[k - 1].next if k else 0
        gap = low[start : items[k].start]
        if _relation(gap) and not _COMPARES.match(low, items[k].next):
            several = k and _gap(low, items[k - 1], items[k]) == "list"
            return Stated(reason=SEVERAL) if several else _result(items[k:], text, low)
    return _agreed(items, text) if not _unsolved(low, items[0]) else Stated(reason=UNREADABLE)


_BEFORE_WORDS = re.compile(
    r"[\s\"'*_({\[$]{0,8}(?:(?:about|exactly|only|just|approximately|roughly)\s)?"
)
_OR_WORDS = re.compile(r"\W{0,3}(?:(?:or|to|and)\s+)?")


def worded(text: str, notation: Notation) -> Stated:
    """The number in words that the text begins with: `forty-two apples`."""
    text = cleaned(text)
    low = lowered(text)
    lead = _BEFORE_WORDS.match(low)
    start = lead.end() if lead else 0
    found = in_words(low[start : start + 200])
    if found is None:
        return NOTHING
    number, end = found
    rest = low[start + end :]
    several = _OR_WORDS.match(rest)
    if several and in_words(rest[several.end() :]):
        return Stated(reason=SEVERAL)
    glued = rest[:1].isalpha() and rest[0] < "\u0590"
    if glued or rest[:4] == " of " or operated_on("", rest) or any(c.isdigit() for c in rest[:40]):
        return NOTHING
    unit = _WORDS.search(rest)
    if unit and unit[0] in PERCENT:
        number = replace(number, percent=True)
    return Stated((number,), text[start : start + end], unit[0] if unit else "")
