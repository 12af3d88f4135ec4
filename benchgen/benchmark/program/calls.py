"""The tool calls of a reply: from a message's fields, else from its text. Nothing is evaluated.

A text's calls are those in tags or special tokens; only where there are none, those in code fences and
at the start of a line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from . import reading, spelling
from .call_lines import untagged
from .call_tags import Tagged
from .call_values import (
    MALFORMED,
    MAX_TEXT,
    Call,
    Found,
    arguments_of,
    plain_name,
    shaped,
)
from .json_values import Malformed, as_json, json_at, json_of

_ITEMS = ("function_call", "custom_tool_call", "reasoning", "message")


def in_messages(messages: Any) -> Found | None:
    """The calls in the fields of the last assistant message, or of the last Responses items.

    None where there are none: then the text may hold some.
    """
    calls: list[Call] = []
    try:
        for message in last_assistant(messages):
            calls += shaped(as_json(message), strict=message.get("type") in _ITEMS[:2]) or []
    except (Malformed, RecursionError):
        return MALFORMED
    return Found(calls) if calls else None


def last_assistant(messages: Any) -> list[Mapping[str, Any]]:
    """The last assistant message, or the Responses items of the last turn; empty if there is none."""
    found: list[Mapping[str, Any]] = []
    for message in reversed(messages if isinstance(messages, (list, tuple)) else ()):
        if not isinstance(message, Mapping):
            continue
        item = message.get("type") in _ITEMS
        output = str(message.get("type")).endswith("_output")
        mine = message.get("role", "tool" if output else "assistant") == "assistant"
        if mine and (item or not found):
            found.insert(0, message)
        if found and not (item and mine):
            break
    return found


_UNSEEN = re.compile(f"[{spelling.UNSEEN}]")
_MESSAGE = re.compile(r"<\|message\|>\s*")
_MESSAGE_END = re.compile(r"\s*<\|(?:end|call|return|start|channel)\|>")
_RECIPIENT = re.compile(r"\bto=(?P<name>[\w.-]{1,128})")


def in_text(reply: str, known: frozenset[str] = frozenset()) -> Found:
    """The calls in a reply's text; `known` are names of tools that exist.

    The text is read as written, not normalised: arguments are data.
    """
    text = reply[:MAX_TEXT].replace("\r\n", "\n").replace("｜DSML｜", "")
    text = text if text.isascii() else _UNSEEN.sub("", text)
    lead = reading.LEAD.match(text)
    text = text[lead.end() :] if lead else text
    if text.lstrip()[:1] == '"':
        try:
            inner = json_of(text)
        except Malformed:
            inner = None
        text = inner if isinstance(inner, str) else text
    note = ""
    if "<|message|>" in text:
        found = _in_harmony(text)
        if found.calls or found.malformed:
            return found
        text, note = found.text, found.note
    found = Tagged(text).found()
    if found.calls or found.malformed:
        return found
    return untagged(found.text, known, found.note or note)


def _in_harmony(text: str) -> Found:
    """The harmony format: each message's header names its channel, and the tool that it is sent to."""
    calls: list[Call] = []
    shown: list[str] = []
    position, finished = 0, False
    while message := _MESSAGE.search(text, position):
        header = _MESSAGE_END.sub(" ", text[position : message.start()])
        recipient = _RECIPIENT.search(header)
        if recipient is None:
            end = _MESSAGE_END.search(text, message.end())
            position, finished = end.start() if end else len(text), False
            shown += [] if "analysis" in header else [text[message.end() : position]]
            continue
        if recipient["name"] == "assistant":
            break  # a tool's result, made up
        try:
            value, position = json_at(text, message.end())
            calls.append(Call(plain_name(recipient["name"]), arguments_of(value)))
        except Malformed:
            return MALFORMED
        end = _MESSAGE_END.match(text, position)
        if end is None and text[position : position + 20].strip():
            return MALFORMED
        finished = end is not None
    finished = finished and not _MESSAGE_END.sub("", text[position:]).strip()
    return Found(calls, "\n".join(shown), False, finished, "" if shown else "only_reasoning")
