"""What the experiments of this folder share: a workspace in which each step is done once, whatever is killed."""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import yaml

from benchgen.compare.inference import smallest_mean_difference
from benchgen.records import Benchmark, Job, Run
from benchgen.run.statistics import clustered
from benchgen.workspace import Workspace


@dataclass
class Lab:
    """A workspace, and what config.yaml tells to do in it; `ids` names what is done."""

    ws: Workspace
    told: dict[str, Any]
    folder: Path

    def __post_init__(self) -> None:
        self.ws.path.mkdir(parents=True, exist_ok=True)
        self._kept = self.ws.path / "done.json"
        self.ids: dict[str, int] = json.loads(self._kept.read_text()) if self._kept.exists() else {}

    @classmethod
    def begin(cls, experiment: Path, doc: str | None) -> Self:
        """The lab of that folder's config.yaml, as the command line asks: `--miniature`, `--workspace`."""
        parser = argparse.ArgumentParser(description=doc)
        parser.add_argument("--miniature", action="store_true", help="minutes, to see that it runs")
        parser.add_argument("--workspace", type=Path, default=Path("workspace") / experiment.name)
        args = parser.parse_args()
        told = yaml.safe_load((experiment / "config.yaml").read_text())
        small = told.pop("miniature")
        told |= small if args.miniature else {}
        return cls(
            Workspace(args.workspace), told, args.workspace if args.miniature else experiment
        )

    def write(self, results: dict[str, Any]) -> None:
        """results.json, into the experiment's folder; a miniature's into its workspace."""
        (self.folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")

    def once(self, name: str, make: Callable[[], int]) -> int:
        """The id under that name, made if there is none yet; kept before anything builds on it."""
        if name not in self.ids:
            self.ids[name] = make()
            self._kept.write_text(json.dumps(self.ids, indent=1))
        return self.ids[name]

    def benchmark(self, name: str) -> Benchmark:
        made = self.once(name, lambda: self.ws.create(self.ws.author(name)).publish().id)
        return self.ws.benchmark(made)

    def sibling(self, name: str, of: Benchmark, count: int) -> Benchmark:
        made = self.once(
            name, lambda: self.ws.create(self.ws.sibling(of, count=count)).publish().id
        )
        return self.ws.benchmark(made)

    def run(self, name: str, bench: Benchmark, model: str, limit: int | None = None) -> Run:
        """A finished greedy run; begun again where it was."""
        done = self.once(name, lambda: self.ws.begin_run(bench, model, limit=limit).id)
        return self.ws.resume_run(done)

    def job(self, name: str, plan: Callable[[], Any]) -> Job:
        """A finished job; resumed where it was killed."""
        job = self.ws.job(self.once(name, lambda: self.ws.confirm(plan(), "yes").id))
        if job.state in ("failed", "stopped"):
            job.resume()
        return job.wait()


def verdicts(run: Run) -> dict[str, bool | None]:
    """{question's key: whether it was answered right; None where that was not measured}."""
    return {trace.key: trace.correct for trace in run.traces()}


def pooled(pairs: Iterable[tuple[Run, Run]]) -> dict[str, Any]:
    """Mean gain over all (before, after), as a rule one pair a seed; its interval takes each question,
    not each reply, as drawn.
    """
    held = list(pairs)
    gains = []
    for before, after in held:
        was = verdicts(before)
        for key, now in verdicts(after).items():
            then = was.get(key)
            if now is not None and then is not None:
                gains.append((key, float(now) - float(then)))
    values, keys = [gain for _, gain in gains], [key for key, _ in gains]
    found = clustered(values, keys, (-1.0, 1.0))
    means = [statistics.fmean(v for k, v in gains if k == key) for key in dict.fromkeys(keys)]
    return {
        "delta": statistics.fmean(values),
        "ci": list(found.ci) if found else None,
        "questions": len(means),
        "seeds": len(held),
        "smallest_detectable": smallest_mean_difference(means),
    }
