"""The database and files of a workspace: many writers, no half record, nothing written by a look."""

from __future__ import annotations

import hashlib
import json
import multiprocessing
import os
import signal
import sqlite3
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from benchgen.errors import InputError, NotFound, StateError, StoreError
from benchgen.store import (
    SCHEMA,
    JobRow,
    ModelRow,
    PlanRow,
    Store,
    make_folder,
    read_json,
    read_jsonl,
    write_atomic,
    write_json,
    write_jsonl,
)
from benchgen.types import canonical

FORK = multiprocessing.get_context("fork")  # quick: the children need not import anything again


def database(folder: Path) -> Path:
    return folder / "benchgen.db"


def model(name: str) -> ModelRow:
    return ModelRow(name=name, kind="base", spec={"source": name, "revision": None})


def insert_many(path: Path, worker: int, count: int) -> None:
    """What one of several writing processes does."""
    store = Store(path)
    for i in range(count):
        store.add(model(f"{worker}-{i}"))


# ----------------------------------------------------------------------------------------- records


def test_a_record_comes_back_as_it_was_given(workspace_path: Path) -> None:
    """JSON columns, defaults and the id, read by another Store as another process would."""
    row = Store(database(workspace_path)).add(ModelRow(name="m", kind="base", seen=["b", "a"]))
    again = Store(database(workspace_path)).get(ModelRow, row.id)
    assert (again.name, again.seen, again.spec, again.parent_id) == ("m", ["b", "a"], {}, None)
    assert again.created == row.created
    assert again.created.endswith("+00:00")  # UTC, whatever the clock of the machine says


def test_an_id_is_never_given_out_twice(workspace_path: Path) -> None:
    """`run 3` must not become another run after the last one was deleted."""
    store = Store(database(workspace_path))
    ids = [store.add(model(name)).id for name in "abc"]
    with store.write() as session:
        session.execute(sa.delete(ModelRow).where(ModelRow.id == ids[-1]))
    assert ids == [1, 2, 3]
    assert Store(database(workspace_path)).add(model("d")).id == 4


def test_a_missing_record_names_those_there_are(workspace_path: Path) -> None:
    store = Store(database(workspace_path))
    store.add(model("a"))
    with pytest.raises(NotFound) as failed:
        store.get(ModelRow, 7)
    assert (failed.value.got, failed.value.allowed) == (7, [1])
    assert "benchgen models" in failed.value.next


def test_change_only_from_the_state_that_was_expected(workspace_path: Path) -> None:
    """Two who change one record: the second sees that it is no longer as it thought."""
    store = Store(database(workspace_path))
    id = store.add(PlanRow(hash="h", plan={})).id
    store.change(PlanRow, id, "pending", state="confirmed")
    with pytest.raises(StateError) as failed:
        store.change(PlanRow, id, "pending", state="cancelled")
    assert (failed.value.got, failed.value.allowed) == ("confirmed", ["pending"])
    assert store.get(PlanRow, id).state == "confirmed"
    with pytest.raises(NotFound):
        store.change(PlanRow, 99, state="confirmed")


def test_a_plan_has_one_job_at_most(workspace_path: Path) -> None:
    """The database itself refuses a second one, whatever the code above it does."""
    store = Store(database(workspace_path))
    id = store.add(PlanRow(hash="h", plan={})).id
    store.add(JobRow(plan_id=id))
    with pytest.raises(sa.exc.IntegrityError):
        store.add(JobRow(plan_id=id))
    with pytest.raises(sa.exc.IntegrityError):
        store.add(JobRow(plan_id=id + 1))  # foreign keys hold too


def test_an_error_inside_a_transaction_leaves_nothing_of_it(workspace_path: Path) -> None:
    store = Store(database(workspace_path))
    store.add(model("kept"))

    def fail() -> None:
        with store.write() as session:
            session.add(model("half"))
            session.flush()
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()
    assert [row.name for row in store.all(ModelRow)] == ["kept"]


# -------------------------------------------------------------------------------------- many at once


def test_several_processes_write_at_once_and_lose_nothing(workspace_path: Path) -> None:
    """A sweep: 8 processes, 25 records each, from a database that none of them has made yet."""
    writers = [
        FORK.Process(target=insert_many, args=(database(workspace_path), w, 25)) for w in range(8)
    ]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join(60)
    assert [writer.exitcode for writer in writers] == [0] * 8
    rows = Store(database(workspace_path)).all(ModelRow)
    assert [row.id for row in rows] == list(range(1, 201))
    assert {row.name for row in rows} == {f"{w}-{i}" for w in range(8) for i in range(25)}


def test_threads_share_one_store(workspace_path: Path) -> None:
    store = Store(database(workspace_path))
    threads = [
        threading.Thread(target=lambda w=w: [store.add(model(f"{w}-{i}")) for i in range(5)])
        for w in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(store.all(ModelRow)) == 20


def test_a_reader_is_not_held_up_by_a_writer(workspace_path: Path) -> None:
    """Write-ahead log: a page that looks at the records does not wait for an open transaction."""
    store = Store(database(workspace_path))
    store.add(model("a"))
    with store.write() as session:
        session.add(model("b"))
        session.flush()
        seen = [row.name for row in Store(database(workspace_path)).all(ModelRow)]
    assert seen == ["a"]
    with sqlite3.connect(database(workspace_path)) as raw:
        assert raw.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    raw.close()


def write_and_die(path: Path) -> None:
    """Half of what belongs together, then SIGKILL."""
    with Store(path).write() as session:
        plan = PlanRow(hash="half", plan={})
        session.add(plan)
        session.flush()
        session.add(JobRow(plan_id=plan.id))
        session.flush()
        os.kill(os.getpid(), signal.SIGKILL)


def test_a_writer_killed_in_mid_transaction_leaves_no_half_record(workspace_path: Path) -> None:
    """And its lock dies with it: the next writer does not wait."""
    store = Store(database(workspace_path))
    store.add(model("before"))
    killed = FORK.Process(target=write_and_die, args=(database(workspace_path),))
    killed.start()
    killed.join(60)
    assert killed.exitcode == -signal.SIGKILL
    assert not store.all(PlanRow)
    assert not store.all(JobRow)
    assert store.add(model("after")).id == 2


# ------------------------------------------------------------------------------ nothing, newer, not ours


def test_looking_at_a_workspace_that_is_not_there_writes_nothing(workspace_path: Path) -> None:
    store = Store(database(workspace_path))
    assert store.all(ModelRow) == []
    with pytest.raises(NotFound):
        store.get(PlanRow, 1)
    assert not workspace_path.exists()
    store.add(model("a"))
    assert [row.name for row in store.all(ModelRow)] == [
        "a"
    ]  # and the same Store sees it, once made


def test_a_newer_schema_is_refused_in_one_line(workspace_path: Path) -> None:
    Store(database(workspace_path)).add(model("a"))
    with sqlite3.connect(database(workspace_path)) as raw:
        raw.execute("UPDATE meta SET value = ? WHERE key = 'schema'", (str(SCHEMA + 1),))
    raw.close()
    store = Store(database(workspace_path))
    looks: list[Callable[[], object]] = [
        lambda: store.all(ModelRow),
        lambda: store.add(model("b")),
    ]
    for look in looks:
        with pytest.raises(StateError) as failed:
            look()
        assert (failed.value.got, failed.value.allowed) == (SCHEMA + 1, [SCHEMA])
        assert "\n" not in failed.value.message


@pytest.mark.parametrize("content", [b"not a database, but text " * 100, b"\x00" * 4096])
def test_a_file_that_is_no_database_is_refused_and_kept(
    workspace_path: Path, content: bytes
) -> None:
    make_folder(workspace_path)
    database(workspace_path).write_bytes(content)
    with pytest.raises(InputError) as failed:
        Store(database(workspace_path)).all(ModelRow)
    assert failed.value.exit_code == 2
    assert "\n" not in failed.value.message
    assert database(workspace_path).read_bytes() == content


@pytest.mark.parametrize("where", ["file", "file/below"])
def test_a_workspace_that_cannot_be_made_is_an_input_error(tmp_path: Path, where: str) -> None:
    """A file stands where the folder should be; nothing is left behind."""
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError) as failed:
        Store(database(tmp_path / where)).add(model("a"))
    assert failed.value.exit_code == 2
    assert failed.value.got == str(tmp_path / where)
    assert "workspace=" in failed.value.next
    assert [p.name for p in tmp_path.rglob("*")] == ["file"]
    assert (tmp_path / "file").read_text() == "mine"


def test_a_folder_where_the_database_should_be(workspace_path: Path) -> None:
    database(workspace_path).mkdir(parents=True)
    with pytest.raises(InputError, match="cannot be used"):
        Store(database(workspace_path)).add(model("a"))


def test_a_folder_name_with_signs_of_a_url(tmp_path: Path) -> None:
    """`?` and `#` mean something in a URL and nothing in a path."""
    folder = tmp_path / "a b?x=1#c%20d"
    Store(database(folder)).add(model("a"))
    assert [p.name for p in tmp_path.iterdir()] == [folder.name]
    assert len(Store(database(folder)).all(ModelRow)) == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere: waits for another user")
def test_a_folder_without_permission(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(InputError, match="written"):
        Store(database(tmp_path / "workspace")).add(model("a"))


# -------------------------------------------------------------------------------------------- files


def test_atomic_write_replaces_the_whole_content(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "file.txt"
    write_atomic(path, "long " * 1000)
    write_atomic(path, "kurz: ä")
    assert path.read_text(encoding="utf-8") == "kurz: ä"
    assert [p.name for p in path.parent.iterdir()] == ["file.txt"]


@pytest.mark.parametrize("content", ["x", b"x"])
def test_a_failed_atomic_write_leaves_no_part(tmp_path: Path, content: str | bytes) -> None:
    """The replacement fails: a folder is in the way."""
    (tmp_path / "file").mkdir()
    with pytest.raises(InputError, match="cannot be written"):
        write_atomic(tmp_path / "file", content)
    assert [p.name for p in tmp_path.iterdir()] == ["file"]


def test_text_that_no_file_can_hold_leaves_what_was_there(tmp_path: Path) -> None:
    write_atomic(tmp_path / "file", "before")
    with pytest.raises(UnicodeEncodeError):
        write_atomic(tmp_path / "file", "a lone surrogate \ud800")
    assert (tmp_path / "file").read_text() == "before"
    assert len(list(tmp_path.iterdir())) == 1


def test_json_comes_back_and_a_broken_file_is_named(tmp_path: Path) -> None:
    write_json(tmp_path / "a.json", {"b": [1, None], "a": "ä"})
    assert read_json(tmp_path / "a.json") == {"b": [1, None], "a": "ä"}
    (tmp_path / "a.json").write_text('{"b": [1,')
    for name in ("a.json", "absent.json"):
        with pytest.raises(StoreError, match=name):
            read_json(tmp_path / name)


rows_of_json = st.lists(
    st.dictionaries(
        st.text(max_size=5), st.none() | st.integers() | st.text(max_size=9), max_size=3
    ),
    max_size=5,
)


@given(rows_of_json, st.data())
def test_a_log_cut_anywhere_gives_its_whole_lines(
    tmp_path_factory: pytest.TempPathFactory, rows: list[dict[str, object]], data: st.DataObject
) -> None:
    """A writer killed after any byte: every line that it ended is read, the rest is left out."""
    path = tmp_path_factory.getbasetemp() / "cut.jsonl"
    whole = "".join(canonical(row) + "\n" for row in rows).encode()
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    path.write_bytes(cut)
    assert read_jsonl(path) == rows[: cut.count(b"\n")]


def test_a_last_line_that_only_lacks_its_end_is_torn_too(tmp_path: Path) -> None:
    """The next writer cuts it off, so it must not count as done."""
    (tmp_path / "a.jsonl").write_text('{"key": 1}\n{"key": 2}')
    assert read_jsonl(tmp_path / "a.jsonl") == [{"key": 1}]
    assert read_jsonl(tmp_path / "absent.jsonl") == []


@pytest.mark.parametrize("line", ['{"key": ', "12", "[]", "\x00\x00", "[" * 100_000])
def test_a_broken_line_in_the_middle_is_an_error_with_its_number(tmp_path: Path, line: str) -> None:
    """Only the last line can be torn; any other means that the file was changed."""
    (tmp_path / "a.jsonl").write_text('{"key": 1}\n' + line + '\n{"key": 2}\n')
    with pytest.raises(StoreError, match=r"line 2 of a\.jsonl"):
        read_jsonl(tmp_path / "a.jsonl")


def test_the_hash_of_a_jsonl_file_is_that_of_its_bytes(tmp_path: Path) -> None:
    told = write_jsonl(tmp_path / "a.jsonl", [{"b": 1, "a": "ä\u2028"}])
    assert told == hashlib.sha256((tmp_path / "a.jsonl").read_bytes()).hexdigest()
    assert json.loads((tmp_path / "a.jsonl").read_text()) == {"a": "ä\u2028", "b": 1}
