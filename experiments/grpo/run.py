"""Does GRPO move a held-out score within 30 minutes a seed? Task and start are chosen by a sampling pass.

    python experiments/grpo/run.py [--miniature] [--workspace PATH]

Everything is kept in the workspace: begun again after a kill, it goes on where it was. Writes results.json
(miniature: into the workspace) and prints the table of the README.
"""

from __future__ import annotations

import argparse
import json
import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from benchgen import config
from benchgen.compare.inference import smallest_mean_difference
from benchgen.plan.preflight import Preflight
from benchgen.records import Benchmark, Job, Run
from benchgen.run.statistics import clustered
from benchgen.workspace import Workspace

HERE = Path(__file__).parent


@dataclass
class Lab:
    """A workspace, what is to be done in it, and the ids of what is done."""

    ws: Workspace
    told: dict[str, Any]
    ids: dict[str, int]

    def once(self, name: str, make: Callable[[], int]) -> int:
        """The id under that name, made if there is none yet; kept before anything builds on it."""
        if name not in self.ids:
            self.ids[name] = make()
            (self.ws.path / "grpo.json").write_text(json.dumps(self.ids, indent=1))
        return self.ids[name]

    def benchmark(self, name: str) -> Benchmark:
        made = self.once(name, lambda: self.ws.create(self.ws.author(name)).publish().id)
        return self.ws.benchmark(made)

    def sibling(self, name: str, of: Benchmark, count: int) -> Benchmark:
        made = self.once(
            name, lambda: self.ws.create(self.ws.sibling(of, count=count)).publish().id
        )
        return self.ws.benchmark(made)

    def run(self, name: str, bench: Benchmark, model: str) -> Run:
        """A finished greedy run; begun again where it was."""
        done = self.once(name, lambda: self.ws.run(bench, model).id)
        return self.ws.resume_run(done)

    def job(self, name: str, plan: Callable[[], Any]) -> Job:
        """A finished job; resumed where it was killed."""
        job = self.ws.job(self.once(name, lambda: self.ws.confirm(plan(), "yes").id))
        if job.state in ("failed", "stopped"):
            job.resume()
        return job.wait()

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


def chosen(lab: Lab) -> tuple[Benchmark, str, list[dict[str, Any]]]:
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


def steps_that_fit(lab: Lab, bench: Benchmark, model: str) -> int:
    """Steps within the minutes of a seed, by the slowest step of a trial that is thrown away."""
    if not lab.told["trial_steps"]:
        return int(lab.told["most_steps"])
    job = lab.job("trial", lambda: grpo_plan(lab, bench, model, 99, lab.told["trial_steps"]))
    slowest = max(row["seconds"] for row in job.metrics())
    return min(lab.told["most_steps"], int(0.9 * 60 * lab.told["minutes"] / slowest))


def grpo_plan(lab: Lab, bench: Benchmark, model: str, seed: int, steps: int) -> Any:
    """The plan of one seed."""
    settings = {**lab.told["recipe"], "grpo": lab.told["grpo"], "max_steps": steps}
    return lab.ws.plan("grpo", benchmark=bench, base_model=model, seed=seed, **settings)


def verdicts(run: Run) -> dict[str, bool | None]:
    """{question's key: whether it was answered right; None where that was not measured}."""
    return {trace.key: trace.correct for trace in run.traces()}


def pooled(base: Run, trained: list[Run]) -> dict[str, Any]:
    """Mean gain over all seeds and questions; its interval takes each question, not each reply, as drawn."""
    before = verdicts(base)
    gains = [
        (key, float(after) - float(before[key] or 0))
        for run in trained
        for key, after in verdicts(run).items()
        if after is not None and before[key] is not None
    ]
    values, keys = [gain for _, gain in gains], [key for key, _ in gains]
    found = clustered(values, keys, (-1.0, 1.0))
    means = [statistics.fmean(v for k, v in gains if k == key) for key in dict.fromkeys(keys)]
    return {
        "delta": statistics.fmean(values),
        "ci": list(found.ci) if found else None,
        "questions": len(means),
        "seeds": len(trained),
        "smallest_detectable": smallest_mean_difference(means),
    }


def main() -> None:
    """Run what is left of it and write the results."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--miniature", action="store_true", help="minutes, to see that it runs")
    parser.add_argument("--workspace", type=Path, default=Path("workspace/grpo"))
    args = parser.parse_args()
    told = yaml.safe_load((HERE / "config.yaml").read_text())
    small = told.pop("miniature")
    told |= small if args.miniature else {}
    ws = Workspace(args.workspace)
    ws.path.mkdir(parents=True, exist_ok=True)
    kept = ws.path / "grpo.json"
    lab = Lab(ws, told, json.loads(kept.read_text()) if kept.exists() else {})

    bench, model, passes = chosen(lab)
    held_out = lab.sibling(f"held out {bench.row.name}", bench, told["held_out"])
    base = lab.run("held out, start", held_out, model)
    steps = steps_that_fit(lab, bench, model)
    seeds, after = [], []
    for seed in told["seeds"]:
        job = lab.job(f"seed {seed}", lambda s=seed: grpo_plan(lab, bench, model, s, steps))
        assert job.model is not None
        run = lab.run(f"held out, seed {seed}", held_out, job.model.row.name)
        after.append(run)
        pair = ws.compare([base, run], baseline=base).pairs[0].result
        rows = job.metrics()
        seeds.append(
            {
                "seed": seed,
                "steps": job.row.result["steps"],
                "minutes": round(job.row.result["seconds"] / 60, 1),
                "first_rewards": statistics.fmean(r["reward"] or 0 for r in rows[:5]),
                "last_rewards": statistics.fmean(r["reward"] or 0 for r in rows[-5:]),
                "start": base.score,
                "trained": run.score,
                **{key: getattr(pair, key) for key in ("delta", "n", "wins", "losses", "p")},
                "ci": list(pair.ci),
                "verdict": pair.verdict,
            }
        )
        print(json.dumps(seeds[-1]), flush=True)
    results = {
        "passes": passes,
        "benchmark": bench.row.name,
        "start": model,
        "steps": steps,
        "seeds": seeds,
        "pooled": pooled(base, after),
        "report": str(ws.report([base, *after], title="GRPO in half an hour").relative_to(ws.path)),
    }
    folder = ws.path if args.miniature else HERE
    (folder / "results.json").write_text(json.dumps(results, indent=1) + "\n")
    print(json.dumps(results["pooled"]))


if __name__ == "__main__":
    main()
