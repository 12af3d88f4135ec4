"""What both sides share: commands as JSON lines on standard input, answers on standard output.

A side is a function (what, rows, settings) -> results; it is timed here, in one process that has loaded
the model before. Standard library only.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import time
from collections.abc import Callable
from typing import Any

Side = Callable[[str, list[Any], dict[str, Any]], list[Any]]


def serve(side: Side) -> None:
    """Answer until the input ends. Whatever the libraries print goes to the error stream."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    print(json.dumps({"ready": True}), file=out, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        wall, cpu = time.perf_counter(), time.process_time()
        results = side(asked["what"], asked["rows"], asked["settings"])
        told = {
            "results": results,
            "wall_s": time.perf_counter() - wall,
            "cpu_s": time.process_time() - cpu,
            "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(told), file=out, flush=True)
