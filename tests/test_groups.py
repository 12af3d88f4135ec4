"""Which prompts share their beginning: never dearer than the simple ways, and at depths no recursion survives."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.models.engine.groups import Group, group

pytestmark = pytest.mark.slow


def cost(prompts: Sequence[Sequence[int]], groups: Sequence[Group], least: int) -> int:
    """Tokens computed, a pass counted as `least`."""
    total = 0
    for found in groups:
        total += least + sum(len(prompts[i]) - found.shared for i in found.members)
        total += found.shared + least if found.shared else 0
    return total


token = st.integers(0, 1)
prompt = st.lists(token, min_size=1, max_size=8)


@settings(max_examples=300, deadline=None)
@given(st.lists(prompt, min_size=1, max_size=9), st.integers(0, 6))
def test_no_simple_grouping_computes_less(prompts: list[list[int]], least: int) -> None:
    found = group(prompts, least)
    assert sorted(i for g in found for i in g.members) == list(range(len(prompts)))
    for g in found:
        starts = {tuple(prompts[i][: g.shared]) for i in g.members}
        assert len(starts) == 1
        assert all(len(prompts[i]) > g.shared for i in g.members)
    alone = [Group(0, (i,)) for i in range(len(prompts))]
    together = Group(0, tuple(range(len(prompts))))
    columns = itertools.takewhile(lambda c: len(set(c)) == 1, zip(*prompts, strict=False))
    begun = min(sum(1 for _ in columns), min(map(len, prompts)) - 1)
    for other in (alone, [together], [Group(begun, together.members)]):
        assert cost(prompts, found, least) <= cost(prompts, other, least)


def test_few_shot_examples_of_each_subject_are_computed_once() -> None:
    system, shots = list(range(10)), {s: [100 + s] * 300 for s in range(3)}
    prompts = [system + shots[i % 3] + [1000 + i] * (20 + i) for i in range(24)]
    found = group(prompts)
    assert [g.shared for g in found] == [310, 310, 310]
    assert all(len({i % 3 for i in g.members}) == 1 for g in found)
    assert [len(prompts[g.members[0]]) for g in found] == sorted(
        (len(prompts[g.members[0]]) for g in found), reverse=True
    )


def test_a_branch_that_is_cheaper_apart_leaves_the_others_together() -> None:
    shots = [[1] * 20 + [9] * 500 + [50 + i] * 5 for i in range(6)]
    singles = [[1] * 20 + [100 + i] * 30 for i in range(40)]
    assert {(g.shared, len(g.members)) for g in group(shots + singles)} == {(520, 6), (20, 40)}


@pytest.mark.parametrize("size", [1, 1500])
def test_a_long_chain_of_beginnings_is_no_recursion(size: int) -> None:
    prompts = [[7] * (i + 1) for i in range(size)]
    found = group(prompts)
    assert sum(len(g.members) for g in found) == size


def test_nothing_is_nothing() -> None:
    assert group([]) == []
