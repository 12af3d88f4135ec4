"""Run by run.py in the separate environment: the exported dataset folder in Hugging Face's `datasets`.

python ask_datasets.py FOLDER REPLIES.json OUT.json
"""

from __future__ import annotations

import json
import sys
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path

import datasets


def main(folder: Path, replies: Path, out: Path) -> None:
    """Write {versions, scores by key}: scored by the program of the folder, as the card says."""
    said = json.loads(replies.read_text())
    with tempfile.TemporaryDirectory() as place:
        rows = datasets.load_dataset(str(folder), split="test", cache_dir=place).to_list()
        zipfile.ZipFile(folder / "scoring_program.zip").extractall(Path(place) / "program")
        sys.path.insert(0, place)
        from program.score import score

        scores, asked = {}, {}
        for row in rows:
            asked[row["key"]] = {"messages": row["messages"]}
            verdict = score(
                row["kind"],
                reply=said[row["key"]]["reply"],
                finish_reason=said[row["key"]]["finish"],
                target=json.loads(row["target"]),
                choices=row["choices"] or None,
                **json.loads(row["options"]),
            )
            scores[row["key"]] = {"acc": verdict.correct, "strict": verdict.strict}
    told = {"versions": {"datasets": version("datasets")}, "scores": scores, "asked": asked}
    out.write_text(json.dumps(told))


if __name__ == "__main__":
    datasets.disable_progress_bars()
    main(*map(Path, sys.argv[1:]))
