"""The verb that looks at finished work again, and repeats it where it is told to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from benchgen import config
from benchgen.errors import ConfigError
from benchgen.verbs.given import Act, Result, one

if TYPE_CHECKING:
    from benchgen.ui.plain import Screen
    from benchgen.verifying import Verification
    from benchgen.workspace import Workspace


def _verify(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    if cfg.rerun is not None and not cfg.loop.name:
        raise ConfigError(
            "only an experiment can be repeated",
            got=f"rerun={cfg.rerun}",
            next="verify experiment=NAME rerun=yes; a run: benchgen run … once more, and compare",
        )
    what: str | int | list[int] = cfg.loop.name or cfg.runs
    if not what and cfg.run_id is not None:
        what = one(cfg.run_id)
    if what in ("", []):
        raise ConfigError(
            "verify needs experiment=… or runs=… or run_id=…",
            allowed=["experiment", "runs", "run_id"],
            next="benchgen verify --help",
        )
    found = ws.verify(what)
    if cfg.rerun is not None:
        found = _with_rerun(ws, cfg, screen, found)
    return found.to_dict()


def _with_rerun(
    ws: Workspace, cfg: config.Config, screen: Screen, found: Verification
) -> Verification:
    """What was found, and after it what came of doing it again."""
    from benchgen.rerun import rerun

    with screen.watch() as watcher:
        again = rerun(ws, cfg.loop.name, cfg.rerun, watcher)
    return replace(
        found,
        checks=(*found.checks, *again.checks),
        notes=(*found.notes, *again.notes),
        workspace=again.workspace,
    )


ACTS: dict[str, Act] = {"verify": _verify}
