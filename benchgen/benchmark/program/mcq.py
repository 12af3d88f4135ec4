"""Multiple choice: which label, or which labels, a reply settles on. Policy: score.py."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence

from . import declared, reading, spelling
from .corrections import corrections, retractions
from .lookalikes import plain_labels
from .mcq_undeclared import undeclared
from .options import Options, prepared
from .values import (
    AMBIGUOUS,
    LABEL_ONLY,
    LEADING,
    NOTHING,
    SENTENCE,
    Pick,
    boxed_at,
    label_spans,
    leading,
    read_value,
)
from .verdict import Score, judged, missed, unmeasured


def score(
    reply: str,
    target: object,
    choices: Sequence[str],
    *,
    truncated: bool = False,
    multi: bool = False,
) -> Score:
    """The verdict on one reply; `target` is a label, or a list of labels when several are right."""
    numbered = len(choices) > 26 and isinstance(target, str) and target.strip().isdecimal()
    options = prepared(tuple(choices), numbered)
    gold = options.targets(target)
    if not gold:
        return unmeasured("error", "unreadable_target")
    several = multi or isinstance(target, (list, tuple, set, frozenset))
    read = reading.read(reply, truncated=truncated)
    pick = _settled(read, options, several)
    if pick.labels:
        same, picked = options.same, pick.labels
        if len(picked) == len(gold) == 1:
            return judged(same[picked[0]] == same[gold[0]], options.labels[picked[0]])
        names = ",".join([options.labels[i] for i in picked])
        return judged({same[i] for i in picked} == {same[i] for i in gold}, names)
    if pick.reason == "truncated":
        return missed("truncated", read.note or "no_final_answer")
    if pick.final:
        status = "ambiguous" if pick.reason in AMBIGUOUS else "no_answer"
        return missed(status, pick.reason)
    return missed("no_answer", read.note or pick.reason or "undeclared")


MAX_PLACES = 64
"""Declarations looked at, from the last backwards, until one can be read."""


# --- what was settled on ---------------------------------------------------------------------


def _settled(read: reading.Reading, options: Options, several: bool) -> Pick:
    """The first part of the reply that settles on anything; later parts are other questions'."""
    first = NOTHING
    for number, part in enumerate(read.parts):
        part = part if options.lone_letters else plain_labels(part)
        cut = read.cut and number == len(read.parts) - 1
        low = spelling.lowered(part)
        pick = _before_the_cut(part, low, options, several) if cut else NOTHING
        if not cut:
            pick = _declared(part, low, options, several)
            if not pick.labels and not pick.final and not reading.refused(part):
                pick = undeclared(part, low, options, several)
                pick = _unless_taken_back(pick, part, low, 0, options, several)
        if pick.labels or (pick.final and pick.reason not in AMBIGUOUS):
            return pick
        if not first.reason:
            first = pick
    return first._replace(final=bool(first.reason)) if first.reason else first


def _before_the_cut(part: str, low: str, options: Options, several: bool) -> Pick:
    """A truncated text counts only by a whole answer line that nothing after it reconsiders."""
    end = part.rfind("\n") + 1
    for found in reversed(declared.declarations(part[:end], low[:end])[-MAX_PLACES:]):
        if not found.line or found.style == "pick":
            continue
        pick = read_value(declared.value_at(part[:end], found.value), options, several, bare=True)
        after = low[found.value :].partition("\n")[2]
        if pick.labels and not _RECONSIDERS.search(after):
            return pick
        break
    return Pick(reason="truncated")


_RECONSIDERS = re.compile(
    r"\b(?:wait|actually|however|reconsider|hmm|let me|let's|but|no,|correction|sorry|answer|mistake)\b"
)


def _declared(part: str, low: str, options: Options, several: bool) -> Pick:
    """The last readable declaration; one of a weaker kind only where there is no stronger one."""
    quick = _last_line(part, low, options, several)
    if quick.labels:
        return quick
    found = declared.declarations(part, low)
    places = [(d.value, d.style == "boxed", False) for d in found]
    places += [
        (m.end(), False, True)
        for m in corrections(low)
        if not _OF_A_LABEL.search(low, max(0, m.start() - 5), m.start())
    ]
    places.sort()
    weak = NOTHING
    for position, boxed, correction in reversed(places[-MAX_PLACES:]):
        value = boxed_at(part, position) if boxed else _value_text(part, position, several)
        pick = read_value(value, options, several, bare=boxed, direct=correction)
        if boxed and pick.labels and LABEL_ONLY.match(value) is None:
            weak = weak if weak.labels else pick
        elif pick.labels or pick.final:
            return _unless_taken_back(pick, part, low, position, options, several)
    if weak.labels:
        return weak
    for rule in (_verdicts, _opening):
        pick = rule(part, low, options, several)
        if pick.labels:
            return pick
    return _concluded(part, low, options, several)


def _unless_taken_back(
    pick: Pick, part: str, low: str, position: int, options: Options, several: bool
) -> Pick:
    """What was picked behind `position`, unless it is called wrong: then what stands after that, if anything."""
    said = next((m for m in retractions(low) if m.start() > position), None)
    if not pick.labels or said is None or said.start() - position > declared.MAX_VALUE:
        return pick
    between = part[position : said.start() + 1]
    spans = label_spans(between, options) or options.mentions(spelling.folded(between))
    if {index for _, _, index in spans} != set(pick.labels):
        return pick
    rest = part[said.end() :]
    for rule in (_concluded, undeclared):
        later = rule(rest, spelling.lowered(rest), options, several)
        if later.labels:
            return later
    return Pick(reason="retracted", final=True)


_VERDICT = re.compile(
    r"(?<![A-Za-z])\(?(?P<label>[A-Z]{1,2})\)?(?:\s?(?:项|項|选项|選項|답|は|이|가|은|는))?[ \t*:.)\u2013-]{0,5}"
    r"(?:(?:is|are|was|是|為|为)\s?)?(?:(?:clearly|definitely|also|thus|therefore|the) ){0,2}"
    r"(?P<verdict>not (?:correct|right|true)|isn't (?:correct|right|true)|incorrect|correct|wrong|right|true|false"
    r"|不正确|不正確|正确|正確|错误|錯誤|不对|不對|对|對|错|錯|正しい|誤り|[\u2705\u2713\u2714\u2611\u274c\u2717\u2718\u2716])"
    r"(?![A-Za-z])"
)
_POSITIVE = frozenset(
    ("correct", "right", "true", "正确", "正確", "对", "對", "正しい", *"\u2705\u2713\u2714\u2611")
)
_VERDICT_STEMS = (
    *("correct", "wrong", "right", "true", "false", "正", "错", "錯", "对", "對", "誤"),
    *"\u2705\u2713\u2714\u2611\u274c\u2717\u2718\u2716",
)
_NEITHER = re.compile(r"\b(?:neither|nor|both|or|and)\s\(?\Z", re.IGNORECASE)
# `A is not correct; B is.`
_BUT_IS = re.compile(
    r"(?:[;,]|\bbut\b|\bwhile\b|\bwhereas\b)\s{1,3}(?:but )?(?:only )?\(?(?P<label>[A-Z]{1,2})\)? is\b[\s.!*]{0,5}(?:\Z|\n|(?<=[.!]) )"
)


def _verdicts(part: str, low: str, options: Options, several: bool) -> Pick:
    """Labels that are each called right or wrong: those called right, if any label is called wrong too."""
    if not spelling.any_of(_VERDICT_STEMS, low):
        return NOTHING
    called: dict[int, bool] = {}
    for match in _VERDICT.finditer(part):
        index = options.index.get(match["label"])
        if index is None or _NEITHER.search(part[max(0, match.start() - 10) : match.start()]):
            continue
        called[index] = match["verdict"] in _POSITIVE
    elliptic = _BUT_IS.search(part)
    if elliptic and elliptic["label"] in options.index:
        called[options.index[elliptic["label"]]] = True
    right = tuple(sorted(index for index, said in called.items() if said))
    sure = len(called) > len(right) or (elliptic is not None and bool(right))
    return Pick(right) if right and sure and (several or len(right) == 1) else NOTHING


_TURNS = re.compile(
    r"\b(?:wait|actually|correction|on second thought|i mean|scratch that|but the answer)\b"
)
_YES_NO = frozenset(("yes", "no", "true", "false"))


def _opening(part: str, low: str, options: Options, several: bool) -> Pick:
    """`False. Many believe it is true.`: the option whose whole text the reply opens with.

    Not where it is the first of a list of options, or is taken back.
    """
    text = part.strip()
    first = re.split(r"[.!,;:\n]", text, maxsplit=1)[0]
    index = options.find(declared.peeled(first)) if len(first) < len(text) else None
    if index is None or several or "?" in first or _TURNS.search(low):
        return NOTHING
    comma = text[len(first) : len(first) + 1] in (",", ";", ":")
    if comma and spelling.folded(first) not in _YES_NO:
        return NOTHING
    for line in SENTENCE.split(text[len(first) + 1 :]):
        if options.find(declared.peeled(line)) is not None or leading(line.strip(), options, False):
            return NOTHING
    return Pick((index,))


def _last_line(part: str, low: str, options: Options, several: bool) -> Pick:
    """The common case without a search: the last line is `Answer: X` and nothing else."""
    at = low.rfind("answer:")
    if several or at < 0 or (at and part[at - 1] != "\n") or "\n" in low[at:].rstrip():
        return NOTHING
    value = part[at + 7 :].strip()
    index = options.label(value) if len(value) <= 2 else None
    index = options.find(value) if index is None else index
    return NOTHING if index is None else Pick((index,))


def _value_text(part: str, position: int, several: bool) -> str:
    """The declared line; where several are asked and the line is empty, the list of labels below it."""
    value = declared.value_at(part, position)
    if not several or part[position:].split("\n", 1)[0].strip(" *_:"):
        return value
    lines = [line.strip() for line in part[position:].split("\n")[1:] if line.strip()]
    items = [line.lstrip("-*+> ") for line in lines]
    listed = list(itertools.takewhile(LEADING.match, items))
    return "; ".join(map(declared.peeled, listed)) if len(listed) > 1 else value


_OF_A_LABEL = re.compile(r"(?:[(\[][a-z]{1,2}[)\]]|\b[a-z]\)|\b[a-z]:)[ ]\Z")
"""`(A) no, (C) no`: what is denied there is the label before it."""
_CONCLUSION = re.compile(
    r"\b(?:so|thus|therefore|hence|consequently|leaving|leaves|which leaves|leaves us with|left with|conclude"
    r"|concluding|only|must be|has to be|have to be|it's|it is|this is|that's|that is|conclusion:)\b[ ,:]{0,3}"
    r"(?:only |just |with |that |it(?:'s| is| must be| has to be) |this is |we have |(?:the )?(?:option|choice|letter) |is ){0,3}"
)
_CONCLUSION_STEMS = (
    "so",
    "thus",
    "hence",
    "leav",
    "left",
    "conclu",
    "only",
    "be ",
    "it",
    "that",
    "this",
    "efore",
)
_IS_RIGHT = re.compile(
    r"(?<![\w'])\(?(?P<label>[A-Z]{1,2})\)?[*\"'`)]{0,3}[ ,]{1,2}(?:is|must be|would be|seems|looks|seems to be)"
    r"(?: \w{2,10}ly| therefore| thus| also)?(?: the)?(?: (?:only|most|one|single))?(?: \w{2,10}ly)?"
    r" (?:correct|right|true|best|answer|valid|accurate|appropriate)\b(?!\?| only)"
)


_REJECTS = re.compile(
    r"\b(?:neither|nor|not that|n't think|not think|doubt|if|whether)\b[^.;!?\n]*\Z"
)


def _concluded(part: str, low: str, options: Options, several: bool) -> Pick:
    """`Therefore C`, `leaving D`, `B is correct`: the last of them."""
    places = []
    if spelling.any_of(_CONCLUSION_STEMS, low):
        places += [(m.end(), "") for m in _CONCLUSION.finditer(low)]
    rights = {
        m["label"]: m.start()
        for m in _IS_RIGHT.finditer(part)
        if m["label"] in options.index
        and not _REJECTS.search(low, max(0, m.start() - 80), m.start())
    }
    if several and len(rights) > 1:
        return Pick(tuple(sorted(options.index[label] for label in rights)))
    places += [(at, label) for label, at in rights.items()]
    for position, label in sorted(places)[: -MAX_PLACES - 1 : -1]:
        if label:
            return Pick((options.index[label],))
        line_end = part.find("\n", position)
        line_end = line_end if line_end >= 0 else len(part)
        value = declared.peeled(part[position : min(line_end, position + declared.MAX_VALUE)])
        pick = read_value(value, options, several, direct=True)
        if pick.labels:
            return pick
    return NOTHING
