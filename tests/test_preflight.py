"""The sampling pass before GRPO: figures worked out by hand, on scripted replies to a real benchmark's questions."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from benchgen import config, scoring
from benchgen.errors import ConfigError, DataError, InputError, StateError
from benchgen.models.mock import MockModel, Script
from benchgen.plan.preflight import Preflight, preflight, summary_lines
from benchgen.records import Benchmark
from benchgen.run import runner
from benchgen.store import ModelRow
from benchgen.types import Evaluation, Question, Reply, Request
from benchgen.workspace import Workspace

QUESTIONS = [Question("numeric", f"What is {i} + {i}?", 2 * i) for i in (1, 2, 3, 4)]
RIGHT = {q.key: f"Answer: {q.target}" for q in QUESTIONS}
ORDER = {q.key: i for i, q in enumerate(QUESTIONS)}


def looked_at(script: Script, tmp_path: Path, repeats: int = 4) -> Preflight:
    sampling = runner.Sampling(temperature=1.0)
    task = runner.Task(QUESTIONS, Evaluation(), scoring.score, repeats=repeats, sampling=sampling)
    traces = list(runner.run(task, MockModel(script), tmp_path / "traces.jsonl"))
    by_key = {q.key: q for q in QUESTIONS}
    return preflight(7, by_key, traces, scoring.score, seconds=32.0)


def said(request: Request) -> Reply:
    """Question 1: four right, the last not in form. 2: one right. 3: wrong, two of them cut. 4: two get no reply."""
    right, number = RIGHT[request.key], ORDER[request.key]
    tokens = 10 * number + request.repeat
    wrong = Reply("Answer: 1000", tokens_out=tokens)
    if number == 0:
        loose = f"It is {QUESTIONS[0].target}, I think: the answer is {QUESTIONS[0].target}."
        return Reply(right if request.repeat < 3 else loose, tokens_out=tokens)
    if number == 1:
        return Reply(right, tokens_out=tokens) if request.repeat == 2 else wrong
    if number == 2:
        end = "length" if request.repeat > 1 else "stop"
        return dataclasses.replace(wrong, finish_reason=end)
    if request.repeat < 2:
        return Reply("", error="the endpoint is down")
    return Reply(right, tokens_out=tokens) if request.repeat == 2 else wrong


def test_the_figures_are_those_worked_out_by_hand(tmp_path: Path) -> None:
    found = looked_at(said, tmp_path)
    assert (found.run, found.prompts, found.num_generations) == (7, 4, 4)
    assert found.pass_at_1 == pytest.approx((1 + 1 / 4 + 0 + 1 / 2) / 4)
    assert found.pass_at_g == pytest.approx(2 / 3)  # the fourth was not measured four times
    assert found.mixed == 2 / 4  # the second and, in what of it was measured, the fourth
    assert (found.all_right, found.all_wrong) == (1, 1)
    low, high = found.mixed_ci
    assert 0 < low < 0.5 < high < 1
    assert found.strict == pytest.approx(5 / 14)
    assert found.clipped == 2 / 16
    assert found.unmeasured == 2 / 16
    lengths = sorted([0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 0, 0, 32, 33])
    assert found.length_mean == pytest.approx(sum(lengths) / 16, abs=0.05)
    assert found.length_p95 == lengths[15]  # 0.95 x 16 = 15.2: the sixteenth
    assert found.scorer_ms > 0
    assert found.seconds == 32.0
    assert [w for w in found.warnings if "could not measure 12%" in w]
    told = summary_lines(found)
    assert told["sampling pass"] == "run 7: 4 prompts x 4 replies"
    assert (told["pass@1"], told["pass@4"]) == ("44%", "67%")
    assert told["mixed outcomes"].startswith("50% of the prompts")


@pytest.mark.parametrize(
    ("script", "words"),
    [
        (lambda request: "Answer: 1000", "nearly always wrong"),
        (lambda request: RIGHT[request.key], "nearly always right"),
        (lambda request: Reply("", error="down"), "none of the prompts"),
        (
            lambda request: RIGHT[request.key] if ORDER[request.key] % 2 else "Answer: 1000",
            "always right or always wrong",
        ),
    ],
    ids=["wrong", "right", "unmeasured", "either"],
)
def test_little_to_compare_is_said_in_plain_words(
    tmp_path: Path, script: Script, words: str
) -> None:
    told = looked_at(script, tmp_path).warnings[0]
    assert words in told
    assert ("short SFT adapter" in told) == ("right" not in words)


def test_enough_to_compare_is_not_warned_of(tmp_path: Path) -> None:
    """Two of four prompts are mixed: above 30 %."""

    def some(request: Request) -> str:
        mixed = ORDER[request.key] < 2 and request.repeat == 0
        return RIGHT[request.key] if mixed else "Answer: 1000"

    found = looked_at(some, tmp_path)
    assert found.mixed == 0.5
    assert found.warnings == ()


def test_many_cut_replies_are_warned_of(tmp_path: Path) -> None:
    def long(request: Request) -> Reply:
        end = "length" if request.repeat == 0 else "stop"
        return Reply("Answer: 1000" if request.repeat else RIGHT[request.key], end)

    assert any("cut at their limit" in w for w in looked_at(long, tmp_path).warnings)


# ------------------------------------------------------------------------------- in a workspace


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")


@pytest.fixture
def bench(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    return ws.create(ws.author(dataclasses.replace(spec, count=8, mix={}, categories={})))


def parrot(ws: Workspace, text: str = "Answer: Mars") -> str:
    """Name of a model that says this to everything."""
    return str(
        ws.store.add(ModelRow(owner="", name="parrot", kind="mock", spec={"source": text})).name
    )


def test_a_pass_is_a_run_drawn_as_the_recipe_draws(ws: Workspace, bench: Benchmark) -> None:
    bench.publish()
    own = config.GrpoConfig(num_generations=4)
    answer = bench.questions[0].target_text
    run, found = ws.preflight(bench, parrot(ws, f"Answer: {answer}"), grpo=own, limit=6)
    right = sum(q.target_text == answer for q in bench.questions[:6])
    assert found.prompts == 6
    assert found.pass_at_1 == pytest.approx(right / 6)
    assert found.mixed == 0
    assert run.row.settings["repeats"] == 4
    assert run.row.settings["sampling"]["temperature"] == own.temperature
    assert run.row.settings["sampling"]["max_new_tokens"] == own.max_completion_length
    assert len(run.traces()) == 24
    assert {p.scored for p in found.probes} == {0}


def test_a_draft_is_not_sampled(ws: Workspace, bench: Benchmark) -> None:
    with pytest.raises(StateError, match="draft"):
        ws.preflight(bench, parrot(ws))
    assert ws.runs().height == 0


def test_greedy_samples_and_a_group_of_one_are_refused(ws: Workspace, bench: Benchmark) -> None:
    bench.publish()
    model = parrot(ws)
    for wrong in (config.GrpoConfig(temperature=0.0), config.GrpoConfig(num_generations=1)):
        with pytest.raises(ConfigError):
            ws.preflight(bench, model, grpo=wrong)
    with pytest.raises(InputError, match="limit"):
        ws.preflight(bench, model, limit=9)
    assert ws.runs().height == 0


def test_a_benchmark_by_likelihood_has_nothing_to_reward(ws: Workspace) -> None:
    spec = config.load_benchmark("solar_system_basics")
    asked = dataclasses.replace(spec.evaluation, method="likelihood")
    made = ws.create(ws.author(dataclasses.replace(spec, evaluation=asked))).publish()
    with pytest.raises(DataError, match="likelihood"):
        ws.preflight(made, parrot(ws))


def test_a_scorer_that_pays_for_junk_is_not_sampled_with(
    ws: Workspace, bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.publish()
    honest = bench.scorer()

    def generous(kind: str, *, reply: str, **others: object) -> object:
        found = honest(kind, reply=reply, **others)
        return found if reply.strip() else dataclasses.replace(found, correct=True, value=1.0)

    monkeypatch.setattr(Benchmark, "scorer", lambda self: generous)
    with pytest.raises(DataError, match="pays for junk") as failed:
        ws.preflight(bench, parrot(ws))
    assert "8 of 8 questions" in failed.value.message
    assert ws.runs().height == 0
