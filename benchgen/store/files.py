"""Files beside the database: written whole or not at all, and read as far as they are whole."""

from __future__ import annotations

import hashlib
import json
import os
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchgen.errors import InputError, StoreError
from benchgen.types import json_line, sha256


def make_folder(path: Path) -> Path:
    """The folder, made with its parents; InputError where that cannot be done."""
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError("no permission to write")
    except OSError as error:
        raise InputError(
            f"the folder cannot be written: {error.strerror or error}",
            got=str(path),
            allowed="a folder that you may write to",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        ) from error
    return path


def write_atomic(path: Path, content: str | bytes) -> None:
    """The whole content under `path`, or what was there before: never half of it."""
    make_folder(path.parent)
    data = content.encode() if isinstance(content, str) else content
    part = path.with_name(f".{path.name}.{os.getpid()}-{threading.get_ident()}.part")
    try:
        with part.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise InputError(
            f"the file cannot be written: {error.strerror or error}",
            got=str(path),
            allowed="a disk with room, in a folder that you may write to",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        ) from error


def write_json(path: Path, value: Any) -> None:
    """`value` as indented JSON with sorted keys, atomically."""
    write_atomic(path, json.dumps(value, indent=1, sort_keys=True, ensure_ascii=False) + "\n")


def read_json(path: Path) -> Any:
    """What `write_json` wrote; StoreError where it is missing or broken."""
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError) as error:
        raise StoreError(f"{path.name} of this workspace cannot be read: {error}") from error


def write_jsonl(path: Path, rows: Sequence[Mapping[str, Any]]) -> str:
    """The sha256 of the file written, one JSON object a line, in the order given."""
    text = "".join(json_line(dict(row)) for row in rows)
    write_atomic(path, text)
    return sha256(text)


def file_sha256(path: Path) -> str:
    """Hex sha256 of a file of any size."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def cut_torn_line(path: Path) -> None:
    """Drop the half line that a killed writer left, so that the next one starts on its own line."""
    if not path.exists():
        return
    data = path.read_bytes()
    if data and not data.endswith(b"\n"):
        with path.open("r+b") as file:
            file.truncate(data.rfind(b"\n") + 1)


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """The whole lines of a JSONL file; a torn last line (a killed writer's) is left out.

    Whole means ended by a line feed: one that only lacks it is torn too, since the next writer cuts it off.
    """
    if not path.exists():
        return []
    rows: list[dict[str, Any]] = []
    for number, line in enumerate(path.read_bytes().split(b"\n")[:-1], 1):
        if line:
            rows.append(parse_line(line, f"line {number}", path))
    return rows


def parse_line(line: bytes, which: str, path: Path) -> dict[str, Any]:
    """The JSON object of one line; StoreError, naming `which` line of the file, for anything else."""
    try:
        row = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise StoreError(f"{which} of {path.name} cannot be read: {error}") from error
    if not isinstance(row, dict):
        raise StoreError(f"{which} of {path.name} is not a JSON object", got=row)
    return row
