"""JSON as it stands, and when two of its values are equal.

A text is read strictly: NaN and Infinity are no numbers, and an object that names a key twice has no one
value for it. Numbers are exact: 5.0 is 5, and 9007199254740993.0 is not 9007199254740992.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from . import spelling


class Malformed(ValueError):
    """What cannot be read; the argument says why, if there is more to say."""


DUPLICATE_KEY = "duplicate_key"


def number(digits: str) -> int | Decimal:
    """The exact value of a numeral with a point or an exponent; Malformed for one beyond a double."""
    if not math.isfinite(float(digits)):
        raise Malformed
    try:
        exact = Decimal(digits)
    except ArithmeticError:  # an exponent of twenty digits
        raise Malformed from None
    return int(exact) if exact and exact == exact.to_integral_value() else exact or 0


def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The object of those pairs; Malformed where a key stands twice."""
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Malformed(DUPLICATE_KEY)
    return found


def _no_number(_: str) -> float:
    raise Malformed


_DECODER = json.JSONDecoder(parse_float=number, parse_constant=_no_number, object_pairs_hook=unique)


def json_at(text: str, position: int = 0) -> tuple[Any, int]:
    """(the JSON value that begins there, where it ends); Malformed if there is none."""
    try:
        return _DECODER.raw_decode(text, position)
    except Malformed:
        raise
    except (ValueError, RecursionError):
        raise Malformed from None


def json_of(text: str) -> Any:
    """The value of a text that is JSON as a whole."""
    text = text.strip()
    value, end = json_at(text)
    if end != len(text):
        raise Malformed
    return value


def as_json(value: Any) -> Any:
    """The value as JSON has it, with plain objects and lists; Malformed if JSON cannot hold it."""
    try:
        return json_of(json.dumps(value, allow_nan=False, default=_plain))
    except TypeError:
        raise Malformed from None
    except ValueError as error:
        raise error if isinstance(error, Malformed) else Malformed() from None


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    return dict(value) if isinstance(value, Mapping) else str(value)


def shown(value: Any) -> str:
    """The value's JSON, its keys sorted: equal texts are equal values, written alike."""
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), sort_keys=True, default=_plain
    )


def same(got: Any, gold: Any, *, exact: bool = False) -> bool:
    """Equality by type, numbers by value, texts in one spelling, and outer space only where gold has it.

    `exact`: texts are equal as written, but for how accents are composed.
    """
    if isinstance(got, bool) or isinstance(gold, bool):
        return got is gold
    if isinstance(got, dict) and isinstance(gold, dict):
        return got.keys() == gold.keys() and all(
            same(got[key], gold[key], exact=exact) for key in gold
        )
    if isinstance(got, list) and isinstance(gold, list):
        return len(got) == len(gold) and all(
            same(a, b, exact=exact) for a, b in zip(got, gold, strict=True)
        )
    if isinstance(got, str) and isinstance(gold, str):
        if exact:
            return spelling.composed(got) == spelling.composed(gold)
        got, gold = spelling.normalised(got), spelling.normalised(gold)
        return bool(got == gold or (gold == gold.strip() and got.strip() == gold))
    return bool(_number(got) == _number(gold))


def _number(value: Any) -> Any:
    """A float as it is written, which is what a JSON text that holds it is read as."""
    return Decimal(repr(value)) if isinstance(value, float) else value
