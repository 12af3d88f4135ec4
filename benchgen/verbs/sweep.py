"""`-m`: every combination of the values given is a job of one sweep, started by the launcher that conf/ names.

A job that fails fails alone. Done again, a sweep does what is missing or failed, and goes on with what was
interrupted; what it is made of, and how each job ended, lies in its folder (`benchgen.sweeps.folder`).
"""

from __future__ import annotations

import importlib.metadata
import json
import logging
import os
import re
import shlex
import shutil
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.errors import ConfigError
from benchgen.records.trail import Trail
from benchgen.store import Store
from benchgen.sweeps.folder import (
    DONE,
    FAILED,
    RUNNING,
    Result,
    SweepFolder,
    SweepJob,
    as_typed,
    check_name,
    commit_of_code,
    error_line,
    sweep_name,
    unfinished,
    work,
)
from benchgen.verbs.jobs import check_model, hydra_of, hydras, in_one_line
from benchgen.verbs.typed import quoted
from benchgen.verbs.words import VERB_GROUPS, VERB_KEYS, Verb

log = logging.getLogger(__name__)
COMMON = ("workspace", "database", "output", "user", "sweep", "launcher")
"""Settings of the sweep as a whole: they tell no combination from another."""
ELSEWHERE = ("tracker", "permissions")
"""Groups that several verbs read beside those of their help."""
Act = Callable[[Verb, config.Config, Trail], Result]


def as_sweep(
    verb: Verb, overrides: Sequence[str], argv: Sequence[str], act: Act
) -> tuple[Result, config.Config]:
    """(what came of the whole sweep, its config); ConfigError, before anything starts, for one job's bad config."""
    config.register()
    with in_one_line(), _hydra_cleared():
        common, lines = _combinations(verb, overrides)
        cfg = config.load(f"verb={verb.name}", *common)
        if not lines:
            lines = _stored(Path(cfg.workspace), cfg.sweep)
        for line in lines:
            check_model(config.load(f"verb={verb.name}", *line, *common).model)
        check_launcher(cfg)
        name = check_name(cfg.sweep or sweep_name(verb.name, lines))
        folder = SweepFolder.of(Path(cfg.workspace), name)
        with folder.lock():
            asked = folder.add(verb.name, lines, _command(argv))
            todo = [job for job in asked if job.state not in (DONE, RUNNING)]
            if todo:
                whole = [f"verb={verb.name}", *common, f"sweep={quoted(name)}"]
                _launch(whole, todo, Task(verb, act, folder, commit_of_code()), cfg.launcher)
    return _told(folder, [job.job for job in todo]), cfg


@contextmanager
def _hydra_cleared() -> Iterator[None]:
    """Hydra's one process-wide object is free again afterwards."""
    from hydra.core.global_hydra import GlobalHydra

    try:
        yield
    finally:
        GlobalHydra.instance().clear()


def _combinations(verb: Verb, overrides: Sequence[str]) -> tuple[list[str], list[list[str]]]:
    """(overrides of the whole sweep, those of each job); no job where only the sweep is named."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.override_parser.overrides_parser import OverridesParser

    parsed = OverridesParser.create().parse_overrides(list(overrides))
    whole = [o for o in parsed if o.get_key_element().lstrip("+~").split(".")[0] in COMMON]
    for override in whole:
        if override.is_sweep_override():
            raise ConfigError(
                "a sweep has one workspace, one launcher and one name",
                got=override.input_line,
                next="give one value here, and a list to model, recipe or seed",
            )
    rest = [override for override in parsed if override not in whole]
    for override in rest:
        if override.is_sweep_override():
            _check_read(verb, str(override.input_line))
    lines = BasicSweeper.split_arguments(rest, None)[0] if rest else []
    return [str(override.input_line) for override in whole], lines


def _check_read(verb: Verb, typed: str) -> None:
    """Nothing; ConfigError for a list of values of what the verb does not read: its jobs would all be the same."""
    key = re.split(r"[.@=]", as_typed([typed])[0])[0]
    read = {*VERB_KEYS[verb.name].split(), *VERB_GROUPS.get(verb.name, "").split(), *ELSEWHERE}
    read |= {"loop"} & {verb.name}
    if key not in read:
        raise ConfigError(
            f"benchgen {verb.name} does not read {key}: all jobs would be the same",
            got=typed,
            allowed=sorted(read),
            next=f"benchgen {verb.name} --help",
        )


def _stored(workspace: Path, name: str | None) -> list[list[str]]:
    if name is None:
        raise ConfigError(
            "nothing to sweep over", got="-m", next="lists: model=a,b seed=0,1; or sweep=NAME again"
        )
    return [list(job.overrides) for job in SweepFolder.found(workspace, name).jobs]


def check_launcher(cfg: config.Config) -> None:
    """Nothing; ConfigError where the launcher is not installed, or would write SQLite from other machines."""
    launcher = cfg.launcher
    if launcher.package and not _installed(launcher.package):
        raise ConfigError(
            f"launcher={launcher.name} needs the package {launcher.package}",
            got="not installed",
            next=f"{sys.executable} -m pip install {launcher.package}",
        )
    if launcher.program and shutil.which(launcher.program) is None:
        raise ConfigError(
            f"launcher={launcher.name} needs {launcher.program}, which this machine does not have",
            got="not found",
            next="do it on a node of the cluster, or here: launcher=submitit_local",
        )
    if (
        launcher.leaves_host
        and Store.of(Path(cfg.workspace), cfg.database, os.environ.get("BENCHGEN_DATABASE")).path
    ):
        raise ConfigError(
            f"launcher={launcher.name} runs jobs on other machines, which cannot write this "
            "workspace's SQLite",
            got="SQLite",
            allowed="a PostgreSQL database, docs/scaling.md",
            next="workspace=PATH of a new one with database=postgresql://user@host/name",
        )
    with _hydra_cleared():
        _starter([f"verb={cfg.verb}"], launcher, print)  # its settings are read here


def _installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


@dataclass(frozen=True)
class Task:
    """What a launcher calls for each job, in whatever process it chose."""

    verb: Verb
    act: Act
    sweep: SweepFolder
    commit: str

    def __call__(self, tree: Any) -> None:
        from hydra.core.hydra_config import HydraConfig

        number = int(HydraConfig.get().sweep.subdir)
        job = self.sweep.jobs[number]
        cfg = config.validate(tree)
        command = shlex.join(["benchgen", self.verb.name, *as_typed(job.overrides)])
        work(job, command, self.commit, cfg, lambda trail: self.act(self.verb, cfg, trail))
        if job.state == FAILED:
            log.error("job %d failed: %s", number, job.status["error"])


def _launch(
    whole: Sequence[str], jobs: Sequence[SweepJob], task: Task, launcher: config.LauncherConfig
) -> None:
    """Nothing; every job has its last word afterwards, those that the launcher lost too."""
    trace, error = "the job's process ended without a word\n", "its process ended without a word"
    lines = [[*whole, *job.overrides, f"hydra.sweep.subdir='{job.job}'"] for job in jobs]
    try:
        with hydras([*whole]):
            _starter(whole, launcher, task).launch(lines, initial_job_idx=0)
    except Exception as lost:  # noqa: BLE001 - whatever it was, every job gets its last word
        trace, error = traceback.format_exc(), error_line(lost)
    for job in filter(unfinished, jobs):
        job.fail(error, trace)


def _starter(
    whole: Sequence[str], launcher: config.LauncherConfig, task: Callable[..., object]
) -> Any:
    """Hydra's launcher, ready to launch `task`; HydraException for a setting that it does not have."""
    from hydra._internal.callbacks import Callbacks
    from hydra.core.plugins import Plugins
    from hydra.types import HydraContext, RunMode

    hydra = hydra_of("sweep")
    cfg = hydra.compose_config("config", [*whole, *_hydras(launcher)], RunMode.MULTIRUN)
    context = HydraContext(hydra.config_loader, Callbacks(cfg))
    return Plugins.instance().instantiate_launcher(
        config=cfg, hydra_context=context, task_function=task
    )


def _hydras(launcher: config.LauncherConfig) -> list[str]:
    """The launcher as Hydra is told it."""
    return [f"hydra/launcher={launcher.name}", *_settings("hydra.launcher", launcher.settings)]


def _settings(prefix: str, told: Mapping[str, Any], sign: str = "") -> Iterator[str]:
    """The launcher's settings as overrides of Hydra's: inside a map of its own it may be told further ones."""
    for key, value in told.items():
        if isinstance(value, Mapping):
            yield from _settings(f"{prefix}.{key}", value, "++")
        else:
            shown = quoted(value) if isinstance(value, str) else json.dumps(value)
            yield f"{sign}{prefix}.{key}={shown}"


def _command(argv: Sequence[str]) -> str:
    """The command line as it can be given again anywhere: without workspace and output."""
    kept = [a for a in argv if a.partition("=")[0] not in ("workspace", "output", "database")]
    return shlex.join(["benchgen", *kept])


def _told(folder: SweepFolder, ran: Sequence[int]) -> Result:
    results = folder.results()
    states = [str(told["state"]) for told in results]
    return {
        "sweep": folder.name,
        "folder": str(folder.path),
        "jobs": len(results),
        "done": states.count(DONE),
        "failed": states.count(FAILED),
        "ran": list(ran),
        "results": results,
    }
