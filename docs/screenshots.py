"""Makes the pictures of the README anew: `python docs/screenshots.py` (some minutes; needs Chromium).

A workspace is made with 30 questions, the embedded model's run and the reference's; what the pictures show
was really said, planned and measured in it. Writes docs/images/*.png.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from benchgen.workspace import Workspace  # noqa: E402
from tests.browser.lab import Lab, chromium, expect, jupyterlab, write_notebook  # noqa: E402

IMAGES = Path(__file__).parent / "images"
CELLS = (
    "import benchgen\nfrom benchgen.ui.chat import ChatPanel\n\n"
    'ws = benchgen.Workspace("workspace")\nChatPanel(benchgen.Agent(ws, session="chat"))',
    "from benchgen.ui.browse import RunBrowser\n\nRunBrowser(ws.get_run(1))",
)
TALK = ("status of run 1", "compare runs 1 and 2")
PLAN = "plan a distill training from run 2 on smollm2_135m, at most 80 steps"


def make(ws: Workspace) -> Path:
    """A benchmark with two runs; path of the report on them."""
    bench = ws.create(ws.author("solar_system_basics")).publish()
    runs = [ws.run(bench, model) for model in ("smollm2_135m", "reference")]
    return ws.report(runs, "SmolLM2-135M on the solar system")


def cell(lab: Lab, number: int) -> Any:
    """A code cell with its outputs, by its number from 0."""
    return lab.page.locator(".jp-Notebook .jp-CodeCell").nth(number)


def keep(shown: Any, name: str) -> None:
    """A picture of one part of a page."""
    IMAGES.mkdir(exist_ok=True)
    shown.screenshot(path=str(IMAGES / f"{name}.png"))


def chat(lab: Lab) -> None:
    """The talk, then the plan that waits."""
    lab.box.wait_for()
    for count, message in enumerate(TALK, 1):
        lab.say(message)
        lab.until(lambda count=count: lab.transcript.count("benchgen") >= count)  # type: ignore[misc]
        expect(lab.button("Send")).to_be_enabled()
    lab.page.wait_for_timeout(500)
    keep(cell(lab, 0), "chat")
    lab.say(PLAN)
    lab.button("Confirm").wait_for()
    lab.page.wait_for_timeout(500)
    keep(lab.page.locator(".jupyter-widgets.widget-vbox").first, "confirm")
    lab.button("Cancel").click()
    lab.button("Cancel").wait_for(state="detached")


def browser(lab: Lab) -> None:
    """Wrong replies of the run, a page of them."""
    lab.page.get_by_label("Outcome").select_option("wrong")
    expect(cell(lab, 1)).to_contain_text("that fit")
    lab.page.wait_for_timeout(500)
    box = cell(lab, 1).bounding_box()
    clip = {"x": box["x"], "y": box["y"], "width": box["width"], "height": min(box["height"], 760)}
    lab.page.screenshot(path=str(IMAGES / "browser.png"), clip=clip, full_page=True)


def main() -> None:
    """Make the workspace, open it in JupyterLab, keep the pictures."""
    with tempfile.TemporaryDirectory(prefix="pictures-") as place:
        folder = Path(place)
        report = make(Workspace(folder / "workspace"))
        write_notebook(folder / "pictures.ipynb", CELLS)
        with jupyterlab(folder) as url, chromium() as window:
            page = window.new_page(viewport={"width": 1180, "height": 900})
            page.goto(report.as_uri())
            IMAGES.mkdir(exist_ok=True)
            page.screenshot(path=str(IMAGES / "report.png"))
            lab = Lab(window, url, "pictures.ipynb", size=(1180, 2600))
            lab.run_all()
            chat(lab)
            browser(lab)


if __name__ == "__main__":
    main()
