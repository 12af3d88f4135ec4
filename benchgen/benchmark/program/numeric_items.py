"""The numbers of a text, and the places where one would stand but cannot be read.

A formula that cannot be read as a whole, a bound, a time of day and a pair are no numbers.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from .numeric_exact import Unreadable
from .numeric_operations import OF_NUMBER, operated_on
from .numeric_parse import Parser
from .numeric_spelled import Number
from .numeric_tokens import tokens
from .spelling import lowered


@dataclass(frozen=True, slots=True)
class Notation:
    """How numbers are written here."""

    decimal: str = "auto"
    units: frozenset[str] = frozenset()


MAX_ITEMS = 64
"""Numbers of one text that are looked at."""
SEVERAL = "several_values"
UNREADABLE = "unreadable_value"
NOT_COMPUTED = "not_computed"


@dataclass(frozen=True, slots=True)
class Item:
    """A number in a text, or a place where one would stand but cannot be read."""

    start: int
    end: int
    next: int
    """Where the text goes on behind its unit's exponent."""
    numbers: tuple[Number, ...]
    reason: str = ""
    unit: str = ""
    passing: bool = False
    """A step's or a page's number, `out of 100`, `2 decimal places`: never the answer beside another."""


# --- the numbers of a text -------------------------------------------------------------------

_STARTS = ("n", "frac", "√", "π", "list", "±", "∞", "⌚", "v")
_RELATIONS = ("=", "≈", "<")
_PUNCTUATION = (".", ";", "?", "!", ":", ",", "|", '"', "'", "→", "…", "⌚")
_OPERATORS = ("+", "-", "*", "/", "^", "_")
_UNIT_LETTERS = frozenset("mgshlLKJNWVACFBTdΩμÅ")
_GLUED_UNITS = frozenset(
    str.split(
        "st nd rd th km cm mm nm dm kg mg ml cl dl kJ kW kWh Wh MW GW MB GB TB KB kB kb Mb Gb Hz kHz MHz GHz mph kph kmh fps bps"
        " ms ns us min mins hr hrs sec secs h s m g l L J N W V A C F K B d ft in yd mi oz lb lbs pt qt gal sq ha"
        " USD EUR GBP CHF usd eur dollars euros cents hours minutes seconds days mol Pa kPa eV dB kcal cal rpm px em"
        " bits bytes ish am pm deg rad Ω Å μm μs μg"
    )
)
COPULA = frozenset(
    str.split(
        "is are was were be equals equal gives makes get have yields totals become becomes being ist sind"
    )
)
_LABELS = frozenset(
    str.split(
        "step steps question problem part option equation eq figure fig table line page chapter section item case example"
        " exercise method level round no nr stage version task phase rule"
    )
)


def scan(text: str, notation: Notation) -> list[Item]:
    """The numbers of a cleaned text in order, and the places of those that cannot be read."""
    parser = Parser(tokens(text, notation.decimal), notation.units)
    found: list[Item] = []
    i = 0
    while i < len(parser.tokens) and len(found) < MAX_ITEMS:
        token = parser.tokens[i]
        if (token.kind == "w" and len(token.text) > 1) or not _starts(parser, i):
            i += 1
            continue
        item, i = _item(parser, i, text)
        if item is not None:
            found.append(_placed(item, found, text))
    return found


def _starts(parser: Parser, i: int) -> bool:
    kind = parser.kind(i)
    if kind in _STARTS:
        return True
    if kind in ("(", "[", "{", "|"):
        return parser.operand(i + (kind == "|"))
    if kind in ("+", "-"):
        return parser.operand(i + 1) and not _is_dash(parser, i)
    return kind in ("w", "x") and (_is_variable(parser, i) or parser.is_e(i))


def _is_dash(parser: Parser, i: int) -> bool:
    """A minus sign between words, as in `the total - 42 - is` and `COVID-19`."""
    before = parser.tokens[i - 1] if i else None
    if parser.tokens[i].text.isalpha():  # the word minus
        return False
    if before is None or before.kind not in ("w", "v", ")", "%") or len(before.text) < 2:
        return False
    spaced = i + 1 < len(parser.tokens) and not parser.glued(i + 1)
    return (spaced or parser.glued(i)) and before.text.lower() not in COPULA


def _is_variable(parser: Parser, i: int) -> bool:
    """A single letter that an operator ties to something: `x + 1`, `f(2)`, `a_1`."""
    token = parser.tokens[i]
    if len(token.text) != 1 or token.text > "\u0590" or parser.is_e(i):
        return False
    after = parser.kind(i + 1)
    if after == "-" and not parser.glued(i + 1) and not parser.operand(i + 2):
        return False
    return after in _OPERATORS or (after in ("(", "n") and parser.glued(i + 1))


def _item(parser: Parser, i: int, text: str) -> tuple[Item | None, int]:
    """The number that begins at token i and the token behind it; None if it was only a bracket."""
    start = parser.tokens[i].start
    parser.depth = 0
    try:
        if parser.kind(i) in ("⌚", "∞"):
            raise Unreadable(UNREADABLE)
        number, j = parser.sum(i)
        reason = _continued(parser, j)
        if reason:
            raise Unreadable(reason)
    except Unreadable as error:
        if parser.kind(i) in ("(", "[", "{", "|") and str(error) == UNREADABLE:
            return None, i + 1
        j = _past(parser, i)
        end = parser.tokens[j - 1].end
        return Item(start, end, end, (), str(error)), j
    end = parser.tokens[j - 1].end
    if _RANGE.fullmatch(text, start, end) and _is_range(text[start:end]):
        return Item(start, end, end, (), SEVERAL), j
    k, unit = _unit(parser, j)
    return Item(start, end, parser.tokens[k - 1].end if k > j else end, (number,), "", unit), k


_RANGE = re.compile(r"\d[\d.,]{0,20}%?\s?-\s?\d[\d.,]{0,20}%?")


def _is_range(text: str) -> bool:
    """`5-10` names a stretch; `10-5` is a difference."""
    low, high = (re.sub(r"[^\d.]", "", part).strip(".") or "0" for part in text.split("-"))
    return low.count(".") < 2 and high.count(".") < 2 and Fraction(low) < Fraction(high)


def _continued(parser: Parser, j: int) -> str:
    """Why what ends before token j is but a part of something else; empty if it is whole."""
    kind = parser.kind(j)
    if kind in ("±", "list"):
        return SEVERAL
    if kind in ("v", "^", "‰") or (kind in ("(", "n") and parser.glued(j)):
        return UNREADABLE
    if kind in _OPERATORS:
        return UNREADABLE if _is_name(parser, j + 1) else ""
    if kind in ("w", "x"):
        return _with_word(parser, j)
    return ""


def _is_name(parser: Parser, j: int) -> bool:
    """A variable or an unknown command, as in `5 + x`."""
    if parser.kind(j) in ("v", "(", "∞"):
        return True
    single = parser.kind(j) in ("w", "x") and len(parser.tokens[j].text) == 1
    return single and (parser.glued(j) or parser.tokens[j].text not in ("a", "A", "I"))


_NO_VARIABLES = frozenset(("a", "A", "I", "à", "y", "e", "o"))
"""Single letters that are words somewhere."""


def _with_word(parser: Parser, j: int) -> str:
    """Why a number before that word is none; empty if the word is a unit or prose."""
    word = parser.tokens[j].text
    if word in parser.units or word.lower() in parser.units or word[0] > "\u0590":
        return ""
    if parser.glued(j):
        formula = len(word) == 1 and _in_formula(parser, j)
        return UNREADABLE if formula or word not in _GLUED_UNITS else ""
    if len(word) > 1 or word in _UNIT_LETTERS or word in _NO_VARIABLES:
        return ""
    last = j + 1 == len(parser.tokens)
    return UNREADABLE if last or parser.kind(j + 1) in _OPERATORS else ""


def _in_formula(parser: Parser, j: int) -> bool:
    """A letter behind digits that goes on as a formula does: `3m + 2`."""
    return parser.kind(j + 1) in ("+", "-", "*") and parser.operand(j + 2)


def _unit(parser: Parser, j: int) -> tuple[int, str]:
    """The position behind a unit's exponent and divisor (`m^2`, `km/h`), and the unit's first word."""
    first = parser.tokens[j].text if parser.kind(j) in ("w", "$") else ""
    k = j
    for _ in range(4):
        if parser.kind(k) != "w":
            break
        k += 1
        if parser.kind(k) == "^":
            k = _past_exponent(parser, k)
        if parser.kind(k) in ("/", "*") and parser.kind(k + 1) == "w":
            k += 1
        elif parser.kind(k) != "w" or parser.kind(k + 1) != "^":
            break
    return (k if k > j + 1 else j), first


def _past_exponent(parser: Parser, k: int) -> int:
    at = k + 1
    if parser.kind(at) == "{":
        at += 1
    if parser.kind(at) == "-":
        at += 1
    if parser.kind(at) != "n":
        return k
    return at + (2 if parser.kind(at + 1) == "}" else 1)


def _past(parser: Parser, i: int) -> int:
    """The token behind the formula that holds token i."""
    depth, j = 0, i
    while j < len(parser.tokens):
        kind = parser.kind(j)
        if kind in ("(", "[", "{"):
            depth += 1
        elif kind in (")", "]", "}"):
            depth -= 1
            if depth < 0:
                break
        elif depth == 0 and j > i and _breaks(parser, j):
            break
        j += 1
    return max(j, i + 1)


def _breaks(parser: Parser, j: int) -> bool:
    kind = parser.kind(j)
    if kind in _RELATIONS or kind in _PUNCTUATION:
        return True
    return kind == "w" and len(parser.tokens[j].text) > 1 and not parser.glued(j)


_BOUND = re.compile(
    r"(?:[<>≤≥≠⩽⩾]|\b(?:more|less|greater|fewer|higher|lower|larger|smaller|bigger)\s+than(?:\s+or\s+equal\s+to)?"
    r"|\bat\s+(?:least|most)|\b(?:up\s+to|over|under|above|below|exceeds?|exceeding))\W{0,3}\Z"
)
_OR_MORE = re.compile(
    r"\s?(?:\w+\s)?(?:or\s(?:more|less|fewer|greater|higher|lower|above|below)|and\s(?:above|up|over|more)|at\s(?:least|most))\b"
    r"|\+(?!\s?[\d\w(])|\s{0,3}[<>≤≥≠⩽⩾]"
    r"|\s(?:is|are|was)\s(?:\w+\s)?(?:less|more|greater|larger|smaller|fewer|bigger|higher|lower)\b"
)
_PASSING_AFTER = re.compile(
    r"[- ](?:decimals?\b|significant|sig\b|d\.?p\b|digits? (?:after|of))|(?:st|nd|rd|th)\b|\)\s(?=[A-Z])"
)
_PASSING_BEFORE = re.compile(r"(?:\bout\s+of|\bper|\bnearest|#|\bevery|\bmod(?:ulo)?)\W{0,3}\Z")


def _placed(item: Item, found: list[Item], text: str) -> Item:
    """The item, with what the words around it make of it."""
    before = lowered(text[max(0, item.start - 40) : item.start])
    after = lowered(text[item.next : item.next + 40])
    wrapped = before.endswith("<") and after.startswith(">")
    if not wrapped and (_BOUND.search(before) or _OR_MORE.match(after)):
        return replace(item, numbers=(), reason="bound")
    part = item.numbers[0].percent or "/" in text[item.start : item.end] if item.numbers else False
    if operated_on(before, after) or (part and OF_NUMBER.match(after)):
        return replace(item, numbers=(), reason=NOT_COMPUTED)
    last = re.findall(r"[^\W\d_]+", before)[-1:]
    label = bool(last) and last[0] in _LABELS and before.rstrip(" .#*").endswith(last[0])
    passing = label or bool(_PASSING_AFTER.match(lowered(text[item.end : item.end + 30])))
    passing = passing or bool(_PASSING_BEFORE.search(before))
    currency = before.rstrip()[-1:] if before.rstrip()[-1:] in "$€£¥₹₽₩" else ""
    return replace(item, passing=passing, unit=currency or item.unit)
