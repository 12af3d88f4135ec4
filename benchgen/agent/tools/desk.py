"""What all tools work with: the workspace, the model that writes questions, files and models by their names."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Situation, Waiting
from benchgen.errors import NotFound
from benchgen.models import catalogue
from benchgen.records import Model
from benchgen.workspace import Workspace

FILES = "files"
"""Folder of the workspace where a person may put files, to name them by their last part."""


@dataclass(frozen=True)
class Desk:
    """The workspace and how the agent writes in it."""

    ws: Workspace
    writer: str | None = None
    """The model of the catalogue that writes questions; None = agent.writer of the config, which may be empty."""

    def author_model(self) -> str:
        """The model that writes questions, empty where none is connected."""
        return config.load().agent.writer if self.writer is None else self.writer

    def file(self, typed: str) -> Path:
        """The file that a path means: as given, else by its last part in the workspace's folder of files."""
        path = Path(typed).expanduser() if typed.startswith("~/") else Path(typed)
        if _is_file(path):
            return path
        last = re.split(r"[\\/]", typed.strip())[-1]
        kept = self.ws.path / FILES / last
        if last and _is_file(kept):
            return kept
        raise NotFound(
            "there is no such file",
            got=typed,
            next=f"its full path, or put it into {self.ws.path / FILES}",
        )

    def model(self, typed: str) -> tuple[Model, tuple[str, ...]]:
        """(the model that a name means, other names that would fit as well)."""
        return self.ws.find_model(typed)

    def kind_of(self, name: str) -> str:
        """Kind of the model with exactly this name; NotFound where there is none."""
        return str(catalogue.find(self.ws.store, name).kind)


def wrong(reason: str, text: str, **arguments: Any) -> Outcome:
    """What cannot be done: the reason under its own name, the offending values as they were given."""
    return Outcome(text, {"reason": reason, **arguments}, intent="error")


def asking(
    text: str, missing: list[str], choices: tuple[str, ...] = (), **arguments: Any
) -> Outcome:
    """A question for what is missing; a number answers one with choices, which are values of what is missing."""
    return Outcome(text, {"missing": missing, **arguments}, intent="clarify", choices=choices)


def number(value: Any) -> int | None:
    """The id that a value is or begins with: 7, "7", "job 7: name"."""
    if isinstance(value, bool) or value is None:
        return None
    found = re.search(r"\d+", str(value))
    return int(found[0]) if found else None


def waiting_for(situation: Situation, label: str | None, *kinds: str) -> Waiting | None:
    """What waits under this label, or else the newest of these kinds."""
    found = [one for one in situation.waiting if one.kind in kinds]
    named = [one for one in found if one.label == label]
    return (named or found)[-1] if found else None


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):  # longer than a path can be, or a character that none has
        return False
