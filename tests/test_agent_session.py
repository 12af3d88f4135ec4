"""A chat: its turns, its log, what a restart finds, and what never gets into it."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import benchgen
from benchgen import config
from benchgen.agent import acting, wording
from benchgen.agent.acting import Do
from benchgen.agent.glossary import EXPLAINED
from benchgen.agent.reply import Outcome, Reply
from benchgen.agent.session import Agent
from benchgen.agent.situation import ModelSeen, RunSeen, Situation, Waiting, Wish
from benchgen.agent.turn import Turn
from benchgen.errors import BenchgenError, InputError, ModelError, StateError
from benchgen.workspace import Workspace

TOKEN = "hf_THISISNOTAREALTOKEN000000000000"
OPTIONS = ("publish it", "run a model on it", "leave it as a draft")


class Tools:
    """Tools that only count: what a chat makes of them is what is tested here."""

    def __init__(self) -> None:
        self.plans = 0
        self.started: list[str] = []
        self.created: list[str] = []
        self.cancelled: list[str] = []
        self.changes = ""

    def situation(self, **facts: Any) -> Situation:
        return Situation(runs=(RunSeen(1081, 12, "m", "finished"),), **facts)

    def changed(self, waiting: Waiting) -> str:
        return self.changes

    def plan_training(self, epochs: int = 1) -> Outcome:
        """A plan that waits."""
        self.plans += 1
        item = Waiting("plan", str(self.plans), {"epochs": epochs, "hash": f"h{self.plans}"})
        return Outcome(f"plan {item.label}", {"epochs": epochs}, waiting=item)

    def revise_plan(self, situation: Situation, **changes: Any) -> Outcome:
        """The plan that waited, with changes."""
        old = [w for w in situation.waiting if w.kind == "plan"][-1]
        return self.plan_training(changes.get("epochs", old.told["epochs"]))

    def plan_merge(self) -> Outcome:
        """A merge that waits."""
        return Outcome("merge M4", waiting=Waiting("merge", "M4", {"job": 7}))

    def confirm_plan(self, waiting: Waiting, answer: str) -> Outcome:
        self.started.append(waiting.label)
        return Outcome("started", {"plan": waiting.label, "job": 100 + len(self.started)})

    def confirm_merge(self, waiting: Waiting, answer: str) -> Outcome:
        self.started.append(waiting.label)
        return Outcome("started", {"merge": waiting.label, "job": 100 + len(self.started)})

    def cancel_plan(self, waiting: Waiting, answer: str) -> None:
        self.cancelled.append(waiting.label)

    def create_benchmark(self, topic: str = "") -> Outcome:
        """A preview."""
        label = f"D{len(self.created) + 1}"
        return Outcome(f"preview of {topic}", waiting=Waiting("preview", label, {"name": topic}))

    def confirm_create(self, waiting: Waiting) -> Outcome:
        self.created.append(waiting.label)
        told = {"preview": waiting.label, "benchmark": 21 + len(self.created)}
        return Outcome("created", told, choices=OPTIONS)

    def continue_batch(self, waiting: Waiting, turn: Turn) -> Outcome:
        written = waiting.told["written"] + 20
        again = Waiting("batch", waiting.label, {**waiting.told, "written": written})
        return Outcome("written on", {"written": written, "total": 180}, waiting=again)

    def publish(self, benchmark: int | None = None) -> Outcome:
        """Published."""
        return Outcome("published", {"benchmark": benchmark})

    def run_benchmark(self, turn: Turn, model: str = "", **rest: Any) -> Outcome:
        """A run, or the question which model."""
        if not model:
            told = {"missing": ["model"], **rest}
            return Outcome("Which model?", told, intent="clarify", choices=("small", "large"))
        return Outcome(f"run of {model}", {"run": 1085, "model": model, "benchmark": 12})

    def run_status(self, run: int | None = None) -> Outcome:
        """How it is."""
        return Outcome("finished", {"run": run or 1081})

    def show_dataset(
        self, turn: Turn, run: int = 1081, mode: str = "all", rows: int = 10
    ) -> Outcome:
        """Slow work, that tells how far it is."""
        for done in range(1, rows + 1):
            turn.progress("run", run, done, rows, "reading")
            time.sleep(0.002)
        return Outcome("rows", {"run": run, "mode": mode, "rows": rows})

    def training_logs(self, **rest: Any) -> Outcome:
        """What goes wrong, as it is asked for."""
        kind = rest.get("kind")
        if kind == "input":
            raise InputError("there is no job 99", got=99, next="`training status` lists the jobs")
        if kind == "model":
            raise ModelError("no connection")
        raise ValueError(f"a fault with {TOKEN} in it")


READINGS: dict[str, Wish] = {
    "plan": Wish("plan_training", {"epochs": 1}),
    "plan, then run": Wish("plan_training", {"epochs": 1}, (Wish("run_benchmark", {"benchmark": 12}),)),
    "same but 3 epochs": Wish("revise_plan", {"plan": "1", "epochs": 3}),
    "merge": Wish("plan_merge"),
    "make one about tea": Wish("create_benchmark", {"topic": "tea"}),
    "status": Wish("run_status"),
    "status of 1081": Wish("run_status", {"run": 1081}),
    "rows": Wish("show_dataset", {"rows": 10}),
    "many rows": Wish("show_dataset", {"rows": 4000}),
    "run": Wish("run_benchmark", {"benchmark": 12, "seed": 3}),
    "run large": Wish("run_benchmark", {"model": "large"}),
    "publish": Wish("publish", {"benchmark": 22}),
    "yes, and run it": Wish("run_benchmark", {"model": "large"}),
    "yes but 3 epochs": Wish("revise_plan", {"epochs": 3}),
    "bad job": Wish("training_logs", {"kind": "input"}),
    "break": Wish("training_logs", {"kind": "fault"}),
    "offline": Wish("training_logs", {"kind": "model"}),
    "no thanks really": Wish("cancel_plan"),
}  # fmt: skip


class Brain:
    """Reads exactly the messages that it was told."""

    leaves = False

    def __init__(self) -> None:
        self.read: list[str] = []

    def reply(self, text: str, situation: Situation, do: Do, turn: Turn) -> Reply:
        self.read.append(text)
        if text == "unplugged":
            raise ModelError("HTTP 503")
        wish = READINGS.get(text, Wish("unclear"))
        return acting.answer(wish, do(wish))


@dataclasses.dataclass
class Chat:
    """A chat with what stands behind it."""

    agent: Agent
    tools: Tools
    brain: Brain

    def send(self, *texts: str) -> Reply:
        """The last reply."""
        return [self.agent.send(text) for text in texts][-1]

    def types(self) -> list[str]:
        return [event["type"] for event in self.agent.events()]


Begin = Callable[..., Chat]


@pytest.fixture
def begin(workspace_path: Path) -> Begin:
    def make(session: str | None = None, tools: Tools | None = None, **limits: Any) -> Chat:
        tools, brain = tools or Tools(), Brain()
        limit = config.LimitsConfig(**limits)
        agent = Agent(Workspace(workspace_path), brain, session, limits=limit, tools=tools)
        return Chat(agent, tools, brain)

    return make


@pytest.fixture
def chat(begin: Begin) -> Chat:
    return begin()


# ------------------------------------------------------------------------------- the word, in turns


def test_a_plan_is_shown_then_started_by_yes_once(chat: Chat) -> None:
    shown = chat.send("plan")
    assert shown.intent == "plan_training"
    assert shown.plan is not None
    assert chat.tools.started == []
    assert chat.agent.state == "awaiting"
    first = chat.send("yes")
    assert (first.intent, first.arguments) == ("confirm_plan", {"plan": "1", "job": 101})
    assert first.plan is None
    assert chat.agent.state == "idle"
    again = chat.send("Yes")
    assert (again.intent, again.arguments) == ("already_done", {"plan": "1", "job": 101})
    assert "101" in again.text
    assert chat.tools.started == ["1"]


@pytest.mark.parametrize("answer", ["ok", "yes please", "", "👍", "gibberish", "no thanks really"])
def test_what_is_not_yes_cancels_and_says_how_to_plan_again(chat: Chat, answer: str) -> None:
    reply = chat.send("plan", answer)
    assert reply.intent == ("cancel_plan" if answer else "ignore_or_cancel")
    assert chat.tools.cancelled == ["1"]
    assert "cancelled" in reply.text
    assert "ask: plan" in reply.text
    late = chat.send("yes")
    assert late.intent == "nothing_pending"
    assert "1 was cancelled" in late.text
    assert chat.tools.started == []


def test_a_change_makes_a_new_plan_and_the_old_one_never_starts(chat: Chat) -> None:
    reply = chat.send("plan", "same but 3 epochs")
    assert (reply.intent, reply.arguments["epochs"]) == ("revise_plan", 3)
    assert reply.plan is not None
    assert reply.plan.label == "2"
    assert "Plan 1 is cancelled" in reply.text
    assert chat.send("yes").arguments["plan"] == "2"
    assert chat.tools.started == ["2"]
    assert chat.send("yes").intent == "already_done"


def test_a_question_is_answered_and_cancels(chat: Chat) -> None:
    reply = chat.send("plan", "status of 1081")
    assert (reply.intent, reply.arguments["run"]) == ("run_status", 1081)
    assert reply.arguments["cancelled"] == "1"
    assert "Plan 1 is cancelled" in reply.text
    assert chat.send("yes").intent == "nothing_pending"


def test_one_yes_never_covers_two_steps(chat: Chat) -> None:
    reply = chat.send("plan", "yes, and run it")
    assert (reply.intent, reply.arguments) == ("cancel_plan", {"plan": "1"})
    assert chat.tools.started == []
    assert not [e for e in chat.agent.events() if e.get("name") == "run_benchmark"]
    assert chat.send("yes").intent == "nothing_pending"


def test_a_yes_with_a_change_is_a_change(chat: Chat) -> None:
    reply = chat.send("plan", "yes but 3 epochs")
    assert reply.intent == "revise_plan"
    assert chat.tools.started == []


def test_two_steps_have_two_words(chat: Chat) -> None:
    reply = chat.send("plan, then run")
    assert reply.arguments["later"] == ["run_benchmark"]
    assert "Not done yet" in reply.text
    assert chat.tools.started == []
    chat.send("yes", "merge", "yes")
    assert chat.tools.started == ["1", "M4"]


def test_a_plan_whose_data_changed_is_not_started(chat: Chat) -> None:
    chat.send("plan")
    chat.tools.changes = "the file has 3 rows more"
    reply = chat.send("yes")
    assert reply.intent == "replan"
    assert "3 rows more" in reply.text
    chat.tools.changes = ""
    assert chat.send("yes").intent == "nothing_pending"
    assert chat.tools.started == []


def test_a_plan_expires(begin: Begin) -> None:
    chat = begin(plan_s=0.001)
    chat.send("plan")
    time.sleep(0.01)
    assert chat.send("yes").intent == "replan"
    assert chat.tools.started == []


def test_a_start_that_fails_is_told_and_not_tried_by_the_next_yes(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(waiting: Waiting, answer: str) -> Outcome:
        raise StateError("the device is gone", next="benchgen doctor")

    chat.send("plan")
    monkeypatch.setattr(chat.tools, "confirm_plan", refuse)
    reply = chat.send("yes")
    assert reply.intent == "error"
    assert "benchgen doctor" in reply.text
    assert chat.send("yes").intent == "nothing_pending"


def test_create_it_creates_what_was_shown_once_and_asks_what_is_next(chat: Chat) -> None:
    chat.send("make one about tea")
    assert chat.tools.created == []
    reply = chat.send("Create it")
    assert (reply.intent, reply.arguments) == ("confirm_create", {"preview": "D1", "benchmark": 22})
    assert reply.choices == OPTIONS
    assert "1. publish it\n2. run a model on it\n3. leave it as a draft" in reply.text
    again = chat.send("create it")
    assert (again.intent, again.arguments) == ("already_done", {"benchmark": 22})
    assert chat.tools.created == ["D1"]


def test_a_preview_waits_through_questions(chat: Chat) -> None:
    chat.send("make one about tea", "status", "plan", "ok")
    assert [w.kind for w in chat.agent.waiting] == ["preview"]
    assert chat.send("Create it").intent == "confirm_create"


def test_a_writing_goes_on_from_where_it_was(chat: Chat) -> None:
    chat.agent.restore([Waiting("batch", "W1", {"name": "Trees", "written": 150, "total": 180})])
    assert chat.send("continue").arguments == {"written": 170, "total": 180}
    assert chat.agent.waiting[0].told["written"] == 170


def test_an_option_is_done_by_its_number_and_completes_the_wish(chat: Chat) -> None:
    asked = chat.send("run")
    assert (asked.intent, asked.choices) == ("clarify", ("small", "large"))
    assert chat.send("7").intent == "clarify"
    reply = chat.send("2")
    assert reply.intent == "choose_option"
    assert reply.arguments["option"] == 2
    assert reply.arguments["model"] == "large"
    assert reply.arguments["run"] == 1085
    assert chat.agent.waiting == ()


def test_the_question_goes_once_something_else_was_done(chat: Chat) -> None:
    chat.send("make one about tea", "Create it")
    chat.send("status")
    assert [w.kind for w in chat.agent.waiting] == ["question"]
    chat.send("publish")
    assert chat.agent.waiting == ()


# --------------------------------------------------------------------------------------- its log


def test_every_turn_is_in_the_log_as_it_happened(chat: Chat) -> None:
    chat.send("plan", "yes")
    path = chat.agent.folder / "events.jsonl"
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert lines == chat.agent.events()
    assert [line["n"] for line in lines] == list(range(1, len(lines) + 1))
    assert all({"n", "time", "type"} <= set(line) for line in lines)
    assert chat.types() == [
        *("user", "state", "tool", "waiting", "agent", "state"),
        *("user", "state", "decided", "agent", "state"),
    ]
    tool = lines[2]
    assert (tool["name"], tool["arguments"], tool["ok"]) == ("plan_training", {"epochs": 1}, True)
    assert lines[3]["told"] == {"epochs": 1, "hash": "h1"}
    decided = lines[8]
    assert (decided["decision"], decided["hash"], decided["job"]) == ("confirmed", "h1", 101)
    assert chat.agent.events(after=10) == lines[10:]


def test_nothing_is_written_before_the_first_message(begin: Begin, workspace_path: Path) -> None:
    chat = begin()
    assert chat.agent.state == "idle"
    assert not workspace_path.exists()


def test_a_chat_opened_again_knows_all_of_it(begin: Begin) -> None:
    first = begin()
    first.send("make one about tea", "status of 1081", "rows", "run", "plan")
    again = begin(first.agent.session, first.tools)
    assert again.agent.events() == first.agent.events()
    assert again.agent.situation == first.agent.situation
    assert again.agent.situation.last_run == 1081
    assert again.agent.situation.last_benchmark == 12
    assert again.agent.situation.last_view is not None
    assert [w.kind for w in again.agent.waiting] == ["preview", "plan"]
    assert again.agent.state == "awaiting"
    assert again.send("yes").intent == "confirm_plan"
    third = begin(first.agent.session, first.tools)
    assert third.send("yes").intent == "already_done"
    assert third.send("Create it", "create it").intent == "already_done"
    assert first.tools.started == ["1"]


def test_a_process_killed_in_a_turn_leaves_a_chat_that_says_so(begin: Begin) -> None:
    first = begin()
    first.send("plan")
    path = first.agent.folder / "events.jsonl"
    with path.open("a", encoding="utf-8") as file:
        event = {"n": len(first.agent.events()) + 1, "time": "2026-01-01T00:00:00+00:00"}
        file.write(json.dumps({**event, "type": "user", "text": "status"}) + "\n")
        file.write('{"n": 99, "type": "too')
    again = begin(first.agent.session)
    assert again.agent.events()[-1]["type"] == "error"
    assert "cut off" in again.agent.events()[-1]["message"]
    assert again.agent.state == "awaiting"
    assert again.send("status").intent == "run_status"


def test_a_new_chat_has_no_plans_of_another(begin: Begin) -> None:
    first = begin()
    first.send("plan")
    second = begin(tools=first.tools)
    assert second.agent.session != first.agent.session
    assert second.agent.waiting == ()
    assert second.send("yes").intent == "nothing_pending"
    assert first.send("yes").intent == "confirm_plan"
    assert first.tools.started == ["1"]


def test_two_processes_in_one_chat_see_each_other(begin: Begin) -> None:
    """The same chat in two notebooks: what one confirmed the other does not confirm again."""
    one = begin()
    one.send("plan")
    two = begin(one.agent.session, one.tools)
    assert two.send("yes").intent == "confirm_plan"
    assert one.send("yes").intent == "already_done"
    assert one.agent.events() == two.agent.events() or len(one.agent.events()) > 10
    assert one.tools.started == ["1"]
    numbers = [event["n"] for event in one.agent.events()]
    assert numbers == sorted(set(numbers))


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".hidden", "x" * 65, 7])
def test_a_name_of_a_chat_is_no_path(begin: Begin, name: Any) -> None:
    with pytest.raises(InputError, match="no name of a chat"):
        begin(name)


# ----------------------------------------------------------------------------------- what goes wrong


def test_an_error_is_an_answer_with_the_next_step(chat: Chat) -> None:
    reply = chat.send("bad job")
    assert reply.intent == "error"
    assert "there is no job 99" in reply.text
    assert "training status" in reply.text
    assert chat.send("status").intent == "run_status"


def test_a_fault_of_ours_is_told_in_a_line_and_kept_in_a_file(chat: Chat) -> None:
    reply = chat.send("break")
    assert (reply.intent, reply.arguments) == ("error", {"reason": "ValueError"})
    assert "Traceback" not in reply.text
    kept = (chat.agent.folder / "errors.log").read_text(encoding="utf-8")
    assert "Traceback" in kept
    assert TOKEN not in kept
    assert chat.agent.state == "idle"
    assert chat.send("status").intent == "run_status"


def test_a_model_that_does_not_answer_is_offline_and_later_works(chat: Chat) -> None:
    reply = chat.send("unplugged")
    assert reply.arguments == {"reason": "offline"}
    assert "send the message again" in reply.text
    assert chat.send("status").intent == "run_status"


def test_a_turn_has_a_limit_and_what_was_done_stays(begin: Begin) -> None:
    chat = begin(turn_s=0.3)
    reply = chat.send("many rows")
    assert reply.arguments == {"reason": "time-out"}
    assert "continue" in reply.text
    assert chat.send("status").intent == "run_status"


def test_a_turn_is_stopped(chat: Chat) -> None:
    coming = chat.agent.submit("many rows")
    second = chat.agent.submit("plan")
    while chat.agent.state != "working":
        time.sleep(0.005)
    chat.agent.stop()
    assert coming.result(timeout=60).arguments == {"reason": "stopped"}
    assert second.cancelled()
    assert chat.tools.plans == 0
    assert chat.agent.state == "idle"


def test_stop_cancels_a_plan_that_waits(chat: Chat) -> None:
    chat.send("make one about tea", "plan")
    chat.agent.stop()
    assert chat.tools.cancelled == ["1"]
    assert [w.kind for w in chat.agent.waiting] == ["preview"]
    assert chat.send("yes").intent != "confirm_plan"


@pytest.mark.parametrize("text", [7, None, b"yes"])
def test_a_message_is_text(chat: Chat, text: Any) -> None:
    with pytest.raises(InputError, match="a message is text"):
        chat.agent.send(text)


def test_a_message_has_an_end(chat: Chat) -> None:
    with pytest.raises(InputError, match="too long"):
        chat.agent.send("x" * 1_000_001)


# ------------------------------------------------------------------------------------ no secret in it


def test_no_token_that_was_typed_is_kept_anywhere(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = chat.send(f"my hf token is {TOKEN}, use it for the download")
    assert TOKEN not in str(reply)
    for file in chat.agent.folder.iterdir():
        assert TOKEN not in file.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "text", ["mi contraseña es {}", "пароль: {}", "senha: {}", "密码是 {}", "credentials: {}"]
)
def test_what_is_refused_as_a_secret_is_not_kept_either(text: str, tmp_path: Path) -> None:
    secret = "hunter2abc99"
    agent = Agent(Workspace(tmp_path / "ws"))
    reply = agent.send(text.format(secret))
    assert reply.intent == "refuse_secret"
    assert secret not in str(reply)
    for file in agent.folder.iterdir():
        assert secret not in file.read_text(encoding="utf-8")


def test_a_secret_of_the_environment_gets_into_no_answer(
    begin: Begin, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOME_API_KEY", "correct-horse-battery-staple")
    chat = begin()
    spilt = Outcome("it is correct-horse-battery-staple")
    monkeypatch.setattr(chat.tools, "run_status", lambda: spilt)
    assert "staple" not in chat.send("status").text
    assert "staple" not in (chat.agent.folder / "events.jsonl").read_text(encoding="utf-8")


def test_what_leaves_the_machine_has_no_token(chat: Chat) -> None:
    chat.brain.leaves = True
    chat.send(f"the token is {TOKEN}")
    assert TOKEN not in chat.brain.read[-1]


def test_text_that_utf8_cannot_write_is_no_fault(chat: Chat) -> None:
    assert chat.send("\ud800 hello \x00").intent == "clarify"


# --------------------------------------------------------------------------------- threads, listeners


def test_messages_from_many_threads_are_answered_one_by_one(chat: Chat) -> None:
    threads = [threading.Thread(target=chat.agent.send, args=("status",)) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=60)
    types = [t for t in chat.types() if t in ("user", "agent")]
    assert types == ["user", "agent"] * 8


def test_submitted_messages_are_answered_in_their_order(chat: Chat) -> None:
    coming = [chat.agent.submit(text) for text in ("plan", "yes", "yes")]
    intents = [one.result(timeout=60).intent for one in coming]
    assert intents == ["plan_training", "confirm_plan", "already_done"]


def test_a_double_click_starts_one_job(chat: Chat) -> None:
    chat.send("plan")
    threads = [threading.Thread(target=chat.agent.send, args=("yes",)) for _ in range(6)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(timeout=60)
    assert chat.tools.started == ["1"]


def test_listeners_are_told_of_everything_and_progress_ten_times_a_second(chat: Chat) -> None:
    seen: list[dict[str, Any]] = []
    end = chat.agent.on_event(seen.append)
    started = time.monotonic()
    chat.tools.show_dataset(Turn(), rows=1)
    chat.agent.send("rows")
    READINGS["200 rows"] = Wish("show_dataset", {"rows": 200})
    chat.agent.send("200 rows")
    took = time.monotonic() - started
    assert seen == chat.agent.events()
    progress = [event for event in seen if event["type"] == "progress"]
    assert 2 <= len(progress) <= 10 * (took + 1)
    assert (progress[-1]["done"], progress[-1]["total"]) == (200, 200)
    assert {"record", "id", "done", "total", "words"} <= set(progress[-1])
    end()
    chat.agent.send("status")
    assert len(seen) < len(chat.agent.events())


def test_a_listener_that_fails_ends_no_turn(chat: Chat) -> None:
    def fail(event: dict[str, Any]) -> None:
        raise RuntimeError("a panel that is gone")

    chat.agent.on_event(fail)
    assert chat.send("status").intent == "run_status"


def test_the_keyboard_ends_a_turn_and_not_the_chat(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt() -> Outcome:
        raise KeyboardInterrupt

    monkeypatch.setattr(chat.tools, "run_status", interrupt)
    with pytest.raises(KeyboardInterrupt):
        chat.send("status")
    assert chat.agent.state == "idle"
    assert chat.agent.events()[-2]["arguments"] == {"reason": "stopped"}
    assert chat.send("plan").intent == "plan_training"


def test_the_package_has_it_and_stays_light() -> None:
    """Importing the package loads no agent; naming it does, without torch."""
    code = (
        "import sys, benchgen; before = set(sys.modules); benchgen.Agent; "
        "assert 'benchgen.agent.session' not in before; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert benchgen.Agent is Agent


# ------------------------------------------------------------------------------------ words alone


def test_every_word_that_the_rules_know_is_explained() -> None:
    """A topic without an explanation would be answered with the help."""
    from benchgen.agent.rules.asking import _TROUBLE, TOPICS

    topics = {topic for _, topic in (*TOPICS, *_TROUBLE)} | {"options are reordered automatically"}
    assert topics <= set(EXPLAINED)
    for topic in topics:
        words = wording.said(Wish("explain", {"topic": topic}), Situation()).text
        assert words == EXPLAINED[topic] != wording.HELP


def test_a_refusal_names_the_record_and_where_a_person_can() -> None:
    told = {"action": "stop", "job": 7, "where": "benchgen stop job_id=7"}
    words = wording.said(Wish("refuse_unsupported", told), Situation()).text
    assert "cannot stop job 7" in words
    assert "`benchgen stop job_id=7`" in words


def test_a_missing_model_is_asked_for_by_number() -> None:
    seen = (ModelSeen("mock", "mock", False), ModelSeen("smollm2_135m", "base", True))
    wish = Wish("clarify", {"missing": ["base_model"], "wish": "plan_training", "run": 3})
    found = wording.said(wish, Situation(models=seen))
    assert found.choices == ("smollm2_135m",)


def test_a_refused_right_says_what_a_second_refusal_means() -> None:
    error = BenchgenError("HTTP 403: no access")
    assert "again" in wording.forbidden(error)
    assert not wording.forbidden(BenchgenError("no such file"))


# --------------------------------------------------------------------------------------- any messages

WORDS = st.one_of(
    st.sampled_from(
        [*READINGS, "yes", "YES", "Create it", "continue", "1", "2", "9", "", "ok", "one, then run"]
    ),
    st.text(max_size=12),
)


@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(WORDS.filter(lambda t: t != "many rows"), max_size=8))
def test_any_messages_end_in_answers_and_start_only_what_was_confirmed(
    begin: Begin, texts: list[str]
) -> None:
    """No exception, no start without the word, no state that cannot be left."""
    chat = begin()
    for text in texts:
        before = len(chat.tools.started)
        reply = chat.agent.send(text)
        assert reply.text
        started = len(chat.tools.started) - before
        assert started == 0 or (started == 1 and text.strip().lower() == "yes")
        assert (reply.plan is not None) == any(
            w.kind in ("plan", "merge") for w in chat.agent.waiting
        )
    if texts:
        again = begin(chat.agent.session, chat.tools)
        assert again.agent.waiting == chat.agent.waiting
    assert chat.agent.send("no").text
    assert not [w for w in chat.agent.waiting if w.kind in ("plan", "merge")]
    assert chat.agent.send("status").intent == "run_status"
