"""Lists of records as polars frames, one row a record."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import polars as pl
import sqlalchemy as sa

from benchgen.jobs import alive
from benchgen.models import catalogue
from benchgen.records import Benchmark, Job, Place, Run, Write
from benchgen.store import BenchmarkRow, JobRow, ModelRow, PlanRow, Row, RunRow, WriteRow
from benchgen.types import UNDER_WAY

RUN_SCHEMA: dict[str, type[pl.DataType]] = {
    "id": pl.Int64,
    "owner": pl.String,
    "created": pl.String,
    "benchmark": pl.Int64,
    "model": pl.String,
    "state": pl.String,
    **dict.fromkeys(("right", "scored", "asked"), pl.Int64),
    **dict.fromkeys(("score", "low", "high", "strict", "seconds"), pl.Float64),
}


def benchmarks(place: Place) -> pl.DataFrame:
    """id, name, state (failed: killed before it was whole), kind, questions, owner, created, link."""
    rows = place.store.all(BenchmarkRow)
    fields = ("id", "name", "state", "kind", "questions", "owner", "created")

    def more(row: BenchmarkRow) -> dict[str, Any]:
        bench = Benchmark(place, row.id)
        state = bench.state if row.state == "writing" else row.state
        return {"state": state, "link": bench.link}

    return _frame(rows, fields, more)


def writes(place: Place) -> pl.DataFrame:
    """id, state, author, model, written, wanted, benchmark (once it is made), owner, created."""

    def more(row: WriteRow) -> dict[str, Any]:
        author = row.spec["author"]
        return {
            "state": Write(place, row.id).state,
            "author": author["name"],
            "model": author["model"],
            "written": len(Write(place, row.id).written().questions),
            "wanted": row.wanted,
            "benchmark": row.benchmark_id,
        }

    return _frame(place.store.all(WriteRow), ("id", "owner", "created"), more)


def runs(place: Place) -> pl.DataFrame:
    """id, benchmark, model, state, right, scored, asked, score, low, high, strict, seconds, link.

    Read as columns and never as records: of 10,000 runs their figures alone are 30 MB.
    """
    figure = RunRow.summary
    columns = {
        "id": RunRow.id,
        "owner": RunRow.owner,
        "created": RunRow.created,
        "benchmark": RunRow.benchmark_id,
        "model": ModelRow.name,
        "state": RunRow.state,
        **{name: figure[name].as_integer() for name in ("right", "scored", "asked")},
        "score": figure["score"].as_float(),
        "low": figure[("ci", 0)].as_float(),
        "high": figure[("ci", 1)].as_float(),
        "strict": figure[("strict", "score")].as_float(),
        "seconds": RunRow.seconds,
    }
    query = sa.select(*columns.values()).join(ModelRow, ModelRow.id == RunRow.model_id)
    with place.store.read() as session:
        rows = session.execute(query.order_by(RunRow.id)).all()
    read = zip(*rows, strict=True) if rows else [()] * len(columns)
    told = dict(zip(columns, read, strict=True))
    states = zip(told["id"], told["state"], strict=True)
    told["state"] = tuple(
        "interrupted" if state in UNDER_WAY and not alive(Run(place, id).folder) else state
        for id, state in states
    )
    begin, end = Run(place, 0).link.rsplit("0", 1)
    link = pl.concat_str(pl.lit(begin), pl.col("id").cast(pl.String), pl.lit(end))
    return pl.DataFrame(told, schema=RUN_SCHEMA, strict=False).with_columns(link=link)


def models(place: Place) -> pl.DataFrame:
    """id (null = known by name, not used yet), name, kind, parent, job, seen (questions)."""
    rows = place.store.all(ModelRow)
    names = {r.id: r.name for r in rows}
    recorded = set(names.values())
    unused = [n for n in catalogue.names(place.store) if n not in recorded]
    rows += [catalogue.find(place.store, n) for n in unused]
    return _frame(
        rows,
        ("id", "name", "kind"),
        lambda r: {
            "parent": names.get(r.parent_id) if r.parent_id else None,
            "job": r.job_id,
            "seen": len(catalogue.seen_keys(place.store, r)),
        },
    )


def plans(place: Place) -> pl.DataFrame:
    """id, state, hash, job type, base model, rows, name of the model to be, owner, created."""
    return _frame(
        place.store.all(PlanRow),
        ("id", "state", "hash", "owner", "created"),
        lambda r: {
            "job_type": r.plan.get("job_type"),
            "base_model": r.plan.get("base_model"),
            "rows": (r.plan.get("dataset") or {}).get("rows"),
            "model": r.plan.get("name"),
        },
    )


def jobs(place: Place) -> pl.DataFrame:
    """id, plan, state, model (once it landed), seconds, owner, created."""
    names = {r.id: r.name for r in place.store.all(ModelRow)}
    return _frame(
        place.store.all(JobRow),
        ("id", "plan_id", "owner", "created"),
        lambda r: {
            "state": Job(place, r.id).state if r.state in UNDER_WAY else r.state,
            "model": names.get(r.model_id) if r.model_id else None,
            "seconds": r.result.get("seconds"),
        },
    )


def _frame(
    rows: Sequence[Row], fields: Sequence[str], more: Callable[[Any], dict[str, Any]]
) -> pl.DataFrame:
    table = [{**{f: getattr(r, f) for f in fields}, **more(r)} for r in rows]
    return pl.DataFrame(table, infer_schema_length=None)
