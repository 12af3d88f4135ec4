"""A chat's log: one JSON object a line, appended and flushed, with no secret in it."""

from __future__ import annotations

import datetime
import math
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgen.errors import InputError
from benchgen.store import cut_torn_line, make_folder, read_jsonl
from benchgen.types import json_line

FILE = "events.jsonl"
TEXT_CHARS = 200_000
"""Of one text; what is longer is cut."""
DEPTH = 12
Event = dict[str, Any]
Hide = Callable[[str], str]


class EventLog:
    """The events of one chat, as they are on the disk and in memory; safe to use from several threads."""

    def __init__(self, folder: Path, hide: Hide) -> None:
        self.path = folder / FILE
        self.hide = hide
        self._lock = threading.RLock()
        self._events: list[Event] = []
        self._size = 0
        self._torn = False

    def read(self) -> list[Event]:
        """Those that were not read before: another process may write to the same chat."""
        with self._lock:
            size = self.path.stat().st_size if self.path.exists() else 0
            if size == self._size:
                return []
            found = read_jsonl(self.path)
            new = found[len(self._events) :]
            self._events, self._size, self._torn = found, size, True
            return new

    def append(self, type: str, **told: Any) -> Event:
        """The event, on the disk before this returns."""
        with self._lock:
            number = len(self._events) + 1
            event = {**told, "n": number, "time": _now(), "type": type}
            event = {key: plain(value, self.hide) for key, value in event.items()}
            make_folder(self.path.parent)
            try:
                if self._torn:  # a killed process may have left half a line
                    cut_torn_line(self.path)
                    self._torn = False
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(json_line(event))
                self._size = self.path.stat().st_size
            except OSError as error:
                raise InputError(
                    f"the chat's log cannot be written: {error.strerror or error}",
                    got=str(self.path),
                    next="make room on the disk, then send it again",
                ) from error
            self._events.append(event)
            return event

    def after(self, number: int = 0) -> list[Event]:
        """The events after the first `number`."""
        with self._lock:
            return list(self._events[max(0, number) :])

    def __len__(self) -> int:
        return len(self._events)


def plain(value: Any, hide: Hide, depth: int = 0) -> Any:
    """The value as JSON holds it, its texts bounded and without secrets."""
    if depth > DEPTH:
        return "…"
    if isinstance(value, str):
        text = value.encode("utf-8", "replace").decode()
        return hide(text[:TEXT_CHARS] + "…" if len(text) > TEXT_CHARS else text)
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(plain(str(k), hide)): plain(v, hide, depth + 1) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(v, hide, depth + 1) for v in value]
    return plain(str(value), hide)


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="milliseconds")
