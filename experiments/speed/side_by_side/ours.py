"""benchgen's side: FOLDER DTYPE THREADS. Runs in the project's environment."""

from __future__ import annotations

import functools
import sys
from typing import Any

from serve import serve

from benchgen.models.local import LocalModel
from benchgen.types import Request


def main(folder: str, dtype: str, threads: str) -> None:
    """Serve until the input ends."""
    model = LocalModel(folder, name="ours", device="cpu", dtype=dtype, threads=int(threads))

    def score(rows: list[Any]) -> list[Any]:
        ids = functools.partial(model.tokenizer, add_special_tokens=False)
        asked = []
        for row in rows:  # without a chat template, as they stand: so the other side has them
            prompt = ids(row["context"])["input_ids"]
            whole = [ids(row["context"] + choice)["input_ids"] for choice in row["choices"]]
            asked.append((prompt, [tokens[len(prompt) :] for tokens in whole]))
        found: list[Any] = [None] * len(rows)
        for index, reply in model.scorer.replies(asked):
            assert reply.likelihood is not None
            found[index] = {"logprob": reply.likelihood.logprob, "ids": asked[index]}
        return found

    def write(rows: list[Any], settings: dict[str, Any]) -> list[Any]:
        requests = [
            Request(({"role": "user", "content": text},), max_new_tokens=settings["longest"])
            for text in rows
        ]
        found: list[Any] = [None] * len(rows)
        for index, reply in model.generate(requests):
            found[index] = {
                "text": reply.text,
                "tokens": reply.tokens_out,
                "prompt": reply.tokens_in,
            }
        return found

    serve(lambda what, rows, settings: score(rows) if what == "score" else write(rows, settings))


if __name__ == "__main__":
    main(*sys.argv[1:])
