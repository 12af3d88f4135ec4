"""The procedural author: every task's keys hold in benchgen's scorer, and a seed gives the same anywhere."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
from collections import Counter
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from benchgen.author import tasks as listing
from benchgen.author.procedural import DEFAULT, ProceduralSpec, write_procedural
from benchgen.author.tasks import Task, generator, left_out, package, tasks
from benchgen.author.worked import EXPLAIN
from benchgen.author.write import fault, write
from benchgen.errors import ConfigError, DataError, InputError
from benchgen.scoring import score
from benchgen.types import Evaluation, Question

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

SYMPY = ("simple_equations",)
"""Their generators load sympy: two seconds."""
EVERY = [
    pytest.param(t, id=t.name, marks=[pytest.mark.slow] if t.name in SYMPY else []) for t in tasks()
]
MIX = {"easy": 10.0, "medium": 12.0, "hard": 8.0}
ONLY_THE_ANSWER = re.compile(
    r"\b(?:only|just|nothing else|no other|without (?:any )?quotes|do not include)\b"
    r"[^.\n]{0,60}\b(?:answer|reply|output|formatting|name|number|result|value)\b",
    re.IGNORECASE,
)


@cache
def some(name: str, count: int = 5) -> list[Question]:
    return write_procedural(ProceduralSpec({name: 1}, count=count, seed=3))


def keys(spec: ProceduralSpec) -> list[str]:
    return [question.key for question in write_procedural(spec)]


# --- every task ------------------------------------------------------------------------------


@pytest.mark.parametrize("task", EVERY)
def test_the_answer_is_right_and_an_empty_reply_and_other_answers_are_wrong(task: Task) -> None:
    questions = some(task.name)
    for question in questions:
        assert fault(question, Evaluation()) == ""
        for other in questions:
            if other.target != question.target:
                reply = f"Answer: {other.target_text}"
                verdict = score(
                    question.kind, reply=reply, target=question.target, **question.options
                )
                assert verdict.correct is False, (question, reply)


@pytest.mark.parametrize("task", EVERY)
def test_a_question_says_what_it_is_and_where_it_comes_from(task: Task) -> None:
    for question in some(task.name):
        assert (question.kind, question.category) == (task.kind, task.name)
        assert question.template == task.name
        assert question.prompt == question.prompt.strip()
        # the whole reply's form is asked for by the benchmark: "End with a line 'Answer: …'"
        assert not ONLY_THE_ANSWER.search(question.prompt), question.prompt
        drawn = re.fullmatch(
            rf"reasoning-gym {listing.VERSION}, {task.name}: seed (\d+), item (\d+)",
            question.source,
        )
        assert drawn
        with package():
            item = generator(task, "", int(drawn[1]), 500)[int(drawn[2])]
        assert str(item["answer"]).strip() == str(item["answer"])
        assert listing.key_of(task.kind, item["answer"]) == question.target


def test_every_task_of_the_package_is_listed_or_left_out_with_a_reason() -> None:
    spec = importlib.util.find_spec(listing.PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    sources = [p.read_text() for p in Path(spec.submodule_search_locations[0]).rglob("*.py")]
    there = {
        match[1]
        for text in sources
        if (match := re.search(r'^DATASET_NAME = "(\w+)"', text, re.MULTILINE))
        and "register_dataset(" in text
    }
    used = {task.name for task in tasks()}
    assert used | set(left_out()) == there
    assert not used & set(left_out())
    assert all(left_out().values())
    assert all(task.description and task.category for task in tasks())


def test_levels_run_from_easy_to_hard() -> None:
    for task in tasks():
        assert list(task.levels) in (
            [],
            ["easy", "hard"],
            ["easy", "medium", "hard"],
        )
        assert sorted(set(task.levels.values())) == list(task.levels.values())


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("-12", -12),
        ("947865419.1689999", "947865419.169"),  # a float's noise is no part of the key
        ("6.103515625e-05", "0.00006103515625"),
        ("781/960", "781/960"),
        ("7.500", "7.5"),
    ],
)
def test_a_number_s_key(text: str, key: Any) -> None:
    assert listing.key_of("numeric", text) == key


# --- worked answers --------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(EXPLAIN))
def test_worked_answers_are_given_and_their_sums_are_true(name: str) -> None:
    texts = [question.rationale for question in some(name, 12)]
    assert any(texts)
    for text in texts:
        for left, right in re.findall(r"([-\d. +*/]*\d [-+*/] [-\d. +*/]*\d) = (-?[\d.]*\d)", text):
            exact = re.sub(r"\d+(?:\.\d+)?", r"Fraction('\g<0>')", left)
            assert eval(exact, {"Fraction": Fraction}) == Fraction(right), text
        for left, right in re.findall(r"(\d+) = (\d+ \* \d+ \+ \d+)", text):
            assert eval(right) == int(left), text


def test_a_worked_answer_leads_to_the_key() -> None:
    for question in some("chain_sum", 12):
        assert question.rationale.endswith(f"= {question.target}.")
    for question in some("decimal_chain_sum", 12):
        last = question.rationale.rstrip(".").rpartition("= ")[2]
        assert Decimal(last) == Decimal(str(question.target))


# --- what was asked for ----------------------------------------------------------------------


def test_counts_are_exact_by_task_and_by_difficulty() -> None:
    shares = {"gcd": 2.0, "spell_backward": 1.0, "chain_sum": 0.0}
    questions = write_procedural(ProceduralSpec(shares, count=31, mix=MIX, seed=1))
    assert Counter(q.category for q in questions) == {"gcd": 21, "spell_backward": 10}
    assert Counter(q.difficulty for q in questions) == {"easy": 10, "medium": 13, "hard": 8}
    of_gcd = Counter(q.difficulty for q in questions if q.category == "gcd")
    assert of_gcd["easy"] in (6, 7)
    assert of_gcd["medium"] in (8, 9)
    assert len({q.key for q in questions}) == 31


def test_the_default_is_even_and_each_kind_has_a_share_of_it() -> None:
    questions = write_procedural(ProceduralSpec(count=30, mix=MIX))
    assert Counter(q.category for q in questions) == dict.fromkeys(DEFAULT, 3)
    for kind in ("qa", "numeric"):
        of_kind = write_procedural(ProceduralSpec(count=20, kind=kind))
        assert {q.kind for q in of_kind} == {kind}
        assert set(Counter(q.category for q in of_kind).values()) == {4}


def test_harder_is_longer() -> None:
    length = {
        level: sum(
            len(q.prompt)
            for q in write_procedural(ProceduralSpec({"chain_sum": 1}, mix={level: 1}))
        )
        for level in MIX
    }
    assert length["easy"] < length["medium"] < length["hard"]


def test_refused_questions_are_replaced_by_the_task_s_next() -> None:
    refused: list[str] = []

    def accept(question: Question) -> bool:
        if question.target == 1:
            refused.append(question.key)
        return bool(question.target != 1)

    questions = write_procedural(ProceduralSpec({"gcd": 1}, count=40, seed=2), accept)
    assert len(questions) == 40
    assert refused
    assert not any(q.target == 1 for q in questions)


def test_it_goes_through_the_common_pipeline() -> None:
    spec = ProceduralSpec(count=20, mix=MIX, seed=5)
    draft = write(lambda accept: write_procedural(spec, accept), Evaluation(), name="p", seed=5)
    assert len(draft.questions) == 20
    assert draft.rejected == ()


# --- seeds -----------------------------------------------------------------------------------

SAME = ProceduralSpec({t.name: 1.0 for t in tasks() if t.name not in SYMPY}, count=70, seed=11)
"""Two of nearly every task."""
ELSEWHERE = """
import json, sys
from benchgen.author.procedural import ProceduralSpec, write_procedural
before = set(sys.modules)
asked, mix = json.loads(sys.argv[1])
keys = [q.key for q in write_procedural(ProceduralSpec(asked, count=70, seed=11))]
more = [q.key for q in write_procedural(ProceduralSpec(count=30, mix=mix, seed=11))]
heavy = {"torch", "transformers", "sympy", "matplotlib"} & set(sys.modules)
print(json.dumps([keys, more, sorted(heavy), [m for m in sys.modules if m.startswith("reasoning_gym")]]))
"""


@pytest.mark.slow
def test_another_process_writes_the_same_and_loads_nothing_heavy() -> None:
    done = subprocess.run(
        [sys.executable, "-c", ELSEWHERE, json.dumps([dict(SAME.tasks), MIX])],
        env={"PYTHONHASHSEED": "4321"},
        capture_output=True,
        text=True,
        check=True,
    )
    here, more, heavy, left_behind = json.loads(done.stdout)
    assert here == keys(SAME)
    assert more == keys(ProceduralSpec(count=30, mix=MIX, seed=11))
    assert heavy == []
    assert left_behind == []


def test_another_seed_gives_other_questions_and_excluded_ones_do_not_come_back() -> None:
    first = keys(ProceduralSpec(count=60, seed=1))
    assert keys(ProceduralSpec(count=60, seed=1)) == first
    assert len(set(first) & set(keys(ProceduralSpec(count=60, seed=2)))) < 3  # by chance
    again = keys(ProceduralSpec(count=60, seed=1, exclude=frozenset(first)))
    assert not set(first) & set(again)
    assert len(set(again)) == 60


def test_a_real_import_of_the_package_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    theirs = type(sys)("reasoning_gym")
    monkeypatch.setitem(sys.modules, "reasoning_gym", theirs)
    keys(ProceduralSpec({"gcd": 1}, count=2))
    assert sys.modules["reasoning_gym"] is theirs


# --- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"tasks": {"chain_sums": 1}}, "chain_sum"),
        ({"tasks": {"countdown": 1}}, "many answers are right"),
        ({"tasks": {"gcd": 1}, "kind": "qa"}, "gcd asks numeric questions"),
        ({"kind": "mcq"}, "numeric, qa"),
        ({"tasks": {"self_reference": 1}, "mix": {"easy": 1}}, "has no difficulty easy"),
        ({"mix": {"harder": 1}}, "easy, hard, medium"),
        ({"tasks": {"gcd": -1}}, "shares"),
        ({"tasks": {"gcd": 0}}, "not all 0"),
        ({"count": 0}, "1 to 2000"),
        ({"count": 2001}, "1 to 2000"),
        ({"language": "de"}, "en"),
    ],
)
def test_what_cannot_be_asked_for(asked: dict[str, Any], says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        ProceduralSpec(**asked)
    assert says in raised.value.message


def test_a_task_that_has_too_few_questions_says_how_many() -> None:
    with pytest.raises(DataError) as raised:
        write_procedural(ProceduralSpec({"coin_flip": 1}, count=2000))
    given = int(str(raised.value.allowed).rpartition(" ")[2])
    assert 150 < given < 300
    assert len(keys(ProceduralSpec({"coin_flip": 1}, count=given))) == given


def test_another_version_of_the_package_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "VERSION", "0.0.1")
    with pytest.raises(InputError, match="another version"):
        write_procedural(ProceduralSpec(count=1))
