"""The config tree: every option composes, and every mistake gets one line that says how to mend it."""

from __future__ import annotations

import ast
import dataclasses
import itertools
import json
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

import benchgen
from benchgen import config
from benchgen.config import composing
from benchgen.errors import ConfigError
from benchgen.types import Evaluation

GROUPS = sorted(
    p.name for p in config.root().iterdir() if p.is_dir() and p.name not in ("hydra", "__pycache__")
)
FILES = sorted(p for p in config.root().rglob("*.yaml") if "local" not in p.parts)


def refused(*overrides: str) -> ConfigError:
    """The error that these overrides get."""
    with pytest.raises(ConfigError) as failed:
        config.load(*overrides)
    return failed.value


# ------------------------------------------------------------------------------- everything composes


@pytest.mark.slow
def test_every_option_of_every_group_composes_and_validates() -> None:
    """One of each group at a time; an option that no test loads is one that can be broken."""
    options = {g: config.options(g) for g in GROUPS if g not in ("experiment", "local")}
    assert {"author", "benchmark", "hardware", "model", "recipe", "tracker", "trainer"} <= set(
        options
    )
    assert all(options.values())
    met: set[tuple[str, str]] = set()
    for row in itertools.zip_longest(*options.values()):
        chosen = {g: o for g, o in zip(options, row, strict=True) if o is not None}
        named = ["model.name=a-model"] if chosen.get("model") in ("catalogue", "endpoint") else []
        named += ["model.base_url=http://127.0.0.1/v1"] if chosen.get("model") == "endpoint" else []
        told = config.load(*(f"{g}={o}" for g, o in chosen.items()), *named)
        assert isinstance(told, config.Config)
        for group, option in chosen.items():
            unnamed = {
                ("model", "catalogue"): "a-model",
                ("model", "endpoint"): "a-model",
                ("benchmark", "blank"): "",
            }
            expected = unnamed.get((group, option), option)
            part = getattr(told, group)
            assert getattr(part, "name", expected) == expected, f"{group}={option} has another name"
            met.add((group, option))
    assert len(met) == sum(map(len, options.values())) >= 15


@pytest.mark.parametrize("name", config.options("experiment"))
def test_every_experiment_composes_and_names_what_exists(name: str) -> None:
    """Its benchmarks, models and mode are looked up only when the loop runs: too late for a typing error."""
    told = config.load(f"experiment={name}").loop
    assert told.name == name
    assert told.title
    benchmarks = [told.benchmark, told.held_out, *([told.practice] if told.practice else [])]
    assert set(benchmarks) <= set(config.options("benchmark"))
    assert {told.student, told.teacher} <= set(config.options("model"))


def test_there_are_experiments() -> None:
    """The test above says nothing where there are none."""
    assert "solar_system" in config.options("experiment")


def test_benchmarks_name_benchmarks_that_exist() -> None:
    for file in (config.root() / "benchmark").glob("*.yaml"):
        told = yaml.safe_load(file.read_text())
        named = {*told.get("exclude", []), told.get("sibling_of", file.stem)}
        assert named <= set(config.options("benchmark")), file.name


def test_config_files_name_no_code() -> None:
    """Names resolve through closed registries: a file cannot say which function is called."""
    assert len(FILES) >= 18
    assert not [f for f in FILES if "_target_" in f.read_text()]


def test_every_group_has_a_default() -> None:
    """Otherwise a part of the config would silently be the schema's."""
    listed = yaml.safe_load((config.root() / "config.yaml").read_text())["defaults"]
    named = {
        key.removeprefix("optional ")
        for entry in listed
        if isinstance(entry, dict)
        for key in entry
    }
    assert {g for g in GROUPS if g != "local"} <= named


# ---------------------------------------------------------------------------------------- precedence


def test_the_command_line_wins_over_the_experiment_and_that_over_the_group() -> None:
    """recipe=lora says nothing of steps (-1), the experiment says 40."""
    experiment = config.load("experiment=solar_system")
    assert experiment.recipe.name == "from_run"
    assert experiment.recipe.max_steps > 0
    assert config.RecipeConfig().max_steps == -1
    # whatever the order in which they are typed
    told = config.load("recipe.max_steps=7", "experiment=solar_system", "recipe=lora").recipe
    assert (told.name, told.max_steps) == ("lora", 7)


def test_the_workspace_comes_from_the_environment_unless_it_is_typed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("BENCHGEN_WORKSPACE", "/elsewhere")
    assert config.load().workspace == "/elsewhere"
    assert config.load("workspace='/a b=2 (x)'").workspace == "/a b=2 (x)"


# ------------------------------------------------------------------------------------------ mistakes

MISTAKES = [
    # override, got, allowed holds, next holds
    ("bogus=1", "bogus", "recipe", "--help"),
    ("+bogus=1", "bogus", "recipe", "--help"),
    ("sed=1", "sed", "seed", "did you mean seed"),
    ("+recipe.lerning_rate=1", "recipe.lerning_rate", "recipe.learning_rate", "did you mean recipe.learning_rate"),
    ("max_steps=9", "max_steps", "seed", "did you mean recipe.max_steps"),
    ("benchmark.evaluation.opions=x", "benchmark.evaluation.opions", "benchmark.evaluation.stop", "options"),
    ("recipe.learning_rate=fast", "fast", "number", "recipe.learning_rate=0.001"),
    ("limit=abc", "abc", "whole number", "limit=1"),
    ("recipe.batch_size=1.5", 1.5, "whole number", "recipe.batch_size=8"),
    ("dry=maybe", "maybe", "true or false", "dry=false"),
    ("runs=[1,b]", "b", "whole number", "runs"),
    ("benchmark.mix={easy:x}", "x", "number", "benchmark.mix.easy"),
    ("recipe=lorra", "lorra", "lora", "did you mean recipe=lora"),
    ("trainer=q", "q", "unsloth", "conf/trainer/q.yaml"),
    ("experiment=solar_sistem", "solar_sistem", "solar_system", "did you mean experiment=solar_system"),
    ("recipe=a/b", "a/b", "lora", "conf/recipe"),
    ("recipe=1", None, "key=value", "--help"),
    ("model=catalogue", "", "", "model=NAME"),
    ("seed=1,2", "seed=1,2", "whole number", "with -m"),
    ("seed=choice(1,2)", "seed=choice(1,2)", "whole number", "with -m"),
    ("runs={a: 1}", "runs={a: 1}", "a list", "runs=[1,2]"),
    ("benchmark.mix=[1]", "benchmark.mix=[1]", "named values", "benchmark.mix={"),
    ("change=[1]", "change=[1]", "named values", "change={"),
    ("benchmark=[a]", "a", "blank", "conf/benchmark/a.yaml"),
    ("recipe=", "", "lora", "conf/recipe/NAME.yaml"),
    ("name='a", "name='a", "text", "quotes"),
    ("user=${oc.env:BENCHGEN_NO_SUCH_THING}", "user", "key=value", "--help"),
]  # fmt: skip


@pytest.mark.parametrize(("override", "got", "allowed", "next"), MISTAKES)
def test_a_mistake_gets_one_line_with_what_got_allowed_and_next(
    override: str, got: object, allowed: str, next: str
) -> None:
    error = refused(override)
    assert error.exit_code == 2
    assert "\n" not in error.message
    assert error.got == got
    assert allowed in str(error.allowed)
    assert next in error.next
    assert "hydra" not in error.message.lower()  # the person needs no manual of a library
    json.dumps(error.as_dict())


def test_a_refused_config_does_not_spoil_the_next_one() -> None:
    refused("bogus=1")
    assert config.load("seed=3").seed == 3


def test_a_recipe_changed_from_python_is_checked_like_one_that_is_typed() -> None:
    told = config.load_recipe("lora", learning_rate=1, max_steps=5)
    assert (told.learning_rate, told.max_steps, told.name) == (1.0, 5, "lora")
    assert isinstance(told.learning_rate, float)
    with pytest.raises(ConfigError, match=r"did you mean recipe\.learning_rate"):
        config.load_recipe("lora", learnin_rate=1)
    with pytest.raises(ConfigError, match=r"recipe\.r takes a whole number") as failed:
        config.load_recipe("lora", r="many")
    assert failed.value.got == "many"
    with pytest.raises(ConfigError, match="did you mean recipe=lora"):
        config.load_recipe("lorra")


def test_benchmarks_and_models_by_name() -> None:
    assert config.load_benchmark("solar_system_basics").count == 30
    assert config.load_model("smollm2_135m").source == "embedded"
    for load in (config.load_benchmark, config.load_model):
        with pytest.raises(ConfigError, match="nonsense"):
            load("nonsense")


# ------------------------------------------------------------------------------------ more than once


@pytest.mark.slow
def test_loading_works_in_threads_and_gives_equal_configs() -> None:
    """Hydra keeps its state in one object of the process; chat and notebooks load from threads."""
    found: list[config.Config] = []

    def load(seed: int) -> None:
        found.append(config.load(f"seed={seed}"))

    threads = [threading.Thread(target=load, args=(seed,)) for seed in (1, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first, second = found
    assert first == second
    assert first.seed == 1


INSIDE = """
import hydra
import benchgen
from benchgen import config
from hydra.core.global_hydra import GlobalHydra

config.register()

@hydra.main(version_base="1.3", config_path="pkg://benchgen.conf", config_name="config")
def task(tree):
    assert config.load("seed=5").seed == 5
    assert GlobalHydra.instance().is_initialized()
    print("seed", config.validate(tree).seed)

task()
"""


@pytest.mark.slow
def test_loading_inside_a_hydra_job_leaves_the_job_alone(tmp_path: Path) -> None:
    """A verb that runs as a Hydra job composes benchmarks and recipes of its own."""
    done = subprocess.run(
        [sys.executable, "-c", INSIDE, "-m", "seed=2", f"workspace={tmp_path}", "verb=run"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    assert "seed 2" in done.stdout.splitlines()


# ------------------------------------------------------------------------------------- equal schemas


def fields_of(module: str, name: str) -> dict[str, str]:
    """{field: default as written} of a dataclass, read from the source: importing it may load torch."""
    source = (Path(benchgen.__file__).parent / module).read_text()
    for node in ast.parse(source).body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return {
                statement.target.id: ast.unparse(statement.value) if statement.value else ""
                for statement in node.body
                if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name)
            }
    raise AssertionError(f"{module} has no class {name}")


def test_a_recipe_has_the_settings_that_the_trainer_has() -> None:
    """The plan hands them over by name; `name` and `rows` are the plan's, `seed` comes from the top of the config."""
    trainer = set(fields_of("train/settings.py", "SFTSettings"))
    recipe = {f.name for f in dataclasses.fields(config.RecipeConfig)}
    assert recipe - {"name", "rows", "stop", "grpo"} == trainer - {"seed"}
    assert "seed" in trainer


def test_grpo_has_the_settings_that_its_trainer_has_and_its_file_says_them_all() -> None:
    """`hold_out` is the plan's; a default that differed from the file's would be one nobody reads."""
    own = dataclasses.asdict(config.GrpoConfig())
    trainer = fields_of("train/grpo_settings.py", "GRPOSettings")
    assert set(own) - {"hold_out"} == set(trainer)
    assert {name: repr(own[name]) for name in trainer} == trainer
    told = yaml.safe_load((config.root() / "recipe" / "grpo.yaml").read_text())
    assert told["grpo"] == own
    assert set(told) == {f.name for f in dataclasses.fields(config.RecipeConfig)} - {
        *("rows", "stop", "batching", "quantization")
    }


def test_an_evaluation_config_is_a_frozen_evaluation_without_its_version() -> None:
    frozen = {f.name: f for f in dataclasses.fields(Evaluation)}
    mine = {f.name for f in dataclasses.fields(config.EvaluationConfig)}
    assert mine == set(frozen) - {"renderer"}


def test_the_person_who_acts_has_a_name(monkeypatch: pytest.MonkeyPatch) -> None:
    assert config.user_name(config.Config(user="ada")) == "ada"
    monkeypatch.setenv("USER", "grace")
    assert config.user_name() == "grace"
    monkeypatch.delenv("USER")
    monkeypatch.delenv("LOGNAME", raising=False)
    assert config.user_name() == "unknown"


def test_a_map_of_the_command_line_stands_alone() -> None:
    assert config.load("benchmark.mix={easy: 1}").benchmark.mix == {"easy": 1.0}
    assert config.load("benchmark.mix={}").benchmark.mix == {}
    assert config.load("change={prompt: x, choices: [a, b]}").change == {
        "prompt": "x",
        "choices": ["a", "b"],
    }
    told = config.load(
        "author=file", "author.columns.question=Frage", "author.columns.answer=Antwort"
    )
    assert told.author.columns == {"question": "Frage", "answer": "Antwort"}
    with pytest.raises(ConfigError, match=r"benchmark\.mix\.easy takes a number"):
        config.load("benchmark.mix={easy: x}")


SETTINGS = [
    ["verb=create"],
    ["seed=3", "verb=run", "seed=4", "++seed=7"],
    ["experiment=solar_system", "loop.student=x"],
    ["benchmark=blank", "author=file", "author.path='a b.csv'", "author.columns={question: Q}"],
    ["benchmark.mix={easy: 1}", "benchmark.categories={}"],
    ["benchmark.mix.easy=0.5"],
    ["model=endpoint", "model.base_url=http://x", "model.name=n", "model.extra={a: [1, 2]}"],
    ["recipe=grpo", "recipe.grpo.beta=0.1", "given=[a,b]", "name='x=y'"],
    ["benchmark.count=${seed}"],
    ["~seed"],
    ["seed=null"],
    ["seed=x"],
    ["seed=1,2"],
    ["nokey=1"],
    ["+nokey=1"],
    ["model=nope"],
    ["a b=1"],
]


@pytest.mark.parametrize("overrides", SETTINGS, ids=" ".join)
def test_values_set_in_a_kept_tree_are_those_that_hydra_composes(overrides: list[str]) -> None:
    """And what it refuses is refused in the same words."""

    def found(compose: Callable[[list[str]], Any]) -> Any:
        try:
            return config.validate(compose(list(overrides)))
        except ConfigError as error:
            return error.message

    slow = found(lambda told: composing._composed(composing.own_maps(told)))
    assert found(composing.compose) == slow
    assert found(composing.compose) == slow  # the kept tree is as it was
