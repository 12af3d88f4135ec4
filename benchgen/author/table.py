"""Author `table`: questions whose keys follow from the facts of a table, the same for the same seed.

Templates (data, see `packs`) are laid over the columns. A slot is one template, wording and entity; it
yields one question for each set of distractors. Distractors are other values of the same column that are
wrong by the data: no other true value of the entity, no tie, no unknown value. Of the slots that fit, the
one whose fact was asked least comes next, so a set covers as many facts as it can before it repeats one.

Difficulty: fame of the entity asked for (1 widely known, 2, 3 obscure) plus the template's level
(0 look-up, 1, 2); 1 is easy, 2 medium, 3 and more hard.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from itertools import combinations
from math import comb

from benchgen.author.packs import KINDS, Pack, Row, Table, Template, load_pack
from benchgen.author.write import Accept, Draft, check_count, write
from benchgen.config import BenchmarkConfig
from benchgen.errors import ConfigError, DataError
from benchgen.types import LETTERS, Evaluation, Question

__all__ = ["Draft", "TableSpec", "write_benchmark", "write_table"]

DIFFICULTIES = ("easy", "medium", "hard")
SETS_PER_SLOT = 50
"""Sets of distractors that one slot yields at most: bounds the work, and how alike questions can get."""


@dataclass(frozen=True)
class TableSpec:
    """What is asked for. `mix` and `categories` are shares of `count`; empty = as it comes, and even."""

    pack: str | Pack
    kind: str = "mcq"
    count: int = 30
    options: int = 4
    mix: Mapping[str, float] = field(default_factory=dict)
    categories: Mapping[str, float] = field(default_factory=dict)
    templates: tuple[str, ...] = ()
    """Names of the templates to use; empty = all of the pack but those `on_request`."""
    seed: int = 0
    language: str = "en"
    exclude: frozenset[str] = frozenset()
    """Keys of questions not to repeat: those of the benchmarks this one must share none with."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "templates", tuple(self.templates))
        object.__setattr__(self, "exclude", frozenset(self.exclude))
        _among("kind", [self.kind], KINDS)
        _among("mix", self.mix, DIFFICULTIES)
        check_count(self.count)
        if not 2 <= self.options <= 8:
            raise ConfigError("options is out of range", got=self.options, allowed="2 to 8")
        for what, shares in (("mix", self.mix), ("categories", self.categories)):
            total = sum(shares.values())
            if shares and not (min(shares.values()) >= 0 and 0 < total < float("inf")):
                raise ConfigError(f"{what} needs shares of 0 or more, not all 0", got=dict(shares))


def write_benchmark(config: BenchmarkConfig, taken: frozenset[str] = frozenset()) -> Draft:
    """The draft that the config asks for, with no question whose key is in `taken`."""
    told = asdict(config)
    evaluation = Evaluation(**told["evaluation"])
    spec = TableSpec(
        pack=config.pack,
        kind=config.kind,
        count=config.count,
        options=config.options,
        mix=config.mix,
        categories=config.categories,
        templates=tuple(config.templates),
        seed=config.seed,
        language=config.language,
        exclude=taken,
    )
    return write(
        partial(write_table, spec), evaluation, name=config.name, seed=config.seed, config=told
    )


def write_table(spec: TableSpec, accept: Accept = lambda question: True) -> list[Question]:
    """`spec.count` different questions in a seeded order, or a DataError that says how many there are.

    A question that `accept` refuses is replaced by the next of the same category and difficulty.
    """
    pack = load_pack(spec.pack) if isinstance(spec.pack, str) else spec.pack
    _among("language", [spec.language], [pack.language])
    slots = _slots(pack, spec)
    if not slots:
        raise DataError(f"no template of pack {pack.name} can ask {spec.kind} questions like this")
    return _draw(slots, spec, accept)


# ---- slots: what the tables can ask -------------------------------------------------------------


@dataclass(frozen=True)
class _Slot:
    """One template, wording and entity, and all that may stand beside the right answer."""

    id: str
    fact: str
    """The datum asked for, the same for every wording and template."""
    template: str
    category: str
    difficulty: str
    pool: tuple[str, ...]
    """Wrong options to choose from; empty for qa."""
    size: int
    """How many of them a question has."""
    make: Callable[[tuple[str, ...], random.Random], Question]

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


def _slots(pack: Pack, spec: TableSpec) -> list[_Slot]:
    templates = [t for table in pack.tables for t in table.templates]
    _among("templates", spec.templates, [t.name for t in templates])
    used = spec.templates or [t.name for t in templates if not t.on_request]
    _among("categories", spec.categories, [table.category for table in pack.tables])
    return [
        slot
        for table in pack.tables
        for template in table.templates
        if spec.kind in template.kinds and template.name in used
        if not spec.categories or spec.categories.get(table.category)
        for prompt in template.prompts
        for slot in _FORMS[template.form](_Ask(pack, table, template, prompt, spec))
        if slot.capacity
    ]


@dataclass(frozen=True)
class _Ask:
    """One wording of one template over one table, and the slots it makes."""

    pack: Pack
    table: Table
    template: Template
    prompt: str
    spec: TableSpec

    @property
    def rows(self) -> list[Row]:
        """Rows that have a value in the template's column."""
        return [row for row in self.table.rows if row.get(self.template.column)]

    def values(self, row: Row) -> tuple[str, ...]:
        return row[self.template.column]

    def holds(self, row: Row) -> tuple[str, ...]:
        """Every value that must not be called wrong for this row: its own and those of `X_also`."""
        return self.values(row) + row.get(f"{self.template.column}_also", ())

    def slot(self, row: Row, answers: Sequence[str], pool: Sequence[str], **words: str) -> _Slot:
        """The slot for this row: `answers` are right (the first is shown), `pool` is wrong."""
        words = {"name": row["name"][0], "value": self.values(row)[0], **words}
        prompt, rationale = (_fill(t, words) for t in (self.prompt, self.template.rationale))
        mcq = self.spec.kind == "mcq"
        blank = self.question(row, prompt, rationale)

        def make(wrong: tuple[str, ...], rng: random.Random) -> Question:
            if not mcq:
                return replace(blank, target=_accepted(answers))
            options = [answers[0], *wrong]
            rng.shuffle(options)
            return replace(blank, choices=tuple(options), target=LETTERS[options.index(answers[0])])

        size = self.spec.options - 1 if mcq else 0
        return self.place(blank, row, tuple(_distinct(pool)) if mcq else (), size, make)

    def question(self, row: Row, prompt: str, rationale: str) -> Question:
        """The question without choices and target."""
        column = self.template.column
        code = self.table.sources.get(column, "")
        code = code or (row["source"][0] if row.get("source") else "")
        where = self.pack.sources.get(code, code or self.pack.name)
        return Question(
            kind=self.spec.kind,
            prompt=prompt,
            target=None,
            category=self.table.category,
            difficulty=self.difficulty(row),
            language=self.pack.language,
            rationale=rationale,
            source=f"{where}: {row['name'][0]}, {column}",
            template=self.template.name,
        )

    def place(
        self,
        blank: Question,
        row: Row,
        pool: tuple[str, ...],
        size: int,
        make: Callable[[tuple[str, ...], random.Random], Question],
        detail: str = "",
    ) -> _Slot:
        fact = f"{self.table.name}/{row['name'][0]}/{self.template.column}"
        name = f"{self.template.name} {self.prompt} {row['name'][0]} {detail}"
        return _Slot(
            name, fact, self.template.name, blank.category, blank.difficulty, pool, size, make
        )

    def difficulty(self, row: Row) -> str:
        fame = int(row["fame"][0]) if row.get("fame") else 2
        return DIFFICULTIES[min(fame + self.template.level, 3) - 1]


def _lookup(ask: _Ask) -> Iterator[_Slot]:
    """The entity is given, its value is asked for."""
    every = [ask.values(row)[0] for row in ask.rows]
    for row in ask.rows:
        right, held = ask.values(row), ask.holds(row)
        if not _gives_away(row["name"][0], right[0]):
            yield ask.slot(row, right, [v for v in every if v not in held])


def _reverse(ask: _Ask) -> Iterator[_Slot]:
    """A value is given, an entity that has it is asked for."""
    held = {row["name"][0]: ask.holds(row) for row in ask.rows}
    for row in ask.rows:
        value, name = ask.values(row)[0], row["name"][0]
        wrong = [other for other, values in held.items() if value not in values]
        alone = len(held) - len(wrong) == 1
        if not _gives_away(name, value) and (alone or ask.spec.kind == "mcq"):
            yield ask.slot(row, [name], wrong)


def _extreme(ask: _Ask) -> Iterator[_Slot]:
    """The listed entity with the largest (form `most`) or smallest (`least`) value is asked for."""
    sign = 1 if ask.template.form == "most" else -1
    known = [(row, _number(ask.values(row)[0], row)) for row in ask.rows]
    for row, value in known:
        lead = ask.template.margin * (1 if ask.template.absolute else abs(value))
        wrong = [
            other["name"][0] for other, v in known if v != value and sign * (value - v) >= lead
        ]
        yield ask.slot(row, [row["name"][0]], wrong)


def _count(ask: _Ask) -> Iterator[_Slot]:
    """How many of the listed entities have the value: 1 to the number of options."""
    number = ask.spec.options
    for value in _distinct(ask.values(row)[0] for row in ask.rows):
        holders = [row for row in ask.rows if value in ask.values(row)]
        others = tuple(row["name"][0] for row in ask.rows if value not in ask.holds(row))
        rng = random.Random(f"{ask.spec.seed} {ask.template.name} {value}")
        for right in range(1, min(number, len(holders)) + 1):
            yield _counted(ask, value, rng.sample(holders, right), others)


def _counted(ask: _Ask, value: str, holders: Sequence[Row], others: tuple[str, ...]) -> _Slot:
    names = [row["name"][0] for row in holders]
    hardest = max(holders, key=lambda row: row.get("fame", ("2",)))
    blank = ask.question(hardest, "", "")
    options = [str(n) for n in range(1, ask.spec.options + 1)]

    def make(wrong: tuple[str, ...], rng: random.Random) -> Question:
        listed = [*names, *wrong]
        rng.shuffle(listed)
        found = [name for name in listed if name in names]
        words = {"value": value, "list": ", ".join(listed)}
        words |= {"names": _and(found), "number": str(len(found))}
        return replace(
            blank,
            prompt=_fill(ask.prompt, words),
            rationale=_fill(ask.template.rationale, words),
            choices=tuple(options),
            target=LETTERS[len(found) - 1],
        )

    size = ask.spec.options - len(names)
    return ask.place(blank, hardest, others, size, make, f"{value} {_and(names)}")


_FORMS: dict[str, Callable[[_Ask], Iterator[_Slot]]] = {
    "lookup": _lookup,
    "reverse": _reverse,
    "most": _extreme,
    "least": _extreme,
    "count": _count,
}


# ---- drawing: which of them are asked -----------------------------------------------------------


class _Cell:
    """The slots of one category and difficulty, drawn from without repeating a question."""

    def __init__(self, slots: Sequence[_Slot], spec: TableSpec) -> None:
        order = random.Random(f"{spec.seed} order").sample(range(len(slots)), len(slots))
        self.open = {i: (slots[i], slots[i].questions(spec.seed)) for i in order}
        self.capacity = sum(slot.capacity for slot in slots)
        self.drawn: list[Question] = []

    def draw(self, uses: Counter[str], used: set[str], accept: Accept) -> bool:
        """One more question in `drawn`; False when there is none left."""
        while self.open:
            i = min(
                self.open,
                key=lambda i: (uses[self.open[i][0].fact], uses[self.open[i][0].template]),
            )
            slot, questions = self.open[i]
            question = next(questions, None)
            if question is None:
                del self.open[i]
            elif question.key not in used:
                used.add(question.key)
                if accept(question):
                    uses.update([slot.fact, slot.template])
                    self.drawn.append(question)
                    return True
        self.capacity = len(self.drawn)
        return False


def _draw(slots: Sequence[_Slot], spec: TableSpec, accept: Accept) -> list[Question]:
    rows, columns = _demand(spec, spec.count, {slot.category for slot in slots})
    cells = {
        (r, c): _Cell([s for s in slots if s.category == c and r in ("", s.difficulty)], spec)
        for r in rows
        for c in columns
    }
    uses: Counter[str] = Counter()
    used = set(spec.exclude)
    while True:
        plan = _plan(rows, columns, {at: cell.capacity for at, cell in cells.items()})
        if plan.total() < spec.count:
            raise _too_many(spec, cells, used, accept)
        # a cell may hold less than its capacity says (excluded or refused questions): plan again
        if all(_fill_cell(cells[at], n, uses, used, accept) for at, n in plan.items()):
            break
    questions = [q for at, n in sorted(plan.items()) for q in cells[at].drawn[:n]]
    random.Random(f"{spec.seed} shuffle").shuffle(questions)
    return questions


def _fill_cell(
    cell: _Cell, number: int, uses: Counter[str], used: set[str], accept: Accept
) -> bool:
    while len(cell.drawn) < number:
        if not cell.draw(uses, used, accept):
            return False
    return True


def _too_many(
    spec: TableSpec,
    cells: Mapping[tuple[str, str], _Cell],
    used: set[str],
    accept: Accept,
) -> DataError:
    """The error that says how many questions there are; draws all that are left to be exact."""
    for cell in cells.values():
        while cell.draw(Counter(), used, accept):
            pass
    capacity = {at: cell.capacity for at, cell in cells.items()}
    low, high = 0, spec.count  # low can be met, high cannot
    while high - low > 1:
        number = (low + high) // 2
        rows, columns = _demand(spec, number, {category for _, category in cells})
        met = _plan(rows, columns, capacity).total() == number
        low, high = (number, high) if met else (low, number)
    name = spec.pack.name if isinstance(spec.pack, Pack) else spec.pack
    return DataError(
        f"pack {name} has too few different questions with this mix and these categories",
        got=spec.count,
        allowed=f"1 to {low}" if low else "none",
        next="ask for fewer, or change the mix, the categories or the templates",
    )


def _demand(
    spec: TableSpec, count: int, categories: Iterable[str]
) -> tuple[dict[str, int], dict[str, int]]:
    """How many of each difficulty ("" = any) and of each category."""
    even = dict.fromkeys(sorted(categories), 1.0)
    return shares(count, spec.mix or {"": 1}), shares(count, spec.categories or even)


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Whole numbers that sum to `count` in the proportion of the weights (largest remainder)."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    whole = {name: int(value) for name, value in exact.items()}
    for name in sorted(exact, key=lambda n: whole[n] - exact[n])[: count - sum(whole.values())]:
        whole[name] += 1
    return whole


def _plan(
    rows: Mapping[str, int],
    columns: Mapping[str, int],
    capacity: Mapping[tuple[str, str], int],
) -> Counter[tuple[str, str]]:
    """Questions per (difficulty, category) that meet both demands as far as the cells allow.

    A maximum flow, unit by unit along augmenting paths (Ford and Fulkerson 1956), each unit to the category
    that still wants most, so that the difficulties spread evenly over the categories.
    """
    flow: Counter[tuple[str, str]] = Counter()
    left = dict(columns)

    def push(row: str, seen: set[str]) -> bool:
        for column in sorted(columns, key=lambda c: -left[c]):
            if column in seen or flow[row, column] >= capacity[row, column]:
                continue
            seen.add(column)
            if left[column]:
                left[column] -= 1
                flow[row, column] += 1
                return True
            for other in rows:
                if other != row and flow[other, column] and push(other, seen):
                    flow[other, column] -= 1
                    flow[row, column] += 1
                    return True
        return False

    for row, number in rows.items():
        for _ in range(number):
            if not push(row, set()):
                break
    return flow


# ---- words --------------------------------------------------------------------------------------


def _fill(template: str, words: Mapping[str, str]) -> str:
    """The template with {name}, {Name} (capital first) and {a_name} (with an article) filled in."""

    def word(match: re.Match[str]) -> str:
        name = match[1]
        if name in words:
            return words[name]
        if name.startswith("a_") and name[2:] in words:
            text = words[name[2:]]
            return f"{'an' if text[:1].casefold() in 'aeiou' else 'a'} {text}"
        if name.casefold() in words:
            text = words[name.casefold()]
            return text[:1].upper() + text[1:]
        raise ConfigError(f"a template has an unknown word {{{name}}}", allowed=sorted(words))

    return re.sub(r"\{(\w+)\}", word, template)


def _gives_away(name: str, value: str) -> bool:
    """Whether one text contains the words of the other, so that the question would answer itself."""
    one, other = (f" {' '.join(_WORD.findall(_bare(text).casefold()))} " for text in (name, value))
    return one in other or other in one


_WORD = re.compile(r"[^\W_]+")


def _bare(text: str) -> str:
    return text.removeprefix("the ")


def _accepted(answers: Sequence[str]) -> list[str]:
    """The right answers as they may be written: with and without 'the' and diacritics."""
    plain = [_bare(text) for text in answers]
    bare = [
        "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        for text in plain
    ]
    return _distinct([*answers, *plain, *bare])


def _distinct(texts: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(texts))


def _and(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _number(text: str, row: Row) -> float:
    try:
        return float(text)
    except ValueError:
        raise DataError(f"{row['name'][0]}: a compared value is no number", got=text) from None


def _among(what: str, names: Sequence[str] | Mapping[str, float], allowed: Sequence[str]) -> None:
    for name in names:
        if name not in allowed:
            raise ConfigError(f"unknown {what}", got=name, allowed=sorted(set(allowed)))
