"""A model on this machine: any Hugging Face id or folder, with or without an adapter.

Here requests become token ids and rows become replies; what is computed, and in which batches, is the
engine's (`models/engine/`).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchgen.errors import ConfigError, ModelError
from benchgen.models.chat import (
    continuations,
    encode_prompt,
    notes,
    stop_ids,
    takes_tools,
    thinks,
)
from benchgen.models.device import Device
from benchgen.models.engine.attention import attend_in_parts
from benchgen.models.engine.batch import Network
from benchgen.models.engine.decode import Decoder
from benchgen.models.engine.likelihood import Scorer
from benchgen.models.engine.load import load_adapter, load_base, pick_device
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.types import Reply, Request

ROWS = {"cpu": 64, "cuda": 128}
"""Rows decoded at once by default: on a CPU reading the weights dominates up to about 64."""


class LocalModel:
    """A `Model` (see types.py) that runs here; loaded when it is made.

    `adapter` is a folder written by peft, served in front of its frozen base. `batch_rows` is how many
    questions are decoded at once; on a GPU it is halved when memory runs out. `thinking` turns on the
    reasoning of models whose chat template has that switch. `notes` say what had to be done for this
    model that a reader of its scores should know.
    """

    def __init__(  # noqa: PLR0913 - the settings of a model, keywords only
        self,
        path_or_id: Path | str,
        *,
        name: str,
        adapter: Path | None = None,
        revision: str | None = None,
        device: str = "auto",
        dtype: str = "auto",
        threads: int | None = None,
        batch_rows: int | None = None,
        thinking: bool = False,
    ) -> None:
        if batch_rows is not None and batch_rows < 1:
            raise ConfigError("batch_rows must be at least 1", got=batch_rows)
        place = pick_device(device, dtype, threads)
        model, tokenizer, folder = load_base(path_or_id, place, revision)
        if thinking and not thinks(tokenizer):
            raise ConfigError(
                f"the chat template of {name} has no switch for thinking",
                got="thinking=true",
                next="model.thinking=false, or a model that has one, such as Qwen3",
            )
        attend_in_parts(model)
        self._fingerprint = weights_fingerprint(folder, adapter, place.dtype, thinking)
        if adapter is not None:
            model = load_adapter(model, adapter)
        model.requires_grad_(False)  # only what never changes is packed
        self._serve(model, tokenizer, place, name, batch_rows=batch_rows, thinking=thinking)

    @classmethod
    def of(cls, model: Any, tokenizer: Any, device: Device, *, name: str) -> LocalModel:
        """A model that is loaded already, such as one in training; its fingerprint says nothing."""
        self = cls.__new__(cls)
        self._fingerprint = ""
        self._serve(model, tokenizer, device, name)
        return self

    def _serve(
        self,
        model: Any,
        tokenizer: Any,
        device: Device,
        name: str,
        *,
        batch_rows: int | None = None,
        thinking: bool = False,
    ) -> None:
        self.model, self.tokenizer, self.device = model, tokenizer, device
        self.name, self.thinking = name, thinking
        self.network, stops = Network(model, device.kind), stop_ids(model, tokenizer)
        endless = () if stops else ("no end token is known: replies go on to the token limit",)
        self.notes = (*notes(tokenizer), *endless)
        special = {str(t): i for i, t in tokenizer.added_tokens_decoder.items() if t.special}
        self.decoder = Decoder(
            self.network, stops, self._text, batch_rows or ROWS[device.kind], special
        )
        self.scorer = Scorer(self.network)

    @property
    def takes_tools(self) -> bool:
        """Whether its chat template tells of functions that it may call."""
        return takes_tools(self.tokenizer)

    @property
    def fingerprint(self) -> str:
        """16 hex digits over config, tokenizer, template, weights, adapter, dtype and thinking."""
        return self._fingerprint

    def generate(self, requests: Sequence[Request]) -> Iterator[tuple[int, Reply]]:
        """(index into `requests`, its reply), each once, as they finish.

        Greedy at temperature 0, else sampled with the request's own seed; a request with choices gets
        their likelihoods and no text. `tokens_in` and `tokens_out` are the row's own, the end token
        included; `seconds` is the wall clock from the row's entry into the batch to its end, so rows
        decoded together overlap and their seconds do not add up. What cannot be asked (a template that
        fails on it, no token at all, more than the context holds) gets a reply with `error`.
        """
        written: list[tuple[int, tuple[Request, list[int]]]] = []
        scored: list[tuple[int, tuple[list[int], list[list[int]]]]] = []
        for index, request in enumerate(requests):
            prompt, choices, error = self._encoded(request)
            if error:
                yield index, Reply("", "error", tokens_in=len(prompt), error=error)
            elif choices:
                scored.append((index, (prompt, choices)))
            else:
                written.append((index, (request, prompt)))
        yield from _renumbered(self.decoder.replies([row for _, row in written]), written)
        yield from _renumbered(self.scorer.replies([row for _, row in scored]), scored)

    def _encoded(self, request: Request) -> tuple[list[int], list[list[int]], str]:
        """(prompt ids, ids of each choice, why it cannot be asked, empty if it can)."""
        prompt, choices = list[int](), list[list[int]]()
        try:
            if request.choices:
                prompt, choices = continuations(self.tokenizer, request, self.thinking)
            else:
                prompt = encode_prompt(
                    self.tokenizer, request.messages, self.thinking, request.tools
                )
        except ModelError as error:
            return prompt, choices, error.message
        limit, known = self.network.context, self.network.vocabulary
        if not prompt:
            return prompt, choices, "the prompt has no token"
        if len(prompt) + max(map(len, choices), default=request.max_new_tokens) > limit:
            return prompt, choices, f"prompt and answer exceed {limit} tokens"
        most = max(map(max, [prompt, *choices]))
        if most >= known:
            return prompt, choices, f"token {most} is unknown to the model, which knows {known}"
        return prompt, choices, ""

    def _text(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True))


def _renumbered(
    replies: Iterator[tuple[int, Reply]], rows: Sequence[tuple[int, Any]]
) -> Iterator[tuple[int, Reply]]:
    for index, reply in replies:
        yield rows[index][0], reply
