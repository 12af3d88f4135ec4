"""How much of a benchmark the training rows already hold, word for word.

Overlap inflates a score that is taken after the training, so the plan names it. What is measured is the
share of questions whose prompt stands in the rows: whole where it is short, else by its runs of WORDS words
(as the decontamination of GPT-3, Brown et al. 2020, appendix C, does with 13; shorter lines need fewer).
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

WORDS = 8
SHARE = 0.5
"""Of a prompt's runs that must stand in the rows for its question to count."""


def overlap(rows: Iterable[str], prompts: Sequence[str]) -> int:
    """How many of the prompts stand in the texts of the rows."""
    found: dict[int, set[tuple[str, ...]]] = {}
    asked = [_words(prompt) for prompt in prompts]
    for size in {min(WORDS, len(words)) for words in asked if words}:
        found[size] = set()
    for row in rows:
        words = _words(row)
        for size, seen in found.items():
            seen.update(_runs(words, size))
    return sum(_stands(words, found) for words in asked)


def _stands(words: Sequence[str], found: dict[int, set[tuple[str, ...]]]) -> bool:
    if not words:
        return False
    size = min(WORDS, len(words))
    runs = list(_runs(words, size))
    return sum(run in found[size] for run in runs) >= SHARE * len(runs)


def _runs(words: Sequence[str], size: int) -> Iterator[tuple[str, ...]]:
    return (tuple(words[i : i + size]) for i in range(len(words) - size + 1))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", unicodedata.normalize("NFKC", text).casefold())
