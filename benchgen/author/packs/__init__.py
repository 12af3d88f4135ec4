"""Knowledge packs: tables of facts with their sources and the templates that ask for them.

A pack is a folder with a `pack.yaml` and one CSV a table. `load_pack` reads a shipped one by name or
any folder by path; a `Pack` can as well be built from rows that are already in memory.
"""

from __future__ import annotations

import csv
import unicodedata
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

import yaml

from benchgen.errors import ConfigError, DataError, NotFound

SHIPPED = Path(__file__).parent
FORMS = ("lookup", "reverse", "most", "least", "count")
KINDS = ("mcq", "qa")
OPEN_FORMS = ("lookup", "reverse")
"""Forms that can also be asked without options."""
LEVELS = (0, 1, 2)
FAME = (1, 2, 3)

Row = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class Template:
    """One way of asking for one column.

    lookup: the entity is given, its value is asked for. reverse: the value is given, the entity is asked for.
    most, least: which of the listed entities has the extreme value. count: how many of the listed have it.
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


@dataclass(frozen=True)
class Table:
    """Facts of one kind: a row an entity, a cell a tuple of true values (empty = not known)."""

    name: str
    category: str
    rows: tuple[Row, ...]
    templates: tuple[Template, ...]
    sources: Mapping[str, str] = field(default_factory=dict)
    """Column -> code of its publication, where that is not the row's own `source`."""


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
        data = yaml.safe_load(file.read_text(encoding="utf-8"))
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
) -> Table:
    """A checked table from rows of plain values; `|` inside a text separates several true values."""
    spelled: dict[tuple[str, str], str] = {}
    made = tuple({k: _cell(v, k, spelled) for k, v in row.items()} for row in rows)
    known = tuple(t if isinstance(t, Template) else _template(name, t) for t in templates)
    _check(name, made, known)
    return Table(name, category, made, known, sources or {})


def _table(folder: Path, name: str, data: Any) -> Table:
    needed = {"file", "category", "templates"}
    _known(data, needed | {"columns"}, f"table {name}", needed)
    file = folder / data["file"]
    if not file.is_file():
        raise NotFound(f"table {name} names a file that is not there", got=str(file))
    with file.open(encoding="utf-8", newline="") as lines:
        rows = list(csv.DictReader(lines, strict=True))
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise DataError(f"{file}, line {number}: not as many cells as the header has")
    columns = data.get("columns", {})
    sources = {column: about["source"] for column, about in columns.items()}
    return make_table(name, data["category"], rows, data["templates"], sources)


def _template(table: str, data: Mapping[str, Any]) -> Template:
    names = {f.name for f in fields(Template)}
    needed = {"name", "form", "column", "prompts", "rationale"}
    _known(data, names, f"a template of table {table}", needed)
    for many in ("prompts", "kinds"):
        if many in data:
            data = {**data, many: tuple(data[many])}
    return Template(**data)


def _check(name: str, rows: tuple[Row, ...], templates: tuple[Template, ...]) -> None:
    columns = set(rows[0]) if rows else set()
    if "name" not in columns:
        raise DataError(f"table {name} has no rows with a column 'name'", got=sorted(columns))
    seen: set[str] = set()
    for number, row in enumerate(rows, start=1):
        title = row["name"][0] if row.get("name") else ""
        if not title or _alike(title) in seen:
            raise DataError(f"table {name}, row {number}: the name is empty or repeated", got=title)
        seen.add(_alike(title))
        fame = row.get("fame") or ("2",)
        if fame not in {(str(f),) for f in FAME}:
            raise DataError(f"table {name}, {title}: no such fame", got=fame, allowed=FAME)
    for template in templates:
        _check_template(template, columns)


def _check_template(template: Template, columns: set[str]) -> None:
    where = f"template {template.name}"
    for what, got, allowed in (
        ("form", template.form, FORMS),
        ("column", template.column, sorted(columns)),
        ("level", template.level, LEVELS),
        *(("kind", kind, KINDS) for kind in template.kinds),
    ):
        if got not in allowed:
            raise ConfigError(f"{where}: unknown {what}", got=got, allowed=allowed)
    if "qa" in template.kinds and template.form not in OPEN_FORMS:
        raise ConfigError(
            f"{where}: this form needs options", got="qa", allowed=[*OPEN_FORMS, "mcq"]
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
    """The true values of a cell, each in the spelling first seen in its column."""
    texts = [part.strip() for part in str("" if value is None else value).split("|")]
    return tuple(spelled.setdefault((column, _alike(text)), text) for text in texts if text)


def _alike(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())
