"""What a second source is: a Python package that is asked for a fact and says what it knows."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import ModuleType

from benchgen.author.packs import Row


@dataclass(frozen=True)
class Second:
    """A second source for one column: its package, the module to import, and what it says of a row."""

    package: str
    module: str
    says: Callable[[ModuleType, Row], str]
    """The source's own value; "" = it does not know this row."""
    agrees: Callable[[str, str], bool] = lambda value, said: value == said
    needs: tuple[str, ...] = ()
    """Other packages that it cannot do without, each with a module of that name."""


SecondSources = Mapping[tuple[str, str], tuple[Second, ...]]
"""(table, column) -> its second sources: the first that agrees counts."""


def within(share: float, plain: float = 0.0) -> Callable[[str, str], bool]:
    """Whether two numbers agree to that share of the second, or to that plain difference."""

    def agrees(value: str, said: str) -> bool:
        return abs(float(value) - float(said)) <= max(share * abs(float(said)), plain)

    return agrees


def folded(text: str) -> str:
    """The letters and digits of a text, without case and diacritics."""
    return "".join(c for c in unicodedata.normalize("NFKD", text) if c.isalnum()).casefold()


def alike(value: str, said: str) -> bool:
    """Whether two texts are the same but for case, diacritics and signs."""
    return folded(value) == folded(said)
