"""What a training would do: complete, bound by its hash, with estimates that say what they rest on."""

from __future__ import annotations

import ast
import dataclasses
import importlib.util
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import WhitespaceSplit

from benchgen.config import HardwareConfig, RecipeConfig, RowsConfig
from benchgen.errors import ConfigError, DataError
from benchgen.models.device import Device, Memory, detect, processor
from benchgen.plan import planner
from benchgen.rundata.rows import TrainingRow
from benchgen.types import Plan, sha256

SHAPE = {
    "model_type": "llama",
    "hidden_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "intermediate_size": 128,
    "vocab_size": 1000,
}
GPU = Device("cuda", "a GPU", "bfloat16", 1, 2**34)


@pytest.fixture
def base(tmp_path: Path) -> planner.Base:
    """A base whose tokenizer makes a token of each word."""
    tokenizer = Tokenizer(WordLevel({"?": 0}, unk_token="?"))
    tokenizer.pre_tokenizer = WhitespaceSplit()
    tokenizer.save(str(tmp_path / "tokenizer.json"))
    (tmp_path / "config.json").write_text(json.dumps(SHAPE))
    return planner.Base("small", "org/small", tmp_path, "main", "f1", frozenset({"old"}))


def rows(count: int = 10, words: int = 5) -> list[TrainingRow]:
    """Rows of `words` + 1 words in two messages: `words` + 1 + 2 templates of tokens."""
    return [
        TrainingRow(f"k{i}", ({"role": "user", "content": "w " * words},), f"a{i}")
        for i in range(count)
    ]


def ask(**changes: Any) -> planner.Ask:
    recipe = RecipeConfig(**changes.pop("recipe", {}))
    settled: dict[str, Any] = {
        "job_type": "lora",
        "source": "file.jsonl",
        "mode": None,
        "name": "small-lora-1",
        "trainer": "trl",
        "hardware": HardwareConfig(device="cpu", dtype="float32"),
        "seed": 0,
        "seen": frozenset({"b", "a"}),
    }
    return planner.Ask(recipe=recipe, **{**settled, **changes})


# --------------------------------------------------------------------------------------- the content


def test_a_plan_says_everything_that_will_run(base: planner.Base) -> None:
    plan = planner.make_plan(ask(recipe={"max_steps": 7}), base, rows())
    assert plan.hyperparameters == {
        **{
            k: v
            for k, v in dataclasses.asdict(RecipeConfig()).items()
            if k not in ("name", "rows", "stop", "grpo")
        },
        "max_steps": 7,
        "seed": 0,
    }
    assert plan.base == {"name": "small", "revision": "main", "fingerprint": "f1"}
    assert plan.base_model == "org/small"
    assert plan.dataset == {
        "source": "file.jsonl",
        "mode": None,
        "rows": 10,
        "questions": 10,
        "replayed": 0,
        "questions_held_out": 0,
        "overlap": [],
        "held_out": None,
        "runs": [],
        "sha256": sha256([row.to_dict() for row in rows()]),
    }
    assert plan.device == {
        "trainer": "trl", "kind": "cpu", "name": processor().name, "dtype": "float32"
    }  # fmt: skip
    assert plan.seen == ("a", "b", "old")  # its rows' and its base's
    assert Plan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def changed(base: planner.Base) -> dict[str, Plan]:
    """A plan for every single thing that may differ."""
    plans = {
        f"recipe.{f.name}": planner.make_plan(ask(recipe={f.name: _other(f.name)}), base, rows())
        for f in dataclasses.fields(RecipeConfig)
        if f.name not in ("name", "rows", "stop", "grpo", "quantization")
    }
    more = {
        "tracking": ask(tracking={"name": "wandb"}),
        "replayed": ask(replayed=3),
        "questions_held_out": ask(questions_held_out=1),
        "held_out": ask(held_out={"benchmark": 1}),
        "seed": ask(seed=1),
        "source": ask(source="other.jsonl"),
        "mode": ask(mode="distill"),
        "name": ask(name="other"),
        "job_type": ask(job_type="from-run"),
        "trainer": ask(trainer="unsloth"),
        "dtype": ask(hardware=HardwareConfig(device="cpu", dtype="bfloat16")),
        "seen": ask(seen=frozenset({"a"})),
    }
    plans |= {name: planner.make_plan(a, base, rows()) for name, a in more.items()}
    bases = {
        "fingerprint": dataclasses.replace(base, fingerprint="f2"),
        "revision": dataclasses.replace(base, revision="v2"),
        "name": dataclasses.replace(base, name="x"),
        "id": dataclasses.replace(base, id="y"),
    }
    plans |= {f"base.{name}": planner.make_plan(ask(), b, rows()) for name, b in bases.items()}
    first, *rest = rows()
    plans["a row"] = planner.make_plan(
        ask(), base, [dataclasses.replace(first, completion="b"), *rest]
    )
    plans["order of rows"] = planner.make_plan(ask(), base, [*rest, first])
    return plans


def _other(name: str) -> Any:
    value = getattr(RecipeConfig(), name)
    if isinstance(value, bool):
        return not value
    texts = {
        "scheduler": "cosine",
        "targets": "q_proj",
        "optimizer": "adamw_8bit",
        "batching": "padded",
    }
    small = {
        "layers": 0.5,
        "dropout": 0.1,
        "warmup": 0.1,
        "weight_decay": 0.1,
        "max_steps": 9,
        "epochs": 1.5,
    }
    return texts.get(name) or small.get(name) or value * 2


def test_the_hash_binds_all_that_will_run(
    base: planner.Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Any setting, row, base or device that differs gives another hash."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name)  # as if unsloth were here
    plans = {"as it is": planner.make_plan(ask(), base, rows()), **changed(base)}
    hashes = {name: plan.hash for name, plan in plans.items()}
    assert len(plans) >= 30
    same = [name for name in hashes if list(hashes.values()).count(hashes[name]) > 1]
    assert not same


def test_the_hash_does_not_move_with_an_estimate(base: planner.Base) -> None:
    """A faster last job must not change what was confirmed."""
    plan = planner.make_plan(ask(), base, rows())
    other = planner.make_plan(ask(tokens_per_s=1234.5), base, rows())
    assert plan.estimates != other.estimates
    assert plan.hash == other.hash
    assert dataclasses.replace(plan, warnings=("a",)).hash == plan.hash
    again = planner.make_plan(ask(), base, rows())
    assert dataclasses.replace(again, estimates=plan.estimates) == plan  # but for memory free now


def test_no_rows_no_plan(base: planner.Base) -> None:
    with pytest.raises(DataError, match="no rows"):
        planner.make_plan(ask(), base, [])


# ---------------------------------------------------------------------------------------------- steps


@pytest.mark.parametrize(
    ("recipe", "count", "steps"),
    [
        ({}, 330, 42),  # 41 full batches of 8 and one of 2
        ({"epochs": 2}, 330, 84),
        ({"epochs": 0.5}, 330, 21),
        ({"epochs": 1, "gradient_accumulation": 4}, 330, 11),
        ({"batch_size": 100}, 3, 1),
        ({"max_steps": 5, "epochs": 100}, 330, 5),  # more than 0 overrides epochs
        ({"max_steps": 500, "epochs": 1}, 3, 500),
    ],
)
def test_steps(recipe: dict[str, Any], count: int, steps: int) -> None:
    assert planner.num_steps(RecipeConfig(**recipe), count) == steps


@given(st.integers(1, 500), st.integers(1, 33), st.integers(1, 9), st.integers(1, 4))
def test_an_epoch_covers_every_row_and_no_batch_in_vain(
    count: int, batch: int, accumulation: int, epochs: int
) -> None:
    recipe = RecipeConfig(batch_size=batch, gradient_accumulation=accumulation, epochs=epochs)
    steps = planner.num_steps(recipe, count)
    assert (steps - epochs) * batch * accumulation < epochs * count <= steps * batch * accumulation


# ------------------------------------------------------------------------------------------ estimates


def test_every_estimate_says_what_it_rests_on(base: planner.Base) -> None:
    plan = planner.make_plan(ask(), base, rows(16))
    told = plan.estimates
    assert set(told) == {"steps", "tokens", "truncated_rows", "memory", "free_memory", "seconds"}
    assert all(e.unit and e.basis for e in told.values())
    each = 5 + 1 + 2 * planner.TEMPLATE_TOKENS
    assert (told["steps"].value, told["tokens"].value) == (2, 2 * 8 * each)
    assert f"mean {each}" in told["tokens"].basis
    assert "rule of thumb" in told["seconds"].basis
    assert told["memory"].unit == "GiB"
    assert told["memory"].value > 0.5  # the libraries alone
    assert "25 %" in told["memory"].basis
    assert not plan.warnings


def test_before_a_job_was_measured_here_the_time_is_a_wide_range(base: planner.Base) -> None:
    time = planner.make_plan(ask(recipe={"max_steps": 10**7}), base, rows(16)).estimates["seconds"]
    assert "not measured yet on this machine: its first steps measure it" in time.basis
    assert time.low is not None
    assert time.high is not None
    assert time.low * 50 < time.high
    assert time.low < time.value < time.high
    assert time.words == f"{time.low:,.0f} to {time.high:,.0f} s"


def test_a_measured_speed_replaces_the_rule_of_thumb(base: planner.Base) -> None:
    told = planner.make_plan(ask(tokens_per_s=64.0), base, rows(16)).estimates
    assert told["seconds"].value == pytest.approx(told["tokens"].value / 64, abs=0.1)
    assert "64 tokens a second" in told["seconds"].basis
    assert told["seconds"].low is None
    assert told["seconds"].words.startswith("about ")


def test_rows_that_are_too_long_are_refused_unless_allowed(base: planner.Base) -> None:
    long = TrainingRow("long", ({"role": "user", "content": "w " * 1000},), "a")
    few = [*rows(15), long]
    with pytest.raises(DataError, match="1 of 16 rows are longer") as refused:
        planner.make_plan(ask(recipe={"max_length": 64}), base, few)
    assert "recipe.max_length=1024" in refused.value.next
    allowed = {"max_length": 64, "rows": RowsConfig(max_truncated=0.1)}
    plan = planner.make_plan(ask(recipe=allowed), base, few)
    assert plan.estimates["truncated_rows"].value == 1
    assert plan.estimates["tokens"].value == 15 * 16 + 64  # no more than max_length of it
    assert any("1 of 16 rows" in warning and "max_length" in warning for warning in plan.warnings)


def test_few_rows_are_warned_of(base: planner.Base) -> None:
    plan = planner.make_plan(ask(), base, rows(3))
    assert any("3 rows" in warning for warning in plan.warnings)


def test_a_base_that_is_not_here_has_fewer_estimates_and_says_so(base: planner.Base) -> None:
    away = planner.make_plan(ask(), dataclasses.replace(base, folder=None), rows())
    assert set(away.estimates) == {"steps"}
    assert any("not here yet" in warning for warning in away.warnings)


@pytest.mark.parametrize("shape", [{"num_experts": 8, **SHAPE}, {"model_type": "mamba"}])
def test_a_base_of_another_build_is_planned_without_a_memory_estimate(
    base: planner.Base, shape: dict[str, Any]
) -> None:
    """An estimate that cannot be made is no reason not to train."""
    assert base.folder is not None
    (base.folder / "config.json").write_text(json.dumps(shape))
    plan = planner.make_plan(ask(), base, rows())
    assert set(plan.estimates) == {"steps", "tokens", "truncated_rows"}
    assert any("no memory estimate" in warning for warning in plan.warnings)


# ------------------------------------------------------------------------------------ what is refused


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("learning_rate", 0.0),
        ("learning_rate", float("nan")),
        ("learning_rate", 200.0),
        ("epochs", 0.0),
        ("epochs", float("inf")),
        ("max_steps", 0),
        ("max_steps", -2),
        ("batch_size", 0),
        ("gradient_accumulation", 0),
        ("r", 0),
        ("alpha", 0),
        ("dropout", 1.0),
        ("warmup", -0.1),
        ("weight_decay", -1.0),
        ("max_grad_norm", 0.0),
        ("max_length", 0),
        ("save_steps", 0),
        ("scheduler", "linaer"),
        ("optimizer", "sgdd"),
        ("batching", "some"),
        ("layers", 0.0),
        ("targets", " , "),
        ("targets", "q_proj,lm_head"),
    ],
)
def test_a_setting_that_cannot_train_is_refused_before_it_is_confirmed(
    base: planner.Base, name: str, value: Any
) -> None:
    with pytest.raises(ConfigError, match=f"recipe.{name}=") as failed:
        planner.make_plan(ask(recipe={name: value}), base, rows())
    assert failed.value.allowed
    assert str(getattr(RecipeConfig(), name)) in failed.value.next


def test_every_number_of_a_recipe_has_its_limits() -> None:
    numbers = {f.name for f in dataclasses.fields(RecipeConfig) if f.type in ("int", "float")}
    assert numbers <= set(planner.LIMITS)
    planner.check_recipe(RecipeConfig())


def test_a_device_that_is_not_here_is_refused() -> None:
    for device in ("cuda", "tpu", ""):
        if device == detect().kind:
            continue
        with pytest.raises(ConfigError, match="not usable") as failed:
            planner.choose_device(HardwareConfig(device=device))
        assert "auto" in failed.value.allowed
    with pytest.raises(ConfigError, match="int3"):
        planner.choose_device(HardwareConfig(dtype="int3"))


def test_auto_takes_what_was_found_and_a_word_replaces_it() -> None:
    assert planner.choose_device(HardwareConfig()) == detect()
    assert planner.choose_device(HardwareConfig(device="cpu")) == processor()
    assert planner.choose_device(HardwareConfig(device="cpu", dtype="bfloat16")).dtype == "bfloat16"


def test_the_cpu_can_be_asked_for_beside_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then it is the CPU's name and type that the plan shows."""
    monkeypatch.setattr(planner, "detect", lambda: GPU)
    assert planner.choose_device(HardwareConfig(device="cpu")) == processor()
    assert planner.choose_device(HardwareConfig(device="cuda")) == GPU


@pytest.mark.parametrize("installed", [True, False])
def test_the_trainer(monkeypatch: pytest.MonkeyPatch, installed: bool) -> None:
    """auto: unsloth on a GPU where it is installed; on a CPU only when it is asked for."""
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: name if installed else None)
    assert planner.choose_trainer("auto", GPU) == ("unsloth" if installed else "trl")
    assert planner.choose_trainer("auto", processor()) == "trl"
    assert planner.choose_trainer("trl", GPU) == "trl"
    if installed:
        assert planner.choose_trainer("unsloth", processor()) == "unsloth"
    else:
        with pytest.raises(ConfigError, match="not installed"):
            planner.choose_trainer("unsloth", GPU)
    with pytest.raises(ConfigError, match="trainer=axolotl") as failed:
        planner.choose_trainer("axolotl", GPU)
    assert failed.value.allowed == ["auto", "trl", "unsloth"]


@pytest.mark.parametrize("name", ["SCHEDULERS", "BATCHINGS"])
def test_what_the_plan_allows_is_what_the_trainer_knows(name: str) -> None:
    """Read from the source, since importing the trainer loads torch."""
    source = (Path(planner.__file__).parents[1] / "train" / "settings.py").read_text()
    told = [
        ast.literal_eval(node.value)
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == name
    ]
    assert told == [getattr(planner, name)]


def test_four_bits_on_a_cpu_are_refused_in_a_line(base: planner.Base) -> None:
    with pytest.raises(ConfigError, match="CUDA device only") as refused:
        planner.make_plan(ask(recipe={"quantization": "nf4"}), base, rows())
    assert "recipe=lora" in refused.value.next
    with pytest.raises(ConfigError, match=r"recipe\.quantization=int3"):
        planner.make_plan(ask(recipe={"quantization": "int3"}), base, rows())


def test_too_little_free_memory_is_warned_of_with_who_holds_it(
    base: planner.Base, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = planner.make_plan(ask(), base, rows())
    assert plan.estimates["free_memory"].unit == "GiB"
    assert not any("are free" in line for line in plan.warnings)
    little = Memory(2**20, 2**34, ("python (pid 7) 12.0 GiB",))
    monkeypatch.setattr(planner, "memory", lambda kind: little)
    other = planner.make_plan(ask(), base, rows())
    assert any("are free; held by python (pid 7) 12.0 GiB" in line for line in other.warnings)
    assert other.hash == plan.hash  # what is free now is no part of what will run
