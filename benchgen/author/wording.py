"""How a column of a person's own table is asked for: by what it holds, and by what its name says.

Names are used as they stand, so only what a name says for certain changes the words: a unit at its end
(`weight_kg`), a plural of whole numbers (`legs`), a participle (`founded`), a verb of yes and no (`has rings`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

Forms = dict[str, dict[str, Any]]
"""{way: the fields of its template}; "{entity}" and "{unit}" are filled in here, the other words by the author."""

_LOOKUP = ("What is the {column} of {name}?",)
_OF = "The {column} of {name} is {value}."
_MCQ_QA, _COUNT_KINDS = ("mcq", "qa"), ("mcq", "numeric")
_UNIT = re.compile(
    r"(?P<what>.*[^\s_])(?:[\s_]+in)?(?:[\s_]+(?P<unit>mm|cm|m|km|mi|ft|mg|g|kg|t|lb|s|min|h|ms|days|years|km2|m2|ha"
    r"|usd|eur|gbp|pct|percent|mw|gw|kwh|db|hz|mhz|ghz|kb|mb|gb|tb)|\s*[(\[](?P<bracketed>[^()\[\]]{1,20})[)\]])",
    re.IGNORECASE,
)
_PARTICIPLE = re.compile(r"(?:\w+ed|born|built|made|won|sold|found|begun|written|sunk|lost)")
_PLURAL = re.compile(r"\w{2,}(?:[^\Wsui]|[^\Ws]e|[^\Wi]i)s")
_VERBS: Mapping[str, str] = {
    "is": "is not",
    "are": "are not",
    "was": "was not",
    "were": "were not",
    "has": "does not have",
    "have": "do not have",
    "can": "cannot",
}
"""A verb at the head of a column of yes and no -> what stands there for no."""


def forms_of(holds: str, words: str, entity: str) -> tuple[str, Forms]:
    """(what the column is called in a question, the ways to ask for it).

    `holds`: text | category | number | whole (as counts are) | year | date | order | phrase | boolean.
    """
    unit = ""
    if holds in ("number", "whole") and (found := _UNIT.fullmatch(words)):
        words, unit = found["what"], f" in {found['unit'] or found['bracketed']}"
    done = bool(_PARTICIPLE.fullmatch(words))
    counted = holds == "whole" and not unit and bool(_PLURAL.fullmatch(words.split()[-1]))
    forms = {
        "text": _text,
        "category": _category,
        "number": lambda: _number(False),
        "whole": lambda: _counts() if counted else _number(False),
        "year": lambda: _number(done),
        "date": lambda: _date(done),
        "order": lambda: _order(done),
        "phrase": _phrase,
        "boolean": _boolean,
    }[holds]()
    for about in forms.values():
        about["prompts"] = tuple(
            p.replace("{entity}", entity).replace("{unit}", unit) for p in about["prompts"]
        )
        about["rationale"] = about.get("rationale", _OF).replace("{unit}", unit)
    return words, forms


def phrases(words: str) -> tuple[str, str] | None:
    """('has rings', 'does not have rings') of a column of yes and no called `has rings`; None for other names."""
    verb, _, rest = words.partition(" ")
    no = _VERBS.get(verb.casefold())
    return (f"{verb.casefold()} {rest}", f"{no} {rest}") if no and rest else None


def _text() -> Forms:
    return {
        "of": {"form": "lookup", "kinds": _MCQ_QA, "prompts": _LOOKUP},
        "with": {
            "form": "reverse",
            "kinds": ("mcq",),
            "prompts": ("Which of these has the {column} {value}?",),
        },
        "which": {
            "form": "reverse",
            "kinds": ("qa",),
            "prompts": ("Which {entity} has the {column} {value}?",),
        },
    }


def _category() -> Forms:
    return _text() | {"count": _count("How many of these have the {column} {value}: {list}?")}


def _number(year: bool) -> Forms:
    if year:
        asked, last, first = "In which year was {name} {column}?", "last", "first"
        extreme, told = "Which of these was {column} %s?", "{name} was {column} in {value}."
    else:
        asked, last, first = "What is the {column} of {name}{unit}?", "highest", "lowest"
        extreme, told = (
            "Which of these has the %s {column}?",
            "The {column} of {name}{unit} is {value}.",
        )
    return _number_forms(asked, extreme % last, extreme % first, told)


def _counts() -> Forms:
    return _number_forms(
        "What is the number of {column} of {name}?",
        "Which of these has the most {column}?",
        "Which of these has the fewest {column}?",
        "The number of {column} of {name} is {value}.",
    )


def _number_forms(asked: str, most: str, least: str, told: str) -> Forms:
    return {
        "of": {"form": "lookup", "kinds": ("numeric",), "prompts": (asked,), "rationale": told},
        "highest": {"form": "most", "prompts": (most,), "rationale": told},
        "lowest": {"form": "least", "prompts": (least,), "rationale": told},
    }


def _date(done: bool) -> Forms:
    """A date is looked up; which comes first is asked by `_order`."""
    asked = "On which date was {name} {column}?" if done else _LOOKUP[0]
    told = "{name} was {column} on {value}." if done else _OF
    return {"of": {"form": "lookup", "kinds": _MCQ_QA, "prompts": (asked,), "rationale": told}}


def _order(done: bool) -> Forms:
    if done:
        words, told = "Which of these was {column} %s?", "Of them, {name} was {column} %s."
    else:
        words, told = "Which of these has the %s {column}?", "Of them, {name} has the %s {column}."
    first, last = ("first", "last") if done else ("earliest", "latest")
    return {
        "last": {"form": "most", "prompts": (words % last,), "rationale": told % last},
        "first": {"form": "least", "prompts": (words % first,), "rationale": told % first},
    }


def _phrase() -> Forms:
    return {
        "which": {
            "form": "reverse",
            "prompts": ("Which of these {value}?",),
            "rationale": "{name} {value}.",
        },
        "count": _count("How many of these fit the words “{value}”: {list}?"),
    }


def _boolean() -> Forms:
    return {
        "which": {"form": "reverse", "prompts": ("For which of these is {column} {value}?",)},
        "count": _count("For how many of these is {column} {value}: {list}?"),
    }


def _count(prompt: str) -> dict[str, Any]:
    return {
        "form": "count",
        "kinds": _COUNT_KINDS,
        "prompts": (prompt,),
        "rationale": "{number} of these: {names}.",
    }


def words_of(column: str) -> str:
    """A column's name in words; braces would be taken for words to fill in."""
    return " ".join(re.sub(r"[_\s{}]+", " ", column).split()) or "value"
