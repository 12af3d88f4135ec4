"""Questions kept from training: marked in their benchmark, or asked on the way of a training."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

from benchgen import config
from benchgen.errors import ConfigError, DataError, StateError
from benchgen.records import Benchmark
from benchgen.store import ModelRow
from benchgen.workspace import Workspace
from tests.trained import ended

pytestmark = pytest.mark.slow


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    rows = [
        {"prompt": f"How much is {i} plus {i}?", "completion": f"Answer: {2 * i}"} for i in range(8)
    ]
    path = tmp_path / "train.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def draft(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=6, mix={}, categories={}, exclude=[])
    spec.evaluation = dataclasses.replace(spec.evaluation, max_new_tokens=8)
    return ws.create(ws.author(spec))


def test_the_plan_says_what_is_asked_and_counts_it_as_seen(
    ws: Workspace, file: Path, base_folder: Path
) -> None:
    bench = draft(ws).publish()
    stop = config.StopConfig(benchmark_id=bench.id, every=3, patience=1, limit=4)
    plan = ws.plan("lora", dataset=file, base_model=str(base_folder), stop=stop).plan
    assert plan.dataset["held_out"] == {
        "benchmark": 1,
        "name": bench.row.name,
        "questions": 4,
        "sha256": bench.row.questions_sha256,
        "every": 3,
        "patience": 1,
    }
    assert set(plan.seen) == {q.key for q in bench.questions[:4]}
    assert any("not held out" in line for line in plan.warnings)


def test_a_draft_and_senseless_settings_are_refused(
    ws: Workspace, file: Path, base_folder: Path
) -> None:
    bench = draft(ws)
    plain = config.StopConfig(benchmark_id=bench.id)
    with pytest.raises(StateError, match="only a published one"):
        ws.plan("lora", dataset=file, base_model=str(base_folder), stop=plain)
    bench.publish()
    for name in ("every", "patience", "limit"):
        stop = dataclasses.replace(plain, **{name: 0})
        with pytest.raises(ConfigError, match=f"recipe.stop.{name}"):
            ws.plan("lora", dataset=file, base_model=str(base_folder), stop=stop)
    assert ws.plans().is_empty()


# ------------------------------------------------------------------------- marked in the benchmark


def marked(ws: Workspace, share: float = 0.3, count: int = 10) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=count, mix={}, categories={}, exclude=[], held_out=share)
    return ws.create(ws.author(spec)).publish()


def out_of(bench: Benchmark) -> set[str]:
    return {q.key for q in bench.questions if q.held_out}


def test_a_share_is_drawn_by_key_and_frozen_with_the_questions(ws: Workspace) -> None:
    one, other = marked(ws), marked(ws)
    plain = draft(ws)
    assert len(out_of(one)) == 3
    assert out_of(one) == out_of(other)
    assert one.row.questions_sha256 == other.row.questions_sha256
    assert "held_out" not in (plain.folder / "questions.jsonl").read_text()
    assert any("3 of 10 questions are held out" in d for d in one.row.spec["report"]["decisions"])
    assert "3 of its questions are held out" in Path(one.link).read_text()


def test_a_draft_shows_them_before_it_is_made(ws: Workspace) -> None:
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=10, mix={}, categories={})
    shown = ws.author(dataclasses.replace(spec, held_out=0.3))
    assert [row["held_out"] for row in shown.preview()].count("yes") == 3
    assert shown.hash != ws.author(spec).hash
    assert {q.key for q in shown.questions} == {q.key for q in ws.author(spec).questions}
    assert "held_out" not in ws.author(spec).preview()[0]


@pytest.mark.parametrize("share", [1.0, -0.1, 0.01, 0.99, float("nan")])
def test_none_or_all_of_them_cannot_be_held_out(ws: Workspace, share: float) -> None:
    with pytest.raises(ConfigError, match=r"holds out (none|all) of 10 questions"):
        marked(ws, share)
    assert ws.benchmarks().is_empty()


def test_an_edited_question_stays_held_out(ws: Workspace) -> None:
    """Its key is another; its mark is its own."""
    bench = marked(ws)
    number = next(n for n, q in enumerate(bench.questions, 1) if q.held_out)
    old = bench.questions[number - 1].key
    edited = bench.edit(number, prompt="What is the red planet, in other words?")
    assert edited.id != bench.id
    assert len(out_of(edited)) == 3
    assert old not in out_of(edited)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["codabench", "inspect", "lm_eval", "hf"])
def test_marks_go_out_and_come_back(ws: Workspace, tmp_path: Path, form: str) -> None:
    bench = marked(ws)
    path = ws.export(bench, tmp_path / ("out.zip" if form == "codabench" else "out"), form)
    assert out_of(ws.import_bundle(path)) == out_of(bench)


def test_run_datasets_show_them(ws: Workspace) -> None:
    bench = marked(ws)
    run = ws.run(bench, "reference")
    rows = run.dataset("all")
    assert set(rows.filter("held_out")["key"]) == out_of(bench)
    assert run.pages().page(0, 10).rows["held_out"].sum() == 3


@pytest.mark.parametrize("mode", ["distill", "failures"])
def test_a_plan_leaves_them_out_and_says_how_many(
    ws: Workspace, base_folder: Path, mode: str
) -> None:
    bench = marked(ws)
    run = ws.run(bench, "reference" if mode == "distill" else "mock")
    record = ws.plan("from_run", run=run, mode=mode, base_model=str(base_folder))
    plan, rows = record.plan, record.rows()
    kept = {q.key for q in bench.questions} - out_of(bench)
    assert {row["key"] for row in rows} <= kept
    assert set(plan.seen) == kept
    assert plan.dataset["questions_held_out"] == 3
    assert any("3 of the 10 questions of benchmark 1 are held out" in w for w in plan.warnings)
    assert not any("sibling_of" in w for w in plan.warnings)


def test_nothing_right_but_what_is_held_out_is_nothing_to_learn_from(
    ws: Workspace, base_folder: Path
) -> None:
    bench = marked(ws, 0.9)
    run = ws.run(bench, "mock")
    with pytest.raises(DataError, match="no right answers outside their 9 held-out questions"):
        ws.plan("from_run", run=run, mode="distill", base_model=str(base_folder))


def test_rows_of_a_file_that_hold_them_are_named(ws: Workspace, base_folder: Path) -> None:
    bench = marked(ws)
    path = base_folder.parent / "leaked.jsonl"
    rows = [
        {"prompt": f"{q.prompt} {' or '.join(q.choices)}?", "completion": "Answer: x"}
        for q in bench.questions
        if q.held_out
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = ws.plan("lora", dataset=path, base_model=str(base_folder)).plan
    assert plan.dataset["overlap"][0]["held_out"] == 3
    assert any("3 of them held out" in w for w in plan.warnings)


def test_a_comparison_shows_the_score_on_them_by_itself(ws: Workspace, base_folder: Path) -> None:
    bench = marked(ws)
    reference, run = ws.run(bench, "reference"), ws.run(bench, "mock")
    plan = ws.plan("from_run", run=reference, mode="distill", base_model=str(base_folder)).plan
    ws.store.change(ModelRow, run.model.id, seen=list(plan.seen))  # as if it were the trained one
    found = ws.compare([reference, run])
    counts = {(row.part, row.run_id): row.asked for row in found.parts}
    assert counts[("held_out", run.id)] == 3
    assert counts[("same", run.id)] == 7
    assert not any("sibling" in w for w in found.warnings)


def test_on_the_way_only_they_are_asked(ws: Workspace, file: Path, base_folder: Path) -> None:
    bench = marked(ws)
    stop = config.StopConfig(benchmark_id=bench.id, every=3, patience=1, limit=2)
    plan = ws.plan("lora", dataset=file, base_model=str(base_folder), stop=stop).plan
    assert plan.dataset["held_out"]["questions"] == 2
    assert set(plan.seen) < out_of(bench)  # the third one stays unseen
    assert len(plan.seen) == 2


def test_a_sibling_holds_out_as_many(ws: Workspace) -> None:
    assert len(out_of(ws.create(ws.sibling(marked(ws))))) == 3


@pytest.mark.slow
@pytest.mark.torch
def test_a_job_asks_it_and_stops_when_nothing_is_learned(
    ws: Workspace, file: Path, tiny_model: Path
) -> None:
    """Two steps of so small a training change no answer: the second evaluation without a gain ends it."""
    bench = draft(ws).publish()
    plan = ws.plan(
        "lora",
        dataset=file,
        base_model=str(tiny_model),
        stop=config.StopConfig(benchmark_id=bench.id, every=1, patience=1),
        max_steps=6,
        learning_rate=1e-6,
        batch_size=2,
    )
    job = ended(ws, plan).wait()
    scores = [e["score"] for e in job.row.result["evaluations"]]
    assert job.row.result["steps"] == len(scores) == 2
    assert scores[0] == scores[1] is not None
    assert job.row.result["best_step"] == 1
    rows = job.metrics()
    assert [row["held_out_score"] for row in rows] == scores
    assert all("loss" in row for row in rows)
    assert any("of 6 held-out" in line for line in job.logs(20))
    model = job.model
    assert model is not None
    ws.run(bench, model)  # the adapter landed and runs
