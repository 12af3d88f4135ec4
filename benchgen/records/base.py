"""What every handle on a record has: its row, its folder, its page and its log."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen import jobs
from benchgen.errors import InputError
from benchgen.store import (
    Store,
)

PAGE = "index.html"


@dataclass(frozen=True)
class Place:
    """Where records live, and who acts."""

    path: Path
    store: Store
    user: str


class Record:
    """One record by id: its row is read when asked for, so it is never stale."""

    kind: type[Any]
    """The table of its row."""

    def __init__(self, place: Place, id: int) -> None:
        self.place = place
        self.id = id

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.id}>"

    @property
    def row(self) -> Any:
        return self.place.store.get(self.kind, self.id)

    @property
    def folder(self) -> Path:
        """Where its files lie."""
        return self.place.path / str(self.kind.__tablename__) / str(self.id)

    def logs(self, lines: int = 20) -> list[str]:
        """The last lines that its process wrote; [] where it has none."""
        if lines < 0:
            raise InputError(f"lines={lines} cannot be shown", got=lines, allowed="0 or more")
        return jobs.tail(self.folder, lines)

    @property
    def link(self) -> str:
        """Path of its self-contained HTML page."""
        return str(self.folder / PAGE)
