"""What a job of a sweep has made so far: done again after it was interrupted, it makes nothing twice.

A line of its file is written when a record is made: what was asked for, and the record's id. A job that is
done again asks for the same things in the same order, and is given the records that are there.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgen.store import cut_torn_line, make_folder, read_jsonl, write_jsonl
from benchgen.types import json_line, sha256


class Trail:
    """The records of one piece of work, by what was asked for when they were made."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._left: list[dict[str, Any]] | None = None
        self._taken_up: dict[str, Any] | None = None

    def earlier(self, table: str, asked: Any, there: Callable[[int], bool]) -> int | None:
        """The id of the record that an earlier try made for the same, if it is still `there`."""
        told = _told(asked)
        if self._left is None:
            self._left = read_jsonl(self.path)
        for line in self._left:
            if (line["table"], line["asked"]) == (table, told) and there(line["id"]):
                self._left.remove(line)
                self._taken_up = line
                return int(line["id"])
        self._taken_up = None
        return None

    def took_up(self, table: str, id: int) -> bool:
        """Whether that record is the one that was gone on with last."""
        found = self._taken_up
        return found is not None and (found["table"], found["id"]) == (table, id)

    def note(self, table: str, asked: Any, id: int) -> None:
        """Keep that this record was made for what was asked."""
        make_folder(self.path.parent)
        cut_torn_line(self.path)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json_line({"table": table, "asked": _told(asked), "id": id}))

    def give_up(self) -> None:
        """Forget the record that was gone on with last: that failed, so the next try makes a new one."""
        if self._taken_up is not None:
            kept = [line for line in read_jsonl(self.path) if line != self._taken_up]
            write_jsonl(self.path, kept)


def _told(asked: Any) -> str:
    return sha256(json.dumps(asked, sort_keys=True, default=_plain))


def _plain(value: Any) -> Any:
    """A config as its fields, a handle as its id, anything else as its text."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    return value.id if hasattr(value, "id") else str(value)
