"""What a person gave a verb, and what a verb gives back."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from benchgen import config
from benchgen.errors import ConfigError

if TYPE_CHECKING:
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace

Result = dict[str, Any]
Act = Callable[["Workspace", config.Config, "Screen"], Result]
"""What a verb does: on a workspace, as told, with a screen for what happens meanwhile."""


def need(cfg: config.Config, *keys: str) -> Any:
    """The value of the first of these keys that was given; ConfigError names them when none was."""
    for key in keys:
        value = getattr(cfg, key)
        if value not in (None, [], {}):
            return value
    raise ConfigError(
        f"{cfg.verb} needs {' or '.join(f'{key}=…' for key in keys)}",
        allowed=list(keys),
        next=f"benchgen {cfg.verb} --help",
    )


def one(value: Any) -> int:
    """The id that was given; ConfigError where it is a list of them."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError("one run is asked for here", got=value, next="run_id=1")
    return value
