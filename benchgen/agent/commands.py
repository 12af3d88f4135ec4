"""What only people do: stop, delete, unpublish, edit. Which command does it, or why none does."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from benchgen.agent.situation import Situation
from benchgen.types import UNDER_WAY

RECORDS = ("run", "job", "benchmark", "model", "path")
QUOTED_CHARS = 120
MOST_LINES = 4
KEPT = {
    "run": "no command deletes a run, since comparisons and trainings refer to it. "
    "Next: name the others, `compare runs 3 and 4` shows only those",
    "job": "no command deletes a job, since the model that it made refers to it",
    "model": "no command deletes a model, since runs and trainings refer to it",
    "path": "I delete no files. Next: take it away where it lies",
}
"""Why a record stays."""
LISTS = {"job": "benchgen jobs", "model": "benchgen models"}
NOUNS = {
    "stop": "stop runs or trainings",
    "delete": "delete anything",
    "unpublish": "unpublish anything",
    "edit": "edit a benchmark",
    "rename": "rename a benchmark",
}


def command(action: str, record: Mapping[str, Any], situation: Situation) -> str:
    """The line by which a person does it; `ID` stands for a record that is not named; empty where none does."""
    verb, kind = action.partition(" ")[0], _kind(record)
    if verb == "stop":
        return _stops(record, situation)[0]
    if verb == "delete" and kind in KEPT:
        ends = kind == "job" and _state(situation.jobs, record["job"]) in ("", *UNDER_WAY)
        return f"benchgen stop job_id={record['job']}" if ends else LISTS.get(kind, "")
    if verb not in ("delete", "unpublish", "edit", "rename"):
        return ""
    line = f"benchgen {verb} benchmark_id={record.get('benchmark') or 'ID'}"
    if verb == "rename":
        return f"{line} name={shlex.quote(str(record.get('name') or 'NAME')[:QUOTED_CHARS])}"
    return (
        f"{line} question={record.get('q') or 1} change='{{target: B}}'" if verb == "edit" else line
    )


def refusal(action: str, record: Mapping[str, Any], situation: Situation) -> str:
    """What is said to a wish that only people carry out."""
    verb, kind = action.partition(" ")[0], _kind(record)
    named = f"{verb} {'' if kind == 'path' else kind} {record.get(kind)}"
    what = " ".join(named.replace("`", "'").split())[:QUOTED_CHARS]
    what = what if kind else NOUNS.get(verb, "do that")
    line = command(action, record, situation)
    if verb == "delete" and kind in KEPT:
        ends = "ends it" if " stop " in line else "lists them all"
        more = f". Next: `{line}` {ends}" if line else ""
        return f"I cannot {what}, and nothing was done: {KEPT[kind]}{more}."
    lines = _stops(record, situation) if verb == "stop" else [line or "benchgen --help"]
    if verb == "delete" and _state(situation.benchmarks, record.get("benchmark")) == "published":
        lines = [f"benchgen unpublish benchmark_id={record['benchmark']}", line]
    do = (", or " if verb == "stop" else ", then ").join(f"`{one}`" for one in lines)
    return f"I cannot {what}; that is left to people, and nothing was done. Next: {do}."


def _stops(record: Mapping[str, Any], situation: Situation) -> list[str]:
    """The lines that end the run or job; where none is named, those of all that is under way."""
    for kind in ("run", "job"):
        if record.get(kind) is not None:
            return [f"benchgen stop {kind}_id={record[kind]}"]
    runs = [r for r in situation.runs if r.state in UNDER_WAY]
    for kind in ("benchmark", "model"):
        if record.get(kind) is not None:
            runs = [r for r in runs if getattr(r, kind) == record[kind]]
    found = [f"benchgen stop run_id={run.id}" for run in runs]
    if "benchmark" not in record and "model" not in record:
        found += [f"benchgen stop job_id={j.id}" for j in situation.jobs if j.state in UNDER_WAY]
    return found[-MOST_LINES:] or ["benchgen stop run_id=ID"]


def _kind(record: Mapping[str, Any]) -> str:
    return next((one for one in RECORDS if record.get(one) is not None), "")


def _state(records: tuple[Any, ...], id: Any) -> str:
    return next((str(one.state) for one in records if one.id == id), "")
