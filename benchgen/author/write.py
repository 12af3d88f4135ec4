"""What every author goes through: no duplicate, a proof for each question, correct letters even.

An author hands its candidates to `accept` one by one and replaces those that are refused, so it alone
knows what may take the place of what. A refused candidate is kept with its reason.
"""

from __future__ import annotations

import random
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol

from benchgen.benchmark.bundle import Bundle
from benchgen.benchmark.prompts import worked_answer
from benchgen.errors import ConfigError, DataError
from benchgen.scoring import score
from benchgen.types import LETTERS, Evaluation, Question, canonical, sha256

MAX_QUESTIONS = 2000

Accept = Callable[[Question], bool]


class Author(Protocol):
    """Whatever turns material into questions, in the order they are to be asked."""

    def __call__(self, accept: Accept) -> Sequence[Question]: ...


@dataclass(frozen=True)
class Rejected:
    """A candidate that did not become a question, and why."""

    question: Question
    reason: str


@dataclass(frozen=True)
class Draft:
    """Checked questions that are not yet a benchmark."""

    name: str
    questions: tuple[Question, ...]
    evaluation: Evaluation
    rejected: tuple[Rejected, ...] = ()
    report: Mapping[str, list[str]] = field(default_factory=dict)
    """{"decisions": what was decided without asking, "warnings": what a person should know}"""
    config: Mapping[str, Any] = field(default_factory=dict)
    """What the author was asked for."""

    @cached_property
    def hash(self) -> str:
        """12 hex digits over the questions and how they are asked: what was previewed is what is made."""
        body = [[q.to_dict() for q in self.questions], self.evaluation.to_dict()]
        return sha256(body)[:12]

    def preview(self) -> list[dict[str, Any]]:
        """One row a question, right answer included: number, prompt, options, answer, category, difficulty.

        Where keys are doubtful, or questions held out, `doubtful` and `held_out` say so of each.
        """
        doubtful = set(self.report.get("doubtful", ()))
        marked = any(q.held_out for q in self.questions)
        return [
            {
                "number": number,
                "prompt": q.prompt,
                "options": " | ".join(q.choices),
                "answer": q.target_text,
                "category": q.category,
                "difficulty": q.difficulty,
                **({"doubtful": "yes" if q.key in doubtful else ""} if doubtful else {}),
                **({"held_out": "yes" if q.held_out else ""} if marked else {}),
            }
            for number, q in enumerate(self.questions, start=1)
        ]


def write(
    author: Author,
    evaluation: Evaluation,
    *,
    name: str,
    seed: int = 0,
    config: Mapping[str, Any] | None = None,
) -> Draft:
    """The author's questions, each proved and none twice, as a draft with a report."""
    check_evaluation(evaluation)
    rejected: list[Rejected] = []
    keys: set[str] = set()

    def accept(question: Question) -> bool:
        reason = fault(question, evaluation)
        if not reason and question.key in keys:
            reason = "duplicate: the same prompt, options and answer as another question"
        if reason:
            rejected.append(Rejected(question, reason))
        else:
            keys.add(question.key)
        return not reason

    questions = tuple(author(accept))
    check_count(len(questions))
    balanced = balance(questions, seed)
    return Draft(
        name, balanced, evaluation, tuple(rejected), report_of(balanced, rejected), config or {}
    )


def drawn(keys: Iterable[str], share: float, seed: int) -> frozenset[str]:
    """A `share` of the keys, by key and seed alone: the same ones whatever their order."""
    order = sorted(set(keys), key=lambda key: sha256(f"{seed}:{key}"))
    return frozenset(order[: round(share * len(order))])


def hold_out(draft: Draft, share: float, seed: int) -> Draft:
    """The draft with that share of its questions marked as held out; ConfigError where none or all would be."""
    if share == 0:
        return draft
    count = len(draft.questions)
    keys = drawn((q.key for q in draft.questions), share, seed) if 0 < share < 1 else frozenset()
    if not 0 < len(keys) < count:
        raise ConfigError(
            f"held_out={share} holds out {'none' if not keys else 'all'} of {count} questions",
            got=share,
            allowed="above 0, below 1: at least one question held out, and one that is not",
            next="benchmark.held_out=0.3",
        )
    told = f"{len(keys)} of {count} questions are held out of every training, drawn by key with seed {seed}"
    return replace(
        draft,
        questions=tuple(replace(q, held_out=q.key in keys) for q in draft.questions),
        report={**draft.report, "decisions": [*draft.report.get("decisions", ()), told]},
    )


def check_bundle(bundle: Bundle, name: str) -> None:
    """Nothing; DataError unless all of a benchmark from elsewhere is what one of ours could be."""
    try:
        check_count(len(bundle.questions))
        check_evaluation(bundle.evaluation)
        canonical([bundle.name, bundle.evaluation.to_dict()]).encode()
        for number, question in enumerate(bundle.questions, start=1):
            if reason := fault(question, bundle.evaluation):
                raise DataError(
                    f"{name}: question {number} cannot be used: {reason}", got=question.key
                )
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError) as error:
        raise DataError(f"{name} holds what no benchmark can: {error}") from error


def check_count(number: int) -> None:
    """Nothing; ConfigError unless a benchmark may have that many questions."""
    if not 1 <= number <= MAX_QUESTIONS:
        raise ConfigError(
            "a benchmark cannot have that many questions",
            got=number,
            allowed=f"count from 1 to {MAX_QUESTIONS}",
        )


def check_evaluation(evaluation: Evaluation) -> None:
    """Nothing; ConfigError unless a model could be asked like this."""
    for name, low, high in (("max_new_tokens", 1, 32_768), ("temperature", 0.0, 5.0)):
        value = getattr(evaluation, name)
        if not low <= value <= high:  # NaN is within no limits
            raise ConfigError(
                f"evaluation.{name}={value} cannot be used", got=value, allowed=f"{low} to {high}"
            )


def fault(question: Question, evaluation: Evaluation) -> str:
    """Why the question proves nothing, or "": its worked answer must score right, an empty one wrong."""
    if not question.prompt.strip():
        return "no prompt"
    if question.kind == "mcq":
        reason = _options_fault(question)
        if reason:
            return reason
    if _scored(question, worked_answer(question, evaluation)) is not True:
        return "its own worked answer is not scored right"
    if _scored(question, "") is not False:
        return "an empty reply is not scored wrong"
    return ""


def _options_fault(question: Question) -> str:
    number = len(question.choices)
    letters = question.target if isinstance(question.target, list) else [question.target]
    if not letters or any(letter not in list(LETTERS[:number]) for letter in letters):
        return f"the target is not one of the {number} options' letters"
    if len({_alike(text) for text in question.choices}) < number or not all(
        map(_alike, question.choices)
    ):
        return "an option is empty, or two are the same but for case, spaces or character forms"
    if isinstance(question.target, list):
        return ""
    right = [
        letter
        for letter, text in zip(LETTERS, question.choices, strict=False)
        if _scored(replace(question, target=letter), f"Answer: {question.target_text}")
    ]
    if right != [question.target]:
        return "the right option's text is read as another option too"
    return ""


def _scored(question: Question, reply: str) -> bool | None:
    return score(
        question.kind,
        reply=reply,
        target=question.target,
        choices=list(question.choices) or None,
        **question.options,
    ).correct


def _alike(text: str) -> str:
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def balance(questions: Sequence[Question], seed: int = 0) -> tuple[Question, ...]:
    """The same questions with the right options' letters even: counts differ by 1 at most.

    Letters are dealt within questions of as many options; options change places, keys do not change.
    """
    rng = random.Random(f"{seed} letters")
    decks: dict[int, list[int]] = {}
    dealt = [q for q in questions if _one_letter(q)]
    for number, how_many in sorted(Counter(len(q.choices) for q in dealt).items()):
        first = list(range(number))
        rng.shuffle(first)
        decks[number] = [first[i % number] for i in range(how_many)]
        rng.shuffle(decks[number])
    return tuple(_moved(q, decks[len(q.choices)].pop()) if _one_letter(q) else q for q in questions)


def even(
    questions: Sequence[Question], stays: Callable[[Question], bool] = lambda question: False
) -> tuple[Question, ...]:
    """As `balance`, but of a person's own questions as few as possible are touched, the last ones first.

    `stays` names those whose options must keep their places. Letters that cannot be made even with
    them in place come as near as they can.
    """
    found = list(questions)
    sizes = {len(q.choices) for q in questions if _one_letter(q)}
    for size in sorted(sizes):
        places = [i for i, q in enumerate(found) if _one_letter(q) and len(q.choices) == size]
        at: dict[int, list[int]] = {letter: [] for letter in range(size)}
        for place in places:
            at[LETTERS.index(found[place].target)].append(place)
        fewest, more = divmod(len(places), size)
        fullest = sorted(at, key=lambda letter: (-len(at[letter]), letter))
        wanted = {letter: fewest + (rank < more) for rank, letter in enumerate(fullest)}
        spare = [
            place
            for letter in fullest
            for place in [p for p in reversed(at[letter]) if not stays(found[p])][
                : max(0, len(at[letter]) - wanted[letter])
            ]
        ]
        for letter in sorted(at):
            for _ in range(max(0, wanted[letter] - len(at[letter]))):
                if spare:
                    place = spare.pop()
                    found[place] = _moved(found[place], letter)
    return tuple(found)


def _one_letter(question: Question) -> bool:
    return question.kind == "mcq" and isinstance(question.target, str)


def _moved(question: Question, to: int) -> Question:
    """The question with its right option at index `to`; the other options keep their order."""
    options = list(question.choices)
    right = options.pop(LETTERS.index(question.target))
    options.insert(to, right)
    return replace(question, choices=tuple(options), target=LETTERS[to])


def report_of(questions: Sequence[Question], rejected: Sequence[Rejected]) -> dict[str, list[str]]:
    """{"decisions", "warnings"}: where the right letters stand, and why candidates were refused."""
    decisions = []
    letters = Counter(q.target for q in questions if _one_letter(q))
    if letters:
        shown = ", ".join(f"{letter} {letters[letter]}" for letter in sorted(letters))
        decisions.append(f"options reordered so that correct letters are even: {shown}")
    warnings = [
        f"{number} candidates refused and replaced: {reason}"
        for reason, number in sorted(Counter(r.reason for r in rejected).items())
    ]
    return {"decisions": decisions, "warnings": warnings}
