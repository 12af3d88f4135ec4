"""Executes notebooks in their full form and keeps what a reader wants to see of their outputs.

python notebooks/renew.py notebooks/02_create_a_benchmark.ipynb …

Each runs in a folder of its own that is gone afterwards, without widgets, in cells from top to bottom. What
is kept: tables, pictures and text, with paths that begin in that folder. What is not: widgets and their
state, what was written to the error stream, times of execution. A notebook that fails is left as it was.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

KEPT = ("text/html", "text/plain", "text/markdown", "image/png", "image/svg+xml")
"""Of an output; a widget's view means nothing without its kernel."""
TIMEOUT_S = 3600
METADATA = {
    "kernelspec": {
        "display_name": "Python 3 (ipykernel)",
        "language": "python",
        "name": "python3",
    },
    "language_info": {"name": "python"},
}


def main(paths: list[str]) -> None:
    """Renew each notebook, and say how large it is now."""
    for path in map(Path, paths):
        renew(path)
        print(f"{path}: {path.stat().st_size // 1000} kB")


def renew(path: Path) -> None:
    """The notebook's file, with the outputs of now."""
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        here = str(Path(folder).resolve())
        environment = {**os.environ, "BENCHGEN_HEADLESS": "1"}
        environment.pop("BENCHGEN_WORKSPACE", None)
        client = NotebookClient(notebook, timeout=TIMEOUT_S, resources={"metadata": {"path": here}})
        client.execute(env=environment)
    clean(notebook, here)
    nbformat.write(notebook, path)


def clean(notebook: Any, here: str) -> None:
    """Take away what does not belong in a file that others read; paths under `here` become relative."""
    notebook.metadata = nbformat.from_dict(METADATA)
    for cell in notebook.cells:
        cell.metadata = nbformat.from_dict({})
        if cell.cell_type == "code":
            cell.outputs = [found for o in cell.outputs if (found := _cleaned(o, here))]


def _cleaned(output: Any, here: str) -> Any:
    """The output as it is kept; None for one of which nothing is."""
    if output.output_type == "stream":
        output.text = _relative(output.text, here)
        return output if output.name == "stdout" else None
    if "data" not in output or any("widget" in kind for kind in output.data):
        return None
    data = {k: _relative(v, here) for k, v in output.data.items() if k in KEPT and v}
    output.data, output.metadata = nbformat.from_dict(data), nbformat.from_dict({})
    return output if data else None


def _relative(text: str, here: str) -> str:
    return text.replace(f"{here}/", "").replace(here, ".")


if __name__ == "__main__":
    main(sys.argv[1:])
