"""The report of a sweep: from what its jobs left, and from the runs that they made, to one page."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchgen.compare.report import write_page
from benchgen.compare.sweep import JobView, SweepView, sweep_page
from benchgen.compare.views import RunView
from benchgen.records import Place, Run
from benchgen.sweeps.folder import SweepFolder, SweepJob, settings_of

MADE = ("benchmark", "run", "plan", "job", "model", "write", "report")
"""What a verb's result may name as made, in the order told."""


def build_sweep_report(place: Place, name: str) -> Path:
    """Path of the HTML page of a sweep, with report.md, plots and their data.

    Made of stored files alone, so the same sweep gives the same bytes.
    """
    folder = place.path / "reports" / f"sweep-{name}"
    return write_page(sweep_page(sweep_view(place, name), folder), folder)


def sweep_view(place: Place, name: str) -> SweepView:
    """All that a page or a table says of a sweep; NotFound names those that were begun."""
    sweep = SweepFolder.found(place.path, name)
    known: dict[int, RunView] = {}
    spec = sweep.spec
    return SweepView(
        name=name,
        verb=spec["verb"],
        jobs=tuple(_job_view(place, job, known) for job in sweep.jobs),
        commands=(*spec["commands"], f"benchgen report sweep={name}"),
        manifest=_manifest(sweep),
    )


def _job_view(place: Place, job: SweepJob, known: dict[int, RunView]) -> JobView:
    status = job.status
    result = status.get("result") or {}
    runs = {}
    for role, id in _runs_of(result):
        if id not in known:
            known[id] = Run(place, id).view()
        runs[role] = known[id]
    trace = job.folder / "traceback.txt"
    return JobView(
        job=job.job,
        settings=settings_of(job.overrides),
        state=status["state"],
        seconds=status.get("seconds"),
        error=status.get("error", ""),
        traceback=str(trace.absolute()) if "error" in status else "",
        made=", ".join(f"{name} {result[name]}" for name in MADE if isinstance(result.get(name), int)),
        runs=runs,
    )  # fmt: skip


def _runs_of(result: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    """(role, id) of the finished runs of a verb's result: one of `run`, all of `loop`."""
    if isinstance(result.get("runs"), dict):
        yield from result["runs"].items()
    elif isinstance(result.get("run"), int) and result.get("state") == "finished":
        yield "run", result["run"]


def _manifest(sweep: SweepFolder) -> dict[str, Any]:
    """What all jobs were run with, each differing value once."""
    found: dict[str, dict[str, None]] = {}
    for manifest in (job.manifest for job in sweep.jobs):
        told = {
            k: manifest[k] for k in ("commit", "python", "platform", "device") if manifest.get(k)
        }
        for key, value in {**told, **manifest.get("versions", {})}.items():
            found.setdefault(key, {})[str(value)] = None
    return {key: " | ".join(values) for key, values in found.items()}
