"""One turn of a chat, as what works in it sees it: progress goes out, a stop or the time limit comes in."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from benchgen.errors import BenchgenError

Tell = Callable[[str, int, int, int, str], None]
"""Told (record, id, done, total, words) as work goes on; record is run, job or write."""


class TurnEnded(BenchgenError):
    """The turn is over before its work was done; all that the work had kept stays.

    A tool that has kept something which `continue` takes up catches it and returns what waits.
    """


class Stopped(TurnEnded):
    """The person stopped it."""


class TimedOut(TurnEnded):
    """Its time ran out."""


class Turn:
    """What a tool that takes its time is given: whom to tell, and whether to go on."""

    def __init__(
        self,
        limit_s: float = 900.0,
        questions: int = 150,
        tell: Tell | None = None,
        *,
        asked: str = "",
    ) -> None:
        self.questions = questions
        """Questions that a model may write in one turn."""
        self.limit_s = limit_s
        self.asked = asked
        """What the person had asked for, where the message before was a question for what it lacked."""
        self._tell = tell
        self._ends = time.monotonic() + limit_s
        self._stopped = threading.Event()

    @property
    def left_s(self) -> float:
        """Seconds left to it; 0 when it is over."""
        return 0.0 if self._stopped.is_set() else max(0.0, self._ends - time.monotonic())

    def stop(self) -> None:
        """Ask what works to end; it does at its next `check`."""
        self._stopped.set()

    def check(self) -> None:
        """Nothing while the turn may go on; Stopped or TimedOut when it may not."""
        if self._stopped.is_set():
            raise Stopped("the turn was stopped", next="send the next message")
        if time.monotonic() > self._ends:
            raise TimedOut(
                f"the turn took more than {self.limit_s:g} s", next="ask for less at once"
            )

    def progress(self, record: str, id: int, done: int, total: int, words: str = "") -> None:
        """Tell how far a record is, then `check`."""
        if self._tell is not None:
            self._tell(record, id, done, total, words)
        self.check()
