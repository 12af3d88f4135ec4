"""Who acts, and where what belongs to this machine is kept."""

from __future__ import annotations

import os
from pathlib import Path

from benchgen.config.schema import Config, HardwareConfig
from benchgen.errors import ConfigError
from benchgen.types import DTYPES


def user_name(config: Config | None = None) -> str:
    """Who acts: config `user`, else the login name; never fails."""
    if config is not None and config.user:
        return config.user
    return os.environ.get("USER") or os.environ.get("LOGNAME") or "unknown"


def check_hardware(hardware: HardwareConfig) -> None:
    """Nothing; ConfigError for a value that would fit no machine."""
    if hardware.dtype not in ("auto", *DTYPES):
        raise ConfigError(
            f"hardware.dtype={hardware.dtype} is not known",
            got=hardware.dtype,
            allowed=["auto", *DTYPES],
            next="hardware.dtype=auto takes the fastest that is safe",
        )
    for name in ("threads", "batch_rows", "processes"):
        value = getattr(hardware, name)
        if value is not None and value < 1:
            raise ConfigError(
                f"hardware.{name}={value} cannot be computed with",
                got=value,
                allowed="1 or more, or null for what is found fastest",
                next=f"leave hardware.{name} out",
            )


def cache_folder() -> Path:
    """Where what belongs to this machine, not to a workspace, is kept: `$BENCHGEN_CACHE`, else
    `~/.cache/benchgen` (under `$XDG_CACHE_HOME` if that is set)."""
    if own := os.environ.get("BENCHGEN_CACHE"):
        return Path(own).expanduser()
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "benchgen"
