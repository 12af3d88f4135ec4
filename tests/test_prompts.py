"""The wording of prompts: every released renderer version, word for word.

Golden file: tests/golden/prompts_v1.json. A released version's file never changes; a new version gets
its own, written by `RENEW_GOLDEN=1 pytest tests/test_prompts.py`.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from benchgen.benchmark.prompts import RENDERERS, render, worked_answer
from benchgen.errors import ConfigError
from benchgen.scoring import Score, score
from benchgen.types import Evaluation, Question

GOLDEN = Path(__file__).parent / "golden"
PLANETS = ("Mercury", "Venus", "Mars", "Jupiter")
MCQ = Question("mcq", "Which planet is red?", "C", PLANETS, rationale="Iron oxide colours Mars.")
QA = Question("qa", "Which planet is red?", ["Mars", "the planet Mars"])
EVEN = Question("mcq", "Which are even?", ["A", "C"], ("2", "3", "6"))
HALF = Question("numeric", "Half of 85?", "42.5", rationale="85 / 2 is 42.5.")
PING = {
    "name": "ping",
    "parameters": {"type": "object", "properties": {"host": {"type": "string"}}},
}
TOOL = Question(
    "tool",
    "Ping host a.",
    [{"name": "ping", "arguments": {"host": "a"}}],
    options={"tools": [PING]},
)
NO_TOOL = Question("tool", "Say hello.", [], rationale="Hello.", options={"tools": [PING]})
POINTS = Question(
    "keypoints", "Why do leaves turn yellow?", ["chlorophyll breaks down", "carotenoids remain"]
)
EVALUATIONS = {
    "letters": (MCQ, Evaluation()),
    "likelihood of letters": (MCQ, Evaluation(method="likelihood")),
    "likelihood of names": (MCQ, Evaluation(method="likelihood", options="names")),
    "likelihood of hidden": (MCQ, Evaluation(method="likelihood", options="hidden")),
    "names": (MCQ, Evaluation(options="names")),
    "qa": (QA, Evaluation()),
    "system": (QA, Evaluation(system="You are brief.")),
    "instruction": (MCQ, Evaluation(instruction="Reply 'Answer: X' only.")),
    "several letters": (EVEN, Evaluation()),
    "several names": (EVEN, Evaluation(options="names")),
    "numeric": (HALF, Evaluation()),
    "tool": (TOOL, Evaluation()),
    "no tool": (NO_TOOL, Evaluation(instruct_in="system")),
    "keypoints": (POINTS, Evaluation()),
    "semicolon": (Question("mcq", "Which?", "B", ("a; b", "c")), Evaluation(options="names")),
    "all_separators": (
        Question("mcq", "Which?", "B", ("a; b | c / d", "e")),
        Evaluation(options="names"),
    ),
}


@pytest.mark.parametrize("version", RENDERERS)
def test_wording_of_a_version_never_changes(version: int) -> None:
    shown = {
        name: {
            "messages": list(
                render(question, Evaluation(**{**evaluation.to_dict(), "renderer": version}))
            ),
            "worked_answer": worked_answer(question, evaluation),
        }
        for name, (question, evaluation) in EVALUATIONS.items()
    }
    path = GOLDEN / f"prompts_v{version}.json"
    if os.environ.get("RENEW_GOLDEN") and not path.exists():
        path.write_text(json.dumps(shown, indent=1, ensure_ascii=False) + "\n", "utf-8")
    assert shown == json.loads(path.read_text("utf-8"))


def scored(question: Question, reply: str) -> Score:
    return score(
        question.kind,
        reply=reply,
        target=question.target,
        choices=question.choices,
        **question.options,
    )


@pytest.mark.parametrize("name", EVALUATIONS)
def test_worked_answer_passes_the_scorer_in_the_form_asked_for(name: str) -> None:
    question, evaluation = EVALUATIONS[name]
    reply = worked_answer(question, evaluation)
    verdict = scored(question, reply)
    assert (verdict.correct, verdict.strict) == (True, True)


@pytest.mark.parametrize("name", [name for name in EVALUATIONS if name != "no tool"])
def test_echo_of_the_prompt_is_no_answer(name: str) -> None:
    question, evaluation = EVALUATIONS[name]
    reply = render(question, evaluation)[-1]["content"]
    verdict = scored(question, reply)
    assert verdict.correct is not True


@pytest.mark.parametrize("name", ["letters", "names", "qa", "numeric"])
def test_fixed_words_are_few(name: str) -> None:
    question, evaluation = EVALUATIONS[name]
    words = len(render(question, evaluation)[-1]["content"].split())
    own = len(question.prompt.split()) + sum(len(text.split()) for text in question.choices)
    labels = len(question.choices) if name == "letters" else 0
    assert words - own - labels <= 14


def test_worked_answer_without_rationale_is_the_line_alone() -> None:
    assert worked_answer(QA, Evaluation()) == "Answer: Mars"


def test_unknown_version_form_and_kind_are_refused() -> None:
    with pytest.raises(ConfigError, match="Allowed: 1"):
        render(QA, Evaluation(renderer=99))
    with pytest.raises(ConfigError, match="letters, names"):
        render(MCQ, Evaluation(options="digits"))
    with pytest.raises(ConfigError, match="numeric"):
        render(Question("essay", "How many?", 3), Evaluation())
    with pytest.raises(ConfigError, match="2 to 26"):
        render(Question("mcq", "Which?", "A", ("one",)), Evaluation())
