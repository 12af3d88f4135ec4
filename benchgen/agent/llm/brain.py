"""One turn with a model: asked, its calls carried out, asked again, until it answers or is stopped."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchgen.agent import acting, wording
from benchgen.agent.acting import Do
from benchgen.agent.brains import reading
from benchgen.agent.llm import talk
from benchgen.agent.llm.meant import Meant
from benchgen.agent.llm.offered import Offered
from benchgen.agent.llm.scrub import Scrubber, holds_secret
from benchgen.agent.llm.talk import Said
from benchgen.agent.llm.work import Limits, Work
from benchgen.agent.reply import Reply
from benchgen.agent.situation import Situation, Wish
from benchgen.agent.turn import Turn
from benchgen.errors import BenchgenError, ConfigError
from benchgen.models.calls import MAX_TEXT, read
from benchgen.models.redact import HIDDEN
from benchgen.types import Message, Model, Request
from benchgen.types import Reply as Answered

POLL_S = 0.05
"""How soon a stopped turn is noticed while the model is asked."""
REFUSED = ("refuse_secret", "refuse_unsupported")
"""Readings of the rules that no model is asked about: it could say that it did what no one here can."""


class ModelBrain:
    """A `Brain` that asks a model; by the rules for a turn in which the model does not answer.

    `tools` is what the session's `do` carries wishes out with: its methods are what the model is told of.
    """

    def __init__(
        self, model: Model, tools: object, limits: Limits | None = None, *, leaves: bool = True
    ) -> None:
        if not getattr(model, "takes_tools", True):
            raise ConfigError(
                "its chat template has no place for tools, so that model cannot be the agent",
                got=model.name,
                next="agent=rules, an endpoint, or a chat model whose template has tools",
            )
        self.leaves = leaves
        self._model = model
        self._offered = Offered(tools)
        self._limits = limits or Limits()
        self._past: list[Said] = []

    def __repr__(self) -> str:
        return f"ModelBrain({self._model.name!r})"

    def reply(self, text: str, situation: Situation, do: Do, turn: Turn) -> Reply:
        """The answer to one message; `do` is called for what the person's own words allow."""
        scrub = Scrubber()
        read_so = reading(text, situation, turn)
        if HIDDEN in text or holds_secret(text):
            read_so = Wish("refuse_secret")
        if read_so.intent in REFUSED:
            return acting.answer(read_so, do(read_so))
        said = [*(one.text for one in self._past), text]
        meant = Meant(f"{turn.asked} {text}".strip(), said, read_so, situation)
        work = Work(do, meant, self._offered, self._limits)
        end = self._talk(talk.opening(text, situation, self._past), work, scrub, turn)
        found = self._answer(work, end, read_so)
        found = replace(found, text=scrub.text(found.text))
        found = wording.partly_read(found, len(text) - talk.MAX_TEXT)
        shown = talk.without_links(found.text, found.links)
        self._past = [*self._past, Said(text[: talk.MAX_TEXT], shown)][-talk.MAX_TURNS :]
        return found

    def _talk(self, messages: list[Message], work: Work, scrub: Scrubber, turn: Turn) -> _End:
        """How the turn ended: with words of the model, or with the line that says why without."""
        for _ in range(self._limits.rounds):
            answered = self._ask(messages, scrub, turn)
            if answered.error or answered.finish_reason == "content_filter":
                return _End(offline=answered.error or "content_filter: its filter refused")
            said, calls = read(scrub.text(answered.text[:MAX_TEXT]))
            if not calls:
                return _End(words=said) if said else _End(offline="it answered with nothing")
            results = work.results(calls)
            if work.over:
                return _End(line=work.line, words="" if work.waits else said)
            messages.append(talk.asked(said, [call for call, _ in results]))
            messages += [message for _, message in results]
        return _End(line=f"it was asked {self._limits.rounds} times and came to no end")

    def _ask(self, messages: Sequence[Message], scrub: Scrubber, turn: Turn) -> Answered:
        """The model's answer to the messages without anything secret; TurnEnded when the turn ends first."""
        request = Request(
            messages=tuple({key: scrub.text(value) for key, value in m.items()} for m in messages),
            max_new_tokens=self._limits.max_new_tokens,
            temperature=self._limits.temperature,
            tools=self._offered.schemas,
        )
        return _in_time(lambda: _one(self._model, request), turn)

    def _answer(self, work: Work, end: _End, read_so: Wish) -> Reply:
        """What was done, then the model's own words; by the rules where nothing was done and it failed."""
        if not work.done and not end.words:
            found = acting.answer(read_so, work.do(read_so))
            return replace(found, text=f"{end.why} The rules answer instead.\n\n{found.text}")
        parts = [acting.answer(wish, outcome) for wish, outcome in work.done]
        text = [part.text for part in parts]
        if end.words:
            text.append(talk.remark(self._model.name, end.words, alone=not parts))
        if end.why:
            text.append(end.why)
        return _joined(parts, "\n\n".join(text))


@dataclass(frozen=True)
class _End:
    """How the model's part of a turn ended."""

    words: str = ""
    line: str = ""
    """Why it was stopped."""
    offline: str = ""
    """Why it did not answer."""

    @property
    def why(self) -> str:
        """A sentence for the person, where it did not end by itself."""
        if self.offline:
            return f"The agent's model is offline ({talk.plain(self.offline)}); a later message asks it again."
        return f"The agent's model was stopped: {self.line.rstrip('.')}." if self.line else ""


def _one(model: Model, request: Request) -> Answered:
    """The reply to one request; what fails is a reply with its error, too."""
    try:
        for _, answered in model.generate([request]):
            return answered
    except BenchgenError as error:
        return Answered("", "error", error=error.message)
    except Exception as error:  # noqa: BLE001 - a model that crashes is one that does not answer
        return Answered("", "error", error=type(error).__name__)
    return Answered("", "error", error="no answer")


def _in_time(work: Callable[[], Answered], turn: Turn) -> Answered:
    """What the work returns; TurnEnded as soon as the turn ends, and the work then ends unheard."""
    turn.check()
    found: list[Answered] = []
    thread = threading.Thread(target=lambda: found.append(work()), name="agent-model", daemon=True)
    thread.start()
    while thread.is_alive():
        thread.join(POLL_S)
        turn.check()
    return found[0]


def _joined(parts: Sequence[Reply], text: str) -> Reply:
    """One reply of what several tools did: the last one's intent and arguments, everyone's links."""
    if not parts:
        return Reply(text, "explain")
    links = tuple(dict.fromkeys(link for part in parts for link in part.links))
    return replace(parts[-1], text=text, links=links)
