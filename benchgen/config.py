"""Every knob as a plain dataclass, and the one door through which YAML and overrides become them.

`load("experiment=solar_system", "seed=3")` composes `conf/`, refuses unknown keys and wrong types with
a one-line ConfigError, and returns a `Config` of plain values; past this module nothing sees Hydra.
"""

from __future__ import annotations

import copy
import dataclasses
import difflib
import os
import re
import threading
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args, get_origin, get_type_hints

from benchgen.errors import ConfigError

if TYPE_CHECKING:
    from omegaconf import DictConfig

_LOCK = threading.Lock()  # Hydra keeps its state in one process-wide object


@dataclass
class EvaluationConfig:
    """How questions are put; frozen into the benchmark (see types.Evaluation)."""

    options: str = "names"
    system: str = ""
    instruction: str = ""
    instruct_in: str = "user"
    max_new_tokens: int = 64
    temperature: float = 0.0
    stop: list[str] = field(default_factory=list)


@dataclass
class AuthorConfig:
    """Who writes the questions, and from what. Each author reads its own part of it."""

    name: str = ""
    """table | procedural | file | document | llm"""
    path: str | None = None
    """table, file, document: a file of one's own."""
    pack: str = ""
    """table: a shipped pack of facts, where no path is given."""
    templates: list[str] = field(default_factory=list)
    """table: names of the pack's templates to use; empty = all that can ask in this kind."""
    entity: str | None = None
    """table with a path: the column that names what is asked about."""
    columns: dict[str, str] = field(default_factory=dict)
    """file: {role: column}, for headers that are not understood."""
    index_base: int | None = None
    """file: answers that are positions count from 0 or from 1."""
    answers_are: str | None = None
    """file: letter | index | text"""
    decimal: str | None = None
    """file: point | comma"""
    multi: bool | None = None
    """file: several options may be right."""
    sheet: str | None = None
    """file: the sheet of an Excel file."""
    tasks: dict[str, float] = field(default_factory=dict)
    """procedural: {task: share}; empty = an even mix of its default tasks."""
    topic: str = ""
    """llm, document: what the questions are about, in a sentence."""
    tools: str | None = None
    """llm, kind tool: a JSON file with the functions' definitions."""
    model: str = ""
    """llm, document: the model that writes, by its name in the catalogue."""
    checker: str = ""
    """llm, document: a model that solves them blind; empty = the writer itself, none = nobody."""
    per_turn: int = 150
    """llm, document: questions written before it stops and waits to be resumed."""


@dataclass
class BenchmarkConfig:
    """What a benchmark is made from."""

    name: str = ""
    author: AuthorConfig = field(default_factory=AuthorConfig)
    kind: str = "mcq"
    count: int = 30
    options: int = 4
    mix: dict[str, float] = field(default_factory=dict)
    categories: dict[str, float] = field(default_factory=dict)
    language: str = "en"
    seed: int = 0
    sibling_of: str = ""
    """Benchmark config whose facts this one asks in other questions."""
    exclude: list[str] = field(default_factory=list)
    """Benchmark configs with which no question may be shared."""
    evaluation: EvaluationConfig = field(default_factory=EvaluationConfig)


@dataclass
class ModelConfig:
    """Which model is asked, and how it is loaded."""

    name: str = ""
    kind: str = "base"
    """base | reference | endpoint | catalogue (a name looked up in the workspace)"""
    source: str = ""
    """embedded | reference | a Hugging Face id | a local folder"""
    revision: str | None = None
    base_url: str = ""
    """endpoint: the address before /chat/completions."""
    api_key_env: str | None = None
    """endpoint: the environment variable that holds the key; the key itself stands nowhere."""
    concurrency: int = 8
    timeout_first_s: float = 300.0
    timeout_s: float = 600.0
    max_retries: int = 6
    extra: dict[str, Any] = field(default_factory=dict)
    """endpoint: further fields of each request, such as top_p."""


@dataclass
class RecipeConfig:
    """Every hyperparameter of a training, none left to a library's default."""

    name: str = "lora"
    learning_rate: float = 1e-3
    epochs: float = 1.0
    max_steps: int = -1
    """More than 0 overrides epochs."""
    batch_size: int = 8
    gradient_accumulation: int = 1
    r: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: str = "all-linear"
    scheduler: str = "linear"
    warmup: float = 0.0
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    max_length: int = 512
    save_steps: int = 10
    layers: float = 1.0
    """Upper share of the layers that get an adapter."""
    optimizer: str = "auto"
    gradient_checkpointing: bool = False
    batching: str = "auto"
    """auto | packed | padded"""


@dataclass
class TrainerConfig:
    """Which library trains: auto = unsloth on a usable CUDA device, else plain trl + peft."""

    name: str = "auto"


@dataclass
class TrackerConfig:
    """Where metrics go beside the job's own metrics.jsonl."""

    name: str = "none"


@dataclass
class HardwareConfig:
    """Where local models run; auto = the fastest that this machine can do."""

    device: str = "auto"
    dtype: str = "auto"
    threads: int | None = None
    batch_rows: int | None = None


@dataclass
class LoopConfig:
    """The path of `benchgen loop`: which benchmarks are asked, and what is trained on."""

    name: str = ""
    title: str = ""
    benchmark: str = ""
    """Asked of all three models; trained on, when its runs are among the plan's."""
    held_out: str = ""
    """Asked of base and trained, never trained on."""
    practice: str | None = None
    """More of the same for the teacher; null = train on `benchmark` alone."""
    student: str = "smollm2_135m"
    teacher: str = "reference"
    mode: str = "distill"


@dataclass
class Config:
    """Everything a verb can be told; each verb reads its own part."""

    verb: str = ""
    workspace: str = "workspace"
    output: str = "text"
    """text | json"""
    user: str | None = None
    seed: int = 0
    dry: bool = False
    benchmark: BenchmarkConfig = field(default_factory=BenchmarkConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    author: AuthorConfig = field(default_factory=AuthorConfig)
    """create: an author in place of the benchmark config's own."""
    recipe: RecipeConfig = field(default_factory=RecipeConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    tracker: TrackerConfig = field(default_factory=TrackerConfig)
    hardware: HardwareConfig = field(default_factory=HardwareConfig)
    loop: LoopConfig = field(default_factory=LoopConfig)
    name: str | None = None
    kind: str | None = None
    """create: the kind of questions, where the author leaves a choice."""
    count: int | None = None
    """create: how many questions."""
    hash: str | None = None
    """create: make it only if it is exactly what a preview (dry=yes) showed under this hash."""
    question: int | None = None
    """edit: number of the question, from 1."""
    change: dict[str, Any] = field(default_factory=dict)
    """edit: fields of the question with their new values."""
    replace: dict[str, Any] = field(default_factory=dict)
    """Maps given whole, by `own_maps`: Hydra would merge them into what a file says."""
    background: bool = False
    """create, resume with a model as author: write all of it in a process of its own."""
    write_id: int | None = None
    sibling_of: int | None = None
    """create: another benchmark like this one, with no question in common."""
    benchmark_id: int | None = None
    run_id: Any = None
    """One id, or a list of them where a verb takes several."""
    job_id: int | None = None
    plan_id: int | None = None
    runs: list[int] = field(default_factory=list)
    baseline: int | None = None
    program: str | None = None
    """rescore, compare: the scoring program, latest, own or the first digits of one's sha256."""
    mode: str | None = None
    rows: int | None = None
    lines: int = 20
    limit: int | None = None
    format: str | None = None
    path: str | None = None
    dataset: str | None = None
    base_model: str | None = None
    answer: str | None = None
    confirm: str | None = None


def root() -> Path:
    """The folder `conf/` as installed (package benchgen.conf)."""
    return Path(str(files("benchgen.conf")))


def options(group: str) -> list[str]:
    """The names that `group=` may take, sorted."""
    return sorted(p.stem for p in (root() / group).glob("*.yaml"))


def compose(overrides: list[str]) -> DictConfig:
    """The composed config tree, unvalidated; ConfigError for anything Hydra refuses."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    with _LOCK:
        register()
        outer = GlobalHydra.instance().hydra  # that of the verb, where it runs as a Hydra job
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(root()), version_base="1.3"):
                return hydra_compose("config", overrides=own_maps(overrides))
        except (HydraException, OmegaConfBaseException, ValueError, YAMLError) as error:
            raise explain(error) from error
        finally:
            GlobalHydra.instance().hydra = outer


def own_maps(overrides: list[str]) -> list[str]:
    """The overrides with each map `key={…}` made one that stands alone.

    Hydra merges such a value into the file's and refuses keys that the file lacks; a person who writes
    `benchmark.mix={easy: 1}` means that map and no other.
    """
    found = []
    for override in overrides:
        key, sign, value = override.partition("=")
        key = key.lstrip("+")
        if sign and value.startswith("{") and _is_map(key):
            found.append(f"++replace.{key.replace('.', _DOT)}={value}")
        elif sign and _is_map(key.rpartition(".")[0]):
            found.append(f"++{key}={value}")
        else:
            found.append(override)
    return found


_DOT = "__"


def _is_map(key: str) -> bool:
    return get_origin(_kind(key)) is dict


def load(*overrides: str) -> Config:
    """The validated config for these overrides."""
    return copy.deepcopy(_load(overrides, _stamp()))


@lru_cache(maxsize=64)
def _load(overrides: tuple[str, ...], stamp: tuple[object, ...]) -> Config:
    """Composing takes a third of a second, and one loop asks for the same few configs again and again."""
    return validate(compose(list(overrides)))


def _stamp() -> tuple[object, ...]:
    """What a composed config depends on beside its overrides: every file of conf/, and one variable."""
    found = sorted(root().rglob("*.yaml"))
    return (os.environ.get("BENCHGEN_WORKSPACE"), *((p, p.stat().st_mtime_ns) for p in found))


def validate(tree: DictConfig) -> Config:
    """Plain values in `Config`; re-merging into the schema refuses keys that `+key=` slipped in."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        merged = OmegaConf.merge(OmegaConf.structured(Config), OmegaConf.to_container(tree))
        for key, value in dict(merged.replace).items():
            OmegaConf.update(merged, key.replace(_DOT, "."), value, merge=False)
        merged.replace = {}
        config = OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        raise explain(error) from error
    assert isinstance(config, Config)
    _check_model(config.model)
    return config


def _check_model(model: ModelConfig) -> None:
    """Nothing; ConfigError for a model option that still lacks what it must be given."""
    if model.kind == "catalogue" and not model.name:
        raise ConfigError(
            "model=catalogue needs a name", got="", next="model=NAME, as models lists it"
        )
    if model.kind == "endpoint" and not (model.name and model.base_url):
        raise ConfigError(
            "model=endpoint needs an address and a name",
            got=model.base_url or model.name,
            next="model.base_url=http://127.0.0.1:8000/v1 model.name=NAME",
        )


def load_benchmark(name: str) -> BenchmarkConfig:
    """The benchmark config of that name in conf/benchmark/."""
    _known("benchmark", name)
    return load(f"benchmark={name}").benchmark


def load_author(name: str, **changes: Any) -> BenchmarkConfig:
    """A blank benchmark config for an author of conf/author/, with some of its values by keyword."""
    _known("author", name)
    found = load(f"author={name}", "benchmark=blank")
    author = dataclasses.replace(found.author, **changes)
    return dataclasses.replace(found.benchmark, author=author)


def load_model(name: str) -> ModelConfig:
    """The model config of that name in conf/model/."""
    _known("model", name)
    return load(f"model={name}").model


def load_recipe(name: str, **changes: Any) -> RecipeConfig:
    """The recipe of that name in conf/recipe/ with some values changed by keyword."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    _known("recipe", name)
    config = load(f"recipe={name}")
    try:
        merged = OmegaConf.merge(OmegaConf.structured(config), {"recipe": changes})
        recipe = OmegaConf.to_object(merged.recipe)
    except OmegaConfBaseException as error:
        raise explain(error) from error
    assert isinstance(recipe, RecipeConfig)
    return recipe


def register() -> None:
    """Put the schema where Hydra finds it; harmless when done twice."""
    from hydra.core.config_store import ConfigStore

    ConfigStore.instance().store(name="schema", node=Config)


def _known(group: str, name: str) -> None:
    if name not in options(group):
        raise ConfigError(
            f"{group}={name} is not known",
            got=name,
            allowed=options(group),
            next=_meant(name, {option: f"{group}={option}" for option in options(group)})
            or f"one of those, or a new file conf/{group}/{name}.yaml",
        )


def explain(error: Exception) -> ConfigError:
    """Hydra's or OmegaConf's error as one line: what, got, allowed, next."""
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError, ValidationError

    chain = [error]
    while (cause := chain[-1].__cause__) is not None and isinstance(cause, Exception):
        chain.append(cause)
    text = " ".join(map(str, chain))
    option = re.search(r"Could not find '([^/']+)/([^']+)'", text)
    if option and options(option[1]):
        try:
            _known(option[1], option[2])
        except ConfigError as unknown:
            return unknown
    if override := re.match(r"Could not override '([^']+)'", text):
        return _unknown_key(override[1])
    told = next((e for e in chain if getattr(e, "full_key", None)), None)
    key = str(getattr(told, "full_key", ""))
    if isinstance(told, ConfigKeyError | ConfigAttributeError):
        return _unknown_key(key)
    if isinstance(told, ValidationError) and _takes(key):
        return _wrong_value(key, getattr(told, "value", None))
    lines = [line.strip() for line in text.splitlines()]
    what = " ".join(line for line in lines if line and not line.startswith(_NOISE))
    return ConfigError(
        what or type(error).__name__,
        got=getattr(error, "override", None) or key or _mentioned(what),
        allowed="key=value, a value with signs in it in quotes: \"key='a, b'\"",
        next="benchgen VERB --help shows the options and their values",
    )


_NOISE = ("full_key:", "object_type=", "reference_type=", "Set the environment", "See https:")
_WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def _unknown_key(key: str) -> ConfigError:
    keys = list(_keys(Config(), ""))
    section, _, last = key.rpartition(".")
    beside = {k.rpartition(".")[2]: k for k in keys if k.rpartition(".")[0] == section}
    anywhere = {k.rpartition(".")[2]: k for k in reversed(keys)}
    return ConfigError(
        f"there is no setting {key!r}",
        got=key,
        allowed=list(beside.values()) or [k for k in keys if "." not in k],
        next=_meant(last, beside)
        or _meant(last, anywhere)
        or "benchgen VERB --help shows the options and their values",
    )


def _wrong_value(key: str, value: Any) -> ConfigError:
    default: Any = Config()
    for part in key.split("."):
        default = getattr(default, part, None)
    example = f"{key}={default}" if isinstance(default, int | float) else ""
    return ConfigError(
        f"{key} takes {_takes(key)}, not {'null' if value is None else repr(value)}",
        got=value,
        allowed=_takes(key),
        next=f"for example {example.lower()}" if example else f"{key}=…",
    )


def _meant(name: str, known: Mapping[str, str]) -> str:
    """ "did you mean" with what a close name stands for; empty without one."""
    close = difflib.get_close_matches(name, known, n=1, cutoff=0.75)
    return f"did you mean {known[close[0]]}" if close else ""


def _mentioned(text: str) -> str | None:
    """The config key that an error text speaks of, in quotes."""
    parts = text.split("'")
    return parts[1] if len(parts) > 2 else None


def _keys(node: Any, prefix: str) -> Iterator[str]:
    """Every setting by its dotted name, those of the top first."""
    fields = [
        (f.name, getattr(node, f.name))
        for f in dataclasses.fields(node)
        if f.name not in ("verb", "replace")
    ]
    yield from (prefix + name for name, _ in fields)
    for name, value in fields:
        if dataclasses.is_dataclass(value):
            yield from _keys(value, f"{prefix}{name}.")


def _takes(key: str) -> str:
    """What a setting may be, in words; empty for one that the schema does not have."""
    kind = _kind(key)
    if dataclasses.is_dataclass(kind) or get_origin(kind) is dict:
        return "named values: {name: value, …}"
    if get_origin(kind) is list:
        return "a list: [a, b]"
    kinds = [k for k in get_args(kind) or (kind,) if k is not type(None)]
    words = " or ".join(_WORDS[k] for k in kinds if k in _WORDS)
    return f"{words} or null" if words and type(None) in get_args(kind) else words


def _kind(key: str) -> Any:
    """The type that the schema gives a setting; None for one that it does not have."""
    kind: Any = Config
    for part in re.findall(r"[^.\[\]]+", key):
        if dataclasses.is_dataclass(kind):
            kind = get_type_hints(kind).get(part)
        else:
            kind = (get_args(kind) or (None,))[-1]
    return kind


def user_name(config: Config | None = None) -> str:
    """Who acts: config `user`, else the login name; never fails."""
    if config is not None and config.user:
        return config.user
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "unknown"


def cache_folder() -> Path:
    """Where what belongs to this machine, not to a workspace, is kept: `$BENCHGEN_CACHE`, else
    `~/.cache/benchgen` (under `$XDG_CACHE_HOME` if that is set)."""
    if own := os.environ.get("BENCHGEN_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "benchgen"
