"""The database: short transactions, safe for many processes at once.

SQLite in WAL mode inside the workspace by default, PostgreSQL by URL.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import quote

import sqlalchemy as sa
from sqlalchemy.orm import Session
from sqlalchemy.pool import NullPool

from benchgen.errors import InputError, NotFound, StateError
from benchgen.store.files import make_folder
from benchgen.store.rows import SCHEMA, Base, MetaRow, Row

BUSY_S = 30


class Store:
    """A database at `url`, made on the first write; before that it reads as empty."""

    def __init__(self, url: str | Path) -> None:
        self.path = None if isinstance(url, str) and "://" in url else Path(url)
        # built from its parts: a folder's name may hold ? or #, which a URL text would cut off
        self.url = (
            sa.URL.create("sqlite", database=str(self.path)) if self.path else sa.make_url(str(url))
        )
        self._engine: sa.Engine | None = None
        self._opening = (
            threading.Lock()
        )  # threads share a store: none may see it before it has its tables

    @contextmanager
    def write(self) -> Iterator[Session]:
        """One transaction that may write; committed at the end, rolled back on an error."""
        try:
            with Session(self._open(), expire_on_commit=False) as session, session.begin():
                yield session
        except sa.exc.OperationalError as error:
            raise self._unwritable(error) from error

    @contextmanager
    def read(self) -> Iterator[Session]:
        """One consistent view of all records; nothing is written, nor is the database made."""
        reader = self._reader().execution_options(read=True)
        try:
            with Session(reader, expire_on_commit=False) as session, session.begin():
                yield session
        except sa.exc.OperationalError as error:
            raise self._unwritable(error) from error

    def add(self, row: Row) -> Row:
        """The row with the id it was given."""
        with self.write() as session:
            session.add(row)
            session.flush()
        return row

    def get(self, table: type[Row], id: int) -> Row:
        """The record with this id; NotFound names the ids there are."""
        with self.read() as session:
            row = session.get(table, id) if abs(id) < 2**63 else None  # what a column can hold
            known = [] if row else list(session.scalars(sa.select(table.id)))
        if row is None:
            what = table.__tablename__[:-1]
            raise NotFound(
                f"there is no {what} {id} in this workspace",
                got=id,
                allowed=known[-20:] if known else None,
                next=f"benchgen {table.__tablename__} lists them",
            )
        return row

    def all(self, table: type[Row], *where: sa.ColumnElement[bool]) -> list[Row]:
        """All records of a kind that meet the conditions, oldest first."""
        with self.read() as session:
            return list(session.scalars(sa.select(table).where(*where).order_by(table.id)))

    def change(self, table: type[Row], id: int, expect: str | None = None, **values: Any) -> None:
        """Set columns of one record, only if its state is still `expect`; else StateError."""
        query = sa.update(table).where(table.id == id).values(**values)
        if expect is not None:
            query = query.where(table.__table__.c.state == expect)
        with self.write() as session:
            changed = session.execute(query).rowcount  # type: ignore[attr-defined]
        if not changed:
            state = getattr(self.get(table, id), "state", None)
            what = table.__tablename__[:-1]
            raise StateError(f"{what} {id} is {state}", got=state, allowed=[expect])

    def _reader(self) -> sa.Engine:
        """The database as it can be read: empty where there is none, as it lies where nobody may write."""
        if self.path is not None and self._engine is None:
            if not self.path.exists():
                return _empty_engine()
            if not os.access(self.path.parent, os.W_OK):
                engine = _lying_engine(self.path)
                self._check_schema(self._found_schema(engine))
                return engine
        return self._open()

    def _open(self) -> sa.Engine:
        with self._opening:
            if self._engine is None:
                if self.path is not None:
                    make_folder(self.path.parent)
                engine = _engine(self.url)
                try:
                    self._prepare(engine)
                except sa.exc.DatabaseError as error:
                    raise self._unwritable(error) from error
                self._engine = engine
            return self._engine

    def _prepare(self, engine: sa.Engine) -> None:
        """Make the tables, or check that this release knows the schema found."""
        found = self._found_schema(engine)
        if found is None:
            with Session(engine) as session, session.begin():
                Base.metadata.create_all(session.connection(), checkfirst=True)
                if session.get(MetaRow, "schema") is None:
                    session.add(MetaRow(key="schema", value=str(SCHEMA)))
        self._check_schema(found)

    @staticmethod
    def _found_schema(engine: sa.Engine) -> str | None:
        with Session(engine.execution_options(read=True)) as session:
            told = sa.inspect(session.connection()).has_table(MetaRow.__tablename__)
            found = session.get(MetaRow, "schema") if told else None
            return found.value if found is not None else None

    def _check_schema(self, found: str | None) -> None:
        if found not in (None, str(SCHEMA)):
            raise StateError(
                f"the workspace {self.url.database} has schema {found}",
                got=int(found) if found.isdigit() else found,
                allowed=[SCHEMA],
                next="use the release of benchgen that made it, or another workspace",
            )

    def _unwritable(self, error: Exception) -> InputError:
        reason = str(getattr(error, "orig", error))
        return InputError(
            f"the workspace database cannot be used: {reason}",
            got=str(self.path or self.url.render_as_string(hide_password=True)),
            allowed="a folder that you may write to",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        )


def _engine(url: sa.URL) -> sa.Engine:
    if url.get_backend_name() != "sqlite":
        return sa.create_engine(url)
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


def _empty_engine() -> sa.Engine:
    engine = sa.create_engine("sqlite://")
    Base.metadata.create_all(engine)
    return engine


def _lying_engine(path: Path) -> sa.Engine:
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
