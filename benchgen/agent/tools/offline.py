"""Which topics the shipped authors can write on without a model: packs of facts, and tasks that are worked out."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from benchgen import config
from benchgen.author.write import Draft
from benchgen.config import BenchmarkConfig

COVERED = 2 / 3
"""Share of a topic's telling words that a source must know: with fewer, its questions would miss the topic."""
GENERAL = frozenset(
    word
    for line in (
        "a an the and or of in on at to for from with about by as is are some any other others our my your",
        "basic basics fundamentals general knowledge common simple short easy medium hard mixed fact facts quiz",
        "trivia test exam question questions answer answers school everyday famous well known number numbers name",
        "names their its world",
    )
    for word in line.split()
)
"""Words that say nothing about what a topic is."""


@dataclass(frozen=True)
class Source:
    """What a shipped author knows."""

    title: str
    config: str
    """Of conf/benchmark/, for kinds that have none of their own."""
    kinds: Mapping[str, str]
    """{kind that it can ask: the config of conf/benchmark/ for it}"""
    words: frozenset[str]
    """Stems of words that name the whole of it."""
    categories: Mapping[str, str] = field(default_factory=dict)
    """{stem: category of its questions}"""

    @property
    def known(self) -> frozenset[str]:
        return self.words | frozenset(self.categories)


def _stems(text: str) -> frozenset[str]:
    return frozenset(map(stem, text.split()))


def stem(word: str) -> str:
    """A word without the ending of its plural: planets and planet alike."""
    word = word.casefold()
    for ending, rest in (("ies", "y"), ("xes", "x"), ("ses", "s"), ("s", "")):
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)] + rest
    return word


SOURCES = (
    Source(
        "the solar system, its planets, moons and missions, stars and galaxies",
        "solar_system_mixed",
        {
            "mcq": "solar_system_basics",
            "qa": "solar_system_qa",
            "numeric": "solar_system_qa",
        },
        _stems("solar system space astronomy orbit universe cosmos celestial body sky"),
        {
            "planet": "planets",
            "moon": "moons",
            "satellite": "moons",
            "mission": "missions",
            "spacecraft": "missions",
            "probe": "missions",
            "star": "stars",
            "constellation": "stars",
            "galaxy": "galaxies",
        },
    ),
    Source(
        "the chemical elements",
        "elements_basics",
        {"mcq": "elements_basics", "qa": "elements_basics", "numeric": "elements_basics"},
        _stems("chemical element elements periodic table atomic symbol chemistry"),
    ),
    Source(
        "the countries of the world, their capitals, currencies and languages",
        "countries_basics",
        {"mcq": "countries_basics", "qa": "countries_basics", "numeric": "countries_basics"},
        _stems("country countries capital currency language nation state geography continent city"),
        {
            "africa": "Africa",
            "african": "Africa",
            "america": "the Americas",
            "american": "the Americas",
            "asia": "Asia",
            "asian": "Asia",
            "europe": "Europe",
            "european": "Europe",
            "oceania": "Oceania",
        },
    ),
    Source(
        "units of measurement, their symbols, prefixes and conversions",
        "units_numeric",
        {"mcq": "units_numeric", "qa": "units_numeric", "numeric": "units_numeric"},
        _stems("si unit measurement measure metric conversion converting physical quantity system"),
        {"unit": "units", "prefix": "prefixes"},
    ),
    Source(
        "arithmetic, and small puzzles of logic, counting and spelling",
        "arithmetic",
        {"qa": "arithmetic", "numeric": "arithmetic"},
        _stems(
            """arithmetic sum addition subtraction multiplication adding subtracting multiplying math maths
            mathematics calculation calculating mental logic logical puzzle reasoning spelling counting"""
        ),
    ),
)


def words_of(topic: str) -> list[str]:
    """The telling words of a topic, as stems."""
    found = re.findall(r"[^\W\d_]+", topic.casefold())
    return [stem(word) for word in found if word not in GENERAL]


def source_of(topic: str, language: str = "en") -> Source | None:
    """The source that knows the topic; None where none does, or not in that language."""
    said = words_of(topic)
    if not said or language != "en":
        return None
    shares = [
        (sum(word in source.known for word in said) / len(said), source) for source in SOURCES
    ]
    share, best = max(shares, key=lambda one: one[0])
    return best if share >= COVERED else None


def source_by_config(name: str) -> Source | None:
    """The source whose questions a config of conf/benchmark/ asks."""
    found = (s for s in SOURCES if name in (s.config, *s.kinds.values()))
    return next(found, None)


def categories_in(source: Source, topic: str) -> list[str]:
    """The source's categories that a topic names; [] where it names the whole."""
    said = words_of(topic)
    if any(word in source.words and word not in source.categories for word in said):
        return []
    return list(dict.fromkeys(source.categories[w] for w in said if w in source.categories))


@dataclass(frozen=True)
class Asked:
    """What a benchmark is to be, as far as a person said."""

    kind: str = "mcq"
    count: int = 30
    topic: str = ""
    name: str = ""
    language: str = "en"
    options: int = 4
    mix: Mapping[str, float] = field(default_factory=dict)
    groups: Mapping[str, int] = field(default_factory=dict)
    """{topic of a group: how many questions}"""


@dataclass(frozen=True)
class Told:
    """A config for a shipped author, and which of its categories each group is made of."""

    spec: BenchmarkConfig
    group_of: Mapping[str, str] = field(default_factory=dict)
    """{category: group}"""

    def grouped(self, draft: Draft) -> Draft:
        """The draft with the groups as its categories."""
        if not self.group_of:
            return draft
        named = tuple(
            replace(q, category=self.group_of.get(q.category, q.category)) for q in draft.questions
        )
        return replace(draft, questions=named)


def told_for(asked: Asked, seed: int = 1) -> Told | None:
    """How a shipped author writes it; None where none can."""
    topic = " ".join((asked.topic, *asked.groups))
    source = source_of(topic, asked.language)
    if source is None or asked.kind not in source.kinds:
        return None
    shares, group_of = _shares(source, asked)
    if asked.groups and not shares:
        return None
    spec = config.load_benchmark(source.kinds[asked.kind])
    same = asked.kind == (spec.kind or asked.kind)
    author = spec.author if same else replace(spec.author, templates=[])
    spec = replace(
        spec,
        name=asked.name,
        author=author,
        kind=asked.kind,
        count=asked.count,
        options=asked.options,
        mix=dict(asked.mix),
        categories=shares,
        sibling_of="",
        exclude=[],
        seed=seed,
    )
    return Told(spec, group_of)


def _shares(source: Source, asked: Asked) -> tuple[dict[str, float], dict[str, str]]:
    """(questions by category of the source, the group of each); ({}, {}) where nothing is said of them."""
    if not asked.groups:
        named = categories_in(source, asked.topic)
        return dict.fromkeys(named, 1.0), {}
    shares: dict[str, float] = {}
    group_of: dict[str, str] = {}
    for group, number in asked.groups.items():
        names = [c for c in categories_in(source, group) if c not in shares]
        if not names:
            return {}, {}
        for place, one in enumerate(names):
            shares[one] = number // len(names) + (place < number % len(names))
            group_of[one] = group
    return shares, group_of


def titles(sources: Sequence[Source] = SOURCES) -> list[str]:
    """What can be written on without a model, in words."""
    return [source.title for source in sources]
