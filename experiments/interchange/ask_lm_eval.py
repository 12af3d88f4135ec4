"""Run by run.py in the separate environment: the exported task in lm-evaluation-harness.

python ask_lm_eval.py FOLDER REPLIES.json OUT.json
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import datasets
import lm_eval
from lm_eval.api.model import LM
from lm_eval.tasks import TaskManager


class Prepared(LM):
    """Says what was prepared for a question's key; its chat template keeps the messages readable."""

    tokenizer_name = "prepared"

    def __init__(self, replies: dict[str, dict[str, str]]) -> None:
        super().__init__()
        self.replies = replies
        self.asked: dict[str, Any] = {}

    def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
        for request in requests:
            text, settings = request.args
            self.asked[request.doc["key"]] = {"messages": json.loads(text), "settings": settings}
        return [self.replies[request.doc["key"]]["reply"] for request in requests]

    def apply_chat_template(
        self, chat_history: list[Any], add_generation_prompt: bool = True
    ) -> str:
        return json.dumps(chat_history)

    def chat_template(self, chat_template: bool | str = False) -> str:
        return "prepared"

    def loglikelihood(self, requests: list[Any]) -> Any:
        raise NotImplementedError

    def loglikelihood_rolling(self, requests: list[Any]) -> Any:
        raise NotImplementedError


def main(folder: Path, replies: Path, out: Path) -> None:
    """Write {versions, scores by key, what was asked, the harness's own means}."""
    model = Prepared(json.loads(replies.read_text()))
    manager = TaskManager(include_path=str(folder), include_defaults=False)
    (task,) = manager.all_tasks
    found = lm_eval.simple_evaluate(
        model=model, tasks=[task], task_manager=manager, apply_chat_template=True, bootstrap_iters=0
    )
    told = {
        "versions": {name: version(name) for name in ("lm_eval", "datasets")},
        "scores": {
            sample["doc"]["key"]: {"acc": sample["acc"], "strict": sample["strict"]}
            for sample in found["samples"][task]
        },
        "asked": model.asked,
        "means": {name: found["results"][task][f"{name},none"] for name in ("acc", "strict")},
    }
    out.write_text(json.dumps(told))


if __name__ == "__main__":
    datasets.disable_progress_bars()
    main(*map(Path, sys.argv[1:]))
