"""Short worked answers for some of reasoning-gym's tasks, from what their items tell beside the key.

A worked answer is what leads to the key, without the key's own line. What does not lead to it is not
given at all: each checks itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from decimal import Decimal
from typing import Any

MAX_STEPS = 12
"""A longer way is not shown."""

Metadata = Mapping[str, Any]


def worked(task: str, answer: str, metadata: Metadata) -> str:
    """The worked answer, or "" where there is none that is short and leads to the key."""
    explain = EXPLAIN.get(task)
    return explain(answer, metadata) if explain else ""


def _sum(answer: str, m: Metadata) -> str:
    """60 + 93 = 153; 153 - 16 = 137"""
    first, *rest = m["expression"].split()
    total, steps = Decimal(first), []
    for sign, term in zip(rest[::2], rest[1::2], strict=True):
        new = total + Decimal(term) if sign == "+" else total - Decimal(term)
        steps.append(f"{total} {sign} {term} = {new}")
        total = new
    return _joined(steps, total == Decimal(answer))


def _product(answer: str, m: Metadata) -> str:
    factors = [int(factor) for factor in m["expression"].split(" * ")]
    total, steps = factors[0], []
    for factor in factors[1:]:
        steps.append(f"{total} * {factor} = {total * factor}")
        total *= factor
    return _joined(steps, total == int(answer))


def _gcd(answer: str, m: Metadata) -> str:
    """Euclid's algorithm, number by number."""
    result, steps = m["numbers"][0], []
    for number in m["numbers"][1:]:
        a, b = max(result, number), min(result, number)
        while b:
            steps.append(f"{a} = {a // b} * {b} + {a % b}")
            a, b = b, a % b
        result = a
    return _joined(steps, result == int(answer))


def _lcm(answer: str, m: Metadata) -> str:
    result, steps = m["numbers"][0], []
    for number in m["numbers"][1:]:
        shared = math.gcd(result, number)
        new = result * number // shared
        steps.append(
            f"The greatest common divisor of {result} and {number} is {shared}, "
            f"and {result} * {number} / {shared} = {new}"
        )
        result = new
    return _joined(steps, result == int(answer))


def _base(answer: str, m: Metadata) -> str:
    value, source, target = m["decimal_value"], m["source_base"], m["target_base"]
    if int(m["source_repr"], source) != value or int(answer, target) != value:
        return ""
    steps = [f"{m['source_repr']} in base {source} is {value} in base 10"] if source != 10 else []
    return _joined([*steps, f"{value} in base {target} is {answer}"] if target != 10 else steps)


def _bits(answer: str, m: Metadata) -> str:
    return _joined([f"{m['number']} in binary is {m['number']:b}"], answer == str(m["solution"]))


def _coins(answer: str, m: Metadata) -> str:
    ways, every = m["rational"]["numerator"], m["rational"]["denominator"]
    right = math.isclose(ways / every, float(answer), rel_tol=1e-9)
    return _joined([f"{ways} of the {every} equally likely outcomes have that many heads"], right)


def _letters(answer: str, m: Metadata) -> str:
    counts = [(word, word.lower().count(m["target_letter"])) for word in m["span"]]
    shown = [f"{word} {number}" for word, number in counts if number]
    return _joined([_listed(shown)], sum(n for _, n in counts) == int(answer))


def _backward(answer: str, m: Metadata) -> str:
    word = m["word"]
    return _joined(
        [f"{'-'.join(word)} from the end is {'-'.join(word[::-1])}"], word[::-1] == answer
    )


def _calendar(answer: str, m: Metadata) -> str:
    if m["task"] == "is_leap_year":
        year = m["year"]
        if year % 100 == 0:
            return f"{year} is a century, and {'' if year % 400 == 0 else 'not '}divisible by 400."
        return f"{year} is {'' if year % 4 == 0 else 'not '}divisible by 4, and no century."
    if m["task"] == "weekday_offset":
        start, days = date.fromisoformat(m["start_date"]), m["offset_days"]
        far = f"{abs(days) % 7} days {'after' if days > 0 else 'before'} {start:%A}"
        return f"{abs(days)} = {abs(days) // 7} * 7 + {abs(days) % 7}, so it is {far}."
    if m["task"] == "weekday_of_date_from_first_date":
        days, day = m["delta_days"], date.fromisoformat(m["target_date"])
        return (
            f"{day:%B} {day.day} is {days} days after January 1, "
            f"and {days} = {days // 7} * 7 + {days % 7}, so it is {days % 7} days after {m['first_day']}."
        )
    return ""


def _polygon(answer: str, m: Metadata) -> str:
    total, known = m["total_interior_sum"], round(m["sum_of_known_angles"])
    steps = [
        f"The angles of a polygon with {m['n_sides']} sides add up to {total} degrees, the given ones to {known}",
        f"{total} - {known} = {total - known}",
    ]
    return _joined(steps, total - known == int(answer))


def _states(answer: str, m: Metadata) -> str:
    """The string or the counts after each rule: 2 0 1 -> 1 2 1 -> …"""
    shown = [s if isinstance(s, str) else " ".join(map(str, s)) for s in m["states"]]
    if not 2 <= len(shown) <= MAX_STEPS:
        return ""
    return _joined([" -> ".join(shown)], shown[-1] == answer)


def _joined(steps: Sequence[str], leads_to_key: bool = True) -> str:
    if not leads_to_key or not 1 <= len(steps) <= MAX_STEPS:
        return ""
    return "; ".join(steps) + "."


def _listed(items: Sequence[Any]) -> str:
    return ", ".join(map(str, items))


EXPLAIN: Mapping[str, Callable[[str, Metadata], str]] = {
    "base_conversion": _base,
    "calendar_arithmetic": _calendar,
    "chain_sum": _sum,
    "coin_flip": _coins,
    "count_bits": _bits,
    "decimal_chain_sum": _sum,
    "gcd": _gcd,
    "lcm": _lcm,
    "letter_counting": _letters,
    "products": _product,
    "simple_geometry": _polygon,
    "spell_backward": _backward,
    "string_manipulation": _states,
    "string_splitting": _states,
    "string_synthesis": _states,
}
