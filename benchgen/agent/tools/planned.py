"""What a plan or merge that waited said of itself: the answer to a question about it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchgen.agent.situation import Waiting
from benchgen.agent.tools import words
from benchgen.agent.tools.desk import Desk
from benchgen.agent.tools.training import data_words, device_words
from benchgen.errors import StateError
from benchgen.plan import gate
from benchgen.store import PlanRow
from benchgen.types import Estimate, Plan

SHORT = ("base", "data", "steps", "time", "device")
"""What is told where the question names nothing that a plan has."""
EXACT_BELOW = 10
"""A smaller estimate is told with a decimal: 0.4 GiB is not none."""


def about(desk: Desk, waiting: Waiting, topics: Sequence[str]) -> str:
    """The answer, from the plan as it was recorded; empty where there is no record of it."""
    record = waiting.told.get("record")
    if record is None:
        return ""
    try:
        plan = gate.load(desk.ws.store.get(PlanRow, int(record)))
    except StateError:
        return ""
    lines = _told(plan, topics) or _told(plan, SHORT)
    head = f"{waiting.kind} {waiting.label} ({plan.job_type}), as it was shown:"
    return "\n".join([f"{head[:1].upper()}{head[1:]}", *(f"- {one}" for one in lines)])


def _told(plan: Plan, topics: Sequence[str]) -> list[str]:
    """The lines of these topics, each once."""
    lines = [line for topic in topics for line in _lines(plan, topic)]
    return [words.line(line, 300) for line in dict.fromkeys(lines)]


def _lines(plan: Plan, topic: str) -> Iterator[str]:
    """What the plan says of a topic: one of ABOUT or a setting of its own; nothing where it says nothing."""
    if topic in ABOUT:
        yield from ABOUT[topic](plan)
    elif topic in plan.hyperparameters:
        yield f"{topic}: {plan.hyperparameters[topic]}"


def _estimated(plan: Plan, *names: str) -> Iterator[str]:
    for name in names:
        if found := plan.estimates.get(name):
            yield f"{name.replace('_', ' ')}: {_figure(found)} ({found.basis})"


def _figure(estimate: Estimate) -> str:
    if estimate.low is None and 0 < estimate.value < EXACT_BELOW:
        return f"about {estimate.value:.1f} {estimate.unit}"
    return estimate.words


def _base(plan: Plan) -> Iterator[str]:
    yield f"base_model: {plan.base_model}"
    if adapter := plan.base.get("adapter"):
        yield f"adapter: {adapter['name']} of job {adapter['job']}"


def _data(plan: Plan) -> Iterator[str]:
    if plan.job_type != "merge":
        yield f"dataset: {data_words(plan)}"
    yield from _estimated(plan, "truncated_rows")


def _steps(plan: Plan) -> Iterator[str]:
    for name in ("epochs", "max_steps"):
        value = plan.hyperparameters.get(name)
        if value is not None and value > 0:
            yield f"{name}: {value}"
    yield from _estimated(plan, "steps", "tokens")


def _time(plan: Plan) -> Iterator[str]:
    if "seconds" not in plan.estimates:
        yield "seconds: the plan tells none"
    yield from _estimated(plan, "seconds", "steps")


def _cost(plan: Plan) -> Iterator[str]:
    yield "cost: no credits, this machine's time"
    yield from _estimated(plan, "seconds")


def _name(plan: Plan) -> Iterator[str]:
    yield f"the model will be {plan.name}, a new one of the catalogue: no model that is there changes"


def _settings(plan: Plan) -> Iterator[str]:
    yield from (f"{name}: {value}" for name, value in sorted(plan.hyperparameters.items()))


def _start(plan: Plan) -> Iterator[str]:
    yield f"the word {gate.WORD} on its own starts exactly this, once, in the background; nothing else does"
    yield from _name(plan)


ABOUT: dict[str, Callable[[Plan], Iterator[str]]] = {
    "base": _base,
    "data": _data,
    "device": lambda plan: iter([f"device: {device_words(plan)}"]),
    "steps": _steps,
    "time": _time,
    "memory": lambda plan: _estimated(plan, "memory", "free_memory", "disk"),
    "cost": _cost,
    "name": _name,
    "settings": _settings,
    "start": _start,
}
"""{topic, as the rules name it: its lines}"""
