"""Writing a benchmark in parts of 25, so that nothing written is ever lost or repeated.

For authors whose questions cost time or money (a model writes them). A part asks for the questions of
one category; what each request brings, accepted and refused, is one line of `parts.jsonl`, synced
before the next request. Killed at any moment, writing goes on behind the last whole line; the turn's
limit ends it the same way, only tidily.
"""

from __future__ import annotations

import os
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from benchgen.author.near import NearDuplicates
from benchgen.author.write import Rejected, fault
from benchgen.errors import ModelError
from benchgen.store import cut_torn_line, make_folder, read_jsonl
from benchgen.types import Evaluation, Question, canonical

PART = 25
MAX_TRIES = 3
"""So many requests one after the other that bring nothing usable end the writing; what there is is kept."""
MAX_UNREAD = 2
"""So many, if not one of them brings even a question to refuse: the model cannot do it."""
LARGER = (
    "resume it, or create it with a larger model (one of 135 million parameters cannot write questions): "
    "model=endpoint model.base_url=http://127.0.0.1:8000/v1 model.name=NAME model.api_key_env=VARIABLE "
    "in place of author.model"
)
FILE = "parts.jsonl"


@dataclass(frozen=True)
class Wanted:
    """What one request asks an author for."""

    category: str
    difficulties: Mapping[str, int]
    """How many of each difficulty; "" where it does not matter."""
    avoid: Sequence[Question] = ()
    """Questions that are there already, the newest last."""
    faults: Sequence[str] = ()
    """Why candidates of the request before were refused."""

    @property
    def number(self) -> int:
        return sum(self.difficulties.values())


class PartAuthor(Protocol):
    """Whatever writes some questions at a time. It may give fewer than asked for, or faulty ones.

    What it can tell itself to be unusable, such as a quotation that its document lacks, it hands over
    as refused, so that the reason is kept.
    """

    def __call__(self, wanted: Wanted) -> Sequence[Question | Rejected]: ...


@dataclass(frozen=True)
class Turn:
    """How far one call of `write_parts` goes."""

    limit: int | None = None
    """Questions; None = all."""
    taken: frozenset[str] = frozenset()
    """Keys of questions not to repeat: those of other benchmarks."""
    progress: Callable[[int, int], None] | None = None


@dataclass(frozen=True)
class Layout:
    """The parts of a benchmark, in order: category and how many of each difficulty."""

    parts: tuple[Wanted, ...]

    @property
    def count(self) -> int:
        return sum(part.number for part in self.parts)


@dataclass
class Written:
    """What a folder of parts holds."""

    questions: list[Question] = field(default_factory=list)
    rejected: list[Rejected] = field(default_factory=list)
    by_part: dict[int, Counter[str]] = field(default_factory=dict)
    """How many questions of each difficulty each part has."""

    def add(self, part: int, accepted: Sequence[Question], rejected: Sequence[Rejected]) -> None:
        """Count what one request brought."""
        self.questions += accepted
        self.rejected += rejected
        self.by_part.setdefault(part, Counter()).update(q.difficulty for q in accepted)

    def left(self, part: int, wanted: Wanted) -> dict[str, int]:
        """What the part still lacks, by difficulty; empty when it is full."""
        have = self.by_part.get(part, Counter())
        if "" in wanted.difficulties:
            have = Counter({"": have.total()})
        return dict(Counter(dict(wanted.difficulties)) - have)


def lay_out(
    count: int, categories: Mapping[str, float], mix: Mapping[str, float], seed: int = 0
) -> Layout:
    """Parts of at most 25 whose categories and difficulties come to the shares asked for, exactly.

    Shares are made whole by largest remainder, over all of `count` and not part by part.
    """
    rng = random.Random(f"{seed} parts")
    deck = [name for name, n in split(count, mix or {"": 1.0}).items() for _ in range(n)]
    rng.shuffle(deck)
    parts = []
    for category, size in split(count, categories or {"": 1.0}).items():
        mine, deck = deck[:size], deck[size:]
        for start in range(0, size, PART):
            counted = Counter(mine[start : start + PART])
            parts.append(Wanted(category, dict(sorted(counted.items()))))
    return Layout(tuple(parts))


def split(count: int, shares: Mapping[str, float]) -> dict[str, int]:
    """`count` divided by the shares; what rounding leaves goes to the largest remainders."""
    total = sum(shares.values())
    exact = {name: count * share / total for name, share in shares.items()}
    whole = {name: int(value) for name, value in exact.items()}
    left = count - sum(whole.values())
    order = sorted(exact, key=lambda name: -(exact[name] - whole[name]))
    for name in order[:left]:
        whole[name] += 1
    return whole


def read_parts(folder: Path) -> Written:
    """What has been written so far; a torn last line is left out."""
    written = Written()
    for line in read_jsonl(folder / FILE):
        accepted = [Question.from_dict(q) for q in line["accepted"]]
        rejected = [
            Rejected(Question.from_dict(r["question"]), r["reason"]) for r in line["rejected"]
        ]
        written.add(line["part"], accepted, rejected)
    return written


def write_parts(
    author: PartAuthor,
    layout: Layout,
    evaluation: Evaluation,
    folder: Path,
    *,
    turn: Turn,
) -> Written:
    """The folder's questions, once the turn has written its limit of them or the layout is full.

    A part begun is finished, so the limit may be passed by 24. ModelError, with all that was written
    kept, if the author cannot fill a part.
    """
    make_folder(folder)
    cut_torn_line(folder / FILE)
    written = read_parts(folder)
    begun = len(written.questions)
    with (folder / FILE).open("a", encoding="utf-8") as file:
        for number, part in enumerate(layout.parts):
            if turn.limit is not None and len(written.questions) - begun >= turn.limit:
                break
            for accepted, rejected in _fill(author, part, evaluation, written, number, turn.taken):
                line = _line(number, accepted, rejected)
                file.write(canonical(line) + "\n")
                file.flush()
                os.fsync(file.fileno())
                written.add(number, accepted, rejected)
                if turn.progress:
                    turn.progress(len(written.questions), layout.count)
            if written.left(number, part):
                raise _stopped(number, part, written, layout)
    return written


def _fill(
    author: PartAuthor,
    part: Wanted,
    evaluation: Evaluation,
    written: Written,
    number: int,
    taken: frozenset[str],
) -> Iterator[tuple[list[Question], list[Rejected]]]:
    """(accepted, refused) of each request until the part is full, or nothing usable comes any more."""
    faults: Sequence[str] = ()
    barren = unread = 0
    while (left := written.left(number, part)) and barren < MAX_TRIES and unread < MAX_UNREAD:
        request = Wanted(part.category, left, tuple(written.questions), faults)
        accepted, rejected = _sifted(author(request), request, evaluation, taken)
        yield accepted, rejected
        faults = sorted({r.reason for r in rejected})
        barren = 0 if accepted else barren + 1
        unread = 0 if accepted or rejected else unread + 1


def _sifted(
    candidates: Sequence[Question | Rejected],
    request: Wanted,
    evaluation: Evaluation,
    taken: frozenset[str],
) -> tuple[list[Question], list[Rejected]]:
    """Candidates as (accepted, refused), in their order."""
    accepted: list[Question] = []
    rejected: list[Rejected] = []
    keys = {q.key for q in request.avoid} | taken
    near = NearDuplicates(request.avoid)
    left = Counter(dict(request.difficulties))
    for candidate in candidates[: 2 * PART]:
        if isinstance(candidate, Rejected):
            rejected.append(candidate)
            continue
        level = "" if "" in request.difficulties else candidate.difficulty
        reason = _refusal(candidate, request, evaluation, keys, near)
        if not reason and not left[level]:
            reason = f"one {level} question more than was asked for".replace("  ", " ")
        if reason:
            rejected.append(Rejected(candidate, reason))
            continue
        accepted.append(candidate)
        keys.add(candidate.key)
        near.add(candidate)
        left[level] -= 1
    return accepted, rejected


def _refusal(
    question: Question,
    request: Wanted,
    evaluation: Evaluation,
    keys: set[str],
    near: NearDuplicates,
) -> str:
    """Why a candidate cannot be taken, or ""."""
    if request.category and question.category != request.category:
        return f"the category is {question.category!r}, not the one asked for"
    if reason := fault(question, evaluation):
        return reason
    if question.key in keys:
        return "duplicate: the same prompt, options and answer as another question"
    if found := near.find(question):
        return f"near duplicate ({found[1]:.0f} of 100 alike) of: {found[0].prompt[:100]}"
    return ""


def _line(part: int, accepted: Sequence[Question], rejected: Sequence[Rejected]) -> dict[str, Any]:
    return {
        "part": part,
        "accepted": [q.to_dict() for q in accepted],
        "rejected": [{"question": r.question.to_dict(), "reason": r.reason} for r in rejected],
    }


def _stopped(number: int, part: Wanted, written: Written, layout: Layout) -> ModelError:
    told = Counter(r.reason.partition(":")[0] for r in written.rejected).most_common(1)
    why = f"; most were refused: {told[0][0]}" if told else "; no usable question came"
    got = written.by_part.get(number, Counter()).total()
    return ModelError(
        f"writing stopped at {len(written.questions)} of {layout.count} questions, which are kept: part "
        f"{number + 1} has {got} of {part.number}, and request after request brought no new one{why}",
        got=len(written.questions),
        next=LARGER,
    )
