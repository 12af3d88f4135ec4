"""What of an answer may state a point: its sentences outside false frames, not taken back by a later one.

A question, an order, an echo of the question and words to the grader are no statements (`own`).
"""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass

from . import spelling
from .keypoints_lists import LINE_BREAK
from .keypoints_text import Line, cleaned, lines, sentences
from .spelling import any_of

_FALSE = re.compile(
    r"\b(?:none of|neither of|not (?:true|correct|right|the case|what happens)|untrue|false|incorrect|wrong|myths?"
    r"|misconceptions?|mistaken|mistakes?|(?:does|do|did) not happen|rejected|ruled out|discarded|the opposite is)\b"
)
_AIMED_HEAD = re.compile(
    r"\b(?:must|should|has to|have to|needs? to) (?:mention|include|state|cover|contain|say)\b"
    r"|\bpoints? to (?:mention|cover|include|make)\b|\b(?:expected|model|reference|sample) answers?\b"
    r"|\b(?:prompt|question|task|instructions?)\s*:?\Z"
)
_CROSSED = ("❌", "✗", "✘", "🚫", "☐", "[ ]")
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
    *("rubric", "grad", "examiner", "full ", "mark", "must", "should", "need", "point", "answer"),
    *("respon", "reply", "award", "give ", "ignore", "disregard", "pass", "score", "i ", "i've "),
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
    *("false", "wrong", "incorrect", "untrue", "not true", "not correct", "none of"),
    *("neither of", "the above", "opposite", "made ", "kidding", "scratch", "disregard"),
    *("forget"),
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

    def meet(self, line: Line) -> None:
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
    for line in lines(text):
        frame.meet(line)
        if line.level or not line.item:
            head = line.text if line.level and len(line.text) < 60 else ""
        if _poisons(line):
            frame.begin(line.level or 9)
        false = any_of(_CROSSED, line.text)
        for sentence in sentences(line.text):
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
    return spelling.lowered(text).replace(f" {LINE_BREAK} ", " ")


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


def _poisons(line: Line) -> bool:
    """A heading under which nothing is stated: misconceptions, or what an answer must mention."""
    low = spelling.lowered(line.text[:200]).rstrip(": ")
    if not line.level:
        return not line.item and low[-1:] not in ".!?" and bool(_HEADING.fullmatch(low))
    return bool(_FALSE.search(low) or _AIMED_HEAD.search(low)) or _aimed(low)


def _aimed(low: str) -> bool:
    """Words to the grader: about marks, rubrics and what an answer covers."""
    return any_of(_AIMED_STEMS, low) and _AIMED.search(low) is not None


def own(low: str, echo: str) -> bool:
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


def holds(text: str, quote: str) -> bool:
    """The quotation's pieces stand in the text in order, and are no words to the grader."""
    if _aimed(spelling.lowered(spelling.normalised(quote))):
        return False
    words, position = spelling.folded(text), 0
    for piece in re.split(r"\.{3}|…|\[\.{2,3}\]", quote):
        plain = cleaned(spelling.normalised(piece))
        folded = spelling.folded(plain) if plain.strip(" .,;") else ""
        position = words.find(folded, position)
        if position < 0:
            return False
        position += len(folded)
    return True
