"""Who acts, and where what belongs to this machine is kept."""

from __future__ import annotations

import os
from pathlib import Path

from benchgen.config.schema import Config


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
