"""The author's own worked answers as a model: the ceiling, and the teacher when no stronger one is at hand."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from benchgen.types import Reply, Request, sha256


class ReferenceModel:
    """Answers each question by its key with the worked answer it was given; it computes nothing."""

    name = "reference"

    def __init__(self, answers: Mapping[str, str]) -> None:
        self._answers = MappingProxyType(dict(answers))

    @property
    def fingerprint(self) -> str:
        """16 hex digits over the answers themselves."""
        return sha256({"reference": dict(self._answers)})[:16]

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index, the worked answer) in order; a question without one is not measured, never wrong."""
        for index, request in enumerate(requests):
            text = self._answers.get(request.key)
            if text is None:
                yield index, Reply("", "error", error=f"no worked answer for {request.key or '?'}")
            else:
                yield index, Reply(text)
