"""A plan before its decision: all of it shown, bound to its hash, decided once."""

from __future__ import annotations

import dataclasses
import re
import shutil
import threading
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from benchgen import config, jobs
from benchgen.agent.situation import Waiting
from benchgen.errors import StateError
from benchgen.records import PlanRecord
from benchgen.ui import confirm, parts
from benchgen.ui.confirm import ConfirmBox, ConfirmPanel
from benchgen.workspace import Workspace
from tests.hostile import active

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a finished run, made once and copied."""
    ws = Workspace(tmp_path_factory.mktemp("made") / "ws", user="ada")
    spec = dataclasses.replace(
        config.load_benchmark("solar_system_basics"), count=8, mix={}, categories={}, exclude=[]
    )
    ws.run(ws.create(ws.author(spec)).publish(), "reference")
    return ws.path


@pytest.fixture
def ws(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    """Jobs are recorded in it, and no process is started."""
    monkeypatch.setattr(jobs, "spawn", lambda *_: None)
    shutil.copytree(made, tmp_path / "ws")
    return Workspace(tmp_path / "ws", user="ada")


@pytest.fixture
def plan(ws: Workspace, base_folder: Path) -> PlanRecord:
    """A plan that changes two values of its recipe."""
    return ws.plan("from_run", run=1, mode="distill", base_model=str(base_folder), max_steps=7, r=4)


def test_every_setting_is_shown_and_changed_ones_are_marked(plan: PlanRecord) -> None:
    page = BeautifulSoup(str(confirm.html(confirm.of_plan(plan))), "html.parser")
    rows = {row.th.text: row.td.text for row in page.select("tbody tr") if row.th and row.td}
    for part in ("hyperparameters", "dataset", "device"):
        for name in getattr(plan.plan, part):
            assert name in rows or f"{part}: {name}" in rows
    assert rows["max_steps"] == "7 (changed: the recipe says -1)"
    assert rows["r"] == "4 (changed: the recipe says 16)"
    assert sum("changed" in value for value in rows.values()) == 2


def test_what_was_changed_stands_before_what_was_not(plan: PlanRecord) -> None:
    """A table of thirty lines is scrolled: its end is not what a person looks at."""
    settings = confirm.of_plan(plan).settings
    assert [one.name for one in settings[3:5]] == [
        "hyperparameters: max_steps",
        "hyperparameters: r",
    ]


def test_estimates_stand_with_what_they_rest_on(plan: PlanRecord) -> None:
    page = BeautifulSoup(str(confirm.html(confirm.of_plan(plan))), "html.parser")
    table = page.find_all("table")[1]
    assert [th.text for th in table.select("thead th")] == ["estimate", "figure", "basis"]
    told = {
        row.th.text: [td.text for td in row.select("td")]
        for row in table.select("tbody tr")
        if row.th
    }
    assert told["steps"][0] == plan.plan.estimates["steps"].words
    assert all(basis for _, basis in told.values())


def test_tables_have_captions_and_row_heads_and_warnings_stand_first(plan: PlanRecord) -> None:
    shown = dataclasses.replace(confirm.of_plan(plan), warnings=("only 8 rows",))
    html = str(confirm.html(shown))
    page = BeautifulSoup(html, "html.parser")
    assert all(table.caption for table in page.find_all("table"))
    assert all(row.th and row.th["scope"] == "row" for row in page.select("tbody tr"))
    assert html.index("only 8 rows") < html.index("<table")


def test_the_text_says_the_same(plan: PlanRecord) -> None:
    text = confirm.plain(confirm.of_plan(plan))
    for part in (
        plan.hash,
        "max_steps: 7 (changed: the recipe says -1)",
        "estimated steps",
        "Nothing has started",
    ):
        assert part in text


def test_confirm_starts_one_job(plan: PlanRecord, ws: Workspace) -> None:
    panel = ConfirmPanel(plan)
    made = parts.Parts()
    box = ConfirmBox(made, panel.shown, panel._pressed, panel._told)
    threads = [threading.Thread(target=box.buttons[0].click) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ws.jobs().height == 1
    assert panel.job is not None
    assert plan.row.state == "confirmed"
    assert all(button.disabled for button in box.buttons)


def test_cancel_starts_none(plan: PlanRecord, ws: Workspace) -> None:
    panel = ConfirmPanel(plan)
    box = ConfirmBox(parts.Parts(), panel.shown, panel._pressed, panel._told)
    box.buttons[1].click()
    box.buttons[0].click()
    assert plan.row.state == "cancelled"
    assert ws.jobs().is_empty()


def test_another_hash_is_refused_and_decides_nothing(plan: PlanRecord, ws: Workspace) -> None:
    with pytest.raises(StateError, match="not the plan shown"):
        ConfirmPanel(plan).decide("yes", "0" * 12)
    assert plan.row.state == "pending"


def test_a_plan_decided_elsewhere_is_not_decided_again(plan: PlanRecord, ws: Workspace) -> None:
    panel = ConfirmPanel(plan)
    ws.confirm(plan, "yes")
    with pytest.raises(StateError, match="decided only once"):
        panel.decide("yes", panel.shown.hash)
    assert ws.jobs().height == 1


def test_after_the_decision_the_output_says_who_and_when(plan: PlanRecord) -> None:
    panel = ConfirmPanel(plan)
    panel.decide("yes", plan.hash)
    text = panel._bundle()["text/plain"]
    assert re.search(rf"Confirmed \d\d:\d\d:\d\dZ by ada, plan 1, hash {plan.hash}: job 1", text)


def test_in_a_chat_the_plan_s_own_record_is_shown(plan: PlanRecord) -> None:
    item = Waiting("plan", "P1", {"record": plan.id, "hash": plan.hash})
    shown = confirm.of_waiting(item, plan)
    assert (shown.label, shown.hash) == ("P1", plan.hash)
    assert shown.settings == confirm.of_plan(plan).settings


def test_a_record_with_another_hash_than_was_told_is_not_passed_off_as_it(plan: PlanRecord) -> None:
    shown = confirm.of_waiting(Waiting("plan", "P1", {"hash": "abc", "rows": 4}), plan)
    assert shown.hash == "abc"
    assert "another one now" in shown.warnings[0]


def test_a_hostile_plan_is_inert(plan: PlanRecord) -> None:
    from tests.hostile import XSS

    shown = confirm.of_plan(plan)
    for text in XSS:
        told = dataclasses.replace(
            shown,
            title=text,
            hash=text,
            settings=(confirm.Setting(text, text, text),),
            estimates=((text, text, text),),
            warnings=(text,),
        )
        assert active(str(confirm.html(told, text))) == []


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb (WCAG 2.2)."""
    parts_ = [int(colour[n : n + 2], 16) / 255 for n in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts_)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("look", parts.LOOKS)
def test_buttons_reach_a_contrast_of_4_5_in_any_theme(look: str) -> None:
    light, dark = sorted(map(luminance, parts.LOOKS[look]), reverse=True)
    assert (light + 0.05) / (dark + 0.05) >= 4.5


def test_a_failure_of_the_start_is_told_where_the_buttons_are(
    plan: PlanRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any) -> Any:
        raise OSError("no space left")

    monkeypatch.setattr("benchgen.stages.planning.confirm", broken)
    panel = ConfirmPanel(plan)
    ConfirmBox(parts.Parts(), panel.shown, panel._pressed, panel._told).buttons[0].click()
    assert "no space left" in panel._bundle()["text/plain"]
