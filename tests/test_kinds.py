"""Every kind of question through a whole run: asked, answered, scored, looked into."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgen.author.write import write
from benchgen.models.mock import MockModel
from benchgen.records import Benchmark
from benchgen.types import Evaluation, Question
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

QUESTIONS = (
    Question("mcq", "Which planet is red?", "B", ("Venus", "Mars", "Earth"), "planets"),
    Question("mcq", "Which are even?", ["A", "C"], ("2", "3", "6"), "numbers"),
    Question("qa", "Which planet is red?", ["Mars"], category="planets"),
    Question("numeric", "Half of one?", "1/2", category="numbers", options={"rel_tol": 1e-4}),
    Question(
        "tool",
        "Ping host a.",
        [{"name": "ping", "arguments": {"host": "a"}}],
        category="tools",
        options={"tools": [{"name": "ping"}, {"name": "reboot"}]},
    ),
    Question(
        "keypoints",
        "Why do leaves turn yellow?",
        ["chlorophyll breaks down", {"text": "carotenoids remain visible", "weight": 2}],
        category="leaves",
    ),
)
REPLIES = {
    "Which planet is red?": "It is **Mars**.",
    "Which are even?": "Answer: A",
    "Half of one?": "Answer: 0.5",
    "Ping host a.": '<tool_call>{"name": "reboot", "arguments": {"host": "a"}}</tool_call>',
    "Why do leaves turn yellow?": "Chlorophyll breaks down, and the carotenoids remain visible.",
}


@pytest.fixture
def bench(tmp_path: Path) -> Benchmark:
    ws = Workspace(tmp_path / "ws", user="ada")
    draft = write(
        lambda accept: [q for q in QUESTIONS if accept(q)], Evaluation(), name="all kinds"
    )
    assert not draft.rejected
    return ws.create(draft).publish()


def test_the_worked_answers_of_every_kind_are_right_and_in_form(bench: Benchmark) -> None:
    run = Workspace(bench.place.path).run(bench, "reference")
    assert (run.summary["right"], run.summary["strict"]["right"]) == (6, 6)


def test_a_run_of_every_kind_has_its_verdicts_and_its_datasets(
    bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    def says(request: object) -> str:
        asked = request.messages[-1]["content"].split("\n")[0]  # type: ignore[attr-defined]
        return REPLIES[asked]

    monkeypatch.setattr("benchgen.models.catalogue.load", lambda *a: MockModel(says))
    run = Workspace(bench.place.path).run(bench, "reference")
    traces = run.traces()
    assert [t.correct for t in traces] == [True, False, True, True, False, True]
    assert [t.strict for t in traces] == [False, False, False, True, False, True]
    assert traces[4].reason == "wrong_tool"
    failures, distill = run.dataset("failures"), run.dataset("distill")
    assert (failures.height, distill.height, run.dataset("all").height) == (2, 4, 6)
    assert failures["target"].to_list() == ["2; 6", '[{"arguments":{"host":"a"},"name":"ping"}]']
    assert set(run.by_category) == {"planets", "numbers", "tools", "leaves"}
    page = Path(run.link).read_text()
    assert "not in the form asked for" in page
    assert "in exactly the form asked for" in page
