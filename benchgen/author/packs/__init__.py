"""Knowledge packs: tables of facts with their sources and the templates that ask for them.

A pack is a folder with a `pack.yaml` and one CSV a table. `load_pack` reads a shipped one by name or
any folder by path; a `Pack` can as well be built from rows that are already in memory.
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import yaml

from benchgen.errors import ConfigError, DataError, NotFound

try:  # ten times faster, where PyYAML was built with libyaml
    from yaml import CSafeLoader as _Loader
except ImportError:
    from yaml import SafeLoader as _Loader  # type: ignore[assignment]

SHIPPED = Path(__file__).parent
FORMS = {
    "lookup": ("mcq", "qa", "numeric"),
    "reverse": ("mcq", "qa"),
    "most": ("mcq",),
    "least": ("mcq",),
    "count": ("mcq", "numeric"),
    "total": ("numeric",),
    "ratio": ("numeric",),
}
"""What a template can do -> the kinds in which it can be asked."""
KINDS = ("mcq", "qa", "numeric")
LEVELS = (0, 1, 2)
FAME = (1, 2, 3)

Row = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Template:
    """One way of asking for one column.

    lookup: the entity is given, its value is asked for. reverse: the value is given, the entity is asked for.
    most, least: which of the listed entities has the extreme value. count: how many of the listed have it.
    total: how many of all have it, where the table is complete. ratio: how many times another's value it is.

    Words in braces: name, value, a_name and a_value (with an article), Name and Value (capital first), column,
    and every other column of the row; count: value, list, names, number; total: value, number; ratio also
    other, number and other_X for a column X of the other entity.
    """

    name: str
    form: str
    column: str
    prompts: tuple[str, ...]
    rationale: str
    kinds: tuple[str, ...] = ("mcq",)
    level: int = 0
    """How much harder than a plain look-up, 0 to 2; added to the entity's fame to give the difficulty."""
    margin: float = 0.0
    """most, least: the winner leads by this much (a share of its own size, or a plain difference if `absolute`)."""
    absolute: bool = False
    on_request: bool = False
    """Used only by a spec that names it."""
    rel_tol: float = 0.0
    """numeric: how far off an answer may be, as a share of the right one; 0 with abs_tol 0 = the scorer's own rule."""
    abs_tol: float = 0.0
    """numeric: how far off an answer may be, plainly; either tolerance is enough."""
    units: tuple[str, ...] = ()
    """numeric: spellings of the unit asked for; an answer in another known one is wrong."""
    within: str = ""
    """ratio: only entities with the same value in this column are set against each other."""
    label: str = ""
    """What the column is called in texts; empty = by its name."""

    @property
    def told(self) -> str:
        return self.label or self.column


@dataclass(frozen=True)
class Table:
    """Facts of one kind: a row an entity, a cell a tuple of true values (empty = not known)."""

    name: str
    category: str
    rows: tuple[Row, ...]
    templates: tuple[Template, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    """Column -> code of its publication, where that is not the row's own `source`."""
    complete: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Column -> values of which the table has every holder there is; () = every value of the column."""
    by: str = ""
    """Column whose value is a row's category, in place of `category`."""

    def category_of(self, row: Row) -> str:
        return (row.get(self.by) or (self.category,))[0]


@dataclass(frozen=True)
class Pack:
    """Tables, and the publications that their source codes stand for."""

    name: str
    tables: tuple[Table, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    language: str = "en"


def packs() -> list[str]:
    """Sorted names of the shipped packs."""
    return sorted(p.parent.name for p in SHIPPED.glob("*/pack.yaml"))


def load_pack(name: str | Path) -> Pack:
    """The shipped pack of that name, or the pack in that folder."""
    folder = SHIPPED / name if str(name) in packs() else Path(name)
    file = folder / "pack.yaml"
    if not file.is_file():
        raise NotFound(
            "no knowledge pack of that name or in that folder", got=str(name), allowed=packs()
        )
    try:
        data = yaml.load(file.read_text(encoding="utf-8"), Loader=_Loader)
    except yaml.YAMLError as err:
        raise DataError(f"{file} is not YAML: {err}", next="mend the file") from None
    _known(data, {"name", "language", "sources", "tables"}, str(file), {"name", "tables"})
    tables = tuple(_table(folder, key, value) for key, value in data["tables"].items())
    return Pack(data["name"], tables, data.get("sources", {}), data.get("language", "en"))


def make_table(
    name: str,
    category: str,
    rows: Iterable[Mapping[str, Any]],
    templates: Iterable[Template | Mapping[str, Any]],
    sources: Mapping[str, str] | None = None,
    complete: Mapping[str, tuple[str, ...]] | None = None,
) -> Table:
    """A checked table from rows of plain values; `|` inside a text separates several true values.

    One text in two spellings (case, spaces, character forms) becomes one value. A tuple is taken as the
    true values as they are written.
    """
    spelled: dict[tuple[str, str], str] = {}
    made = tuple({k: _cell(v, k, spelled) for k, v in row.items()} for row in rows)
    known = tuple(t if isinstance(t, Template) else _template(name, t) for t in templates)
    table = Table(name, category, made, known, sources or {}, complete or {})
    _check(table)
    return table


def _table(folder: Path, name: str, data: Any) -> Table:
    needed = {"file", "category", "templates"}
    _known(data, needed | {"columns", "by"}, f"table {name}", needed)
    file = folder / data["file"]
    if not file.is_file():
        raise NotFound(f"table {name} names a file that is not there", got=str(file))
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, strict=True))
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise DataError(f"{file}, line {number}: not as many cells as the header has")
    columns = data.get("columns", {})
    for column, about in columns.items():
        _known(about, {"source", "complete", "exact"}, f"table {name}, column {column}")
    sources = {c: about["source"] for c, about in columns.items() if "source" in about}
    complete = {c: _held(about["complete"]) for c, about in columns.items() if "complete" in about}
    exact = [column for column, about in columns.items() if about.get("exact")]
    read = [row | {column: tuple(row[column].split("|")) for column in exact} for row in rows]
    made = make_table(name, data["category"], read, data["templates"], sources, complete)
    by = data.get("by", "")
    if by and by not in made.rows[0]:
        raise ConfigError(f"table {name}: no column to divide by", got=by, allowed=[*made.rows[0]])
    return replace(made, by=by)


def _held(complete: Any) -> tuple[str, ...]:
    """`true` = every value of the column; else those that are listed."""
    return () if complete is True else tuple(map(str, complete))


def _template(table: str, data: Mapping[str, Any]) -> Template:
    names = {f.name for f in fields(Template)}
    needed = {"name", "form", "column", "prompts", "rationale"}
    _known(data, names, f"a template of table {table}", needed)
    for many in ("prompts", "kinds", "units"):
        if many in data:
            data = {**data, many: tuple(data[many])}
    return Template(**data)


def _check(table: Table) -> None:
    name, rows = table.name, table.rows
    columns = set(rows[0]) if rows else set()
    if "name" not in columns:
        raise DataError(f"table {name} has no rows with a column 'name'", got=sorted(columns))
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        title = row["name"][0] if row.get("name") else ""
        if not title or alike(title) in seen:
            raise DataError(f"table {name}, row {number}: the name is empty or repeated", got=title)
        seen.add(alike(title))
        fame = row.get("fame") or ("2",)
        if fame not in {(str(f),) for f in FAME}:
            raise DataError(f"table {name}, {title}: no such fame", got=fame, allowed=FAME)
    for column, values in table.complete.items():
        gap = next((row["name"][0] for row in rows if not row.get(column)), "")
        if gap and not values:
            raise DataError(f"table {name}: column {column} is not complete", got=f"none for {gap}")
    for template in table.templates:
        _check_template(template, columns, table.complete)


def _check_template(
    template: Template, columns: set[str], complete: Mapping[str, tuple[str, ...]]
) -> None:
    where = f"template {template.name}"
    for what, got, allowed in (
        ("form", template.form, tuple(FORMS)),
        ("column", template.column, sorted(columns)),
        ("column within", template.within, ["", *sorted(columns)]),
        ("level", template.level, LEVELS),
    ):
        if got not in allowed:
            raise ConfigError(f"{where}: unknown {what}", got=got, allowed=allowed)
    for kind in template.kinds:
        if kind not in FORMS[template.form]:
            raise ConfigError(
                f"{where}: form {template.form} is not asked in this kind",
                got=kind,
                allowed=FORMS[template.form],
            )
    if template.form == "total" and template.column not in complete:
        raise ConfigError(
            f"{where}: a total needs a column that the table declares complete",
            got=template.column,
            allowed=sorted(complete),
        )
    if not template.prompts:
        raise ConfigError(f"{where} has no prompts")


def _known(data: Any, allowed: Set[str], where: str, needed: Set[str] = frozenset()) -> None:
    if not isinstance(data, Mapping):
        raise ConfigError(f"{where} is not a mapping", got=data, allowed=sorted(allowed))
    if not set(data) <= allowed:
        unknown = sorted(map(str, set(data) - allowed))
        raise ConfigError(f"{where}: unknown key", got=unknown, allowed=sorted(allowed))
    if not needed <= set(data):
        raise ConfigError(f"{where}: a key is missing", got=sorted(data), allowed=sorted(needed))


def _cell(value: Any, column: str, spelled: dict[tuple[str, str], str]) -> tuple[str, ...]:
    """The true values of a cell, each in the spelling first seen in its column; a tuple's as they are."""
    if isinstance(value, tuple):
        return tuple(text for text in (str(part).strip() for part in value) if text)
    texts = [part.strip() for part in str("" if value is None else value).split("|")]
    return tuple(spelled.setdefault((column, alike(text)), text) for text in texts if text)


def alike(text: str) -> str:
    """The text without case, runs of spaces and character forms: equal for two spellings of one value."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
