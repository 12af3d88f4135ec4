"""What this user may do, refused in one line under every front end, and what stays allowed."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config
from benchgen.config import ModelConfig, PermissionsConfig
from benchgen.errors import NotAllowed
from benchgen.loop import Settings, Watcher, run_loop
from benchgen.records import Benchmark, Job, PlanRecord, Run
from benchgen.store import BenchmarkRow, JobRow, RunRow, WriteRow
from benchgen.workspace import Workspace
from tests.trained import finished, planned

pytestmark = pytest.mark.slow

SERVED = ModelConfig(name="served", kind="endpoint", base_url="http://127.0.0.1:9/v1")


@pytest.fixture
def free(workspace_path: Path) -> Workspace:
    """The workspace of one who may do everything."""
    return Workspace(workspace_path, user="ada")


@pytest.fixture
def ws(free: Workspace) -> Workspace:
    """The same of one who may look, plan and ask models of this machine."""
    permissions = config.load("permissions=readonly").permissions
    return Workspace(free.path, user="bob", permissions=permissions)


@pytest.fixture
def bench(free: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    return free.create(free.author(dataclasses.replace(spec, count=3, mix={}, categories={})))


def refused(act: Callable[[], Any], action: str) -> None:
    """It is behaviour 123's line: this turn, again, and then this deployment."""
    with pytest.raises(NotAllowed, match="this turn has no permission to") as failed:
        act()
    message = failed.value.message
    assert f"permissions.{action}=false for bob" in message
    assert "send it again" in message
    assert "this deployment does not allow it" in message
    assert "\n" not in message
    assert failed.value.exit_code == 2


def test_everything_is_allowed_unless_conf_says_otherwise(free: Workspace, ws: Workspace) -> None:
    for action in ("train", "publish", "endpoint", "push"):
        free.allow(action)
        refused(partial(ws.allow, action), action)


def test_each_permission_stands_alone(workspace_path: Path) -> None:
    given = PermissionsConfig(train=False)
    ws = Workspace(workspace_path, user="bob", permissions=given)
    refused(lambda: ws.allow("train"), "train")
    with pytest.raises(NotAllowed, match="Allowed: publish, endpoint, push"):
        ws.allow("train")
    ws.allow("publish")


def test_without_publish_a_draft_stays_one(
    ws: Workspace, bench: Benchmark, free: Workspace
) -> None:
    refused(lambda: ws.benchmark(bench.id).publish(), "publish")
    assert bench.row.state == "draft"
    bench.publish()
    refused(lambda: ws.benchmark(bench.id).unpublish(), "publish")
    assert bench.row.state == "published"
    assert ws.run(bench.id, "reference").score == 1.0  # a model of this machine may be asked


def test_without_train_a_plan_can_be_made_and_waits(
    ws: Workspace, free: Workspace, base_folder: Path
) -> None:
    record = planned(ws, base_folder)
    refused(lambda: ws.confirm(record, "yes"), "train")
    assert record.row.state == "pending"
    assert free.store.all(JobRow) == []
    with pytest.raises(Exception, match="cancelled"):
        ws.confirm(record, "no")


def test_without_train_no_job_is_resumed(ws: Workspace, free: Workspace, base_folder: Path) -> None:
    job = finished(free, planned(free, base_folder))
    free.store.change(JobRow, job.id, state="stopped")
    refused(lambda: ws.job(job.id).resume(), "train")
    assert Job(free.place, job.id).row.state == "stopped"


def test_without_endpoint_none_is_asked(ws: Workspace, free: Workspace, bench: Benchmark) -> None:
    bench.publish()
    free.model(SERVED)
    refused(lambda: ws.run(bench.id, SERVED), "endpoint")
    refused(lambda: ws.run(bench.id, "served"), "endpoint")
    refused(lambda: ws.preflight(bench.id, "served"), "endpoint")
    spec = config.load_author("llm", topic="rivers", model="served")
    refused(lambda: ws.author(dataclasses.replace(spec, count=5)), "endpoint")
    assert free.store.all(RunRow) == []
    assert free.store.all(WriteRow) == []
    assert len(free.store.all(BenchmarkRow)) == 1


def test_without_endpoint_a_run_of_another_is_not_gone_on_with(
    ws: Workspace, free: Workspace, bench: Benchmark
) -> None:
    bench.publish()
    model = free.model(SERVED)
    row = free.store.add(
        RunRow(
            owner="ada",
            benchmark_id=bench.id,
            model_id=model.id,
            settings={"limit": None, "seed": 0},
        )
    )
    refused(lambda: ws.resume_run(Run(ws.place, row.id)), "endpoint")


def test_without_push_nothing_is_taken_to_the_hub(ws: Workspace) -> None:
    refused(lambda: ws.publish_model("any", "org/name"), "push")


def test_the_loop_is_refused_before_it_asks_anything(ws: Workspace, free: Workspace) -> None:
    path = config.load("experiment=solar_system").loop
    settings = Settings(config.load_recipe("from_run"))
    refused(lambda: run_loop(ws, path, settings, "yes", Watcher()), "publish")
    assert free.benchmarks().is_empty()
    measure = config.load("permissions=measure").permissions
    other = Workspace(ws.path, user="bob", permissions=measure)
    refused(lambda: run_loop(other, path, settings, "yes", Watcher()), "train")
    assert free.benchmarks().is_empty()


def test_on_the_command_line(
    free: Workspace, bench: Benchmark, base_folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    record: PlanRecord = planned(free, base_folder)
    where = [f"workspace={free.path}", "permissions=readonly", "user=bob"]
    line = ["confirm", f"plan_id={record.id}", "answer=yes", *where]
    assert cli.run(line) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert "no permission to train" in shown.err
    assert cli.run(["publish", f"benchmark_id={bench.id}", *where, "output=json"]) == 2
    told = json.loads(capsys.readouterr().out)["error"]
    assert "permission to publish" in told["message"]
    assert told["got"] == "permissions.publish=false for bob"
    assert cli.run(["publish", f"benchmark_id={bench.id}", f"workspace={free.path}"]) == 0
