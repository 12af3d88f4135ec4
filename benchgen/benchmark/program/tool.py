"""Tool calls: are the calls of a reply the expected ones, argument by argument? Policy below.

  1. The calls are those of the message's fields; a message without any may write them in its text.
  2. As many calls as expected, each one used once; their order is free unless `ordered`.
  3. A name is right to the letter, but for the `functions.` that a chat template may put before it.
  4. Arguments are JSON values: 5 is 5.0, not "5" and not true, and numbers are compared exactly; lists
     keep their order, objects do not have one. In an XML format, which has no types, the schema or the expected value gives the type.
     Expressions stay text. Texts are equal in one spelling (spelling.normalised); outer space counts
     only where the expected text has some, upper case always.
  5. An argument that is not expected is wrong, a missing one too, unless the schema says that it says
     nothing: it equals its default, or is null where the argument may be null or left out.
  6. What cannot be read as a call is `malformed_arguments`, and so is a call without arguments where
     the format has a place for them: never an empty object. A key that stands twice has no one value.
  7. No call expected: a reply in words is right; an empty or broken one is not.
  8. Calls in reasoning, after a turn or a tool's result that the model made up, or shown as an
     example, are not made.
  9. Of a truncated reply calls count only if the last has its end mark and nothing follows it.

The schema never makes a call wrong that equals the expected one; it explains one that does not.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from . import reading, spelling
from .call_values import (
    ARGUMENTS,
    Call,
    Found,
    Untyped,
    plain_name,
    shaped,
)
from .calls import in_messages, in_text, last_assistant
from .json_values import Malformed, as_json, json_of, same, shown
from .verdict import Score, judged, missed, unmeasured

MAX_SHOWN = 2000
"""Characters of `extracted`."""


def score(  # noqa: PLR0913 - the options are the caller's words
    reply: str | None,
    target: object,
    *,
    truncated: bool = False,
    messages: Sequence[Mapping[str, Any]] | None = None,
    schema: Mapping[str, Any] | None = None,
    ordered: bool = False,
    tools: Sequence[Mapping[str, Any]] | None = None,
) -> Score:
    """The verdict on one reply; `target` is the list of the expected calls, [] if none is.

    An expected call is `{"name", "arguments"}` or has OpenAI's shape; without arguments it has none.
    `schema` maps an argument to its JSON type or schema, or is a JSON Schema, or maps a tool's name to
    one of these. `tools` are tool definitions, as OpenAI or Anthropic write them: another name is
    `unknown_tool`.
    """
    try:
        golds = _expected(target)
        if golds is None:
            return unmeasured("error", "unreadable_target")
        specs = _specs(schema, tools, {gold.name for gold in golds})
        known = frozenset(specs.named | {gold.name for gold in golds})
        found = in_messages(messages)
        if found is None:
            text = reply or _text(messages)
            if not text or not spelling.normalised(text[:10_000]).strip():
                return missed("truncated" if truncated else "empty", "no_text")
            found = in_text(text, known)
        return _verdict(found, golds, specs, truncated, ordered)
    except RecursionError:
        return missed("no_answer", "malformed_arguments")


def _expected(target: object) -> list[Call] | None:
    """The expected calls; None if they cannot be read."""
    try:
        target = json_of(target) if isinstance(target, str) else as_json(target)
        items = target if isinstance(target, list) else [target]
        golds = [shaped(_complete(item), strict=True) for item in items]
    except (Malformed, RecursionError):
        return None
    return [call for calls in golds for call in calls or []]


def _complete(item: object) -> object:
    """The expected call with an empty object where it names no arguments."""
    if not isinstance(item, dict):
        return item
    inner = item.get("function")
    if isinstance(inner, dict):
        return _complete(inner)
    return {**({} if any(key in item for key in ARGUMENTS) else {"arguments": {}}), **item}


def _text(messages: Any) -> str:
    """The text of the last assistant message."""
    texts = []
    for message in last_assistant(messages):
        content = message.get("content")
        parts = content if isinstance(content, (list, tuple)) else [{"text": content}]
        texts += [part.get("text") for part in parts if isinstance(part, Mapping)]
    return "".join(text for text in texts if isinstance(text, str))


def _verdict(
    found: Found, golds: list[Call], specs: _Specs, truncated: bool, ordered: bool
) -> Score:
    if truncated and not (found.calls and found.finished and not found.malformed):
        return missed("truncated", "cut_call" if found.calls or found.malformed else "no_call")
    if found.malformed:
        return missed("no_answer", "malformed_arguments")
    if not found.calls:
        return _without_call(found, golds)
    shown_calls = _shown(found.calls)
    if specs.named and any(not specs.knows(call.name, golds) for call in found.calls):
        return judged(False, shown_calls, "unknown_tool")
    if not golds:
        return judged(False, shown_calls, "call_not_expected")
    try:
        pairs, calls, missing = _paired(found.calls, golds, specs)
    except _TooMany:
        return missed("no_answer", "too_many_calls", shown_calls)
    if calls or missing:
        return judged(False, shown_calls, _why(calls, missing, specs))
    in_order = zip(found.calls, golds, strict=True)
    if ordered and any(_difference(call, gold, specs) for call, gold in in_order):
        return judged(False, shown_calls, "wrong_order")
    exact = not any(_difference(call, gold, specs, exact=True) for call, gold in pairs)
    return judged(True, shown_calls, "" if exact else NOT_EXACT)


NOT_EXACT = "not_exact"
"""Right, but for spaces or the spelling of characters; so not strictly right."""


def _without_call(found: Found, golds: list[Call]) -> Score:
    if golds:
        return missed("no_answer", found.note or "no_call")
    text = found.text.strip()
    if not any(map(str.isalnum, text)) and text != "[]":
        return missed("no_answer", found.note or "no_text")
    if len(text) <= 300 and reading.outage(spelling.normalised(text)):
        return unmeasured("error", "outage_text")
    return judged(True, "[]")


def _shown(calls: list[Call]) -> str:
    texts = [
        f'{{"name":{shown(call.name)},"arguments":{shown(call.arguments)}}}' for call in calls[:99]
    ]
    return f"[{','.join(texts)}]"[:MAX_SHOWN].encode("utf-8", "replace").decode()


# --- matching --------------------------------------------------------------------------------


MAX_COMPARED = 100_000
"""Pairs of calls compared where they are not alike in every character."""


def _paired(
    calls: list[Call], golds: list[Call], specs: _Specs
) -> tuple[list[tuple[Call, Call]], list[Call], list[Call]]:
    """(calls with the expected ones that they are, calls that are not expected, expected ones not made).

    Each call is used once. Calls written alike are paired first, by a table; only the others are
    compared one by one.
    """
    made: dict[tuple[str, str], deque[Call]] = {}
    for call in calls:
        made.setdefault(_written(call), deque()).append(call)
    pairs, missing = [], []
    for gold in golds:
        if alike := made.get(_written(gold)):
            pairs.append((alike.popleft(), gold))
        else:
            missing.append(gold)
    left = [call for alike in made.values() for call in alike]
    if len(left) * len(missing) > MAX_COMPARED:
        raise _TooMany
    others = []
    for gold in missing:
        index = next((i for i, c in enumerate(left) if not _difference(c, gold, specs)), None)
        if index is None:
            others.append(gold)
        else:
            pairs.append((left.pop(index), gold))
    return pairs, left, others


class _TooMany(Exception):
    """More calls than can be compared."""


def _written(call: Call) -> tuple[str, str]:
    return call.name, shown(call.arguments)


def _why(calls: list[Call], missing: list[Call], specs: _Specs) -> str:
    if not missing:
        return "extra_call"
    if not calls:
        return "missing_call"
    pairs = ((call, gold) for gold in missing for call in calls if call.name == gold.name)
    pair = next(pairs, None)
    return _difference(*pair, specs) if pair else "wrong_tool"


def _difference(call: Call, gold: Call, specs: _Specs, *, exact: bool = False) -> str:
    """What is wrong with the call; empty if it is the expected one. `exact`: to the character."""
    if call.name != gold.name:
        return "wrong_tool"
    spec = specs.of(call.name)
    for key, value in gold.arguments.items():
        if key not in call.arguments:
            if not spec.says_nothing(key, value):
                return f"missing_argument: {_name(key)}"
        elif not same(
            got := _typed(call.arguments[key], spec.types(key), value), value, exact=exact
        ):
            fault = spec.fault(key, got)
            return f"schema: {_name(key)} {fault}" if fault else f"wrong_argument: {_name(key)}"
    for key, value in call.arguments.items():
        if key not in gold.arguments and not spec.says_nothing(key, value):
            return f"extra_argument: {_name(key)}"
    return ""


def _name(key: str) -> str:
    return " ".join(key[:60].encode("utf-8", "replace").decode().split())


_LITERALS = {"True": True, "False": False, "None": None}


def _typed(value: Any, types: frozenset[str], gold: Any) -> Any:
    """An argument of a format without types, read as the schema says, else as what is expected."""
    if not isinstance(value, Untyped):
        return value
    text = str(value)
    if types == {"string"} or (isinstance(gold, str) and (not types or "string" in types)):
        return text
    try:
        read = _LITERALS[text.strip()] if text.strip() in _LITERALS else json_of(text)
    except Malformed:
        return text
    return read if not types or _of_type(read, types) else text


# --- schemas ---------------------------------------------------------------------------------

_TYPES = {
    "int": "integer",
    "float": "number",
    "double": "number",
    "str": "string",
    "bool": "boolean",
    "list": "array",
    "tuple": "array",
    "dict": "object",
    "none": "null",
}
_JSON_TYPES = ("integer", "number", "string", "boolean", "array", "object", "null")


@dataclass(frozen=True)
class _Spec:
    """What is known of a tool's arguments."""

    properties: Mapping[str, Any] = field(default_factory=dict)
    required: frozenset[str] | None = None
    """None: it is not said which may be left out."""

    def types(self, key: str) -> frozenset[str]:
        """The JSON types that the argument may have; empty if nothing is said."""
        return _types(self.properties.get(key))

    def says_nothing(self, key: str, value: Any) -> bool:
        """Whether to name the argument with that value is the same as to leave it out."""
        known = self.properties.get(key)
        if known is None:
            return False
        value = _typed(value, self.types(key), None)
        if isinstance(known, Mapping) and "default" in known and same(value, known["default"]):
            return True
        optional = self.required is not None and key not in self.required
        return value is None and (optional or "null" in self.types(key))

    def fault(self, key: str, value: Any) -> str:
        """How the value breaks the schema; empty if it does not."""
        known, types = self.properties.get(key), self.types(key)
        if types and not _of_type(value, types):
            return f"is not {' or '.join(sorted(types))}"
        choices = known.get("enum") if isinstance(known, Mapping) else None
        if isinstance(choices, (list, tuple)) and not any(same(value, c) for c in choices):
            return "is not in the enum"
        return ""


def _types(known: Any, depth: int = 4) -> frozenset[str]:
    if isinstance(known, str):
        name = _TYPES.get(known.lower(), known.lower())
        return frozenset({name}) if name in _JSON_TYPES else frozenset()
    if isinstance(known, (list, tuple)):
        each = [_types(one, depth - 1) for one in known if depth]
        return frozenset().union(*each) if all(each) else frozenset()
    if not isinstance(known, Mapping) or not depth:
        return frozenset()
    given = known.get("type") or known.get("anyOf") or known.get("oneOf")
    types = _types(given, depth - 1)
    return types | {"null"} if types and known.get("nullable") is True else types


def _of_type(value: Any, types: frozenset[str]) -> bool:
    if value is None or isinstance(value, bool):
        return ("null" if value is None else "boolean") in types
    if isinstance(value, (int, Decimal)):  # a whole number is read as an int
        return "number" in types or ("integer" in types and isinstance(value, int))
    if isinstance(value, str):
        return "string" in types
    return ("object" if isinstance(value, dict) else "array") in types


@dataclass(frozen=True)
class _Specs:
    """The schemas of all tools."""

    common: _Spec
    each: Mapping[str, _Spec]
    named: frozenset[str]
    """The tools that exist; empty if it is not said which."""

    def of(self, name: str) -> _Spec:
        return self.each.get(name, self.common)

    def knows(self, name: str, golds: list[Call]) -> bool:
        """The tool exists; an expected one does."""
        return name in self.named or any(gold.name == name for gold in golds)


def _specs(schema: Any, tools: Any, expected: set[str]) -> _Specs:
    each: dict[str, _Spec] = {}
    for tool in tools if isinstance(tools, (list, tuple)) else ():
        inner = tool.get("function") if isinstance(tool, Mapping) else None
        tool = inner if isinstance(inner, Mapping) else tool
        if isinstance(tool, Mapping) and isinstance(tool.get("name"), str):
            each[plain_name(tool["name"])] = _spec(_parameters(tool) or {})
    named = frozenset(each)
    schema = schema if isinstance(schema, Mapping) else {}
    by_tool = {plain_name(str(key)): one for key, one in schema.items() if isinstance(one, Mapping)}
    if expected & by_tool.keys() and not _is_schema(schema):
        each.update({name: _spec(_parameters(one) or one) for name, one in by_tool.items()})
        return _Specs(_Spec(), each, named)
    common = _spec(_parameters(schema) or schema)
    return _Specs(common, {} if schema else each, named)


def _parameters(definition: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The JSON Schema in a tool's definition."""
    for key in ("parameters", "input_schema", "inputSchema"):
        inner = definition.get(key)
        if isinstance(inner, Mapping) and _is_schema(inner):
            return inner
    return None


def _is_schema(schema: Mapping[str, Any]) -> bool:
    return isinstance(schema.get("properties"), Mapping) or schema.get("type") == "object"


def _spec(schema: Mapping[str, Any]) -> _Spec:
    """What a JSON Schema, or a map from argument to type, says of the arguments."""
    if not _is_schema(schema):
        return _Spec(schema)
    properties, required = schema.get("properties"), schema.get("required")
    names = required if isinstance(required, (list, tuple)) else ()
    return _Spec(
        properties if isinstance(properties, Mapping) else {},
        frozenset(name for name in names if isinstance(name, str)),
    )
