"""Trainings as records and files without training, for what is planned on top; and trainings in this process."""

from __future__ import annotations

import json
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import save_file

from benchgen import jobs, worker
from benchgen.models import catalogue
from benchgen.plan import gate
from benchgen.records import Job, PlanRecord
from benchgen.store import JobRow, ModelRow, file_sha256
from benchgen.workspace import Workspace

ROWS = [{"prompt": f"Number {i}?", "completion": f"It is {i}."} for i in range(1, 9)]


def dataset(folder: Path) -> Path:
    """A training file of 8 rows."""
    file = folder / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    return file


def planned(ws: Workspace, base: Path, **settings: Any) -> PlanRecord:
    """A plan of a LoRA training of that base."""
    file = dataset(base.parent)
    return ws.plan("lora", dataset=file, base_model=str(base), **settings)


def finished(ws: Workspace, record: PlanRecord, seen: list[str] | None = None) -> Job:
    """A finished job of that plan, whose adapter has the right shape and arbitrary weights."""
    plan, settings = record.plan, record.plan.hyperparameters
    job = gate.decide(ws.store, record.id, "yes", "test")
    folder = ws.path / "jobs" / str(job.id) / "adapter"
    folder.mkdir(parents=True)
    config = {
        "peft_type": "LORA",
        "r": settings["r"],
        "lora_alpha": settings["alpha"],
        "lora_dropout": settings["dropout"],
        "target_modules": ["q_proj"],
        "base_model_name_or_path": plan.base_model,
    }
    (folder / "adapter_config.json").write_text(json.dumps(config))
    file = folder / "adapter_model.safetensors"
    save_file({"a.lora_A.weight": np.full((settings["r"], 8), job.id, np.float32)}, file)
    base = catalogue.record(ws.store, catalogue.find(ws.store, plan.base["name"]), "test")
    row = ws.store.add(
        ModelRow(
            name=plan.name,
            kind="adapter",
            spec={"adapter": f"jobs/{job.id}/adapter", "adapter_sha256": file_sha256(file)},
            parent_id=base.id,
            job_id=job.id,
            seen=seen or [],
        )
    )
    ws.store.change(JobRow, job.id, state="finished", model_id=row.id)
    return ws.job(job.id)


def begun(ws: Workspace, record: PlanRecord) -> Job:
    """The job of that plan, confirmed, with no process that works on it."""
    job = Job(ws.place, gate.decide(ws.store, record.id, "yes", "test").id)
    job.folder.mkdir(parents=True)
    return job


def worked(ws: Workspace, record: PlanRecord) -> Job:
    """The finished job of a plan, its work done in this process, where what goes wrong is raised."""
    job = begun(ws, record)
    worker.work(ws, job)
    return job


def ended(ws: Workspace, record: PlanRecord) -> Job:
    """The job of a plan, done in this process as a worker does it: it may have failed, and has a log."""
    job = begun(ws, record)
    with (job.folder / jobs.LOG).open("a") as log, redirect_stdout(log):
        worker.main([str(ws.path), str(job.id)])
    return job
