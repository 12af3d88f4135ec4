"""Questions that stand more than once in a file: the same again, nearly the same, or with another answer."""

from __future__ import annotations

from collections.abc import Sequence

from benchgen.author.files.headers import Layout
from benchgen.author.files.source import SHOWN_ROWS, Row, Source, alike, brief, listed
from benchgen.types import Question, canonical

Made = Sequence[tuple[Row, Question]]


def without_repeats(made: Made, layout: Layout, source: Source) -> list[tuple[Row, Question]]:
    """The questions, exact repeats kept once and reported; a DataError for two answers to one question."""
    asked = [_asked(question) for _, question in made]
    _conflicts(made, asked, layout, source)
    kept: dict[str, tuple[Row, Question]] = {}
    near: dict[tuple[str, ...], Row] = {}
    repeats, doubtful = [], []
    for (row, question), same in zip(made, asked, strict=True):
        first = kept.get(question.key)
        if first is not None and _same(first[1], question):
            repeats.append(f"{row} repeats {first[0]}")
            continue
        kept[question.key] = (row, question)
        like = near.setdefault(same, row)
        if like is not row:
            doubtful.append(f"{row} of {like}")
    if repeats:
        source.decide(
            f"exact duplicates (same question, options and answer) kept once: {_some(repeats)}"
        )
    if doubtful:
        source.warn(
            f"near duplicates, which differ in case or spaces only, all kept: {_some(doubtful)}"
        )
    _ids(list(kept.values()), layout, source)
    return list(kept.values())


def _some(texts: Sequence[str]) -> str:
    more = len(texts) - SHOWN_ROWS
    return "; ".join(texts[:SHOWN_ROWS]) + (f" and {more} more" if more > 0 else "")


def _same(one: Question, two: Question) -> bool:
    return one.kind != "tool" or canonical(one.options) == canonical(two.options)


def _asked(question: Question) -> tuple[str, ...]:
    """What two rows have in common that ask the same."""
    tools = canonical(question.options.get("tools") or [])
    return (alike(question.prompt), *sorted(map(alike, question.choices)), tools)


def _answered(question: Question) -> str:
    if question.kind == "mcq":
        return "; ".join(sorted(alike(text) for text in question._right_options()))
    if question.kind == "qa":
        return canonical(sorted(map(alike, question.target)))
    return canonical(question.target)


def _conflicts(
    made: Made, asked: Sequence[tuple[str, ...]], layout: Layout, source: Source
) -> None:
    """Nothing; a DataError for a question with two answers."""
    first: dict[tuple[str, ...], tuple[Row, Question]] = {}
    for (row, question), same in zip(made, asked, strict=True):
        other, before = first.setdefault(same, (row, question))
        if before is not question and _answered(before) != _answered(question):
            raise source.wrong(
                f"conflict: a duplicate of {other} with another answer ({brief(question.target_text, 40)!r} "
                f"here, {brief(before.target_text, 40)!r} there)",
                row=row,
                column=layout.get("answer"),
                got=brief(question.prompt, 80),
                next="keep the right one; several accepted answers of one question go into one list",
            )


def _ids(made: Made, layout: Layout, source: Source) -> None:
    """Nothing; a DataError for one id of two questions."""
    column = layout.get("id")
    seen: dict[str, list[Row]] = {}
    for row, _ in made:
        value = row.get(column)
        if value is not None:
            seen.setdefault(str(value), []).append(row)
    for value, rows in seen.items():
        if len(rows) > 1:
            raise source.wrong(
                f"the id {value!r} stands more than once (duplicate; ids are unique): {listed(rows)} are "
                "different questions",
                row=rows[1],
                column=column,
                got=value,
                next="number them anew, or take the column out",
            )
