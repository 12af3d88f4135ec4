"""Takes secrets out of what goes to a model and of what comes back: this machine's keys, and all that looks like one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

from benchgen.agent.rules.secrets import hidden
from benchgen.models.redact import HIDDEN, REAL_CHARS, Redactor, Secret, unless_words

_NAMED = re.compile(
    r"(?:^|_)(?:(?:api|access|secret|private|auth)?key|token|secret|pass(?:word|wd|phrase)?|pwd|pat|credentials?)"
    r"(?:_|$)",
    re.IGNORECASE,
)
"""Names of environment variables that hold one."""
_LOOKS = re.compile(
    r"\b(?:hf|sk|pk|rk|gsk|xai|nvapi|r8|ghp|gho|ghs|ghu|ghr|glpat|github_pat|pypi|npm|dop_v1|lin_api|tvly|wandb_v1)"
    r"[-_][\w.-]{12,}"
    r"|\bxox[abeoprs]-[\w-]{10,}|\bAKIA[0-9A-Z]{16}\b|\bAIza[\w-]{30,}"
    r"|\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]+"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)"
    r"|\bbearer\s+[\w.~+/=-]{16,}"
    r"|\bhttps?://[^\s/@:]+:[^\s/@]+@"
    r"|\b(?:api[ _-]?key|access[ _-]?token|token|password|passwort|passwd|secret)\b\s*(?:is|=|:|ist|lautet)\s*"
    r"[\"'`]?(?=[^\s\"'`]*\d)[^\s\"'`,;]{8,}",
    re.IGNORECASE | re.DOTALL,
)
_PLACES = re.compile(r"[/~.][^\s]*/")
"""A value that is a path: the variable names a file, it is no secret itself."""


def holds_secret(text: str) -> bool:
    """Whether something in the text looks like a key, a token or a password."""
    return _masked(text) != text


def _masked(text: str) -> str:
    """The text with all that looks like one taken out; a name that only begins as a key does stays."""
    return _LOOKS.sub(lambda found: unless_words(found[0], HIDDEN), text)


class Scrubber:
    """Takes out what may not leave: the values of the environment's secrets, and what only looks like one."""

    __slots__ = ("_redactors",)

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        found = os.environ if environment is None else environment
        secrets = {
            value.strip()
            for name, value in found.items()
            if _NAMED.search(name) and len(value.strip()) >= REAL_CHARS and not _PLACES.match(value)
        }
        self._redactors = [Redactor(Secret(value)) for value in sorted(secrets)]

    def __repr__(self) -> str:
        return "Scrubber()"

    def text(self, text: str) -> str:
        """The text without any of them, in whatever spelling."""
        for redactor in self._redactors:
            text = redactor.text(text)
        return _masked(hidden(text, HIDDEN))
