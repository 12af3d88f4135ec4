"""A GRPO plan: everything that will run, bound by its hash, and what is refused before anything starts."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from benchgen import config
from benchgen.errors import ConfigError, DataError, InputError, StateError
from benchgen.plan.grpo import SHARED
from benchgen.records import Benchmark, PlanRecord
from benchgen.rundata.prompts import held_out
from benchgen.types import Question
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow

SMALL: dict[str, Any] = {
    "batch_size": 4,
    "gradient_accumulation": 1,
    "grpo": {"num_generations": 4},
}


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws")


@pytest.fixture
def bench(ws: Workspace) -> Benchmark:
    spec = config.load_benchmark("solar_system_basics")
    draft = ws.author(dataclasses.replace(spec, count=10, mix={}, categories={}))
    return ws.create(draft).publish()


def planned(ws: Workspace, bench: Benchmark, base: Path, **more: Any) -> PlanRecord:
    grpo = {**SMALL["grpo"], **more.pop("grpo", {})}
    settings = {**SMALL, **more, "grpo": grpo}
    return ws.plan("grpo", benchmark=bench, base_model=str(base), **settings)


def test_it_says_everything_that_will_run(
    ws: Workspace, bench: Benchmark, base_folder: Path
) -> None:
    record = planned(ws, bench, base_folder, max_steps=7)
    plan = record.plan
    recipe = config.load_recipe("grpo")
    assert plan.job_type == "grpo"
    assert plan.hyperparameters == {
        **{name: getattr(recipe, name) for name in SHARED},
        **dataclasses.asdict(recipe.grpo),
        "batch_size": 4,
        "gradient_accumulation": 1,
        "num_generations": 4,
        "max_steps": 7,
        "seed": 0,
    }
    assert plan.dataset["benchmark"] == bench.id
    assert plan.dataset["program_sha256"] == bench.row.program_sha256
    assert plan.dataset["evaluation_sha256"] == bench.row.evaluation_sha256
    assert (plan.dataset["rows"], plan.dataset["questions_held_out"]) == (10, 0)
    assert set(plan.seen) == {q.key for q in bench.questions}
    told = plan.estimates
    assert (told["steps"].value, told["completions"].value) == (7, 28)
    assert {"tokens", "memory", "seconds"} <= set(told)
    assert all(e.unit and e.basis for e in told.values())
    assert any("benchgen preflight" in w for w in plan.warnings)
    rows = record.rows()
    assert [Question.from_dict(row["question"]) for row in rows] == bench.questions
    assert ws.jobs().height == 0
    assert json.dumps(record.summary())


def test_the_same_again_has_the_same_hash_and_any_change_another(
    ws: Workspace, bench: Benchmark, base_folder: Path
) -> None:
    def hashed(**more: Any) -> str:
        record = planned(ws, bench, base_folder, name="one", **more)
        with pytest.raises(StateError):
            ws.confirm(record, "no")  # its name is free again
        return record.hash

    first = hashed()
    assert hashed() == first
    changes: list[dict[str, Any]] = [
        {"max_steps": 9},
        {"learning_rate": 1e-5},
        {"seed": 1},
        {"grpo": {"temperature": 0.9}},
        {"grpo": {"beta": 0.01}},
        {"grpo": {"format_weight": 0.1}},
        {"grpo": {"hold_out": 0.2}},
    ]
    assert len({first, *(hashed(**change) for change in changes)}) == len(changes) + 1


def test_a_pass_before_is_shown_and_estimated_from(
    ws: Workspace, bench: Benchmark, base_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run must be this model's, on this benchmark, drawn as the recipe draws."""
    from benchgen.models import catalogue
    from benchgen.models.mock import FixedModel

    said = f"Answer: {bench.questions[0].target_text}"
    monkeypatch.setattr(catalogue, "load", lambda *asked: FixedModel(said, name="base"))
    own = config.GrpoConfig(num_generations=4)
    run, found = ws.preflight(bench, str(base_folder), grpo=own, limit=5)
    shown = planned(ws, bench, base_folder).plan
    assert shown.estimates["mixed_outcomes"].value == 0
    assert shown.estimates["pass_at_1"].value == pytest.approx(
        100 * (found.pass_at_1 or 0), abs=0.1
    )
    assert f"run {run.id}" in shown.estimates["pass_at_4"].basis
    assert f"run {run.id}" in shown.estimates["seconds"].basis
    assert any("short SFT adapter" in w for w in shown.warnings)
    assert not any("benchgen preflight" in w for w in shown.warnings)
    for other in ({"grpo": {"temperature": 0.5}}, {"grpo": {"max_completion_length": 32}}):
        told = planned(ws, bench, base_folder, **other).plan
        assert "mixed_outcomes" not in told.estimates
        assert any("benchgen preflight" in w for w in told.warnings)


def test_held_out_questions_are_left_out_and_not_seen(ws: Workspace, base_folder: Path) -> None:
    """Marked ones of the benchmark, and a share of the others by key."""
    spec = config.load_benchmark("solar_system_basics")
    spec = dataclasses.replace(spec, count=10, mix={}, categories={}, held_out=0.1)
    bench = ws.create(ws.author(spec)).publish()
    marked = [q.key for q in bench.questions if q.held_out]
    record = planned(ws, bench, base_folder, grpo={"hold_out": 0.34})
    left = {row["key"] for row in record.rows()}
    assert len(left) == 6  # 1 marked, 3 of the other 9
    assert record.plan.dataset["questions_held_out"] == 4
    assert set(record.plan.seen) == left
    assert marked[0] not in left
    assert any("4 of the 10 questions are held out" in w for w in record.plan.warnings)


def test_what_is_held_out_follows_from_key_and_seed_alone() -> None:
    questions = [Question("numeric", f"What is {i}?", i) for i in range(50)]
    drawn = held_out(questions, 0.2, seed=1)
    assert len(drawn) == 10
    assert held_out(questions[::-1], 0.2, seed=1) == drawn
    assert held_out(questions, 0.2, seed=2) != drawn
    assert held_out(questions, 0.0, seed=1) == frozenset()


def test_a_draft_rewards_nothing(ws: Workspace, base_folder: Path) -> None:
    draft = ws.create(ws.author("solar_system_basics"))
    with pytest.raises(StateError, match="draft"):
        planned(ws, draft, base_folder)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"grpo": {"num_generations": 3}}, "does not divide the 4 completions"),
        ({"grpo": {"num_generations": 1}}, "num_generations=1"),
        ({"grpo": {"format_weight": 0.5}}, "format_weight"),
        ({"grpo": {"hold_out": 1.0}}, "hold_out"),
        ({"grpo": {"vllm": True}}, "vLLM"),
        ({"max_steps": 0}, "recipe.max_steps=0"),
        ({"name": "smollm2_135m"}, "there already"),
        ({"batch_size": 44}, "11 prompts"),
        ({"max_length": 64}, "0 prompts of at most 0 tokens"),
        ({"stop": {"patience": 3}}, "recipe.stop"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_cannot_be_trained_is_refused_in_one_line(
    ws: Workspace, bench: Benchmark, base_folder: Path, settings: dict[str, Any], words: str
) -> None:
    with pytest.raises(InputError, match=words) as failed:
        planned(ws, bench, base_folder, **settings)
    assert "\n" not in failed.value.message
    assert ws.plans().height == 0


@pytest.mark.parametrize("model", ["reference", "served"])
def test_a_model_without_weights_is_refused(ws: Workspace, bench: Benchmark, model: str) -> None:
    ws.model(config.ModelConfig(name="served", kind="endpoint", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(ConfigError, match="no weights"):
        ws.plan("grpo", benchmark=bench, base_model=model, **SMALL)
    assert ws.plans().height == 0


def test_without_a_benchmark_or_a_base_it_says_which(ws: Workspace, bench: Benchmark) -> None:
    with pytest.raises(ConfigError, match="needs a benchmark"):
        ws.plan("grpo", base_model="smollm2_135m")
    with pytest.raises(ConfigError, match="needs a base model"):
        ws.plan("grpo", benchmark=bench)


def test_a_scorer_that_pays_for_junk_blocks_it(
    ws: Workspace, bench: Benchmark, base_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = bench.scorer()

    def by_substring(kind: str, *, reply: str, target: str, choices: Any, **more: Any) -> Any:
        found = honest(kind, reply=reply, target=target, choices=choices, **more)
        held = choices["ABCDEFGH".index(target)] in reply
        return dataclasses.replace(found, correct=held, value=float(held), strict=False)

    monkeypatch.setattr(Benchmark, "scorer", lambda self: by_substring)
    with pytest.raises(DataError, match="pays for junk") as failed:
        planned(ws, bench, base_folder)
    assert "10 of 10 questions" in failed.value.message
    assert ws.plans().height == 0


def test_its_settings_are_no_other_recipes(ws: Workspace, tmp_path: Path) -> None:
    data = tmp_path / "data.jsonl"
    data.write_text('{"prompt": "a", "completion": "b"}\n')
    with pytest.raises(ConfigError, match="read by recipe=grpo alone"):
        ws.plan("lora", dataset=data, base_model="smollm2_135m", grpo={"beta": 0.1})
