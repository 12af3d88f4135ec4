"""The box to write in: one anywidget with Send and Stop; where that is missing, three plain widgets."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from benchgen.ui import parts

HERE = Path(__file__).parent
MOST = 100_000
"""Characters of a message."""


class Composer(Protocol):
    """What the panel does with it."""

    widgets: tuple[Any, ...]

    def state(self, state: str) -> None:
        """Show the agent's state: Stop is live while it works, and while something waits."""

    def tail(self, html: str) -> None:
        """Show these newest turns above the box, on a page whose outputs no longer move."""


Sent = Callable[[str], bool]
"""Told the text; says whether it was accepted. Only then the box is emptied."""


def composer(
    made: parts.Parts,
    sent: Sent,
    stop: Callable[[], None],
    seen: Callable[[str], None],
    report: parts.Report,
) -> Composer:
    """The composer; `seen` is told a page's own name when one shows it."""
    if importlib.util.find_spec("anywidget") is None:
        return PlainComposer(made, sent, stop, report)
    return AnyComposer(made, sent, stop, seen, report)


@cache
def _widget() -> Any:
    """The widget's class; made once, when the first panel is shown."""
    import anywidget
    import traitlets

    class ComposerWidget(anywidget.AnyWidget):
        _esm = (HERE / "composer.js").read_text(encoding="utf-8")
        _css = (HERE / "composer.css").read_text(encoding="utf-8")
        state = traitlets.Unicode("idle").tag(sync=True)
        tail = traitlets.Unicode("").tag(sync=True)

    return ComposerWidget


class AnyComposer:
    """Enter sends, Shift+Enter begins a line, and input by an IME is left alone."""

    def __init__(
        self,
        made: parts.Parts,
        sent: Sent,
        stop: Callable[[], None],
        seen: Callable[[str], None],
        report: parts.Report,
    ) -> None:
        self._sent, self._stop, self._seen = sent, stop, seen
        self.widget = made.keep(_widget())
        self.widgets = (self.widget,)
        self.widget.on_msg(parts.guarded(report, self._message))

    def state(self, state: str) -> None:
        if self.widget.state != state:
            self.widget.state = state

    def tail(self, html: str) -> None:
        if self.widget.tail != html:
            self.widget.tail = html

    def _message(self, _widget: Any, content: Any, _buffers: Any) -> None:
        """A message of the page; it is data like any other, and may be anything."""
        done = content.get("do") if isinstance(content, dict) else None
        if done == "send":
            accepted = self._sent(str(content.get("text", ""))[:MOST])
            self.widget.send({"told": "accepted" if accepted else "refused"})
        elif done == "stop":
            self._stop()
        elif done == "shown":
            self._seen(str(content.get("page", ""))[:40])


class PlainComposer:
    """A text box with two buttons, for where anywidget is not installed."""

    def __init__(
        self, made: parts.Parts, sent: Sent, stop: Callable[[], None], report: parts.Report
    ) -> None:
        self._box = made.area("Message")
        self._send, self._end = made.button("Send", "go"), made.button("Stop", "stop")
        self._given = sent
        self._send.on_click(parts.guarded(report, lambda _: self._submit()))
        self._end.on_click(parts.guarded(report, lambda _: stop()))
        self.widgets = self._box, made.row(self._send, self._end)

    def state(self, state: str) -> None:
        self._send.disabled = state in ("working", "closed")
        self._end.disabled = state in ("idle", "closed")

    def tail(self, html: str) -> None:
        """Nothing: it has no place for it."""

    def _submit(self) -> None:
        text = self._box.value
        if text.strip() and self._given(text):
            self._box.value = ""
            self._end.disabled = False
