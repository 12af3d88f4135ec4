"""Writing replies token by token, many rows at once.

A finished row leaves the batch at once and a waiting one takes its place. Greedy replies do not depend
on that beyond float rounding; sampled ones draw from a generator of their own.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import torch

from benchgen.errors import ModelError
from benchgen.models.engine.batch import PADDING, Batch, Network, Row, Start
from benchgen.models.engine.groups import group
from benchgen.types import Reply, Request

PREFILL = {"cpu": 8192, "cuda": 32768}
"""Prompt tokens computed in one pass."""

Text = Callable[[Sequence[int]], str]
"""Token ids to text, special tokens left out."""


@dataclass
class _Waiting:
    """Rows of one group that have not entered yet, longest prompt first."""

    rows: list[Row]
    shared: int
    start: Start | None = None


class Decoder:
    """Replies to prompts. `batch_rows` rows at most at once; halved when a GPU's memory runs out.

    `stops` are the ids that end a reply. `special` {text: id} are tokens that `text` leaves out: one of them
    as a stop string is looked for by its id.
    """

    def __init__(
        self,
        network: Network,
        stops: frozenset[int],
        text: Text,
        batch_rows: int,
        special: Mapping[str, int] = MappingProxyType({}),
    ) -> None:
        self.network, self.text = network, text
        self.stops, self.special = stops, special
        self.batch_rows = batch_rows

    def replies(self, prompts: Sequence[tuple[Request, list[int]]]) -> Iterator[tuple[int, Reply]]:
        """(index into `prompts`, its reply), each once, as they finish."""
        return ((row.index, reply) for row, reply in self.finished(prompts))

    def finished(self, prompts: Sequence[tuple[Request, list[int]]]) -> Iterator[tuple[Row, Reply]]:
        """(row, its reply), each once, as they finish; `row.tokens` are the ids, its end token too."""
        rows = [
            Row(i, asked, ids, stops=self.stops | {self.special.get(s, -1) for s in asked.stop})
            for i, (asked, ids) in enumerate(prompts)
        ]
        waiting, batch = self._grouped(rows), None
        while waiting or batch:
            entering = self._entering(batch, waiting)
            try:
                if entering or batch is None:
                    batch, finished = self._enter(batch, entering, waiting[0])
                else:
                    finished = self._step(batch)
            except torch.OutOfMemoryError as error:
                left = [row for part in waiting for row in part.rows]
                waiting, batch = self._shrink(batch, left, error), None
                continue
            if entering:
                del waiting[0].rows[: len(entering)]
                waiting = waiting if waiting[0].rows else waiting[1:]
            yield from finished
            batch = batch if batch.rows else None

    def _grouped(self, rows: list[Row]) -> list[_Waiting]:
        """The rows by what they are computed together with; one by one where sharing is not possible."""
        if not self.network.plain:
            return (
                [_Waiting(sorted(rows, key=lambda r: (-len(r.prompt), r.index)), 0)] if rows else []
            )
        return [
            _Waiting([rows[i] for i in found.members], found.shared)
            for found in group([row.prompt for row in rows])
        ]

    def _entering(self, batch: Batch | None, waiting: list[_Waiting]) -> list[Row]:
        """Rows of the next group to take in now: none until an eighth of the places has come free."""
        if not waiting or (batch and not self.network.plain):
            return []
        present = len(batch.rows) if batch else 0
        free = self.batch_rows - present
        if batch and free < max(1, self.batch_rows // 8):
            return []
        rows, shared = waiting[0].rows, waiting[0].shared
        width = max(1, len(rows[0].prompt) - shared)
        room = min(free, max(1, PREFILL[self.network.device] // width))
        columns = max(_columns(row) for row in [*(batch.rows if batch else ()), *rows[:room]])
        held = self.network.columns_held() // columns - present
        return rows[: min(room, held if batch else max(1, held))] if held > 0 or not batch else []

    def _enter(
        self, batch: Batch | None, rows: list[Row], waiting: _Waiting
    ) -> tuple[Batch, list[tuple[Row, Reply]]]:
        if waiting.start is None:
            waiting.start = self.network.start(rows[0].prompt[: waiting.shared])
        new, finished = self._prefill(rows, waiting.shared, waiting.start)
        if batch is None:
            return new, finished
        if new.rows:
            batch.join(new)
        return batch, finished

    @torch.inference_mode()
    def _prefill(
        self, rows: list[Row], done: int, start: Start
    ) -> tuple[Batch, list[tuple[Row, Reply]]]:
        """A batch of these rows with one token each, and the replies of those that end with it."""
        where = self.network.device
        cache = self.network.cache(start, len(rows))
        rests = [row.prompt[done:] for row in rows]
        width = max(map(len, rests))
        ids = torch.tensor([[PADDING] * (width - len(r)) + r for r in rests], device=where)
        mask = torch.tensor(
            [[1] * done + [0] * (width - len(r)) + [1] * len(r) for r in rests], device=where
        )
        now = time.perf_counter()
        for row in rows:
            row.started, row.tokens = now, []
            row.generator = _generator(row) if row.request.temperature > 0 else None
        logits = self.network.forward(ids, mask, cache)[:, -1]
        batch = Batch(rows, cache, mask)
        if done:
            batch.squeeze()
        return batch, self._take(batch, logits)

    @torch.inference_mode()
    def _step(self, batch: Batch) -> list[tuple[Row, Reply]]:
        """One more token for every row; the replies of the rows that end with it, which then leave."""
        ids = torch.tensor([[row.tokens[-1]] for row in batch.rows], device=self.network.device)
        batch.mask = torch.cat([batch.mask, batch.mask.new_ones(len(batch.rows), 1)], dim=1)
        return self._take(batch, self.network.forward(ids, batch.mask, batch.cache)[:, -1])

    def _take(self, batch: Batch, logits: torch.Tensor) -> list[tuple[Row, Reply]]:
        highest, best = (
            found.tolist() for found in logits.max(-1)
        )  # NaN is higher than any number
        finished, kept = [], []
        for i, row in enumerate(batch.rows):
            if math.isfinite(highest[i]):
                row.tokens.append(best[i] if row.generator is None else draw(logits[i], row))
                reply = self._reply(row)
            else:
                error = "the model's logits are no finite numbers"
                reply = Reply("", "error", tokens_in=len(row.prompt), error=error)
            if reply is None:
                kept.append(i)
            else:
                finished.append((row, reply))
        if finished:
            batch.keep(kept)
        return finished

    def _reply(self, row: Row) -> Reply | None:
        """The reply if the row has ended: by an end token, a stop string or the token limit."""
        ended = row.tokens[-1] in row.stops
        text, cut = None, -1
        if row.request.stop and not ended and self._may_stop(row):
            text = self.text(row.tokens)
            cut = min((at for s in row.request.stop if (at := text.find(s)) >= 0), default=-1)
        if not ended and cut < 0 and len(row.tokens) < row.request.max_new_tokens:
            return None
        if text is None:
            text = self.text(row.tokens[:-1] if ended else row.tokens)
        return Reply(
            text=text[:cut] if cut >= 0 else text,
            finish_reason="stop" if ended or cut >= 0 else "length",
            tokens_in=len(row.prompt),
            tokens_out=len(row.tokens),
            seconds=time.perf_counter() - row.started,
        )

    def _may_stop(self, row: Row) -> bool:
        """Whether a stop string may just have been completed, seen from the last tokens alone.

        A token is at least a byte, a character at most four: that many tokens hold any stop string,
        and a few more the beginning of a character that would else be cut.
        """
        longest = max(map(len, row.request.stop))
        tail = self.text(row.tokens[-(4 * longest + 4) :])
        return any(stop in tail for stop in row.request.stop)

    def _shrink(
        self, batch: Batch | None, waiting: list[Row], error: torch.OutOfMemoryError
    ) -> list[_Waiting]:
        """All rows, to be begun again with half as many at once."""
        if self.batch_rows == 1:
            raise ModelError(
                "The device's memory does not hold one question",
                next="hardware.device=cpu, a smaller model or a smaller max_new_tokens",
            ) from error
        self.batch_rows = max(1, self.batch_rows // 2)
        torch.cuda.empty_cache()
        return self._grouped((batch.rows if batch else []) + waiting)


def _columns(row: Row) -> int:
    return len(row.prompt) + row.request.max_new_tokens


def _generator(row: Row) -> torch.Generator:
    """A generator of the row's own: the same request draws the same numbers in any batch."""
    asked = row.request
    body = f"{asked.seed}:{asked.repeat}:{asked.temperature}:{row.prompt}".encode()
    seed = int.from_bytes(hashlib.sha256(body).digest()[:8], "big") >> 1
    return torch.Generator().manual_seed(seed)


def draw(logits: torch.Tensor, row: Row) -> int:
    """A token drawn from softmax(logits / temperature) by one uniform number, in float64 on the CPU.

    `top_k` keeps the likeliest, then `top_p` the fewest of them that reach that probability (nucleus
    sampling, Holtzman et al. 2020).
    """
    asked = row.request
    weights = torch.softmax(logits.double().cpu() / asked.temperature, -1)
    tokens = None
    if asked.top_k or asked.top_p < 1:
        weights, tokens = weights.sort(descending=True, stable=True)
        kept = asked.top_k or len(weights)
        if asked.top_p < 1:
            before = (
                weights[:kept].cumsum(-1) / weights[:kept].sum()
                - weights[:kept] / weights[:kept].sum()
            )
            kept = int((before < asked.top_p).sum())
        weights = weights[: max(1, kept)]
    total = weights.cumsum(-1)
    at = torch.rand(1, generator=row.generator, dtype=torch.float64) * total[-1]
    place = min(int(torch.searchsorted(total, at)), len(total) - 1)
    return place if tokens is None else int(tokens[place])
