"""How a database is reached: SQLite in WAL mode, SQLite as it lies, PostgreSQL."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.pool import NullPool

from benchgen.store.rows import Base

BUSY_S = 30


def engine(url: sa.URL) -> sa.Engine:
    """For reading and writing; a transaction with the execution option `read` sees one state of all records."""
    return _sqlite(url) if url.get_backend_name() == "sqlite" else _postgresql(url)


def _postgresql(url: sa.URL) -> sa.Engine:
    made = sa.create_engine(
        url, poolclass=NullPool
    )  # many processes: none holds what it does not use

    @sa.event.listens_for(made, "begin")
    def _begin(connection: sa.Connection) -> None:
        if connection.get_execution_options().get("read", False):
            connection.exec_driver_sql("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")

    return made


def _sqlite(url: sa.URL) -> sa.Engine:
    engine = sa.create_engine(url, poolclass=NullPool)

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None  # SQLAlchemy, not the driver, says BEGIN
        for pragma in (f"busy_timeout={BUSY_S * 1000}", "journal_mode=WAL", "foreign_keys=ON"):
            connection.execute(f"PRAGMA {pragma}")

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        # IMMEDIATE: a writer waits for its turn here, not with "database is locked" at its first write
        reading = connection.get_execution_options().get("read", False)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")

    return engine


def empty_engine() -> sa.Engine:
    """A database without records, for those who look before there is one."""
    engine = sa.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    return engine


def lying_engine(path: Path) -> sa.Engine:
    """The database in a folder that cannot be written to, where SQLite can make no files of its own.

    Without a log of changes beside it, nobody is writing: it may be read as it lies.
    """
    log = path.with_name(f"{path.name}-wal")
    still = "&immutable=1" if not log.exists() or not log.stat().st_size else ""
    address = f"file:{quote(str(path))}?mode=ro{still}"
    engine = sa.create_engine(
        "sqlite://", poolclass=NullPool, creator=lambda: sqlite3.connect(address, uri=True)
    )

    @sa.event.listens_for(engine, "connect")
    def _connect(connection: Any, _: Any) -> None:
        connection.isolation_level = None

    @sa.event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    return engine
