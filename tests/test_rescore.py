"""Stored replies under another scoring program: both scores side by side, and no model is asked."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchgen.author.write import write
from benchgen.benchmark import registry
from benchgen.errors import ConfigError
from benchgen.models.mock import MockModel
from benchgen.records import Run
from benchgen.run import runner
from benchgen.store import read_jsonl
from benchgen.types import Evaluation, Question, Reply
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

QUESTIONS = tuple(Question("qa", f"Name number {i}?", [f"word{i}"]) for i in range(6))
REPLIES = [
    "Answer: word0",  # right, in form
    "**Answer:** word1.",  # right, not in form
    "The answer is word2",  # right, not in form
    "Answer: other",
    "",
    "Error: connection timed out",  # not measured
]
OLDER = '''
def score(kind, *, reply, target, choices=None, finish_reason="stop", **options):
    """A program of an earlier time: it reads the plain form only."""
    from dataclasses import replace
    from .verdict import judged, missed
    lines = (reply or "").splitlines()
    said = lines[-1].removeprefix("Answer: ") if lines and lines[-1].startswith("Answer: ") else None
    verdict = missed("no_answer", "undeclared") if said is None else judged(said in target, said)
    return replace(verdict, strict=None)
'''


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """A finished run on a benchmark that an older program was frozen into."""
    older = tmp_path / "older"
    registry.copy_program(older)
    with (older / "score.py").open("a") as file:
        file.write(OLDER)
    ws = Workspace(tmp_path / "ws", user="ada")
    with monkeypatch.context() as patch:
        patch.setattr(registry, "PROGRAM", older)
        draft = write(
            lambda accept: [q for q in QUESTIONS if accept(q)], Evaluation(), name="words"
        )
        bench = ws.create(draft).publish()
    answers = {q.key: r for q, r in zip(QUESTIONS, REPLIES, strict=True)}
    mock = MockModel(answers)
    monkeypatch.setattr("benchgen.models.catalogue.load", lambda *a, **k: mock)
    return ws.run(bench, "reference")


def test_both_programs_are_shown_side_by_side(run: Run) -> None:
    told = run.rescore().to_dict()
    own, other = told["scores"]
    assert (own["own"], other["own"]) == (True, False)
    assert own["sha256"] == run.benchmark.row.program_sha256
    assert other["sha256"] == registry.program_sha256(registry.PROGRAM)
    assert (own["right"], own["scored"], own["asked"]) == (1, 6, 6)
    assert (other["right"], other["scored"], other["asked"]) == (3, 5, 6)
    assert (other["strict"]["right"], other["strict"]["scored"]) == (1, 5)
    assert own["strict"]["scored"] == 0  # that program does not tell
    assert told["changed"] == {
        "wrong to not measured": 1,
        "wrong to right": 2,
        "wrong to wrong": 1,
    }
    assert [row["key"] for row in told["rows"]] == [QUESTIONS[i].key for i in (1, 2, 4, 5)]


def test_a_newer_program_changes_only_benchmarks_made_later(run: Run) -> None:
    ws = Workspace(run.place.path, user="ada")
    draft = write(lambda accept: [q for q in QUESTIONS if accept(q)], Evaluation(), name="words")
    later = ws.create(draft).publish()
    newest = registry.program_sha256(registry.PROGRAM)
    assert run.benchmark.row.program_sha256 != newest == later.row.program_sha256
    again = ws.run(run.benchmark, "reference")  # scored by the program frozen into it
    assert [t.correct for t in again.traces()] == [t.correct for t in run.traces()]
    assert ws.run(later, "reference").score != again.score


def test_no_model_is_asked_and_the_run_stays_as_it_is(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = {p: p.read_bytes() for p in run.folder.rglob("*") if p.is_file()}
    summary = run.summary
    monkeypatch.setattr("benchgen.models.catalogue.load", None)
    found = run.rescore()
    assert run.summary == summary
    assert {p: p.read_bytes() for p in before} == before
    kept = run.folder / "rescored" / f"{found.other.sha256[:12]}.jsonl"
    assert [row["correct"] for row in read_jsonl(kept)] == [True, True, True, False, False, None]


def test_its_own_program_changes_no_verdict(run: Run) -> None:
    told = run.rescore("own").to_dict()
    assert told["changed"] == {}
    assert told["scores"][0]["score"] == told["scores"][1]["score"]


def test_a_program_is_named_by_the_beginning_of_its_hash(run: Run) -> None:
    sha = registry.program_sha256(registry.PROGRAM)
    assert run.rescore(sha[:12]).other.sha256 == sha
    for name in ("newest", sha[:3], ""):
        with pytest.raises(ConfigError, match=r"latest.*own"):
            run.rescore(name)


def test_runs_under_different_programs_warn_until_both_have_one(run: Run) -> None:
    ws = Workspace(run.place.path, user="ada")
    draft = write(lambda accept: [q for q in QUESTIONS if accept(q)], Evaluation(), name="words")
    later = ws.run(ws.create(draft).publish(), "reference")
    apart = ws.compare([run, later])
    assert any("different programs" in w and "program=latest" in w for w in apart.warnings)
    assert [row.right for row in apart.rows] == [1, 3]
    alike = ws.compare([run, later], program="latest")
    assert not any("different programs" in w for w in alike.warnings)
    assert [row.right for row in alike.rows] == [3, 3]


def test_what_was_never_answered_stays_unmeasured(tmp_path: Path) -> None:
    question = QUESTIONS[0]
    task = runner.Task([question], Evaluation(), scorer=None)  # type: ignore[arg-type]
    model = MockModel([Reply("", error="timeout")])
    traces = runner.run(task, model, tmp_path / "traces.jsonl")
    assert traces[0].correct is None

    def never(*args: object, **kwargs: object) -> None:
        raise AssertionError("an unanswered request is not scored")

    assert runner.rescored(traces[0], question, never) == traces[0]


def test_a_scorer_that_crashes_on_one_answer_leaves_the_rest(tmp_path: Path) -> None:
    from benchgen.scoring import score

    def brittle(kind: str, **parts: object) -> object:
        if parts["reply"] == REPLIES[2]:
            raise RuntimeError("broken")
        return score(kind, **parts)  # type: ignore[arg-type]

    answers = {q.key: r for q, r in zip(QUESTIONS, REPLIES, strict=True)}
    task = runner.Task(QUESTIONS, Evaluation(), brittle)
    traces = runner.run(task, MockModel(answers), tmp_path / "traces.jsonl")
    assert [t.correct for t in traces] == [True, True, None, False, False, None]
    assert (traces[2].status, traces[2].strict) == ("error", None)
    assert "RuntimeError" in traces[2].reason
    lines = [json.loads(line) for line in (tmp_path / "traces.jsonl").read_text().splitlines()]
    assert len(lines) == 6
