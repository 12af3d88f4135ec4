"""What a chat has begun and does not wait for: runs and trainings, each a bar that moves between turns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from benchgen.errors import BenchgenError
from benchgen.records import Job, Run
from benchgen.types import UNDER_WAY

if TYPE_CHECKING:
    from benchgen.workspace import Workspace

Event = Mapping[str, Any]
Key = tuple[str, int]
BEGINS = frozenset(("run_benchmark", "multi_run", "publish_and_run", "resume_run"))
"""Tools that leave a run at work."""
MOST = 16
"""Records that are followed; of more, the newest."""


class UnderWay:
    """The runs and jobs that a chat's events say it began, as events of progress."""

    def __init__(self, ws: Workspace | None) -> None:
        self._ws = ws
        self._shown: dict[Key, Event] = {}
        self._open: list[Key] = []

    def note(self, event: Event) -> None:
        """Follow what this event of the log says has begun; a person's next message takes away what is over."""
        if event.get("type") == "user":
            self._shown = {key: told for key, told in self._shown.items() if key in self._open}
        for key in begun(event):
            if key not in self._open:
                self._open = [*self._open, key][-MOST:]

    @property
    def moving(self) -> bool:
        """Whether there is anything to look at again."""
        return self._ws is not None and bool(self._open)

    def look(self) -> tuple[Event, ...]:
        """How far each is now. One that ends while it is shown stays, with its end, until the next message."""
        for key in list(self._open) if self.moving else ():
            told, over = self._told(key)
            if over:
                self._open.remove(key)
            if told is not None and (not over or key in self._shown):
                self._shown[key] = told
        return tuple(self._shown.values())

    def _told(self, key: Key) -> tuple[Event | None, bool]:
        """(the record's progress, whether it is over); (None, True) for one that the workspace cannot show."""
        assert self._ws is not None
        kind, id = key
        try:
            told = _run(self._ws.get_run(id)) if kind == "run" else _job(self._ws.job(id))
        except BenchgenError:
            return None, True
        state = told.pop("state")
        words = f"{state}{told.pop('more', '')}"
        return {"record": kind, "id": id, "words": words, **told}, state not in UNDER_WAY


def begun(event: Event) -> Iterator[Key]:
    """The runs and jobs that an event says are at work."""
    if event.get("type") == "decided" and event.get("decision") == "confirmed":
        yield from _keys("job", [event.get("job")])
    if event.get("type") == "tool" and event.get("name") in BEGINS and event.get("ok") is not False:
        found = event.get("found")
        told = found if isinstance(found, Mapping) else {}
        several = told.get("runs")
        yield from _keys("run", several if isinstance(several, list) else [told.get("run")])


def _keys(kind: str, ids: list[Any]) -> Iterator[Key]:
    for id in ids:
        if isinstance(id, int) and not isinstance(id, bool):
            yield kind, id


def _run(run: Run) -> dict[str, Any]:
    state = run.state  # before what is there: one that ends in between is looked at again
    done, total = run.done
    return {"state": state, "done": done, "total": total}


def _job(job: Job) -> dict[str, Any]:
    told = job.status()
    left, model = told.get("seconds_left"), told.get("model")
    more = f", about {left} s left" if left is not None else f": {model}" if model else ""
    total = told.get("steps") or job.planned_steps
    return {"state": told["state"], "done": told.get("step", 0), "total": total, "more": more}
