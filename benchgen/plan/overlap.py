"""How much of a benchmark the training rows already hold, word for word.

Overlap inflates a score that is taken after the training, so the plan names it. What is measured is the
share of questions whose prompt stands in the rows: whole where it is short, else by its runs of WORDS words
(as the decontamination of GPT-3, Brown et al. 2020, appendix C, does with 13; shorter lines need fewer).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence

from benchgen.types import Question

Run = tuple[str, ...]
"""Words that follow each other."""
WORDS = 8
SHARE = 0.5
"""Of a prompt's runs that must stand in the rows for its question to count."""


def overlap(rows: Sequence[str], questions: Sequence[Question]) -> int:
    """How many of the questions stand in the texts of the rows.

    A multiple choice question does only where one row has its options too: many of them may ask
    "Which of these is a star?" and be different questions.
    """
    asked = [(_words(q.prompt), [_line(text) for text in q.choices]) for q in questions]
    sizes = {min(WORDS, len(words)) for words, _ in asked if words}
    found: dict[int, set[Run]] = {size: set() for size in sizes}
    texts = [_words(row) for row in rows]
    for words in texts:
        for size, seen in found.items():
            seen.update(_runs(words, size))
    lines = [f" {' '.join(words)} " for words in texts]
    return sum(
        _stands(words, found) and (not options or _in_one_row(words, options, lines))
        for words, options in asked
    )


def _stands(words: Sequence[str], found: Mapping[int, set[Run]]) -> bool:
    """Whether enough of the prompt's runs are among those found."""
    if not words:
        return False
    size = min(WORDS, len(words))
    runs = list(_runs(words, size))
    return sum(run in found[size] for run in runs) >= SHARE * len(runs)


def _in_one_row(words: Sequence[str], options: Sequence[str], lines: Sequence[str]) -> bool:
    """Whether one row has all the options and enough of the prompt."""
    size = min(WORDS, len(words))
    return any(
        all(option in line for option in options)
        and _stands(words, {size: set(_runs(line.split(), size))})
        for line in lines
    )


def _runs(words: Sequence[str], size: int) -> Iterator[Run]:
    return (tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def _line(text: str) -> str:
    return f" {' '.join(_words(text))} "


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
