"""The messages that ask a question, and the worked answer in the form that they ask for.

A benchmark freezes its `Evaluation`, which names a renderer version; the wording of every released
version stays in `RENDERERS`, so an old benchmark is asked in the same words for ever.

The fixed text is short on purpose: each prompt token costs time in every evaluation and every
training step, and on a CPU that is the larger part of both.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from benchgen.benchmark.choosing import METHODS, normalisation
from benchgen.errors import ConfigError
from benchgen.types import KINDS, LETTERS, Evaluation, Message, Question, canonical

OPTION_FORMS = ("letters", "names", "hidden")
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
            "several letters": "End with a line 'Answer: LETTERS', with ',' between them",
            "several names": "End with a line 'Answer: NAMES', with ';' between them",
            "qa": "End with a line 'Answer: TEXT'",
            "numeric": "End with a line 'Answer: NUMBER'",
            "tool": "To call a function, write "
            '<tool_call>{"name": NAME, "arguments": {"NAME": VALUE}}</tool_call>, nothing else. '
            "If none is needed, answer in words.",
            "keypoints": "",
            "likelihood of letters": "Answer with the letter of the right option.",
            "likelihood of names": "Answer with the right option.",
            "likelihood of hidden": "",
        }
    )
    answer: str = "Answer: {answer}"
    tools: str = "Functions:"
    """Before the definitions, one a line as JSON."""
    call: str = "<tool_call>{call}</tool_call>"


RENDERERS: Mapping[int, Wording] = {1: Wording()}


def render(question: Question, evaluation: Evaluation) -> tuple[Message, ...]:
    """The messages that ask this question: a system message if one is set, then the user's."""
    wording = _wording(evaluation)
    form = _form(question, evaluation)
    parts = [question.prompt.strip()]
    if form.endswith("letters"):
        parts += [
            wording.option.format(letter=letter, text=text)
            for letter, text in zip(LETTERS, question.choices, strict=False)
        ]
    elif form.endswith("names"):
        parts.append(wording.choose.format(options=_joined(question.choices, wording)))
    elif form == "tool":
        parts += [wording.tools, *map(canonical, question.options.get("tools") or ())]
    if evaluation.instruct_in not in INSTRUCT_IN:
        place = evaluation.instruct_in
        raise ConfigError("unknown place of the instruction", got=place, allowed=list(INSTRUCT_IN))
    line = evaluation.instruction or wording.last_line[form]
    system = [evaluation.system] if evaluation.system else []
    if line:
        (system if evaluation.instruct_in == "system" else parts).append(line)
    user = {"role": "user", "content": "\n".join(parts)}
    return ({"role": "system", "content": " ".join(system)}, user) if system else (user,)


def worked_answer(question: Question, evaluation: Evaluation) -> str:
    """What a right reply looks like, in the form that `render` asks for.

    The rationale, if there is one, and a last line `Answer: X`; for tools the calls alone, or the
    rationale where no call is right; for key points the rationale, else the points.
    """
    form, wording = _form(question, evaluation), _wording(evaluation)
    rationale = question.rationale.strip()
    if form == "tool":
        calls = [wording.call.format(call=canonical(call)) for call in question.target]
        return "\n".join(calls) or rationale or "No function is needed for this."
    if form == "keypoints":
        return rationale or question.target_text
    letters = question.target if isinstance(question.target, list) else [question.target]
    answer = ", ".join(letters) if form.endswith("letters") else question.target_text
    line = wording.answer.format(answer=answer)
    if form.startswith("likelihood"):  # what is scored follows the prompt at once
        return line
    return f"{rationale}\n{line}" if rationale else line


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
    """How the answer is asked for: a key of `Wording.last_line`."""
    if question.kind != "mcq" and question.kind in KINDS:
        return question.kind
    if question.kind != "mcq":
        raise ConfigError("unknown kind of question", got=question.kind, allowed=list(KINDS))
    if evaluation.options not in OPTION_FORMS:
        raise ConfigError(
            "unknown form of options", got=evaluation.options, allowed=list(OPTION_FORMS)
        )
    if not 2 <= len(question.choices) <= len(LETTERS):
        raise ConfigError(
            "a multiple choice question needs 2 to 26 options", got=len(question.choices)
        )
    several = "several " if isinstance(question.target, list) else ""
    if evaluation.method not in METHODS:
        raise ConfigError("unknown method", got=evaluation.method, allowed=list(METHODS))
    if evaluation.method == "likelihood":
        if several:
            raise ConfigError(
                "likelihood picks one option, and this question has several right ones",
                got=question.target,
                next="benchmark.evaluation.method=generate",
            )
        normalisation(evaluation)  # before anything is asked
        return f"likelihood of {evaluation.options}"
    if evaluation.options == "hidden":
        raise ConfigError(
            "options are hidden only where their likelihood is scored",
            got="method=generate",
            allowed=["letters", "names"],
            next="benchmark.evaluation.method=likelihood",
        )
    return several + evaluation.options


def _joined(choices: tuple[str, ...], wording: Wording) -> str:
    texts = [" ".join(text.split()) for text in choices]
    for separator in wording.separators:
        if not any(separator.strip() in text for text in texts):
            return separator.join(texts)
    return "".join(wording.bullet + text for text in texts)
