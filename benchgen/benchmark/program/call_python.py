"""Calls in Python's writing, `f(a=1)`, with literals only: nothing is evaluated."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from typing import Any

from .call_values import Call, plain_name
from .json_values import Malformed, number, unique

_TOKEN = re.compile(
    r"\s*(?:(?P<text>"
    r'"""(?:[^"\\]|\\.|"(?!""))*+"""|' + r"'''(?:[^'\\]|\\.|'(?!''))*+'''|"
    r'"(?:[^"\\\n]|\\.)*+"|' + r"'(?:[^'\\\n]|\\.)*+')"
    r"|(?P<number>[-+]?(?:\d{1,400}(?:\.\d{0,400})?|\.\d{1,400})(?:[eE][-+]?\d{1,4})?)(?![\w.])"
    r"|(?P<word>[^\W\d][\w.-]{0,127})|(?P<mark>[()\[\]{},:=]))",
    re.DOTALL,
)
_WORDS = {"True": True, "true": True, "False": False, "false": False, "None": None, "null": None}
_ESCAPE = re.compile(r"\\(?:u([0-9a-fA-F]{4})|x([0-9a-fA-F]{2})|(.))", re.DOTALL)
_PLAIN_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "\n": "", "\\": "\\", "'": "'", '"': '"'}
CALLED = re.compile(r"(?:\[\s{0,20}){0,2}(?P<name>[^\W\d][\w.-]{0,127})\(")

_Step = tuple[Any, int]


def _token(text: str, position: int) -> tuple[str, str, int]:
    found = _TOKEN.match(text, position)
    if found is None or found.lastgroup is None:
        raise Malformed
    return found.lastgroup, found[found.lastgroup], found.end()


def _until(close: str, item: Callable[[str, int], _Step], text: str, position: int) -> _Step:
    """(the items before the closing mark, where it ends); a comma may stand after the last."""
    items: list[Any] = []
    while True:
        if (after := _token(text, position))[1] == close and after[0] == "mark":
            return items, after[2]
        value, position = item(text, position)
        items.append(value)
        kind, mark, end = _token(text, position)
        if kind != "mark" or mark not in (",", close):
            raise Malformed
        position = end if mark == "," else position


def _literal(text: str, position: int) -> _Step:
    kind, word, end = _token(text, position)
    if kind == "text":
        return _unescaped(word), end
    if kind == "number":
        return (number(word) if word.strip("+-").strip("0123456789") else int(word)), end
    if kind == "word" and word in _WORDS:
        return _WORDS[word], end
    if kind == "mark" and word in "[(":
        return _until("])"["[(".index(word)], _literal, text, end)
    if kind == "mark" and word == "{":
        pairs, end = _until("}", _pair, text, end)
        return unique(pairs), end
    raise Malformed


def _unescaped(quoted: str) -> str:
    inner = quoted[3:-3] if quoted[:3] in ('"""', "'''") and len(quoted) > 5 else quoted[1:-1]
    if "\\" not in inner:
        return inner
    return _ESCAPE.sub(
        lambda m: chr(int(m[1] or m[2], 16)) if m[1] or m[2] else _PLAIN_ESCAPES.get(m[3], m[0]),
        inner,
    )


def _pair(text: str, position: int) -> _Step:
    key, position = _literal(text, position)
    kind, mark, position = _token(text, position)
    if not isinstance(key, str) or kind != "mark" or mark != ":":
        raise Malformed
    value, position = _literal(text, position)
    return (key, value), position


def _argument(text: str, position: int) -> _Step:
    kind, word, end = _token(text, position)
    if kind == "word" and word not in _WORDS:
        _, mark, end = _token(text, end)
        if mark != "=":
            raise Malformed
        value, end = _literal(text, end)
        return (word, value), end
    value, end = _literal(text, position)
    return (None, value), end


def _python_call(text: str, position: int) -> _Step:
    kind, name, position = _token(text, position)
    _, mark, position = _token(text, position)
    if kind != "word" or mark != "(":
        raise Malformed
    if name == "print":  # Gemma and Gemini: print(default_api.f(x=1))
        calls, position = _until(")", _python_call, text, position)
        if len(calls) != 1:
            raise Malformed
        return calls[0], position
    pairs, position = _until(")", _argument, text, position)
    if len(pairs) == 1 and pairs[0][0] is None and isinstance(pairs[0][1], dict):
        return Call(plain_name(name), pairs[0][1]), position
    if any(key is None for key, _ in pairs):
        raise Malformed
    return Call(plain_name(name), unique(pairs)), position


def _list_of_calls(text: str, position: int) -> tuple[list[Call], int]:
    _, mark, start = _token(text, position)
    if mark != "[":
        raise Malformed
    nested = _token(text, start)[1] == "["
    item = _list_of_calls if nested else _python_call
    found, end = _until("]", item, text, start)
    return (list(itertools.chain(*found)) if nested else found), end


def python_calls(text: str, position: int) -> tuple[list[Call], int]:
    """`f(x=1)`, `[f(x=1), g()]` or `[[f(x=1)], [g()]]`."""
    try:
        if text[position] == "[":
            return _list_of_calls(text, position)
        call, end = _python_call(text, position)
        return [call], end
    except RecursionError:
        raise Malformed from None
