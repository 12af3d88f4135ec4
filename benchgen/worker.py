"""The process of a job: `python -m benchgen.worker WORKSPACE JOB_ID`.

It checks that what it is about to run is what was confirmed, waits for the device, trains, and records
the model. Killed at any moment it leaves a job that `resume` takes up at the last checkpoint.
"""

from __future__ import annotations

import dataclasses
import os
import sys
import time
import traceback
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen import jobs
from benchgen.errors import BenchgenError, StateError, TrainingError
from benchgen.models import (
    catalogue,
    import_once,
    leave_out,
    quiet_libraries,
    without_gpu_libraries,
)
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.plan import gate
from benchgen.records import Job, PlanRecord
from benchgen.stages import cards, held_out, merging, publishing
from benchgen.store import JobRow, ModelRow, PlanRow, cut_torn_line, file_sha256, now
from benchgen.tracking import tracking
from benchgen.train import ranks
from benchgen.types import UNDER_WAY, Plan, json_line, sha256
from benchgen.workspace import Workspace

if TYPE_CHECKING:
    from benchgen.train.grpo import GRPOOutcome
    from benchgen.train.job import TrainOutcome


def main(argv: list[str]) -> int:
    """0 when the job finished; 1 when it failed, with the reason in its record and log."""
    workspace, job_id = Workspace(argv[0]), int(argv[1])
    job = workspace.job(job_id)
    device = workspace.store.get(PlanRow, job.row.plan_id).plan.get("device") or {}
    if device.get("processes", 1) > 1 and ranks.MARK not in os.environ:
        ranks.become(device["processes"], device["kind"], "benchgen.worker", argv)
    if ranks.rank() > 0:
        return follow(workspace, job)
    with jobs.record_lock(job.folder), jobs.beating(job.folder):
        if job.row.state not in UNDER_WAY:
            print(f"job {job.id} is {job.row.state}: nothing to do", flush=True)
            return 0
        try:
            work(workspace, job)
            return 0
        except Exception as error:  # noqa: BLE001 - whatever it is, the record must say so
            if not isinstance(error, BenchgenError):
                traceback.print_exc()
            print(f"failed: {error}", flush=True)
            workspace.store.change(
                JobRow, job.id, state="failed", error=str(error)[:1000], finished=now()
            )
            return 1


def follow(workspace: Workspace, job: Job) -> int:
    """0 once this process has trained along with the first one, which alone keeps the record."""
    while job.row.state == "queued":  # the first one waits for the device
        time.sleep(1)
    if job.row.state != "running":
        return 0
    try:
        plan, rows = checked(workspace, PlanRecord(workspace.place, job.row.plan_id))
        train(workspace, plan, rows, job.folder)
    except ranks.FollowedError:
        return 0
    except Exception as error:  # noqa: BLE001 - the first process fails with it, and records why
        print(f"process {ranks.rank()} failed: {error}", flush=True)
        return 1
    return 0


def work(workspace: Workspace, job: Job) -> None:
    """Do what the job's plan says: train or merge and land the model, or take one to the hub."""
    record = PlanRecord(workspace.place, job.row.plan_id)
    if record.plan.job_type == "publish":  # no device, no rows
        workspace.store.change(JobRow, job.id, state="running")
        publishing.finish(
            workspace.place, job, publishing.run(workspace.place, record.plan, job, _say)
        )
        return
    plan, rows = checked(workspace, record)
    with jobs.device_lock(plan.device["kind"], on_wait=lambda: print("waiting for the device")):
        workspace.store.change(JobRow, job.id, state="running")
        if plan.job_type == "merge":
            without_gpu_libraries()
            outcome = merging.run(workspace.place, plan, job, _say)
        else:
            if ranks.world() > 1:
                _say(f"training in {ranks.world()} processes")
            outcome = train(workspace, plan, rows, job.folder)
    if plan.job_type == "merge":
        merging.land(workspace.place, job, plan, outcome)
    else:
        land(workspace, job, plan, outcome)


def checked(workspace: Workspace, record: PlanRecord) -> tuple[Plan, list[dict[str, Any]]]:
    """The confirmed plan and its rows; StateError if plan, rows or base changed since."""
    plan = gate.load(workspace.store.get(PlanRow, record.id))
    rows = record.rows()
    if sha256(rows) != plan.dataset["sha256"]:
        raise StateError("the training rows changed since the plan was made", next="plan again")
    base = catalogue.find(workspace.store, plan.base["name"])
    folder, shown = catalogue.local_folder(base, workspace.path), plan.base["fingerprint"]
    if folder and shown and weights_fingerprint(folder) != shown:
        raise StateError("the base model changed since the plan was made", next="plan again")
    adapter = earlier(workspace, plan)
    if adapter and weights_fingerprint(adapter) != plan.base["adapter"]["fingerprint"]:
        raise StateError("the adapter changed since the plan was made", next="plan again")
    return plan, rows


def earlier(workspace: Workspace, plan: Plan) -> Path | None:
    """The folder of the adapter that the plan starts from, whole and unchanged; None where it starts anew."""
    if "adapter" not in plan.base:
        return None
    row = catalogue.find(workspace.store, plan.base["adapter"]["name"])
    return catalogue.adapter_folder(row, workspace.path)


def train(
    workspace: Workspace, plan: Plan, rows: list[dict[str, Any]], folder: Path
) -> dict[str, Any]:
    """The trainer's outcome; the adapter lies in the job's folder afterwards."""
    import_libraries(plan)
    base = catalogue.find(workspace.store, plan.base["name"])
    trained = _rewarded if plan.job_type == "grpo" else _supervised
    leads = ranks.rank() == 0
    metrics = folder / "metrics.jsonl"
    if leads:
        cut_torn_line(metrics)  # a killed worker's
    with (
        metrics.open("a", encoding="utf-8") if leads else nullcontext() as file,
        tracking(plan.tracking if leads else {}, folder, plan.to_dict(), _say) as tracker,
    ):

        def write(row: dict[str, Any]) -> None:
            if file is None:
                return
            file.write(json_line(row))
            file.flush()
            tracker.log(row)
            _say(_step_words(row))

        outcome = trained(
            workspace,
            plan,
            rows,
            base=catalogue.weights(base, workspace.path),
            out=folder,
            trainer=plan.device["trainer"],
            device=plan.device["kind"],
            dtype=plan.device["dtype"],
            revision=plan.base["revision"],
            base_id=plan.base_model,
            adapter=earlier(workspace, plan),
            on_metrics=write,
            resume=True,
        )
        about = {"base_model": plan.base_model, "dataset": plan.dataset, "plan": plan.hash}
        tracker.artifact(plan.name, "adapter", Path(outcome.adapter_path), about)
    return outcome.to_dict()


def import_libraries(plan: Plan) -> None:
    """None. All that the training needs is imported."""
    quiet_libraries()
    if plan.tracking.get("name", "none") == "none":
        leave_out("wandb")  # trl imports it wherever it is installed
    if plan.device["trainer"] == "unsloth":
        import_once("unsloth")  # must come before trl, transformers and peft
    else:
        without_gpu_libraries()
    import_once(f"trl.trainer.{'grpo' if plan.job_type == 'grpo' else 'sft'}_trainer")


def _held_out(workspace: Workspace, plan: Plan) -> Any:
    """The questions asked on the way, if the plan has any."""
    asked = plan.dataset.get("held_out")
    if not asked:
        return None
    from benchgen.models.engine.load import pick_device
    from benchgen.models.local import LocalModel
    from benchgen.train.job import HeldOut

    device = pick_device(plan.device["kind"], plan.device["dtype"])

    def serve(model: Any, tokenizer: Any) -> LocalModel:
        return LocalModel.of(model, tokenizer, device, name=plan.name)

    evaluate = held_out.evaluator(workspace.place, asked, serve)
    return HeldOut(evaluate, asked["every"], asked["patience"])


def _step_words(row: dict[str, Any]) -> str:
    if "held_out_score" in row:
        return f"step {row['step']}: {row['held_out_right']} of {row['held_out_scored']} held-out"
    name = "reward" if "reward" in row else "loss"
    value = row.get(name)
    return f"step {row['step']}: {name} {'not measured' if value is None else f'{value:.4f}'}"


def _supervised(
    workspace: Workspace, plan: Plan, rows: list[dict[str, Any]], **told: Any
) -> TrainOutcome:
    from benchgen.train.settings import SFTSettings
    from benchgen.train.sft import train_lora

    settings = SFTSettings(**plan.hyperparameters)
    return train_lora(rows=rows, settings=settings, held_out=_held_out(workspace, plan), **told)


def _rewarded(
    workspace: Workspace, plan: Plan, rows: list[dict[str, Any]], **told: Any
) -> GRPOOutcome:
    from benchgen.stages import rewarding
    from benchgen.train.grpo import train_grpo
    from benchgen.train.grpo_settings import GRPOSettings
    from benchgen.train.settings import SFTSettings

    bench = rewarding.checked_benchmark(workspace.place, plan.dataset)
    given = plan.hyperparameters
    own = {f.name: given[f.name] for f in dataclasses.fields(GRPOSettings)}
    shared = {f.name: given[f.name] for f in dataclasses.fields(SFTSettings) if f.name in given}
    return train_grpo(
        rows=rows,
        judge=rewarding.judge(rows, bench.scorer()),
        settings=SFTSettings(**shared),
        grpo=GRPOSettings(**own),
        stop=bench.evaluation.stop,
        **told,
    )


def _say(line: str) -> None:
    print(line, flush=True)


def land(workspace: Workspace, job: Job, plan: Plan, outcome: dict[str, Any]) -> None:
    """Record the adapter as a model of the catalogue, and the job as finished, in one transaction."""
    store = workspace.store
    started = plan.base.get("adapter", plan.base)["name"]
    parent = catalogue.record(store, catalogue.find(store, started), workspace.user)
    adapter = Path(outcome["adapter_path"])
    if not (adapter / "adapter_config.json").exists():
        raise TrainingError("training ended without an adapter")
    model = ModelRow(
        owner=workspace.user,
        name=plan.name,
        kind="adapter",
        spec={
            "adapter": str(adapter.relative_to(workspace.path)),
            "adapter_sha256": outcome["adapter_sha256"],
        },
        parent_id=parent.id,
        job_id=job.id,
        seen=list(plan.seen),
    )
    metrics = job.folder / "metrics.jsonl"
    outcome = {**outcome, "adapter_path": model.spec["adapter"]}
    outcome["metrics_sha256"] = file_sha256(metrics) if metrics.exists() else ""
    if not plan.base["fingerprint"]:  # fetched by this training: what a merge has to find again
        base = catalogue.local_folder(catalogue.base_of(store, parent), workspace.path)
        outcome["base_fingerprint"] = weights_fingerprint(base) if base else ""
    with store.write() as session:
        session.add(model)
        session.flush()
        row = session.get_one(JobRow, job.id)
        row.state, row.model_id, row.result, row.finished = "finished", model.id, outcome, now()
    cards.keep(workspace.place, model)
    print(f"model {model.name} is in the catalogue", flush=True)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
