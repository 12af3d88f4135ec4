"""Hydra's and OmegaConf's errors in one line: what, got, allowed, next."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from typing import Any, get_origin

from benchgen.config.schema import Config
from benchgen.config.settings import all_keys, kind_of, options, takes
from benchgen.errors import ConfigError


def check_option(group: str, name: str) -> None:
    """Nothing; ConfigError for a name that is no option of `conf/GROUP/`."""
    if name not in options(group):
        raise ConfigError(
            f"{group}={name} is not known",
            got=name,
            allowed=options(group),
            next=meant(name, {option: f"{group}={option}" for option in options(group)})
            or f"one of those, or a new file conf/{group}/{name or 'NAME'}.yaml",
        )


def explain(error: Exception) -> ConfigError:
    """Hydra's or OmegaConf's error as one line: what, got, allowed, next."""
    from omegaconf.errors import ConfigAttributeError, ConfigKeyError, ValidationError

    chain = [error]
    while (cause := chain[-1].__cause__) is not None and isinstance(cause, Exception):
        chain.append(cause)
    text = " ".join(map(str, chain))
    option = re.search(r"Could not (?:find|load) '([^/']+)/([^']*)'", text)
    if option and options(option[1]):
        try:
            check_option(option[1], option[2])
        except ConfigError as unknown:
            return unknown
    if override := re.match(r"Could not override '([^']+)'", text):
        return _unknown_key(override[1])
    told = next((e for e in chain if getattr(e, "full_key", None)), None)
    key = str(getattr(told, "full_key", ""))
    if isinstance(told, ConfigKeyError | ConfigAttributeError):
        return _unknown_key(key)
    if isinstance(told, ValidationError) and takes(key):
        return _wrong_value(key, getattr(told, "value", None))
    typed = getattr(error, "override", None) or _typed(text)
    if typed:
        return _unreadable(typed, several="Ambiguous" in text or "Sweep parameters" in text)
    lines = [line.strip() for line in text.splitlines()]
    what = " ".join(line for line in lines if line and not line.startswith(_NOISE))
    return ConfigError(
        what or type(error).__name__,
        got=key or _mentioned(what),
        allowed=KEY_VALUE,
        next="benchgen VERB --help shows the options and their values",
    )


KEY_VALUE = "key=value, a value with signs in it in quotes: \"key='a, b'\""
_NOISE = ("full_key:", "object_type=", "reference_type=", "Set the environment", "See https:")
_TYPED = (
    r"Ambiguous value for argument '(.*?)'\n",
    r"Sweep parameters '(.*)' requires",
    r"Error merging override (.*?) Cannot merge",
)
"""Where Hydra's words hold the override that was typed."""


def _typed(text: str) -> str:
    found = (re.search(pattern, text, re.DOTALL) for pattern in _TYPED)
    return next((match[1] for match in found if match), "")


def _unreadable(typed: str, several: bool) -> ConfigError:
    """An override whose value is not of the form that its setting has."""
    key, _, value = typed.lstrip("+~").partition("=")
    if key.startswith("replace."):  # a map, as `own_maps` wrote it
        key = key.removeprefix("replace.").replace("__", ".")
    expected = takes(key)
    what = f"{key} takes {expected}" if expected else f"the value of {key} cannot be read"
    one = "one value; with -m every element is a job of its own"
    return ConfigError(
        what,
        got=f"{key}={value}",
        allowed=expected or KEY_VALUE,
        next=one if several else _example(key),
    )


def _unknown_key(key: str) -> ConfigError:
    keys = list(all_keys())
    section, _, last = key.rpartition(".")
    beside = {k.rpartition(".")[2]: k for k in keys if k.rpartition(".")[0] == section}
    anywhere = {k.rpartition(".")[2]: k for k in reversed(keys)}
    return ConfigError(
        f"there is no setting {key!r}",
        got=key,
        allowed=list(beside.values()) or [k for k in keys if "." not in k],
        next=meant(last, beside)
        or meant(last, anywhere)
        or "benchgen VERB --help shows the options and their values",
    )


def _wrong_value(key: str, value: Any) -> ConfigError:
    default: Any = Config()
    for part in key.split("."):
        default = getattr(default, part, None)
    example = f"{key}={default}" if isinstance(default, int | float) else ""
    whole = key.partition("[")[0]
    return ConfigError(
        f"{key} takes {takes(key)}, not {'null' if value is None else repr(value)}",
        got=value,
        allowed=takes(key),
        next=f"for example {example.lower()}" if example else _example(whole),
    )


def _example(key: str) -> str:
    """How a value of that setting is written."""
    kind = get_origin(kind_of(key))
    if kind is dict:
        return f"\"{key}={{name: 'a value with signs'}}\""
    if (takes(key) or "").startswith("a whole number"):
        return f"for example {key}=1"
    return f"{key}=[1,2]" if kind is list else f"text with signs in it in quotes: \"{key}='a, b'\""


def meant(name: str, known: Mapping[str, str]) -> str:
    """ "did you mean" with what the closest names stand for, two at most; empty without one.

    A name of the same letters in another order is the closest: typing swaps them.
    """
    swapped = [one for one in known if one != name and sorted(one) == sorted(name)]
    close = swapped or difflib.get_close_matches(name, known, n=2, cutoff=0.75)
    return f"did you mean {' or '.join(known[one] for one in close[:2])}" if close else ""


def _mentioned(text: str) -> str | None:
    """The config key that an error text speaks of, in quotes."""
    parts = text.split("'")
    return parts[1] if len(parts) > 2 else None
