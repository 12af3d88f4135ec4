"""The formats by name: `lm_eval`, `inspect`, `huggingface`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from benchgen.benchmark.bundle import Bundle
from benchgen.benchmark.exchange import hf, inspect_ai, lm_eval
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


def write_as(bench: Bundle, folder: Path, form: str, frozen_here: Collection[str] = ()) -> Path:
    """The folder written in that format; `frozen_here`: programs that this workspace froze, by sha256."""
    if form == "huggingface":
        return hf.write_hf(bench, folder)
    if form not in _RUNNABLE:
        raise ConfigError("unknown format to export a benchmark as", got=form, allowed=FORMATS)
    return _RUNNABLE[form](bench, folder, frozen_here)


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
