"""A benchmark that a model is writing, part by part."""

from __future__ import annotations

from typing import Any

from benchgen import jobs
from benchgen.author.drafts import assignment, spec_of
from benchgen.author.parts import Written, read_parts
from benchgen.author.write import Draft
from benchgen.config import BenchmarkConfig
from benchgen.errors import StateError
from benchgen.records.base import Record
from benchgen.store import (
    WriteRow,
    read_json,
)

DOUBTFUL = "doubtful.json"
"""The keys that a blind solve disputes."""


class Write(Record):
    """A benchmark being written by a model, part by part."""

    kind = WriteRow

    @property
    def spec(self) -> BenchmarkConfig:
        """The config it is written by."""
        return spec_of(self.row.spec)

    @property
    def state(self) -> str:
        """begun, writing, waiting (for `resume`), interrupted, failed, or finished.

        Interrupted: its process is gone before it said how it ended. All that was written is kept.
        """
        state = str(self.row.state)
        if state == "finished":
            return state
        if jobs.alive(self.folder):
            return "writing"
        state = str(self.row.state)  # it may have ended between the two looks
        return "interrupted" if state != "finished" and jobs.left(self.folder) else state

    def written(self) -> Written:
        """The questions and refused candidates so far."""
        return read_parts(self.folder)

    def draft(self) -> Draft:
        """The draft; StateError until all questions are written."""
        if self.row.state != "finished":
            raise StateError(
                f"write {self.id} is {self.state}: {len(self.written().questions)} of {self.row.wanted} questions",
                got=self.state,
                allowed=["finished"],
                next=f"benchgen resume write_id={self.id}",
            )
        return assignment(self.spec).draft(self.written(), read_json(self.folder / DOUBTFUL))

    def status(self) -> dict[str, Any]:
        """state, how many of how many questions, the benchmark once it is made, the newest error."""
        state = self.state  # first: the benchmark is recorded no later
        row = self.row
        told = {
            "write": self.id,
            "state": state,
            "written": len(self.written().questions),
            "wanted": row.wanted,
            "benchmark": row.benchmark_id,
        }
        if row.error:
            told["error"] = row.error
        if state != "writing" and row.benchmark_id is None:
            told["next"] = f"benchgen resume write_id={self.id}"
        return told
