"""The guide's two loops by chat messages alone, with the embedded model, real processes and small settings."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchgen.agent.reply import Reply
from benchgen.agent.session import Agent
from benchgen.workspace import Workspace

pytestmark = [pytest.mark.torch, pytest.mark.slow]
PATIENCE_S = 600.0


@pytest.fixture
def agent(tmp_path: Path) -> Agent:
    return Agent(Workspace(tmp_path / "ws", user="ada"))


def said(agent: Agent, text: str, intent: str) -> Reply:
    """The reply, which must be of this intent."""
    reply = agent.send(text)
    assert reply.intent == intent, (text, reply)
    return reply


def finished(agent: Agent, ask: str, intent: str) -> Reply:
    """The reply to a question for a status, asked again until it is finished."""
    end = time.monotonic() + PATIENCE_S
    while True:
        reply = said(agent, ask, intent)
        state = reply.arguments["state"]
        if state == "finished":
            return reply
        assert state in ("queued", "running"), reply.text
        assert "score" not in reply.arguments
        assert time.monotonic() < end, reply.text
        time.sleep(0.2)


def created(agent: Agent) -> int:
    """A benchmark of six questions, previewed and created."""
    preview = said(
        agent,
        'Create a multiple choice benchmark in English called "Small Sky" with 6 questions about the solar '
        "system: planets and moons. 4 options each, exactly one correct.",
        "create_benchmark",
    )
    assert "Nothing is created yet" in preview.text
    assert agent.ws.benchmarks().is_empty()
    made = said(agent, "Create it", "confirm_create")
    assert len(made.choices) == 3
    assert made.links
    return int(made.arguments["benchmark"])


def test_measure_train_measure_again(agent: Agent) -> None:
    bench = created(agent)
    draft = said(agent, f"run benchmark {bench} on smollm2_135m", "explain_draft")
    assert "publish" in draft.text
    begun = said(agent, "publish it and run smollm2_135m on it", "publish_and_run")
    first = begun.arguments["run"]
    assert begun.links
    score = finished(agent, f"what is the status of run {first}?", "run_status")
    assert score.arguments["asked"] == 6
    assert sum(score.arguments["by_category"].values()) == 6
    shown = said(agent, f"Show the dataset of run {first} in mode all, 10 rows.", "show_dataset")
    assert shown.arguments["rows"] == 6

    plan = said(
        agent,
        f"Plan a from-run training from run {first}, 2 steps at most, batch size 2",
        "plan_training",
    )
    assert plan.plan is not None
    assert agent.ws.jobs().is_empty()
    assert "base_model" in plan.text
    assert said(agent, "yes please", "cancel_plan").plan is None
    assert said(agent, "yes", "nothing_pending").plan is None
    assert agent.ws.jobs().is_empty()
    said(
        agent,
        f"Plan a from-run training from run {first}, 2 steps at most, batch size 2",
        "plan_training",
    )
    started = said(agent, "yes", "confirm_plan")
    assert said(agent, "yes", "already_done").arguments["job"] == started.arguments["job"]
    done = finished(agent, "training status", "training_status")
    assert done.arguments["step"] == 2
    assert "step 2" in said(agent, "training logs", "training_logs").text

    second = said(
        agent, "run the same benchmark on the model this training produced", "run_benchmark"
    )
    assert second.arguments["benchmark"] == bench
    assert second.arguments["model"] == done.arguments["model"]
    run = second.arguments["run"]
    early = agent.send("did the training help?")
    assert early.intent in ("no_claim_yet", "compare_runs")
    finished(agent, f"status of run {run}", "run_status")
    both = said(
        agent,
        f"Show the scores of runs {first} and {run} side by side with the run links.",
        "compare_runs",
    )
    assert set(both.arguments["scores"]) == {str(first), str(run)}
    assert len(both.links) == 2
    assert "trained on these questions" in both.text


def test_a_strong_model_taught_to_a_small_one(agent: Agent) -> None:
    bench = created(agent)
    said(agent, "1", "choose_option")
    ceiling = said(agent, f"run benchmark {bench} on reference", "run_benchmark").arguments["run"]
    finished(agent, f"status of run {ceiling}", "run_status")
    baseline = said(agent, f"run benchmark {bench} on smollm2_135m", "run_benchmark").arguments[
        "run"
    ]
    finished(agent, f"status of run {baseline}", "run_status")
    none = said(agent, f"plan a from-run training from run {ceiling}", "explain")
    assert none.arguments["n_failures"] == 0
    plan = said(
        agent,
        f"Plan a from-run training from run {ceiling}, dataset mode distill, base model smollm2_135m, at most 2 "
        "steps, batch size 2",
        "plan_training",
    )
    assert "6 correct trajectories" in plan.text
    said(agent, "yes", "confirm_plan")
    finished(agent, "training status", "training_status")
    trained = said(
        agent, "run the same benchmark on the model this training produced", "run_benchmark"
    )
    run = trained.arguments["run"]
    finished(agent, f"status of run {run}", "run_status")
    three = said(
        agent,
        f"show the scores of runs {ceiling}, {baseline} and {run} side by side",
        "compare_runs",
    )
    assert len(three.arguments["scores"]) == 3
    sibling = said(
        agent, f"same topic as benchmark {bench} but 4 new questions", "create_benchmark"
    )
    assert sibling.arguments["no_overlap_with"] == bench
