"""Each question asked once, each reply kept, whatever is killed in between."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import tracemalloc
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import polars as pl
import pytest

from benchgen import scoring
from benchgen.errors import ConfigError, ModelError, StoreError
from benchgen.models.mock import FixedModel, MockModel
from benchgen.run import runner, table
from benchgen.run.log import TraceLog
from benchgen.types import Evaluation, Likelihood, Question, Reply, Request, Trace, canonical

FORK = multiprocessing.get_context("fork")
QUESTIONS = tuple(
    Question(kind="qa", prompt=f"What is {i} in words?", target=[f"word{i}"]) for i in range(6)
)
ANSWERS = {q.key: f"Answer: {q.target[0]}" for q in QUESTIONS}


def task(questions: Sequence[Question] = QUESTIONS, **more: Any) -> runner.Task:
    return runner.Task(questions, Evaluation(), more.pop("scorer", scoring.score), **more)


def logged(path: Path) -> dict[str, Trace]:
    """{key: trace} of a log."""
    return {trace.key: trace for trace in TraceLog(path)}


def first(traces: Sequence[Trace]) -> Trace:
    return next(iter(traces))


class Shuffled:
    """Answers in the order given, as a batched model does; may leave some out or say some twice."""

    name = "shuffled"
    fingerprint = "f"

    def __init__(self, order: Sequence[int]) -> None:
        self.order = order

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        for index in self.order:
            yield index, Reply(ANSWERS[requests[index % len(requests)].key])


# ------------------------------------------------------------------------------------------ one run


def test_each_question_is_asked_once_and_every_trace_is_on_disk(tmp_path: Path) -> None:
    model = MockModel(ANSWERS)
    steps: list[tuple[int, int]] = []
    traces = runner.run(
        task(), model, tmp_path / "run" / "traces.jsonl", lambda *step: steps.append(step)
    )
    assert [r.key for r in model.requests] == [t.key for t in traces] == [q.key for q in QUESTIONS]
    assert {t.correct for t in traces} == {True}
    assert steps == [(n, 6) for n in range(7)]
    assert list(logged(tmp_path / "run" / "traces.jsonl").values()) == list(traces)


def test_replies_may_come_in_any_order(tmp_path: Path) -> None:
    """A batched model finishes short answers first; the result is in the questions' order."""
    traces = runner.run(task(), Shuffled([5, 0, 3, 1, 4, 2]), tmp_path / "t.jsonl")
    assert [t.key for t in traces] == [q.key for q in QUESTIONS]
    assert {t.correct for t in traces} == {True}


def test_a_request_says_what_the_benchmark_froze() -> None:
    evaluation = Evaluation(system="Be short.", max_new_tokens=7, temperature=0.5, stop=("\n\n",))
    asked = runner.request_for(
        QUESTIONS[0], runner.Task(QUESTIONS, evaluation, scoring.score, seed=9)
    )
    assert [m["role"] for m in asked.messages] == ["system", "user"]
    assert asked.messages[0]["content"] == "Be short."
    assert QUESTIONS[0].prompt in asked.messages[1]["content"]
    told = (asked.max_new_tokens, asked.temperature, asked.stop, asked.seed, asked.key)
    assert told == (7, 0.5, ("\n\n",), 9, QUESTIONS[0].key)


def test_an_empty_stop_text_is_not_asked_for() -> None:
    """It stands at the beginning of every reply, which would leave nothing of any."""
    evaluation = Evaluation(stop=("", "\n\n"))
    asked = runner.request_for(QUESTIONS[0], runner.Task(QUESTIONS, evaluation, scoring.score))
    assert asked.stop == ("\n\n",)


def test_a_trace_keeps_what_was_asked_said_and_used(tmp_path: Path) -> None:
    said = Reply("It is. Answer: word0", tokens_in=11, tokens_out=5, seconds=0.123456)
    trace = first(runner.run(task(QUESTIONS[:1]), MockModel([said]), tmp_path / "t.jsonl"))
    assert trace.messages == runner.request_for(QUESTIONS[0], task()).messages
    assert (trace.reply, trace.correct, trace.status) == ("It is. Answer: word0", True, "ok")
    assert (trace.tokens_in, trace.tokens_out, trace.seconds) == (11, 5, 0.1235)


def test_two_questions_with_one_key_are_refused_before_anything_is_asked(tmp_path: Path) -> None:
    model = MockModel(ANSWERS)
    with pytest.raises(StoreError, match="same key"):
        runner.run(task([*QUESTIONS, QUESTIONS[0]]), model, tmp_path / "t.jsonl")
    assert not model.requests
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [0, 1, 1, 2, 3, 4, 5], [0, 6], [-1]])
def test_a_model_that_breaks_its_word_is_named(tmp_path: Path, order: list[int]) -> None:
    """Too few replies, one twice, one to nothing: an error, and what was right before it is kept."""
    with pytest.raises(ModelError, match="shuffled"):
        runner.run(task(), Shuffled(order), tmp_path / "t.jsonl")
    kept = logged(tmp_path / "t.jsonl")
    assert len(kept) == len((tmp_path / "t.jsonl").read_text().splitlines()) <= 4


# ---------------------------------------------------------------------------- unmeasured is not wrong


def test_an_error_of_the_model_is_unmeasured(tmp_path: Path) -> None:
    said = Reply("half an ans", finish_reason="error", error="timed\nout after 30 s")
    trace = first(runner.run(task(QUESTIONS[:1]), MockModel([said]), tmp_path / "t.jsonl"))
    assert (trace.correct, trace.value, trace.status) == (None, None, "error")
    assert trace.reason == "timed out after 30 s"
    assert trace.reply == "half an ans"


def crash(*_: Any, **__: Any) -> Any:
    raise RecursionError("a frozen\nprogram may do anything")


def says(**changes: Any) -> Any:
    parts = {"correct": True, "value": 1.0, "extracted": "x", "status": "ok", "reason": ""}
    return lambda *_, **__: SimpleNamespace(**{**parts, **changes})


@pytest.mark.parametrize(
    "scorer",
    [
        crash,
        lambda *_, **__: None,
        says(correct="yes"),
        says(status="fine"),
        says(value=float("nan")),
        says(extracted=object()),
        says(extracted="\ud800"),
        says(extracted=5),
        says(reason=5),
        says(value="x"),
        says(value=7),
        says(correct=1),
    ],
)
def test_a_scorer_that_fails_is_unmeasured_and_the_run_goes_on(tmp_path: Path, scorer: Any) -> None:
    traces = runner.run(task(scorer=scorer), MockModel(ANSWERS), tmp_path / "t.jsonl")
    assert {(t.correct, t.value, t.status) for t in traces} == {(None, None, "error")}
    assert all(t.reason.startswith("scorer: ") and "\n" not in t.reason for t in traces)
    assert len(logged(tmp_path / "t.jsonl")) == 6


def test_a_reply_that_no_file_can_hold_is_kept_as_far_as_it_goes(tmp_path: Path) -> None:
    r"""An endpoint's JSON may hold the half of a character (\ud83d); line ends of all kinds stay inside."""
    said = "Answer: word0 \ud83d \u2028 \x85 \r\n\x00"
    trace = first(runner.run(task(QUESTIONS[:1]), MockModel([said]), tmp_path / "t.jsonl"))
    assert trace.reply == said.replace("\ud83d", "?")
    assert first(list(logged(tmp_path / "t.jsonl").values())) == trace


# -------------------------------------------------------------------------------------- beginning again


def test_a_finished_run_asks_nothing_more(tmp_path: Path) -> None:
    runner.run(task(), MockModel(ANSWERS), tmp_path / "t.jsonl")
    before = (tmp_path / "t.jsonl").read_bytes()
    steps: list[tuple[int, int]] = []
    again = runner.run(task(), MockModel([]), tmp_path / "t.jsonl", lambda *s: steps.append(s))
    assert len(again) == 6
    assert steps == [(6, 6)]
    assert (tmp_path / "t.jsonl").read_bytes() == before


def test_traces_of_other_questions_do_not_count(tmp_path: Path) -> None:
    """A longer run's log, read for its first two questions."""
    runner.run(task(), MockModel(ANSWERS), tmp_path / "t.jsonl")
    steps: list[tuple[int, int]] = []
    traces = runner.run(
        task(QUESTIONS[:2]), MockModel([]), tmp_path / "t.jsonl", lambda *s: steps.append(s)
    )
    assert len(traces) == 2
    assert steps == [(2, 2)]


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_torn_last_line_is_dropped_and_asked_again(tmp_path: Path, cut: int) -> None:
    """Cut 1 takes the line feed alone: the record looks whole, but the next writer would join it."""
    path = tmp_path / "t.jsonl"
    runner.run(task(QUESTIONS[:3]), MockModel(ANSWERS), path)
    whole = path.read_bytes()
    path.write_bytes(whole[:-cut])
    model = MockModel(ANSWERS)
    traces = runner.run(task(QUESTIONS[:3]), model, path)
    assert [r.key for r in model.requests] == [QUESTIONS[2].key]
    assert path.read_bytes() == whole
    assert list(logged(path).values()) == list(traces)


class Written:
    """Notes in a file what it is asked, before it answers; may kill its process in the middle of one."""

    name = fingerprint = "written"

    def __init__(self, folder: Path, kill_in: int = -1) -> None:
        self.folder, self.kill_in = folder, kill_in

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        for index, request in enumerate(requests):
            with (self.folder / "asked").open("a") as asked:
                asked.write(request.key + "\n")
            if index == self.kill_in:
                os.kill(os.getpid(), signal.SIGKILL)
            yield index, Reply("Answer: " + "word" * 2000)


def child(folder: Path, kill_after: int = -1, kill_in: int = -1) -> int | None:
    """The exit code of a process that runs the questions and is killed after so many traces."""

    def progress(done: int, total: int) -> None:
        if done == kill_after:
            os.kill(os.getpid(), signal.SIGKILL)

    model = Written(folder, kill_in)
    process = FORK.Process(target=runner.run, args=(task(), model, folder / "t.jsonl", progress))
    process.start()
    process.join(60)
    return process.exitcode


def test_killed_anywhere_and_begun_again_nothing_is_asked_twice_or_lost(tmp_path: Path) -> None:
    """A real process, killed with SIGKILL right after its 1st, 3rd and 6th trace, then left to end."""
    path = tmp_path / "t.jsonl"
    for kill_at in (1, 3, 6, -1):
        assert child(tmp_path, kill_at) == (-signal.SIGKILL if kill_at > 0 else 0)
        if kill_at > 0:
            assert len(path.read_text().splitlines()) == kill_at
    asked = (tmp_path / "asked").read_text().splitlines()
    assert sorted(asked) == sorted(q.key for q in QUESTIONS)
    keys = [json.loads(line)["key"] for line in path.read_text().splitlines()]
    assert keys == [q.key for q in QUESTIONS]


def test_killed_in_the_middle_of_an_answer(tmp_path: Path) -> None:
    """The question that was being answered is asked again, and only that one."""
    assert child(tmp_path, kill_in=2) == -signal.SIGKILL
    model = MockModel(ANSWERS)
    assert len(runner.run(task(), model, tmp_path / "t.jsonl")) == 6
    assert [r.key for r in model.requests] == [q.key for q in QUESTIONS[2:]]


def test_the_log_is_written_as_the_replies_come(tmp_path: Path) -> None:
    """Progress of a run is read from its log by other processes while it goes on."""
    seen: list[int] = []

    def answer(request: Request) -> str:
        path = tmp_path / "t.jsonl"
        seen.append(len(logged(path)))
        return ANSWERS[request.key]

    runner.run(task(), MockModel(answer), tmp_path / "t.jsonl")
    assert seen == [0, 1, 2, 3, 4, 5]


def test_a_changed_log_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "t.jsonl").write_text('{"key": 1\n{"key": "a"}\n')
    with pytest.raises(StoreError, match="line 1"):
        runner.run(task(), MockModel(ANSWERS), tmp_path / "t.jsonl")
    assert (tmp_path / "t.jsonl").stat().st_size > 0


@pytest.mark.parametrize(
    "change",
    [
        {"repeat": "x"},
        {"repeat": None},
        {"repeat": 1e3},
        {"key": ["a"]},
        {"tokens_in": "a"},
        {"correct": "yes"},
        {"messages": "a"},
        {"likelihood": []},
        {"unknown": 1},
        {"reply": ...},
    ],
    ids=str,
)
def test_a_line_that_is_no_trace_is_named(tmp_path: Path, change: dict[str, Any]) -> None:
    path = tmp_path / "t.jsonl"
    runner.run(task(QUESTIONS[:2]), MockModel(ANSWERS), path)
    one, other = path.read_text().splitlines()
    row = {k: v for k, v in {**json.loads(other), **change}.items() if v is not ...}
    path.write_text(f"{one}\n{json.dumps(row)}\n")
    with pytest.raises(StoreError, match=f"line 2 of t.jsonl is no trace: {next(iter(change))}"):
        TraceLog(path)


def test_a_log_of_the_first_version_is_read(tmp_path: Path) -> None:
    """Without the fields that came later."""
    path = tmp_path / "t.jsonl"
    trace = first(runner.run(task(QUESTIONS[:1]), MockModel(ANSWERS), path))
    row = trace.to_dict()
    for later in ("strict", "repeat", "likelihood"):
        del row[later]
    path.write_text(canonical(row) + "\n")
    assert list(TraceLog(path)) == [replace(trace, strict=None)]


# ------------------------------------------------------------------------------------------- repeats


def test_repeats_ask_each_question_so_often_and_are_told_apart(tmp_path: Path) -> None:
    model = MockModel(lambda request: f"Answer: {request.repeat}")
    traces = runner.run(task(QUESTIONS[:2], repeats=3), model, tmp_path / "t.jsonl")
    assert [(t.key, t.repeat) for t in traces] == [
        (q.key, r) for q in QUESTIONS[:2] for r in range(3)
    ]
    assert [t.extracted for t in traces] == ["0", "1", "2"] * 2
    assert [r.repeat for r in model.requests] == [0, 1, 2] * 2


def test_more_repeats_ask_only_the_new_ones(tmp_path: Path) -> None:
    runner.run(task(QUESTIONS[:2]), MockModel(ANSWERS), tmp_path / "t.jsonl")
    model = MockModel(ANSWERS)
    runner.run(task(QUESTIONS[:2], repeats=2), model, tmp_path / "t.jsonl")
    assert [(r.key, r.repeat) for r in model.requests] == [(q.key, 1) for q in QUESTIONS[:2]]


def test_sampling_of_the_run_goes_before_the_benchmarks() -> None:
    drawn = runner.Sampling(temperature=0.5, top_p=0.9, top_k=7, max_new_tokens=3)
    asked = runner.request_for(QUESTIONS[0], task(sampling=drawn))
    assert (asked.temperature, asked.top_p, asked.top_k, asked.max_new_tokens) == (0.5, 0.9, 7, 3)
    cold = runner.request_for(QUESTIONS[0], task(sampling=runner.Sampling(temperature=0.0)))
    assert cold.temperature == 0.0


# -------------------------------------------------------------------------------------- retry errors


def test_what_got_no_reply_is_asked_again_only_when_told(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    away: dict[str, str | Reply] = {**ANSWERS}
    for question in QUESTIONS[1:3]:
        away[question.key] = Reply("", "error", error="timeout: nothing came")
    first_time = runner.run(task(), MockModel(away), path)
    assert first_time.unanswered == {(q.key, 0) for q in QUESTIONS[1:3]}
    plain = MockModel(ANSWERS)
    runner.run(task(), plain, path)
    assert plain.requests == []
    model = MockModel(ANSWERS)
    traces = runner.run(task(), model, path, retry_errors=True)
    assert [r.key for r in model.requests] == [q.key for q in QUESTIONS[1:3]]
    assert [t.correct for t in traces] == [True] * 6
    assert traces.unanswered == set()


def test_a_scorer_that_crashed_is_no_missing_reply(tmp_path: Path) -> None:
    def crashing(kind: str, **rest: Any) -> Any:
        raise RuntimeError("no")

    path = tmp_path / "t.jsonl"
    runner.run(task(scorer=crashing), MockModel(ANSWERS), path)
    model = MockModel(ANSWERS)
    runner.run(task(scorer=crashing), model, path, retry_errors=True)
    assert model.requests == []


def test_a_second_line_replaces_no_answer(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    traces = runner.run(task(QUESTIONS[:1]), MockModel(ANSWERS), path)
    other = replace(traces[0], reply="another", correct=False)
    path.write_text(path.read_text() + canonical(other.to_dict()) + "\n")
    assert [t.reply for t in TraceLog(path)] == [traces[0].reply]


# ----------------------------------------------------------------------------------------- the log


def test_the_log_is_a_sequence_in_question_order(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    traces = runner.run(task(), Shuffled([5, 0, 3, 1, 4, 2]), path)
    keys = [q.key for q in QUESTIONS]
    assert [traces[i].key for i in range(6)] == keys
    assert [t.key for t in traces[2:4]] == keys[2:4]
    assert traces[-1].key == keys[-1]
    assert len(TraceLog(path, keys[:2])) == 2


def test_what_a_run_holds_does_not_grow_with_its_texts(tmp_path: Path) -> None:
    def held(reply: str) -> int:
        tracemalloc.start()
        traces = runner.run(task(many), FixedModel(reply), tmp_path / f"{len(reply)}.jsonl")
        assert len(traces) == len(many)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return peak

    many = [replace(QUESTIONS[0], prompt=f"What is {i}?") for i in range(300)]
    held("x")  # imports and caches
    short, long = held("Answer: x"), held("Answer: x" + "y" * 20_000)
    assert long - short < 100 * 20_000  # of 300 such replies


def test_the_table_has_every_trace_in_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "PART", 4)
    likely = {"text": ["a", "b"], "logprob": [-1.0, -2.0], "tokens": [1, 1], "characters": [1, 1]}
    likely |= {"bytes": [1, 1], "greedy": [True, False]}
    traces = [*runner.run(task(), MockModel(ANSWERS), tmp_path / "t.jsonl")]
    traces[2] = replace(traces[2], likelihood=likely, value=None, correct=None)
    table.write_parquet(traces, tmp_path / "t.parquet")
    found = pl.read_parquet(tmp_path / "t.parquet")
    assert found.schema == table.SCHEMA
    assert [Trace.from_dict(row) for row in found.to_dicts()] == traces
    table.write_parquet([], tmp_path / "t.parquet")
    assert pl.read_parquet(tmp_path / "t.parquet").height == 0


# -------------------------------------------------------------------------------------- likelihood


CHOICE = Question(
    kind="mcq", prompt="Which is a moon?", target="B", choices=("Mars", "a long name of Titan", "X")
)


class Likely:
    """Finds the choices likely as told."""

    name = fingerprint = "likely"

    def __init__(self, *logprob: float) -> None:
        self.logprob = logprob
        self.requests: list[Request] = []

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        self.requests = list(requests)
        for index in range(len(requests)):
            yield index, Reply("", likelihood=Likelihood(self.logprob, (1, 5, 1), (False,) * 3))


def likelihood(tmp_path: Path, model: Likely, **evaluation: Any) -> Trace:
    asked = runner.Task([CHOICE], Evaluation(method="likelihood", **evaluation), scoring.score)
    return runner.run(asked, model, tmp_path / f"{len(list(tmp_path.iterdir()))}.jsonl")[0]


def test_the_likeliest_option_is_the_reply_and_the_program_scores_it(tmp_path: Path) -> None:
    model = Likely(-3.0, -2.0, -4.0)
    trace = likelihood(tmp_path, model)
    assert model.requests[0].choices == (" A", " B", " C")
    assert model.requests[0].opening == "Answer:"
    assert (trace.reply, trace.correct, trace.status) == ("B", True, "ok")
    assert trace.likelihood == {
        "text": ["A", "B", "C"],
        "logprob": [-3.0, -2.0, -4.0],
        "tokens": [1, 5, 1],
        "characters": [1, 1, 1],
        "bytes": [1, 1, 1],
        "greedy": [False] * 3,
    }


@pytest.mark.parametrize(
    ("normalisation", "picked"), [("sum", "A"), ("token", "B"), ("character", "B"), ("", "B")]
)
def test_the_normalisation_picks(tmp_path: Path, normalisation: str, picked: str) -> None:
    model = Likely(-3.0, -10.0, -4.0)
    trace = likelihood(tmp_path, model, options="names", normalisation=normalisation)
    assert trace.reply == picked
    assert model.requests[0].choices == (" Mars", " a long name of Titan", " X")


def test_hidden_options_are_scored_and_not_shown(tmp_path: Path) -> None:
    model = Likely(-1.0, -1.0, -1.0)
    trace = likelihood(tmp_path, model, options="hidden", normalisation="sum")
    assert trace.messages == ({"role": "user", "content": "Which is a moon?"},)
    assert trace.reply == "A"  # of equal ones the first


@pytest.mark.parametrize(
    ("evaluation", "question"),
    [
        ({"method": "guess"}, CHOICE),
        ({"method": "likelihood", "normalisation": "words"}, CHOICE),
        ({"options": "hidden"}, CHOICE),
        ({"method": "likelihood"}, replace(CHOICE, target=["A", "B"])),
    ],
    ids=["method", "normalisation", "hidden and generated", "several right"],
)
def test_what_cannot_be_asked_so_is_a_config_error(
    tmp_path: Path, evaluation: dict[str, Any], question: Question
) -> None:
    asked = runner.Task([question], Evaluation(**evaluation), scoring.score)
    with pytest.raises(ConfigError):
        runner.run(asked, Likely(-1.0, -2.0, -3.0), tmp_path / "t.jsonl")


@pytest.mark.parametrize(
    ("told", "said"),
    [
        (Likelihood((-1.0, float("nan"), -2.0), (1, 5, 1), (False,) * 3), "1 of 3 options"),
        (Likelihood((-1.0, -2.0, float("-inf")), (1, 5, 1), (False,) * 3), "no finite number"),
        (Likelihood((-1.0, -2.0), (1, 5), (False,) * 2), "2 options, not of 3"),
        (Likelihood((-1.0,) * 4, (1,) * 4, (False,) * 4), "4 options, not of 3"),
        (Likelihood((-1.0,) * 3, (1,) * 2, (False,) * 3), "2 and 3 options"),
    ],
    ids=["nan", "no probability", "too few", "too many", "lengths differ"],
)
def test_likelihoods_that_cannot_be_compared_are_not_measured(
    tmp_path: Path, told: Likelihood, said: str
) -> None:
    """And the run goes on: of a model whose numbers overflow on one question the others count."""
    fine = Likelihood((-3.0, -1.0, -2.0), (1, 5, 1), (False,) * 3)
    model = MockModel([Reply("", likelihood=told), Reply("", likelihood=fine)])
    questions = [CHOICE, replace(CHOICE, prompt="And which now?")]
    asked = runner.Task(questions, Evaluation(method="likelihood"), scoring.score)
    traces = runner.run(asked, model, tmp_path / "t.jsonl")
    assert [t.correct for t in traces] == [None, True]
    assert said in traces[0].reason
    assert traces.unanswered == {(CHOICE.key, 0)}


def test_other_kinds_are_generated_beside_it() -> None:
    asked = runner.Task(QUESTIONS, Evaluation(method="likelihood"), scoring.score)
    assert runner.request_for(QUESTIONS[0], asked).choices == ()
