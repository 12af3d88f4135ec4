"""Lists of many records: right figures, in a handful of queries, and short on a terminal."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import sqlalchemy as sa

from benchgen import cli
from benchgen.records import Run
from benchgen.store import RunRow
from benchgen.workspace import Workspace

SMALL = ["benchmark.count=12", "benchmark.mix={}", "benchmark.categories={}"]
MANY = 120


@pytest.fixture(scope="module")
def ws(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A workspace of 120 runs: copies of one real run, the last of them begun by a process that is gone."""
    path = tmp_path_factory.mktemp("many") / "w{s} 0"
    assert cli.run(["create", f"workspace={path}", *SMALL]) == 0
    assert cli.run(["publish", f"workspace={path}", "benchmark_id=1"]) == 0
    assert cli.run(["run", f"workspace={path}", "benchmark_id=1", "model=mock"]) == 0
    ws = Workspace(path)
    row = ws.get_run(1).row
    with ws.store.write() as session:
        for n in range(2, MANY + 1):
            begun = n == MANY
            session.add(
                RunRow(
                    owner=row.owner,
                    benchmark_id=1,
                    model_id=row.model_id,
                    state="running" if begun else "finished",
                    summary={} if begun else row.summary,
                )
            )
    return ws


def test_a_list_of_runs_is_what_the_records_say(ws: Workspace) -> None:
    table = ws.runs()
    assert table.columns == [
        "id", "owner", "created", "benchmark", "model", "state", "right", "scored", "asked", "score",
        "low", "high", "strict", "seconds", "link",
    ]  # fmt: skip
    assert table["id"].to_list() == list(range(1, MANY + 1))
    first, run = table.row(0, named=True), ws.get_run(1)
    told = run.summary
    assert [first[k] for k in ("right", "scored", "asked", "score", "low", "high", "strict")] == [
        told["right"], told["scored"], told["asked"], told["score"], *told["ci"], told["strict"]["score"],
    ]  # fmt: skip
    assert (first["model"], first["state"], first["link"]) == ("mock", "finished", run.link)
    last = table.row(-1, named=True)
    assert (last["state"], last["score"], last["link"]) == (
        "interrupted",
        None,
        Run(ws.place, MANY).link,
    )


def test_it_takes_no_query_a_run(ws: Workspace) -> None:
    asked: list[str] = []

    def count(*told: object) -> None:
        asked.append(str(told[2]))

    sa.event.listen(sa.Engine, "before_cursor_execute", count)
    try:
        assert ws.runs().height == MANY
    finally:
        sa.event.remove(sa.Engine, "before_cursor_execute", count)
    assert 0 < len([line for line in asked if line.startswith("SELECT")]) < 6


def test_a_terminal_shows_the_newest_and_json_all(
    ws: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["runs", f"workspace={ws.path}"]) == 0
    shown = capsys.readouterr().out
    assert "The newest 50 of 120 runs; output=json lists all of them." in shown
    assert "│ 120" in shown
    assert cli.run(["runs", f"workspace={ws.path}", "output=json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["runs"]) == MANY


def test_an_empty_list_has_its_columns(tmp_path: Path) -> None:
    table = Workspace(tmp_path / "ws").runs()
    assert table.is_empty()
    assert {"id", "state", "score", "link"} <= set(table.columns)
    assert not (tmp_path / "ws").exists()
