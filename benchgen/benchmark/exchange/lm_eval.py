"""A benchmark as a task folder of lm-evaluation-harness: the same questions, words and scoring program.

    NAME.yaml      the task: greedy generation, messages as benchgen writes them, metrics acc and strict
    test.jsonl     a question a line with its key and messages
    utils.py       what the YAML's functions are; scores with program/ through frozen.py

The harness tells no finish reason, so a reply cut at the token limit is read as one that ended.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

import yaml

from benchgen.benchmark.bundle import Bundle
from benchgen.benchmark.exchange.content import (
    jsonl,
    keyed,
    read_rows,
    runnable_bundle,
    runnable_files,
    target_texts,
    task_name,
)
from benchgen.benchmark.exchange.folder import write_folder
from benchgen.benchmark.prompts import render
from benchgen.types import Evaluation

FORM = "lm-evaluation-harness"
DATA = "test.jsonl"

_UTILS = '''\
"""The functions of the task beside this file. Written by benchgen; needs lm-evaluation-harness only."""

import importlib.util
import json
from pathlib import Path

import datasets

_spec = importlib.util.spec_from_file_location("frozen", Path(__file__).with_name("frozen.py"))
frozen = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(frozen)


def dataset(**_):
    """The questions as the one split, a text column each: targets of several kinds fit no other type."""
    documents = [_document(row) for row in frozen.rows("test.jsonl")]
    return {"test": datasets.Dataset.from_list(documents)}


def process_results(doc, results):
    """acc and strict of one reply; None = not measured, which is never counted as wrong."""
    verdict = frozen.score(json.loads(doc["question"]), results[0])
    return {metric: _number(verdict[field]) for metric, field in METRICS.items()}


def mean_of_measured(values):
    """The mean of what was measured."""
    measured = [value for value in values if value is not None]
    return sum(measured) / len(measured) if measured else float("nan")


METRICS = {"acc": "correct", "strict": "strict"}


def _number(value):
    return None if value is None else float(value)


def _document(row):
    said = {message["role"]: message["content"] for message in row["messages"]}
    return {
        "key": row["key"],
        "system": said.get("system", ""),
        "text": said["user"],
        "target": row["target"],
        "question": json.dumps(row["question"]),
    }
'''


def write_lm_eval(bench: Bundle, folder: Path, frozen_here: Collection[str] = ()) -> Path:
    """The folder written, with the same bytes for the same benchmark.

    DataError for a folder that is not empty, and for a scoring program that is neither benchgen's nor
    one of `frozen_here` (hashes of those that this workspace froze), since the task runs it.
    """
    files = runnable_files(bench, FORM, frozen_here)
    name = task_name(bench.name)
    rows = [
        {
            "key": q.key,
            "messages": render(q, bench.evaluation),
            "target": target_texts(q)[0],
            "question": q.to_dict(),
        }
        for q in bench.questions
    ]
    task = _task(name, bench.evaluation).encode()
    return write_folder(
        folder, {**files, f"{name}.yaml": task, DATA: jsonl(rows), "utils.py": _UTILS.encode()}
    )


def read_lm_eval(folder: Path) -> Bundle:
    """The benchmark in a folder that `write_lm_eval` wrote; none of its code is run."""
    rows = (keyed(row, f"{folder.name}: {DATA}") for row in read_rows(folder, DATA))
    return runnable_bundle(folder, FORM, rows, DATA)


class _Function(str):
    """A name that the harness looks up in the task's own modules."""

    __slots__ = ()


class _Dumper(yaml.SafeDumper):
    """YAML with the harness's tag for functions."""


_Dumper.add_representer(
    _Function, lambda dumper, value: dumper.represent_scalar("!function", str(value))
)


def _task(name: str, evaluation: Evaluation) -> str:
    """The task's YAML; `system`, `text` and `target` are columns of its data."""
    sampled = evaluation.temperature > 0
    metric: dict[str, Any] = {"higher_is_better": True}
    task = {
        "task": name,
        "custom_dataset": _Function("utils.dataset"),
        "test_split": "test",
        "output_type": "generate_until",
        "num_fewshot": 0,
        "description": "{{system}}",
        "doc_to_text": "text",
        "doc_to_target": "target",
        "generation_kwargs": {
            "until": list(evaluation.stop),
            "max_gen_toks": evaluation.max_new_tokens,
            "do_sample": sampled,
            "temperature": evaluation.temperature,
        },
        "process_results": _Function("utils.process_results"),
        "metric_list": [
            {"metric": each, "aggregation": _Function("utils.mean_of_measured"), **metric}
            for each in ("acc", "strict")
        ],
        "metadata": {"version": 1.0},
    }
    head = (
        "# Written by benchgen. Chat models are asked in its very words with:\n"
        f"#   lm_eval --include_path FOLDER --tasks {name} --apply_chat_template --model …\n"
    )
    return head + yaml.dump(task, Dumper=_Dumper, sort_keys=False, allow_unicode=True)
