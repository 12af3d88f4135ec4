"""The process of a writing in the background: `python -m benchgen.writer WORKSPACE WRITE_ID`.

It writes all that is left, without turns, and makes the benchmark. Killed at any moment, `resume` goes on.
"""

from __future__ import annotations

import sys

from benchgen import jobs
from benchgen.models import without_gpu_libraries
from benchgen.workspace import Workspace


def main(argv: list[str]) -> int:
    """0 when the benchmark is made; 1 when the writing stopped, with the reason in its record and log."""
    without_gpu_libraries()
    workspace, write_id = Workspace(argv[0]), int(argv[1])

    def told(done: int, total: int) -> None:
        print(f"written {done} of {total}", flush=True)

    def work() -> str:
        bench = workspace.created(workspace.go_on(write_id, progress=told))
        return f"benchmark {bench.id} is a draft"

    return jobs.in_process(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
