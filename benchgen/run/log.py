"""The log of a run, `traces.jsonl`: a line a reply, read from the disk when it is looked at.

Only where each line begins is kept in memory, so a run of any size takes about as much of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import NoneType
from typing import IO, Any, overload

from benchgen.errors import StoreError
from benchgen.store import parse_line
from benchgen.types import Trace

NOT_ANSWERED = "error"
"""The finish reason of a request that got no reply."""

Asking = tuple[str, int]
"""(question key, repeat)"""

NEEDED: Mapping[str, tuple[type, ...]] = {
    **dict.fromkeys(("key", "reply", "status", "reason"), (str,)),
    "messages": (list,),
    "extracted": (str, NoneType),
    "correct": (bool, NoneType),
    "value": (int, float, NoneType),
}
"""What a line of every version has, and the JSON types it may be of."""
ADDED: Mapping[str, tuple[type, ...]] = {
    "strict": (bool, NoneType),
    "finish_reason": (str,),
    **dict.fromkeys(("tokens_in", "tokens_out", "repeat", "version"), (int,)),
    "seconds": (int, float),
    "likelihood": (dict, NoneType),
}
"""What a line may lack."""
KINDS = {**NEEDED, **ADDED}


class TraceLog(Sequence[Trace]):
    """The traces of a run in the order of its questions, then repeats, those that there are.

    Of two lines for one asking the first counts, unless it got no reply and a later one did. A torn last
    line (a killed writer's) is left out; one before it that is broken or no trace is a StoreError.
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
                    self._note(_parsed(line, f"line {number}", self.path), at)
                at += len(line)

    def _note(self, row: dict[str, Any], at: int) -> None:
        asking = (row["key"], row.get("repeat", 0))
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
        which = f"the line at byte {self._places[asking]}"
        return Trace.from_dict(_parsed(file.readline(), which, self.path))


def _parsed(line: bytes, which: str, path: Path) -> dict[str, Any]:
    """The fields of a trace; StoreError where the line is none."""
    row = parse_line(line, which, path)
    strange = [name for name in row if not isinstance(row[name], KINDS.get(name, ()))]
    strange += [name for name in NEEDED if name not in row]
    if strange:
        raise StoreError(
            f"{which} of {path.name} is no trace: {', '.join(strange[:3])}",
            next="a newer benchgen may have written it; else restore the run's folder, or run again",
        )
    return row
