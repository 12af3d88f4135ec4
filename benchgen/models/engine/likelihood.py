"""How likely a model finds given continuations of a prompt.

A prompt's continuations are computed in one pass with it: they lie one after the other behind it, and a
mask lets each see the prompt and itself only. So the prompt is computed once, whatever their number; the
vocabulary's logits are computed from the prompt's last token on, and nowhere else. Continuations of one token
need no mask: only the prompt is fed.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from benchgen.errors import ModelError
from benchgen.models.engine.attention import attends_in_parts, behind
from benchgen.models.engine.batch import PADDING, ROOM, Network, Start
from benchgen.models.engine.groups import group
from benchgen.types import Likelihood, Reply

TOKENS = {"cpu": 4096, "cuda": 32768}
"""Tokens computed in one pass."""
LOGITS = 2**27
"""Logits held at once: those of the columns kept, over the vocabulary."""


@dataclass
class Scored:
    """A prompt and the continuations that are scored after it, as token ids; none of them is empty."""

    index: int
    prompt: list[int]
    choices: list[list[int]]

    @property
    def packed(self) -> int:
        """Columns behind the prompt: a continuation's last token is predicted, never fed."""
        return sum(len(choice) - 1 for choice in self.choices)


class Scorer:
    """Likelihoods of continuations; batches are halved when a GPU's memory runs out."""

    def __init__(self, network: Network) -> None:
        self.network = network
        self.tokens = TOKENS[network.device]

    def replies(
        self, asked: Sequence[tuple[list[int], list[list[int]]]]
    ) -> Iterator[tuple[int, Reply]]:
        """(index into `asked`, a reply with its likelihoods), each once."""
        rows = [Scored(i, prompt, choices) for i, (prompt, choices) in enumerate(asked)]
        if not self.network.plain:
            yield from self._apart(rows)
            return
        for found in group([row.prompt for row in rows]):
            members = [rows[i] for i in found.members]
            start = self.network.start(members[0].prompt[: found.shared])
            while members:
                taken = self._fitting(members, found.shared)
                try:
                    yield from self._score(members[:taken], found.shared, start)
                except torch.OutOfMemoryError as error:
                    self._shrink(taken, error)
                    continue
                del members[:taken]

    def _fitting(self, rows: list[Scored], shared: int) -> int:
        """How many of the rows, longest prompt first, are computed in the next pass; at least one."""
        held = self.network.columns_held()
        packed, vocabulary = 0, self.network.vocabulary
        for taken, row in enumerate(rows):
            packed = max(packed, row.packed)
            width = len(rows[0].prompt) - shared + packed
            too_many = (taken + 1) * width > self.tokens
            too_many |= (taken + 1) * (shared + width + ROOM) > held
            if taken and (too_many or (taken + 1) * (packed + 1) * vocabulary > LOGITS):
                return taken
        return len(rows)

    def _shrink(self, taken: int, error: torch.OutOfMemoryError) -> None:
        if taken == 1:
            raise ModelError(
                "The device's memory does not hold one question with its options",
                next="hardware.device=cpu, or a smaller model",
            ) from error
        self.tokens //= 2
        torch.cuda.empty_cache()

    @torch.inference_mode()
    def _score(self, rows: list[Scored], done: int, start: Start) -> list[tuple[int, Reply]]:
        """Columns: the shared beginning | the rest of each prompt, aligned right | the continuations."""
        apart = not done or attends_in_parts(self.network.model)  # what is shared is no column
        if apart and not any(row.packed for row in rows):
            return self._score_unmasked(rows, done, start)
        began, where = time.perf_counter(), self.network.device
        rests = [row.prompt[done:] for row in rows]
        width, packed = max(map(len, rests)), max(row.packed for row in rows)
        ids, positions = [], []
        for row, rest in zip(rows, rests, strict=True):
            fed = [token for choice in row.choices for token in choice[:-1]]
            gap = width - len(rest)
            ids.append([PADDING] * gap + rest + fed + [PADDING] * (packed - len(fed)))
            length = len(row.prompt)
            after = [length + i for choice in row.choices for i in range(len(choice) - 1)]
            positions.append(
                [0] * gap + list(range(done, length)) + after + [0] * (packed - len(after))
            )
        mask = self._mask(rows, done, width, packed)
        logits = self.network.model(
            input_ids=torch.tensor(ids, device=where),
            attention_mask=mask,
            position_ids=torch.tensor(positions, device=where),
            past_key_values=self.network.cache(start, len(rows)),
            use_cache=True,
            logits_to_keep=packed + 1,
        ).logits
        at = [(i, *place) for i, row in enumerate(rows) for place in _places(row)]
        found = _logprobs(logits, at)
        seconds = (time.perf_counter() - began) / len(rows)
        replies, next_ = [], 0
        for row in rows:
            size = sum(map(len, row.choices))
            replies.append((row.index, _reply(row, found[next_ : next_ + size], seconds)))
            next_ += size
        return replies

    def _score_unmasked(
        self, rows: list[Scored], done: int, start: Start
    ) -> list[tuple[int, Reply]]:
        """One token each behind prompts padded on the right, where no token sees it: attention is then plainly
        causal, half the work.
        """
        began, where = time.perf_counter(), self.network.device
        rests = [row.prompt[done:] for row in rows]
        width = max(map(len, rests))
        ids = [rest + [PADDING] * (width - len(rest)) for rest in rests]
        ends = torch.tensor([len(rest) - 1 for rest in rests], device=where)
        with behind(start), self._logits_after(ends):
            logits = self.network.model(
                input_ids=torch.tensor(ids, device=where),
                position_ids=torch.arange(done, done + width, device=where).expand(len(rows), -1),
                use_cache=False,
            ).logits
        at = [(0, i, choice[0]) for i, row in enumerate(rows) for choice in row.choices]
        found = iter(_logprobs(logits, at))
        seconds = (time.perf_counter() - began) / len(rows)
        return [
            (row.index, _reply(row, [next(found) for _ in row.choices], seconds)) for row in rows
        ]

    @contextmanager
    def _logits_after(self, columns: torch.Tensor) -> Iterator[None]:
        """Within it, the vocabulary's logits are computed after one column of each row only: [1, rows, vocabulary]."""
        rows = torch.arange(len(columns), device=columns.device)

        def chosen(_: object, given: tuple[torch.Tensor]) -> tuple[torch.Tensor]:
            return (given[0][rows, columns][None],)

        hook = self.network.model.get_output_embeddings().register_forward_pre_hook(chosen)
        try:
            yield
        finally:
            hook.remove()

    def _mask(self, rows: list[Scored], done: int, width: int, packed: int) -> torch.Tensor:
        """[rows, 1, queries, columns], added to the attention scores; without continuations the plain
        [rows, columns] mask does.
        """
        gaps = [width - (len(row.prompt) - done) for row in rows]
        where = self.network.device
        if not packed:
            plain = [[1] * done + [0] * gap + [1] * (width - gap) for gap in gaps]
            return torch.tensor(plain, device=where)
        queries, columns = width + packed, done + width + packed
        seen = torch.ones(queries, columns, dtype=torch.bool).tril(done).repeat(len(rows), 1, 1)
        for i, (row, gap) in enumerate(zip(rows, gaps, strict=True)):
            at = width
            for choice in row.choices:
                end = at + len(choice) - 1
                seen[i, at:end, done + width : done + at] = False  # the continuations before it
                at = end
            seen[i, :, done : done + gap] = False
            # A query that sees nothing would give NaN, which spreads: padding sees itself.
            padding = [*range(gap), *range(at, queries)]
            seen[i, padding] = False
            seen[i, padding, [done + p for p in padding]] = True
        added = torch.zeros(seen.shape, dtype=self.network.model.dtype)
        added.masked_fill_(~seen, torch.finfo(added.dtype).min)
        return added[:, None].to(where)

    def _apart(self, rows: list[Scored]) -> Iterator[tuple[int, Reply]]:
        """Each continuation behind a prompt of its own, for models whose state cannot be shared."""
        for row in sorted(rows, key=lambda r: (-len(r.prompt), r.index)):
            began, found = time.perf_counter(), []
            with torch.inference_mode():
                for choice in row.choices:
                    ids = torch.tensor([row.prompt + choice[:-1]], device=self.network.device)
                    logits = self.network.model(
                        input_ids=ids, use_cache=False, logits_to_keep=len(choice)
                    ).logits
                    found += _logprobs(logits, [(0, i, token) for i, token in enumerate(choice)])
            yield row.index, _reply(row, found, time.perf_counter() - began)


def _places(row: Scored) -> Iterator[tuple[int, int]]:
    """(kept column, token that it should predict) over all continuations' tokens in order."""
    at = 1
    for choice in row.choices:
        yield 0, choice[0]  # after the prompt's last token
        for token in choice[1:]:
            yield at, token
            at += 1


def _logprobs(logits: torch.Tensor, at: list[tuple[int, int, int]]) -> list[tuple[float, bool]]:
    """[(ln P, is the likeliest)] of each (row, column, token), in float32."""
    rows, columns, tokens = torch.tensor(at, device=logits.device).T
    places, which = torch.unique(rows * logits.shape[1] + columns, return_inverse=True)
    chosen = logits.reshape(-1, logits.shape[-1])[places].float()
    total, best = chosen.logsumexp(-1), chosen.argmax(-1)
    value = chosen[which, tokens] - total[which]
    return list(zip(value.tolist(), (best[which] == tokens).tolist(), strict=True))


def _reply(row: Scored, found: list[tuple[float, bool]], seconds: float) -> Reply:
    sums, greedy, at = [], [], 0
    for choice in row.choices:
        part = found[at : at + len(choice)]
        sums.append(sum(value for value, _ in part))
        greedy.append(all(best for _, best in part))
        at += len(choice)
    return Reply(
        "",
        tokens_in=len(row.prompt),
        tokens_out=sum(map(len, row.choices)),
        seconds=seconds,
        likelihood=Likelihood(tuple(sums), tuple(map(len, row.choices)), tuple(greedy)),
    )
