"""Which option an answer names: as a letter, a text, or a position counted from 0 or from 1.

A column is read in one way for all its rows. Evidence decides: a reading must fit every row. Where two
fit and would name different options the import stops and says which option of the command decides.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.author.files import words
from benchgen.author.files.options import Offered
from benchgen.author.files.source import Row, Source, alike, brief, normal, trimmed
from benchgen.errors import DataError
from benchgen.types import LETTERS

READINGS = {
    "letter": "an option's letter or label",
    "text": "an option's text",
    "index0": "a position counted from 0",
    "index1": "a position counted from 1",
}
SETTING = {
    "letter": "author.answers_are=letter",
    "text": "author.answers_are=text",
    "index0": "author.index_base=0",
    "index1": "author.index_base=1",
}
_LETTER = re.compile(
    rf"(?:(?:letter|{'|'.join((*words.OPTION_PREFIXES, *words.FOREIGN_PREFIXES))})[\s_:]*)?"
    r"[(\[{]*([A-Za-z]|\d{1,2})[)\]}.:,]*",
    re.IGNORECASE,
)
_WITH_TEXT = re.compile(
    r"[(\[]?([A-Za-z]|\d{1,2})(?:[)\]]\s*|[.:、]\s*|\s+[-–—]\s+)(?=\S)(.+)", re.DOTALL
)
_INDEX = re.compile(r"([+-]?\d{1,4})(?:\.0+)?")
_COMPACT = re.compile(r"[A-Z]{2,10}")
_BETWEEN = re.compile(r"\s*(?:[,;/&+|、，；]|\band\b|\bund\b|\n)\s*")


@dataclass(frozen=True, slots=True)
class Said:
    """One answer: the row, its options, and what the cell says of them."""

    row: Row
    offered: Offered
    text: str


@dataclass(frozen=True)
class Rules:
    """What the person, the column's name or the file's shape says of how answers are written."""

    only: tuple[str, ...] = tuple(READINGS)
    base: int | None = None
    """The person's own word: positions are meant."""
    shape_base: int | None = None
    """The known shape's: it decides only where the values leave both open."""
    shape: str = ""


def option_named(said: Said, reading: str) -> int | None:
    """Index of the option that the answer names in that reading, None where it names none."""
    return _READERS[reading](said)


def _by_letter(said: Said) -> int | None:
    offered, text = said.offered, unicodedata.normalize("NFKC", said.text)
    exact = offered.labelled(trimmed(text))
    if exact is not None:
        return exact
    found = _LETTER.fullmatch(trimmed(text))
    if found:
        return _label(offered, found[1])
    found = _WITH_TEXT.fullmatch(trimmed(text))
    index = _label(offered, found[1]) if found else None
    if found is None or index is None:
        return None
    return index if alike(found[2]) == alike(offered.options[index].text) else None


def _label(offered: Offered, letter: str) -> int | None:
    found = offered.labelled(letter)
    if (
        found is None
        and letter.isalpha()
        and offered.options
        and offered.options[0].label.isdigit()
    ):
        return offered.at(LETTERS.index(letter.upper()))
    return found


def _by_text(said: Said) -> int | None:
    for same in (normal, alike):
        fitting = [i for i, o in enumerate(said.offered.options) if same(o.text) == same(said.text)]
        if len(fitting) == 1:
            return fitting[0]
    return None


def _by_index(base: int) -> Callable[[Said], int | None]:
    def read(said: Said) -> int | None:
        found = _INDEX.fullmatch(unicodedata.normalize("NFKC", said.text))
        return said.offered.at(int(found[1]) - base) if found else None

    return read


_READERS: Mapping[str, Callable[[Said], int | None]] = {
    "letter": _by_letter,
    "text": _by_text,
    "index0": _by_index(0),
    "index1": _by_index(1),
}


def several(value: Any, offered: Offered, row: Row) -> list[Any] | None:
    """The single answers of a cell that names more than one option; None for one answer."""
    if isinstance(value, (list, tuple)):
        return list(value)
    text = trimmed(str(value))
    if (
        _by_text(Said(row, offered, text)) is not None
        or _by_letter(Said(row, offered, text)) is not None
    ):
        return None
    plain = unicodedata.normalize("NFKC", text)
    bare = plain.strip("()[]{}.")
    parts = [part for part in _BETWEEN.split(bare) if part]
    if len(parts) < 2 and all(len(part) == 1 for part in bare.split()):
        parts = bare.split()
    if len(parts) < 2 and _COMPACT.fullmatch(bare) and len(set(bare)) == len(bare):
        parts = list(bare)
    names = [
        any(read(Said(row, offered, part)) is not None for read in _READERS.values())
        for part in parts
    ]
    return parts if len(parts) > 1 and all(names) else None


def fitting(cells: Sequence[Said], rules: Rules) -> dict[str, list[int]]:
    """{reading: index of the named option for every answer} of the readings that fit every row."""
    found = {reading: _every(cells, reading) for reading in rules.only}
    whole = {reading: indices for reading, indices in found.items() if indices is not None}
    return {reading: whole[reading] for reading in _preferred(list(whole), cells, rules)}


def _every(cells: Sequence[Said], reading: str) -> list[int] | None:
    """The named option of every answer; None as soon as one names none."""
    indices = []
    for said in cells:
        index = option_named(said, reading)
        if index is None:
            return None
        indices.append(index)
    return indices


def chosen(cells: Sequence[Said], rules: Rules, column: str, source: Source) -> list[int]:
    """The index of the named option for every answer; a DataError where no or more than one reading fits."""
    found = fitting(cells, rules)
    if not found:
        raise _unfit(cells, rules, column, source)
    first = next(iter(found))
    if any(indices != found[first] for indices in found.values()):
        shaped = f"index{rules.shape_base}"
        if shaped not in found:
            raise _ambiguous(cells, found, column, source)
        source.decide(
            f"column '{column}' holds {READINGS[shaped]}: {rules.shape}; author.index_base changes that"
        )
        return found[shaped]
    if len(rules.only) > 1 or first.startswith("index"):
        source.decide(f"column '{column}' holds {READINGS[first]}{_why(first, cells)}")
    return found[first]


def _preferred(fits: list[str], cells: Sequence[Said], rules: Rules) -> list[str]:
    """The readings left when labels in the data, or the person's own base, speak for one."""
    digits = any(o.label.isdigit() for said in cells for o in said.offered.options[:1])
    if "letter" in fits and all(said.offered.explicit for said in cells):
        return ["letter"]
    if rules.base is not None and f"index{rules.base}" in fits:
        return [f"index{rules.base}"]
    if "letter" in fits and digits:  # option1 … option4: the header counts, and so does the answer
        return [reading for reading in fits if not reading.startswith("index")]
    return fits


def _why(reading: str, cells: Sequence[Said]) -> str:
    if reading == "index0":
        zero = next((said for said in cells if said.text.startswith("0")), None)
        return f": 0 stands in {zero.row}" if zero else ""
    if reading == "index1":
        last = (s for s in cells if option_named(s, "index0") is None)
        found = next(last, None)
        return f": {found.text} in {found.row} is the last option" if found else ""
    return ""


# --- errors -----------------------------------------------------------------------------------


def _ambiguous(
    cells: Sequence[Said], found: Mapping[str, Sequence[int]], column: str, source: Source
) -> DataError:
    at = next(i for i in range(len(cells)) if len({indices[i] for indices in found.values()}) > 1)
    said = cells[at]
    meant = []
    for reading, indices in found.items():
        option = said.offered.options[indices[at]].text
        meant.append(f"{READINGS[reading]} ('{brief(option, 40)}')")
    indexes = all(reading.startswith("index") for reading in found)
    why = (
        "0-based or 1-based"
        if indexes
        else "text or position"
        if "letter" not in found
        else "two readings"
    )
    return source.wrong(
        f"ambiguous ({why}): {brief(said.text)!r} can be {' or '.join(meant)}, and so for every row",
        row=said.row,
        column=column,
        got=said.text,
        next="say which: " + " or ".join(SETTING[reading] for reading in found),
    )


def _unfit(cells: Sequence[Said], rules: Rules, column: str, source: Source) -> DataError:
    """Why no reading fits: the row that breaks the one that fits most rows."""
    found = {reading: [option_named(said, reading) for said in cells] for reading in rules.only}
    counts = {r: sum(index is not None for index in indices) for r, indices in found.items()}
    best = max(counts, key=lambda reading: counts[reading])
    bad = next(i for i, index in enumerate(found[best]) if index is None)
    other = next((r for r in found if found[r][bad] is not None), None)
    said = cells[bad]
    if counts[best] and other is not None:
        good = next(i for i, index in enumerate(found[best]) if index is not None)
        if {best, other} == {"index0", "index1"}:
            what = "fits neither 0-based nor 1-based positions"
        else:
            what = f"mixes {READINGS[best]} and {READINGS[other]}"
        return source.wrong(
            f"the answers are a mix: the column {what} ({cells[good].row}: {brief(cells[good].text)!r}, "
            f"{said.row}: {brief(said.text)!r})",
            row=said.row,
            column=column,
            got=said.text,
            next="write all answers in one way",
        )
    return source.wrong(
        _reason(said, best if counts[best] else ""),
        row=said.row,
        column=column,
        got=said.text,
        allowed=[f"{o.label}: {brief(o.text, 40)}" for o in said.offered.options],
        next="correct the answer in the file; nothing was imported",
    )


def _reason(said: Said, reading: str) -> str:
    text, number = unicodedata.normalize("NFKC", said.text), len(said.offered.options)
    blank = {option.label.upper() for option in said.offered.blank}
    index, letter = _INDEX.fullmatch(text), _LETTER.fullmatch(text)
    with_text = _WITH_TEXT.fullmatch(text)
    if letter and letter[1].upper() in blank:
        return f"the answer names option {letter[1].upper()}, which is empty (blank)"
    if index and int(index[1]) < 0:
        return f"the answer {text} is no option: a hidden answer (test split)?"
    if index:
        return f"the answer {text} is out of range: there are {number} options"
    if len(text) == 1 and unicodedata.name(text, "").startswith(("CYRILLIC", "GREEK")):
        return f"the answer is {unicodedata.name(text)}, which only looks like a Latin letter"
    if letter:
        last = said.offered.options[-1].label if said.offered.options else "none"
        return f"the answer {letter[1].upper()} is no option: the last one is {last}"
    if with_text and _label(said.offered, with_text[1]) is not None:
        return "the answer's letter and the text after it name different options"
    told = f", and the other answers are {READINGS[reading]} each" if reading else ""
    return f"the answer {brief(text, 40)!r} equals none of the {number} options' texts{told}"
