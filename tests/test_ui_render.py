"""What a panel shows of what others wrote: all of it, and none of it alive."""

from __future__ import annotations

import json
from html import unescape
from typing import Any

import pytest
from bs4 import BeautifulSoup

from benchgen.compare.markup import clean
from benchgen.ui import render
from tests.bounded import bounded
from tests.hostile import XSS, active

EVENTS = {
    "user": lambda text: {"type": "user", "text": text},
    "agent": lambda text: {"type": "agent", "text": text, "choices": [text, text], "links": [text]},
    "tool": lambda text: {"type": "tool", "name": text, "summary": text, "arguments": {text: [text]}, "seconds": 1},
    "progress": lambda text: {"type": "progress", "record": text, "id": text, "done": 1, "total": 2, "words": text},
    "decided": lambda text: {"type": "decided", "kind": text, "label": text, "decision": text, "time": text},
    "error": lambda text: {"type": "error", "message": text, "next": text},
}  # fmt: skip


def shown(html: str) -> str:
    return BeautifulSoup(html, "html.parser").get_text()


def test_there_are_at_least_fifteen_payloads() -> None:
    assert len(set(XSS)) >= 15


def test_the_judge_of_these_tests_finds_what_is_alive() -> None:
    """A test that could not fail would prove nothing."""
    for alive in XSS[:4] + XSS[15:16]:
        assert active(f"<p>{alive}</p>")
    assert active('<a href=" JavaScript:x">y</a>')


@pytest.mark.parametrize("kind", EVENTS)
@pytest.mark.parametrize("text", XSS)
def test_an_event_with_hostile_text_is_inert(kind: str, text: str) -> None:
    told = render.piece(EVENTS[kind](text))
    assert told
    assert active(str(render.styled(told.html))) == []


@pytest.mark.parametrize("text", XSS)
def test_hostile_text_is_shown_as_it_is(text: str) -> None:
    """A reader must see what a model wrote, not a page without it."""
    wanted = "".join(clean(text).split())
    assert "".join(shown(str(render.text(text))).split()) == wanted
    said = render.piece({"type": "user", "text": text}).html
    assert wanted in "".join(shown(str(said)).split())


def test_plain_text_holds_no_control_signs_and_no_turned_text() -> None:
    told = render.piece({"type": "user", "text": "a\x1b[31mb\u202ec\x00"})
    assert told.text == "You: a\ufffd[31mb\ufffdc\ufffd"


def test_the_agent_s_markdown_is_rendered() -> None:
    html = str(
        render.markdown(
            "**bold** `code` ~~gone~~\n\n1. one\n2. two\n\n| a | b |\n|---|---|\n| 1 | 2 |"
        )
    )
    for part in (
        "<strong>bold</strong>",
        "<code>code</code>",
        "<del>gone</del>",
        "<ol>",
        "<td>2</td>",
    ):
        assert part in html


def test_a_line_end_is_a_line_end() -> None:
    assert "<br" in str(render.markdown("one\ntwo"))


def test_images_are_their_text_and_only_web_addresses_are_links() -> None:
    """An image would tell its server that the notebook is read."""
    html = str(
        render.markdown(
            "![a chart](https://x.org/p.png) [a](https://x.org/?b=1&c=2) [b](file:///etc) [c](x.html)"
        )
    )
    assert "<img" not in html
    assert html.count("<a ") == 1
    assert 'href="https://x.org/?b=1&amp;c=2"' in html or 'href="https://x.org/?b=1&c=2"' in html
    assert "b (file:///etc)" in unescape(html)


def test_text_is_cut_with_a_note() -> None:
    assert shown(str(render.text("x" * 9_000))).endswith("… (1000 more characters)")


def test_formula_signs_are_not_typeset() -> None:
    """The typesetter leaves elements of these classes alone; a formula may hold a link of any scheme."""
    assert 'class="benchgen mathjax_ignore tex2jax_ignore"' in render.styled(render.text("$x$"))


def test_choices_are_numbered_once() -> None:
    event = {"type": "agent", "text": "What next?", "choices": ["publish", "run"]}
    assert shown(str(render.piece(event).html)).count("publish") == 1
    said = {**event, "text": "What next?\n\n1. publish\n2. run"}
    assert shown(str(render.piece(said).html)).count("publish") == 1


def test_a_tool_call_is_one_line_that_unfolds() -> None:
    event = {
        "type": "tool",
        "name": "run_benchmark",
        "summary": "run 3",
        "arguments": {"limit": 5},
        "seconds": 0.26,
    }
    page = BeautifulSoup(str(render.piece(event).html), "html.parser")
    assert page.summary is not None
    assert page.summary.text == "run benchmark (ok, 0.3 s): run 3"
    assert page.pre is not None
    assert json.loads(page.pre.text) == {"limit": 5}
    assert not page.details or "open" not in page.details.attrs


def test_links_lead_from_the_notebook_s_folder_to_the_page(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    html = render.link(str(tmp_path / "workspace" / "runs" / "7" / "index.html"))
    assert 'href="workspace/runs/7/index.html"' in html
    assert ">run 7<" in html


def test_of_a_record_s_progress_only_the_newest_is_kept() -> None:
    steps = [
        {"type": "progress", "record": "run", "id": 1, "done": n, "total": 3, "words": ""}
        for n in (1, 2, 3)
    ]
    told = render.turn([{"type": "user", "text": "run it"}, *steps])
    assert told.text == "You: run it\nrun 1: 3 of 3"
    assert told.html.count("<progress") == 1


def test_a_bar_says_how_long_it_may_take() -> None:
    event = {"record": "job", "id": 2, "done": 10, "total": 80, "words": "loss 1.20"}
    assert render.progress_bar(event, 140.0).text == "job 2: 10 of 80, loss 1.20, about 2 min left"
    assert (
        render.progress_bar({"record": "run", "id": 1, "done": "x", "total": None}).text
        == "run 1: 0"
    )


def test_turns_begin_with_a_person_s_message() -> None:
    kinds = ["agent", "user", "agent", "state", "user"]
    assert [len(t) for t in render.turns({"type": k} for k in kinds)] == [1, 3, 1]


def test_a_long_history_shows_its_newest_turns_within_its_bytes() -> None:
    pieces = [
        render.turn([{"type": "user", "text": f"message {n} " + "x" * 7_000}]) for n in range(500)
    ]
    told = render.history(pieces, hidden=0, file="chats/1/events.jsonl")
    assert len(told.html) < render.HISTORY_BYTES * 1.1
    assert "message 499" in told.html
    assert "message 100 " not in told.html
    assert "earlier turns not shown" in told.html
    assert "events.jsonl" in told.html


def test_history_tells_how_much_it_leaves_out() -> None:
    pieces = [render.turn([{"type": "user", "text": str(n)}]) for n in range(45)]
    assert render.history(pieces, hidden=2).text.startswith("7 earlier turns not shown")
    assert "earlier" not in render.history(pieces[:3]).text


def test_times_are_utc_and_strange_ones_stay() -> None:
    assert render.clock("2026-11-30T12:31:05.123+02:00") == "10:31:05Z"
    assert render.clock(0) == "00:00:00Z"
    assert render.clock("noon") == "noon"


def test_a_log_is_polite_only_where_it_grows() -> None:
    told = render.piece({"type": "user", "text": "hello"})
    assert 'aria-live="polite"' in render.transcript(told, live=True)["text/html"]
    assert 'aria-live="off"' in render.transcript(told)["text/html"]
    assert render.transcript(render.Piece())["text/html"] == ""


def test_deep_and_crooked_markdown_ends() -> None:
    """Whatever a model writes, it is cut first and rendered in a moment."""
    for nasty in (
        "[" * 20_000,
        "*_" * 10_000,
        "> " * 10_000,
        "- " * 10_000,
        "`" * 20_000,
        "|a" * 9_000,
        "![](" * 5_000,
    ):
        with bounded():
            render.markdown(nasty)


def test_a_page_s_path_is_a_link_and_not_told_again(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is saved names no folder of this machine."""
    monkeypatch.chdir(tmp_path)
    page = str(tmp_path / "ws" / "runs" / "7" / "index.html")
    told = render.piece(
        {"type": "agent", "text": f"Done. Page: {page}\n\nmore on {page}", "links": [page]}
    )
    assert str(tmp_path) not in told.html + told.text
    assert 'href="ws/runs/7/index.html"' in told.html


def test_a_plan_s_table_unfolds_since_the_buttons_stand_beside_another() -> None:
    event = {
        "type": "agent",
        "text": "Plan 3.\n\n| setting | value |\n| --- | --- |\n| r | 16 |",
        "intent": "plan_training",
    }
    page = BeautifulSoup(str(render.piece(event).html), "html.parser")
    assert page.details is not None
    assert page.details.table is not None
    assert "16" in page.details.table.text
    assert (
        BeautifulSoup(str(render.piece({**event, "intent": "x"}).html), "html.parser").details
        is None
    )


def test_a_tool_s_line_says_what_it_did_and_leaves_its_table_out() -> None:
    event = {
        "type": "tool",
        "name": "plan_training",
        "summary": "Plan 3. Nothing has started. | setting | value |",
        "seconds": 0.5,
    }
    assert render.piece(event).text == "  [plan training (ok, 0.5 s): Plan 3. Nothing has started.]"
