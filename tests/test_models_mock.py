"""The two models that compute nothing: the reference's worked answers and the scripted mock."""

from __future__ import annotations

import pytest

from benchgen.errors import ModelError
from benchgen.models.mock import MockModel
from benchgen.models.reference import ReferenceModel
from benchgen.types import Reply, Request


def ask(key: str) -> Request:
    return Request(({"role": "user", "content": f"question {key}"},), key=key)


def test_the_reference_answers_by_key_in_order() -> None:
    model = ReferenceModel({"a": "Answer: A", "b": "Answer: B"})
    assert [(i, r.text) for i, r in model.generate([ask("b"), ask("a")])] == [
        (0, "Answer: B"),
        (1, "Answer: A"),
    ]


def test_a_question_without_a_worked_answer_is_not_measured() -> None:
    [(_, reply)] = ReferenceModel({}).generate([ask("z")])
    assert reply.finish_reason == "error"
    assert "z" in str(reply.error)


def test_the_reference_is_known_by_its_answers() -> None:
    one, same, other = ({"a": "1", "b": "2"}, {"b": "2", "a": "1"}, {"a": "1", "b": "3"})
    assert ReferenceModel(one).fingerprint == ReferenceModel(same).fingerprint
    assert ReferenceModel(one).fingerprint != ReferenceModel(other).fingerprint


def test_later_changes_of_the_mapping_do_not_reach_it() -> None:
    answers = {"a": "1"}
    model = ReferenceModel(answers)
    before = model.fingerprint
    answers["a"] = "2"
    assert model.fingerprint == before
    assert next(iter(model.generate([ask("a")])))[1].text == "1"


def test_the_mock_speaks_by_key_by_turn_or_by_function() -> None:
    def echo(request: Request) -> str:
        return request.messages[-1]["content"]

    by_key = MockModel({"a": Reply("x", "length"), "b": "y"})
    assert [r for _, r in by_key.generate([ask("b"), ask("a")])] == [
        Reply("y"),
        Reply("x", "length"),
    ]
    by_turn = MockModel(["first", "second"])
    assert [r.text for _, r in by_turn.generate([ask("a"), ask("b")])] == ["first", "second"]
    assert [r.text for _, r in MockModel(echo).generate([ask("a")])] == ["question a"]


def test_the_mock_keeps_what_it_was_asked() -> None:
    model = MockModel(["x", "y"])
    list(model.generate([ask("a"), ask("b")]))
    assert [r.key for r in model.requests] == ["a", "b"]


@pytest.mark.parametrize("script", [{"a": "x"}, []], ids=["key", "turn"])
def test_the_mock_fails_when_asked_for_more_than_it_was_told(script: object) -> None:
    with pytest.raises(ModelError):
        list(MockModel(script).generate([ask("other")]))  # type: ignore[arg-type]


def test_two_scripts_are_two_models() -> None:
    def one(request: Request) -> str:
        return "1"

    prints = [MockModel(s).fingerprint for s in ({"a": "1"}, {"a": "2"}, ["1"], ["2"], one)]
    assert len(set(prints)) == 5
    assert MockModel(["1"]).fingerprint == MockModel(["1"]).fingerprint
