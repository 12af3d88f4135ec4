"""Second sources of the pack `solar_system`.

`pip install spiceypy ephem pyongc`, `pip install --no-deps boinor` and astropy for boinor.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from benchgen.author.packs import Row
from benchgen.author.packs.second import Second, SecondSources, within

ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth")
PLANETS = ("Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune")


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


SECOND: SecondSources = {
    ("planets", "diameter_km"): (Second("boinor", "boinor.constants.general", _diameter, within(0.01)),),
    ("planets", "distance_au"): (Second("boinor", "boinor.constants.mean_elements", _distance, within(0.01)),),
    ("planets", "position"): (Second("boinor", "boinor.constants.mean_elements", _position),),
    ("moons", "orbits"): (Second("spiceypy", "spiceypy", _naif_parent),),
    ("stars", "constellation"): (Second("ephem", "ephem", _star_constellation),),
    ("stars", "magnitude"): (Second("ephem", "ephem", _star_magnitude, within(0, 0.12)),),
    ("stars", "spectral"): (Second("ephem", "ephem", _star_class),),
    ("galaxies", "constellation"): (Second("pyongc", "pyongc.ongc", _galaxy_constellation),),
    ("galaxies", "type"): (Second("pyongc", "pyongc.ongc", _galaxy_type),),
    ("galaxies", "catalogue"): (Second("pyongc", "pyongc.ongc", _galaxy_catalogue),),
}  # fmt: skip
