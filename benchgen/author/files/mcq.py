"""Multiple choice: every row's options and the right one, proved before anything is made of them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from benchgen.author.files import words
from benchgen.author.files.answers import READINGS, Rules, Said, chosen, fitting, several
from benchgen.author.files.fields import answer_missing, common
from benchgen.author.files.headers import Layout, plain_name
from benchgen.author.files.literal import Unreadable, read_literal
from benchgen.author.files.options import Offered, inline, offered
from benchgen.author.files.positions import refers_to_positions
from benchgen.author.files.source import Row, Source, Table, alike, brief, listed
from benchgen.types import LETTERS, Question


@dataclass(frozen=True)
class Wishes:
    """What the person said of the answers."""

    answers_are: str | None = None
    index_base: int | None = None
    multi: bool = False
    language: str = "en"


def mcq_questions(
    table: Table, layout: Layout, source: Source, wishes: Wishes
) -> list[tuple[Row, Question]]:
    """A question for each row, the options in the file's order."""
    fields = [common(row, layout, source, wishes.language) for row in table.rows]
    if layout.has_options:
        found = offered(table, layout, source)
    else:
        found = _inside(table, fields, source)
    for row, one in zip(table.rows, found, strict=True):
        _check(row, one, layout, source)
    right = _right(table, layout, source, wishes, found)
    made = [
        (row, _question(told, one, indices, wishes.multi))
        for row, told, one, indices in zip(table.rows, fields, found, right, strict=True)
    ]
    _report(made, found, source)
    return made


def _question(
    told: Mapping[str, Any], one: Offered, indices: Sequence[int], multi: bool
) -> Question:
    letters = [LETTERS[index] for index in sorted(set(indices))]
    choices = tuple(option.text for option in one.options)
    return Question(kind="mcq", target=letters if multi else letters[0], choices=choices, **told)


def _inside(table: Table, fields: list[dict[str, Any]], source: Source) -> list[Offered]:
    """The options that stand in the question's own text: 'Which? A) red B) blue'."""
    from benchgen.author.files.options import Option

    found = []
    for row, told in zip(table.rows, fields, strict=True):
        parts = inline(told["prompt"])
        if not parts or not parts[0]:
            raise source.wrong("no options were found for multiple choice", row=row)
        told["prompt"] = parts[0]
        found.append(Offered(tuple(Option(t, LETTERS[i], i) for i, t in enumerate(parts[1:]))))
    source.decide("the options stand in the questions' texts (A) … B) …) and are taken from there")
    return found


def has_options_inside(table: Table, layout: Layout) -> bool:
    """Whether every question's text ends in labelled options and every answer is a letter."""
    question, answer = layout.get("question"), layout.get("answer")
    if question is None or answer is None:
        return False
    return all(
        isinstance(row.get(question), str)
        and bool(inline(row.values[question])[:1])
        and isinstance(row.get(answer), str)
        and bool(re.fullmatch(r"\s*\(?[A-Ja-j]\)?\.?\s*", row.values[answer]))
        for row in table.rows
    )


def _check(row: Row, one: Offered, layout: Layout, source: Source) -> None:
    """Nothing; an error for a row with too few options, too many, or two that are the same."""
    column = layout.get("options") or (layout.options[0][1] if layout.options else None)
    texts = [option.text for option in one.options]
    if not 2 <= len(texts) <= len(LETTERS):
        raise source.wrong(
            f"{len(texts)} option{'' if len(texts) == 1 else 's'}: multiple choice needs 2 to 26",
            row=row,
            column=column,
            got=texts,
        )
    seen: dict[str, str] = {}
    for option in one.options:
        first = seen.setdefault(alike(option.text), option.label)
        if first != option.label:
            raise source.wrong(
                f"the options {first} and {option.label} are the same (duplicate) but for case, spaces or "
                "character forms, so which is right cannot be told",
                row=row,
                column=column,
                got=option.text,
                next="make the options different",
            )


def _right(
    table: Table, layout: Layout, source: Source, wishes: Wishes, found: Sequence[Offered]
) -> list[list[int]]:
    """Indices of the right options of every row; several only where they are wanted."""
    if all(one.right is not None for one in found):
        right = [list(one.right or ()) for one in found]
        for row, indices in zip(table.rows, right, strict=True):
            _one_right(row, indices, layout, source, wishes)
        source.decide(f"the right options are those that the file marks: {_marks(layout)}")
        return right
    if not layout.answers:
        raise source.wrong(
            "no column was found for answer",
            got=list(table.columns),
            next=f"name it: author.columns.answer={table.columns[-1] if table.columns else 'NAME'}",
        )
    first, *others = layout.answers
    cells = {c: _cells(table, c, source, wishes, found) for c in layout.answers}
    rules = {c: _rules(table, c, layout, wishes) for c in layout.answers}
    if others:
        return _agreed(table, cells, rules, source)
    picked = chosen([said for group in cells[first] for said in group], rules[first], first, source)
    return _grouped(picked, cells[first])


_BASED = re.compile(r"(?<![a-z0-9])([01]|zero|one)[\s_-]*based", re.IGNORECASE)

Cells = list[list[Said]]
"""For every row its answers: one, or several where the cell names several options."""


def _agreed(
    table: Table, cells: Mapping[str, Cells], rules: Mapping[str, Rules], source: Source
) -> list[list[int]]:
    """What several columns say of the answers: read so that they agree, or a DataError."""
    flat = {column: [said for group in cells[column] for said in group] for column in cells}
    fits = {column: fitting(flat[column], rules[column]) for column in cells}
    for column in cells:
        if not fits[column]:
            chosen(flat[column], rules[column], column, source)  # says why
    sure = [c for c in cells if len({tuple(indices) for indices in fits[c].values()}) == 1]
    anchor = (sure or list(cells))[0]
    right = _grouped(chosen(flat[anchor], rules[anchor], anchor, source), cells[anchor])
    for other in (column for column in cells if column != anchor):
        readings = [_grouped(indices, cells[other]) for indices in fits[other].values()]
        best = max(readings, key=lambda groups: sum(map(_equal, groups, right)))
        for row, said, here in zip(table.rows, right, best, strict=True):
            if not _equal(said, here):
                raise source.wrong(
                    f"the columns '{anchor}' and '{other}' name different answers",
                    row=row,
                    column=other,
                    got=[row.values[anchor], row.values[other]],
                    next=f"say which is right with author.columns.answer={anchor}",
                )
        source.decide(f"the columns '{anchor}' and '{other}' name the same answers")
    return right


def _equal(one: Sequence[int], two: Sequence[int]) -> bool:
    return sorted(one) == sorted(two)


def _grouped(indices: Sequence[int], groups: Cells) -> list[list[int]]:
    picked = iter(indices)
    return [[next(picked) for _ in group] for group in groups]


def _marks(layout: Layout) -> str:
    if layout.wrong or layout.get("wrong"):
        return f"column '{layout.get('answer')}', beside columns of wrong ones"
    return f"column '{layout.get('options')}'"


def _one_right(
    row: Row, indices: Sequence[int], layout: Layout, source: Source, wishes: Wishes
) -> None:
    if indices and (wishes.multi or len(indices) == 1):
        return
    what = "more than one option is marked as right" if indices else "no option is marked as right"
    raise source.wrong(
        f"{what}, and exactly one answer is needed",
        row=row,
        column=layout.get("options"),
        got=[LETTERS[index] for index in indices],
        next="mark one, or author.multi=true for questions with several right options",
    )


def _cells(
    table: Table, column: str, source: Source, wishes: Wishes, found: Sequence[Offered]
) -> Cells:
    return [
        [
            Said(row, one, source.text(value, row, column))
            for value in _values(row, column, one, source, wishes)
        ]
        for row, one in zip(table.rows, found, strict=True)
    ]


def _values(row: Row, column: str, one: Offered, source: Source, wishes: Wishes) -> list[Any]:
    value = row.get(column)
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = read_literal(value)
        except Unreadable:
            value = row.get(column)
    if value is None or value in ([], {}):
        raise answer_missing(row, column, source)
    parts = several(value, one, row)
    if parts is None:
        return [value]
    if len(parts) > 1 and not wishes.multi:
        raise source.wrong(
            f"the answer {brief(value)!r} names more than one option, and exactly one is needed",
            row=row,
            column=column,
            got=value if isinstance(value, str) else list(map(str, parts)),
            next="author.multi=true if several options are right at once",
        )
    return parts


def _rules(table: Table, column: str, layout: Layout, wishes: Wishes) -> Rules:
    """What is known of the answers before their values are looked at."""
    name, base = plain_name(column), wishes.index_base
    if wishes.answers_are == "index":
        only = tuple(f"index{b}" for b in (0, 1) if base in (None, b))
    elif wishes.answers_are is not None:
        only = (wishes.answers_are,)
    else:
        only = tuple(r for r in READINGS if base is None or r != f"index{1 - base}")
        if name in words.INDEX_NAMES:
            only = tuple(r for r in only if r.startswith("index")) or only
        elif name in words.LETTER_NAMES or name in words.TEXT_NAMES:
            only = ("letter",) if name in words.LETTER_NAMES else ("text",)
    counted = _BASED.search(column)
    if counted:
        return Rules(only, base, int(counted[1] in "1one"), f"so '{column}' says")
    if column in table.names:
        return Rules(only, base, 0, "so class names count (Hugging Face's ClassLabel)")
    options = layout.get("options")
    integers = all(isinstance(row.get(column), int) for row in table.rows)
    if options is not None and plain_name(options) == "endings":
        return Rules(only, base, 0, "so HellaSwag counts (endings, label)")
    if options is not None and integers and plain_name(layout.get("category") or "") == "subject":
        return Rules(only, base, 0, "so MMLU counts (question, subject, choices, answer)")
    return Rules(only, base)


def _report(made: Sequence[tuple[Row, Question]], found: Sequence[Offered], source: Source) -> None:
    gaps = []
    for (row, _), one in zip(made, found, strict=True):
        last = one.options[-1].position
        if any(blank.position < last for blank in one.blank):
            gaps.append(row)
    if gaps:
        source.warn(
            f"{listed(gaps)}: an option between two others is empty and left out; the letters after it "
            "move up, and the answer keeps its option"
        )
    kept = [row for row, question in made if refers_to_positions(question)]
    if kept:
        source.warn(
            f"{listed(kept)}: an option, the question or the worked answer names options by their place "
            "('Both A and B', 'None of the above'), so the options keep their order there"
        )


def as_answers(made: Sequence[tuple[Row, Question]], source: Source) -> list[tuple[Row, Question]]:
    """The same questions without options, for kind=qa: the right option's text is the accepted answer."""
    source.warn(
        "kind=qa: the options are left out, and the right option's text is the accepted answer"
    )
    return [
        (row, replace(question, kind="qa", choices=(), target=[question.target_text]))
        for row, question in made
    ]
