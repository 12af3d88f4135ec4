"""A tool call, and reading one from JSON as it stands: a repaired call is not the model's call."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from .json_values import Malformed, json_of

MAX_TEXT = 300_000
"""Characters of a reply that are looked at."""
MAX_CALLS = 1000
"""Calls that are read; nobody expects so many."""
MAX_TRIES = 32
"""Places that look like a call and are none, until the search ends."""


class Untyped(str):
    """An argument of an XML format, which does not tell "5" from 5."""

    __slots__ = ()


@dataclass(frozen=True)
class Call:
    """One call, the arguments as JSON values."""

    name: str
    arguments: dict[str, Any]


@dataclass(frozen=True)
class Found:
    """What a reply holds."""

    calls: list[Call]
    text: str = ""
    """The reply outside its reasoning and its calls."""
    malformed: bool = False
    finished: bool = False
    """The last call has its end mark, and nothing follows it."""
    note: str = ""
    """Why there may be no text: unclosed_reasoning or only_reasoning."""


MALFORMED = Found([], malformed=True)


_NAMES = ("name", "function", "function_name", "tool_name", "tool", "action")
ARGUMENTS = ("arguments", "parameters", "args", "input", "action_input", "tool_input")
_HOLDERS = (
    *("tool_calls", "tool_call", "function_call", "function_calls", "functionCall", "toolUse"),
    *("function", "choices", "message", "output", "content", "parts", "candidates"),
)
_HARD = _HOLDERS[:6]
"""What stands in these must be calls; the others may hold anything."""


def shaped(value: Any, *, strict: bool = False, depth: int = 8) -> list[Call] | None:
    """The calls of a JSON value in one of the known shapes; None, or Malformed if strict, for another."""
    if isinstance(value, list):
        return _several(value, strict, depth)
    if isinstance(value, dict) and depth:
        found = _one(value, strict)
        for key in _HOLDERS:
            if not found and isinstance(value.get(key), (dict, list)):
                hard = key in _HARD or (strict and key == "function")
                inner = shaped(value[key], strict=hard, depth=depth - 1)
                found = found if inner is None else inner
        if found is not None:
            return found
    if strict:
        raise Malformed
    return None


def _several(values: list[Any], strict: bool, depth: int) -> list[Call] | None:
    calls: list[Call] = []
    others = []
    for value in values if depth else ():
        found = shaped(value, strict=strict, depth=depth - 1)
        calls += found or []
        if found is None:
            others.append(value)
    if calls and not all(isinstance(v, dict) and ("type" in v or "role" in v) for v in others):
        raise Malformed
    return calls if calls or strict else None


def _one(value: dict[str, Any], strict: bool) -> list[Call] | None:
    """The call of an object with a name and arguments; None for any other object."""
    name = next((value[key] for key in _NAMES if isinstance(value.get(key), str)), None)
    held = next((key for key in ARGUMENTS if key in value), None)
    if not name or held is None:
        return None
    if "action" in value and name.lower().replace("_", " ") == "final answer":
        return []
    given = value[held]
    if isinstance(given, dict) and "properties" in given and given.get("type") == "object":
        return None  # the definition of a tool
    plain = isinstance(given, dict) or (isinstance(given, str) and held == "arguments")
    if not plain and not strict and value.get("type") not in ("function_call", "tool_use"):
        return None
    return [Call(plain_name(name), arguments_of(given))]


def arguments_of(value: Any) -> dict[str, Any]:
    """The arguments of an object or of JSON text; an empty text is what servers send for none."""
    for _ in range(2):
        if isinstance(value, str):
            value = json_of(value) if value.strip() else {}
    if not isinstance(value, dict):
        raise Malformed
    return value


_PREFIX = re.compile(r"(?:functions|default_api)\.(?=.)")
CALL_NUMBER = re.compile(r":\d{1,4}\Z")


def plain_name(name: str) -> str:
    """A tool's name without the namespace that a chat template puts before it, and its call's number."""
    name = name.strip()
    found = _PREFIX.match(name)
    return CALL_NUMBER.sub("", name[found.end() :]) if found else name
