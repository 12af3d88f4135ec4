"""The command line as typed: what it prints, its exit codes, and what it leaves behind."""

from __future__ import annotations

import dataclasses
import io
import json
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config, verbs
from benchgen.verbs import jobs, line
from tests.servers import ScriptedServer, refused

SMALL = ["benchmark.count=6", "benchmark.mix={}", "benchmark.categories={}"]

RUN = ["run", "benchmark_id=1", "model=reference"]

Command = Callable[..., tuple[int, dict[str, Any]]]


def said(workspace: Path, argv: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """(exit code, the JSON of the last line) of a command line on a workspace."""
    out = io.StringIO()
    with redirect_stdout(out):
        code = cli.run([argv[0], f"workspace={workspace}", "output=json", *argv[1:]])
    told: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return code, told


@pytest.fixture
def cmd(tmp_path: Path) -> Command:
    """A command line on an empty workspace."""
    return lambda *argv: said(tmp_path / "ws", argv)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A workspace with a published benchmark and a run, made once and copied by each test."""
    folder = tmp_path_factory.mktemp("made") / "ws"
    for argv in (["create", *SMALL], ["publish", "benchmark_id=1"], RUN):
        assert said(folder, argv)[0] == 0
    return folder


@pytest.fixture
def ran(made: Path, tmp_path: Path) -> Command:
    """A command line on a workspace where benchmark 1 is published and run 1 finished."""
    shutil.copytree(made, tmp_path / "ws")
    return lambda *argv: said(tmp_path / "ws", argv)


def files(folder: Path) -> set[str]:
    return {str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()}


@pytest.mark.slow
def test_create_publish_run_dataset(cmd: Command) -> None:
    code, made = cmd("create", *SMALL)
    assert (code, made["benchmark"], made["state"], made["questions"]) == (0, 1, "draft", 6)
    assert set(made["first"]) == {"prompt", "target", "target_text"}
    assert cmd("publish", "benchmark_id=1")[1]["state"] == "published"
    code, run = cmd("run", "benchmark_id=1", "model=reference")
    assert (code, run["run"], run["state"], run["score"]) == (0, 1, "finished", 1.0)
    keys = "run link state score ci right scored asked by_category by_status seconds"
    assert set(keys.split()) <= set(run)
    assert cmd("status", "run_id=1")[1] == run
    data = cmd("dataset", "run_id=1", "mode=distill", "rows=2")[1]
    assert (data["rows"], len(data["data"])) == (2, 2)


def test_a_run_that_measured_nothing_ends_with_1(
    ran: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with ScriptedServer(lambda _: refused(401, "no")) as server:
        address = f"model.base_url={server.url}"
        told = ["run", "benchmark_id=1", "model=endpoint", "model.name=away", address]
        code, shown = ran(*told, "limit=2", "sampling.top_p=0.9")
        assert (code, shown["scored"], shown["state"]) == (1, 0, "finished")
        assert ran("resume", f"run_id={shown['run']}", "retry_errors=yes")[0] == 1
    assert ran("status", f"run_id={shown['run']}")[0] == 0
    _, report = ran("report", f"runs=[1,{shown['run']}]")
    page = Path(report["report"]).with_name("report.md").read_text()
    assert "nothing was measured on 2 questions" in page
    assert "not distinguishable" not in page
    wanted = [*told[1:], "seed=0", "limit=2", "sampling.top_p=0.9"]
    [line] = [one for one in page.splitlines() if "model.name=away" in one]
    assert set(shlex.split(line)[2:]) == set(wanted)


@pytest.mark.slow
def test_a_sibling_has_other_questions(ran: Command, made: Path) -> None:
    code, told = ran("create", "sibling_of=1")
    assert (code, told["benchmark"], told["questions"]) == (0, 2, 6)
    assert told["name"] == "solar_system_basics_sibling_1"
    code, told = ran("create", "sibling_of=99")
    assert (code, told["error"]["got"]) == (2, 99)


def test_dry_creates_nothing(cmd: Command, tmp_path: Path) -> None:
    code, told = cmd("create", "dry=yes", *SMALL)
    assert (code, told["benchmark"], told["questions"]) == (0, None, 6)
    assert not (tmp_path / "ws").exists()


@pytest.mark.slow
def test_makers_leave_a_job_folder_and_look_ups_none(ran: Command, tmp_path: Path) -> None:
    jobs = tmp_path / "ws" / "hydra"
    assert {p.name for p in jobs.iterdir()} == {"create", "run"}
    before = files(tmp_path / "ws")
    for look in (["runs"], ["status", "run_id=1"], ["dataset", "run_id=1", "mode=all"], ["models"]):
        assert ran(*look)[0] == 0
    assert {f for f in files(tmp_path / "ws") if "-wal" not in f and "-shm" not in f} == {
        f for f in before if "-wal" not in f and "-shm" not in f
    }


@pytest.mark.slow
def test_dataset_files(ran: Command, tmp_path: Path) -> None:
    import polars as pl

    for form, read in (
        ("jsonl", pl.read_ndjson),
        ("parquet", pl.read_parquet),
        ("csv", pl.read_csv),
    ):
        path = tmp_path / f"rows.{form}"
        code, told = ran("dataset", "run_id=1", "mode=all", f"format={form}", f"path={path}")
        assert (code, told["rows"], read(path).height) == (0, 6, 6)


@pytest.mark.slow
def test_dataset_pages(ran: Command) -> None:
    code, told = ran("dataset", "run_id=1", "mode=all", "offset=4", "rows=5")
    assert code == 0
    assert (told["rows"], told["offset"], told["total"]) == (2, 4, 6)
    whole = ran("dataset", "run_id=1", "mode=all")[1]["data"]
    assert told["data"] == whole[4:]


@pytest.mark.slow
def test_a_bundle_goes_out_and_comes_back(ran: Command, tmp_path: Path) -> None:
    path = tmp_path / "b.zip"
    code, told = ran("export", "benchmark_id=1", f"path={path}")
    assert (code, told) == (0, {"benchmark": 1, "format": "codabench", "path": str(path)})
    code, told = ran("import", f"path={path}")
    assert (code, told["benchmark"], told["state"], told["questions"]) == (0, 2, "draft", 6)


@pytest.mark.slow
def test_stored_replies_are_scored_again_and_both_scores_told(ran: Command) -> None:
    code, told = ran("rescore", "run_id=1")
    assert code == 0
    assert [(s["own"], s["right"], s["asked"]) for s in told["scores"]] == [
        (True, 6, 6),
        (False, 6, 6),
    ]
    assert told["changed"] == {}


@pytest.mark.slow
def test_a_sweep_runs_every_element(ran: Command) -> None:
    assert ran("run", "benchmark_id=1", "model=reference", "seed=1,2", "-m")[0] == 0
    assert [r["id"] for r in ran("runs")[1]["runs"]] == [1, 2, 3]


@pytest.mark.slow
def test_plan_shows_the_asked_hyperparameters(ran: Command, base_folder: Path) -> None:
    code, plan = ran(
        "plan",
        "recipe=from_run",
        "run_id=1",
        "mode=distill",
        f"base_model='{base_folder}'",
        "recipe.max_steps=7",
        "recipe.learning_rate=2e-4",
    )
    assert code == 0
    assert plan["hyperparameters"]["max_steps"] == 7
    assert plan["hyperparameters"]["learning_rate"] == 2e-4
    assert len(plan["hash"]) == 12
    assert ran("jobs")[1]["jobs"] == []


@pytest.mark.slow
def test_lora_can_be_planned_on_a_file(cmd: Command, tmp_path: Path, base_folder: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"prompt": "a star?", "completion": "yes"}\n' * 3)
    base = f"base_model='{base_folder}'"
    code, plan = cmd("plan", "recipe=lora", f"dataset='{rows}'", base, "recipe.epochs=2")
    assert (code, plan["job_type"], plan["dataset"]["rows"]) == (0, "lora", 3)
    assert plan["estimates"]["steps"]["value"] == 2


BAD = [
    (["run", "benchmark_id=1", "model=smallm2_135m"], "smollm2_135m"),
    (["run", "benchmark_id=7", "model=reference"], "no benchmark 7"),
    (["run", "benchmark_id=x", "model=reference"], "benchmark_id"),
    (["run", "model=reference"], "benchmark_id="),
    (["run", "benchmark_id=1", "model=reference", "limit=0"], "leave limit out"),
    (["create", "benchmark=nope"], "solar_system_basics"),
    (["create", "benchmark.cuont=3"], "count"),
    (["create", "+benchmark.cuont=3"], "count"),
    (["create", "benchmark.count=0"], "1 to 2000"),
    (["create", "benchmark.count=2001"], "1 to 2000"),
    (["create", "benchmark.author.pack=nope"], "solar_system"),
    (["create", "nokey=1"], "nokey"),
    (["dataset", "run_id=1", "mode=wrong"], "distill"),
    (["dataset", "run_id=9"], "no run 9"),
    (["plan", "recipe=nope"], "from_run"),
    (["plan", "recipe=from_run"], "run_id="),
    (["plan", "recipe=from_run", "run_id=1", "base_model=smollm2_135m"], "no wrong answers"),
    (["plan", "recipe=from_run", "run_id=1", "mode=distill"], "base_model="),
    (["plan", "recipe=lora", "dataset=absent.jsonl", "base_model=smollm2_135m"], "absent.jsonl"),
    (["confirm", "plan_id=1", "answer=yes"], "no plan 1"),
    (["publish", "benchmark_id=1"], "published"),
    (["compare", "runs=[1]"], "two runs"),
    (["status"], "run_id"),
    (["loop"], "experiment="),
    (["loop", "experiment=nope"], "solar_system"),
    (["frobnicate"], "create"),
    (["staus", "run_id=1"], "did you mean benchgen status"),
    (["runs", "modle=x"], "did you mean model"),
    (["create"], "author=file author.path=FILE"),
    (["create", "count=5"], "author=file author.path=FILE"),
    (["runs", "-m"], "look-up"),
    (["run", "oops"], "key=value"),
    (["run", "benchmark_id=1", "model=reference", "hydra.run.dir=."], "hydra.run.dir"),
    (["run", "benchmark_id=1", "-c=job"], "cannot be set"),
    (["create", "benchmark.mix={easy:inf}"], "mix"),
    (["create", "benchmark.evaluation.temperature=nan"], "temperature"),
    (["create", "benchmark.evaluation.max_new_tokens=0"], "max_new_tokens"),
    (["plan", "recipe=from_run", "run_id='12'", "base_model=x/y"], "run_id"),
    (["status", "run_id=99999999999999999999999"], "no run"),
    (["dataset", "run_id=1", "mode=all", "rows=-1"], "rows=-1"),
    (["report", "runs=[1,1]"], "each once"),
    (["run", "benchmark=1", "model=reference"], "benchmark_id=1"),
    (["edit", "benchmark_id=1", "question=99", "change={prompt: x}"], "1 to 6"),
    (["edit", "benchmark_id=1", "question=1"], "change="),
    (["create", "benchmark.count=3", "hash=0123"], "previewed"),
    (["create", "author=file"], "author.path="),
    (["create", "author=file", "author.path=absent.csv"], "absent.csv"),
    (["create", "author=llm", "author.topic=x"], "author.model="),
    (["create", "author=llm", "author.topic=x", "author.model=nobody"], "nobody"),
    (["create", "author=poet"], "table"),
    (["create", "author.path=q.csv"], "author=file"),
    (["create", "benchmark=from_file", "author.path=gone, (x)=1.csv"], "gone, (x)=1.csv"),
    (["create", "author=file", "author.path=it's gone.csv"], "it's gone.csv"),
    (["create", "author=file", "author.path=q.csv", "author.columns={options: [a, b]}"], "columns"),
    (["import", "path=q.csv"], "q.csv"),
    (["edit", "benchmark_id=1", "question=1", "change={options: {reltol: 1}}"], "reltol"),
    (["dataset", "run_id=1", "mode=all", "path=rows.docx"], "format=docx"),
    (["confirm", "plan_id=1"], "answer="),
    (["run", "--benchmark_id=1"], "no dashes"),
    (["status", "write_id=9"], "no write"),
    (["run", "benchmark_id=1", "model=endpoint"], "model.base_url="),
    (["rescore", "run_id=1", "program=nope"], "latest"),
    (["rescore", "run_id=9"], "no run 9"),
    (["export", "benchmark_id=1", "format=zip", "path=b.zip"], "codabench"),
    (["import", "path=absent.zip"], "absent.zip"),
    (["import", "path=."], "cannot be read"),
]


@pytest.mark.slow  # half a second each
@pytest.mark.parametrize(
    ("argv", "says"), BAD, ids=lambda v: " ".join(v) if isinstance(v, list) else ""
)
def test_bad_input_is_one_line_exit_2_and_nothing_written(
    argv: list[str], says: str, ran: Command, tmp_path: Path
) -> None:
    before = files(tmp_path / "ws")
    code, told = ran(*argv)
    assert code == 2
    assert set(told["error"]) == {"message", "got", "allowed", "next"}
    assert "\n" not in told["error"]["message"]
    assert says in told["error"]["message"]
    assert files(tmp_path / "ws") <= before


@pytest.mark.slow
def test_a_refused_element_leaves_the_rest_of_a_sweep(ran: Command, tmp_path: Path) -> None:
    code, told = ran("run", "benchmark_id=99,1", "model=reference", "-m")
    assert (code, told["done"], told["failed"]) == (1, 1, 1)
    assert "no benchmark 99" in told["results"][0]["error"]
    assert [r["state"] for r in ran("runs")[1]["runs"]] == ["finished", "finished"]
    sweep = next((tmp_path / "ws" / "sweeps").iterdir())
    assert (sweep / "1" / ".hydra" / "config.yaml").is_file()


def test_nothing_but_the_jobs_own_folder_is_ever_removed(tmp_path: Path) -> None:
    thesis = tmp_path / "mine" / "run" / "x" / "thesis.txt"
    thesis.parent.mkdir(parents=True)
    thesis.write_text("years of work")
    jobs._remove_job(thesis.parent)
    assert thesis.exists()


@pytest.mark.slow
def test_errors_are_json_whatever_was_typed(tmp_path: Path) -> None:
    for odd in ("recipe.learning_rate=nan", "name=a\udcffb", "recipe.epochs=inf"):
        code, told = said(tmp_path / "ws", ["plan", "recipe=lora", odd])
        assert code == 2
        assert told["error"]["message"]


@pytest.mark.slow
def test_a_draft_is_not_run(cmd: Command, tmp_path: Path) -> None:
    cmd("create", *SMALL)
    before = files(tmp_path / "ws")
    code, told = cmd("run", "benchmark_id=1", "model=reference")
    assert (code, told["error"]["next"]) == (2, "benchgen publish benchmark_id=1")
    assert files(tmp_path / "ws") <= before


@pytest.mark.slow
def test_a_plan_is_decided_once(ran: Command, tmp_path: Path, base_folder: Path) -> None:
    base = f"base_model='{base_folder}'"
    assert ran("plan", "recipe=from_run", "run_id=1", "mode=distill", base)[0] == 0
    code, told = ran("confirm", "plan_id=1", "answer=sure")
    assert code == 2
    assert "cancelled" in told["error"]["message"]
    assert ran("confirm", "plan_id=1", "answer=yes")[0] == 2
    assert ran("jobs")[1]["jobs"] == []
    assert not (tmp_path / "ws" / "jobs").exists()


def test_an_unwritable_workspace_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    code = cli.run(["create", *SMALL, f"workspace={tmp_path / 'file' / 'ws'}", "output=json"])
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert code == 2
    assert str(tmp_path / "file") in told["error"]["message"]
    assert files(tmp_path) == {"file"}


def test_what_was_decided_of_a_file_is_told_in_sentences(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A column of marks is said to be left out, labels are not called letters, the language is doubted."""
    monkeypatch.chdir(tmp_path)
    Path("fragen.csv").write_text(
        "Frage,1,2,3,label,Points\nWas blüht gelb?,Raps,Mohn,Klee,1,2\nWas blüht rot?,Raps,Mohn,Klee,2,1\n"
    )
    assert cli.run(["create", "author=file", "author.path=fragen.csv"]) == 0
    shown = capsys.readouterr().out
    assert "decided: columns not used: 'Points'" in shown
    assert "decided: column 'label' holds an option's letter or label" in shown
    assert "note: 2 of 2 questions have letters that English has not" in shown
    assert "[]" not in shown
    Path("fragen.csv").write_text("question,answer\nWhat is π?,a number\nWhat is é?,a letter\n")
    assert (
        cli.run(["create", "author=file", "author.path=fragen.csv", "benchmark.language=de"]) == 0
    )
    assert "note:" not in capsys.readouterr().out


def test_bad_input_without_json_is_one_line_on_the_error_stream(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["run", "benchmark_id=1", f"workspace={tmp_path / 'ws'}"]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("benchgen: there is no benchmark 1")
    assert not (tmp_path / "ws").exists()


def test_every_verb_has_an_action_and_help() -> None:
    assert set(verbs.VERBS) == set(cli.ACTS)
    assert all(name in verbs.help_text("") for name in verbs.VERBS)
    assert "continue|from_run|" in verbs.help_text("plan")
    known = {field.name for field in dataclasses.fields(config.Config)}
    for verb, keys in verbs.VERB_KEYS.items():
        assert set(keys.split()) <= known & set(verbs.KEYS), verb


def test_a_verbs_help_tells_its_own_keys_defaults_an_example_and_where_the_rest_is() -> None:
    for verb in verbs.VERBS:
        told = verbs.help_text(verb)
        assert "\nExample: benchgen " + verb in told
        assert "workspace=PATH" in told
        for key in verbs.VERB_KEYS.get(verb, "").split():
            assert key in told
        assert ("experiment=" in told) == (verb in ("loop", "verify"))
    assert "lines         at most so many lines (default: 20)" in verbs.help_text("logs")
    assert "recipe=from_run|" not in verbs.help_text("run")
    assert "(default: smollm2_135m)" in verbs.help_text("run")
    assert "recipe.max_steps" in verbs.help_text("recipe")
    assert "(default: -1)" in verbs.help_text("recipe")


def test_catalogue_names_are_understood_as_models() -> None:
    assert line.name_models(["model=reference"]) == ["model=reference"]
    assert line.name_models(["model=Qwen/Qwen2.5-0.5B"]) == [
        "model=catalogue",
        "model.name='Qwen/Qwen2.5-0.5B'",
    ]
    both = line.name_models(["model=reference,my-model", "seed=1"], multirun=True)
    assert both == ["model=catalogue", "model.name='reference','my-model'", "seed=1"]
    odd = config.load(*line.name_models(["model=it's = mine"])).model
    assert (odd.kind, odd.name) == ("catalogue", "it's = mine")


def test_help_and_import_are_quick_and_load_no_torch() -> None:
    code = (
        "import sys, benchgen, benchgen.cli\n"
        "benchgen.cli.run(['--help'])\n"
        "heavy = {'torch', 'transformers', 'trl', 'polars', 'sqlalchemy', 'hydra'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.slow
def test_look_ups_load_no_torch(tmp_path: Path) -> None:
    code = (
        "import sys\nfrom benchgen import cli\n"
        f"assert cli.run(['runs', 'workspace={tmp_path}/ws']) == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize("argv", [["--help"], ["run", "--help"], ["--version"], []])
def test_help_exits_0(argv: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(argv) == 0
    assert capsys.readouterr().out
