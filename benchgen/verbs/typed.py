"""One `key=value` as typed: text stays the text that it is, a comma is a list where only a list can be.

Hydra reads `1e3`, `1_000`, `true` and `null` as values of their own, splits at commas, and looks up
`${…}`. A person who names a thing means its name: what the schema holds as text is quoted here.
"""

from __future__ import annotations

import os
import re
from typing import Any, get_args, get_origin

from benchgen.config.settings import kind_of

PATHS = ("author.path", "benchmark.author.path", "author.tools", "path", "dataset", "workspace")
"""Settings that hold a path, which may begin with `~`."""
TEXTS = tuple(f"change.{field}" for field in ("prompt", "rationale", "category", "difficulty"))
"""Settings of any type that hold text."""
LISTABLE = ("run_id",)
"""Settings of any type that hold one id or a list of them."""
_QUOTED = re.compile(r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\"", re.DOTALL)
_SWEEPS = re.compile(r"(?:choice|range|interval|glob|shuffle|sort|tag)\(.*\)", re.DOTALL)
"""Hydra's words for the elements of a sweep."""


def as_typed(override: str, multirun: bool = False) -> str:
    """The override as Hydra has to be given it. In a sweep (`multirun`) a comma parts its elements."""
    key, sign, value = override.partition("=")
    name = key.lstrip("+")
    if not sign or key.startswith("~"):
        return override
    kind = kind_of(name)
    value = _literal(value)
    if multirun and _SWEEPS.fullmatch(value):
        return f"{key}={value}"
    if _is_text(name, kind):
        values = elements(value) if multirun else [value]
        return f"{key}=" + ",".join(_text(name, one) for one in values)
    if get_origin(kind) is list or name in LISTABLE:
        return f"{key}=" + (value if multirun else _list(value, kind))
    if kind == dict[str, str] and value.startswith("{") and value.endswith("}"):
        return f"{key}={_map(value)}"
    return f"{key}={value}"


def _is_text(name: str, kind: Any) -> bool:
    return name in TEXTS or kind is str or kind == str | None


def _text(name: str, value: str) -> str:
    """The value in quotes, unless it is there already, or is the `null` that unsets a group's setting."""
    if _QUOTED.fullmatch(value) or (value == "null" and "." in name):
        return value
    if name in PATHS and value.startswith("~"):
        value = os.path.expanduser(value)  # noqa: PTH111 - of an unknown user it stays as it is
    return quoted(value)


def _list(value: str, kind: Any) -> str:
    """The value as a list: `1,2` is [1,2] and `1` is [1]; elements that are text are quoted."""
    brackets = value.startswith("[") and value.endswith("]")
    if not brackets and (value.startswith(("{", "[")) or value in ("", "null")):
        return value
    parts = elements(value[1:-1] if brackets else value)
    if get_origin(kind) is not list:  # one id, or several
        return value if brackets or len(parts) < 2 else f"[{value}]"
    if get_args(kind) == (str,):
        parts = [one if _QUOTED.fullmatch(one) else quoted(one) for one in parts if one]
    return f"[{','.join(parts)}]"


def _map(value: str) -> str:
    """A map whose values are text, each of them quoted unless it is already, or is a list or a map."""
    pairs = []
    for pair in filter(None, elements(value[1:-1])):
        key, sign, text = pair.partition(":")
        text = text.strip()
        plain = sign and not _QUOTED.fullmatch(text) and not text.startswith(("[", "{"))
        pairs.append(f"{key}: {quoted(text)}" if plain else pair)
    return "{" + ", ".join(pairs) + "}"


def quoted(value: str) -> str:
    """The text in quotes, as Hydra reads it back; what was in quotes already keeps its text."""
    if _QUOTED.fullmatch(value):
        return value
    # a backslash is a sign like any other, unless it stands before a quote or at the end
    escaped = re.sub(r"(\\*)('|\Z)", lambda m: m[1] * 2 + ("\\'" if m[2] else ""), value)
    return f"'{escaped}'"


def _literal(value: str) -> str:
    """The value with `${…}` as the text that it is: no variable of the environment is ever looked up."""
    return re.sub(r"(\\*)\$\{", lambda m: m[1] * 2 + r"\${", value)


def elements(value: str) -> list[str]:
    """The parts between commas that stand in no quotes and no brackets, without spaces around them."""
    parts, depth, quote, start = [], 0, "", 0
    for place, sign in enumerate(value):
        if quote:
            if sign == quote and not _escaped(value, place):
                quote = ""
        elif sign in "'\"" and value[:place].rstrip()[-1:] in ("", *",:[{("):
            quote = sign  # one inside a word is an apostrophe
        elif sign in "[{(":
            depth += 1
        elif sign in ")}]":
            depth -= 1
        elif sign == "," and depth <= 0:
            parts.append(value[start:place].strip())
            start = place + 1
    return [*parts, value[start:].strip()]


def _escaped(value: str, place: int) -> bool:
    before = value[:place]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1
