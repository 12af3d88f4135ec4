"""Keeping a key out of every text that leaves: whole, encoded, in part, and what only looks like one.

The key is looked for in the text as it reads once its escapes are undone (`plainly.py`), and what spells it
is cut out of the text as it is: whoever decodes the text later finds no key in it.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterator
from urllib.parse import quote, quote_plus

from benchgen.models.plainly import view

HIDDEN = "[redacted]"
LINE_CHARS = 280
"""Of an error line; a trace keeps 300 characters of its reason."""
REAL_CHARS = 8
"""A shorter key is a stand-in such as EMPTY; a word of an answer is not cut out for it."""
PART_CHARS = 8
"""So many characters of a long key in a row are a part of it."""

_HEADER = re.compile(r"\b(bearer)(?:[\s:=+]|%20)+[\w.~+/*=%-]{4,}", re.IGNORECASE)
_KEYISH = re.compile(r"\b(?:sk|pk|rk|gsk|hf|xai|nvapi|r8)[-_][\w*.…-]{6,}", re.IGNORECASE)
_NAMING = ("hf", "npm", "pypi", "xai")
"""Beginnings of keys with which owners, models and packages are named as well, joined by a dash."""
_WORD_CHARS = 14
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]+")


def unless_words(found: str, mark: str) -> str:
    """`mark` in place of what begins as a key does, which stays if it reads as words: hf-internal-testing."""
    prefix, sign, rest = found.partition("-")
    parts = re.split(r"[-_.]", rest)
    named = prefix.lower() in _NAMING and sign and len(parts) > 1 and all(map(_word, parts))
    return found if named else mark


def _word(part: str) -> bool:
    """Whether a part of a name is a word, a number, a size or nothing: testing, TinyLlama, 7b, v2."""
    plain = r"(?:[A-Z]?[a-z]+){1,4}|[A-Z]{2,6}|[vV]?\d{1,4}[a-zA-Z]{0,2}|"
    return len(part) <= _WORD_CHARS and re.fullmatch(plain, part) is not None


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

    __slots__ = ("_parts", "_plain", "_spellings", "_word")

    def __init__(self, hidden: Secret) -> None:
        secret = hidden.reveal()
        whole = len(secret) >= REAL_CHARS
        forms = sorted(set(_spellings(secret)), key=len, reverse=True) if whole else []
        self._spellings = re.compile("|".join(map(re.escape, forms)), re.IGNORECASE)
        plain = view(secret).text if whole else ""
        self._plain = plain if len(plain) >= REAL_CHARS else ""
        self._word = re.compile(rf"(?<!\w){re.escape(secret)}(?!\w)") if secret[3:] else None
        starts = range(len(plain) - PART_CHARS + 1 if len(plain) >= 2 * PART_CHARS else 0)
        self._parts = frozenset(plain[i : i + PART_CHARS] for i in starts)

    def __repr__(self) -> str:
        return "Redactor()"

    def text(self, text: str) -> str:
        """A model's answer without the key, in whatever spelling; nothing else of it changes."""
        if self._spellings.pattern:
            text = self._spellings.sub(HIDDEN, text)
        return _without(text, self._whole)

    def line(self, text: str) -> str:
        """One line for an error: no key, no part of one, nothing that looks like one, not too long."""
        text = self.text(text[: 20 * LINE_CHARS])
        if self._word:
            text = self._word.sub(HIDDEN, text)
        text = _without(text, self._partly)
        text = _HEADER.sub(
            rf"\1 {HIDDEN}", _KEYISH.sub(lambda found: unless_words(found[0], HIDDEN), text)
        )
        text = " ".join(_CONTROL.sub(" ", text).split())
        return text if len(text) <= LINE_CHARS else text[: LINE_CHARS - 1] + "…"

    def _whole(self, plain: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each place where the key stands whole."""
        at = plain.find(self._plain) if self._plain else -1
        while at >= 0:
            yield at, at + len(self._plain)
            at = plain.find(self._plain, at + len(self._plain))

    def _partly(self, plain: str) -> Iterator[tuple[int, int]]:
        """(start, end) of each place where a part of the key stands that is long enough to tell it."""
        at = 0
        while self._parts and at < len(plain):
            end = at
            while plain[end : end + PART_CHARS] in self._parts:
                end += 1
            if end > at:
                yield at, end + PART_CHARS - 1
                at = end + PART_CHARS - 1
            else:
                at += 1


def _without(text: str, find: Callable[[str], Iterator[tuple[int, int]]]) -> str:
    """The text without what `find` finds in its plain reading."""
    seen = view(text)
    shown, at = [], 0
    for found in find(seen.text):
        start, end = seen.span(*found)
        shown += [text[at : max(at, start)], HIDDEN]
        at = max(at, end)
    return "".join([*shown, text[at:]])


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
