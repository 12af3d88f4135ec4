"""The one door through which YAML and overrides become a `Config` of plain values.

`load("experiment=solar_system", "seed=3")` composes `conf/`, refuses unknown keys and wrong types with
a one-line ConfigError; past this module nothing sees Hydra.
"""

from __future__ import annotations

import copy
import dataclasses
import os
import re
import threading
from contextlib import suppress
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Any, get_origin

from benchgen.config.machine import check_hardware
from benchgen.config.messages import check_option, explain
from benchgen.config.schema import BenchmarkConfig, Config, ModelConfig, RecipeConfig
from benchgen.config.settings import kind_of, options, root
from benchgen.errors import ConfigError

if TYPE_CHECKING:
    from omegaconf import DictConfig

_LOCK = threading.Lock()  # Hydra keeps its state in one process-wide object


def compose(overrides: list[str]) -> DictConfig:
    """The composed config tree, unvalidated; ConfigError for anything Hydra refuses.

    Hydra takes a quarter of a second to put files together, whatever values are set afterwards. So trees
    of files are kept, and values set in a copy; what is not set at once, Hydra composes whole, and explains.
    """
    whole = own_maps(overrides)
    values = [override for override in whole if _sets_value(override)]
    files = tuple(override for override in whole if override not in values)
    with suppress(*_refusals()):
        return _with_values(_of_files(files, _stamp()), values)
    return _composed(whole)


@lru_cache(maxsize=64)
def _of_files(files: tuple[str, ...], stamp: tuple[object, ...]) -> DictConfig:
    """The tree of these options of conf/; never changed."""
    return _composed(list(files))


def _sets_value(override: str) -> bool:
    """Whether it sets a value in the tree, and chooses no file of it."""
    key, sign, _ = override.partition("=")
    key = key.lstrip("+")
    return (
        bool(sign and re.fullmatch(r"[\w.]+", key))
        and key.partition(".")[0] != "hydra"
        and not options(key)
    )


def _with_values(tree: DictConfig, values: list[str]) -> DictConfig:
    """A copy of the tree with the values set by Hydra's own rules; HydraException where one is not of them."""
    from hydra._internal.config_loader_impl import ConfigLoaderImpl
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    parsed = OverridesParser.create().parse_overrides(values)
    if any(override.is_sweep_override() for override in parsed):
        raise HydraException("several values of one setting")
    found = copy.deepcopy(tree)
    ConfigLoaderImpl._apply_overrides_to_config(parsed, found)
    return found


def _refusals() -> tuple[type[Exception], ...]:
    """What Hydra raises for overrides that it refuses, and for files that it cannot put together."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException
    from yaml import YAMLError

    return HydraException, OmegaConfBaseException, ValueError, YAMLError


def _composed(overrides: list[str]) -> DictConfig:
    """As Hydra composes it."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from hydra.core.global_hydra import GlobalHydra

    with _LOCK:
        register()
        outer = GlobalHydra.instance().hydra  # that of the verb, where it runs as a Hydra job
        GlobalHydra.instance().clear()
        try:
            with initialize_config_dir(str(root()), version_base="1.3"):
                return hydra_compose("config", overrides=overrides)
        except _refusals() as error:
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
        elif sign and _lies_in_map(key):
            found.append(f"++{key}={value}")
        else:
            found.append(override)
    return found


_DOT = "__"


def _is_map(key: str) -> bool:
    return get_origin(kind_of(key)) is dict


def _lies_in_map(key: str) -> bool:
    """Whether the key is one of a map, or of a map inside it."""
    parts = key.split(".")
    return any(_is_map(".".join(parts[:end])) for end in range(1, len(parts)))


def load(*overrides: str) -> Config:
    """The validated config for these overrides."""
    return copy.deepcopy(_load(overrides, _stamp()))


@lru_cache(maxsize=64)
def _load(overrides: tuple[str, ...], stamp: tuple[object, ...]) -> Config:
    """One loop asks for the same few configs again and again."""
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
        merged = OmegaConf.merge(_schema(), OmegaConf.to_container(tree))
        for key, value in dict(merged.replace).items():
            OmegaConf.update(merged, key.replace(_DOT, "."), value, merge=False)
        merged.replace = {}
        config = OmegaConf.to_object(merged)
    except OmegaConfBaseException as error:
        raise explain(error) from error
    assert isinstance(config, Config)
    _check_model(config.model)
    check_hardware(config.hardware)
    return config


@cache
def _schema() -> DictConfig:
    """`Config` as a tree; `merge` copies it."""
    from omegaconf import OmegaConf

    return OmegaConf.structured(Config)  # type: ignore[no-any-return]


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
    check_option("benchmark", name)
    return load(f"benchmark={name}").benchmark


def load_author(name: str, **changes: Any) -> BenchmarkConfig:
    """A blank benchmark config for an author of conf/author/, with some of its values by keyword."""
    check_option("author", name)
    found = load(f"author={name}", "benchmark=blank")
    author = dataclasses.replace(found.author, **changes)
    return dataclasses.replace(found.benchmark, author=author)


def load_model(name: str) -> ModelConfig:
    """The model config of that name in conf/model/."""
    check_option("model", name)
    return load(f"model={name}").model


def load_recipe(name: str, **changes: Any) -> RecipeConfig:
    """The recipe of that name in conf/recipe/ with some values changed by keyword."""
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    check_option("recipe", name)
    found = load(f"recipe={name}").recipe
    if not changes:
        return found
    try:
        tree = OmegaConf.create({"recipe": OmegaConf.structured(found)})
        merged = OmegaConf.merge(tree, {"recipe": changes})
        recipe = OmegaConf.to_object(merged.recipe)
    except OmegaConfBaseException as error:
        raise explain(error) from error
    assert isinstance(recipe, RecipeConfig)
    return recipe


def register() -> None:
    """Put the schema where Hydra finds it; nothing when it is there."""
    from hydra.core.config_store import ConfigStore

    store = ConfigStore.instance()
    if "schema.yaml" not in store.repo:
        store.store(name="schema", node=Config)
