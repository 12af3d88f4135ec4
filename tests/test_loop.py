"""The whole path on real parts: a tiny model is asked, trained in a worker of its own, and asked again."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchgen.config import LoopConfig, load_recipe
from benchgen.loop import LoopResult, Settings, Watcher, run_loop
from benchgen.records import PlanRecord
from benchgen.workspace import Workspace

pytestmark = [pytest.mark.torch, pytest.mark.slow]


def path_for(student: Path, **changes: str | None) -> LoopConfig:
    values: dict[str, str | None] = {
        "name": "tiny",
        "title": "Tiny",
        "benchmark": "solar_system_basics",
        "held_out": "solar_system_sibling",
        "practice": "solar_system_practice",
        "student": str(student),
    }
    return LoopConfig(**{**values, **changes})  # type: ignore[arg-type]


SETTINGS = Settings(load_recipe("from_run", max_steps=2, batch_size=2), limit=3)


def test_without_a_word_it_stops_at_the_plan(tmp_path: Path, tiny_model: Path) -> None:
    ws = Workspace(tmp_path / "ws")
    result = run_loop(ws, path_for(tiny_model), SETTINGS, None, Watcher())
    assert isinstance(result, PlanRecord)
    assert result.row.state == "pending"
    assert ws.jobs().is_empty()


def test_with_yes_it_measures_trains_and_measures_again(tmp_path: Path, tiny_model: Path) -> None:
    ws = Workspace(tmp_path / "ws")
    stages: list[str] = []
    plans: list[PlanRecord] = []
    watch = Watcher(stage=stages.append, plan=plans.append)
    result = run_loop(ws, path_for(tiny_model), SETTINGS, "yes", watch)
    assert isinstance(result, LoopResult)
    assert len(plans) == 1
    assert set(result.runs) == {
        "reference",
        "practice",
        "base",
        "base_held_out",
        "trained",
        "trained_held_out",
    }
    for part in (result.same, result.held_out):
        assert part["n"] == 3
        assert part["ci"][0] <= part["delta"] <= part["ci"][1]
    assert list(result.seconds) == stages
    trained = ws.get_run(result.runs["trained"])
    seen = set(plans[0].plan.seen)
    assert {q.key for q in trained.questions} <= seen
    assert not {q.key for q in ws.get_run(result.runs["trained_held_out"]).questions} & seen
    labels = {row["model"]: row["label"] for row in result.scores["same"]}
    assert labels[trained.model.row.name] == "trained on these questions"
    assert "ceiling" in labels["reference"]
    page = Path(result.report)
    before = page.read_bytes()
    assert ws.report(list(result.runs.values())) == page
    assert page.read_bytes() == before
