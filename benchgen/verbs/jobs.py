"""A verb as a Hydra job: its config saved in a folder of its own."""

from __future__ import annotations

import datetime
import errno
import logging
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.errors import InputError
from benchgen.verbs.given import Result
from benchgen.verbs.words import Verb

DISK = frozenset(
    (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)
    + (errno.ENOTDIR, errno.EISDIR, errno.ENAMETOOLONG, errno.EEXIST, errno.ENOENT)
)
"""What a disk says that has no room, may not be written to, or holds something else there."""


def as_job(
    verb: Verb, overrides: list[str], act: Callable[[Verb, config.Config], Result]
) -> Result:
    """What a verb gives that runs through Hydra, its config saved in a job folder; nothing is left of what is refused."""
    cfg = config.load(f"verb={verb.name}", *overrides)
    check_model(cfg.model)
    config.register()
    failures: list[Exception] = []
    told: Result = {}

    def task(tree: Any) -> None:
        try:
            told.update(act(verb, config.validate(tree)))
        except Exception as error:  # noqa: BLE001 - told after Hydra, which has words of its own
            failures.append(error)

    name = f"{datetime.datetime.now():%Y%m%d-%H%M%S-%f}"  # noqa: DTZ005 - a name that people read
    # the job's folder by name, so that it is known what to take away where it is refused
    folder = f"hydra.run.dir='${{workspace}}/hydra/{verb.name}/{name}'"
    try:
        whole = [f"verb={verb.name}", *overrides, folder]
        with in_one_line(), hydras(whole):
            hydra_of("benchgen").run("config", task, whole)
        if failures:
            raise failures[0]
        return told
    except InputError:
        _remove_job(Path(cfg.workspace) / "hydra" / verb.name / name)
        raise


@contextmanager
def in_one_line() -> Iterator[None]:
    """Errors of Hydra and of the disk as errors of ours; an OSError of a network is none of the disk."""
    from hydra.errors import HydraException

    try:
        yield
    except HydraException as error:
        raise config.explain(error) from error
    except OSError as error:
        if error.errno not in DISK:
            raise
        raise InputError(
            f"the workspace cannot be written: {error.strerror or error}",
            got=error.filename,
            allowed="a folder that you may write to, on a disk with room",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        ) from error


def check_model(model: config.ModelConfig) -> None:
    """Nothing; ConfigError where a key stands in a model's settings: Hydra keeps in the job's folder what was typed."""
    unset = config.ModelConfig()
    if any(getattr(model, f) != getattr(unset, f) for f in ("base_url", "api_key_env", "extra")):
        from benchgen.models.endpoint import EndpointModel

        EndpointModel(
            name="any",
            model="any",
            base_url=model.base_url or "http://127.0.0.1/v1",
            api_key_env=model.api_key_env,
            extra=model.extra,
        )


def hydra_of(task: str) -> Any:
    """Hydra on the shipped configs. `hydra.main` composes each command twice, the first time to ask whether it is a sweep."""
    from hydra import version
    from hydra._internal.hydra import Hydra
    from hydra._internal.utils import create_config_search_path
    from hydra.core.global_hydra import GlobalHydra

    version.setbase("1.3")
    GlobalHydra.instance().clear()
    return Hydra.create_main_hydra2(task, create_config_search_path("pkg://benchgen.conf"))


@contextmanager
def hydras(command: list[str]) -> Iterator[None]:
    """Lends the process to Hydra for one command: arguments, error switch, log handlers, its one object."""
    from hydra.core.global_hydra import GlobalHydra

    root = logging.getLogger()
    arguments, environment = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    handlers, level = list(root.handlers), root.level
    sys.argv = ["benchgen", *command]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # hand errors to us instead of printing them and exiting
    try:
        yield
    finally:
        GlobalHydra.instance().clear()
        sys.argv = arguments
        for handler in set(root.handlers) - set(handlers):  # Hydra's, into the job's folder
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        if environment is None:
            del os.environ["HYDRA_FULL_ERROR"]


def _remove_job(folder: Path) -> None:
    """Leave nothing of a job that was refused: its folder, and the empty ones above it."""
    if folder.parent.parent.name != "hydra":  # made by this command, and nothing but that
        return
    shutil.rmtree(folder, ignore_errors=True)
    for parent in list(folder.parents)[:3]:  # VERB, hydra, workspace
        try:
            parent.rmdir()
        except OSError:
            break
