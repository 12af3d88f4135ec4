"""Author `table`: questions whose keys follow from the facts of a table, the same for the same seed.

Templates (data, see `packs`) are laid over the columns. A slot is one template, wording and entity; it
yields one question for each set of distractors (`slots`). Of the slots that fit, the one whose fact was
asked least comes next, so a set covers as many facts as it can before it repeats one (`draw`).

Difficulty: fame of the entity asked for (1 widely known, 2, 3 obscure) plus the template's level
(0 look-up, 1, 2); 1 is easy, 2 medium, 3 and more hard.
"""

from __future__ import annotations

from dataclasses import asdict
from functools import partial

from benchgen.author.draw import draw, shares
from benchgen.author.packs import Pack, load_pack
from benchgen.author.slots import slots_of
from benchgen.author.spec import DIFFICULTIES, TableSpec, among
from benchgen.author.write import Accept, Draft, write
from benchgen.config import BenchmarkConfig
from benchgen.errors import DataError
from benchgen.types import Evaluation, Question

__all__ = ["DIFFICULTIES", "Draft", "TableSpec", "shares", "write_benchmark", "write_table"]


def write_benchmark(
    config: BenchmarkConfig, taken: frozenset[str] = frozenset(), pack: Pack | None = None
) -> Draft:
    """The draft that the config asks for, with no question whose key is in `taken`.

    `pack`: facts that are already at hand (`frame.pack_from_frame`), in place of the config's.
    """
    told = asdict(config)
    evaluation = Evaluation(**told["evaluation"])
    spec = TableSpec(
        pack=pack or config.author.pack,
        kind=config.kind or "mcq",
        count=config.count,
        options=config.options,
        mix=config.mix,
        categories=config.categories,
        templates=tuple(config.author.templates),
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
    among("language", [spec.language], [pack.language])
    slots = slots_of(pack, spec)
    if not slots:
        raise DataError(f"no template of pack {pack.name} can ask {spec.kind} questions like this")
    return draw(slots, spec, accept)
