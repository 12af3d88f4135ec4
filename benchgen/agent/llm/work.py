"""What a model's calls do in one turn: each is checked, carried out, counted, and answered as data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from benchgen.agent.acting import Do
from benchgen.agent.llm import talk
from benchgen.agent.llm.meant import Meant
from benchgen.agent.llm.offered import Offered
from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Wish
from benchgen.errors import ConfigError, InputError
from benchgen.models.calls import Call
from benchgen.types import Message, canonical


@dataclass(frozen=True)
class Limits:
    """What one turn may take."""

    rounds: int = 8
    """Times that the model is asked."""
    calls: int = 12
    """Calls of tools that are carried out."""
    faults: int = 4
    """Calls that cannot be carried out, before the turn ends."""
    repeats: int = 3
    """The same call, before the turn ends; only the first is carried out."""
    max_new_tokens: int = 1500
    temperature: float = 0.0

    def __post_init__(self) -> None:
        for name in ("rounds", "calls", "faults", "repeats", "max_new_tokens"):
            if getattr(self, name) < 1:
                raise ConfigError(
                    f"agent.{name} is too small", got=getattr(self, name), allowed="1 or more"
                )


@dataclass
class Work:
    """The calls of one turn. It is `over` when no further one is carried out; `line` then says why."""

    do: Do
    meant: Meant
    offered: Offered
    limits: Limits
    done: list[tuple[Wish, Outcome]] = field(default_factory=list)
    over: bool = False
    line: str = ""
    waits: bool = False
    """Something now waits for the person's word."""
    _made: dict[str, int] = field(default_factory=dict)
    _faults: int = 0

    def results(self, calls: Sequence[Call]) -> list[tuple[Call, Message]]:
        """Each call with its result, in order, up to the one after which the turn is over."""
        found: list[tuple[Call, Message]] = []
        for number, call in enumerate(calls):
            if self.over:
                left = [talk.plain(one.name)[:40] or "?" for one in calls[number:]]
                more = " …" if len(left) > 4 else ""
                self.line = (
                    f"{self.line or 'one step at a time'}; not done: {', '.join(left[:4])}{more}"
                )
                break
            call = replace(call, id=f"call_{len(self.done)}_{self._faults}_{number}")
            found.append((call, self._result(call)))
        return found

    def _result(self, call: Call) -> Message:
        try:
            wish = self.offered.wish(call)
            wish = self.meant.literal(wish)
            self._check_new(wish)
            self.meant.check(wish)
        except InputError as error:
            self._faults += 1
            if self._faults >= self.limits.faults:
                self._end(f"{self._faults} of its calls could not be carried out; {error.what}")
            return talk.fault(call, error.message)
        outcome = self.do(wish)
        self.done.append((wish, outcome))
        if outcome.intent in ("", wish.intent):
            self.meant.count(wish)
        if outcome.waiting is not None or outcome.choices:
            self.waits = True
            self._end("")
        elif len(self.done) >= self.limits.calls:
            self._end(f"it called tools {len(self.done)} times")
        return talk.result(call, outcome)

    def _check_new(self, wish: Wish) -> None:
        """None; InputError for a call that was made before in this turn."""
        key = canonical([wish.intent, wish.arguments])
        self._made[key] = self._made.get(key, 0) + 1
        if self._made[key] >= self.limits.repeats:
            self._end(f"it called {wish.intent} with the same arguments {self._made[key]} times")
        if self._made[key] > 1:
            raise InputError(
                f"{wish.intent} was called with these arguments already",
                next="its result stands above; answer now",
            )

    def _end(self, line: str) -> None:
        if not self.over:
            self.over, self.line = True, talk.plain(line)
