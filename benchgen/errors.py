"""Every error this package raises on purpose, one class per boundary that can fail.

BenchgenError                exit 1   something broke that the person cannot mend by typing differently
├── InputError               exit 2   what was asked for is wrong: the message says how to put it right
│   ├── ConfigError                   an unknown key or option, a value of the wrong type
│   ├── NotFound                      no record, model, file or pack of that name
│   ├── StateError                    the record is there but not in a state that allows this
│   ├── DataError                     a file or table whose content cannot be used
│   └── NotAllowed                    what conf/permissions/ does not let this user do
├── ModelError                        a model could not be loaded or did not answer
├── TrainingError                     a training run failed after it began
└── StoreError                        the workspace's database or files are not what its records say
"""

from __future__ import annotations

from typing import Any


class BenchgenError(Exception):
    """One line that says what went wrong, what was got, what is allowed and what to do next."""

    exit_code = 1

    def __init__(self, what: str, *, got: Any = None, allowed: Any = None, next: str = "") -> None:
        self.what = _one_line(what)
        self.got = got
        self.allowed = list(allowed) if isinstance(allowed, (tuple, set, frozenset)) else allowed
        self.next = _one_line(next)
        super().__init__(self.message)

    @property
    def message(self) -> str:
        parts = [self.what.rstrip(".")]
        if self.got is not None:
            parts.append(f"Got: {_shown(self.got)}")
        if self.allowed is not None:
            parts.append(f"Allowed: {_shown(self.allowed)}")
        if self.next:
            parts.append(f"Next: {self.next.rstrip('.')}")
        return ". ".join(parts) + "."

    def as_dict(self) -> dict[str, Any]:
        """{"message", "got", "allowed", "next"}: what `output=json` prints under "error"."""
        return {
            "message": self.message,
            "got": self.got,
            "allowed": self.allowed,
            "next": self.next,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (type(self), self.what, self.got, self.allowed, self.next)


class InputError(BenchgenError):
    exit_code = 2


class ConfigError(InputError):
    pass


class NotFound(InputError):
    pass


class StateError(InputError):
    pass


class DataError(InputError):
    pass


class NotAllowed(InputError):
    pass


class ModelError(BenchgenError):
    pass


class TrainingError(BenchgenError):
    pass


class StoreError(BenchgenError):
    pass


def _rebuild(
    kind: type[BenchgenError], what: str, got: Any, allowed: Any, next: str
) -> BenchgenError:
    return kind(what, got=got, allowed=allowed, next=next)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _shown(value: Any, limit: int = 300) -> str:
    text = ", ".join(str(v) for v in value) if isinstance(value, list) else repr(value)
    text = _one_line(text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
