"""A rival's 2,000 questions with a model that says the same to all: TOOL FOLDER. In setup.sh's environment."""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

REPLY = "Answer: A"


def lm_eval(folder: Path) -> int:
    """Rows scored by lm-evaluation-harness, its samples written to a file."""
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Same(LM):
        tokenizer_name = "same"

        def generate_until(self, requests: list[Any], disable_tqdm: bool = False) -> list[str]:
            return [REPLY for _ in requests]

        def apply_chat_template(self, chat: list[Any], add_generation_prompt: bool = True) -> str:
            return json.dumps(chat)

        def chat_template(self, chat_template: bool | str = False) -> str:
            return "same"

        def loglikelihood(self, requests: list[Any]) -> Any:
            raise NotImplementedError

        def loglikelihood_rolling(self, requests: list[Any]) -> Any:
            raise NotImplementedError

    manager = TaskManager(include_path=str(folder), include_defaults=False)
    (task,) = manager.all_tasks
    found = lm_eval.simple_evaluate(
        model=Same(),
        tasks=[task],
        task_manager=manager,
        apply_chat_template=True,
        bootstrap_iters=0,
    )
    with tempfile.TemporaryDirectory() as out:
        tracker = EvaluationTracker(output_path=out)
        tracker.save_results_samples(task_name=task, samples=found["samples"][task])
    return len(found["samples"][task])


def inspect(folder: Path) -> int:
    """Rows scored by Inspect AI, its log written to a file."""
    import inspect_ai
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    def answer(messages: list[Any], tools: Any, tool_choice: Any, config: Any) -> ModelOutput:
        output = ModelOutput.from_content("same", REPLY)
        output.usage = ModelUsage(input_tokens=1, output_tokens=1, total_tokens=2)
        return output

    os.chdir(folder)
    model = get_model("mockllm/same", custom_outputs=answer)
    with tempfile.TemporaryDirectory() as out:
        (log,) = inspect_ai.eval(
            "task.py", model=model, log_dir=out, display="none", log_level="error"
        )
        assert log.status == "success", log.error
        return len(log.samples or [])  # read from the file


if __name__ == "__main__":
    began = time.perf_counter()
    rows = {"lm_eval": lm_eval, "inspect": inspect}[sys.argv[1]](Path(sys.argv[2]))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    told = {"rows": rows, "evaluate_s": time.perf_counter() - began, "peak_mb": peak}
    print(json.dumps(told))
