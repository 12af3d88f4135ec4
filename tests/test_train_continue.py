"""Training on from an earlier adapter: proved to go on from it, and stopped where it would not."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch")

from benchgen.errors import ModelError, TrainingError  # noqa: E402
from benchgen.models.embedded import file_sha256  # noqa: E402
from benchgen.models.engine.load import load_adapter  # noqa: E402
from benchgen.train import continuing  # noqa: E402
from benchgen.train.job import TrainOutcome  # noqa: E402
from benchgen.train.settings import SFTSettings  # noqa: E402
from benchgen.train.sft import train_lora  # noqa: E402
from tests.tiny import tiny_llama  # noqa: E402

pytestmark = pytest.mark.torch

SETTINGS = SFTSettings(
    max_steps=6,
    learning_rate=5e-2,
    batch_size=4,
    r=4,
    alpha=8,
    save_steps=50,
    targets="q_proj,v_proj,down_proj",
)
NAMES = ["Mercury", "Venus", "Earth", "Mars", "Jupiter", "Saturn", "Uranus", "Neptune"]
ROWS: list[dict[str, Any]] = [
    {"messages": [{"role": "user", "content": f"Which is number {i}?"}], "completion": name}
    for i, name in enumerate(NAMES, start=1)
]


def train(
    base: Path, out: Path, settings: SFTSettings = SETTINGS, **options: Any
) -> tuple[list[float], TrainOutcome]:
    seen: list[dict[str, Any]] = []
    options = {"dtype": "float32", "threads": 1, **options}
    outcome = train_lora(base, ROWS, settings, out, on_metrics=seen.append, **options)
    return [m["loss"] for m in seen], outcome


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama with weights so large that adapters of its layers move what it says."""
    return tiny_llama(tmp_path_factory.mktemp("base"), initializer_range=0.2)


@pytest.fixture(scope="module")
def parent(base: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a trained adapter."""
    _, outcome = train(base, tmp_path_factory.mktemp("parent"))
    return Path(outcome.adapter_path)


@pytest.mark.parametrize("batching", ["packed", "padded"])
def test_it_begins_with_the_parents_weights_and_loss(
    base: Path, parent: Path, tmp_path: Path, batching: str
) -> None:
    fresh, _ = train(base, tmp_path / "fresh", replace(SETTINGS, max_steps=1))
    losses, outcome = train(
        base,
        tmp_path / "on",
        replace(SETTINGS, batching=batching, learning_rate=1e-2),
        adapter=parent,
    )
    proof = continuing.Continued.from_dict(outcome.continued or {})
    assert proof.adapter_sha256 == file_sha256(parent / "adapter_model.safetensors")
    assert proof.first_loss == pytest.approx(proof.parent_loss, abs=proof.tolerance)
    # the trainer's own first loss, taken on the very rows that the proof looked at
    assert losses[0] == pytest.approx(proof.first_loss, abs=1e-3)
    assert losses[0] < fresh[0] - 0.1
    assert outcome.adapter_sha256 != proof.adapter_sha256


def test_the_adapters_own_shape_holds(base: Path, parent: Path, tmp_path: Path) -> None:
    other = replace(SETTINGS, r=16, alpha=64, targets="all-linear", max_steps=1)
    _, outcome = train(base, tmp_path, other, adapter=parent)
    before, after = (
        json.loads((folder / "adapter_config.json").read_text())
        for folder in (parent, Path(outcome.adapter_path))
    )
    for key in ("r", "lora_alpha", "target_modules"):
        assert after[key] == before[key]
    assert after["r"] == 4


def test_a_parent_on_a_16_bit_base_is_recognised(base: Path, parent: Path, tmp_path: Path) -> None:
    _, outcome = train(
        base, tmp_path, replace(SETTINGS, max_steps=1), adapter=parent, dtype="bfloat16"
    )
    assert outcome.continued is not None
    assert outcome.continued["adapter_sha256"] == file_sha256(parent / "adapter_model.safetensors")


def zeroed(load: Any) -> Any:
    def broken(*args: Any, **options: Any) -> Any:
        model = load(*args, **options)
        with torch.no_grad():
            for name, parameter in model.named_parameters():
                if "lora_B" in name:
                    parameter.zero_()
        return model

    return broken


@pytest.mark.parametrize("looks", ["at weights", "at the loss alone"])
def test_a_load_that_lost_the_adapter_never_trains(
    base: Path, parent: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, looks: str
) -> None:
    """Zeroed as a loader leaves it whose names did not match: peft warns, and trains from nothing."""
    monkeypatch.setattr("benchgen.train.loading.load_adapter", zeroed(load_adapter))
    if looks == "at the loss alone":
        monkeypatch.setattr(continuing, "weights_sha256", lambda model, file: file_sha256(file))
    seen: list[Any] = []
    with pytest.raises(TrainingError, match="weights" if looks == "at weights" else "first loss"):
        train_lora(
            base, ROWS, SETTINGS, tmp_path, adapter=parent, dtype="float32", threads=1,
            on_metrics=seen.append,
        )  # fmt: skip
    assert seen == []
    assert not (tmp_path / "adapter").exists()


def test_an_adapter_of_another_base_does_not_fit(base: Path, parent: Path, tmp_path: Path) -> None:
    from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

    config = AutoConfig.from_pretrained(base, hidden_size=32)
    AutoModelForCausalLM.from_config(config).save_pretrained(tmp_path / "narrow")
    AutoTokenizer.from_pretrained(base).save_pretrained(tmp_path / "narrow")
    with pytest.raises(ModelError, match="does not fit"):
        train(tmp_path / "narrow", tmp_path / "out", adapter=parent)
