"""The facade: everything a person can do, by Python, chat or command line, on one folder of records.

ws = benchgen.Workspace("workspace")
bench = ws.create(ws.author("solar_system_basics")); bench.publish()
run = ws.run(bench, "smollm2_135m")
plan = ws.plan("from_run", run=run, mode="failures"); job = ws.confirm(plan, "yes"); job.wait()
"""

from __future__ import annotations

import dataclasses
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import polars as pl
import sqlalchemy as sa

from benchgen import config, jobs, lists
from benchgen.author.drafts import (
    BY_MODEL,
    Assignment,
    assignment,
    author_name,
    spec_of,
    write_draft,
)
from benchgen.author.frame import pack_from_frame
from benchgen.author.llm import doubtful
from benchgen.author.parts import Turn, write_parts
from benchgen.author.write import Draft, check_bundle
from benchgen.benchmark import registry
from benchgen.benchmark.bundle import read_bundle, write_bundle
from benchgen.benchmark.exchange.formats import read_any, write_as
from benchgen.benchmark.exchange.inspect_log import write_inspect_log
from benchgen.benchmark.prompts import worked_answer
from benchgen.compare.paired import Comparison, compare_runs
from benchgen.compare.report import run_page
from benchgen.errors import ConfigError, InputError, StateError
from benchgen.models import catalogue
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.plan import gate, planner
from benchgen.records import (
    DOUBTFUL,
    EVALUATION,
    FOREIGN,
    PAGE,
    PROGRAM,
    QUESTIONS,
    Benchmark,
    Job,
    Model,
    Place,
    PlanRecord,
    Run,
    Write,
)
from benchgen.reports import build_report, tokens_trained
from benchgen.run import runner
from benchgen.run.metrics import summary
from benchgen.rundata.rows import RunData, TrainingRow, rows_from_file, rows_from_runs
from benchgen.store import (
    BenchmarkRow,
    JobRow,
    ModelRow,
    PlanRow,
    RunRow,
    Store,
    WriteRow,
    now,
    write_atomic,
    write_json,
    write_jsonl,
)
from benchgen.types import Model as AnyModel
from benchgen.types import Plan, Question, Trace, sha256

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
Convert = Callable[[str, int, int], None]
FORMS: Mapping[str, str] = {
    "codabench": "codabench",
    "inspect": "inspect",
    "lm_eval": "lm_eval",
    "hf": "huggingface",
}
"""What `export` can write, and what the exchange calls it."""
_FOREIGN_NOTE = (
    "the bundle's scoring program is not one of benchgen's: it is kept and goes out again on export, "
    "is never run, and benchgen's newest program scores instead"
)


class Workspace:
    """A folder of benchmarks, runs, models, plans and jobs; made when the first of them is."""

    def __init__(
        self,
        path: str | Path | None = None,
        *,
        user: str | None = None,
        on_convert: Convert | None = None,
    ) -> None:
        """`path` as given, else BENCHGEN_WORKSPACE, else ./workspace.

        `on_convert(what, done, total)` is told how the embedded model's first conversion goes.
        """
        self.on_convert = on_convert
        found = path or os.environ.get("BENCHGEN_WORKSPACE") or "workspace"
        self.path = Path(found).expanduser().resolve()
        self.user = user or config.user_name()
        self.store = Store(self.path / "benchgen.db")
        self.place = Place(self.path, self.store, self.user)

    # -------------------------------------------------------------------------------- benchmarks

    def author(self, what: str | Path | pl.DataFrame | config.BenchmarkConfig) -> Draft:
        """Checked questions that are not yet a benchmark.

        `what`: the name of a config of conf/benchmark/, a file of questions, a table of facts, or a
        config. Authors that ask a model write all of it, part by part, before this returns.
        """
        if isinstance(what, pl.DataFrame):
            return write_draft(config.load_author("table"), pack=pack_from_frame(what, "table"))
        if isinstance(what, Path) or (isinstance(what, str) and Path(what).is_file()):
            return write_draft(config.load_author("file", path=str(what)))
        spec = config.load_benchmark(what) if isinstance(what, str) else what
        if author_name(spec) in BY_MODEL:
            return self.go_on(self.begin(spec), limit=None).draft()
        return self._write(spec, ())

    def sibling(self, benchmark: Benchmark | int, count: int | None = None) -> Draft:
        """Questions of the same make as a benchmark's, none of them in any benchmark of this workspace."""
        bench = benchmark if isinstance(benchmark, Benchmark) else self.benchmark(benchmark)
        made_from = bench.row.spec["config"]
        if not made_from or made_from["author"]["name"] == "file":
            raise StateError(
                f"benchmark {bench.id} was imported: no author here can write more of it"
            )
        spec = spec_of(made_from)
        rows = self.store.all(BenchmarkRow, BenchmarkRow.state != "writing")
        name = f"{bench.row.name}_sibling_{len(rows)}"
        spec = dataclasses.replace(spec, name=name, sibling_of=bench.row.name, seed=spec.seed + 1)
        spec = spec if count is None else dataclasses.replace(spec, count=count)
        if author_name(spec) in BY_MODEL:
            return self.go_on(self.begin(spec), limit=None).draft()
        return write_draft(spec, self._taken())

    def _taken(self) -> frozenset[str]:
        """The keys of all questions of this workspace's benchmarks."""
        rows = self.store.all(BenchmarkRow, BenchmarkRow.state != "writing")
        return frozenset(q.key for row in rows for q in Benchmark(self.place, row.id).questions)

    def _write(self, spec: config.BenchmarkConfig, above: tuple[str, ...]) -> Draft:
        """The draft, after those of the benchmarks it must share no question with."""
        if spec.name in above:
            raise ConfigError(
                f"benchmark.exclude leads back to {spec.name}", got=[*above, spec.name]
            )
        taken: set[str] = set()
        for other in spec.exclude:
            draft = self._write(config.load_benchmark(other), (*above, spec.name))
            taken |= {q.key for q in draft.questions}
        return write_draft(spec, frozenset(taken))

    # ---------------------------------------------------------------------------------- writing

    def begin(self, spec: config.BenchmarkConfig) -> Write:
        """A writing by a model, recorded and not yet begun; ConfigError where the config cannot be met."""
        wanted = assignment(spec)
        catalogue.find(self.store, spec.author.model)
        row = WriteRow(owner=self.user, wanted=wanted.layout.count, spec=dataclasses.asdict(spec))
        return Write(self.place, self.store.add(row).id)

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
        write = write if isinstance(write, Write) else self.get_write(write)
        if write.row.state == "finished":
            return write
        task, hardware = assignment(write.spec), hardware or config.HardwareConfig()
        with jobs.record_lock(write.folder), jobs.beating(write.folder):
            try:
                row = catalogue.find(self.store, write.spec.author.model)
                with self._loaded(row, hardware, {}) as model:
                    turn = Turn(limit, self._taken(), progress)
                    written = write_parts(
                        task.author(model), task.layout, task.evaluation, write.folder, turn=turn
                    )
            except Exception as error:
                self.store.change(WriteRow, write.id, state="failed", error=str(error)[:1000])
                raise
            full = len(written.questions) == task.layout.count
            if full:
                self._check(write, task, written.questions, hardware)
            state = "finished" if full else "waiting"
            self.store.change(
                WriteRow, write.id, state=state, written=len(written.questions), error=""
            )
        return write

    def go_on_in_background(self, write: Write | int) -> Write:
        """The writing, handed to a process of its own that writes all that is left and makes the benchmark."""
        write = write if isinstance(write, Write) else self.get_write(write)
        if jobs.alive(write.folder):
            raise StateError(f"write {write.id} is being written already", got=write.state)
        jobs.spawn(self.path, write.id, write.folder, "benchgen.writer")
        return write

    def created(self, write: Write) -> Benchmark:
        """The benchmark of a finished writing: made now, or the one made before."""
        if write.row.benchmark_id is not None:
            return self.benchmark(write.row.benchmark_id)
        bench = self.create(write.draft())
        self.store.change(WriteRow, write.id, benchmark_id=bench.id)
        return bench

    def get_write(self, id: int) -> Write:
        """The writing with this id."""
        self.store.get(WriteRow, id)
        return Write(self.place, id)

    def _check(
        self,
        write: Write,
        task: Assignment,
        questions: Sequence[Question],
        hardware: config.HardwareConfig,
    ) -> None:
        """Solve the questions blind and keep the keys that the solver disputes."""
        solver = write.spec.author.checker or write.spec.author.model
        found: list[str] = []
        if solver != "none":
            row = catalogue.find(self.store, solver)
            with self._loaded(row, hardware, {}) as model:
                found = doubtful(questions, model, task.evaluation)
        write_json(write.folder / DOUBTFUL, found)

    @contextmanager
    def _loaded(
        self, row: ModelRow, hardware: config.HardwareConfig, answers: Mapping[str, str]
    ) -> Iterator[AnyModel]:
        """The model, ready to answer, with the device held where it needs one."""
        local = row.kind not in catalogue.REMOTE
        kind = planner.choose_device(hardware).kind
        with jobs.device_lock(kind) if local else nullcontext():
            if local:
                catalogue.weights(catalogue.base_of(self.store, row), self.on_convert)
            yield catalogue.load(self.store, row, self.path, hardware, answers)

    def create(self, draft: Draft) -> Benchmark:
        """A benchmark in state draft, with the scoring program and evaluation frozen into it."""
        return self._freeze(draft)

    def _freeze(
        self,
        draft: Draft,
        program: Mapping[str, bytes] | None = None,
        foreign: bytes | None = None,
    ) -> Benchmark:
        """The benchmark with the newest scoring program, or this trusted one, and beside it a foreign one."""
        kinds = sorted({q.kind for q in draft.questions})
        row = self.store.add(
            BenchmarkRow(
                owner=self.user,
                name=draft.name,
                state="writing",
                kind=kinds[0] if len(kinds) == 1 else "mixed",
                questions=len(draft.questions),
                questions_sha256="",
                evaluation_sha256="",
                program_sha256="",
                spec={"config": draft.config, "report": draft.report},
            )
        )
        bench = Benchmark(self.place, row.id)
        hashes = {
            "questions_sha256": registry.write_questions(bench.folder / QUESTIONS, draft.questions),
            "evaluation_sha256": registry.write_evaluation(
                bench.folder / EVALUATION, draft.evaluation
            ),
            "program_sha256": registry.copy_program(bench.folder / PROGRAM, program),
        }
        if foreign is not None:
            write_atomic(bench.folder / FOREIGN, foreign)
        self.store.change(BenchmarkRow, row.id, "writing", state="draft", **hashes)
        bench.write_page()
        return bench

    def export(self, benchmark: Benchmark | int, path: str | Path, form: str = "codabench") -> Path:
        """Path of what was written: a Codabench bundle (a zip), or a folder of another form.

        `form` is one of `FORMS`. DataError if something is there already or a tool would have to run a
        scoring program that is not ours.
        """
        bench = benchmark if isinstance(benchmark, Benchmark) else self.benchmark(benchmark)
        path = Path(path)
        if form not in FORMS:
            raise InputError(f"format={form} is not known", got=form, allowed=list(FORMS))
        if form == "codabench":
            write_bundle(bench.bundle(), path)
        else:
            write_as(bench.bundle(), path, FORMS[form], self._frozen_here())
        return path

    def export_run(self, run: Run | int, path: str | Path) -> Path:
        """Path of the run written as a log of Inspect AI."""
        run = run if isinstance(run, Run) else self.get_run(run)
        write_inspect_log(run.log(), Path(path))
        return Path(path)

    def import_bundle(self, path: str | Path) -> Benchmark:
        """A draft made of a Codabench bundle, or of a folder that `export` wrote in another form.

        No line of its scoring program is run. A program that is a released one, or that this workspace
        froze, stays the benchmark's own. Any other is kept as it is, goes out again on export, and the
        newest program scores instead. DataError where a question does not accept its own worked answer.
        """
        bundle = read_any(Path(path)) if Path(path).is_dir() else read_bundle(Path(path))
        check_bundle(bundle, str(path))
        sources = bundle.sources()
        trusted = registry.sources_sha256(sources) in registry.trusted_programs(self._frozen_here())
        warnings = [] if trusted else [f"{_FOREIGN_NOTE}: {', '.join(sources) or 'no Python file'}"]
        report = {"decisions": [f"read from {Path(path).name}"], "warnings": warnings}
        draft = Draft(bundle.name, bundle.questions, bundle.evaluation, report=report)
        if trusted:
            return self._freeze(draft, program=sources)
        return self._freeze(draft, foreign=bundle.program)

    def _frozen_here(self) -> set[str]:
        """sha256 of every scoring program that this workspace froze."""
        return {row.program_sha256 for row in self.store.all(BenchmarkRow)}

    def benchmark(self, id: int) -> Benchmark:
        """The benchmark with this id."""
        self.store.get(BenchmarkRow, id)
        return Benchmark(self.place, id)

    def model(self, option: config.ModelConfig) -> Model:
        """The catalogue's entry of a model config; an endpoint is stored under its name when first used."""
        if option.kind == "endpoint":
            row = catalogue.stored_endpoint(self.store, option)
        else:
            row = catalogue.find(self.store, option.name)
        return Model(self.place, catalogue.record(self.store, row, self.user).id)

    # ------------------------------------------------------------------------------------- runs

    def run(
        self,
        benchmark: Benchmark | int,
        model: str | Model | config.ModelConfig,
        *,
        limit: int | None = None,
        seed: int = 0,
        hardware: config.HardwareConfig | None = None,
        progress: runner.Progress | None = None,
    ) -> Run:
        """A finished run of the model on the published benchmark's first `limit` questions (all)."""
        bench = benchmark if isinstance(benchmark, Benchmark) else self.benchmark(benchmark)
        if bench.row.state != "published":
            raise StateError(
                f"benchmark {bench.id} is a {bench.row.state}: only a published one runs",
                got=bench.row.state,
                allowed=["published"],
                next=f"benchgen publish benchmark_id={bench.id}",
            )
        if limit is not None and not 0 < limit <= bench.row.questions:
            raise InputError(
                f"limit={limit} does not fit benchmark {bench.id}",
                got=limit,
                allowed=f"1 to {bench.row.questions}",
            )
        if isinstance(model, config.ModelConfig):
            model = self.model(model)
        found = model.row if isinstance(model, Model) else catalogue.find(self.store, model)
        row = self.store.add(
            RunRow(
                owner=self.user,
                benchmark_id=bench.id,
                model_id=catalogue.record(self.store, found, self.user).id,
                settings={"limit": limit, "seed": seed},
            )
        )
        return self.resume_run(Run(self.place, row.id), hardware=hardware, progress=progress)

    def resume_run(
        self,
        run: Run | int,
        *,
        hardware: config.HardwareConfig | None = None,
        progress: runner.Progress | None = None,
    ) -> Run:
        """The run, finished: questions that have a trace are not asked again."""
        run = run if isinstance(run, Run) else self.get_run(run)
        if run.row.state == "finished":
            return run
        with jobs.record_lock(run.folder), jobs.beating(run.folder):
            if run.row.state == "finished":  # by another process meanwhile
                return run
            started = time.monotonic()
            try:
                traces = self._answer(run, hardware or config.HardwareConfig(), progress)
            except Exception as error:
                self.store.change(RunRow, run.id, state="failed", error=str(error)[:1000])
                raise
            self._finish(run, traces, run.row.seconds + time.monotonic() - started)
        return run

    def get_run(self, id: int) -> Run:
        """The run with this id."""
        self.store.get(RunRow, id)
        return Run(self.place, id)

    def _answer(
        self, run: Run, hardware: config.HardwareConfig, progress: runner.Progress | None
    ) -> list[Trace]:
        bench, row = run.benchmark, run.row
        answers = {q.key: worked_answer(q, bench.evaluation) for q in run.questions}
        task = runner.Task(run.questions, bench.evaluation, bench.scorer(), row.settings["seed"])
        path = run.folder / "traces.jsonl"
        with self._loaded(run.model.row, hardware, answers) as model:
            if row.fingerprint and row.fingerprint != model.fingerprint:
                raise StateError(
                    f"model {model.name} is not the one that run {run.id} was begun with",
                    got=model.fingerprint,
                    allowed=[row.fingerprint],
                    next="begin a new run",
                )
            self.store.change(
                RunRow, run.id, state="running", fingerprint=model.fingerprint, error=""
            )
            return runner.run(task, model, path, progress)

    def _finish(self, run: Run, traces: Sequence[Trace], seconds: float) -> None:
        result = summary(traces, run.questions)
        columns = pl.DataFrame([t.to_dict() for t in traces], infer_schema_length=None)
        columns.write_parquet(run.folder / "traces.parquet")
        self.store.change(
            RunRow,
            run.id,
            state="finished",
            summary=result,
            seconds=round(seconds, 2),
            traces_sha256=sha256((run.folder / "traces.jsonl").read_bytes()),
            finished=now(),
        )
        write_atomic(run.folder / PAGE, run_page(run.view()))
        run.benchmark.write_page()

    # ------------------------------------------------------------------------- plans and jobs

    def plan(  # noqa: PLR0913 - each is a word of the person's request
        self,
        recipe: str | config.RecipeConfig,
        *,
        run: Run | int | Sequence[Run | int] | None = None,
        mode: str = "failures",
        dataset: str | Path | None = None,
        base_model: str | None = None,
        name: str | None = None,
        trainer: str = "auto",
        hardware: config.HardwareConfig | None = None,
        seed: int = 0,
        **settings: Any,
    ) -> PlanRecord:
        """What a training would do, frozen under a hash; starts nothing. `settings` change the recipe."""
        chosen = config.load_recipe(recipe, **settings) if isinstance(recipe, str) else recipe
        if chosen.name == "from_run":
            runs = self._runs(run)
            rows, seen = self._rows_from(runs, mode)
            source = "runs " + ", ".join(str(r.id) for r in runs)
            ids = tuple(r.id for r in runs)
            base_model = base_model or self._base_of(runs)
        else:
            if dataset is None:
                raise ConfigError(
                    f"recipe={chosen.name} needs a dataset", next="dataset=FILE, or recipe=from_run"
                )
            rows, seen, source = rows_from_file(Path(dataset)), frozenset[str](), str(dataset)
            ids = ()
        if base_model is None:
            raise ConfigError(
                "the plan needs a base model", next="base_model=smollm2_135m or a Hugging Face id"
            )
        row = catalogue.check_trainable(catalogue.find(self.store, base_model))
        ask = planner.Ask(
            job_type="from-run" if chosen.name == "from_run" else chosen.name,
            source=source,
            mode=mode if chosen.name == "from_run" else None,
            name=self._free_name(name, row.name, mode if chosen.name == "from_run" else "lora"),
            recipe=chosen,
            trainer=trainer,
            hardware=hardware or config.HardwareConfig(),
            seed=seed,
            seen=seen,
            runs=ids,
            tokens_per_s=self._measured_speed(row, hardware or config.HardwareConfig()),
        )
        plan = planner.make_plan(ask, self._base(row), rows)
        return self._record_plan(plan, rows)

    def confirm(self, plan: PlanRecord | int, answer: str) -> Job:
        """The job that `yes` starts; StateError for any other answer, which cancels the plan."""
        id = plan if isinstance(plan, int) else plan.id
        row = self.store.get(PlanRow, id)
        gate.load(row)
        record = PlanRecord(self.place, id)
        if row.state == "pending" and sha256(record.rows()) != record.plan.dataset["sha256"]:
            raise StateError(
                f"the training rows of plan {id} changed since it was made", next="plan again"
            )
        job = Job(self.place, gate.decide(self.store, id, answer, self.user).id)
        write_json(job.folder / "plan.json", {"hash": row.hash, **row.plan})
        jobs.spawn(self.path, job.id, job.folder)
        return job

    def job(self, id: int) -> Job:
        """The job with this id."""
        self.store.get(JobRow, id)
        return Job(self.place, id)

    def _record_plan(self, plan: Plan, rows: Sequence[TrainingRow]) -> PlanRecord:
        """The plan with its frozen rows: both are there or neither is."""
        row = PlanRow(owner=self.user, hash=plan.hash, plan=plan.to_dict())
        with self.store.write() as session:
            others = session.scalars(sa.select(PlanRow).where(PlanRow.state != "cancelled"))
            if any(other.plan.get("name") == plan.name for other in others):
                raise ConfigError(
                    f"another plan has just taken the name {plan.name}",
                    got=plan.name,
                    next="plan again, or another name=…",
                )
            session.add(row)
            session.flush()
            record = PlanRecord(self.place, row.id)
            write_jsonl(record.folder / "rows.jsonl", [r.to_dict() for r in rows])
        return record

    def _runs(self, run: Run | int | Sequence[Run | int] | None) -> list[Run]:
        if run is None:
            raise ConfigError(
                "recipe=from_run needs a run", next="run_id=1, or run_id=[1,2] for several"
            )
        asked: list[Any] = list(run) if isinstance(run, (list, tuple)) else [run]
        if not asked or any(isinstance(r, bool) or not isinstance(r, (Run, int)) for r in asked):
            raise ConfigError(
                "run_id names no runs",
                got=run,
                allowed="an id, or a list of ids",
                next="run_id=1, or run_id=[1,2]",
            )
        found = [r if isinstance(r, Run) else self.get_run(r) for r in asked]
        for one in found:
            one.check_finished()
        return found

    def _rows_from(
        self, runs: Sequence[Run], mode: str
    ) -> tuple[list[TrainingRow], frozenset[str]]:
        data = [RunData(r.questions, r.benchmark.evaluation, r.traces()) for r in runs]
        seen = frozenset(q.key for r in runs for q in r.questions)
        return rows_from_runs(data, mode), seen

    def _base_of(self, runs: Sequence[Run]) -> str:
        names = {r.model.row.name for r in runs}
        model = runs[0].model.row
        if len(names) > 1 or model.kind not in catalogue.TRAINABLE:
            raise ConfigError(
                f"the runs were made by {', '.join(sorted(names))}, which is not one trainable base",
                got=sorted(names),
                allowed=catalogue.TRAINABLE,
                next="say which model learns: base_model=smollm2_135m",
            )
        return str(model.name)

    def _base(self, row: ModelRow) -> planner.Base:
        source = catalogue.weights(row, self.on_convert)
        folder = Path(source) if Path(source).is_dir() else None
        return planner.Base(
            name=row.name,
            id=catalogue.model_id(row),
            folder=folder,
            revision=row.spec.get("revision"),
            fingerprint=weights_fingerprint(folder) if folder else "",
            seen=frozenset(catalogue.seen_keys(self.store, row)),
        )

    def _free_name(self, name: str | None, base: str, how: str) -> str:
        taken = set(catalogue.names(self.store))
        pending = self.store.all(PlanRow, PlanRow.state != "cancelled")
        taken |= {str(row.plan.get("name")) for row in pending}
        if name is not None:
            if not NAME.fullmatch(name):
                raise ConfigError(
                    f"name={name!r} cannot name a model",
                    got=name,
                    allowed="letters, digits, dots, dashes and underscores, 80 at most",
                )
            if name in taken:
                raise ConfigError(
                    f"a model named {name} is there already", got=name, next="another name=…"
                )
            return name
        stem = f"{base.rsplit('/', 1)[-1]}-{how}"
        number = next(n for n in range(1, len(taken) + 2) if f"{stem}-{n}" not in taken)
        return f"{stem}-{number}"

    def _measured_speed(self, base: ModelRow, hardware: config.HardwareConfig) -> float | None:
        """Trained tokens a second of the newest job on this base and device; None without one."""
        device = planner.choose_device(hardware)
        here = {"kind": device.kind, "name": device.name, "dtype": device.dtype}
        for row in reversed(self.store.all(JobRow, JobRow.state == "finished")):
            plan = self.store.get(PlanRow, row.plan_id).plan
            same = here.items() <= plan["device"].items() and plan["base"]["name"] == base.name
            if same and row.result.get("seconds") and not row.result.get("resumed_at"):
                return tokens_trained(row.result, plan) / float(row.result["seconds"])
        return None

    # -------------------------------------------------------------------------------- look-ups

    def compare(
        self,
        runs: Sequence[Run | int],
        baseline: Run | int | None = None,
        *,
        program: str | None = None,
    ) -> Comparison:
        """Scores side by side with intervals, and paired differences from the baseline.

        Without one, the baseline is the first base model among the runs that share its questions.
        `program` scores all of them with one program (`Run.rescore`) instead of each with its own.
        """
        first = baseline.id if isinstance(baseline, Run) else baseline
        return compare_runs([r.view(program) for r in self._finished(runs)], baseline=first)

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
        found = [r if isinstance(r, Run) else self.get_run(r) for r in runs]
        if len(found) < 2:
            raise InputError("a comparison needs two runs", got=len(found), next="runs=[1,2]")
        for one in found:
            one.check_finished()
        return found
