"""The bars of a loop in a terminal: a stage that is over stands still."""

from __future__ import annotations

import io

import pytest
from rich.console import Console
from rich.progress import Progress

from benchgen.ui import plain


def test_a_stage_that_is_over_is_full_and_its_clock_stands_still(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = [0.0]
    made: list[Progress] = []

    def clocked(console: Console) -> Progress:
        made.append(Progress(*progress(console).columns, console=console, get_time=lambda: now[0]))
        return made[-1]

    progress = plain._progress
    monkeypatch.setattr(plain, "_progress", clocked)
    screen = plain.Screen()
    screen.err = Console(file=io.StringIO(), width=120)
    with screen.watch() as watcher:
        watcher.stage("write")
        now[0] = 3.0
        watcher.stage("ask")
        watcher.progress(2, 4)
        now[0] = 5.0
        watcher.progress(4, 4)
        watcher.stage("report")
        now[0] = 100.0
    tasks = made[0].tasks
    assert [(t.completed, t.total) for t in tasks] == [(1, 1), (4, 4), (1, 1)]
    assert [t.elapsed for t in tasks] == [3.0, 2.0, 95.0]


def test_what_breaks_off_is_not_called_full(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Progress] = []
    progress = plain._progress

    def kept(console: Console) -> Progress:
        made.append(progress(console))
        return made[-1]

    monkeypatch.setattr(plain, "_progress", kept)
    screen = plain.Screen()
    screen.err = Console(file=io.StringIO(), width=120)

    def broken() -> None:
        with screen.watch() as watcher:
            watcher.stage("write")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        broken()
    assert [t.total for t in made[0].tasks] == [None]
