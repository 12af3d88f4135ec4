"""A real PostgreSQL server for the tests, where its binaries are: on loopback, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """The folder of initdb and pg_ctl; None where there is no server."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    told = str(found[-1]) if found else shutil.which("initdb")
    return Path(told).resolve().parent if told else None


def _as_user() -> list[str]:
    """A server does not run as root: then as the user of Debian's package."""
    return ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []


@contextmanager
def server() -> Iterator[str]:
    """URL of a running server, without a database at its end; stopped and removed afterwards."""
    place = binaries()
    assert place is not None
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    folder = Path(tempfile.mkdtemp(prefix="pg"))
    folder.chmod(0o777)
    data = folder / "data"
    try:
        _do([place / "initdb", "-D", data, "-U", "ada", "-A", "trust", "--no-sync"])
        options = f"-p {port} -k {folder} -c listen_addresses=127.0.0.1 -c fsync=off"
        _do([place / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start"])
        try:
            yield f"postgresql://ada@127.0.0.1:{port}/"
        finally:
            _do([place / "pg_ctl", "-D", data, "-m", "immediate", "stop"])
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _do(command: list[Path | str]) -> None:
    line = [*_as_user(), *map(str, command)]
    subprocess.run(line, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd="/")


def new_database(url: str) -> str:
    """URL of an empty database on that server."""
    import psycopg

    name = f"d{uuid.uuid4().hex[:12]}"
    with psycopg.connect(f"{url}postgres", autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return url + name
