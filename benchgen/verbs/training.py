"""Verbs that plan, start, watch and stop trainings, the whole loop, and the look at the machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchgen import config
from benchgen.errors import ConfigError
from benchgen.verbs.asking import which_model
from benchgen.verbs.given import Act, Result, need, one

if TYPE_CHECKING:
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace


def _plan(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    names = {name.partition(".")[0] for name in cfg.given} - {"name"}  # of recipe.rows.replay, rows
    typed = {name: getattr(cfg.recipe, name) for name in sorted(names)}
    record = ws.plan(
        cfg.recipe,
        job=cfg.job_id,
        run=cfg.run_id,
        mode=cfg.mode or "failures",
        benchmark=cfg.benchmark_id,
        dataset=cfg.dataset,
        base_model=cfg.base_model,
        name=cfg.name,
        trainer=cfg.trainer.name,
        hardware=cfg.hardware,
        tracker=cfg.tracker,
        seed=cfg.seed,
        **typed,
    )
    return record.summary()


def _preflight(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen.plan.preflight import summary_lines

    bench = ws.benchmark(need(cfg, "benchmark_id"))
    model, _ = which_model(ws, cfg)
    with screen.bar(f"{model.row.name} on {bench.row.name}") as progress:
        run, found = ws.preflight(
            bench,
            model,
            grpo=cfg.recipe.grpo,
            limit=cfg.limit,
            seed=cfg.seed,
            hardware=cfg.hardware,
            progress=progress,
        )
    told = {**summary_lines(found), "warnings": list(found.warnings)}
    return {**(found.to_dict() if cfg.output == "json" else told), "link": run.link}


def _merge(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    record = ws.merge(
        cfg.job_id,
        cfg.name,
        model=None if cfg.job_id is not None else cfg.model.name,
        limit=cfg.limit,
        hardware=cfg.hardware,
        form=cfg.format,
    )
    return record.summary()


def _confirm(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    job = ws.confirm(need(cfg, "plan_id"), str(need(cfg, "answer")))
    return {"job": job.id, "plan": cfg.plan_id, "state": job.state}


def _logs(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    need(cfg, "job_id", "write_id")
    if cfg.write_id is not None:
        write = ws.get_write(cfg.write_id)
        return {"write": write.id, "state": write.state, "lines": write.logs(cfg.lines)}
    job = ws.job(cfg.job_id or 0)
    return {"job": job.id, "state": job.state, "lines": job.logs(cfg.lines)}


def _stop(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    need(cfg, "job_id", "run_id")
    if cfg.run_id is not None:
        return ws.get_run(one(cfg.run_id)).stop().status()
    return ws.job(cfg.job_id or 0).stop().status()


def _loop(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen import loop

    if not cfg.loop.name:
        raise ConfigError(
            "loop needs an experiment",
            allowed=config.options("experiment"),
            next="benchgen loop experiment=solar_system",
        )
    settings = loop.Settings(
        cfg.recipe, cfg.trainer.name, cfg.hardware, cfg.seed, cfg.limit, cfg.tracker
    )
    with screen.watch() as watcher:
        result = loop.run_loop(ws, cfg.loop, settings, cfg.confirm, watcher)
    if isinstance(result, loop.LoopResult):
        return result.to_dict()
    where = [] if cfg.workspace == "workspace" else [f"workspace={cfg.workspace}"]
    line = " ".join(["benchgen", "confirm", f"plan_id={result.id}", "answer=yes", *where])
    return {**result.summary(), "next": line}


def _doctor(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen import doctor

    checks = doctor.report()
    return {"ok": all(c.ok for c in checks), "checks": [c.to_dict() for c in checks]}


ACTS: dict[str, Act] = {
    "plan": _plan,
    "preflight": _preflight,
    "merge": _merge,
    "confirm": _confirm,
    "logs": _logs,
    "stop": _stop,
    "loop": _loop,
    "doctor": _doctor,
}
