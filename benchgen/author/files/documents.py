"""Documents as text, in passages short enough to quote: Markdown, plain text, HTML, PDF, Word."""

from __future__ import annotations

import io
import logging
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from benchgen.author.files.decode import decoded
from benchgen.author.files.source import Source, brief, library, trimmed
from benchgen.author.files.tables import safe_zip

MAX_PAGES = 2_000
MAX_CHARACTERS = 20_000_000
PASSAGE = 1_200
"""Characters that a passage has at most, unless one paragraph is longer."""
LONGEST = 6_000
"""Characters of a passage at the very most."""
_HEADING = re.compile(r"#{1,6}\s|\S[^\n]*\n(?:=|-){3,}\s*$", re.MULTILINE)
_HIDDEN = ("script", "style", "noscript", "template", "svg", "iframe", "object", "head")
_BLOCKS = re.compile(
    r"(?:p|div|section|article|li|ul|ol|h[1-6]|table|tr|blockquote|pre|dt|dd|dl|figure|header|footer|main)$"
)
_TEXTS = ("NavigableString", "CData")
"""Nodes that a reader sees, and no comment or declaration."""
_DAMAGED: tuple[type[Exception], ...] = (ValueError, SyntaxError, OSError, EOFError, zlib.error)
_DAMAGED += (zipfile.BadZipFile, NotImplementedError, RuntimeError)
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_AROUND = tuple(f"{_W}{name}" for name in ("sdt", "sdtContent", "ins", "customXml", "smartTag"))
"""What stands around paragraphs, rows and cells without being one."""


def read_document(raw: bytes, ending: str, source: Source) -> tuple[str, tuple[str, ...]]:
    """(the text, its passages) of a document with these bytes; a DataError for one without text."""
    text = READERS[ending](raw, source)
    text = "\n".join(line.rstrip() for line in re.split(r"\r\n|\n|\r", text))
    text = re.sub(r"\n{3,}", "\n\n", text).strip("\n")
    if not trimmed(text):
        raise source.wrong("the document is empty: it has no text", got=0)
    if len(text) > MAX_CHARACTERS:
        raise source.wrong(
            "the document is too long", got=len(text), allowed=f"up to {MAX_CHARACTERS} characters"
        )
    if "\0" in text:
        raise source.wrong("it is no text: it holds NUL bytes", next="save it as text, PDF or Word")
    found = passages(text)
    source.decide(f"{len(text)} characters of text in {len(found)} passages")
    return text, found


def passages(text: str) -> tuple[str, ...]:
    """Paragraphs joined up to `PASSAGE` characters; a heading begins a new passage. Each stands in the text.

    A paragraph of more than `LONGEST` is cut, where a line, sentence or word ends.
    """
    found: list[str] = []
    start = end = 0
    for first, last in _blocks_of(text):
        fits = last - start <= PASSAGE and not _HEADING.match(text, first)
        if end and not fits:
            found.append(text[start:end])
        if not end or not fits:
            start = first
        end = last
    found.append(text[start:end])
    return tuple(passage.strip() for passage in found if trimmed(passage))


def _blocks_of(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of each paragraph, or of each part of a long one."""
    start = end = at = 0
    for line in text.split("\n"):
        if not line.strip():
            if end > start:
                yield from _cut(text, start, end)
            start = end = at + len(line) + 1
        else:
            end = at + len(line)
        at += len(line) + 1
    if end > start:
        yield from _cut(text, start, end)


def _cut(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    while end - start > LONGEST:
        half, full = start + LONGEST // 2, start + LONGEST
        places = (text.rfind(mark, half, full) + len(mark) for mark in ("\n", ". ", " "))
        at = next((place for place in places if place > half), full)
        yield start, at
        start = at
    yield start, end


def _plain(raw: bytes, source: Source) -> str:
    return decoded(raw, source).removeprefix("\ufeff")


# --- HTML -------------------------------------------------------------------------------------


def _html(raw: bytes, source: Source) -> str:
    """The text that a reader of the page sees; rows of tables as `a | b`."""
    from bs4 import BeautifulSoup, ParserRejectedMarkup
    from bs4.dammit import EncodingDetector

    declared = EncodingDetector.find_declared_encoding(raw[:4096], is_html=True)
    text = decoded(raw, source, declared)
    try:
        page = BeautifulSoup(text, "html.parser")
    except (ParserRejectedMarkup, RecursionError, ValueError, AssertionError) as error:
        raise source.wrong(f"it is no HTML that can be read: {brief(str(error), 80)}") from error
    lines = [" ".join(line.split()) for line in "".join(_seen(page)).split("\n")]
    return re.sub(r"\n(?:\s*\n)+", "\n\n", "\n".join(lines))


def _seen(page: Any) -> Iterator[str]:
    """The texts of the page in their order, with line ends at blocks and bars between cells.

    A loop with a stack and no recursion, and nothing is put into the tree: pages nest thousands deep.
    """
    from bs4 import Tag

    waiting: list[Any] = [page]
    while waiting:
        node = waiting.pop()
        if isinstance(node, tuple):
            yield from node
        elif not isinstance(node, Tag):
            if type(node).__name__ in _TEXTS:
                yield str(node)
        elif node.name == "br":
            yield "\n"
        elif not _hidden(node):
            line = "\n" if node.name in ("tr", "li") else "\n\n" if _BLOCKS.match(node.name) else ""
            yield line
            waiting.append((line,))
            waiting += reversed(list(_inside(node.contents)))


def _inside(nodes: list[Any]) -> Iterator[Any]:
    """The nodes, with a bar after each cell of a row but the last."""
    cells = [index for index, node in enumerate(nodes) if node.name in ("td", "th")]
    for index, node in enumerate(nodes):
        yield node
        if node.name in ("td", "th") and index != cells[-1]:
            yield (" | ",)


def _hidden(tag: Any) -> bool:
    style = str(tag.get("style") or "").replace(" ", "").casefold()
    return tag.name in _HIDDEN or tag.has_attr("hidden") or "display:none" in style


# --- PDF --------------------------------------------------------------------------------------


def _pdf(raw: bytes, source: Source) -> str:
    """The text of the pages; an error for a scan, which has none, and for a locked file."""
    if not raw[:1024].lstrip().startswith(b"%PDF"):
        raise source.wrong(
            "it is no PDF: it does not begin with %PDF", next="look at how it was saved"
        )
    pypdf = library("pypdf", source)
    logging.getLogger("pypdf").setLevel(logging.ERROR)
    try:
        reader = pypdf.PdfReader(io.BytesIO(raw))
        if reader.is_encrypted and not reader.decrypt(""):
            raise source.wrong("the PDF is locked with a password", next="save it without one")
        if len(reader.pages) > MAX_PAGES:
            raise source.wrong(
                f"the PDF has {len(reader.pages)} pages",
                allowed=f"up to {MAX_PAGES}",
                got=len(reader.pages),
            )
        pages = list(_pages(reader, source))
    except (pypdf.errors.PyPdfError, pypdf.errors.DependencyError) as error:
        raise source.wrong(f"it is no PDF that can be read: {brief(str(error), 120)}") from error
    except (
        ValueError,
        TypeError,
        KeyError,
        IndexError,
        AttributeError,
        OSError,
        RecursionError,
    ) as error:
        raise source.wrong(
            f"the PDF is damaged: {type(error).__name__} {brief(str(error), 80)}"
        ) from error
    empty = [number for number, page in enumerate(pages, 1) if not trimmed(page)]
    if len(empty) == len(pages):
        raise source.wrong(
            f"the PDF has no text on its {len(pages)} page(s): a scan, which only holds pictures",
            got=0,
            next="run text recognition (OCR) over it first",
        )
    if empty:
        source.warn(f"no text on page(s) {', '.join(map(str, empty[:10]))}: pictures, or empty")
    return "\n\n".join(page.strip() for page in pages)


def _pages(reader: Any, source: Source) -> Iterator[str]:
    total = 0
    for page in reader.pages:
        text = page.extract_text() or ""
        total += len(text)
        if total > MAX_CHARACTERS:
            raise source.wrong(
                "the PDF holds too much text",
                got=total,
                allowed=f"up to {MAX_CHARACTERS} characters",
            )
        yield text


# --- Word -------------------------------------------------------------------------------------


def _docx(raw: bytes, source: Source) -> str:
    """Paragraphs and tables in their order, with insertions and links, without deleted text."""
    archive = safe_zip(raw, source)
    parse = library("defusedxml.ElementTree", source).fromstring
    try:
        body = parse(archive.read("word/document.xml")).find(f"{_W}body")
    except KeyError as error:
        raise source.wrong(
            "it is no Word document: there is no word/document.xml inside",
            got=archive.namelist()[:5],
        ) from error
    except _DAMAGED as error:
        raise source.wrong(f"the Word document is damaged: {brief(str(error), 80)}") from error
    return (
        "\n\n".join(block for block in _blocks(body) if trimmed(block)) if body is not None else ""
    )


def _blocks(parent: Any) -> Iterator[str]:
    for child in parent:
        if child.tag == f"{_W}p":
            yield _paragraph(child)
        elif child.tag == f"{_W}tbl":
            rows = [
                " | ".join(" ".join(_blocks(cell)).strip() for cell in _parts(row, "tc"))
                for row in _parts(child, "tr")
            ]
            yield "\n".join(rows)
        elif child.tag in _AROUND:
            yield from _blocks(child)


def _parts(parent: Any, name: str) -> Iterator[Any]:
    """The rows of a table or cells of a row, and not those of a table within a cell."""
    for child in parent:
        if child.tag == f"{_W}{name}":
            yield child
        elif child.tag in _AROUND:
            yield from _parts(child, name)


def _paragraph(paragraph: Any) -> str:
    """The paragraph's text: runs, links, insertions; a text box counts once, a deletion not at all."""
    parts: list[str] = []
    heading = paragraph.find(f"{_W}pPr/{_W}pStyle")
    style = heading.get(f"{_W}val", "") if heading is not None else ""
    level = re.fullmatch(r"(?:Heading|berschrift|Titre|Title)(\d)?", style)
    _collect(paragraph, parts)
    text = "".join(parts)
    return f"{'#' * int(level[1] or 1)} {text}" if level and trimmed(text) else text


def _collect(element: Any, parts: list[str]) -> None:
    for child in element:
        name = child.tag.rpartition("}")[2]
        if name == "t":
            parts.append(child.text or "")
        elif name == "tab":
            parts.append("\t")
        elif name in ("br", "cr"):
            parts.append("\n")
        elif name not in ("del", "moveFrom", "pPr", "rPr", "Fallback", "instrText"):
            _collect(child, parts)


READERS: Mapping[str, Callable[[bytes, Source], str]] = {
    **dict.fromkeys((".md", ".markdown", ".txt", ".text", ".rst"), _plain),
    **dict.fromkeys((".html", ".htm", ".xhtml"), _html),
    ".pdf": _pdf,
    ".docx": _docx,
}
