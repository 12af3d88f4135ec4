"""The workspace's database: one row a benchmark, model, run, plan and job, safe for many processes at once.

SQLite in WAL mode inside the workspace by default, PostgreSQL by URL. Rows are what a record *is*;
its artefacts (questions, traces, adapters) are files beside the database whose sha256 the row holds.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column
from sqlalchemy.pool import NullPool

from benchgen.errors import InputError, NotFound, StateError, StoreError
from benchgen.types import canonical, sha256

SCHEMA = 1
BUSY_S = 30


class Base(DeclarativeBase):
    """Root of all rows: JSON for dicts and lists."""

    type_annotation_map = {dict[str, Any]: sa.JSON, list[str]: sa.JSON}


class _Owned:
    """Columns of every record. `id` is never given out twice."""

    __table_args__: Any = {"sqlite_autoincrement": True}
    id: Mapped[int] = mapped_column(primary_key=True, autoincrement=True)
    owner: Mapped[str] = mapped_column(default="")
    created: Mapped[str] = mapped_column(default=lambda: now())


class BenchmarkRow(_Owned, Base):
    """A benchmark: `draft` until published, then it never changes."""

    __tablename__ = "benchmarks"
    name: Mapped[str]
    state: Mapped[str] = mapped_column(default="draft")
    kind: Mapped[str]
    questions: Mapped[int]
    questions_sha256: Mapped[str]
    evaluation_sha256: Mapped[str]
    program_sha256: Mapped[str]
    spec: Mapped[dict[str, Any]] = mapped_column(default=dict)
    """What it was made from (the author's config) and the author's report."""


class WriteRow(_Owned, Base):
    """A benchmark being written by a model: begun, waiting, finished or failed."""

    __tablename__ = "writes"
    state: Mapped[str] = mapped_column(default="begun")
    spec: Mapped[dict[str, Any]] = mapped_column(default=dict)
    wanted: Mapped[int]
    written: Mapped[int] = mapped_column(default=0)
    benchmark_id: Mapped[int | None]
    error: Mapped[str] = mapped_column(default="")


class ModelRow(_Owned, Base):
    """A catalogue entry. `seen` holds the question keys of its own training, not its parents'."""

    __tablename__ = "models"
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    spec: Mapped[dict[str, Any]] = mapped_column(default=dict)
    fingerprint: Mapped[str] = mapped_column(default="")
    parent_id: Mapped[int | None] = mapped_column(sa.ForeignKey("models.id"))
    job_id: Mapped[int | None]
    seen: Mapped[list[str]] = mapped_column(default=list)


class RunRow(_Owned, Base):
    """One model on one benchmark: running, finished or failed."""

    __tablename__ = "runs"
    benchmark_id: Mapped[int] = mapped_column(sa.ForeignKey("benchmarks.id"))
    model_id: Mapped[int] = mapped_column(sa.ForeignKey("models.id"))
    state: Mapped[str] = mapped_column(default="running")
    settings: Mapped[dict[str, Any]] = mapped_column(default=dict)
    fingerprint: Mapped[str] = mapped_column(default="")
    summary: Mapped[dict[str, Any]] = mapped_column(default=dict)
    traces_sha256: Mapped[str] = mapped_column(default="")
    seconds: Mapped[float] = mapped_column(default=0.0)
    error: Mapped[str] = mapped_column(default="")
    finished: Mapped[str] = mapped_column(default="")


class PlanRow(_Owned, Base):
    """A plan: pending, confirmed or cancelled; confirmed once at most."""

    __tablename__ = "plans"
    state: Mapped[str] = mapped_column(default="pending")
    hash: Mapped[str]
    plan: Mapped[dict[str, Any]]
    decided: Mapped[str] = mapped_column(default="")
    decided_by: Mapped[str] = mapped_column(default="")


class JobRow(_Owned, Base):
    """A confirmed plan at work: queued, running, finished, failed or stopped."""

    __tablename__ = "jobs"
    plan_id: Mapped[int] = mapped_column(sa.ForeignKey("plans.id"), unique=True)
    state: Mapped[str] = mapped_column(default="queued")
    model_id: Mapped[int | None]
    result: Mapped[dict[str, Any]] = mapped_column(default=dict)
    error: Mapped[str] = mapped_column(default="")
    finished: Mapped[str] = mapped_column(default="")


class MetaRow(Base):
    """The schema number and other facts about the database itself."""

    __tablename__ = "meta"
    key: Mapped[str] = mapped_column(primary_key=True)
    value: Mapped[str]


Row = TypeVar("Row", BenchmarkRow, WriteRow, ModelRow, RunRow, PlanRow, JobRow)


def now() -> str:
    """UTC, ISO 8601, whole seconds."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


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
        missing = self.path is not None and not self.path.exists()
        engine = _empty_engine() if missing else self._open()
        reader = engine.execution_options(read=True)
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
        with Session(engine.execution_options(read=True)) as session:
            told = sa.inspect(session.connection()).has_table(MetaRow.__tablename__)
            found = session.get(MetaRow, "schema") if told else None
        if found is None:
            with Session(engine) as session, session.begin():
                Base.metadata.create_all(session.connection(), checkfirst=True)
                if session.get(MetaRow, "schema") is None:
                    session.add(MetaRow(key="schema", value=str(SCHEMA)))
        elif found.value != str(SCHEMA):
            raise StateError(
                f"the workspace {self.url.database} has schema {found.value}",
                got=int(found.value) if found.value.isdigit() else found.value,
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


# ------------------------------------------------------------------------------------------ files


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
    text = "".join(canonical(dict(row)) + "\n" for row in rows)
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
        if not line:
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise StoreError(f"line {number} of {path.name} cannot be read: {error}") from error
        if not isinstance(row, dict):
            raise StoreError(f"line {number} of {path.name} is not a JSON object", got=row)
        rows.append(row)
    return rows
