"""A benchmark as a task folder of Inspect AI: the same questions, words and scoring program.

    task.py          the task, and the scorer that calls program/ through frozen.py
    dataset.jsonl    a sample a line: chat messages, target, metadata with key, kind and question

Options stand in the messages and not as `choices`, which Inspect may shuffle.
"""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path
from typing import Any

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
from benchgen.errors import DataError
from benchgen.types import Evaluation, Question

FORM = "Inspect AI"
DATA = "dataset.jsonl"
SCORER = "frozen_program"

_TASK = '''\
"""Written by benchgen; needs Inspect AI only. Run: inspect eval task.py --model …"""

import importlib.util
import json
from pathlib import Path

from inspect_ai import Task, task
from inspect_ai.dataset import json_dataset
from inspect_ai.model import GenerateConfig
from inspect_ai.scorer import Score, mean, scorer, stderr
from inspect_ai.solver import generate

_spec = importlib.util.spec_from_file_location("frozen", Path(__file__).with_name("frozen.py"))
frozen = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(frozen)


@task
def TASK_NAME():
    """Each question asked once, in benchgen's words, and scored by its own program."""
    about = frozen.about()
    evaluation = json.loads((frozen.HERE / "evaluation.json").read_bytes())
    return Task(
        dataset=json_dataset(str(frozen.HERE / "dataset.jsonl"), name=about["name"]),
        solver=generate(),
        scorer=frozen_program(),
        config=GenerateConfig(
            max_tokens=evaluation["max_new_tokens"],
            temperature=evaluation["temperature"],
            stop_seqs=evaluation["stop"] or None,
        ),
        metadata={"program_sha256": about["program_sha256"]},
    )


@scorer(metrics={"acc": [mean(), stderr()], "strict": [mean()]})
def frozen_program():
    """Right or wrong, and strictly so; a reply that could not be measured is unscored, not wrong."""

    async def score(state, target):
        failed = state.output.error or not state.output.choices
        verdict = frozen.score(
            state.metadata["question"],
            None if failed else state.output.completion,
            "error" if failed else state.output.stop_reason,
        )
        measured = verdict["correct"] is not None
        names = {"acc": "correct", "strict": "strict"}
        return Score(
            value={metric: float(verdict[name]) for metric, name in names.items()}
            if measured
            else float("nan"),
            answer=verdict["extracted"],
            explanation=": ".join(filter(None, (verdict["status"], verdict["reason"]))),
            metadata={"verdict": verdict},
        )

    return score
'''


def write_inspect(bench: Bundle, folder: Path, frozen_here: Collection[str] = ()) -> Path:
    """The folder written, with the same bytes for the same benchmark.

    DataError for a folder that is not empty, and for a scoring program that is neither benchgen's nor
    one of `frozen_here` (hashes of those that this workspace froze), since the task runs it.
    """
    files = runnable_files(bench, FORM, frozen_here)
    code = _TASK.replace("TASK_NAME", task_name(bench.name))
    rows = [_sample(q, bench.evaluation) for q in bench.questions]
    return write_folder(folder, {**files, "task.py": code.encode(), DATA: jsonl(rows)})


def read_inspect(folder: Path) -> Bundle:
    """The benchmark in a folder that `write_inspect` wrote; none of its code is run."""
    name = f"{folder.name}: {DATA}"
    rows = (_row(sample, name) for sample in read_rows(folder, DATA))
    return runnable_bundle(folder, FORM, rows, DATA)


def generate_config(evaluation: Evaluation) -> dict[str, Any]:
    """The evaluation as Inspect's GenerateConfig has it."""
    config: dict[str, Any] = {
        "max_tokens": evaluation.max_new_tokens,
        "temperature": float(evaluation.temperature),
    }
    return {**config, "stop_seqs": list(evaluation.stop)} if evaluation.stop else config


def sample_fields(question: Question) -> dict[str, Any]:
    """id, target and metadata of a sample, alike in a task's data and in a log."""
    texts = target_texts(question)
    return {
        "id": question.key,
        "target": texts if len(texts) > 1 else texts[0],
        "metadata": {
            "key": question.key,
            "kind": question.kind,
            "category": question.category,
            "difficulty": question.difficulty,
            "options": list(question.choices),
            "question": question.to_dict(),
        },
    }


def _sample(question: Question, evaluation: Evaluation) -> dict[str, Any]:
    return {**sample_fields(question), "input": render(question, evaluation)}


def _row(sample: dict[str, Any], name: str) -> dict[str, Any]:
    metadata = sample.get("metadata")
    if not isinstance(metadata, dict):
        raise DataError(f"{name}: a sample without metadata")
    return keyed(metadata, name)
