"""`benchgen chat`, and a chat done again: as the script of commands and as the notebook that it exports to."""

from __future__ import annotations

import ast
import io
import json
import os
import pty
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config, jobs
from benchgen.agent import acting
from benchgen.agent.acting import Do
from benchgen.agent.reply import Reply
from benchgen.agent.session import Agent
from benchgen.agent.situation import Situation, Wish
from benchgen.agent.turn import Turn
from benchgen.errors import InputError, StateError
from benchgen.workspace import Workspace
from tests.servers import Answer, Received, ScriptedServer, said

pytestmark = pytest.mark.slow

BENCHGEN = str(Path(sys.executable).with_name("benchgen"))
TABLE = "question,A,B,answer\nIs ice cold?,yes,no,A\nIs fire cold?,yes,no,B\n"


class Brain:
    """Reads the messages that it was told, each as the wish it stands for."""

    leaves = False

    def __init__(self, readings: dict[str, Wish]) -> None:
        self.readings = readings

    def reply(self, text: str, situation: Situation, do: Do, turn: Turn) -> Reply:
        wish = self.readings.get(text, Wish("unclear"))
        return acting.answer(wish, do(wish))


# ------------------------------------------------------------------------------------ in a terminal


def chatted(monkeypatch: pytest.MonkeyPatch, workspace: Path, lines: str, *words: str) -> int:
    """The exit code of `benchgen chat` with these lines on its standard input."""
    monkeypatch.setattr(sys, "stdin", io.StringIO(lines))
    return cli.run(["chat", f"workspace={workspace}", *words])


def test_each_line_is_a_message_and_each_answer_an_object(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workspace_path: Path
) -> None:
    lines = "what can you do?\nyes\n\nrun benchmark 99 on reference\n"
    assert chatted(monkeypatch, workspace_path, lines, "output=json") == 0
    found = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert len(found) == 4
    assert all(set(f) == {"text", "intent", "arguments", "plan", "choices", "links"} for f in found)
    assert [f["intent"] for f in found[1:3]] == ["nothing_pending", "ignore_or_cancel"]


def test_without_json_the_answers_are_plain_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workspace_path: Path
) -> None:
    assert chatted(monkeypatch, workspace_path, "yes\n") == 0
    out = capsys.readouterr().out
    assert out.startswith("Nothing waits for a word of yours")
    assert "\x1b" not in out


def test_no_message_is_no_chat(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workspace_path: Path
) -> None:
    assert chatted(monkeypatch, workspace_path, "") == 0
    assert capsys.readouterr().out == ""
    assert not workspace_path.exists()


def test_a_chat_goes_on_under_its_name(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workspace_path: Path
) -> None:
    for _ in range(2):
        assert chatted(monkeypatch, workspace_path, "yes\n", "session=mine") == 0
    log = workspace_path / "chats" / "mine" / "events.jsonl"
    users = [
        e
        for e in map(json.loads, log.read_text(encoding="utf-8").splitlines())
        if e["type"] == "user"
    ]
    assert len(users) == 2


@pytest.mark.parametrize(
    ("word", "said"),
    [
        ("session=../x", "no name of a chat"),
        ("agent=llm", "needs the model"),
        ("agent.name=clever", "no agent 'clever'"),
        ("agent=nobody", "nobody"),
        ("limits.turn_s=soon", "limits.turn_s"),
        ("limits.turn_s=0", "limits.turn_s"),
    ],
)
def test_what_cannot_be_is_one_line_and_exit_2(
    word: str,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    workspace_path: Path,
) -> None:
    assert chatted(monkeypatch, workspace_path, "help\n", word) == 2
    err = capsys.readouterr().err
    assert said in err
    assert err.count("\n") == 1


def test_bytes_that_are_no_text_are_one_line_and_exit_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], workspace_path: Path
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\xff\xfe\x00\n"), "utf-8"))
    assert cli.run(["chat", f"workspace={workspace_path}"]) == 2
    assert "no text" in capsys.readouterr().err


@pytest.mark.slow
def test_a_person_types_at_a_prompt(workspace_path: Path) -> None:
    """A real terminal: a prompt, an answer, `exit`."""
    main, side = pty.openpty()
    process = subprocess.Popen(
        [BENCHGEN, "chat", f"workspace={workspace_path}"], stdin=side, stdout=side, stderr=side
    )
    os.close(side)
    os.write(main, b"yes\nexit\n")
    shown = b""
    while True:
        try:
            part = os.read(main, 4096)
        except OSError:  # the other side is closed: all was said
            break
        if not part:
            break
        shown += part
    assert process.wait(timeout=60) == 0
    assert b"you> " in shown
    assert b"Nothing waits" in shown


@pytest.mark.slow
def test_a_run_is_stopped_by_the_command_that_the_chat_names(
    workspace_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its process is ended, what was answered is kept; one that runs in this very process is not ended."""

    def slowly(received: Received) -> Answer:
        time.sleep(0.5)
        return said("Answer: A")

    ws = Workspace(workspace_path)
    agent = Agent(ws, "rules")
    agent.send("create 20 multiple choice questions about the solar system")
    agent.send("Create it")
    with ScriptedServer(slowly) as server:
        ws.model(
            config.ModelConfig(name="slow", kind="endpoint", base_url=server.url, concurrency=1)
        )
        run = agent.send("publish it and run slow on it").arguments["run"]
        while len(ws.get_run(run).traces()) < 2 and ws.get_run(run).state in ("queued", "running"):
            time.sleep(0.1)
        named = agent.send(f"stop run {run}")
        assert named.intent == "refuse_unsupported"
        assert ws.get_run(run).state == "running"
        line = f"benchgen stop run_id={run}"
        assert line in named.text
        assert cli.run([*line.split()[1:], f"workspace={workspace_path}", "output=json"]) == 0
        assert json.loads(capsys.readouterr().out)["state"] == "interrupted"
        assert 2 <= len(ws.get_run(run).traces()) < 20
        assert cli.run([*line.split()[1:], f"workspace={workspace_path}"]) == 2
        with (
            jobs.beating(ws.get_run(run).folder),
            pytest.raises(StateError, match="not in the background"),
        ):
            ws.get_run(run).stop()


# ----------------------------------------------------------------------------------------- done again

READINGS = {
    "six on the solar system": Wish(
        "create_benchmark", {"topic": "the solar system", "n": 6, "kind": "mcq", "name": "It's six"}
    ),
    "this table": Wish("import_inline", {"table": TABLE, "name": "Cold", "kind": "mcq"}),
    "publish 1": Wish("publish", {"benchmark": 1}),
    "publish and run": Wish("publish_and_run", {"benchmark": 2, "model": "reference"}),
    "run": Wish("run_benchmark", {"benchmark": 1, "model": "reference", "limit": 4, "seed": 3}),
    "status": Wish("run_status", {"run": 1}),
    "rows": Wish("show_dataset", {"run": 1, "mode": "distill", "rows": 2}),
    "both": Wish("compare_runs", {"runs": [1, 3]}),
    "again": Wish("run_benchmark", {"benchmark": 1, "model": "reference", "limit": 4}),
    "nonsense": Wish("run_status", {"run": 99}),
    "plan": Wish(
        "plan_training",
        {"job_type": "from-run", "run": 1, "mode": "distill", "base_model": "smollm2_135m", "max_steps": 1, "name": "tiny"},
    ),
}  # fmt: skip


def wait_for_runs(ws: Workspace) -> None:
    """Until every run has ended; however slow the machine, a run whose process is gone has ended, too."""
    while any(ws.get_run(id).state in ("queued", "running") for id in ws.runs()["id"]):
        time.sleep(0.1)
    assert set(ws.runs()["state"]) == {"finished"}, ws.runs()


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> tuple[Workspace, Agent]:
    """A chat that made two benchmarks and three runs, and cancelled a plan."""
    ws = Workspace(tmp_path_factory.mktemp("chat") / "first")
    agent = Agent(ws, Brain(READINGS), "first")
    for text in (
        "six on the solar system",
        "Create it",
        "publish 1",
        "run",
        "this table",
        "Create it",
    ):
        assert agent.send(text).intent not in ("error", "clarify"), text
    agent.send("publish and run")
    wait_for_runs(ws)
    agent.send("again")
    wait_for_runs(ws)
    for text in ("status", "rows", "both", "nonsense", "plan", "no"):
        agent.send(text)
    return ws, agent


def same(one: Workspace, two: Workspace) -> None:
    """None; the two hold the same questions, asked in the same way, with the same replies."""
    for id in one.benchmarks()["id"].sort():
        assert one.benchmark(id).questions == two.benchmark(id).questions
        assert one.benchmark(id).evaluation == two.benchmark(id).evaluation
        assert one.benchmark(id).row.name == two.benchmark(id).row.name
        assert one.benchmark(id).row.state == two.benchmark(id).row.state
    assert sorted(one.runs()["id"]) == sorted(two.runs()["id"])
    for id in one.runs()["id"]:
        first, second = one.get_run(id), two.get_run(id)
        assert first.score == second.score
        assert {**first.row.settings, "device": 0} == {**second.row.settings, "device": 0}
        assert first.dataset("all").equals(second.dataset("all"))


@pytest.mark.slow
def test_the_commands_do_it_again(done: tuple[Workspace, Agent], tmp_path: Path) -> None:
    """In another workspace, where other records may have other ids."""
    ws, agent = done
    script = agent.export(tmp_path / "a folder" / "again.sh", "commands")
    told = script.read_text(encoding="utf-8")
    assert "# you: six on the solar system" in told
    assert "benchgen create author=table" in told, "its config makes the same questions again"
    assert "benchgen import" in told, "a pasted table goes along as a bundle"
    assert "benchgen plan" not in told, "it was cancelled"
    path = f"{Path(BENCHGEN).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
    again = tmp_path / "second"
    ran = subprocess.run(
        [str(script)],
        env={**environment, "BENCHGEN_WORKSPACE": str(again)},
        cwd="/",
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    same(ws, Workspace(again))


@pytest.mark.slow
def test_the_notebook_does_it_again(
    done: tuple[Workspace, Agent], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import nbformat

    ws, agent = done
    path = agent.export(tmp_path / "again.ipynb")
    book = nbformat.reads(path.read_text(encoding="utf-8"), as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(book)
    said = "\n".join(cell.source for cell in book.cells if cell.cell_type == "markdown")
    assert "six on the solar system" in said
    assert "Benchmark 1 is created" in said
    cells = [cell.source for cell in book.cells if cell.cell_type == "code"]
    again = tmp_path / "second"
    monkeypatch.setenv("BENCHGEN_WORKSPACE", str(again))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for source in cells:
        exec(compile(ast.parse(source), str(path), "exec"), names)
    same(ws, Workspace(again))


@pytest.mark.slow
def test_a_chat_is_exported_by_the_command_line(
    done: tuple[Workspace, Agent], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ws, _ = done
    words = ["export", f"workspace={ws.path}", "session=first", "output=json"]
    for form, name in (("notebook", "x.ipynb"), ("commands", "x.sh")):
        assert cli.run([*words, f"format={form}", f"path={tmp_path / name}"]) == 0
        assert json.loads(capsys.readouterr().out)["path"] == str(tmp_path / name)
        assert cli.run([*words, f"format={form}", f"path={tmp_path / name}"]) == 2
        capsys.readouterr()
    assert cli.run([*words, "format=pdf", f"path={tmp_path / 'x.pdf'}"]) == 2
    capsys.readouterr()
    assert (
        cli.run(["export", f"workspace={ws.path}", "session=none", f"path={tmp_path / 'y'}"]) == 2
    )
    assert "nothing in the chat none" in capsys.readouterr().err


def test_an_empty_chat_has_no_export(workspace_path: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="nothing in the chat"):
        Agent(Workspace(workspace_path)).export(tmp_path / "x.ipynb")


@pytest.mark.slow
@pytest.mark.torch
def test_a_training_is_planned_confirmed_and_waited_for_again(
    tmp_path: Path, tiny_model: Path
) -> None:
    """One step of a real training, by the script: the plan is the same, its hash for other runs is not."""
    ws = Workspace(tmp_path / "first")
    tiny = Wish("plan_training", {**READINGS["plan"].arguments, "base_model": str(tiny_model)})
    agent = Agent(ws, Brain({**READINGS, "plan": tiny}), "first")
    for text in ("six on the solar system", "Create it", "publish 1", "run"):
        agent.send(text)
    wait_for_runs(ws)
    assert agent.send("plan").intent == "plan_training"
    assert agent.send("yes").intent == "confirm_plan"
    script = agent.export(tmp_path / "again.sh", "commands")
    path = f"{Path(BENCHGEN).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHON": sys.executable}
    again = tmp_path / "second"
    ws.job(1).wait()
    ran = subprocess.run(
        [str(script)],
        env={**environment, "BENCHGEN_WORKSPACE": str(again)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    first, second = ws.job(1).plan, Workspace(again).job(1).plan
    assert Workspace(again).job(1).state == "finished"
    assert first.hyperparameters == second.hyperparameters
    assert first.dataset["sha256"] == second.dataset["sha256"]
    assert first.name == second.name == "tiny"
