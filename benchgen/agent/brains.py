"""The brains by name: the embedded rules, and a model of the catalogue."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from benchgen import config
from benchgen.agent import acting, wording
from benchgen.agent.acting import Brain, Do
from benchgen.agent.reply import Reply
from benchgen.agent.rules import understand, unread
from benchgen.agent.situation import Situation, Wish
from benchgen.agent.turn import Turn
from benchgen.errors import ConfigError
from benchgen.models import catalogue
from benchgen.types import Model, Request, sha256
from benchgen.types import Reply as Answered

if TYPE_CHECKING:
    from benchgen.workspace import Workspace

BRAINS = ("rules", "llm")
UNDECIDED = ("unclear", "clarify", "ignore_or_cancel", "cancel_plan")
"""Readings of a message that ask for nothing that can be done."""


class RulesBrain:
    """Reads a message by the embedded rules; where it had asked for what is missing, the answer is read with it."""

    leaves = False

    def reply(self, text: str, situation: Situation, do: Do, turn: Turn) -> Reply:
        """The answer to one message, after one wish."""
        wish = reading(text, situation, turn)
        return wording.partly_read(acting.answer(wish, do(wish)), unread(text))


def reading(text: str, situation: Situation, turn: Turn) -> Wish:
    """What the rules read in a message, together with the question that it may answer."""
    wish = understand(text, situation)
    if turn.asked and wish.intent in ("unclear", "clarify"):
        whole = understand(f"{turn.asked} {text}", situation)
        wish = wish if whole.intent in UNDECIDED else whole
    return wish


def brain_of(ws: Workspace, told: config.AgentConfig, tools: Any) -> Brain:
    """The brain that the config names; ConfigError for one that there is not."""
    if told.name == "rules":
        return RulesBrain()
    if told.name != "llm":
        raise ConfigError(
            f"there is no agent {told.name!r}", got=told.name, allowed=BRAINS, next="agent=rules"
        )
    if not told.model:
        raise ConfigError(
            "agent=llm needs the model that it asks",
            allowed="a model of the catalogue, as `benchgen models` lists it",
            next="agent=llm agent.model=NAME, or agent=rules",
        )
    from benchgen.agent.llm import Limits, ModelBrain

    model = _Lent(ws, told)
    limits = Limits(
        rounds=told.rounds,
        calls=told.calls,
        faults=told.faults,
        repeats=told.repeats,
        max_new_tokens=told.max_new_tokens,
        temperature=told.temperature,
    )
    return ModelBrain(model, tools, limits, leaves=model.leaves)


class _Lent:
    """A model of the catalogue that is made ready for each request: a chat holds no device between its turns."""

    def __init__(self, ws: Workspace, told: config.AgentConfig) -> None:
        self._ws = ws
        self._told = told
        self._row = catalogue.find(ws.store, told.model)
        self._endpoint: Model | None = None
        self.name = str(self._row.name)
        self.leaves = self._row.kind == "endpoint"

    @property
    def fingerprint(self) -> str:
        return sha256([self.name, self._row.kind, self._row.spec])

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Answered]]:
        if self.leaves:
            self._ws.allow("endpoint")
            self._endpoint = self._endpoint or self._hurried()
            yield from self._endpoint.generate(requests)
            return
        from benchgen.stages.loading import loaded

        with loaded(self._ws.place, self._row, config.HardwareConfig(), {}) as model:
            yield from model.generate(requests)

    def _hurried(self) -> Model:
        """The endpoint, which keeps a person waiting less long than it may keep a run."""
        from benchgen.models.endpoint import EndpointModel

        place = self._ws.place
        model = catalogue.load(place.store, self._row, place.path, config.HardwareConfig(), {})
        assert isinstance(model, EndpointModel)
        return replace(
            model,
            concurrency=1,
            timeout_first_s=min(model.timeout_first_s, self._told.timeout_s),
            timeout_s=min(model.timeout_s, self._told.timeout_s),
            max_retries=min(model.max_retries, self._told.max_retries),
        )
