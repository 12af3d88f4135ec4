"""Author `llm`: a model writes the questions, and nothing it says is taken on trust.

It is asked for JSON, part by part. Each item is checked against the kind's schema; faulty ones go back
to it with what is wrong, twice at most. What then stands is still only a candidate: `parts` proves it.
A second, blind solve asks the questions without their keys and flags those it answers otherwise.
"""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from benchgen.author.parts import Wanted
from benchgen.author.write import Rejected
from benchgen.benchmark.prompts import render
from benchgen.errors import ModelError
from benchgen.scoring import score
from benchgen.types import LETTERS, Evaluation, Message, Model, Question, Request, canonical

MAX_REPAIRS = 2
SHOWN = 40
"""Prompts that the model is told not to repeat: the newest of the category."""
Prompt = Field(min_length=8, max_length=4000)
Text = Field(min_length=1, max_length=500)


@dataclass(frozen=True)
class Brief:
    """What the questions are to be about, and of which make."""

    topic: str
    kind: str
    options: int = 4
    language: str = "en"
    tools: tuple[Mapping[str, Any], ...] = ()
    """kind tool: definitions `{"name", "description", "parameters": JSON Schema}`."""
    max_new_tokens: int = 4000
    temperature: float = 0.7
    seed: int = 0


class Item(BaseModel):
    """One question as the model gives it; keys that it makes up are dropped."""

    model_config = ConfigDict(extra="ignore", str_strip_whitespace=True)

    prompt: str = Prompt
    explanation: str = Field(default="", max_length=2000)
    difficulty: Literal["easy", "medium", "hard"] = "medium"
    quote: str = Field(default="", max_length=2000)

    @field_validator("*", mode="before")
    @classmethod
    def _readable(cls, value: Any) -> Any:
        return _clean(value)

    def question(self, brief: Brief, category: str, source: str) -> Question:
        """The item as a question; ValueError where its key does not fit it."""
        return Question(
            kind=brief.kind,
            prompt=self.prompt,
            category=category,
            difficulty=self.difficulty,
            language=brief.language,
            rationale=self.explanation,
            source=source,
            **self.key(brief),
        )

    def key(self, brief: Brief) -> dict[str, Any]:
        """The fields of a question that hold its key: those of the kind."""
        raise NotImplementedError


class _Mcq(Item):
    options: list[str] = Field(min_length=2, max_length=8)
    answer: str = Text

    def key(self, brief: Brief) -> dict[str, Any]:
        if len(self.options) != brief.options:
            raise ValueError(f"{len(self.options)} options instead of {brief.options}")
        found = [i for i, text in enumerate(self.options) if text == self.answer]
        if len(found) != 1:
            raise ValueError("answer is not the text of exactly one option")
        return {"choices": tuple(self.options), "target": LETTERS[found[0]]}


class _Qa(Item):
    answers: list[str] = Field(min_length=1, max_length=20)

    def key(self, brief: Brief) -> dict[str, Any]:
        return {"target": [text for text in self.answers if text]}


class _Numeric(Item):
    answer: int | float
    rel_tol: float | None = Field(default=None, ge=0, le=0.2)

    def key(self, brief: Brief) -> dict[str, Any]:
        options = {} if self.rel_tol is None else {"rel_tol": self.rel_tol}
        return {"target": self.answer, "options": options}


class _Call(BaseModel):
    name: str
    arguments: dict[str, Any] = {}


class _Tool(Item):
    calls: list[_Call] = Field(max_length=8)

    def key(self, brief: Brief) -> dict[str, Any]:
        known = {str(tool.get("name")) for tool in brief.tools}
        if strange := sorted({call.name for call in self.calls} - known):
            raise ValueError(f"there is no function {strange[0]}")
        return {
            "target": [call.model_dump() for call in self.calls],
            "options": {"tools": [dict(tool) for tool in brief.tools]},
        }


class _Keypoints(Item):
    points: list[str] = Field(min_length=1, max_length=10)

    def key(self, brief: Brief) -> dict[str, Any]:
        return {"target": self.points}


_ITEMS: Mapping[str, type[Item]] = {
    "mcq": _Mcq,
    "qa": _Qa,
    "numeric": _Numeric,
    "tool": _Tool,
    "keypoints": _Keypoints,
}
_SHAPES = {
    "mcq": '{{"prompt": …, "options": [{options} texts without letters], "answer": the right option\'s text',
    "qa": '{{"prompt": …, "answers": [every short text that is right]',
    "numeric": '{{"prompt": …, "answer": number, "rel_tol": only if the answer is rounded',
    "tool": '{{"prompt": what a user says, "calls": [{{"name": …, "arguments": {{…}}}}], [] if none is right',
    "keypoints": '{{"prompt": …, "points": [what a good answer must state, one short sentence each]',
}
_RULES = {
    "mcq": "Exactly one option is right; the others are plausible, wrong and of the same sort. No option "
    "refers to another one, such as 'both' or 'none of these'.",
    "qa": "The answer is a name, word or short phrase that can be checked by comparing texts.",
    "numeric": "The answer is one number; the question says in which unit.",
    "tool": "Use only the functions given, with every required argument.",
    "keypoints": "Two to four points, each checkable alone.",
}


@dataclass
class LlmAuthor:
    """Asks a model for the questions of a part; see `parts.PartAuthor`."""

    model: Model
    brief: Brief
    said: int = field(default=0, init=False)
    """Requests so far: each has a seed of its own, so that asking again may bring something else."""

    def __call__(self, wanted: Wanted) -> list[Question | Rejected]:
        """Candidates; ModelError if the model does not answer."""
        messages = self.messages(wanted)
        found: list[Question | Rejected] = []
        for repair in range(MAX_REPAIRS + 1):
            reply = self._ask(messages)
            others = [*wanted.avoid, *(q for q in found if isinstance(q, Question))]
            items, faults = self._read(reply, wanted, others)
            found += items
            good = sum(isinstance(item, Question) for item in found)
            if not faults or good >= wanted.number or repair == MAX_REPAIRS:
                break
            told = "\n".join(f"- {fault}" for fault in faults[:20])
            again = (
                f"Not all of that can be used:\n{told}\n"
                f"Give {wanted.number - good} questions in place of these, as JSON alone."
            )
            messages = (
                *messages,
                {"role": "assistant", "content": reply},
                {"role": "user", "content": again},
            )
        return found

    def messages(self, wanted: Wanted) -> tuple[Message, ...]:
        """What the model is asked for a part."""
        brief = self.brief
        shape = _SHAPES[brief.kind].format(options=brief.options)
        levels = ", ".join(f"{n} {level}" for level, n in wanted.difficulties.items() if level)
        lines = [
            f"Write {wanted.number} exam questions about: {brief.topic}",
            f"Only on this part of it: {wanted.category}" if wanted.category else "",
            f"Difficulty: {levels}." if levels else "",
            f"Language of every text: {brief.language}.",
            _RULES[brief.kind],
            "Each question stands alone and has an answer that nobody disputes. Each asks something else.",
            f'Reply with JSON alone: {{"questions": [{shape}, "explanation": one sentence that leads to '
            f'the answer, "difficulty": "easy" | "medium" | "hard"{self.extra_fields()}}}]}}',
            *self.material(wanted),
        ]
        if brief.tools:
            lines += ["Functions:", *map(canonical, brief.tools)]
        old = [q.prompt[:200] for q in wanted.avoid if q.category == wanted.category][-SHOWN:]
        if old:
            lines += ["These are there already; ask other things:", *(f"- {text}" for text in old)]
        if wanted.faults:
            lines += ["Earlier ones could not be used:", *(f"- {text}" for text in wanted.faults)]
        return (
            {"role": "system", "content": "You write exam questions and answer in JSON."},
            {"role": "user", "content": "\n".join(line for line in lines if line)},
        )

    def material(self, wanted: Wanted) -> Sequence[str]:
        """Further lines of the request: none here."""
        return ()

    def extra_fields(self) -> str:
        """Further fields of an item, as the request shows them."""
        return ""

    def check(self, item: Item, others: Sequence[Question]) -> str:
        """Why an item that fits the schema is still unusable beside the other questions, or ""."""
        return ""

    def source(self, item: Item) -> str:
        """Where the key of an item follows from."""
        return f"written by {self.model.name}"

    def _ask(self, messages: tuple[Message, ...]) -> str:
        self.said += 1
        request = Request(
            messages,
            max_new_tokens=self.brief.max_new_tokens,
            temperature=self.brief.temperature,
            seed=self.brief.seed + self.said,
        )
        for _, reply in self.model.generate([request]):
            if reply.error is not None:
                raise ModelError(
                    f"the model {self.model.name} that writes the questions did not answer: {reply.error}",
                    next="resume the writing once it answers; what was written is kept",
                )
            return reply.text
        raise ModelError(f"the model {self.model.name} gave no reply")

    def _read(
        self, reply: str, wanted: Wanted, others: Sequence[Question]
    ) -> tuple[list[Question | Rejected], list[str]]:
        """(candidates and unusable ones, what is wrong with the reply)."""
        items = json_items(reply)
        if items is None:
            return [], ["the reply is not the JSON asked for"]
        found: list[Question | Rejected] = []
        faults = []
        for number, data in enumerate(items[: 4 * max(wanted.number, 1)], start=1):
            try:
                item = _ITEMS[self.brief.kind].model_validate(data)
                question = item.question(self.brief, wanted.category, self.source(item))
                canonical(question.to_dict()).encode()  # no NaN, no lone surrogate
            except (ValidationError, ValueError) as error:
                faults.append(f"question {number}: {_told(error)}")
                continue
            good = [q for q in found if isinstance(q, Question)]
            if reason := self.check(item, [*others, *good]):
                faults.append(f"question {number}: {reason}")
                found.append(Rejected(question, reason))
            else:
                found.append(question)
        if len(items) < wanted.number:
            faults.append(f"{len(items)} questions instead of {wanted.number}")
        return found, faults


def json_items(reply: str) -> list[Any] | None:
    """The list in a reply with the most objects, whatever stands around it; None if there is none."""
    decoder = json.JSONDecoder()
    best: list[Any] | None = None
    position = 0
    for _ in range(50):
        starts = [at for at in (reply.find("{", position), reply.find("[", position)) if at >= 0]
        if not starts:
            break
        position = min(starts)
        try:
            value, end = decoder.raw_decode(reply, position)
        except (ValueError, RecursionError):
            position += 1
            continue
        position = end
        if isinstance(value, dict):
            lists = [v for v in value.values() if isinstance(v, list)]
            whole = "prompt" in value or len(lists) != 1
            value = value.get("questions") or ([value] if whole else lists[0])
        if isinstance(value, list) and (best is None or _objects(value) > _objects(best)):
            best = value
    return best


def _objects(values: list[Any]) -> int:
    return sum(isinstance(value, dict) for value in values)


def doubtful(questions: Sequence[Question], model: Model, evaluation: Evaluation) -> list[str]:
    """Keys of the questions that a solver, shown no key, answers otherwise than their author.

    A question it did not answer is not doubtful: unmeasured is not wrong.
    """
    requests = [
        Request(
            render(q, evaluation), max_new_tokens=max(evaluation.max_new_tokens, 512), key=q.key
        )
        for q in questions
    ]
    found = []
    for index, reply in model.generate(requests):
        question = questions[index]
        if reply.error is not None:
            continue
        verdict = score(
            question.kind,
            reply=reply.text,
            target=question.target,
            choices=list(question.choices) or None,
            finish_reason=reply.finish_reason,
            **question.options,
        )
        if verdict.correct is False and verdict.status == "ok":
            found.append(question.key)
    order = [q.key for q in questions]
    return sorted(found, key=order.index)


def _clean(value: Any) -> Any:
    """Texts in NFC without control characters and lone surrogates; other values as they are."""
    if isinstance(value, str):
        text = unicodedata.normalize("NFC", value.encode("utf-8", "replace").decode())
        return "".join(c for c in text if c.isprintable() or c in "\n\t")
    if isinstance(value, list):
        return [_clean(item) for item in value]
    return value


def _told(error: Exception) -> str:
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "item"
        return f"{where}: {first['msg']}"
    return str(error)
