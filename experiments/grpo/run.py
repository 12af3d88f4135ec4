"""Does GRPO move a held-out score within 30 minutes a seed? Task and start are chosen by a sampling pass.

    python experiments/grpo/run.py [--miniature] [--workspace PATH]

Everything is kept in the workspace: begun again after a kill, it goes on where it was. Writes results.json
(miniature: into the workspace) and prints the table of the README.
"""

from __future__ import annotations

import json
import statistics
import sys
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.plan.preflight import Preflight
from benchgen.records import Benchmark
from benchgen.verifying.experiment import difference

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))

from lab import Lab, pooled  # noqa: E402


class GrpoLab(Lab):
    """With the starts of GRPO and its sampling pass."""

    def start(self, which: str, bench: Benchmark) -> str:
        """Name of the model that GRPO starts from."""
        model: str = self.told["model"]
        if which == "raw":
            return model
        sft, of = self.told["sft"], bench.row.name
        practice = self.sibling(f"sft questions {of}", bench, sft["questions"])
        taught = self.run(f"sft rows {of}", practice, "reference")
        steps = {key: sft[key] for key in ("max_steps", "batch_size")}
        job = self.job(
            f"sft {of}",
            lambda: self.ws.plan("from_run", run=taught, mode="distill", base_model=model, **steps),
        )
        assert job.model is not None
        return str(job.model.row.name)

    def pass_before(self, name: str, bench: Benchmark, model: str) -> Preflight:
        own = config.GrpoConfig(**self.told["grpo"])
        limit = self.told["preflight_prompts"]
        _, found = self.ws.preflight(bench, model, grpo=own, limit=limit)
        (self.ws.path / f"{name}.json").write_text(json.dumps(found.to_dict()))
        return found


def chosen(lab: GrpoLab) -> tuple[Benchmark, str, list[dict[str, Any]]]:
    """(benchmark, start, what every pass showed) of the first candidate with enough to compare."""
    passes = []
    for candidate in lab.told["candidates"]:
        bench = lab.benchmark(candidate["benchmark"])
        model = lab.start(candidate["start"], bench)
        name = f"preflight {candidate['benchmark']} {candidate['start']}"
        kept = lab.ws.path / f"{name}.json"
        if kept.exists():
            found = json.loads(kept.read_text())
        else:
            found = lab.pass_before(name, bench, model).to_dict()
        shown = ("prompts", "pass_at_1", "pass_at_g", "mixed", "mixed_ci", "clipped", "length_p95")
        passes.append({**candidate, **{key: found[key] for key in shown}})
        print(json.dumps(passes[-1]), flush=True)
        fits = (found["mixed"] or 0) >= lab.told["least_mixed"]
        if fits and found["clipped"] <= lab.told["most_clipped"]:
            return bench, model, passes
    raise SystemExit("no candidate has enough prompts with mixed outcomes: " + json.dumps(passes))


def steps_that_fit(lab: GrpoLab, bench: Benchmark, model: str) -> int:
    """Steps within the minutes of a seed, by the slowest step of a trial that is thrown away."""
    if not lab.told["trial_steps"]:
        return int(lab.told["most_steps"])
    job = lab.job("trial", lambda: grpo_plan(lab, bench, model, 99, lab.told["trial_steps"]))
    slowest = max(row["seconds"] for row in job.metrics())
    return min(lab.told["most_steps"], int(0.9 * 60 * lab.told["minutes"] / slowest))


def grpo_plan(lab: GrpoLab, bench: Benchmark, model: str, seed: int, steps: int) -> Any:
    """The plan of one seed."""
    settings = {**lab.told["recipe"], "grpo": lab.told["grpo"], "max_steps": steps}
    return lab.ws.plan("grpo", benchmark=bench, base_model=model, seed=seed, **settings)


def main() -> None:
    """Run what is left of it and write the results."""
    lab = GrpoLab.begin(HERE, __doc__)
    bench, model, passes = chosen(lab)
    held_out = lab.sibling(f"held out {bench.row.name}", bench, lab.told["held_out"])
    base = lab.run("held out, start", held_out, model)
    steps = steps_that_fit(lab, bench, model)
    seeds, after = [], []
    for seed in lab.told["seeds"]:
        job = lab.job(f"seed {seed}", lambda s=seed: grpo_plan(lab, bench, model, s, steps))
        assert job.model is not None
        run = lab.run(f"held out, seed {seed}", held_out, job.model.row.name)
        after.append(run)
        rows = job.metrics()
        seeds.append(
            {
                "seed": seed,
                "steps": job.row.result["steps"],
                "minutes": round(job.row.result["seconds"] / 60, 1),
                "first_rewards": statistics.fmean(r["reward"] or 0 for r in rows[:5]),
                "last_rewards": statistics.fmean(r["reward"] or 0 for r in rows[-5:]),
                **difference(base, run),
            }
        )
        print(json.dumps(seeds[-1]), flush=True)
    results = {
        "passes": passes,
        "benchmark": bench.row.name,
        "start": model,
        "steps": steps,
        "seeds": seeds,
        "pooled": pooled([(base, run) for run in after]),
        "report": str(
            lab.ws.report([base, *after], title="GRPO in half an hour").relative_to(lab.ws.path)
        ),
    }
    lab.write(results)
    print(json.dumps(results["pooled"]))


if __name__ == "__main__":
    main()
