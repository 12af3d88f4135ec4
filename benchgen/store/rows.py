"""The tables: one row a benchmark, writing, model, run, plan and job."""

from __future__ import annotations

import datetime
from typing import Any, TypeVar

import sqlalchemy as sa
from sqlalchemy.orm import DeclarativeBase, Mapped, mapped_column

SCHEMA = 1


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
    """One model on one benchmark: queued (in a process of its own), running, finished or failed."""

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
