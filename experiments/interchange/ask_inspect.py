"""Run by run.py in the separate environment: the exported task, and a run's log, in Inspect AI.

python ask_inspect.py FOLDER REPLIES.json LOG.json OUT.json
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import inspect_ai
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ModelOutput, ModelUsage, get_model

STOP_REASONS = {"stop": "stop", "length": "max_tokens", "content_filter": "content_filter"}
SCORER = "frozen_program"


def prepared(folder: Path, replies: dict[str, dict[str, str]], asked: dict[str, Any]) -> Any:
    """A mock model that says what was prepared for the question that was asked in these messages."""
    lines = (folder / "dataset.jsonl").read_text("utf-8").split("\n")
    keys = {json.dumps(row["input"]): row["id"] for row in map(json.loads, filter(None, lines))}

    def answer(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        plain = [{"content": message.text, "role": message.role} for message in messages]
        key = keys[json.dumps(plain)]
        settings = config.model_dump(exclude_none=True)
        asked[key] = {"messages": plain, "settings": settings}
        said = replies[key]
        output = ModelOutput.from_content(
            "prepared", said["reply"], stop_reason=STOP_REASONS[said["finish"]]
        )
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    return get_model("mockllm/prepared", custom_outputs=answer)


def scores_of(log: EvalLog) -> dict[str, Any]:
    """{question key: {acc, strict}}, None where Inspect has it as unscored."""
    found = {}
    for sample in log.samples or []:
        value = sample.scores[SCORER].value
        measured = isinstance(value, dict)
        found[str(sample.id)] = {n: value[n] if measured else None for n in ("acc", "strict")}
    return found


def means_of(log: EvalLog) -> dict[str, float]:
    """The log's own figures."""
    return {score.name: score.metrics["mean"].value for score in log.results.scores}


def main(folder: Path, replies: Path, run: Path, out: Path) -> None:
    """Write {versions, scores by key, what was asked, Inspect's own means, and the same of the log}."""
    asked: dict[str, Any] = {}
    model = prepared(folder, json.loads(replies.read_text()), asked)
    os.chdir(folder)
    with tempfile.TemporaryDirectory() as logs:
        (log,) = inspect_ai.eval("task.py", model=model, display="none", log_dir=logs)
        if log.status != "success":
            raise SystemExit(f"Inspect: {log.status}: {log.error}")
        scores = scores_of(log)  # its samples are read from the file
    read = read_eval_log(str(run))
    told = {
        "versions": {"inspect_ai": version("inspect_ai")},
        "scores": scores,
        "asked": asked,
        "means": means_of(log),
        "log": {
            "scores": scores_of(read),
            "means": means_of(read),
            "replies": {str(s.id): s.output.completion for s in read.samples or []},
        },
    }
    out.write_text(json.dumps(told))


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
