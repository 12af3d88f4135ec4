"""Settings of runs and trainings in a message: `2 epochs`, `lr 2e-4`, `first 5 questions`, `temp 0,7`."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules.reading import NUM, Reading

_BETWEEN = r"(?: (?:of|is|to|=|:|at|a|LIMIT|about|be|be|size|it|for|into|only|around|approximately|down|up|the|-))*"
_WHOLE = {
    "epochs": "EPOCH",
    "max_steps": "STEP",
    "rank": "RANK",
    "alpha": "ALPHA",
    "batch_size": "BATCH",
    "num_generations": "GENERATIONS",
    "max_tokens": "TOKEN",
    "seed": "SEED",
    "temperature": "TEMPERATURE",
    "max_length": "LENGTH",
    "weight_decay": "DECAY",
    "dropout": "DROPOUT",
    "gradient_accumulation": "ACCUMULATION",
    "beta": "BETA",
    "warmup": "WARMUP",
    "learning_rate": "LR",
}
_BEFORE = ("epochs", "max_steps", "num_generations", "max_tokens", "repeats")
"""Settings whose number comes before their name: 2 epochs. Of the others it comes after."""


def value(text: str) -> int | float:
    """A number of `plain`."""
    number = float(text)
    return int(number) if number.is_integer() and "e-" not in text else number


def settings(reading: Reading) -> dict[str, Any]:
    """Every setting that the message gives a value."""
    found: dict[str, Any] = {}
    for name, concept in _WHOLE.items():
        number = _number(reading, concept, before_first=name in _BEFORE)
        if number is not None:
            found[name] = number
    if reading.has(r"half (?:of )?(?:a |an )*EPOCH"):
        found["epochs"] = 0.5
    if reading.has(r"\bQUANT\b|\b4 (?:- )?bit\b|qlora"):
        found["quantize"] = True
    return found


def _number(reading: Reading, concept: str, before_first: bool) -> int | float | None:
    """The number that goes with the concept."""
    before = rf"{NUM}(?: (?:new|full|training|TRAIN|total|a|of|LIMIT|more|MORE|whole|optimi[sz]er|per|GRPO|LORA|gradient|complete))*(?: x)? {concept}\b"
    after = rf"\b{concept}{_BETWEEN} {NUM}"
    steps = (before, after) if before_first else (after, rf"{NUM} {concept}\b")
    for pattern in steps:
        matches = list(reading.all(pattern))
        for match in reversed(matches):
            if pattern == after and before_first and _belongs_to_next(reading, match.end()):
                continue
            if (
                not before_first
                and pattern != after
                and _is_of_other(reading, match.start(), concept)
            ):
                continue
            number = value(match[1])
            return -number if reading.below_zero(match.start(1)) else number
    return None


def _belongs_to_next(reading: Reading, end: int) -> bool:
    """Whether the number goes with what follows it: `epochs, 50 steps`."""
    return bool(
        re.match(r" (?:EPOCH|STEP|QUESTION|ROW|OPTION|GENERATIONS|TOKEN)\b", reading.plain[end:])
    )


def _is_of_other(reading: Reading, start: int, concept: str) -> bool:
    """Whether the number before the concept is the value of another one: `rank 8 alpha 16`."""
    before = reading.plain[max(0, start - 16) : start]
    names = "|".join(set(_WHOLE.values()) - {concept})
    return bool(re.search(rf"\b(?:{names})(?: (?:of|=|:|to))? $", before))


def run_settings(reading: Reading) -> dict[str, Any]:
    """Those of a run: limit, seed, repeats, temperature, max_tokens."""
    given = settings(reading)
    found: dict[str, Any] = {
        name: given[name] for name in ("temperature", "max_tokens", "seed") if name in given
    }
    for pattern in (
        rf"(?:LIMIT|ORD1|only|just|on)(?: (?:of|a|to|=|:|only|just|you))* {NUM}(?: \S+)? (?:QUESTION|ROW|of)\b",
        rf"\bLIMIT(?: (?:of|to|=|:|it))* {NUM}(?! TOKEN)",
        rf"\bORD1 {NUM}(?= ?(?:$|[,.;]|only\b|please\b))",
        rf"{NUM}(?: \S+)? (?:QUESTION|ROW)(?: (?:only|LIMIT)|\b)",
    ):
        if (
            (match := reading.find(pattern))
            and "." not in match[1]
            and "max_tokens" not in _near(reading, match)
        ):
            found["limit"] = int(float(match[1]))
            break
    if match := reading.find(rf"(?:REPEATS(?: (?:of|=|:))* {NUM}|{NUM} (?:REPEATS|x each))"):
        found["repeats"] = int(float(match[1] or match[2]))
    return found


def _near(reading: Reading, match: re.Match[str]) -> str:
    return "max_tokens" if reading.plain[match.end() : match.end() + 6].strip() == "TOKEN" else ""
