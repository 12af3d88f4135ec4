"""The facade on a real workspace; the reference model stands in for one with weights, so no torch."""

from __future__ import annotations

import dataclasses
import json
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from benchgen import config, jobs
from benchgen.errors import ConfigError, InputError, NotFound, StateError, StoreError
from benchgen.models import catalogue
from benchgen.records import Benchmark, Run
from benchgen.store import JobRow, ModelRow, RunRow, write_jsonl
from benchgen.types import Question, sha256
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow


def small(name: str = "solar_system_basics", count: int = 10) -> config.BenchmarkConfig:
    """A config of conf/benchmark/ cut to a few questions."""
    spec = config.load_benchmark(name)
    return dataclasses.replace(spec, count=count, mix={}, categories={}, exclude=[])


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a published benchmark 1 and the reference's run 1, made once and copied."""
    ws = Workspace(tmp_path_factory.mktemp("made") / "ws", user="ada")
    ws.run(ws.create(ws.author(small())).publish(), "reference")
    return ws.path


@pytest.fixture
def run(ws: Workspace, made: Path) -> Run:
    shutil.copytree(made, ws.path)
    return ws.get_run(1)


@pytest.fixture
def bench(ws: Workspace, run: Run) -> Benchmark:
    return ws.benchmark(1)


@pytest.fixture
def base(base_folder: Path) -> str:
    """A base model's name that needs no torch to plan with: a folder with config and tokenizer."""
    return str(base_folder)


def test_nothing_is_written_before_the_first_record(ws: Workspace) -> None:
    assert ws.benchmarks().is_empty()
    assert ws.runs().is_empty()
    with pytest.raises(NotFound):
        ws.benchmark(1)
    assert not ws.path.exists()


def test_a_new_benchmark_is_a_draft_with_its_program_frozen(ws: Workspace) -> None:
    bench = ws.create(ws.author(small()))
    assert bench.row.state == "draft"
    assert bench.row.owner == "ada"
    assert len(bench.questions) == 10
    assert (bench.folder / "program" / "score.py").is_file()
    assert Path(bench.link).read_text().startswith("<!doctype html>")


def test_same_seed_gives_the_same_questions(ws: Workspace) -> None:
    first, second = (ws.create(ws.author(small())) for _ in range(2))
    assert first.id != second.id
    assert first.row.questions_sha256 == second.row.questions_sha256


def test_excluded_benchmarks_share_no_question() -> None:
    ws = Workspace("never-made")
    keys = [
        {q.key for q in ws.author(name).questions}
        for name in ("solar_system_basics", "solar_system_sibling", "solar_system_practice")
    ]
    assert sum(map(len, keys)) == len(set().union(*keys))


def test_a_sibling_shares_no_question_with_any_benchmark_here(ws: Workspace) -> None:
    first = ws.create(ws.author(small()))
    second = ws.create(ws.sibling(first))
    third = ws.create(ws.sibling(first))
    keys = [{q.key for q in b.questions} for b in (first, second, third)]
    assert [len(k) for k in keys] == [10, 10, 10]
    assert len(set().union(*keys)) == 30
    assert second.evaluation == first.evaluation
    assert second.row.name != third.row.name


def test_a_draft_cannot_be_run(ws: Workspace) -> None:
    bench = ws.create(ws.author(small()))
    with pytest.raises(StateError, match="publish benchmark_id=1"):
        ws.run(bench, "reference")
    assert ws.runs().is_empty()


def test_publishing_twice_is_refused(bench: Benchmark) -> None:
    with pytest.raises(StateError, match="published"):
        bench.publish()


def test_a_tampered_benchmark_is_not_used(ws: Workspace, bench: Benchmark) -> None:
    path = bench.folder / "questions.jsonl"
    path.write_text(path.read_text().replace('"prompt":"', '"prompt":"Not ', 1))
    with pytest.raises(StoreError, match="changed"):
        _ = ws.benchmark(bench.id).questions


def test_a_tampered_program_is_not_run(ws: Workspace, bench: Benchmark) -> None:
    program = bench.folder / "program" / "score.py"
    program.write_text(program.read_text() + "\nimport os\n")
    with pytest.raises(StateError, match="not run"):
        ws.run(bench, "reference")


def test_the_reference_is_a_perfect_run_with_its_interval(run: Run) -> None:
    assert (run.score, run.state) == (1.0, "finished")
    assert run.ci[0] < 1.0
    status = run.status()
    assert status["right"] == status["scored"] == status["asked"] == 10
    assert sum(c["asked"] for c in status["by_category"].values()) == 10
    assert status["by_status"] == {"ok": 10}


def test_run_datasets_split_the_scored_rows(run: Run) -> None:
    assert run.dataset("failures").is_empty()
    assert run.dataset("distill").height == run.dataset("all").height == 10
    assert run.dataset("all", rows=3).height == 3
    with pytest.raises(InputError, match="failures, all, distill"):
        run.dataset("wrong")


def test_limit_asks_the_first_questions_only(ws: Workspace, bench: Benchmark) -> None:
    run = ws.run(bench, "reference", limit=3)
    assert [t.key for t in run.traces()] == [q.key for q in bench.questions[:3]]
    with pytest.raises(InputError, match="limit"):
        ws.run(bench, "reference", limit=11)


def test_an_unfinished_run_has_no_score_and_no_dataset(ws: Workspace, run: Run) -> None:
    ws.store.change(RunRow, run.id, state="running")
    assert run.state == "interrupted"  # nobody works on it
    for look in (run.dataset, lambda: run.score, lambda: ws.compare([run, run])):
        with pytest.raises(StateError, match="resume run_id=1"):
            look()


def test_a_run_that_ends_while_it_is_looked_at_is_finished(
    ws: Workspace, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    ws.store.change(RunRow, run.id, state="running")

    def gone(folder: Path) -> bool:
        ws.store.change(RunRow, run.id, state="finished")
        return False

    monkeypatch.setattr("benchgen.jobs.alive", gone)
    assert run.state == "finished"


def test_an_interrupted_run_goes_on_where_it_stopped(ws: Workspace, run: Run) -> None:
    log = run.folder / "traces.jsonl"
    lines = log.read_text().splitlines(keepends=True)
    log.write_text("".join(lines[:4]) + lines[4][:30])
    ws.store.change(RunRow, run.id, state="running")
    assert ws.resume_run(run).score == 1.0
    assert log.read_text().splitlines(keepends=True)[:4] == lines[:4]
    assert len(log.read_text().splitlines()) == 10


def test_the_model_of_an_interrupted_run_must_be_the_same(ws: Workspace, run: Run) -> None:
    log = run.folder / "traces.jsonl"
    log.write_text(
        "".join(log.read_text().splitlines(keepends=True)[:-1])
    )  # one is still to be asked
    ws.store.change(RunRow, run.id, state="running", fingerprint="another")
    with pytest.raises(StateError, match="not the one"):
        ws.resume_run(run)


def test_an_unknown_model_writes_nothing(ws: Workspace, bench: Benchmark) -> None:
    with pytest.raises(NotFound, match="smollm2_135m"):
        ws.run(bench, "smollm2_135")
    assert ws.runs().height == 1


def test_a_plan_says_everything_and_starts_nothing(ws: Workspace, run: Run, base: str) -> None:
    plan = ws.plan("from_run", run=run, mode="distill", base_model=base, max_steps=50)
    told = plan.summary()
    assert told["job_type"] == "from-run"
    assert told["base_model"] == base
    assert told["dataset"]["rows"] == 10
    assert told["hyperparameters"]["max_steps"] == 50
    assert all(e["basis"] for e in told["estimates"].values())
    assert ws.jobs().is_empty()
    assert len(plan.rows()) == 10
    assert json.loads(json.dumps(told)) == told


def test_a_reference_cannot_be_guessed_as_the_base(ws: Workspace, run: Run) -> None:
    with pytest.raises(ConfigError, match="base_model="):
        ws.plan("from_run", run=run, mode="distill")
    with pytest.raises(ConfigError, match="no weights"):
        ws.plan("from_run", run=run, mode="distill", base_model="reference")
    assert ws.plans().is_empty()


def test_the_base_is_the_runs_own_model_where_that_can_be_trained(
    ws: Workspace, run: Run, base: str
) -> None:
    """As if the base had answered: its id is all that a plan needs."""
    row = catalogue.record(ws.store, catalogue.find(ws.store, base), "ada")
    ws.store.change(RunRow, run.id, model_id=row.id)
    plan = ws.plan("from_run", run=run.id, mode="distill").plan
    assert plan.base_model == base
    assert plan.dataset["runs"] == [run.id]


def test_a_display_name_of_a_base_is_resolved_visibly_or_not_at_all(
    ws: Workspace, run: Run, base: str
) -> None:
    """A training never guesses: one model that fits is named in the plan, two are asked about."""

    def add(name: str) -> None:
        spec = {"source": base, "revision": None}
        ws.store.add(ModelRow(name=name, kind="base", spec=spec, owner="ada"))

    add("org/Small-Star-1B")
    plan = ws.plan("from_run", run=run, mode="distill", base_model="small star 1b").plan
    assert plan.base_model == base
    assert plan.base["name"] == "org/Small-Star-1B"
    told = [w for w in plan.warnings if "base_model=small star 1b is taken as" in w]
    assert "org/Small-Star-1B" in told[0]
    exact = ws.plan("from_run", run=run, mode="distill", base_model="org/Small-Star-1B").plan
    assert not [w for w in exact.warnings if "is taken as" in w]
    add("other/Small-Star-1B")
    with pytest.raises(ConfigError, match="fits several models") as failed:
        ws.plan("from_run", run=run, mode="distill", base_model="small star 1b")
    assert set(failed.value.allowed) == {"org/Small-Star-1B", "other/Small-Star-1B"}
    with pytest.raises(NotFound, match="not in the catalogue"):
        ws.plan("from_run", run=run, mode="distill", base_model="Vega 9000")
    assert ws.plans().height == 2


def test_failures_is_what_is_trained_on_unless_told_otherwise(
    ws: Workspace, bench: Benchmark, base: str
) -> None:
    run = ws.run(bench, "reference")
    log = run.folder / "traces.jsonl"  # two answers scored wrong, as another model's could be
    lines = log.read_text().splitlines(keepends=True)
    log.write_text(
        "".join(lines[2:] + [x.replace('"correct":true', '"correct":false') for x in lines[:2]])
    )
    ws.store.change(RunRow, run.id, traces_sha256=sha256(log.read_bytes()))
    plan = ws.plan("from_run", run=run, base_model=base).plan
    assert (plan.dataset["mode"], plan.dataset["rows"]) == ("failures", 3)
    assert plan.dataset["replayed"] == 1  # 40 % of the rows are what it could do already
    assert len(plan.seen) == 10  # every question of the run, chosen or not


def test_a_run_without_failures_cannot_be_trained_on_them(
    ws: Workspace, run: Run, base: str
) -> None:
    with pytest.raises(InputError, match="no wrong answers"):
        ws.plan("from_run", run=run, base_model=base)
    assert ws.plans().is_empty()


def test_a_plan_is_printed_in_full(ws: Workspace, run: Run, base: str) -> None:
    plan = ws.plan("from_run", run=run, mode="distill", base_model=base, max_steps=2)
    shown = str(plan).splitlines()
    assert shown[:2] == [f"plan {plan.id} (pending)", f"hash: {plan.hash}"]
    assert "max_steps: 2 " in str(plan) or "max_steps: 2\n" in str(plan)
    assert len(shown) == plan.table().height + 1


def test_the_worked_answers_improve_over_nothing_where_a_comparison_is_printed(
    ws: Workspace, bench: Benchmark, run: Run
) -> None:
    said = str(ws.compare([run, ws.run(bench, "mock")]))
    assert "a ceiling, and nothing that a model achieved" in said
    assert "improved" not in said
    assert "10 all questions" not in said


def test_anything_but_yes_cancels_the_plan(ws: Workspace, run: Run, base: str) -> None:
    plan = ws.plan("from_run", run=run, mode="distill", base_model=base)
    with pytest.raises(StateError, match="cancelled"):
        ws.confirm(plan, "sure")
    with pytest.raises(StateError, match="already cancelled"):
        ws.confirm(plan, "yes")
    assert ws.jobs().is_empty()
    assert not (ws.path / "jobs").exists()


def test_two_plans_do_not_give_one_name_twice(ws: Workspace, run: Run, base: str) -> None:
    def make(**more: Any) -> str:
        plan = ws.plan("from_run", run=run, mode="distill", base_model=base, **more)
        return plan.plan.name

    assert make() != make()
    assert make(name="mine") == "mine"
    with pytest.raises(ConfigError, match="there already"):
        make(name="mine")


def test_comparing_the_same_run_with_itself_shows_no_difference(
    ws: Workspace, bench: Benchmark, run: Run
) -> None:
    other = ws.run(bench, "reference")
    pair = ws.compare([run, other]).pairs[0].result
    assert (pair.delta, pair.wins, pair.losses, pair.n) == (0.0, 0, 0, 10)


def test_a_report_built_twice_has_the_same_bytes(ws: Workspace, bench: Benchmark, run: Run) -> None:
    other = ws.run(bench, "reference")
    page = ws.report([run, other])
    first = {p.name: p.read_bytes() for p in page.parent.rglob("*") if p.is_file()}
    assert ws.report([run, other]) == page
    assert first == {p.name: p.read_bytes() for p in page.parent.rglob("*") if p.is_file()}


def test_a_report_repeats_a_benchmark_of_a_file_from_that_file(tmp_path: Path) -> None:
    """Its name is no option of conf/benchmark/: `create benchmark=NAME` would be refused."""
    rows = "".join(f"Which is item {i}?;I{i};A{i};B{i};C{i};A\n" for i in range(4))
    file = tmp_path / "my questions.csv"
    file.write_text(f"Question;A;B;C;D;Answer\n{rows}", encoding="utf-8")
    ws = Workspace(tmp_path / "ws")
    bench = ws.create(ws.author(file)).publish()
    page = ws.report([ws.run(bench, "mock"), ws.run(bench, "reference")])
    told = page.with_name("report.md").read_text(encoding="utf-8")
    line = next(line for line in told.splitlines() if line.startswith("benchgen create"))
    assert shlex.split(line)[2:] == [
        "author=file",
        f"author.path={file}",
        f"name={bench.row.name}",
    ]


def test_a_finished_run_whose_traces_changed_is_not_read(ws: Workspace, run: Run) -> None:
    log = run.folder / "traces.jsonl"
    log.write_text(log.read_text().replace('"correct":true', '"correct":false', 3))
    with pytest.raises(StoreError, match="changed since it finished"):
        run.dataset("failures")
    log.unlink()
    with pytest.raises(StoreError, match="run 1"):
        ws.report([run, ws.run(1, "reference")])


def test_a_plan_whose_rows_changed_is_not_started(ws: Workspace, run: Run, base: str) -> None:
    plan = ws.plan("from_run", run=run, mode="distill", base_model=base)
    (plan.folder / "rows.jsonl").unlink()
    with pytest.raises(StateError, match="changed since"):
        ws.confirm(plan, "yes")
    assert ws.jobs().is_empty()
    assert plan.row.state == "pending"


def test_lists_have_one_row_a_record(ws: Workspace, run: Run) -> None:
    assert ws.benchmarks()["state"].to_list() == ["published"]
    assert ws.runs().select("model", "right", "asked").rows() == [("reference", 10, 10)]
    assert {"reference", "smollm2_135m"} <= set(ws.models()["name"])
    assert ws.plans().is_empty()


def test_a_running_job_tells_the_time_left_by_its_own_steps(
    ws: Workspace, run: Run, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = ws.plan("from_run", run=run, mode="distill", base_model=base, max_steps=20)
    monkeypatch.setattr("benchgen.jobs.spawn", lambda *a: 0)
    job = ws.confirm(plan, "yes")
    ws.store.change(JobRow, job.id, state="running")
    jobs.beat(job.folder)
    rows = [{"step": 1, "loss": 1.0, "seconds": 50.0}]
    write_jsonl(job.folder / "metrics.jsonl", rows)
    assert "seconds_left" not in job.status()
    rows += [{"step": s, "loss": 1.0, "seconds": 3.0 * s} for s in (5, 6, 8)]  # resumed at 4
    write_jsonl(job.folder / "metrics.jsonl", rows)
    assert job.status()["seconds_left"] == 36


def test_a_benchmarks_page_links_the_runs_that_have_a_page(ws: Workspace, run: Run) -> None:
    page = Path(run.benchmark.link)
    assert 'href="../../runs/1/index.html"' in page.read_text()
    assert (page.parent / "../../runs/1/index.html").is_file()
    Path(run.link).unlink()
    run.benchmark.write_page()
    assert "runs/1" not in page.read_text()


# ---------------------------------------------------------------------------------- a plan's advice


def test_a_plan_says_what_to_know_before_it_is_confirmed(
    ws: Workspace, run: Run, base: str
) -> None:
    warnings = "\n".join(
        ws.plan("from_run", run=run, mode="distill", base_model=base).plan.warnings
    )
    assert "has no run on benchmark 1" in warnings
    assert "create sibling_of=1" in warnings
    assert "million parameters" in warnings
    ws.create(
        ws.author(
            dataclasses.replace(small("solar_system_sibling"), sibling_of="solar_system_basics")
        )
    )
    warnings = "\n".join(
        ws.plan("from_run", run=run, mode="distill", base_model=base).plan.warnings
    )
    assert "sibling" not in warnings


def test_a_base_at_guess_level_is_told(ws: Workspace, run: Run, base: str) -> None:
    model = catalogue.record(ws.store, catalogue.find(ws.store, base), "ada")
    row = ws.store.get(RunRow, run.id)
    for score, told in ((0.2, True), (0.9, False)):
        summary = {**row.summary, "score": score, "ci": [score - 0.1, score + 0.1]}
        ws.store.add(
            RunRow(
                benchmark_id=1, model_id=model.id, state="finished", summary=summary, owner="ada"
            )
        )
        plan = ws.plan("from_run", run=run, mode="distill", base_model=base).plan
        assert any("guess level" in line for line in plan.warnings) == told


def test_overlap_with_every_benchmark_here_is_named(
    ws: Workspace, run: Run, base: str, tmp_path: Path
) -> None:
    questions = ws.benchmark(1).questions
    file = tmp_path / "train.jsonl"
    rows = [
        {"prompt": f"Tell me: {q.prompt} {' or '.join(q.choices)}?", "completion": "Answer: x"}
        for q in questions[:4]
    ]
    rows += [{"prompt": f"How much is {i} plus {i}?", "completion": str(2 * i)} for i in range(8)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    plan = ws.plan("lora", dataset=file, base_model=base).plan
    assert plan.dataset["overlap"] == [
        {"benchmark": 1, "name": "solar_system_basics", "questions": 4, "of": 10}
    ]
    assert any("4 of the 10 questions of benchmark 1" in line for line in plan.warnings)
    file.write_text("".join(json.dumps(row) + "\n" for row in rows[4:]))
    assert ws.plan("lora", dataset=file, base_model=base).plan.dataset["overlap"] == []


def test_questions_in_another_language_are_told(
    ws: Workspace, run: Run, base: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def german(self: Run) -> list[Question]:
        return [dataclasses.replace(q, language="de") for q in self.benchmark.questions]

    monkeypatch.setattr(Run, "questions", property(german))
    plan = ws.plan("from_run", run=run, mode="distill", base_model=base).plan
    assert any("the questions are in de" in line for line in plan.warnings)
