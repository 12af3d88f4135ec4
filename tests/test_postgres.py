"""A workspace whose records are in a PostgreSQL database: a real server, several processes, the command line."""

from __future__ import annotations

import json
import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import sqlalchemy as sa

from benchgen.errors import ConfigError, InputError, NotFound, StateError
from benchgen.plan import gate
from benchgen.store import FILE, NOTE, JobRow, ModelRow, PlanRow, Store
from benchgen.workspace import Workspace
from tests.postgres import binaries, new_database, server

ROOT = Path(__file__).parents[1]
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(binaries() is None, reason="no PostgreSQL server is installed here"),
]
SPAWN = multiprocessing.get_context("spawn")  # a connection does not outlive a fork


@pytest.fixture(scope="module")
def running() -> Iterator[str]:
    with server() as url:
        yield url


@pytest.fixture
def url(running: str, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.syspath_prepend(str(ROOT))
    return new_database(running)


def model(name: str) -> ModelRow:
    return ModelRow(
        name=name, kind="base", spec={"source": name, "revision": None}, seen=["b", "a"]
    )


def tables(url: str) -> list[str]:
    engine = sa.create_engine(url.replace("://", "+psycopg://"), poolclass=sa.pool.NullPool)
    return sa.inspect(engine).get_table_names()


def test_a_record_comes_back_as_it_was_given(url: str, workspace_path: Path) -> None:
    """Read by another store as another process would, which finds the database by the workspace's note."""
    row = Store.of(workspace_path, url).add(model("m"))
    again = Store.of(workspace_path).get(ModelRow, row.id)
    assert (again.name, again.spec, again.seen, again.owner) == (
        "m",
        {"source": "m", "revision": None},
        ["b", "a"],
        "",
    )
    assert [path.name for path in workspace_path.iterdir()] == [NOTE]


def test_a_look_makes_nothing(url: str, workspace_path: Path) -> None:
    store = Store.of(workspace_path, url)
    assert store.all(ModelRow) == []
    with pytest.raises(NotFound):
        store.get(PlanRow, 1)
    assert not workspace_path.exists()
    assert tables(url) == []
    store.add(model("a"))
    assert [row.name for row in store.all(ModelRow)] == ["a"]


def test_ids_are_not_given_out_twice(url: str, workspace_path: Path) -> None:
    store = Store.of(workspace_path, url)
    first = [store.add(model(name)).id for name in "abc"]
    with store.write() as session:
        session.execute(sa.delete(ModelRow))
    assert store.add(model("d")).id > max(first)


def test_a_database_belongs_to_one_folder(url: str, tmp_path: Path) -> None:
    Store.of(tmp_path / "mine", url).add(model("a"))
    with pytest.raises(StateError, match="another folder"):
        Store.of(tmp_path / "yours", url).add(model("b"))
    assert not (tmp_path / "yours" / NOTE).exists()
    moved = (tmp_path / "mine").rename(tmp_path / "moved")
    assert Store.of(moved).add(model("b")).id == 2


def test_a_reader_sees_one_state_and_is_not_held_up(url: str, workspace_path: Path) -> None:
    store = Store.of(workspace_path, url)
    store.add(model("a"))
    with store.write() as writing:
        writing.add(model("b"))
        writing.flush()
        assert len(store.all(ModelRow)) == 1
    with store.read() as reading:
        before = len(list(reading.scalars(sa.select(ModelRow.id))))
        store.add(model("c"))
        assert len(list(reading.scalars(sa.select(ModelRow.id)))) == before == 2


def confirm(folder: Path, plan_id: int, go: multiprocessing.synchronize.Event) -> None:
    go.wait()
    try:
        gate.decide(Store.of(folder), plan_id, "yes", "ada")
    except StateError:
        os._exit(3)
    os._exit(0)


def test_of_four_answers_at_once_one_counts(url: str, workspace_path: Path) -> None:
    from tests.test_gate import PLAN

    store = Store.of(workspace_path, url)
    id = store.add(PlanRow(hash=PLAN.hash, plan=PLAN.to_dict())).id
    go = SPAWN.Event()
    people = [SPAWN.Process(target=confirm, args=(workspace_path, id, go)) for _ in range(4)]
    for person in people:
        person.start()
    go.set()
    for person in people:
        person.join(120)
    assert sorted(person.exitcode or 0 for person in people) == [0, 3, 3, 3]
    assert len(store.all(JobRow)) == 1


def write_and_die(folder: Path) -> None:
    with Store.of(folder).write() as session:
        session.add(PlanRow(hash="half", plan={}))
        session.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_writer_killed_in_mid_transaction_leaves_no_half_record(
    url: str, workspace_path: Path
) -> None:
    store = Store.of(workspace_path, url)
    store.add(model("before"))
    killed = SPAWN.Process(target=write_and_die, args=(workspace_path,))
    killed.start()
    killed.join(120)
    assert killed.exitcode == -signal.SIGKILL
    assert store.all(PlanRow) == []


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("postgresql://ada:secret@127.0.0.1/d", "password does not belong"),
        ("mysql://ada@127.0.0.1/d", "SQLite"),
        ("no url at all", "SQLite"),
    ],
)
def test_urls_that_are_refused(given: str, words: str, workspace_path: Path) -> None:
    with pytest.raises(ConfigError, match=words) as failed:
        Store.of(workspace_path, given)
    assert "secret" not in failed.value.message
    assert not workspace_path.exists()


def test_a_workspace_begun_in_sqlite_stays_there(url: str, workspace_path: Path) -> None:
    Store.of(workspace_path).add(model("a"))
    with pytest.raises(ConfigError, match="elsewhere"):
        Store.of(workspace_path, url)
    assert Store.of(workspace_path, default=url).path == workspace_path / FILE


def test_a_server_that_is_down_is_one_line(workspace_path: Path) -> None:
    with pytest.raises(InputError) as failed:
        Store.of(workspace_path, "postgresql://ada@127.0.0.1:1/d").add(model("a"))
    assert (failed.value.exit_code, failed.value.message.count("\n")) == (2, 0)
    assert "PGPASSWORD" in failed.value.next


def command(*argv: str) -> dict[str, object]:
    line = [sys.executable, "-m", "benchgen.cli", *argv, "output=json"]
    done = subprocess.run(line, capture_output=True, text=True, check=True)
    found: dict[str, object] = json.loads(done.stdout.splitlines()[-1])
    return found


def test_by_the_command_line(url: str, workspace_path: Path) -> None:
    """Begun with database=, known without it, in Python as well; its files lie in the folder."""
    place = f"workspace={workspace_path}"
    made = command("create", "benchmark=solar_system_basics", place, f"database={url}")
    assert made["state"] == "draft"
    command("publish", f"benchmark_id={made['benchmark']}", place)
    ran = command("run", f"benchmark_id={made['benchmark']}", "model=reference", "limit=5", place)
    assert (ran["right"], ran["asked"]) == (5, 5)
    assert not (workspace_path / FILE).exists()
    ws = Workspace(workspace_path)
    assert ws.runs()["id"].to_list() == [ran["run"]]
    assert len(ws.get_run(1).traces()) == 5
