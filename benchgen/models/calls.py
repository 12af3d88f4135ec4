"""Tool calls as they stand in a model's text: `<tool_call>{"name": …, "arguments": {…}}</tool_call>`.

An endpoint's fields are turned into this form and back (`wire.py`); models on this machine write it themselves.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

OPEN, CLOSE = "<tool_call>", "</tool_call>"
MAX_TEXT = 200_000
"""Characters of a reply that are looked at."""

_THOUGHT = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL | re.IGNORECASE)


@dataclass(frozen=True)
class Call:
    """One call that a model wishes to be made."""

    name: str
    arguments: dict[str, Any] | None
    """None where they are no JSON object."""
    id: str = ""
    """What its result is filed under."""


def written(call: Call) -> str:
    """The call as one line of text; nothing in it can end the line or the call early."""
    told = {"id": call.id, "name": call.name, "arguments": call.arguments or {}}
    return f"{OPEN}{json.dumps(told, ensure_ascii=True).replace('<', chr(92) + 'u003c')}{CLOSE}"


def read(text: str) -> tuple[str, list[Call]]:
    """(what is said beside the calls, the calls in their order), reasoning left out.

    What stands between the marks and is no call has an empty name and no arguments.
    """
    text = _THOUGHT.sub("", text[:MAX_TEXT])
    said, calls, at = [], list[Call](), 0
    while (start := text.find(OPEN, at)) >= 0:
        said.append(text[at:start])
        call, at = _one(text, start + len(OPEN))
        calls.append(call)
    return "".join([*said, text[at:]]).strip(), calls


def neutral(text: str) -> str:
    """The text with the marks of a call made unreadable as such: for what others wrote."""
    return re.sub(
        r"<(?=/?(?:tool_call|tool_response|think|start_of_turn|end_of_turn|\|))",
        "‹",
        text,
        flags=re.IGNORECASE,
    )


def _one(text: str, start: int) -> tuple[Call, int]:
    """(the call that begins there, where the text goes on)."""
    while text[start : start + 1].isspace():
        start += 1
    try:
        value, end = _DECODER.raw_decode(text, start)
    except (ValueError, RecursionError):
        value, end = None, start
    close = text.find(CLOSE, end)
    after = len(text) if close < 0 else close + len(CLOSE)
    if not isinstance(value, dict) or not isinstance(value.get("name"), str):
        return Call("", None), after
    arguments = value.get("arguments", value.get("parameters"))
    number = value.get("id")
    return Call(
        value["name"],
        arguments if isinstance(arguments, dict) else None,
        number if isinstance(number, str) else "",
    ), after


def _no_number(word: str) -> Any:
    raise ValueError(word)


_DECODER = json.JSONDecoder(parse_constant=_no_number)
