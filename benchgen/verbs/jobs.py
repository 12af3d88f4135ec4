"""A verb as a Hydra job: its config saved in a folder of its own, sweeps by the configured launcher."""

from __future__ import annotations

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
from benchgen.verbs.words import Verb


def as_job(
    verb: Verb,
    overrides: list[str],
    multirun: bool,
    show: Callable[[Verb, config.Config], None],
) -> None:
    """Run a verb through Hydra: config saved in a job folder, sweeps by the configured launcher."""
    import hydra
    from hydra.core.hydra_config import HydraConfig

    config.register()
    refused: list[Path] = []
    failures: list[Exception] = []

    def task(tree: Any) -> None:
        try:
            show(verb, config.validate(tree))
        except Exception as error:  # noqa: BLE001 - told after Hydra, which has words of its own
            failures.append(error)
            if isinstance(error, InputError):
                refused.append(Path(HydraConfig.get().runtime.output_dir))

    wrapped = hydra.main(
        version_base="1.3", config_path="pkg://benchgen.conf", config_name="config"
    )
    command = [f"verb={verb.name}", *overrides, *(["-m"] if multirun else [])]
    try:
        with _hydras(command):
            wrapped(task)()
        if failures:
            raise failures[0]
    except InputError:
        if not multirun:  # of a sweep every job's folder stays, to show which one was refused
            _remove_jobs(refused)
        raise
    except hydra.errors.HydraException as error:
        raise config.explain(error) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise InputError(
            f"the workspace cannot be written: {error.strerror or error}",
            got=error.filename,
            allowed="a folder that you may write to",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        ) from error


@contextmanager
def _hydras(command: list[str]) -> Iterator[None]:
    """Lends the process to Hydra for one command: its arguments, error switch and log handlers."""
    root = logging.getLogger()
    arguments, environment = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    handlers, level = list(root.handlers), root.level
    sys.argv = ["benchgen", *command]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # hand errors to us instead of printing them and exiting
    try:
        yield
    finally:
        sys.argv = arguments
        for handler in set(root.handlers) - set(handlers):  # Hydra's, into the job's folder
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        if environment is None:
            del os.environ["HYDRA_FULL_ERROR"]


def _remove_jobs(folders: list[Path]) -> None:
    """Leave nothing of a job that was refused: its folder, and the empty ones above it."""
    for folder in folders:
        if folder.parent.parent.name != "hydra":  # made by this command, and nothing but that
            continue
        shutil.rmtree(folder, ignore_errors=True)
        for parent in list(folder.parents)[:3]:  # VERB, hydra, workspace
            try:
                parent.rmdir()
            except OSError:
                break
