"""What a multiple-choice reply that declares nothing settles on."""

from __future__ import annotations

import re

from . import declared, spelling
from .options import Options
from .values import (
    NOTHING,
    SENTENCE,
    Pick,
    in_sentence,
    label_spans,
    leading,
    read_value,
    standing,
)

MAX_UNDECLARED = 8000
"""Characters; a longer reply that declares nothing is no answer."""


def undeclared(part: str, low: str, options: Options, several: bool) -> Pick:
    """A reply that is an answer without saying so; else the one option that it names at all."""
    text = part.strip()
    if not text or len(text) > MAX_UNDECLARED:
        return NOTHING
    whole = read_value(declared.peeled(text), options, several, bare=True)
    if whole.labels or whole.final:
        return whole
    lines = [line for line in map(declared.peeled, text.split("\n")) if line]
    pick = _by_line(lines, options, several)
    if pick.labels or pick.final:
        return pick
    for rule in (_in_brackets, _contrasted, _named):
        pick = rule(text, options, several)
        if pick.labels or pick.final:
            break
    return pick


_HOWEVER = re.compile(
    r"\b(?:but|sondern|sino|mais|ma|mas|utan|maar|melainkan|lecz|ale|а|بل|(?<!t )(?:obviously|clearly|definitely))\b"
)
_SUPPOSES = re.compile(r"\b(?:if|whether|unless|suppose|wenn|si|se|если)\b|\?")


def _contrasted(text: str, options: Options, several: bool) -> Pick:
    """`Not A but C.`, in some language: the one label behind the turn, where one before it is denied."""
    found: dict[int, None] = {}
    for sentence in SENTENCE.split(text):
        low = spelling.lowered(sentence)
        turn = _HOWEVER.search(low)
        if turn is None or _SUPPOSES.search(low):
            continue
        spans = label_spans(sentence, options)
        denied = [index for start, _, index in spans if start < turn.start()]
        left = standing(low, spans)
        if denied and left and not set(denied) & set(left):
            found.update(dict.fromkeys(left))
    return Pick(tuple(found)) if len(found) == 1 and not several else NOTHING


_BULLET = re.compile(r"(?:[^\w\s(\[<\"'$\\+.-]|\d{1,2}[.)](?=\s)|[-*+>](?=\s)|\s)*")


_MARKED = re.compile(r"(?<![A-Za-z])([A-Z]{1,2})[).:]")


def _restates(line: str, options: Options) -> bool:
    """The line lists every label: `A) x B) y C) z`."""
    return options.index.keys() <= set(_MARKED.findall(line))


def _by_line(lines: list[str], options: Options, several: bool) -> Pick:
    """Lines that are a label, or begin with one; a list of all the options is no answer."""
    bare: dict[int, None] = {}
    led: dict[int, None] = {}
    for line in lines:
        line = line[_BULLET.match(line).end() :]  # type: ignore[union-attr]
        pick = read_value(line, options, False, bare=True)
        if pick.labels:
            bare[pick.labels[0]] = None
            continue
        pick = NOTHING if _restates(line, options) else leading(line, options, False) or NOTHING
        if pick.labels:
            pick = in_sentence(line, options, True) if several else pick
            led.update(dict.fromkeys(pick.labels))
    for found in (bare, led):
        if len(found) == 1 or (several and 1 < len(found) < len(options.labels)):
            last_only = found is bare or len(lines) == 1 or not several
            return Pick(tuple(sorted(found))) if last_only else NOTHING
    ending = "" if not lines or _restates(lines[-1], options) else SENTENCE.split(lines[-1])[-1]
    last = read_value(ending, options, several, bare=True)
    led_to = _LED_TO.match(ending)
    if led_to and not last.labels and not label_spans(led_to["lead"], options):
        last = read_value(led_to["rest"], options, several, bare=True)
    restated = len(bare) + len(led) >= len(options.labels)
    if last.labels and not restated and len(bare) <= 1:
        return last
    return Pick(reason="several_options") if len(bare) > 1 else NOTHING


_LED_TO = re.compile(
    r"(?P<lead>(?!(?:[^,]{0,40} )?(?:not|no|never|unlike|except|if|say|said|than|against|without)\b)[A-Za-z][a-z]{0,12}(?: [a-z]{1,12}){1,4}),\s"
    r"(?P<rest>\(?[A-Z]{1,2}\)?[.!]?)\Z"
)
"""`Either way, C.`: a phrase of a few words, and the label."""
_BRACKETED = re.compile(
    r"(?:[(\[](?=[A-Z]{1,2}[)\]])|\b(?:[Oo]ption|[Cc]hoice|[Ll]etter) (?=[A-Z]{1,2}\b)|(?:选项|選項|選択肢) ?)"
    r"([A-Z]{1,2})"
)
_BRACKET_STEMS = (")", "]", "ption ", "hoice ", "etter ", "选项", "選項", "選択肢")


def _in_brackets(text: str, options: Options, several: bool) -> Pick:
    """`... chloroplasts (C).` or `Option C`, if only one label stands so and is not denied."""
    found: dict[int, None] = {}
    if not spelling.any_of(_BRACKET_STEMS, text):
        return NOTHING
    for sentence in SENTENCE.split(text):
        spans = []
        for match in _BRACKETED.finditer(sentence):
            index = options.index.get(match[1])
            if index is not None:
                spans.append((match.start(), match.end(), index))
        found.update(dict.fromkeys(standing(spelling.lowered(sentence), spans)))
    if len(found) == 1 or (several and found):
        return Pick(tuple(sorted(found)))
    return Pick(reason="several_options") if found else NOTHING


def _named(text: str, options: Options, several: bool) -> Pick:
    """The one option whose text stands undenied in the reply."""
    found: dict[int, None] = {}
    for sentence in SENTENCE.split(text):
        words = spelling.folded(sentence)
        found.update(dict.fromkeys(standing(words, options.mentions(words))))
    if len(found) == 1:
        return Pick(tuple(found))
    return Pick(reason="several_options") if found else NOTHING
