"""How one number is spelled: digits with their marks, magnitude words, small numbers in words."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

MAX_DIGITS = 900
"""A longer numeral is not read."""
MAX_EXPONENT = 1000
"""Of `1e…`."""


@dataclass(frozen=True, slots=True)
class Number:
    """A value; a `Fraction` is exact."""

    value: Fraction | float
    decimal: bool = False
    """Written with a decimal mark, so possibly rounded."""
    percent: bool = False
    """Written with a percent sign; `value` is the number before it."""
    open: bool = False
    """A sum, difference or product of numbers that was not worked out."""


# --- digits ----------------------------------------------------------------------------------

_MARK = {
    mark: re.compile(rf"[1-9]\d{{0,2}}(?:{re.escape(mark)}\d{{3}})+")
    for mark in (",", ".", " ", "'", "_")
}
_INDIAN = re.compile(r"[1-9]\d?(?:,\d{2})+,\d{3}")
_BASE = re.compile(r"(\d+)_\d{1,2}")


def literal(text: str, decimal: str = "auto") -> Number | None:
    """The number of digits and marks; None for one that is too long or whose marks make no number.

    A group mark (comma, point, space, apostrophe, underscore) stands before every three digits, or
    as in 12,34,567. Of a single mark that could be either, a comma before three digits groups and a
    point is the decimal mark, unless `decimal` says `comma`; `point` allows no decimal comma.
    """
    if len(text) > MAX_DIGITS:
        return None
    if text.isdigit():
        return Number(Fraction(int(text)))
    body, _, exponent = text.replace("E", "e").partition("e")
    parts = _parts(body, decimal)
    if parts is None or (exponent and (len(exponent) > 5 or abs(int(exponent)) > MAX_EXPONENT)):
        return None
    whole, fraction = parts
    value = Fraction(int(whole + fraction or "0"), 10 ** len(fraction))
    if exponent:
        value *= Fraction(10) ** int(exponent)
    return Number(value, decimal=bool(fraction) or value.denominator > 1)


def _parts(body: str, decimal: str) -> tuple[str, str] | None:
    """(digits before the decimal mark, digits after it)."""
    for mark in " '_":
        if mark in body:
            return _grouped_by(mark, body)
    commas, points = body.count(","), body.count(".")
    if commas and points:
        mark = max(",.", key=body.rfind)
        if body.count(mark) > 1:
            return None
        whole, _, fraction = body.partition(mark)
        other = "." if mark == "," else ","
        return (whole.replace(other, ""), fraction) if _is_grouped(whole, other) else None
    mark = "," if commas else "."
    if commas + points == 0:
        return body, ""
    grouped = _is_grouped(body, mark)
    if commas + points > 1:
        return (body.replace(mark, ""), "") if grouped else None
    if grouped and decimal != "comma" if mark == "," else grouped and decimal == "comma":
        return body.replace(mark, ""), ""
    if mark == "," and decimal == "point":
        return None
    whole, _, fraction = body.partition(mark)
    return whole, fraction


def _grouped_by(mark: str, body: str) -> tuple[str, str] | None:
    whole, found, fraction = body, "", ""
    for point in ".,":
        if point in body:
            whole, found, fraction = body.partition(point)
            break
    if _MARK[mark].fullmatch(whole) and (not found or fraction.isdigit()):
        return whole.replace(mark, ""), fraction
    base = _BASE.fullmatch(body)  # 1011_2: the base says how, not how much
    return (base[1], "") if base else None


def _is_grouped(text: str, mark: str) -> bool:
    return bool(_MARK[mark].fullmatch(text) or (mark == "," and _INDIAN.fullmatch(text)))


# --- words -----------------------------------------------------------------------------------

MAGNITUDES = {
    "hundred": 100,
    "dozen": 12,
    "lakh": 10**5,
    "lakhs": 10**5,
    "crore": 10**7,
    "crores": 10**7,
    "gross": 144,
    **dict.fromkeys(("thousand", "thousands", "tausend", "mille", "mil", "тысяч", "тысячи"), 10**3),
    **dict.fromkeys(
        ("million", "millions", "millionen", "mio", "mln", "millones", "milhões"), 10**6
    ),
    **dict.fromkeys(("миллион", "миллиона", "миллионов"), 10**6),
    **dict.fromkeys(("billion", "billions", "milliarden", "mrd"), 10**9),
    **dict.fromkeys(("trillion", "trillions"), 10**12),
}
GLUED = {"k": 10**3, "K": 10**3, "M": 10**6, "mn": 10**6, "B": 10**9, "bn": 10**9, "tn": 10**12}
"""Counts only directly behind the digits: `5 K` is a temperature."""
CJK_MAGNITUDES = {
    "百": 10**2,
    "千": 10**3,
    "万": 10**4,
    "萬": 10**4,
    "만": 10**4,
    "亿": 10**8,
    "億": 10**8,
    "억": 10**8,
}

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen"
    " sixteen seventeen eighteen nineteen"
)
_TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: i for i, word in enumerate(_ONES.split())} | {
    word: 10 * i for i, word in enumerate(_TENS.split(), start=2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "dozen": 12}
_PARTS = "half halve:third:quarter fourth:fifth:sixth:seventh:eighth:ninth:tenth"
_PARTS_OF = {
    name + plural: i
    for i, names in enumerate(_PARTS.split(":"), start=2)
    for name in names.split()
    for plural in ("s", "")
}
_NAMES = "|".join(sorted((*_WORDS, *_SCALES, *_PARTS_OF), key=len, reverse=True))
_RUN = re.compile(
    rf"(?P<sign>(?:minus|negative) )?(?:a (?=dozen|half|hundred|thousand|million))?"
    rf"(?P<words>(?:{_NAMES})(?:[ -](?:and[ -])?(?:{_NAMES})){{0,12}})(?![a-z-])"
)
_CJK = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2, "兩": 2, "壹": 1}
_CJK_SCALES = {"十": 10, "百": 100, "千": 1000, "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8}


def in_words(low: str) -> tuple[Number, int] | None:
    """The number that the lower-case text begins with in words, and where it ends; None without one.

    `forty-two`, `minus three`, `one hundred and five`, `two thirds`, `a dozen`, `四十二`.
    """
    if low[:1] in _CJK or low[:1] == "十":
        return _in_cjk(low)
    run = _RUN.match(low)
    if run is None:
        return None
    words = [word for word in re.split("[ -]", run["words"]) if word != "and"]
    divisor = _PARTS_OF.get(words[-1], 1)
    value = _counted(words[:-1] if divisor > 1 else words, 1 if divisor > 1 else None)
    if value is None:
        return None
    return Number(Fraction(-value if run["sign"] else value, divisor)), run.end()


def _counted(words: list[str], alone: int | None) -> int | None:
    """What the words count, `alone` without any; None if they do not go together: `two three`."""
    total = group = 0
    for word in words:
        if word in _WORDS:
            small = _WORDS[word]
            room = group % 100 == 0 or (small < 10 and group % 10 == 0 and group % 100 > 10)
            if not room or (group and not small):
                return None
            group += small
        elif word not in _SCALES:
            return None
        elif _SCALES[word] > 100:
            total, group = total + (group or 1) * _SCALES[word], 0
        elif group >= 100:
            return None
        else:
            group = (group or 1) * _SCALES[word]
    return total + group if words else alone


def _in_cjk(text: str) -> tuple[Number, int] | None:
    total = section = digit = end = 0
    for char in text[:24]:
        if char in _CJK:
            digit = digit * 10 + _CJK[char]
        elif char not in _CJK_SCALES:
            break
        elif _CJK_SCALES[char] < 10**4:
            section, digit = section + (digit or 1) * _CJK_SCALES[char], 0
        else:
            total, section, digit = total + (section + digit or 1) * _CJK_SCALES[char], 0, 0
        end += 1
    return (Number(Fraction(total + section + digit)), end) if end else None
