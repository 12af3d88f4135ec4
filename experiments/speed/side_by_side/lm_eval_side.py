"""lm-evaluation-harness's side: FOLDER DTYPE THREADS. Runs in the environment of setup.sh."""

from __future__ import annotations

import sys
from typing import Any

import torch
from lm_eval.api.instance import Instance
from lm_eval.models.huggingface import HFLM
from serve import serve


def main(folder: str, dtype: str, threads: str) -> None:
    """Serve until the input ends."""
    torch.set_num_threads(int(threads))
    model = HFLM(pretrained=folder, dtype=dtype, device="cpu", batch_size=8, max_length=2048)

    def score(rows: list[Any]) -> list[Any]:
        pairs = [(r["context"], choice) for r in rows for choice in r["choices"]]
        asked = [
            Instance("loglikelihood", {}, pair, i, task_name="t") for i, pair in enumerate(pairs)
        ]
        values = iter([value for value, _ in model.loglikelihood(asked, disable_tqdm=True)])
        ids = iter([model._encode_pair(*pair) for pair in pairs])
        found = []
        for row in rows:
            encoded = [next(ids) for _ in row["choices"]]
            found.append(
                {
                    "logprob": [next(values) for _ in row["choices"]],
                    "ids": [encoded[0][0], [continuation for _, continuation in encoded]],
                }
            )
        return found

    def write(rows: list[Any], settings: dict[str, Any]) -> list[Any]:
        until = {"until": [], "max_gen_toks": settings["longest"], "do_sample": False}
        asked = []
        for i, text in enumerate(rows):
            prompt = model.apply_chat_template([{"role": "user", "content": text}])
            asked.append(Instance("generate_until", {}, (prompt, until), i, task_name="t"))
        return [{"text": text} for text in model.generate_until(asked, disable_tqdm=True)]

    def side(what: str, rows: list[Any], settings: dict[str, Any]) -> list[Any]:
        model.batch_size_per_gpu = settings["batch"]
        return score(rows) if what == "score" else write(rows, settings)

    serve(side)


if __name__ == "__main__":
    main(*sys.argv[1:])
