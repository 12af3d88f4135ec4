"""What a message means while a writing waits for `continue`: how far it is, that it is enough, or going on otherwise."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules.creating import difficulty, language
from benchgen.agent.rules.marks import BENCH, FILE, HUB, MODEL, TABLE
from benchgen.agent.rules.numbers import fold
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.references import job_ids, run_ids
from benchgen.agent.situation import Waiting, Wish

_WHOLE = r"(?<![\w.@])(\d+)(?![\w.@])"
_OTHERS = (
    r"\b(?:EVAL|RERUN|RUN|JOB|TRAIN|LORA|GRPO|MERGE|PUBLISH|COMPARE|BENCHMARK|LOGS|RESUME|IMPORT|DELETE|PLAN|ADAPTER|ROW|"
    r"DATASET|SCORE|FAILURES|EXPLAIN|LIMIT)\b"
)
_ENOUGH = re.compile(
    r"\b(?:enough|that'?s all|that is all|that will do|what (?:you|there|we) (?:have|is|got)|as (?:it|they) (?:is|are)|genug|reicht|"
    r"basta|bastan|suficientes?|assez|suffit|sufficiente?i?|bastano)\b|достаточно|хватит|够了|足够|十分"
)


def asked(reading: Reading) -> Wish | None:
    """What is asked of the writing that waits; None where nothing is, or other records are meant."""
    waiting = next((w for w in reversed(reading.situation.waiting) if w.kind == "batch"), None)
    if waiting is None or reading.has(_OTHERS) or run_ids(reading) or job_ids(reading):
        return None
    if reading.of_kind(MODEL, BENCH, FILE, HUB, TABLE):
        return None
    numbers: dict[str, Any] = {
        k: waiting.told[k] for k in ("written", "total") if k in waiting.told
    }
    if _short(reading):
        return Wish("continue_batch", numbers)
    if _progress(reading):
        write = {"write": waiting.told["write"]} if "write" in waiting.told else {}
        return Wish("run_status", {**write, **numbers})
    if _enough(reading):
        return _shown(reading, waiting, numbers)
    if _otherwise(reading):
        return _changed(reading, waiting, numbers)
    return None


def _short(reading: Reading) -> bool:
    """Whether the message says to go on, and nothing else."""
    return reading.has(
        r"^(?:(?:please|you|then|a|,|and) )*CONTINUE(?: (?:please|a|with|it|QUESTION|[.!,]))*$"
    )


def _progress(reading: Reading) -> bool:
    told = r"\b(?:WRITTEN|SOFAR|QUESTION|CREATE)\b"
    return reading.has(
        rf"\bHOWMANY\b.*(?:{told}|\b(?:done|left|there|have|missing|finished|STATUS)\b)"
        rf"|\bSTATUS\b.*{told}|{told}.*\bSTATUS\b|\b(?:WRITTEN|SOFAR)\b.*\?|^(?:is|are|did|have|has)\b.*\b(?:WRITTEN|CREATE)\b"
    )


def _enough(reading: Reading) -> bool:
    """Whether no more are wanted: 150 are enough, stop there, create what you have."""
    if _ENOUGH.search(fold(reading.text)) and not reading.has(r"\bnot (?:\S+ )?enough"):
        return True
    return reading.has(r"\bSTOP\b") and reading.has(
        r"\b(?:there|here|CREATE|QUESTION|it|WRITTEN)\b"
    )


def _shown(reading: Reading, waiting: Waiting, numbers: dict[str, Any]) -> Wish:
    """The questions that there are as a preview; more than there are is a writing to go on with otherwise."""
    written = numbers.get("written")
    wanted = _number(reading)
    if isinstance(written, int) and wanted is not None and wanted > written:
        return _changed(reading, waiting, numbers)
    n = written if wanted is None else wanted
    return Wish("revise_preview", {"batch": waiting.label, **({} if n is None else {"n": n})})


def _otherwise(reading: Reading) -> bool:
    """Whether the writing is to go on, but not as it was asked for."""
    return reading.has(
        rf"^(?:\S+ ){{0,3}}?CONTINUE\b|{_WHOLE} (?:\S+ )?MORE\b|\bMORE QUESTION|^(?:\S+ )?(?:only|just) {_WHOLE}|\bCREATE\b.*{_WHOLE}"
    )


def _changed(reading: Reading, waiting: Waiting, numbers: dict[str, Any]) -> Wish:
    """The question for a plain `continue`, with what was wished otherwise."""
    wished: dict[str, Any] = {}
    number, written = _number(reading), numbers.get("written")
    if number is not None and isinstance(written, int):
        more = reading.has(r"\b(?:MORE|CONTINUE|CREATE|only|just)\b") and number < written
        wished["n"] = written + number if more else number
    if (level := difficulty(reading)) is not None:
        wished["difficulty"] = level
    if reading.has(r"\bLANG_") and (said := language(reading)) is not None:
        wished["language"] = said
    told = {"missing": ["continue"], "wish": "continue_batch", "batch": waiting.label}
    return Wish("clarify", {**told, **numbers, **wished})


def _number(reading: Reading) -> int | None:
    found = reading.find(_WHOLE)
    return int(found[1]) if found else None
