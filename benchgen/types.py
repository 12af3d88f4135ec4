"""The records that pass between the stages: plain, frozen, versioned, no input or output.

A question becomes a request, a request gets a reply, a scored reply is a trace. A plan is what a
training would do. Each has `to_dict` for JSON and `from_dict` back.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Protocol, Self

KINDS = ("mcq", "qa", "numeric", "tool", "keypoints")
STATUSES = ("ok", "no_answer", "ambiguous", "truncated", "empty", "refused", "error")
MODES = ("failures", "all", "distill")
DTYPES = ("float32", "bfloat16", "float16")
"""Types of weights that a model is loaded or saved in."""
UNDER_WAY = ("queued", "running")
"""States of a run or a job that a process works on, or is to."""
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"

Message = dict[str, str]
"""{"role": "system" | "user" | "assistant", "content": text}"""


def canonical(value: Any) -> str:
    """JSON text that is the same for equal values: sorted keys, no spaces, no NaN."""
    return json.dumps(
        value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), allow_nan=False
    )


def json_line(value: Any) -> str:
    """Canonical JSON as one line of a file, for readers too that split lines at U+2028 and its like."""
    return plain_line(canonical(value)) + "\n"


def plain_line(text: str) -> str:
    """JSON text with U+0085, U+2028 and U+2029 escaped: there they stand in strings only."""
    return re.sub("[\u0085\u2028\u2029]", lambda sign: f"\\u{ord(sign[0]):04x}", text)


def sha256(value: Any) -> str:
    """Hex sha256 of bytes, of text as UTF-8, or of any other value's canonical JSON."""
    if not isinstance(value, bytes):
        value = (value if isinstance(value, str) else canonical(value)).encode()
    return hashlib.sha256(value).hexdigest()


def _normal(text: str) -> str:
    return " ".join(unicodedata.normalize("NFC", text).split())


def _plain(value: Any) -> Any:
    if isinstance(value, Record):
        return value.to_dict()
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and value and isinstance(value[0], Record):
        return [item.to_dict() for item in value]
    return value


class Record:
    """`to_dict` and `from_dict` for a frozen dataclass; unknown fields of a newer file are an error."""

    __slots__ = ()

    def to_dict(self) -> dict[str, Any]:
        """Its fields, records within them as dicts too; other values as they are, not copied."""
        names = self.__dataclass_fields__  # type: ignore[attr-defined]
        return {name: _plain(getattr(self, name)) for name in names}

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Self:
        return cls(**data)


@dataclass(frozen=True)
class Question(Record):
    """One item.

    `target` by kind: mcq a letter, or a list of letters where several are right; qa a list of accepted
    texts; numeric a number, or one as text; tool the expected calls `[{"name", "arguments"}]`, [] for
    none; keypoints the points that an answer must make.
    """

    kind: str
    prompt: str
    target: Any
    choices: tuple[str, ...] = ()
    category: str = ""
    difficulty: str = ""
    language: str = "en"
    rationale: str = ""
    """The worked answer: what leads to the target, without the line that states it."""
    source: str = ""
    """Where the key follows from: facts of a table, a passage of a document."""
    template: str = ""
    """The author's template or task, so that two questions of one template are known as such."""
    options: dict[str, Any] = field(default_factory=dict)
    """What its scorer is told beside the target: `rel_tol`, `tools`, `schema` … (scoring.OPTIONS)."""
    held_out: bool = False
    """Kept for asking: no training may learn from it. Frozen with the question, and no part of its key."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "choices", tuple(self.choices))

    def to_dict(self) -> dict[str, Any]:
        """Its fields; `held_out` only where it is set, so that other questions read as they always did."""
        told = super().to_dict()
        if not self.held_out:
            del told["held_out"]
        return told

    @property
    def target_text(self) -> str:
        """The right answer as text.

        mcq: the right option's text, several joined by "; "; qa: the first accepted text; numeric: the
        number; tool: the calls as JSON; keypoints: the points, one a line.
        """
        if self.kind == "mcq":
            return "; ".join(self._right_options())
        if self.kind == "tool":
            return canonical(self.target)
        if self.kind == "keypoints":
            points = [p if isinstance(p, str) else p["text"] for p in self.target]
            return "\n".join(points)
        if isinstance(self.target, list):
            return str(self.target[0]) if self.target else ""
        return str(self.target)

    def _right_options(self) -> list[str]:
        letters = self.target if isinstance(self.target, list) else [self.target]
        return [self.choices[LETTERS.index(letter)] for letter in letters]

    @cached_property
    def key(self) -> str:
        """Identity: hash of kind, normalised prompt, sorted option texts and target text, nothing else.

        16 hex digits; survives reordered options, renumbering and relabelled categories.
        """
        target = sorted(self._right_options()) if self.kind == "mcq" else self.target
        body = [self.kind, _normal(self.prompt), sorted(map(_normal, self.choices)), target]
        return sha256(body)[:16]


@dataclass(frozen=True)
class Evaluation(Record):
    """How a benchmark is asked: data only, frozen into it as `evaluation.json`, read by `benchmark/prompts.py`."""

    renderer: int = 1
    system: str = ""
    """System message; empty = none is given (a model's own template may still add one)."""
    method: str = "generate"
    """'generate' (the model writes a reply) or 'likelihood' (mcq only: the likeliest option is its reply)."""
    normalisation: str = ""
    """likelihood only: 'sum', 'token', 'character' or 'byte'; empty = sum for letters, else character."""
    options: str = "letters"
    """mcq only: 'letters' (labelled lines, answer by letter), 'names' (answer by option text), or, for
    likelihood alone, 'hidden' (the options are not shown, their texts are scored)."""
    instruction: str = ""
    """How to end the reply; empty = the renderer's own line for the kind."""
    instruct_in: str = "user"
    """'user' (after the question) or 'system': there it is the same for all, and computed once a batch."""
    max_new_tokens: int = 64
    temperature: float = 0.0
    stop: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "stop", tuple(self.stop))


@dataclass(frozen=True)
class Request(Record):
    """What a model is asked."""

    messages: tuple[Message, ...]
    max_new_tokens: int = 64
    temperature: float = 0.0
    stop: tuple[str, ...] = ()
    top_p: float = 1.0
    """Sampling keeps the likeliest tokens that reach this probability together; 1 = all."""
    top_k: int = 0
    """Sampling keeps this many of the likeliest tokens; 0 = all."""
    seed: int = 0
    key: str = ""
    """The question's key: only the reference model, which answers by it, looks at this."""
    repeat: int = 0
    """Which asking of the same question this is, from 0; each draws numbers of its own."""
    opening: str = ""
    """How the reply already begins: likelihood is that of each choice after it."""
    choices: tuple[str, ...] = ()
    """Not empty: nothing is generated, each of these is scored as what comes next."""
    tools: tuple[dict[str, Any], ...] = ()
    """Functions that the model may ask for, as OpenAI's API defines them; the calls stand in the reply's text."""


@dataclass(frozen=True)
class Likelihood(Record):
    """How likely a model finds each of several continuations: enough for every normalisation."""

    logprob: tuple[float, ...]
    """Sum over the continuation's tokens of ln P(token | all before it)."""
    tokens: tuple[int, ...]
    greedy: tuple[bool, ...]
    """Whether greedy decoding would write it."""

    def __post_init__(self) -> None:
        for name in ("logprob", "tokens", "greedy"):
            object.__setattr__(self, name, tuple(getattr(self, name)))


@dataclass(frozen=True)
class Reply(Record):
    """What a model answered. `error` set = it was not measured (time-out, crash, endpoint)."""

    text: str
    finish_reason: str = "stop"
    """'stop', 'length' (cut at the token limit), 'content_filter' or 'error'."""
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    error: str | None = None
    likelihood: Likelihood | None = None
    """Of each of the request's choices."""


class Model(Protocol):
    """The seam between the runner and anything that answers."""

    @property
    def name(self) -> str: ...

    @property
    def fingerprint(self) -> str:
        """Hash of what decides the answers (weights, tokenizer, template): never equal for two models."""
        ...

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index into `requests`, its reply), each once, in the order they finish."""
        ...


@dataclass(frozen=True, slots=True)
class Trace(Record):
    """One question asked once. One line of `traces.jsonl`."""

    key: str
    messages: tuple[Message, ...]
    reply: str
    extracted: str | None
    status: str
    reason: str
    correct: bool | None
    """None = not measured; never counted as wrong."""
    value: float | None
    strict: bool | None = None
    """Right, and in exactly the form that was asked for; None where not measured."""
    finish_reason: str = "stop"
    tokens_in: int = 0
    tokens_out: int = 0
    seconds: float = 0.0
    repeat: int = 0
    """Which asking of the question this is, from 0."""
    likelihood: dict[str, Any] | None = None
    """Where the options were scored instead: lists over them of `text`, `logprob`, `tokens`,
    `characters`, `bytes` and `greedy`."""
    version: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "messages", tuple(self.messages))


@dataclass(frozen=True)
class Estimate(Record):
    """A predicted figure and what it rests on."""

    value: float
    unit: str
    basis: str
    low: float | None = None
    high: float | None = None
    """Where so little is known that only a range can be told; `value` is then its geometric middle."""

    @property
    def words(self) -> str:
        """The figure as a person reads it: about 40 s, or 10 to 900 s."""
        if self.low is None or self.high is None:
            return f"about {self.value:,.0f} {self.unit}"
        return f"{self.low:,.0f} to {self.high:,.0f} {self.unit}"


@dataclass(frozen=True)
class Plan(Record):
    """Exactly what a job would do. `hash` binds it; building one starts nothing."""

    job_type: str
    """lora | from-run (grpo, continue, merge in later releases)"""
    base_model: str
    """Hugging Face id, or the embedded model's own id."""
    base: dict[str, Any]
    """How the base is loaded: catalogue name, source, fingerprint."""
    dataset: dict[str, Any]
    """source, mode, rows (number), sha256 of the frozen rows file."""
    hyperparameters: dict[str, Any]
    device: dict[str, Any]
    """trainer (trl | unsloth), device, dtype, threads."""
    name: str
    """Catalogue name of the model that will land."""
    tracking: dict[str, Any] = field(default_factory=dict)
    """Where its metrics go beside its own folder, so that nothing leaves the machine unseen."""
    estimates: dict[str, Estimate] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()
    """Sorted keys of every question of the runs the rows were chosen from, and the base's own."""
    version: int = 1

    def __post_init__(self) -> None:
        object.__setattr__(self, "warnings", tuple(self.warnings))
        object.__setattr__(self, "seen", tuple(self.seen))
        object.__setattr__(
            self,
            "estimates",
            {k: v if isinstance(v, Estimate) else Estimate(**v) for k, v in self.estimates.items()},
        )

    @cached_property
    def hash(self) -> str:
        """12 hex digits over all that will run; estimates and warnings are not part of it."""
        body = self.to_dict()
        for told in ("estimates", "warnings"):
            del body[told]
        return sha256(body)[:12]
