r"""Numbers: which value a reply settles on, and whether it is the target's. Policy: score.py.

Extraction
  1. The last declaration wins: those of declared.py, `#### X`, `A: X`, and a bare correction ("no wait,
     12"). One that is taken back ("that is wrong") stands no longer. A declared formula that cannot be
     read, a bound or a list of values is no answer, whatever stands before it.
  2. Without a declaration: the reply or its last line if it is a number with a unit; else the last
     sentence that has a number, if it states one: after `=` or `is`, at its head, or the only one.
  3. A sum, difference or product that is not worked out is no answer to a target that is one number;
     scientific notation, fractions, roots and multiples of pi are numbers.
  4. Number words are read only where an answer is declared.
  5. What a number is only operated on in words ("twice 42", "42 mod 5", "10% of 420") is not that number.

Comparison
  1. Two integers are equal or not: 18.0 is 18, and 99999999999 is not 100000000000.
  2. Two exact values, neither written with a decimal mark, are equal or not: 2/6 is 1/3.
  3. All others are equal within a relative 1e-6 of the larger, so 0.333333 is 1/3 and 0.33 is not. A
     target of zero is met by zero alone.
  4. A stated `rel_tol` or `abs_tol` replaces these three; either is enough.
  5. Percent. `auto`: 60% is 60 and 0.6, if the other side has no sign; two signs compare as written, and
     without one 0.6 is not 60. `percent`: a sign says nothing. `fraction`: a sign divides by 100.
  6. Units are not looked at, unless `units` lists the right ones: then another known one is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from . import numeric_markup as markup
from . import numeric_stated as statements
from . import reading, spelling
from .numeric_exact import as_float
from .numeric_items import SEVERAL, Notation
from .numeric_settled import settled
from .numeric_spelled import Number
from .numeric_units import allowed
from .verdict import Score, judged, missed, unmeasured

DEFAULT_REL_TOL = Fraction(1, 10**6)


def score(  # noqa: PLR0913 - the options are the caller's words
    reply: str,
    target: object,
    *,
    truncated: bool = False,
    rel_tol: float | None = None,
    abs_tol: float | None = None,
    percent: str = "auto",
    decimal: str = "auto",
    units: Sequence[str] = (),
) -> Score:
    """The verdict on one reply; `target` is an int, a float, or a number or closed expression as text."""
    if percent not in ("auto", "percent", "fraction") or decimal not in ("auto", "point", "comma"):
        return unmeasured("error", "unknown_option")
    tolerance = _tolerance(rel_tol, abs_tol)
    gold = _target(target, decimal) if tolerance else None
    if tolerance is None or gold is None:
        return unmeasured("error", "unreadable_target" if tolerance else "unreadable_tolerance")
    notation = Notation(decimal, frozenset(map(str, (units,) if isinstance(units, str) else units)))
    read = reading.read(markup.plain(reply), truncated=truncated)
    found = settled(read, notation)
    if found.numbers:
        if not allowed(found.unit, notation.units):
            return judged(False, found.text, "wrong_unit")
        if not gold.open and all(number.open for number in found.numbers):
            return judged(False, found.text, "not_computed")
        right = any(_equal(gold, number, tolerance, percent) for number in found.numbers)
        return judged(right, found.text)
    if found.reason == "truncated":
        return missed("truncated", read.note or "no_final_answer")
    if found.reason == SEVERAL:
        return missed("ambiguous", SEVERAL)
    return missed("no_answer", read.note or found.reason or "undeclared")


# --- comparison ------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Tolerance:
    """`stated` False: the defaults, which are exact for integers and exact values."""

    relative: Fraction = DEFAULT_REL_TOL
    absolute: Fraction = Fraction(0)
    stated: bool = False


def _tolerance(rel_tol: object, abs_tol: object) -> Tolerance | None:
    """None if one is no number of at least zero."""
    if rel_tol is None and abs_tol is None:
        return Tolerance()
    bounds = []
    for given in (rel_tol, abs_tol):
        given = 0 if given is None else given
        if isinstance(given, bool) or not isinstance(given, (int, float)):
            return None
        if given < 0 or not math.isfinite(as_float(given)):
            return None
        bounds.append(Fraction(str(given)))
    return Tolerance(bounds[0], bounds[1], stated=True)


def _target(target: object, decimal: str) -> Number | None:
    if isinstance(target, bool) or not isinstance(target, (int, float, str)):
        return None
    if isinstance(target, int):
        return Number(Fraction(target))
    if isinstance(target, float):
        return Number(Fraction(repr(target)), decimal=True) if math.isfinite(target) else None
    return _text_target(target, decimal)


@lru_cache(maxsize=4096)
def _text_target(text: str, decimal: str) -> Number | None:
    text = f"{{{text}}}" if text.rstrip().endswith("!") else text  # a factorial
    found = statements.bare(spelling.normalised(markup.plain(text)), Notation(decimal))
    return found.numbers[0] if found.numbers else None


def _equal(gold: Number, number: Number, tolerance: Tolerance, percent: str) -> bool:
    both = gold.percent and number.percent
    golds = _meanings(gold, percent, both)
    return any(
        _close(a, b, gold.decimal or (number.decimal and not _integral(a)), tolerance)
        for a in golds
        for b in _meanings(number, percent, both)
    )


def _meanings(number: Number, percent: str, both: bool) -> tuple[Fraction | float, ...]:
    if not number.percent or both or percent == "percent":
        return (number.value,)
    return (number.value / 100,) if percent == "fraction" else (number.value, number.value / 100)


def _integral(value: Fraction | float) -> bool:
    return isinstance(value, Fraction) and value.denominator == 1


def _close(
    gold: Fraction | float, value: Fraction | float, rounded: bool, tolerance: Tolerance
) -> bool:
    """`rounded`: one may be, so the default tolerance applies where none is stated."""
    if isinstance(gold, Fraction) and isinstance(value, Fraction):
        if tolerance.stated:
            return abs(gold - value) <= max(tolerance.relative * abs(gold), tolerance.absolute)
        exact = not rounded or not gold or (_integral(gold) and _integral(value))
        size = max(abs(gold), abs(value))
        return gold == value or (not exact and abs(gold - value) <= DEFAULT_REL_TOL * size)
    a, b = as_float(gold), as_float(value)
    if not (math.isfinite(a) and math.isfinite(b)):
        return False
    # An inexact closed form of an exact value differs by rounding alone.
    relative = as_float(tolerance.relative) if tolerance.stated or rounded else 1e-9
    return abs(a - b) <= max(relative * abs(a), as_float(tolerance.absolute))
