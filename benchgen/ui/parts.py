"""What panels are built of: few widget models, since none is ever collected, and callbacks that never fail unseen."""

from __future__ import annotations

import functools
import importlib.util
import os
from collections.abc import Callable, Sequence
from typing import Any

from benchgen.errors import BenchgenError
from benchgen.ui import render

LOOKS = {
    "go": ("#1b5e20", "#ffffff"),
    "stop": ("#a40e26", "#ffffff"),
    "plain": ("#e1e4e8", "#1f2328"),
}
"""(background, ink) of buttons: at least 4.5 to 1, whatever the theme around them."""
Report = Callable[[str, str], None]
"""Told (what went wrong, what to do next)."""


def widgets_shown() -> bool:
    """Whether there is a notebook to show widgets in; BENCHGEN_HEADLESS=1 says no."""
    if os.environ.get("BENCHGEN_HEADLESS") == "1" or importlib.util.find_spec("ipywidgets") is None:
        return False
    return importlib.util.find_spec("IPython") is not None and _in_kernel()


def _in_kernel() -> bool:
    from IPython.core.getipython import get_ipython

    shell = get_ipython()
    return getattr(shell, "kernel", None) is not None


def guarded(report: Report, action: Callable[..., Any]) -> Callable[..., None]:
    """The action as a callback: what it raises is reported where the person looks, not in a log."""

    @functools.wraps(action)
    def call(*given: Any) -> None:
        try:
            action(*given)
        except Exception as error:  # noqa: BLE001 - a widget's callback has nobody above it
            report(*told(error))

    return call


def told(error: Exception) -> tuple[str, str]:
    """(what went wrong, what to do next) of an error, each on one line."""
    if isinstance(error, BenchgenError):
        return error.what, error.next
    return f"{type(error).__name__}: {error}", "try again; benchgen doctor shows what is missing"


class Parts:
    """Makes a panel's widgets; one layout for all of them, one style for all buttons of a look."""

    def __init__(self) -> None:
        import ipywidgets

        self._lib = ipywidgets
        self._made: list[Any] = []
        self._styles: dict[str, Any] = {}
        self._wrapped: Any = None
        self._layout = self._keep(ipywidgets.Layout(width="auto", max_width="64rem"))

    def button(self, name: str, look: str, tip: str = "") -> Any:
        """A button that says `name`."""
        style = self._style(look, self._lib.ButtonStyle, look)
        return self._keep(
            self._lib.Button(
                description=clipped(name, 60), tooltip=tip or name, style=style, layout=self._layout
            )
        )

    def html(self, value: str = "") -> Any:
        """A text that may be marked up: `value` comes from `render`."""
        style = self._style("html", self._lib.widgets.widget_string.HTMLStyle, None)
        return self._keep(self._lib.HTML(value=value, style=style, layout=self._layout))

    def choice(self, name: str, options: Sequence[tuple[str, Any]]) -> Any:
        """A labelled list to choose from: (words, value)."""
        style = self._style("field", self._lib.widgets.widget_description.DescriptionStyle, None)
        shown = [(clipped(words, 60), value) for words, value in options]
        return self._keep(
            self._lib.Dropdown(
                description=name, options=shown, index=0, style=style, layout=self._layout
            )
        )

    def line(self, name: str, hint: str = "") -> Any:
        """A labelled line of text, told when it is left or Enter is pressed."""
        style = self._style("text", self._lib.widgets.widget_string.TextStyle, None)
        return self._keep(
            self._lib.Text(
                description=name,
                placeholder=hint,
                continuous_update=False,
                style=style,
                layout=self._layout,
            )
        )

    def area(self, name: str) -> Any:
        """A labelled box of text."""
        style = self._style("text", self._lib.widgets.widget_string.TextStyle, None)
        return self._keep(
            self._lib.Textarea(description=name, rows=2, style=style, layout=self._layout)
        )

    def row(self, *children: Any) -> Any:
        """The widgets side by side, in as many lines as they need."""
        if self._wrapped is None:
            self._wrapped = self._keep(self._lib.Layout(flex_flow="row wrap", max_width="64rem"))
        return self._keep(self._lib.HBox(children, layout=self._wrapped))

    def column(self, *children: Any) -> Any:
        """The widgets one below the other."""
        return self._keep(self._lib.VBox(children, layout=self._layout))

    def keep(self, widget: Callable[..., Any], **traits: Any) -> Any:
        """A widget of another library, with the layout of all."""
        return self._keep(widget(layout=self._layout, **traits))

    def drop(self, *dropped: Any) -> None:
        """Close these widgets, those inside them too; the layout and styles that others share stay."""
        for widget in dropped:
            self.drop(*getattr(widget, "children", ()))
            widget.close()
            self._made.remove(widget)

    def close(self) -> None:
        """Close all of it."""
        for widget in reversed(self._made):
            widget.close()
        self._made.clear()

    @property
    def models(self) -> int:
        """How many widget models there are now."""
        return len(self._made)

    def _style(self, key: str, kind: Any, look: str | None) -> Any:
        if key not in self._styles:
            ground, ink = LOOKS[look] if look else ("", "")
            traits = (
                {"button_color": ground, "text_color": ink, "font_weight": "600"} if look else {}
            )
            self._styles[key] = self._keep(kind(**traits))
        return self._styles[key]

    def _keep(self, widget: Any) -> Any:
        self._made.append(widget)
        return widget


def clipped(name: str, limit: int) -> str:
    """A button's or list's words on one line, as text that cannot turn its direction."""
    return render.plain_line(name, limit)
