"""Settings as a command line is told them: the way back from values to `key=value`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

SHORT = ("name", "kind", "count")
"""Settings of a benchmark that stand at the top of a command line as well."""


def changed(config: Any, usual: Any, prefix: str, short: tuple[str, ...] = ()) -> list[str]:
    """`key=value` for each field of a config that is not as usual, but for configs inside it.

    The names in `short` stand at the top of the command line and take no prefix.
    """
    return [
        f"{'' if field.name in short else prefix}{field.name}={written(value)}"
        for field in dataclasses.fields(config)
        if not dataclasses.is_dataclass(value := getattr(config, field.name))
        and value != getattr(usual, field.name)
    ]


def written(value: Any) -> str:
    """A value as the command line reads it."""
    if isinstance(value, bool) or value is None:
        return {True: "true", False: "false", None: "null"}[value]
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_inner(str(k))}: {_inner(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_inner, value)) + "]"
    return str(value)


def _inner(value: Any) -> str:
    """A value inside a list or a map: text in quotes, unless it is a word that can be nothing else."""
    if not isinstance(value, str):
        return written(value)
    if value.isidentifier() and value.isascii() and value not in ("true", "false", "null"):
        return value
    return "'" + value.replace("\\", "\\\\").replace("'", "\\'") + "'"
