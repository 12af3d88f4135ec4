"""How fast the notebook panels are: `python experiments/speed/panels.py` (about two minutes; needs Chromium).

Writes panels.json beside this file.

- attach: a log of 500 turns read, rendered and put into widgets, in one process (five times, the median).
- notebook: the same in a real JupyterLab: from running the cell to a box that can be written in, the size
  of the saved notebook, and the widget models of the panel.
- click: from a key or a button to the change that a person sees, in the page's own clock (ten times each).
- updates: how often a second the live part changes, while an agent tells of progress 200 times a second.

Targets: attach under 1 s, notebook under 1 MB, at most 20 models, a click seen within 200 ms, at most 10
updates a second.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
import time
from importlib.metadata import version
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchgen.models.device import detect  # noqa: E402
from benchgen.ui.chat import Box, ChatPanel  # noqa: E402
from tests.browser.lab import Lab, chromium, jupyterlab, write_notebook  # noqa: E402
from tests.talker import Talker  # noqa: E402

TURNS = 500
AGAIN = 10
REPLY = (
    "The run is **finished**: 22 of 30 right.\n\n| category | right |\n| --- | --- |\n"
    + "| moons | 7 of 10 |\n" * 12
)
SETUP = """
from pathlib import Path
from tests.talker import Talker
from benchgen.ui.chat import ChatPanel
plan = [{"type": "agent", "text": "Here is the plan."}, {"type": "waiting", "kind": "plan", "label": "31", "told": {"hash": "83ebf6"}}]
told = [s for n in range(1, 1001) for s in ({"type": "progress", "record": "run", "id": 7, "done": n, "total": 1000, "words": ""}, {"pause": 0.005})]
agent = Talker(Path("chats/1"), {"plan": plan, "silent": [{"pause": 60}], "told": told})
"""
SEEN = """([act, seen]) => new Promise((resolve) => {
  const done = new Function("return " + seen);
  const started = performance.now();
  const look = () => { if (done()) resolve(performance.now() - started); else requestAnimationFrame(look); };
  new Function(act)();
  look();
})"""
BUTTON = "[...document.querySelectorAll('button')].find((b) => b.innerText === '{}')"
ENTER = (
    "const b = document.querySelector('.benchgen-composer textarea'); b.value = '{}'; "
    "b.dispatchEvent(new KeyboardEvent('keydown', {{key: 'Enter', bubbles: true, cancelable: true}}))"
)


def write_log(folder: Path) -> None:
    """A chat of 500 turns, each with a tool call, progress and an answer with a table."""
    agent = Talker(folder, {})
    agent.script = {
        f"message {n}": [
            {"type": "tool", "name": "run_status", "arguments": {"run": n}, "summary": "22 of 30 right", "seconds": 0.1},
            {"type": "progress", "record": "run", "id": n, "done": 30, "total": 30, "words": ""},
            {"type": "agent", "text": REPLY, "links": [f"runs/{n}/index.html"]},
        ]
        for n in range(TURNS)
    }  # fmt: skip
    for message in list(agent.script):
        agent.send(message)


def attach(folder: Path) -> dict[str, Any]:
    """Seconds to read the log, and to make the panel of it with its outputs and widgets."""
    times = []
    models = 0
    for _ in range(5):
        started = time.perf_counter()
        agent = Talker(folder, {})
        panel = ChatPanel(agent)
        panel._box = Box(panel)
        panel.refresh()
        times.append(time.perf_counter() - started)
        models = panel.models
        panel.close()
    return {
        "median_s": round(statistics.median(times), 4),
        "longest_s": round(max(times), 4),
        "models": models,
    }


def in_lab(lab: Lab, folder: Path) -> dict[str, Any]:
    """The panel on that log in a page: from the run of its cell to its box, and the saved file."""
    lab.run(0)
    lab.page.wait_for_timeout(4_000)  # imports
    started = time.perf_counter()
    lab.run(1)
    lab.box.wait_for()
    shown = time.perf_counter() - started
    lab.shows("message 499")
    lab.save()
    size = (folder / "panels.ipynb").stat().st_size
    return {"shown_s": round(shown, 3), "notebook_bytes": size}


def clicks(lab: Lab) -> dict[str, Any]:
    """Milliseconds from key or button to what a person sees of it."""
    page, found = lab.page, {}

    def measure(name: str, act: str, seen: str) -> None:
        found.setdefault(name, []).append(page.evaluate(SEEN, [act, seen]))

    confirm, stop = BUTTON.format("Confirm"), BUTTON.format("Stop")
    for _ in range(AGAIN):
        measure("enter to Stop live", ENTER.format("silent"), f"{stop} && !{stop}.disabled")
        page.wait_for_timeout(400)
        measure(
            "Stop to its answer",
            f"{stop}.click()",
            BUTTON.format("Stopping") + " !== undefined || " + f"{stop}.disabled",
        )
        lab.until(lambda: bool(lab.button("Send").is_enabled()))
        measure("enter to the plan's buttons", ENTER.format("plan"), f"{confirm} !== undefined")
        page.wait_for_timeout(300)
        measure(
            "Confirm to buttons spent", f"{confirm}.click()", f"!{confirm} || {confirm}.disabled"
        )
        lab.until(lambda: bool(lab.button("Send").is_enabled()))
        page.wait_for_timeout(300)
    return {
        name: {"median_ms": round(statistics.median(times)), "longest_ms": round(max(times))}
        for name, times in found.items()
    }


def updates(lab: Lab) -> float:
    """Changes of the live output a second, over four seconds."""
    counter = """() => { window.changes = new Set();
      const live = document.querySelectorAll(".jp-OutputArea-child")[1];
      new MutationObserver(() => window.changes.add(Math.round(performance.now()))).observe(live, {childList: true, subtree: true}); }"""
    lab.page.evaluate(counter)
    lab.say("told")
    lab.page.wait_for_timeout(1_000)
    lab.page.evaluate("window.changes.clear()")
    lab.page.wait_for_timeout(4_000)
    times = sorted(lab.page.evaluate("[...window.changes]"))
    bursts = sum(1 for before, after in itertools.pairwise(times) if after - before > 30) + 1
    return round(bursts / 4, 1)


def main() -> None:
    """Measure all of it, write the result."""
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory(prefix="panels-") as place:
        folder = Path(place)
        write_log(folder / "chats" / "1")
        attached = attach(folder / "chats" / "1")
        write_notebook(folder / "panels.ipynb", [SETUP, "panel = ChatPanel(agent)\npanel"])
        with jupyterlab(folder) as url, chromium() as browser:
            lab = Lab(browser, url, "panels.ipynb")
            shown, clicked, changed = in_lab(lab, folder), clicks(lab), updates(lab)
    result = {
        "turns": TURNS,
        "attach": attached,
        "jupyterlab": shown,
        "click": clicked,
        "updates_per_s": changed,
        "targets": {
            "attach_s": 1,
            "notebook_bytes": 1_000_000,
            "models": 20,
            "click_ms": 200,
            "updates_per_s": 10,
        },
        "machine": {
            "cpu": detect().name,
            "cores": len(os.sched_getaffinity(0)),
            "load_before": round(load, 2),
            "python": platform.python_version(),
            **{
                name: version(name)
                for name in ("jupyterlab", "ipykernel", "ipywidgets", "anywidget")
            },
        },
    }
    text = json.dumps(result, indent=1)
    (Path(__file__).parent / "panels.json").write_text(text + "\n")
    print(text)


if __name__ == "__main__":
    main()
