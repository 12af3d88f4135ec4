"""Records as a notebook shows them: bounded, harmless, and readable without a kernel."""

from __future__ import annotations

import dataclasses
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from benchgen import config, jobs
from benchgen.compare.markup import Page, Section, Table, to_notebook
from benchgen.compare.paired import compare_runs
from benchgen.compare.runpage import run_page
from benchgen.rundata.pages import Filters
from benchgen.store import write_jsonl
from benchgen.ui import browse, parts
from benchgen.ui.browse import BenchmarkPreview, RunBrowser, TrainingMonitor
from benchgen.workspace import Workspace
from tests.hostile import XSS, active
from tests.pages import run_of


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a benchmark of 40 questions and two runs of the reference."""
    ws = Workspace(tmp_path_factory.mktemp("made") / "ws", user="ada")
    spec = dataclasses.replace(
        config.load_benchmark("solar_system_practice"), count=40, mix={}, exclude=[]
    )
    bench = ws.create(ws.author(spec)).publish()
    ws.run(bench, "reference")
    ws.run(bench, "reference", limit=30)
    return ws.path


@pytest.fixture
def ws(made: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(made, tmp_path / "ws")
    return Workspace(tmp_path / "ws", user="ada")


def rows(html: str) -> list[list[str]]:
    return [
        [cell.get_text() for cell in row.find_all(["th", "td"])]
        for row in BeautifulSoup(html, "html.parser").select("tbody tr")
    ]


def test_a_run_is_paged_by_25(ws: Workspace) -> None:
    browser = RunBrowser(ws.get_run(1))
    first, second = browser.page(0), browser.page(1)
    assert [len(rows(output.html)) for output in (first, second)] == [25, 15]
    assert first.text.startswith("Rows 1 to 25 of 40")
    assert second.text.startswith("Rows 26 to 40 of 40")
    assert rows(second.html)[0][0] == "26"


def test_filters_choose_rows(ws: Workspace) -> None:
    run = ws.get_run(1)
    word = run.questions[3].prompt.split()[-2]
    found = RunBrowser(run, Filters(text=word)).page(0)
    assert all(word in "".join(row) for row in rows(found.html))
    assert "that fit, of 40" in found.text
    assert RunBrowser(run, Filters(outcome="wrong")).page(0).text.startswith("No row of 40 fits")


def test_filters_are_lists_of_what_there_is(ws: Workspace) -> None:
    browser = RunBrowser(ws.get_run(1))
    kit = parts.Parts()
    fields = {w.description: w for w in browser.filters(kit)}
    assert {"Outcome", "Status", "Category", "Text"} <= set(fields)
    assert fields["Outcome"].label == "all"
    fields["Outcome"].value = "wrong"
    assert browser.wanted == Filters(outcome="wrong")
    fields["Outcome"].value = None
    fields["Text"].value = "zebra"
    assert browser.wanted == Filters(text="zebra")
    assert kit.models <= 20


def test_a_benchmark_is_previewed_with_right_answers(ws: Workspace) -> None:
    bench = ws.benchmark(1)
    preview = BenchmarkPreview(bench)
    found = rows(preview.page(1).html)
    assert [row[0] for row in found] == [str(n) for n in range(26, 41)]
    assert bench.questions[25].target_text in found[0][2]
    (chosen,) = preview.filters(parts.Parts())
    category = bench.questions[0].category
    chosen.value = category
    shown = rows(preview.page(0).html)
    assert {row[4] for row in shown} == {category}


def test_runs_are_compared_with_pictures(ws: Workspace) -> None:
    output = browse.comparison(ws, [1, 2])
    assert output.html.count("<svg role") >= 2
    assert active(output.html) == []
    ids = [tag["id"] for tag in BeautifulSoup(output.html, "html.parser").find_all(id=True)]
    assert len(ids) == len(set(ids))


def test_a_comparison_shows_itself(ws: Workspace) -> None:
    html = ws.compare([1, 2])._repr_html_()
    assert "Differences in points" in html
    assert active(html) == []


def test_the_leaderboard_has_the_best_first(ws: Workspace) -> None:
    ws.run(1, "reference", limit=10)
    found = rows(browse.leaderboard(ws).html)
    assert [row[1] for row in found] == ["1", "2", "3"]
    assert "intervals overlap" in browse.leaderboard(ws).text
    assert browse.leaderboard(Workspace(ws.path / "none")).text == "No run is finished yet."


def test_records_show_themselves(
    ws: Workspace, base_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "spawn", lambda *_: None)
    plan = ws.plan("from_run", run=1, mode="distill", base_model=str(base_folder))
    shown: list[tuple[Any, str]] = [
        (ws.benchmark(1), "40 questions"),
        (ws.get_run(1), "scored answers right"),
        (plan, plan.hash),
    ]
    shown.append((ws.confirm(plan, "yes"), "of plan 1"))
    for record, words in shown:
        html = record._repr_html_()
        assert words in html
        assert active(html) == []


def test_links_lead_to_the_record_s_page(ws: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ws.path.parent)
    assert 'href="ws/runs/1/index.html"' in ws.get_run(1)._repr_html_()


def test_a_training_is_followed_with_its_curves(
    ws: Workspace, base_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "spawn", lambda *_: None)
    plan = ws.plan("from_run", run=1, mode="distill", base_model=str(base_folder))
    job = ws.confirm(plan, "yes")
    monitor = TrainingMonitor(job)
    assert monitor.output().html.count("<svg role") == 0
    rows = [
        {"step": n, "loss": 2.0 / n, "reward": 0.1 * n, "held_out_score": 0.2 * n}
        for n in (1, 2, 3)
    ]
    write_jsonl(job.folder / "metrics.jsonl", rows)
    output = monitor.output()
    assert output.html.count("<svg role") == 3
    assert "step 3" in output.text
    assert active(output.html) == []


@pytest.fixture
def hostile_runs() -> Any:
    base = run_of(len(XSS))
    traces = tuple(
        dataclasses.replace(t, reply=a, extracted=a, reason=a)
        for t, a in zip(base.traces, XSS, strict=True)
    )
    questions = tuple(
        dataclasses.replace(q, category=a.encode("utf-8", "replace").decode())
        for q, a in zip(base.questions, XSS, strict=True)
    )
    return dataclasses.replace(
        base, model=XSS[1], benchmark=XSS[2], questions=questions, traces=traces
    )


def test_a_hostile_comparison_is_inert(hostile_runs: Any) -> None:
    other = dataclasses.replace(hostile_runs, run_id=2, model=XSS[0])
    html = compare_runs([hostile_runs, other])._repr_html_()
    assert active(html) == []


def test_a_hostile_run_page_is_inert(hostile_runs: Any) -> None:
    """Its own script, named in the page's policy, is the only one; data stands in JSON."""
    page = BeautifulSoup(run_page(hostile_runs), "html.parser")
    scripts = page.find_all("script")
    assert len(scripts) == 2
    assert not page.find_all(["img", "iframe", "object", "embed", "base", "link", "math"])
    assert not [t for t in page.find_all(True) for name in t.attrs if name.startswith("on")]
    json.loads(scripts[0].string or "")


def test_hostile_rows_of_a_run_are_inert(hostile_runs: Any) -> None:
    for text in XSS:
        row = {"key": "k", "correct": False, "status": "ok", "reason": text, "strict": None, "prompt": text,
               "choices": [text], "reply": text, "extracted": text, "target": text, "category": text}  # fmt: skip
        cells = browse._reply(1, row)
        shown = Table("t", ("",) * len(cells), (cells,))
        html = to_notebook(Page(text, [text], [Section("", tables=(shown,))], [text]))
        assert active(html) == []


@pytest.mark.slow
def test_a_saved_notebook_shows_the_talk_without_a_kernel(tmp_path: Path) -> None:
    """Saved, read back, and made into a page by nbconvert: all there, none of it alive, nothing large."""
    cells = [
        "import os\nfrom pathlib import Path\nfrom tests.hostile import XSS\nfrom tests.talker import Talker\n"
        "from benchgen.ui.chat import ChatPanel\n"
        "agent = Talker(Path('chat'), {})\n"
        "for text in XSS: agent.send(text.encode('utf-8', 'replace').decode())\n"
        "panel = ChatPanel(agent)\npanel",
        "agent.tell('decided', kind='plan', label='31', decision='confirmed', hash='83ebf6')\npanel.refresh()",
        "panel.say('the last word')",
    ]
    path = tmp_path / "talk.ipynb"
    made: list[dict[str, Any]] = [
        {
            "cell_type": "code",
            "id": f"c{n}",
            "metadata": {},
            "source": c,
            "outputs": [],
            "execution_count": None,
        }
        for n, c in enumerate(cells)
    ]
    kernel = {"name": "python3", "display_name": "Python 3"}
    path.write_text(
        json.dumps(
            {"cells": made, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
        )
    )
    root = Path(__file__).parents[1]
    env = {
        "PYTHONPATH": str(root),
        "PYTHONWARNINGS": "ignore",
        "IPYTHONDIR": str(tmp_path / "ipython"),
        "HOME": str(tmp_path),
        "PATH": "/usr/bin:/bin",
    }
    command = [
        sys.executable,
        "-m",
        "nbconvert",
        "--execute",
        "--to",
        "notebook",
        "--inplace",
        str(path),
    ]
    done = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert path.stat().st_size < 1_000_000
    saved = json.loads(path.read_text())
    htmls = [
        "".join(out["data"]["text/html"])
        for cell in saved["cells"]
        for out in cell["outputs"]
        if "text/html" in out.get("data", {})
    ]
    talk = "\n".join(htmls)
    assert active(talk) == []
    text = BeautifulSoup(talk, "html.parser").get_text()
    for words in (XSS[0], XSS[5], "Confirmed", "hash 83ebf6", "the last word"):
        assert words in text
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--stdout", str(path)]
    page = subprocess.run(
        command, env=env, cwd=tmp_path, capture_output=True, text=True, check=True
    ).stdout
    outputs = BeautifulSoup(page, "html.parser").select(
        ".jp-RenderedHTML, .jp-OutputArea-output .benchgen"
    )
    assert outputs
    assert [found for output in outputs for found in active(output.decode_contents())] == []
    assert "the last word" in " ".join(output.get_text() for output in outputs)
