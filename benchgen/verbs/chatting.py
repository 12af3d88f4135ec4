"""The verb that talks with the agent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchgen import config
from benchgen.verbs.given import Act, Result

if TYPE_CHECKING:
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace


def _chat(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen.agent.session import Agent
    from benchgen.ui.terminal import talk

    agent = Agent(ws, cfg.agent, cfg.session, limits=cfg.limits)
    talk(agent, screen.say, as_json=cfg.output == "json")
    return {}


ACTS: dict[str, Act] = {"chat": _chat}
