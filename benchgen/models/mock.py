"""Models that compute nothing: one says what a test told it to, one always the same."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from benchgen.errors import ModelError
from benchgen.types import Reply, Request, sha256

Script = Mapping[str, str | Reply] | Sequence[str | Reply] | Callable[[Request], str | Reply]
"""What is said: by question key, one after the other, or worked out from the request."""


class MockModel:
    """Scripted replies. A key outside the script, or more requests than replies, is a ModelError.

    Every request is kept in `requests`, in the order asked, for a test to look at.
    """

    def __init__(self, script: Script, *, name: str = "mock") -> None:
        self.name = name
        self.requests: list[Request] = []
        self._script = script
        self._said = 0

    @property
    def fingerprint(self) -> str:
        """16 hex digits over the name and the script; a callable counts by its qualified name."""
        if callable(self._script):
            told: object = getattr(self._script, "__qualname__", type(self._script).__qualname__)
        elif isinstance(self._script, Mapping):
            told = {key: _reply(said).to_dict() for key, said in self._script.items()}
        else:
            told = [_reply(said).to_dict() for said in self._script]
        return sha256({"mock": self.name, "script": told})[:16]

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index, scripted reply) in order."""
        for index, request in enumerate(requests):
            self.requests.append(request)
            yield index, _reply(self._next(request))

    def _next(self, request: Request) -> str | Reply:
        if callable(self._script):
            return self._script(request)
        if isinstance(self._script, Mapping):
            if request.key not in self._script:
                raise ModelError(
                    "The mock model was not told what to say to this question",
                    got=request.key,
                    allowed=sorted(self._script),
                )
            return self._script[request.key]
        if self._said >= len(self._script):
            raise ModelError("The mock model has no reply left", got=self._said + 1)
        self._said += 1
        return self._script[self._said - 1]


class FixedModel:
    """Says the same to every question and keeps nothing: the path of a run without a model's time."""

    def __init__(self, reply: str, *, name: str = "mock") -> None:
        self.name, self.reply = name, reply

    @property
    def fingerprint(self) -> str:
        """16 hex digits over what it says."""
        return sha256({"fixed": self.reply})[:16]

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index, the reply) in order."""
        for index in range(len(requests)):
            yield index, Reply(self.reply)


def _reply(said: str | Reply) -> Reply:
    return said if isinstance(said, Reply) else Reply(said)
