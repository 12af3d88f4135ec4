"""What every handle on a record has: its row, its folder, its page and its log."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from benchgen import config, jobs
from benchgen.errors import InputError, NotAllowed
from benchgen.records.trail import Trail
from benchgen.store import FILE, NOTE, Store
from benchgen.types import Model as AnyModel

PAGE = "index.html"
KEPT = frozenset(
    ("benchmarks", "writes", "runs", "models", "plans", "jobs", "reports", "hydra", "sweeps")
    + ("datasets", "drafts", "chats", "reruns")
)
"""Folders of a workspace that hold records, and those of Hydra's jobs."""
ALLOWED = {
    "train": "train or merge a model",
    "publish": "publish a benchmark or take one back",
    "endpoint": "ask a model behind an endpoint",
    "push": "take a model to the hub",
}
"""{permission: what it lets a person do}"""
UNUSABLE = ("writing", "cancelled")
"""States of a benchmark that is not whole, and of a plan that never will be one: nothing goes on with them."""
Convert = Callable[[str, int, int], None]
"""Told (what, done, total) of the embedded model's first conversion."""
Start = Callable[[Path, int, Path, str], object]
"""Starts the process of a record, as `jobs.spawn` does."""


@dataclass(frozen=True)
class Place:
    """Where records live, and who acts."""

    path: Path
    store: Store
    user: str
    on_convert: Convert | None = None
    started_by: Start | None = None
    """In place of `jobs.spawn`: a workspace in which nothing real starts has its own."""
    scripted: Mapping[str, AnyModel] = field(default_factory=dict)
    """Models that answer from a script, by their names in the catalogue."""
    permissions: config.PermissionsConfig | None = None
    """What the user may do; None = as conf/ has it."""
    trail: Trail | None = None
    """Of a sweep's job: what it has made so far, so that interrupted it goes on."""

    def allow(self, action: str) -> None:
        """Nothing; NotAllowed where the permissions do not let this user do it."""
        given = self.permissions or config.load().permissions
        if not getattr(given, action):
            raise NotAllowed(
                f"this turn has no permission to {ALLOWED[action]}",
                got=f"permissions.{action}=false for {self.user}",
                allowed=[name for name in ALLOWED if getattr(given, name)]
                or "looking and planning",
                next="send it again; if it is refused again, this deployment does not allow it "
                "(conf/permissions/)",
            )

    def once(self, table: type[Any], asked: Any, make: Callable[[], int]) -> int:
        """The id of the record that `make` makes, or of the one that an interrupted try made for the same."""
        if self.trail is None:
            return make()

        def there(id: int) -> bool:
            with self.store.read() as session:
                row = session.get(table, id)
            return row is not None and row.state not in UNUSABLE

        name = str(table.__tablename__)
        id = self.trail.earlier(name, asked, there)
        if id is None:
            id = make()
            self.trail.note(name, asked, id)
        return id

    def start(self, id: int, folder: Path, module: str) -> None:
        """Start the process of the record with this id and folder: `python -m MODULE`."""
        (self.started_by or jobs.spawn)(self.path, id, folder, module)

    def outside(self, path: Path) -> Path:
        """The path itself, for a file of a person's own; InputError where records or job folders lie."""
        resolved = path.expanduser().resolve() if str(path).startswith("~") else path.resolve()
        inside = resolved.is_relative_to(self.path)
        first = resolved.relative_to(self.path).parts[:1] if inside else ()
        if inside and (not first or first[0] in KEPT or first[0].startswith((FILE, NOTE))):
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
