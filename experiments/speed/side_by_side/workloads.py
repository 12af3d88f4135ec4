"""The questions of the side-by-side, made from seeded numbers: the same for every side, nothing is downloaded.

Standard library only: it runs in each side's own environment.
"""

from __future__ import annotations

import random
from typing import Any

NOUNS = [
    "planet",
    "moon",
    "star",
    "comet",
    "rock",
    "river",
    "cloud",
    "engine",
    "letter",
    "window",
    "bridge",
    "garden",
    "teacher",
    "doctor",
    "signal",
    "market",
    "forest",
    "desert",
    "island",
    "winter",
    "summer",
    "morning",
    "evening",
    "circle",
    "number",
    "table",
    "paper",
    "metal",
    "water",
    "stone",
    "light",
    "sound",
    "colour",
    "field",
    "village",
    "harbour",
]
VERBS = [
    "moves",
    "holds",
    "carries",
    "follows",
    "reaches",
    "leaves",
    "passes",
    "meets",
    "covers",
    "warms",
    "cools",
    "turns",
]
ADJECTIVES = [
    "small",
    "large",
    "bright",
    "dark",
    "quiet",
    "heavy",
    "light",
    "distant",
    "early",
    "late",
    "narrow",
    "broad",
]


def _sentence(rng: random.Random, words: int) -> str:
    out = ["The"]
    while len(out) < words:
        out += [rng.choice(ADJECTIVES), rng.choice(NOUNS), rng.choice(VERBS), "the"]
    out[words - 1 :] = [rng.choice(NOUNS)]
    return " ".join(out) + "."


def _text(rng: random.Random, sentences: int) -> str:
    return " ".join(_sentence(rng, rng.randint(8, 14)) for _ in range(sentences))


def _lettered(rng: random.Random, sentences: int) -> str:
    options = "\n".join(f"{letter}. {_sentence(rng, 5)}" for letter in "ABCD")
    return f"{_text(rng, sentences)}\nQuestion: which of these follows?\n{options}\nAnswer:"


def letters(n: int) -> list[dict[str, Any]]:
    """Four letters after a question of about 270 tokens."""
    rng = random.Random(1)
    return [{"context": _lettered(rng, 17), "choices": [" A", " B", " C", " D"]} for _ in range(n)]


def sentences(n: int) -> list[dict[str, Any]]:
    """Four sentences of about 12 tokens after a text of about 217 tokens."""
    rng = random.Random(2)
    return [
        {"context": _text(rng, 18), "choices": [" " + _sentence(rng, 10) for _ in range(4)]}
        for _ in range(n)
    ]


def few_shot(n: int) -> list[dict[str, Any]]:
    """Four letters after five worked examples that all rows share: about 800 tokens."""
    rng = random.Random(3)
    shots = "\n\n".join(f"{_lettered(rng, 6)} {rng.choice('ABCD')}" for _ in range(5))
    return [
        {"context": f"{shots}\n\n{_lettered(rng, 6)}", "choices": [" A", " B", " C", " D"]}
        for _ in range(n)
    ]


def candidates(n: int) -> list[str]:
    """User messages of many kinds, whose answers end early or late."""
    rng = random.Random(4)
    forms = [
        *("Say hello.", "What is {a} plus {b}?", "Is a {noun} larger than a {other}? Yes or no."),
        *("Name one {adjective} thing.", "What is the opposite of {adjective}?"),
        *("Write one sentence about a {noun}.", "What colour is a {noun}? One word."),
        *("Why does a {noun} matter?", "Tell me a story about a {noun} and a {other}."),
        *("List five kinds of {noun}.", "Repeat this word: {noun}", "Translate {noun} to French."),
        *("Spell {noun}.", "How many letters has {noun}?", "Describe a {adjective} {noun}."),
    ]
    return [
        rng.choice(forms).format(
            a=rng.randint(1, 99),
            b=rng.randint(1, 99),
            noun=rng.choice(NOUNS),
            other=rng.choice(NOUNS),
            adjective=rng.choice(ADJECTIVES),
        )
        for _ in range(n)
    ]


def mixed(lengths: dict[str, int], n: int, longest: int) -> list[str]:
    """`n` of the messages, by the tokens their answers have: as many from each eighth of 1 … `longest`.

    So lengths are spread 1 to 8. A length that too few answers have gives its places to the next ones.
    """
    rng = random.Random(5)
    eighths: dict[int, list[str]] = {}
    for message in sorted(lengths):
        eighths.setdefault(min(7, (lengths[message] - 1) * 8 // longest), []).append(message)
    for found in eighths.values():
        rng.shuffle(found)
    chosen: list[str] = []
    while len(chosen) < n and any(eighths.values()):
        for part in sorted(eighths):
            if eighths[part] and len(chosen) < n:
                chosen.append(eighths[part].pop())
    return chosen


MAKERS = {"letters": letters, "sentences": sentences, "few_shot": few_shot}
