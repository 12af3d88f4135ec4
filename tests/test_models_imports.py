"""What a process of benchgen's own imports, and what garbage collection makes of it."""

from __future__ import annotations

import gc
import importlib.util
import sys
from pathlib import Path

import pytest

from benchgen import models
from benchgen.models import device


def test_what_is_left_out_counts_as_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "wandb", raising=False)
    assert importlib.util.find_spec("wandb") is not None
    models.leave_out("wandb")
    monkeypatch.setitem(sys.modules, "wandb", sys.modules["wandb"])  # taken back afterwards
    assert importlib.util.find_spec("wandb") is None
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("wandb")


def test_what_is_imported_already_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    models.leave_out("json")
    assert sys.modules["json"] is not None


@pytest.mark.parametrize(("kind", "found"), [("cpu", False), ("cuda", True)])
def test_libraries_for_gpus_are_found_where_there_is_one(
    monkeypatch: pytest.MonkeyPatch, kind: str, found: bool
) -> None:
    here = device.Device(kind, "any", "float32", 1, 1)
    monkeypatch.setattr(device, "detect", lambda: here)
    for name in models.FOR_GPUS:
        monkeypatch.setitem(sys.modules, name, sys.modules.get(name))
        del sys.modules[name]
    models.without_gpu_libraries()
    for name in models.FOR_GPUS:
        assert (importlib.util.find_spec(name) is not None) == found


@pytest.mark.parametrize("collects", [True, False])
def test_an_import_leaves_the_collector_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, collects: bool
) -> None:
    module = f"kept_{collects}"
    (tmp_path / f"{module}.py").write_text("import gc\nDURING = gc.isenabled()\nKEPT = [[]]\n")
    monkeypatch.syspath_prepend(tmp_path)
    was = gc.isenabled()
    (gc.enable if collects else gc.disable)()
    try:
        before = gc.get_freeze_count()
        models.import_once(module)
        assert not sys.modules[module].DURING
        assert gc.isenabled() == collects
        assert gc.get_freeze_count() > before
        models.import_once(module)
        assert not any(sys.modules[module].KEPT is one for one in gc.get_objects())
    finally:
        (gc.enable if was else gc.disable)()
        monkeypatch.delitem(sys.modules, module)


def test_an_import_that_fails_leaves_the_collector_on() -> None:
    with pytest.raises(ModuleNotFoundError):
        models.import_once("no_such_module_of_anyone")
    assert gc.isenabled()
