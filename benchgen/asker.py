"""The process of a run in the background: `python -m benchgen.asker WORKSPACE RUN_ID`.

It asks all that is left and finishes the run. Killed at any moment, `resume` goes on.
"""

from __future__ import annotations

import sys

from benchgen import jobs
from benchgen.models import without_gpu_libraries
from benchgen.records.run import processing
from benchgen.workspace import Workspace


def main(argv: list[str]) -> int:
    """0 when the run is finished; 1 when it stopped, with the reason in its record and log."""
    without_gpu_libraries()
    workspace, run_id = Workspace(argv[0]), int(argv[1])

    def told(done: int, total: int) -> None:
        print(processing(done, total), flush=True)

    def work() -> str:
        run = workspace.resume_run(run_id, progress=told)
        return f"run {run.id} is {run.state}"

    return jobs.in_process(work)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
