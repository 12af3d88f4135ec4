"""What must end: a quadratic search of a hostile text takes minutes, and a test would wait for it.

Nothing is timed here. How fast it is, experiments/speed/scoring.py measures on a machine at rest.
"""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

CPU_S = 30
"""CPU seconds, not those of a clock: what other processes take does not count."""


@contextmanager
def bounded() -> Iterator[None]:
    """Fails a block that takes more than CPU_S; what is linear takes less than a second."""

    def stop(*_: object) -> None:
        pytest.fail(f"it took more than {CPU_S} s of CPU time: quadratic, or without end")

    before = signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, CPU_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
