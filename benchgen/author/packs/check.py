"""Compare the facts of the shipped packs with second sources that come as Python packages.

    python -m benchgen.author.packs.check [PACK …]

Prints, for each column, how many facts were checked, agreed, disagreed, or have no second source; exits 1 on a
disagreement. With every package at hand it also renews `checked.csv` and the counts in the pack's README.
The packages are not dependencies of benchgen; the modules `second_PACK` name them.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

from benchgen.author.packs import (
    SHIPPED,
    Pack,
    Row,
    load_pack,
    packs,
    second_countries,
    second_elements,
    second_solar_system,
    second_units,
)
from benchgen.author.packs.second import SecondSources

MARKS = ("<!-- counts: made by check.py -->", "<!-- end of counts -->")
NOT_FACTS = ("name", "fame", "source")
WORDS = {"units": second_units.WORDS}
"""Pack -> its columns that hold words for the prompts, and no facts of their own."""
SECOND: dict[str, SecondSources] = {
    "countries": second_countries.SECOND,
    "elements": second_elements.SECOND,
    "solar_system": second_solar_system.SECOND,
    "units": second_units.SECOND,
}
"""Pack -> its second sources."""


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


def facts(pack: Pack) -> list[Checked]:
    """Every known cell of the pack, unchecked, in the order of its tables."""
    without = (*NOT_FACTS, *WORDS.get(pack.name, ()))
    return [
        Checked(table.name, row["name"][0], column, "|".join(cell))
        for table in pack.tables
        for row in table.rows
        for column, cell in row.items()
        if cell and column not in without and not column.endswith("_also")
    ]


def check(pack: Pack) -> tuple[list[Checked], list[str]]:
    """(every fact with its outcome, names of the packages that are missing)."""
    sources = SECOND.get(pack.name, {})
    modules, missing = _modules(sources)
    rows = {(table.name, row["name"][0]): row for table in pack.tables for row in table.rows}
    done = [_checked(fact, rows[fact.table, fact.name], sources, modules) for fact in facts(pack)]
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
        source = ", ".join(dict.fromkeys(fact.second_source for fact in known)) or "none"
        lines.append(
            f"| {table} | {column} | {len(group)} | {len(known)} | {len(group) - len(known)} | {source} |"
        )
        total = [total[0] + len(group), total[1] + len(known)]
    lines.append(f"| all | | {total[0]} | {total[1]} | {total[0] - total[1]} | |")
    return "\n".join(lines)


def read_checked(pack: str) -> list[Checked]:
    """The outcomes of the last full check of that pack."""
    with (SHIPPED / pack / "checked.csv").open(encoding="utf-8", newline="") as lines:
        return [Checked(**row) for row in csv.DictReader(lines)]


def main(names: Sequence[str] = ()) -> int:
    """Exit status: 1 if a second source disagrees with a fact of these packs (default: all shipped)."""
    return max(_report(name) for name in names or packs())


def _report(name: str) -> int:
    checked, missing = check(load_pack(name))
    wrong = [fact for fact in checked if fact.outcome == "disagreed"]
    lines = [f"{name}:", counts(checked)]
    lines += [
        f"disagreed: {fact.table} {fact.name} {fact.column}: "
        f"{fact.value} here, {fact.said} in {fact.second_source}"
        for fact in wrong
    ]
    lines += [f"skipped: package {package} is not installed" for package in missing]
    if missing or wrong:
        lines.append("checked.csv and README.md are left as they were")
    else:
        _write(SHIPPED / name, checked)
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if wrong else 0


def _write(folder: Path, checked: list[Checked]) -> None:
    with (folder / "checked.csv").open("w", encoding="utf-8", newline="") as lines:
        out = csv.DictWriter(lines, [f.name for f in fields(Checked)], lineterminator="\n")
        out.writeheader()
        out.writerows(asdict(fact) for fact in checked)
    readme = folder / "README.md"
    text = readme.read_text(encoding="utf-8")
    head, rest = text.split(MARKS[0])
    tail = rest.split(MARKS[1])[1]
    readme.write_text(f"{head}{MARKS[0]}\n{counts(checked)}\n{MARKS[1]}{tail}", encoding="utf-8")


def _modules(sources: SecondSources) -> tuple[dict[str, ModuleType], list[str]]:
    """(module name -> module, names of the packages that are missing)."""
    found: dict[str, ModuleType] = {}
    missing = set()
    for second in (second for several in sources.values() for second in several):
        for package, module in ((second.package, second.module), *((n, n) for n in second.needs)):
            try:
                found[module] = import_module(module)
            except ImportError:
                missing.add(package)
    return found, sorted(missing)


def _checked(
    fact: Checked, row: Row, sources: SecondSources, modules: Mapping[str, ModuleType]
) -> Checked:
    """The fact with the first outcome that agrees, else the first that a source knows at all."""
    outcomes = []
    for second in sources.get((fact.table, fact.column), ()):
        module = modules.get(second.module)
        ready = module is not None and all(name in modules for name in second.needs)
        said = second.says(module, row) if module is not None and ready else ""
        if said:
            agreed = any(second.agrees(value, said) for value in fact.value.split("|"))
            source = f"{second.package} {version(second.package)}"
            outcome = "agreed" if agreed else "disagreed"
            outcomes.append(replace(fact, outcome=outcome, second_source=source, said=said))
    agreeing = [outcome for outcome in outcomes if outcome.outcome == "agreed"]
    return (agreeing or outcomes or [fact])[0]


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
