"""What around a point's words takes them back: denied, supposed, doubted, or reported of others."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from .keypoints_lists import (
    BLOCKING,
    CONJUNCTIONS,
    FILLING,
    LINE_BREAK,
    MARKS,
    NEAR,
    NEGATORS,
    PREPOSITIONS,
    SEPARATORS,
    SKIPPED,
    SOFT,
    word_set,
)

_BOUNDARIES = CONJUNCTIONS | MARKS
_SUPPOSING = word_set(
    "if unless whether suppose supposing imagine assume assuming hypothetically wonder lest maybe perhaps possibly"
    " may might could would should"
)
# Words before the point that deny or distance the whole of what follows, across commas.
_FRAME = re.compile(
    r"\b(?:not|never|no|nobody|nor)\b(?: \w+){0,4}? (?:true|case|think|believe|mean|say|evidence|sure|certain|suggest"
    r"|imply|know|proof|proven|correct|right|accurate|claim|show|agree|follow|circumstances|way|point)\b"
    r"|\b(?:false|untrue|wrong|incorrect|incorrectly|wrongly|mistakenly|mistaken|falsely|myths?|misconceptions?|mistake"
    r"|a lie|far from|doubt|deny|denies|denied|disagree|unlikely|impossible|disproved|refuted?|neither|none of)\b"
)
_OTHERS = re.compile(
    r"\b(?:some|many|most|others?|people|students?|pupils|children|kids|critics|opponents|someone|somebody|everyone"
    r"|everybody|you|one|they|he|she|friends?|teachers?|textbooks?|legend)\b"
    r"(?:(?! (?:scientist|researcher|expert|biologist|chemist|physicist|historian|economist|doctor)s?\b) \w+){0,4}?"
    r" (?:say|says|said|think|thinks|thought|believe|believes|believed|claim|claims|claimed|assume|assumes|assumed"
    r"|argue|argues|argued|guess|expect|insist|insists|wrote|told|ask|asks|asked)\b"
    r"|\b(?:often|commonly|sometimes|popularly|widely|formerly|once|previously|traditionally)\b"
    r" (?:\w+ )?(?:said|thought|believed|claimed|assumed|supposed|told|taught)\b"
    r"|\baccording to (?:some|many|a|the|popular|critics|opponents) ?(?:myth|legend|belief|people|question|prompt|critics)?\b"
    r"|\b(?:question|user|prompt|task|rubric|candidate|reference)\b(?: \w+){0,3}?"
    r" (?:say|says|ask|asks|asked|state|states|stated|claim|claims|claimed|assumes|wants?|mentions?|expects?)\b"
    r"|\b(?:they|you|he|she|people|somebody|someone) (?:want|wants|wanted|expect|expects|expected) (?:me|us|to)\b"
)
_FIRST_PERSON = (["i"], ["we"])
"""`I would say that X` states X."""
_RESETS = ("but", "actually", "reality", "instead")


def before(tokens: Sequence[str], start: int, said: Collection[str]) -> int | None:
    """How many words before `start` deny it; None if it is supposed, doubted or somebody else's."""
    first = _after_reset(tokens, start)
    lead = _joined(tokens[first:start])
    if any(_own_word(m, said) for m in _OTHERS.finditer(lead)):
        return None
    scope, denials = _scope(tokens, first, start)
    clause = tokens[scope:start]
    for at, word in enumerate(clause):
        if (
            word in _SUPPOSING
            and word not in said
            and [*clause[max(0, at - 1) : at]] not in _FIRST_PERSON
        ):
            return None
    if clause and clause[0] in ("why", "how") and (scope == 0 or tokens[scope - 1] == ":"):
        return None
    denials += sum(word in NEGATORS for word in clause)
    near = [word for word in clause if word not in SKIPPED]
    denials += sum(word in SOFT and word not in said for word in near[-3:])
    denials += sum(word in NEAR and word not in said for word in near[-1:])
    return denials + any(_own_word(m, said) for m in _FRAME.finditer(lead))


def _joined(tokens: Sequence[str]) -> str:
    return " ".join(word for word in tokens if word != LINE_BREAK)


def _own_word(found: re.Match[str], said: Collection[str]) -> bool:
    """Whether the last word of what casts doubt is the sentence's own, not the point's."""
    return found[0].split()[-1] not in said


def _after_reset(tokens: Sequence[str], start: int) -> int:
    """Where the words begin that still bear on `start`: after the last `but`, `actually` or the like."""
    for at in range(start - 1, -1, -1):
        following = [word for word in tokens[at + 1 : at + 3] if word != ","][:1]
        if tokens[at] in _RESETS and following not in (["that"], ["of"]):
            return at + 1
    return 0


def _scope(tokens: Sequence[str], first: int, start: int) -> tuple[int, int]:
    """(where the clause of `start` begins, denials of its conjunction: `not because X`)."""
    at = start
    while at > first and tokens[at - 1] not in _BOUNDARIES and not _breaks_off(tokens, at - 1):
        at -= 1
    if at == first or tokens[at - 1] in SEPARATORS:
        return at, 0
    if at - 2 >= first and tokens[at - 2] in NEGATORS:
        return at, 1
    if tokens[at - 1] != "because":
        return at, 0
    # `It does not turn yellow because X` may deny X; `it can not live …` and `no longer` do not.
    head = at - 1
    while head > first and tokens[head - 1] not in _BOUNDARIES:
        head -= 1
    denied = any(
        tokens[k] in ("not", "never") and tokens[k - 1 : k] not in (["can"], ["could"])
        for k in range(head, at - 1)
    )
    return at, int(denied)


def _breaks_off(tokens: Sequence[str], at: int) -> bool:
    """Whether a line ends there that may be whole: not after `that`, `no` or `prevents`."""
    if tokens[at] != LINE_BREAK or not at:
        return False
    return tokens[at - 1] not in FILLING | PREPOSITIONS | BLOCKING


# --- after the words --------------------------------------------------------------------------

_WRONG = r"(?:false|wrong|incorrect|untrue|myths?|misconceptions?|mistaken|a mistake|nonsense|impossible|unlikely|disproved|disproven|refuted|debunked|discredited)"
_DENIED_NEXT = re.compile(
    rf"(?:(?:[,:;()]|--|is|are|was|were|has|have|had|been|now|long|since|this|that|which|it|simply|just|also|completely|an?|the|common|popular) ?){{0,8}}"
    rf"(?:{_WRONG}|not (?:\w+ )?(?:true|correct|right|accurate|the case)|never|rarely|seldom|hardly|not at all)\b"
    r"|(?:in|under|at|for|with) no\b|or not\b"
)
_REFUTED = re.compile(
    rf"\b(?:this|that|which|it|they|both|these|claims?|statements?|ideas?|opposite)\b(?: \w+){{0,4}}? {_WRONG}\b(?! (?:that|to)\b)"
    r"|\b(?:is|are|was|were) not (?:\w+ ){0,2}(?:true|correct|right|the case|accurate|so)\b(?! (?:that|for|of|in)\b)"
    r"|\b(?:is|are) (?:the opposite|only a myth)\b"
    r"|\b(?:is|was) (?:just |only )?what (?:the |an? |my )?(?:question|rubric|prompt|grader|others|people|some|they|you|user)\b"
)
_REFUTING_NEXT = re.compile(
    r"\W*(?:(?:no|nope|false|wrong|incorrect)(?=\s{0,3}(?:[.,!;:]|\Z))|not (?:true|really|quite)\b|nonsense|just kidding)"
)


def after(tokens: Sequence[str], end: int, said: Collection[str]) -> bool:
    """Whether the rest of the sentence takes back what stands up to `end` (exclusive)."""
    rest = _joined(tokens[end : end + 40])
    found = _DENIED_NEXT.match(rest) or _REFUTED.search(rest)
    return found is not None and _own_word(found, said)


def taken_back(following: str) -> bool:
    """Whether a sentence, in lower case, refutes the one before it: `No.`, `That is not true.`"""
    head = following[:160].replace("n't", " not")
    if _REFUTING_NEXT.match(head):
        return True
    found = _REFUTED.search(head)
    return found is not None and found.start() < 20
