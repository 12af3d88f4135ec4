"""The settings that there are: their dotted names, types, and the options of each group."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

from benchgen.config.schema import Config

WORDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def root() -> Path:
    """The folder `conf/` as installed (package benchgen.conf)."""
    return Path(str(files("benchgen.conf")))


def options(group: str) -> list[str]:
    """The names that `group=` may take, sorted."""
    return sorted(p.stem for p in (root() / group).glob("*.yaml"))


def all_keys() -> Iterator[str]:
    """Every setting by its dotted name, those of the top first."""
    return _keys(Config(), "")


def _keys(node: Any, prefix: str) -> Iterator[str]:
    fields = [
        (f.name, getattr(node, f.name))
        for f in dataclasses.fields(node)
        if f.name not in ("verb", "replace")
    ]
    yield from (prefix + name for name, _ in fields)
    for name, value in fields:
        if dataclasses.is_dataclass(value):
            yield from _keys(value, f"{prefix}{name}.")


def takes(key: str) -> str:
    """What a setting may be, in words; empty for one that the schema does not have."""
    kind = kind_of(key)
    if dataclasses.is_dataclass(kind) or get_origin(kind) is dict:
        return "named values: {name: value, …}"
    if get_origin(kind) is list:
        return "a list: [a, b]"
    kinds = [k for k in get_args(kind) or (kind,) if k is not type(None)]
    words = " or ".join(WORDS[k] for k in kinds if k in WORDS)
    return f"{words} or null" if words and type(None) in get_args(kind) else words


def kind_of(key: str) -> Any:
    """The type that the schema gives a setting; None for one that it does not have."""
    kind: Any = Config
    for part in re.findall(r"[^.\[\]]+", key):
        if dataclasses.is_dataclass(kind):
            kind = get_type_hints(kind).get(part)
        else:
            kind = (get_args(kind) or (None,))[-1]
    return kind
