"""Training rows: which of the known formats a file has, and that every row can be trained on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.source import Row, Source, Table, brief, missing
from benchgen.types import canonical

FORMATS = ("alpaca", "sharegpt", "messages", "prompt+completion")
ROLES = {
    "messages": ("system", "developer", "user", "assistant", "tool", "function"),
    "sharegpt": ("system", "human", "user", "gpt", "assistant", "chatgpt", "bing", "bard", "tool")
    + ("function_call", "observation", "function_response"),
}
SPEAKS = ("gpt", "assistant", "chatgpt", "bing", "bard", "function_call")
"""Roles whose text is learnt."""
_LISTS = {"messages": "messages", "conversations": "sharegpt", "conversation": "sharegpt"}
_BENCHMARK = (
    "answer",
    "answers",
    "correct_answer",
    "choices",
    "options",
    "expected_calls",
    "key_points",
)


def format_of(table: Table) -> str | None:
    """The training format of the file, None for a file of questions. The first row that has one decides."""
    columns = {column.strip().casefold() for column in table.columns}
    if columns & set(_BENCHMARK):
        return None
    for row in table.rows:
        found = _format(row)
        if found is not None:
            return found
    return None


def _format(row: Row) -> str | None:
    """By the names of the fields alone, so that a field without content is seen as a fault."""
    names = {name.strip().casefold() for name in row.values if row.values[name] is not None}
    for name, form in _LISTS.items():
        if name in names:
            return form
    if {"prompt", "chosen"} <= names or {"chosen", "rejected"} <= names:
        return "preference"
    if {"prompt", "completion"} <= names or {"prompt", "response"} <= names:
        return "prompt+completion"
    if "instruction" in names and names & {"output", "response"}:
        return "alpaca"
    return "alpaca" if {"instruction", "input"} <= names else None


def check_training(table: Table, form: str, source: Source) -> None:
    """Nothing; a DataError for a row of another format, an empty text, or a role that is none."""
    if form == "preference":
        raise source.wrong(
            "it holds pairs to prefer (chosen, rejected), which no recipe here trains on",
            got=list(table.columns),
            allowed=list(FORMATS),
        )
    check = {"alpaca": _alpaca, "prompt+completion": _completion}.get(form)
    shapes: dict[str, Row] = {}
    for row in table.rows:
        found = _format(row)
        if found != form and found is not None:
            raise source.wrong(
                f"the rows are a mix of formats: {form} in row {table.rows[0].number}, {found} here",
                row=row,
                got=list(row.values),
                next="one file has rows of the same format",
            )
        shape = check(row, source) if check else _chat(row, form, source)
        shapes.setdefault(shape, row)
        if len(shapes) > 1:
            one, two = shapes
            raise source.wrong(
                f"the rows are a mix: {one} text in {shapes[one]}, {two} here; all must have the same format",
                row=row,
                column="prompt",
                next="write all rows as text, or all as conversational messages",
            )
    _repeated(table, source)


def _name(row: Row, wanted: Sequence[str]) -> str:
    """The row's own spelling of the first of the names that it has."""
    folded = {name.strip().casefold(): name for name in row.values}
    return next((folded[name] for name in wanted if name in folded), wanted[0])


def _filled(row: Row, wanted: Sequence[str], source: Source) -> Any:
    column = _name(row, wanted)
    value = row.get(column)
    if value is None:
        why = "is empty" if column in row.values else "is missing (not there)"
        raise source.wrong(
            f"{column} {why}: nothing to train on",
            row=row,
            column=column,
            got=row.values.get(column),
            next="fill it, or take the row out; nothing was imported",
        )
    return value


def _alpaca(row: Row, source: Source) -> str:
    for wanted in (("instruction",), ("output", "response")):
        source.text(_filled(row, wanted, source), row, _name(row, wanted))
    return "plain"


def _completion(row: Row, source: Source) -> str:
    """'plain' or 'conversational'."""
    kinds = []
    for wanted in (("prompt",), ("completion", "response")):
        column, value = _name(row, wanted), _filled(row, wanted, source)
        if isinstance(value, str):
            source.text(value, row, column)
            kinds.append("plain")
            continue
        if not isinstance(value, (list, tuple)) or not value:
            raise source.wrong(
                f"{column} is no text and no messages", row=row, column=column, got=brief(value)
            )
        speakers = [_turn(turn, "messages", row, column, source) for turn in value]
        ends = wanted[0] != "completion" or speakers[-1] == "assistant"
        if not ends:
            raise source.wrong(
                "the completion is not the assistant's", row=row, column=column, got=speakers
            )
        kinds.append("conversational")
    if kinds[0] != kinds[1]:
        raise source.wrong(
            f"the prompt is {kinds[0]} and the completion {kinds[1]}: a mix, both must have the same format",
            row=row,
            column=_name(row, ("prompt",)),
        )
    return kinds[0]


def _chat(row: Row, form: str, source: Source) -> str:
    names = [name for name, held in _LISTS.items() if held == form]
    column = _name(row, names)
    turns = _filled(row, names, source)
    if isinstance(turns, str):
        try:
            turns = read_literal(turns)
        except Unreadable as error:
            raise source.wrong(
                f"no list of messages: {error}", row=row, column=column, got=turns
            ) from error
    if not isinstance(turns, (list, tuple)) or not turns:
        raise source.wrong(
            "the list of messages is empty, or is none", row=row, column=column, got=brief(turns)
        )
    speakers = [_turn(turn, form, row, column, source) for turn in turns]
    if not any(role in SPEAKS for role in speakers):
        raise source.wrong(
            "the assistant says nothing: no answer to learn", row=row, column=column, got=speakers
        )
    if speakers[-1] not in SPEAKS:
        raise source.wrong(
            "the last message is not the assistant's: there is no answer to learn",
            row=row,
            column=column,
            got=speakers,
        )
    if "system" in speakers[1:]:
        raise source.wrong(
            "the system message is not the first", row=row, column=column, got=speakers
        )
    if len([role for role in speakers if role != "system"]) < 2:
        raise source.wrong(
            "nobody asks: the assistant speaks alone", row=row, column=column, got=speakers
        )
    return "conversational"


def _turn(turn: Any, form: str, row: Row, column: str, source: Source) -> str:
    """The role of one message whose content can be trained on."""
    turn = turn if isinstance(turn, Mapping) else {}
    role = turn.get("from", turn.get("role"))
    content = turn.get("value", turn.get("content"))
    if role not in ROLES[form]:
        raise source.wrong(
            f"the role {role!r} is unknown",
            row=row,
            column=column,
            got=role,
            allowed=list(ROLES[form]),
        )
    if isinstance(content, (list, tuple)):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        content = "".join(part for part in parts if isinstance(part, str))
    if missing(content) and turn.get("tool_calls"):
        return str(role)
    if missing(content) or not isinstance(content, str):
        raise source.wrong(
            f"a message of {role!r} is empty", row=row, column=column, got=brief(turn)
        )
    source.text(content, row, column)
    return str(role)


def _repeated(table: Table, source: Source) -> None:
    seen: set[str] = set()
    twice = 0
    for row in table.rows:
        key = canonical({k: repr(v) for k, v in row.values.items()})
        twice += key in seen
        seen.add(key)
    if twice:
        source.warn(f"{twice} rows repeat another row exactly; they are kept and count as often")
