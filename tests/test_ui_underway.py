"""What a chat began and does not wait for is seen to move, and to end, between its turns."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgen import config
from benchgen.ui.chat import ChatPanel
from benchgen.ui.underway import UnderWay, begun
from benchgen.workspace import Workspace
from tests.servers import Answer, Received, ScriptedServer, said
from tests.talker import Talker

TOOL = {"type": "tool", "name": "run_benchmark", "found": {"run": 3}, "ok": True}


@pytest.mark.parametrize(
    ("event", "keys"),
    [
        (TOOL, [("run", 3)]),
        ({**TOOL, "name": "multi_run", "found": {"runs": [3, 4]}}, [("run", 3), ("run", 4)]),
        ({"type": "decided", "kind": "plan", "decision": "confirmed", "job": 2}, [("job", 2)]),
        ({"type": "decided", "kind": "plan", "decision": "cancelled"}, []),
        ({**TOOL, "ok": False}, []),
        ({**TOOL, "name": "run_status"}, []),
        ({**TOOL, "found": {"run": "3"}}, []),
        ({**TOOL, "found": ["run"]}, []),
    ],
)
def test_what_an_event_has_begun(event: dict[str, Any], keys: list[tuple[str, int]]) -> None:
    assert list(begun(event)) == keys


def test_a_record_that_is_gone_is_not_followed(tmp_path: Path) -> None:
    begun_by_chat = UnderWay(Workspace(tmp_path / "ws"))
    begun_by_chat.note(TOOL)
    assert begun_by_chat.moving
    assert begun_by_chat.look() == ()
    assert not begun_by_chat.moving


def until(holds: Callable[[], bool], panel: ChatPanel) -> None:
    end = time.monotonic() + 120
    while not holds():
        assert time.monotonic() < end, panel.transcript.text
        time.sleep(0.1)
        panel.refresh()


@pytest.mark.slow
def test_a_run_in_the_background_moves_and_ends_in_the_panel(tmp_path: Path) -> None:
    ws = Workspace(tmp_path / "ws")
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=6, mix={}, categories={}, exclude=[])
    bench = ws.create(ws.author(spec)).publish()
    asked: list[str] = []
    go_on = threading.Event()

    def answer(received: Received) -> Answer:
        asked.append(received.prompt)
        if len(asked) > 2:
            go_on.wait(60)
        return said("Answer: nothing known")

    with ScriptedServer(answer) as server:
        option = config.ModelConfig(
            name="served", kind="endpoint", base_url=server.url, max_retries=0, concurrency=1
        )
        run = ws.run_in_background(ws.begin_run(bench, option))
        told: list[dict[str, Any]] = [
            {**TOOL, "found": {"run": run.id}},
            {"type": "agent", "text": "Begun."},
        ]
        agent = Talker(tmp_path / "chats" / "1", {"run it": told}, ws)
        panel = ChatPanel(agent)
        agent.send("run it")
        until(lambda: "run 1: 2 of 6, running" in panel.transcript.text, panel)
        assert "<progress" in panel.transcript.html
        again = ChatPanel(agent)  # a kernel that was restarted in between
        go_on.set()
        until(lambda: "run 1: 6 of 6, finished" in panel.transcript.text, panel)
    agent.send("what now?")
    panel.refresh()
    assert "run 1: 6 of 6" not in panel.transcript.text
    until(lambda: not again._begun.moving, again)
    for one in (panel, again):
        one.close()
