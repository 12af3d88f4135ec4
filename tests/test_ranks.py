"""One training in several processes: started by one command, learning what one process learns, recorded once."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from benchgen import config
from benchgen.config import HardwareConfig
from benchgen.errors import ConfigError
from benchgen.train import ranks
from benchgen.workspace import Workspace
from tests.trained import dataset, worked

TWO = HardwareConfig(device="cpu", dtype="float32", processes=2)


@pytest.fixture
def ws(workspace_path: Path) -> Workspace:
    return Workspace(workspace_path)


def test_alone_it_is_the_first_whoever_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A notebook that was itself started by torchrun hands its RANK down to every worker."""
    monkeypatch.setenv("RANK", "3")
    monkeypatch.setenv("WORLD_SIZE", "4")
    assert (ranks.rank(), ranks.world()) == (0, 1)
    monkeypatch.setenv(ranks.MARK, "4")
    assert (ranks.rank(), ranks.world()) == (3, 4)


@pytest.mark.torch
@pytest.mark.slow
def test_accelerate_understands_the_command() -> None:
    from accelerate.commands.launch import launch_command_parser

    words = ranks.command(4, "cuda", "benchgen.worker", ["/a b/ws", "7"])
    assert words[:3] == [sys.executable, "-m", "accelerate.commands.launch"]
    told = launch_command_parser().parse_args(words[3:])
    assert (told.num_processes, told.num_machines, told.multi_gpu) == (4, 1, True)
    assert (told.module, told.training_script) == (True, "benchgen.worker")
    assert told.training_script_args == ["/a b/ws", "7"]
    assert told.main_process_port == 0  # any that is free: two jobs at once do not meet


def planned(ws: Workspace, base: Path, folder: Path, **asked: Any) -> Any:
    told: dict[str, Any] = {"hardware": TWO, "batch_size": 4, "max_steps": 3, "r": 2, **asked}
    return ws.plan("lora", dataset=dataset(folder), base_model=str(base), **told)


def test_a_plan_says_how_many_and_binds_it(
    ws: Workspace, base_folder: Path, tmp_path: Path
) -> None:
    two = planned(ws, base_folder, tmp_path, name="two").plan
    assert two.device["processes"] == 2
    assert two.device["trainer"] == "trl"
    one = HardwareConfig(device="cpu", dtype="float32")
    alone = planned(ws, base_folder, tmp_path, name="one", hardware=one).plan
    assert "processes" not in alone.device
    for name in ("steps", "tokens"):
        assert two.estimates[name] == alone.estimates[name]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"batch_size": 5}, "do not share the 5 rows"),
        ({"trainer": "unsloth"}, "trains in one process"),
        ({"hardware": HardwareConfig(processes=0)}, "hardware.processes=0"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_what_several_processes_cannot_do_is_refused(
    ws: Workspace, base_folder: Path, tmp_path: Path, asked: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as failed:
        planned(ws, base_folder, tmp_path, **asked)
    assert "\n" not in failed.value.message
    assert ws.plans().is_empty()


def test_no_benchmark_on_the_way_and_no_grpo(
    ws: Workspace, base_folder: Path, tmp_path: Path
) -> None:
    bench = ws.create(ws.author("solar_system_basics")).publish()
    with pytest.raises(ConfigError, match="in one process only"):
        planned(ws, base_folder, tmp_path, stop=config.StopConfig(benchmark_id=bench.id))
    with pytest.raises(ConfigError, match="recipe=grpo trains in one process"):
        ws.plan("grpo", benchmark=bench, base_model=str(base_folder), hardware=TWO)


@pytest.mark.torch
@pytest.mark.slow
def test_two_learn_what_one_does_and_land_one_adapter(
    ws: Workspace, tiny_model: Path, tmp_path: Path
) -> None:
    one = HardwareConfig(device="cpu", dtype="float32")

    def plan(name: str, hardware: HardwareConfig) -> Any:
        return planned(ws, tiny_model, tmp_path, name=name, hardware=hardware, batching="padded")

    alone = worked(ws, plan("alone", one))
    together = ws.confirm(plan("together", TWO), "yes").wait()
    losses = [[row["loss"] for row in job.metrics()] for job in (alone, together)]
    assert losses[1] == pytest.approx(losses[0], abs=1e-4)
    assert [row["step"] for row in together.metrics()] == [1, 2, 3]
    written = (together.folder / "metrics.jsonl").read_text().splitlines()
    assert len(written) == 3  # the other process wrote none
    assert together.row.result["steps"] == 3
    assert any("training in 2 processes" in line for line in together.logs(99))
    assert set(ws.models()["name"]) >= {"alone", "together"}
    assert not (together.folder / "checkpoints").exists()
