"""The fakes that users may use too: a described account, a chat in it, and that nothing real starts there."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from benchgen import jobs
from benchgen.errors import InputError
from benchgen.records import Benchmark
from benchgen.testing import DATASET, AccountWorkspace, agent_in, counts, made_up, workspace_from

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "cases"


@pytest.fixture
def ws(account: Path, tmp_path: Path) -> AccountWorkspace:
    shutil.copytree(account, tmp_path / "ws")
    return AccountWorkspace(tmp_path / "ws")


def test_the_records_are_those_of_the_account(ws: AccountWorkspace) -> None:
    benches = ws.benchmarks().select("id", "name", "kind", "questions", "state").rows()
    assert (12, "Solar System Basics", "mcq", 30, "published") in benches
    assert {row[0] for row in benches} == {12, 15, 16, 18, 19, 21}
    runs = {row["id"]: row for row in ws.runs().to_dicts()}
    assert {id: row["state"] for id, row in runs.items()} == {
        **dict.fromkeys((1079, 1080, 1081, 1083), "finished"),
        1082: "running",
        1084: "failed",
    }
    assert (runs[1080]["right"], runs[1080]["scored"]) == (14, 30)
    assert {row["id"]: row["state"] for row in ws.jobs().to_dicts()} == {
        7: "finished",
        8: "running",
        9: "failed",
    }
    assert ws.job(8).status()["step"] == 21
    assert ws.get_run(1082).status()["progress"] == "Processing: 9/25 (36%)"


def test_replies_are_made_up_and_really_scored(ws: AccountWorkspace) -> None:
    run = ws.get_run(1081)
    assert run.dataset("failures").height == 8
    assert run.dataset("distill").height == 22
    assert run.summary["by_status"]["no_answer"] > 0


def test_files_lie_beside_the_records(ws: AccountWorkspace) -> None:
    assert (ws.path / "files" / "mcq_semicolon.csv").is_file()


def test_nothing_real_starts(ws: AccountWorkspace) -> None:
    run = ws.run_in_background(ws.begin_run(12, "frontier-large"))
    assert run.state == "queued"
    assert jobs._process(run.folder) is None
    plan = ws.plan("lora", dataset=DATASET, base_model="Qwen/Qwen2.5-7B-Instruct", max_steps=5)
    job = ws.confirm(plan, "yes")
    assert job.state == "queued"
    assert jobs._process(job.folder) is None
    assert plan.plan.base_model == "Qwen/Qwen2.5-7B-Instruct"


def test_made_up_names_are_all_different() -> None:
    assert len({made_up(n * 997) for n in range(1000)}) == 1000


def test_records_that_need_what_is_not_there_are_an_error(tmp_path: Path) -> None:
    account = {"runs": [{"id": 1, "benchmark": 1, "model": "made-by-nobody", "state": "finished"}]}
    with pytest.raises(InputError):
        workspace_from(account, tmp_path / "ws")


@pytest.mark.parametrize(
    "pending",
    [
        {
            "type": "plan",
            "id": "P31",
            "job_type": "lora",
            "base_model": "Qwen/Qwen2.5-0.5B-Instruct",
            "dataset": DATASET,
            "epochs": 1,
            "max_steps": 50,
        },
        {"type": "plan", "id": "P32", "job_type": "from-run", "run": 1080, "mode": "failures"},
        {
            "type": "plan",
            "id": "P33",
            "job_type": "grpo",
            "benchmark": 12,
            "base_model": "Qwen/Qwen3-0.6B",
        },
        {"type": "merge", "id": "M4", "job": 7, "name": "solar-small-merged"},
        {"type": "preview", "id": "D9", "name": "Metals", "kind": "mcq", "n": 10},
        {"type": "preview", "id": "D7", "name": "Words", "kind": "qa", "n": 5},
        {"type": "batch", "name": "Trees", "written": 50, "total": 80},
        {
            "type": "question",
            "after": "created draft 15",
            "options": ["publish it", "leave it as a draft"],
        },
    ],
    ids=lambda item: f"{item['type']}-{item.get('id')}",
)
def test_what_waits_is_real(ws: AccountWorkspace, pending: dict[str, Any]) -> None:
    """It keeps its label, and the word that it waits for does what it says."""
    agent = agent_in(ws, {"pending": pending, "last_benchmark": 15})
    (waiting,) = agent.waiting
    assert waiting.kind == pending["type"]
    assert waiting.label == pending.get("id", waiting.label)
    before = counts(ws)
    word = {
        "plan": "yes",
        "merge": "yes",
        "preview": "Create it",
        "batch": "continue",
        "question": "2",
    }
    reply = agent.send(word[waiting.kind])
    made = {name: n - before[name] for name, n in counts(ws).items() if n != before[name]}
    expected = {
        "plan": {"jobs": 1},
        "merge": {"jobs": 1},
        "preview": {"benchmarks": 1},
        "batch": {},
        "question": {},
    }
    assert made == expected[waiting.kind], reply.text


def test_several_things_may_wait(ws: AccountWorkspace) -> None:
    items = [
        {"type": "preview", "id": "D9", "name": "Metals", "kind": "mcq", "n": 10},
        {"type": "plan", "id": "P31", "job_type": "from-run", "run": 1080},
    ]
    agent = agent_in(ws, {"pending": items})
    assert [one.label for one in agent.waiting] == ["D9", "P31"]


def test_what_was_done_before_is_known(ws: AccountWorkspace) -> None:
    extra = {
        "id": 40,
        "name": "Rivers",
        "kind": "qa",
        "n": 5,
        "state": "published",
        "language": "de",
    }
    run = {
        "id": 1100,
        "benchmark": 40,
        "model": "Qwen/Qwen3-0.6B",
        "state": "running",
        "done": 2,
        "total": 5,
    }
    context = {
        "pending": None,
        "extra_benchmarks": [extra],
        "extra_runs": [run],
        "just_created": 22,
        "last_run": 1100,
        "last_view": {"run": 1081, "mode": "all", "offset": 0, "rows": 10},
        "submitted_before": {"plan": "P31", "job": 10},
    }
    agent = agent_in(ws, context)
    situation = agent.situation
    assert (situation.last_run, situation.just_created) == (1100, 22)
    assert situation.last_view is not None
    assert situation.last_view.rows == 10
    assert ws.get_run(1100).status()["progress"] == "Processing: 2/5 (40%)"
    assert ws.job(10).state == "queued"
    assert Benchmark.of(ws.place, 22).row.state == "draft"
    assert {b.language for b in situation.benchmarks if b.id == 40} == {"de"}


def test_mixed_up_runs_lead_to_a_new_chat_and_ids(ws: AccountWorkspace) -> None:
    reply = agent_in(ws, {}).send("you got my runs confused again")
    assert "new chat" in reply.text
    assert "run 3" in reply.text
