"""Every chat case through the whole agent: the intent and arguments of the reply, and what the store then holds."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchgen.agent.reply import Reply
from benchgen.store import BenchmarkRow, JobRow, PlanRow, RunRow
from benchgen.testing import AccountWorkspace, agent_in

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "cases"
PROSE = frozenset(
    ("reason", "topic", "show", "where", "offer", "suggest", "report", "links", "later")
)
"""Arguments that are words for a person: they are there, in whatever words."""
MAKES: Mapping[str, Mapping[str, int]] = {
    "confirm_create": {"benchmarks": 1},
    "confirm_plan": {"jobs": 1},
    "confirm_merge": {"jobs": 1},
    "run_benchmark": {"runs": 1},
    "publish_and_run": {"runs": 1},
    "multi_run": {"runs": 2},
}
"""What an intent adds to the store, besides plans; every other adds none of these."""
PUBLISHES = ("publish", "publish_and_run", "choose_option")
PLANS = ("plan_training", "plan_merge", "revise_plan")
EITHER = {"confirm_or_cancel": ("confirm_plan", "cancel_plan"), "replan": ("replan", "cancel_plan")}
"""What a case with `expected: either` may come to."""


def cases(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (CASES / name).read_text("utf-8").splitlines() if line]


@pytest.mark.parametrize("case", cases("chat.jsonl"), ids=lambda case: str(case["id"]))
def test_a_message_is_understood_and_does_no_more_than_it_may(
    case: dict[str, Any], account: Path, tmp_path: Path
) -> None:
    path = tmp_path / "ws"
    shutil.copytree(account, path)
    ws = AccountWorkspace(path)
    agent = agent_in(ws, case["context"])
    before = _held(ws)
    reply = agent.send(case["text"])
    assert _wrongs(case, reply, before, _held(ws)) == []


def _held(ws: AccountWorkspace) -> dict[str, Any]:
    """How many records there are, which are published, and how plans stand."""
    rows = ws.store.all(BenchmarkRow)
    return {
        "benchmarks": len(rows),
        "runs": len(ws.store.all(RunRow)),
        "jobs": len(ws.store.all(JobRow)),
        "published": {row.id for row in rows if row.state == "published"},
        "pending": [row.id for row in ws.store.all(PlanRow) if row.state == "pending"],
    }


def _wrongs(
    case: Mapping[str, Any], reply: Reply, before: Mapping[str, Any], after: Mapping[str, Any]
) -> list[str]:
    """What is not as the case says."""
    told = ["the reply says nothing"] if not reply.text.strip() else []
    if not (case.get("contested") and "expected" not in case):
        told += _misunderstood(case, reply)
        told += _missing(case["args"], reply.arguments)
    expected = case.get("expected")
    if expected == "confirm" and not reply.intent.startswith("confirm_"):
        told.append(f"{reply.intent} confirms nothing")
    if expected == "cancel" and after["pending"] and not reply.plan:
        told.append("the plan can still be confirmed")
    return told + _did_too_much(reply, before, after)


def _misunderstood(case: Mapping[str, Any], reply: Reply) -> list[str]:
    allowed = {case["intent"]}
    if case.get("expected") == "either":
        allowed |= set(EITHER.get(case["intent"], ()))
    return [] if reply.intent in allowed else [f"intent {reply.intent}, not {case['intent']}"]


def _did_too_much(reply: Reply, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[str]:
    """Records that nobody asked for, or that were asked for and are not there."""
    makes = MAKES.get(reply.intent, {})
    told = [
        f"{after[kind] - before[kind]} new {kind}"
        for kind in ("benchmarks", "runs", "jobs")
        if after[kind] - before[kind] != makes.get(kind, 0)
    ]
    if after["published"] != before["published"] and reply.intent not in PUBLISHES:
        told.append("a benchmark was published")
    if reply.plan is not None and reply.intent not in PLANS:
        told.append("a plan waits that nobody asked for")
    return told


def _missing(wanted: Mapping[str, Any], got: Mapping[str, Any]) -> list[str]:
    """Arguments that the reply lacks or has otherwise."""
    told = []
    for name, value in wanted.items():
        found = got.get(name)
        same = bool(found) if name in PROSE else found == value
        if not same:
            told.append(f"{name} is {found!r}, not {value!r}")
    return told
