"""The messages that ask a question, and the worked answer in the form that they ask for.

A benchmark freezes its `Evaluation`, which names a renderer version; the wording of every released
version stays in `RENDERERS`, so an old benchmark is asked in the same words for ever.

The fixed text is short on purpose: each prompt token costs time in every evaluation and every
training step, and on a CPU that is the larger part of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchgen.errors import ConfigError
from benchgen.types import LETTERS, Evaluation, Message, Question

OPTION_FORMS = ("letters", "names")
INSTRUCT_IN = ("user", "system")


@dataclass(frozen=True)
class Wording:
    """One renderer version: every fixed word of a prompt. Never edited once released."""

    option: str = "{letter}. {text}"
    choose: str = "Choose from: {options}"
    separators: tuple[str, ...] = ("; ", " | ", " / ")
    """The first that no option contains joins the names; if none is left, one option a line."""
    bullet: str = "\n- "
    last_line: Mapping[str, str] = field(
        default_factory=lambda: {
            "letters": "End with a line 'Answer: LETTER'",
            "names": "End with a line 'Answer: NAME'",
            "qa": "End with a line 'Answer: TEXT'",
        }
    )
    answer: str = "Answer: {answer}"


RENDERERS: Mapping[int, Wording] = {1: Wording()}


def render(question: Question, evaluation: Evaluation) -> tuple[Message, ...]:
    """The messages that ask this question: a system message if one is set, then the user's."""
    wording = _wording(evaluation)
    form = _form(question, evaluation)
    parts = [question.prompt.strip()]
    if form == "letters":
        parts += [
            wording.option.format(letter=letter, text=text)
            for letter, text in zip(LETTERS, question.choices, strict=False)
        ]
    elif form == "names":
        parts.append(wording.choose.format(options=_joined(question.choices, wording)))
    if evaluation.instruct_in not in INSTRUCT_IN:
        place = evaluation.instruct_in
        raise ConfigError("unknown place of the instruction", got=place, allowed=list(INSTRUCT_IN))
    line = evaluation.instruction or wording.last_line[form]
    system = [evaluation.system] if evaluation.system else []
    (system if evaluation.instruct_in == "system" else parts).append(line)
    user = {"role": "user", "content": "\n".join(parts)}
    return ({"role": "system", "content": " ".join(system)}, user) if system else (user,)


def worked_answer(question: Question, evaluation: Evaluation) -> str:
    """The rationale, if there is one, and a last line `Answer: X` in the form that `render` asks for."""
    form = _form(question, evaluation)
    answer = str(question.target) if form == "letters" else question.target_text
    line = _wording(evaluation).answer.format(answer=answer)
    return f"{question.rationale.strip()}\n{line}" if question.rationale.strip() else line


def _wording(evaluation: Evaluation) -> Wording:
    if evaluation.renderer not in RENDERERS:
        raise ConfigError(
            "unknown prompt renderer version",
            got=evaluation.renderer,
            allowed=list(RENDERERS),
            next="upgrade benchgen, or write the benchmark again with a known version",
        )
    return RENDERERS[evaluation.renderer]


def _form(question: Question, evaluation: Evaluation) -> str:
    """'letters', 'names' or 'qa': how the answer is asked for."""
    if question.kind == "qa":
        return "qa"
    if question.kind != "mcq":
        raise ConfigError(
            "this kind of question cannot be asked yet", got=question.kind, allowed=["mcq", "qa"]
        )
    if evaluation.options not in OPTION_FORMS:
        raise ConfigError(
            "unknown form of options", got=evaluation.options, allowed=list(OPTION_FORMS)
        )
    if not 2 <= len(question.choices) <= len(LETTERS):
        raise ConfigError(
            "a multiple choice question needs 2 to 26 options", got=len(question.choices)
        )
    return evaluation.options


def _joined(choices: tuple[str, ...], wording: Wording) -> str:
    texts = [" ".join(text.split()) for text in choices]
    for separator in wording.separators:
        if not any(separator.strip() in text for text in texts):
            return separator.join(texts)
    return "".join(wording.bullet + text for text in texts)
