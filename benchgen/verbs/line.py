"""A command line as typed, made into a verb and overrides that Hydra understands as they were meant."""

from __future__ import annotations

from pathlib import Path

from benchgen import config
from benchgen.errors import ConfigError
from benchgen.verbs.words import VERBS, Verb


def parse(argv: list[str]) -> tuple[Verb, list[str], bool]:
    """(verb, Hydra overrides, multirun) of a command line; ConfigError names what is allowed."""
    if argv[0] not in VERBS:
        raise ConfigError(
            f"there is no verb {argv[0]!r}",
            got=argv[0],
            allowed=sorted(VERBS),
            next="benchgen --help",
        )
    verb = VERBS[argv[0]]
    multirun = bool({"-m", "--multirun"} & set(argv))
    overrides = [a for a in argv[1:] if a not in ("-m", "--multirun")]
    for override in overrides:
        _check_override(override, verb)
        if "=" not in override.lstrip("~") and not override.startswith("~"):
            raise ConfigError(
                f"{override!r} is not key=value", got=override, next=f"benchgen {verb.name} --help"
            )
    if multirun and not verb.makes:
        raise ConfigError(
            f"{verb.name} is a look-up and has no sweep",
            got="-m",
            allowed=[v.name for v in VERBS.values() if v.makes],
        )
    if not multirun:  # there a comma means a sweep
        overrides = plain_paths(overrides)
    return verb, config.own_maps(blank_under_author(name_models(overrides))), multirun


LAUNCHING = ("hydra/launcher", "hydra/sweeper", "hydra.launcher.", "hydra.sweeper.")
"""What of Hydra's own config a command line may set: how a sweep is launched, not where it writes."""


def _check_override(override: str, verb: Verb) -> None:
    """Nothing; ConfigError for an option of Hydra's command line or a setting of its folders."""
    key, _, value = override.lstrip("+~").partition("=")
    if value.isdigit() and config.options(key):
        raise ConfigError(
            f"{key}={value} names no option of conf/{key}/",
            got=override,
            allowed=config.options(key),
            next=f"{key}_id={value}" if key in ("benchmark", "model") else f"{key}=NAME",
        )
    hydras = key.startswith(("hydra.", "hydra/")) or key == "hydra"
    if override.startswith("-") or (hydras and not key.startswith(LAUNCHING)):
        raise ConfigError(
            f"{key} cannot be set here: job folders lie in the workspace",
            got=override,
            allowed=["key=value", "-m", *LAUNCHING],
            next=f"benchgen {verb.name} --help",
        )


def name_models(overrides: list[str]) -> list[str]:
    """The overrides with `model=NAME` turned into `model=catalogue model.name=NAME` where it must be.

    A name that is no option of conf/model/ is one of the catalogue: a trained model, a hub id, a
    folder. In a sweep list one such name turns all of them, since the catalogue knows options too.
    """
    known = set(config.options("model"))
    found = []
    for override in overrides:
        key, _, value = override.partition("=")
        if key != "model" or not value or all(v in known for v in value.split(",")):
            found.append(override)
            continue
        names = ",".join(_quoted(v) for v in value.split(","))
        found += ["model=catalogue", f"model.name={names}"]
    return found


PATHS = ("author.path", "benchmark.author.path", "author.tools", "path", "dataset")
"""Settings that hold a path, which may be written as it is: with spaces, signs, or a leading `~`."""


def plain_paths(overrides: list[str]) -> list[str]:
    """The overrides with paths quoted for Hydra, to which commas, brackets and quotes are signs."""
    found = []
    for override in overrides:
        key, sign, value = override.partition("=")
        quoted = value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1
        if not sign or key.lstrip("+") not in PATHS or quoted or value in ("", "null"):
            found.append(override)
            continue
        path = str(Path(value).expanduser()) if value.startswith("~") else value
        found.append(f"{key}=" + "'" + path.replace("\\", "\\\\").replace("'", "\\'") + "'")
    return found


def blank_under_author(overrides: list[str]) -> list[str]:
    """The overrides with `benchmark=blank` before them where an author is chosen and no benchmark is."""
    keys = {override.lstrip("+").partition("=")[0] for override in overrides}
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


def _quoted(value: str) -> str:
    bare = value.strip("'\"")
    return "'" + bare.replace("\\", "\\\\").replace("'", "\\'") + "'"
