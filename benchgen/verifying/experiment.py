"""What a finished experiment was: its config, its records and what it found, kept beside its report."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from benchgen.compare.paired import compare_runs
from benchgen.errors import NotFound, StoreError
from benchgen.records import Place, Run
from benchgen.reports import report_folder
from benchgen.store import read_json, write_json
from benchgen.types import Record, sha256

FILE = "experiment.json"
PARTS = {"same": ("base", "trained"), "held_out": ("base_held_out", "trained_held_out")}
"""{part of the result: roles of the two runs that it compares}"""


@dataclass(frozen=True)
class Experiment(Record):
    """One finished experiment of a workspace: `reports/runs-…/experiment.json`."""

    name: str
    config: dict[str, Any]
    """All that it was told: `loop`, recipe, trainer, hardware, seed, limit, tracker."""
    config_sha256: str
    runs: dict[str, int]
    """{role: id}, in the order of its report."""
    plan: int
    job: int
    same: dict[str, Any]
    held_out: dict[str, Any]
    """As `difference` tells them."""
    finished: str
    commit: str = ""
    """Of the code, where it lay in a checkout."""
    version: int = 1

    def write(self, place: Place) -> Path:
        """Path of its file, beside the report of its runs."""
        path = report_folder(place, list(self.runs.values())) / FILE
        write_json(path, {**self.to_dict(), "runs": list(self.runs.items())})  # in their order
        return path

    @classmethod
    def found(cls, place: Place, name: str) -> tuple[Self, int]:
        """(the newest one of that name, how many older ones there are); NotFound names those there are."""
        known = [cls.read(path) for path in sorted((place.path / "reports").glob(f"*/{FILE}"))]
        mine = [one for one in known if one.name == name]
        if not mine:
            raise NotFound(
                f"no finished experiment {name!r} is in this workspace",
                got=name,
                allowed=sorted({one.name for one in known}) or None,
                next=f"benchgen loop experiment={name} confirm=yes; or verify runs=[1,2], whatever made them",
            )
        return max(mine, key=lambda one: max(one.runs.values())), len(mine) - 1

    @classmethod
    def read(cls, path: Path) -> Self:
        """The experiment in that file; StoreError where it is none."""
        told = read_json(path)
        try:
            return cls(**{**told, "runs": dict(told["runs"])})
        except (TypeError, ValueError, KeyError) as error:
            raise StoreError(
                f"{path.parent.name}/{path.name} is no experiment that this version knows: {error}",
                next="upgrade benchgen, or restore the file from a backup",
            ) from error


def difference(base: Run, trained: Run) -> dict[str, Any]:
    """{"base", "trained", "delta", "ci", …}: scores, and the paired difference with its interval."""
    pair = compare_runs([base.view(), trained.view()], baseline=base.id).pairs[0].result
    return {
        "base": base.score,
        "trained": trained.score,
        "delta": pair.delta,
        "ci": list(pair.ci),
        "n": pair.n,
        "wins": pair.wins,
        "losses": pair.losses,
        "p": pair.p,
        "verdict": pair.verdict,
    }


def words(told: dict[str, Any]) -> str:
    """A difference on one line, ended by a hash over all of its figures to the last digit."""
    if told["delta"] is None:
        return "not measured"
    low, high = told["ci"]
    return (
        f"{told['delta']:+.1%} [{low:+.1%}, {high:+.1%}], n={told['n']}, {told['wins']} wins, "
        f"{told['losses']} losses: {told['verdict']}, all figures {sha256(told)[:12]}"
    )
