"""The card that a trained model carries, and the report of what its training was predicted to take and took."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from benchgen import config
from benchgen.models import catalogue
from benchgen.models.fingerprint import template_sha256
from benchgen.records import Job, Run
from benchgen.stages import cards, running
from benchgen.store import JobRow, RunRow
from benchgen.workspace import Workspace
from tests.trained import finished, planned

pytestmark = pytest.mark.slow

TEMPLATE = "{% for m in messages %}{{ m['content'] }}{% endfor %}"
TOOK: dict[str, Any] = {
    "steps": 9,
    "tokens": 400,
    "rows_used": 8,
    "rows_truncated": 0,
    "seconds": 12.5,
    "peak_rss_bytes": 2**30,
    "peak_cuda_bytes": 0,
    "adapter_sha256": "a" * 64,
}


@pytest.fixture
def ws(workspace_path: Path) -> Workspace:
    return Workspace(workspace_path, user="ada")


@pytest.fixture
def base(base_folder: Path) -> Path:
    (base_folder / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    return base_folder


@pytest.fixture
def job(ws: Workspace, base: Path) -> Job:
    """A finished training, whose plan counts six questions of the benchmark as seen."""
    return finished(ws, planned(ws, base, name="mine"))


def measured(ws: Workspace, job: Job, base: Path) -> tuple[Run, Run]:
    """Runs of the base and of the trained model on numbers, as if they had answered like mock and reference."""
    spec = config.load_benchmark("units_numeric")
    bench = ws.create(
        ws.author(dataclasses.replace(spec, count=8, mix={}, categories={}))
    ).publish()
    before, after = ws.run(bench, "mock"), ws.run(bench, "reference")
    row = catalogue.record(ws.store, catalogue.find(ws.store, str(base)), "ada")
    ws.store.change(RunRow, before.id, model_id=row.id)
    ws.store.change(RunRow, after.id, model_id=job.row.model_id)
    return before, after


def test_a_trained_model_carries_what_it_is_made_of_and_how_it_scores(
    ws: Workspace, job: Job, base: Path
) -> None:
    before, after = measured(ws, job, base)
    running.finish(ws.place, after, after.traces(), 1.0)  # as the end of any run of it does
    plan = job.plan
    assert job.model is not None
    card = (catalogue.adapter_folder(job.model.row, ws.path) / "README.md").read_text()
    low, high = before.ci
    for told in (
        f"base: {base.name}",
        "revision of the base: none named",
        plan.base["fingerprint"],
        plan.dataset["sha256"],
        "job 1, lora: 8 rows",
        f"learning_rate={plan.hyperparameters['learning_rate']:g}",
        f"r={plan.hyperparameters['r']:g}",
        f"{low:.1%} to {high:.1%}",
        "8/8/8",
        "trained minus base +100.0%",
        "(paired, 95 %)",
        hashlib.sha256(TEMPLATE.encode()).hexdigest(),
        "peft",
        "benchgen 0.1",
        "Python 3.",
    ):
        assert told in card, f"{told} not in {card}"
    assert str(base.parent) not in card


def test_before_it_is_measured_nothing_is_said_about_a_gain(ws: Workspace, job: Job) -> None:
    assert job.model is not None
    cards.keep(ws.place, job.model.row)
    card = (job.folder / "adapter" / "README.md").read_text()
    assert "nothing is said about a gain" in card


def test_without_its_base_a_run_is_told_all_the_same(ws: Workspace, job: Job, base: Path) -> None:
    _, after = measured(ws, job, base)
    (base / "config.json").unlink()
    running.finish(ws.place, after, after.traces(), 1.0)
    assert after.state == "finished"
    assert not (job.folder / "adapter" / "README.md").exists()


def test_a_template_is_the_one_that_the_tokenizer_reads(tmp_path: Path) -> None:
    assert template_sha256(tmp_path) is None
    (tmp_path / "tokenizer_config.json").write_text(json.dumps({"chat_template": TEMPLATE}))
    assert template_sha256(tmp_path) == hashlib.sha256(TEMPLATE.encode()).hexdigest()
    (tmp_path / "chat_template.jinja").write_text("other")
    assert template_sha256(tmp_path) == hashlib.sha256(b"other").hexdigest()


def test_a_report_sets_actual_beside_predicted_for_every_job_whose_model_it_compares(
    ws: Workspace, job: Job, base: Path
) -> None:
    second = finished(ws, planned(ws, base, name="other", max_steps=9))
    for one in (job, second):
        ws.store.change(JobRow, one.id, result=TOOK)
    before, after = measured(ws, job, base)
    third = ws.run(before.benchmark, "reference")
    ws.store.change(RunRow, third.id, model_id=second.row.model_id)
    page = ws.report([before, after, third])
    told = (page.parent / "report.md").read_text()
    newest, older = told.split("Predicted against actual")[1:3]
    assert older.startswith(": mine (job 1, lora)")
    for part in (newest, older):
        for name in ("steps", "tokens", "seconds", "memory", "truncated rows"):
            assert f"| {name} |" in part, name
        assert "12.5 s" in part
        assert "the base's tokenizer over 8 rows" in part  # what the prediction rests on
    assert ws.report([before, after, third]).read_bytes() == page.read_bytes()


def test_a_model_worse_than_before_points_to_its_replies_and_their_form(
    ws: Workspace, job: Job, base: Path
) -> None:
    """Trained below its baseline: mode all, and the answer format, before anything else."""
    before, after = measured(ws, job, base)
    ws.store.change(RunRow, before.id, model_id=job.row.model_id)
    row = catalogue.find(ws.store, str(base))
    ws.store.change(RunRow, after.id, model_id=row.id)
    found = ws.compare([before, after], baseline=after.id)
    [line] = [w for w in found.warnings if "is worse than" in w]
    assert f"benchgen dataset run_id={before.id} mode=all" in line
    assert "8 of 8 hold no answer that can be read, against 0 of 8" in line


def test_a_surprising_score_leads_to_every_reply(ws: Workspace, job: Job, base: Path) -> None:
    before, after = measured(ws, job, base)
    [formless, *_] = before.status()["advice"]
    assert f"benchgen dataset run_id={before.id} mode=all" in formless
    assert "no answer that can be read" in formless
    assert "all of 8 answers right is a surprising score" in after.status()["advice"][0]
    assert (
        "advice" not in ws.run(before.benchmark, "reference").status()
    )  # a ceiling surprises nobody
