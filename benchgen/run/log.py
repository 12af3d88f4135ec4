"""The log of a run, `traces.jsonl`: a line a reply, read from the disk when it is looked at.

Only where each line begins is kept in memory, so a run of any size takes about as much of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import IO, Any, overload

from benchgen.errors import StoreError
from benchgen.types import Trace

NOT_ANSWERED = "error"
"""The finish reason of a request that got no reply."""

Asking = tuple[str, int]
"""(question key, repeat)"""


class TraceLog(Sequence[Trace]):
    """The traces of a run in the order of its questions, then repeats, those that there are.

    Of two lines for one asking the first counts, unless it got no reply and a later one did. A torn last
    line (a killed writer's) is left out; a broken one before it is a StoreError.
    """

    def __init__(self, path: Path, keys: Iterable[str] | None = None) -> None:
        self.path = path
        self._places: dict[Asking, int] = {}
        self._unanswered: set[Asking] = set()
        self._read()
        if keys is not None:
            self._sort(keys)
        self._order = list(self._places)

    def _read(self) -> None:
        if not self.path.exists():
            return
        at = 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if not line.endswith(b"\n"):
                    break
                if line.strip():
                    self._note(_parsed(line, number, self.path), at)
                at += len(line)

    def _note(self, row: dict[str, Any], at: int) -> None:
        if "key" not in row:
            raise StoreError(f"{self.path.name} holds a line that is no trace")
        asking = (str(row["key"]), int(row.get("repeat", 0)))
        unanswered = row.get("finish_reason") == NOT_ANSWERED
        if asking not in self._places or (asking in self._unanswered and not unanswered):
            self._places[asking] = at
            (self._unanswered.add if unanswered else self._unanswered.discard)(asking)

    def _sort(self, keys: Iterable[str]) -> None:
        place = {key: i for i, key in enumerate(keys)}
        known = [asking for asking in self._places if asking[0] in place]
        known.sort(key=lambda asking: (place[asking[0]], asking[1]))
        self._places = {asking: self._places[asking] for asking in known}
        self._unanswered &= self._places.keys()

    @property
    def askings(self) -> set[Asking]:
        """Those that have a line, answered or not."""
        return set(self._places)

    @property
    def unanswered(self) -> set[Asking]:
        """Those whose request got no reply."""
        return set(self._unanswered)

    def __len__(self) -> int:
        return len(self._order)

    def __iter__(self) -> Iterator[Trace]:
        if not self._order:
            return
        with self.path.open("rb") as file:
            yield from map(partial(self._at, file), self._order)

    @overload
    def __getitem__(self, index: int) -> Trace: ...
    @overload
    def __getitem__(self, index: slice) -> list[Trace]: ...
    def __getitem__(self, index: int | slice) -> Trace | list[Trace]:
        chosen = self._order[index]
        with self.path.open("rb") as file:
            if isinstance(chosen, list):
                return [self._at(file, asking) for asking in chosen]
            return self._at(file, chosen)

    def _at(self, file: IO[bytes], asking: Asking) -> Trace:
        file.seek(self._places[asking])
        return Trace.from_dict(_parsed(file.readline(), 0, self.path))


def _parsed(line: bytes, number: int, path: Path) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"line {number} of {path.name} cannot be read: {error}") from error
    if not isinstance(row, dict):
        raise StoreError(f"line {number} of {path.name} is not a JSON object", got=row)
    return row
