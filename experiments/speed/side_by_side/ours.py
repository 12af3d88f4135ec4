"""benchgen's side: FOLDER DTYPE THREADS. Runs in the project's environment."""

from __future__ import annotations

import sys
from typing import Any

from serve import serve

from benchgen.models.chat import continuations
from benchgen.models.local import LocalModel
from benchgen.types import Request


def main(folder: str, dtype: str, threads: str) -> None:
    """Serve until the input ends."""
    model = LocalModel(folder, name="ours", device="cpu", dtype=dtype, threads=int(threads))

    def score(rows: list[Any]) -> list[Any]:
        # The contexts as they stand, without the chat template: so the other side has them.
        plain, model.tokenizer.chat_template = model.tokenizer.chat_template, None
        asked = [
            continuations(
                model.tokenizer,
                Request(
                    ({"role": "user", "content": ""},),
                    opening=r["context"],
                    choices=tuple(r["choices"]),
                ),
            )
            for r in rows
        ]
        model.tokenizer.chat_template = plain
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
