"""A message as concepts: each word, number and marked record, with where it stands in the message.

The rules read one line of concepts (`CREATE a MCQ BENCHMARK about owls , 25 QUESTION`) whatever the
language; what they take out of it (a topic, a name) is cut from the message as it was written.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

from rapidfuzz.distance import DamerauLevenshtein

from benchgen.agent.rules import numbers
from benchgen.agent.rules.lexicon import HINTS, LANGUAGE_NAMES, LEXICON
from benchgen.agent.rules.numbers import fold

CJK = "\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uff66-\uff9f"
_TOKEN = re.compile(
    rf"(?P<cjk>[{CJK}]+)"
    r"|(?P<ordinal>\d{1,2}(?:st|nd|rd|th|º|ª|ème|-я|-й)(?!\w))"
    rf"|(?P<number>{numbers.NUMBER.pattern})"
    rf"|(?P<word>[^\W\d_{CJK}]+(?:[_'’][^\W\d_{CJK}]+)*)"
    r"|(?P<other>\n+|[^\s])",
    re.IGNORECASE,
)
_NUMERAL = re.compile(f"[{numbers.CJK_NUMERAL}]{{1,20}}")
_CJK_ORDINAL = re.compile(
    f"第([{numbers.CJK_NUMERAL}]{{1,3}})(?:个|個|道|题|題|項|项|問|问|番目|の|条){{0,4}}"
)
_COUNTERS = "道个個题題问問行条條步轮輪つ件回次选択例項项代"
"""Signs that a single numeral before them counts things."""
_CJK_WORD_CHARS = 10
_ELISION = re.compile(
    r"(l|d|qu|n|s|j|c|m|t|dell|sull|nell|all|dall|un)['’](?=[^\W\d_])", re.IGNORECASE
)
_FUZZY_TOKENS = 80
"""So many unknown words of a message are tried as misspelt ones."""


_WORD_CHARS = 40
"""Of a longer word so much is read; what is cut from the message stays whole."""
_BEFORE_VERBS = frozenset(
    [
        "please",
        "pls",
        "plz",
        "and",
        "then",
        "to",
        "you",
        "u",
        "now",
        "just",
        "also",
        "i",
        "we",
        "lets",
        "let's",
        "bitte",
        "und",
        "dann",
        "por",
        "favor",
        "y",
        "luego",
        "et",
        "puis",
        "e",
        "poi",
        "пожалуйста",
        "и",
        "hey",
        "hi",
        "ok",
        "can",
        "could",
    ]
)
_SLIPPING = frozenset(
    [
        "BENCHMARK",
        "QUESTION",
        "OPTION",
        "MCQ",
        "NUMERIC",
        "RUN",
        "JOB",
        "STATUS",
        "LOGS",
        "DATASET",
        "FAILURES",
        "DISTILL",
        "EPOCH",
        "STEP",
        "LR",
        "RANK",
        "BATCH",
        "MODEL",
        "ADAPTER",
        "BASE",
        "MODE",
        "TEMPERATURE",
        "TOKEN",
        "SCORE",
        "ROW",
        "NAME",
        "ABOUT",
        "DOCUMENT",
        "LINK",
        "LAST",
        "GENERATIONS",
        "KEYPOINTS",
        "DRAFT",
    ]
)
"""Concepts of things: a misspelt word may stand for one anywhere."""


@dataclass(frozen=True)
class Token:
    """One concept and its place in the message."""

    gloss: str
    start: int
    end: int
    known: bool = True
    """False for a word that stands for nothing in particular."""


@dataclass(frozen=True)
class Piece:
    """A word, number or sign as it stands in the message."""

    kind: str
    text: str
    start: int
    end: int


def words_of(text: str, language: str = "en") -> Iterator[Piece]:
    """The words, numbers and signs of a text."""
    for found in _TOKEN.finditer(text):
        kind = found.lastgroup or "other"
        start, end = found.span()
        cut = _ELISION.match(found[0]) if kind == "word" and language in ("fr", "it") else None
        if cut:
            yield Piece(kind, found[0][: cut.end()], start, start + cut.end())
            start += cut.end()
        yield Piece(kind, text[start:end], start, end)


@dataclass(frozen=True)
class _Dictionary:
    """The phrases of one language."""

    phrases: dict[str, tuple[tuple[tuple[str, ...], str], ...]]
    """By first word, longest first."""
    stems: dict[str, str]
    """Beginnings that take any ending."""
    run: dict[str, str]
    """Of scripts without spaces."""
    fuzzy: tuple[str, ...]
    """Words that may be misspelt."""

    def stem(self, word: str) -> str | None:
        """The concept of the longest beginning of the word that is known."""
        for end in range(len(word), 2, -1):
            if found := self.stems.get(word[:end]):
                return found
        return None


@cache
def dictionary(language: str) -> _Dictionary:
    """The phrases of a language; built once."""
    phrases: dict[str, dict[tuple[str, ...], str]] = {}
    stems: dict[str, str] = {}
    run: dict[str, str] = {}
    for phrase, concept in _entries(language):
        folded = fold(phrase)
        if re.search(f"[{CJK}]", folded):
            run.setdefault(folded, concept)
        elif folded.endswith("*") and " " not in folded:
            stems.setdefault(folded[:-1], concept)
        else:
            key = tuple(fold(p.text) for p in words_of(folded, language) if p.text not in "-/")
            phrases.setdefault(key[0], {}).setdefault(key, concept)
    ordered = {
        first: tuple(sorted(found.items(), key=lambda item: -len(item[0])))
        for first, found in phrases.items()
    }
    single = tuple(first for first, found in phrases.items() if (first,) in found)
    return _Dictionary(ordered, stems, run, tuple(w for w in single if len(w) > 3))


def _entries(language: str) -> Iterator[tuple[str, str]]:
    for concept, by_language in LEXICON.items():
        for phrase in by_language.get(language, "").split(","):
            if phrase.strip():
                yield phrase.strip(), concept
    for code, phrases in LANGUAGE_NAMES.items():
        for phrase in phrases.split(","):
            cjk = bool(re.search(f"[{CJK}]", phrase))
            if (cjk and language in ("zh", "ja")) or (not cjk and language not in ("zh", "ja")):
                yield phrase.strip(), f"LANG_{code}"


# ------------------------------------------------------------------------------------ language


@cache
def _hints(language: str) -> frozenset[str]:
    given = {fold(word.strip()) for word in HINTS[language].split(",")}
    if language == "en":
        return frozenset(given)
    own = dictionary(language)
    english = dictionary("en")
    return frozenset(
        given | {w for w in own.phrases if (w,) in dict(own.phrases[w])} - set(english.phrases)
    )


def _tells(word: str, code: str) -> bool:
    """Whether a word is one of this language's."""
    if word in _hints(code):
        return True
    return code != "en" and len(word) > 5 and dictionary(code).stem(word) is not None


def language_of(text: str) -> str:
    """The language that most of the words are of; English where nothing tells."""
    sample = text[:2000]
    if re.search("[\u3040-\u30ff]", sample):
        return "ja"
    letters = len(re.findall(r"[^\W\d_]", sample))
    if len(re.findall("[\u3400-\u9fff]", sample)) * 6 > letters:
        return "zh"
    if len(re.findall("[\u0400-\u04ff]", sample)) * 3 > letters:
        return "ru"
    words = [fold(p.text) for p in words_of(sample, "fr") if p.kind == "word"]
    counts = {code: sum(_tells(w, code) for w in words) for code in HINTS}
    best = max((c for c in counts if c != "en"), key=lambda code: counts[code])
    return best if counts[best] > counts["en"] else "en"


# ------------------------------------------------------------------------------------ concepts


class Glosser:
    """Turns the text between marked records into concepts."""

    def __init__(self, language: str) -> None:
        self.language = language
        codes = [language] if language == "en" else [language, "en"]
        self.dictionaries = [dictionary(code) for code in codes]
        runs = ("ja", "zh") if language == "ja" else ("zh", "ja") if language == "zh" else ()
        self.run: dict[str, str] = {}
        for code in reversed(runs):
            self.run |= dictionary(code).run
        self._tries = _FUZZY_TOKENS

    def tokens(self, text: str, offset: int) -> list[Token]:
        """The concepts of a stretch of text that begins at this place of the message."""
        pieces = list(words_of(text, self.language))
        pieces = [p for at, p in enumerate(pieces) if not _joins(pieces, at)]
        found: list[Token] = []
        at = 0
        while at < len(pieces):
            used, tokens = self._at(pieces, at)
            found += [Token(t.gloss, t.start + offset, t.end + offset, t.known) for t in tokens]
            at += used
        return found

    def _at(self, pieces: Sequence[Piece], at: int) -> tuple[int, list[Token]]:
        """(pieces used, their concepts)."""
        piece = pieces[at]
        if piece.kind == "cjk":
            return 1, list(self._cjk(piece))
        if piece.kind == "number":
            return _number(pieces, at)
        if piece.kind == "ordinal":
            place = int(re.sub(r"\D.*", "", piece.text))
            return 1, [Token(f"ORD{place}", piece.start, piece.end)]
        if piece.kind == "other":
            return 1, [
                Token("\n" if "\n" in piece.text else _sign(piece.text), piece.start, piece.end)
            ]
        return self._words(pieces, at)

    def _words(self, pieces: Sequence[Piece], at: int) -> tuple[int, list[Token]]:
        piece = pieces[at]
        run = [fold(p.text) for p in _same_kind(pieces, at)]
        count, concept = self._phrase(run)
        number = numbers.sequence(run, self.language)
        if number and number[1] >= count:
            end = pieces[at + number[1] - 1].end
            one = number[1] == 1 and run[0] in numbers.ARTICLES
            if not (one and concept == "a" and not self._unit_next(pieces, at + 1)):
                return number[1], [
                    Token("1" if one else str(number[0]), piece.start, end)
                ] if not one or self._unit_next(pieces, at + 1) else [
                    Token("one", piece.start, end)
                ]
        if concept:
            return count, [Token(concept, piece.start, pieces[at + count - 1].end)]
        if place := numbers.ordinal(run[0]):
            return 1, [Token(f"ORD{place}", piece.start, piece.end)]
        concept = self._misspelt(run[0], _verb_place(pieces, at))
        return 1, [Token(concept or run[0][:_WORD_CHARS], piece.start, piece.end, bool(concept))]

    def _unit_next(self, pieces: Sequence[Piece], at: int) -> bool:
        """Whether a thing that is counted comes next."""
        run = [fold(p.text) for p in _same_kind(pieces, at)] if at < len(pieces) else []
        return bool(run) and self._phrase(run)[1] in ("EPOCH", "STEP", "QUESTION", "ROW", "OPTION")

    def _phrase(self, words: Sequence[str]) -> tuple[int, str]:
        """(words used, concept) of the longest phrase that the words begin with; (0, "") for none."""
        best = (0, "")
        for book in self.dictionaries:
            for key, concept in book.phrases.get(words[0], ()):
                if len(key) > best[0] and tuple(words[: len(key)]) == key:
                    best = (len(key), concept)
                    break
            if not best[0] and (concept := book.stem(words[0]) or ""):
                best = (1, concept)
        return best

    def _misspelt(self, word: str, verb_place: bool) -> str:
        """The concept of the word that it is a slip of; "" if it is none. A verb is one only in a verb's place."""
        if len(word) < 4 or self._tries <= 0:
            return ""
        self._tries -= 1
        concept = _nearest(word, self.language)
        return concept if verb_place or concept in _SLIPPING else ""

    def _cjk(self, piece: Piece) -> Iterator[Token]:
        """The concepts of a stretch without spaces, longest first; what is between them stays as it is."""
        text, at, unknown = fold(piece.text), 0, 0
        if len(text) != len(piece.text):
            text = piece.text
        while at < len(text):
            size, gloss = self._cjk_at(text, at)
            if size:
                if unknown < at:
                    yield Token(
                        text[unknown:at][:_WORD_CHARS],
                        piece.start + unknown,
                        piece.start + at,
                        False,
                    )
                yield Token(gloss, piece.start + at, piece.start + at + size)
                unknown = at + size
            at += size or 1
        if unknown < len(text):
            yield Token(text[unknown:][:_WORD_CHARS], piece.start + unknown, piece.end, False)

    def _cjk_at(self, text: str, at: int) -> tuple[int, str]:
        """(characters used, their concept or number) here; (0, "") where nothing known begins."""
        numeral = _NUMERAL.match(text, at)
        ordinal = _CJK_ORDINAL.match(text, at)
        if ordinal and (value := numbers.cjk(ordinal[1])):
            counted = set("题題问問道") & set(ordinal[0])
            return len(ordinal[0]), f"QUESTION {value}" if counted else f"ORD{value}"
        for size in range(min(_CJK_WORD_CHARS, len(text) - at), 0, -1):
            if (concept := self.run.get(text[at : at + size])) and not (
                numeral and size <= len(numeral[0])
            ):
                return size, concept
        if numeral and (value := numbers.cjk(numeral[0])) is not None:
            follows = text[numeral.end() : numeral.end() + 1]
            if len(numeral[0]) > 1 or (follows and follows in _COUNTERS):
                return len(numeral[0]), str(value)
        return 0, ""


def _verb_place(pieces: Sequence[Piece], at: int) -> bool:
    """Whether a request's verb can stand here: first, or after `please`, `and`, `you`, `to`."""
    if at == 0 or pieces[at - 1].kind == "other":
        return True
    return fold(pieces[at - 1].text) in _BEFORE_VERBS


def _joins(pieces: Sequence[Piece], at: int) -> bool:
    """Whether the piece is a hyphen or slash inside a compound: multiple-choice."""
    piece = pieces[at]
    if piece.text == "/" and at and pieces[at - 1].text.lower() == "w":
        return True
    if piece.text not in ("-", "/", "‑") or not 0 < at < len(pieces) - 1:
        return False
    before, after = pieces[at - 1], pieces[at + 1]
    tight = before.end == piece.start and piece.end == after.start
    return tight and "word" in (before.kind, after.kind)


def _same_kind(pieces: Sequence[Piece], at: int, most: int = 12) -> Iterator[Piece]:
    """The words from here on, up to the next number or sign; a few signs are words of phrases."""
    for piece in pieces[at : at + most]:
        if piece.kind != "word" and piece.text not in "&+/:.":
            return
        yield piece


def _number(pieces: Sequence[Piece], at: int) -> tuple[int, list[Token]]:
    piece = pieces[at]
    value = numbers.parse(piece.text)
    if value is None:
        return 1, [Token(piece.text, piece.start, piece.end, False)]
    used, end = 1, piece.end
    if at + 1 < len(pieces) and isinstance(value, int):
        word = pieces[at + 1]
        if fold(word.text) in ("k", "thousand", "mille", "mil", "tausend") and (
            word.start == piece.end or len(word.text) > 1
        ):
            value, used, end = value * 1000, 2, word.end
    return used, [Token(f"{value}", piece.start, end)]


def _sign(text: str) -> str:
    """A sign in its European form."""
    return {
        "，": ",", "、": ",", "。": ".", "；": ";", "：": ":", "？": "?", "！": "!", "¿": "", "¡": "",
        "→": "into", "（": "(", "）": ")", "×": "x", "+": "and", "&": "and", "＆": "and",
    }.get(text, text)  # fmt: skip


@lru_cache(maxsize=4096)
def _nearest(word: str, language: str) -> str:
    """The concept of the known word next to this one; "" if none is near enough."""
    for code in dict.fromkeys((language, "en")):
        book = dictionary(code)
        best, least = "", 3
        for known in book.fuzzy:
            if abs(len(known) - len(word)) > 2 or not _starts_alike(word, known):
                continue
            distance = DamerauLevenshtein.distance(word, known, score_cutoff=2)
            if distance <= _slips(word, known) and distance < least:
                best, least = known, distance
        if best:
            return dict(book.phrases[best])[(best,)]
    return ""


def _starts_alike(word: str, known: str) -> bool:
    return word[0] == known[0] or word[:2] == known[1::-1]


def _slips(word: str, known: str) -> int:
    """How many slips a word of this length may hold: a swap of letters in short ones, two in long ones."""
    shorter = min(len(word), len(known))
    if shorter < 5:
        return 1 if sorted(word) == sorted(known) or (len(word) == 4 < len(known)) else 0
    return 1 if shorter < 8 else 2
