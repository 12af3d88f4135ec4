"""Multiple choice by likelihood: what is scored, and which option a model thereby picks.

The pick is written as a reply (its letter), which the benchmark's scoring program then scores like any
other; all that another way of picking would need stays in the trace.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from benchgen.errors import ConfigError, ModelError
from benchgen.types import LETTERS, Evaluation, Likelihood, Question

METHODS = ("generate", "likelihood")
OPENING = "Answer:"

NORMALISED: Mapping[str, Callable[[Mapping[str, Any], int], float]] = {
    "sum": lambda found, i: found["logprob"][i],
    "token": lambda found, i: found["logprob"][i] / max(1, found["tokens"][i]),
    "character": lambda found, i: found["logprob"][i] / max(1, found["characters"][i]),
    "byte": lambda found, i: found["logprob"][i] / max(1, found["bytes"][i]),
}
"""Normalisations of ln P(option): lm-evaluation-harness calls sum `acc`, character `acc_norm`, byte
`acc_bytes`."""


def continuations(question: Question, evaluation: Evaluation) -> tuple[str, ...]:
    """What is scored after OPENING, one an option: its letter, or its text on one line."""
    texts = (
        LETTERS[: len(question.choices)]
        if evaluation.options == "letters"
        else [" ".join(text.split()) for text in question.choices]
    )
    return tuple(f" {text}" for text in texts)


def measured(question: Question, evaluation: Evaluation, found: Likelihood) -> dict[str, Any]:
    """`Trace.likelihood`: lists over the options of text, logprob, tokens, characters, bytes, greedy.

    Characters and bytes are those of the option without the space before it. ModelError where a model
    told no finite likelihood of each: of a part of them none is the likeliest.
    """
    texts = [text[1:] for text in continuations(question, evaluation)]
    counts = {len(found.logprob), len(found.tokens), len(found.greedy)}
    if counts != {len(texts)}:
        told = " and ".join(map(str, sorted(counts)))
        raise ModelError(f"the model told likelihoods of {told} options, not of {len(texts)}")
    strange = [text for text, p in zip(texts, found.logprob, strict=True) if not math.isfinite(p)]
    if strange:
        raise ModelError(
            f"the model's likelihood of {len(strange)} of {len(texts)} options is no finite number"
        )
    return {
        "text": texts,
        "logprob": [round(value, 6) for value in found.logprob],
        "tokens": list(found.tokens),
        "characters": [len(text) for text in texts],
        "bytes": [len(text.encode()) for text in texts],
        "greedy": list(found.greedy),
    }


def normalisation(evaluation: Evaluation) -> str:
    """The one that picks; ConfigError for an unknown one."""
    default = "sum" if evaluation.options == "letters" else "character"
    chosen = evaluation.normalisation or default
    if chosen not in NORMALISED:
        raise ConfigError("unknown normalisation", got=chosen, allowed=list(NORMALISED))
    return chosen


def pick(found: Mapping[str, Any], how: str) -> str:
    """The letter of the likeliest option; of equal ones the first, as in lm-evaluation-harness."""
    values: Sequence[float] = [NORMALISED[how](found, i) for i in range(len(found["logprob"]))]
    return LETTERS[values.index(max(values))]
