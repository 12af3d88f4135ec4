"""A child with limits: what it uses up, or breaks on, is one line here and harms nobody."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchgen.benchmark import bounded
from benchgen.errors import BenchgenError, DataError, NotFound

pytestmark = pytest.mark.slow


def turned(told: Mapping[str, Any], data: bytes) -> bytes:
    return data[::-1] * int(told["times"])


def fails(told: Mapping[str, Any], data: bytes) -> bytes:
    raise NotFound("a.csv: no such row", got=3, allowed=[1, 2], next="row=1")


def breaks(told: Mapping[str, Any], data: bytes) -> bytes:
    return json.dumps(1 // len(data[3:])).encode()


def nests(told: Mapping[str, Any], data: bytes) -> bytes:
    return nests(told, data)


def hoards(told: Mapping[str, Any], data: bytes) -> bytes:
    return bytes(1 << 30)


def dawdles(told: Mapping[str, Any], data: bytes) -> bytes:
    while True:
        pass


def call(work: str, told: dict[str, Any] | None = None, **limits: int) -> bytes:
    with tempfile.TemporaryFile() as given:
        given.write(b"abc")
        given.seek(0)
        return bounded.call(work, told or {}, given, "a.csv", bounded.Limits(**limits))


HERE = "tests.test_bounded"


@pytest.fixture(autouse=True)
def _tests_can_be_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


def test_what_a_child_finds_comes_back() -> None:
    assert call(f"{HERE}:turned", {"times": 2}) == b"cbacba"


def test_an_error_of_the_child_is_raised_as_it_was() -> None:
    with pytest.raises(NotFound) as caught:
        call(f"{HERE}:fails")
    assert (
        caught.value.as_dict()
        == NotFound("a.csv: no such row", got=3, allowed=[1, 2], next="row=1").as_dict()
    )


@pytest.mark.parametrize(
    ("work", "limits", "says"),
    [
        ("breaks", {}, "damaged and cannot be read: ZeroDivisionError"),
        ("nests", {}, "nested too deeply"),
        ("hoards", {"memory": 2**29}, "more than 512 MiB of memory"),
        ("dawdles", {"seconds": 1}, "more than 1 seconds"),
        ("turned", {"output": 2**20}, "unpacks to more than 1 MiB"),
    ],
)
def test_what_a_child_uses_up_is_told_in_one_line(
    work: str, limits: dict[str, int], says: str
) -> None:
    with pytest.raises(DataError, match=says) as caught:
        call(f"{HERE}:{work}", {"times": 2**20}, **limits)
    assert caught.value.message.startswith("a.csv: ")
    assert "\n" not in caught.value.message


def test_a_child_that_cannot_begin_is_no_fault_of_the_file() -> None:
    with pytest.raises(BenchgenError, match=r"could not begin: .*no_such_module") as caught:
        call("no_such_module:work")
    assert not isinstance(caught.value, DataError)
