"""Everything a person, a model or a file wrote, made harmless: the one place where a panel's HTML comes from.

A chat's events become pieces of a transcript, each in two forms: HTML for a notebook, its saved file and
nbconvert, and plain text for what shows no HTML. Nothing here knows of widgets.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import mistune
from markupsafe import Markup, escape

from benchgen.compare.markup import TEMPLATES, clean, cut, href

Event = Mapping[str, Any]
MESSAGE_LIMIT = 8_000  # characters of one message that are shown
VALUE_LIMIT = 2_000  # of a tool's arguments, of an error
LINE_LIMIT = 300  # of a line: a status, a summary, a label
SUMMARY_LIMIT = 120  # of what a tool did
PLANNING = ("plan_training", "revise_plan", "plan_merge")
"""Answers whose table stands in full, with its buttons, below the transcript."""
TURNS = 40
"""Turns of a history; the chat's file has all."""
HISTORY_BYTES = 300_000
"""Of a history in one of its two forms: a saved notebook stays well under 1 MB."""
RECORDS = {"run": "run", "job": "job", "write": "writing"}
SIGN = {True: "ok", False: "failed"}


@dataclass(frozen=True)
class Piece:
    """A part of a transcript in both its forms; a falsy one shows nothing."""

    html: Markup = field(default_factory=Markup)
    text: str = ""

    def __bool__(self) -> bool:
        return bool(self.html)


def text(value: Any, limit: int = MESSAGE_LIMIT) -> Markup:
    """The value as text of HTML, cut to `limit` characters; signs that HTML cannot hold or that turn text are marked."""
    return escape(clean(cut(str(value), limit)))


def line(value: Any, limit: int = LINE_LIMIT) -> Markup:
    """The value on one line."""
    return text(" ".join(str(value).split()), limit)


def plain_line(value: Any, limit: int = LINE_LIMIT) -> str:
    """The value on one line, for what takes text and no HTML."""
    shown = clean(" ".join(str(value).split()))
    return shown if len(shown) <= limit else f"{shown[: limit - 1]}…"


def markdown(value: str, limit: int = MESSAGE_LIMIT) -> Markup:
    """The small Markdown that the agent writes, as HTML: marks, lists, tables, code, http links.

    HTML in it is shown, images are their text, and an address of another scheme is shown beside its text.
    """
    made = _markdown()(clean(cut(value, limit)))
    return Markup(made)  # noqa: S704  mistune escapes; what it leaves open, `_Renderer` closes


def link(path: str, name: str = "") -> Markup:
    """A link to a record's page, from the notebook's folder."""
    safe = href(path, Path.cwd())
    shown = name or _page_name(path)
    return Markup('<a href="{}" target="_blank" rel="noopener noreferrer">{}</a>').format(
        Markup(safe),  # noqa: S704  quoted by `href`
        line(shown, 120),
    )


def styled(body: Markup) -> Markup:
    """The body in the frame that gives it its looks and keeps formula signs from being typeset."""
    return Markup(
        '<div class="benchgen mathjax_ignore tex2jax_ignore"><style>{}</style>{}</div>'
    ).format(style(), body)


@cache
def style() -> Markup:
    """Our own rules: those of every table in a notebook, and those of a transcript."""
    folders = (TEMPLATES / "notebook.css", Path(__file__).with_name("chat.css"))
    return Markup("\n".join(p.read_text(encoding="utf-8") for p in folders))  # noqa: S704  our own files


# ------------------------------------------------------------------------------- a chat's events


def piece(event: Event) -> Piece:
    """One event of a chat as a reader sees it; an empty piece for one that is not shown."""
    known = {
        "user": _user,
        "agent": _agent,
        "tool": _tool,
        "progress": _progress,
        "decided": _decided,
        "error": _error,
    }
    shown = known.get(str(event.get("type")))
    return shown(event) if shown else Piece()


def turns(events: Iterable[Event]) -> list[list[Event]]:
    """The events by turn: each begins with a person's message; what came before the first is one too."""
    found: list[list[Event]] = []
    for event in events:
        if event.get("type") == "user" or not found:
            found.append([])
        found[-1].append(event)
    return found


def turn(events: Sequence[Event], left: Mapping[Any, float] | None = None) -> Piece:
    """One turn: its events in their order, of each record's progress only the newest.

    `left` are the seconds that a record may still take, by (record, id).
    """
    newest = {record(e): e for e in events if e.get("type") == "progress"}
    shown = []
    for event in events:
        if event.get("type") != "progress":
            shown.append(piece(event))
        elif newest[record(event)] is event:
            shown.append(progress_bar(event, (left or {}).get(record(event))))
    return _joined(shown)


def record(event: Event) -> tuple[Any, Any]:
    """(record, id): what an event of progress is about."""
    return event.get("record"), event.get("id")


def history(shown: Sequence[Piece], hidden: int = 0, file: str = "") -> Piece:
    """The newest of these turns that TURNS and HISTORY_BYTES allow, under a line that says what is left out.

    `hidden` turns before them were never rendered; `file` holds them all.
    """
    kept: list[Piece] = []
    size = 0
    for one in reversed(shown[-TURNS:]):
        size += max(len(one.html), len(one.text))
        if kept and size > HISTORY_BYTES:
            break
        kept.insert(0, one)
    left_out = hidden + len(shown) - len(kept)
    return _joined([_earlier(left_out, file), *kept])


def transcript(body: Piece, live: bool = False) -> dict[str, str]:
    """The output of a part of the transcript: HTML, and text for what shows none.

    `live` is the part that grows: a screen reader is told what is added to it.
    """
    named = "What happens now" if live else "The chat so far"
    log = Markup('<div role="log" aria-live="{}" aria-label="{}">{}</div>')
    html = styled(log.format("polite" if live else "off", named, body.html)) if body else Markup()
    return {"text/html": str(html), "text/plain": body.text}


def clock(time: Any) -> str:
    """The time of day of an event, UTC; as it is where it cannot be read."""
    if isinstance(time, (int, float)):
        return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%SZ")
    try:
        return datetime.fromisoformat(str(time)).astimezone(UTC).strftime("%H:%M:%SZ")
    except ValueError:
        return str(time)


def progress_bar(event: Event, left_s: float | None = None) -> Piece:
    """A record's progress as a bar with its words; `left_s` is how long it may still take."""
    done, total = _count(event.get("done")), _count(event.get("total"))
    name = f"{RECORDS.get(str(event.get('record')), event.get('record'))} {event.get('id')}"
    told = f"{name}: {done} of {total}" if total else f"{name}: {done}"
    words = " ".join(str(event.get("words") or "").split())
    if words and words not in told:
        told += f", {words}"
    if left_s is not None and done < total:
        told += f", about {_duration(left_s)} left"
    bar = Markup('<progress max="{}" value="{}" aria-label="{}"></progress>').format(
        max(total, 1), min(done, total), line(name)
    )
    html = Markup('<p class="far">{} <span>{}</span></p>').format(bar, line(told))
    return Piece(html, _plain(told, LINE_LIMIT))


def _user(event: Event) -> Piece:
    said = event.get("text", "")
    html = Markup('<div class="you"><p class="who">You</p><p class="said">{}</p></div>')
    return Piece(html.format(text(said)), f"You: {_plain(said)}")


def _agent(event: Event) -> Piece:
    choices, pages = _texts(event.get("choices")), _texts(event.get("links"))
    said = _without_paths(str(event.get("text", "")), pages)
    if choices and f"1. {choices[0]}" not in said:
        said = "\n".join([said, "", *(f"{n}. {choice}" for n, choice in enumerate(choices, 1))])
    links = Markup(" ").join(map(link, pages))
    html = Markup('<div class="it"><p class="who">benchgen</p>{}{}</div>').format(
        _folded(markdown(said)) if event.get("intent") in PLANNING else markdown(said),
        Markup('<p class="links">{}</p>').format(links) if pages else "",
    )
    told = [
        f"benchgen: {_plain(said)}",
        *(f"  {_plain(page, LINE_LIMIT)}" for page in map(_near, pages)),
    ]
    return Piece(html, "\n".join(told))


def _folded(made: Markup) -> Markup:
    """The answer with each table of it as one line that unfolds."""
    head = Markup("<details><summary>all settings and estimates</summary><table>")
    tail = Markup("</table></details>")
    return made.replace("<table>", head).replace("</table>", tail)


def _without_paths(said: str, pages: Sequence[str]) -> str:
    """The text without the paths of pages that are linked below it: a saved notebook names no machine."""
    for page in filter(None, pages):
        said = said.replace(f"Page: {page}", "").replace(page, _near(page))
    return said


def _near(path: str) -> str:
    """The path from the notebook's folder."""
    return unquote(href(path, Path.cwd()))


def _tool(event: Event) -> Piece:
    name, summary = str(event.get("name", "")), str(event.get("summary", ""))
    seconds = event.get("seconds")
    took = f", {seconds:.1f} s" if isinstance(seconds, (int, float)) else ""
    sign = SIGN[event.get("ok") is not False]
    said = plain_line(
        summary.split("|", maxsplit=1)[0], SUMMARY_LIMIT
    )  # what follows is a table, which the answer shows
    told = f"{name.replace('_', ' ')} ({sign}{took}): {said}".rstrip(": ")
    given = json.dumps(event.get("arguments") or {}, ensure_ascii=False, indent=1, default=str)
    html = Markup(
        '<details class="tool"><summary>{}</summary><pre tabindex="0">{}</pre></details>'
    ).format(line(told), text(given, VALUE_LIMIT))
    return Piece(html, f"  [{_plain(told, LINE_LIMIT)}]")


def _progress(event: Event) -> Piece:
    return progress_bar(event)


def _decided(event: Event) -> Piece:
    what, when = f"{event.get('kind')} {event.get('label')}", clock(event.get("time", ""))
    told = f"{event.get('decision')} {when}, {what}"
    if event.get("hash"):
        told += f", hash {event['hash']}"
    told = told[:1].upper() + told[1:]
    return Piece(Markup('<p class="decided">{}</p>').format(line(told)), _plain(told, LINE_LIMIT))


def _error(event: Event) -> Piece:
    said, after = event.get("message", ""), str(event.get("next") or "")
    html = Markup('<div class="error"><p><b>Error:</b> {}</p>{}</div>').format(
        text(said, VALUE_LIMIT),
        Markup("<p><b>Next:</b> {}</p>").format(text(after, VALUE_LIMIT)) if after else "",
    )
    told = f"Error: {_plain(said, VALUE_LIMIT)}"
    return Piece(html, told + (f"\nNext: {_plain(after, VALUE_LIMIT)}" if after else ""))


def _earlier(count: int, file: str) -> Piece:
    if not count:
        return Piece()
    told = f"{count:,} earlier turn{'s' * (count != 1)} not shown"
    where = Markup(": {}").format(link(file, "the chat's file")) if file else ""
    html = Markup('<p class="earlier">{}{}</p>').format(told, where)
    return Piece(html, told + (f": {_plain(file, LINE_LIMIT)}" if file else ""))


def _joined(pieces: Iterable[Piece]) -> Piece:
    shown = [one for one in pieces if one]
    return Piece(Markup("\n").join(one.html for one in shown), "\n".join(one.text for one in shown))


def _page_name(path: str) -> str:
    """What a link is called: run 7 for …/runs/7/index.html, else the file's name."""
    folder = Path(path).parent
    kind = {"runs": "run", "benchmarks": "benchmark", "jobs": "job", "reports": "report"}
    named = kind.get(folder.parent.name)
    return f"{named} {folder.name}" if named else Path(path).name


def _plain(value: Any, limit: int = MESSAGE_LIMIT) -> str:
    return clean(cut(str(value), limit))


def _texts(values: Any) -> list[str]:
    return [str(value) for value in values or ()]


def _count(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and value > 0 else 0


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    return f"{seconds / 60:.0f} min" if seconds < 5_400 else f"{seconds / 3_600:.1f} h"


# ------------------------------------------------------------------------------------- Markdown


class _Renderer(mistune.HTMLRenderer):
    """HTML of what the agent writes: no images, no headings of the page, links to http(s) only."""

    def __init__(self) -> None:
        super().__init__(escape=True)

    def link(self, text: str, url: str, title: str | None = None) -> str:
        if not _is_web(url):
            return f"{text} ({escape(url)})"
        safe = href(url, None)
        return f'<a href="{safe}" target="_blank" rel="noopener noreferrer">{text}</a>'

    def image(self, text: str, url: str, title: str | None = None) -> str:
        return f"{text} ({escape(url)})"

    def heading(self, text: str, level: int, **attrs: Any) -> str:
        return f"<p><b>{text}</b></p>\n"

    def block_code(self, code: str, info: str | None = None) -> str:
        return f'<pre tabindex="0"><code>{escape(code)}</code></pre>\n'


def _is_web(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc)


@cache
def _markdown() -> Any:
    made = mistune.create_markdown(
        renderer=_Renderer(), hard_wrap=True, plugins=["table", "strikethrough"]
    )
    made.block.rules.remove("raw_html")  # what looks like HTML is text, with its Markdown
    made.inline.rules.remove("inline_html")
    return made
