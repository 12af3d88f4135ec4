"""Texts of records, files and models as the agent shows them: on one line, bounded, as data and nothing else."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

NAME, CELL = 80, 160
"""Characters of a name and of a cell of a table."""
HIDDEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))
"""Kinds of characters that are not shown: control, direction, halves of characters."""


def line(text: object, limit: int = CELL) -> str:
    """The text on one line without what a page or a terminal would act on, cut where it is too long."""
    shown = "".join(
        " " if char in "\n\r\t" else char
        for char in str(text)[: 20 * limit]
        if char in "\n\r\t" or unicodedata.category(char) not in HIDDEN
    )
    shown = re.sub(
        r"[<>`\[\]]", lambda sign: "‹›'()"["<>`[]".index(sign[0])], " ".join(shown.split())
    )
    return shown if len(shown) <= limit else shown[: limit - 1] + "…"


def name(text: object) -> str:
    """A name of a record or model."""
    return line(text, NAME)


def cell(text: object, limit: int = CELL) -> str:
    """The text of a table's cell."""
    return line(text, limit).replace("|", "¦")


def table(head: Sequence[str], rows: Iterable[Sequence[object]], limit: int = CELL) -> str:
    """A Markdown table; its cells are bounded."""
    lines = [f"| {' | '.join(head)} |", f"|{' --- |' * len(head)}"]
    lines += [f"| {' | '.join(cell(value, limit) for value in row)} |" for row in rows]
    return "\n".join(lines)


def percent(share: float | None) -> str:
    """46.7 %, or a dash where nothing was scored."""
    return "–" if share is None else f"{100 * share:.1f} %"


def score(figures: Mapping[str, Any]) -> str:
    """The score with its counts and interval: right of scored, and how many of the asked that is."""
    low, high = figures["ci"]
    scored, asked = figures["scored"], figures["asked"]
    left = "" if scored == asked else f", {asked - scored} of {asked} not measured"
    if figures["score"] is None:
        return f"no score: none of {asked} replies could be scored"
    return (
        f"{percent(figures['score'])} ({figures['right']} of {scored} right{left}; "
        f"95 % interval {100 * low:.1f} to {100 * high:.1f})"
    )


def points(share: float | None) -> float | None:
    """A share in [0, 1] as percent with one decimal, as arguments carry it."""
    return None if share is None else round(100 * share, 1)


def listed(names: Iterable[object], last: str = "and") -> str:
    """a, b and c."""
    found = [name(one) for one in names]
    return (
        found[0]
        if len(found) == 1
        else f"{', '.join(found[:-1])} {last} {found[-1]}"
        if found
        else ""
    )


def plural(number: int, word: str) -> str:
    """1 question, 2 questions."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"


def paragraphs(*parts: str) -> str:
    """The parts that say something, an empty line between them."""
    return "\n\n".join(part for part in parts if part)
