"""What the end of a text states that declares nothing."""

from __future__ import annotations

import re

from . import declared, reading, spelling
from . import numeric_stated as statements
from .numeric_items import SEVERAL, Notation
from .numeric_stated import NOTHING, Stated

MAX_TAIL = 2000
"""Characters from the end in which a reply without a declaration may state its answer."""
MAX_SENTENCES = 12
"""Sentences looked at, from the last backwards, until one has a number."""

SENTENCE = re.compile(r"(?<=[^\\][.!?])\s+|\n+")
_ABBREVIATED = re.compile(
    r"\b(?:approx|ca|rs|no|vs|e\.g|i\.e|eq|fig|dr|mr|mrs|st)\.\Z", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"^[ \t]*(?:(?:\d{1,2}[.)]|[-*•+>])[ \t]+(?=[^\s\d])|\d{1,2}\)[ \t]+)", re.MULTILINE
)
_QUOTED = re.compile(r"^[ \t]*>[ \t]+", re.MULTILINE)
_MATHS = re.compile(r"[\dπ√∞]|\\(?:pi|infty|frac|sqrt)")
_UNSURE = re.compile(
    r"\b(?:cannot|can't|can not|unknown|not sure|unsure|don't know|do not know|depends|unclear|impossible"
    r"|undetermined|suppose|assuming|assume|if|let)\b"
)
_REVISES = re.compile(
    r"\b(?:wait|actually|correction|so|thus|therefore|hence|total|altogether|finally|in all)\b|="
)
_VALUE_LINE = re.compile(r"[\s*$_]{0,8}[-+]?[\d.,]{1,40}[\s*$_.]{0,8}")


def undeclared(part: str, notation: Notation) -> Stated:
    """A reply that is a number without saying so; else the last sentence that has one, if it states it."""
    text = declared.without_comment("\n" + part[-MAX_TAIL:])
    text = _QUOTED.sub("", text) if "> " in text else text
    filled = [line for line in text.split("\n") if line.strip(" \t*_`#>$-")]
    lines = [line for line in filled if _MATHS.search(line)]
    if not lines or reading.refused(text.lstrip()):
        return NOTHING
    last = _line(lines[-1], len(filled) > 1, notation)
    values = [line.strip(" \t*_.") for line in lines if _VALUE_LINE.fullmatch(line)]
    if last.numbers or last.reason:
        listed = len(values) > 1 and values[-2] == lines[-2].strip(" \t*_.")
        return Stated(reason=SEVERAL) if listed and values[-1] != values[-2] else last
    found, sentence = _last_statement(text, notation)
    if len(set(values)) == 1 and not _REVISES.search(spelling.lowered(sentence)):
        return statements.bare(values[0], notation)
    return found


def _line(line: str, listed: bool, notation: Notation) -> Stated:
    """The number that a line is; a list's bullet or number is none of it."""
    line = _NUMBERED.sub("", line) if listed or ")" in line else line
    asked = "?" in line and (listed or not _VALUE_LINE.fullmatch(line.rstrip("? ")))
    if asked or len(line) > declared.MAX_VALUE or SENTENCE.search(line.strip()):
        return NOTHING
    return NOTHING if _UNSURE.search(spelling.lowered(line)) else statements.bare(line, notation)


def _last_statement(text: str, notation: Notation) -> tuple[Stated, str]:
    """What the last sentence with a number states, and that sentence."""
    sentences = SENTENCE.split(_NUMBERED.sub("", text))[-MAX_SENTENCES:]
    while sentences:
        sentence = sentences.pop()
        while sentences and _ABBREVIATED.search(sentences[-1][-8:]):
            sentence = f"{sentences.pop()[:-1]} {sentence}"
        if not _MATHS.search(sentence):
            if reading.unsure(sentence):
                return NOTHING, sentence
            continue
        asks = sentence.rstrip(" *\"'").endswith("?")
        if asks or _UNSURE.search(spelling.lowered(sentence)):
            return NOTHING, sentence
        if len(sentence) > declared.MAX_VALUE:
            sentence = sentence[-declared.MAX_VALUE :].partition(" ")[2]
        return statements.concluded(sentence, notation), sentence
    return NOTHING, ""
