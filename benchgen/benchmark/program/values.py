"""What one declared value names: labels or option texts, lists of them, and what is denied."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from . import spelling
from .declared import FILLER, peeled
from .options import Options


class Pick(NamedTuple):
    """The options that a text settles on, or why it settles on none."""

    labels: tuple[int, ...] = ()
    reason: str = ""
    final: bool = False
    """A declaration that nothing before it can stand in for, even if it names no option."""


NOTHING = Pick()
AMBIGUOUS = ("several_options", "label_contradicts_text")
_OUT = Pick(reason="out_of_set", final=True)
_MANY = Pick(reason="several_labels", final=True)
_CONTRADICTION = Pick(reason="label_contradicts_text", final=True)


# --- one value -------------------------------------------------------------------------------

# What continues a word; scripts without spaces between words do not.
_LETTER = r"[A-Za-z0-9_'\u00aa-\u06ff]"
SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")
_LISTED = re.compile(r"(?<=[.!?])(?<![A-Z]\.)\s+|\n+")  # the stop of `A. text` ends no sentence
LABEL_ONLY = re.compile(
    r"[(\[\"'<]{0,4}(?:(?:the )?(?:option|choice|answer|letter)\s)?[(\[\"'*<]{0,4}([a-z]{1,2}|\d{1,3})\s?[)\]\"'*.,:;!}>]{0,8}\s*\Z",
    re.IGNORECASE,
)
LEADING = re.compile(
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
    r"|definitely|clearly|obviously|then|correctly|best|matches|states|describes|says|vs|versus)\b"
    r"|(?:sondern|sino|mais|ma|mas|utan|maar|lecz|ale)\s(?:die |la |le |el |il |a )?\(?[A-Z]\b)"
)
_AND = re.compile(
    r"[)\]\"'*]{0,3}\s*(?:[,;]\s*(?:and|or)?|/|&|\+|\||~|=(?!>)|-{1,2}(?=\s?\(?[A-Z]{1,2}\)?\W*\Z)|-{0,2}>|=>|→|\band/or\b|\band\b|\bor\b|\bversus\b|\bvs\b\.?)\s*(?:also |possibly |maybe |option |both )?"
    r"[(\[\"'*]{0,3}(?P<label>[A-Z]{1,2})(?!"
    + _LETTER
    + r")(?!\)?\s+(?:is|was|are|has|have|had|does|did|do|would|will|can|cannot|could"
    r"|says|refers|means|describes|rarely|never|never|[a-z]{3,}(?:s|ed))\b)"
)


def boxed_at(text: str, position: int) -> str:
    """What stands in the braces that open before `position`."""
    depth, limit = 1, min(len(text), position + 400)
    for at in range(position, limit):
        depth += (text[at] == "{") - (text[at] == "}")
        if depth == 0:
            return peeled(text[position:at])
    return ""


def read_value(
    value: str, options: Options, several: bool, *, bare: bool = False, direct: bool = False
) -> Pick:
    """What a declared value names. `bare`: it must be nothing else; `direct`: it must come first."""
    filler = None if direct else FILLER.match(value)
    if filler and options.find(value) is None:
        value = value[filler.end() :]
    pick = _exact(value, options, several, direct)
    if pick.labels or pick.final:
        return pick
    if several and not bare and not direct:
        return in_sentence(value, options, several)
    led = leading(value, options, several)
    if bare:
        return _consistent(led, value, options) if led else NOTHING
    if led:
        return led
    return _text_first(value, options) if direct else in_sentence(value, options, several)


def _exact(value: str, options: Options, several: bool, direct: bool) -> Pick:
    """What a value names that is a label, an option's text or a list of labels, and nothing else."""
    only = LABEL_ONLY.match(value) if "?" not in value else None
    index = options.label(only[1]) if only else None
    index = options.find(value) if index is None else index
    if index is not None:
        return Pick((index,))
    if direct:
        return NOTHING
    if only and len(only[1]) == 1 and only[1].isalpha():
        return _OUT
    if several:
        return _list(value, options)
    compact = _COMPACT.match(value)
    letters = set(compact[1]) if compact else set()
    return _MANY if len(letters) > 1 and letters <= options.index.keys() else NOTHING


def _consistent(pick: Pick, value: str, options: Options) -> Pick:
    """A leading label counts as a bare answer only with nothing, or with its own text, after it."""
    match = LEADING.match(value)
    rest = value[match.end() :] if match else ""
    if pick.final or not pick.labels:
        return pick
    return pick if options.find(rest) is not None or not rest.strip(" .)*") else NOTHING


def leading(value: str, options: Options, several: bool) -> Pick | None:
    """The label that a value begins with; None when it begins with none."""
    match = LEADING.match(value)
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
    after = spelling.lowered(rest[:60])
    if _DENIED_AFTER.match(after):
        return None
    if not several and (more := _AND.match(value, match.end() - len(match["close"]))):
        return (
            _MANY if more["label"] in options.index and more["label"] != token else Pick((index,))
        )
    named = options.find(rest.strip(" -:.)*("))
    if named is not None and named != options.same[index]:
        return _CONTRADICTION
    return Pick((index,))


def _text_first(value: str, options: Options) -> Pick:
    """The option whose text the value begins with."""
    words = spelling.folded(SENTENCE.split(value, 1)[0])
    spans = options.mentions(words)
    if not spans or spans[0][0] != 0:
        return NOTHING
    named = standing(words, spans)
    return Pick((named[0],)) if len(named) == 1 else NOTHING


def in_sentence(value: str, options: Options, several: bool) -> Pick:
    """The label or option text that the value's first sentence affirms, if it is only one."""
    sentence = (_LISTED if several else SENTENCE).split(value, maxsplit=1)[0]
    if sentence.endswith("?"):
        return NOTHING
    words = spelling.folded(value)
    spans = options.mentions(words)
    if spans and spans[0][0] == 0:  # an option's text may hold a full stop: St. Helens
        head = words[: spans[0][1]]
        sentence = sentence if len(spelling.folded(sentence)) >= len(head) else value
    words = spelling.folded(sentence)
    named = standing(words, options.mentions(words))
    labelled = standing(spelling.lowered(sentence), label_spans(sentence, options))
    found = dict.fromkeys(labelled or named)
    if several and found:
        return Pick(tuple(sorted(found)))
    if len(found) == 1:
        (index,) = found
        named_other = [i for i in named if i != options.same[index]]
        return _CONTRADICTION if labelled and len(named) == 1 and named_other else Pick((index,))
    return _MANY if found else NOTHING


_LABEL_TOKEN = re.compile(r"(?<!" + _LETTER + r")(?<![$\\])([A-Z]{1,2})(?!" + _LETTER + ")")


def label_spans(sentence: str, options: Options) -> list[tuple[int, int, int]]:
    """(start, end, option) of the labels that stand in the sentence."""
    spans = []
    for match in _LABEL_TOKEN.finditer(sentence):
        index = options.index.get(match[1])
        if index is None:
            continue
        bracketed = sentence[match.end() : match.end() + 1] in (")", "]")
        if (
            match[1] in ("A", "I")
            and not bracketed
            and not _AFTER_LABEL.match(sentence, match.end())
        ):
            continue
        spans.append((match.start(), match.end(), index))
    return spans


# --- negation --------------------------------------------------------------------------------

_DENY = re.compile(
    r"(?P<no>\b(?:not|never|neither|nor|cannot|cant|isnt|arent|wasnt|doesnt|dont|wont|couldnt|wouldnt|unlikely"
    r"|rules? out|ruled out|ruling out|eliminat\w{1,4}|exclud\w{1,4}|discard\w{0,3}|reject\w{0,3}|dismiss\w{0,3}"
    r"|incorrect|wrong|false|instead of|rather than|unlike|except|apart from|aside from|other than|besides|save for"
    r"|(?:any|every)\w* but|all but(?! certain| sure)|than|compared to|as opposed to"
    r"|nicht|kein\w{0,2}|pas|non|não|nao|no (?:es|era|son)|inte|ikke|niet|не|ne|nie|není|bukan(?:lah)?|ليست?)\b|n't\b)"
    r"|(?P<yes>\b(?:but|leaving|leaves|leave|left|so|therefore|thus|hence|it's|it is|its|must be|has to be|is actually|which is"
    r"|making|remains?|remaining|only|correct|right|instead(?! of)|(?<!t )(?:obviously|clearly|definitely)"
    r"|sondern|sino|mais|ma|mas|e sim|utan|maar|melainkan|lecz|ale|а|بل)\b|;)"
)
_DENIED_AFTER = re.compile(
    r"[)\]\"'*]{0,3}\s*(?:(?:and|or|,|/)\s*\(?[a-z]\)?\s*){0,4}"
    r"(?:(?:is|are|was|were|can|could|would|must|does|do|did|will|should|has|have)(?: (?:be|also|clearly|definitely|both))?"
    r"(?:n't\b|nt\b| not\b(?! only)| wrong\b| incorrect\b| false\b| out\b| eliminated\b| excluded\b| impossible\b| unlikely\b| ruled\b)"
    r"|[:-]?\s*(?:wrong\b|incorrect\b|false\b|ruled out\b|eliminated\b|excluded\b|cannot\b|cant\b|can't\b)"
    r"|ではな|ではありません|じゃな|不是|不对|不對|错|錯|が違|は違|(?:가|이|는|은) 아니|नहीं|değil)"
)
_ONCE = ("instead of", "rather than", "unlike", "than", "compared to", "as opposed to")


def standing(low: str, spans: Iterable[tuple[int, int, int]]) -> list[int]:
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

_LIST_ITEM = re.compile(r"\s*(?:,|/|&|\+|;|\||-{0,2}>|=>|→|\band\b|\bor\b|\s)\s*", re.IGNORECASE)


def _list(value: str, options: Options) -> Pick:
    """`A, C` `A and C` `(A, C)` `AC` `a, c`, or option texts so listed."""
    inner = value[:400].strip(" .!()[]{}<>\"'*")
    letters = set(inner)
    if len(inner) <= len(options.labels) <= 26 and letters and letters <= options.index.keys():
        return Pick(tuple(sorted(options.index[letter] for letter in letters)))
    items = [item.strip(" ()[]{}.:\"'*") for item in _LIST_ITEM.split(inner)]
    items = [
        item for item in items if item and item.lower() not in ("and", "options", "option", "both")
    ]
    if not items or len(items) > 60:
        return NOTHING
    if all(len(item) <= 2 and item.isalpha() for item in items):
        found = [options.label(item) for item in items]
        if None in found:
            return _OUT if all(item.isupper() for item in items) else NOTHING
        return Pick(tuple(sorted({i for i in found if i is not None})))
    return NOTHING
