"""The command line on a rough machine: no room, no permission, no folder, no reader, a key typed in the wrong place."""

from __future__ import annotations

import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

from benchgen.store import BenchmarkRow, Store
from benchgen.types import json_line
from benchgen.workspace import Workspace
from tests.servers import Answer, Received, ScriptedServer, said
from tests.test_cli import RUN, SMALL, Command, files
from tests.test_cli import said as answered

pytestmark = pytest.mark.slow  # real processes

COMMAND = [sys.executable, "-m", "benchgen.cli"]
Limit = Callable[[], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a published benchmark and a run."""
    folder = tmp_path_factory.mktemp("made") / "ws"
    for argv in (["create", *SMALL], ["publish", "benchmark_id=1"], RUN):
        assert answered(folder, argv)[0] == 0
    return folder


@pytest.fixture
def ran(made: Path, tmp_path: Path) -> Command:
    """A command line on a copy of it."""
    shutil.copytree(made, tmp_path / "ws")
    return lambda *argv: answered(tmp_path / "ws", argv)


def typed(
    *argv: str, cwd: Path | None = None, limit: Limit | None = None, **environment: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*COMMAND, *argv],
        capture_output=True,
        text=True,
        check=False,
        cwd=cwd,
        preexec_fn=limit,
        env={**os.environ, **environment},
    )


# --- keys ------------------------------------------------------------------------------------

KEY = "sk-abc123def456ghi789"


@pytest.mark.parametrize(
    "argv",
    [
        ["run", "benchmark_id=1", "model=endpoint", "model.name=m", "model.base_url=http://h/v1", f"model.api_key_env={KEY}"],
        ["run", "benchmark_id=1", "model=endpoint", "model.name=m", "model.base_url=http://h/v1", f"model.api_key_env=GOOD,{KEY}", "-m"],
        ["run", "benchmark_id=1", "model=endpoint", "model.name=m,n", f"model.base_url=http://h/v1,http://u:{KEY}@h/v1", "-m"],
        ["run", "benchmark_id=1", "model=endpoint", "model.name=m", "model.base_url=http://h/v1", f"model.extra={{api_key: {KEY}}}", "-m", "seed=1,2"],
        ["plan", "recipe=lora", "dataset=F", "seed=1,2", f"model.api_key_env={KEY}", "-m"],
    ],
    ids=["one", "sweep", "address", "extra", "unused"],
)  # fmt: skip
def test_a_key_in_the_wrong_place_is_on_the_disk_nowhere(
    argv: list[str],
    ran: Command,
    tmp_path: Path,
) -> None:
    code, told = ran(*argv)
    assert code == 2
    assert KEY not in json.dumps(told)
    for path in tmp_path.rglob("*"):
        assert path.is_dir() or KEY.encode() not in path.read_bytes(), path


# --- where files may be written --------------------------------------------------------------


@pytest.mark.parametrize(
    "inside",
    ["benchmarks/1/questions.jsonl", "benchmarks/1/program/more.csv", "runs/1/rows.csv", "benchgen.db", "hydra/x.csv", "."],
)  # fmt: skip
def test_nothing_is_written_among_the_records(
    inside: str,
    ran: Command,
    tmp_path: Path,
) -> None:
    ws = tmp_path / "ws"
    (tmp_path / "link").symlink_to(ws)
    kept = {p: (ws / p).read_bytes() for p in files(ws)}
    for folder in (ws, tmp_path / "link", tmp_path / "x" / ".." / "ws"):
        path = f"path={folder / inside}"
        for argv in (
            ["dataset", "run_id=1", "mode=all", "format=csv", path],
            ["export", "benchmark_id=1", path],
            ["export", "benchmark_id=1", "format=hf", path],
        ):
            code, told = ran(*argv)
            assert (code, "among the records" in told["error"]["message"]) == (2, True)
    assert {p: (ws / p).read_bytes() for p in kept} == kept


def test_a_dataset_overwrites_no_file_and_may_lie_beside_the_records(
    ran: Command,
    tmp_path: Path,
) -> None:
    path = tmp_path / "thesis.csv"
    path.write_text("years of work")
    code, told = ran("dataset", "run_id=1", "mode=all", f"path={path}")
    assert (code, path.read_text()) == (2, "years of work")
    assert "there already" in told["error"]["message"]
    mine = tmp_path / "ws" / "mine" / "rows.parquet"
    assert ran("dataset", "run_id=1", "mode=all", f"path={mine}")[0] == 0
    assert pl.read_parquet(mine).height == 6
    folder = tmp_path / "rows"
    assert ran("dataset", "run_id=1", "mode=all", "format=hf", f"path={folder}")[0] == 0
    assert (folder / "README.md").is_file()


# --- the machine -----------------------------------------------------------------------------


@pytest.mark.parametrize("room", [0, 100, 3_000, 30_000])
def test_a_full_disk_is_one_line_and_leaves_nothing_half_written(room: int, tmp_path: Path) -> None:
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))

    done = typed("create", *SMALL, f"workspace={tmp_path / 'ws'}", limit=limit)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("benchgen: ")
    assert len(done.stderr.splitlines()) == 1
    assert not list((tmp_path / "ws").glob("hydra/*/*"))
    assert Workspace(tmp_path / "ws").benchmarks().is_empty()


def test_a_folder_that_is_gone_is_one_line(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    code = "import os, sys; os.rmdir(os.getcwd()); from benchgen import cli; sys.exit(cli.run(sys.argv[1:]))"
    for argv in (["runs"], ["create", *SMALL]):
        gone.mkdir(exist_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", code, *argv],
            cwd=gone,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert done.stderr.startswith("benchgen: the current folder is gone")
        assert len(done.stderr.splitlines()) == 1


def test_a_reader_that_has_gone_is_no_error(made: Path) -> None:
    for argv in (["runs"], ["runs", "output=json"], ["--help"]):
        process = subprocess.Popen(
            [*COMMAND, *argv, f"workspace={made}"] if argv != ["--help"] else [*COMMAND, *argv],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert process.wait(60) == 0
        assert process.stderr.read() == b""
        process.stderr.close()


def test_without_a_home_or_a_login_name_it_works(made: Path, tmp_path: Path) -> None:
    bare = {k: v for k, v in os.environ.items() if k not in ("HOME", "USER", "LOGNAME")}
    done = subprocess.run(
        [*COMMAND, "runs", f"workspace={made}", "output=json"],
        capture_output=True, text=True, check=False, env=bare, cwd=tmp_path,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not list(tmp_path.glob("~*"))


def test_a_newer_workspace_is_refused_and_left_as_it_is(ran: Command, tmp_path: Path) -> None:
    import sqlite3

    with sqlite3.connect(tmp_path / "ws" / "benchgen.db") as db:
        db.execute("update meta set value = '99'")
    db.close()
    before = files(tmp_path / "ws")
    for argv in (["runs"], ["create", *SMALL], ["run", "benchmark_id=1", "model=reference"]):
        code, told = ran(*argv)
        assert (code, told["error"]["got"]) == (2, 99)
    assert files(tmp_path / "ws") <= before


def test_verbs_at_once_on_a_fresh_workspace_all_come_through(tmp_path: Path) -> None:
    line = [*COMMAND, "create", *SMALL, f"workspace={tmp_path / 'ws'}", "output=json"]
    started = [subprocess.Popen(line, stdout=subprocess.PIPE) for _ in range(3)]
    told = [json.loads(process.communicate()[0]) for process in started]
    assert sorted(t["benchmark"] for t in told) == [1, 2, 3]


def test_a_workspace_that_may_not_be_written_to_can_be_read(
    made: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ws = tmp_path / "ws"
    shutil.copytree(made, ws)
    for extra in ws.glob("benchgen.db-*"):
        extra.unlink()
    before = files(ws)
    real = os.access
    monkeypatch.setattr(os, "access", lambda p, m: real(p, m) and not (m & os.W_OK))
    store = Store(ws / "benchgen.db")
    assert [row.state for row in store.all(BenchmarkRow)] == ["published"]
    assert files(ws) == before


# --- the keyboard ----------------------------------------------------------------------------


def slow(request: Received) -> Answer:
    return Answer(said("Answer: A", "stop").body, delay_s=2)


@pytest.mark.parametrize(
    ("argv", "line"),
    [
        (["run", "benchmark_id=1"], "benchgen resume run_id=2"),
        (["create", "author=llm", "author.topic=words", "kind=qa", "count=40", "name=words"], "benchgen resume write_id=1"),
    ],
    ids=["run", "create"],
)  # fmt: skip
@pytest.mark.parametrize("output", ["text", "json"])
def test_the_keyboard_stops_long_work_with_the_line_that_goes_on(
    argv: list[str],
    line: str,
    output: str,
    made: Path,
    tmp_path: Path,
) -> None:
    ws = tmp_path / "a b"
    shutil.copytree(made, ws)
    with ScriptedServer(slow) as server:
        process = subprocess.Popen(
            [*COMMAND, *argv, f"workspace={ws}", f"output={output}", "model=endpoint", "model.name=far",
             f"model.base_url={server.url}", "model.api_key_env=null"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        while not server.received and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=120)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    last = json.loads(out)["error"]["message"] if output == "json" else err.splitlines()[-1]
    assert f"{line} 'workspace={ws}'" in last


# --- signs -----------------------------------------------------------------------------------


def test_lines_of_records_are_lines_for_every_reader(tmp_path: Path) -> None:
    odd = {"a": "x\u2028y\u2029z\x85"}
    assert len(json_line(odd).splitlines()) == 1
    assert json.loads(json_line(odd)) == odd
    path = tmp_path / "q.jsonl"
    path.write_text('{"question": "One\\u2028two?", "answer": "Sun\\u2028"}\n')
    ws = tmp_path / "wörk (x)=1, [a]"
    done = typed("create", "author=file", f"author.path={path}", f"workspace={ws}", "output=json")
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 1
    assert len((ws / "benchmarks/1/questions.jsonl").read_text().splitlines()) == 1
    assert Workspace(ws).benchmark(1).questions[0].prompt == "One\u2028two?"
