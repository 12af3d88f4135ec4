"""The chat in real JupyterLab with headless Chromium, with the scripted agent and with the real one.

Waits for a Chromium on PATH, or named by CHROMIUM. `SHOTS=FOLDER` keeps pictures of what was seen.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.browser.lab import CHROMIUM, Lab, expect, jupyterlab, too_faint, write_notebook
from tests.hostile import XSS

pytest.importorskip("playwright.sync_api", reason="waits for playwright")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="waits for a machine with Chromium"),
]

AGENT = """
from pathlib import Path
from tests.hostile import XSS
from tests.talker import Talker
from benchgen.ui.chat import ChatPanel
def far(n, pause): return [{"type": "progress", "record": "run", "id": 7, "done": n, "total": 5, "words": ""}, {"pause": pause}]
tool = {"type": "tool", "name": "run_benchmark", "arguments": {"limit": 5}, "summary": "begun", "seconds": 0.1}
plan = [{"type": "agent", "text": "Here is the plan."}, {"type": "waiting", "kind": "plan", "label": "31",
        "told": {"hash": "83ebf6", "rows": 40, "warnings": ["only 40 rows"]}}]
script = {
    "run it": [tool, *(step for n in range(1, 6) for step in far(n, 0.3)), {"type": "agent", "text": "Run 7 is **finished**."}],
    "long": [tool, *(step for n in range(1, 5) for step in far(n, 5)), {"pause": 60}, {"type": "agent", "text": "never said"}],
    "silent": [{"pause": 60}, {"type": "agent", "text": "never said"}],
    "plan": plan,
    "ask": [{"type": "agent", "text": "What next?"}, {"type": "waiting", "kind": "question", "label": "Q1", "told": {"options": ["publish it", "leave it"]}}],
    "break": [{"fail": "the disk is full"}],
    "attack": [step for text in XSS for step in (
        {"type": "tool", "name": text, "summary": text, "arguments": {"x": text}, "seconds": 0.1},
        {"type": "agent", "text": text, "choices": [text], "links": [text]},
        {"type": "error", "message": text, "next": text})] +
        [{"type": "waiting", "kind": "plan", "label": XSS[1], "told": {"a": XSS[0], "hash": XSS[2], "warnings": list(XSS)}}],
}
agent = Talker(Path(CHAT), script)
"""
PANEL = "panel = ChatPanel(agent)\npanel"


both = pytest.mark.parametrize("server", ["perCommTarget", "disabled"], indirect=True)
"""With the page's messages on a subshell of the kernel, as is JupyterLab's default, and without."""


@pytest.fixture(scope="module")
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, Path]]:
    """JupyterLab on a folder of its own."""
    subshells = getattr(request, "param", "perCommTarget")
    folder = tmp_path_factory.mktemp(f"lab-{subshells}")
    with jupyterlab(folder, subshells) as url:
        yield url, folder


Open = Callable[..., Lab]


@pytest.fixture
def opened(window: Any, server: tuple[str, Path]) -> Iterator[Open]:
    """Opens a notebook with the given cells, runs it, and waits for the chat's box."""
    url, folder = server
    labs: list[Lab] = []

    def open(name: str, *cells: str) -> Lab:
        chat = f"CHAT = 'chats/{name}'\n"
        write_notebook(folder / f"{name}.ipynb", [chat + AGENT, PANEL, *cells])
        lab = Lab(window, url, f"{name}.ipynb")
        labs.append(lab)
        lab.run_all()
        lab.box.wait_for()
        return lab

    yield open
    for lab in labs:
        lab.end_kernel()
        lab.close()


def events(server: tuple[str, Path], name: str) -> list[dict[str, Any]]:
    path = server[1] / "chats" / name / "events.jsonl"
    return [json.loads(line) for line in path.read_text().splitlines()]


def said(server: tuple[str, Path], name: str) -> list[str]:
    return [e["text"] for e in events(server, name) if e["type"] == "user"]


@both
def test_send_and_stream(opened: Open) -> None:
    lab = opened("stream")
    expect(lab.button("Stop")).to_be_disabled()
    lab.say("run it")
    lab.until(lambda: "run 7: 2 of 5" in (told := lab.transcript) and "finished" not in told)
    expect(lab.button("Stop")).to_be_enabled()
    lab.shot("chat-streaming")
    lab.shows("Run 7 is finished.")
    expect(lab.box).to_have_value("")
    expect(lab.button("Send")).to_be_enabled()
    assert [
        u for u in lab.asked if not re.match(r"(http://127\.0\.0\.1:|ws://127|data:|blob:)", u)
    ] == []


def test_shift_enter_begins_a_line_and_runs_no_cell(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("lines")
    lab.box.fill("one")
    lab.box.press("Shift+Enter")
    lab.box.press_sequentially("two")
    expect(lab.box).to_have_value("one\ntwo")
    lab.box.press("Enter")
    lab.shows("I heard: one")
    assert said(server, "lines") == ["one\ntwo"]


def test_enter_that_ends_an_ime_s_input_sends_nothing(
    opened: Open, server: tuple[str, Path]
) -> None:
    lab = opened("ime")
    lab.box.fill("にほん")
    lab.box.evaluate(
        "e => e.dispatchEvent(new KeyboardEvent('keydown', {key: 'Enter', isComposing: true, bubbles: true}))"
    )
    lab.page.wait_for_timeout(300)
    expect(lab.box).to_have_value("にほん")
    lab.box.press("Enter")
    lab.shows("I heard: にほん")
    assert said(server, "ime") == ["にほん"]


@both
@pytest.mark.parametrize("message", ["silent", "long"])
def test_stop_before_the_first_sign_and_in_the_middle(opened: Open, message: str) -> None:
    lab = opened(f"stop-{message}")
    lab.say(message)
    if message == "long":
        lab.shows("run 7: 1 of 5")
    lab.button("Stop").click()
    lab.shows("(stopped by you)")
    expect(lab.button("Send")).to_be_enabled()
    assert "never said" not in lab.transcript
    lab.say("again")
    lab.shows("I heard: again")


@both
def test_stop_while_a_plan_waits_cancels_it(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("stop-plan")
    lab.say("plan")
    lab.button("Confirm").wait_for()
    lab.button("Stop").click()
    lab.shows("Cancelled")
    lab.button("Confirm").wait_for(state="detached")
    assert [e["decision"] for e in events(server, "stop-plan") if e["type"] == "decided"] == [
        "cancelled"
    ]


def test_while_it_works_a_text_stays_in_the_box(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("early")
    lab.say("silent")
    expect(lab.box).to_have_value("")
    lab.say("too early")
    lab.page.wait_for_timeout(300)
    expect(lab.box).to_have_value("too early")
    lab.button("Stop").click()
    lab.shows("(stopped by you)")
    assert said(server, "early") == ["silent"]


@both
def test_confirm_by_double_click_says_yes_once(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("confirm")
    lab.say("plan")
    lab.button("Confirm").wait_for()
    lab.shot("chat-confirm")
    lab.button("Confirm").dblclick()
    lab.shows("Job 0 has started.")
    lab.button("Confirm").wait_for(state="detached")
    assert said(server, "confirm") == ["plan", "yes"]
    lab.until(lambda: bool(re.search(r"Confirmed \d\d:\d\d:\d\dZ, plan 31", lab.transcript)))


@both
def test_cancel(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("cancel")
    lab.say("plan")
    lab.button("Cancel").click()
    lab.shows("The plan is cancelled; nothing has started.")
    lab.button("Cancel").wait_for(state="detached")
    assert said(server, "cancel") == ["plan", "cancel"]


def test_choices_are_buttons_too(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("choices")
    lab.say("ask")
    lab.button("2. leave it").click()
    lab.shows("I heard: 2")
    assert said(server, "choices") == ["ask", "2"]


def test_an_error_is_shown_with_the_next_step(opened: Open) -> None:
    lab = opened("error")
    lab.say("break")
    lab.shows("the disk is full")
    lab.shows("try again")


@both
def test_a_page_loaded_again_in_mid_run_goes_on(opened: Open) -> None:
    lab = opened("reload")
    lab.say("long")
    lab.shows("run 7: 1 of 5")
    lab.save()
    lab.open()
    lab.box.wait_for()
    tail = lab.page.locator(".benchgen-composer .tail")
    expect(tail).to_contain_text(re.compile("run 7: [2-4] of 5"))
    lab.shot("chat-reloaded")
    expect(lab.button("Stop")).to_be_enabled()
    lab.button("Stop").click()
    expect(tail).to_contain_text("(stopped by you)")
    lab.run(1)
    expect(lab.page.locator(".benchgen-composer")).to_have_count(1)
    lab.shows("(stopped by you)")


@both
def test_the_cell_run_again_shows_the_talk_in_one_panel(opened: Open) -> None:
    lab = opened("again")
    lab.say("hello")
    lab.shows("I heard: hello")
    lab.run(1)
    lab.until(
        lambda: (
            lab.transcript.count("I heard: hello") == 1
            and lab.page.locator(".benchgen-composer").count() == 1
        )
    )
    lab.say("more")
    lab.shows("I heard: more")


@both
def test_after_a_restart_of_the_kernel_the_cells_run_again_show_it_all(opened: Open) -> None:
    lab = opened("restart")
    lab.say("silent")
    expect(lab.button("Stop")).to_be_enabled()
    lab.restart()
    lab.run_all()
    lab.until(
        lambda: (
            "You" in lab.transcript
            and lab.page.locator(".benchgen-composer textarea:enabled").count() == 1
        )
    )
    expect(lab.button("Send")).to_be_enabled()
    lab.say("hello again")
    lab.shows("I heard: hello again")


@both
def test_a_cell_that_runs_does_not_hold_up_stop(opened: Open) -> None:
    """Comms on a subshell come through at once; without them they wait for the cell."""
    lab = opened("busy", "import time; time.sleep(0 if 'busy' not in CHAT else 2)")
    lab.say("silent")
    lab.run(2)
    lab.button("Stop").click()
    lab.shows("(stopped by you)")


def test_the_keys_alone_are_enough(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("keys")
    lab.box.focus()
    lab.page.keyboard.type("plan")
    lab.page.keyboard.press("Enter")
    lab.button("Confirm").wait_for()
    for _ in range(6):
        lab.page.keyboard.press("Shift+Tab")
        if lab.page.evaluate("document.activeElement.innerText") == "Confirm":
            break
    assert lab.page.evaluate("document.activeElement.innerText") == "Confirm"
    lab.page.keyboard.press("Enter")
    lab.shows("Job 0 has started.")
    assert said(server, "keys") == ["plan", "yes"]


def test_every_text_reaches_a_contrast_of_4_5(opened: Open) -> None:
    """WCAG 2.2, 1.4.3, as the browser computes the colours; in both themes."""
    lab = opened("contrast")
    lab.say("run it")
    lab.shows("Run 7 is finished.")
    expect(lab.button("Send")).to_be_enabled()
    lab.say("break")
    lab.shows("the disk is full")
    expect(lab.button("Send")).to_be_enabled()
    lab.say("plan")
    lab.button("Confirm").wait_for()
    for dark in (True, False):
        lab.theme(dark)
        lab.shot("chat-dark" if dark else "chat-light")
        assert too_faint(lab.page) == []


def test_what_a_screen_reader_is_told(opened: Open) -> None:
    lab = opened("reader")
    lab.say("plan")
    lab.button("Confirm").wait_for()
    page = lab.page
    expect(page.get_by_role("log", name="The chat so far")).to_have_count(1)
    expect(page.get_by_role("table", name="What would run")).to_have_count(1)
    expect(page.get_by_role("rowheader", name="rows")).to_have_count(1)
    waits = re.compile("^Waits for your word: plan 31$")
    expect(page.get_by_role("status").filter(has_text=waits)).to_have_count(1)
    expect(page.get_by_role("textbox", name="Message")).to_have_count(1)


def test_hostile_text_does_nothing(opened: Open, server: tuple[str, Path]) -> None:
    """In a live page that trusts the notebook, in the saved one, and after it was opened again."""
    lab = opened("attack")
    lab.say("attack")
    lab.until(lambda: lab.transcript.count("Error:") >= len(XSS))
    lab.button("Confirm").wait_for()
    lab.page.wait_for_timeout(1500)  # what loads an image, toggles, or is typeset takes its time
    for link in lab.page.locator(".benchgen a").all()[:60]:
        assert (
            not str(link.get_attribute("href")).lower().lstrip().startswith(("javascript", "data"))
        )
    inert(lab)
    lab.shot("chat-attack")
    lab.save()
    assert (server[1] / "attack.ipynb").stat().st_size < 1_000_000
    lab.open()
    lab.until(lambda: lab.transcript.count("Error:") >= len(XSS))
    lab.page.wait_for_timeout(1000)
    inert(lab)


def inert(lab: Lab) -> None:
    assert lab.page.evaluate("window.__xss") is None
    inside = ".benchgen script, .benchgen img, .benchgen iframe, .benchgen object, .benchgen mjx-container, .benchgen form"
    assert lab.page.locator(inside).count() == 0


def test_the_saved_notebook_holds_the_talk(opened: Open, server: tuple[str, Path]) -> None:
    lab = opened("saved")
    lab.say("run it")
    lab.shows("Run 7 is finished.")
    expect(lab.button("Send")).to_be_enabled()
    time.sleep(0.3)
    lab.save()
    saved = (server[1] / "saved.ipynb").read_text()
    assert "Run 7 is <strong>finished</strong>." in saved
    assert "run benchmark (ok, 0.1 s): begun" in saved
