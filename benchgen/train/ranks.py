"""One training in several processes, one a GPU: which of them this one is, and the command that starts them.

The first process keeps the record: it holds the job's lock, writes metrics and checkpoints, and lands the
adapter. The others train along. Each takes its share of a step's rows, so a step learns from as many rows
as with one process, and a plan's steps, tokens and hash are the same.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence

MARK = "BENCHGEN_PROCESSES"
"""Set for processes that were started together: RANK alone may be left over from whoever started the worker."""


class FollowedError(Exception):
    """This process has trained along to the end; the first one lands what was trained."""


def rank() -> int:
    """This process's number among those that train together; 0 for the first, or the only one."""
    return int(os.environ.get("RANK", "0")) if MARK in os.environ else 0


def world() -> int:
    """How many processes train together."""
    return int(os.environ.get("WORLD_SIZE", "1")) if MARK in os.environ else 1


def command(processes: int, kind: str, module: str, arguments: Sequence[str]) -> list[str]:
    """The command line that runs a module in so many processes of this machine: `accelerate launch` on GPUs.

    On CPUs it is torchrun, which accelerate starts on GPUs too; there it would ask for MPI.
    """
    count = str(processes)
    if kind == "cuda":
        launcher = ["accelerate.commands.launch", "--multi_gpu", "--num_processes", count]
        launcher += ["--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no"]
        launcher += ["--main_process_port", "0"]
    else:
        launcher = ["torch.distributed.run", "--standalone", "--nproc_per_node", count]
    return [sys.executable, "-m", *launcher, "-m", module, *arguments]


def become(processes: int, kind: str, module: str, arguments: Sequence[str]) -> None:
    """Replace this process by that command; its number stays, so whoever watches it still does."""
    told = {**os.environ, MARK: str(processes)}
    os.execve(sys.executable, command(processes, kind, module, arguments), told)  # noqa: S606 - our own words
