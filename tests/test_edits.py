"""A person changes, renames and takes away drafts; one writing makes one benchmark, whoever asks, whenever killed."""

from __future__ import annotations

import dataclasses
import multiprocessing
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config, jobs
from benchgen.author.drafts import assignment
from benchgen.author.parts import Turn, write_parts
from benchgen.errors import InputError, NotFound, StateError
from benchgen.records import Benchmark, Write
from benchgen.store import BenchmarkRow, WriteRow, write_json
from benchgen.types import Evaluation, Question
from benchgen.workspace import Workspace
from tests.trained import planned

pytestmark = pytest.mark.slow  # real parts: files, processes

FILES = Path(__file__).parent / "cases" / "files"


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


@pytest.fixture
def bench(ws: Workspace) -> Benchmark:
    return ws.create(ws.author(FILES / "mcq_semicolon.csv"))


def files(folder: Path) -> dict[Path, bytes]:
    return {p: p.read_bytes() for p in folder.rglob("*") if p.is_file()}


# --- types -----------------------------------------------------------------------------------

WRONG: list[tuple[dict[str, Any], str]] = [
    ({"choices": [1, 2, 3, 4]}, "list of texts"),
    ({"choices": "a, b"}, "list of texts"),
    ({"choices": {"a": "b"}}, "list of texts"),
    ({"choices": None}, "list of texts"),
    ({"prompt": 5}, "text"),
    ({"prompt": ["x"]}, "text"),
    ({"rationale": None}, "text"),
    ({"category": {"a": 1}}, "text"),
    ({"difficulty": True}, "text"),
    ({"options": ["x"]}, "named values"),
    ({"options": {1: 2}}, "named values"),
    ({"target": 1}, "letter"),
    ({"target": [1]}, "letter"),
    ({"target": None}, "letter"),
    ({"target": "A", "rationale": 1e3}, "text"),
    ({"prompt": "\ud800"}, "cannot be so"),
    ({"choices": []}, "cannot be so"),
]


@pytest.mark.parametrize(("changes", "says"), WRONG, ids=str)
def test_a_value_of_the_wrong_type_is_refused_and_changes_nothing(
    bench: Benchmark, changes: dict[str, Any], says: str
) -> None:
    before = files(bench.folder)
    with pytest.raises(InputError, match=says) as refused:
        bench.edit(1, **changes)
    assert "\n" not in refused.value.message
    assert files(bench.folder) == before
    assert bench.questions


@pytest.mark.parametrize(
    ("answer", "changes", "says"),
    [
        ('"Sun"', {"target": [1000]}, "accepted texts"),
        ('"Sun"', {"target": []}, "accepted texts"),
        ("3", {"target": [3]}, "number"),
        ("3", {"target": True}, "number"),
        ("3", {"target": "many"}, "cannot be so"),
    ],
)
def test_a_target_is_checked_by_kind(
    ws: Workspace, answer: str, changes: dict[str, Any], says: str
) -> None:
    path = ws.path.parent / "q.jsonl"
    path.write_text(f'{{"question": "Which, or how many?", "answer": {answer}}}\n')
    bench = ws.create(ws.author(path))
    assert bench.row.kind == ("qa" if '"' in answer else "numeric")
    with pytest.raises(InputError, match=says):
        bench.edit(1, **changes)


def test_one_accepted_text_may_be_given_alone(ws: Workspace) -> None:
    path = ws.path.parent / "q.jsonl"
    path.write_text('{"question": "Which star?", "answer": "Sun"}\n')
    bench = ws.create(ws.author(path))
    assert bench.edit(1, target="Sol").questions[0].target == ["Sol"]


# --- names and taking away -------------------------------------------------------------------


def test_a_draft_can_be_renamed_and_a_published_one_cannot(bench: Benchmark) -> None:
    assert bench.rename("Stars & moons").row.name == "Stars & moons"
    assert "Stars &amp; moons" in Path(bench.link).read_text()
    for name in ("", "  ", "a\nb", "x" * 201):
        with pytest.raises(InputError, match="cannot name"):
            bench.rename(name)
    bench.publish()
    with pytest.raises(StateError, match="published and cannot be renamed"):
        bench.rename("other")
    assert bench.row.name == "Stars & moons"


def test_a_draft_can_be_deleted_and_nothing_else(ws: Workspace, bench: Benchmark) -> None:
    other = ws.create(ws.author(FILES / "mcq_all_A.csv")).publish()
    ws.run(other, "reference")
    before = files(other.folder)
    with pytest.raises(StateError, match="published and cannot be deleted"):
        other.delete()
    assert files(other.folder) == before
    bench.delete()
    assert not bench.folder.exists()
    assert ws.benchmarks()["id"].to_list() == [other.id]
    with pytest.raises(NotFound):
        ws.benchmark(bench.id)
    assert ws.create(ws.author(FILES / "mcq_semicolon.csv")).id > other.id  # no id twice


def test_a_published_one_that_nothing_uses_is_made_a_draft_again(
    ws: Workspace, bench: Benchmark, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(StateError, match="is draft: only a published one"):
        bench.unpublish()
    bench.publish()
    with pytest.raises(StateError, match="Next: benchgen unpublish benchmark_id=1") as failed:
        bench.delete()
    assert "\n" not in failed.value.message
    assert cli.run(["unpublish", "benchmark_id=1", f"workspace={ws.path}"]) == 0
    assert "draft" in capsys.readouterr().out
    assert bench.row.state == "draft"
    assert ", draft." in Path(bench.link).read_text()
    with pytest.raises(StateError, match="only a published one runs"):
        ws.run(bench, "reference")
    assert bench.edit(1, category="changed").id == bench.id  # in place again
    bench.publish().unpublish().delete()
    assert ws.benchmarks().is_empty()


def test_what_is_used_stays_published_and_says_by_what(
    ws: Workspace, bench: Benchmark, base_folder: Path
) -> None:
    bench.publish()
    stop = config.StopConfig(benchmark_id=bench.id)
    plan = planned(ws, base_folder, stop=stop)
    with pytest.raises(StateError, match=r"it is used by plan 1\. .*Next: benchgen edit"):
        bench.unpublish()
    with pytest.raises(StateError, match="cancelled"):
        ws.confirm(plan, "no")
    bench.unpublish().publish()
    ws.run(bench, "reference")
    ws.run(bench, "reference")
    for refused in (bench.unpublish, bench.delete):
        with pytest.raises(StateError, match="used by runs 1, 2") as failed:
            refused()
        assert "benchgen edit" in failed.value.next
        assert failed.value.exit_code == 2
    assert bench.row.state == "published"


# --- what a kill leaves ----------------------------------------------------------------------


def test_a_benchmark_whose_maker_was_killed_is_failed_and_can_be_taken_away(
    ws: Workspace, bench: Benchmark
) -> None:
    ws.store.change(BenchmarkRow, bench.id, state="writing", questions_sha256="")
    with jobs.record_lock(bench.folder):
        assert bench.state == "writing"
        with pytest.raises(StateError, match="another process"):
            bench.delete()
    assert bench.state == "failed"
    assert ws.benchmarks()["state"].to_list() == ["failed"]
    for attempt in (
        bench.publish,
        lambda: bench.edit(1, prompt="x"),
        lambda: ws.run(bench, "reference"),
        lambda: bench.questions,
        lambda: ws.export(bench, ws.path.parent / "b.zip"),
    ):
        with pytest.raises(StateError, match=r"failed.*benchgen delete benchmark_id=1"):
            attempt()
    bench.delete()
    assert ws.benchmarks().is_empty()


def test_what_fails_while_a_benchmark_is_made_leaves_nothing(
    ws: Workspace, bench: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    draft = ws.author(FILES / "mcq_all_A.csv")

    def interrupt(*_: Any) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr("benchgen.benchmark.registry.copy_program", interrupt)
    with pytest.raises(KeyboardInterrupt):
        ws.create(draft)
    assert ws.benchmarks()["id"].to_list() == [bench.id]
    assert [p.name for p in (ws.path / "benchmarks").iterdir()] == [str(bench.id)]


# --- one writing, one benchmark --------------------------------------------------------------


def written(ws: Workspace) -> Write:
    """A writing by a model, all of whose questions are written."""
    spec = config.load_author("llm", topic="letters", model="smollm2_135m")
    write = ws.begin(dataclasses.replace(spec, kind="qa", count=3, name="letters"))
    task = assignment(write.spec)
    asked = iter(("first of all is?", "second after it is?", "third and last is?"))

    def author(wanted: Any) -> list[Question]:
        return [Question("qa", next(asked), [f"w{i}"]) for i in range(wanted.number)]

    write_parts(author, task.layout, Evaluation(), write.folder, turn=Turn())
    write_json(write.folder / "doubtful.json", [])
    ws.store.change(WriteRow, write.id, state="finished", written=3)
    return write


def _create(path: Path, start: Any, found: Any) -> None:
    ws = Workspace(path)
    start.wait()
    found.put(ws.created(ws.get_write(1)).id)


def test_of_processes_at_once_all_get_the_same_benchmark(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(Path(__file__).parents[1])  # the new processes import this module
    written(ws)
    context = multiprocessing.get_context("spawn")
    start, found = context.Barrier(3), context.Queue()
    workers = [context.Process(target=_create, args=(ws.path, start, found)) for _ in range(3)]
    for worker in workers:
        worker.start()
    assert {found.get(timeout=240) for _ in workers} == {1}
    for worker in workers:
        worker.join()
    assert ws.benchmarks()["id"].to_list() == [1]
    assert ws.benchmarks()["state"].to_list() == ["draft"]


KILLED = """
import os, signal, sys
from benchgen.benchmark import registry
from benchgen.workspace import Workspace
ws = Workspace(sys.argv[1])
real = registry.copy_program
def copy(to, sources=None):
    real(to, sources)
    os.kill(os.getpid(), signal.SIGKILL)
registry.copy_program = copy
ws.created(ws.get_write(1))
"""


def test_killed_while_it_is_made_the_same_benchmark_is_made_whole(ws: Workspace) -> None:
    write = written(ws)
    killed = subprocess.run([sys.executable, "-c", KILLED, str(ws.path)], check=False)
    assert killed.returncode == -signal.SIGKILL
    assert ws.benchmarks()["state"].to_list() == ["failed"]
    with pytest.raises(StateError, match="benchgen resume write_id=1"):
        ws.benchmark(1).publish()
    assert ws.created(write).id == 1
    assert ws.benchmark(1).publish().questions
    assert ws.benchmarks().height == 1


def test_a_deleted_draft_of_a_writing_can_be_made_again(ws: Workspace) -> None:
    write = written(ws)
    ws.created(write).delete()
    assert write.row.benchmark_id is None
    assert write.status()["next"] == "benchgen resume write_id=1"
    assert ws.created(write).id == 2


def test_a_killed_writer_is_interrupted_and_says_how_to_go_on(ws: Workspace) -> None:
    write = ws.begin(written(ws).spec)
    assert write.status()["state"] == "begun"
    dead = subprocess.run([sys.executable, "-c", "import os; print(os.getpid())"], capture_output=True, check=True)  # fmt: skip
    jobs.beat(write.folder, int(dead.stdout))
    assert write.status()["state"] == "interrupted"
    assert write.status()["next"] == f"benchgen resume write_id={write.id}"
    assert ws.writes()["state"].to_list() == ["finished", "interrupted"]
    jobs.beat(write.folder, os.getpid())
    assert write.status()["state"] == "writing"
    assert "next" not in write.status()
