"""The shape of the package: who may import whom, and that each rule would notice."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "benchgen"


def lint(folder: Path, *contracts: str) -> subprocess.CompletedProcess[str]:
    """The result of import-linter on the package in `folder`, under the project's own contracts."""
    command = [str(Path(sys.executable).parent / "lint-imports"), "--no-cache", "--no-logo"]
    for contract in contracts:
        command += ["--contract", contract]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    return subprocess.run(
        [*command, "--config", str(folder / "pyproject.toml")],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def plant(folder: Path, **modules: str) -> Path:
    """A small package of that name with the project's contracts: {dotted module, `__` for a dot: source}."""
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, source in {"__init__": "", **modules}.items():
        file = (
            folder.joinpath("benchgen", *name.split("__")).with_suffix(".py")
            if name != "__init__"
            else None
        )
        path = file or folder / "benchgen" / "__init__.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.parent.name != "benchgen":
            (path.parent / "__init__.py").touch()
        path.write_text(source + "\n")
    return folder


@pytest.mark.slow  # `make check` runs the contracts themselves
def test_the_package_keeps_its_rules() -> None:
    """The real tree, every contract."""
    result = lint(ROOT)
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.slow
def test_a_tree_that_keeps_the_rules_passes(tmp_path: Path) -> None:
    """Without it, the planted faults below could fail for any other reason."""
    tree = plant(
        tmp_path,
        cli="import benchgen.verbs.jobs",
        verbs__jobs="import hydra, benchgen.plan.gate",
        plan__gate="import benchgen.rundata.rows",
        rundata__rows="import benchgen.types",
        models__local="import torch",
        train__sft="import trl, unsloth",
        run__metrics="import evaluate",
        types="import benchgen.errors",
        errors="",
    )
    result = lint(tree)
    assert result.returncode == 0, result.stdout + result.stderr


FAULTS = {
    "an upward import": ("layers", {"plan__gate": "import benchgen.train.sft", "train__sft": ""}),
    "an upward import inside a function": (
        "layers",
        {"run__runner": "def f():\n    import benchgen.compare.report", "compare__report": ""},
    ),
    "an upward import through the package": (
        "layers",
        {"store": "from benchgen import workspace", "workspace": ""},
    ),
    "two modules of one layer": ("layers", {"store": "import benchgen.tracking", "tracking": ""}),
    "a module without a layer": ("layers", {"extras": ""}),
    "torch in the runner": ("torch", {"run__runner": "import torch"}),
    "transformers in the planner": (
        "torch",
        {"plan__planner": "from transformers import AutoConfig"},
    ),
    "datasets in a model's file that is not one of the two": (
        "torch",
        {"models__endpoint": "import datasets"},
    ),
    "Hydra in the worker": ("hydra", {"worker": "import hydra"}),
    "Hydra in what a verb does": ("hydra", {"verbs__making": "import hydra"}),
    "omegaconf in the planner": ("hydra", {"plan__planner": "from omegaconf import OmegaConf"}),
    "unsloth in a local model": ("unsloth", {"models__local": "import unsloth"}),
    "evaluate in the runner": ("evaluate", {"run__runner": "def f():\n    import evaluate"}),
}


@pytest.mark.slow
@pytest.mark.parametrize("fault", FAULTS)
def test_each_rule_notices_its_fault(fault: str, tmp_path: Path) -> None:
    """One planted fault, one broken contract."""
    contract, modules = FAULTS[fault]
    result = lint(plant(tmp_path, **modules), contract)
    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 broken" in result.stdout


def imported(source: str) -> set[str]:
    """The top-level names that a module imports from outside its own folder."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.level != 1:
            found.add("." if node.level else (node.module or "").partition(".")[0])
    return found


def test_the_scoring_program_stands_alone() -> None:
    """It is copied into each benchmark and must run anywhere: the standard library and its own files only."""
    files = sorted((PACKAGE / "benchmark" / "program").glob("*.py"))
    own = {file.stem for file in files}
    foreign = {f.name: imported(f.read_text()) - own - sys.stdlib_module_names for f in files}
    assert files
    assert not {name: names for name, names in foreign.items() if names}
    assert imported("import numpy.linalg\nfrom ..types import Trace\nfrom . import reading") == {
        "numpy",
        ".",
    }


def test_no_drawer_for_odds_and_ends() -> None:
    """A module is named for what it does."""
    assert not [
        p
        for p in ROOT.glob("benchgen/**/*.py")
        if p.stem in {"utils", "util", "helpers", "misc", "common"}
    ]


def test_every_folder_with_code_is_shipped() -> None:
    """`pyproject.toml` lists the packages one by one, so a new folder has to be added there."""
    listed = set(
        tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["setuptools"]["packages"]
    )
    there = {".".join(p.parent.relative_to(ROOT).parts) for p in PACKAGE.glob("**/*.py")}
    assert listed == {*there, "benchgen.conf"}


@pytest.mark.parametrize(
    "heavy", ["torch", "transformers", "datasets", "sqlalchemy", "hydra", "polars", "matplotlib"]
)
def test_importing_benchgen_is_light(heavy: str) -> None:
    """`import benchgen` loads nothing that takes time."""
    probe = f"import sys, benchgen; sys.exit({heavy!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", probe], check=False).returncode == 0
