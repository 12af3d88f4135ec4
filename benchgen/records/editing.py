"""A question of a benchmark changed by a person: which fields, of what types, and what cannot be."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchgen.author.write import fault
from benchgen.errors import ConfigError, DataError, InputError
from benchgen.types import Evaluation, Question, canonical

Fits = tuple[Callable[[Any], bool], str]


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _are_texts(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(map(_is_text, value))


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _are_maps(value: Any) -> bool:
    return isinstance(value, (list, tuple)) and all(isinstance(v, dict) for v in value)


TEXT: Fits = (_is_text, "text")
FIELDS: Mapping[str, Fits] = {
    "prompt": TEXT,
    "choices": (_are_texts, "a list of texts: [first, second]"),
    "target": (lambda value: True, ""),  # by kind, in TARGETS
    "rationale": TEXT,
    "category": TEXT,
    "difficulty": TEXT,
    "options": (
        lambda v: isinstance(v, dict) and all(map(_is_text, v)),
        "named values: {name: value}",
    ),
}
"""{field that a person may change: (whether a value fits, what fits in words)}"""
TARGETS: Mapping[str, Fits] = {
    "mcq": (lambda v: _is_text(v) or _are_texts(v), "a letter, or a list of letters"),
    "qa": (
        lambda v: _is_text(v) or (_are_texts(v) and bool(v)),
        "a text, or a list of accepted texts",
    ),
    "numeric": (lambda v: _is_number(v) or _is_text(v), "a number"),
    "tool": (_are_maps, "a list of calls: [{name: f, arguments: {a: 1}}]"),
    "keypoints": (
        lambda v: (
            isinstance(v, (list, tuple))
            and bool(v)
            and all(_is_text(p) or isinstance(p, dict) for p in v)
        ),
        "a list of points",
    ),
}
"""{kind: what its target may be}"""
MAX_NAME = 200


def changed(
    benchmark: int,
    questions: Sequence[Question],
    number: int,
    changes: Mapping[str, Any],
    evaluation: Evaluation,
) -> list[Question]:
    """All questions with that one (from 1) changed; InputError or DataError where it cannot be.

    A new target takes the old worked answer away, unless another comes with it.
    """
    if not 1 <= number <= len(questions):
        raise InputError(
            f"benchmark {benchmark} has no question {number}",
            got=number,
            allowed=f"1 to {len(questions)}",
        )
    unknown = sorted(set(changes) - set(FIELDS))
    if unknown or not changes:
        raise InputError("a question has no such field", got=unknown, allowed=list(FIELDS))
    old, given = questions[number - 1], dict(changes)
    _check_types(old.kind, given)
    if old.kind == "qa" and isinstance(given.get("target"), str):
        given["target"] = [given["target"]]
    if "target" in given and "rationale" not in given:
        given["rationale"] = ""  # it led to the old answer
    try:
        new = dataclasses.replace(old, **given)
        canonical(new.to_dict()).encode()  # what UTF-8 and JSON can hold
        reason = fault(new, evaluation)
        others = {q.key for place, q in enumerate(questions, 1) if place != number}
        if not reason and new.key in others:
            reason = "it is the same as another question of the benchmark"
    except (ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError) as error:
        new, reason = old, str(error) or type(error).__name__
    if reason:
        raise DataError(f"question {number} cannot be so: {reason}", got=str(dict(changes))[:200])
    return [new if place == number else q for place, q in enumerate(questions, 1)]


def _check_types(kind: str, changes: Mapping[str, Any]) -> None:
    """Nothing; InputError for the first value that is not of its field's type."""
    for name, value in changes.items():
        fits, words = TARGETS[kind] if name == "target" else FIELDS[name]
        if not fits(value):
            raise InputError(
                f"{name} of a {kind} question takes {words}",
                got=value,
                allowed=words,
                next=f"text that looks like a number in quotes: change='{{{name}: \"5\"}}'"
                if "text" in words
                else f"change='{{{name}: …}}'",
            )


def check_name(name: str) -> None:
    """Nothing; ConfigError for what cannot name a benchmark."""
    if not name.strip() or len(name) > MAX_NAME or not name.isprintable():
        raise ConfigError(
            "that cannot name a benchmark",
            got=name,
            allowed=f"1 to {MAX_NAME} printable characters",
            next="name=…",
        )
