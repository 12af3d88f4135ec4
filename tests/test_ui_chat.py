"""The chat panel without a page: what it shows of an agent's events, and what its buttons say."""

from __future__ import annotations

import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgen import Agent
from benchgen.agent.situation import Waiting
from benchgen.testing import AccountWorkspace, agent_in
from benchgen.ui import confirm, parts
from benchgen.ui.chat import Box, ChatPanel
from tests.hostile import XSS, active
from tests.talker import Talker

PLAN = {"type": "waiting", "kind": "plan", "label": "31", "told": {"hash": "83ebf6", "rows": 40}}
SCRIPT: dict[str, list[dict[str, Any]]] = {
    "run it": [
        {"type": "tool", "name": "run_benchmark", "arguments": {"n": 3}, "summary": "begun", "seconds": 0.1},
        *({"type": "progress", "record": "run", "id": 7, "done": n, "total": 3, "words": ""} for n in (1, 2, 3)),
        {"type": "agent", "text": "Run 7 is **finished**."},
    ],
    "wait": [{"pause": 30}, {"type": "agent", "text": "never said"}],
    "plan": [{"type": "agent", "text": "Here is the plan."}, PLAN],
    "ask": [
        {"type": "agent", "text": "What next?\n\n1. publish it\n2. leave it"},
        {"type": "waiting", "kind": "question", "label": "Q1", "told": {"options": ["publish it", "leave it"]}},
    ],
    "preview": [{"type": "waiting", "kind": "preview", "label": "V1", "told": {"name": "Moons", "n": 5}}],
    "break": [{"fail": "the disk is full"}],
}  # fmt: skip


@pytest.fixture
def agent(tmp_path: Path) -> Talker:
    return Talker(tmp_path / "chats" / "1", SCRIPT)


@pytest.fixture
def panel(agent: Talker) -> Iterator[ChatPanel]:
    """A panel whose box was made; no page shows it."""
    panel = ChatPanel(agent)
    panel._box = Box(panel)
    yield panel
    panel.close()


def soon(true: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not true():
        assert time.monotonic() < until
        time.sleep(0.01)


def box_of(panel: ChatPanel) -> Box:
    panel.refresh()
    assert panel._box is not None
    return panel._box


def _composer(panel: ChatPanel) -> Any:
    return box_of(panel).composer


def buttons(box: Box) -> dict[str, Any]:
    """The slot's buttons by name."""
    found: dict[str, Any] = {}
    todo = [box._slot]
    while todo:
        widget = todo.pop()
        todo += getattr(widget, "children", ())
        if hasattr(widget, "click"):
            found[widget.description] = widget
    return found


def message(box: Box, **content: Any) -> None:
    """What the page would send."""
    composer: Any = box.composer
    composer._message(None, content, None)


def test_a_turn_is_shown_and_then_belongs_to_the_history(panel: ChatPanel, agent: Talker) -> None:
    agent.send("run it")
    panel.refresh()
    assert panel._live == []
    assert panel.transcript.text.splitlines() == [
        "You: run it",
        "  [run benchmark (ok, 0.1 s): begun]",
        "run 7: 3 of 3",
        "benchgen: Run 7 is **finished**.",
    ]
    assert "<strong>finished</strong>" in panel.transcript.html


def test_what_happens_now_is_live_until_the_turn_ends(panel: ChatPanel, agent: Talker) -> None:
    assert panel.submit("wait")
    soon(lambda: box_of(panel) is panel._box and bool(panel._live))
    assert _composer(panel).widget.state == "working"
    panel.stop()
    soon(lambda: agent.state == "idle")
    panel.refresh()
    assert panel._live == []
    assert "(stopped by you)" in panel.transcript.text
    assert "never said" not in panel.transcript.text


def test_one_message_at_a_time(panel: ChatPanel, agent: Talker) -> None:
    """So a button never answers something else than what it stands beside."""
    assert panel.submit("wait")
    assert not panel.submit("yes")
    panel.refresh()
    assert "still at work" in panel.transcript.text
    panel.stop()


def test_a_new_panel_shows_the_log_again(agent: Talker) -> None:
    for text in ("run it", "hello", "plan"):
        agent.send(text)
    again = Talker(agent.folder, SCRIPT)
    panel = ChatPanel(again)
    assert panel.transcript.text.count("You: ") == 3
    assert "I heard: hello" in panel.transcript.text


def test_a_log_that_ends_in_the_middle_of_a_turn_is_not_working_for_ever(agent: Talker) -> None:
    agent.tell("user", text="hello")
    agent.tell("state", state="working")  # and here the kernel was killed
    again = Talker(agent.folder, SCRIPT)
    panel = ChatPanel(again)
    assert panel._status() == "Ready"
    assert "You: hello" in panel.transcript.text


def test_an_event_told_while_the_panel_attaches_is_shown_once(agent: Talker) -> None:
    agent.send("hello")
    panel = ChatPanel(agent)
    for event in agent.events():
        panel._heard(event)
    panel.refresh()
    assert panel.transcript.text.count("You: hello") == 1


def test_confirm_pressed_twice_says_yes_once(panel: ChatPanel, agent: Talker) -> None:
    agent.send("plan")
    button = buttons(box_of(panel))["Confirm"]
    for _ in range(2):
        button.click()
    assert button.disabled
    soon(lambda: agent.confirmed == ["31"] and agent.state == "idle")
    panel.refresh()
    assert [e["text"] for e in agent.events() if e["type"] == "user"] == ["plan", "yes"]
    assert "Confirmed" in panel.transcript.text
    assert buttons(box_of(panel)) == {}


def test_cancel_cancels(panel: ChatPanel, agent: Talker) -> None:
    agent.send("plan")
    buttons(box_of(panel))["Cancel"].click()
    soon(lambda: agent.state == "idle" and not agent.waiting)
    assert agent.confirmed == []


def test_a_typed_yes_takes_the_buttons_away(panel: ChatPanel, agent: Talker) -> None:
    agent.send("plan")
    box = box_of(panel)
    stale = buttons(box)["Confirm"]
    agent.send("yes")
    stale.click()  # on a page that has not seen it yet
    panel.refresh()
    assert agent.confirmed == ["31"]
    assert "the button did nothing" in panel.transcript.text
    assert buttons(box_of(panel)) == {}


def test_a_button_of_an_older_plan_confirms_no_newer_one(panel: ChatPanel, agent: Talker) -> None:
    agent.send("plan")
    stale = buttons(box_of(panel))["Confirm"]
    agent.send("no")
    agent.script = {**SCRIPT, "plan": [{**PLAN, "label": "32", "told": {"hash": "other"}}]}
    agent.send("plan")
    stale.click()
    assert agent.confirmed == []
    assert [w.label for w in agent.waiting] == ["32"]


def test_stop_cancels_a_plan_that_waits(panel: ChatPanel, agent: Talker) -> None:
    agent.send("plan")
    box = box_of(panel)
    assert _composer(panel).widget.state == "awaiting"
    message(box, do="stop")
    panel.refresh()
    assert agent.waiting == ()
    assert "Cancelled" in panel.transcript.text


def test_choices_are_buttons_that_say_their_number(panel: ChatPanel, agent: Talker) -> None:
    agent.send("ask")
    found = buttons(box_of(panel))
    assert set(found) == {"1. publish it", "2. leave it"}
    found["2. leave it"].click()
    soon(lambda: [e["text"] for e in agent.events() if e["type"] == "user"] == ["ask", "2"])


def test_a_preview_is_created_by_the_words_of_its_button(panel: ChatPanel, agent: Talker) -> None:
    agent.send("preview")
    found = buttons(box_of(panel))
    assert set(found) == {"Create it"}
    found["Create it"].click()
    soon(lambda: "Create it" in [e["text"] for e in agent.events() if e["type"] == "user"])


def test_the_box_is_emptied_only_when_the_message_was_accepted(
    panel: ChatPanel, agent: Talker
) -> None:
    box = box_of(panel)
    told: list[Any] = []
    _composer(panel).widget.send = told.append
    message(box, do="send", text="wait")
    message(box, do="send", text="too early")
    assert told == [{"told": "accepted"}, {"told": "refused"}]
    panel.stop()


@pytest.mark.parametrize(
    "content", [None, 3, [], {}, {"do": "shown"}, {"do": "send", "text": None}, {"do": ["x"]}]
)
def test_a_page_may_send_anything(panel: ChatPanel, content: Any) -> None:
    composer: Any = box_of(panel).composer
    composer._message(None, content, None)


def test_a_page_that_was_loaded_again_gets_the_newest_turns(
    panel: ChatPanel, agent: Talker
) -> None:
    """Its outputs are those of the file, and no longer move."""
    box = box_of(panel)
    message(box, do="shown", page="a")
    agent.send("hello")
    panel.refresh()
    assert _composer(panel).widget.tail == ""
    message(box, do="shown", page="b")
    panel.refresh()
    assert "I heard: hello" in _composer(panel).widget.tail


def test_an_error_of_the_agent_is_an_event_with_the_next_step(
    panel: ChatPanel, agent: Talker
) -> None:
    agent.send("break")
    panel.refresh()
    assert panel.transcript.text.endswith("Error: the disk is full\nNext: try again")


def test_an_error_of_a_callback_is_shown_where_the_person_looks(panel: ChatPanel) -> None:
    def broken(_: Any) -> None:
        raise OSError("no space left")

    parts.guarded(panel.report, broken)(None)
    panel.refresh()
    assert "OSError: no space left" in panel.transcript.text


def test_never_more_than_twenty_models(panel: ChatPanel, agent: Talker) -> None:
    most = 0
    agent.script = {
        **SCRIPT,
        "ask": [
            {
                "type": "waiting",
                "kind": "question",
                "label": "Q",
                "told": {"options": list("abcdefghijkl")},
            }
        ],
    }
    for text in ("ask", "plan", "ask", "preview", "plan", "run it") * 3:
        agent.send(text)
        box_of(panel)
        most = max(most, panel.models)
    assert most <= 20


def test_without_anywidget_there_is_a_plain_composer_of_few_models(
    agent: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    panel = ChatPanel(agent)
    panel._box = box = Box(panel)
    composer: Any = box.composer
    composer._box.value = "plan"
    composer._send.click()
    soon(lambda: bool(agent.waiting))
    assert composer._box.value == ""
    box_of(panel)
    assert panel.models <= 20
    composer._end.click()
    assert agent.waiting == ()
    agent.script = {
        **SCRIPT,
        "ask": [
            {
                "type": "waiting",
                "kind": "question",
                "label": "Q",
                "told": {"options": list("abcdefgh")},
            }
        ],
    }
    agent.send("ask")
    box_of(panel)
    assert panel.models <= 20
    panel.close()
    assert panel.models == 0


def test_at_most_ten_drawings_a_second(agent: Talker) -> None:
    drawn: list[float] = []

    class Handle:
        def update(self, bundle: Any, raw: bool) -> None:
            drawn.append(time.monotonic())

    began = time.monotonic()
    panel = ChatPanel(agent)
    panel._handles = {"live": Handle()}
    panel._begin_painting()
    panel._begin_painting()  # a cell that shows the same panel again
    agent.tell("user", text="go")
    agent.tell("state", state="working")
    for number in range(150):
        agent.tell("progress", record="run", id=1, done=number, total=10**6, words="")
        time.sleep(0.005)
    ended = time.monotonic()
    panel.close()
    assert len([t for t in drawn if t <= ended]) <= 1 + 10 * (ended - began)


def test_a_callback_never_waits_for_the_painter(panel: ChatPanel, agent: Talker) -> None:
    """The agent calls it with locks of its own; were both to wait, both would for ever."""
    with panel._lock:
        thread = threading.Thread(target=agent.tell, args=("user",), kwargs={"text": "hello"})
        thread.start()
        thread.join(60)
        assert not thread.is_alive()


def test_five_hundred_turns_attach_with_forty_shown(agent: Talker) -> None:
    for number in range(500):
        agent.send(f"message {number} " + "x" * 2_000)
    panel = ChatPanel(Talker(agent.folder, SCRIPT))
    bundles = panel._bundles()
    assert "460 earlier turns not shown" in bundles["history"]["text/plain"]
    assert "message 499 " in bundles["history"]["text/plain"]
    assert sum(len(text) for bundle in bundles.values() for text in bundle.values()) < 900_000


def test_a_hostile_talk_is_inert(panel: ChatPanel, agent: Talker) -> None:
    for text in XSS:
        agent.send(text.encode("utf-8", "replace").decode())
    shown = box_of(panel)
    agent.tell("waiting", kind="plan", label=XSS[0], told={XSS[1]: XSS[2], "warnings": [XSS[3]]})
    panel.refresh()
    for bundle in panel._bundles().values():
        assert active(bundle["text/html"]) == []
    assert active(shown._status.value) == []


def test_what_waits_with_hostile_words_is_inert(agent: Talker) -> None:
    for text in XSS:
        item = Waiting("plan", text, {text: text, "hash": text, "warnings": [text]})
        assert active(str(confirm.html(confirm.of_waiting(item)))) == []


def test_say_prints_the_answer(panel: ChatPanel, capsys: pytest.CaptureFixture[str]) -> None:
    panel.say("hello")
    assert capsys.readouterr().out == "benchgen: I heard: hello\n"


def test_a_closed_panel_listens_no_more(panel: ChatPanel, agent: Talker) -> None:
    panel.close()
    agent.send("hello")
    panel.refresh()
    assert "hello" not in panel.transcript.text
    assert agent._callbacks == []


def test_the_time_left_is_told_from_the_speed_so_far(
    panel: ChatPanel, agent: Talker, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: clock)
    agent.tell("progress", record="job", id=2, done=10, total=80, words="")
    panel.refresh()
    assert panel.transcript.text == "job 2: 10 of 80"
    clock += 20
    agent.tell("progress", record="job", id=2, done=20, total=80, words="")
    panel.refresh()
    assert panel.transcript.text == "job 2: 20 of 80, about 2 min left"


def test_a_closed_panel_that_is_shown_again_listens_again(panel: ChatPanel, agent: Talker) -> None:
    panel.close()
    agent.send("hello")
    panel.show()
    assert "I heard: hello" in panel.transcript.text
    agent.send("more")
    panel.refresh()
    assert panel.transcript.text.count("I heard: more") == 1


@pytest.fixture(scope="module")
def records(account: Path, tmp_path_factory: pytest.TempPathFactory) -> AccountWorkspace:
    """A workspace of many records in which nothing real starts."""
    copy = shutil.copytree(account, tmp_path_factory.mktemp("records") / "ws")
    return AccountWorkspace(copy, user="ada")


@pytest.mark.slow
def test_the_real_agent_s_plan_is_shown_in_full_and_starts_one_job(
    records: AccountWorkspace,
) -> None:
    agent = agent_in(records, {})
    panel = ChatPanel(agent)
    panel._box = Box(panel)
    before = records.jobs().height
    agent.send(
        "plan a distill training from run 1080 on Qwen/Qwen2.5-0.5B-Instruct, at most 50 steps"
    )
    shown = panel._shown()
    assert shown is not None
    assert shown.title == f"Plan {agent.waiting[-1].label}: from-run of Qwen/Qwen2.5-0.5B-Instruct"
    assert confirm.Setting("hyperparameters: max_steps", "50", "-1") in shown.settings
    button = buttons(box_of(panel))["Confirm"]
    button.click()
    button.click()
    soon(lambda: agent.state == "idle" and not panel._busy)
    assert records.jobs().height == before + 1
    assert re.search(r"Confirmed .*, hash [0-9a-f]{12}", panel_text(panel))
    panel.close()


@pytest.mark.slow
def test_the_real_agent_s_chat_is_shown_again_under_its_name(records: AccountWorkspace) -> None:
    first = Agent(records, session="kept")
    first.send("status of run 1080")
    first.send("plan a distill training from run 1080 on Qwen/Qwen2.5-0.5B-Instruct")
    panel = ChatPanel(Agent(records, session="kept"))
    panel._box = Box(panel)
    assert "46.7 %" in panel.transcript.text
    assert "Confirm" in buttons(box_of(panel))  # it waits on, until its time is up
    panel.stop()
    assert "Cancelled" in panel_text(panel)
    panel.close()


def panel_text(panel: ChatPanel) -> str:
    panel.refresh()
    return panel.transcript.text
