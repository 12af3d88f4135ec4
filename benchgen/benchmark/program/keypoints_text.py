"""A reply's text as lines and sentences, without its markup."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from .keypoints_lists import LINE_BREAK

MAX_ANSWER, MAX_SENTENCE = 250_000, 1500
"""Characters that are looked at."""

_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,80}>")
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(?:del|s|strike)>[^<\n]{1,400}</(?:del|s|strike)>")
_LINK = re.compile(r"\]\([^()\s]{1,300}\)|\[\^?\d{1,3}\]")
_LATEX = re.compile(r"\\(?:begin|end)\{\w{1,20}\}|\\[a-zA-Z]{1,20}\s?|[{}$]|\\[()\[\],;! ]")


def cleaned(text: str) -> str:
    """The text without bold, code, tags, links, LaTeX and what is struck out; sentences untouched."""
    text = text[:MAX_ANSWER]
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "]" in text:
        text = _LINK.sub(" ", text)
    if "\\" in text or "$" in text or "{" in text:
        text = _LATEX.sub(" ", text)
    for mark in ("**", "__", "`"):
        text = text.replace(mark, "")
    return text


_THOUGHTS = ("think", "thinking", "thought", "thoughts", "reasoning", "scratchpad")
_OBJECT = re.compile(r'\{\s{0,20}"')


def unpacked(text: str) -> str:
    """The reply with its first JSON object replaced by that object's texts, but for those of reasoning."""
    start = _OBJECT.search(text)
    if start is None:
        return text
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start.start())
    except (ValueError, RecursionError):
        return text
    said = [v for k, v in value.items() if isinstance(v, str) and k.lower() not in _THOUGHTS]
    return "\n\n".join((text[: start.start()], *said, text[end:]))


# --- lines and sentences ----------------------------------------------------------------------

_ITEM = re.compile(
    r"[ \t>]*(?:[-*+•▪●◦·–➢✓✔✅☑]|\(?\d{1,2}[.):]|\(?[a-zA-Z][.)])(?:\s+|(?<=[✓✔✅☑]))"
)


@dataclass(slots=True)
class Line:
    """A line, or several that one sentence joins."""

    text: str
    item: bool
    gap: bool
    """A blank line stands before it."""
    level: int
    """1 to 6 for a `#` heading, 9 for a line that ends with a colon, else 0."""


def lines(text: str) -> Iterator[Line]:
    """Lines without their markers; one that goes on in mid-sentence is joined to the line before."""
    held: Line | None = None
    gap = False
    for raw in text.split("\n"):
        line = raw.strip()
        if not line.strip("-*_=| "):
            gap = True
            continue
        new = _line(line, gap)
        if (
            held
            and not (gap or held.level or new.item)
            and line[0].islower()
            and held.text[-1] not in ".!?;:|"
        ):
            text = f"{held.text} {LINE_BREAK} {line}"
            held = Line(text, held.item, held.gap, new.level)
            continue
        if held:
            yield held
        held, gap = new, False
    if held:
        yield held


def _line(line: str, gap: bool) -> Line:
    level = 0
    if line[0] == "#":
        text = line.lstrip("#")
        level, line = min(6, len(line) - len(text)), text.strip() or "#"
    item = _ITEM.match(line)
    text = (line[item.end() :].lstrip() if item else line.lstrip("> ")) or "-"
    if not level and text.rstrip("*_ ").endswith(":"):
        level = 9
    return Line(text, bool(item), gap, level)


_END = re.compile(r"[.!?]{1,9}[\"')\]*]{0,3}(?=\s)|[!?](?=[^\x00-\x7f])")
_ABBREVIATION = re.compile(
    r"(?:\be\.g|\bi\.e|\bvs|\bdr|\bmr|\bmrs|\bprof|\bfig|\bapprox|\bca|\bcf|\bst|\.[a-z])\.\Z",
    re.IGNORECASE,
)


def sentences(line: str) -> list[str]:
    """The sentences of one line, in order, none of them empty."""
    found, start = [], 0
    for end in _END.finditer(line):
        if end[0] == "." and _ABBREVIATION.search(line[max(0, end.end() - 8) : end.end()]):
            continue
        found.append(line[start : end.end()])
        start = end.end()
    found.append(line[start:])
    return [sentence.strip()[:MAX_SENTENCE] for sentence in found if sentence.strip()]
