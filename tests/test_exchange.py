"""Other tools' formats: what goes out comes back the same, scores the same, and is read without trust.

That the real tools load these folders is measured by `experiments/interchange/run.py`.
"""

from __future__ import annotations

import importlib.util
import io
import json
import math
import os
import sys
import types
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
import yaml

from benchgen.benchmark import registry
from benchgen.benchmark.bundle import Bundle, packed_program
from benchgen.benchmark.exchange import hf, inspect_log
from benchgen.benchmark.exchange.content import task_name
from benchgen.benchmark.exchange.formats import FORMATS, read_any, write_as
from benchgen.benchmark.exchange.hf import read_hf, write_hf
from benchgen.benchmark.exchange.inspect_ai import write_inspect
from benchgen.benchmark.exchange.inspect_log import RunLog, write_inspect_log
from benchgen.benchmark.exchange.lm_eval import read_lm_eval, write_lm_eval
from benchgen.benchmark.prompts import render
from benchgen.errors import ConfigError, DataError
from benchgen.run.runner import Task, scored, trace_of
from benchgen.types import Evaluation, Question, Reply, Request, Trace

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

QUESTIONS = (
    Question("mcq", "Which planet is red?", "B", ("Venus", "Mars", "Earth"), "planets", "easy"),
    Question("mcq", "Which are even?", ["A", "C"], ("2", "3", "6")),
    Question(
        "qa", "Which planet is “red”?\u2028\U0001f534", ["Mars", "the red planet"], language="en"
    ),
    Question("numeric", "Half of one, to 4 digits?", "1/2", options={"rel_tol": 1e-4}),
    Question(
        "tool",
        "Ping host a.",
        [{"name": "ping", "arguments": {"host": "a"}}],
        options={"tools": [{"name": "ping", "parameters": {"host": "string"}}]},
    ),
    Question(
        "keypoints",
        "Why do leaves turn yellow?",
        ["chlorophyll breaks down", {"text": "carotenoids show", "weight": 2}],
        rationale="Chlorophyll breaks down.",
        source="a leaf",
        template="why",
        options={"require": "weighted", "threshold": 0.5},
    ),
)
REPLIES = (
    "Answer: B",
    "Internal server error",  # an outage: not measured
    "It is **Mars**\nAnswer: the red planet",
    "0.5",
    '<tool_call>{"name": "ping", "arguments": {"host": "b"}}</tool_call>',
    "The carotenoids show.",
)
EVALUATION = Evaluation(
    system="Be brief: {{ 1 }}.", instruct_in="system", max_new_tokens=96, stop=("\n\n", "'\"")
)
PROGRAM = packed_program(registry.program_sources())
BENCH = Bundle("Six kinds: {{ one }}", QUESTIONS, EVALUATION, PROGRAM)
DATA = {"lm_eval": "test.jsonl", "inspect": "dataset.jsonl", "huggingface": hf.DATA}


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }


def zipped(**files: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, text in files.items():
            archive.writestr(f"{name}.py", text)
    return buffer.getvalue()


FOREIGN = Bundle("foreign", QUESTIONS, EVALUATION, zipped(score="raise SystemExit('ran')"))


# ------------------------------------------------------------------------------------- round trip


@pytest.mark.parametrize("form", FORMATS)
def test_a_benchmark_comes_back_the_same(form: str, tmp_path: Path) -> None:
    """Questions with every field, their keys and order, how they are asked, and the scoring program."""
    more = tuple(Question("qa", f"What is {i}?", [str(i)]) for i in range(500))
    bench = Bundle(BENCH.name, (*QUESTIONS, *more), EVALUATION, PROGRAM)
    back = read_any(write_as(bench, tmp_path / "out", form))
    assert back == bench
    assert [q.key for q in back.questions] == [q.key for q in bench.questions]


@pytest.mark.parametrize("form", FORMATS)
def test_the_same_benchmark_gives_the_same_bytes(form: str, tmp_path: Path) -> None:
    first = bytes_of(write_as(BENCH, tmp_path / "a", form))
    (tmp_path / "b").mkdir()  # an empty folder is as good as none
    assert bytes_of(write_as(BENCH, tmp_path / "b", form)) == first
    assert not [path for path in tmp_path.iterdir() if path.name not in "ab"]


def test_an_unknown_format_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="huggingface"):
        write_as(BENCH, tmp_path / "out", "helm")


@pytest.mark.parametrize(
    ("name", "task"),
    [
        ("Six kinds!", "benchgen_six_kinds"),
        ("../../etc", "benchgen_etc"),
        ("x" * 100, "benchgen_" + "x" * 60),
        ("行星", "benchgen_19956b10"),
        ("Größe", "benchgen_groe"),
    ],
)
def test_a_task_has_a_name_that_any_tool_takes(name: str, task: str) -> None:
    assert task_name(name) == task


# --------------------------------------------------------------------------------------- writing


@pytest.mark.parametrize("form", FORMATS)
def test_nothing_that_is_there_is_written_over(form: str, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    (tmp_path / "file").touch()
    for name in ("out", "link", "file"):
        with pytest.raises(DataError, match="there already"):
            write_as(BENCH, tmp_path / name, form)
    assert bytes_of(tmp_path) == {"out/mine.txt": b"mine", "file": b""}


def test_a_folder_that_cannot_be_written_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(DataError, match="No space left"):
        write_hf(BENCH, tmp_path / "out")
    assert not list(tmp_path.iterdir())


def test_a_benchmark_without_questions_is_not_exported(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="without questions"):
        write_hf(Bundle("none", (), EVALUATION, PROGRAM), tmp_path / "out")


@pytest.mark.parametrize("write", [write_lm_eval, write_inspect])
def test_a_foreign_program_is_in_no_task_that_would_run_it(
    write: Callable[..., Path], tmp_path: Path
) -> None:
    with pytest.raises(DataError, match="would run it") as told:
        write(FOREIGN, tmp_path / "out")
    assert "Codabench" in told.value.message
    assert not list(tmp_path.iterdir())
    mine = registry.sources_sha256(FOREIGN.sources())
    assert (write(FOREIGN, tmp_path / "out", {mine}) / "program" / "score.py").exists()


def test_a_foreign_program_goes_out_with_the_data_as_it_came(tmp_path: Path) -> None:
    folder = write_hf(FOREIGN, tmp_path / "out")
    assert (folder / "scoring_program.zip").read_bytes() == FOREIGN.program


# --------------------------------------------------------------------------- lm-evaluation-harness


@pytest.fixture
def lm_eval(tmp_path: Path) -> Path:
    return write_lm_eval(BENCH, tmp_path / "lm_eval")


@pytest.fixture
def utils(lm_eval: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """The folder's utils.py as the harness loads it, with a stand-in for the library of datasets."""
    library: Any = types.ModuleType("datasets")
    library.Dataset = types.SimpleNamespace(from_list=list)
    monkeypatch.setitem(sys.modules, "datasets", library)
    spec = importlib.util.spec_from_file_location("exported_utils", lm_eval / "utils.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name in [name for name in sys.modules if name.startswith("benchgen_program_")]:
        del sys.modules[name]


def test_the_task_asks_in_the_same_words_and_greedily(lm_eval: Path, utils: Any) -> None:
    class Loader(yaml.SafeLoader):
        pass

    Loader.add_constructor("!function", lambda loader, node: f"function {node.value}")
    task = yaml.load((lm_eval / "benchgen_six_kinds_one.yaml").read_text(), Loader=Loader)
    assert task["task"] == "benchgen_six_kinds_one"
    assert task["output_type"] == "generate_until"
    assert task["generation_kwargs"] == {
        "until": ["\n\n", "'\""],
        "max_gen_toks": 96,
        "do_sample": False,
        "temperature": 0.0,
    }
    named = {
        value.removeprefix("function utils.")
        for value in map(str, task.values())
        if value.startswith("function ")
    }
    assert all(callable(getattr(utils, name)) for name in named)
    for question, row in zip(QUESTIONS, utils.dataset(version=1)["test"], strict=True):
        system, user = render(question, EVALUATION)
        assert task["description"] == "{{system}}"  # a template of the harness, filled from the row
        assert (row["key"], row["system"], row[task["doc_to_text"]]) == (
            question.key,
            system["content"],
            user["content"],
        )
        assert isinstance(row[task["doc_to_target"]], str)


def test_the_exported_task_scores_as_the_benchmark_does(utils: Any) -> None:
    newest = registry.load_program(registry.PROGRAM, {registry.program_sha256(registry.PROGRAM)})
    rows = utils.dataset()["test"]
    found = [utils.process_results(row, [r]) for row, r in zip(rows, REPLIES, strict=True)]
    ours = [scored(q, r, "stop", newest) for q, r in zip(QUESTIONS, REPLIES, strict=True)]
    assert [(f["acc"], f["strict"]) for f in found] == [(o["correct"], o["strict"]) for o in ours]
    assert [f["acc"] for f in found] == [1.0, None, 1.0, 1.0, 0.0, 1.0]
    assert utils.mean_of_measured([f["acc"] for f in found]) == 0.8
    assert math.isnan(utils.mean_of_measured([None]))


def test_a_crash_of_the_program_is_not_measured(utils: Any) -> None:
    row = {**QUESTIONS[0].to_dict(), "options": {"no_such": 1}}
    verdict = utils.frozen.score(row, "Answer: B")
    assert (verdict["correct"], verdict["status"]) == (None, "error")


def test_a_program_that_was_changed_scores_nothing(lm_eval: Path, utils: Any) -> None:
    (lm_eval / "program" / "mcq.py").write_text("def score(*_, **__): return 1\n")
    with pytest.raises(RuntimeError, match="changed"):
        utils.process_results(utils.dataset()["test"][0], ["Answer: B"])


# ------------------------------------------------------------------------------ Inspect, datasets


def test_a_sample_of_inspect_holds_messages_target_and_key(tmp_path: Path) -> None:
    folder = write_inspect(BENCH, tmp_path / "out")
    lines = (folder / "dataset.jsonl").read_text(encoding="utf-8").split("\n")
    samples = [json.loads(line) for line in lines if line]
    assert [s["input"] for s in samples] == [list(render(q, EVALUATION)) for q in QUESTIONS]
    assert [s["target"] for s in samples[:4]] == ["B", "A, C", ["Mars", "the red planet"], "1/2"]
    assert {s["id"] for s in samples} == {s["metadata"]["key"] for s in samples}
    code = (folder / "task.py").read_text()
    assert "def benchgen_six_kinds_one():" in code
    compile(code, "task.py", "exec")


def test_the_card_tells_what_the_data_are(tmp_path: Path) -> None:
    folder = write_hf(BENCH, tmp_path / "out")
    header = yaml.safe_load((folder / "README.md").read_text().split("---\n")[1])
    assert header["size_categories"] == ["n<1K"]
    assert header["dataset_info"]["splits"][0]["num_examples"] == 6
    frame = pl.read_parquet(folder / hf.DATA)
    assert frame.columns == [feature["name"] for feature in header["dataset_info"]["features"]]
    assert json.loads(frame["target"][1]) == ["A", "C"]
    assert frame["messages"][0].to_list() == list(render(QUESTIONS[0], EVALUATION))


# ---------------------------------------------------------------------------------- hostile folders


def changed_row(folder: Path, old: str, new: str) -> None:
    name = next(n for n in DATA.values() if (folder / n).exists())
    text = (folder / name).read_text()
    assert old in text
    (folder / name).write_text(text.replace(old, new))


def linked(folder: Path, name: str) -> None:
    target = folder.parent / "secret"
    (folder / name).rename(target)
    (folder / name).symlink_to(target)


def fifo(folder: Path, name: str) -> None:
    (folder / name).unlink()
    os.mkfifo(folder / name)


def large(folder: Path, name: str) -> None:
    with (folder / name).open("r+b") as file:
        file.truncate(2**40)  # a hole: takes no room


def many_programs(folder: Path) -> None:
    for i in range(600):
        (folder / "program" / f"x{i}.py").touch()


HOSTILE: dict[str, tuple[Callable[[Path], object], str]] = {
    "a data file that is a link": (lambda f: linked(f, "test.jsonl"), "link"),
    "a program that is a link": (lambda f: linked(f, "program"), "link"),
    "a module that is a link": (lambda f: linked(f, "program/qa.py"), "link"),
    "a pipe": (lambda f: fifo(f, "test.jsonl"), "no plain file"),
    "a file of a tebibyte": (lambda f: large(f, "test.jsonl"), "too large"),
    "an evaluation of a tebibyte": (lambda f: large(f, "evaluation.json"), "too large"),
    "a module of a tebibyte": (lambda f: large(f, "program/qa.py"), "too large"),
    "very many modules": (many_programs, "too many files"),
    "no data": (lambda f: (f / "test.jsonl").unlink(), "cannot be read"),
    "no benchgen.json": (lambda f: (f / "benchgen.json").unlink(), "cannot be read"),
    "another format": (
        lambda f: (f / "benchgen.json").write_text('{"exchange": 1, "format": "x"}'),
        "no benchmark",
    ),
    "a newer version": (
        lambda f: (f / "benchgen.json").write_text(
            '{"exchange": 2, "format": "lm-evaluation-harness"}'
        ),
        "no benchmark",
    ),
    "a changed target": (lambda f: changed_row(f, '"target":"B"', '"target":"C"'), "key"),
    "a target outside the options": (
        lambda f: changed_row(f, '"target":"B"', '"target":"Z"'),
        "cannot be read",
    ),
    "a field of a newer version": (lambda f: changed_row(f, '"rationale"', '"reason"'), "fields"),
    "a category that is a number": (lambda f: changed_row(f, '"planets"', "7"), "wrong type"),
    "an unknown kind": (
        lambda f: changed_row(f, '"kind":"qa"', '"kind":"essay"'),
        "cannot be read",
    ),
    "a question twice": (
        lambda f: (f / "test.jsonl").write_bytes((f / "test.jsonl").read_bytes() * 2),
        "twice",
    ),
    "no question": (lambda f: (f / "test.jsonl").write_text("\n"), "no question"),
    "a row without a question": (lambda f: (f / "test.jsonl").write_text("{}\n"), "a row without"),
    "not JSON": (lambda f: (f / "test.jsonl").write_text("hello\n"), "line 1: not JSON"),
    "JSON that nests": (lambda f: (f / "test.jsonl").write_text("[" * 10**6), "not JSON"),
    "not text": (lambda f: (f / "test.jsonl").write_bytes(b"\xff\xfe{"), "not JSON"),
    "tokens that are text": (
        lambda f: (f / "evaluation.json").write_text('{"max_new_tokens": "9"}'),
        "max_new_tokens",
    ),
    "an unknown setting": (
        lambda f: (f / "evaluation.json").write_text('{"samples": 9}'),
        "samples",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_was_tampered_with_is_refused(lm_eval: Path, name: str) -> None:
    tamper, told = HOSTILE[name]
    tamper(lm_eval)
    with pytest.raises(DataError, match=told):
        read_lm_eval(lm_eval)


def parquet(folder: Path, **columns: list[Any]) -> None:
    frame = pl.read_parquet(folder / hf.DATA)
    frame.with_columns(**{n: pl.Series(v) for n, v in columns.items()}).write_parquet(
        folder / hf.DATA
    )


PARQUET: dict[str, tuple[Callable[[Path], object], str]] = {
    "a target that is no JSON": (lambda f: parquet(f, target=["Mars"] * 6), "a row that"),
    "a missing column": (
        lambda f: pl.read_parquet(f / hf.DATA).drop("prompt").write_parquet(f / hf.DATA),
        "columns key",
    ),
    "kilobytes that unpack to 36 megabytes": (
        lambda f: parquet(f, prompt=["0" * 6_000_000] * 6),
        "unpacks to more than 32 MiB",
    ),
    "kilobytes that unpack to 60 million rows": (
        lambda f: pl.select(pl.repeat("x", 60_000_000).alias("key")).write_parquet(f / hf.DATA),
        "60000000 rows",
    ),
    "a program that is no zip": (
        lambda f: (f / "scoring_program.zip").write_bytes(b"x"),
        "not a zip",
    ),
    "a path upwards in the program": (
        lambda f: (f / "scoring_program.zip").write_bytes(zipped(**{"../evil": ""})),
        "leads out",
    ),
}


@pytest.mark.parametrize("name", PARQUET)
def test_a_dataset_that_was_tampered_with_is_refused(tmp_path: Path, name: str) -> None:
    tamper, told = PARQUET[name]
    folder = write_hf(BENCH, tmp_path / "out")
    tamper(folder)
    with pytest.raises(DataError, match=told):
        read_hf(folder)


@pytest.mark.parametrize("form", ["lm_eval", "inspect"])
def test_not_a_line_of_a_folder_is_run_by_reading_it(form: str, tmp_path: Path) -> None:
    folder = write_as(BENCH, tmp_path / "out", form)
    trap = f"open({str(tmp_path / 'ran')!r}, 'w').close()\n"
    names = ["utils.py", "task.py", "frozen.py", "conftest.py", "sitecustomize.py"]
    for name in [*names, "polars.py", "program/score.py"]:
        (folder / name).write_text(trap)
    back = read_any(folder)
    assert back.sources()["score.py"] == trap.encode()  # kept as bytes: for the workspace to judge
    assert not (tmp_path / "ran").exists()
    with pytest.raises(DataError, match="would run it"):
        write_as(back, tmp_path / "again", form)


# ------------------------------------------------------------------------------------- Inspect logs


def traces() -> tuple[Trace, ...]:
    score = registry.load_program(registry.PROGRAM, {registry.program_sha256(registry.PROGRAM)})
    replies = [Reply(text, tokens_in=10, tokens_out=3, seconds=0.5) for text in REPLIES]
    replies[0] = Reply("", "error", error="timeout")
    replies[3] = Reply("Answer: 0.", "length", 10, 96, 2.0)
    return tuple(
        trace_of(q, Request(render(q, EVALUATION)), reply, Task([q], EVALUATION, score))
        for q, reply in zip(QUESTIONS, replies, strict=True)
    )


def run_log(**changes: Any) -> RunLog:
    fields: dict[str, Any] = {
        "name": "Six kinds",
        "model": "reference",
        "created": "2026-11-30T10:00:00+01:00",
        "questions": QUESTIONS,
        "traces": traces(),
        "evaluation": EVALUATION,
        "program_sha256": "0" * 64,
        "config": {"run": 7, "seed": 0},
    }
    return RunLog(**{**fields, **changes})


def test_a_run_goes_out_as_a_log_of_inspect(tmp_path: Path) -> None:
    log = json.loads(write_inspect_log(run_log(), tmp_path / "run.json").read_text())
    assert (log["version"], log["status"]) == (2, "success")
    assert (log["eval"]["model"], log["eval"]["metadata"]["run"]) == ("reference", 7)
    assert log["eval"]["created"] == "2026-11-30T09:00:00+00:00"
    assert log["plan"]["config"]["max_tokens"] == 96
    assert [sample["id"] for sample in log["samples"]] == [q.key for q in QUESTIONS]
    third = log["samples"][2]
    assert [m["role"] for m in third["messages"]] == ["system", "user", "assistant"]
    assert third["output"]["completion"] == REPLIES[2]
    assert third["output"]["usage"] == {"input_tokens": 10, "output_tokens": 3, "total_tokens": 13}
    assert third["scores"]["frozen_program"]["value"] == {"acc": 1.0, "strict": 1.0}
    assert third["scores"]["frozen_program"]["answer"] == "the red planet"
    assert (third["total_time"], third["target"]) == (0.5, ["Mars", "the red planet"])
    assert log["samples"][3]["output"]["choices"][0]["stop_reason"] == "max_tokens"
    assert log["stats"]["model_usage"]["reference"]["total_tokens"] == 50 + 5 * 3 - 3 + 96


def test_what_was_not_measured_is_unscored_in_the_log(tmp_path: Path) -> None:
    log = json.loads(write_inspect_log(run_log(), tmp_path / "run.json").read_text())
    for sample in log["samples"][:2]:
        assert math.isnan(sample["scores"]["frozen_program"]["value"])
    assert log["samples"][0]["error"]["message"] == "timeout"
    acc, strict = log["results"]["scores"]
    assert (acc["scored_samples"], acc["unscored_samples"]) == (4, 2)
    right = sum(t.correct is True for t in traces())
    assert acc["metrics"]["mean"]["value"] == right / 4
    assert strict["name"] == "strict"
    assert log["results"]["completed_samples"] == 5  # one got no reply at all


def test_a_log_is_stable_and_written_once(tmp_path: Path) -> None:
    first = write_inspect_log(run_log(), tmp_path / "a.json").read_bytes()
    assert write_inspect_log(run_log(), tmp_path / "new" / "b.json").read_bytes() == first
    with pytest.raises(DataError, match="there already"):
        write_inspect_log(run_log(), tmp_path / "a.json")
    assert {path.name for path in tmp_path.iterdir()} == {"a.json", "new"}


@pytest.mark.parametrize(
    ("changes", "name", "told"),
    [
        ({"created": "yesterday"}, "a.json", "ISO 8601"),
        ({"questions": QUESTIONS[:2]}, "a.json", "without a question"),
        ({"traces": traces() * 2}, "a.json", "two of one"),
        ({}, "a.eval", "ending"),
    ],
)
def test_what_makes_no_log_is_refused(
    changes: dict[str, Any], name: str, told: str, tmp_path: Path
) -> None:
    with pytest.raises(DataError, match=told):
        write_inspect_log(run_log(**changes), tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_a_run_that_did_not_end_says_so(tmp_path: Path) -> None:
    half = run_log(traces=traces()[:3], created="2026-11-30T10:00:00")
    log = json.loads(write_inspect_log(half, tmp_path / "run.json").read_text())
    assert log["status"] == "cancelled"
    assert log["eval"]["created"] == "2026-11-30T10:00:00+00:00"
    assert inspect_log.STOP_REASONS["length"] == "max_tokens"
