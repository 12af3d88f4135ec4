"""Arithmetic on exact values where that is possible, with bounds on their size."""

from __future__ import annotations

import math
from fractions import Fraction

from .numeric_spelled import Number

MAX_BITS = 32_768
"""Of an exact value's numerator and denominator together."""
MAX_ROOT = 64


class Unreadable(Exception):
    """A text has no one value here; the argument is the verdict's reason."""


def sized(value: Fraction | float) -> Fraction | float:
    """The value itself; Unreadable if it is too large or not finite."""
    if isinstance(value, float):
        if not math.isfinite(value):
            raise Unreadable("not_finite")
    elif value.numerator.bit_length() + value.denominator.bit_length() > MAX_BITS:
        raise Unreadable("too_large")
    return value


def as_float(value: Fraction | float | int) -> float:
    """The nearest float; infinite for one out of range."""
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def plain(number: Number) -> Fraction | float:
    """The value inside a calculation, where a percent sign divides."""
    return number.value / 100 if number.percent else number.value


def combined(sign: str, a: Number, b: Number) -> Number:
    """`a` + - * or / `b`."""
    x, y = plain(a), plain(b)
    if not (isinstance(x, Fraction) and isinstance(y, Fraction)):
        x, y = as_float(x), as_float(y)
    if sign == "/" and y == 0:
        raise Unreadable("division_by_zero")
    if sign == "+":
        value = x + y
    elif sign == "-":
        value = x - y
    else:
        value = x * y if sign == "*" else x / y
    left = sign != "/" and isinstance(value, Fraction) and not (sign == "*" and _scales(x, y))
    return Number(sized(value), a.decimal or b.decimal, open=left or a.open or b.open)


def _scales(x: Fraction | float, y: Fraction | float) -> bool:
    """Whether one factor is a power of ten, so that the product is a number's scientific notation."""
    return any(str(part).strip("0") == "1" for part in (x, y, 1 / y if y else 0))


def power(base: Fraction | float, exponent: Fraction | float) -> Fraction | float:
    """`base` to the `exponent`, exact where both are and it is rational; Unreadable if too large."""
    if base == 0 and exponent <= 0:
        raise Unreadable("zero_to_the_zero")
    if isinstance(base, Fraction) and isinstance(exponent, Fraction):
        if exponent.denominator == 1:
            n = int(exponent)
            bits = max(base.numerator.bit_length(), base.denominator.bit_length())
            if bits > 1 and (bits - 1) * abs(n) > MAX_BITS:
                raise Unreadable("too_large")
            return sized(base ** (n if bits > 1 else n % 2 + 2))
        if exponent.denominator <= MAX_ROOT and abs(exponent.numerator) <= MAX_ROOT:
            return power(root(base, exponent.denominator), Fraction(exponent.numerator))
    try:
        value = as_float(base) ** as_float(exponent)
    except (OverflowError, ZeroDivisionError):
        raise Unreadable("too_large") from None
    if isinstance(value, complex):
        raise Unreadable("not_real")
    return sized(value)


def root(value: Fraction | float, degree: int) -> Fraction | float:
    """The real root; exact for a perfect power."""
    if value < 0:
        if degree % 2 == 0:
            raise Unreadable("not_real")
        return -root(-value, degree)
    if isinstance(value, Fraction):
        top, bottom = _whole_root(value.numerator, degree), _whole_root(value.denominator, degree)
        if top is not None and bottom is not None:
            return Fraction(top, bottom)
    return sized(as_float(value) ** (1 / degree))


def _whole_root(n: int, degree: int) -> int | None:
    if degree == 2:
        r = math.isqrt(n)
        return r if r * r == n else None
    if n.bit_length() > 1000:
        return None
    near = round(n ** (1 / degree))
    return next((r for r in (near - 1, near, near + 1) if r >= 0 and r**degree == n), None)


def factorial(value: Fraction | float) -> Fraction:
    """Of a whole number up to 2500."""
    if not isinstance(value, Fraction) or value.denominator != 1 or not 0 <= value <= 2500:
        raise Unreadable("too_large")
    return Fraction(math.factorial(int(value)))
