"""The commands that the agent names: each is a verb of the command line, with keys that it reads."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import benchgen.agent
from benchgen.agent import acting, wording
from benchgen.agent.glossary import EXPLAINED
from benchgen.agent.llm.offered import Offered
from benchgen.agent.rules import understand
from benchgen.agent.situation import Situation, Wish
from benchgen.agent.turn import Turn
from benchgen.verbs import VERB_KEYS, VERBS
from benchgen.verbs.words import VERB_GROUPS
from tests.test_agent_rules import situation

RECORDS: tuple[dict[str, Any], ...] = (
    {},
    {"run": 1082},
    {"run": 1081},
    {"job": 8},
    {"job": 9},
    {"job": 99},
    {"benchmark": 12},
    {"benchmark": 15},
    {"benchmark": 99},
    {"model": "frontier-large"},
    {"path": "files/a.csv"},
)
ACTIONS = ("stop", "stop run", "delete", "delete run", "unpublish", "edit", "do that", "")
COMMON = ("workspace", "output", "dry")
"""Keys that every verb reads."""
NAMED = re.compile(r"`(benchgen [^`]*)`")


def faults(line: str) -> list[str]:
    """What of a command does not exist."""
    words = shlex.split(line.replace("=…", "=x").replace("{", "").replace("}", ""))
    if words[1:2] == ["--help"] or len(words) < 2:
        return []
    verb, *given = words[1:]
    if verb not in VERBS:
        return [f"no verb {verb}"]
    groups = VERB_GROUPS.get(verb, "").split()
    allowed = {*VERB_KEYS.get(verb, "").split(), *groups, *COMMON}
    keys = [word.partition("=")[0].lstrip("+~").partition(".")[0] for word in given]
    return [f"{verb} reads no {key}" for key in keys if key not in allowed]


def refused(wish: Wish, state: Situation) -> str:
    """What is said to it, through the agent's own way from a wish to words."""
    return acting.carry_out(wish, object(), state, Turn()).text


@pytest.mark.parametrize(("state", "said"), [("draft", "stays a draft"), ("published", "already")])
def test_what_is_left_is_told_as_it_stands(state: str, said: str) -> None:
    seen = situation({})
    benches = tuple(replace(b, state=state) for b in seen.benchmarks)
    wish = Wish("leave_draft", {"benchmark": benches[0].id})
    assert said in wording.said(wish, replace(seen, benchmarks=benches)).text


@pytest.mark.parametrize("record", RECORDS, ids=str)
@pytest.mark.parametrize("action", ACTIONS)
def test_a_refusal_names_only_commands_that_there_are(action: str, record: dict[str, Any]) -> None:
    """By the rules and by a model alike: the words are made where both end."""
    told = refused(Wish("refuse_unsupported", {"action": action, **record}), situation({}))
    assert [fault for line in NAMED.findall(told) for fault in faults(line)] == []
    assert "nothing was done" in told
    assert "Next:" in told


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("stop run 1082", "benchgen stop run_id=1082"),
        ("stop the training", "benchgen stop job_id=8"),
        ("stop everything", "benchgen stop job_id=8"),
        ("delete job 8", "benchgen stop job_id=8"),
        ("delete job 9", "benchgen jobs"),
        ("delete benchmark 15", "benchgen delete benchmark_id=15"),
        ("delete benchmark 12", "benchgen unpublish benchmark_id=12"),
        ("unpublish 12", "benchgen unpublish benchmark_id=12"),
        ("delete run 1081", ""),
        ("delete files/empty.csv", ""),
    ],
)
def test_what_a_person_can_do_is_named_and_nothing_else(text: str, line: str) -> None:
    """No command takes away a run or a file, so none is named for it."""
    wish = understand(text, situation({}))
    assert wish.intent == "refuse_unsupported"
    told = refused(wish, situation({}))
    named = NAMED.findall(told)
    assert (line in named) if line else named == []
    assert faults(str(wish.arguments.get("where") or "benchgen --help")) == []


def test_a_model_is_offered_no_action_without_words() -> None:
    offered = Offered(object())
    assert "refuse_unsupported" in offered.names


def lines_of(folder: Path) -> Iterator[str]:
    """Every command that the agent's texts name in full."""
    for file in sorted(folder.rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for line in re.findall(r"`(benchgen [a-z][^`{]*)`", text):
            yield line.replace('"\n', "").replace("\n", " ")


def test_every_command_in_the_agents_texts_is_one() -> None:
    """Those that are put together from a record's id are tested where they are said."""
    told = [line for text in EXPLAINED.values() for line in NAMED.findall(text)]
    told += NAMED.findall(wording.HELP)
    told += list(lines_of(Path(benchgen.agent.__file__).parent))
    assert len(told) > 5
    assert {line: found for line in told if (found := faults(line))} == {}
