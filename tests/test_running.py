"""Runs through the workspace: repeats, sampling, what got no reply, likelihood, cost, notes."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import os
import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

from benchgen import cli, config
from benchgen.errors import InputError, ModelError, StateError
from benchgen.models.device import processor
from benchgen.records import Benchmark
from benchgen.run import runner
from benchgen.run.runner import Sampling
from benchgen.stages import running
from benchgen.workspace import Workspace
from tests.servers import Received, ScriptedServer, refused, said

pytestmark = pytest.mark.slow

FORK = multiprocessing.get_context("fork")


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


def published(ws: Workspace, **evaluation: Any) -> Benchmark:
    """Six multiple choice questions, asked as told."""
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=6, mix={}, categories={}, exclude=[])
    spec.evaluation = dataclasses.replace(spec.evaluation, **evaluation)
    return ws.create(ws.author(spec)).publish()


def endpoint(url: str, **more: Any) -> config.ModelConfig:
    return config.ModelConfig(name="served", kind="endpoint", base_url=url, max_retries=0, **more)


def test_repeats_are_counted_apart_and_scored_by_question(ws: Workspace) -> None:
    bench = published(ws, options="letters")
    letters = iter("ABCD" * 100)
    with ScriptedServer(lambda r: said(f"Answer: {next(letters)}")) as server:
        option = endpoint(server.url, concurrency=1)
        run = ws.run(bench, option, repeats=4, sampling=Sampling(temperature=0.7))
        assert len({r.body["seed"] for r in server.received}) == 4
        assert {r.body["temperature"] for r in server.received} == {0.7}
    assert (run.summary["asked"], run.summary["questions"]) == (24, 6)
    # Each question was answered A, B, C and D once: a quarter right, by some reply always.
    assert run.score == pytest.approx(0.25)
    passes = {row["k"]: row["score"] for row in run.summary["pass_at_k"]}
    assert passes[1] == pytest.approx(0.25)
    assert passes[4] == 1.0
    assert [(t.key, t.repeat) for t in run.traces()][:5] == [
        *((bench.questions[0].key, r) for r in range(4)),
        (bench.questions[1].key, 0),
    ]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"repeats": 2}, "all be equal"),
        ({"repeats": 0}, "repeats"),
        ({"repeats": 101}, "1 to 100"),
        ({"sampling": Sampling(temperature=-1.0)}, "sampling.temperature"),
        ({"sampling": Sampling(temperature=9.0)}, "sampling.temperature"),
        ({"sampling": Sampling(top_p=0.0)}, "sampling.top_p"),
        ({"sampling": Sampling(top_k=-1)}, "sampling.top_k"),
        ({"sampling": Sampling(max_new_tokens=0)}, "sampling.max_new_tokens"),
    ],
)
def test_what_cannot_be_drawn_so_is_refused_and_nothing_recorded(
    ws: Workspace, settings: dict[str, Any], said: str
) -> None:
    bench = published(ws)
    with pytest.raises(InputError, match=said):
        ws.run(bench, "reference", **settings)
    assert ws.runs().height == 0


@pytest.mark.parametrize(
    ("hardware", "said"),
    [
        ({"batch_rows": 0}, "hardware.batch_rows=0"),
        ({"threads": 0}, "hardware.threads=0"),
        ({"threads": -2}, "hardware.threads=-2"),
        ({"dtype": "int4"}, "hardware.dtype=int4"),
        ({"device": "tpu"}, "hardware.device=tpu"),
    ],
    ids=str,
)
def test_hardware_that_no_machine_is_leaves_no_record(
    ws: Workspace, base_folder: Path, hardware: dict[str, Any], said: str
) -> None:
    bench, wrong = published(ws), config.HardwareConfig(**hardware)
    for model in (str(base_folder), "reference"):
        with pytest.raises(InputError, match=said) as failed:
            ws.run(bench, model, hardware=wrong)
        assert "\n" not in failed.value.message
    assert ws.runs().height == 0
    run = running.begin(ws.place, bench, "reference")
    with pytest.raises(InputError, match=said):
        ws.resume_run(run, hardware=wrong)
    assert run.row.state == "running"  # as it was: not failed by a slip of the keyboard
    [(key, value)] = hardware.items()
    told = [f"workspace={ws.path}", f"hardware.{key}={value}"]
    assert cli.run(["run", "benchmark_id=1", "model=reference", *told]) == 2
    assert ws.runs().height == 1


def test_replies_as_long_as_the_whole_context_are_refused(ws: Workspace, base_folder: Path) -> None:
    """No question would fit before them, and all would be unmeasured."""
    told = json.loads((base_folder / "config.json").read_text())
    (base_folder / "config.json").write_text(json.dumps({**told, "max_position_embeddings": 256}))
    bench = published(ws)
    with pytest.raises(InputError, match=r"tiny-base holds 256 tokens.*max_new_tokens=128"):
        ws.run(bench, str(base_folder), sampling=Sampling(max_new_tokens=256))
    long = published(ws, max_new_tokens=300)
    with pytest.raises(InputError, match="the benchmark's max_new_tokens=300"):
        ws.run(long, str(base_folder))
    with pytest.raises(InputError, match="holds 8192 tokens"):
        ws.run(bench, "smollm2_135m", sampling=Sampling(max_new_tokens=9000))
    assert ws.runs().height == 0
    running.begin(ws.place, long, str(base_folder), sampling=Sampling(max_new_tokens=100))
    running.begin(ws.place, long, "reference")  # which has no context


def test_a_finished_run_asks_again_what_got_no_reply_when_told(ws: Workspace) -> None:
    bench = published(ws)
    up = False

    def answer(received: Received) -> Any:
        first = bench.questions[0].prompt in received.prompt
        return refused(503, "busy") if first and not up else said("Answer: nothing known")

    with ScriptedServer(answer) as server:
        run = ws.run(bench, endpoint(server.url))
        assert run.summary["by_status"]["error"] == 1
        assert "retry_errors=yes" in run.status()["next"]
        asked = len(server.received)
        ws.resume_run(run)
        assert len(server.received) == asked
        before = run.row.traces_sha256
        ws.resume_run(run, retry_errors=True)
        assert run.traces().unanswered == {(bench.questions[0].key, 0)}
        up = True
        ws.resume_run(run, retry_errors=True)
        assert len(server.received) == asked + 2
    assert "error" not in run.summary["by_status"]
    assert run.summary["scored"] == 6
    assert "next" not in run.status()
    assert run.row.traces_sha256 != before
    assert (run.folder / "traces.parquet").exists()


def partly(ws: Workspace, bench: Benchmark, up: list[bool]) -> ScriptedServer:
    """A server that has no answer to the first two questions until it is told to be up."""

    def answer(received: Received) -> Any:
        first = any(q.prompt in received.prompt for q in bench.questions[:2])
        return refused(503, "busy") if first and not up else said("Answer: nothing known")

    return ScriptedServer(answer)


def test_a_retry_that_fails_leaves_the_run_finished(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that is gone or was trained anew takes nothing from what it answered before."""
    bench = published(ws)
    with partly(ws, bench, []) as server:
        run = ws.run(bench, endpoint(server.url))
        before = (run.summary, run.row.traces_sha256)

        def gone(*_: Any) -> Any:
            raise ModelError("the weights are gone")

        with monkeypatch.context() as patch:
            patch.setattr(running, "loaded", gone)
            with pytest.raises(ModelError):
                ws.resume_run(run, retry_errors=True)
        assert (run.summary, run.row.traces_sha256) == before
        real = runner.run

        def half(*arguments: Any, **told: Any) -> Any:
            def stop(done: int, total: int) -> None:
                if done == total - 1:
                    raise OSError(28, "No space left on device")

            task, model, path, _ = arguments
            return real(task, model, path, stop, **told)

        monkeypatch.setattr(runner, "run", half)
        with pytest.raises(OSError, match="No space"):
            ws.resume_run(run, retry_errors=True)
    assert run.state == "finished"
    assert len(run.traces()) == 6
    assert run.summary["scored"] == 4


def test_killed_while_asking_again_a_run_ends_without_its_model(
    ws: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real process, killed with SIGKILL after the first new answer; then the model is gone for good."""
    bench, up = published(ws), list[bool]()

    def killed(done: int, total: int) -> None:
        if done == total - 1:
            os.kill(os.getpid(), signal.SIGKILL)

    with partly(ws, bench, up) as server:
        run = ws.run(bench, endpoint(server.url, concurrency=1))
        up.append(True)
        told = {"retry_errors": True, "progress": killed}
        child = FORK.Process(target=ws.resume_run, args=(run.id,), kwargs=told)
        child.start()
        child.join(60)
        assert child.exitcode == -signal.SIGKILL
    assert run.state == "interrupted"
    monkeypatch.setattr(running, "loaded", None)
    ws.resume_run(run)
    assert run.state == "finished"
    assert run.traces().unanswered == {(bench.questions[1].key, 0)}
    assert run.summary["scored"] == 5


def test_cost_is_told_where_prices_are_known(ws: Workspace) -> None:
    """And noted on the run of whoever asked."""
    bench = published(ws)
    with ScriptedServer(lambda r: said()) as server:
        assert ws.run(bench, endpoint(server.url)).summary["cost"] is None
        priced = ws.run(bench, endpoint(server.url, price_in=2.0, price_out=10.0))
    assert priced.summary["cost"] == pytest.approx(6 * (7 * 2.0 + 3 * 10.0) / 1e6)
    assert priced.row.owner == ws.user


def test_what_an_endpoint_does_not_take_is_a_note_of_the_run(ws: Workspace) -> None:
    def answer(received: Received) -> Any:
        if "stop" in received.body:
            return refused(
                400, "Unsupported parameter: 'stop' is not supported with this model.", param="stop"
            )
        return said()

    bench = published(ws, stop=["\n\n"])
    with ScriptedServer(answer) as server:
        run = ws.run(bench, endpoint(server.url))
    assert run.status()["notes"] == ["the endpoint did not take stop: asked without"]


def test_an_endpoint_tells_no_likelihoods(ws: Workspace) -> None:
    bench = published(ws, method="likelihood")
    with pytest.raises(InputError, match="no likelihoods"):
        ws.run(bench, endpoint("http://127.0.0.1:9/v1"))
    assert ws.runs().height == 0


def test_progress_of_a_run_reads_as_promised(ws: Workspace) -> None:
    run = running.begin(ws.place, published(ws), "reference")
    assert run.status()["progress"] == "Processing: 0/6 (0%)"


@pytest.mark.torch
def test_a_run_goes_on_as_it_was_begun_and_not_with_another_model(
    ws: Workspace, tiny_model: Path, tmp_path: Path
) -> None:
    """`benchgen resume run_id=1` does: of hardware told at first the dtype is kept, as it decides replies."""
    folder = tmp_path / "model"
    shutil.copytree(tiny_model, folder)
    own = "float32" if processor().dtype == "bfloat16" else "bfloat16"
    bench = published(ws)

    def stopping(done: int, total: int) -> None:
        if done == 2:
            raise RuntimeError("stopped")

    run = running.begin(ws.place, bench, str(folder), sampling=Sampling(max_new_tokens=2))
    with pytest.raises(RuntimeError):
        ws.resume_run(run, hardware=config.HardwareConfig(dtype=own), progress=stopping)
    assert run.state == "failed"
    other = config.HardwareConfig(dtype=processor().dtype)
    with pytest.raises(StateError, match=f"hardware.dtype={own}"):
        ws.resume_run(run, hardware=other)
    weights = (folder / "model.safetensors").read_bytes()
    (folder / "model.safetensors").write_bytes(weights[:-64] + bytes(64))
    with pytest.raises(StateError, match="begin a new run"):
        ws.resume_run(run)
    (folder / "model.safetensors").write_bytes(weights)
    ws.resume_run(run, hardware=config.HardwareConfig(batch_rows=1))
    assert run.state == "finished"
    assert run.row.settings["device"]["dtype"] == own
    assert len(run.traces()) == 6


@pytest.mark.slow
@pytest.mark.torch
@pytest.mark.parametrize("options", ["letters", "names", "hidden"])
def test_a_local_model_picks_by_likelihood_and_its_dtype_is_on_record(
    ws: Workspace, options: str
) -> None:
    bench = published(ws, method="likelihood", options=options)
    run = ws.run(bench, "smollm2_135m")
    assert run.summary["by_status"] == {"ok": 6}
    assert run.row.settings["device"]["dtype"] in ("bfloat16", "float32")
    for trace, question in zip(run.traces(), bench.questions, strict=True):
        found = trace.likelihood
        assert found is not None
        shown = ["A", "B", "C", "D"] if options == "letters" else list(question.choices)
        assert found["text"] == shown
        assert found["characters"] == [len(text) for text in shown]
        lengths = [1] * 4 if options == "letters" else found["characters"]
        values = [value / n for value, n in zip(found["logprob"], lengths, strict=True)]
        assert trace.reply == "ABCD"[values.index(max(values))]
        assert trace.correct == (trace.reply == question.target)
    reference = ws.run(bench, "reference")
    assert reference.score == 1.0
