"""Open answers that are scored on the points they make."""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from benchgen.author.files.fields import common
from benchgen.author.files.headers import Layout
from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.numbers import exact
from benchgen.author.files.source import Row, Source, Table, brief, listed, missing, normal, trimmed
from benchgen.types import Question

_TEXT_KEYS = ("text", "point", "criterion", "description", "fact", "key_point")
_WEIGHT_KEYS = ("weight", "points", "score")
_BULLET = re.compile(r"^\s*(?:[-*•]|\d{1,2}[.)])\s+")


def keypoint_questions(
    table: Table, layout: Layout, source: Source, language: str
) -> list[tuple[Row, Question]]:
    """Each row's points as texts, or as {"text", "weight"}; a reference answer is the worked answer."""
    column = layout.get("points") or ""
    reference = layout.get("answer")
    made, unproved = [], []
    for row in table.rows:
        fields = common(row, layout, source, language)
        if "rationale" not in fields and reference is not None and row.get(reference) is not None:
            fields["rationale"] = source.text(row.values[reference], row, reference)
        points = _points(row, column, table, source)
        if fields.get("rationale") and not _makes_all(fields["rationale"], points):
            del fields["rationale"]
            unproved.append(row)
        made.append((row, Question(kind="keypoints", target=points, **fields)))
    if unproved:
        source.warn(
            f"{listed(unproved)}: the scoring program does not find every key point in the reference answer, "
            "so the points themselves are the worked answer"
        )
    return made


def _makes_all(text: str, points: list[Any]) -> bool:
    from benchgen.scoring import score

    return score("keypoints", reply=text, target=points).correct is True


def _points(row: Row, column: str, table: Table, source: Source) -> list[Any]:
    value = row.get(column)
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = read_literal(value)
        except Unreadable as error:
            raise source.wrong(
                f"the list cannot be read: {error}", row=row, column=column, got=value
            ) from error
    elif isinstance(value, str) and not table.typed:
        value = _split(value, column, source, _bulleted(table, column))
    if value is None or value == []:
        raise source.wrong(
            "no key points: the list is empty or missing, and at least one is needed",
            row=row,
            column=column,
        )
    if not isinstance(value, (list, tuple)):
        raise source.wrong(
            "key_points holds one text, and no list of key points: at least a list of one is needed",
            row=row,
            column=column,
            got=brief(value),
            allowed='a list of texts, or of {"text": …, "weight": …}',
        )
    points = [_point(item, row, column, source) for item in value]
    texts = [normal(p if isinstance(p, str) else p["text"]) for p in points]
    if len(set(texts)) < len(texts):
        raise source.wrong(
            "a key point stands twice (duplicate)", row=row, column=column, got=texts
        )
    return points


def _split(text: str, column: str, source: Source, bulleted: bool) -> list[str]:
    """The points of one cell: a line each, or between | or ;."""
    for mark in ("\n", "|", ";"):
        parts = [_BULLET.sub("", part) for part in text.split(mark) if trimmed(part)]
        if len(parts) > 1:
            shown = "line ends" if mark == "\n" else f"'{mark}'"
            source.decide(f"the key points in column '{column}' are taken apart at {shown}")
            return parts
    return [_BULLET.sub("", text) if bulleted else text]


def _bulleted(table: Table, column: str) -> bool:
    """Whether another cell of the column lists several points, each with its bullet or number."""
    for row in table.rows:
        lines = [line for line in str(row.get(column) or "").split("\n") if trimmed(line)]
        if len(lines) > 1 and all(map(_BULLET.match, lines)):
            return True
    return False


def _point(item: Any, row: Row, column: str, source: Source) -> str | dict[str, Any]:
    if isinstance(item, Mapping):
        text = next((item[key] for key in _TEXT_KEYS if key in item), None)
        weight = next((item[key] for key in _WEIGHT_KEYS if key in item), None)
    else:
        text, weight = item, None
    if missing(text) or not isinstance(text, str):
        raise source.wrong(
            "a key point is empty or has no text", row=row, column=column, got=brief(item)
        )
    text = source.text(text, row, column)
    if weight is None:
        return text
    number = exact(weight) if isinstance(weight, (int, float, Decimal)) else None
    if isinstance(weight, bool) or not isinstance(number, (int, float)) or not 0 < number < 1e9:
        raise source.wrong(
            "a key point's weight is a number over 0", row=row, column=column, got=brief(item)
        )
    return {"text": text, "weight": number}
