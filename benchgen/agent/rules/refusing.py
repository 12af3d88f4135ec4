"""What this agent does not do: stop, delete, unpublish, edit what is published; and anything with a secret."""

from __future__ import annotations

from typing import Any

from benchgen.agent.commands import command
from benchgen.agent.rules.marks import BENCH, FILE, MODEL
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.references import (
    a_benchmark,
    a_job,
    a_run,
    benchmark_ids,
    job_ids,
    job_seen,
    run_ids,
    run_seen,
)
from benchgen.agent.situation import Wish
from benchgen.types import UNDER_WAY


def unsupported(reading: Reading) -> Wish | None:
    """Stopping, deleting or unpublishing a record; None if none of it is asked for."""
    if by_command := _by_command(reading):
        return by_command
    action = _action(reading)
    if not action:
        return None
    record = _record(reading, action)
    if (
        action == "stop"
        and not record
        and not reading.has(r"\b(?:RUN|JOB|TRAIN|it|EVAL|ALL|LORA|GRPO|everything|BENCHMARK)\b")
    ):
        return None
    return _refused(action, record, reading)


def _refused(action: str, record: dict[str, Any], reading: Reading) -> Wish:
    where = command(action, record, reading.situation)
    told = {"action": f"{action} run" if "run" in record else action, **record}
    return Wish("refuse_unsupported", {**told, "where": where} if where else told)


def _by_command(reading: Reading) -> Wish | None:
    """A benchmark that is there to be renamed, or one of its questions to be changed: there is no tool for either."""
    ids = benchmark_ids(reading)
    if len(ids) != 1 or any(w.kind == "preview" for w in reading.situation.waiting):
        return None
    if reading.has(r"\bRENAME\b"):
        told: dict[str, Any] = {"benchmark": ids[0]}
        if match := reading.find(r"\b(?:into|to) (?:NAME )?(\S.*)$"):
            told["name"] = reading.group(match).strip(" \"'“”.!")
        return _refused("rename", told, reading)
    changed = reading.find(r"\b(?:CHANGE|DELETE|REPLACE)\b.*\bQUESTION (?:# )?(\d+)\b")
    return (
        _refused("edit", {"benchmark": ids[0], "q": int(changed[1])}, reading) if changed else None
    )


def stopped(reading: Reading) -> Wish | None:
    """The refusal to stop what was talked about last and is under way; None if nothing such is."""
    record = _under_way(reading)
    seen = job_seen(record.get("job"), reading.situation) or run_seen(
        record.get("run"), reading.situation
    )
    if seen is None or seen.state not in UNDER_WAY:
        return None
    return _refused("stop", record, reading)


def _action(reading: Reading) -> str:
    if reading.has(
        r"\b(?:LR|EPOCH|QUESTION \d|early STOP|STOP (?:after|at|when|sequence)|not (?:\S+ )?(?:DELETE|STOP))\b"
    ):
        return ""
    if reading.has(
        r"\bUNPUBLISH\b|not (?:\S+ )?PUBLISH(?:ed)? (?:any ?MORE|anymore)|(?:@bench\d+|BENCHMARK(?: \d+)?|it|that|\d+) (?:(?!is\b|was\b|are\b|went\b|goes\b|seems\b|looks\b)\S+ )?(?:OFFLINE|private)\b"
    ):
        return "unpublish"
    if reading.has(r"\bDELETE\b") and not reading.has(r"DELETE (?:\S+ ){0,3}?QUESTION"):
        return "delete"
    if reading.has(r"\bSTOP\b"):
        return "stop"
    return ""


def _record(reading: Reading, action: str) -> dict[str, Any]:
    """The record that it is about, as {run | job | benchmark | model | path: …}."""
    state = reading.situation
    if reading.has(r"\bALL\b") and not (
        run_ids(reading) or job_ids(reading) or benchmark_ids(reading)
    ):
        return {}
    if action == "unpublish":
        number = reading.find(r"(?<![\w.@])(\d+) (?:\S+ )?(?:OFFLINE|private)\b")
        found = int(number[1]) if number else a_benchmark(reading)
        return {"benchmark": found} if found is not None else {}
    if jobs := job_ids(reading):
        return {"job": jobs[0]}
    if runs := run_ids(reading):
        return {"run": runs[0]}
    if action == "delete" and reading.of_kind(FILE):
        return {"path": reading.of_kind(FILE)[0].value}
    if reading.of_kind(BENCH) or benchmark_ids(reading):
        ids = benchmark_ids(reading)
        if action == "stop" and (
            running := [r.id for r in state.runs if r.benchmark in ids and r.state == "running"]
        ):
            return {"run": running[-1]}
        return {"benchmark": ids[0]} if len(ids) == 1 else {}
    if reading.of_kind(MODEL):
        return {"model": reading.of_kind(MODEL)[0].value}
    return _spoken_of(reading, action)


def _spoken_of(reading: Reading, action: str) -> dict[str, Any]:
    """The record that `it`, `the training`, `the run` means."""
    state = reading.situation
    job, run = a_job(reading), a_run(reading)
    if reading.has(r"\b(?:JOB|TRAIN|LORA|GRPO)\b"):
        return {"job": job} if job is not None else {}
    if reading.has(r"\bRUN\b") and run is not None:
        return {"run": run}
    if reading.has(r"\b(?:BENCHMARK|DRAFT)\b"):
        found = a_benchmark(reading)
        return {"benchmark": found} if found is not None else {}
    if action == "stop":
        return _under_way(reading)
    if state.last_benchmark is not None:
        return {"benchmark": state.last_benchmark}
    if state.last_run is not None:
        return {"run": state.last_run}
    return {"job": state.last_job} if state.last_job is not None else {}


def _under_way(reading: Reading) -> dict[str, Any]:
    """What runs and was talked about last, else the only thing that runs."""
    state = reading.situation
    if (
        state.last_job is not None
        and getattr(job_seen(state.last_job, state), "state", "running") in UNDER_WAY
    ):
        return {"job": state.last_job}
    if (
        state.last_run is not None
        and getattr(run_seen(state.last_run, state), "state", "running") in UNDER_WAY
    ):
        return {"run": state.last_run}
    if state.last_job is not None:
        return {"job": state.last_job}
    if state.last_run is not None:
        return {"run": state.last_run}
    if reading.has(r"\bRUN\b|\bEVAL\b"):
        running = [r.id for r in state.runs if r.state in UNDER_WAY]
        return {"run": running[0]} if len(running) == 1 else {}
    return {}
