"""Author `procedural`: questions that the generators of reasoning-gym make, the same for the same seed.

Which of its tasks can be asked, and as what, stands in `tasks`. Items are drawn in chunks, each with a
seed of its own that the spec's seed, the task and the difficulty decide.
"""

from __future__ import annotations

import difflib
import random
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any

from benchgen.author.draw import shares
from benchgen.author.spec import DIFFICULTIES, among
from benchgen.author.tasks import (
    VERSION,
    Task,
    generator,
    key_of,
    left_out,
    package,
    prompt_of,
    tasks,
)
from benchgen.author.worked import worked
from benchgen.author.write import Accept, check_count
from benchgen.errors import ConfigError, DataError
from benchgen.types import Question, sha256

__all__ = ["DEFAULT", "ProceduralSpec", "tasks", "write_procedural"]

KINDS = ("qa", "numeric")
DEFAULT = (
    "base_conversion",
    "basic_arithmetic",
    "chain_sum",
    "course_schedule",
    "family_relationships",
    "gcd",
    "leg_counting",
    "letter_counting",
    "path_star",
    "spell_backward",
)
"""Short questions, short answers, three difficulties, thousands of different items each."""
CHUNK = 500
"""Items drawn with one seed."""
PATIENCE = 1000
"""Items in a row that are no new question: after these the task has no more."""


@dataclass(frozen=True)
class ProceduralSpec:
    """What is asked for. `tasks` and `mix` are shares of `count`."""

    tasks: Mapping[str, float] = field(default_factory=dict)
    """Empty = as many of each of `DEFAULT` that has the kind."""
    count: int = 30
    kind: str = ""
    """qa or numeric: of these tasks alone; empty = both, each task's own."""
    mix: Mapping[str, float] = field(default_factory=dict)
    """Shares of easy, medium and hard; empty = each task's default parameters, without a difficulty."""
    seed: int = 0
    language: str = "en"
    exclude: frozenset[str] = frozenset()
    """Keys of questions not to repeat: those of the benchmarks this one must share none with."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "exclude", frozenset(self.exclude))
        among("kind", [self.kind], ("", *KINDS))
        among("mix", self.mix, DIFFICULTIES)
        among("language", [self.language], ("en",))
        check_count(self.count)
        for what, given in (("mix", self.mix), ("tasks", self.tasks)):
            total = sum(given.values())
            if given and not (min(given.values()) >= 0 and 0 < total < float("inf")):
                raise ConfigError(f"{what} needs shares of 0 or more, not all 0", got=dict(given))
        for name in self.wanted():
            _check_task(_named(name), self)

    def wanted(self) -> dict[str, float]:
        """Names of the tasks that are asked for, with their shares."""
        if self.tasks:
            return {name: share for name, share in self.tasks.items() if share}
        return {name: 1.0 for name in DEFAULT if self.kind in ("", _named(name).kind)}


def write_procedural(
    spec: ProceduralSpec, accept: Accept = lambda question: True
) -> list[Question]:
    """`spec.count` different questions in a seeded order, each task's share exact.

    A question that `accept` refuses is replaced by the task's next. DataError where a task has fewer
    different questions than its share, with how many it gave.
    """
    used = set(spec.exclude)
    questions: list[Question] = []
    with package():
        for (name, difficulty), number in _plan(spec).items():
            questions += _draw(_named(name), difficulty, number, spec.seed, used, accept)
    random.Random(f"{spec.seed} shuffle").shuffle(questions)
    return questions


def _named(name: str) -> Task:
    known = {task.name: task for task in tasks()}
    if name in known:
        return known[name]
    near = difflib.get_close_matches(name, known, n=5, cutoff=0.4)
    reason = left_out().get(name)
    raise ConfigError(
        f"author procedural has no task {name}",
        got=name,
        allowed=near or sorted(known),
        next=f"it is left out: {reason}"
        if reason
        else "benchgen.author.procedural.tasks() lists all",
    )


def _check_task(task: Task, spec: ProceduralSpec) -> None:
    """Nothing; ConfigError for a kind or a difficulty that the task does not have."""
    if spec.kind not in ("", task.kind):
        raise ConfigError(
            f"task {task.name} asks {task.kind} questions, not {spec.kind}",
            got=spec.kind,
            allowed=[task.kind],
            next=f"leave the kind out, or the task; {spec.kind} tasks are "
            + ", ".join(t.name for t in tasks() if t.kind == spec.kind),
        )
    missing = [level for level, share in spec.mix.items() if share and level not in task.levels]
    if missing:
        raise ConfigError(
            f"task {task.name} has no difficulty {', '.join(missing)}",
            got=dict(spec.mix),
            allowed=list(task.levels) or "no mix",
            next="leave the mix out, or the task",
        )


def _plan(spec: ProceduralSpec) -> Counter[tuple[str, str]]:
    """Questions per task and difficulty ("" = the task's default): the tasks' shares exact, and the mix.

    The difficulties are laid out evenly along all questions and the tasks take theirs one after another,
    so that each gets about the same mix.
    """
    laid_out = sorted(
        ((i + 0.5) / number, difficulty)
        for difficulty, number in shares(spec.count, spec.mix or {"": 1.0}).items()
        for i in range(number)
    )
    per_task = shares(spec.count, spec.wanted())
    names = [name for name, number in per_task.items() for _ in range(number)]
    return Counter((name, level) for name, (_, level) in zip(names, laid_out, strict=True))


def _draw(
    task: Task, difficulty: str, number: int, seed: int, used: set[str], accept: Accept
) -> list[Question]:
    questions: list[Question] = []
    misses = 0
    items = _items(task, difficulty, seed)
    while len(questions) < number:
        question = next(items)
        if question is None or question.key in used or not _taken(question, used, accept):
            misses += 1
        else:
            questions.append(question)
            misses = 0
        if misses == PATIENCE:
            raise _too_few(task, difficulty, number, len(questions))
    return questions


def _taken(question: Question, used: set[str], accept: Accept) -> bool:
    used.add(question.key)
    return accept(question)


def _too_few(task: Task, difficulty: str, wanted: int, given: int) -> DataError:
    of_level = f" {difficulty}" if difficulty else ""
    return DataError(
        f"task {task.name} has too few different{of_level} questions: "
        f"{given}, and no other among {PATIENCE} more",
        got=wanted,
        allowed=f"1 to {given}" if given else "none",
        next="ask for fewer, or add tasks",
    )


def _items(task: Task, difficulty: str, seed: int) -> Iterator[Question | None]:
    """The task's items without end, None for each that cannot be asked."""
    for chunk in count():
        own_seed = int(sha256([seed, task.name, difficulty, chunk])[:8], 16)
        entries = generator(task, difficulty, own_seed, CHUNK)
        for index in range(CHUNK):
            yield _question(task, difficulty, entries[index], f"seed {own_seed}, item {index}")


def _question(task: Task, difficulty: str, entry: Any, drawn: str) -> Question | None:
    question, answer = entry["question"], entry["answer"].strip()
    if not answer or (task.skip and re.search(task.skip, f"{question}\n{answer}")):
        return None
    level = f"level {task.levels[difficulty]}, " if difficulty else ""
    return Question(
        kind=task.kind,
        prompt=prompt_of(task.edits, question),
        target=key_of(task.kind, answer),
        category=task.name,
        difficulty=difficulty,
        rationale=worked(task.name, answer, entry["metadata"]),
        source=f"reasoning-gym {VERSION}, {task.name}: {level}{drawn}",
        template=task.name,
        options=dict(task.options),
    )
