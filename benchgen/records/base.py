"""What every handle on a record has: its row, its folder, its page and its log."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchgen import jobs
from benchgen.errors import InputError
from benchgen.store import Store

PAGE = "index.html"
DATABASE = "benchgen.db"
KEPT = frozenset(
    ("benchmarks", "writes", "runs", "models", "plans", "jobs", "reports", "hydra", "sweeps")
)
"""Folders of a workspace that hold records, and those of Hydra's jobs."""
Convert = Callable[[str, int, int], None]
"""Told (what, done, total) of the embedded model's first conversion."""


@dataclass(frozen=True)
class Place:
    """Where records live, and who acts."""

    path: Path
    store: Store
    user: str
    on_convert: Convert | None = None

    def outside(self, path: Path) -> Path:
        """The path itself, for a file of a person's own; InputError where records or job folders lie."""
        resolved = path.expanduser().resolve() if str(path).startswith("~") else path.resolve()
        inside = resolved.is_relative_to(self.path)
        first = resolved.relative_to(self.path).parts[:1] if inside else ()
        if inside and (not first or first[0] in KEPT or first[0].startswith(DATABASE)):
            raise InputError(
                f"{path} lies among the records of the workspace",
                got=str(path),
                allowed="a path outside its records",
                next="path=NAME in a folder of your own",
            )
        return path


class Record:
    """One record by id: its row is read when asked for, so it is never stale."""

    kind: type[Any]
    """The table of its row."""

    def __init__(self, place: Place, id: int) -> None:
        self.place = place
        self.id = id

    @classmethod
    def of(cls, place: Place, which: Self | int) -> Self:
        """The record with this id, or the handle itself; NotFound names the ids there are."""
        if isinstance(which, Record):
            return which
        if isinstance(which, bool) or not isinstance(which, int):
            raise InputError(
                f"that names no record of {cls.kind.__tablename__}",
                got=which,
                allowed="its id, a whole number",
            )
        place.store.get(cls.kind, which)
        return cls(place, which)

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
