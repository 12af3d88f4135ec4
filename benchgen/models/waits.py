"""How long an endpoint asks to wait, in the many forms in which endpoints say it."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

MAX_WAIT_S = 60.0
"""A longer wait is cut to this; the question's own time limit ends the trying."""

_NUMBER = re.compile(r"\d{1,15}(?:\.\d{1,9})?")
_SPAN = re.compile(
    r"(?:(\d{1,6})h)?(?:(\d{1,6})m(?!s))?(?:(\d{1,9}(?:\.\d{1,9})?)s)?(?:(\d{1,9}(?:\.\d{1,9})?)ms)?"
)
_SPAN_S = (3600.0, 60.0, 1.0, 0.001)
_STRUCTURED = re.compile(r"(?:^|[;,\s])(?:t|reset)=(\d{1,9})\b")
_SAID = re.compile(
    r"(?:try again|retry|wait)\s+(?:in|after|for)?\s*(?:approximately\s+)?(\d[\w.]{0,20})(?:\s*(ms|milli|min|s))?",
    re.IGNORECASE,
)
_DELAY = re.compile(r'"retryDelay"\s*:\s*"([^"]{1,20})"')
_EPOCH_S, _EPOCH_MS = 1e9, 1e11


def asked_wait(
    headers: Mapping[str, str], body: str = "", now: float | None = None
) -> float | None:
    """Seconds to wait, at most MAX_WAIT_S; None where the endpoint asks for nothing that can be read.

    `headers` by lower-case name. In this order: milliseconds, Retry-After (seconds or a date), the
    time when a used-up limit is filled again, what the body says.
    """
    moment = time.time() if now is None else now
    for name in ("retry-after-ms", "x-ms-retry-after-ms"):
        if _NUMBER.fullmatch(text := headers.get(name, "").strip()):
            return min(float(text) / 1000, MAX_WAIT_S)
    found = _seconds(headers.get("retry-after", ""), moment, headers.get("date", ""))
    if found is None:
        found = max(_resets(headers, moment), default=None)
    if found is None:
        found = _in_body(body[:20_000], moment)
    return None if found is None else min(max(found, 0.0), MAX_WAIT_S)


def _resets(headers: Mapping[str, str], now: float) -> Iterator[float]:
    """The waits of all limits that are used up, as far as the headers tell how much of them is left."""
    for name, value in headers.items():
        if not re.match(r"(?:x-|anthropic-)?rate-?limit", name):
            continue
        if "reset" in name:
            left = headers.get(name.replace("reset", "remaining"), "0").strip()
            wait = _seconds(value, now) if re.fullmatch(r"-?0*(?:\.0*)?", left) else None
        else:
            structured = _STRUCTURED.search(value)
            wait = float(structured[1]) if structured else None
        if wait is not None:
            yield wait


def _in_body(body: str, now: float) -> float | None:
    if delay := _DELAY.search(body):
        return _seconds(delay[1], now)
    if said := _SAID.search(body):
        amount, unit = said[1].rstrip("."), (said[2] or "").lower()
        return _seconds(amount + {"milli": "ms", "min": "m"}.get(unit, unit), now)
    return None


def _seconds(text: str, now: float, date: str = "") -> float | None:
    """A number, a span ("6m0s"), a moment in seconds or milliseconds since 1970, or a date.

    A date counts from the endpoint's own clock where it tells the time.
    """
    text = text.strip()
    if _NUMBER.fullmatch(text):
        number = float(text)
        if number >= _EPOCH_MS:
            return number / 1000 - now
        return number - now if number >= _EPOCH_S else number
    if text and (span := _SPAN.fullmatch(text)):
        parts = zip(span.groups(), _SPAN_S, strict=True)
        return sum(float(amount) * unit for amount, unit in parts if amount)
    then = _moment(text)
    if then is None:
        return None
    clock = _moment(date)
    return then - (now if clock is None else clock)


def _moment(text: str) -> float | None:
    """Seconds since 1970 of an HTTP date or an ISO 8601 one; None for anything else."""
    for read in (parsedate_to_datetime, datetime.fromisoformat):
        try:
            found = read(text)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()
        except (ValueError, TypeError, OverflowError, IndexError):
            continue
    return None
