"""The scores as modules of the `evaluate` library: loaded from the package, the same verdicts, no network."""

from __future__ import annotations

import json
import socket
from pathlib import Path
from typing import Any

import pytest

from benchgen.errors import DataError
from benchgen.run.metrics import load_metric, score_all, tally
from benchgen.run.statistics import wilson
from benchgen.scoring import score
from benchgen.types import KINDS

pytestmark = [pytest.mark.torch, pytest.mark.slow]  # `evaluate` loads `datasets`, which loads torch

CASES: dict[str, dict[str, Any]] = {
    "mcq": {
        "predictions": ["The answer is **B**.", "Answer: A", "Answer: A and B"],
        "references": ["B", "B", '["A", "B"]'],
        "choices": [["Io", "Titan"], ["Io", "Titan"], ["two", "four"]],
    },
    "qa": {
        "predictions": ["Answer: Galilei", "Kepler", None],
        "references": ['["Galileo", "Galilei"]', "Galileo", "x"],
    },
    "numeric": {"predictions": ["so it is 0.5", "7", "two"], "references": ["1/2", "8", "2"]},
    "tool": {
        "predictions": [
            '<tool_call>{"name": "ping", "arguments": {"host": "a"}}</tool_call>',
            '<tool_call>{"name": "ping", "arguments": {"host": "b"}}</tool_call>',
        ],
        "references": ['[{"name": "ping", "arguments": {"host": "a"}}]'] * 2,
    },
    "keypoints": {
        "predictions": [
            "Chlorophyll breaks down.",
            "Chlorophyll breaks down and carotenoids stay.",
        ],
        "references": ['["chlorophyll breaks down", "carotenoids stay"]'] * 2,
        "require": "weighted",
    },
}


@pytest.fixture(autouse=True)
def _no_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def refuse(*args: Any, **options: Any) -> Any:
        raise AssertionError("a metric asked the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.mark.parametrize("kind", KINDS)
def test_a_module_gives_the_verdicts_of_the_scoring_program(kind: str) -> None:
    case = CASES[kind]
    got = load_metric(kind).compute(**case)
    options = {k: v for k, v in case.items() if k == "require"}
    told = zip(case["predictions"], case["references"], strict=True)
    verdicts = [
        score(
            kind,
            reply=reply,
            target=json.loads(target) if target.startswith("[") else target,
            choices=case["choices"][i] if "choices" in case else None,
            **options,
        )
        for i, (reply, target) in enumerate(told)
    ]
    expected = tally(verdict.correct for verdict in verdicts)
    assert got["accuracy"] == expected["score"]
    assert (got["right"], got["scored"], got["asked"]) == tuple(
        expected[name] for name in ("right", "scored", "asked")
    )
    assert got["ci"] == list(wilson(got["right"], got["scored"]))
    assert 0 < got["value"] < 1
    assert got["value"] == pytest.approx(sum(v.value or 0 for v in verdicts) / len(verdicts))


def test_another_program_can_score() -> None:
    def never(kind: str, **given: Any) -> Any:
        return score(kind, reply="", target=given["target"])

    got = score_all("qa", ["Answer: a"], ["a"], scorer=never)
    assert (got["accuracy"], got["scored"]) == (0.0, 1)


@pytest.mark.parametrize("target", ["a", '["a"]', "[1, 2]", "[not json", "[]"])
def test_a_text_that_looks_like_json_stays_an_accepted_text(target: str) -> None:
    reply = "a" if "a" in target and "not" not in target else target
    assert score_all("qa", [reply], [target])["accuracy"] == 1.0


def test_bad_input_is_one_line() -> None:
    with pytest.raises(DataError, match="no metric of this kind"):
        load_metric("essay")
    with pytest.raises(DataError, match="JSON list of calls"):
        score_all("tool", ["x"], ["ping a"])
    with pytest.raises(ValueError, match="zip"):
        score_all("qa", ["x"], ["a", "b"])
