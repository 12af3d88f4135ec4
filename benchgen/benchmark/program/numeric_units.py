"""Spellings of common units, to tell a wrong one from the right one where the question names it."""

from __future__ import annotations

_SAME = """
$ usd dollar dollars us$ bucks
€ eur euro euros
£ gbp pound pounds quid
¥ jpy yen
₹ inr rs rupee rupees
cent cents ¢
mm millimeter millimeters millimetre millimetres
cm centimeter centimeters centimetre centimetres
m meter meters metre metres
km kilometer kilometers kilometre kilometres
in inch inches
ft foot feet
yd yard yards
mi mile miles
mg milligram milligrams
g gram grams gramme grammes
kg kilogram kilograms kilo kilos
t tonne tonnes ton tons
oz ounce ounces
lb lbs
ms millisecond milliseconds
s sec secs second seconds
min mins minute minutes
h hr hrs hour hours
d day days
week weeks
month months
year years yr yrs
ml milliliter milliliters millilitre millilitres
cl centiliter centiliters centilitre centilitres
l liter liters litre litres
gal gallon gallons
j joule joules
kj kilojoule kilojoules
w watt watts
kw kilowatt kilowatts
v volt volts
n newton newtons
hz hertz
pa pascal pascals
kpa kilopascal kilopascals
° degree degrees deg
rad radian radians
% percent
"""
_NAME = {word: line.split()[0] for line in _SAME.strip().splitlines() for word in line.split()}


def allowed(unit: str, right: frozenset[str]) -> bool:
    """Whether a number in `unit` may be one in the right units; one that is not known here may."""
    if not right or not unit:
        return True
    name = _NAME.get(unit.lower())
    return name is None or unit in right or name in {_NAME.get(u.lower(), u.lower()) for u in right}
