"""The tools as a model is told of them, and its calls as wishes: made from the tools' own signatures and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any, Literal, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model

from benchgen.agent.acting import DONE
from benchgen.agent.situation import Wish
from benchgen.errors import InputError
from benchgen.models.calls import Call
from benchgen.types import canonical

MAX_CHARS = 60_000
"""Of the arguments of one call; a pasted table is the longest."""
MAX_SHOWN = 60
OURS = frozenset(
    ("self", "situation", "turn", "roles", "model_candidates", "base_model_candidates")
)
"""Parameters of a tool that the session fills in, or only the rules' reading does."""
REVISES = {"revise_plan": "plan_training", "revise_preview": "create_benchmark"}
"""Tools that also take, as changes, all that another takes."""
MEANINGS = {
    "kind": "mcq, qa, numeric, tool or keypoints",
    "n": "number of questions",
    "n_options": "options of a multiple choice question",
    "language": "of the questions, as en, de, fr",
    "difficulty": "easy, medium, hard or mixed",
    "groups": 'parts by topic: [{"topic": …, "n": …}]',
    "based_on": "id of a benchmark: new questions of the same make and topic",
    "no_overlap_with": "id of a benchmark with which no question may be shared",
    "name": "exactly as the person wrote it",
    "path": "exactly as the person wrote it",
    "table": "the pasted text, unchanged",
    "benchmark": "id",
    "run": "id",
    "runs": "ids",
    "job": "id of a training",
    "write": "id of a writing: a benchmark whose questions a model writes in parts",
    "model": "name as the workspace lists it, or as the person wrote it",
    "models": "names as the workspace lists them, or as the person wrote them",
    "base_model": "Hugging Face id of the model that is to learn, only if the person named it",
    "dataset": "Hugging Face id or file, exactly as the person wrote it",
    "job_type": "lora, grpo, continue or from-run",
    "mode": "failures (wrong answers), all, or distill (right answers)",
    "rows": "how many to show",
    "offset": "how many to leave out first",
    "edits": '[{"q": number, and "answer", "prompt", "options", "change" (in words), or "remove": true}]',
    "quantize": "4-bit base (QLoRA)",
    "max_steps": "a cap; stands above epochs",
    "limit": "only the first so many questions",
    "lines": "how many of the log",
}
"""What arguments mean, where the name alone does not say it."""


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
        self._models, self.schemas = _described(type(tools))  # type: ignore[arg-type]  # a class is hashable
        """The arguments of each tool; all of them as OpenAI's API defines functions."""

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


@cache
def _described(tools: type) -> tuple[dict[str, type[BaseModel]], tuple[dict[str, Any], ...]]:
    """({tool: its arguments}, schemas of all) of a class of tools: made once, for every chat of a process."""
    found: dict[str, Callable[..., Any]] = {
        name: getattr(tools, name) for name in sorted(DONE) if hasattr(tools, name)
    }
    found["refuse_unsupported"] = refuse_unsupported
    models = {name: _model(name, found) for name in found}
    return models, tuple(_schema(n, found[n], model) for n, model in models.items())


def _parameters(tool: Callable[..., Any]) -> Iterator[tuple[str, Any, Any]]:
    """(name, type, default or ...) of each argument that a wish can fill."""
    hints = get_type_hints(tool)
    for name, place in inspect.signature(tool).parameters.items():
        if name in OURS or place.kind in (place.VAR_POSITIONAL, place.VAR_KEYWORD):
            continue
        default = ... if place.default is place.empty else place.default
        yield name, hints.get(name, Any), default


def _model(name: str, tools: Mapping[str, Callable[..., Any]]) -> type[BaseModel]:
    """The arguments of a tool as a schema that also checks them."""
    base = tools.get(REVISES.get(name, ""))
    changes = [(p, kind | None, None) for p, kind, _ in _parameters(base)] if base else []
    fields: dict[str, Any] = {
        p: (kind, Field(default, description=MEANINGS.get(p)))
        for p, kind, default in [*changes, *_parameters(tools[name])]
    }
    settings = ConfigDict(extra="forbid", protected_namespaces=(), allow_inf_nan=False)
    return create_model(name, __config__=settings, **fields)


def _schema(name: str, tool: Callable[..., Any], model: type[BaseModel]) -> dict[str, Any]:
    told = {"type": "object", "properties": {}, **_short_schema(model.model_json_schema())}
    told.pop("description", None)
    said = inspect.getdoc(tool) or name
    function = {"name": name, "description": " ".join(said.split()), "parameters": told}
    return {"type": "function", "function": function}


def _short_schema(value: Any) -> Any:
    """The schema without titles that repeat its names, and without the null of what may be left out."""
    if isinstance(value, list):
        return [_short_schema(one) for one in value]
    if not isinstance(value, dict):
        return value
    told = {k: v for k, v in value.items() if not (k == "title" and isinstance(v, str))}
    kinds = [one for one in told.get("anyOf", ()) if one != {"type": "null"}]
    if len(kinds) == 1:
        told = {**kinds[0], **{k: v for k, v in told.items() if k not in ("anyOf", "default")}}
    return {k: _short_schema(v) for k, v in told.items()}


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
