"""Training rows as token ids and labels, and whether a model can learn from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchgen.errors import DataError
from benchgen.models.chat import IGNORE, encode_row

MOST_DROPPED = 0.05
"""Share of the rows that may be left out; more means that the data is not what it was taken for."""


@dataclass(frozen=True)
class EncodedRows:
    """Rows as token ids, with what had to be left out."""

    rows: list[dict[str, list[int]]]
    dropped: int
    truncated: int

    @property
    def tokens(self) -> int:
        return sum(len(row["input_ids"]) for row in self.rows)

    @property
    def supervised(self) -> int:
        return sum(label != IGNORE for row in self.rows for label in row["labels"])


def encode_rows(tokenizer: Any, rows: Sequence[Mapping[str, Any]], max_length: int) -> EncodedRows:
    """Token ids and labels of each row; empty answers and those longer than max_length are dropped.

    A row that is too long loses the start of its prompt, so that the answer and its end stay whole.
    """
    kept, dropped, truncated = [], 0, 0
    for row in rows:
        completion = str(row["completion"])
        if not completion.strip():
            dropped += 1
            continue
        ids, labels = encode_row(tokenizer, row["messages"], completion)
        answer = sum(label != IGNORE for label in labels)
        if answer >= max_length:
            dropped += 1
            continue
        truncated += len(ids) > max_length
        kept.append({"input_ids": ids[-max_length:], "labels": labels[-max_length:]})
    return EncodedRows(kept, dropped, truncated)


def check_rows(encoded: EncodedRows, stops: frozenset[int]) -> None:
    """None; DataError unless there are rows, each ends with a stop token, and 1 to 99 % is supervised."""
    if not encoded.rows:
        raise DataError(
            "no row can be trained on",
            got=f"{encoded.dropped} rows with an empty or overlong answer",
            next="choose other rows, or raise recipe.max_length",
        )
    if encoded.dropped > MOST_DROPPED * (len(encoded.rows) + encoded.dropped):
        raise DataError(
            f"{encoded.dropped} of {len(encoded.rows) + encoded.dropped} rows have an answer that is "
            "empty or longer than max_length",
            got=f"{encoded.dropped} rows left out",
            allowed=f"{MOST_DROPPED:.0%} of the rows",
            next="choose other rows, or raise recipe.max_length",
        )
    if any(row["labels"][-1] not in stops for row in encoded.rows):
        raise DataError("a row does not end with a token that stops the model")
    share = encoded.supervised / encoded.tokens
    if not 0.01 <= share <= 0.99:
        raise DataError(
            "the share of supervised tokens is out of range",
            got=f"{share:.1%}",
            allowed=["1 % to 99 %"],
            next="rows need a prompt and an answer of comparable length",
        )
