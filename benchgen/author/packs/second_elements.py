"""Second sources of the pack `elements`.

`pip install mendeleev periodictable chemicals` and `pip install --no-deps pymatgen-core`.
"""

from __future__ import annotations

import difflib
import gzip
import json
import re
import warnings
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from benchgen.author.packs import Row
from benchgen.author.packs.second import Second, SecondSources, folded, within

ROOM_K = 298.15
SMALL = ("the", "and", "von", "de")


# ---- periodictable: by name ---------------------------------------------------------------------


def _named(table: ModuleType, row: Row) -> Any:
    """The element of one of the row's names; None if there is none."""
    return next((e for e in table.elements if e.number and e.name in row["name"]), None)


def _symbol(table: ModuleType, row: Row) -> str:
    found = _named(table, row)
    return str(found.symbol) if found else ""


def _number(table: ModuleType, row: Row) -> str:
    found = _named(table, row)
    return str(found.number) if found else ""


def _weight(table: ModuleType, row: Row) -> str:
    return str(table.elements[int(row["number"][0])].mass)


def _density(table: ModuleType, row: Row) -> str:
    return str(table.elements[int(row["number"][0])].density or "")


# ---- chemicals: by number -----------------------------------------------------------------------


def _place(chemicals: ModuleType, row: Row) -> Any:
    return chemicals.periodic_table[int(row["number"][0])]


def _group(chemicals: ModuleType, row: Row) -> str:
    return str(_place(chemicals, row).group or "")


def _period(chemicals: ModuleType, row: Row) -> str:
    return str(_place(chemicals, row).period)


def _block(chemicals: ModuleType, row: Row) -> str:
    return f"{_place(chemicals, row).block}-block"


# ---- pymatgen: its table as a file, since importing it wants much more ---------------------------


@cache
def _pymatgen(folder: str) -> dict[str, dict[str, Any]]:
    with gzip.open(Path(folder) / "core" / "periodic_table.json.gz") as file:
        return dict(json.load(file))


def _of(pymatgen: ModuleType, row: Row, what: str) -> str:
    """A number of the element; "" where it has none."""
    found = _pymatgen(pymatgen.__path__[0]).get(row["symbol"][0], {}).get(what)
    return str(found) if isinstance(found, int | float) else ""


def _melting(pymatgen: ModuleType, row: Row) -> str:
    return _of(pymatgen, row, "Melting point")


def _boiling(pymatgen: ModuleType, row: Row) -> str:
    return _of(pymatgen, row, "Boiling point")


def _state(pymatgen: ModuleType, row: Row) -> str:
    """What the melting and boiling points make of it at 298.15 K; "" where one that decides is unknown."""
    melting, boiling = _melting(pymatgen, row), _boiling(pymatgen, row)
    if boiling and float(boiling) < ROOM_K:
        return "gas"
    if melting and float(melting) > ROOM_K:
        return "solid"
    return "liquid" if melting and boiling else ""


def _electronegativity(pymatgen: ModuleType, row: Row) -> str:
    return _of(pymatgen, row, "X")


# ---- mendeleev: by symbol -----------------------------------------------------------------------


def _element(mendeleev: ModuleType, row: Row) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return mendeleev.element(row["symbol"][0])


def _family(mendeleev: ModuleType, row: Row) -> str:
    return str(_element(mendeleev, row).series or "").casefold()


def _discovered(mendeleev: ModuleType, row: Row) -> str:
    return str(_element(mendeleev, row).discovery_year or "")


def _discoverer(mendeleev: ModuleType, row: Row) -> str:
    return str(_element(mendeleev, row).discoverers or "")


def _origin(mendeleev: ModuleType, row: Row) -> str:
    return str(_element(mendeleev, row).name_origin or "")


def _told(value: str, said: str) -> bool:
    """Whether the last word of a name or of each of several stands in the text, but for a letter or two."""
    words = [folded(word) for word in re.findall(r"[^\W\d_]+", said)]
    last = [folded(part.split()[-1]) for part in re.split(r", | and ", value)]
    return all(any(_close(name, word) for word in words) for name in last if name not in SMALL)


def _plural(value: str, said: str) -> bool:
    return said in (f"{value}s", f"{value}es")


def _mentioned(value: str, said: str) -> bool:
    """Whether a word of the value stands in the text, but for a letter or two."""
    words = [folded(word) for word in re.findall(r"[^\W\d_]+", said)]
    names = [folded(word) for word in value.split() if word not in SMALL]
    return any(_close(name, word) for name in names for word in words)


def _close(one: str, other: str) -> bool:
    return difflib.SequenceMatcher(None, one, other).ratio() >= 0.75


SECOND: SecondSources = {
    ("elements", "symbol"): (Second("periodictable", "periodictable", _symbol),),
    ("elements", "number"): (Second("periodictable", "periodictable", _number),),
    ("elements", "group"): (Second("chemicals", "chemicals.elements", _group),),
    ("elements", "period"): (Second("chemicals", "chemicals.elements", _period),),
    ("elements", "block"): (Second("chemicals", "chemicals.elements", _block),),
    ("elements", "family"): (Second("mendeleev", "mendeleev", _family, _plural),),
    ("elements", "state"): (Second("pymatgen-core", "pymatgen", _state),),
    ("elements", "weight"): (Second("periodictable", "periodictable", _weight, within(0.0005)),),
    ("elements", "melting_k"): (Second("pymatgen-core", "pymatgen", _melting, within(0.01)),),
    ("elements", "boiling_k"): (Second("pymatgen-core", "pymatgen", _boiling, within(0.01)),),
    ("elements", "density"): (Second("periodictable", "periodictable", _density, within(0.01)),),
    ("elements", "electronegativity"): (
        Second("pymatgen-core", "pymatgen", _electronegativity, within(0, 0.021)),
    ),
    ("elements", "discovered"): (Second("mendeleev", "mendeleev", _discovered),),
    ("elements", "discoverer"): (Second("mendeleev", "mendeleev", _discoverer, _told),),
    ("elements", "named_after"): (Second("mendeleev", "mendeleev", _origin, _mentioned),),
}
