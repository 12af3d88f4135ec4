"""A training that runs out of memory, stops learning, or goes wrong: it goes on smaller, or says why not."""

from __future__ import annotations

import functools
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchgen.errors import DataError, StateError, TrainingError  # noqa: E402
from benchgen.plan.grpo_limits import check_grpo  # noqa: E402
from benchgen.train import encoding, fitting  # noqa: E402
from benchgen.train.grpo_settings import GRPOSettings  # noqa: E402
from benchgen.train.job import HeldOut  # noqa: E402
from benchgen.train.reporting import reporter  # noqa: E402
from benchgen.train.sft import train_lora  # noqa: E402
from benchgen.workspace import Workspace  # noqa: E402
from tests.test_train_sft import FAST, ROWS, losses, tiny  # noqa: E402, F401 - a fixture
from tests.trained import dataset, ended  # noqa: E402

pytestmark = pytest.mark.torch


class State:
    max_steps, epoch = 9, 0.0

    def __init__(self, step: int) -> None:
        self.global_step = step


# ------------------------------------------------------------------------------------------ memory


def small_memory(monkeypatch: pytest.MonkeyPatch, most: int, after: int = 0) -> list[int]:
    """The model's memory holds `most` rows from its forward pass number `after` on; rows seen at each."""
    from transformers import LlamaForCausalLM

    seen: list[int] = []
    forward = LlamaForCausalLM.forward

    @functools.wraps(forward)  # what a model takes is read from its signature
    def limited(self: Any, input_ids: Any = None, **rest: Any) -> Any:
        if self.training:
            seen.append(len(input_ids))
            if len(seen) > after and len(input_ids) > most:
                raise torch.OutOfMemoryError("CUDA out of memory")
        return forward(self, input_ids=input_ids, **rest)

    monkeypatch.setattr(LlamaForCausalLM, "forward", limited)
    return seen


@pytest.mark.slow
def test_out_of_memory_goes_on_with_fewer_rows_and_the_same_steps(
    tiny: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = replace(FAST, batching="padded")
    whole, _ = losses(tiny, tmp_path / "whole", settings)
    small_memory(monkeypatch, most=1)
    curve, outcome = losses(tiny, tmp_path / "small", settings)
    assert (outcome.batch_size, outcome.gradient_accumulation) == (1, 4)
    assert len(outcome.notes) == 2  # 4 rows, 2 rows, 1 row
    assert "2 rows at once, 2 added up" in outcome.notes[0]
    assert outcome.steps == 4
    assert curve == pytest.approx(whole, abs=1e-3)


@pytest.mark.slow
def test_out_of_memory_later_on_keeps_the_steps_that_are_saved(
    tiny: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    settings = replace(FAST, batching="padded")
    whole, _ = losses(tiny, tmp_path / "whole", settings)
    seen = small_memory(monkeypatch, most=2, after=3)
    curve, outcome = losses(tiny, tmp_path / "late", settings)
    assert seen[:4] == [4, 4, 4, 4]
    assert outcome.resumed_at == 2  # the last whole checkpoint
    assert seen[4:] == [2] * 4  # steps 3 and 4 again, in halves
    assert curve[-1] == pytest.approx(whole[-1], abs=1e-3)


@pytest.mark.slow
def test_memory_that_holds_no_row_is_said(
    tiny: Path,  # noqa: F811
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    small_memory(monkeypatch, most=0)
    with pytest.raises(TrainingError, match="does not hold a training step of 1 rows"):
        losses(tiny, tmp_path, replace(FAST, batching="padded"))
    assert not (tmp_path / "adapter").exists()


@pytest.mark.parametrize(
    ("batch", "expected"), [(8, (4, 2)), (6, (3, 2)), (9, (3, 3)), (5, (1, 5)), (2, (1, 2))]
)
def test_the_product_stays_whatever_the_batch(batch: int, expected: tuple[int, int]) -> None:
    found = fitting.smaller(replace(FAST, batch_size=batch), RuntimeError(), 0)
    assert (found.batch_size, found.gradient_accumulation) == expected
    with pytest.raises(TrainingError):
        fitting.smaller(replace(FAST, batch_size=batch), RuntimeError(), fitting.MOST_HALVINGS)


@pytest.mark.parametrize(("batch", "accumulation", "group"), [(8, 4, 8), (16, 1, 4), (6, 2, 3)])
def test_a_group_still_divides_a_step_after_every_halving(
    batch: int, accumulation: int, group: int
) -> None:
    """A group may then lie in several passes: its rewards were compared before."""
    settings = replace(FAST, batch_size=batch, gradient_accumulation=accumulation)
    for halvings in range(fitting.MOST_HALVINGS):
        if settings.batch_size == 1:
            break
        settings = fitting.smaller(settings, RuntimeError(), halvings)
        told = {**GRPOSettings().to_dict(), "num_generations": group}
        check_grpo(told, settings.batch_size, settings.gradient_accumulation)


# -------------------------------------------------------------------------------------- early stop


def scripted(*scores: float | None) -> tuple[HeldOut, list[int]]:
    """Held-out scores as told, one an evaluation; the adapter's weights at each, as a number."""
    left, seen = list(scores), []

    def evaluate(model: Any, tokenizer: Any) -> dict[str, Any]:
        seen.append(weight_of(model))
        return {"score": left.pop(0), "right": 0, "scored": 1}

    return HeldOut(evaluate, every=1, patience=2), seen


def weight_of(model: Any) -> Any:
    return round(
        sum(float(p.detach().sum()) for n, p in model.named_parameters() if "lora_B" in n), 6
    )


def loaded(adapter: str) -> float:
    from safetensors.torch import load_file

    weights = load_file(Path(adapter) / "adapter_model.safetensors")
    return round(sum(float(w.sum()) for name, w in weights.items() if "lora_B" in name), 6)


@pytest.mark.slow
def test_training_stops_when_the_score_falls_and_the_best_adapter_lands(
    tiny: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    held_out, seen = scripted(0.2, 0.5, 0.4, 0.5, 0.9)
    _, outcome = losses(tiny, tmp_path, replace(FAST, max_steps=8), held_out=held_out)
    assert outcome.steps == 4  # two evaluations without a better one
    assert [e["score"] for e in outcome.evaluations] == [0.2, 0.5, 0.4, 0.5]
    assert outcome.best_step == 2
    assert loaded(outcome.adapter_path) == pytest.approx(seen[1], abs=1e-5)
    assert len(set(seen)) == 4
    assert not (tmp_path / "best").exists()


@pytest.mark.slow
def test_a_score_that_rises_to_the_end_changes_nothing(tiny: Path, tmp_path: Path) -> None:  # noqa: F811
    held_out, _ = scripted(0.1, 0.2, 0.3, 0.4)
    curve, outcome = losses(tiny, tmp_path / "watched", held_out=held_out)
    plain, other = losses(tiny, tmp_path / "plain")
    assert outcome.best_step is None
    assert [loss for loss in curve if loss is not None] == plain
    assert outcome.adapter_sha256 == other.adapter_sha256


@pytest.mark.slow
def test_scores_that_are_not_measured_stop_nothing_by_themselves(
    tiny: Path,  # noqa: F811
    tmp_path: Path,
) -> None:
    held_out, _ = scripted(0.5, None, None)
    _, outcome = losses(tiny, tmp_path, held_out=held_out)
    assert outcome.steps == 3
    assert outcome.best_step == 1


@pytest.mark.slow
def test_a_resumption_knows_the_best_of_before(tiny: Path, tmp_path: Path) -> None:  # noqa: F811
    class Killed(Exception):
        pass

    def dying(step: int) -> Any:
        def on_metrics(row: dict[str, Any]) -> None:
            if row["step"] == step and "loss" in row:
                raise Killed

        return on_metrics

    first, seen = scripted(0.7, 0.6, 0.5)
    options: dict[str, Any] = {"dtype": "float32", "threads": 1}
    with pytest.raises(Killed):
        train_lora(tiny, ROWS, FAST, tmp_path, held_out=first, on_metrics=dying(3), **options)
    again, _ = scripted(0.5)
    outcome = train_lora(tiny, ROWS, FAST, tmp_path, held_out=again, resume=True, **options)
    assert outcome.resumed_at == 2
    assert outcome.steps == 3
    assert outcome.best_step == 1
    assert loaded(outcome.adapter_path) == pytest.approx(seen[0], abs=1e-5)


# ---------------------------------------------------------------------------------- what goes wrong


def overflowing(tiny: Path, folder: Path) -> Path:  # noqa: F811
    """The model with so large a last norm that its logits are no numbers; each weight itself is one."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(tiny, folder)
    weights = load_file(folder / "model.safetensors")
    weights["model.norm.weight"] = torch.full_like(weights["model.norm.weight"], 3e38)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


@pytest.mark.slow
def test_a_loss_that_is_no_number_ends_the_job_with_one_line(tiny: Path, tmp_path: Path) -> None:  # noqa: F811
    """Left to itself the trainer would log the mean of the steps before in its place, 0 for the first."""
    ws = Workspace(tmp_path / "ws")
    base = overflowing(tiny, tmp_path / "overflowing")
    file = dataset(tmp_path)
    plan = ws.plan("lora", dataset=file, base_model=str(base), max_steps=3, batch_size=2)
    job = ended(ws, plan)
    with pytest.raises(StateError, match="loss of step 1 is not a number"):
        job.wait()
    told = job.status()
    assert told["state"] == "failed"
    assert "lower recipe.learning_rate" in told["error"]
    assert "\n" not in told["error"]
    assert "Traceback" not in "".join(job.logs(50))
    assert job.model is None
    assert job.metrics() == []


def test_a_gradient_that_is_no_number_ends_it_the_third_time() -> None:
    rows: list[dict[str, Any]] = []
    told = reporter(rows.append)

    def step(number: int, norm: float) -> None:
        told.on_step_begin(None, None, None)
        told.on_log(None, State(number), None, logs={"loss": 1.0, "grad_norm": norm})

    nan = float("nan")
    for number, norm in enumerate([nan, nan, 1.0, nan, nan], 1):
        step(number, norm)
    assert [row["grad_norm"] for row in rows] == [None, None, 1.0, None, None]
    with pytest.raises(TrainingError, match="3 steps up to 6"):
        step(6, float("inf"))


def test_many_rows_left_out_are_refused(tiny: Path) -> None:  # noqa: F811
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tiny)
    empty = {**ROWS[0], "completion": " "}
    stops = frozenset({2})
    encoding.check_rows(encoding.encode_rows(tokenizer, ROWS * 3 + [empty], 200), stops)
    with pytest.raises(DataError, match="1 of 9 rows"):
        encoding.check_rows(encoding.encode_rows(tokenizer, [*ROWS, empty], 200), stops)
