"""A page as plain sections, and the two ways to write it: self-contained HTML and Markdown.

Everything from a model or a file is untrusted. Both environments escape what they are given, links are
rebuilt, and the HTML carries a policy that allows no request, and no script but our own.
"""

from __future__ import annotations

import base64
import hashlib
import os.path
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from benchgen.compare.plots import Plot, inline

TEMPLATES = Path(__file__).parent / "templates"
CELL_LIMIT = 2_000  # characters of one cell that are shown


@dataclass(frozen=True)
class Cell:
    """One table cell: text, perhaps a link, a long text, or a score to draw with its interval."""

    text: str
    link: str = ""
    interval: tuple[float, float, float] | None = None
    """low, score, high in [0, 1]"""
    mark: str = ""
    """good | bad | mute: how the HTML colours it; the text says the same."""
    long: bool = False


@dataclass(frozen=True)
class Table:
    """A caption, column names and rows; `numbers` are the columns set right."""

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    numbers: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Answered:
    """One reply as an example shows it."""

    name: str
    reply: str
    outcome: str


@dataclass(frozen=True)
class Example:
    """One question with the replies of two runs side by side."""

    head: str
    prompt: str
    answer: str
    replies: tuple[Answered, ...]


@dataclass(frozen=True)
class Browser:
    """Rows as JSON for the script (rows.js), and the first of them as a table where none runs."""

    data: Markup
    rows: int
    total: int
    static: Table

    @property
    def note(self) -> str:
        """What is not on the page; empty when all is."""
        if self.rows == self.total:
            return ""
        return f"The first {self.rows:,} of {self.total:,} replies are on this page."


@dataclass(frozen=True)
class Section:
    """One part of a page, in the order text, plots, tables, examples, list, code."""

    title: str
    text: tuple[str, ...] = ()
    plots: tuple[Plot, ...] = ()
    tables: tuple[Table, ...] = ()
    examples: tuple[tuple[str, tuple[Example, ...]], ...] = ()
    lines: tuple[str, ...] = ()
    code: str = ""
    browser: Browser | None = None
    """Rows to filter and page through, by the page's script."""

    @property
    def slug(self) -> str:
        return re.sub(r"[^a-z0-9]+", "-", self.title.lower()).strip("-")

    @property
    def has_content(self) -> bool:
        parts = (self.plots, self.tables, self.examples, self.lines, self.code, self.browser)
        return any(parts)


@dataclass(frozen=True)
class Tile:
    """The figures of one test, large, at the head of the HTML page."""

    head: str
    before: str
    after: str
    delta: str
    interval: str
    verdict: str
    mark: str


@dataclass(frozen=True)
class Page:
    """A whole page. `lines` stand first; `here` is the folder it will lie in, for its links."""

    title: str
    lines: Sequence[str]
    sections: Sequence[Section]
    warnings: Sequence[str] = ()
    tiles: Sequence[Tile] = ()
    here: Path | None = None


def to_html(page: Page) -> str:
    """The page as one HTML file that needs no network and no other file.

    It runs no script, or, where it has rows to browse, our own one.
    """
    browsing = any(part.browser for part in page.sections)
    digest = hashlib.sha256(script().encode()).digest()
    policy = f"sha256-{base64.b64encode(digest).decode()}" if browsing else ""
    return _html().get_template("report.html.j2").render(page=page, policy=policy, script=script)


def to_notebook(page: Page, links: Sequence[tuple[str, str]] = ()) -> str:
    """The page as a piece of HTML for a cell's output, readable in light and dark; `links` are (path, text).

    No script, no request, no text that the notebook would typeset as a formula; paths become relative to
    `page.here`, the notebook's folder.
    """
    parts = [replace(part, plots=tuple(map(_own_ids, part.plots))) for part in page.sections]
    page = replace(page, sections=parts)
    return _html().get_template("notebook.html.j2").render(page=page, links=links)


def _own_ids(plot: Plot) -> Plot:
    """The plot under a name that no other picture of the same notebook has: its ids begin with that."""
    digest = hashlib.sha256(plot.svg.encode()).hexdigest()
    return replace(plot, name=f"{plot.name}-{digest[:8]}")


@cache
def script() -> Markup:
    """The only script that a page has, as it is shipped."""
    text = (TEMPLATES / "rows.js").read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704  our own file


def to_markdown(page: Page) -> str:
    """The same content as Markdown; plots are linked as plots/NAME.svg and plots/NAME.csv."""
    return _markdown().get_template("report.md.j2").render(page=page)


def cut(text: str, limit: int = CELL_LIMIT) -> str:
    """The text, cut to `limit` characters with a note of how many are left out."""
    if len(text) <= limit:
        return text
    return f"{text[:limit]}… ({len(text) - limit} more characters)"


def clean(value: Any) -> str:
    """Text that HTML, Markdown and UTF-8 can hold: what they cannot hold becomes U+FFFD.

    So do marks that turn the direction of text: they could make a reply read as another.
    """
    return _UNFIT.sub("\N{REPLACEMENT CHARACTER}", str(value))


_UNFIT = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069\ufffe\uffff]"
)


def href(link: str, here: Path | None) -> str:
    """The link as a page in folder `here` needs it: http(s) as it is, all else as a relative path.

    A path that begins like another scheme (javascript:, data:) is held to be a file of that name: it
    gets "./" in front (RFC 3986, 4.2) and its colon quoted.
    """
    link = clean(link)
    if re.match(r"https?://", link, re.IGNORECASE):
        return quote(link, safe=":/?#@!&=+,;%-._~")
    if here is not None and link.startswith("/"):
        link = Path(os.path.relpath(link, here.absolute())).as_posix()
    if here is None:
        link = link.lstrip("/")
    return quote(f"./{link}" if ":" in link.split("/")[0] else link)


def escape_markdown(value: Any) -> Markup:
    """The value as Markdown that shows as it is, on one line: no markup, no HTML, no link."""
    if isinstance(value, Markup):
        return value
    text = " ".join(clean(value).split())
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    text = re.sub(r"([\\`*_\[\]|#~$])", r"\\\1", text)
    text = re.sub(r"^(\d{1,9})([.)])(?=\s|$)", r"\1\\\2", text)  # a numbered list
    text = re.sub(r"^([-+=])(?=\s|$|[-=])", r"\\\1", text)  # a list, a rule, a heading's underline
    text = re.sub(r"(?i)\b(https?|ftp|www|mailto|xmpp)(?=[:.])", r"\1&#8203;", text)
    return Markup(text)  # noqa: S704  escaped for Markdown and HTML just above


def fence(text: str) -> Markup:
    """The text as a fenced Markdown block that nothing inside it can close."""
    body = clean(text)
    longest = max((len(run) for run in re.findall(r"`+", body)), default=0)
    ticks = "`" * max(3, longest + 1)
    return Markup(f"{ticks}text\n{body}\n{ticks}")  # noqa: S704  the fence is longer than any inside


@cache
def _html() -> Environment:
    env = _environment(lambda value: value if isinstance(value, Markup) else clean(value))
    env.filters["inline"] = lambda plot: Markup(inline(plot))  # noqa: S704  matplotlib escapes its text
    env.filters["href"] = href
    return env


@cache
def _markdown() -> Environment:
    env = _environment(escape_markdown)
    env.filters["fence"] = fence
    env.filters["href"] = _markdown_href
    return env


def _markdown_href(link: str, here: Path | None) -> Markup:
    safe = href(link, here).replace("(", "%28").replace(")", "%29")
    return Markup(safe)  # noqa: S704  quoted: no bracket, space, quote or angle is left


def _environment(finalize: Callable[[Any], Any]) -> Environment:
    return Environment(
        loader=FileSystemLoader(TEMPLATES),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        undefined=StrictUndefined,
        finalize=finalize,
    )
