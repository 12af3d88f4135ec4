"""One thing that was looked at again, and all of them together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from benchgen.errors import BenchgenError, NotFound
from benchgen.store import file_sha256
from benchgen.types import Record

OK, DIFFERS, UNRECORDED, MISSING = "ok", "differs", "not recorded", "missing"
"""A check's state. Missing = gone, or not to be worked out because what it rests on differs."""
STATES = (OK, DIFFERS, UNRECORDED, MISSING)
FAULTS = (DIFFERS, MISSING)
WHY_CHARS = 500  # of an explanation, which may quote what a file says


@dataclass(frozen=True)
class Check(Record):
    """One thing looked at: what was recorded of it, what is there now, and how the two stand."""

    record: str
    """run 3, benchmark 1, report, environment …"""
    what: str
    """Of it: traces, questions, torch …"""
    state: str
    """ok | differs | not recorded | missing"""
    recorded: str = ""
    found: str = ""
    why: str = ""
    """Where it is not ok: what that comes from, or may come from."""


@dataclass(frozen=True)
class Verification(Record):
    """All checks of an experiment, some runs or one run."""

    subject: str
    """experiment solar_system (runs 1, 2, 3) | runs 1, 2 | run 1"""
    checks: tuple[Check, ...]
    notes: tuple[str, ...] = ()
    """What a reader of the checks should know: where it was made and is looked at, what may differ."""
    workspace: str = ""
    """Where it was repeated; empty where it was not."""

    @property
    def ok(self) -> bool:
        """Whether nothing differs and nothing is missing; what was never recorded is no fault."""
        return not self.faults

    @property
    def faults(self) -> list[Check]:
        """The checks that found something changed or gone."""
        return [check for check in self.checks if check.state in FAULTS]

    @property
    def counts(self) -> dict[str, int]:
        """{state: how many checks}, every state."""
        found = Counter(check.state for check in self.checks)
        return {state: found[state] for state in STATES}

    def __str__(self) -> str:
        """How many checks ended how, and a line for each fault; `table()` has them all."""
        counts = ", ".join(f"{n} {state}" for state, n in self.counts.items() if n)
        faults = (f"{c.record}, {c.what}: {c.state}. {c.why}".rstrip() for c in self.faults)
        return "\n".join((f"{self.subject}: {counts or 'nothing to check'}", *faults))

    def table(self) -> pl.DataFrame:
        """One row a check: record, what, state, recorded, found, why."""
        names = ("record", "what", "state", "recorded", "found", "why")
        rows = [check.to_dict() for check in self.checks]
        return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String))

    def to_dict(self) -> dict[str, Any]:
        """Everything, with `ok` and `counts`."""
        told = super().to_dict()
        return {"subject": told.pop("subject"), "ok": self.ok, "counts": self.counts, **told}


def matched(record: str, what: str, recorded: str, found: str | None, why: str = "") -> Check:
    """The check of a value against the recorded one; `found` None = it is gone, `why` stands where it differs."""
    if not recorded:
        return Check(record, what, UNRECORDED, "", found or "")
    if found is None:
        return Check(record, what, MISSING, recorded, "", "it is gone")
    state = OK if found == recorded else DIFFERS
    return Check(record, what, state, recorded, found, "" if state == OK else why)


def worked_out(
    record: str, what: str, recorded: str, work: Callable[[], str | None], why: str = ""
) -> Check:
    """`matched` with what `work` gives; missing, and why, where it cannot be worked out."""
    try:
        return matched(record, what, recorded, work(), why)
    except NotFound as error:
        return Check(record, what, MISSING, recorded, "", _cut(error.what))
    except (BenchgenError, OSError, ValueError, TypeError, LookupError, AttributeError) as error:
        told = error.message if isinstance(error, BenchgenError) else " ".join(str(error).split())
        return Check(record, what, MISSING, recorded, "", _cut(f"cannot be worked out: {told}"))


def of_file(record: str, what: str, path: Path, recorded: str) -> Check:
    """A file's sha256 against the recorded one."""
    return worked_out(record, what, recorded, lambda: file_sha256(path) if path.is_file() else None)


def counted(
    record: str, what: str, before: Mapping[Any, Any], now: Mapping[Any, Any], why: str = ""
) -> Check:
    """How many of the values recorded under a key are the same now: n of n, and none beside them."""
    equal = sum(key in now and now[key] == value for key, value in before.items())
    extra = len(now.keys() - before.keys())
    found = f"{equal} of {len(before)}" + (f", {extra} others" if extra else "")
    state = OK if equal == len(before) and not extra else DIFFERS
    return Check(record, what, state, str(len(before)), found, "" if state == OK else why)


def _cut(text: str) -> str:
    told = text.encode("utf-8", "replace").decode()
    return told if len(told) <= WHY_CHARS else told[: WHY_CHARS - 1] + "…"
