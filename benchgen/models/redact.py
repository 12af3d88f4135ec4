"""Keeping a key out of every text that leaves: whole, encoded, in part, and what only looks like one."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from urllib.parse import quote, quote_plus

HIDDEN = "[redacted]"
LINE_CHARS = 280
"""Of an error line; a trace keeps 300 characters of its reason."""
REAL_CHARS = 8
"""A shorter key is a stand-in such as EMPTY; a word of an answer is not cut out for it."""
PART_CHARS = 8
"""So many characters of a long key in a row are a part of it."""

_HEADER = re.compile(r"\b(bearer)(?:[\s:=+]|%20)+[\w.~+/*=%-]{4,}", re.IGNORECASE)
_KEYISH = re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi|r8)[-_][\w*.…-]{6,}", re.IGNORECASE)
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


class Secret:
    """A key, or none; a traceback that shows local variables does not show it."""

    __slots__ = ("_value",)

    def __init__(self, value: str = "") -> None:
        self._value = value

    def __bool__(self) -> bool:
        return bool(self._value)

    def __repr__(self) -> str:
        return f"Secret({'…' if self else ''})"

    def reveal(self) -> str:
        return self._value


class Redactor:
    """Takes one secret out of texts. Its own repr does not show it."""

    __slots__ = ("_parts", "_spellings", "_word")

    def __init__(self, hidden: Secret) -> None:
        secret = hidden.reveal()
        forms = sorted(set(_spellings(secret)), key=len, reverse=True) if secret else []
        whole = "|".join(map(re.escape, forms))
        self._spellings = re.compile(whole, re.IGNORECASE) if len(secret) >= REAL_CHARS else None
        self._word = re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)") if secret[3:] else None
        self._parts = frozenset(
            secret[i : i + PART_CHARS] for i in range(len(secret) - PART_CHARS + 1)
        )
        if len(secret) < 2 * PART_CHARS:
            self._parts = frozenset()

    def __repr__(self) -> str:
        return "Redactor()"

    def text(self, text: str) -> str:
        """A model's answer without the key, in whatever spelling; nothing else of it changes."""
        return self._spellings.sub(HIDDEN, text) if self._spellings else text

    def line(self, text: str) -> str:
        """One line for an error: no key, no part of one, nothing that looks like one, not too long."""
        text = self.text(text[: 20 * LINE_CHARS])
        if self._word:
            text = self._word.sub(HIDDEN, text)
        text = self._without_parts(text)
        text = _HEADER.sub(rf"\1 {HIDDEN}", _KEYISH.sub(HIDDEN, text))
        text = " ".join(_CONTROL.sub(" ", text).split())
        return text if len(text) <= LINE_CHARS else text[: LINE_CHARS - 1] + "…"

    def _without_parts(self, text: str) -> str:
        if not self._parts:
            return text
        shown, at = [], 0
        while at < len(text):
            end = at
            while text[end : end + PART_CHARS] in self._parts:
                end += 1
            if end > at:
                shown.append(HIDDEN)
                at = end + PART_CHARS - 1
            else:
                shown.append(text[at])
                at += 1
        return "".join(shown)


def _spellings(secret: str) -> Iterator[str]:
    """The secret as URLs, JSON, HTML, hex and base64 write it."""
    raw = secret.encode()
    yield from (secret, quote(secret, safe=""), quote(secret), quote_plus(secret))
    yield from (html.escape(secret), json.dumps(secret)[1:-1], raw.hex())
    for before in range(3):
        # Inside a longer text ("Bearer KEY") the letters depend on where in a group of three bytes the
        # key begins; the outer ones hold bits of the neighbours, too.
        first, last = (0, 2, 3)[before], (before + len(raw)) * 8 // 6
        for encode in (base64.b64encode, base64.urlsafe_b64encode):
            yield encode(b"\0" * before + raw).decode()[first:last]
