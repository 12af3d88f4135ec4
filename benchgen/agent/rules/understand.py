"""From a message to a wish: the families of intents are asked in turn, the first that knows it answers."""

from __future__ import annotations

from benchgen.agent.situation import Situation, Wish


def understand(text: str, situation: Situation) -> Wish:
    """What the message asks for; `unclear` where nothing is asked."""
    return Wish("unclear")
