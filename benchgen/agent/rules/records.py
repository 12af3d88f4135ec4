"""Models and benchmarks in a message, by their names in full, in part or misspelt."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rapidfuzz import fuzz
from rapidfuzz.distance import DamerauLevenshtein

from benchgen.agent.rules.gloss import CJK, dictionary
from benchgen.agent.rules.marks import BENCH, HUB, MODEL, Mark, free
from benchgen.agent.situation import BenchmarkSeen, ModelSeen, Situation

_PART = re.compile(
    r"[a-z]+\d+(?:\.\d+)?(?![\da-z.]*[bm](?![a-z]))|\d+(?:\.\d+)?[a-z]{1,2}(?![a-z])|[a-z]+|\d+(?:\.\d+)?",
    re.IGNORECASE,
)
_SIZE = re.compile(r"\d+(?:\.\d+)?[bm]", re.IGNORECASE)
_HUB = re.compile(r"(?<![\w/\\.~:@-])[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}(?![\w/\\])")
_NOT_HUB = re.compile(r"(?:true|yes|q|and|w|right|he|a|pass|input|on|c|\d+)/.*", re.IGNORECASE)
_COMMON = frozenset(
    [
        "it",
        "my",
        "model",
        "merged",
        "large",
        "instruct",
        "base",
        "chat",
        "mini",
        "small",
        "tiny",
        "big",
        "the",
        "new",
        "best",
        "fast",
        "pro",
        "max",
        "plus",
        "test",
        "run",
        "trained",
        "adapter",
        "distill",
        "tuned",
        "full",
        "free",
        "open",
        "hub",
        "api",
        "local",
        "mock",
        "solar",
        "one",
        "two",
        "good",
        "final",
    ]
)
_SMALL = frozenset(
    [
        "small",
        "smaller",
        "smallest",
        "tiny",
        "little",
        "kleine",
        "kleinen",
        "klein",
        "pequeño",
        "petit",
        "piccolo",
        "маленьк",
    ]
)
_LARGE = frozenset(
    [
        "big",
        "bigger",
        "biggest",
        "large",
        "larger",
        "largest",
        "huge",
        "große",
        "großen",
        "grosse",
        "grande",
        "grand",
        "больш",
    ]
)
_SMALL_BELOW = 1.0
"""Billions of parameters up to which a model counts as small."""
_ALIKE = 84.0
"""From this likeness on a name is taken for a misspelt one (rapidfuzz ratio, 0 to 100)."""


@dataclass(frozen=True)
class Word:
    """A part of a name, and where it stands."""

    text: str
    start: int
    end: int


@lru_cache(maxsize=1024)
def parts(name: str) -> tuple[str, ...]:
    """The parts of a model's name: Qwen/Qwen2.5-0.5B-Instruct -> qwen, qwen2.5, 0.5b, instruct."""
    return tuple(found[0].lower() for found in _PART.finditer(name))


def size_b(name: str) -> float | None:
    """Billions of parameters by the name; None where it tells none."""
    sizes = [p for p in parts(name) if _SIZE.fullmatch(p)]
    if not sizes:
        return None
    text = sizes[-1][:-1]
    value = float(text) / 10 if re.fullmatch(r"0\d", text) else float(text)
    return value / 1000 if sizes[-1].endswith("m") else value


# --------------------------------------------------------------------------------------- exact


def named(text: str, situation: Situation, taken: Sequence[Mark]) -> list[Mark]:
    """Names of benchmarks and models that stand in full, longest first."""
    entries: list[tuple[str, str, object]] = [(m.name, MODEL, m.name) for m in situation.models]
    entries += [(b.name, BENCH, b.id) for b in situation.benchmarks]
    marks: list[Mark] = []
    for name, kind, value in sorted(entries, key=lambda entry: -len(entry[0])):
        if not name.strip():
            continue
        for found in _pattern(name).finditer(text):
            if free(*found.span(), [*taken, *marks]) and not _plain_use(text, found, name, kind):
                marks.append(
                    Mark(kind, value, *found.span(), _namesakes(name, value, kind, situation))
                )
    return marks


def _namesakes(name: str, value: object, kind: str, situation: Situation) -> tuple[object, ...]:
    """Other benchmarks of the very same name."""
    if kind != BENCH:
        return ()
    same = [b.id for b in situation.benchmarks if b.name.casefold() == name.casefold()]
    return tuple(id for id in same if id != value)


@lru_cache(maxsize=2048)
def _pattern(name: str) -> re.Pattern[str]:
    """The name with any spacing, also without its owner: Qwen/Qwen3-0.6B, qwen3-0.6b."""
    words = [re.escape(word) for word in re.split(r"[\s_-]+", name.strip())[:20]]
    body = r"[\s_-]{1,3}".join(words)
    if "/" in name:
        owner, _, rest = body.partition("/")
        body = rf"(?:{owner}/)?{rest}"
    letter = rf"[^\W{CJK}]"
    return re.compile(rf"(?<!{letter})(?<![/.-]){body}(?!{letter})(?![/-])(?!\.\w)", re.IGNORECASE)


def _plain_use(text: str, found: re.Match[str], name: str, kind: str) -> bool:
    """Whether a one-word name of a benchmark is used as the common word: about sums."""
    if kind != BENCH or " " in name.strip() or found[0] == name:
        return False
    before = text[max(0, found.start() - 24) : found.start()].lower()
    after = text[found.end() : found.end() + 16].lower()
    return not (
        re.search(
            r"(?:run|on|of|benchmark|publish|like|than|named|called|for|with|evaluate)\s+(?:the\s+)?$",
            before,
        )
        or re.match(r"\s+(?:benchmark|quiz|test|set)\b", after)
    )


# ------------------------------------------------------------------------------------- in part


def models_in(text: str, situation: Situation, taken: Sequence[Mark]) -> list[Mark]:
    """Models named in part: `the small qwen`, `smollm2 360m`, `7b`."""
    names = [m.name for m in situation.models]
    known = {name: parts(name) for name in names}
    benchmark_words = {w for b in situation.benchmarks for w in parts(b.name)}
    words = [Word(f[0].lower(), *f.span()) for f in _PART.finditer(text[:20000])]
    marks: list[Mark] = []
    at = 0
    while at < len(words):
        window, fits = _window(text, words, at, known, benchmark_words, [*taken, *marks])
        if not window:
            at += 1
            continue
        marks.append(_partly(text, window, fits, words, at))
        at += len(window)
    return marks


def _window(
    text: str,
    words: Sequence[Word],
    at: int,
    known: dict[str, tuple[str, ...]],
    benchmark_words: set[str],
    taken: Sequence[Mark],
) -> tuple[list[Word], list[str]]:
    """(the words from here that name models together, the models that they fit)."""
    window: list[Word] = []
    fits = list(known)
    telling = 0
    for word in words[at : at + 8]:
        if window and not re.fullmatch(r"[\s/_.-]{0,3}", text[window[-1].end : word.start]):
            break
        if not free(word.start, word.end, taken):
            break
        still = [name for name in fits if _fits(word.text, known[name], bool(window))]
        if not still:
            if window and _SIZE.fullmatch(word.text):
                return [*window, word], []
            break
        window.append(word)
        fits = still
        telling += _tells(word.text, benchmark_words, fits)
    while (
        window
        and window[-1].text in ("it", "my", "the", "a", "model", "one")
        and not telling_end(text, window)
    ):
        window.pop()
    hyphened = len(window) > 1 and "-" in text[window[0].start : window[-1].end]
    common_pair = (
        len(window) > 1 and not {w.text for w in window} <= benchmark_words and len(fits) == 1
    )
    if telling or (
        (hyphened or common_pair)
        and len({w.text for w in window} - {"it", "my", "the", "model"}) > 1
    ):
        return window, fits
    return [], []


def telling_end(text: str, window: Sequence[Word]) -> bool:
    """Whether the last word is joined to the name before it: gemma-2-2b-it."""
    return len(window) > 1 and text[window[-1].start - 1 : window[-1].start] == "-"


@lru_cache(maxsize=16384)
def _fits(word: str, name: Sequence[str], follows: bool) -> bool:
    """Whether the word is a part of the name, or the beginning of one (qwen of qwen2.5)."""
    for part in name:
        if word == part:
            return True
        rest = part[len(word) :] if part.startswith(word) else ""
        if word.isalpha() and len(word) > 2 and rest and not rest[0].isalpha():
            return True
        if follows and word[0].isdigit() and (part.endswith(word) or rest in ("b", "m")):
            return True
    return word.isalpha() and len(word) > 4 and any(_slip(word, part) for part in name)


def _slip(word: str, part: str) -> bool:
    stem = part.rstrip("0123456789.")
    if min(len(stem), len(word)) < 5 or stem in _COMMON or word[0] != stem[0]:
        return False
    return _unknown(word) and DamerauLevenshtein.distance(word, stem, score_cutoff=1) <= 1


def _unknown(word: str) -> bool:
    return (word,) not in dict(dictionary("en").phrases.get(word, ()))


def _tells(word: str, benchmark_words: set[str], fits: Sequence[str]) -> bool:
    """Whether the word points at models by itself."""
    if _SIZE.fullmatch(word):
        return True
    if word in _COMMON or word in benchmark_words or len(word) < 4:
        return False
    if not word.isalpha():
        return any(c.isalpha() for c in word)
    return _unknown(word) or any("/" not in name for name in fits)


def _partly(
    text: str, window: Sequence[Word], fits: Sequence[str], words: Sequence[Word], at: int
) -> Mark:
    start, end = window[0].start, window[-1].end
    if not fits:
        return Mark(MODEL, text[start:end], start, end)
    near = [w for w in words[max(0, at - 1) : at] if re.fullmatch(r"\s+", text[w.end : start])]
    near += [
        w
        for w in words[at + len(window) : at + len(window) + 1]
        if re.fullmatch(r"\s+", text[end : w.start])
    ]
    best = _by_size(list(fits), [w.text for w in near])
    best = _shortest_exact(best, window)
    return Mark(MODEL, best[0], start, end, tuple(best[1:]))


def _by_size(names: list[str], near: Iterable[str]) -> list[str]:
    """Those that `small` or `big` leaves of the names."""
    for word in near:
        sized = [(size_b(name), name) for name in names]
        with_size = sorted((s, n) for s, n in sized if s is not None)
        if not with_size:
            continue
        if word in _SMALL:
            small = [n for s, n in with_size if s < _SMALL_BELOW] or [with_size[0][1]]
            return small[:1] if word == "smallest" else [n for n in names if n in small]
        if word in _LARGE:
            big = [n for s, n in with_size if s >= max(3.0, with_size[-1][0] / 2)] or [
                with_size[-1][1]
            ]
            return big[-1:] if word in ("biggest", "largest") else [n for n in names if n in big]
    return names


def _shortest_exact(names: list[str], window: Sequence[Word]) -> list[str]:
    """The one name whose last part is exactly what was written, if there is one."""
    written = tuple(w.text for w in window)
    exact = [name for name in names if parts(name.rpartition("/")[2]) == written]
    return exact if len(exact) == 1 else names


# ----------------------------------------------------------------------------------- hub and slots


def hub_ids(text: str, taken: Sequence[Mark]) -> Iterator[Mark]:
    """Ids owner/name of the hub that no list here holds."""
    for found in _HUB.finditer(text):
        value = found[0].rstrip(".")
        end = found.start() + len(value)
        owner, _, name = value.partition("/")
        if (
            min(len(owner), len(name)) > 1
            and not _NOT_HUB.fullmatch(value)
            and free(found.start(), end, taken)
        ):
            yield Mark(HUB, value, found.start(), end)


def benchmarks_like(typed: str, situation: Situation) -> tuple[int, ...]:
    """Ids of the benchmarks that this could be a name of, best first."""
    wanted = " ".join(parts_of_words(typed))
    if len(wanted) < 3:
        return ()
    exact = [b.id for b in situation.benchmarks if b.name.casefold() == typed.strip().casefold()]
    if exact:
        return tuple(exact)
    held = [b.id for b in situation.benchmarks if _holds(b, wanted)]
    if held:
        return tuple(held)
    scored = [(fuzz.ratio(wanted, b.name.casefold()), b.id) for b in situation.benchmarks]
    best = max((score for score, _ in scored), default=0.0)
    return tuple(id for score, id in scored if score >= _ALIKE and score >= best - 2)


def _holds(benchmark: BenchmarkSeen, wanted: str) -> bool:
    """Whether all that was typed stands in the name."""
    name = set(parts_of_words(benchmark.name))
    return set(wanted.split()) <= name


def parts_of_words(text: str) -> list[str]:
    """The words of a name in lower case, without articles."""
    words = re.findall(r"\w+", text[:200].casefold())
    return [
        w
        for w in words
        if w not in ("the", "a", "my", "our", "der", "die", "das", "el", "la", "le")
    ]


def model_seen(name: str, situation: Situation) -> ModelSeen | None:
    """The model of that name, if it is known."""
    return next((m for m in situation.models if m.name == name), None)
