"""Short answers: is the one that the reply declares among the accepted texts? Policy: score.py."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from . import declared, reading, spelling
from .corrections import corrections, retractions
from .json_values import DUPLICATE_KEY, Malformed, as_json, json_of, same
from .verdict import Score, judged, missed, unmeasured

MAX_PLACES = 64
"""Declarations looked at, from the last backwards."""
MAX_UNDECLARED_WORDS = 12
"""A longer reply that declares nothing is no answer, rather than a wrong one."""


_Accepted = Callable[[str], bool]


def score(  # noqa: PLR0913 - the options are the caller's words
    reply: str,
    target: object,
    *,
    truncated: bool = False,
    format: str = "",
    keep_case: bool = False,
    keep_articles: bool = False,
    keep_punctuation: bool = False,
) -> Score:
    """The verdict on one reply; `target` is an accepted text or a list of them."""
    accepted = target if isinstance(target, (list, tuple)) else [target]
    if not accepted or not all(_usable(text) for text in accepted):
        return unmeasured("error", "unreadable_target")
    read = reading.read(reply, truncated=truncated)
    text = read.parts[0].strip()
    whole = not (read.cut and len(read.parts) == 1)
    if format == "json":
        return _score_json(text, accepted, whole)
    if format not in ("", "text"):
        return unmeasured("error", "unknown_format")
    fold = partial(spelling.folded, case=keep_case, articles=keep_articles, marks=keep_punctuation)
    golds = {fold(spelling.normalised(str(gold))) for gold in accepted}
    if not text:
        return missed("truncated" if truncated else "no_answer", read.note or "no_text")
    return _score_text(text, golds, fold, whole)


def _usable(text: object) -> bool:
    return isinstance(text, (str, int, float)) and bool(str(text).strip())


def _score_text(text: str, golds: set[str], fold: Callable[[str], str], whole: bool) -> Score:
    longest = 4 * max(map(len, golds)) + 200  # a longer text folds to none of them

    def accepted(value: str) -> bool:
        return len(value) <= longest and fold(value) in golds

    found = _declared(text, whole)
    if found is not None:
        return _score_declared(text, *found, accepted)
    if not whole:
        return missed("truncated", "no_final_answer")
    return _score_undeclared(text, accepted, 2 * longest)


def _score_declared(text: str, position: int, answer: str, accepted: _Accepted) -> Score:
    # A title may hold a `No, `: of an accepted line only what stands behind it may correct it.
    behind = text.find(answer, position) + len(answer) if accepted(answer) else position
    second = _second_thought(declared.without_comment(text[behind:]), accepted)
    if second is not None:
        return second
    right = next(filter(accepted, _readings(answer)), None)
    return judged(right is not None, declared.peeled(answer if right is None else right) or answer)


def _score_undeclared(text: str, accepted: _Accepted, longest: int) -> Score:
    answer = _without_courtesy(declared.without_comment(text).strip())
    if not accepted(text) and len(answer.split(None, MAX_CORRECTED)) <= MAX_CORRECTED:
        second = _second_thought(answer, accepted)
        if second is not None:
            return second
    last = answer.rpartition("\n")[2]
    for candidate in filter(None, dict.fromkeys((text, answer, last, _marked(answer)))):
        if len(candidate) > longest:
            continue
        right = next(filter(accepted, _readings(candidate)), None)
        if right is not None:
            return judged(True, declared.peeled(right) or right)
    if reading.refused(text):
        return missed("refused", "by_model")
    if len(answer.split(None, MAX_UNDECLARED_WORDS)) > MAX_UNDECLARED_WORDS:
        return missed("no_answer", "undeclared")
    return judged(False, declared.peeled(answer) or answer)


_A_LINE = re.compile(r"^[ \t]*\**a\**:\**[ \t]*(?=\S)", re.MULTILINE)
_NO_VALUE = re.compile(
    r"(?:helpful|correct|right|wrong|incorrect|clear|useful|given|found|based|below|as follows|that|because|also|in the)\b"
)


def _declared(text: str, whole: bool) -> tuple[int, str] | None:
    """(where it begins, the line) of the last declaration; of a cut text only of a finished line."""
    low = spelling.lowered(text)
    found = [
        (d.value, d.line)
        for d in declared.declarations(text, low)
        if d.style not in ("pick", "label")
    ]
    found += [(m.end(), True) for m in _A_LINE.finditer(low)]
    for position, line in sorted(found)[: -MAX_PLACES - 1 : -1]:
        if not whole and (not line or "\n" not in text[position:].lstrip()):
            continue
        value = declared.line_at(text, position)
        if not value or (not line and _NO_VALUE.match(spelling.lowered(value))):
            continue
        return position, value
    return None


MAX_CORRECTED = 4 * MAX_UNDECLARED_WORDS
"""Words of a reply without a declaration in which a correction is looked for."""
MAX_CORRECTION = 6
"""Words of an answer that replaces another."""
_CLAUSE_BEFORE = re.compile(r"(?:\A|[.!?;,:(\[\n\u2026-])[\s\"'*_]*\Z")
_ANYWHERE = ("or rather", "i mean", "i meant", "make that", "i should", "chang", "i take")
_MARKED = re.compile(r"[^,.:;!-]*[,.:;!-]|.*(?:'s| is| be) \Z", re.DOTALL)
_NO_ANSWER = re.compile(
    r"\W*(?:(?:yes|yeah|yep|right|correct|that|this|these|it|i|i'm|we|you|he|she|they|there|if|let|really|seriously|none"
    r"|nothing|no|not|never|also|because|just|please|maybe|sure|thanks|hold on|one moment|wait|still|fixed|typo|spelling|grammar|formatting|added)\b|\Z)"
)


def _second_thought(text: str, accepted: _Accepted) -> Score | None:
    """The verdict on what a text puts in the place of its answer, or that it takes it back; else None.

    `Correction: X`, `no, X`, `or rather X`. What follows must be an accepted text, or a few words that
    state nothing else: `Actually, it rains there` corrects no capital.
    """
    low = spelling.lowered(text)
    for match in reversed(corrections(low)[-MAX_PLACES:]):
        if not match["word"].startswith(_ANYWHERE) and not (
            _CLAUSE_BEFORE.search(low[max(0, match.start() - 40) : match.start()])
            and _MARKED.match(match[0])
        ):
            continue
        line = text[match.end() : match.end() + declared.MAX_VALUE].partition("\n")[0]
        sentence = re.split(r"(?<=[.!?])\s", line, maxsplit=1)[0]
        value = declared.peeled(sentence).strip(" )]*_.!")
        for candidate in (value, sentence, line):
            right = next(filter(accepted, _readings(candidate)), None)
            if right is not None:
                return judged(True, declared.peeled(right) or right)
        if _COPULA.search(value):  # `No, the capital is London`
            value = "" if match["word"] == "actually" else _sentence_end(value)
            value = value if value[:1].isupper() or value[:1].isdigit() else ""
        few = len(value.split(None, MAX_CORRECTION)) <= MAX_CORRECTION
        if few and not _NO_ANSWER.match(spelling.lowered(value)) and not value.endswith("?"):
            return judged(False, value)
    ends = retractions(low)
    if ends and len(text[: ends[0].start()].split(None, MAX_CORRECTION)) <= MAX_CORRECTION:
        later = text[ends[-1].end() :].strip(" .,;:!\n")
        right = next(filter(accepted, _readings(later)), None)
        return missed("no_answer", "retracted") if right is None else judged(True, right)
    return None


_NOT_BUT = re.compile(r"not\b[^\n]{0,200}?\b(?:but(?: rather)?|it(?:'s| is))\s+", re.IGNORECASE)
_AFTERTHOUGHT = re.compile(
    r"\s*(?:,|-|\()?\s*\b(?:because|since|as|which|who|where|when|due to|so|being|rather than|instead of|not)\b"
    r"|\s+\(|\s-\s|;\s|[.!?]\s",
    re.IGNORECASE,
)


_YES_NO = re.compile(r"(yes|no|true|false)\b[,.;:!]", re.IGNORECASE)
_ASKED = re.compile(r"\?\W{0,3}(?:no|nope|nah|not|wrong)\b", re.IGNORECASE)
_SURE = re.compile(
    r"[,;]? (?:(?:no|without(?: a)?) (?:doubt|question)|of course|for sure|definitely|certainly)\Z",
    re.IGNORECASE,
)


def _readings(value: str) -> Iterator[str]:
    """The declared text, then what is left of it without fillers and afterthoughts."""
    yield value
    value = declared.peeled(value)
    yield value
    bare = declared.FILLER.match(value)
    if bare:
        value = value[bare.end() :]
        yield value
    turned = _NOT_BUT.match(value)
    if turned:
        value = value[turned.end() :]
        yield value
    value = _SURE.sub("", value.rstrip(" .!"))
    yield value
    after = _AFTERTHOUGHT.search(value)
    if after and value[: after.start()].strip() and not _ASKED.match(value, after.start()):
        yield declared.peeled(value[: after.start()])
    verdict = _YES_NO.match(value)
    if verdict:
        yield verdict[1]
    spoken = _SPOKEN_END.sub("", value)
    if spoken and spoken != value:
        yield spoken
    stated = _sentence_end(value)
    if stated:
        yield stated


_COPULA = re.compile(r"\b(?:is|are|was|were|ist|sind|war|est|es|è|é|är|jest|heißt)\s|\s=\s")
_DASHED = re.compile(r"[^\W\d_a-z]\s-\s(?:это\s)?")
"""`Столица - Москва.`: where the copula is a dash."""
_UNSURE = re.compile(
    r"\b(?:not|never|no|n't|cannot|doubt|if|whether|maybe|wrong|incorrect|false|unless|might|could"
    r"|nicht|kein\w{0,2}|pas|jamais|nunca|non|nie|не|нет)\b|n't|\?|不是|ではな|じゃな|아니|아닙"
)
_SPOKEN_END = re.compile(r"(?:です|でした|である|になります|입니다|이에요|예요|이다)[.!]{0,2}\Z")
_TOPIC = re.compile(r"(?:は|が|은|는|이|가|是)(?P<value>[^はが은는是]{1,60})\Z")


def _without_courtesy(text: str) -> str:
    """The text without paragraphs at its end that offer help, or that only say the first line again."""
    paragraphs = [p for p in re.split(r"\n\s*\n", text) if p.strip()] if "\n" in text else [text]
    while len(paragraphs) > 1 and _COURTESY.match(spelling.lowered(paragraphs[-1].strip(" *_"))):
        paragraphs.pop()
    first, rest = paragraphs[0] if paragraphs else "", paragraphs[1:]
    if rest and len(first.split(None, MAX_UNDECLARED_WORDS)) <= MAX_UNDECLARED_WORDS:
        words = spelling.folded(declared.peeled(first)) + " "
        if all(
            spelling.folded(p[:1000]).startswith(words) and not _UNSURE.search(spelling.lowered(p))
            for p in rest
        ):
            return first
    return "\n\n".join(paragraphs)


_COURTESY = re.compile(
    r"(?:(?:please )?(?:let me know|feel free|don't hesitate)|i hope|hope (?:this|that)|is there anything|if you (?:have|need|want|would)"
    r"|happy to|i'm happy|i'd be|would you like|do you (?:want|need)|have a (?:nice|great|good)|good luck|thanks|thank you|you're welcome)\b"
)
_BOLD = re.compile(r"\*\*([^*\n]{1,200})\*\*")


def _marked(text: str) -> str:
    """The one bold text of a short reply, unless its sentence is denied or doubted; else empty."""
    found = _BOLD.findall(text)
    short = len(text.split(None, 3 * MAX_UNDECLARED_WORDS)) <= 3 * MAX_UNDECLARED_WORDS
    return found[0] if len(found) == 1 and short and not _UNSURE.search(text.lower()) else ""


def _sentence_end(line: str) -> str:
    """`X` of a short last sentence `... is X`, unless it is denied or doubted; else empty."""
    sentence = re.split(r"(?<=[.!?])\s+", line.strip())[-1]
    if len(sentence.split()) > 2 * MAX_UNDECLARED_WORDS or _UNSURE.search(sentence.lower()):
        return ""
    if not sentence.isascii():
        spoken = _SPOKEN_END.sub("", sentence)
        topic = _TOPIC.search(spoken.rstrip(".! "))
        if topic:
            return declared.peeled(topic["value"])
        if spoken != sentence:
            return declared.peeled(spoken)
    found = list(_COPULA.finditer(sentence)) or list(_DASHED.finditer(sentence))
    if not found or declared.denied(spelling.lowered(sentence[: found[-1].start()])):
        return ""
    return declared.peeled(sentence[found[-1].end() :])


# --- JSON ------------------------------------------------------------------------------------

_FENCE = re.compile(r"```(?:json)?[ \t]*\n(.*?)```", re.DOTALL | re.IGNORECASE)


def _score_json(text: str, accepted: Any, whole: bool) -> Score:
    """Equal by content: the order of an object's keys is free, a list's is not, 1 equals 1.0."""
    try:
        golds = [json_of(gold) if isinstance(gold, str) else as_json(gold) for gold in accepted]
    except Malformed:
        return unmeasured("error", "unreadable_target")
    if not whole:
        return missed("truncated", "no_final_answer")
    fenced = _FENCE.findall(text)
    source = fenced[-1] if fenced else text
    starts = [at for at in (source.find("{"), source.find("[")) if at >= 0]
    starts = [0, min(starts)] if starts else [0]
    found: list[Any] = []
    twice = False
    for start in starts:
        try:
            found = found or [json_of(source[start:])]
        except Malformed as error:
            twice = twice or str(error) == DUPLICATE_KEY
    if not found:
        return missed(*(("ambiguous", DUPLICATE_KEY) if twice else ("no_answer", "malformed_json")))
    right = any(same(found[0], gold, exact=False) for gold in golds)
    return judged(right, source.strip()[:2000])
