"""Junk earns nothing from our scorers, and a scorer that pays for it is found out."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from benchgen import scoring
from benchgen.benchmark.prompts import worked_answer
from benchgen.errors import DataError
from benchgen.plan.junk import MOST_QUESTIONS, PROBES, check_probes, probe
from benchgen.types import Evaluation, Question

TOOLS = [{"name": "weather", "parameters": {"type": "object", "properties": {}}}]
QUESTIONS = {
    "mcq": [
        Question(
            "mcq", f"Which one is number {i}?", letter, choices=("Mars", "Venus", "Io", "Rhea")
        )
        for i, letter in enumerate("ABCD")
    ],
    "several": [
        Question("mcq", "Which are moons?", ["C", "D"], choices=("Mars", "Venus", "Io", "Rhea")),
        Question("mcq", "Which are there?", ["A", "B"], choices=("Mars", "Venus")),
    ],
    "qa": [
        Question("qa", f"What is the capital of {land}?", [city])
        for land, city in {"France": "Paris", "Peru": "Lima", "Chad": "N'Djamena"}.items()
    ],
    "numeric": [Question("numeric", f"What is {i} + {i}?", 2 * i) for i in (3, 11, 20)],
    "tool": [
        Question(
            "tool",
            f"How is the weather in {city}?",
            [{"name": "weather", "arguments": {"city": city}}],
            options={"tools": TOOLS},
        )
        for city in ("Lima", "Paris")
    ],
    "keypoints": [Question("keypoints", "Why is the sky blue?", ["short waves scatter more"])],
}


def verdict(value: float | None) -> Any:
    """What a scoring program returns."""
    right = None if value is None else value > 0
    return SimpleNamespace(
        correct=right, value=value, strict=right, extracted=None, status="ok", reason=""
    )


def pays(condition: Any) -> Any:
    """A scorer that pays 1 where the condition holds of (reply, target, choices)."""

    def score(kind: str, *, reply: str, target: Any, choices: Any = None, **others: Any) -> Any:
        return verdict(float(condition(reply, target, choices)))

    return score


@pytest.mark.parametrize("kind", QUESTIONS)
def test_our_scorer_pays_for_no_junk(kind: str) -> None:
    questions = QUESTIONS[kind]
    probes = probe(questions, Evaluation(options="names"), scoring.score)
    assert [p.name for p in probes] == list(PROBES)
    assert [p for p in probes if p.scored] == []
    check_probes(probes)
    tried = {p.name: p.of for p in probes}
    assert tried["empty"] == tried["prompt echoed"] == len(questions)
    # All options of the second are right: listing them is no junk. A list of key points makes them.
    listed = {"several": 1, "keypoints": 0}.get(kind, len(questions))
    assert tried["all answers listed"] == tried["gold among all"] == listed


def test_right_answers_are_not_taken_for_junk() -> None:
    """The probes are worth nothing only if the same scorer pays for answers."""
    evaluation = Evaluation(options="names")
    for question in [q for questions in QUESTIONS.values() for q in questions]:
        reply = worked_answer(question, evaluation)
        choices = list(question.choices) or None
        found = scoring.score(question.kind, reply=reply, target=question.target, choices=choices)
        assert found.correct, question.prompt


def text_of(target: Any, choices: Any) -> str:
    return str(choices["ABCD".index(target)] if choices else target[0])


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        ("empty", lambda reply, target, choices: reply == ""),
        ("whitespace", lambda reply, target, choices: reply != "" and not reply.strip()),
        ("prompt echoed", lambda reply, target, choices: "Which one is number" in reply),
        ("form only", lambda reply, target, choices: reply.strip() == "Answer:"),
        # a substring is enough: the commonest way to write a reward
        ("all answers listed", lambda reply, target, choices: text_of(target, choices) in reply),
        # the word said most often is taken
        (
            "gold among all",
            lambda reply, target, choices: (
                reply.count(text_of(target, choices))
                > max(reply.count(c) for c in choices if c != text_of(target, choices))
            ),
        ),
    ],
)
def test_a_bad_scorer_is_refused_with_the_junk_that_it_pays_for(name: str, condition: Any) -> None:
    questions = [Question(q.kind, q.prompt, q.target, q.choices) for q in QUESTIONS["mcq"]]
    found = {p.name: p for p in probe(questions, Evaluation(options="letters"), pays(condition))}
    assert found[name].scored > 0
    assert found[name].question == 1
    with pytest.raises(DataError) as failed:
        check_probes([found[name]])
    assert name in failed.value.message
    assert f"{found[name].scored} of {found[name].of} questions" in failed.value.message
    assert "\n" not in failed.value.message


def test_one_question_is_enough() -> None:
    odd = pays(lambda reply, target, choices: reply == "" and target == "C")
    probes = probe(QUESTIONS["mcq"], Evaluation(), odd)
    assert [(p.name, p.scored, p.of, p.question) for p in probes if p.scored] == [
        ("empty", 1, 4, 3)
    ]
    with pytest.raises(DataError, match="question 3"):
        check_probes(probes)


def test_what_cannot_be_measured_is_not_paid() -> None:
    def crash(kind: str, **asked: Any) -> Any:
        raise RuntimeError

    assert not any(p.scored for p in probe(QUESTIONS["mcq"], Evaluation(), crash))


def test_a_request_for_which_no_call_is_right_is_left_alone() -> None:
    """There any words are right, also an echo."""
    idle = Question("tool", "Say hello.", [], options={"tools": TOOLS})
    probes = probe([idle, *QUESTIONS["tool"]], Evaluation(), scoring.score)
    assert {p.of for p in probes} == {2}
    assert not any(p.scored for p in probes)


def test_a_large_benchmark_is_probed_all_over() -> None:
    many = [Question("numeric", f"What is {i}?", i) for i in range(3 * MOST_QUESTIONS)]
    paid_at_the_end = pays(lambda reply, target, choices: reply == "" and target > 550)
    [empty, *_] = probe(many, Evaluation(), paid_at_the_end)
    assert empty.of == MOST_QUESTIONS
    assert empty.scored > 0
