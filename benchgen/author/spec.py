"""What the author `table` is asked for."""

from __future__ import annotations

import difflib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from benchgen.author.packs import KINDS, Pack
from benchgen.author.write import check_count
from benchgen.errors import ConfigError

DIFFICULTIES = ("easy", "medium", "hard")


@dataclass(frozen=True)
class TableSpec:
    """What is asked for.

    `mix` and `categories` are shares of `count`; empty = as it comes, and even as far as each category goes.
    """

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
        among("kind", [self.kind], KINDS)
        among("mix", self.mix, DIFFICULTIES)
        check_count(self.count)
        if not 2 <= self.options <= 8:
            raise ConfigError("options is out of range", got=self.options, allowed="2 to 8")
        for what, shares in (("mix", self.mix), ("categories", self.categories)):
            total = sum(shares.values())
            if shares and not (min(shares.values()) >= 0 and 0 < total < float("inf")):
                raise ConfigError(f"{what} needs shares of 0 or more, not all 0", got=dict(shares))

    @property
    def pack_name(self) -> str:
        return self.pack if isinstance(self.pack, str) else self.pack.name


def among(what: str, names: Sequence[str] | Mapping[str, float], allowed: Sequence[str]) -> None:
    """Nothing; ConfigError for the first name that is not allowed."""
    for name in names:
        if name not in allowed:
            close = difflib.get_close_matches(name, allowed, n=1)
            meant = f"did you mean {close[0]}" if close else ""
            raise ConfigError(f"unknown {what}", got=name, allowed=sorted(set(allowed)), next=meant)
