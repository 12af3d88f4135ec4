"""The real agent, the dataset browser and the other panels in real JupyterLab, on a workspace in which nothing starts.

Waits for a Chromium on PATH, or named by CHROMIUM. `SHOTS=FOLDER` keeps pictures of what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from benchgen.workspace import Workspace
from tests.browser.lab import CHROMIUM, ROOT, Lab, expect, jupyterlab, too_faint, write_notebook

pytest.importorskip("playwright.sync_api", reason="waits for playwright")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="waits for a machine with Chromium"),
]

SETUP = f"""
from benchgen.testing import agent_in, workspace_from
from benchgen.ui import browse
from benchgen.ui.chat import ChatPanel
from benchgen.ui.confirm import ConfirmPanel
ws = workspace_from({str(ROOT / "tests" / "cases" / "chat_account.json")!r}, WS)
"""
PLAN = "plan a distill training from run 1080 on Qwen/Qwen2.5-0.5B-Instruct, at most 50 steps"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    folder = tmp_path_factory.mktemp("lab")
    with jupyterlab(folder) as url:
        yield url, folder


def opened(window: Any, server: tuple[str, Path], name: str, *cells: str) -> Lab:
    url, folder = server
    write_notebook(folder / f"{name}.ipynb", [f"WS = 'ws-{name}'" + SETUP, *cells])
    lab = Lab(window, url, f"{name}.ipynb")
    lab.run_all()
    return lab


def test_a_plan_confirmed_by_double_click_starts_one_job(
    window: Any, server: tuple[str, Path]
) -> None:
    lab = opened(window, server, "job", "agent = agent_in(ws, {})\nChatPanel(agent)")
    lab.box.wait_for()
    ws = Workspace(server[1] / "ws-job")
    before = ws.jobs().height
    lab.say(PLAN)
    lab.button("Confirm").wait_for()
    lab.shot("real-confirm")
    would_run = lab.page.get_by_role("table", name="What would run")
    expect(would_run).to_contain_text("50 (changed: the recipe says -1)")
    expect(lab.page.get_by_role("table", name="Estimates")).to_have_count(1)
    assert too_faint(lab.page) == []
    lab.button("Confirm").dblclick()
    lab.shows("is started")
    lab.button("Confirm").wait_for(state="detached")
    assert ws.jobs().height == before + 1
    lab.say("yes")
    lab.until(lambda: lab.transcript.count("You") == 3)
    expect(lab.button("Send")).to_be_enabled()
    assert ws.jobs().height == before + 1
    lab.end_kernel()
    lab.close()


def test_a_benchmark_is_made_with_buttons(window: Any, server: tuple[str, Path]) -> None:
    lab = opened(window, server, "make", "agent = agent_in(ws, {})\nChatPanel(agent)")
    lab.box.wait_for()
    before = Workspace(server[1] / "ws-make").benchmarks().height
    lab.say('Create a multiple choice benchmark "Planets" with 8 questions about the solar system')
    lab.button("Create it").wait_for()
    assert Workspace(server[1] / "ws-make").benchmarks().height == before
    lab.shot("real-preview")
    lab.button("Create it").click()
    lab.button("3. leave it as a draft").wait_for()
    assert Workspace(server[1] / "ws-make").benchmarks().height == before + 1
    lab.shot("real-created")
    lab.end_kernel()
    lab.close()


def test_replies_are_filtered_and_paged(window: Any, server: tuple[str, Path]) -> None:
    cells = "browse.RunBrowser(ws.get_run(1080))", "browse.leaderboard(ws)"
    lab = opened(window, server, "browse", *cells)
    page = lab.page
    page.get_by_label("Outcome").wait_for()
    shown = page.locator(".jp-OutputArea-output .benchgen").first
    expect(shown).to_contain_text("Rows 1 to 25 of 30")
    lab.button("Next").click()
    expect(shown).to_contain_text("Rows 26 to 30 of 30")
    page.get_by_label("Outcome").select_option("wrong")
    expect(shown).to_contain_text("Rows 1 to 16 of 16 that fit, of 30")
    page.get_by_label("Text").fill("zebra")
    page.get_by_label("Text").press("Enter")
    expect(shown).to_contain_text("No row of 30 fits")
    page.get_by_label("Text").fill("")
    page.get_by_label("Text").press("Enter")
    expect(shown).to_contain_text("16 that fit")
    for dark in (True, False):
        lab.theme(dark)
        lab.shot(f"browse-{'dark' if dark else 'light'}")
        assert too_faint(page) == []
    lab.end_kernel()
    lab.close()


def test_a_plan_is_confirmed_without_a_chat(window: Any, server: tuple[str, Path]) -> None:
    cell = "plan = ws.plan('from_run', run=1080, mode='distill', base_model='Qwen/Qwen2.5-0.5B-Instruct')\nConfirmPanel(plan)"
    lab = opened(window, server, "alone", cell)
    lab.button("Confirm").dblclick()
    shown = lab.page.locator(".jp-OutputArea-output .benchgen").first
    expect(shown).to_contain_text("Confirmed")
    lab.button("Confirm").wait_for(state="detached")
    lab.save()
    assert "Confirmed" in (server[1] / "alone.ipynb").read_text()
    lab.end_kernel()
    lab.close()
