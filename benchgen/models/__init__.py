"""Anything that answers a request: embedded, local, reference and mock models.

Nothing heavy is imported here; `local` and `embedded` need torch and are imported where used.
"""

from __future__ import annotations

import gc
import importlib
import logging
import os
import sys
import warnings
from types import ModuleType
from typing import cast

# Telemetry off for every library of the stack; read when each is imported, so set before.
PRIVATE = {
    "HF_HUB_DISABLE_TELEMETRY": "1",
    "DO_NOT_TRACK": "1",
    "UNSLOTH_DISABLE_STATISTICS": "1",
    "DISABLE_MLFLOW_INTEGRATION": "TRUE",
}
# Noise off, unless the person asked for it.
QUIET = {
    "TRANSFORMERS_VERBOSITY": "error",
    "DATASETS_VERBOSITY": "error",
    "HF_HUB_DISABLE_PROGRESS_BARS": "1",
    "TRANSFORMERS_NO_ADVISORY_WARNINGS": "1",
    "TOKENIZERS_PARALLELISM": "false",
    "BITSANDBYTES_NOWELCOME": "1",
}
# Threads that wait for each other sleep instead of spinning. On 2 cores shared with other processes
# the same matrix products took 14 s spinning and 2 to 4 s sleeping.
PATIENT = {"OMP_WAIT_POLICY": "PASSIVE"}
# Loggers that report, at import, about accelerator parts a CPU build does not have.
NOISY = (
    "torchao",
    "torch.utils._pytree",
    "torch.distributed.elastic",
    "bitsandbytes",
    "accelerate",
)
# What transformers and peft import wherever it is installed, though only weights on a GPU need it: 1.0 of the
# 6.7 CPU seconds that the imports of a training take (medians of three).
FOR_GPUS = ("bitsandbytes", "torchao")


def quiet_libraries() -> None:
    """None. Telemetry off, chatter down, threads patient; call before the model libraries are imported."""
    os.environ.update(PRIVATE)
    for name, value in {**QUIET, **PATIENT}.items():
        os.environ.setdefault(name, value)
    for logger in NOISY:
        logging.getLogger(logger).setLevel(logging.ERROR)
    # torchao logs one line for each CUDA kernel file it cannot load; a CPU build can load none.
    logging.getLogger("torchao").setLevel(logging.CRITICAL)
    warnings.filterwarnings("ignore", module=r"torchao(\..*)?")


def without_gpu_libraries() -> None:
    """None. On a CPU, nothing imports the libraries for GPUs from now on: for a process of benchgen's own."""
    from benchgen.models.device import detect

    if detect().kind == "cpu":
        leave_out(*FOR_GPUS)


def leave_out(*libraries: str) -> None:
    """None. They count as not installed in this process, those apart that are imported already."""
    modules = cast(dict[str, ModuleType | None], sys.modules)
    for name in libraries:
        modules.setdefault(name, None)  # as the import system marks what is not to be found


def import_once(module: str) -> None:
    """None. The module is imported, and what came with it is not looked through for garbage, then or later.

    The libraries of a training make half a million objects that stay; Python goes through them again and
    again as they come, and trainers at each of their starts. A worker that trains one step takes 8.4 instead
    of 12.4 CPU seconds with this and `without_gpu_libraries` (medians of three).
    """
    if module in sys.modules:
        return
    collects = gc.isenabled()
    gc.collect()  # what is garbage by now would stay too
    gc.disable()
    try:
        importlib.import_module(module)
    finally:
        gc.freeze()
        if collects:
            gc.enable()
