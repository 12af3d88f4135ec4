"""The database: short transactions, safe for many processes at once.

SQLite in WAL mode inside the workspace by default, PostgreSQL by URL.
"""

from __future__ import annotations

import os
import threading
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy.orm import Session

from benchgen.errors import ConfigError, InputError, NotFound, StateError
from benchgen.store.engines import empty_engine, engine, lying_engine
from benchgen.store.files import make_folder, read_json, write_json
from benchgen.store.rows import SCHEMA, Base, MetaRow, Row

FILE = "benchgen.db"
NOTE = "database.json"
"""In the folder of a workspace whose records are in a PostgreSQL database: its URL, and the workspace's id."""
ONE_AT_A_TIME = 7_305_911
"""Key of the lock under which a server's tables are made."""


class Store:
    """A database at `url`, made on the first write; before that it reads as empty."""

    def __init__(self, url: str | Path, folder: Path | None = None) -> None:
        """`folder` is the workspace's own, noted in a database on a server so that no other one uses it."""
        self.folder = folder
        self.path = None if isinstance(url, str) and "://" in url else Path(url)
        # built from its parts: a folder's name may hold ? or #, which a URL text would cut off
        self.url = (
            sa.URL.create("sqlite", database=str(self.path)) if self.path else sa.make_url(str(url))
        )
        self._engine: sa.Engine | None = None
        self._opening = (
            threading.Lock()
        )  # threads share a store: none may see it before it has its tables

    @classmethod
    def of(cls, folder: Path, url: str | None = None, default: str | None = None) -> Self:
        """The store of the workspace in that folder: SQLite inside it, or the server it was begun with.

        `url` (postgresql://user@host/database) begins one on a server, `default` too, but only a new one.
        ConfigError for a URL that is none of PostgreSQL, holds a password, or is not the workspace's own.
        """
        noted = read_json(folder / NOTE)["url"] if (folder / NOTE).exists() else None
        given = url or noted or (None if (folder / FILE).exists() else default)
        if given is None:
            return cls(folder / FILE)
        here = _server(given)
        begun = noted or ((folder / FILE).exists() and f"{FILE} in {folder}")
        if url is not None and begun and begun != here:
            raise ConfigError(
                "the workspace keeps its records elsewhere",
                got=here,
                allowed=begun,
                next="workspace=PATH of another",
            )
        return cls(here, folder)

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
        if self._engine is not None:
            return self._engine
        if self.path is None:
            found = engine(self.url)
            return self._open() if self._found_schema(found) else empty_engine()
        if not self.path.exists():
            return empty_engine()
        if not os.access(self.path.parent, os.W_OK):
            lying = lying_engine(self.path)
            self._check_schema(self._found_schema(lying))
            return lying
        return self._open()

    def _open(self) -> sa.Engine:
        with self._opening:
            if self._engine is None:
                if self.path is not None:
                    make_folder(self.path.parent)
                found = engine(self.url)
                try:
                    self._prepare(found)
                except sa.exc.DatabaseError as error:
                    raise self._unwritable(error) from error
                self._engine = found
            return self._engine

    def _prepare(self, found: sa.Engine) -> None:
        """Make the tables, or check that this release knows the schema found."""
        schema = self._found_schema(found)
        if schema is None:
            with Session(found) as session, session.begin():
                if self.path is None:  # two that make the same table at once: one of them fails
                    lock = sa.select(sa.func.pg_advisory_xact_lock(ONE_AT_A_TIME))
                    session.execute(lock)
                Base.metadata.create_all(session.connection(), checkfirst=True)
                if session.get(MetaRow, "schema") is None:
                    session.add(MetaRow(key="schema", value=str(SCHEMA)))
        self._check_schema(schema)
        if self.folder is not None:
            self._join(found, self.folder)

    def _join(self, found: sa.Engine, folder: Path) -> None:
        """Note the workspace in the database, and the database in the workspace; StateError for another's."""
        note = make_folder(folder) / NOTE
        with Session(found) as session, session.begin():
            session.execute(sa.select(sa.func.pg_advisory_xact_lock(ONE_AT_A_TIME)))
            told = session.get(MetaRow, "workspace")
            noted = read_json(note)["workspace"] if note.exists() else None
            if told is not None and told.value != noted:
                raise StateError(
                    "that database holds the records of a workspace in another folder",
                    got=self.url.render_as_string(),
                    next="database=URL of an empty one, or workspace=PATH of the folder it belongs to",
                )
            if told is None:
                noted = noted or uuid.uuid4().hex
                session.add(MetaRow(key="workspace", value=noted))
                write_json(note, {"url": self.url.render_as_string(), "workspace": noted})

    @staticmethod
    def _found_schema(found: sa.Engine) -> str | None:
        with Session(found.execution_options(read=True)) as session:
            told = sa.inspect(session.connection()).has_table(MetaRow.__tablename__)
            schema = session.get(MetaRow, "schema") if told else None
            return schema.value if schema is not None else None

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
        if self.path is None:
            return InputError(
                f"the workspace database cannot be used: {reason}",
                got=self.url.render_as_string(),
                allowed="a PostgreSQL server that is up and lets you in",
                next="PGPASSWORD or ~/.pgpass for its password; psql with the same URL shows whether it is up",
            )
        return InputError(
            f"the workspace database cannot be used: {reason}",
            got=str(self.path),
            allowed="a folder that you may write to",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        )


def _server(url: str) -> str:
    """The URL of a PostgreSQL database as it is noted; ConfigError for any other, or one with a password."""
    try:
        read = sa.make_url(url)
    except sa.exc.ArgumentError:
        read = sa.URL.create("no URL")
    if read.get_backend_name() != "postgresql":
        raise ConfigError(
            "a workspace's records are in SQLite, inside it, or in a PostgreSQL database",
            got=read.drivername,
            allowed="postgresql://USER@HOST/DATABASE",
            next="leave database out for SQLite",
        )
    if read.password is not None:
        raise ConfigError(
            "a password does not belong in a config",
            got=read.render_as_string(hide_password=True),
            next="PGPASSWORD or ~/.pgpass, and the URL without it",
        )
    return read.set(drivername="postgresql+psycopg").render_as_string()
