"""Questions about this agent, its words and its limits."""

from __future__ import annotations

import re

from benchgen.agent.rules.creating import LIMIT
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.references import job_ids, run_ids
from benchgen.agent.situation import Wish

_TROUBLE = (
    (r"\bMIXUP\b|MIXED (?:up|a|my|it|RUN|MODEL)", "start a new chat, name runs by id"),
    (
        r"\b403\b|\bFORBIDDEN\b",
        "permission to train: send it again; if it stays, it is not allowed here",
    ),
    (
        r"\b(?:TROUBLE|OFFLINE)\b",
        "wait a moment and send it again; split a large request, or continue",
    ),
)
"""What goes wrong in a talk, and what to do."""
_SHORT = 9
"""Tokens up to which `what is a …` asks for the meaning of a word."""
TOPICS = (
    (r"\bLETTERS\b", "options are reordered automatically"),
    (r"\bcosts?\b|\bcredits?\b|\bprice\b|\bfree\b|\bexpensive\b", "cost"),
    (r"\bFAILURES\b.*\bDISTILL\b|\bDISTILL MODE\b|\bMODE DISTILL\b", "modes of a run dataset"),
    (r"\bGRPO\b", "grpo"),
    (r"\bMERGE\b", "merge"),
    (r"\bDISTILL\b", "distill"),
    (r"\bMODE\b|\bFAILURES\b", "modes of a run dataset"),
    (r"\bADAPTER\b", "adapter"),
    (r"\bLORA\b|\bQUANT\b", "lora"),
    (r"\bDRAFT\b|\bPUBLISH\b|\bUNPUBLISH\b|\bpublic\b|\bprivate\b", "draft and published"),
    (r"\bEPOCH\b|\bSTEP\b", "epochs and steps"),
    (r"\bLR\b", "learning rate"),
    (r"\bRANK\b|\bALPHA\b", "rank"),
    (r"\bBASE\b", "base model"),
    (
        r"\bKEYPOINTS\b|\bTOOL\b|\bNUMERIC\b|\bMCQ\b|\bQA\b|\bkinds?\b|\btypes?\b",
        "kinds of questions",
    ),
    (r"\bTRAIN\b", "training"),
    (r"\bDATASET\b", "run dataset"),
    (r"\bIMPROVED\b|\binterval\b|\bsignificant\b|\bCOMPARE\b", "comparing runs"),
    (r"\bSCORE\b", "score"),
    (r"\bBENCHMARK\b", "benchmark"),
    (r"\bRUN\b|\bEVAL\b", "run"),
    (r"\bTEMPERATURE\b|\bSEED\b", "temperature and seed"),
    (r"\bFRESH\b", "held-out questions"),
    (r"\btoken\b|\bkey\b|\bpassword\b|\bTOKEN\b", "tokens"),
    (r"\bMODEL\b", "models"),
)


_SORTS = (
    ("BENCHMARK|DRAFT", "benchmarks", "benchmark"),
    ("MODEL", "models", "models"),
    ("RUN|EVAL", "runs", "run"),
    ("JOB|TRAIN", "jobs", "training"),
    ("FILE", "files", "files"),
)
"""(concepts of a record, its sort, the topic that it belongs to)"""
_MANY = re.compile(
    r"\b(?:models|benchmarks|quizzes|drafts|runs|jobs|trainings|files|which|what|all)\b",
    re.IGNORECASE,
)


_MATTERS = (
    (r"\bexport\w*\b|\bdownload\b|\bexportier\w*|\bexporta\w*", "exporting"),
    (r"\b(?:upload|push)\b.*\b(?:hub|hugging ?face)\b", "publishing a model"),
    (
        r"\b(?:connect|set up|configure|add)\b.*\b(?:openai|gpt\S*|claude|anthropic|endpoint|api|llm)\b|\bas (?:the|a|my) "
        r"(?:writer|author)\b|\bwithout a model\b",
        "models that write",
    ),
    (
        r"\bwho can see\b|\bprivacy\b|\bsent (?:anywhere|out|to)\b|\btelemetry\b|\bleaves? (?:this|my) machine\b",
        "privacy",
    ),
    (
        r"\bnew chat\b|\bstart over\b|\bclear (?:the |this )?chat\b|\bneuer chat\b",
        "start a new chat, name runs by id",
    ),
    (r"\bundo\b|\brevert\b|\btake (?:it|that) back\b", "undoing"),
)
"""Matters that no tool here does, by words of their own: looked for where nothing else was understood."""


def matter(reading: Reading) -> Wish | None:
    """What is done elsewhere than in a chat, explained; None of anything else."""
    text = reading.text[:400].casefold()
    found = next((topic for words, topic in _MATTERS if re.search(words, text)), None)
    return Wish("explain", {"topic": found}) if found else None


def listed(reading: Reading) -> Wish | None:
    """What there is of a sort: list my runs, which models are there; None if no list is asked for."""
    if reading.language == "en" and not _MANY.search(reading.text[:200]):
        return None
    before = r"^(?:(?:and|you|please|so|a|me|can|i|,) )*(?:SHOW|WHAT|which|are there)(?: (?:a|it|ALL|of|is|are|me|you|available|kinds?|there))*"
    after = r"(?: (?:do|does|i|you|we|have|are|is|there|here|available|exist|can|in|of|a|it|workspace|catalogue|SOFAR|got|use|IMPORT|please|now|s|gibt|hay|existen|existem|tengo|ci|sono|есть|у|меня|\?|\.|!))*$"
    for concepts, sort, topic in _SORTS:
        if reading.has(rf"{before} (?:{concepts}){after}"):
            return Wish("explain", {"topic": topic, "listed": sort})
    return None


def help_wanted(reading: Reading) -> Wish | None:
    """Help, or the limit of questions; None if neither is asked."""
    if (
        reading.has(r"\bHOWMANY\b|\bLIMIT\b|\bbiggest\b|\bmaximum\b|\blargest\b")
        and reading.has(r"\b(?:QUESTION|BENCHMARK)\b")
        and not reading.has(r"\b(?:EVAL|FAILURES|DISTILL|SHOW)\b|\d|@bench")
        and not run_ids(reading)
    ):
        return Wish("help", {"limit": LIMIT})
    if (
        reading.has(r"\bHELP\b")
        and not reading.has(r"\b(?:TRAIN|JOB|LORA|GRPO|DISTILL|it) HELP\b")
        and len(reading.tokens) < 14
        and not reading.has(r"\bHELP (?:\S+ )?(?:CREATE|TRAIN|EVAL|COMPARE|MERGE|PUBLISH|MAKE)\b")
    ):
        return Wish("help", {})
    return None


def how_to(reading: Reading) -> Wish | None:
    """How something is done, or what a word means, where no record is named."""
    if reading.has(r"@|\d|\bdid\b|\bwas\b|\b(?:STOP|DELETE|UNPUBLISH|RENAME)\b") or run_ids(
        reading
    ):
        return None
    terms = (
        "from RUN|GRPO|LORA|DISTILL|MERGE|ADAPTER|DRAFT|KEYPOINTS|QUANT|RANK|ALPHA|EPOCH|BASE|MODE"
    )
    asked = reading.has(r"^(?:\S+ )?HOW (?:i|we|one|can i|do i|to|you) (?:\S+ )*") or (
        reading.has(rf"^WHAT(?: (?:a|of|is|exactly))* (?:{terms})\b")
        and len(reading.tokens) < _SHORT
    )
    found = next((name for pattern, name in TOPICS if reading.has(pattern)), None)
    return Wish("explain", {"topic": found}) if asked and found else None


def explained(reading: Reading) -> Wish | None:
    """A word or behaviour to explain; None if no such thing is asked."""
    if reading.has(r"\bLETTERS\b") and reading.has(
        r"\bANSWER\b|\bOPTION\b|\bMAKE\b|\bLETTERS\b.*\bLETTERS\b|\bcorrect\b|CHANGE|spread"
    ):
        return Wish("explain", {"topic": "options are reordered automatically"})
    if reading.has(r"\bWHY\b.*\balways\b.*(?:ANSWER|OPTION|DISTILL)|ANSWER.*\balways\b"):
        return Wish("explain", {"topic": TOPICS[0][1]})
    if reading.has(
        r"\bWHY\b.*\b(?:ALL|always|every|each|only|mostly)\b.*\b(?:ANSWER|DISTILL|correct|OPTION)\b.* [a-h](?: |$)"
    ):
        return Wish("explain", {"topic": TOPICS[0][1]})
    if (
        reading.has(r"\b403\b")
        and not run_ids(reading)
        and not reading.has(r"\b403 (?:\S+ )?(?:QUESTION|STEP|ROW|MCQ)")
    ):
        return Wish("explain", {"topic": _TROUBLE[1][1]})
    for pattern, topic in _TROUBLE:
        if (
            reading.has(pattern)
            and not reading.has(r"\b(?:CREATE|UNPUBLISH|EVAL|PLAN)\b|@bench")
            and not (topic == _TROUBLE[2][1] and (run_ids(reading) or job_ids(reading)))
        ):
            return Wish("explain", {"topic": topic})
    if not _asks(reading):
        return None
    found: str | None = next((name for pattern, name in TOPICS if reading.has(pattern)), None)
    return Wish("explain", {"topic": found}) if found else None


def _asks(reading: Reading) -> bool:
    if reading.has(r"\bHOW\b.*\bdid\b"):
        return False
    if not run_ids(reading) and reading.has(
        r"\b(?:WHAT|HOW|HOWMANY|do|is|does)\b.*\b(?:costs?|credits?|price|MODE (?:\S+ )*(?:there|exist|have)|api)\b|\bMODE are\b|\bdo i\b.*\btoken\b"
    ):
        return True
    if run_ids(reading) or reading.has(r"@bench|@file|@table"):
        return reading.has(r"\bEXPLAIN\b.*\b(?:MODE|DISTILL|GRPO|LORA)\b") and not run_ids(reading)
    if reading.has(
        r"\bEXPLAIN\b|^(?:a |so )*(?:WHAT)(?: (?:is|are|a|it|the|does|do|you|your|of|happens|if))* (?:[A-Z]+)(?: (?:MODE|MODEL|TRAIN))?(?: (?:\?|for|good|and|here|then|COMPARE|RUN|DATASET|it|\.))*$"
    ):
        return True
    if reading.has(
        r"\bHOW\b(?: (?:you|it|a|does|do|can|is|are|the|i))* (?:[A-Z]+ )?.*\b(?:work|works|works here|done|calculated|computed|measured|scored|function|funktioniert|funciona|marche|fonctionne|funziona|работает)\b|\bHOW (?:you|do|can|i|does|one) "
    ):
        return True
    if reading.has(
        r"^(?:is|are|does|do|will|must)\b.*\b(?:after|before|once|automatically|default|always|public|private)\b.*\?$"
    ) and not reading.has(r"\d|@|\byou\b"):
        return True
    return (
        reading.has(
            r"^(?:can|you|do|does|is|are|should|must|will|WANT|QUESTIONWORD|what happens)\b.*\?$|\bshould i\b|\bdo i (?:need|have)\b|\bdifference\b|what happens"
        )
        and reading.has(r"\bi\b|\bit possible|\bdifference\b|what happens|\ballowed\b|\bcosts?\b")
        and not reading.has(r"\d|@model")
    )
