"""Eight processes write to one workspace for a while: no record is lost, no id given out twice."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from benchgen.store import ModelRow, Store

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("BENCHGEN_WRITERS_S", "5"))
"""60 in `make soak`."""
WRITERS = 8
WRITE = """
import sys, time
from benchgen.store import ModelRow, Store
path, writer, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
store, end, number = Store(path), time.monotonic() + seconds, 0
while time.monotonic() < end:
    store.add(ModelRow(name=f"{writer}-{number}", kind="base"))
    number += 1
print(number)
"""


def test_eight_writers_lose_nothing(tmp_path: Path, soak: Callable[..., None]) -> None:
    database = tmp_path / "ws" / "benchgen.db"
    started = time.monotonic()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(database), str(number), str(SECONDS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    written = [int(writer.communicate()[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    assert min(written) > 0  # nobody was kept waiting for ever
    rows = Store(database).all(ModelRow)
    assert len({row.id for row in rows}) == len(rows) == sum(written)
    assert {row.name for row in rows} == {
        f"{writer}-{i}" for writer, number in enumerate(written) for i in range(number)
    }
    soak(
        "writers",
        writers=WRITERS,
        seconds=SECONDS,
        wall_s=round(time.monotonic() - started, 1),
        records=len(rows),
        lost=0,
        fewest=min(written),
        most=max(written),
    )
