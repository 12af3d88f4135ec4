"""Multiple choice: which label, or which labels, a reply settles on. Policy: score.py."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache

from . import reading
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
    options = _options(tuple(choices), numbered)
    gold = options.targets(target)
    if gold is None:
        return unmeasured("error", "unreadable_target")
    several = multi or isinstance(target, (list, tuple, set, frozenset))
    read = reading.read(reply, truncated=truncated)
    pick = _settled(read, options, several)
    if pick.labels:
        names = ",".join(options.labels[i] for i in pick.labels)
        texts = {options.same[i] for i in pick.labels}
        return judged(texts == {options.same[i] for i in gold}, names)
    if pick.reason == "truncated":
        return missed("truncated", read.note or "no_final_answer")
    if pick.final:
        status = "ambiguous" if pick.reason in _AMBIGUOUS else "no_answer"
        return missed(status, pick.reason)
    return missed("no_answer", read.note or pick.reason or "undeclared")


MAX_PLACES = 64
"""Declarations looked at, from the last backwards, until one can be read."""
MAX_UNDECLARED = 8000
"""Characters; a longer reply that declares nothing is no answer."""

# --- options ---------------------------------------------------------------------------------


class Options:
    """The options of one question, prepared once: labels, and texts to compare by."""

    def __init__(self, choices: tuple[str, ...], numbered: bool = False) -> None:
        texts = [reading.normalised(str(choice)) for choice in choices]
        self.labels = [_label(i, numbered) for i in range(len(choices))]
        self.index = {label: i for i, label in enumerate(self.labels)}
        self.strict: dict[str, int] = {}
        self.loose: dict[str, int] = {}
        self.same: list[int] = []
        """The first option with the same text: either label of such a pair is as right."""
        for i, text in enumerate(texts):
            exact, words = reading.squeezed(text), reading.folded(text)
            self.same.append(self.strict.setdefault(exact, i))
            known = self.loose.setdefault(words, self.same[i])
            if known != self.same[i]:
                self.loose[words] = -1  # differ by punctuation alone: only the exact text decides
        self.longest = 2 * max(map(len, texts), default=0) + 40
        """Characters; a longer text is no option's, whatever marks and spaces are folded."""
        self.by_length = sorted(
            ((words, i) for words, i in self.loose.items() if i >= 0 and words),
            key=lambda pair: -len(pair[0]),
        )

    @cached_property
    def words(self) -> list[str]:
        by_index = {i: words for words, i in self.loose.items()}
        return [by_index.get(i, "") for i in self.same]

    def find(self, text: str) -> int | None:
        """The option whose whole text this is."""
        if len(text) > self.longest:
            return None
        found = self.strict.get(reading.squeezed(text))
        if found is None:
            found = self.loose.get(reading.folded(text), -1)
        return found if found >= 0 else None

    def label(self, token: str) -> int | None:
        return self.index.get(token.upper())

    def targets(self, target: object) -> tuple[int, ...] | None:
        """Indices of the right options; None when the target names none of them."""
        items = target if isinstance(target, (list, tuple, set, frozenset)) else [target]
        found = []
        for item in items:
            if not isinstance(item, str) or not item.strip():
                return None
            index = self.label(item.strip())
            index = self.find(reading.normalised(item)) if index is None else index
            if index is None:
                return None
            found.append(index)
        return tuple(found)

    def mentions(self, words: str) -> list[tuple[int, int, int]]:
        """(start, end, option) in folded words: longest texts first, none inside another."""
        found: list[tuple[int, int, int]] = []
        taken = bytearray(len(words))
        for text, index in self.by_length:
            at = words.find(text)
            while at >= 0:
                end = at + len(text)
                if _whole(words, at, end) and not (taken[at] or taken[end - 1]):
                    taken[at:end] = b"\1" * len(text)
                    found.append((at, end, index))
                    at = words.find(text, end)
                else:
                    at = words.find(text, at + 1)
        return sorted(found)


@lru_cache(maxsize=4096)
def _options(choices: tuple[str, ...], numbered: bool) -> Options:
    return Options(choices, numbered)


def _label(index: int, numbered: bool) -> str:
    """A … Z, then AA, AB …, or 1, 2 … where the target is such a number; a label is one token."""
    if numbered and index >= 26:
        return str(index - 25)
    return (chr(64 + index // 26) if index >= 26 else "") + chr(65 + index % 26)


def _whole(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] == " ") and (end == len(text) or text[end] == " ")


# --- what was settled on ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Pick:
    labels: tuple[int, ...] = ()
    reason: str = ""
    final: bool = False
    """A declaration that nothing before it can stand in for, even if it names no option."""


NOTHING = Pick()
_AMBIGUOUS = ("several_options", "label_contradicts_text")
_OUT = Pick(reason="out_of_set", final=True)
_MANY = Pick(reason="several_labels", final=True)
_CONTRADICTION = Pick(reason="label_contradicts_text", final=True)


def _settled(read: reading.Reading, options: Options, several: bool) -> Pick:
    """The first part of the reply that settles on anything; later parts are other questions'."""
    first = NOTHING
    for number, part in enumerate(read.parts):
        cut = read.cut and number == len(read.parts) - 1
        low = reading.lowered(part)
        pick = _before_the_cut(part, low, options, several) if cut else NOTHING
        if not cut:
            pick = _declared(part, low, options, several)
            if not pick.labels and not pick.final and not reading.refused(part):
                pick = _undeclared(part, low, options, several)
        if pick.labels or (pick.final and pick.reason not in _AMBIGUOUS):
            return pick
        if not first.reason:
            first = pick
    return replace(first, final=bool(first.reason))


def _before_the_cut(part: str, low: str, options: Options, several: bool) -> Pick:
    """A truncated text counts only by a whole answer line that nothing after it reconsiders."""
    end = part.rfind("\n") + 1
    for found in reversed(reading.declarations(part[:end], low[:end])[-MAX_PLACES:]):
        if not found.line or found.style == "pick":
            continue
        pick = _value(reading.value_at(part[:end], found.value), options, several, bare=True)
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
    found = reading.declarations(part, low)
    places = [(d.value, d.style == "boxed", False) for d in found]
    if found or _might_correct(low):
        places += [(m.end(), False, True) for m in _CORRECTION.finditer(low)]
        places.sort()
    weak = NOTHING
    for position, boxed, correction in reversed(places[-MAX_PLACES:]):
        value = _boxed(part, position) if boxed else _value_text(part, position, several)
        pick = _value(value, options, several, bare=boxed, direct=correction)
        if boxed and pick.labels and _LABEL_ONLY.match(value) is None:
            weak = weak if weak.labels else pick
        elif pick.labels or pick.final:
            return pick
    return weak if weak.labels else _concluded(part, low, options, several)


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
    value = reading.value_at(part, position)
    if not several or part[position:].split("\n", 1)[0].strip(" *_:"):
        return value
    lines = [line.strip() for line in part[position:].split("\n")[1:] if line.strip()]
    items = [line.lstrip("-*+> ") for line in lines]
    listed = [item for item in itertools.takewhile(_LEADING.match, items)]
    return "; ".join(map(reading.peeled, listed)) if len(listed) > 1 else value


_CORRECTION = re.compile(
    r"\b(?:no|wait|actually|sorry|correction|scratch that|i mean|rather|make that)\b[ ,.:;!-]{1,4}"
    r"(?:(?:no|wait|actually|sorry)[ ,.:;!-]{1,4})?"
    r"(?:i mean |make that |it(?:'s| is| must be| should be) |that(?:'s| is) |the (?:correct )?(?:answer|option|one) is )?"
)
_CONCLUSION = re.compile(
    r"\b(?:so|thus|therefore|hence|consequently|leaving|leaves|which leaves|leaves us with|left with|conclude"
    r"|concluding|only|must be|has to be|have to be|it's|it is|this is|that's|that is|conclusion:)\b[ ,:]{0,3}"
    r"(?:only |just |with |that |it(?:'s| is| must be| has to be) |this is |we have |(?:the )?(?:option|choice|letter) |is ){0,3}"
)
_CONCLUSION_STEMS = ("so", "thus", "hence", "leav", "left", "conclu", "only", "be ", "it", "that", "this", "efore")
_IS_RIGHT = re.compile(
    r"(?<![\w'])\(?(?P<label>[A-Z]{1,2})\)?[*\"'`)]{0,3}[ ,]{1,2}(?:is|must be|would be|seems|looks|seems to be)"
    r"(?: \w{2,10}ly| therefore| thus| also)?(?: the)?(?: (?:only|most|one|single))?(?: \w{2,10}ly)?"
    r" (?:correct|right|true|best|answer|valid|accurate|appropriate)\b(?!\?| only)"
)


def _might_correct(low: str) -> bool:
    return "wait" in low or "actually" in low or "mean" in low or "correction" in low


def _concluded(part: str, low: str, options: Options, several: bool) -> Pick:
    """`Therefore C`, `leaving D`, `B is correct`: the last of them."""
    places = []
    if reading.any_of(_CONCLUSION_STEMS, low):
        places += [(m.end(), "") for m in _CONCLUSION.finditer(low)]
    rights = {
        m["label"]: m.start() for m in _IS_RIGHT.finditer(part) if m["label"] in options.index
    }
    if several and len(rights) > 1:
        return Pick(tuple(sorted(options.index[label] for label in rights)))
    places += [(at, label) for label, at in rights.items()]
    for position, label in sorted(places)[: -MAX_PLACES - 1 : -1]:
        if label:
            return Pick((options.index[label],))
        line_end = part.find("\n", position)
        line_end = line_end if line_end >= 0 else len(part)
        value = reading.peeled(part[position : min(line_end, position + reading.MAX_VALUE)])
        pick = _value(value, options, several, direct=True)
        if pick.labels:
            return pick
    return NOTHING


def _undeclared(part: str, low: str, options: Options, several: bool) -> Pick:
    """A reply that is an answer without saying so; else the one option that it names at all."""
    text = part.strip()
    if not text or len(text) > MAX_UNDECLARED:
        return NOTHING
    whole = _value(reading.peeled(text), options, several, bare=True)
    if whole.labels or whole.final:
        return whole
    lines = [line for line in map(reading.peeled, text.split("\n")) if line]
    pick = _by_line(lines, options, several)
    if pick.labels or pick.final:
        return pick
    pick = _in_brackets(text, options, several)
    return pick if pick.labels or pick.final else _named(text, options, several)


_BULLET = re.compile(r"(?:[^\w\s(\[<\"'$\\+.-]|\d{1,2}[.)](?=\s)|[-*+>](?=\s)|\s)*")


def _by_line(lines: list[str], options: Options, several: bool) -> Pick:
    """Lines that are a label, or begin with one; a list of all the options is no answer."""
    bare: dict[int, None] = {}
    led: dict[int, None] = {}
    for line in lines:
        line = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
        pick = _value(line, options, False, bare=True)
        if pick.labels:
            bare[pick.labels[0]] = None
            continue
        pick = _leading(line, options, False) or NOTHING
        if pick.labels:
            pick = _in_sentence(line, options, True) if several else pick
            led.update(dict.fromkeys(pick.labels))
    for found in (bare, led):
        if len(found) == 1 or (several and 1 < len(found) < len(options.labels)):
            last_only = found is bare or len(lines) == 1 or not several
            return Pick(tuple(sorted(found))) if last_only else NOTHING
    ending = _SENTENCE.split(lines[-1])[-1] if lines else ""
    last = _value(ending, options, several, bare=True)
    restated = len(bare) + len(led) >= len(options.labels)
    if last.labels and not restated and len(bare) <= 1:
        return last
    return Pick(reason="several_options") if len(bare) > 1 else NOTHING


_BRACKETED = re.compile(r"[(\[]([A-Z]{1,2})[)\]]|\b(?:[Oo]ption|[Cc]hoice|[Ll]etter) ([A-Z]{1,2})\b")


_BRACKET_STEMS = (")", "]", "ption ", "hoice ", "etter ")


def _in_brackets(text: str, options: Options, several: bool) -> Pick:
    """`... chloroplasts (C).` or `Option C`, if only one label stands so and is not denied."""
    found: dict[int, None] = {}
    if not reading.any_of(_BRACKET_STEMS, text):
        return NOTHING
    for sentence in _SENTENCE.split(text):
        spans = []
        for match in _BRACKETED.finditer(sentence):
            index = options.index.get(match[1] or match[2])
            if index is not None:
                spans.append((match.start(), match.end(), index))
        found.update(dict.fromkeys(_standing(reading.lowered(sentence), spans)))
    if len(found) == 1 or (several and found):
        return Pick(tuple(sorted(found)))
    return Pick(reason="several_options") if found else NOTHING


def _named(text: str, options: Options, several: bool) -> Pick:
    """The one option whose text stands undenied in the reply."""
    found: dict[int, None] = {}
    for sentence in _SENTENCE.split(text):
        words = reading.folded(sentence)
        found.update(dict.fromkeys(_standing(words, options.mentions(words))))
    if len(found) == 1:
        return Pick(tuple(found))
    return Pick(reason="several_options") if found else NOTHING


# --- one declared value ----------------------------------------------------------------------

# What continues a word; scripts without spaces between words do not.
_LETTER = r"[A-Za-z0-9_'\u00aa-\u06ff]"
_SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LISTED = re.compile(r"(?<=[.!?])(?<![A-Z]\.)\s+|\n+")  # the stop of `A. text` ends no sentence
_LABEL_ONLY = re.compile(
    r"[(\[\"'<]{0,4}(?:(?:the )?(?:option|choice|answer|letter)\s)?[(\[\"'*<]{0,4}([a-z]{1,2}|\d{1,3})\s?[)\]\"'*.,:;!}>]{0,8}\s*\Z",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"[(\[\"'<]{0,4}(?:(?:[Tt]he )?(?:[Oo]ption|[Cc]hoice|[Aa]nswer|[Ll]etter)\s)?(?P<open>[(\[\"'*]{0,4})"
    r"(?:(?P<upper>[A-Z]{1,2})|(?P<lower>[a-z]{1,2})(?=[)\].:]))(?!"
    + _LETTER
    + r")(?P<close>[)\]\"'*.:]{0,8})"
)
_COMPACT = re.compile(r"[(\[{]{0,4}([A-Z]{2,26})[)\]}.!]{0,4}\Z")
# What may follow the letter A, or I, where it is a label and not an article or a pronoun.
_AFTER_LABEL = re.compile(
    r"\s*(?:\Z|[^\w\s]|\d|[^\x00-\u06ff]|(?:because|since|as|for|which|that|is|was|are|and|or|but|so|due|given|not|though"
    r"|based|from|if|in|by|with|would|seems|must|rather|instead|here|where|when|while|has|only|too|also"
    r"|definitely|clearly|obviously|then|correctly|best|matches|states|describes|says)\b)"
)
_AND = re.compile(
    r"[)\]\"'*]{0,3}\s*(?:,\s*(?:and|or)?|/|&|\+|;|\band/or\b|\band\b|\bor\b)\s*(?:also |possibly |maybe |option |both )?"
    r"[(\[\"'*]{0,3}(?P<label>[A-Z]{1,2})(?!"
    + _LETTER
    + r")(?!\)?\s+(?:is|was|are|has|have|had|does|did|do|would|will|can|cannot|could"
    r"|says|refers|means|describes|rarely|never|never|[a-z]{3,}(?:s|ed))\b)"
)


def _boxed(text: str, position: int) -> str:
    """What stands in the braces that open before `position`."""
    depth, limit = 1, min(len(text), position + 400)
    for at in range(position, limit):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return reading.peeled(text[position:at])
    return ""


def _value(
    value: str, options: Options, several: bool, *, bare: bool = False, direct: bool = False
) -> Pick:
    """What a declared value names. `bare`: it must be nothing else; `direct`: it must come first."""
    filler = reading.FILLER.match(value)
    if filler and not direct:
        found = options.find(value)
        value = value[filler.end() :] if found is None else value
    only = _LABEL_ONLY.match(value)
    if only and "?" not in value:
        token = only[1]
        index = options.label(token)
        if index is not None:
            return Pick((index,))
    found = options.find(value)
    if found is not None:
        return Pick((found,))
    if only and len(only[1]) == 1 and not direct and "?" not in value and only[1].isalpha():
        return _OUT
    if several:
        listed = _list(value, options)
        if listed.labels or listed.final:
            return listed
    if not several:
        compact = _COMPACT.match(value)
        if compact and all(letter in options.index for letter in compact[1]) and not direct:
            return _MANY if len(set(compact[1])) > 1 else NOTHING
    pick = _leading(value, options, several)
    if several and not bare and not direct:
        return _in_sentence(value, options, several)
    if bare:
        return _consistent(pick, value, options) if pick else NOTHING
    if pick:
        return pick
    if direct:
        return _text_first(value, options)
    return _in_sentence(value, options, several)


def _consistent(pick: Pick, value: str, options: Options) -> Pick:
    """A leading label counts as a bare answer only with nothing, or with its own text, after it."""
    match = _LEADING.match(value)
    rest = value[match.end() :] if match else ""
    if pick.final or not pick.labels:
        return pick
    return pick if options.find(rest) is not None or not rest.strip(" .)*") else NOTHING


def _leading(value: str, options: Options, several: bool) -> Pick | None:
    """The label that a value begins with; None when it begins with none."""
    match = _LEADING.match(value)
    if match is None:
        return None
    token, rest = match["upper"] or match["lower"], value[match.end() :]
    index = options.label(token)
    marked = bool(match["close"].strip("\"'") or match["open"].strip("\"'"))
    if not marked and token in ("A", "I") and not _AFTER_LABEL.match(rest):
        named = options.find(rest)
        if named is None or named != options.same[index if index is not None else named]:
            return None
    if "?" in rest[:2]:
        return None
    if index is None:
        return _OUT if match["close"][:1] in (")", "]") or match["open"][:1] in ("(", "[") else None
    after = reading.lowered(rest[:60])
    if _DENIED_AFTER.match(after):
        return None
    if not several and (more := _AND.match(value, match.end() - len(match["close"]))):
        return _MANY if more["label"] in options.index and more["label"] != token else Pick((index,))
    named = options.find(rest.strip(" -:.)*("))
    if named is not None and named != options.same[index]:
        return _CONTRADICTION
    return Pick((index,))


def _text_first(value: str, options: Options) -> Pick:
    """The option whose text the value begins with."""
    words = reading.folded(_SENTENCE.split(value, 1)[0])
    spans = options.mentions(words)
    if not spans or spans[0][0] != 0:
        return NOTHING
    standing = _standing(words, spans)
    return Pick((standing[0],)) if len(standing) == 1 else NOTHING


def _in_sentence(value: str, options: Options, several: bool) -> Pick:
    """The label or option text that the value's first sentence affirms, if it is only one."""
    sentence = (_LISTED if several else _SENTENCE).split(value, maxsplit=1)[0]
    if sentence.endswith("?"):
        return NOTHING
    words = reading.folded(value)
    spans = options.mentions(words)
    if spans and spans[0][0] == 0:  # an option's text may hold a full stop: St. Helens
        head = words[: spans[0][1]]
        sentence = sentence if len(reading.folded(sentence)) >= len(head) else value
    words = reading.folded(sentence)
    named = _standing(words, options.mentions(words))
    labelled = _standing(reading.lowered(sentence), _label_spans(sentence, options))
    found = dict.fromkeys(labelled or named)
    if several and found:
        return Pick(tuple(sorted(found)))
    if len(found) == 1:
        (index,) = found
        named_other = [i for i in named if i != options.same[index]]
        return _CONTRADICTION if labelled and len(named) == 1 and named_other else Pick((index,))
    return replace(_MANY, reason="several_labels" if labelled else "several_options") if found else NOTHING


_LABEL_TOKEN = re.compile(r"(?<!" + _LETTER + r")(?<![$\\])([A-Z]{1,2})(?!" + _LETTER + ")")


def _label_spans(sentence: str, options: Options) -> list[tuple[int, int, int]]:
    spans = []
    for match in _LABEL_TOKEN.finditer(sentence):
        index = options.index.get(match[1])
        if index is None:
            continue
        bracketed = sentence[match.end() : match.end() + 1] in (")", "]")
        if match[1] in ("A", "I") and not bracketed and not _AFTER_LABEL.match(sentence, match.end()):
            continue
        spans.append((match.start(), match.end(), index))
    return spans


# --- negation --------------------------------------------------------------------------------

_DENY = re.compile(
    r"(?P<no>\b(?:not|never|neither|nor|cannot|cant|isnt|arent|wasnt|doesnt|dont|wont|couldnt|wouldnt|unlikely"
    r"|rules? out|ruled out|ruling out|eliminat\w{1,4}|exclud\w{1,4}|discard\w{0,3}|reject\w{0,3}|dismiss\w{0,3}"
    r"|incorrect|wrong|false|instead of|rather than|unlike|except|than|compared to|as opposed to)\b|n't\b)"
    r"|(?P<yes>\b(?:but|leaving|leaves|leave|left|so|therefore|thus|hence|it's|it is|its|must be|has to be|is actually|which is"
    r"|making|remains?|remaining|only|correct|right|instead(?! of))\b|;)"
)
_DENIED_AFTER = re.compile(
    r"[)\]\"'*]{0,3}\s*(?:(?:and|or|,|/)\s*\(?[a-z]\)?\s*){0,4}"
    r"(?:(?:is|are|was|were|can|could|would|must|does|do|did|will|should|has|have)(?: (?:be|also|clearly|definitely|both))?"
    r"(?:n't\b|nt\b| not\b(?! only)| wrong\b| incorrect\b| false\b| out\b| eliminated\b| excluded\b| impossible\b| unlikely\b| ruled\b)"
    r"|[:-]?\s*(?:wrong\b|incorrect\b|false\b|ruled out\b|eliminated\b|excluded\b|cannot\b|cant\b|can't\b)"
    r"|ではな|じゃな|不是|不对|不對|错|錯|が違|は違)"
)
_ONCE = ("instead of", "rather than", "unlike", "except", "than", "compared to", "as opposed to")


def _standing(low: str, spans: Iterable[tuple[int, int, int]]) -> list[int]:
    """The options of those spans, in order, that their clause does not deny; each once."""
    spans = list(spans)
    if not spans:
        return []
    turns = [(m.start(), m.end(), m["yes"] is None, m[0]) for m in _DENY.finditer(low)]
    standing: dict[int, None] = {}
    at, denied, once = 0, False, False
    for start, end, index in spans:
        while at < len(turns) and turns[at][0] < start:
            if turns[at][1] <= start:
                denied, once = turns[at][2], turns[at][3] in _ONCE
            at += 1
        while at < len(turns) and turns[at][0] < end:  # a denying word inside the option's own text
            at += 1
        if not denied and not _DENIED_AFTER.match(low, end):
            standing[index] = None
        if once:
            denied = once = False
    return list(standing)


# --- several right options -------------------------------------------------------------------

_LIST_ITEM = re.compile(r"\s*(?:,|/|&|\+|;|\band\b|\bor\b|\s)\s*", re.IGNORECASE)


def _list(value: str, options: Options) -> Pick:
    """`A, C` `A and C` `(A, C)` `AC` `a, c`, or option texts so listed."""
    inner = value[:400].strip(" .!()[]{}<>\"'*")
    if inner.isalpha() and inner.isupper() and len(inner) <= len(options.labels) <= 26:
        if all(letter in options.index for letter in inner):
            return Pick(tuple(sorted({options.index[letter] for letter in inner})))
    items = [item.strip(" ()[]{}.:\"'*") for item in _LIST_ITEM.split(inner)]
    items = [item for item in items if item and item.lower() not in ("and", "options", "option", "both")]
    if not items or len(items) > 60:
        return NOTHING
    if all(len(item) <= 2 and item.isalpha() for item in items):
        found = [options.label(item) for item in items]
        if None in found:
            return _OUT if all(item.isupper() for item in items) else NOTHING
        return Pick(tuple(sorted({i for i in found if i is not None})))
    return NOTHING
