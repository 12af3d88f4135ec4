"""Tool calls: offered functions in OpenAI's shape, and expected calls that those functions allow."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence, Set
from decimal import Decimal
from typing import Any

from benchgen.author.files.fields import answer_missing, common
from benchgen.author.files.headers import Layout
from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.source import Row, Source, Table, brief, listed, missing
from benchgen.types import Question, canonical

_SCHEMAS = ("parameters", "input_schema", "inputSchema")
_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean", "list": "array"}
_TYPES |= {"dict": "object", "tuple": "array", "double": "number", "text": "string"}
_CHECKS: Mapping[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
    "array": (list,),
    "object": (dict,),
    "null": (type(None),),
}
_NAMES = ("name", "tool", "tool_name", "function_name")
_ARGUMENTS = ("arguments", "args", "parameters", "input", "kwargs")


def tool_questions(
    table: Table, layout: Layout, source: Source, language: str
) -> list[tuple[Row, Question]]:
    """A question a row; the expected calls are proved against the functions that the row offers."""
    tools_column = layout.get("tools")
    calls_column = layout.get("calls") or layout.get("answer")
    if tools_column is None or (calls_column is None and layout.get("messages") is None):
        lacking = "tools" if tools_column is None else "answer (the expected calls)"
        raise source.wrong(
            f"no column was found for {lacking}",
            got=list(table.columns),
            next="author.columns.tools=…",
        )
    made, padded = [], []
    for row in table.rows:
        asked, calls_value, column = _asked(row, layout, calls_column, source)
        fields = common(asked, layout, source, language)
        tools = _tools(row, tools_column, source)
        names = {tool["function"]["name"] for tool in tools}
        calls = [
            _call(_chosen(item, names, row, column, source), row, column, source)
            for item in _calls(calls_value, row, column, source)
        ]
        proved = [_proved(call, tools, row, column, source) for call in calls]
        _storable({tools_column: tools, column: proved}, row, source)
        if any(
            set(a["arguments"]) != set(b["arguments"]) for a, b in zip(calls, proved, strict=True)
        ):
            padded.append(row)
        made.append((row, Question(kind="tool", target=proved, options={"tools": tools}, **fields)))
    if padded:
        source.decide(
            f"{listed(padded)}: arguments that are null and that the function does not have are taken out "
            "(a table fills the gaps of its columns so)"
        )
    none = [row for row, question in made if not question.target]
    if none:
        source.decide(f"{listed(none)}: no call is right there")
    return made


def _storable(values: Mapping[str, Any], row: Row, source: Source) -> None:
    """Nothing; an error for what no JSON file can hold: half a character, a number without end."""
    for column, value in values.items():
        try:
            text = canonical(value)
        except ValueError as error:
            raise source.wrong(
                "a number is too large, or none (NaN)", row=row, column=column, got=brief(value)
            ) from error
        source.sound(text, row, column)


def _asked(row: Row, layout: Layout, column: str | None, source: Source) -> tuple[Row, Any, str]:
    """(the row with its question, the expected calls, their column); the last message may hold the calls."""
    if column is not None:
        if column not in row.values or row.values[column] is None or row.values[column] == "":
            raise answer_missing(row, column, source, "answer (the expected calls)")
        return row, row.values[column], column
    name = layout.get("messages") or ""
    messages = _json(row.values.get(name), row, name, source)
    last = messages[-1] if isinstance(messages, list) and messages else None
    if not isinstance(last, dict) or last.get("role") != "assistant":
        raise source.wrong(
            "no expected calls: the messages do not end with the assistant's", row=row, column=name
        )
    source.decide(f"the expected calls are those of the last message in column '{name}'")
    asked = Row(row.number, {**row.values, name: messages[:-1]}, row.place)
    return asked, last.get("tool_calls") or [], name


def _json(value: Any, row: Row, column: str, source: Source, what: str = "the text") -> Any:
    """The value with plain numbers; a text is read as JSON."""
    if isinstance(value, str):
        try:
            value = json.loads(value) if value.strip() else None
        except (ValueError, RecursionError) as error:
            try:
                value = read_literal(value)
            except Unreadable:
                raise source.wrong(
                    f"{what} cannot be read as JSON: {error}", row=row, column=column, got=value
                ) from error
    return _plain(value)


def _plain(value: Any) -> Any:
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, (list, tuple)) else value


# --- the functions that are offered ------------------------------------------------------------


def _tools(row: Row, column: str, source: Source) -> list[dict[str, Any]]:
    value = _json(row.values.get(column), row, column, source)
    value = [value] if isinstance(value, dict) else value
    if not isinstance(value, list) or not value:
        raise source.wrong(
            "no tools are offered: a list of functions is needed",
            row=row,
            column=column,
            got=brief(value),
        )
    tools = [_tool(item, row, column, source) for item in value]
    names = [tool["function"]["name"] for tool in tools]
    for name in names:
        if names.count(name) > 1:
            raise source.wrong(
                f"the function {name!r} is offered twice (duplicate)", row=row, column=column
            )
    return tools


def _tool(item: Any, row: Row, column: str, source: Source) -> dict[str, Any]:
    """{"type": "function", "function": {name, description, parameters}} without padding."""
    inner = item.get("function", item) if isinstance(item, dict) else None
    name = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(name, str) or not name.strip():
        raise source.wrong("a tool has no name", row=row, column=column, got=brief(item))
    clean = _without_nulls({k: v for k, v in inner.items() if k not in (*_SCHEMAS, "type")})
    schema = next((inner[key] for key in _SCHEMAS if inner.get(key) is not None), None) or {}
    if isinstance(schema, str):
        schema = _json(schema, row, column, source)
    if not isinstance(schema, dict):
        raise source.wrong(
            f"the parameters of {name!r} are no JSON Schema",
            row=row,
            column=column,
            got=brief(schema),
        )
    return {
        "type": "function",
        "function": {**clean, "parameters": _schema(_without_nulls(schema))},
    }


def _without_nulls(value: Any) -> Any:
    """The schema without the keys that a table filled with null; lists keep theirs."""
    if isinstance(value, dict):
        return {k: _without_nulls(v) for k, v in value.items() if v is not None}
    return [_without_nulls(v) for v in value] if isinstance(value, list) else value


def _schema(schema: dict[str, Any]) -> dict[str, Any]:
    """JSON Schema; a plain map from names to {"type", "description"} (xLAM) becomes one."""
    if not schema or "properties" in schema or schema.get("type") in ("object", "dict"):
        kind = {"type": "object"} if schema.get("type") != "object" else {}
        return {**schema, **kind, "properties": schema.get("properties") or {}}
    if not all(isinstance(spec, dict) for spec in schema.values()):
        return {"type": "object", "properties": {}, **schema}
    properties, required = {}, []
    for name, spec in schema.items():
        words = [word.strip() for word in str(spec.get("type", "")).split(",")]
        typed = {**spec, "type": _TYPES.get(words[0], words[0])} if words[0] else dict(spec)
        properties[name] = typed
        if "optional" not in words and "default" not in spec:
            required.append(name)
    return {"type": "object", "properties": properties, "required": required}


# --- the calls that are expected ---------------------------------------------------------------


def _calls(value: Any, row: Row, column: str, source: Source) -> list[Any]:
    value = _json(value, row, column, source)
    if isinstance(value, dict):
        value = value.get("tool_calls", [value])
    if not isinstance(value, list):
        raise source.wrong(
            "the expected calls are no list",
            row=row,
            column=column,
            got=brief(value),
            allowed='[{"name": …, "arguments": {…}}], or [] where no call is right',
        )
    return value


def _chosen(item: Any, names: Set[str], row: Row, column: str, source: Source) -> Any:
    """BFCL's {function: {argument: [every value that is right]}} as a call, where one value is right of each."""
    if not isinstance(item, dict) or len(item) != 1 or not names & set(item):
        return item
    name, allowed = next(iter(item.items()))
    if not isinstance(allowed, dict) or not all(isinstance(v, list) for v in allowed.values()):
        return item
    for key, values in allowed.items():
        if len(values) != 1:
            raise source.wrong(
                f"the call to {name!r}: several values of the argument {key!r} are right, and a target here "
                "has one (BFCL's ground truth)",
                row=row,
                column=column,
                got=brief(values),
                next="take the row out, or keep one value of each argument",
            )
    return {"name": name, "arguments": {key: values[0] for key, values in allowed.items()}}


def _call(item: Any, row: Row, column: str, source: Source) -> dict[str, Any]:
    inner = item.get("function", item) if isinstance(item, dict) else None
    if isinstance(inner, str) and isinstance(item, dict):
        inner = {**item, "name": inner}
    name = next((inner[k] for k in _NAMES if k in inner), None) if isinstance(inner, dict) else None
    if not isinstance(inner, dict) or not isinstance(name, str):
        raise source.wrong(
            "an expected call has no name",
            row=row,
            column=column,
            got=brief(item),
            allowed='{"name": …, "arguments": {…}}',
        )
    given: Any = next((inner[key] for key in _ARGUMENTS if inner.get(key) is not None), {})
    arguments = (
        _json(given, row, column, source, f"the arguments of {name!r}") if given != "" else {}
    )
    if not isinstance(arguments, dict):
        raise source.wrong(
            f"the arguments of {name!r} are no object", row=row, column=column, got=brief(arguments)
        )
    return {"name": name, "arguments": arguments}


def _proved(
    call: dict[str, Any], tools: Sequence[dict[str, Any]], row: Row, column: str, source: Source
) -> dict[str, Any]:
    """The call without padding; an error unless a function of the row allows it."""
    functions = {tool["function"]["name"]: tool["function"] for tool in tools}
    name = call["name"]
    if name not in functions:
        raise source.wrong(
            f"the expected call is to {name!r}, which is not offered (unknown function)",
            row=row,
            column=column,
            got=name,
            allowed=list(functions),
        )
    schema = functions[name]["parameters"]
    known = schema["properties"]
    arguments = {
        k: v for k, v in call["arguments"].items() if v is not None or _nullable(known.get(k))
    }
    required = [key for key in schema.get("required") or [] if key not in arguments]
    unknown = [] if schema.get("additionalProperties") else [k for k in arguments if k not in known]
    told: dict[str, Any] = {"row": row, "column": column, "got": brief(arguments)}
    if required or unknown:
        faults = [f"the required argument {key!r} is missing" for key in required]
        faults += [f"the argument {key!r} is unknown" for key in unknown]
        raise source.wrong(
            f"the expected call to {name!r} does not fit it: {', '.join(faults)}",
            **told,
            allowed=list(known),
        )
    for key, value in arguments.items():
        fault = _misfit(value, known.get(key))
        if fault:
            raise source.wrong(f"the expected call to {name!r}: argument {key!r} {fault}", **told)
    return {"name": name, "arguments": arguments}


def _nullable(spec: Any) -> bool:
    if not isinstance(spec, dict):
        return False
    kinds = spec.get("type")
    union = [s.get("type") for s in spec.get("anyOf") or [] if isinstance(s, dict)]
    return (
        "null" in (kinds if isinstance(kinds, list) else [kinds])
        or "null" in union
        or bool(spec.get("nullable"))
    )


def _misfit(value: Any, spec: Any) -> str:
    """Why the value is not what the function's schema says, "" if it is."""
    if not isinstance(spec, dict) or missing(value):
        return ""
    enum = spec.get("enum")
    if isinstance(enum, list) and enum and value not in enum:
        return f"is {brief(value)}, and the function allows {brief(enum)}"
    kinds = spec.get("type")
    kinds = kinds if isinstance(kinds, list) else [kinds]
    if not kinds or any(kind not in _CHECKS for kind in kinds):
        return ""
    fits = any(
        (isinstance(value, _CHECKS[kind]) and (kind == "boolean" or not isinstance(value, bool)))
        or (kind == "integer" and isinstance(value, float) and value.is_integer())
        for kind in kinds
    )
    return "" if fits else f"is {brief(value)}, and the function wants {' or '.join(kinds)}"
