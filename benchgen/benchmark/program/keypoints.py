"""Open answers: which key points does a reply state? Each point has a verdict of its own, with its evidence.

Without a judge a point is stated if one sentence of the answer states it in the point's own words
(matcher.py). With a judge, the judge decides every point: nothing but its pass counts, and where it says
nothing that can be read the reply is not measured. What is found last counts: a later denial takes a
statement back. Reasoning, questions, echoes, reported errors and words to the grader state nothing
(below, and matcher.py). In a truncated reply only finished sentences count, and only if they state
all that is asked.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from . import judge as judging
from . import matcher, reading, spelling
from .spelling import any_of
from .verdict import Score, missed, unmeasured

MAX_POINTS, MAX_QUOTE, MAX_EXTRACTED = 200, 160, 2000
MAX_REPLY, MAX_ANSWER, MAX_SENTENCE = 1_000_000, 250_000, 1500
"""Characters that are looked at; a longer reply counts as truncated there."""


@dataclass(frozen=True)
class Point:
    """A key point: any one of its wordings will do, and of a wording every sentence is asked."""

    texts: tuple[str, ...]
    weight: float
    wordings: tuple[tuple[matcher.Pattern, ...], ...]


@dataclass(frozen=True)
class Met:
    """The verdict on one point."""

    share: float | None
    """1.0 = stated, 0.0 = not; between: a judge's partial score; None = not measured."""
    evidence: str = ""
    reason: str = ""


def score(  # noqa: PLR0913 - the options are the caller's words
    reply: str,
    target: object,
    *,
    truncated: bool = False,
    judge: Callable[[str], str] | None = None,
    question: str = "",
    require: str = "all",
    threshold: float | None = None,
) -> Score:
    """The verdict on one reply; `target` is a list of points, each a text or {"text", "weight", "accept"}.

    `require` "all": every point of a weight above 0, value = 1.0 or 0.0. "weighted": value = weight of
    the stated points over that of all; right if it reaches `threshold`, 1.0 unless given.
    """
    points = _points(target)
    if points is None:
        return unmeasured("error", "unreadable_target")
    limit = _threshold(require, threshold)
    if limit is None:
        return unmeasured("error", "unusable_requirement")
    truncated = truncated or len(reply) > MAX_REPLY
    read = reading.read(reply[:MAX_REPLY].replace("—", " — "), truncated=truncated)
    part = read.parts[0]
    inner = _unpacked(part)
    if inner != part:
        part = reading.read(inner).parts[0]
    text = _cleaned(part)
    cut = (read.cut and len(read.parts) == 1) or len(part) > MAX_ANSWER
    if not text.strip():
        return missed("truncated" if truncated else "no_answer", read.note or "no_text")
    folded = spelling.folded(spelling.normalised(question))
    answer = Answer(stated(text, cut=cut), folded, read.parts[0])
    if cut and not answer.statements:
        return missed("truncated", "no_finished_sentence")
    if judge is None:
        found = [_matched(point, answer) for point in points]
    else:
        shown = "\n".join(_one_line(s.text) for s in answer.statements) if cut else part.strip()
        found = [_judged(judge, question, point, shown, answer) for point in points]
    verdict = _verdict(points, found, limit if require == "weighted" else None)
    if verdict.correct is False and cut:
        return missed("truncated", verdict.reason, verdict.extracted)
    if verdict.correct is False and not any(met.share for met in found) and reading.refused(text):
        return missed("refused", "by_model", verdict.extracted)
    return verdict


# --- points ------------------------------------------------------------------------------------


def _points(target: object) -> list[Point] | None:
    """The points of a question; None if one of them cannot be used, or none counts."""
    items = target if isinstance(target, (list, tuple)) else [target]
    if not 0 < len(items) <= MAX_POINTS:
        return None
    points = [_point(item) for item in items]
    usable = [point for point in points if point is not None]
    if len(usable) < len(items) or not any(point.weight for point in usable):
        return None
    return usable


def _point(item: object) -> Point | None:
    weight: object = 1.0
    accept: object = ()
    if isinstance(item, dict):
        weight, accept, item = item.get("weight", 1.0), item.get("accept", ()), item.get("text")
    if isinstance(weight, bool) or not isinstance(weight, (int, float)) or not 0 <= weight < 1e9:
        return None
    accept = [accept] if isinstance(accept, str) else accept
    if not isinstance(accept, (list, tuple)):
        return None
    texts = (item, *accept)
    wordings = [_wording(text) for text in texts]
    if not all(wordings):
        return None
    return Point(tuple(map(str, texts)), float(weight), tuple(w for w in wordings if w))


def _wording(text: object) -> tuple[matcher.Pattern, ...] | None:
    if not isinstance(text, str) or len(text) > 4000 or not text.strip():
        return None
    lines = _cleaned(spelling.normalised(text)).strip("-*• \n").split("\n")
    pieces = [sentence for line in lines for sentence in _sentences(line)]
    patterns = [matcher.prepared(piece) for piece in pieces]
    return tuple(pattern for pattern in patterns if pattern) or None


def _threshold(require: str, threshold: object) -> float | None:
    """The share that is right; None if the requirement cannot be used."""
    if require == "all" and threshold is None:
        return 1.0
    if require != "weighted":
        return None
    if threshold is None:
        return 1.0
    number = isinstance(threshold, (int, float)) and not isinstance(threshold, bool)
    return float(threshold) if number and 0 < threshold <= 1 else None  # type: ignore[operator,arg-type]


# --- one point ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class Answer:
    """What of a reply may state a point."""

    statements: list[Statement]
    question: str
    """Folded: a sentence of the answer that stands in it is its echo."""
    written: str
    """The answer with its markup."""


def _matched(point: Point, answer: Answer) -> Met:
    for wording in point.wordings:
        places = [_last(pattern, answer) for pattern in wording]
        if all(places):
            return Met(1.0, " ".join(dict.fromkeys(place for place in places if place)))
    return Met(0.0)


_CORRECTS = re.compile(
    r"\W*(?:but|however|no|wait|actually|correction|sorry|in fact|in reality|on second thoughts?|i was wrong)\b"
)


def _last(pattern: matcher.Pattern, answer: Answer) -> str:
    """The last sentence that states it, unless a later one plainly denies it; else empty."""
    evidence = ""
    for statement in answer.statements:
        if not matcher.may_state(pattern, statement.low) or not _own(
            statement.whole, answer.question
        ):
            continue
        found = matcher.find(pattern, statement.text)
        if found == matcher.STATED and not matcher.taken_back(statement.following):
            evidence = evidence or statement.text
        elif found and evidence and _plain(pattern, statement):
            evidence = ""
    return evidence


def _plain(pattern: matcher.Pattern, denial: Statement) -> bool:
    """The denial is of the point itself, not of it under some condition (`in spring it does not …`)."""
    return bool(_CORRECTS.match(denial.low)) or len(denial.low.split()) <= len(pattern.needs) + 3


def _judged(
    judge: Callable[[str], str],
    question: str,
    point: Point,
    shown: str,
    answer: Answer,
) -> Met:
    verdict = judging.asked(judge, question, point.texts, shown, answer.written)
    if verdict.share and verdict.quote.strip() and not _holds(_cleaned(shown), verdict.quote):
        return Met(None, reason="quote_not_in_answer")
    evidence = verdict.quote or (_matched(point, answer).evidence if verdict.share else "")
    return Met(verdict.share, evidence, verdict.reason)


# --- all points --------------------------------------------------------------------------------


def _verdict(points: Sequence[Point], found: Sequence[Met], limit: float | None) -> Score:
    """`limit` None: all points are required, so one that is surely missing decides."""
    counted = [(p, met) for p, met in zip(points, found, strict=True) if p.weight]
    unread = next((met.reason for _, met in counted if met.share is None), "")
    surely_missing = any(met.share is not None and met.share < 1 for _, met in counted)
    if unread and not (limit is None and surely_missing):
        return unmeasured("error", unread)
    missing = [
        str(i) for i, met in enumerate(found, start=1) if met.share is not None and met.share < 1
    ]
    reason = f"missing: {', '.join(missing)}" if missing else ""
    total = sum(point.weight for point, _ in counted)
    value = sum(point.weight * (met.share or 0.0) for point, met in counted) / total
    right = not surely_missing if limit is None else value >= limit - 1e-9
    return Score(right, float(right) if limit is None else value, _told(found), "ok", reason, False)


def _one_line(text: str) -> str:
    return " ".join(text.replace(matcher.LINE_BREAK, " ").split())


def _told(found: Sequence[Met]) -> str:
    """`1 met: "evidence"; 2 missing`."""
    told = []
    for number, met in enumerate(found, start=1):
        if met.share is None:
            told.append(f"{number} unscored")
        elif met.share < 1:
            told.append(
                f"{number} missing" if not met.share else f"{number} in part: {met.share:g}"
            )
        else:
            quote = _one_line(met.evidence)
            quote = quote if len(quote) <= MAX_QUOTE else quote[: MAX_QUOTE - 1] + "…"
            told.append(f'{number} met: "{quote}"' if quote else f"{number} met")
    return "; ".join(told)[:MAX_EXTRACTED]


# --- markup --------------------------------------------------------------------------------------

_TAG = re.compile(r"</?[a-zA-Z][^<>\n]{0,80}>")
_STRUCK = re.compile(r"~~[^~\n]{1,400}~~|<(?:del|s|strike)>[^<\n]{1,400}</(?:del|s|strike)>")
_LINK = re.compile(r"\]\([^()\s]{1,300}\)|\[\^?\d{1,3}\]")
_LATEX = re.compile(r"\\(?:begin|end)\{\w{1,20}\}|\\[a-zA-Z]{1,20}\s?|[{}$]|\\[()\[\],;! ]")


def _cleaned(text: str) -> str:
    """The text without bold, code, tags, links, LaTeX and what is struck out; sentences untouched."""
    text = text[:MAX_ANSWER]
    if "~~" in text or "</" in text:
        text = _STRUCK.sub(" ", text)
    if "<" in text:
        text = _TAG.sub(" ", text)
    if "]" in text:
        text = _LINK.sub(" ", text)
    if "\\" in text or "$" in text or "{" in text:
        text = _LATEX.sub(" ", text)
    for mark in ("**", "__", "`"):
        text = text.replace(mark, "")
    return text


_UNSAID = ("think", "thinking", "thought", "thoughts", "reasoning", "scratchpad")


_OBJECT = re.compile(r'\{\s{0,20}"')


def _unpacked(text: str) -> str:
    """The reply with its first JSON object replaced by that object's texts, but for those of reasoning."""
    start = _OBJECT.search(text)
    if start is None:
        return text
    try:
        value, end = json.JSONDecoder(strict=False).raw_decode(text, start.start())
    except (ValueError, RecursionError):
        return text
    said = [v for k, v in value.items() if isinstance(v, str) and k.lower() not in _UNSAID]
    return "\n\n".join((text[: start.start()], *said, text[end:]))


# --- lines and sentences -------------------------------------------------------------------------

_ITEM = re.compile(
    r"[ \t>]*(?:[-*+•▪●◦·–➢✓✔✅☑]|\(?\d{1,2}[.):]|\(?[a-zA-Z][.)])(?:\s+|(?<=[✓✔✅☑]))"
)
_LABEL = re.compile(r"\A(?:the )?(?:final )?answer\s{0,2}:\s{0,4}(?=\S)", re.IGNORECASE)
_CROSSED = ("❌", "✗", "✘", "🚫", "☐", "[ ]")


@dataclass(slots=True)
class _Line:
    text: str
    item: bool
    gap: bool
    """A blank line stands before it."""
    level: int
    """1 to 6 for a `#` heading, 9 for a line that ends with a colon, else 0."""


def _lines(text: str) -> Iterator[_Line]:
    """Lines without their markers; one that goes on in mid-sentence is joined to the line before."""
    held: _Line | None = None
    gap = False
    for raw in text.split("\n"):
        line = raw.strip()
        if not line.strip("-*_=| "):
            gap = True
            continue
        new = _line(line, gap)
        if (
            held
            and not (gap or held.level or new.item)
            and line[0].islower()
            and held.text[-1] not in ".!?;:|"
        ):
            text = f"{held.text} {matcher.LINE_BREAK} {line}"
            held = _Line(text, held.item, held.gap, new.level)
            continue
        if held:
            yield held
        held, gap = new, False
    if held:
        yield held


def _line(line: str, gap: bool) -> _Line:
    level = 0
    if line[0] == "#":
        text = line.lstrip("#")
        level, line = min(6, len(line) - len(text)), text.strip() or "#"
    item = _ITEM.match(line)
    text = (line[item.end() :].lstrip() if item else line.lstrip("> ")) or "-"
    text = _LABEL.sub("", text)
    if not level and text.rstrip("*_ ").endswith(":"):
        level = 9
    return _Line(text, bool(item), gap, level)


_END = re.compile(r"[.!?]{1,9}[\"')\]*]{0,3}(?=\s)|[!?](?=[^\x00-\x7f])")
_ABBREVIATION = re.compile(
    r"(?:\be\.g|\bi\.e|\bvs|\bdr|\bmr|\bmrs|\bprof|\bfig|\bapprox|\bca|\bcf|\bst|\.[a-z])\.\Z",
    re.IGNORECASE,
)


def _sentences(line: str) -> list[str]:
    """The sentences of one line, in order, none of them empty."""
    found, start = [], 0
    for end in _END.finditer(line):
        if end[0] == "." and _ABBREVIATION.search(line[max(0, end.end() - 8) : end.end()]):
            continue
        found.append(line[start : end.end()])
        start = end.end()
    found.append(line[start:])
    return [sentence.strip()[:MAX_SENTENCE] for sentence in found if sentence.strip()]


# --- what the answer itself states ---------------------------------------------------------------

_FALSE = re.compile(
    r"\b(?:none of|neither of|not (?:true|correct|right|the case|what happens)|untrue|false|incorrect|wrong|myths?"
    r"|misconceptions?|mistaken|mistakes?|(?:does|do|did) not happen|rejected|ruled out|discarded|the opposite is)\b"
)
_AIMED_HEAD = re.compile(
    r"\b(?:must|should|has to|have to|needs? to) (?:mention|include|state|cover|contain|say)\b"
    r"|\bpoints? to (?:mention|cover|include|make)\b|\b(?:expected|model|reference|sample) answers?\b"
    r"|\b(?:prompt|question|task|instructions?)\s*:?\Z"
)
_AIMED = re.compile(
    r"\b(?:rubric|graders?|grading|examiners?|full (?:marks?|credit|points|score)|mark(?:ing)? scheme)\b|\bgrade\s{0,3}:"
    r"|\b(?:answer|response|reply|candidate|student) (?:must|should|needs? to) (?:mention|include|state|cover|contain|say)\b"
    r"|\b(?:all|both|every|each)\b[^.!?]{0,40}\bpoints?\b[^.!?]{0,120}\b(?:covered|met|satisfied|addressed|included|present|mentioned|stated)\b"
    r"|\b(?:this|my|the|above) (?:answer|response|reply) (?:above )?(?:covers|mentions|states|includes|contains|satisfies|meets|deserves)\b"
    r"|\b(?:correct|good|complete|full|ideal|right|perfect) (?:answer|response) (?:would )?(?:mentions?|states?|includes?|covers?|contains?|says?)\b"
    r"|\bi(?: have|'ve)? (?:mentioned|covered|stated|included|listed|addressed)\b"
    r"|\b(?:award|give) (?:\w+ ){0,3}(?:marks?|credit|points?|score|grade)\b"
    r"|\b(?:ignore|disregard) (?:\w+ ){0,3}(?:rubric|instructions?|above|criteria|prompts?|rules|questions?)\b"
    r"|\b(?:expected|model|reference) answer\b|['\"]?\b(?:pass|score)\b['\"]?\s{0,3}:\s{0,3}(?:true|1)\b"
    r"|\byou (?:must|should) (?:mark|grade|score|accept|pass)\b"
)
_AIMED_STEMS = (
    *(
        "rubric",
        "grad",
        "examiner",
        "full ",
        "mark",
        "must",
        "should",
        "need",
        "point",
        "answer",
        "respon",
    ),
    *("reply", "award", "give ", "ignore", "disregard", "pass", "score", "i ", "i've "),
)
_IMPERATIVE = re.compile(
    r"\W*(?:please )?(?:explain|describe|discuss|outline|mention|ignore|award|grade|evaluate|assess|say|state|list|name|tell me)"
    r" (?:why|how|that|what|whether|the|this|both|all|two|any)\b|\W*(?:question|q|prompt|task)\s{0,2}:"
)
_INVERTED = re.compile(
    r"\W*(?:(?:is|are|do|does|did|was|were|has|have|can|could|would|should|will) (?:the|it|they|this|that|these|those|there|we|you"
    r"|its|their)\b|(?:does|did) (?!not\b)\w|why (?:do|does|is|are)\b|true or false\b)"
)
_HEADING = re.compile(
    r"\W*(?:(?:some|common|popular|typical) )?(?:myths?|misconceptions?|mistakes?|not true|untrue|false|wrong|incorrect"
    r"|(?:false|wrong|incorrect|untrue) (?:answers?|explanations?|statements?|claims?|ideas?))\W*"
)
_RETRACTS = re.compile(
    r"\b(?:all|both|each|everything|every one)(?: of)?(?: the)? (?:this|these|that|those|them|above|statements|claims|points"
    r"|i (?:said|wrote))\b[^.;!?]{0,40}\b(?:false|wrong|incorrect|untrue|not (?:true|correct)|made up|nonsense|lies|invented)\b"
    r"|\bthe above (?:is|are) (?:all |both |not )*(?:false|wrong|incorrect|untrue|true|correct|nonsense)\b"
    r"|\b(?:none|neither) of (?:this|that|these|those|them|the above|which|the statements)\b[^.;!?]{0,40}"
    r"\b(?:true|correct|right|happens?|applies)\b"
    r"|\bthe opposite is true\b|\bmade (?:that|this|it|all of (?:that|this)) up\b|\bjust kidding\b"
    r"|\b(?:scratch|disregard|ignore|forget) (?:that|this|all of (?:that|this)|the above|everything|what i)\b"
)
_RETRACT_STEMS = (
    *(
        "false",
        "wrong",
        "incorrect",
        "untrue",
        "not true",
        "not correct",
        "none of",
        "neither of",
        "the above",
    ),
    *("opposite", "made ", "kidding", "scratch", "disregard", "forget"),
)
_RECONSIDERS = re.compile(
    r"\W*(?:but|however|wait|actually|no|hmm|sorry|correction|on second|that|this|which|none|neither|both|all)\b",
    re.IGNORECASE,
)
_UNFINISHED = re.compile(r"[.!?][\"')\]*]{0,3}(?:\s|\Z)|\n")


@dataclass(slots=True)
class Statement:
    """One sentence that the answer stands by, as far as its surroundings tell."""

    text: str
    low: str
    """The text in lower case."""
    whole: str
    """The sentence that it is a part of, in lower case."""
    following: str = ""
    """The next sentence in lower case: it may take this one back."""


@dataclass(slots=True)
class _Frame:
    """A heading or lead such as `None of these is true:` and how far it reaches."""

    level: int = 0
    """0: none holds; 1 to 6: as a `#` heading, to the next one as high; 9: over one list or paragraph."""
    lines: int = 0
    listed: bool = False

    def meet(self, line: _Line) -> None:
        """Ends the frame if the line is outside it."""
        if self.level == 9:
            outside = line.level or (not line.item and (self.listed or line.gap))
            if self.lines and outside:
                self.level = 0
        elif line.level and line.level <= self.level:
            self.level = 0
        self.lines += 1
        self.listed = self.listed or line.item

    def begin(self, level: int) -> None:
        self.level, self.lines, self.listed = level, 0, False


def stated(text: str, *, cut: bool = False) -> list[Statement]:
    """What the answer may state, in order, all of it outside false frames; `own` tells the rest.

    `text` is cleaned, `cut` = it may end within a sentence.
    """
    kept: list[Statement] = []
    last = Statement("", "", "")
    frame, head = _Frame(), ""
    text, tail = _finished(text) if cut else (text, "")
    for line in _lines(text):
        frame.meet(line)
        if line.level or not line.item:
            head = line.text if line.level and len(line.text) < 60 else ""
        if _poisons(line):
            frame.begin(line.level or 9)
        false = any_of(_CROSSED, line.text)
        for sentence in _sentences(line.text):
            low = _low(sentence)
            last.following = last.following or low
            last = Statement(sentence, low, low)
            if any_of(_RETRACT_STEMS, low) and _RETRACTS.search(low):
                kept.clear()
            elif "following" in low and _FALSE.search(low):
                frame.begin(9)
            elif not frame.level and not false:
                last = _keep(last, head if line.item else "", kept)
            false = false or (":" in low and bool(_FALSE.search(low[: low.find(":")])))
    last.following = last.following or spelling.lowered(tail)
    return [] if _RECONSIDERS.match(tail) else kept


def _low(text: str) -> str:
    return spelling.lowered(text).replace(f" {matcher.LINE_BREAK} ", " ")


def _keep(sentence: Statement, head: str, kept: list[Statement]) -> Statement:
    """The last of the statements that a sentence adds: its parts between semicolons, an item with its heading."""
    if head:
        text = f"{head} {sentence.text}"
        kept.append(Statement(text, _low(text), sentence.low))
    if ";" not in sentence.text:
        kept.append(sentence)
        return sentence
    parts = [part.strip() for part in sentence.text.split(";") if part.strip(" .")]
    added = [Statement(part, _low(part), sentence.low) for part in parts]
    for one, following in itertools.pairwise(added):
        one.following = following.low
    kept += added
    return added[-1] if added else sentence


def _finished(text: str) -> tuple[str, str]:
    """(the text up to its last finished sentence or line, the rest)."""
    end = max((m.end() for m in _UNFINISHED.finditer(text)), default=0)
    return text[:end], text[end:].strip()


def _poisons(line: _Line) -> bool:
    """A heading under which nothing is stated: misconceptions, or what an answer must mention."""
    low = spelling.lowered(line.text[:200]).rstrip(": ")
    if not line.level:
        return not line.item and low[-1:] not in ".!?" and bool(_HEADING.fullmatch(low))
    return bool(_FALSE.search(low) or _AIMED_HEAD.search(low)) or _aimed(low)


def _aimed(low: str) -> bool:
    """Words to the grader: about marks, rubrics and what an answer covers."""
    return any_of(_AIMED_STEMS, low) and _AIMED.search(low) is not None


def _own(low: str, echo: str) -> bool:
    """Not a question, an order, a word to the grader, a denied lead or a piece of the question."""
    if (
        low.rstrip("\"')]*_ ").endswith("?")
        or _IMPERATIVE.match(low)
        or _INVERTED.match(low)
        or _aimed(low)
    ):
        return False
    lead = low[: low.find(":")] if ":" in low else ""
    if lead and (_FALSE.search(lead) or _AIMED_HEAD.search(lead)):
        return False
    return not echo or len(low.split(None, 4)) < 4 or spelling.folded(low) not in echo


def _holds(text: str, quote: str) -> bool:
    """The quotation's pieces stand in the text in order, and are no words to the grader."""
    if _aimed(spelling.lowered(spelling.normalised(quote))):
        return False
    words, position = spelling.folded(text), 0
    for piece in re.split(r"\.{3}|…|\[\.{2,3}\]", quote):
        plain = _cleaned(spelling.normalised(piece))
        folded = spelling.folded(plain) if plain.strip(" .,;") else ""
        position = words.find(folded, position)
        if position < 0:
            return False
        position += len(folded)
    return True
