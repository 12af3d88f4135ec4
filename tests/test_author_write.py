"""The way every question takes: proved, not twice, correct letters even."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.author.write import Accept, balance, check_count, fault, write
from benchgen.errors import ConfigError
from benchgen.scoring import Score
from benchgen.types import LETTERS, Evaluation, Question

NAMES = Evaluation(options="names")
GOOD = Question(
    "mcq", "Which planet is red?", "B", ("Venus", "Mars", "Saturn"), rationale="Mars is red."
)


def from_list(questions: Sequence[Question]):  # type: ignore[no-untyped-def]
    def author(accept: Accept) -> list[Question]:
        return [q for q in questions if accept(q)]

    return author


@pytest.mark.parametrize("options", ["names", "letters"])
def test_a_good_question_proves_itself(options: str) -> None:
    assert fault(GOOD, Evaluation(options=options)) == ""
    qa = Question("qa", "Capital of France?", ["Paris"], rationale="Paris is its capital.")
    assert fault(qa, Evaluation(options=options)) == ""


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"prompt": "  "}, "no prompt"),
        ({"target": "D"}, "not one of the 3"),
        ({"target": "b"}, "not one of the 3"),
        ({"target": 1}, "not one of the 3"),
        ({"choices": ("Venus", "Mars", "mars ")}, "the same"),
        ({"choices": ("Venus", "Mars", "Ｍars")}, "the same"),
        ({"choices": ("Venus", "Mars", " ")}, "empty"),
        ({"kind": "qa", "choices": (), "target": []}, "worked answer"),
    ],
)
def test_a_question_that_proves_nothing_is_refused_with_the_reason(
    change: dict[str, object], says: str
) -> None:
    # each change makes exactly one thing wrong with a question that is otherwise good
    assert says in fault(replace(GOOD, **change), NAMES)  # type: ignore[arg-type]


def test_a_scorer_that_passes_an_empty_reply_refuses_every_question(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # no kind we ship has such a scorer; a future one must not slip through
    def generous(kind: str, **about: object) -> Score:
        return Score(True, 1.0, "", "ok", "")

    monkeypatch.setattr("benchgen.author.write.score", generous)
    qa = Question("qa", "Capital of France?", ["Paris"])
    assert "empty reply" in fault(qa, NAMES)


def test_refused_and_repeated_candidates_are_kept_with_their_reasons() -> None:
    other = replace(GOOD, prompt="Which is the red planet?")
    reordered = replace(GOOD, choices=("Mars", "Saturn", "Venus"), target="A")
    draft = write(from_list([GOOD, reordered, replace(GOOD, prompt=""), other]), NAMES, name="x")
    assert [q.prompt for q in draft.questions] == [GOOD.prompt, other.prompt]
    assert [r.reason.split(":")[0] for r in draft.rejected] == ["duplicate", "no prompt"]
    assert len(draft.report["warnings"]) == 2
    assert len(draft.report["decisions"]) == 1


@given(
    sizes=st.lists(st.integers(2, 8), min_size=1, max_size=60),
    right=st.integers(0, 7),
    seed=st.integers(0, 99),
)
def test_letters_are_even_within_each_number_of_options(
    sizes: list[int], right: int, seed: int
) -> None:
    # the worst case: every answer under one letter
    before = [
        Question("mcq", f"Question {i}?", LETTERS[right % n], tuple(f"o{j}" for j in range(n)))
        for i, n in enumerate(sizes)
    ]
    after = balance(before, seed)
    assert [q.key for q in after] == [q.key for q in before]
    assert [q.target_text for q in after] == [q.target_text for q in before]
    for n in set(sizes):
        counts = Counter(q.target for q in after if len(q.choices) == n)
        every = [counts[letter] for letter in LETTERS[:n]]
        assert max(every) - min(every) <= 1
    assert after == balance(before, seed)


def test_questions_without_options_pass_the_balance_unchanged() -> None:
    qa = Question("qa", "Capital of France?", ["Paris"])
    assert balance([qa, GOOD])[0] is qa


@pytest.mark.parametrize("number", [0, -1, 2001])
def test_counts_out_of_range_are_refused_by_name(number: int) -> None:
    with pytest.raises(ConfigError, match="count from 1 to 2000"):
        check_count(number)


def test_an_author_without_a_question_makes_no_draft() -> None:
    with pytest.raises(ConfigError, match="count"):
        write(from_list([]), NAMES, name="x")
