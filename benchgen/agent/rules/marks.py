"""A stretch of a message that is a name, a path, a table or a quotation: read as a whole, never by its words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

TABLE, FILE, QUOTE, MODEL, BENCH, HUB, LONG = (
    "table",
    "file",
    "quote",
    "model",
    "bench",
    "hub",
    "long",
)


@dataclass(frozen=True)
class Mark:
    """What stands between two places of a message, and what it means."""

    kind: str
    value: Any
    """A path, name or id as the wish needs it."""
    start: int
    end: int
    others: tuple[Any, ...] = ()
    """What it could mean as well."""

    @property
    def all(self) -> tuple[Any, ...]:
        return (self.value, *self.others)


def free(start: int, end: int, marks: Iterable[Mark]) -> bool:
    """Whether no mark covers any of this stretch."""
    return all(end <= mark.start or mark.end <= start for mark in marks)
