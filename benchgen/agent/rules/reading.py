"""A message read once: its names and paths marked, the rest as concepts on one line (`plain`)."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from benchgen.agent.rules import paths, records, tables
from benchgen.agent.rules.gloss import Glosser, Token, language_of
from benchgen.agent.rules.marks import BENCH, FILE, HUB, LONG, MODEL, QUOTE, TABLE, Mark, free
from benchgen.agent.situation import Situation

HEAD_CHARS, TAIL_CHARS = 3000, 1000
"""Of a longer message so much of the beginning and of the end is read; what lies between is not."""
NUM = r"(?<![\w.@])(\d+(?:\.\d+)?(?:e-?\d+)?)(?![\w.@])"
VERBS = (
    "CREATE|EVAL|RERUN|PUBLISH|UNPUBLISH|COMPARE|SHOW|TRAIN|LORA|GRPO|PLAN|MERGE|DELETE|STOP|RESUME|IMPORT|"
    "DISTILL|EXPLAIN|TELL"
)
_QUOTES = re.compile(
    r"\"(?P<a>[^\"\n]{1,400})\"|“(?P<b>[^”“\n]{1,400})[”“]|„(?P<c>[^“”\"\n]{1,400})[“”\"]|«(?P<d>[^»\n]{1,400})»"
    r"|»(?P<e>[^«\n]{1,400})«|「(?P<f>[^」\n]{1,400})」|『(?P<g>[^』\n]{1,400})』|`(?P<h>[^`\n]{1,400})`"
    r"|(?<![\w'])'(?P<i>[^'\n]{1,200}(?:'(?=\w)[^'\n]{1,100}){0,3})'(?![\w'])|‘(?P<j>[^’\n]{1,200})’(?!\w)"
    r"|《(?P<k>[^》\n]{1,200})》|”(?P<l>[^”“\n]{1,400})”"
)


@dataclass(frozen=True)
class Reading:
    """A message, or a clause of one."""

    text: str
    situation: Situation
    language: str
    tokens: tuple[Token, ...]
    marks: dict[str, Mark] = field(default_factory=dict)
    """By their place in `plain`: @model0, @file1."""

    @cached_property
    def plain(self) -> str:
        """The concepts, one space between."""
        return " ".join(token.gloss for token in self.tokens)

    @cached_property
    def _starts(self) -> list[int]:
        starts, at = [], 0
        for token in self.tokens:
            starts.append(at)
            at += len(token.gloss) + 1
        return starts

    def has(self, pattern: str) -> bool:
        """Whether the pattern stands anywhere among the concepts."""
        return re.search(pattern, self.plain) is not None

    def find(self, pattern: str) -> re.Match[str] | None:
        return re.search(pattern, self.plain)

    def all(self, pattern: str) -> Iterator[re.Match[str]]:
        return re.finditer(pattern, self.plain)

    def index(self, at: int) -> int:
        """The number of the token at this place of `plain`."""
        return max(0, bisect_right(self._starts, at) - 1)

    def written(self, start: int, end: int) -> str:
        """What stands in the message behind this stretch of `plain`."""
        while start < end and self.plain[start : start + 1] == " ":
            start += 1
        if start >= end or not self.tokens:
            return ""
        first, last = self.index(start), self.index(end - 1)
        return self.text[self.tokens[first].start : self.tokens[last].end]

    def group(self, found: re.Match[str], group: int | str = 1) -> str:
        """What stands in the message behind a group."""
        return self.written(*found.span(group))

    def below_zero(self, at: int) -> bool:
        """Whether the number at this place of `plain` is written with a minus: -5, not 2-5 and not - 5."""
        start = self.tokens[self.index(at)].start
        before = self.text[max(0, start - 2) : start]
        return before[-1:] in ("-", "\N{MINUS SIGN}") and before[:-1] in (
            "",
            " ",
            "\n",
            "\t",
            "=",
            ":",
            "(",
        )

    def of_kind(self, *kinds: str) -> list[Mark]:
        """The marks of these kinds, in order."""
        found = [self.marks[t.gloss] for t in self.tokens if t.gloss in self.marks]
        return [mark for mark in found if mark.kind in kinds]

    def part(self, first: int, last: int) -> Reading:
        """The tokens from `first` up to `last` as a reading of their own."""
        return Reading(
            self.text, self.situation, self.language, self.tokens[first:last], self.marks
        )

    def without(self, *spans: tuple[int, int]) -> Reading:
        """The reading without these stretches of `plain`; a comma stands in their place."""
        kept: list[Token] = []
        for token, start in zip(self.tokens, self._starts, strict=True):
            if any(a <= start < b for a, b in spans):
                if kept and kept[-1].gloss != ",":
                    kept.append(Token(",", token.start, token.start))
            else:
                kept.append(token)
        return Reading(self.text, self.situation, self.language, tuple(kept), self.marks)


def read(text: str, situation: Situation) -> Reading:
    """The reading of a message."""
    marks = _marks(text, situation)
    gaps = list(_gaps(text, marks))
    language = language_of(" ".join(text[a:b] for a, b in gaps))
    glosser = Glosser(language)
    tokens: list[Token] = []
    named: dict[str, Mark] = {}
    for number, (start, end) in enumerate(gaps):
        tokens += glosser.tokens(text[start:end], start)
        if number < len(marks):
            mark = marks[number]
            gloss = f"@{mark.kind}{number}"
            named[gloss] = mark
            tokens.append(Token(gloss, mark.start, mark.end))
    shown = _resolved([t for t in tokens if t.gloss], named, situation)
    return Reading(text, situation, language, tuple(_verbs_and_nouns(shown, situation)), named)


def _marks(text: str, situation: Situation) -> list[Mark]:
    """All names, paths, quotations and tables of a message, in order and apart."""
    marks: list[Mark] = []
    if table := tables.find(text):
        marks.append(table)
    marks += _middle(text, marks)
    quotes = [m for m in _quoted(text) if free(m.start, m.end, marks)]
    marks += quotes
    marks += paths.find(text, situation.files, marks)
    marks += records.named(text, situation, marks)
    for dataset in situation.datasets:
        for found in re.finditer(rf"(?<![\w/]){re.escape(dataset)}(?![\w/])", text, re.IGNORECASE):
            if free(*found.span(), marks):
                marks.append(Mark(HUB, dataset, *found.span()))
    marks += records.hub_ids(text, marks)
    marks += records.models_in(text, situation, marks)
    return sorted(marks, key=lambda mark: mark.start)


def _middle(text: str, marks: Sequence[Mark]) -> list[Mark]:
    """What of an overlong message is not read."""
    start, end = HEAD_CHARS, len(text) - TAIL_CHARS
    for mark in marks:
        if mark.kind == TABLE:
            return [
                Mark(LONG, None, a + HEAD_CHARS, b - TAIL_CHARS)
                for a, b in ((0, mark.start), (mark.end, len(text)))
                if b - a > HEAD_CHARS + TAIL_CHARS
            ]
    return [Mark(LONG, None, start, end)] if end > start else []


def unread(text: str) -> int:
    """Characters in the middle of an overlong message that `read` leaves out."""
    table = tables.find(text) if len(text) > HEAD_CHARS + TAIL_CHARS else None
    return sum(mark.end - mark.start for mark in _middle(text, [table] if table else []))


def _quoted(text: str) -> Iterator[Mark]:
    for found in _QUOTES.finditer(text):
        value = next(group for group in found.groups() if group is not None).strip()
        if value:
            kind = FILE if paths.is_path(value) else QUOTE
            yield Mark(kind, value, *found.span())


def _gaps(text: str, marks: Sequence[Mark]) -> Iterator[tuple[int, int]]:
    """The stretches before, between and after the marks."""
    at = 0
    for mark in marks:
        yield at, max(at, mark.start)
        at = max(at, mark.end)
    yield at, len(text)


def _resolved(tokens: list[Token], marks: dict[str, Mark], situation: Situation) -> list[Token]:
    """A quoted name of a record is that record, unless it is given as a name: called "Sums"."""
    for at, token in enumerate(tokens):
        mark = marks.get(token.gloss)
        if mark is None or mark.kind != QUOTE:
            continue
        before = [t.gloss for t in tokens[max(0, at - 3) : at]]
        if "NAME" in before or "RENAME" in before or before[-1:] == ["into"]:
            continue
        if same := [m.name for m in situation.models if m.name.casefold() == mark.value.casefold()]:
            marks[token.gloss] = Mark(MODEL, same[0], mark.start, mark.end)
        ids = [b.id for b in situation.benchmarks if b.name.casefold() == mark.value.casefold()]
        if ids:
            marks[token.gloss] = Mark(BENCH, ids[0], mark.start, mark.end, tuple(ids[1:]))
    renamed: list[Token] = []
    for token in tokens:
        mark = marks.get(token.gloss)
        if mark and not token.gloss.startswith(f"@{mark.kind}"):
            gloss = re.sub(r"@\D+", f"@{mark.kind}", token.gloss)
            marks[gloss] = mark
            token = Token(gloss, token.start, token.end)
        renamed.append(token)
    return renamed


_BEFORE_VERB = frozenset(
    (
        "you",
        "please",
        "and",
        "then",
        "WANT",
        "MAKE",
        ",",
        ".",
        "\n",
        ";",
        "into",
        ":",
        "-",
        "—",
        "–",
        "also",
        "!",
        "?",
    )
)
_BEFORE_NOUN = frozenset(
    (
        "a",
        "it",
        "of",
        "from",
        "LAST",
        "NEXT",
        "SAME",
        "in",
        "COMPARE",
        "STATUS",
        "RESUME",
        "PREVIOUS",
        "STOP",
        "DELETE",
        "WHY",
        "FAIL",
        "CONTINUE",
        "second",
        "current",
        "running",
        "failed",
        "SHOW",
        "FAILURES",
        "DATASET",
        "is",
        "with",
        "did",
        "does",
        "was",
    )
)


_BEFORE_A_RUN = frozenset(
    ("from", "of", "SHOW", "STATUS", "DATASET", "LAST", "COMPARE", "RESUME", "WHY", "WHAT")
)
"""Before `run 12` they speak of a run, even where only a benchmark has that number."""


def _verbs_and_nouns(tokens: Sequence[Token], situation: Situation) -> Iterator[Token]:
    """English words that are both: `run` becomes EVAL or RUN, `test` EVAL or BENCHMARK, `draft` CREATE or DRAFT."""
    for at, token in enumerate(tokens):
        before = tokens[at - 1].gloss if at else ""
        if token.gloss == "QUESTION" and at > 1 and tokens[at - 2].gloss == "第":
            continue
        if token.gloss == "QUESTION" and re.fullmatch(r"ORD\d+", before):
            yield Token(f"QUESTION {before[3:]}", token.start, token.end)
            continue
        gloss = _run_sense(tokens, at, situation) if token.gloss == "run" else _sense(tokens, at)
        yield Token(gloss, token.start, token.end, token.known or gloss != token.gloss)


def _run_sense(tokens: Sequence[Token], at: int, situation: Situation) -> str:
    """RUN where a run is named or spoken of, EVAL where one is to be made."""
    before = tokens[at - 1].gloss if at else "."
    after = [token.gloss for token in tokens[at + 1 : at + 4] if token.gloss != "#"]
    number, follows = (*after, "", "")[:2]
    runs = {str(run.id) for run in situation.runs}
    benchmarks = {str(b.id) for b in situation.benchmarks}
    if number in benchmarks and follows in ("on", "with"):
        return "EVAL"
    if number.isdigit() and follows in ("STATUS", "LOGS", "SCORE"):
        return "RUN"
    if number in benchmarks and number not in runs and before not in _BEFORE_A_RUN:
        return "EVAL"
    sizes = {len(id) for id in runs if len(id) > 2}
    named = number in runs or (number.isdigit() and len(number) in sizes)
    asked = before == "WHAT" and number.isdigit()  # `what run 2 got wrong`
    spoken = before in _BEFORE_NOUN or before.startswith("ORD") or number in ("id", "number")
    spoken = spoken or asked
    return "RUN" if named or spoken else "EVAL"


def _sense(tokens: Sequence[Token], at: int) -> str:
    """What a word with two senses means between its neighbours; any other as it is."""
    gloss = tokens[at].gloss
    begins = at == 0 or tokens[at - 1].gloss in _BEFORE_VERB
    after = tokens[at + 1].gloss if at + 1 < len(tokens) else ""
    if gloss in ("rn", "rnu", "urn", "ruun", "runn"):
        return "EVAL"
    if gloss == "test":
        named = (
            after.startswith("@")
            or after == "it"
            or (after in ("a", "of") and _names_next(tokens, at + 2))
        )
        return "EVAL" if begins and named else "BENCHMARK"
    if gloss in ("BENCHMARK", "SCORE") and begins and after.startswith("@model"):
        return "EVAL"
    if gloss == "DRAFT" and begins and (after == "a" or after.isdigit()):
        return "CREATE"
    if gloss == "r" and (after.isdigit() or after in ("=", ":")):
        return "RANK"
    return "QUESTION" if gloss in ("第", "q") and after.isdigit() else gloss


def _names_next(tokens: Sequence[Token], at: int) -> bool:
    return any(
        token.gloss.startswith("@") or token.gloss == "MODEL" for token in tokens[at : at + 3]
    )
