"""The options of one row, however the file writes them, each with its label and its place in the file."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchgen.author.files.fields import answer_missing
from benchgen.author.files.headers import Layout
from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.source import Row, Source, Table, brief, missing, trimmed
from benchgen.types import LETTERS

Split = Callable[[str], list[str]]
SEPARATORS = ("\n", "|", ";")
_PREFIX = re.compile(r"\s*[(\[]?([A-Za-z]|\d{1,2})(?:[)\]）]\s*|[.:．、]\s+)(?=\S)")
_INLINE = re.compile(r"(?:^|(?<=[\s,;]))[(\[]?([A-Ja-j]|\d{1,2})(?:[)\]]|[.:](?=\s))\s*")
_LITERAL = re.compile(r"\s*(?:[\[{(]|(?:np\.|numpy\.)?array\()")
_TEXT_KEYS = ("text", "option", "content", "choice", "answer", "value", "body", "option_text")
_LABEL_KEYS = ("label", "key", "letter", "id", "name", "option_letter")
_FLAG_KEYS = ("correct", "is_correct", "iscorrect", "isCorrect", "right", "is_answer")


@dataclass(frozen=True, slots=True)
class Option:
    """`position` counts from 0 as in the file, blank options too: what an index in the file means."""

    text: str
    label: str
    position: int


@dataclass(frozen=True)
class Offered:
    """The options of a row without the blank ones."""

    options: tuple[Option, ...]
    explicit: bool = False
    """The row itself labels them (ARC): its answer then means a label."""
    right: tuple[int, ...] | None = None
    """Indices into `options` of those that the row itself marks as right."""
    blank: tuple[Option, ...] = ()
    stripped: bool = False

    def at(self, position: int) -> int | None:
        return next((i for i, o in enumerate(self.options) if o.position == position), None)

    def labelled(self, label: str) -> int | None:
        label = label.casefold()
        return next((i for i, o in enumerate(self.options) if o.label.casefold() == label), None)


def offered(table: Table, layout: Layout, source: Source) -> list[Offered]:
    """The options of every row, without the labels that they carry in their own text."""
    split = _splitter(table, layout, source)
    found = [_of_row(row, layout, source, split) for row in table.rows]
    found = [_without_labels(one) for one in found]
    stripped = sum(one.stripped for one in found)
    if stripped:
        source.decide(f"labels such as 'A)' in front of the options taken off: {stripped} rows")
    return found


def _of_row(row: Row, layout: Layout, source: Source, split: Split | None) -> Offered:
    column = layout.get("options")
    if layout.options:
        cells = [(label, row.values.get(name), name) for label, name in layout.options]
        labels = [label for label, _, _ in cells]
        return _built([(value, name) for _, value, name in cells], labels, row, source)
    if column is not None and row.get(column) is not None:
        return _of_cell(row.values[column], column, row, source, split)
    if layout.wrong or layout.get("wrong"):
        return _of_wrong(row, layout, source)
    raise source.wrong(
        f"the row has no options: '{column}' is missing or empty, while other rows have some",
        row=row,
        column=column,
        got=None,
        next="add them; a benchmark has one kind of question",
    )


def _of_wrong(row: Row, layout: Layout, source: Source) -> Offered:
    """The right answer first, then the wrong ones."""
    held = layout.get("wrong")
    answer = layout.first_answer
    if row.get(answer) is None:
        raise answer_missing(row, answer or "answer", source)
    cells = [(row.values.get(answer), answer)]
    cells += [(row.values.get(name), name) for name in layout.wrong]
    if held is not None:
        listed = _literal(row.values.get(held), held, row, source)
        listed = _listed(listed) if isinstance(listed, str) else listed
        listed = listed if isinstance(listed, (list, tuple)) else [listed]
        cells += [(value, held) for value in listed]
    found = _built(cells, None, row, source)
    return replace(found, right=(0,))


def _listed(text: str) -> list[str]:
    """The texts of a cell that holds several, between line ends, bars or semicolons."""
    return next((parts for mark in SEPARATORS if (parts := _parts(text, mark))), [text])


def _built(
    cells: Sequence[tuple[Any, str]],
    labels: Sequence[str] | None,
    row: Row,
    source: Source,
    *,
    explicit: bool = False,
) -> Offered:
    labels = labels or [LETTERS[i] if i < len(LETTERS) else str(i) for i in range(len(cells))]
    options = [
        Option("" if missing(value) else source.text(value, row, name), label, position)
        for position, (label, (value, name)) in enumerate(zip(labels, cells, strict=True))
    ]
    kept = tuple(option for option in options if option.text)
    blank = tuple(option for option in options if not option.text)
    return Offered(kept, explicit=explicit, blank=blank)


def _literal(value: Any, column: str, row: Row, source: Source) -> Any:
    """The list or object of a cell that holds one as text; any other value as it is."""
    if not isinstance(value, str) or not _LITERAL.match(value):
        return value
    try:
        return read_literal(value)
    except Unreadable as error:
        raise source.wrong(
            f"the list in the cell cannot be read: {error}",
            row=row,
            column=column,
            got=value,
            next="write the list as JSON, or give each option a column of its own",
        ) from error


def _of_cell(value: Any, column: str, row: Row, source: Source, split: Split | None) -> Offered:
    written = value
    value = _literal(value, column, row, source)
    if isinstance(value, str) and split is not None:
        value = split(value)
    elif isinstance(written, str) and value is not written:
        source.decide(f"the lists that column '{column}' holds as text are read as lists")
    if isinstance(value, dict):
        return _of_mapping(value, column, row, source)
    if isinstance(value, (list, tuple)) and value and all(isinstance(v, dict) for v in value):
        return _of_objects(value, column, row, source)
    if isinstance(value, (list, tuple)):
        return _built([(item, column) for item in value], None, row, source)
    raise source.wrong(
        "the options are one text that cannot be taken apart",
        row=row,
        column=column,
        got=brief(value),
        allowed="a list, a column for each option, or texts with | or ; or line ends between them",
    )


def _of_mapping(value: Mapping[str, Any], column: str, row: Row, source: Source) -> Offered:
    names = {str(name).casefold(): item for name, item in value.items()}
    texts = names.get("text", names.get("choices", names.get("texts")))
    labels = names.get("label", names.get("labels"))
    if isinstance(texts, (list, tuple)) and isinstance(labels, (list, tuple)):
        if len(texts) != len(labels):
            raise source.wrong(
                f"{len(texts)} texts and {len(labels)} labels",
                row=row,
                column=column,
                got=brief(value),
            )
        if set(labels) <= {0, 1}:
            return _flagged(
                [(t, bool(f)) for t, f in zip(texts, labels, strict=True)], column, row, source
            )
        return _labelled(list(zip(labels, texts, strict=True)), column, row, source)
    if value and all(item in (0, 1) and not isinstance(item, str) for item in value.values()):
        return _flagged([(t, bool(f)) for t, f in value.items()], column, row, source)
    filled = {label: text for label, text in value.items() if text is not None}
    return _labelled(list(filled.items()), column, row, source)


def _of_objects(
    values: Sequence[Mapping[str, Any]], column: str, row: Row, source: Source
) -> Offered:
    """[{"label", "text"}] or [{"text", "correct"}]."""
    texts = [next((v[key] for key in _TEXT_KEYS if key in v), None) for v in values]
    flags = [next((v[key] for key in _FLAG_KEYS if key in v), None) for v in values]
    labels = [next((v[key] for key in _LABEL_KEYS if key in v), None) for v in values]
    if any(text is None for text in texts):
        raise source.wrong(
            "an option is an object without its text", row=row, column=column, got=brief(values)
        )
    if any(isinstance(flag, bool) for flag in flags):
        return _flagged(list(zip(texts, map(bool, flags), strict=True)), column, row, source)
    if all(label is not None for label in labels):
        return _labelled(list(zip(labels, texts, strict=True)), column, row, source)
    return _built([(text, column) for text in texts], None, row, source)


def _flagged(pairs: Sequence[tuple[Any, bool]], column: str, row: Row, source: Source) -> Offered:
    found = _built([(text, column) for text, _ in pairs], None, row, source)
    right = tuple(i for i, option in enumerate(found.options) if pairs[option.position][1])
    return replace(found, right=right)


def _labelled(pairs: Sequence[tuple[Any, Any]], column: str, row: Row, source: Source) -> Offered:
    labels = [trimmed(str(label)) for label, _ in pairs]
    folded = [label.casefold() for label in labels]
    if len(set(folded)) < len(folded) or not all(folded):
        raise source.wrong(
            "an option's label is empty or stands twice (duplicate)",
            row=row,
            column=column,
            got=labels,
        )
    return _built([(text, column) for _, text in pairs], labels, row, source, explicit=True)


def _without_labels(found: Offered) -> Offered:
    """The options without 'A) ', if each carries its own label, or its number, in order."""
    marks = [_PREFIX.match(option.text) for option in found.options]
    if not marks or not all(marks):
        return found
    said = [mark[1].upper() for mark in marks if mark]
    wanted = (
        [option.label.upper() for option in found.options],
        [LETTERS[option.position] for option in found.options if option.position < len(LETTERS)],
        [str(option.position + 1) for option in found.options],
    )
    if said not in wanted:
        return found
    texts = [
        option.text[mark.end() :] for option, mark in zip(found.options, marks, strict=True) if mark
    ]
    options = [replace(o, text=trimmed(t)) for o, t in zip(found.options, texts, strict=True)]
    return replace(found, options=tuple(options), stripped=True)


# --- several options in one text --------------------------------------------------------------


def _splitter(table: Table, layout: Layout, source: Source) -> Split | None:
    """How the texts of the options' column are taken apart: the same way in every row."""
    column = layout.get("options")
    if column is None or layout.options:
        return None
    texts = [row.values[column] for row in table.rows if isinstance(row.get(column), str)]
    texts = [text for text in texts if not _LITERAL.match(text)]
    if not texts:
        return None
    if all(inline(text) for text in texts):
        source.decide(f"column '{column}' taken apart at its labels (A) B) …)")
        return lambda text: inline(text)[1:]
    fitting = [mark for mark in SEPARATORS if all(_parts(text, mark) for text in texts)]
    if not fitting:
        return None
    if len(fitting) > 1 and fitting[0] != "\n":
        raise source.wrong(
            f"the options can be taken apart at {' and at '.join(fitting)}: ambiguous",
            column=column,
            got=brief(texts[0]),
            next="give each option a column of its own, or write a JSON list",
        )
    shown = "line ends" if fitting[0] == "\n" else f"'{fitting[0]}'"
    source.decide(f"column '{column}' taken apart at {shown}")
    return lambda text: _parts(text, fitting[0])


def _parts(text: str, mark: str) -> list[str]:
    parts = [trimmed(part) for part in trimmed(text).split(mark)]
    return parts if len(parts) > 1 else []


def inline(text: str) -> list[str]:
    """[what stands before, option, option …] of 'A) red B) blue'; [] without labels in order."""
    marks = list(_INLINE.finditer(text))
    said = [mark[1].upper() for mark in marks]
    if len(said) < 2 or said not in (
        list(LETTERS[: len(said)]),
        [str(i + 1) for i in range(len(said))],
    ):
        return []
    ends = [mark.start() for mark in marks[1:]] + [len(text)]
    parts = [
        text[mark.end() : end].strip(" \t\r\n,;") for mark, end in zip(marks, ends, strict=True)
    ]
    return [trimmed(text[: marks[0].start()]), *parts] if all(parts) else []
