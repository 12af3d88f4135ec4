"""Finished work looked at again: whole it verifies, changed anywhere the change is found and named; done again it is compared."""

from __future__ import annotations

import dataclasses
import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config, rerun
from benchgen.errors import ConfigError, InputError, NotFound, StateError
from benchgen.loop import LoopResult, Settings, Watcher, run_loop
from benchgen.store import ModelRow, PlanRow, RunRow, file_sha256
from benchgen.types import sha256
from benchgen.verifying import DIFFERS, MISSING, OK, UNRECORDED, Check, Experiment, Verification
from benchgen.workspace import Workspace
from tests.trained import finished, planned

pytestmark = pytest.mark.slow

NAME = "solar_system"
TRAINED = 5
"""The run of the trained model: the fifth that a loop makes."""
SETTINGS = Settings(config.load_recipe("from_run", max_steps=2, batch_size=2), limit=3)


def found(told: Verification, *states: str) -> set[tuple[str, str]]:
    """(record, what) of the checks in these states."""
    return {(check.record, check.what) for check in told.checks if check.state in states}


# ---- runs, without a model's weights -----------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A published benchmark of ten questions with a run of the reference, one of the mock, and their report."""
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=10, mix={}, categories={})
    ws = Workspace(tmp_path_factory.mktemp("made") / "ws", user="ada")
    bench = ws.create(ws.author(spec)).publish()
    ws.report([ws.run(bench, name) for name in ("reference", "mock")])
    return ws.path


@pytest.fixture
def small(made: Path, tmp_path: Path) -> Workspace:
    """That workspace in another folder: nothing in it is tied to the first one."""
    shutil.copytree(made, tmp_path / "moved")
    return Workspace(tmp_path / "moved", user="ada")


def test_an_untouched_run_and_an_untouched_report_verify(small: Workspace) -> None:
    told = small.verify(1)
    assert (told.ok, told.subject) == (True, "run 1")
    assert found(told, OK) == {
        *(("benchmark 1", what) for what in ("questions", "evaluation", "scoring program")),
        *(("run 1", what) for what in ("traces", "model fingerprint", "verdicts", "score and breakdown")),
    }  # fmt: skip
    told = small.verify([1, 2])
    assert told.ok
    assert told.counts[OK] == len(told.checks)
    assert {("report", "files as written"), ("report", "built again"), ("environment", "torch")} <= found(told, OK)  # fmt: skip
    assert told.table().columns == ["record", "what", "state", "recorded", "found", "why"]
    assert told.to_dict()["ok"] is True


def test_the_sums_are_what_sha256sum_reads(small: Workspace) -> None:
    folder = small.path / "reports" / "runs-1-2"
    lines = (folder / "SHA256SUMS").read_text().splitlines()
    assert {"report.html", "report.md"} <= {line[66:] for line in lines}
    assert all(file_sha256(folder / line[66:]) == line[:64] for line in lines)


def test_runs_that_have_no_report_are_looked_at_without_one(small: Workspace) -> None:
    told = small.verify([2, 1])
    assert told.ok
    assert found(told, UNRECORDED) == {("report", "files as written")}


def test_what_is_gone_is_missing(small: Workspace) -> None:
    (small.path / "runs" / "2" / "traces.jsonl").unlink()
    (small.path / "reports" / "runs-1-2" / "report.md").unlink()
    told = small.verify([1, 2])
    assert {("run 2", "traces"), ("report", "report.md")} <= found(told, MISSING)
    assert ("run 1", "traces") in found(told, OK)


def test_a_score_or_a_verdict_that_the_replies_do_not_give_is_found(small: Workspace) -> None:
    """Both in the database and in the log, with its hash made to fit: the figures are worked out again."""
    summary = dict(small.get_run(2).summary)
    summary["right"] += 1
    small.store.change(RunRow, 2, summary=summary)
    assert found(small.verify(2), DIFFERS) == {("run 2", "score and breakdown")}
    log = small.path / "runs" / "1" / "traces.jsonl"
    log.write_text(log.read_text().replace('"correct":true', '"correct":false', 1))
    small.store.change(RunRow, 1, traces_sha256=file_sha256(log))
    assert found(small.verify(1), DIFFERS) == {("run 1", "verdicts"), ("run 1", "score and breakdown")}  # fmt: skip


def test_a_trained_model_is_traced_to_its_job_and_plan(small: Workspace, base_folder: Path) -> None:
    """A run of an adapter rests on the job that made it; of a base whose files were changed it says so."""
    job = finished(small, planned(small, base_folder, name="mine"))
    assert job.model is not None
    settings = {**small.get_run(2).row.settings, "device": {"dtype": "float32"}}
    small.store.change(RunRow, 2, model_id=job.model.id, fingerprint="", settings=settings)
    told = small.verify(2)
    assert {("plan 1", what) for what in ("plan hash", "training rows", "base model")} <= found(told, OK)  # fmt: skip
    assert ("job 1", "adapter") in found(told, OK)
    assert ("run 2", "model fingerprint") in found(told, UNRECORDED)
    (base_folder / "config.json").write_text("{}")
    assert found(small.verify(2), DIFFERS) == {("plan 1", "base model")}


@pytest.mark.parametrize("what", [99, [1, 99]])
def test_runs_that_are_not_there_are_named(small: Workspace, what: Any) -> None:
    with pytest.raises(NotFound, match="99"):
        small.verify(what)


def test_a_run_that_has_not_ended_has_nothing_to_verify(small: Workspace) -> None:
    run = small.begin_run(1, "mock")
    with pytest.raises(StateError, match="run 3 is"):
        small.verify(run)


# ---- the command line --------------------------------------------------------------------------------


def said(
    workspace: Path, capsys: pytest.CaptureFixture[str], *argv: str
) -> tuple[int, dict[str, Any]]:
    """(exit code, the JSON of the last line) of verify."""
    capsys.readouterr()
    code = cli.run(["verify", f"workspace={workspace}", "output=json", *argv])
    told: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    return code, told


def test_exit_0_for_whole_and_1_for_changed(
    small: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    code, told = said(small.path, capsys, "runs=[1,2]")
    assert (code, told["ok"], told["counts"][DIFFERS]) == (0, True, 0)
    page = small.path / "reports" / "runs-1-2" / "report.md"
    page.write_text(page.read_text().replace("Runs 1, 2", "Runs 1, 2 and more"))
    code, told = said(small.path, capsys, "runs=1,2")
    assert (code, told["ok"]) == (1, False)
    assert [c["what"] for c in told["checks"] if c["state"] == DIFFERS] == [
        "files as written", "report.md", "built again",
    ]  # fmt: skip
    assert cli.run(["verify", f"workspace={small.path}", "runs=1,2"]) == 1
    shown = capsys.readouterr().out
    assert "report.md" in shown
    assert "3 differs" in shown


@pytest.mark.parametrize(
    ("argv", "wanted"),
    [
        ([], "experiment=…"),
        ([f"experiment={NAME}"], f"no finished experiment '{NAME}'"),
        (["experiment=no_such"], "no_such"),
        (["run_id=7"], "no run 7"),
        (["runs=[1,2]", "rerun=yes"], "only an experiment"),
    ],
)
def test_what_cannot_be_verified_is_one_line_and_exit_2(
    small: Workspace, capsys: pytest.CaptureFixture[str], argv: list[str], wanted: str
) -> None:
    code, told = said(small.path, capsys, *argv)
    assert code == 2
    assert wanted in told["error"]["message"]


# ---- an experiment -----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def looped(tmp_path_factory: pytest.TempPathFactory, tiny_model: Path) -> Path:
    """A workspace with one finished experiment of the tiny model, two steps long."""
    ws = Workspace(tmp_path_factory.mktemp("looped") / "ws", user="ada")
    names = "solar_system_basics", "solar_system_sibling", "solar_system_practice"
    path = config.LoopConfig(NAME, "Tiny", *names, student=str(tiny_model))
    assert isinstance(run_loop(ws, path, SETTINGS, "yes", Watcher()), LoopResult)
    return ws.path


@pytest.fixture
def ws(looped: Path, tmp_path: Path) -> Workspace:
    shutil.copytree(looped, tmp_path / "copy")
    return Workspace(tmp_path / "copy", user="ada")


@pytest.mark.torch
def test_an_untouched_experiment_verifies(
    ws: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ws.verify(NAME)
    assert told.ok, told.faults
    assert told.counts[OK] == len(told.checks)
    records = {check.record for check in told.checks}
    assert {"experiment", "plan 1", "job 1", "report", "environment"} <= records
    assert {f"benchmark {id}" for id in (1, 2, 3)} | {f"run {id}" for id in range(1, 7)} <= records
    code, shown = said(ws.path, capsys, f"experiment={NAME}")
    assert (code, shown["ok"], shown["workspace"]) == (0, True, "")


def edited(file: str, before: str, after: str) -> Callable[[Workspace], None]:
    def change(ws: Workspace) -> None:
        path = ws.path / file
        text = path.read_text()
        assert before in text
        path.write_text(text.replace(before, after, 1))

    return change


def flipped(file: str) -> Callable[[Workspace], None]:
    def change(ws: Workspace) -> None:
        path = ws.path / file
        data = path.read_bytes()
        path.write_bytes(data[:-1] + bytes([data[-1] ^ 1]))

    return change


def other_plan(ws: Workspace) -> None:
    plan = ws.store.get(PlanRow, 1).plan
    settings = {**plan["hyperparameters"], "learning_rate": 1.0}
    ws.store.change(PlanRow, 1, plan={**plan, "hyperparameters": settings})


REPORT = "reports/runs-1-2-3-4-5-6"
TAMPERINGS: dict[str, tuple[Callable[[Workspace], None], tuple[str, str]]] = {
    "a trace": (edited(f"runs/{TRAINED}/traces.jsonl", '"reply":"', '"reply":"x'), (f"run {TRAINED}", "traces")),
    "a trace learned from": (edited("runs/4/traces.jsonl", '"reply":"', '"reply":"x'), ("run 4", "traces")),
    "a question": (edited("benchmarks/1/questions.jsonl", '"prompt":"', '"prompt":"Not '), ("benchmark 1", "questions")),
    "an evaluation": (edited("benchmarks/2/evaluation.json", "48", "47"), ("benchmark 2", "evaluation")),
    "a scoring program": (edited("benchmarks/3/program/score.py", "import", "import  "), ("benchmark 3", "scoring program")),
    "the model": (lambda ws: ws.store.change(RunRow, 1, fingerprint="0" * 16), ("run 1", "model fingerprint")),
    "the plan": (other_plan, ("plan 1", "plan hash")),
    "a training row": (edited("plans/1/rows.jsonl", '"completion":"', '"completion":"x'), ("plan 1", "training rows")),
    "a loss": (edited("jobs/1/metrics.jsonl", '"loss":', '"loss":1'), ("job 1", "metrics")),
    "the adapter": (flipped("jobs/1/adapter/adapter_model.safetensors"), ("job 1", "adapter")),
    "the adapter's settings": (edited("jobs/1/adapter/adapter_config.json", '"lora_alpha": ', '"lora_alpha": 1'), (f"run {TRAINED}", "model fingerprint")),
    "the report": (edited(f"{REPORT}/report.html", "Tiny", "Huge"), ("report", "report.html")),
    "its title": (edited(f"{REPORT}/spec.json", "Tiny", "Huge"), ("report", "built again")),
    "the config": (edited(f"{REPORT}/experiment.json", '"max_steps": 2', '"max_steps": 3'), ("experiment", "config")),
    "the result": (edited(f"{REPORT}/experiment.json", '"wins": 0', '"wins": 3'), ("experiment", "difference, held_out")),
    "a version": (edited(f"{REPORT}/spec.json", '"peft": "', '"peft": "9'), ("environment", "peft")),
}  # fmt: skip


@pytest.mark.torch
@pytest.mark.parametrize("what", TAMPERINGS)
def test_what_was_changed_is_found_and_named(ws: Workspace, what: str) -> None:
    change, named = TAMPERINGS[what]
    change(ws)
    told = ws.verify(NAME)
    assert named in found(told, DIFFERS)
    assert not told.ok
    untouched = {("benchmark 1", "evaluation"), ("run 1", "traces"), ("experiment", "config")} - {named}  # fmt: skip
    assert untouched <= found(told, OK)


@pytest.mark.torch
def test_the_newest_of_a_name_is_meant_and_the_older_ones_are_told(ws: Workspace) -> None:
    done, older = Experiment.found(ws.place, NAME)
    assert (done.runs["trained"], older) == (TRAINED, 0)
    folder = ws.path / "reports" / "runs-0"
    folder.mkdir()
    first = {**done.to_dict(), "runs": [["base", 0]]}
    (folder / "experiment.json").write_text(json.dumps(first))
    assert Experiment.found(ws.place, NAME) == (done, 1)
    assert "1 older of that name" in ws.verify(NAME).notes[0]
    with pytest.raises(NotFound, match=NAME):
        ws.verify("another")


# ---- done again --------------------------------------------------------------------------------------


@pytest.mark.torch
def test_done_again_it_gives_the_same_and_says_so(
    ws: Workspace, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where a database on a server is set for new workspaces: it is no other one's."""
    monkeypatch.setenv("BENCHGEN_DATABASE", "postgresql://nobody@127.0.0.1:1/none")
    code, told = said(ws.path, capsys, f"experiment={NAME}", "rerun=yes")
    states = {(c["record"], c["what"]): (c["state"], c["found"]) for c in told["checks"]}
    assert code == 0, [c for c in told["checks"] if c["state"] != OK]
    assert states["again: trained", "answers"] == (OK, "3 of 3")
    assert states["again: trained_held_out", "question ids"] == (OK, "3 of 3")
    assert states["again: training", "losses"] == (OK, "2 of 2")
    assert states["again: report", "difference, held_out"][0] == OK
    assert told["workspace"] == str(ws.path / "reruns" / "1")
    assert (Path(told["workspace"]) / "benchgen.db").is_file()
    assert any("should be equal" in note for note in told["notes"])
    assert ws.runs().height == 6


@pytest.mark.torch
def test_a_reply_that_came_out_otherwise_is_counted_and_explained(
    ws: Workspace, looped: Path
) -> None:
    done, _ = Experiment.found(ws.place, NAME)
    log = ws.path / "runs" / str(TRAINED) / "traces.jsonl"
    log.write_text(log.read_text().replace('"reply":"', '"reply":"x', 1))
    ws.store.change(RunRow, TRAINED, traces_sha256=file_sha256(log))
    result = LoopResult(done.runs, done.same, done.held_out, {}, {}, "")
    checks = [*rerun.compared(Workspace(looped), done, ws, result)]
    apart = [check for check in checks if check.state != OK]
    assert [(c.record, c.what, c.found) for c in apart] == [("again: trained", "answers", "2 of 3")]
    assert "dtype" in apart[0].why


@pytest.mark.torch
@pytest.mark.parametrize("answer", [None, "no", "true"])
def test_only_yes_does_it_again(ws: Workspace, answer: str | None) -> None:
    with pytest.raises(ConfigError, match="yes"):
        rerun.rerun(ws, NAME, answer)
    assert not (ws.path / "reruns").exists()


@pytest.mark.torch
def test_a_model_made_here_cannot_be_used_elsewhere(ws: Workspace) -> None:
    """Nothing is begun, and the line says what to do."""
    path, settings = rerun.settings_of(Experiment.found(ws.place, NAME)[0])
    assert settings == SETTINGS
    made = ws.store.all(ModelRow, ModelRow.kind == "adapter")[0].name
    with pytest.raises(InputError, match="made in this workspace"):
        rerun.models(ws, dataclasses.replace(path, teacher=made), settings)


def test_what_differs_between_two_machines_is_said() -> None:
    then = {"torch": "2.13.0", "dtype": "bfloat16", "threads": 2}
    assert "should be equal" in rerun.notes(then, dict(then))[0]
    told = rerun.notes(then, {**then, "dtype": "float32", "threads": 8})
    assert "dtype: bfloat16 then, float32 now; threads: 2 then, 8 now" in told[0]
    assert "question ids" in told[1]


def test_a_check_is_plain_data() -> None:
    told = Verification("run 1", (Check("run 1", "traces", OK, sha256("a"), sha256("a")),))
    assert json.loads(json.dumps(told.to_dict()))["checks"][0]["state"] == OK
