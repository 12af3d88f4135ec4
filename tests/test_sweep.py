"""Sweeps as typed: twelve jobs in one workspace, one of which fails; done again; shown; by other launchers."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config
from benchgen.compare.markup import to_markdown
from benchgen.compare.sweep import JobView, SweepView, sweep_page, varied
from benchgen.errors import ConfigError, NotFound, StateError
from benchgen.records.trail import Trail
from benchgen.store import read_jsonl
from benchgen.sweeps.folder import (
    SweepFolder,
    as_typed,
    check_name,
    job_id,
    settings_of,
    sweep_name,
)
from benchgen.verbs.line import parse
from benchgen.verbs.sweep import check_launcher
from benchgen.workspace import Workspace
from tests.pages import run_of

SMALL = ["benchmark.count=12", "benchmark.mix={}", "benchmark.categories={}"]
GRID = ["run", "benchmark_id=1", "model=mock,reference", "limit=6,12", "seed=0,1,2", "-m"]
LATER = "benchmark.name=later"


def said(
    workspace: Path, argv: list[str], capfd: pytest.CaptureFixture[str]
) -> tuple[int, dict[str, Any]]:
    """(exit code, the JSON of the last line) of a command line, whichever process wrote before it."""
    capfd.readouterr()
    code = cli.run([argv[0], f"workspace={workspace}", "output=json", *argv[1:]])
    told: dict[str, Any] = json.loads(capfd.readouterr().out.splitlines()[-1])
    return code, told


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("made") / "ws"
    assert cli.run(["create", f"workspace={folder}", *SMALL]) == 0
    assert cli.run(["publish", f"workspace={folder}", "benchmark_id=1"]) == 0
    return folder


@pytest.fixture
def ws(published: Path, tmp_path: Path) -> Path:
    """A workspace with one published benchmark."""
    shutil.copytree(published, tmp_path / "ws")
    return tmp_path / "ws"


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_twelve_jobs_with_one_that_fails(ws: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Two models, two lengths, three seeds: one job cannot write its run, and the others do not mind."""
    (ws / "runs").mkdir(exist_ok=True)
    blocked = ws / "runs" / "5"
    blocked.write_text("in the way")  # of the fifth run
    code, told = said(ws, [*GRID, "sweep=grid"], capfd)
    assert (code, told["sweep"], told["jobs"], told["done"], told["failed"]) == (
        1, "grid", 12, 11, 1,
    )  # fmt: skip
    failed = next(job for job in told["results"] if job["state"] == "failed")
    assert failed["job"] == 4
    assert "Traceback" in Path(failed["traceback"]).read_text()
    assert "\n" not in failed["error"]
    page = (ws / "reports" / "sweep-grid" / "report.md").read_text()
    assert "11 of 12 jobs" in page
    assert page.count("| done |") == 11

    blocked.unlink()
    code, again = said(ws, [*GRID, "sweep=grid"], capfd)
    assert (code, again["ran"], again["done"], again["failed"]) == (0, [4], 12, 0)
    assert not (ws / "sweeps" / "grid" / "4" / "traceback.txt").exists()
    assert Workspace(ws).runs().height == 12  # the fifth run went on: none was begun beside it
    code, third = said(ws, ["run", "-m", "sweep=grid"], capfd)
    assert (code, third["ran"], third["done"]) == (0, [], 12)


@pytest.mark.slow
def test_each_job_keeps_what_it_was_run_with(ws: Path, capfd: pytest.CaptureFixture[str]) -> None:
    line = ["run", "benchmark_id=1", "model=mock", "seed=3,4", "-m"]
    code, told = said(ws, line, capfd)
    assert code == 0
    folder = Path(told["folder"]) / "1"
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["overrides"] == ["benchmark_id=1", "model=mock", "seed=4"]
    assert manifest["command"] == "benchgen run benchmark_id=1 model=mock seed=4"
    assert manifest["config"]["seed"] == 4
    assert manifest["versions"]["benchgen"]
    assert {"commit", "python", "platform", "device", "seconds"} <= set(manifest)
    assert (folder / ".hydra" / "config.yaml").is_file()
    status = json.loads((folder / "status.json").read_text())
    assert (status["state"], status["result"]["run"]) == ("done", 2)
    # the same combinations in another order are the same sweep
    code, again = said(ws, ["run", "seed=4,3", "model=mock", "-m", "benchmark_id=1"], capfd)
    assert (code, again["sweep"], again["ran"]) == (0, told["sweep"], [])


@pytest.mark.slow
def test_the_report_is_of_stored_files_and_the_same_twice(
    ws: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    line = ["run", "benchmark_id=1", "model=reference,mock", "seed=0,1", "-m", "sweep=two"]
    assert said(ws, line, capfd)[0] == 0
    folder = ws / "reports" / "sweep-two"
    before = files(folder)
    code, told = said(ws, ["report", "sweep=two"], capfd)
    assert (code, told["report"]) == (0, str(folder / "report.html"))
    assert files(folder) == before
    page = before["report.md"].decode()
    assert "| model=mock | 2 | 12 |" in page  # the baseline: the reference is a ceiling
    assert "ceiling, not an achievement" in page
    assert "benchgen run benchmark\\_id" not in page  # in a fence, as it can be copied
    assert "benchgen run benchmark_id=1 model=reference,mock seed=0,1 -m sweep=two" in page
    assert {"plots/scores-1.svg", "plots/scores-1.csv", "plots/effects-1.csv"} <= set(before)
    assert str(ws).encode() not in before["report.html"]


@pytest.mark.slow
def test_the_tables_that_python_has(ws: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A row a job, a combination and a difference; what the report says is what they say."""
    line = ["run", "benchmark_id=1,99", "model=reference,mock", "seed=0,1", "-m", "sweep=four"]
    assert said(ws, line, capfd)[0] == 1
    sweep = Workspace(ws).sweep("four")
    table = sweep.table()
    assert table.columns == [
        "job", "benchmark_id", "model", "seed", "state", "seconds", "run", "score", "error", "traceback",
    ]  # fmt: skip
    assert table["state"].to_list() == ["done"] * 4 + ["failed"] * 4
    assert table["score"].to_list()[:2] == [1.0, 1.0]
    assert "no benchmark 99" in table["error"][7]
    scores = sweep.scores()
    assert scores["combination"].to_list() == ["model=mock", "model=reference"]
    assert scores["seeds"].to_list() == [2, 2]
    assert scores["runs"].to_list() == [[3, 4], [1, 2]]
    (row,) = sweep.differences().to_dicts()
    assert (row["combination"], row["minus"]) == ("model=reference", "model=mock")
    assert row["verdict"] == "ceiling, not an achievement"
    assert row["difference"] == pytest.approx(1 - scores["score"][0])
    assert sweep.report() == ws / "reports" / "sweep-four" / "report.html"
    assert "model=mock" in sweep._repr_html_()
    with pytest.raises(NotFound, match="four"):
        Workspace(ws).sweep("five")


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
def test_launchers_that_start_processes(
    launcher: str, ws: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """Jobs in other processes report as those in this one do, the failed one too."""
    line = ["run", "benchmark_id=1,99", "model=mock", f"launcher={launcher}", "-m", "sweep=far"]
    code, told = said(ws, line, capfd)
    assert (code, told["done"], told["failed"]) == (1, 1, 1)
    assert "no benchmark 99" in told["results"][1]["error"]
    assert "NotFound" in Path(told["results"][1]["traceback"]).read_text()
    assert told["results"][0]["result"]["run"] == 1


@pytest.mark.slow
def test_what_cannot_be_launched_is_one_line_and_leaves_nothing(
    ws: Path, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = ["run", "benchmark_id=1", "model=mock", "seed=0,1", "-m"]
    monkeypatch.setenv("PATH", str(tmp_path))  # with a cluster's program, or without
    for extra, says in (
        (["launcher=ray", "launcher.package=no-such-plugin"], "pip install no-such-plugin"),
        (["launcher=submitit_slurm"], "launcher=submitit_local"),
        (["launcher=joblib", "launcher.leaves_host=yes"], "database=postgresql://"),
        (["launcher=joblib", "launcher.settings.n_jbos=2"], "n_jbos"),
        (["launcher=basic,joblib"], "one launcher"),
        (["sweep=../out"], "letters"),
        (["hydra/launcher=joblib"], "launcher=NAME"),
        (["recipe=lora,from_run"], "does not read recipe"),
    ):
        code, told = said(ws, [*line, *extra], capfd)
        assert code == 2, extra
        assert says in told["error"]["message"], told
    assert not list((ws / "sweeps").glob("*/0"))
    code, told = said(ws, ["report", "sweep=nope"], capfd)
    assert (code, told["error"]["got"]) == (2, "nope")
    code, told = said(ws, ["run", "sweep=x", "benchmark_id=1", "model=mock"], capfd)
    assert (code, told["error"]["next"]) == (2, "with -m")


def test_a_cluster_writes_postgresql_and_never_sqlite(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sbatch = tmp_path / "sbatch"
    sbatch.write_text("#!/bin/sh\n")
    sbatch.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    line = ["verb=run", "launcher=submitit_slurm", f"workspace={tmp_path / 'ws'}"]
    with pytest.raises(ConfigError, match="SQLite"):
        check_launcher(config.load(*line))
    check_launcher(config.load(*line, "database='postgresql://ada@db.example/benchgen'"))
    assert not (tmp_path / "ws").exists()


def test_settings_of_a_launcher_lie_as_deep_as_it_has_them() -> None:
    told = [
        "launcher.settings.ray.init.address=10.0.0.1:6379",
        "launcher.settings.ray.remote={num_gpus: 1}",
    ]
    _, overrides, _ = parse(["run", "-m", "launcher=ray", *told])
    found = config.load("verb=run", *overrides).launcher.settings["ray"]
    assert found["init"]["address"] == "10.0.0.1:6379"
    assert found["init"]["log_to_driver"] is False
    assert found["remote"] == {"num_gpus": 1}


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # submitit waits for none
def test_a_job_whose_process_is_lost_has_failed(
    ws: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left running: the launcher's own words stand in the job's traceback."""
    line = ["run", "benchmark_id=1", "model=mock", "launcher=submitit_local", "-m", "sweep=lost"]
    monkeypatch.setenv("PYTHONPATH", str(ws / "broken"))
    (ws / "broken").mkdir()
    (ws / "broken" / "sitecustomize.py").write_text("import os; os._exit(3)\n")
    code, told = said(ws, [*line, "seed=0,1"], capfd)
    assert (code, told["failed"], told["jobs"]) == (1, 2, 2)
    assert told["results"][1]["error"]
    assert "Traceback" in Path(told["results"][0]["traceback"]).read_text()


def test_a_sweep_is_found_by_its_combinations_and_locked_while_it_runs(tmp_path: Path) -> None:
    lines = [["model=a", "seed=0"], ["model=a", "seed=1"]]
    turned = [line[::-1] for line in reversed(lines)]
    assert sweep_name("run", lines) == sweep_name("run", turned)
    assert sweep_name("run", lines) != sweep_name("run", lines[:1])
    assert job_id(lines[0]) != job_id(lines[1])
    folder = SweepFolder.of(tmp_path, "mine")
    assert [job.job for job in folder.add("run", lines, "one")] == [0, 1]
    assert [job.job for job in folder.add("run", [["model=b"], *turned], "two")] == [0, 1, 2]
    assert [job.state for job in folder.jobs] == ["waiting"] * 3
    with pytest.raises(StateError, match="one of run"):
        folder.add("plan", lines, "three")
    with folder.lock(), pytest.raises(StateError, match="another process"), folder.lock():
        pass
    with pytest.raises(NotFound, match="mine"):
        SweepFolder.found(tmp_path, "other")
    for bad in ("", "a/b", ".hidden", "x" * 81, "a b"):
        with pytest.raises(ConfigError):
            check_name(bad)


def test_seeds_of_one_combination_are_averaged_question_by_question(tmp_path: Path) -> None:
    """Three seeds of 40 questions are 40 questions; of a loop each run has a part of its own."""

    def job(number: int, model: str, seed: int, roles: list[str]) -> JobView:
        run = replace(run_of(40), run_id=number, model=model, settings={"seed": seed})
        if model == "b":  # right wherever it was measured, except for one question a seed
            told = [
                replace(t, correct=None if t.correct is None else place != seed)
                for place, t in enumerate(run.traces)
            ]
            run = replace(run, traces=tuple(told))
        settings = {"model": model, "seed": str(seed)}
        return JobView(number, settings, "done", 1.0, runs=dict.fromkeys(roles, run))

    roles = ["base", "trained"]
    jobs = [job(3 * m + s, "ab"[m], s, roles) for m in range(2) for s in range(3)]
    lost = JobView(
        6, {"model": "<b>", "seed": "0"}, "failed", None, "it | broke", "/x/traceback.txt"
    )
    page = sweep_page(SweepView("s", "loop", (*jobs, lost), ("benchgen loop",), {}), tmp_path)
    shown = to_markdown(page)
    assert [part.title for part in page.sections] == [
        "Jobs",
        "base: solar",
        "trained: solar",
        "Repeat it",
    ]
    assert "| model=a | 3 | 32 | 75.0 % |" in shown
    assert "| model=b | 3 | 32 | 96.9 % |" in shown  # 31 of 32 in each seed, but not the same 31
    assert "| model=b | improved | 32 | +21.9 |" in shown
    assert "3 seeds |" in shown
    assert "<b>" not in shown
    assert "1 of 7 jobs are not done (6)" in shown


def test_settings_are_told_as_a_person_gave_them() -> None:
    told = settings_of(["model=catalogue", "model.name='my-tutor'", "+seed=3"])
    assert told == {"model": "my-tutor", "seed": "3"}
    given = ["++replace.benchmark__mix={easy: 2}", "given=[seed]"]
    assert as_typed(given) == ["benchmark.mix={easy: 2}"]
    jobs = [JobView(n, {"model": "a", "seed": str(n)}, "done", 1.0) for n in range(2)]
    assert varied(jobs) == ["seed"]


def test_a_trail_gives_each_record_once_and_forgets_what_failed_twice(tmp_path: Path) -> None:
    path = tmp_path / "0" / "made.jsonl"
    first = Trail(path)
    for id, asked in enumerate((["a"], ["b"], ["a"]), 1):
        assert first.earlier("runs", asked, {1, 2, 3}.__contains__) is None
        first.note("runs", asked, id)
    with path.open("a") as file:
        file.write('{"table": "runs", "as')  # a killed writer's
    first.give_up()  # nothing was gone on with: all is kept for the next try
    second = Trail(path)
    found = [
        second.earlier("runs", asked, {1, 2, 3}.__contains__) for asked in (["a"], ["a"], ["a"])
    ]
    assert found == [1, 3, None]
    assert second.earlier("plans", ["b"], {1, 2, 3}.__contains__) is None
    assert second.earlier("runs", ["b"], lambda id: False) is None  # deleted meanwhile
    assert second.earlier("runs", ["b"], {1, 2, 3}.__contains__) == 2
    assert second.took_up("runs", 2)
    assert not second.took_up("plans", 2)
    second.give_up()
    third = Trail(path)
    assert third.earlier("runs", ["b"], {1, 2, 3}.__contains__) is None
    assert third.earlier("runs", ["a"], {1, 2, 3}.__contains__) == 1
    third.note("runs", ["b"], 4)
    assert [line["id"] for line in read_jsonl(path)] == [1, 3, 4]
