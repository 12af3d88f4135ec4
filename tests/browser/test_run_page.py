"""A run's page in Chromium: filters, pages and keys work without a network, and hostile text does nothing.

Waits for a Chromium on PATH, or named by CHROMIUM.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgen.compare.runpage import run_page
from tests.browser.lab import CHROMIUM, too_faint
from tests.pages import HOSTILE, run_of

playwright = pytest.importorskip("playwright.sync_api", reason="waits for playwright")
pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="waits for a machine with Chromium"),
]


@pytest.fixture(params=["light", "dark"])
def page(chromium: Any, request: pytest.FixtureRequest) -> Iterator[Any]:
    """A page that fails the test where it errs or asks for anything."""
    page = chromium.new_page(color_scheme=request.param)
    faults: list[str] = []
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda said: faults.append(said.text) if said.type == "error" else None)
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url))
    yield page
    assert faults == []
    assert [url for url in asked if not url.startswith("file:")] == []
    assert len(asked) == 1
    page.close()


def show(page: Any, view: Any, folder: Path) -> Any:
    path = folder / "index.html"
    path.write_text(run_page(view), encoding="utf-8")
    page.goto(path.as_uri())
    return page


def rows(page: Any) -> list[str]:
    return page.locator("#rows-body tr th").all_inner_texts()  # type: ignore[no-any-return]


def count(page: Any) -> str:
    return str(page.locator("#rows-count").inner_text())


def shows(page: Any, text: str) -> None:
    playwright.expect(page.locator("#rows-count")).to_have_text(text)


def test_filters_and_pages(page: Any, tmp_path: Path) -> None:
    show(page, run_of(120), tmp_path)
    assert count(page) == "Rows 1 to 25 of 120"
    page.get_by_role("button", name="Next").click()
    assert rows(page)[0] == "26"
    page.get_by_role("button", name="Last").click()
    assert (count(page), rows(page)[-1]) == ("Rows 101 to 120 of 120", "120")
    page.get_by_label("Status", exact=True).select_option("no_answer")
    assert count(page) == "Rows 1 to 24 of 24 that fit, of 120"
    page.get_by_label("Category", exact=True).select_option("")
    assert count(page) == "Rows 1 to 8 of 8 that fit, of 120"
    page.get_by_label("Outcome", exact=True).select_option("right")
    assert count(page) == "No row of 120 fits these filters."
    page.get_by_role("button", name="Show all").click()
    shows(page, "Rows 1 to 25 of 120")
    page.get_by_label("Text in question or reply").fill("NUMBER 77?")
    assert rows(page) == ["78"]


def test_the_keys_alone_are_enough(page: Any, tmp_path: Path) -> None:
    show(page, run_of(60), tmp_path)
    page.get_by_label("Outcome", exact=True).focus()
    page.keyboard.press("ArrowDown")
    assert "that fit" in count(page)
    for _ in range(5):
        page.keyboard.press("Tab")
    page.keyboard.type("number 4")
    assert page.evaluate("document.activeElement.name") == "text"
    assert count(page).endswith("that fit, of 60")
    page.keyboard.press("Enter")  # submits nothing, goes nowhere
    assert page.url.startswith("file:")
    page.keyboard.press("Tab")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    shows(page, "Rows 1 to 25 of 60")
    page.get_by_role("button", name="Next").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Enter")
    assert count(page) == "Rows 51 to 60 of 60"
    assert page.evaluate("document.activeElement.id") == "rows-region"  # Next is spent: not lost


def test_hostile_text_is_shown_and_does_nothing(page: Any, tmp_path: Path) -> None:
    view = run_of(len(HOSTILE))
    traces = tuple(
        replace(t, reply=a, extracted=a, reason=a)
        for t, a in zip(view.traces, HOSTILE, strict=True)
    )
    questions = tuple(
        replace(q, category=a.encode("utf-8", "replace").decode())
        for q, a in zip(view.questions, HOSTILE, strict=True)
    )
    show(page, replace(view, model=HOSTILE[2], questions=questions, traces=traces), tmp_path)
    assert page.evaluate("window.__xss") is None
    assert HOSTILE[0] in page.locator("#rows-body").inner_text()
    page.get_by_label("Text in question or reply").fill("</noscript>")
    assert rows(page) == ["3"]
    assert page.locator("#rows-body img, #rows-body svg, #rows-body script").count() == 0


def test_two_thousand_rows_stay_light(page: Any, tmp_path: Path) -> None:
    show(page, run_of(2_000, reply="word " * 300), tmp_path)
    assert count(page) == "Rows 1 to 25 of 2000"
    assert page.evaluate("document.getElementsByTagName('*').length") < 2_500
    page.get_by_label("Text in question or reply").fill("number 1999?")
    assert rows(page) == ["2000"]


def test_every_text_reaches_a_contrast_of_4_5(page: Any, tmp_path: Path) -> None:
    """WCAG 2.2, 1.4.3, as the browser computes the colours; in both themes."""
    show(page, run_of(30), tmp_path)
    assert too_faint(page, "main *, header *", but="svg") == []


def test_without_scripts_the_replies_are_a_table(chromium: Any, tmp_path: Path) -> None:
    context = chromium.new_context(java_script_enabled=False)
    page = show(context.new_page(), run_of(30, reply="It was Huygens"), tmp_path)
    assert page.locator("noscript").inner_text().count("It was Huygens") == 30
    assert not page.locator("form").is_visible()
    context.close()
