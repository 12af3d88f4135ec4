"""The facade: everything a person can do, by Python, chat or command line, on one folder of records.

ws = benchgen.Workspace("workspace")
bench = ws.create(ws.author("solar_system_basics")); bench.publish()
run = ws.run(bench, "smollm2_135m")
plan = ws.plan("from_run", run=run, mode="failures"); job = ws.confirm(plan, "yes"); job.wait()

What each of them does stands in `benchgen.stages`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from benchgen import config, lists
from benchgen.author.write import Draft
from benchgen.compare.paired import compare_runs
from benchgen.compare.views import Comparison
from benchgen.errors import InputError
from benchgen.models import catalogue
from benchgen.plan.preflight import Preflight
from benchgen.records import Benchmark, Convert, Job, Model, Place, PlanRecord, Run, Write
from benchgen.reports import build_report
from benchgen.run import runner
from benchgen.stages import exchange, merging, planning, publishing, rewarding, running, writing
from benchgen.stages.freezing import freeze
from benchgen.store import Store
from benchgen.sweeps.table import Sweep
from benchgen.verifying import Verification, verify


class Workspace:
    """A folder of benchmarks, runs, models, plans and jobs; made when the first of them is."""

    writer: str | None = None
    """The model that writes questions for the agent; None = agent.writer of the config."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        user: str | None = None,
        on_convert: Convert | None = None,
        permissions: config.PermissionsConfig | None = None,
        database: str | None = None,
    ) -> None:
        """`path` as given, else BENCHGEN_WORKSPACE, else ./workspace.

        Its records are in SQLite inside it, or in the PostgreSQL database that it was begun with: `database`
        (a URL), or BENCHGEN_DATABASE.

        `on_convert(what, done, total)` is told how the embedded model's first conversion goes.
        `permissions` are what the user may do, else those of conf/: what is not among them is refused
        with NotAllowed, whichever front end asks.
        """
        found = path or os.environ.get("BENCHGEN_WORKSPACE") or "workspace"
        self.path = here(found)
        self.user = user or config.user_name()
        self.store = Store.of(self.path, database, os.environ.get("BENCHGEN_DATABASE"))
        self.place = Place(self.path, self.store, self.user, on_convert, permissions=permissions)

    def allow(self, action: str) -> None:
        """Nothing; NotAllowed where this user may not train, publish, ask an `endpoint`, or push."""
        self.place.allow(action)

    # -------------------------------------------------------------------------------- benchmarks

    def author(self, what: str | Path | pl.DataFrame | config.BenchmarkConfig) -> Draft:
        """Checked questions that are not yet a benchmark.

        `what`: the name of a config of conf/benchmark/, a file of questions, a table of facts, or a
        config. Authors that ask a model write all of it, part by part, before this returns.
        """
        return writing.author(self.place, what)

    def sibling(self, benchmark: Benchmark | int, count: int | None = None) -> Draft:
        """Questions of the same make as a benchmark's, none of them in any benchmark of this workspace."""
        return writing.sibling(self.place, benchmark, count)

    def create(self, draft: Draft) -> Benchmark:
        """A benchmark in state draft, with the scoring program and evaluation frozen into it."""
        return freeze(self.place, draft)

    def benchmark(self, id: int) -> Benchmark:
        """The benchmark with this id."""
        return Benchmark.of(self.place, id)

    def begin(self, spec: config.BenchmarkConfig) -> Write:
        """A writing by a model, recorded and not yet begun; ConfigError where the config cannot be met."""
        return writing.begin(self.place, spec)

    def go_on(
        self,
        write: Write | int,
        *,
        limit: int | None = None,
        hardware: config.HardwareConfig | None = None,
        progress: runner.Progress | None = None,
    ) -> Write:
        """The writing, some parts further: `limit` questions (None = all that are left).

        When all are written, a blind solve flags the keys it disputes. ModelError, with all that was
        written kept, where the model does not answer or gives nothing usable.
        """
        return writing.go_on(self.place, write, limit=limit, hardware=hardware, progress=progress)

    def go_on_in_background(self, write: Write | int) -> Write:
        """The writing, handed to a process of its own that writes all that is left and makes the benchmark."""
        return writing.go_on_in_background(self.place, write)

    def created(self, write: Write) -> Benchmark:
        """The benchmark of a finished writing: made now, or the one made before."""
        return writing.created(self.place, write)

    def get_write(self, id: int) -> Write:
        """The writing with this id."""
        return Write.of(self.place, id)

    def export(self, benchmark: Benchmark | int, path: str | Path, form: str = "codabench") -> Path:
        """Path of what was written: a Codabench bundle (a zip), or a folder of another form.

        `form` is codabench, inspect, lm_eval or hf. DataError if something is there already or a tool
        would have to run a scoring program that is not ours.
        """
        return exchange.export(self.place, benchmark, path, form)

    def export_run(self, run: Run | int, path: str | Path) -> Path:
        """Path of the run written as a log of Inspect AI."""
        return exchange.export_run(self.place, run, path)

    def export_dataset(
        self, table: pl.DataFrame, path: str | Path, form: str, name: str = ""
    ) -> Path:
        """Path of a run dataset written as a new file: jsonl, csv, parquet, or a Hugging Face folder (hf)."""
        return exchange.export_dataset(self.place, table, path, form, name)

    def import_bundle(self, path: str | Path) -> Benchmark:
        """A draft made of a Codabench bundle, or of a folder that `export` wrote in another form.

        No line of its scoring program is run. A program that is a released one, or that this workspace
        froze, stays the benchmark's own. Any other is kept as it is, goes out again on export, and the
        newest program scores instead. DataError where a question does not accept its own worked answer.
        """
        return exchange.import_bundle(self.place, path)

    # ------------------------------------------------------------------------------------- runs

    def model(self, option: config.ModelConfig) -> Model:
        """The catalogue's entry of a model config; an endpoint is stored under its name when first used."""
        return running.entry(self.place, option)

    def get_model(self, id: int) -> Model:
        """The model with this id."""
        return Model.of(self.place, id)

    def find_model(self, typed: str) -> tuple[Model, tuple[str, ...]]:
        """(the model that a name as typed stands for, other names that fit as well)."""
        row, others = catalogue.resolve(self.store, typed)
        return Model(self.place, catalogue.record(self.store, row, self.user).id), others

    def run(  # noqa: PLR0913 - what a run is, keywords only
        self,
        benchmark: Benchmark | int,
        model: str | Model | config.ModelConfig,
        *,
        limit: int | None = None,
        seed: int = 0,
        repeats: int = 1,
        sampling: runner.Sampling | None = None,
        hardware: config.HardwareConfig | None = None,
        progress: runner.Progress | None = None,
    ) -> Run:
        """A finished run of the model on the published benchmark's first `limit` questions (all).

        With `repeats` each is asked so often, drawn as `sampling` or the benchmark says.
        """
        run = self.begin_run(
            benchmark,
            model,
            limit=limit,
            seed=seed,
            repeats=repeats,
            sampling=sampling,
            hardware=hardware,
        )
        return running.resume(self.place, run, hardware=hardware, progress=progress)

    def resume_run(
        self,
        run: Run | int,
        *,
        hardware: config.HardwareConfig | None = None,
        progress: runner.Progress | None = None,
        retry_errors: bool = False,
    ) -> Run:
        """The run, finished: questions that have a trace are not asked again.

        With `retry_errors` those that got no reply are.
        """
        return running.resume(
            self.place, run, hardware=hardware, progress=progress, retry_errors=retry_errors
        )

    def begin_run(  # noqa: PLR0913 - as `run`, keywords only
        self,
        benchmark: Benchmark | int,
        model: str | Model | config.ModelConfig,
        *,
        limit: int | None = None,
        seed: int = 0,
        repeats: int = 1,
        sampling: runner.Sampling | None = None,
        hardware: config.HardwareConfig | None = None,
    ) -> Run:
        """A run as `run` would make it, recorded and not yet begun."""
        return running.begin(
            self.place,
            benchmark,
            model,
            limit=limit,
            seed=seed,
            repeats=repeats,
            sampling=sampling,
            hardware=hardware,
        )

    def run_in_background(self, run: Run | int) -> Run:
        """The run, handed to a process of its own that asks all that is left; `status` and `resume` work as ever."""
        return running.go_on_in_background(self.place, run)

    def get_run(self, id: int) -> Run:
        """The run with this id."""
        return Run.of(self.place, id)

    def preflight(  # noqa: PLR0913 - what a sampling pass is, keywords only
        self,
        benchmark: Benchmark | int,
        model: str | Model | config.ModelConfig,
        *,
        grpo: config.GrpoConfig | None = None,
        limit: int | None = None,
        seed: int = 0,
        hardware: config.HardwareConfig | None = None,
        progress: runner.Progress | None = None,
    ) -> tuple[Run, Preflight]:
        """(a run of several replies to each of the first `limit` questions, what it says about GRPO).

        Drawn as recipe=grpo would with these settings; a plan with the same ones shows it. DataError where
        the scorer pays for junk.
        """
        return rewarding.sample(
            self.place,
            benchmark,
            model,
            grpo or config.GrpoConfig(),
            limit=limit,
            seed=seed,
            hardware=hardware,
            progress=progress,
        )

    # ------------------------------------------------------------------------- plans and jobs

    def plan(  # noqa: PLR0913 - each is a word of the person's request
        self,
        recipe: str | config.RecipeConfig,
        *,
        job: Job | int | None = None,
        run: Run | int | Sequence[Run | int] | None = None,
        mode: str = "failures",
        benchmark: Benchmark | int | None = None,
        dataset: str | Path | None = None,
        base_model: str | None = None,
        name: str | None = None,
        trainer: str = "auto",
        hardware: config.HardwareConfig | None = None,
        tracker: config.TrackerConfig | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> PlanRecord:
        """What a training would do, frozen under a hash; starts nothing. `settings` change the recipe.

        `job` is the one whose adapter recipe=continue trains further.
        """
        wanted = planning.Wanted(
            recipe=recipe,
            job=job,
            run=run,
            mode=mode,
            benchmark=benchmark,
            dataset=dataset,
            base_model=base_model,
            name=name,
            trainer=trainer,
            hardware=hardware or config.HardwareConfig(),
            tracker=tracker or config.TrackerConfig(),
            seed=seed,
            settings=settings,
        )
        return planning.plan(self.place, wanted)

    def merge(
        self,
        job: Job | int | None = None,
        name: str | None = None,
        *,
        model: str | None = None,
        limit: int | None = None,
        hardware: config.HardwareConfig | None = None,
        form: str | None = None,
    ) -> PlanRecord:
        """What a merge of that job's adapter (or of the one named `model`) would do; starts nothing.

        `name` is the catalogue name of the merged model. It lands only if its logits, and its score on the
        first `limit` questions of the benchmark trained around, are those of the adapter on its base.
        """
        wanted = merging.Wanted(
            name, job, model, hardware or config.HardwareConfig(), limit=limit, form=form
        )
        return merging.plan(self.place, wanted)

    def publish_model(self, model: str, repo: str, *, private: bool = True) -> PlanRecord:
        """What would go to the repository owner/name of the Hugging Face hub; nothing leaves before a yes."""
        return publishing.plan(self.place, publishing.Wanted(model, repo, private))

    def confirm(self, plan: PlanRecord | int, answer: str) -> Job:
        """The job that `yes` starts; StateError for any other answer, which cancels the plan."""
        return planning.confirm(self.place, plan, answer)

    def job(self, id: int) -> Job:
        """The job with this id."""
        return Job.of(self.place, id)

    # -------------------------------------------------------------------------------- look-ups

    def compare(
        self,
        runs: Sequence[Run | int],
        baseline: Run | int | None = None,
        *,
        program: str | None = None,
        every: bool = False,
    ) -> Comparison:
        """Scores side by side with intervals, and paired differences from the baseline.

        Without one, the baseline is the first base model among the runs that share its questions. With
        `every`, each two runs are tested against one another.
        `program` scores all of them with one program (`Run.rescore`) instead of each with its own.
        """
        first = baseline.id if isinstance(baseline, Run) else baseline
        views = [r.view(program) for r in self._finished(runs)]
        return compare_runs(views, baseline=first, every=every)

    def report(
        self,
        runs: Sequence[Run | int],
        title: str = "",
        seconds: Mapping[str, float] | None = None,
    ) -> Path:
        """Path of the HTML page of these runs; report.md, plots and their data lie beside it.

        Building it again gives the same bytes: title, stage `seconds` and versions are frozen the
        first time.
        """
        return build_report(self.place, self._finished(runs), title, seconds)

    def verify(self, what: str | Run | int | Sequence[Run | int]) -> Verification:
        """What finished work rests on, looked at again: a line for each recorded hash, figure and version.

        `what` is the name of an experiment, the runs of a report, or one run; the runs and trainings that
        it came from are looked at too. `benchgen.rerun.rerun` repeats an experiment and compares.
        """
        return verify(self.place, what)

    def sweep(self, name: str) -> Sweep:
        """The sweep of that name, which `-m sweep=NAME` began: its table, scores, differences and report."""
        return Sweep(self.place, name)

    def table(self, kind: str) -> pl.DataFrame:
        """One row a record: kind is benchmarks, writes, runs, models, plans or jobs."""
        found: pl.DataFrame = getattr(lists, kind)(self.place)
        return found

    def benchmarks(self) -> pl.DataFrame:
        """id, name, state, kind, questions, owner, created, link."""
        return lists.benchmarks(self.place)

    def writes(self) -> pl.DataFrame:
        """id, state, author, model, written, wanted, benchmark (once it is made), owner, created."""
        return lists.writes(self.place)

    def runs(self) -> pl.DataFrame:
        """id, benchmark, model, state, right, scored, asked, score, low, high, strict, seconds, link."""
        return lists.runs(self.place)

    def models(self) -> pl.DataFrame:
        """id (null = known by name, not used yet), name, kind, parent, job, seen (questions)."""
        return lists.models(self.place)

    def plans(self) -> pl.DataFrame:
        """id, state, hash, job type, base model, rows, name of the model to be, owner, created."""
        return lists.plans(self.place)

    def jobs(self) -> pl.DataFrame:
        """id, plan, state, model (once it landed), seconds, owner, created."""
        return lists.jobs(self.place)

    def _finished(self, runs: Sequence[Run | int]) -> list[Run]:
        """Handles of two finished runs or more."""
        found = [Run.of(self.place, r) for r in runs]
        if len(found) < 2:
            page = f"; one run alone has its page: {found[0].link}" if found else ""
            raise InputError(
                "a comparison needs two runs", got=len(found), next=f"runs=[1,2]{page}"
            )
        for one in found:
            one.check_finished()
        return found


def here(path: str | Path) -> Path:
    """The absolute path, `~` and links resolved; InputError where the current folder is gone."""
    try:
        return Path(os.path.expanduser(path)).resolve()  # noqa: PTH111 - `~nobody` stays as it is
    except OSError as error:
        raise InputError(
            f"the workspace cannot be found: {error.strerror or error}",
            got=str(path),
            allowed="a folder that is there, or can be made",
            next="cd to a folder that exists, or workspace=/an/absolute/PATH",
        ) from error
