"""One browser a file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import lab


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with lab.chromium() as browser:
        yield browser
