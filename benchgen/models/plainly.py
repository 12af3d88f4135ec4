r"""A text as it reads once every escape in it is undone, with the place of each character in the original.

What looks for a word in such a view finds it however it is spelled: `\u0073`, `%73`, `&#115;`, full-width
letters, unseen characters between the letters, one of these inside another. The time is linear in the text.
"""

from __future__ import annotations

import html
import re
import string
import unicodedata
from array import array
from dataclasses import dataclass

ROUNDS = 4
"""How deep escapes may stand within escapes: a JSON text inside a URL inside a JSON text, and one more."""
_UNSEEN = frozenset(("Cc", "Cf", "Mn", "Me"))
_WRITTEN = re.compile(
    r"""(?<!\\)\\+(?:u\{0*(?P<braced>[0-9a-f]{1,6})\}|u(?P<four>[0-9a-f]{4})|U(?P<eight>[0-9a-f]{8})
                  |x(?P<two>[0-9a-f]{2})|(?P<mark>[/"']))
    |%(?:25)*(?P<percent>[0-9a-f]{2})
    |&(?:amp;)*(?:\#x0*(?P<hex>[0-9a-f]{1,6})|\#0*(?P<decimal>[0-9]{1,7})|(?P<name>[a-z][a-z0-9]{1,30}));
    |(?P<other>[^\t\n\r\x20-\x7e])""",
    re.IGNORECASE | re.VERBOSE,
)
_BASES = dict.fromkeys(("braced", "four", "eight", "two", "percent", "hex"), 16) | {"decimal": 10}
_LOWER = str.maketrans(string.ascii_uppercase, string.ascii_lowercase)


@dataclass(frozen=True)
class View:
    """`text` in lower case; character i of it was written as original[starts[i]:ends[i]]."""

    text: str
    starts: array[int]
    ends: array[int]

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where text[start:end] stands in the original."""
        return self.starts[start], self.ends[end - 1]


def view(text: str) -> View:
    """The text without escapes, unseen characters, accents and case."""
    found = View(text, array("q", range(len(text))), array("q", range(1, len(text) + 1)))
    for _ in range(ROUNDS):
        further = _undone(found)
        if further is None:
            break
        found = further
    return View(found.text.translate(_LOWER), found.starts, found.ends)


def _undone(found: View) -> View | None:
    """The view with one layer of escapes less; None if there is none."""
    parts: list[str] = []
    starts, ends = array("q"), array("q")
    at = 0
    for match in _WRITTEN.finditer(found.text):
        start, end = match.span()
        parts.append(found.text[at:start])
        starts += found.starts[at:start]
        ends += found.ends[at:start]
        meant = _folded(_meant(match))
        parts.append(meant)
        starts += array("q", [found.starts[start]] * len(meant))
        ends += array("q", [found.ends[end - 1]] * len(meant))
        at = end
    if not at:
        return None
    parts.append(found.text[at:])
    text = "".join(parts)
    starts += found.starts[at:]
    ends += found.ends[at:]
    return None if text == found.text else View(text, starts, ends)


def _meant(match: re.Match[str]) -> str:
    """What the escape stands for; itself where it stands for nothing."""
    kind = match.lastgroup or ""
    said = match[kind]
    if kind in _BASES:
        code = int(said, _BASES[kind])
        return chr(code) if code < 0x110000 else match[0]
    return html.unescape(f"&{said};") if kind == "name" else said


def _folded(text: str) -> str:
    """The characters that are seen, in their plain form."""
    if text.isascii() and text.isprintable():
        return text
    kept = (
        c for c in unicodedata.normalize("NFKD", text) if unicodedata.category(c) not in _UNSEEN
    )
    return "".join(kept).casefold()
