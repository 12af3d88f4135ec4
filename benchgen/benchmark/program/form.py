"""Strict scoring: is a right reply also in exactly the form that was asked for? Policy: score.py."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any

from .options import prepared
from .spelling import composed

_CALLS = re.compile(r"(?:<tool_call>[^<]*(?:<(?!/?tool_call>)[^<]*)*</tool_call>\s*)+")
_NUMBER = re.compile(r"[+-]?\d{1,400}(?:\.\d{1,400})?(?:[eE][+-]?\d{1,4})?(?:/\d{1,400})?")


def followed(
    kind: str, reply: str, target: Any, choices: Sequence[str], *, several: bool, as_json: bool
) -> bool:
    """Whether a right reply gives its answer with no wrapper, comment or other wording around it.

    The form: a last line `Answer: X`, or X as the whole reply, after any closed reasoning block. X is
    a label or an option's text as written (several: with `, ` or `; ` between), an accepted text as
    written, or a plain number. Calls stand alone in `<tool_call>` tags; JSON stands alone; key points
    and replies that rightly call nothing have no form to break.
    """
    text = reply.rpartition("</think>")[2].strip()
    if kind == "keypoints" or (kind == "tool" and not target):
        return True
    if kind == "tool":
        return bool(_CALLS.fullmatch(text))
    if as_json:
        return _is_json(text)
    line = text.rpartition("\n")[2].strip()
    if line.startswith("Answer: "):
        value = line.removeprefix("Answer: ")
    elif line == text:
        value = text
    else:
        return False
    if kind == "mcq":
        return _is_choice(value, choices, several)
    if kind == "numeric":
        return bool(_NUMBER.fullmatch(value)) or value == str(target)
    accepted = target if isinstance(target, (list, tuple)) else [target]
    return composed(value) in {composed(str(text)) for text in accepted}


def _is_choice(value: str, choices: Sequence[str], several: bool) -> bool:
    """Whether a value is nothing but a label or an option's text, or a list of such."""
    options = prepared(tuple(choices), False)
    known = {*options.labels, *(composed(str(choice).strip()) for choice in choices)}
    if len(choices) > 26:  # labels may be numbers then
        known.update(map(str, range(1, len(choices) + 1)))
    value = composed(value)
    if not several:
        return value in known
    return any(set(value.split(mark)) <= known for mark in (", ", "; "))


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True
