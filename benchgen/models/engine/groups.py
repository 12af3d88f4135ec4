"""Which prompts are computed together: those with a long common beginning, computed once.

Standard library only.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

PASS = 64
"""Tokens that one more forward pass costs: reading the weights of a small model on a CPU takes as long
as computing this many tokens."""


@dataclass(frozen=True)
class Group:
    """Prompts that begin with the same `shared` tokens; `members` are indices, longest prompt first."""

    shared: int
    members: tuple[int, ...]


def group(prompts: Sequence[Sequence[int]], least: int = PASS) -> list[Group]:
    """A grouping that computes few tokens, a pass counted as `least` of them.

    A shared beginning always leaves one token of each prompt, which must compute something. Groups come
    with the longest prompt first, so that memory runs out at once or not at all. Prompts sorted by their
    tokens form a tree of common beginnings. From its leaves up, each node keeps apart the branches that
    are cheaper apart and makes one group of the others; never dearer than all in one, or each alone.
    """
    if not prompts:
        return []
    order = sorted(range(len(prompts)), key=lambda i: list(prompts[i]))
    common = [_common(prompts[a], prompts[b]) for a, b in pairwise(order)]
    found = []
    for shared, parts in _best([len(prompts[i]) for i in order], common, least).groups:
        indices = [i for first, last in parts for i in order[first:last]]
        found.append(Group(shared, tuple(sorted(indices, key=lambda i: (-len(prompts[i]), i)))))
    return sorted(found, key=lambda g: (-len(prompts[g.members[0]]), g.members[0]))


Span = tuple[int, int]
"""(first, last + 1) of the sorted prompts."""


@dataclass
class _Plan:
    cost: int
    groups: list[tuple[int, list[Span]]]
    """(shared tokens, spans) each."""


def _best(lengths: list[int], common: list[int], least: int) -> _Plan:
    """The plan for all sorted prompts; `common[i]` are the tokens that prompt i and i + 1 begin with.

    An own stack, not recursion: a chain of prompts, each the beginning of the next, is as deep as long.
    """
    plans: dict[Span, _Plan] = {}
    stack = [((0, len(lengths)), False)]
    while stack:
        span, ready = stack.pop()
        if span[1] - span[0] == 1:
            plans[span] = _Plan(lengths[span[0]] + least, [(0, [span])])
            continue
        parts = _children(*span, common)
        if not ready:
            stack.append((span, True))
            stack.extend((part, False) for part in parts)
            continue
        depth = min(*common[span[0] : span[1] - 1], *(n - 1 for n in lengths[span[0] : span[1]]))
        children = {part: plans.pop(part) for part in parts}
        ways = [_joined(children, lengths, shared, least) for shared in {0, depth}]
        plans[span] = min([_apart(children.values()), *ways], key=lambda plan: plan.cost)
    return plans[0, len(lengths)]


def _apart(children: Iterable[_Plan]) -> _Plan:
    kept = list(children)
    return _Plan(sum(plan.cost for plan in kept), [g for plan in kept for g in plan.groups])


def _joined(children: dict[Span, _Plan], lengths: list[int], shared: int, least: int) -> _Plan:
    """One group with that beginning of all branches that are not cheaper apart."""
    inside = {span: sum(n - shared for n in lengths[span[0] : span[1]]) for span in children}
    together = [span for span, plan in children.items() if inside[span] <= plan.cost]
    rest = _apart(plan for span, plan in children.items() if span not in together)
    if not together:
        return rest
    cost = sum(inside[span] for span in together) + least + (shared + least if shared else 0)
    return _Plan(rest.cost + cost, [*rest.groups, (shared, together)])


def _children(first: int, last: int, common: list[int]) -> list[Span]:
    """The node's prompts, cut where they have least in common."""
    depth = min(common[first : last - 1])
    cuts = [i + 1 for i in range(first, last - 1) if common[i] == depth]
    return list(pairwise([first, *cuts, last]))


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many tokens both begin with."""
    for at, (a, b) in enumerate(zip(one, other, strict=False)):
        if a != b:
            return at
    return min(len(one), len(other))
