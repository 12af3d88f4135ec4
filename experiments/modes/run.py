"""Failures, distillation, or both: which training moves the score more at the same number of steps?

    python experiments/modes/run.py [--miniature] [--workspace PATH]

Each arm trains three seeds from the same base on the same runs, and is asked the questions that it was
trained on and held-out ones. Everything is kept in the workspace: begun again after a kill, it goes on
where it was. Writes results.json (miniature: into the workspace).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchgen.records import Job, Run
from benchgen.verifying.experiment import difference

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from lab import Lab, pooled  # noqa: E402

ARMS = ("failures", "distill", "both")
WHERE = ("same", "held_out")


class ModesLab(Lab):
    """With the three arms."""

    def ask(self, model: str, label: str) -> dict[str, Run]:
        """{"same", "held_out"}: finished runs of that model."""
        return {
            "same": self.run(f"{label}, same", self.same, model),
            "held_out": self.run(f"{label}, held out", self.held_out, model),
        }

    def prepare(self) -> None:
        """Benchmarks, and the runs that the arms learn from."""
        told = self.told
        self.same = self.benchmark(told["same"])
        practice = self.benchmark(told["practice"])
        self.held_out = self.sibling("held out", practice, told["held_out"])
        self.base = self.ask(told["model"], "base")
        limit = told.get("practice_limit")
        self.shown = {
            mode: [
                self.run(f"{model}, same", self.same, model),
                self.run(f"{model}, practice", practice, model, limit=limit),
            ]
            for mode, model in (("failures", told["model"]), ("distill", told["teacher"]))
        }

    def trained(self, arm: str, seed: int) -> Job:
        """The last job of that arm and seed."""
        if arm != "both":
            return self.job(f"{arm} {seed}", self.plan(arm, seed, self.told["steps"]))
        half = self.told["steps"] // 2
        first = self.job(f"both {seed}, failures", self.plan("failures", seed, half))
        return self.job(f"both {seed}, distill", self.plan("distill", seed, half, after=first))

    def plan(self, mode: str, seed: int, steps: int, after: Job | None = None) -> Callable[[], Any]:
        """Plans a training on that mode's runs, from the base or on top of an earlier job's adapter."""
        settings = {**self.told["settings"], "max_steps": steps}
        shown = {"run": self.shown[mode], "mode": mode, "seed": seed}
        if after is None:
            base = self.told["model"]
            return lambda: self.ws.plan("from_run", base_model=base, **shown, **settings)
        settings.pop("layers")  # those of the adapter
        return lambda: self.ws.plan("continue", job=after, **shown, **settings)


def main() -> None:
    """Run what is left of it and write the results."""
    lab = ModesLab.begin(HERE, __doc__)
    lab.prepare()
    trained: dict[tuple[str, int], dict[str, Run]] = {}
    rows = []
    for seed in lab.told["seeds"]:
        for arm in ARMS:
            job = lab.trained(arm, seed)
            assert job.model is not None
            runs = trained[arm, seed] = lab.ask(job.model.row.name, f"{arm} {seed}")
            found = {where: difference(lab.base[where], runs[where]) for where in WHERE}
            rows.append({"arm": arm, "seed": seed, "from_base": found})
            print(json.dumps(rows[-1]), flush=True)

    def over_seeds(where: str, arm: str, other: str | None = None) -> dict[str, Any]:
        before = [trained[other, s][where] if other else lab.base[where] for s in lab.told["seeds"]]
        return pooled(zip(before, [trained[arm, s][where] for s in lab.told["seeds"]], strict=True))

    results = {
        "steps": lab.told["steps"],
        "base": {where: lab.base[where].score for where in WHERE},
        "trained": rows,
        "from_base": {w: {arm: over_seeds(w, arm) for arm in ARMS} for w in WHERE},
        "between": {
            w: {
                f"{a} - {b}": over_seeds(w, a, b)
                for a, b in (("distill", "failures"), ("both", "distill"))
            }
            for w in WHERE
        },
    }
    last = [trained[arm, s]["held_out"] for arm in ARMS for s in lab.told["seeds"]]
    page = lab.ws.report([lab.base["held_out"], *last], title="Failures, distillation, or both")
    lab.write({**results, "report": str(page.relative_to(lab.ws.path))})
    print(json.dumps(results["between"]))


if __name__ == "__main__":
    main()
