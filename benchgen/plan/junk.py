"""Junk that a scorer must not pay for: a reward that does is learned instead of the task.

Each probe is a reply that shows no knowledge of the answer. One that earns anything blocks GRPO
(Visual-RFT's issue 176: an empty answer worth 1.0; pytorch/rl's pull request 3542: a substring is enough).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from benchgen.benchmark.prompts import render
from benchgen.errors import DataError
from benchgen.run.runner import Scorer, scored
from benchgen.types import LETTERS, Evaluation, Question, Record, canonical

MOST_QUESTIONS = 200
"""Probed, spread evenly over the benchmark."""
OTHERS = 10
"""Answers of other questions that stand in for options, where a kind has none."""
GOLDS = 5
FORMS = {
    "mcq": ("Answer:", "Answer: LETTER", "Answer: NAME"),
    "qa": ("Answer:", "Answer: TEXT"),
    "numeric": ("Answer:", "Answer: NUMBER"),
    "tool": ("<tool_call></tool_call>", "<tool_call>{}</tool_call>"),
    "keypoints": ("Answer:",),
}
PROBES = (
    "empty",
    "whitespace",
    "prompt echoed",
    "form only",
    "all answers listed",
    "gold among all",
)


@dataclass(frozen=True)
class Probe(Record):
    """What one kind of junk earned."""

    name: str
    scored: int
    """Questions on which it earned something."""
    of: int
    """Questions on which it was tried."""
    question: int = 0
    """Number, from 1, of the first question on which it earned something; 0 = none."""
    reply: str = ""
    """What was said there, its first 200 characters."""


def probe(questions: Sequence[Question], evaluation: Evaluation, scorer: Scorer) -> list[Probe]:
    """What each kind of junk earns from this scorer on these questions.

    Left alone are questions of kind tool on which no call is right: there any words are.
    """
    every = max(1, -(-len(questions) // MOST_QUESTIONS))
    chosen = [(n, q) for n, q in list(enumerate(questions, 1))[::every] if q.target != []]
    golds = [_gold(q) for _, q in chosen[:: max(1, len(chosen) // OTHERS)]][:OTHERS]
    found = {name: Probe(name, 0, 0) for name in PROBES}
    for number, question in chosen:
        worth = _worth(question, scorer)
        tried: set[str] = set()
        paid: set[str] = set()
        for name, reply in _junk(question, evaluation, golds, worth):
            tried.add(name)
            if name not in paid and worth(reply) > 0:
                paid.add(name)
                if not found[name].question:
                    found[name] = Probe(name, 0, found[name].of, number, reply[:200])
        for name in tried:
            p = found[name]
            found[name] = Probe(name, p.scored + (name in paid), p.of + 1, p.question, p.reply)
    return list(found.values())


def check_probes(probes: Sequence[Probe]) -> None:
    """None; DataError names the junk that earns most, what it was, and what to do."""
    worst = max(probes, key=lambda p: p.scored)
    if worst.scored:
        raise DataError(
            f"the scorer pays for junk ({worst.name}) on {worst.scored} of {worst.of} questions, so GRPO "
            f"would learn to write that instead of answers; first on question {worst.question}",
            got=worst.reply,
            allowed="a reward of 0 for junk",
            next="mend or leave out these questions (benchgen edit), or score with a newer program",
        )


def _worth(question: Question, scorer: Scorer) -> Callable[[str], float]:
    """What a reply to the question earns; nothing for one that the scorer cannot measure."""
    return lambda reply: scored(question, reply, "stop", scorer)["value"] or 0.0


def _junk(
    question: Question,
    evaluation: Evaluation,
    golds: Sequence[str],
    worth: Callable[[str], float],
) -> Iterator[tuple[str, str]]:
    """(probe's name, reply) of every kind of junk that fits the question."""
    yield "empty", ""
    yield "whitespace", " \n\t \n"
    yield "prompt echoed", render(question, evaluation)[-1]["content"]
    for form in FORMS[question.kind]:
        yield "form only", form
    if question.kind == "keypoints":
        return  # who lists the points of all questions makes this one's: that is what is asked
    for right, wrong in _answers(question, golds, worth):
        yield from _listed(question, right, wrong)


def _listed(
    question: Question, right: Sequence[str], wrong: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Junk that says the right answer among wrong ones, if there are any."""
    if not wrong:
        return
    # The last word is a wrong one: a scorer that takes it as the answer rightly pays nothing.
    several = [*wrong[:-1], *right, wrong[-1]]
    for join in ("\n", ", "):
        yield "all answers listed", join.join(several)
    yield "all answers listed", "\n".join(_stated(question, answer) for answer in several)
    repeated = [word for answer in wrong for word in (*GOLDS * list(right), answer)]
    yield "gold among all", "\n".join(repeated)
    yield "gold among all", "\n".join(_stated(question, answer) for answer in repeated)


def _answers(
    question: Question, golds: Sequence[str], worth: Callable[[str], float]
) -> Iterator[tuple[list[str], list[str]]]:
    """(right, wrong): of mcq its options, in words and in letters; else the answers of other questions."""
    if question.kind != "mcq":
        yield [_gold(question)], [gold for gold in golds if worth(_stated(question, gold)) == 0]
        return
    letters = LETTERS[: len(question.choices)]
    texts = dict(zip(letters, question.choices, strict=True))
    right = [
        letter for letter in letters if letter in question.target
    ]  # a letter, or a list of them
    wrong = [x for x in letters if texts[x] not in {texts[y] for y in right}]
    yield [texts[x] for x in right], [texts[x] for x in wrong]
    yield right, wrong


def _gold(question: Question) -> str:
    if question.kind == "tool":
        return "\n".join(f"<tool_call>{canonical(call)}</tool_call>" for call in question.target)
    return question.target_text


def _stated(question: Question, answer: str) -> str:
    return answer if question.kind == "tool" else f"Answer: {answer}"
