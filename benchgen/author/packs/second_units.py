"""Second sources of the pack `units`: `pip install pint astropy`."""

from __future__ import annotations

import math
from functools import cache
from types import ModuleType
from typing import Any

from benchgen.author.packs import Row
from benchgen.author.packs.second import Second, SecondSources, within

WORDS = ("plural", "si", "family", "size")
"""Columns that hold words for prompts, and `in_si` once more: no facts of their own."""
NAMES = {
    "British thermal unit": "british_thermal_unit",
    "US bushel": "bushel",
    "US cup": "cup",
    "US fluid ounce": "fluid_ounce",
    "US gallon": "gallon",
    "US pint": "pint",
    "US quart": "quart",
    "US tablespoon": "tablespoon",
    "US teaspoon": "teaspoon",
    "Julian year": "julian_year",
    "degree of arc": "degree",
    "degree Celsius": "degree_Celsius",
    "cubic foot": "foot**3",
    "cubic inch": "inch**3",
    "electronvolt": "electron_volt",
    "gradian": "grade",
    "kilogram-force": "kilogram_force",
    "kilometre per hour": "kilometer/hour",
    "light-year": "light_year",
    "mechanical horsepower": "horsepower",
    "metric carat": "carat",
    "mile per hour": "mile/hour",
    "oil barrel": "oil_barrel",
    "pound per square inch": "pound_force_per_square_inch",
    "pound-force": "pound_force",
    "short ton": "short_ton",
    "square foot": "foot**2",
    "square inch": "inch**2",
    "square mile": "mile**2",
    "square yard": "yard**2",
    "standard atmosphere": "standard_atmosphere",
    "thermochemical calorie": "calorie",
    "ton of TNT": "ton_TNT",
    "kilowatt-hour": "kilowatt_hour",
}
"""The pack's name -> pint's, where it is not the same with underscores."""
ASTROPY = {"gauss": ("G", "T"), "maxwell": ("Mx", "Wb"), "curie": ("Ci", "Bq")}
"""Units that pint has in another system: astropy's symbol, and that of the SI unit."""
NO_SYMBOL = (
    "are", "arcminute", "arcsecond", "degree of arc", "gradian", "mile per hour", "oil barrel"
)  # fmt: skip
"""Units for which pint has a short name of its own in place of their symbol."""
DIMENSIONS = {
    "length": "[length]",
    "mass": "[mass]",
    "time": "[time]",
    "electric current": "[current]",
    "temperature": "[temperature]",
    "amount of substance": "[substance]",
    "luminous intensity": "[luminosity]",
    "plane angle": "dimensionless",
    "solid angle": "dimensionless",
    "luminous flux": "[luminosity]",
    "illuminance": "[luminosity] / [length] ** 2",
    "luminance": "[luminosity] / [length] ** 2",
    "frequency": "1 / [time]",
    "radioactivity": "1 / [time]",
    "speed": "[length] / [time]",
    "area": "[length] ** 2",
    "volume": "[length] ** 3",
    "force": "[mass] * [length] / [time] ** 2",
    "pressure": "[mass] / [length] / [time] ** 2",
    "energy": "[mass] * [length] ** 2 / [time] ** 2",
    "power": "[mass] * [length] ** 2 / [time] ** 3",
    "electric charge": "[current] * [time]",
    "voltage": "[mass] * [length] ** 2 / [time] ** 3 / [current]",
    "capacitance": "[current] ** 2 * [time] ** 4 / [mass] / [length] ** 2",
    "electrical resistance": "[mass] * [length] ** 2 / [time] ** 3 / [current] ** 2",
    "electrical conductance": "[current] ** 2 * [time] ** 3 / [mass] / [length] ** 2",
    "magnetic flux": "[mass] * [length] ** 2 / [time] ** 2 / [current]",
    "magnetic flux density": "[mass] / [time] ** 2 / [current]",
    "inductance": "[mass] * [length] ** 2 / [time] ** 2 / [current] ** 2",
    "absorbed dose": "[length] ** 2 / [time] ** 2",
    "dose equivalent": "[length] ** 2 / [time] ** 2",
    "catalytic activity": "[substance] / [time]",
    "dynamic viscosity": "[mass] / [length] / [time]",
    "kinematic viscosity": "[length] ** 2 / [time]",
    "radiation exposure": "[current] * [time] / [mass]",
}
"""Quantity -> its dimension."""


@cache
def _registry(pint: ModuleType) -> Any:
    return pint.UnitRegistry()


def _unit(pint: ModuleType, row: Row) -> Any:
    """pint's unit; None where it has none of that name."""
    name = row["name"][0]
    try:
        return _registry(pint).parse_units(NAMES.get(name, name.replace(" ", "_")))
    except pint.UndefinedUnitError:
        return None


def _symbol(pint: ModuleType, row: Row) -> str:
    """pint's symbol; "" where that is the name itself."""
    unit = None if row["name"][0] in NO_SYMBOL else _unit(pint, row)
    symbol = f"{unit:~P}" if unit is not None else ""
    return "" if symbol in (str(unit), row["name"][0]) and len(symbol) > 3 else symbol


def _in_si(pint: ModuleType, row: Row) -> str:
    unit = None if row["name"][0] in ASTROPY else _unit(pint, row)
    return str((1 * unit).to_base_units().magnitude) if unit is not None else ""


def _astropy_in_si(units: ModuleType, row: Row) -> str:
    if row["name"][0] not in ASTROPY:
        return ""
    own, si = (getattr(units, symbol, None) for symbol in ASTROPY[row["name"][0]])
    own = own or getattr(units.cgs, ASTROPY[row["name"][0]][0])
    return str(own.to(si))


def _dimension(pint: ModuleType, row: Row) -> str:
    unit = None if row["name"][0] in ASTROPY else _unit(pint, row)
    return str(unit.dimensionality) if unit is not None else ""


def _base(pint: ModuleType, row: Row) -> str:
    """The unit's own expression if pint finds it to be the unit, else the size that pint gives it.

    "" for the becquerel, which pint counts in counts.
    """
    registry, expression = _registry(pint), row["base"][0]
    size = registry(_computable(expression)) / (1 * _unit(pint, row))
    one = size.to_base_units()
    if "count" in str(one.units):
        return ""
    return expression if one.unitless and math.isclose(one.magnitude, 1) else str(one)


def _computable(expression: str) -> str:
    for sign, plain in (("⋅", "*"), ("²", "**2"), ("³", "**3"), ("⁴", "**4")):
        expression = expression.replace(sign, plain)
    return expression


def _same_dimension(value: str, said: str) -> bool:
    return value in DIMENSIONS and _factors(DIMENSIONS[value]) == _factors(said)


def _factors(dimension: str) -> dict[str, float]:
    """Base dimension -> exponent."""
    found: dict[str, float] = {}
    sign = 1
    for part in dimension.replace(" ** ", "^").split():
        if part in "*/":
            sign = 1 if part == "*" else -1
        elif part.startswith("["):
            base, _, power = part.partition("^")
            found[base] = found.get(base, 0) + sign * float(power or 1)
    return found


# ---- prefixes -----------------------------------------------------------------------------------


def _prefix(pint: ModuleType, row: Row) -> Any:
    return _registry(pint).parse_units(f"{row['name'][0]}second")


def _power(pint: ModuleType, row: Row) -> str:
    return str(round(math.log10((1 * _prefix(pint, row)).to("second").magnitude)))


def _side(pint: ModuleType, row: Row) -> str:
    return "larger than one" if int(_power(pint, row)) > 0 else "smaller than one"


def _prefix_symbol(pint: ModuleType, row: Row) -> str:
    return f"{_prefix(pint, row):~P}".removesuffix("s")


SECOND: SecondSources = {
    ("units", "symbol"): (Second("pint", "pint", _symbol),),
    ("units", "quantity"): (Second("pint", "pint", _dimension, _same_dimension),),
    ("units", "base"): (Second("pint", "pint", _base),),
    ("units", "in_si"): (
        Second("pint", "pint", _in_si, within(1e-4)),
        Second("astropy", "astropy.units", _astropy_in_si, within(1e-6)),
    ),
    ("prefixes", "power"): (Second("pint", "pint", _power),),
    ("prefixes", "side"): (Second("pint", "pint", _side),),
    ("prefixes", "symbol"): (Second("pint", "pint", _prefix_symbol),),
}
