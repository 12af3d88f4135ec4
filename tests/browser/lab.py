"""A real JupyterLab of a test's own: its folders, its settings, a port on loopback, and a notebook in it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
SHOTS = "SHOTS"
"""Where screenshots are kept, where one is named."""
STARTS_S, WAITS_S = 90, 40
SETTINGS = {
    "notification": {"fetchNews": "false", "checkForUpdates": False},
}

CONTRAST = """([where, but]) => {
  const found = [];
  const parse = (c) => c.match(/[\\d.]+/g).map(Number);
  const light = (c) => {
    const [r, g, b] = parse(c).map((v) => v / 255).map((v) => (v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4));
    return .2126 * r + .7152 * g + .0722 * b;
  };
  const ground = (e) => {
    for (; e; e = e.parentElement) {
      const c = getComputedStyle(e).backgroundColor;
      if (c !== "transparent" && parse(c)[3] !== 0) return c;
    }
    return "rgb(255, 255, 255)";
  };
  for (const e of document.querySelectorAll(where)) {
    if (e.closest(but) || e.disabled || !e.innerText || e.innerText.trim() === "") continue;
    const a = light(getComputedStyle(e).color), b = light(ground(e));
    const ratio = (Math.max(a, b) + .05) / (Math.min(a, b) + .05);
    if (ratio < 4.5) found.push([e.tagName, e.className, e.innerText.slice(0, 30), ratio]);
  }
  return found;
}"""
PANELS = ".benchgen *, .benchgen-composer *, .widget-button, .widget-label"
"""The parts of our panels in a page of JupyterLab."""


def too_faint(page: Any, where: str = PANELS, but: str = "svg, style") -> list[Any]:
    """Texts `where` whose contrast is below 4.5 (WCAG 2.2, 1.4.3), as the browser computes their colours."""
    found: list[Any] = page.evaluate(CONTRAST, [where, but])
    return found


def expect(part: Any) -> Any:
    """Playwright's assertion on a part of the page: looked at again until it holds or `WAITS_S` have passed."""
    from playwright.sync_api import expect as playwright

    playwright.set_options(timeout=WAITS_S * 1000)
    return playwright(part)


@contextmanager
def chromium() -> Iterator[Any]:
    """A headless browser, closed afterwards."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser
        browser.close()


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
    return port


@contextmanager
def jupyterlab(folder: Path, subshells: str = "perCommTarget") -> Iterator[str]:
    """The address of a server that shows `folder`; gone afterwards, with its kernels."""
    home = folder / ".jupyter-home"
    settings = home / "settings" / "@jupyterlab" / "apputils-extension"
    settings.mkdir(parents=True, exist_ok=True)
    told = {**SETTINGS, "kernels-settings": {"commsOverSubshells": subshells}}
    for name, values in told.items():
        (settings / f"{name}.jupyterlab-settings").write_text(json.dumps(values))
    names = {
        "JUPYTER_CONFIG_DIR": "config",
        "JUPYTER_DATA_DIR": "data",
        "JUPYTER_RUNTIME_DIR": "runtime",
        "JUPYTERLAB_SETTINGS_DIR": "settings",
        "JUPYTERLAB_WORKSPACES_DIR": "workspaces",
        "IPYTHONDIR": "ipython",
    }
    env = {**os.environ, **{name: str(home / part) for name, part in names.items()}}
    env |= {"PYTHONPATH": str(ROOT), "PYTHONWARNINGS": "ignore", "BENCHGEN_HEADLESS": "0"}
    port = free_port()
    command = [
        *(sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root"),
        *(f"--ServerApp.root_dir={folder}", "--ServerApp.ip=127.0.0.1", f"--ServerApp.port={port}"),
        *("--IdentityProvider.token=", "--ServerApp.password=", "--LabApp.expose_app_in_browser=True"),
    ]  # fmt: skip
    with (folder / "server.log").open("w") as log:
        server = subprocess.Popen(
            command, env=env, cwd=folder, stdout=log, stderr=log, start_new_session=True
        )
        try:
            _wait_for(f"http://127.0.0.1:{port}/api/status", server, folder / "server.log")
            yield f"http://127.0.0.1:{port}"
        finally:
            server.send_signal(signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                server.wait(10)
            with suppress(ProcessLookupError):
                os.killpg(server.pid, signal.SIGKILL)


def _wait_for(url: str, server: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + STARTS_S
    while time.monotonic() < until and server.poll() is None:
        with suppress(OSError), urllib.request.urlopen(url, timeout=2):
            return
        time.sleep(0.2)
    raise AssertionError(f"JupyterLab did not start: {log.read_text()[-2000:]}")


def write_notebook(path: Path, cells: Sequence[str]) -> Path:
    """A notebook of code cells, none of them run."""
    made: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"cell-{n}",
            "metadata": {},
            "source": cell,
            "outputs": [],
            "execution_count": None,
        }
        for n, cell in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    told = {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    path.write_text(json.dumps(told))
    return path


class Lab:
    """A page of JupyterLab that shows one notebook."""

    def __init__(
        self,
        browser: Any,
        url: str,
        notebook: str,
        dark: bool = False,
        size: tuple[int, int] = (1280, 1500),
    ) -> None:
        self.url, self.notebook = url, notebook
        self.page = browser.new_page()
        self.page.set_viewport_size({"width": size[0], "height": size[1]})
        self.page.set_default_timeout(WAITS_S * 1000)
        self.asked: list[str] = []
        self.page.on("request", lambda r: self.asked.append(r.url))
        self.open()
        self.theme(dark)  # a server keeps the last one

    def open(self) -> None:
        """Show the notebook, its kernel ready."""
        self.page.goto(f"{self.url}/doc/tree/{self.notebook}?reset")
        self.page.wait_for_selector(".jp-Notebook .jp-Cell", state="visible")
        self.page.wait_for_function("() => window.jupyterapp?.shell.currentWidget?.sessionContext?.session?.kernel?.connectionStatus === 'connected'")  # fmt: skip

    def theme(self, dark: bool) -> None:
        theme = "JupyterLab Dark" if dark else "JupyterLab Light"
        self.command("apputils:change-theme", theme=theme)
        self.page.wait_for_selector(f"body[data-jp-theme-name='{theme}']", state="attached")

    def command(self, name: str, **given: Any) -> None:
        self.page.evaluate(
            "([name, given]) => window.jupyterapp.commands.execute(name, given)", [name, given]
        )

    def run_all(self) -> None:
        self.command("notebook:run-all-cells")

    def run(self, cell: int) -> None:
        """Run one cell, by its number from 0."""
        self.page.evaluate(
            "(n) => { window.jupyterapp.shell.currentWidget.content.activeCellIndex = n }", cell
        )
        self.command("notebook:run-cell")

    def save(self) -> None:
        self.command("docmanager:save")

    def restart(self) -> None:
        """Restart the kernel, without the question before it."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.restart()"
        )

    def end_kernel(self) -> None:
        """Shut the kernel down, so that kernels do not add up over tests."""
        self.page.evaluate(
            "() => window.jupyterapp.shell.currentWidget?.sessionContext?.shutdown()"
        )

    def shot(self, name: str) -> None:
        """Keep a picture of the page, where a folder for pictures is named."""
        if folder := os.environ.get(SHOTS):
            Path(folder).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(folder) / f"{name}.png"))

    def until(self, true: Callable[[], bool]) -> None:
        """Wait for what the page does not tell."""
        end = time.monotonic() + WAITS_S
        while not true():
            assert time.monotonic() < end, "it did not come about"
            self.page.wait_for_timeout(50)

    # ------------------------------------------------------------------------------ of the chat

    @property
    def box(self) -> Any:
        return self.page.get_by_label("Message", exact=True)

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def say(self, text: str) -> None:
        self.box.fill(text)
        self.box.press("Enter")

    @property
    def transcript(self) -> str:
        """The text of both outputs of the chat."""
        found = self.page.locator(".jp-OutputArea-output .benchgen [role=log]").all_inner_texts()
        return "\n".join(found)

    def shows(self, text: str) -> None:
        """Wait until the transcript holds the text."""
        self.until(lambda: text in self.transcript)

    def close(self) -> None:
        self.page.close()
