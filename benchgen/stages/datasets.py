"""Datasets of the Hugging Face hub: fetched once into the workspace, then read as any file."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from benchgen.errors import BenchgenError, ConfigError, DataError, NotFound
from benchgen.models.catalogue import HUB_ID
from benchgen.records import Place
from benchgen.rundata.rows import FORMATS
from benchgen.store import make_folder

FOLDER = "datasets"
SPLIT = "train"
"""The part that is taken where a dataset has several."""


def file_of(place: Place, name: str | Path) -> Path:
    """The file of a dataset: a path as it is; of a hub dataset its copy here, fetched the first time."""
    path = Path(name)
    if path.exists() or not is_hub_id(str(name)):
        return path
    stem = _stem(str(name))
    kept = [file for file in folder(place).glob(f"{stem}.*") if file.suffix in FORMATS]
    return kept[0] if kept else _fetched(str(name), make_folder(folder(place)) / stem)


def is_hub_id(name: str) -> bool:
    """Whether it could name a dataset of the hub: owner/name, and no ending of a dataset file."""
    return HUB_ID.fullmatch(name) is not None and Path(name).suffix.lower() not in FORMATS


def folder(place: Place) -> Path:
    """Where the copies lie, one file a dataset: owner--name.ENDING."""
    return place.path / FOLDER


def names(place: Place) -> list[str]:
    """The hub datasets that are here."""
    found = folder(place).glob("*--*") if folder(place).is_dir() else ()
    return sorted(file.stem.replace("--", "/", 1) for file in found if file.suffix in FORMATS)


def _stem(name: str) -> str:
    return name.replace("/", "--")


def _fetched(name: str, target: Path) -> Path:
    """The dataset's training split as one file beside `target`; InputError where the hub does not give it."""
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE"):
        raise NotFound(
            f"the dataset {name} is not on this machine, and HF_HUB_OFFLINE is set",
            got=name,
            next="unset HF_HUB_OFFLINE, or dataset=FILE",
        )
    from huggingface_hub import HfApi, hf_hub_download

    try:
        there = HfApi().list_repo_files(name, repo_type="dataset")
        wanted = _training_files(name, there)
        files = [Path(hf_hub_download(name, file, repo_type="dataset")) for file in wanted]
    except BenchgenError:
        raise
    except Exception as error:
        first = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise ConfigError(
            f"the dataset {name} cannot be fetched: {first}",
            got=name,
            next="a network that reaches the hub and a dataset that is public, or dataset=FILE",
        ) from error
    return _joined(files, target)


def _training_files(name: str, there: Sequence[str]) -> list[str]:
    """Files of the training split, all of one ending; DataError where the dataset has none that is read."""
    for ending in (".parquet", ".jsonl", ".json", ".csv"):
        found = [file for file in there if file.lower().endswith(ending) and "_info" not in file]
        split = [file for file in found if SPLIT in file.rpartition("/")[2].lower()]
        if split or len(found) == 1:
            return sorted(split or found)
    raise DataError(
        f"the dataset {name} has no training split that can be read",
        got=list(there)[:10],
        allowed=sorted(FORMATS),
        next="download the file that is meant, then dataset=FILE",
    )


def _joined(files: Sequence[Path], target: Path) -> Path:
    """One file with the rows of all, whole or not there."""
    one = len(files) == 1
    found = target.with_name(target.name + (files[0].suffix.lower() if one else ".parquet"))
    part = found.with_name(f".{found.name}.part")
    if one:
        shutil.copyfile(files[0], part)
    else:
        read = pl.read_parquet if files[0].suffix == ".parquet" else pl.read_ndjson
        pl.concat([read(file) for file in files], how="diagonal_relaxed").write_parquet(part)
    part.replace(found)
    return found
