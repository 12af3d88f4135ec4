"""A finished run as a log of Inspect AI: `inspect view` shows it, `inspect_ai.log.read_eval_log` reads it.

Each trace is a sample under its question's key, with its messages, reply, verdict, usage and time. What was
not measured has no score there either (NaN, as Inspect writes it) and is counted as unscored; what got no
reply at all carries the error.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from benchgen.benchmark.exchange.content import task_name
from benchgen.benchmark.exchange.folder import write_file
from benchgen.benchmark.exchange.inspect_ai import SCORER, generate_config, sample_fields
from benchgen.errors import DataError
from benchgen.types import Evaluation, Message, Question, Trace, sha256

VERSION = 2
"""Of Inspect's log format."""
STOP_REASONS = {
    "stop": "stop",
    "length": "max_tokens",
    "max_tokens": "max_tokens",
    "model_length": "model_length",
    "content_filter": "content_filter",
}
NOT_ANSWERED = "error"
"""The finish reason of a request that got no reply."""


@dataclass(frozen=True)
class RunLog:
    """What a log tells of a run."""

    name: str
    """The benchmark's."""
    model: str
    created: str
    """When the run began, ISO 8601; without an offset it is UTC."""
    questions: tuple[Question, ...]
    """Those that the run asked."""
    traces: tuple[Trace, ...]
    evaluation: Evaluation
    program_sha256: str
    config: Mapping[str, Any] = field(default_factory=dict)
    """Settings of the run, as JSON can hold them: kept as metadata."""
    finished: str = ""
    """When it ended, ISO 8601; empty = not known."""


def write_inspect_log(run: RunLog, path: Path) -> Path:
    """The `.json` file written: the same run gives the same bytes. DataError if it is there already."""
    if path.suffix != ".json":
        raise DataError("Inspect tells a log by its ending", got=path.name, allowed="NAME.json")
    asked = {question.key: question for question in run.questions}
    strange = [trace.key for trace in run.traces if trace.key not in asked]
    if strange or len({trace.key for trace in run.traces}) != len(run.traces):
        raise DataError(
            "a trace without a question of the run, or two of one question", got=strange[:3]
        )
    samples = [_sample(asked[trace.key], trace, run.model) for trace in run.traces]
    log = {
        "version": VERSION,
        "status": "success" if len(run.traces) == len(run.questions) else "cancelled",
        "eval": _spec(run),
        "plan": {
            "name": "plan",
            "steps": [{"solver": "generate", "params": {}}],
            "config": generate_config(run.evaluation),
        },
        "results": _results(run),
        "stats": {
            "started_at": _utc(run.created),
            "completed_at": _utc(run.finished) if run.finished else "",
            "model_usage": {run.model: _usage(run.traces)},
        },
        "samples": samples,
    }
    return write_file(path, (json.dumps(log, ensure_ascii=False, indent=1) + "\n").encode())


def _spec(run: RunLog) -> dict[str, Any]:
    """What was asked, of which model."""
    task = task_name(run.name)
    keys = [question.key for question in run.questions]
    identity = [run.name, run.model, run.created, run.program_sha256, keys]
    means = {"acc": ["mean", "stderr"], "strict": ["mean"]}
    return {
        "eval_id": sha256(["eval", *identity])[:22],
        "run_id": sha256(["run", *identity])[:22],
        "created": _utc(run.created),
        "task": task,
        "task_id": sha256(["task", run.name, keys, run.program_sha256])[:22],
        "task_version": 0,
        "task_display_name": run.name,
        "task_attribs": {},
        "task_args": {},
        "dataset": {
            "name": run.name,
            "samples": len(keys),
            "sample_ids": keys,
            "shuffled": False,
        },
        "model": run.model,
        "model_args": {},
        "config": {"epochs": 1, "fail_on_error": False, "log_samples": True},
        "packages": {},
        "metadata": {"program_sha256": run.program_sha256, **run.config},
        "scorers": [
            {
                "name": SCORER,
                "options": {},
                "metrics": {
                    score: [{"name": f"inspect_ai/{name}", "options": {}} for name in names]
                    for score, names in means.items()
                },
            }
        ],
    }


def _results(run: RunLog) -> dict[str, Any]:
    """The two scores, over what was measured."""
    answered = [trace for trace in run.traces if trace.finish_reason != NOT_ANSWERED]
    measured = [trace for trace in run.traces if trace.correct is not None]
    right = sum(trace.correct is True for trace in measured)
    strict = sum(trace.strict is True for trace in measured)
    n = len(measured)
    acc = right / n if n else math.nan
    metrics = {
        "acc": {"mean": acc, "stderr": math.sqrt(acc * (1 - acc) / (n - 1)) if n > 1 else 0.0},
        "strict": {"mean": strict / n if n else math.nan},
    }
    scores = [
        {
            "name": score,
            "scorer": SCORER,
            "scored_samples": n,
            "unscored_samples": len(run.traces) - n,
            "params": {},
            "metrics": {
                name: {"name": name, "value": value, "params": {}} for name, value in found.items()
            },
        }
        for score, found in metrics.items()
    ]
    return {
        "total_samples": len(run.questions),
        "completed_samples": len(answered),
        "scores": scores,
    }


def _sample(question: Question, trace: Trace, model: str) -> dict[str, Any]:
    """One question asked once."""
    asked = [_message(trace.key, i, message, "input") for i, message in enumerate(trace.messages)]
    said: Message = {"role": "assistant", "content": trace.reply}
    reply = {**_message(trace.key, len(asked), said, "generate"), "model": model}
    usage = _usage([trace])
    sample = {
        **sample_fields(question),
        "epoch": 1,
        "input": asked,
        "messages": asked,
        "output": {"model": model, "choices": [], "completion": ""},
        "scores": {SCORER: _score(trace)},
        "model_usage": {model: usage},
        "total_time": trace.seconds,
        "working_time": trace.seconds,
        "uuid": sha256([model, trace.to_dict()])[:22],
    }
    if trace.finish_reason == NOT_ANSWERED:
        error = {"message": trace.reason or trace.status, "traceback": "", "traceback_ansi": ""}
        return {**sample, "error": error}
    choice = {"message": reply, "stop_reason": STOP_REASONS.get(trace.finish_reason, "unknown")}
    output = {
        "model": model,
        "choices": [choice],
        "completion": trace.reply,
        "usage": usage,
        "time": trace.seconds,
    }
    return {**sample, "messages": [*asked, reply], "output": output}


def _message(key: str, index: int, message: Message, source: str) -> dict[str, str]:
    return {
        "id": f"{key}{index}",
        "role": message["role"],
        "content": message["content"],
        "source": source,
    }


def _score(trace: Trace) -> dict[str, Any]:
    """As the scorer of an exported task writes it."""
    verdict = {
        "correct": trace.correct,
        "value": trace.value,
        "extracted": trace.extracted,
        "status": trace.status,
        "reason": trace.reason,
        "strict": trace.strict,
    }
    measured = {"acc": float(trace.correct is True), "strict": float(trace.strict is True)}
    return {
        "value": math.nan if trace.correct is None else measured,
        "answer": trace.extracted,
        "explanation": ": ".join(filter(None, (trace.status, trace.reason))),
        "metadata": {"verdict": verdict},
        "history": [],
    }


def _usage(traces: Sequence[Trace]) -> dict[str, int]:
    given, said = sum(t.tokens_in for t in traces), sum(t.tokens_out for t in traces)
    return {"input_tokens": given, "output_tokens": said, "total_tokens": given + said}


def _utc(moment: str) -> str:
    try:
        when = datetime.fromisoformat(moment)
    except ValueError as error:
        raise DataError("not a time that a log can hold", got=moment, allowed="ISO 8601") from error
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC).isoformat()
