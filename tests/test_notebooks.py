"""The notebooks as files: what is committed of them is thin, whole, and says nothing of a machine.

Executing them is nbmake's part (`make test`); here nothing runs. `python notebooks/renew.py FILE` renews outputs.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest

FOLDER = Path(__file__).parent.parent / "notebooks"
NAMES = (
    "01_quickstart",
    "02_create_a_benchmark",
    "03_run_and_look_inside",
    "04_train_from_a_run",
    "05_distil",
    "06_grpo_with_your_scorer",
    "07_sweep_and_report",
    "08_chat_with_the_agent",
)
MOST_BYTES = 1_000_000
LINES_A_CELL = 25
PATHS = re.compile(r"(?<![\w.:/!])/(?:tmp|home|root|work|usr|var|Users|mnt|opt)/|[A-Z]:\\")
"""The beginning of a machine's own path."""


@pytest.fixture(params=NAMES)
def notebook(request: pytest.FixtureRequest) -> Any:
    path = FOLDER / f"{request.param}.ipynb"
    found = nbformat.read(path, as_version=4)  # type: ignore[no-untyped-call]
    nbformat.validate(found)
    return found


def code(notebook: Any) -> list[Any]:
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def outputs(notebook: Any) -> list[Any]:
    return [output for cell in code(notebook) for output in cell.outputs]


def test_these_and_no_others_are_there() -> None:
    assert tuple(sorted(path.stem for path in FOLDER.glob("*.ipynb"))) == NAMES


def test_metadata_is_that_of_a_plain_kernel(notebook: Any) -> None:
    assert set(notebook.metadata) == {"kernelspec", "language_info"}, "no widget state, no editor's"
    assert notebook.metadata.kernelspec.name == "python3"
    assert notebook.metadata.language_info == {"name": "python"}, "no version of one machine"
    for cell in notebook.cells:
        assert not cell.metadata, (
            "no times of execution, no tags that skip a cell or allow an error"
        )


def test_ids_are_in_order(notebook: Any) -> None:
    assert [cell.id for cell in notebook.cells] == [
        f"cell-{n:02d}" for n in range(len(notebook.cells))
    ]


def test_outputs_are_those_of_one_run_from_top_to_bottom(notebook: Any) -> None:
    counts = [cell.execution_count for cell in code(notebook)]
    if any(counts):
        assert counts == list(range(1, len(counts) + 1))
    else:
        assert not outputs(notebook), "outputs of a run that is not told"


def test_no_output_is_an_error_or_a_widget(notebook: Any) -> None:
    for output in outputs(notebook):
        assert output.output_type in ("stream", "display_data", "execute_result")
        assert output.get("name", "stdout") == "stdout", "warnings and progress are not for readers"
        assert not [kind for kind in output.get("data", {}) if "widget" in kind]


def test_no_output_names_a_path_of_a_machine(notebook: Any) -> None:
    for output in outputs(notebook):
        found = PATHS.search(json.dumps(output, ensure_ascii=False))
        assert not found, json.dumps(output)[max(0, found.start() - 80) : found.end() + 80]


def test_the_file_is_small(notebook: Any) -> None:
    assert len(nbformat.writes(notebook).encode()) < MOST_BYTES  # type: ignore[no-untyped-call]


def test_cells_are_thin(notebook: Any) -> None:
    for cell in code(notebook):
        assert len(cell.source.splitlines()) <= LINES_A_CELL
        tree = ast.parse(cell.source)
        logic = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Try, ast.If, ast.Lambda)
        assert not [node for node in ast.walk(tree) if isinstance(node, logic)]


def test_it_begins_with_a_title_and_explains_itself(notebook: Any) -> None:
    first = notebook.cells[0]
    assert first.cell_type == "markdown"
    assert first.source.startswith("# ")
    prose = [cell for cell in notebook.cells if cell.cell_type == "markdown"]
    assert len(prose) * 3 >= len(code(notebook))


def test_each_names_the_next_and_only_files_that_are_there(notebook: Any) -> None:
    prose = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    named = set(re.findall(r"`(0\d_\w+)`", prose))
    assert named <= set(NAMES)


@pytest.mark.parametrize("text", ["/tmp/a", "see /home/ada/ws", '"/root/x"', "C:\\Users"])
def test_a_machine_path_is_seen(text: str) -> None:
    assert PATHS.search(text)


@pytest.mark.parametrize(
    "text",
    ["workspace/runs/1/index.html", "https://host/home/a", "</table>", "#!/usr/bin/env bash"],
)
def test_other_text_is_not(text: str) -> None:
    assert not PATHS.search(text)
