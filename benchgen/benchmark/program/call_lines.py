"""Calls without tags: in code fences and at the start of a line, unless the words around take them back."""

from __future__ import annotations

import re

from .call_python import CALLED, python_calls
from .call_tags import GLUE, block, made_up
from .call_values import (
    MALFORMED,
    MAX_CALLS,
    MAX_TRIES,
    Call,
    Found,
    arguments_of,
    plain_name,
    shaped,
)
from .json_values import Malformed, json_at

_WEAK = re.compile(
    r"^(?:\d{1,2}[.)][ \t])?[ \t>*_`\"'“‘($#{-]{0,12}(?:\\boxed\{|\\[\[(]\s{0,9}|<(?:final_?)?answer>\s{0,9}"
    r"|(?:answer|(?:tool|function)[ _]?call|call|output|response|assistant|json)[ \t*]{0,4}:[ \t*`]{0,4})?(?:"
    r"(?P<fence>```[ \t]*(?P<language>[\w+-]{0,20})(?:\s{1,20}|(?=[\[{]))(?=[\[{]|[^\W\d]))"
    r"|(?P<react>(?:action|tool|function)(?: name)?[ \t*]{0,4}:[ \t*`]{0,4}(?P<name>[\w.-]{1,128})[ \t*`]{0,4}\n?"
    r"[ \t*]{0,4}(?:action input|arguments|args|input|parameters)[ \t*]{0,4}:[\s`]{0,9}(?:json\s)?\s{0,9})"
    r"|(?P<json>(?:functools)?(?=(?:\[\s{0,20}){0,2}\{\s{0,20}[\"']))"
    r"|(?P<python>(?=(?:\[\s{0,20}){0,2}[^\W\d][\w.-]{0,127}\()))",
    re.MULTILINE | re.IGNORECASE,
)
_FENCE_END = re.compile(r"\s*```")
_MEANT = re.compile(r"[\"'](?:arguments|parameters)[\"']")
_SUBJECT = re.compile(r"[ \t`*]{0,9}[a-z]{2}")
_EXAMPLE = re.compile(
    r"\b(?:examples?|e\.g|(?:would|could|might) (?:look|be|read)|looks? like|sample|hypothetical|illustrat\w{2,6}"
    r"|template|syntax|(?:do not|don't|won't|not going to|never) (?:call|run|execute|use|make|send|invoke))\b",
    re.IGNORECASE,
)
_NOT_MADE = re.compile(
    r"(?:\b(?:i|we)\b[^.\n]{0,20}?(?:\bnot|n't)|\bwithout|^\W{0,3}not|\bbut not)\s"
    r"(?:actually |really |be |been |going to |to ){0,3}(?:run|call|execut|invok|mak|made|sen)\w{0,5}\b",
    re.IGNORECASE,
)


def _example(text: str, start: int) -> bool:
    """The line before announces an example."""
    return bool(_EXAMPLE.search(text[max(0, start - 200) : start].rstrip().rpartition("\n")[2]))


def _taken_back(text: str, end: int) -> bool:
    """The line after says that the call is not made, or the call is the subject of its sentence."""
    after = text[end : end + 200].strip(" \n`").partition("\n")[0]
    return bool(_NOT_MADE.search(after) or _SUBJECT.match(text, end))


def untagged(text: str, known: frozenset[str], note: str) -> Found:
    """The calls in code fences and at the start of a line, unless the words around take them back."""
    calls: list[Call] = []
    position = last = tries = 0
    closed = False
    while tries < MAX_TRIES and len(calls) < MAX_CALLS:
        mark = _WEAK.search(text, position)
        if mark is None or made_up(text, last, mark.start(), bool(calls)):
            break
        try:
            step = _weak(text, mark, known)
        except Malformed:
            if not _example(text, mark.start()):
                return MALFORMED
            step = None
        position = max(step[1] if step else mark.end(), mark.start() + 1)
        if step is None or _example(text, mark.start()) or _taken_back(text, position):
            tries += 1
            continue
        calls += step[0]
        last = position
        fence = _FENCE_END.match(text, position) if mark["fence"] else None
        closed, position = fence is not None, fence.end() if fence else position
    finished = closed and not text[position:].strip()
    return Found(calls, text, False, finished, note)


def _weak(text: str, mark: re.Match[str], known: frozenset[str]) -> tuple[list[Call], int] | None:
    if mark["react"]:
        value, end = json_at(text, mark.end())
        return [Call(plain_name(mark["name"]), arguments_of(value))], end
    language = (mark["language"] or "").lower()
    if language.startswith("tool_call"):
        step = block(text, mark.end(), bare=False)
        return step[:2] if step else None
    if CALLED.match(text, mark.end()):
        return _lines_of_python(text, mark, known)
    return _lines_of_json(text, mark.end())


def _lines_of_json(text: str, position: int) -> tuple[list[Call], int] | None:
    """JSON calls one after the other; None for JSON that is no call."""
    calls: list[Call] | None = None
    end = position
    for _ in range(MAX_CALLS):
        if text[position : position + 1] not in ("{", "["):
            break
        try:
            value, position = json_at(text, position)
        except Malformed:
            if calls is not None or _MEANT.search(text, position, position + 2000):
                raise
            return None
        found = shaped(value)
        if found is None:
            break
        calls, end = (calls or []) + found, position
        position = GLUE.match(text, position).end()  # type: ignore[union-attr]
    return None if calls is None else (calls, end)


_CODE = ("python", "py", "python3")
_LINES = re.compile(r"[\s,;]*+")
_REST = re.compile(r"[ \t*_`\"'”’$)}\]\\.;]*+(?:<[^<>\n]{1,30}>)?\s*?(?:\n|\Z)")


def _lines_of_python(
    text: str, mark: re.Match[str], known: frozenset[str]
) -> tuple[list[Call], int] | None:
    """Calls one after the other; with unknown names only if they are the whole reply or fence.

    A fence of Python may hold any code, so there the names must be known too.
    """
    calls: list[Call] = []
    position = end = mark.end()
    fenced = bool(mark["fence"])
    alone = mark["language"].lower() not in _CODE if fenced else not text[: mark.start()].strip()
    first = CALLED.match(text, position)
    expected = first is not None and plain_name(first["name"]) in known
    while (alone or expected) and len(calls) < MAX_CALLS and CALLED.match(text, position):
        try:
            found, end = python_calls(text, position)
        except Malformed:
            if expected:
                raise
            return None
        calls += found
        position = _LINES.match(text, end).end()  # type: ignore[union-attr]
    line = _REST.match(text, end)
    if calls and all(call.name in known for call in calls):
        return (calls, end) if line or alone else None
    if fenced:
        whole = text.startswith("```", position) or position == len(text)
    else:
        whole = line is not None and not text[line.end() :].strip()
    return (calls, end) if calls and alone and whole else None
