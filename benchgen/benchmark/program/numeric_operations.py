"""Operations in words: `half of 42` is not 42, nor is `42 squared`. They are not worked out."""

from __future__ import annotations

import re

_PART = (
    r"(?:half|halves|thirds?|quarters?|fourths?|fifths?|sixths?|sevenths?|eighths?|ninths?|tenths?"
    r"|hundredths?|thousandths?)"
)
_FUNCTION = (
    r"(?:square|cube|cubic|fourth|fifth|n-?th)[ -]roots?|roots?|squares?|cubes?|reciprocals?|inverse|opposite|negation"
    r"|negative|factorial|absolute value|(?:natural )?log(?:arithm)?|ln|sine?|cosine?|tan(?:gent)?|digits?"
    r"|multiples?|divisors?"
)
BEFORE = re.compile(
    rf"(?:\b(?:{_PART}|{_FUNCTION}) (?:of|in|from)"
    r"|\b(?:twice|thrice|doubled?|triple|quadruple|halve|square|cube)"
    r"|\b(?:one|two|three|four|five|six|seven|eight|nine|ten) (?:in(?: every)?|out of)"
    r"|\b(?:hälfte|doppelte|wurzel|kehrwert) (?:von|aus)|\bmoitié de|\b(?:double|triple|racine(?: carrée)?|carré) de"
    r"|\bmitad de|\b(?:doble|triple|raíz(?: cuadrada)?|cuadrado) de|\bmetà di|\b(?:doppio|radice(?: quadrata)?) di"
    r"|\b(?:metade|dobro|raiz(?: quadrada)?) de|\bполовин\w (?:от)?|\bкорень из)"
    r"\s?(?:the )?(?:(?:number|integer|value) )?[$€£({\[]{0,3}\Z"
)
"""Behind these a number is what is operated on."""
_UNIT = r"(?! ?(?:square |cubic )?(?:units?|(?:kilo|centi|milli)?met(?:er|re)s?|feet|foot|ft|inch(?:es)?|yards?|miles?|km|cm|mm|m)\b)"
AFTER = re.compile(
    rf"\s?(?:squared|cubed|doubled|tripled|halved){_UNIT}(?![^\W\d_])"
    r"|\s?(?:factorial\b|mod(?:ulo|ulus)?\b(?! \d+ ?\))|(?:choose|permute|xor) \(?\d)"
    r"|\s?(?:(?:raised )?to the (?:power|[a-z]{3,10}th|second|third)\b|(?:short|shy) of [$€£]?\d"
    r"|(?:less|more|fewer|greater|lower|higher) than [$€£]?\d|(?:below|above|less) [$€£]?\d|over \d+\W*\Z)"
    r"|\s?(?:的(?:一半|二分之一|[两二三]倍|平方|立方|阶乘|倒数)|の(?:半分|[二三2]倍|[二2]乗|平方根)|의 ?(?:절반|반|제곱|두 배))"
)
"""Before these a number is what is operated on."""


OF_NUMBER = re.compile(r"\s?of (?:the )?[$€£]?\d[\d.,]*\W*\Z")
"""Behind a percentage or a fraction: `10% of 420`, and nothing more."""


def operated_on(before: str, after: str) -> bool:
    """Whether a number between those lower-case texts is only what an operation is said to be done to."""
    return bool(BEFORE.search(before) or AFTER.match(after))
