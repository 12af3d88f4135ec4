"""Compare the facts of `solar_system` with second sources that come as Python packages.

    python -m benchgen.author.packs.check

Prints, for each column, how many facts were checked, agreed, disagreed, or have no second source; exits 1 on a
disagreement. With every package at hand it also renews `checked.csv` and the counts in the pack's README.
The packages are not dependencies of benchgen: `pip install spiceypy ephem pyongc`, `pip install --no-deps boinor`
and astropy for boinor.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType
from typing import Any

from benchgen.author.packs import SHIPPED, Pack, Row, load_pack

FOLDER = SHIPPED / "solar_system"
MARKS = ("<!-- counts: made by check.py -->", "<!-- end of counts -->")
NOT_FACTS = ("name", "fame", "source")
ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")


@dataclass(frozen=True)
class Checked:
    """One fact and what the second source said of it; `outcome` is agreed, disagreed or unchecked."""

    table: str
    name: str
    column: str
    value: str
    outcome: str = "unchecked"
    second_source: str = ""
    said: str = ""


@dataclass(frozen=True)
class Second:
    """A second source for one column: its package, the module to import, and what it says of a row."""

    package: str
    module: str
    says: Callable[[ModuleType, Row], str]
    """The source's own value; "" = it does not know this row."""
    agrees: Callable[[str, str], bool] = lambda value, said: value == said


def facts(pack: Pack) -> list[Checked]:
    """Every known cell of the pack, unchecked, in the order of its tables."""
    return [
        Checked(table.name, row["name"][0], column, "|".join(cell))
        for table in pack.tables
        for row in table.rows
        for column, cell in row.items()
        if cell and column not in NOT_FACTS and not column.endswith("_also")
    ]


def check(pack: Pack) -> tuple[list[Checked], list[str]]:
    """(every fact with its outcome, names of the packages that are missing)."""
    modules, missing = _modules()
    rows = {(table.name, row["name"][0]): row for table in pack.tables for row in table.rows}
    done = []
    for fact in facts(pack):
        second = SECOND.get((fact.table, fact.column))
        module = modules.get(second.module) if second else None
        if second and module:
            fact = _checked(fact, rows[fact.table, fact.name], second, module)
        done.append(fact)
    return done, missing


def counts(checked: Iterable[Checked]) -> str:
    """A Markdown table: column by column, how many facts were checked and against what."""
    lines = [
        "| table | column | facts | checked | unchecked | second source |",
        "|---|---|--:|--:|--:|---|",
    ]
    rows: dict[tuple[str, str], list[Checked]] = {}
    for fact in checked:
        rows.setdefault((fact.table, fact.column), []).append(fact)
    total = [0, 0]
    for (table, column), group in rows.items():
        known = [fact for fact in group if fact.outcome != "unchecked"]
        source = known[0].second_source if known else "none"
        lines.append(
            f"| {table} | {column} | {len(group)} | {len(known)} | {len(group) - len(known)} | {source} |"
        )
        total = [total[0] + len(group), total[1] + len(known)]
    lines.append(f"| all | | {total[0]} | {total[1]} | {total[0] - total[1]} | |")
    return "\n".join(lines)


def read_checked(file: Path = FOLDER / "checked.csv") -> list[Checked]:
    """The outcomes of the last full check."""
    with file.open(encoding="utf-8", newline="") as lines:
        return [Checked(**row) for row in csv.DictReader(lines)]


def main() -> int:
    """Exit status: 1 if a second source disagrees with a fact."""
    checked, missing = check(load_pack("solar_system"))
    wrong = [fact for fact in checked if fact.outcome == "disagreed"]
    lines = [counts(checked)]
    lines += [
        f"disagreed: {fact.table} {fact.name} {fact.column}: "
        f"{fact.value} here, {fact.said} in {fact.second_source}"
        for fact in wrong
    ]
    lines += [f"skipped: package {name} is not installed" for name in missing]
    if missing or wrong:
        lines.append("checked.csv and README.md are left as they were")
    else:
        _write(checked)
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if wrong else 0


def _write(checked: list[Checked]) -> None:
    with (FOLDER / "checked.csv").open("w", encoding="utf-8", newline="") as lines:
        out = csv.DictWriter(lines, [f.name for f in fields(Checked)], lineterminator="\n")
        out.writeheader()
        out.writerows(asdict(fact) for fact in checked)
    readme = FOLDER / "README.md"
    text = readme.read_text(encoding="utf-8")
    head, rest = text.split(MARKS[0])
    tail = rest.split(MARKS[1])[1]
    readme.write_text(f"{head}{MARKS[0]}\n{counts(checked)}\n{MARKS[1]}{tail}", encoding="utf-8")


def _modules() -> tuple[dict[str, ModuleType], list[str]]:
    found: dict[str, ModuleType] = {}
    missing = set()
    for second in SECOND.values():
        try:
            found[second.module] = import_module(second.module)
        except ImportError:
            missing.add(second.package)
    return found, sorted(missing)


def _checked(fact: Checked, row: Row, second: Second, module: ModuleType) -> Checked:
    said = second.says(module, row)
    if not said:
        return fact
    agreed = any(second.agrees(value, said) for value in fact.value.split("|"))
    return Checked(
        fact.table,
        fact.name,
        fact.column,
        fact.value,
        "agreed" if agreed else "disagreed",
        f"{second.package} {version(second.package)}",
        said,
    )


# ---- what each package says ---------------------------------------------------------------------


def _within(share: float, plain: float = 0.0) -> Callable[[str, str], bool]:
    """Whether two numbers agree to that share of the second, or to that plain difference."""

    def agrees(value: str, said: str) -> bool:
        return abs(float(value) - float(said)) <= max(share * abs(float(said)), plain)

    return agrees


def _naif_parent(spice: ModuleType, row: Row) -> str:
    """The planet whose NAIF id (x99) the moon's id (xnn) belongs to."""
    try:
        number = spice.bodn2c(row["name"][0])
    except spice.utils.exceptions.SpiceyError:
        return ""
    return str(spice.bodc2n(number // 100 * 100 + 99)).title() if 400 <= number < 1000 else ""


def _diameter(boinor: ModuleType, row: Row) -> str:
    """Twice the equatorial radius, km."""
    radius = getattr(boinor, f"R_{row['name'][0].casefold()}", None)
    return f"{2 * radius.to('km').value:.0f}" if radius is not None else ""


def _distances(boinor: ModuleType) -> dict[str, float]:
    """Planet -> semimajor axis, au."""
    found = {name: getattr(boinor, f"mean_a_{name.casefold()}", None) for name in PLANETS}
    return {name: axis.to("au").value for name, axis in found.items() if axis is not None}


def _distance(boinor: ModuleType, row: Row) -> str:
    axis = _distances(boinor).get(row["name"][0])
    return f"{axis:.3f}" if axis else ""


def _position(boinor: ModuleType, row: Row) -> str:
    axes = _distances(boinor)
    order = sorted(axes, key=lambda name: axes[name])
    return ORDINALS[order.index(row["name"][0])] if row["name"][0] in order else ""


def _star(ephem: ModuleType, row: Row) -> list[str]:
    """Fields of the star's record in PyEphem's catalogue (Hipparcos): name, kind and class, ra, dec, magnitude."""
    try:
        return str(ephem.star(row["name"][0]).writedb()).split(",")
    except KeyError:
        return []


def _star_constellation(ephem: ModuleType, row: Row) -> str:
    """Where the star's J2000 place falls by the IAU boundaries; both parts of Serpens are Serpens."""
    if not _star(ephem, row):
        return ""
    star = ephem.star(row["name"][0])
    star.compute("2000")
    name = str(ephem.constellation(star)[1])
    return {"Bootes": "Boötes", "Serpens Caput": "Serpens", "Serpens Cauda": "Serpens"}.get(
        name, name
    )


def _star_magnitude(ephem: ModuleType, row: Row) -> str:
    record = _star(ephem, row)
    return record[4] if record else ""


def _star_class(ephem: ModuleType, row: Row) -> str:
    record = _star(ephem, row)
    return f"class {record[1].split('|')[2][0]}" if record else ""


_ESO = {"the Large Magellanic Cloud": "ESO056-115"}
_CONSTELLATIONS = {
    "And": "Andromeda", "Cam": "Camelopardalis", "Cas": "Cassiopeia", "Cen": "Centaurus", "Cet": "Cetus",
    "Com": "Coma Berenices", "Crv": "Corvus", "CVn": "Canes Venatici", "Cyg": "Cygnus", "Dor": "Dorado",
    "Dra": "Draco", "Eri": "Eridanus", "For": "Fornax", "Hya": "Hydra", "Leo": "Leo", "Psc": "Pisces",
    "Scl": "Sculptor", "Sgr": "Sagittarius", "Tri": "Triangulum", "Tuc": "Tucana", "UMa": "Ursa Major",
    "Vir": "Virgo",
}  # fmt: skip


def _galaxy(ongc: ModuleType, row: Row) -> Any:
    name = row["name"][0]
    number = row["catalogue"][0] if row["catalogue"] else _ESO.get(name, name)
    return ongc.Dso(number.replace(" ", ""))


def _galaxy_constellation(ongc: ModuleType, row: Row) -> str:
    short = str(_galaxy(ongc, row).constellation)
    return _CONSTELLATIONS.get(short, short)


def _galaxy_type(ongc: ModuleType, row: Row) -> str:
    """OpenNGC's Hubble class in one word; "" where it is uncertain or between two (S?, SBm)."""
    hubble = str(_galaxy(ongc, row).hubble or "")
    if hubble.startswith("S0"):
        return "lenticular"
    if hubble.startswith("E"):
        return "elliptical"
    if hubble.startswith("I"):
        return "irregular"
    return "spiral" if hubble.startswith("S") and "?" not in hubble and "m" not in hubble else ""


def _galaxy_catalogue(ongc: ModuleType, row: Row) -> str:
    """The catalogue number, if the object of that number goes by the row's name."""
    number, name = row["catalogue"][0], row["name"][0].removeprefix("the ")
    common = _galaxy(ongc, row).identifiers[3] or []
    return number if name in common else ""


SECOND = {
    ("planets", "diameter_km"): Second("boinor", "boinor.constants.general", _diameter, _within(0.01)),
    ("planets", "distance_au"): Second("boinor", "boinor.constants.mean_elements", _distance, _within(0.01)),
    ("planets", "position"): Second("boinor", "boinor.constants.mean_elements", _position),
    ("moons", "orbits"): Second("spiceypy", "spiceypy", _naif_parent),
    ("stars", "constellation"): Second("ephem", "ephem", _star_constellation),
    ("stars", "magnitude"): Second("ephem", "ephem", _star_magnitude, _within(0, 0.12)),
    ("stars", "spectral"): Second("ephem", "ephem", _star_class),
    ("galaxies", "constellation"): Second("pyongc", "pyongc.ongc", _galaxy_constellation),
    ("galaxies", "type"): Second("pyongc", "pyongc.ongc", _galaxy_type),
    ("galaxies", "catalogue"): Second("pyongc", "pyongc.ongc", _galaxy_catalogue),
}  # fmt: skip
"""(table, column) -> its second source."""


if __name__ == "__main__":
    sys.exit(main())
