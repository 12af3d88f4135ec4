r"""Closed expressions read into exact values: + - * / ^, brackets, \frac, roots, pi and e.

A grammar of its own with bounds on length, nesting and size; nothing is evaluated as code. What it
does not know makes the whole expression unreadable: no part of it is a value.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from .numeric_exact import MAX_ROOT, Unreadable, combined, factorial, plain, power, root, sized
from .numeric_spelled import CJK_MAGNITUDES, GLUED, MAGNITUDES, Number
from .numeric_tokens import Token

MAX_DEPTH = 20


_CLOSING = {"(": ")", "[": "]", "{": "}"}
_AFTER_FACTORIAL = ("*", "/", "}", "^", "n")
_ORDINAL = ("st", "nd", "rd", "th")
PERCENT = ("percent", "pct", "prozent", "procent", "pourcent", "percentage")


class Parser:
    """Recursive descent over tokens; every rule takes a position and returns (number, next position)."""

    def __init__(self, found: list[Token], units: frozenset[str] = frozenset()) -> None:
        self.tokens = found
        self.units = units
        """Words that are units here and so multiply nothing."""
        self.depth = 0

    def kind(self, i: int) -> str:
        return self.tokens[i].kind if i < len(self.tokens) else ""

    def glued(self, i: int) -> bool:
        """Whether token i stands directly behind the one before it."""
        return 0 < i < len(self.tokens) and self.tokens[i].start == self.tokens[i - 1].end

    def sum(self, i: int) -> tuple[Number, int]:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise Unreadable("too_deep")
        value, i = self.product(i)
        while self.kind(i) in ("+", "-") and self.operand(i + 1):
            right, after = self.product(i + 1)
            value, i = combined(self.kind(i), value, right), after
        self.depth -= 1
        return value, i

    def product(self, i: int) -> tuple[Number, int]:
        value, i = self.signed(i)
        while True:
            kind = self.kind(i)
            if kind in ("*", "/", "x") and self.operand(i + 1):
                right, after = self.signed(i + 1)
                value = combined("/" if kind == "/" else "*", value, right)
            elif self.multiplies(i):
                right, after = self.powered(i)
                value = combined("*", value, right)
            else:
                return value, i
            i = after

    def multiplies(self, i: int) -> bool:
        r"""Whether a factor begins there without a sign of multiplication: `2\pi`, `3(4)`, `2!3!`."""
        kind = self.kind(i)
        if kind in ("(", "{", "n"):
            return self.glued(i) and (kind != "n" or self.kind(i - 1) == "!")
        return kind in ("√", "π", "frac") or self.is_e(i)

    def signed(self, i: int) -> tuple[Number, int]:
        sign = 1
        start = i
        while self.kind(i) in ("+", "-", "$"):
            if i - start > 4:
                raise Unreadable("too_many_signs")
            sign = -sign if self.kind(i) == "-" else sign
            i += 1
        number, i = self.powered(i)
        return (replace(number, value=-number.value) if sign < 0 else number), i

    def powered(self, i: int) -> tuple[Number, int]:
        number, i = self.suffixed(i)
        if self.kind(i) == "^" and self.operand(i + 1):
            self.depth += 1
            if self.depth > MAX_DEPTH:
                raise Unreadable("too_deep")
            exponent, i = self.signed(i + 1)
            self.depth -= 1
            value = power(plain(number), plain(exponent))
            number = Number(value, number.decimal, open=number.open)
        return number, i

    def suffixed(self, i: int) -> tuple[Number, int]:
        """A number with what may follow it: a magnitude, a percent sign, a degree, a factorial."""
        number, i = self.atom(i)
        number, i = self.magnitude(number, i)
        kind = self.kind(i)
        if kind == "%" or (kind == "w" and self.tokens[i].text.lower() in PERCENT):
            return replace(number, percent=True), i + 1
        if kind == "w" and self.word(i) == "per" and self.word(i + 1) == "cent":
            return replace(number, percent=True), i + 2
        if kind == "!" and self.glued(i) and self.kind(i + 1) in _AFTER_FACTORIAL:
            return Number(factorial(number.value)), i + 1
        return number, self.degree(i)

    def degree(self, i: int) -> int:
        """The position behind a degree sign or a base's subscript."""
        if self.kind(i) == "°":
            return i + 1
        if self.kind(i) == "^" and self.kind(i + 1) == "°":
            return i + 2
        if self.kind(i) == "^" and self.kind(i + 1) == "{":
            return i + 4 if self.kind(i + 2) == "°" or self.word(i + 2) in _ORDINAL else i
        if self.kind(i) == "_" and self.kind(i + 1) == "{" and self.kind(i + 3) == "}":
            return i + 4
        return i

    def word(self, i: int) -> str:
        return self.tokens[i].text.lower() if self.kind(i) == "w" else ""

    def magnitude(self, number: Number, i: int) -> tuple[Number, int]:
        """The number times `million`, `dozen`, `k` and the like, unless that is a unit asked for."""
        for _ in range(3):
            if self.kind(i) != "w":
                break
            text = self.tokens[i].text
            factor = 0 if text.lower() in self.units else MAGNITUDES.get(text.lower(), 0)
            if self.glued(i) and text not in self.units:
                pounds = text == "m" and i > 1 and self.tokens[i - 2].text in tuple("€£¥₹")
                factor = factor or GLUED.get(text, 10**6 if pounds else 0)
            cjk = CJK_MAGNITUDES.get(text[0], 0)
            if cjk and not any(text.startswith(unit) for unit in self.units):
                if self.glued(i + 1) and self.kind(i + 1) == "n":
                    raise Unreadable("unreadable_value")
                factor = cjk
            if not factor:
                break
            number = replace(number, value=sized(number.value * factor))
            i += 1
        return number, i

    def operand(self, i: int) -> bool:
        """Whether something that has a value begins there."""
        for _ in range(4):
            if self.kind(i) not in ("+", "-", "$"):
                break
            i += 1
        return self.kind(i) in ("n", "(", "[", "{", "√", "π", "frac") or self.is_e(i)

    def is_e(self, i: int) -> bool:
        """Whether token i is Euler's number: a lone `e` that an operator or a digit touches."""
        if self.kind(i) != "w" or self.tokens[i].text != "e":
            return False
        if len(self.tokens) == 1:
            return True
        before, after = self.kind(i - 1) if i else "", self.kind(i + 1)
        touched = before in ("+", "-", "*", "/", "^", "{", "(") or (before == "n" and self.glued(i))
        return (
            touched or after in ("^", "/", "*") or (after in ("+", "-") and self.kind(i + 2) == "n")
        )

    def atom(self, i: int) -> tuple[Number, int]:
        if i >= len(self.tokens):
            raise Unreadable("unreadable_value")
        token = self.tokens[i]
        kind = token.kind
        if kind == "n":
            return self.mixed(i)
        if kind in _CLOSING:
            return self.group(i)
        if kind == "|":
            inner, j = self.sum(i + 1)
            if self.kind(j) != "|":
                raise Unreadable("unreadable_value")
            magnitude = -inner.value if inner.value < 0 else inner.value
            return Number(magnitude, inner.decimal), j + 1
        if kind == "π":
            return Number(math.pi), i + 1
        if kind == "√":
            return self.rooted(i + 1)
        if kind == "frac":
            return self.fraction(i + 1)
        if self.is_e(i):
            return Number(math.e), i + 1
        raise Unreadable("several_values" if kind in ("list", "±") else "unreadable_value")

    def group(self, i: int) -> tuple[Number, int]:
        closing = _CLOSING[self.kind(i)]
        value, j = self.sum(i + 1)
        if self.kind(j) == ",":
            raise Unreadable("several_values")
        if self.kind(j) != closing:
            raise Unreadable("unreadable_value")
        inner = self.tokens[i + 1]
        pair = j == i + 2 and self.kind(i) != "{" and "," in inner.text and "." not in inner.text
        if pair and inner.number is not None and inner.number.decimal:
            raise Unreadable("several_values")  # (3,7) is a pair; (1,234) is a number
        return value, j + 1

    def mixed(self, i: int) -> tuple[Number, int]:
        r"""A numeral, with the proper fraction behind it in `11 5/6` and `11\frac{5}{6}`."""
        whole = self.tokens[i].number
        assert whole is not None
        if not self.tokens[i].text.isdigit():
            return whole, i + 1
        if self.kind(i + 1) == "frac":
            part, after = self.fraction(i + 2)
            if not all(self.integer_group(k) for k in (i + 2,)) or part.decimal:
                return whole, i + 1  # a product
            if not 0 < part.value < 1:
                raise Unreadable("unreadable_value")
            return Number(whole.value + part.value), after
        if self.kind(i + 1) != "n" or not self.is_plain_fraction(i + 1):
            return whole, i + 1
        top, bottom = (self.tokens[k].number for k in (i + 1, i + 3))
        assert top is not None
        assert bottom is not None
        if not 0 < top.value < bottom.value:
            raise Unreadable("unreadable_value")  # 4 10/3 is no mixed number
        return Number(whole.value + top.value / bottom.value), i + 4

    def is_plain_fraction(self, i: int) -> bool:
        """`5/6` written tight, of two integers, behind a space."""
        tight = self.glued(i + 1) and self.glued(i + 2) and not self.glued(i)
        shape = self.kind(i + 1) == "/" and self.kind(i + 2) == "n"
        return (
            tight and shape and self.tokens[i].text.isdigit() and self.tokens[i + 2].text.isdigit()
        )

    def integer_group(self, i: int) -> bool:
        """Digits alone, in braces or not."""
        inner = i + 1 if self.kind(i) == "{" else i
        return self.kind(inner) == "n" and self.tokens[inner].text.isdigit()

    def rooted(self, i: int) -> tuple[Number, int]:
        degree = 2
        if self.kind(i) == "[":
            given, j = self.sum(i + 1)
            value = plain(given)
            if self.kind(j) != "]" or value not in range(2, MAX_ROOT + 1):
                raise Unreadable("unreadable_value")
            degree, i = int(value), j + 1
        inner, i = self.group(i) if self.kind(i) in _CLOSING else self.atom(i)
        return Number(root(plain(inner), degree)), i

    def fraction(self, i: int) -> tuple[Number, int]:
        r"""`{3}{4}`, `{3}4`, `3{4}`, `34`: what stands behind \frac."""
        digits = self.tokens[i].text if self.kind(i) == "n" else ""
        if len(digits) == 2 and digits.isdigit():
            top, bottom = (Number(Fraction(int(digit))) for digit in digits)
            return combined("/", top, bottom), i + 1
        top, i = self.part(i)
        bottom, i = self.part(i)
        return combined("/", top, bottom), i

    def part(self, i: int) -> tuple[Number, int]:
        if self.kind(i) == "{":
            return self.group(i)
        one = len(self.tokens[i].text) == 1 if i < len(self.tokens) else False
        if one and self.kind(i) == "w" and self.tokens[i].text == "e":
            return Number(math.e), i + 1
        if self.kind(i) == "π" or (one and self.kind(i) == "n"):
            return self.atom(i)
        raise Unreadable("unreadable_value")
