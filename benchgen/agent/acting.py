"""A wish to its tool, what the tool did to a reply.

A tool is a method of `Tools` with the name of the wish's intent. It is given the wish's arguments that its
signature has (all of them, where it takes `**rest`), and besides, where it names them: `situation` (what
the message could refer to) and `turn` (whom to tell, and when to end). Intents that only speak, and for
which `Tools` has no method, are answered in `wording`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from benchgen.agent import wording
from benchgen.agent.reply import Outcome, Reply
from benchgen.agent.situation import Situation, Waiting, Wish
from benchgen.agent.turn import Turn

DONE = frozenset(
    (
        "create_benchmark",
        "import_file",
        "import_inline",
        "create_from_document",
        "publish",
        "publish_and_run",
        "run_benchmark",
        "multi_run",
        "run_status",
        "resume_run",
        "compare_runs",
        "show_dataset",
        "explain_low_score",
        "plan_training",
        "revise_plan",
        "revise_preview",
        "plan_merge",
        "training_status",
        "training_logs",
    )
)
"""Wishes that a tool carries out."""
SAID = frozenset(
    (
        "leave_draft",
        "refuse_unsupported",
        "refuse_secret",
        "refuse_limit",
        "help",
        "explain",
        "clarify",
        "error",
        "unclear",
    )
)
"""Wishes that are answered in words; a tool of that name may know more than `wording` does."""
LOOKING = SAID | {
    "run_status",
    "compare_runs",
    "show_dataset",
    "explain_low_score",
    "training_status",
    "training_logs",
}
"""Wishes that change nothing."""

Do = Callable[[Wish], Outcome]
"""Carries a wish out; an error that the person can mend comes back as an outcome with intent `error`."""


class Brain(Protocol):
    """Understands a message and has it carried out. It confirms nothing: the gate read the message first."""

    leaves: bool
    """Whether what it is given leaves this machine."""

    def reply(self, text: str, situation: Situation, do: Do, turn: Turn) -> Reply:
        """The answer, after any number of `do(wish)`."""


class GateTools(Protocol):
    """What the gate does to what waits; no brain is ever given these."""

    def situation(self, **facts: Any) -> Situation:
        """The records of the workspace, with the facts of a chat: Situation's fields from `waiting` on."""

    def changed(self, waiting: Waiting) -> str:
        """What changed since a plan or merge was shown, in words; empty where nothing did."""

    def confirm_plan(self, waiting: Waiting, answer: str) -> Outcome:
        """The plan's job, started: arguments `plan` and `job`; intent already_done where it was before."""

    def confirm_merge(self, waiting: Waiting, answer: str) -> Outcome:
        """The merge's job, started: arguments `merge` and `job`; intent already_done where it was before."""

    def cancel_plan(self, waiting: Waiting, answer: str) -> None:
        """The plan's or merge's record set to cancelled; one that was decided before stays as it is."""

    def about_plan(self, waiting: Waiting, topics: Sequence[str]) -> str:
        """What a plan or merge said of these topics; empty where it has no record."""

    def confirm_create(self, waiting: Waiting) -> Outcome:
        """The benchmark exactly as previewed: arguments `preview` and `benchmark`, and what can be next."""

    def continue_batch(self, waiting: Waiting, turn: Turn) -> Outcome:
        """The next questions of a writing; waits again, or shows the preview when all are written."""


def carry_out(wish: Wish, tools: Any, situation: Situation, turn: Turn) -> Outcome:
    """What the wish's tool did, or what is said where there is none to do."""
    if wish.intent not in DONE | SAID:
        return Outcome(wording.unclear(situation), intent="clarify")
    tool = getattr(tools, wish.intent, None)
    if tool is None:
        return wording.said(wish, situation)
    given = _taken(tool, wish.arguments, situation=situation, turn=turn)
    if missing := _missing(tool, given):
        return wording.said(Wish("clarify", {"missing": missing}), situation, intent="clarify")
    found: Outcome = tool(**given)
    return found


def _taken(tool: Any, arguments: dict[str, Any], **ours: Any) -> dict[str, Any]:
    """The arguments that were said and that the tool has a place for."""
    places = inspect.signature(tool).parameters
    all_of_them = any(p.kind is p.VAR_KEYWORD for p in places.values())
    given = {k: v for k, v in arguments.items() if v is not None and (all_of_them or k in places)}
    return {**given, **{name: value for name, value in ours.items() if name in places}}


def _missing(tool: Any, given: dict[str, Any]) -> list[str]:
    """What the tool cannot do without."""
    kinds = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    places = inspect.signature(tool).parameters.items()
    return [n for n, p in places if p.default is p.empty and p.kind not in kinds and n not in given]


def answer(wish: Wish, outcome: Outcome) -> Reply:
    """The reply: the outcome's intent where it has one, the wish's arguments under the outcome's own."""
    text = numbered(outcome.text, outcome.choices)
    later = [one.intent for one in wish.later]
    told = {**wish.arguments, **({"later": later} if later else {}), **outcome.arguments}
    intent = outcome.intent or wish.intent
    if later and intent != "error":
        text = f"{text}\n\n{wording.afterwards(wish)}"
    waits = (
        outcome.waiting if outcome.waiting and outcome.waiting.kind in ("plan", "merge") else None
    )
    return Reply(text, intent, told, waits, outcome.choices, outcome.links)


def numbered(text: str, choices: tuple[str, ...]) -> str:
    """The text with its numbered choices below, unless it shows them already."""
    if not choices or f"1. {choices[0]}" in text:
        return text
    lines = [f"{number}. {choice}" for number, choice in enumerate(choices, 1)]
    return "\n".join([text, "", *lines])
