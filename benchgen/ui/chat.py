"""The chat in a notebook: a transcript that is saved with it, and a small box of widgets to speak from.

The transcript is two outputs, the history and what happens now; both are rendered from the agent's events,
so a saved notebook shows the whole talk, and a panel opened anew shows it again. Events come from any
thread and widgets call back on any: a callback only hands on, and one painter draws, at most ten times a
second. No cell ever waits for a person.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from pathlib import Path
from typing import Any, Protocol

from markupsafe import Markup

from benchgen.agent.gate import COSTLY
from benchgen.agent.situation import Waiting
from benchgen.errors import NotFound
from benchgen.records import PlanRecord
from benchgen.ui import confirm, parts, render
from benchgen.ui.composer import composer
from benchgen.ui.underway import UnderWay

INTERVAL_S = 0.1
"""Between two drawings."""
POLL_S = 1.0
"""Between two looks at what was begun and goes on by itself."""
CHOICES = 5
"""Buttons for numbered choices; the others are typed."""
TAIL_TURNS = 5
"""What a page shows that was loaded again, below the outputs that no longer move."""

Event = Mapping[str, Any]


class Talker(Protocol):
    """What the panel needs of an agent (`benchgen.Agent`)."""

    @property
    def state(self) -> str:
        """idle, working or awaiting."""

    @property
    def waiting(self) -> tuple[Waiting, ...]:
        """What waits for the person's word, oldest first."""

    def submit(self, text: str) -> Future[Any]:
        """The answer to come, worked out on a thread of the agent's own."""

    def send(self, text: str) -> Any:
        """The answer."""

    def stop(self) -> None:
        """End what it does now; a plan or merge that waits is cancelled."""

    def events(self, after: int = 0) -> list[dict[str, Any]]:
        """Every event with a number above `after`, from the log."""

    def on_event(self, callback: Callable[[dict[str, Any]], None]) -> Callable[[], None]:
        """Tell each event from now on to the callback, from any thread; a call ends that."""


class ChatPanel:
    """A chat with an agent: the last expression of a cell, or `show()`.

    Where there are no widgets `say(text)` speaks and prints the answer.
    """

    def __init__(self, agent: Talker) -> None:
        self.agent = agent
        self._lock = threading.RLock()
        self._open()

    def _open(self) -> None:
        """Begin to listen, with what the log says so far."""
        self._wake = threading.Event()
        self._closed = False
        self._news: deque[Event] = deque()
        self._last = 0
        self._state = self.agent.state
        self._folded: list[render.Piece] = []
        self._hidden = 0
        self._live: list[Event] = []
        self._sent: Future[Any] | None = None
        self._since: dict[tuple[Any, Any], tuple[float, float]] = {}
        self._left: dict[tuple[Any, Any], float] = {}
        self._begun = UnderWay(getattr(self.agent, "ws", None))
        self._bars: tuple[Event, ...] = ()
        self._looked = 0.0
        self._box: Box | None = None
        self._painter: threading.Thread | None = None
        self._handles: dict[str, Any] = {}
        self._drawn: dict[str, dict[str, str]] = {}
        self._asked: tuple[Waiting, confirm.Shown] | None = None
        self._stop_listening = self.agent.on_event(self._heard)
        with self._lock:
            self._attach(self.agent.events())

    # ------------------------------------------------------------------------------ for a person

    def show(self) -> None:
        """Show it below this cell; where it, or another panel of this chat, is shown already, it moves here."""
        from IPython.display import display

        _take_over(self)
        if self._closed:
            self._open()
        with self._lock:
            bundles = self._bundles()
            self._drawn = bundles
            for name, bundle in bundles.items():
                self._handles[name] = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call]
            if parts.widgets_shown():
                self._box = Box(self)
                self._draw_box(self._box)
                display(self._box.widget)  # type: ignore[no-untyped-call]
                self._begin_painting()
        self._wake.set()

    def _ipython_display_(self) -> None:
        self.show()

    def say(self, text: str) -> None:
        """Send the message, wait for the answer, and print it: for a front end without widgets."""
        started = self._last
        self.agent.send(text)
        for event in self.agent.events(started):
            if event["type"] != "user" and (told := render.piece(event)):
                print(told.text)
        self.refresh()

    def submit(self, text: str) -> bool:
        """Whether the agent took the message: one at a time, so that a button means what it stands beside."""
        with self._lock:
            if self._busy:
                self.report("the agent is still at work: nothing was sent", "wait, or Stop")
                return False
            self._sent = self.agent.submit(text)
        self._sent.add_done_callback(self._answered)
        return True

    def stop(self) -> None:
        """End what the agent does; a plan or merge that waits is cancelled."""
        self.agent.stop()

    def report(self, what: str, after: str = "") -> None:
        """Show an error of the panel itself where the person looks."""
        self._heard({"type": "error", "message": what, "next": after})

    def refresh(self) -> None:
        """Draw what has happened, now."""
        with self._lock:
            self._paint()

    def close(self) -> None:
        """Take the widgets away; the transcript stays as it is."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            if self._box is not None:
                self._box.close()
            self._box = None
        self._stop_listening()
        self._wake.set()

    # ---------------------------------------------------------------------------- what it shows

    @property
    def transcript(self) -> render.Piece:
        """The talk as it is shown: the history, then what happens now."""
        with self._lock:
            body = render.history(self._folded, self._hidden, self._file())
            live = self._now()
        return render.Piece(
            Markup("\n").join((body.html, live.html)),
            "\n".join(filter(None, (body.text, live.text))),
        )

    @property
    def models(self) -> int:
        """How many widget models it has."""
        return self._box.made.models if self._box is not None else 0

    @property
    def _busy(self) -> bool:
        """Whether a message is being answered, or about to be."""
        return self.agent.state == "working" or (self._sent is not None and not self._sent.done())

    def _answered(self, found: Future[Any]) -> None:
        """A message is answered; where no event can say why it was not, this does."""
        error = None if found.cancelled() else found.exception()
        if isinstance(error, Exception):
            self.report(*parts.told(error))
        self._wake.set()

    def _heard(self, event: Event) -> None:
        """An event, from any thread, which may hold locks of its own: kept for the painter, without waiting."""
        if not self._closed:
            self._news.append(event)
            self._wake.set()

    def _attach(self, events: list[dict[str, Any]]) -> None:
        """Take in a whole log; only the turns that are shown are rendered."""
        turns = render.turns(events)
        for event in events:
            self._note(event)
        self._state = self.agent.state  # a process that was killed left another one in the log
        if turns and self._state == "working":
            self._live = list(turns.pop())
        self._hidden = max(0, len(turns) - render.TURNS)
        shown = map(render.turn, turns[self._hidden :])
        self._folded = [one for one in shown if one]

    def _take(self, event: Event) -> None:
        number = event.get("n")
        if isinstance(number, int) and number <= self._last:
            return  # it stood in the log already
        self._note(event)
        kind = event.get("type")
        if kind == "user":
            self._fold()
        if kind == "state":
            if self._state != "working":
                self._fold()
            return
        self._live.append(event)

    def _note(self, event: Event) -> None:
        """What an event changes beside the transcript."""
        kind = event.get("type")
        self._last = max(self._last, event.get("n") or 0)
        if kind == "state":
            self._state = str(event.get("state"))
        elif kind == "progress":
            self._progress(event)
        self._begun.note(event)

    def _progress(self, event: Event) -> None:
        """Work out how long a record may still take, at its speed since the panel first heard of it."""
        key, done, total = render.record(event), event.get("done") or 0, event.get("total") or 0
        since, first = self._since.setdefault(key, (time.monotonic(), done))
        spent, moved = time.monotonic() - since, done - first
        self._left.pop(key, None)
        if moved > 0 and spent >= 1:
            self._left[key] = spent / moved * (total - done)
        if done >= total:
            self._since.pop(key)

    def _fold(self) -> None:
        """Move what happened to the history."""
        if told := render.turn(self._live):
            self._folded.append(told)
        if len(self._folded) > render.TURNS:
            self._hidden += len(self._folded) - render.TURNS
            del self._folded[: -render.TURNS]
        self._live = []

    def _now(self) -> render.Piece:
        return render.turn(
            [*self._live, *({**bar, "type": "progress"} for bar in self._bars)], self._left
        )

    def _look(self) -> None:
        """Look how far is what goes on by itself, once in POLL_S."""
        if self._begun.moving and time.monotonic() - self._looked < POLL_S:
            return
        self._bars = self._begun.look()
        self._looked = time.monotonic()

    def _file(self) -> str:
        folder = getattr(self.agent, "folder", None)
        return str(Path(folder) / "events.jsonl") if folder else ""

    # -------------------------------------------------------------------------------- drawing

    def _begin_painting(self) -> None:
        """Start the painter, where it does not paint yet."""
        if self._painter is None:
            self._painter = threading.Thread(
                target=self._paint_on, name="benchgen-chat", daemon=True
            )
            self._painter.start()

    def _paint_on(self) -> None:
        """The painter's thread: at most one drawing an interval, while the panel is open."""
        wake = self._wake
        while True:
            wake.wait(POLL_S if self._begun.moving else None)
            if self._closed or self._wake is not wake:  # closed, and perhaps opened again since
                return
            wake.clear()
            try:
                with self._lock:
                    self._paint()
            except Exception:  # the next event draws again
                logging.getLogger(__name__).exception("the chat panel could not be drawn")
            time.sleep(INTERVAL_S)

    def _paint(self) -> None:
        while self._news:
            self._take(self._news.popleft())
        if self._closed:
            return
        self._look()
        for name, bundle in self._bundles().items():
            if self._drawn.get(name) != bundle and self._handles.get(name) is not None:
                self._handles[name].update(bundle, raw=True)
                self._drawn[name] = bundle
        if self._box is not None:
            self._draw_box(self._box)

    def _bundles(self) -> dict[str, dict[str, str]]:
        past = render.history(self._folded, self._hidden, self._file())
        return {
            "history": render.transcript(past),
            "live": render.transcript(self._now(), live=True),
        }

    def _draw_box(self, box: Box) -> None:
        box.status(self._status())
        box.composer.state(self._composer_state())
        box.slot(self._shown(), self._choices())
        if box.reloaded:
            recent = Markup("\n").join(p.html for p in self._folded[-TAIL_TURNS:])
            box.composer.tail(_tail(recent, self._now().html))

    def _status(self) -> str:
        if self._busy:
            tools = [e for e in self._live if e.get("type") == "tool"]
            last = str(tools[-1].get("name")).replace("_", " ") if tools else ""
            return f"Working: {last} is done" if last else "Working"
        item = self._newest()
        if item is not None and item.kind in confirm.BUTTONS:
            return f"Waits for your word: {item.kind} {item.label}"
        return "Ready"

    def _newest(self) -> Waiting | None:
        """What is asked now: a plan or merge before all else, then the newest."""
        waiting = self.agent.waiting
        costly = tuple(item for item in waiting if item.kind in COSTLY)
        return (costly or waiting)[-1] if waiting else None

    def _composer_state(self) -> str:
        if self._busy:
            return "working"
        item = self._newest()
        return "awaiting" if item is not None and item.kind in COSTLY else "idle"

    def _shown(self) -> confirm.Shown | None:
        """What the slot shows: nothing while the agent works."""
        item = self._newest()
        if item is None or self._busy or item.kind not in confirm.BUTTONS:
            return None
        if self._asked is None or self._asked[0] != item:
            self._asked = item, confirm.of_waiting(item, self._record(item))
        return self._asked[1]

    def _record(self, item: Waiting) -> PlanRecord | None:
        """The plan itself, where it is one of the workspace."""
        ws, number = getattr(self.agent, "ws", None), item.told.get("record")
        if ws is None or item.kind not in COSTLY or not isinstance(number, int):
            return None
        try:
            return PlanRecord.of(ws.place, number)
        except NotFound:
            return None

    def _choices(self) -> tuple[str, ...]:
        item = self._newest()
        if self._busy or item is None or item.kind != "question":
            return ()
        return tuple(map(str, item.told.get("options") or ()))


class Box:
    """The panel's widgets: the slot for what waits, the composer with Stop, and the status."""

    def __init__(self, panel: ChatPanel) -> None:
        self.panel = panel
        self.made = parts.Parts()
        self.reloaded = False
        self._page = ""
        self._confirm: confirm.ConfirmBox | None = None
        self._choice: Any = None
        self._offered: tuple[str, ...] = ()
        self._status = self.made.html()
        self.composer = composer(self.made, self._sent, panel.stop, self._seen, panel.report)
        self._slot = self.made.column()
        self.widget = self.made.column(self._slot, self._status, *self.composer.widgets)

    def status(self, words: str) -> None:
        """The state in words, told to screen readers."""
        head = Markup('<p class="state" role="status" aria-live="polite">{}</p>')
        value = str(render.styled(head.format(render.line(words))))
        if self._status.value != value:
            self._status.value = value

    def slot(self, shown: confirm.Shown | None, choices: tuple[str, ...]) -> None:
        """What is to be confirmed, else the choices; the same one stays as it is."""
        if shown is not None:
            choices = ()
        now = self._confirm.shown if self._confirm else None
        if (now, self._offered) == (shown, choices):
            return
        old = [w for w in (self._confirm and self._confirm.widget, self._choice) if w]
        self._confirm, self._choice, self._offered = None, None, choices
        self._slot.children = ()
        self.made.drop(*old)
        if shown is not None:
            self._confirm = confirm.ConfirmBox(self.made, shown, self._decided, self.panel.report)
            self._slot.children = (self._confirm.widget,)
        elif choices:
            buttons = [self._option(n, told) for n, told in enumerate(choices[:CHOICES], 1)]
            self._choice = self.made.row(*buttons)
            self._slot.children = (self._choice,)

    def close(self) -> None:
        """Take the widgets away."""
        self.composer.state("closed")
        self.made.close()

    def _option(self, number: int, told: str) -> Any:
        button = self.made.button(f"{number}. {told}", "plain")

        def press(_: Any) -> None:
            button.disabled = True
            if not self.panel.submit(str(number)):
                button.disabled = False

        button.on_click(parts.guarded(self.panel.report, press))
        return button

    def _decided(self, shown: confirm.Shown, word: str) -> None:
        """The button's word, if what it stands for still waits; it goes the way of a typed one."""
        panel = self.panel
        with panel._lock:
            panel._paint()
            if self._confirm is None or self._confirm.shown != shown:
                panel.report(
                    f"{shown.title} was decided or changed already: the button did nothing",
                    "look at what waits now",
                )
                return
            panel.submit(word)

    def _sent(self, text: str) -> bool:
        return self.panel.submit(text)

    def _seen(self, page: str) -> None:
        """A page shows the composer: another one than before was loaded again, its outputs do not move."""
        if self._page and page != self._page:
            self.reloaded = True
            self.panel._wake.set()
        self._page = page


def _tail(past: Markup, live: Markup) -> str:
    body = Markup(
        '<p class="earlier">The page was loaded again: below are the newest turns, live. '
        'Run the cell again for the whole transcript.</p><div role="log" aria-live="polite" '
        'aria-label="The newest turns">{}{}</div>'
    )
    return str(render.styled(body.format(past, live)))


_OPEN: dict[str, ChatPanel] = {}
_OPENING = threading.Lock()


def _take_over(panel: ChatPanel) -> None:
    """Close the panel of the same chat that a cell run before has shown."""
    key = str(getattr(panel.agent, "folder", "") or id(panel.agent))
    with _OPENING:
        old, _OPEN[key] = _OPEN.get(key), panel
    if old is not None and old is not panel:
        old.close()
    elif old is panel and panel._box is not None:
        panel._box.close()
        panel._box = None
