"""The formats by name: `lm_eval`, `inspect`, `huggingface`, and plain files of questions, `csv` and `jsonl`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from benchgen.benchmark.bundle import Bundle
from benchgen.benchmark.exchange import hf, inspect_ai, lm_eval, questions
from benchgen.benchmark.exchange.content import ABOUT, read_told
from benchgen.errors import ConfigError, DataError

_RUNNABLE: Mapping[str, Callable[[Bundle, Path, Collection[str]], Path]] = {
    "lm_eval": lm_eval.write_lm_eval,
    "inspect": inspect_ai.write_inspect,
}
_READERS: Mapping[str, Callable[[Path], Bundle]] = {
    lm_eval.FORM: lm_eval.read_lm_eval,
    inspect_ai.FORM: inspect_ai.read_inspect,
    hf.FORM: hf.read_hf,
}
FORMATS = (*_RUNNABLE, "huggingface")
"""Folders that hold a whole benchmark: `read_any` reads them."""
FILES = tuple(questions.WRITERS)
"""Files that hold its questions alone."""


def write_as(bench: Bundle, path: Path, form: str, frozen_here: Collection[str] = ()) -> Path:
    """The folder or file written in that format; `frozen_here`: programs that this workspace froze, by sha256."""
    if form == "huggingface":
        return hf.write_hf(bench, path)
    if form in questions.WRITERS:
        return questions.WRITERS[form](bench, path)
    if form not in _RUNNABLE:
        raise ConfigError(
            "unknown format to export a benchmark as", got=form, allowed=(*FORMATS, *FILES)
        )
    return _RUNNABLE[form](bench, path, frozen_here)


def read_any(folder: Path) -> Bundle:
    """The benchmark in a folder that benchgen wrote, whatever its format; none of its code is run."""
    told = read_told(folder)
    reader = _READERS.get(str(told.get("format")))
    if reader is None:
        raise DataError(
            f"{folder.name}: {ABOUT} names no format that is read",
            got=str(told.get("format"))[:100],
            allowed=list(_READERS),
        )
    return reader(folder)
