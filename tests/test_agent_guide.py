"""A person's whole way, by chat messages alone, on the embedded model: measure, train, measure again; distil.

The messages are those that the guide to such an agent shows, with the names and counts of a small model.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from benchgen import Agent
from benchgen.agent.reply import Reply
from benchgen.workspace import Workspace

pytestmark = [pytest.mark.slow, pytest.mark.torch]

WAIT_S = 900
CREATE = (
    'Create a multiple choice benchmark in English called "Solar Six" with 6 questions about the solar '
    "system and space: planets, moons, missions, stars and galaxies. 4 options each, exactly one correct, "
    "mixed difficulty."
)


class Person:
    """Says a thing, and looks at what comes of it."""

    def __init__(self, agent: Agent) -> None:
        self.agent = agent

    def say(self, text: str, intent: str) -> Reply:
        """The reply, which is what the message asked for."""
        reply = self.agent.send(text)
        assert reply.intent == intent, f"{text!r}: {reply.intent}: {reply.text}"
        return reply

    def wait(self, text: str, intent: str, state: str = "state") -> Reply:
        """The status, asked until it is the end."""
        end = time.monotonic() + WAIT_S
        while True:
            reply = self.say(text, intent)
            if reply.arguments.get(state) in ("finished", "completed"):
                return reply
            assert reply.arguments.get(state) != "failed", reply.text
            assert time.monotonic() < end, reply.text
            time.sleep(1)


def test_both_loops_by_chat_messages_alone(tmp_path: Path) -> None:
    ws = Workspace(tmp_path / "workspace")
    person = Person(Agent(ws))

    # a benchmark
    preview = person.say(CREATE, "create_benchmark")
    assert preview.arguments["n"] == 6
    assert ws.benchmarks().height == 0, "nothing exists before the person's word"
    made = person.say("Create it", "confirm_create")
    bench = made.arguments["benchmark"]
    assert len(made.choices) == 3
    refused = person.say("run smollm2_135m on it", "explain_draft")
    assert "publish" in refused.text
    assert ws.runs().height == 0

    # the baseline
    run = person.say("publish it and run smollm2_135m on it", "publish_and_run").arguments["run"]
    early = person.say(f"Plan a from-run training from run {run}.", "error")
    assert "not finished" in early.text or ws.get_run(run).state == "finished"
    base = person.wait(f"what is the status of run {run}?", "run_status")
    assert "score" in base.arguments
    assert sum(base.arguments["by_category"].values()) == 6
    rows = person.say(f"Show the dataset of run {run} in mode all, 10 rows.", "show_dataset")
    assert rows.arguments["rows"] == 6

    # improvement
    plan = person.say(f"Plan a from-run training from run {run}, at most 1 step.", "plan_training")
    assert plan.plan is not None
    assert plan.arguments["mode"] == "failures"
    assert ws.jobs().height == 0
    started = person.say("yes", "confirm_plan")
    person.say("yes", "already_done")
    assert ws.jobs().height == 1
    job = started.arguments["job"]
    person.wait("training status", "training_status")
    assert person.say("training logs", "training_logs").arguments["job"] == job
    again = person.say(
        "Run the same benchmark on the model this training produced.", "run_benchmark"
    )
    assert again.arguments["benchmark"] == bench
    trained = again.arguments["run"]
    if ws.get_run(trained).state != "finished":
        person.say("did the training help?", "no_claim_yet")
    person.wait(f"status of run {trained}", "run_status")
    both = person.say(
        f"Show the scores of runs {run} and {trained} side by side with the run links.",
        "compare_runs",
    )
    assert len(both.links) >= 2
    assert ws.get_run(run).benchmark.id == ws.get_run(trained).benchmark.id

    # distilling, in a chat of its own
    person = Person(Agent(ws))
    ceiling = person.say(f"run benchmark {bench} on reference", "run_benchmark").arguments["run"]
    person.wait(f"status of run {ceiling}", "run_status")
    asks = person.say(
        f"Plan a from-run training from run {ceiling}, dataset mode distill.", "clarify"
    )
    assert asks.arguments["missing"] == ["base_model"], (
        "a strong model's run does not say whom to train"
    )
    plan = person.say(
        f"Plan a from-run training from run {ceiling}, dataset mode distill, base model smollm2_135m, "
        "at most 1 step.",
        "plan_training",
    )
    assert "6 correct trajectories" in plan.text
    person.say("yes", "confirm_plan")
    person.wait("training status", "training_status")
    distilled = person.say(
        "Run the same benchmark on the model this training produced.", "run_benchmark"
    ).arguments["run"]
    person.wait(f"status of run {distilled}", "run_status")
    three = person.say(f"compare runs {ceiling}, {run} and {distilled}", "compare_runs")
    assert three.arguments["runs"] == [ceiling, run, distilled]
    assert len(three.links) >= 3

    # merging, and what a person does alone
    job = max(ws.jobs()["id"].to_list())
    shown = person.say(
        f'Merge the adapter of job {job} and publish it as "six-merged".', "plan_merge"
    )
    assert shown.plan is not None
    assert "six-merged" in shown.text
    person.say("not now", "cancel_plan")
    person.say(f"stop job {job}", "refuse_unsupported")
    assert ws.jobs().height == 2
