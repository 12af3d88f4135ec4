"""Verbs that ask models and look at what they answered."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

from benchgen import config
from benchgen.errors import StateError
from benchgen.verbs.given import Act, Result, need, one
from benchgen.verbs.making import turn

if TYPE_CHECKING:
    from benchgen.records import Model
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace

LISTED = 50
"""Records that a terminal lists, the newest; `output=json` lists all."""


def _run(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen.run.runner import Sampling

    bench = ws.benchmark(need(cfg, "benchmark_id"))
    model, others = which_model(ws, cfg)
    name = model.row.name
    if others:
        screen.say(f"model: {name}; {', '.join(others)} would fit as well, each by its whole name")
    with screen.bar(f"{name} on {bench.row.name}") as progress:
        done = ws.run(
            bench,
            model,
            limit=cfg.limit,
            seed=cfg.seed,
            repeats=cfg.repeats,
            sampling=Sampling(**dataclasses.asdict(cfg.sampling)),
            hardware=cfg.hardware,
            progress=progress,
        )
    return {**done.status(), **({"also_fit": list(others)} if others else {})}


def which_model(ws: Workspace, cfg: config.Config) -> tuple[Model, tuple[str, ...]]:
    """(the model that is meant, others whose names fit as well): by its id, the job that made it, or its name."""
    if cfg.model_id is not None:
        return ws.get_model(cfg.model_id), ()
    if cfg.job_id is not None:
        made = ws.job(cfg.job_id).model
        if made is None:
            raise StateError(
                f"job {cfg.job_id} has made no model",
                got=ws.job(cfg.job_id).state,
                next=f"benchgen status job_id={cfg.job_id}",
            )
        return made, ()
    if cfg.model.kind == "catalogue":
        return ws.find_model(cfg.model.name)
    return ws.model(cfg.model), ()


def _status(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    need(cfg, "run_id", "job_id", "write_id")
    if cfg.write_id is not None:
        return ws.get_write(cfg.write_id).status()
    if cfg.run_id is not None:
        return ws.get_run(one(cfg.run_id)).status()
    return ws.job(cfg.job_id or 0).status()


def _resume(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    need(cfg, "run_id", "job_id", "write_id")
    if cfg.write_id is not None:
        return turn(ws, ws.get_write(cfg.write_id), cfg, screen)
    if cfg.run_id is not None:
        found = ws.get_run(one(cfg.run_id))
        with screen.bar(f"run {found.id}") as progress:
            done = ws.resume_run(
                found,
                hardware=cfg.hardware,
                progress=progress,
                retry_errors=cfg.retry_errors,
            )
        return done.status()
    return ws.job(cfg.job_id or 0).resume().status()


def _dataset(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    run_id = one(need(cfg, "run_id"))
    mode = cfg.mode or "failures"
    if cfg.offset is not None and cfg.path is None:
        return _page(ws, cfg, run_id, mode)
    table = ws.get_run(run_id).dataset(mode, cfg.rows)
    told: Result = {"run": run_id, "mode": mode, "rows": table.height}
    if cfg.format is None and cfg.path is None:
        return {**told, "data": table.to_dicts()}
    path = Path(need(cfg, "path"))
    form = cfg.format or path.suffix.lstrip(".")
    name = f"run {run_id}, {mode}"
    return {**told, "path": str(ws.export_dataset(table, path, form, name))}


def _page(ws: Workspace, cfg: config.Config, run_id: int, mode: str) -> Result:
    from benchgen.rundata.pages import ROWS, Filters
    from benchgen.rundata.select import SCHEMA

    rows = ROWS if cfg.rows is None else cfg.rows
    page = ws.get_run(run_id).pages().page(cfg.offset or 0, rows, Filters(mode))
    data = page.rows.select(list(SCHEMA)).to_dicts()
    told: Result = {"run": run_id, "mode": mode, "rows": page.rows.height, "offset": page.offset}
    return {**told, "total": page.total, "data": data}


def _compare(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    runs = need(cfg, "runs")
    return ws.compare(runs, baseline=cfg.baseline, program=cfg.program, every=cfg.every).to_dict()


def _rescore(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    run = ws.get_run(one(need(cfg, "run_id")))
    return run.rescore(cfg.program or "latest").to_dict()


def _report(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    need(cfg, "runs", "sweep")
    if cfg.sweep is not None:
        from benchgen.sweeps.report import build_sweep_report

        return {"report": str(build_sweep_report(ws.place, cfg.sweep)), "sweep": cfg.sweep}
    return {"report": str(ws.report(cfg.runs, title=cfg.name or "")), "runs": cfg.runs}


def _listing(kind: str) -> Act:
    def show(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
        table = ws.table(kind)
        if cfg.output == "json":
            return {kind: table.to_dicts()}
        return {kind: table.tail(LISTED).to_dicts(), "of": table.height}

    return show


ACTS: dict[str, Act] = {
    "run": _run,
    "status": _status,
    "resume": _resume,
    "dataset": _dataset,
    "rescore": _rescore,
    "compare": _compare,
    "report": _report,
    **{
        kind: _listing(kind) for kind in ("benchmarks", "writes", "runs", "models", "plans", "jobs")
    },
}
