"""The tools as a model is told of them, and its calls as wishes: made from the tools' own signatures and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, ValidationError, create_model

from benchgen.agent.acting import DONE
from benchgen.agent.situation import Wish
from benchgen.errors import InputError
from benchgen.models.calls import Call
from benchgen.types import canonical

MAX_CHARS = 60_000
"""Of the arguments of one call; a pasted table is the longest."""
MAX_SHOWN = 60
OURS = frozenset(("self", "situation", "turn"))
"""Parameters of a tool that the session fills in."""


def refuse_unsupported(
    action: Literal["stop", "delete", "unpublish", "edit"],
    run: int | None = None,
    job: int | None = None,
    benchmark: int | None = None,
    model: str | None = None,
) -> None:
    """Tell the person by which command they stop, delete, unpublish or edit that record themselves. Does nothing else."""


class Offered:
    """The tools that a model may ask for; a method that is not among the wishes is never one."""

    def __init__(self, tools: Any) -> None:
        found: dict[str, Callable[..., Any]] = {
            name: getattr(tools, name) for name in sorted(DONE) if hasattr(tools, name)
        }
        found["refuse_unsupported"] = refuse_unsupported
        self._models = {name: _model(name, tool) for name, tool in found.items()}
        self.schemas = tuple(_schema(n, found[n], model) for n, model in self._models.items())
        """As OpenAI's API defines functions."""

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._models)

    def wish(self, call: Call) -> Wish:
        """The call as a wish; InputError, in words for the model, where it is none."""
        model = self._models.get(call.name)
        if model is None:
            raise InputError("there is no such tool", got=_short(call.name), allowed=self.names)
        if call.arguments is None:
            raise InputError(f"the arguments of {call.name} are no JSON object", allowed="{…}")
        _check_plain(call)
        try:
            given = model.model_validate(call.arguments).model_dump(exclude_unset=True)
        except (ValidationError, RecursionError) as error:
            raise InputError(
                f"{call.name} does not take that: {_why(error)}", allowed=list(model.model_fields)
            ) from None
        return Wish(call.name, {name: value for name, value in given.items() if value is not None})


def _parameters(tool: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name, type, default or ...) of each argument that a wish can fill."""
    hints = get_type_hints(tool)
    for name, place in inspect.signature(tool).parameters.items():
        if name in OURS or place.kind in (place.VAR_POSITIONAL, place.VAR_KEYWORD):
            continue
        default = ... if place.default is place.empty else place.default
        yield name, hints.get(name, Any), default


def _model(name: str, tool: Callable[..., Any]) -> type[BaseModel]:
    fields: dict[str, Any] = {p: (kind, default) for p, kind, default in _parameters(tool)}
    settings = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)
    return create_model(name, __config__=settings, **fields)


def _schema(name: str, tool: Callable[..., Any], model: type[BaseModel]) -> dict[str, Any]:
    told = _untitled(model.model_json_schema())
    told.pop("description", None)
    said = inspect.getdoc(tool) or name
    function = {"name": name, "description": said, "parameters": {"type": "object", **told}}
    return {"type": "function", "function": function}


def _untitled(value: Any) -> Any:
    """The schema without the titles that only repeat its names."""
    if isinstance(value, list):
        return [_untitled(one) for one in value]
    if not isinstance(value, dict):
        return value
    kept = {k: v for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    return {k: _untitled(v) for k, v in kept.items()}


def _check_plain(call: Call) -> None:
    """None; InputError for what no person writes: hidden keys, interpolations, an endless text."""
    try:
        size = len(canonical(call.arguments))
    except (ValueError, RecursionError):
        size = MAX_CHARS + 1
    if size > MAX_CHARS:
        raise InputError(
            f"the arguments of {call.name} are too long, or no JSON",
            allowed=f"{MAX_CHARS} characters",
        )
    for key, value in _leaves(call.arguments):
        if key.startswith("_"):
            raise InputError(f"{call.name} has no hidden arguments", got=_short(key))
        if isinstance(value, str) and "${" in value:
            raise InputError(f"{call.name}: a value holds no reference to another", got="${")


def _leaves(value: Any) -> Iterator[tuple[str, Any]]:
    """(key, value) of everything inside, at any depth."""
    waiting: list[tuple[str, Any]] = [("", value)]
    while waiting:
        key, value = waiting.pop()
        yield key, value
        if isinstance(value, dict):
            waiting += [(str(name), inner) for name, inner in value.items()]
        elif isinstance(value, list):
            waiting += [("", inner) for inner in value]


def _why(error: ValidationError | RecursionError) -> str:
    """The first faults in words, without what was given: it may be long, and is known to the model."""
    if isinstance(error, RecursionError):
        return "too deep"
    faults = error.errors(include_url=False, include_input=False)
    told = [f"{_short('.'.join(map(str, one['loc'])))}: {one['msg']}" for one in faults[:4]]
    return "; ".join(told)


def _short(text: str) -> str:
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"
