"""What the agent answers to one message."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from benchgen.agent.situation import Waiting


@dataclass(frozen=True)
class Outcome:
    """What a tool did: the words for the person, and what a front end needs to go on."""

    text: str
    arguments: dict[str, Any] = field(default_factory=dict)
    """What was understood and found, under the names of the contract; joined to the wish's own."""
    intent: str = ""
    """Where the outcome is another than what was wished: error, explain_draft, warn_incomparable …"""
    links: tuple[str, ...] = ()
    """Paths of the pages of the records that it names."""
    choices: tuple[str, ...] = ()
    """Numbered next steps, in their order."""
    waiting: Waiting | None = None
    """What now waits for the person's word."""


@dataclass(frozen=True)
class Reply:
    """The agent's answer."""

    text: str
    intent: str
    """What the message asks, also where it cannot be done here."""
    arguments: dict[str, Any] = field(default_factory=dict)
    plan: Waiting | None = None
    """The plan or merge that waits for `yes`, if one does."""
    choices: tuple[str, ...] = ()
    links: tuple[str, ...] = ()
