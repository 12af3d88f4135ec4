"""Only a person's `yes` starts a plan, once, and only the plan that was shown."""

from __future__ import annotations

import dataclasses
import multiprocessing
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import example, given
from hypothesis import strategies as st

from benchgen.errors import NotFound, StateError
from benchgen.plan import gate
from benchgen.store import JobRow, PlanRow, Store
from benchgen.types import Estimate, Plan

FORK = multiprocessing.get_context("fork")
PLAN = Plan(
    job_type="from-run",
    base_model="embedded",
    base={"name": "small", "revision": None, "fingerprint": "f"},
    dataset={"source": "runs 1", "mode": "distill", "rows": 3, "sha256": "s"},
    hyperparameters={"learning_rate": 1e-3, "max_steps": 40, "seed": 0},
    device={"trainer": "trl", "kind": "cpu", "name": "CPU", "dtype": "float32"},
    name="small-distill-1",
    estimates={"steps": Estimate(40, "steps", "max_steps")},
    seen=("a", "b"),
)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "benchgen.db")


def pending(store: Store, plan: Plan = PLAN) -> int:
    return store.add(PlanRow(hash=plan.hash, plan=plan.to_dict())).id


# ------------------------------------------------------------------------------------------ the word


@pytest.mark.parametrize("answer", ["yes", "YES", "Yes", "yEs", " yes ", "\tyes\r\n"])
def test_yes_in_any_case_and_trimmed(answer: str) -> None:
    assert gate.says_yes(answer)


NOT_YES = [
    "yes.", "y", "ok", "", " ", None, True, 1, "yes please", "yes!", "ye s", "yes\nyes", '"yes"', "no", "yess", "ja",
    "oui", "confirm", "true", "1", b"yes", ["yes"], "ｙｅｓ", "yeſ", "y\u0435s", "yes\u200b", "\ufeffyes",
]  # fmt: skip
"""Among them a fullwidth, a long-s, a Cyrillic and two invisible signs: to a person they look like yes."""


@pytest.mark.parametrize("answer", NOT_YES, ids=repr)
def test_nothing_else_is_yes(answer: object) -> None:
    assert not gate.says_yes(answer)


@given(st.text() | st.from_regex(r"\s*[yY].?[eE]?[sSſ]\s*", fullmatch=True))
@example("YES")
def test_yes_is_three_letters_and_room_around_them(answer: str) -> None:
    plain = answer.strip()
    letters = len(plain) == 3 and plain[0] in "yY" and plain[1] in "eE" and plain[2] in "sS"
    assert gate.says_yes(answer) == letters


# -------------------------------------------------------------------------------------- the decision


def test_yes_makes_one_queued_job(store: Store) -> None:
    id = pending(store)
    job = gate.decide(store, id, " Yes\n", "ada")
    assert (job.plan_id, job.state, job.owner) == (id, "queued", "ada")
    assert [row.id for row in store.all(JobRow)] == [job.id]
    row = store.get(PlanRow, id)
    assert (row.state, row.decided_by) == ("confirmed", "ada")
    assert row.decided


@pytest.mark.parametrize("answer", ["yes.", "y", "", None, True, "yes please"], ids=repr)
def test_any_other_answer_cancels_for_good(store: Store, answer: object) -> None:
    id = pending(store)
    with pytest.raises(StateError, match="cancelled") as failed:
        gate.decide(store, id, answer, "ada")
    assert failed.value.exit_code == 2
    assert failed.value.allowed == ["yes"]
    assert store.get(PlanRow, id).state == "cancelled"
    with pytest.raises(StateError, match="already cancelled"):
        gate.decide(store, id, "yes", "ada")
    assert store.all(JobRow) == []


@pytest.mark.parametrize("answer", ["yes", "no"])
def test_a_second_answer_changes_nothing(store: Store, answer: str) -> None:
    id = pending(store)
    gate.decide(store, id, "yes", "ada")
    with pytest.raises(StateError, match="already confirmed") as failed:
        gate.decide(store, id, answer, "eve")
    assert failed.value.got == "confirmed"
    row = store.get(PlanRow, id)
    assert (row.state, row.decided_by) == ("confirmed", "ada")
    assert len(store.all(JobRow)) == 1


def test_a_plan_that_is_not_there(store: Store) -> None:
    with pytest.raises(NotFound):
        gate.decide(store, 5, "yes", "ada")


def confirm(path: Path, id: int, go: object) -> None:
    """One of several who confirm at the same moment: exit 0 with a job, 3 without."""
    go.wait()  # type: ignore[attr-defined]
    try:
        gate.decide(Store(path), id, "yes", "ada")
    except StateError:
        raise SystemExit(3) from None


def test_of_several_confirmations_at_once_one_counts(store: Store, tmp_path: Path) -> None:
    """A double click, or a chat and a terminal."""
    id = pending(store)
    go = FORK.Event()
    people = [
        FORK.Process(target=confirm, args=(tmp_path / "benchgen.db", id, go)) for _ in range(4)
    ]
    for person in people:
        person.start()
    go.set()
    for person in people:
        person.join(60)
    assert sorted(p.exitcode for p in people if p.exitcode is not None) == [0, 3, 3, 3]
    assert len(store.all(JobRow)) == 1


# -------------------------------------------------------------------------------- what was shown runs


def test_a_plan_comes_back_as_it_was_shown(store: Store) -> None:
    assert gate.load(store.get(PlanRow, pending(store))) == PLAN


@pytest.mark.parametrize(
    "changed",
    [
        dataclasses.replace(PLAN, hyperparameters={**PLAN.hyperparameters, "max_steps": 41}),
        dataclasses.replace(PLAN, dataset={**PLAN.dataset, "sha256": "other"}),
        dataclasses.replace(PLAN, name="another"),
        dataclasses.replace(PLAN, seen=("a",)),
    ],
)
def test_a_plan_changed_since_it_was_shown_is_not_confirmed(store: Store, changed: Plan) -> None:
    id = pending(store)
    with store.write() as session:
        session.execute(sa.update(PlanRow).values(plan=changed.to_dict()))
    for look in (
        lambda: gate.load(store.get(PlanRow, id)),
        lambda: gate.decide(store, id, "yes", "ada"),
    ):
        with pytest.raises(StateError, match="changed since") as failed:
            look()
        assert failed.value.allowed == [PLAN.hash]
    assert store.all(JobRow) == []


@pytest.mark.parametrize("content", [{}, {**PLAN.to_dict(), "surprise": 1}])
def test_a_plan_of_another_shape_is_refused_in_one_line(store: Store, content: dict[str, object]) -> None:  # fmt: skip
    id = store.add(PlanRow(hash=PLAN.hash, plan=content)).id
    with pytest.raises(StateError, match=f"plan {id} cannot be read"):
        gate.decide(store, id, "yes", "ada")
    assert store.get(PlanRow, id).state == "pending"
