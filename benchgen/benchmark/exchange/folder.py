"""Folders that travel: written whole or not at all, read without trusting a byte of them."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from benchgen.benchmark.registry import write_whole
from benchgen.errors import DataError

MAX_FILE = 32 * 2**20
"""Bytes of one file: 2,000 questions take about two mebibytes."""
MAX_PROGRAM, MAX_PROGRAM_FILES = 8 * 2**20, 500


def write_folder(folder: Path, files: Mapping[str, bytes]) -> Path:
    """The folder, new or empty before, with these files; DataError, and nothing left, if it cannot be."""
    try:
        if folder.is_symlink() or (
            folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        ):
            raise DataError(
                f"{folder} is there already", got=str(folder), allowed="a new or an empty folder"
            )
        write_whole(folder, files)
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror}", got=str(folder)) from error
    return folder


def write_file(path: Path, data: bytes) -> Path:
    """The new file; DataError, and nothing changed, if it is there already or cannot be written."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            part.write_bytes(data)
            os.link(part, path)  # fails where the name is taken, and is whole at once
        finally:
            part.unlink(missing_ok=True)
    except FileExistsError as error:
        raise DataError(f"{path} is there already", got=str(path), allowed="a new file") from error
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}", got=str(path)) from error
    return path


def open_plain(path: Path, limit: int, name: str | None = None) -> BinaryIO:
    """The file, open to be read; DataError for a folder, pipe, socket or device, or more than `limit` bytes.

    It never waits: a pipe that nobody writes to is refused like any other.
    """
    shown = path.name if name is None else name
    try:
        kind = (
            path.stat().st_mode
        )  # first: opening a socket fails, and opening a device may do something
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY) if _plain(kind) else None
    except OSError as error:
        raise DataError(
            f"{shown}: it cannot be opened: {error.strerror or error}", got=str(path)
        ) from error
    found = os.fstat(handle) if handle is not None else None
    if handle is not None and found is not None and _plain(found.st_mode):
        if found.st_size <= limit:
            return os.fdopen(handle, "rb")
        os.close(handle)
        raise DataError(
            f"{shown}: it is too large: {found.st_size / 1e6:.0f} MB",
            got=found.st_size,
            allowed=f"up to {limit // 1_000_000} MB",
        )
    if handle is not None:
        os.close(handle)
    raise DataError(
        f"{shown}: it is {_KINDS.get(stat.S_IFMT(kind), 'no plain file')}, and a file is needed",
        got=str(path),
        next="save what it holds in a file, and give that file's path",
    )


def read_plain(path: Path, limit: int, name: str | None = None) -> bytes:
    """The bytes of a file that `open_plain` opens, `limit` at most."""
    with open_plain(path, limit, name) as file:
        data = file.read(limit + 1)
    if len(data) > limit:  # it grew, or does not know its size, as files of /proc do
        raise DataError(
            f"{path.name if name is None else name}: it is too large",
            got=str(path),
            allowed=f"up to {limit // 1_000_000} MB",
        )
    return data


_KINDS = {
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


def _plain(mode: int) -> bool:
    return stat.S_ISREG(mode)


def read_inside(folder: Path, name: str, limit: int = MAX_FILE) -> bytes:
    """The bytes of a plain file of the folder; DataError for a link, a device, or more than `limit`."""
    _check_no_link(folder, name)
    try:
        handle = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(handle, "rb") as file:
            found = os.fstat(handle)
            fits = stat.S_ISREG(found.st_mode) and found.st_size <= limit
            data = file.read(limit + 1) if fits else b""
    except OSError as error:
        raise DataError(
            f"{folder.name}: {name} cannot be read: {error.strerror}", got=str(folder)
        ) from error
    if not fits or len(data) > limit:
        raise DataError(
            f"{folder.name}: {name} is no plain file, or too large",
            got=name,
            allowed=f"up to {limit} bytes",
        )
    return data


def read_sources(folder: Path, name: str) -> dict[str, bytes]:
    """{relative POSIX name: bytes} of the Python files in a folder of the folder; they are not run."""
    top = folder / name
    found: list[str] = []
    _check_no_link(folder, name)
    for place, folders, files in os.walk(top):
        folders[:] = sorted(each for each in folders if each != "__pycache__")
        inside = Path(place).relative_to(top)
        found += [(inside / each).as_posix() for each in files if each.endswith(".py")]
        if len(found) > MAX_PROGRAM_FILES or len(inside.parts) > 8:
            raise DataError(
                f"{folder.name}: {name} holds too many files",
                allowed=f"up to {MAX_PROGRAM_FILES} files, 8 folders deep",
            )
    sources: dict[str, bytes] = {}
    left = MAX_PROGRAM
    for each in sorted(found):
        sources[each] = read_inside(folder, f"{name}/{each}", left)
        left -= len(sources[each])
    return sources


def _check_no_link(folder: Path, name: str) -> None:
    path = folder
    for part in PurePosixPath(name).parts:
        path /= part
        if path.is_symlink():
            raise DataError(f"{folder.name}: {name} leads out by a link", got=str(path))
