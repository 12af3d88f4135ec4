"""One browser and one window a file of tests."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.browser import lab


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    with lab.chromium() as browser:
        yield browser


@pytest.fixture(scope="module")
def window(chromium: Any) -> Iterator[Any]:
    """Its pages have one cache: JupyterLab's own files are fetched and compiled once."""
    context = chromium.new_context()
    yield context
    context.close()
