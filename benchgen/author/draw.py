"""Which of the slots are asked: the counts that were asked for, and each fact as seldom as it goes."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from heapq import heapify, heappop, heapreplace

from benchgen.author.slots import Slot
from benchgen.author.spec import TableSpec
from benchgen.author.write import Accept
from benchgen.errors import DataError
from benchgen.types import Question


def draw(slots: Sequence[Slot], spec: TableSpec, accept: Accept) -> list[Question]:
    """`spec.count` questions of these slots in a seeded order, or a DataError with how many there are."""
    held: dict[tuple[str, str], list[Slot]] = {}
    for slot in slots:
        for difficulty in ("", slot.difficulty):
            held.setdefault((difficulty, slot.category), []).append(slot)
    categories = sorted({slot.category for slot in slots})
    cells = {
        (r, c): _Cell(held.get((r, c), []), spec) for r in spec.mix or [""] for c in categories
    }
    uses: Counter[str] = Counter()
    used = set(spec.exclude)
    while True:
        plan = _plan(spec, spec.count, {at: cell.capacity for at, cell in cells.items()})
        if plan.total() < spec.count:
            raise _too_many(spec, cells, used, accept)
        # a cell may hold less than its capacity says (excluded or refused questions): plan again
        if all(_fill_cell(cells[at], n, uses, used, accept) for at, n in plan.items()):
            break
    questions = [q for at, n in sorted(plan.items()) for q in cells[at].drawn[:n]]
    random.Random(f"{spec.seed} shuffle").shuffle(questions)
    return questions


class _Cell:
    """The slots of one category and difficulty, drawn from without repeating a question.

    Next comes the slot whose fact, then whose template, was asked least; among equals the first in a
    seeded order. One heap a template, as each draw changes the counts of one fact and one template: a
    fact's count only grows, so an entry is brought up to date when it comes to the top.
    """

    open: dict[str, list[tuple[int, int]]]
    """Template -> heap of (how often the slot's fact was asked when last looked at, place of the slot)."""

    def __init__(self, slots: Sequence[Slot], spec: TableSpec) -> None:
        order = random.Random(f"{spec.seed} order").sample(range(len(slots)), len(slots))
        self.slots = [slots[i] for i in order]
        self.questions: dict[int, Iterator[Question]] = {}
        self.open = {}
        for place, slot in enumerate(self.slots):
            self.open.setdefault(slot.template, []).append((0, place))
        for heap in self.open.values():
            heapify(heap)
        self.seed = spec.seed
        self.capacity = sum(slot.capacity for slot in slots)
        self.drawn: list[Question] = []

    def draw(self, uses: Counter[str], used: set[str], accept: Accept) -> bool:
        """One more question in `drawn`; False when there is none left."""
        while self.open:
            template = self._least(uses)
            _, place = self.open[template][0]
            slot = self.slots[place]
            question = next(self._questions(place), None)
            if question is None:
                self._close(template)
            elif question.key not in used:
                used.add(question.key)
                if accept(question):
                    uses.update([slot.fact, slot.template])
                    self.drawn.append(question)
                    return True
        self.capacity = len(self.drawn)
        return False

    def _least(self, uses: Counter[str]) -> str:
        """The template whose first open slot comes next."""
        for heap in self.open.values():
            while (now := uses[self.slots[heap[0][1]].fact]) > heap[0][0]:
                heapreplace(heap, (now, heap[0][1]))
        return min(self.open, key=lambda t: (self.open[t][0][0], uses[t], self.open[t][0][1]))

    def _questions(self, place: int) -> Iterator[Question]:
        if place not in self.questions:
            self.questions[place] = self.slots[place].questions(self.seed)
        return self.questions[place]

    def _close(self, template: str) -> None:
        self.questions.pop(heappop(self.open[template])[1])
        if not self.open[template]:
            del self.open[template]


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
        met = _plan(spec, number, capacity).total() == number
        low, high = (number, high) if met else (low, number)
    return DataError(
        f"pack {spec.pack_name} has too few different questions with this mix and these categories",
        got=spec.count,
        allowed=f"1 to {low}" if low else "none",
        next="ask for fewer, or change the mix, the categories or the templates",
    )


def _plan(
    spec: TableSpec, count: int, capacity: Mapping[tuple[str, str], int]
) -> Counter[tuple[str, str]]:
    """Questions per (difficulty, "" = any, and category): as asked for, else as many as there are.

    Categories that were not asked for are even, or as even as they go where one is too small.
    """
    rows = shares(count, spec.mix or {"": 1})
    columns = shares(count, spec.categories or dict.fromkeys(sorted({c for _, c in capacity}), 1.0))
    plan = _flow(rows, columns, capacity, strict=True)
    if plan.total() < count and not spec.categories:
        return _flow(rows, columns, capacity, strict=False)
    return plan


def shares(count: int, weights: Mapping[str, float]) -> dict[str, int]:
    """Whole numbers that sum to `count` in the proportion of the weights (largest remainder)."""
    total = sum(weights.values())
    exact = {name: count * weight / total for name, weight in weights.items()}
    whole = {name: int(value) for name, value in exact.items()}
    for name in sorted(exact, key=lambda n: whole[n] - exact[n])[: count - sum(whole.values())]:
        whole[name] += 1
    return whole


def _flow(
    rows: Mapping[str, int],
    columns: Mapping[str, int],
    capacity: Mapping[tuple[str, str], int],
    *,
    strict: bool,
) -> Counter[tuple[str, str]]:
    """Questions per (difficulty, category) that meet both demands as far as the cells allow.

    Not `strict`: a category may have more than it wants, once all that still want some are exhausted.

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
            if left[column] > 0 or not strict:
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
