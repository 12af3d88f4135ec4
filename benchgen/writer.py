"""The process of a writing in the background: `python -m benchgen.writer WORKSPACE WRITE_ID`.

It writes all that is left, without turns, and makes the benchmark. Killed at any moment, `resume` goes on.
"""

from __future__ import annotations

import sys
import traceback

from benchgen.errors import BenchgenError
from benchgen.workspace import Workspace


def main(argv: list[str]) -> int:
    """0 when the benchmark is made; 1 when the writing stopped, with the reason in its record and log."""
    workspace, write_id = Workspace(argv[0]), int(argv[1])

    def told(done: int, total: int) -> None:
        print(f"written {done} of {total}", flush=True)

    try:
        bench = workspace.created(workspace.go_on(write_id, progress=told))
    except Exception as error:  # noqa: BLE001 - whatever it is, the log must say so
        if not isinstance(error, BenchgenError):
            traceback.print_exc()
        print(f"stopped: {error}", flush=True)
        return 1
    print(f"benchmark {bench.id} is a draft", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
