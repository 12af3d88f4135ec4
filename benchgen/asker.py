"""The process of a run in the background: `python -m benchgen.asker WORKSPACE RUN_ID`.

It asks all that is left and finishes the run. Killed at any moment, `resume` goes on.
"""

from __future__ import annotations

import sys
import traceback

from benchgen.errors import BenchgenError
from benchgen.records.run import processing
from benchgen.workspace import Workspace


def main(argv: list[str]) -> int:
    """0 when the run is finished; 1 when it stopped, with the reason in its record and log."""
    workspace, run_id = Workspace(argv[0]), int(argv[1])

    def told(done: int, total: int) -> None:
        print(processing(done, total), flush=True)

    try:
        run = workspace.resume_run(run_id, progress=told)
    except Exception as error:  # noqa: BLE001 - whatever it is, the log must say so
        if not isinstance(error, BenchgenError):
            traceback.print_exc()
        print(f"stopped: {error}", flush=True)
        return 1
    print(f"run {run.id} is {run.state}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
