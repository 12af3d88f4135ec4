"""A sweep as Python has it: its jobs, scores and differences as tables, and its report."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from benchgen.compare.markup import to_notebook
from benchgen.compare.sweep import JobView, difference_rows, score_rows, sweep_page, varied
from benchgen.records import Place
from benchgen.sweeps.folder import SweepFolder
from benchgen.sweeps.report import build_sweep_report, sweep_view


class Sweep:
    """A sweep that was begun, by its name. Its files are read when asked for, so it is never stale."""

    def __init__(self, place: Place, name: str) -> None:
        SweepFolder.found(place.path, name)
        self.place, self.name = place, name

    def __repr__(self) -> str:
        return f"<Sweep {self.name}>"

    def _repr_html_(self) -> str:
        return to_notebook(sweep_page(sweep_view(self.place, self.name), Path.cwd()))

    def table(self) -> pl.DataFrame:
        """One row a job: the settings in which jobs differ, state, seconds, runs with their scores, error.

        Runs and scores of a `loop` stand in columns by what they are in it: `trained_run`, `trained_score` …
        """
        jobs = sweep_view(self.place, self.name).jobs
        names = varied(jobs)
        roles = list(dict.fromkeys(role for job in jobs for role in job.runs))
        rows = [_row(job, names, roles) for job in jobs]
        return pl.DataFrame(rows, infer_schema_length=None)

    def scores(self) -> pl.DataFrame:
        """One row a combination (a job's settings without its seed): mean score, interval, SD over seeds."""
        rows = score_rows(sweep_view(self.place, self.name))
        return pl.DataFrame(rows, infer_schema_length=None)

    def differences(self) -> pl.DataFrame:
        """One row a combination against the first one: paired difference, interval, p, verdict."""
        rows = difference_rows(sweep_view(self.place, self.name))
        return pl.DataFrame(rows, infer_schema_length=None)

    def report(self) -> Path:
        """Path of its HTML page; report.md, plots and their data lie beside it. Twice the same bytes."""
        return build_sweep_report(self.place, self.name)


def _row(job: JobView, names: list[str], roles: list[str]) -> dict[str, object]:
    told: dict[str, object] = {"job": job.job}
    told |= {name: job.settings.get(name) for name in names}
    told |= {"state": job.state, "seconds": job.seconds}
    for role in roles:
        before, run = "" if role == "run" else f"{role}_", job.runs.get(role)
        told[f"{before}run"] = run.run_id if run else None
        told[f"{before}score"] = run.figures["score"] if run else None
    return told | {"error": job.error or None, "traceback": job.traceback or None}
