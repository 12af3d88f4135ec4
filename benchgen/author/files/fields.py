"""What every kind of question has: prompt, category, difficulty, language, worked answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchgen.author.files.headers import Layout
from benchgen.author.files.source import Row, Source, alike, brief, missing

_LANGUAGES = {"english": "en", "german": "de", "deutsch": "de", "french": "fr", "français": "fr"}
_LANGUAGES |= {"spanish": "es", "español": "es", "italian": "it", "portuguese": "pt", "dutch": "nl"}
_LANGUAGES |= {"chinese": "zh", "japanese": "ja", "korean": "ko", "russian": "ru", "arabic": "ar"}


def common(row: Row, layout: Layout, source: Source, language: str) -> dict[str, Any]:
    """The fields of the `Question` beside kind, target, choices and options."""
    told: dict[str, Any] = {"prompt": _prompt(row, layout, source), "language": language}
    for role in ("category", "difficulty", "rationale", "language"):
        column = layout.get(role)
        value = row.get(column)
        if column is not None and value is not None:
            told[role] = source.text(_plain(value), row, column)
    if told["language"] != language:
        told["language"] = _LANGUAGES.get(alike(told["language"]), told["language"])
    return told


def _plain(value: Any) -> Any:
    """A list of texts as one: tags and lists of steps become lines."""
    if isinstance(value, (list, tuple)) and all(isinstance(v, str) for v in value):
        return "\n".join(value)
    return value


def answer_missing(row: Row, column: str, source: Source, what: str = "answer") -> Exception:
    """The error for a row without its answer: null, empty, or a field that it does not have."""
    if column not in row.values:
        others = [name for name in row.values if name]
        short = row.values.get("")
        why = f"the row has only {short}" if short else f"the row has no '{column}'"
        return source.wrong(
            f"the {what} is missing: {why}", row=row, column=column, got=short or others
        )
    return source.wrong(
        f"the {what} is missing: the cell is empty (null)",
        row=row,
        column=column,
        got=row.values[column],
        next=f"give the {what}, or take the row out; nothing was imported",
    )


def _prompt(row: Row, layout: Layout, source: Source) -> str:
    column = layout.get("question") or layout.get("messages") or ""
    value = row.get(column)
    if value is None:
        raise answer_missing(row, column, source, "question")
    if isinstance(value, (list, tuple)) and len(value) == 1 and isinstance(value[0], (list, tuple)):
        value = value[0]  # a list of turns, each a list of messages: one turn
    text = _turns(value, row, column, source) if isinstance(value, (list, tuple)) else value
    prompt = source.text(text, row, column)
    context = layout.get("context")
    before = row.get(context)
    if context is None or before is None:
        return prompt
    source.decide(f"the text of column '{context}' stands before the question")
    return f"{source.text(_plain(before), row, context)}\n\n{prompt}"


def _turns(value: Sequence[Any], row: Row, column: str, source: Source) -> str:
    """The one question of a list of messages, after the system message if there is one."""
    texts = []
    for turn in value:
        role, content = (
            (turn.get("role"), turn.get("content")) if isinstance(turn, dict) else ("", None)
        )
        if isinstance(content, list):
            content = "\n".join(p["text"] for p in content if isinstance(p, dict) and p.get("text"))
        if (
            role not in ("system", "developer", "user")
            or missing(content)
            or not isinstance(content, str)
        ):
            raise source.wrong(
                f"the messages must be one of the user, after a system message at most; {role!r} is none",
                row=row,
                column=column,
                got=brief(turn),
            )
        texts.append((role, content))
    if [role for role, _ in texts][-1:] != ["user"] or sum(
        role == "user" for role, _ in texts
    ) != 1:
        raise source.wrong(
            "a question is asked in one message of the user, and this has several turns or none",
            row=row,
            column=column,
            got=[role for role, _ in texts],
        )
    if len(texts) > 1:
        source.decide("a system message stands before the question's own text")
    return "\n\n".join(content for _, content in texts)
