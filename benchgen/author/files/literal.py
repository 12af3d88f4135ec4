"""Lists and objects that were written as text: JSON, or what Python and numpy print. Nothing is evaluated.

A data frame saved as CSV holds `{'text': ['a', 'b']}`, `array(['a', 'b'], dtype=object)` or
`['a' 'b']`. A small parser reads literals only: texts, numbers, None, True, False, lists, tuples,
objects and numpy's `array(...)`. What numpy cut short with `...` is refused.
"""

from __future__ import annotations

import ast
import json
import re
from typing import Any

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<text>[bru]?(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'))
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<cut>\.\.\.)
    | (?P<word>[A-Za-z_][A-Za-z0-9_.]*)
    | (?P<mark>[\[\](){},:=])
    )""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: dict[str, bool | None] = dict.fromkeys(("None", "null", "nan", "NaN", "NaT"), None)
_WORDS |= {"True": True, "true": True, "False": False, "false": False}
_WRAPPERS = ("array", "np.array", "numpy.array")
_CLOSING = {"[": "]", "(": ")", "{": "}"}
MAX_DEPTH = 50


class Unreadable(ValueError):
    """The text is no literal; the message says why."""


def read_literal(text: str) -> Any:
    """The value of a text that is JSON or a literal as a whole; Unreadable for anything else."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return _Reader(text).whole()
    except Unreadable:
        raise
    except (ValueError, SyntaxError, RecursionError) as error:
        raise Unreadable(str(error)) from None


class _Reader:
    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        position, text = 0, text.rstrip()
        while position < len(text):
            found = _TOKEN.match(text, position)
            if found is None or found.lastgroup is None:
                raise Unreadable(f"{text[position : position + 12]!r} is part of no list or object")
            self.tokens.append((found.lastgroup, found[found.lastgroup]))
            position = found.end()
        self.at = 0

    def whole(self) -> Any:
        value = self.value(0)
        if self.at != len(self.tokens):
            raise Unreadable(f"{self.peek()!r} follows the end of the list or object")
        return value

    def peek(self) -> str:
        return self.tokens[self.at][1] if self.at < len(self.tokens) else ""

    def take(self) -> tuple[str, str]:
        if self.at >= len(self.tokens):
            raise Unreadable("it ends before its list or object is closed")
        self.at += 1
        return self.tokens[self.at - 1]

    def value(self, depth: int) -> Any:
        kind, written = self.take()
        if depth > MAX_DEPTH:
            raise Unreadable("lists within lists, too deep")
        if kind == "text":
            return ast.literal_eval(written)  # one quoted text: its escapes, nothing else
        if kind == "number":
            return float(written) if re.search(r"[.eE]", written) else int(written)
        if kind == "cut":
            raise Unreadable("numpy left items out ('...') when it was written")
        if kind == "word":
            return self.word(written, depth)
        if written == "{":
            return self.mapping(depth)
        if written in "[(":
            return self.items(_CLOSING[written], depth)
        raise Unreadable(f"{written!r} stands where a value is needed")

    def word(self, token: str, depth: int) -> Any:
        if token in _WORDS:
            return _WORDS[token]
        if token not in _WRAPPERS or self.take()[1] != "(":
            raise Unreadable(f"{token!r} is a name, and names are not looked up")
        value = self.value(depth + 1)
        while self.peek() == ",":
            self.option()
        if self.take()[1] != ")":
            raise Unreadable("array( without its end")
        return value

    def option(self) -> None:
        """`, dtype=object` within array( ): skipped."""
        self.take()
        if self.peek() == ")":
            return
        self.take()
        if self.take()[1] != "=":
            raise Unreadable("array( with more than one value")
        self.take()

    def items(self, closing: str, depth: int) -> list[Any]:
        """A list or tuple; numpy writes no commas between its items."""
        values: list[Any] = []
        while self.peek() != closing:
            values.append(self.value(depth + 1))
            if self.peek() == ",":
                self.take()
        self.take()
        return values

    def mapping(self, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        while self.peek() != "}":
            key = self.value(depth + 1)
            if self.take()[1] != ":":
                raise Unreadable("an object without ':' after a key")
            if str(key) in values:
                raise Unreadable(f"the key {key!r} stands twice")
            values[str(key)] = self.value(depth + 1)
            if self.peek() == ",":
                self.take()
        self.take()
        return values
