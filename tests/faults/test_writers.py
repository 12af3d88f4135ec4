"""Eight processes write to one workspace for a while: no record is lost, no id given out twice.

In SQLite inside the workspace, and in a PostgreSQL database on a real server.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchgen.store import ModelRow, Store
from tests.postgres import binaries, new_database, server

pytestmark = pytest.mark.slow

SECONDS = float(os.environ.get("BENCHGEN_WRITERS_S", "5"))
"""60 in `make soak`."""
WRITERS = 8
WRITE = """
import sys, time
from pathlib import Path
from benchgen.store import ModelRow, Store
path, writer, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
store, end, number = Store.of(Path(path)), time.monotonic() + seconds, 0
while time.monotonic() < end:
    store.add(ModelRow(name=f"{writer}-{number}", kind="base"))
    number += 1
print(number)
"""


@pytest.fixture(params=["sqlite", "postgresql"])
def begun(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[tuple[str, Path]]:
    """(what keeps its records, a workspace that has no record yet)."""
    folder = tmp_path / "ws"
    if request.param == "sqlite":
        yield request.param, folder
        return
    if binaries() is None:
        pytest.skip("no PostgreSQL server is installed here")
    with server() as url:
        monkeypatch.setenv("BENCHGEN_DATABASE", new_database(url))
        yield request.param, folder


def test_eight_writers_lose_nothing(begun: tuple[str, Path], soak: Callable[..., None]) -> None:
    kind, folder = begun
    started = time.monotonic()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, str(folder), str(number), str(SECONDS)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    written = [int(writer.communicate()[0]) for writer in writers]
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    assert min(written) > 0  # nobody was kept waiting for ever
    store = Store.of(folder, default=os.environ.get("BENCHGEN_DATABASE"))
    rows = store.all(ModelRow)
    assert len({row.id for row in rows}) == len(rows) == sum(written)
    assert {row.name for row in rows} == {
        f"{writer}-{i}" for writer, number in enumerate(written) for i in range(number)
    }
    soak(
        f"writers_{kind}",
        writers=WRITERS,
        seconds=SECONDS,
        wall_s=round(time.monotonic() - started, 1),
        records=len(rows),
        lost=0,
        fewest=min(written),
        most=max(written),
    )
