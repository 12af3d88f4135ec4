"""Documents as text, in passages short enough to quote: Markdown, plain text, HTML, PDF, Word."""

from __future__ import annotations

import io
import logging
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from benchgen.author.files.decode import decoded
from benchgen.author.files.source import Source, brief, library, trimmed
from benchgen.author.files.tables import contents, safe_zip

MAX_PAGES = 2_000
MAX_CHARACTERS = 20_000_000
PASSAGE = 1_200
"""Characters that a passage has at most, unless one paragraph is longer."""
_HEADING = re.compile(r"#{1,6}\s|\S[^\n]*\n(?:=|-){3,}\s*$", re.MULTILINE)
_HIDDEN = ("script", "style", "noscript", "template", "svg", "iframe", "object", "head")
_BLOCKS = re.compile(
    r"(?:p|div|section|article|li|ul|ol|h[1-6]|table|tr|blockquote|pre|dt|dd|dl|figure|header|footer|main)$"
)
_DAMAGED: tuple[type[Exception], ...] = (ValueError, SyntaxError, OSError, EOFError, zlib.error)
_DAMAGED += (zipfile.BadZipFile, NotImplementedError, RuntimeError)
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"


def read_document(path: Path, source: Source) -> tuple[str, tuple[str, ...]]:
    """(the text, its passages); a DataError for a document without text."""
    raw = contents(path, source)
    text = READERS[path.suffix.lower()](raw, source)
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
    """Paragraphs joined up to `PASSAGE` characters; a heading begins a new passage. Each stands in the text."""
    found: list[str] = []
    start = end = 0
    for block in re.finditer(r"\S(?:.|\n(?!\s*\n))*", text):
        fits = block.end() - start <= PASSAGE and not _HEADING.match(text, block.start())
        if end and not fits:
            found.append(text[start:end])
        if not end or not fits:
            start = block.start()
        end = block.end()
    found.append(text[start:end])
    return tuple(passage.strip() for passage in found if trimmed(passage))


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
    for tag in page.find_all(_HIDDEN):
        tag.decompose()
    for tag in page.find_all(lambda t: t.has_attr("hidden") or "display:none" in _style(t)):
        tag.decompose()
    for cell in page.find_all(["td", "th"]):
        if cell.find_next_sibling(["td", "th"]):
            cell.append(" | ")
    for line in page.find_all("br"):
        line.replace_with("\n")
    for tag in page.find_all(_BLOCKS):
        tag.insert_before("\n" if tag.name in ("tr", "li") else "\n\n")
        tag.append("\n" if tag.name in ("tr", "li") else "\n\n")
    lines = [" ".join(line.split()) for line in page.get_text().split("\n")]
    return re.sub(r"\n(?:\s*\n)+", "\n\n", "\n".join(lines))


def _style(tag: Any) -> str:
    return str(tag.get("style") or "").replace(" ", "").casefold()


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
            rows = []
            for row in child.iter(f"{_W}tr"):
                cells = [" ".join(_blocks(cell)).strip() for cell in row.iter(f"{_W}tc")]
                rows.append(" | ".join(cells))
            yield "\n".join(rows)
        elif child.tag in (f"{_W}sdt", f"{_W}sdtContent", f"{_W}ins"):
            yield from _blocks(child)


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
