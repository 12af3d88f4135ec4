"""From a message to a wish: clause by clause, each read by the families of intents in turn."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice

from benchgen.agent.rules import (
    asking,
    batches,
    creating,
    figures,
    looking,
    refusing,
    roles,
    running,
    training,
    waiting,
)
from benchgen.agent.rules.lexicon import MOODS
from benchgen.agent.rules.marks import FILE, TABLE
from benchgen.agent.rules.numbers import fold
from benchgen.agent.rules.reading import VERBS, Reading, read
from benchgen.agent.rules.secrets import asks_for_secret, holds_secret
from benchgen.agent.situation import Situation, Wish

MAX_CHARS = 200_000
"""Of a longer message only so much is looked at."""

_FAMILIES: tuple[Callable[[Reading], Wish | None], ...] = (
    batches.asked,
    asking.help_wanted,
    waiting.asked_of_plan,
    asking.listed,
    asking.how_to,
    waiting.asked_of_preview,
    waiting.revised_preview,
    waiting.created_and,
    waiting.revised_plan,
    refusing.unsupported,
    looking.paged,
    running.resume,
    training.logs,
    training.merge,
    figures.asked,
    looking.low_score,
    asking.explained,
    looking.dataset,
    looking.compare,
    training.plan,
    creating.from_file,
    creating.create,
    waiting.leave,
    running.publish,
    running.run,
    training.status,
    running.status,
)
"""The first that answers is right: more telling words come before those that many messages hold."""
_CUTS = 12
"""So many places of a message are tried as the end of a clause."""
_CLAUSE_TOKENS = 60
_ASSENT = re.compile(
    r"\s*(?:y|ye[sp]|yeah|yup|ok(?:ay)?|sure|go ahead|do it|ja|jawohl|s[íi]|oui|sim|da|hai|да|好的?|是的?|はい|confirm|proceed)(?!\w)",
    re.IGNORECASE,
)
"""A yes that is not the literal one: it gives a waiting plan up, whatever follows."""
_BOUNDARY = re.compile(
    rf"(?: ?(?:[.;!\n]|,|then|and|,? ?and then) )(?=(?:(?:then|and|you|please|also|a|,|it|WANT|WANT you) )*(?:{VERBS})\b)|(?: ,)? (?:and )?then (?=\S)"
)


def understand(text: str, situation: Situation) -> Wish:
    """What the message asks for; `unclear` where nothing is asked."""
    text = text[:MAX_CHARS].replace("\x00", " ")
    if holds_secret(text) or asks_for_secret(text):
        return Wish("refuse_secret")
    if not text.strip():
        return Wish("ignore_or_cancel")
    if not re.search(r"\w", text):
        return _nothing(situation)
    if stops := _stops(text, situation):
        return stops
    if mood := _mood(text, situation):
        return mood
    assent = _ASSENT.match(text)
    if assent and any(w.kind in ("plan", "merge") for w in situation.waiting):
        rest = text[assent.end() :].lstrip(" \t,.;:!-")
        asked = waiting.asked_of_plan(read(rest, situation)) if rest else None
        return asked or _nothing(situation)
    reading = read(text, situation)
    if chosen := waiting.choice(reading):
        return chosen
    wishes = list(_wishes(reading))
    if not wishes:
        return _unread(reading)
    return _joined(wishes)


def _stops(text: str, situation: Situation) -> Wish | None:
    """A bare `stop`, where nothing waits that it could give up and what was talked about last is under way."""
    if situation.waiting or len(text) > 40:
        return None
    reading = read(text, situation)
    return (
        refusing.stopped(reading)
        if reading.has(r"^(?:please )?STOP(?: (?:please|you|!|\.))*$")
        else None
    )


def _mood(text: str, situation: Situation) -> Wish | None:
    """A message that is only a no, or only thanks."""
    words = fold(" ".join(re.findall(r"[\w']+", text[:200])))
    if len(text) > 80 or not words:
        return None
    for mood in MOODS["NO"].values():
        if _only(words, _phrases(mood)):
            return _nothing(situation)
    for mood in MOODS["THANKS"].values():
        if words in _phrases(mood) or all(word in _phrases(mood) for word in words.split()):
            return _nothing(situation)
    return None


def _only(words: str, phrases: set[str]) -> bool:
    """Whether the words are some of these phrases, one after the other: no, forget it."""
    either = "|".join(map(re.escape, sorted(phrases, key=len, reverse=True)))
    return re.fullmatch(rf"(?:{either})(?: (?:{either})){{0,3}}", words) is not None


def _phrases(joined: str) -> set[str]:
    return {fold(phrase.strip()) for phrase in joined.split(",")}


def _nothing(situation: Situation) -> Wish:
    """A message that asks for nothing: a plan that waits is given up by it."""
    plan = next((w for w in reversed(situation.waiting) if w.kind in ("plan", "merge")), None)
    return Wish("cancel_plan", {"plan": plan.label}) if plan else Wish("ignore_or_cancel")


def _unread(reading: Reading) -> Wish:
    if waiting.last_of(reading, "plan", "merge"):
        return waiting.cancelled(reading)
    return asking.matter(reading) or Wish("unclear")


# ------------------------------------------------------------------------------------- clauses


def _wishes(reading: Reading) -> Iterator[Wish]:
    """What each clause asks for; a clause that asks for nothing belongs to the one before."""
    clauses = list(_clauses(reading))
    for clause in clauses:
        if wish := _wish(clause):
            yield wish


def _wish(reading: Reading) -> Wish | None:
    for family in _FAMILIES:
        if wish := family(reading):
            return wish
    return None


def _clauses(reading: Reading) -> Iterator[Reading]:
    """The message cut where something else is asked for; what a clause needs of the one before stays with it."""
    starts = [0]
    for match in islice(_BOUNDARY.finditer(reading.plain), _CUTS):
        at = reading.index(match.end())
        before = reading.part(starts[-1], at)
        after = reading.part(at, min(at + _CLAUSE_TOKENS, len(reading.tokens)))
        if at > starts[-1] and _apart(before, after):
            starts.append(at)
    for start, end in zip(starts, [*starts[1:], len(reading.tokens)], strict=True):
        yield reading.part(start, end)


def _apart(before: Reading, after: Reading) -> bool:
    """Whether two stretches ask for two things."""
    verb = re.match(
        rf"(?:(?:then|and|you|please|also|a|,|it|WANT) )*({VERBS}|STATUS|LOGS)\b", after.plain
    )
    if verb is None or roles.is_part(after.written(*verb.span(1))) or _wish(before) is None:
        return False
    if verb[1] in ("CREATE", "IMPORT") and before.of_kind(FILE, TABLE):
        return False
    if before.has(r"\bEXPLAIN\b|^WHAT\b") and verb[1] in (
        "TRAIN",
        "LORA",
        "GRPO",
        "PLAN",
        "DISTILL",
        "MERGE",
    ):
        return False
    if before.has(r"\bMERGE\b") and verb[1] == "PUBLISH":
        return False
    if before.has(r"\bPUBLISH\b") and after.has(r"^(?:\S+ ){0,4}EVAL\b"):
        return False
    if before.has(r"\bPLAN\b|\bTRAIN\b|CHANGE") and verb[1] in (
        "SHOW",
        "TRAIN",
        "LORA",
        "GRPO",
        "PLAN",
    ):
        return False
    if verb[1] in ("SHOW", "EVAL", "TELL") and after.has(
        r"^(?:\S+ )?(?:SHOW|EVAL|TELL) (?:\S+ ){0,5}?(?:ids?|LINK)\b"
    ):
        return False
    return (found := _wish(after)) is not None and found.intent != "revise_preview"


def _joined(wishes: list[Wish]) -> Wish:
    """The first wish, with the others to be done after it."""
    first, rest = wishes[0], wishes[1:]
    while rest and (both := _both_runs(first, rest[0])):
        first, rest = both, rest[1:]
    later = tuple(_later(wish) for wish in rest)
    if not later:
        return first
    names = [wish.intent for wish in later]
    return replace(first, arguments={**first.arguments, "later": names}, later=later)


def _both_runs(first: Wish, second: Wish) -> Wish | None:
    """Two runs of one benchmark as one wish."""
    models = [*_named(first), *_named(second)]
    same = first.arguments.get("benchmark") == second.arguments.get("benchmark")
    runs = ("run_benchmark", "multi_run")
    if first.intent not in runs or second.intent not in runs or not same or len(models) < 2:
        return None
    kept = {k: v for k, v in first.arguments.items() if k not in ("model", "models")}
    return Wish("multi_run", {**kept, "models": models})


def _named(wish: Wish) -> list[str]:
    models = wish.arguments.get("models")
    return (
        list(models)
        if isinstance(models, list)
        else [wish.arguments["model"]]
        if "model" in wish.arguments
        else []
    )


def _later(wish: Wish) -> Wish:
    """The wish as something to come: what it lacks may be known by then."""
    if wish.intent != "clarify":
        return wish
    kept = {k: v for k, v in wish.arguments.items() if k not in ("missing", "wish")}
    return Wish(str(wish.arguments["wish"]), kept)
