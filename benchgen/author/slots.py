"""What the tables can ask: one slot for each template, wording and entity that the data decide.

Distractors are other values of the same column that are wrong by the data: no other true value of the
entity, no tie, no unknown value. What has several right answers is not asked without options, and a
question that contains its own answer is not asked at all.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from math import comb, isfinite
from typing import TypeVar

from benchgen.author.packs import Pack, Row, Table, Template
from benchgen.author.phrases import accepted, distinct, fill, gives_away, join
from benchgen.author.spec import DIFFICULTIES, TableSpec, among
from benchgen.errors import DataError
from benchgen.types import LETTERS, Question

SETS_PER_SLOT = 50
"""Sets of distractors that one slot yields at most: bounds the work, and how alike questions can get."""
POOL = 200
"""Wrong options that a slot chooses from at most: with every pair of a long table, memory would run out."""
ASKED = 2000
"""Rows of a long table that are asked for at least; truth is always read off all of them."""
RATIOS = (1.001, 1e6)
"""ratio: how many times the other's value is asked for."""

T = TypeVar("T")
Make = Callable[[tuple[str, ...], random.Random], Question]


@dataclass(frozen=True)
class Slot:
    """One template, wording and entity, and all that may stand beside the right answer."""

    id: str
    fact: str
    """The datum asked for, the same for every wording and template."""
    template: str
    category: str
    difficulty: str
    pool: tuple[str, ...]
    """Wrong options, or others to list or compare with, to choose from; empty where none is needed."""
    size: int
    """How many of them a question has."""
    make: Make

    @property
    def capacity(self) -> int:
        return min(comb(len(self.pool), self.size), SETS_PER_SLOT)

    def questions(self, seed: int) -> Iterator[Question]:
        """`capacity` questions with different distractors, in an order that the seed decides."""
        rng = random.Random(f"{seed} {self.id}")
        if comb(len(self.pool), self.size) <= SETS_PER_SLOT:
            sets = list(combinations(self.pool, self.size))
            rng.shuffle(sets)
            yield from (self.make(chosen, rng) for chosen in sets)
            return
        seen: set[tuple[str, ...]] = set()
        while len(seen) < SETS_PER_SLOT:
            chosen = tuple(sorted(rng.sample(self.pool, self.size)))
            if chosen not in seen:
                seen.add(chosen)
                yield self.make(chosen, rng)


def slots_of(pack: Pack, spec: TableSpec) -> list[Slot]:
    """Every slot that the spec's kind, templates and categories allow."""
    templates = [t for table in pack.tables for t in table.templates]
    among("templates", spec.templates, [t.name for t in templates])
    used = spec.templates or [t.name for t in templates if not t.on_request]
    every = {table.category_of(row) for table in pack.tables for row in table.rows}
    among("categories", spec.categories, sorted(every))
    return [
        slot
        for table in pack.tables
        for template in table.templates
        if spec.kind in template.kinds and template.name in used
        for prompt in template.prompts
        for slot in _FORMS[template.form](_Ask(pack, table, template, prompt, spec))
        if slot.capacity and (not spec.categories or spec.categories.get(slot.category))
    ]


@dataclass(frozen=True)
class _Ask:
    """One wording of one template over one table, and the slots it makes."""

    pack: Pack
    table: Table
    template: Template
    prompt: str
    spec: TableSpec

    @cached_property
    def rows(self) -> list[Row]:
        """Rows that have a value in the template's column."""
        return [row for row in self.table.rows if row.get(self.template.column)]

    @cached_property
    def asked(self) -> list[Row]:
        """The rows that are asked for: all, or a seeded choice of a long table's."""
        return self.some(self.rows, max(ASKED, self.spec.count + len(self.spec.exclude)))

    @property
    def mcq(self) -> bool:
        return self.spec.kind == "mcq"

    def some(self, items: list[T], most: int) -> list[T]:
        """All of them, or `most` that the seed chooses, in their order."""
        if len(items) <= most:
            return items
        rng = random.Random(f"{self.spec.seed} some {self.template.name}")
        return [items[i] for i in sorted(rng.sample(range(len(items)), most))]

    def values(self, row: Row) -> tuple[str, ...]:
        return row[self.template.column]

    def holds(self, row: Row) -> tuple[str, ...]:
        """Every value that must not be called wrong for this row: its own and those of `X_also`."""
        return row.get(self.template.column, ()) + row.get(f"{self.template.column}_also", ())

    def number(self, row: Row) -> int | float:
        """The row's value as a number; DataError if it is none."""
        text = self.values(row)[0]
        try:
            value = int(text) if text.lstrip("+-").isdecimal() else float(text)
        except ValueError:
            value = float("nan")
        if not isfinite(value):
            name = row["name"][0]
            raise DataError(f"{name}: a value to compare or count with is no number", got=text)
        return value

    def slot(self, row: Row, answers: Sequence[str], pool: Sequence[str]) -> Slot:
        """The slot for this row: `answers` are right (the first is shown), `pool` is wrong."""
        words = self.words(row)
        blank = self.question(row, self.fill(self.prompt, words), self.fill("", words))

        def make(wrong: tuple[str, ...], rng: random.Random) -> Question:
            if not self.mcq:
                return replace(blank, target=accepted(answers))
            options = [answers[0], *wrong]
            rng.shuffle(options)
            return replace(blank, choices=tuple(options), target=LETTERS[options.index(answers[0])])

        size = self.spec.options - 1 if self.mcq else 0
        return self.place(blank, row, tuple(distinct(pool)) if self.mcq else (), size, make)

    def numeric(self, blank: Question, target: int | float) -> Question:
        """The question with a number as its answer, within the tolerance that the template states."""
        stated = {"rel_tol": self.template.rel_tol, "abs_tol": self.template.abs_tol}
        options: dict[str, object] = {name: value for name, value in stated.items() if value}
        if self.template.units:
            options["units"] = list(self.template.units)
        return replace(blank, target=target, options=options)

    def words(self, row: Row) -> dict[str, str]:
        """What the braces of a template stand for."""
        cells = {column: cell[0] for column, cell in row.items() if cell}
        return cells | {"value": self.values(row)[0], "column": self.template.told}

    def fill(self, text: str, words: dict[str, str]) -> str:
        """The text, or the rationale if it is empty, with its words."""
        return fill(text or self.template.rationale, words)

    def question(self, row: Row, prompt: str, rationale: str, of: str = "") -> Question:
        """The question without choices and target; `of`: what the fact is of, the row's entity if empty."""
        column = self.template.column
        code = self.table.sources.get(column, "")
        code = code or (row["source"][0] if row.get("source") else "")
        where = self.pack.sources.get(code, code or self.pack.name)
        return Question(
            kind=self.spec.kind,
            prompt=prompt,
            target=None,
            category=self.table.category_of(row),
            difficulty=self.difficulty(row),
            language=self.pack.language,
            rationale=rationale,
            source=f"{where}: {of or row['name'][0]}, {self.template.told}",
            template=self.template.name,
        )

    def place(
        self,
        blank: Question,
        row: Row,
        pool: tuple[str, ...],
        size: int,
        make: Make,
        detail: str = "",
    ) -> Slot:
        fact = f"{self.table.name}/{row['name'][0]}/{self.template.column}"
        name = f"{self.template.name} {self.prompt} {row['name'][0]} {detail}"
        return Slot(
            name, fact, self.template.name, blank.category, blank.difficulty, pool, size, make
        )

    def difficulty(self, row: Row) -> str:
        fame = int(row["fame"][0]) if row.get("fame") else 2
        return DIFFICULTIES[min(fame + self.template.level, 3) - 1]


# ---- forms --------------------------------------------------------------------------------------


def _lookup(ask: _Ask) -> Iterator[Slot]:
    """The entity is given, its value is asked for."""
    every = ask.some([ask.values(row)[0] for row in ask.rows], POOL)
    for row in ask.asked:
        right, held = ask.values(row), ask.holds(row)
        if gives_away(row["name"][0], right[0]):
            continue
        if ask.spec.kind != "numeric":
            yield ask.slot(row, right, [v for v in every if v not in held])
        elif len(held) == 1:
            yield _looked_up(ask, row)


def _looked_up(ask: _Ask, row: Row) -> Slot:
    """The row's value is asked for as a number."""
    words, value = ask.words(row), ask.number(row)
    blank = ask.question(row, ask.fill(ask.prompt, words), ask.fill("", words))
    return ask.place(blank, row, (), 0, lambda wrong, rng: ask.numeric(blank, value))


def _reverse(ask: _Ask) -> Iterator[Slot]:
    """A value is given, an entity that has it is asked for."""
    holders = Counter(value for row in ask.table.rows for value in set(ask.holds(row)))
    rivals = ask.some([(row["name"][0], ask.holds(row)) for row in ask.rows], POOL)
    for row in ask.asked:
        value, name = ask.values(row)[0], row["name"][0]
        if not gives_away(name, value) and (ask.mcq or holders[value] == 1):
            yield ask.slot(row, row["name"], [o for o, held in rivals if value not in held])


def _extreme(ask: _Ask) -> Iterator[Slot]:
    """The listed entity with the largest (form `most`) or smallest (`least`) value is asked for."""
    sign = 1 if ask.template.form == "most" else -1
    known = [(row["name"][0], ask.number(row)) for row in ask.rows]
    rivals = ask.some(known, POOL)
    for row in ask.asked:
        value = ask.number(row)
        lead = ask.template.margin * (1 if ask.template.absolute else abs(value))
        wrong = [other for other, v in rivals if v != value and sign * (value - v) >= lead]
        yield ask.slot(row, [row["name"][0]], wrong)


def _count(ask: _Ask) -> Iterator[Slot]:
    """How many of the listed entities have the value: 1 to the number of options."""
    number = ask.spec.options
    for value in ask.some(distinct(ask.values(row)[0] for row in ask.rows), POOL):
        holders = [row for row in ask.rows if value in ask.values(row)]
        others = [row["name"][0] for row in ask.rows if value not in ask.holds(row)]
        rng = random.Random(f"{ask.spec.seed} {ask.template.name} {value}")
        for right in range(1, min(number, len(holders)) + 1):
            pool = tuple(ask.some(others, POOL))
            yield _counted(ask, value, rng.sample(holders, right), pool)


def _counted(ask: _Ask, value: str, holders: Sequence[Row], others: tuple[str, ...]) -> Slot:
    names = [row["name"][0] for row in holders]
    hardest = max(holders, key=lambda row: row.get("fame", ("2",)))
    blank = ask.question(hardest, "", "")
    options = tuple(str(n) for n in range(1, ask.spec.options + 1))

    def make(wrong: tuple[str, ...], rng: random.Random) -> Question:
        listed = [*names, *wrong]
        rng.shuffle(listed)
        found = [name for name in listed if name in names]
        mark = "; " if any("," in name for name in listed) else ", "
        words = {"value": value, "column": ask.template.told, "list": mark.join(listed)}
        words |= {"names": join(found), "number": str(len(found))}
        told = replace(blank, prompt=fill(ask.prompt, words), rationale=ask.fill("", words))
        if not ask.mcq:
            return ask.numeric(told, len(found))
        return replace(told, choices=options, target=LETTERS[len(found) - 1])

    size = ask.spec.options - len(names)
    return ask.place(blank, hardest, others, size, make, f"{value} {join(names)}")


def _total(ask: _Ask) -> Iterator[Slot]:
    """How many of all entities have the value, where the table is complete."""
    declared = ask.table.complete[ask.template.column]
    holders = Counter(value for row in ask.rows for value in set(ask.values(row)))
    unsure = {
        value for row in ask.table.rows for value in row.get(f"{ask.template.column}_also", ())
    }
    for value in declared or sorted(holders):
        row = next((row for row in ask.rows if value in ask.values(row)), None)
        if row is not None and value not in unsure:
            yield _totalled(ask, row, value, holders[value])


def _totalled(ask: _Ask, row: Row, value: str, number: int) -> Slot:
    words = {"value": value, "column": ask.template.told, "number": str(number)}
    told, every = ask.fill("", words), f"all with {value}"
    blank = ask.question(row, fill(ask.prompt, words), told, every)
    return ask.place(blank, row, (), 0, lambda wrong, rng: ask.numeric(blank, number), every)


def _ratio(ask: _Ask) -> Iterator[Slot]:
    """How many times another entity's value the entity's is; both alike in the column `within`."""
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in ask.rows:
        if not ask.template.within or row.get(ask.template.within):
            groups.setdefault(row.get(ask.template.within, ()), []).append(row)
    for row in ask.asked:
        own, group = ask.number(row), groups.get(row.get(ask.template.within, ()), [])
        others = {
            other["name"][0]: other
            for other in ask.some(group, POOL)
            if ask.number(other) and RATIOS[0] <= own / ask.number(other) <= RATIOS[1]
        }
        if others:
            yield _compared(ask, row, others)


def _compared(ask: _Ask, row: Row, others: dict[str, Row]) -> Slot:
    own = ask.number(row)
    blank = ask.question(row, "", "")

    def make(chosen: tuple[str, ...], rng: random.Random) -> Question:
        other = others[chosen[0]]
        number = _rounded(own / ask.number(other))
        words = ask.words(row) | {"other": chosen[0], "number": f"{number:.6g}"}
        words |= {f"other_{column}": cell[0] for column, cell in other.items() if cell}
        told = replace(blank, prompt=fill(ask.prompt, words), rationale=ask.fill("", words))
        return ask.numeric(told, number)

    return ask.place(blank, row, tuple(others), 1, make)


def _rounded(value: float) -> int | float:
    """Twelve digits of it, which hides the noise of a division; a whole number as one."""
    value = float(f"{value:.12g}")
    return int(value) if value == int(value) else value


_FORMS: dict[str, Callable[[_Ask], Iterable[Slot]]] = {
    "lookup": _lookup,
    "reverse": _reverse,
    "most": _extreme,
    "least": _extreme,
    "count": _count,
    "total": _total,
    "ratio": _ratio,
}
