"""benchgen: measure a language model, look inside the run, train on what it showed, measure again.

Light by design: importing it loads neither torch nor a database; names are fetched when first used.
"""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from benchgen import scoring
    from benchgen.agent.session import Agent
    from benchgen.workspace import Workspace

__version__ = "0.1.0"
__all__ = ["Agent", "Workspace", "scoring"]

# Quiet and private: set before any of these libraries can be imported, so that none reports home.
for _name in ("HF_HUB_DISABLE_TELEMETRY", "DO_NOT_TRACK", "UNSLOTH_DISABLE_STATISTICS"):
    os.environ.setdefault(_name, "1")
os.environ.setdefault("WANDB_ERROR_REPORTING", "false")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")


def __getattr__(name: str) -> Any:
    if name == "Workspace":
        return importlib.import_module("benchgen.workspace").Workspace
    if name == "Agent":
        return importlib.import_module("benchgen.agent.session").Agent
    if name == "scoring":
        return importlib.import_module("benchgen.scoring")
    raise AttributeError(f"module 'benchgen' has no attribute {name!r}")
