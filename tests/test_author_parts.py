"""Writing in parts: the asked counts exactly, nothing twice, and nothing lost whatever happens."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.author import parts
from benchgen.author.near import NearDuplicates
from benchgen.author.parts import Layout, Turn, Wanted, lay_out, read_parts, split, write_parts
from benchgen.author.write import Rejected
from benchgen.errors import ModelError
from benchgen.types import Evaluation, Question

WORDS = [f"{a}{b}" for a in ("ka", "lo", "mi", "nu", "pe") for b in ("ran", "tis", "vor", "zel")]


class Numbered:
    """Writes questions that have nothing in common, as many and as difficult as it is asked for."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = random.Random(seed)
        self.asked: list[Wanted] = []

    def __call__(self, wanted: Wanted) -> Sequence[Question | Rejected]:
        self.asked.append(wanted)
        return [
            self.one(wanted.category, d) for d, n in wanted.difficulties.items() for _ in range(n)
        ]

    def one(self, category: str, difficulty: str) -> Question:
        prompt = " ".join(self.rng.choices(WORDS, k=9)) + "?"
        answer = "".join(self.rng.choices(WORDS, k=3))
        return Question("qa", prompt, [answer], category=category, difficulty=difficulty)


def layout(count: int = 60) -> Layout:
    return lay_out(count, {"stars": 2, "moons": 1}, {"easy": 1, "hard": 3}, seed=1)


def test_parts_are_of_25_and_come_to_the_counts_asked_for() -> None:
    plan = layout(100)
    assert plan.count == 100
    assert all(part.number <= 25 for part in plan.parts)
    totals = Counter[str]()
    levels = Counter[str]()
    for part in plan.parts:
        totals[part.category] += part.number
        levels.update(dict(part.difficulties))
    assert totals == {"stars": 67, "moons": 33}
    assert levels == {"easy": 25, "hard": 75}


@given(
    count=st.integers(1, 2000),
    shares=st.dictionaries(st.text(max_size=3), st.floats(0.01, 9), min_size=1, max_size=6),
)
def test_shares_come_to_the_count_and_are_off_by_less_than_one(
    count: int, shares: dict[str, float]
) -> None:
    got = split(count, shares)
    assert sum(got.values()) == count
    total = sum(shares.values())
    assert all(abs(n - count * shares[name] / total) < 1 for name, n in got.items())


def test_all_that_is_wanted_is_written_and_nothing_twice(tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    turn = Turn(progress=lambda *step: steps.append(step))
    written = write_parts(Numbered(), layout(), Evaluation(), tmp_path, turn=turn)
    assert len({q.key for q in written.questions}) == 60
    assert Counter(q.category for q in written.questions) == {"stars": 40, "moons": 20}
    assert Counter(q.difficulty for q in written.questions) == {"easy": 15, "hard": 45}
    assert steps[-1] == (60, 60)
    assert read_parts(tmp_path).questions == written.questions


def test_a_turn_ends_after_a_whole_part_and_the_next_goes_on(tmp_path: Path) -> None:
    author = Numbered()
    first = write_parts(author, layout(), Evaluation(), tmp_path, turn=Turn(limit=20))
    assert len(first.questions) == 25
    then = write_parts(author, layout(), Evaluation(), tmp_path, turn=Turn(limit=20))
    assert then.questions[:25] == first.questions
    last = write_parts(author, layout(), Evaluation(), tmp_path, turn=Turn())
    assert len({q.key for q in last.questions}) == 60
    asked = len(author.asked)
    again = write_parts(author, layout(), Evaluation(), tmp_path, turn=Turn())
    assert (again.questions, len(author.asked)) == (last.questions, asked)  # full: nothing is asked


def test_duplicates_near_ones_and_strays_are_refused_with_their_reasons(tmp_path: Path) -> None:
    good = Numbered()

    class Sloppy:
        calls = 0

        def __call__(self, wanted: Wanted) -> Sequence[Question | Rejected]:
            self.calls += 1
            fresh = list(good(wanted))
            if self.calls > 1:
                return fresh
            first = fresh[0]
            assert isinstance(first, Question)
            near = Question(
                "qa", first.prompt.replace("?", " then?"), first.target, category="stars",
                difficulty="hard",
            )  # fmt: skip
            stray = Question("qa", "Who stands apart here?", ["nobody"], category="elsewhere")
            broken = Question("qa", " ", ["x"], category="stars", difficulty="hard")
            return [*fresh[:10], first, near, stray, broken]

    written = write_parts(Sloppy(), layout(25), Evaluation(), tmp_path, turn=Turn())
    assert len({q.key for q in written.questions}) == 25
    reasons = " | ".join(r.reason for r in written.rejected)
    for why in ("duplicate: ", "near duplicate", "category", "no prompt"):
        assert why in reasons
    assert [r.reason for r in read_parts(tmp_path).rejected] == [r.reason for r in written.rejected]


def test_what_the_author_itself_refuses_is_kept_with_its_reason(tmp_path: Path) -> None:
    good = Numbered()

    def author(wanted: Wanted) -> Sequence[Question | Rejected]:
        return [Rejected(good.one("x", "hard"), "quotes nothing"), *good(wanted)]

    written = write_parts(author, layout(25), Evaluation(), tmp_path, turn=Turn())
    assert {r.reason for r in written.rejected} == {"quotes nothing"}


def test_faults_of_one_request_are_told_in_the_next(tmp_path: Path) -> None:
    good = Numbered()
    told: list[Sequence[str]] = []

    def author(wanted: Wanted) -> Sequence[Question | Rejected]:
        told.append(wanted.faults)
        return [Question("qa", " ", ["x"])] if len(told) == 1 else good(wanted)

    write_parts(author, lay_out(5, {}, {}), Evaluation(), tmp_path, turn=Turn())
    assert told == [(), ["no prompt"]]


def test_an_author_that_gives_out_stops_the_writing_and_keeps_what_there_is(tmp_path: Path) -> None:
    good = Numbered()

    def author(wanted: Wanted) -> Sequence[Question | Rejected]:
        return [] if len(wanted.avoid) >= 30 else good(wanted)[:10]

    with pytest.raises(ModelError, match=r"stopped at 35 of 60.*kept"):
        write_parts(author, layout(), Evaluation(), tmp_path, turn=Turn())
    assert len(read_parts(tmp_path).questions) == 35
    written = write_parts(good, layout(), Evaluation(), tmp_path, turn=Turn())
    assert len({q.key for q in written.questions}) == 60
    assert Counter(q.difficulty for q in written.questions) == {"easy": 15, "hard": 45}


def test_keys_of_other_benchmarks_are_not_repeated(tmp_path: Path) -> None:
    first = Numbered(seed=7)
    taken = [q for q in first(Wanted("stars", {"hard": 3})) if isinstance(q, Question)]
    turn = Turn(taken=frozenset(q.key for q in taken))
    written = write_parts(
        Numbered(seed=7), lay_out(6, {"stars": 1}, {"hard": 1}), Evaluation(), tmp_path, turn=turn
    )
    assert not {q.key for q in written.questions} & {q.key for q in taken}


@settings(max_examples=20)
@given(cut=st.integers(0, 400_000))
def test_cut_anywhere_it_goes_on_behind_the_last_whole_line(
    cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("cut")
    whole = write_parts(Numbered(), layout(30), Evaluation(), folder, turn=Turn())
    path = folder / parts.FILE
    data = path.read_bytes()
    path.write_bytes(data[: cut % len(data)])
    written = write_parts(Numbered(seed=9), layout(30), Evaluation(), folder, turn=Turn())
    assert len({q.key for q in written.questions}) == 30
    kept = data[: cut % len(data)].count(b"\n")
    lines = [json.loads(line) for line in path.read_bytes().splitlines()]
    before = sum(len(line["accepted"]) for line in lines[:kept])
    assert written.questions[:before] == whole.questions[:before]


@pytest.mark.parametrize(
    ("prompt", "answer", "near"),
    [
        ("Which planet in our solar system is known as the red planet?", "Mars", True),
        ("Which planet of the solar system is known as the blue planet?", "Earth", False),
        ("Which moon orbits Mars closest?", "Phobos", False),
        ("WHICH planet of the Solar System is known as the red planet", "mars", True),
    ],
)
def test_near_means_alike_in_words_and_in_answer(prompt: str, answer: str, near: bool) -> None:
    known = NearDuplicates(
        [Question("qa", "Which planet of the solar system is known as the red planet?", ["Mars"])]
    )
    assert (known.find(Question("qa", prompt, [answer])) is not None) is near


@pytest.mark.parametrize("refuses", [False, True], ids=["nothing to read", "nothing to use"])
def test_a_model_that_cannot_write_is_left_soon_and_a_larger_one_named(
    tmp_path: Path, refuses: bool
) -> None:
    asked: list[Wanted] = []

    def author(wanted: Wanted) -> Sequence[Question | Rejected]:
        asked.append(wanted)
        return [Question("qa", " ", ["x"])] if refuses else []

    with pytest.raises(ModelError, match="stopped at 0 of 60") as caught:
        write_parts(author, layout(), Evaluation(), tmp_path, turn=Turn())
    assert len(asked) == (parts.MAX_TRIES if refuses else parts.MAX_UNREAD)
    told = caught.value.next
    for words in (
        "larger model",
        "model=endpoint model.base_url=http",
        "model.name=",
        "author.model",
    ):
        assert words in told
