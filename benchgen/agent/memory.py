"""What a chat knows of itself, made of its log alone: a chat that is opened again knows the same."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from benchgen.agent.events import Event
from benchgen.agent.gate import Held
from benchgen.agent.situation import Situation, View, Waiting

IDS = {"benchmark": "last_benchmark", "run": "last_run", "job": "last_job"}
"""{argument: what it is remembered as}"""
KEPT_UNLESS = ("error", "clarify", "help", "unclear", "nothing_pending", "refuse_secret")
"""Answers whose arguments name nothing that the chat is about from now on."""


@dataclass(frozen=True)
class Memory:
    """The state of a chat after some of its events."""

    held: Held = field(default_factory=Held)
    facts: Mapping[str, Any] = field(default_factory=dict)
    """last_benchmark, last_run, last_job, last_view (as a dict)."""
    asked: Mapping[str, str] = field(default_factory=dict)
    """{label: the message that a plan or merge was made for}"""
    open_request: str = ""
    """What the person said since the agent last asked for what is missing."""
    in_turn: str = ""
    """The message that is being answered; empty between turns."""

    def after(self, events: Iterable[Event]) -> Memory:
        """The memory after these events, too."""
        found = self
        for event in events:
            found = found._after(event)
        return found

    def _after(self, event: Event) -> Memory:
        kind = event["type"]
        found = self
        if kind == "user":
            found = replace(self, in_turn=event["text"] or " ")
        elif kind == "waiting":
            found = self._waits(event)
        elif kind == "decided":
            found = replace(self, held=_decided(self.held, event))
        elif kind in ("agent", "error"):
            asks = kind == "agent" and event.get("intent") == "clarify"
            said = f"{self.open_request} {self.in_turn}".strip() if asks else ""
            found = replace(self, in_turn="", open_request=said[-4000:])
        return found._told(event.get("facts"))

    def _waits(self, event: Event) -> Memory:
        waiting = Waiting(event["kind"], event["label"], event["told"])
        asked = {**self.asked, waiting.label: event.get("asked", "")}
        held = self.held.add(waiting, _seconds(event["time"]))
        if event.get("beside"):  # put there with others, none in place of another
            others = tuple(w for w in self.held.waiting if w.label != waiting.label)
            held = replace(
                held, waiting=(*others, waiting), since={**self.held.since, **held.since}
            )
        return replace(self, held=held, asked=asked)

    def _told(self, facts: Mapping[str, Any] | None) -> Memory:
        if not facts:
            return self
        gates = {
            k: facts[k] for k in ("submitted", "created", "ended", "ended_label") if k in facts
        }
        own = {k: v for k, v in facts.items() if k not in gates}
        return replace(self, held=replace(self.held, **gates), facts={**self.facts, **own})

    def for_situation(self) -> dict[str, Any]:
        """The fields of a Situation from `waiting` on."""
        view = self.facts.get("last_view")
        return {
            "waiting": self.held.waiting,
            "last_benchmark": self.facts.get("last_benchmark"),
            "last_run": self.facts.get("last_run"),
            "last_job": self.facts.get("last_job"),
            "last_view": View(**view) if view else None,
            "just_created": self.held.created,
            "submitted": dict(self.held.submitted),
        }


def learnt(intent: str, arguments: Mapping[str, Any], situation: Situation) -> dict[str, Any]:
    """The facts that an answer leaves: which records the talk is about now."""
    if intent in KEPT_UNLESS:
        return {}
    facts = {fact: arguments[name] for name, fact in IDS.items() if _is_id(arguments.get(name))}
    several = arguments.get("runs")
    if (
        intent == "multi_run"
        and isinstance(several, (list, tuple))
        and several
        and _is_id(several[-1])
    ):
        facts["last_run"] = several[-1]
    run = facts.get("last_run")
    if "last_benchmark" not in facts:
        about = [seen.benchmark for seen in situation.runs if seen.id == run]
        facts |= {"last_benchmark": about[0]} if about else {}
    if intent == "show_dataset" and {"run", "mode", "rows"} <= set(arguments):
        rows, offset = arguments["rows"], arguments.get("offset") or 0
        if _is_id(arguments["run"]) and isinstance(rows, int) and isinstance(offset, int):
            view = View(arguments["run"], str(arguments["mode"]), offset, rows)
            facts["last_view"] = vars(view)
    return facts


def _decided(held: Held, event: Event) -> Held:
    item = next(
        (w for w in held.waiting if (w.kind, w.label) == (event["kind"], event["label"])), None
    )
    if item is None:
        return held
    if event["decision"] == "confirmed":
        return held.submit(item, event.get("job"))
    if event["decision"] == "created":
        return held.create(item, event["benchmark"])
    if item.kind in ("plan", "merge"):
        return held.cancel(item)
    return held.drop(item)


def _is_id(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _seconds(time: str) -> float:
    return datetime.datetime.fromisoformat(time).timestamp()
