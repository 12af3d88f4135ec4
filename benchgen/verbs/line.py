"""A command line as typed, made into a verb and overrides that Hydra understands as they were meant."""

from __future__ import annotations

import re

from benchgen import config
from benchgen.config.messages import meant
from benchgen.config.settings import all_keys
from benchgen.errors import ConfigError
from benchgen.verbs.typed import as_typed, elements, quoted
from benchgen.verbs.words import VERBS, Verb

OWN = ("verb", "replace", "given")
"""Settings that the command line fills itself."""


def parse(argv: list[str]) -> tuple[Verb, list[str], bool]:
    """(verb, Hydra overrides, multirun) of a command line; ConfigError names what is allowed."""
    if argv[0] not in VERBS:
        raise ConfigError(
            f"there is no verb {argv[0]!r}",
            got=argv[0],
            allowed=sorted(VERBS),
            next=meant(argv[0], {name: f"benchgen {name}" for name in VERBS}) or "benchgen --help",
        )
    verb = VERBS[argv[0]]
    multirun = bool({"-m", "--multirun"} & set(argv))
    overrides = [a for a in argv[1:] if a not in ("-m", "--multirun")]
    for override in overrides:
        _check_override(override, verb)
    if multirun and not verb.makes:
        raise ConfigError(
            f"{verb.name} is a look-up and has no sweep",
            got="-m",
            allowed=[v.name for v in VERBS.values() if v.makes],
        )
    if not multirun and verb.name != "report" and any(o.startswith("sweep=") for o in overrides):
        raise ConfigError("sweep=NAME is the name of a sweep", got=verb.name, next="with -m")
    if verb.name == "loop":  # its model is the one that learns
        overrides = [re.sub(r"\A\+*model=", "loop.student=", override) for override in overrides]
    overrides = [as_typed(override, multirun) for override in name_models(overrides, multirun)]
    if verb.name == "plan":
        overrides += _given(overrides)
    return verb, config.own_maps(blank_under_author(overrides)), multirun


def check_subject(overrides: list[str]) -> None:
    """Nothing; ConfigError where no word of `create` says what is asked about: the default is the demo's."""
    keys = {key.partition(".")[0] for key in _keys(overrides)}
    if not keys & {"benchmark", "author", "sibling_of"}:
        raise ConfigError(
            "nothing says what the benchmark is about",
            allowed=[f"benchmark={name}" for name in config.options("benchmark")],
            next="benchgen create author=file author.path=FILE, or benchmark=NAME, or sibling_of=ID",
        )


def _given(overrides: list[str]) -> list[str]:
    """`given=[…]` with the settings of the recipe that were typed: what is as in an earlier job is not."""
    keys = _keys(overrides)
    typed = sorted({key.removeprefix("recipe.") for key in keys if key.startswith("recipe.")})
    return [f"given=[{','.join(map(quoted, typed))}]"] if typed else []


def _keys(overrides: list[str]) -> set[str]:
    """The settings that are typed."""
    return {override.lstrip("+").partition("=")[0] for override in overrides}


def _check_override(override: str, verb: Verb) -> None:
    """Nothing; ConfigError for what is no key=value, or sets what is not the person's to set."""
    key, sign, value = override.lstrip("+~").partition("=")
    if value.isdigit() and config.options(key):
        raise ConfigError(
            f"{key}={value} names no option of conf/{key}/",
            got=override,
            allowed=config.options(key),
            next=f"{key}_id={value}" if key in ("benchmark", "model") else f"{key}=NAME",
        )
    hydras = key.startswith(("hydra.", "hydra/")) or key == "hydra"
    bare = key.lstrip("-").replace("-", "_")
    if override.startswith("--") and bare in {one.partition(".")[0] for one in all_keys()}:
        raise ConfigError(
            "options have no dashes here",
            got=override,
            allowed="key=value",
            next=f"{bare}={value or 'VALUE'}",
        )
    if override.startswith("-") or hydras:
        raise ConfigError(
            f"{key} cannot be set here: job folders lie in the workspace",
            got=override,
            allowed=["key=value", "-m", "launcher=NAME", "launcher.settings.KEY=VALUE"],
            next=f"benchgen {verb.name} --help",
        )
    if key.partition(".")[0] in OWN:
        raise ConfigError(
            f"there is no setting {key!r}", got=key, next=f"benchgen {verb.name} --help"
        )
    if not sign and not override.startswith("~"):
        raise ConfigError(
            f"{override!r} is not key=value", got=override, next=f"benchgen {verb.name} --help"
        )


def name_models(overrides: list[str], multirun: bool = False) -> list[str]:
    """The overrides with `model=NAME` turned into `model=catalogue model.name=NAME` where it must be.

    A name that is no option of conf/model/ is one of the catalogue: a trained model, a hub id, a
    folder. In a sweep list one such name turns all of them, since the catalogue knows options too.
    """
    known = set(config.options("model"))
    found = []
    for override in overrides:
        key, _, value = override.partition("=")
        names = elements(value) if multirun else [value]
        if key != "model" or not value or all(name in known for name in names):
            found.append(override)
            continue
        listed = ",".join(quoted(name) for name in names)
        found += ["model=catalogue", f"model.name={listed}"]
    return found


def blank_under_author(overrides: list[str]) -> list[str]:
    """The overrides with `benchmark=blank` before them where an author is chosen and no benchmark is."""
    keys = _keys(overrides)
    settings = sorted(key for key in keys if key.startswith("author."))
    if settings and not keys & {"author", "benchmark"}:
        raise ConfigError(
            f"{settings[0]} is given, and no author",
            got=settings[0],
            allowed=config.options("author"),
            next="author=file, or another author, before it",
        )
    return (
        ["benchmark=blank", *overrides]
        if "author" in keys and "benchmark" not in keys
        else overrides
    )
