"""Second thoughts: where a reply takes an answer back, and where it gives another instead."""

from __future__ import annotations

import re

from .spelling import any_of

_WORD = (
    r"(?:no|nope|wait|actually|sorry|oops|apologies|correction|corrected|edit|scratch that|strike that|i mean|i meant"
    r"|(?:or )?rather|make that|my (?:bad|mistake)|on second thoughts?|i should (?:say|have said)"
    r"|i take (?:that|it) back|chang(?:e|es|ed|ing) (?:my|the|that|this) (?:final )?answer to"
    r"|nein|non|nee|nej|não|нет|korrektur|corrección|correção|correzione|исправление|извините"
    r"|pardon|perdón|scusa|entschuldigung)"
)
_STEMS = (
    *("no,", "no.", "no:", "no;", "no!", "no -", "nope", "wait", "actually", "sorry", "oops"),
    *("apolog", "edit", "h that", "e that", "mean", "rather", "my bad"),
    *("my mistake", "second thought", "should say", "have said", "t back", "chang"),
    *(
        "nein",
        "non,",
        "nee,",
        "nej",
        "korrekt",
        "correcti",
        "corrected",
        "correcc",
        "correz",
        "pardon",
        "perd",
        "scusa",
        "entsch",
    ),
)
_STEMS_WIDE = ("não", "correç", "нет", "исправ", "извин")
_GAP = r"\b[ ,.:;!-]{1,4}"
CORRECTION = re.compile(
    rf"(?<![^\W\d_])(?P<word>{_WORD}){_GAP}(?:{_WORD}{_GAP}){{0,3}}"
    r"(?:(?:it(?:'s| is| must be| should be)|(?:that|this)(?:'s| is| should be)|to (?:say|write|pick|choose)"
    r"|(?:the|my) (?:correct |right |final )?(?:answer|option|one|choice|result|value|number|total) (?:is|should be)) )?"
)
RETRACTION = re.compile(
    r"(?:^|[.!?\n]\s{0,4}|\b(?:wait|no|hmm|oops|sorry|actually)\b[,.! ]{1,3})"
    r"(?:(?:but|no|wait|hmm|actually)[, ]{1,2}){0,2}"
    r"(?:(?:that|this|it)(?:'s| is| was| seems| can't be| cannot be)"
    r" (?:wrong|incorrect|not right|not correct|a mistake|an error)"
    r"|i (?:made|have made|see) (?:a|an|my) (?:mistake|error)"
    r"|let me (?:redo|recalculate|recompute|start over|try again|correct)|scratch that|strike that)"
    r"|\b(?:wait|hmm)[,.! ]{1,3}no[.!\s]*\Z"
)
_RETRACTION_STEMS = (
    "wrong",
    "incorrect",
    "not correct",
    "not right",
    "mistake",
    "error",
    "let me",
    "h that",
    "e that",
    "wait",
    "hmm",
)


def corrections(low: str, start: int = 0) -> list[re.Match[str]]:
    """The places where another answer may follow, in order: `no, `, `sorry, I meant `, `Correction: `."""
    likely = any_of(_STEMS, low) or (not low.isascii() and any_of(_STEMS_WIDE, low))
    return list(CORRECTION.finditer(low, start)) if likely else []


def retractions(low: str) -> list[re.Match[str]]:
    """The places where what was said is called wrong."""
    return list(RETRACTION.finditer(low)) if any_of(_RETRACTION_STEMS, low) else []
