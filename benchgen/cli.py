"""The command line: `benchgen VERB [key=value …] [-m]`, one Hydra config for every verb.

Verbs that make something run as Hydra jobs with a folder of their own and work under `-m`; look-ups
compose the same config and leave nothing behind. Results go to standard output, progress and logs to
the error stream; with `output=json` the last line of standard output is one JSON object.
"""

from __future__ import annotations

import json
import logging
import math
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen import __version__, config
from benchgen.errors import BenchgenError, ConfigError, InputError, StateError
from benchgen.verbs import VERBS, Verb, help_text

if TYPE_CHECKING:
    from benchgen.author.write import Draft
    from benchgen.records import Write
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace

Result = dict[str, Any]


def main(argv: list[str] | None = None) -> None:
    """Exit 0 done, 2 for input or config that the person can mend, 1 for anything else."""
    sys.exit(run(sys.argv[1:] if argv is None else argv))


def run(argv: list[str]) -> int:
    """The exit code of one command line."""
    if not argv or argv[0] in ("-h", "--help", "help") or {"-h", "--help"} & set(argv):
        print(help_text(argv[0] if argv else ""))
        return 0
    if argv[0] in ("-V", "--version", "version"):
        print(__version__)
        return 0
    told = [a.lstrip("+").partition("=")[2] for a in argv if a.lstrip("+").startswith("output=")]
    as_json = bool(told) and told[-1].strip("'\"") == "json"
    try:
        verb, overrides, multirun = parse(argv)
        # composed first, so that bad config is refused before any folder is made
        cfg = None if multirun else config.load(f"verb={verb.name}", *overrides)
        if cfg is not None and (cfg.dry or not verb.makes):
            _show(verb, cfg)
        else:
            _as_job(verb, overrides, multirun)
        return 0
    except BenchgenError as error:
        return _fail(error, as_json)
    except BrokenPipeError:  # the reader of our output has gone: nothing left to tell
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        return 1
    except Exception as error:  # noqa: BLE001 - the last line of defence of a command
        return _fail_unexpected(error, as_json)


def parse(argv: list[str]) -> tuple[Verb, list[str], bool]:
    """(verb, Hydra overrides, multirun) of a command line; ConfigError names what is allowed."""
    if argv[0] not in VERBS:
        raise ConfigError(
            f"there is no verb {argv[0]!r}",
            got=argv[0],
            allowed=sorted(VERBS),
            next="benchgen --help",
        )
    verb = VERBS[argv[0]]
    multirun = bool({"-m", "--multirun"} & set(argv))
    overrides = [a for a in argv[1:] if a not in ("-m", "--multirun")]
    for override in overrides:
        _check_override(override, verb)
        if "=" not in override.lstrip("~") and not override.startswith("~"):
            raise ConfigError(
                f"{override!r} is not key=value", got=override, next=f"benchgen {verb.name} --help"
            )
    if multirun and not verb.makes:
        raise ConfigError(
            f"{verb.name} is a look-up and has no sweep",
            got="-m",
            allowed=[v.name for v in VERBS.values() if v.makes],
        )
    if not multirun:  # there a comma means a sweep
        overrides = plain_paths(overrides)
    return verb, config.own_maps(blank_under_author(name_models(overrides))), multirun


LAUNCHING = ("hydra/launcher", "hydra/sweeper", "hydra.launcher.", "hydra.sweeper.")
"""What of Hydra's own config a command line may set: how a sweep is launched, not where it writes."""


def _check_override(override: str, verb: Verb) -> None:
    """Nothing; ConfigError for an option of Hydra's command line or a setting of its folders."""
    key, _, value = override.lstrip("+~").partition("=")
    if value.isdigit() and config.options(key):
        raise ConfigError(
            f"{key}={value} names no option of conf/{key}/",
            got=override,
            allowed=config.options(key),
            next=f"{key}_id={value}" if key in ("benchmark", "model") else f"{key}=NAME",
        )
    hydras = key.startswith(("hydra.", "hydra/")) or key == "hydra"
    if override.startswith("-") or (hydras and not key.startswith(LAUNCHING)):
        raise ConfigError(
            f"{key} cannot be set here: job folders lie in the workspace",
            got=override,
            allowed=["key=value", "-m", *LAUNCHING],
            next=f"benchgen {verb.name} --help",
        )


def name_models(overrides: list[str]) -> list[str]:
    """The overrides with `model=NAME` turned into `model=catalogue model.name=NAME` where it must be.

    A name that is no option of conf/model/ is one of the catalogue: a trained model, a hub id, a
    folder. In a sweep list one such name turns all of them, since the catalogue knows options too.
    """
    known = set(config.options("model"))
    found = []
    for override in overrides:
        key, _, value = override.partition("=")
        if key != "model" or not value or all(v in known for v in value.split(",")):
            found.append(override)
            continue
        names = ",".join(_quoted(v) for v in value.split(","))
        found += ["model=catalogue", f"model.name={names}"]
    return found


PATHS = ("author.path", "benchmark.author.path", "author.tools", "path", "dataset")
"""Settings that hold a path, which may be written as it is: with spaces, signs, or a leading `~`."""


def plain_paths(overrides: list[str]) -> list[str]:
    """The overrides with paths quoted for Hydra, to which commas, brackets and quotes are signs."""
    found = []
    for override in overrides:
        key, sign, value = override.partition("=")
        quoted = value[:1] in ("'", '"') and value[-1:] == value[:1] and len(value) > 1
        if not sign or key.lstrip("+") not in PATHS or quoted or value in ("", "null"):
            found.append(override)
            continue
        path = str(Path(value).expanduser()) if value.startswith("~") else value
        found.append(f"{key}=" + "'" + path.replace("\\", "\\\\").replace("'", "\\'") + "'")
    return found


def blank_under_author(overrides: list[str]) -> list[str]:
    """The overrides with `benchmark=blank` before them where an author is chosen and no benchmark is."""
    keys = {override.lstrip("+").partition("=")[0] for override in overrides}
    settings = sorted(key for key in keys if key.startswith("author."))
    if settings and not keys & {"author", "benchmark"}:
        raise ConfigError(
            f"{settings[0]} is given, and no author",
            got=settings[0],
            allowed=config.options("author"),
            next="author=file, or another author, before it",
        )
    return (
        ["benchmark=blank", *overrides]
        if "author" in keys and "benchmark" not in keys
        else overrides
    )


# ---------------------------------------------------------------------------------------- running


def _as_job(verb: Verb, overrides: list[str], multirun: bool) -> None:
    """Run a verb through Hydra: config saved in a job folder, sweeps by the configured launcher."""
    import hydra
    from hydra.core.hydra_config import HydraConfig

    config.register()
    refused: list[Path] = []
    failures: list[Exception] = []

    def task(tree: Any) -> None:
        try:
            _show(verb, config.validate(tree))
        except Exception as error:  # noqa: BLE001 - told after Hydra, which has words of its own
            failures.append(error)
            if isinstance(error, InputError):
                refused.append(Path(HydraConfig.get().runtime.output_dir))

    wrapped = hydra.main(
        version_base="1.3", config_path="pkg://benchgen.conf", config_name="config"
    )
    command = [f"verb={verb.name}", *overrides, *(["-m"] if multirun else [])]
    try:
        with _hydras(command):
            wrapped(task)()
        if failures:
            raise failures[0]
    except InputError:
        if not multirun:  # of a sweep every job's folder stays, to show which one was refused
            _remove_jobs(refused)
        raise
    except hydra.errors.HydraException as error:
        raise config.explain(error) from error
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise InputError(
            f"the workspace cannot be written: {error.strerror or error}",
            got=error.filename,
            allowed="a folder that you may write to",
            next="workspace=PATH, or BENCHGEN_WORKSPACE",
        ) from error


@contextmanager
def _hydras(command: list[str]) -> Iterator[None]:
    """Lends the process to Hydra for one command: its arguments, error switch and log handlers."""
    root = logging.getLogger()
    arguments, environment = sys.argv, os.environ.get("HYDRA_FULL_ERROR")
    handlers, level = list(root.handlers), root.level
    sys.argv = ["benchgen", *command]
    os.environ["HYDRA_FULL_ERROR"] = "1"  # hand errors to us instead of printing them and exiting
    try:
        yield
    finally:
        sys.argv = arguments
        for handler in set(root.handlers) - set(handlers):  # Hydra's, into the job's folder
            handler.close()
        root.handlers[:] = handlers
        root.setLevel(level)
        if environment is None:
            del os.environ["HYDRA_FULL_ERROR"]


def _remove_jobs(folders: list[Path]) -> None:
    """Leave nothing of a job that was refused: its folder, and the empty ones above it."""
    for folder in folders:
        if folder.parent.parent.name != "hydra":  # made by this command, and nothing but that
            continue
        shutil.rmtree(folder, ignore_errors=True)
        for parent in list(folder.parents)[:3]:  # VERB, hydra, workspace
            try:
                parent.rmdir()
            except OSError:
                break


def _show(verb: Verb, cfg: config.Config) -> None:
    """Do what the verb says and print its result."""
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace

    if cfg.output not in ("text", "json"):
        raise ConfigError(f"output={cfg.output}", got=cfg.output, allowed=["text", "json"])
    screen = Screen(cfg.output == "json")
    workspace = Workspace(cfg.workspace, user=cfg.user, on_convert=screen.convert)
    result = ACTIONS[verb.name](workspace, cfg, screen)
    if cfg.output == "json":
        print(json.dumps(result, ensure_ascii=False, allow_nan=False), flush=True)
    else:
        screen.result(verb.name, result)


def _fail(error: BenchgenError, as_json: bool) -> int:
    if as_json:
        told = {key: _plain(value) for key, value in error.as_dict().items()}
        print(json.dumps({"error": told}, ensure_ascii=False, allow_nan=False), flush=True)
    else:
        print(f"benchgen: {_plain(error.message)}", file=sys.stderr)
    return error.exit_code


def _plain(value: Any) -> Any:
    """The value as JSON can hold it: no NaN, no text that UTF-8 cannot write, no foreign type."""
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    if value is None or isinstance(value, (bool, int)):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return str(value).encode("utf-8", "replace").decode()


def _fail_unexpected(error: Exception, as_json: bool) -> int:
    import traceback

    traceback.print_exception(error, file=sys.stderr)
    told = BenchgenError(f"unexpected {type(error).__name__}: {error}")
    return _fail(told, as_json)


def _quoted(value: str) -> str:
    bare = value.strip("'\"")
    return "'" + bare.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _need(cfg: config.Config, *keys: str) -> Any:
    """The value of the first of these keys that was given; ConfigError names them when none was."""
    for key in keys:
        value = getattr(cfg, key)
        if value not in (None, [], {}):
            return value
    raise ConfigError(
        f"{cfg.verb} needs {' or '.join(f'{key}=…' for key in keys)}",
        allowed=list(keys),
        next=f"benchgen {cfg.verb} --help",
    )


# ----------------------------------------------------------------------------------- what verbs do


def _create(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen.author.drafts import BY_MODEL, assignment, read_source
    from benchgen.author.file import DocumentFile, TrainingFile

    if cfg.sibling_of is not None:
        return _created(ws, cfg, ws.sibling(cfg.sibling_of, count=cfg.count))
    spec = _asked(cfg)
    if spec.author.name in BY_MODEL and not spec.author.model and cfg.model.kind == "endpoint":
        spec.author.model = ws.model(cfg.model).row.name
    if spec.author.name in BY_MODEL and cfg.dry:
        count = assignment(spec).layout.count
        return {"benchmark": None, "state": "dry", "name": spec.name, "wanted": count}
    if spec.author.name in BY_MODEL:
        return _turn(ws, ws.begin(spec), cfg, screen)
    if spec.author.name == "file" and cfg.dry:
        found = read_source(spec)
        report = {"decisions": list(found.decisions), "warnings": list(found.warnings)}
        if isinstance(found, TrainingFile):
            return {"kind": "train", "rows": found.rows, "format": found.format, "report": report}
        if isinstance(found, DocumentFile):
            told = {"characters": found.characters, "passages": len(found.passages)}
            return {"kind": "document", **told, "report": report}
    return _created(ws, cfg, ws.author(spec))


def _asked(cfg: config.Config) -> config.BenchmarkConfig:
    """The benchmark config with what the command line says beside it."""
    import dataclasses

    spec = cfg.benchmark
    if not cfg.author.name:  # benchmark=from_file author.path=F: what is set goes into its author
        unset = config.AuthorConfig()
        fields = [f.name for f in dataclasses.fields(unset)]
        own = {f: getattr(cfg.author, f) for f in fields}
        own = {f: value for f, value in own.items() if value != getattr(unset, f)}
        spec = dataclasses.replace(spec, author=dataclasses.replace(spec.author, **own))
    else:
        if cfg.count is not None and cfg.author.name == "file":
            raise ConfigError(
                "a file is imported whole", got=f"count={cfg.count}", next="leave it out"
            )
        spec = dataclasses.replace(spec, author=cfg.author)
    changes: dict[str, Any] = {"name": cfg.name, "kind": cfg.kind, "count": cfg.count}
    given = {key: value for key, value in changes.items() if value is not None}
    return dataclasses.replace(spec, **given)


def _created(ws: Workspace, cfg: config.Config, draft: Draft) -> Result:
    first = draft.questions[0]
    told: Result = {
        "benchmark": None,
        "state": "dry" if cfg.dry else "draft",
        "name": draft.name,
        "kind": first.kind,
        "questions": len(draft.questions),
        "first": {
            "prompt": first.prompt,
            "target": first.target,
            "target_text": first.target_text if first.kind == "mcq" else None,
        },
        "report": draft.report,
        "hash": draft.hash,
    }
    if cfg.output == "text":
        told["preview"] = draft.preview()
    if cfg.dry:
        return told
    if cfg.hash is not None and cfg.hash != draft.hash:
        raise StateError(
            "these are not the questions that were previewed", got=draft.hash, allowed=[cfg.hash]
        )
    bench = ws.create(draft)
    return {**told, "benchmark": bench.id, "link": bench.link}


def _turn(ws: Workspace, write: Write, cfg: config.Config, screen: Screen) -> Result:
    """One turn of a writing, or all of it in the background; the benchmark once it is whole."""
    if cfg.background:
        ws.go_on_in_background(write)
        return {**write.status(), "next": f"benchgen status write_id={write.id}"}
    with screen.bar(f"write {write.id}") as progress:
        limit = write.spec.author.per_turn
        ws.go_on(write, limit=limit, hardware=cfg.hardware, progress=progress)
    if write.state != "finished":
        return {**write.status(), "next": f"benchgen resume write_id={write.id}"}
    bench = ws.created(write)
    made = {"benchmark": bench.id, "state": bench.row.state, "link": bench.link}
    return {**write.status(), **made, "report": bench.row.spec["report"]}


def _edit(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(_need(cfg, "benchmark_id"))
    edited = bench.edit(_need(cfg, "question"), **_need(cfg, "change"))
    changed = edited.questions[(cfg.question or 1) - 1]
    return {
        "benchmark": edited.id,
        "state": edited.row.state,
        "version_of": edited.row.spec.get("version_of"),
        "question": {"prompt": changed.prompt, "target": changed.target},
        "link": edited.link,
    }


def _publish(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(_need(cfg, "benchmark_id")).publish()
    return {"benchmark": bench.id, "state": bench.row.state, "link": bench.link}


def _export(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    _need(cfg, "benchmark_id", "run_id")
    if cfg.run_id is not None:
        form = cfg.format or "inspect"
        if form != "inspect":
            raise InputError(f"a run has no format={form}", got=form, allowed=["inspect"])
        run = ws.get_run(_one(cfg.run_id))
        return {"run": run.id, "format": form, "path": str(ws.export_run(run, _need(cfg, "path")))}
    bench, form = ws.benchmark(cfg.benchmark_id or 0), cfg.format or "codabench"
    path = ws.export(bench, _need(cfg, "path"), form)
    return {"benchmark": bench.id, "format": form, "path": str(path)}


def _import(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.import_bundle(_need(cfg, "path"))
    return {
        "benchmark": bench.id,
        "state": bench.row.state,
        "name": bench.row.name,
        "kind": bench.row.kind,
        "questions": bench.row.questions,
        "report": bench.row.spec["report"],
        "link": bench.link,
    }


def _run(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(_need(cfg, "benchmark_id"))
    with screen.bar(f"{cfg.model.name} on {bench.row.name}") as progress:
        done = ws.run(
            bench,
            cfg.model if cfg.model.kind == "endpoint" else cfg.model.name,
            limit=cfg.limit,
            seed=cfg.seed,
            hardware=cfg.hardware,
            progress=progress,
        )
    return done.status()


def _status(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    _need(cfg, "run_id", "job_id", "write_id")
    if cfg.write_id is not None:
        return ws.get_write(cfg.write_id).status()
    if cfg.run_id is not None:
        return ws.get_run(_one(cfg.run_id)).status()
    return ws.job(cfg.job_id or 0).status()


def _resume(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    _need(cfg, "run_id", "job_id", "write_id")
    if cfg.write_id is not None:
        return _turn(ws, ws.get_write(cfg.write_id), cfg, screen)
    if cfg.run_id is not None:
        found = ws.get_run(_one(cfg.run_id))
        with screen.bar(f"run {found.id}") as progress:
            return ws.resume_run(found, hardware=cfg.hardware, progress=progress).status()
    return ws.job(cfg.job_id or 0).resume().status()


def _dataset(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    run_id = _one(_need(cfg, "run_id"))
    mode = cfg.mode or "failures"
    table = ws.get_run(run_id).dataset(mode, cfg.rows)
    told: Result = {"run": run_id, "mode": mode, "rows": table.height}
    if cfg.format is None and cfg.path is None:
        return {**told, "data": table.to_dicts()}
    path = Path(_need(cfg, "path"))
    _write_table(table, cfg.format or path.suffix.lstrip("."), path)
    return {**told, "path": str(path)}


def _write_table(table: Any, form: str, path: Path) -> None:
    import polars as pl

    flat = table.with_columns(pl.col("choices").list.join(" | "))
    writers: dict[str, Callable[[], Any]] = {
        "jsonl": lambda: table.write_ndjson(path),
        "parquet": lambda: table.write_parquet(path),
        "csv": lambda: flat.write_csv(path),
    }
    if form not in writers:
        raise InputError(f"format={form} is not known", got=form, allowed=sorted(writers))
    try:
        writers[form]()
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error}", got=str(path)) from error


def _plan(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    record = ws.plan(
        cfg.recipe,
        run=cfg.run_id,
        mode=cfg.mode or "failures",
        dataset=cfg.dataset,
        base_model=cfg.base_model,
        name=cfg.name,
        trainer=cfg.trainer.name,
        hardware=cfg.hardware,
        seed=cfg.seed,
    )
    return record.summary()


def _confirm(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    job = ws.confirm(_need(cfg, "plan_id"), str(_need(cfg, "answer")))
    return {"job": job.id, "plan": cfg.plan_id, "state": job.state}


def _logs(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    _need(cfg, "job_id", "write_id")
    if cfg.write_id is not None:
        write = ws.get_write(cfg.write_id)
        return {"write": write.id, "state": write.state, "lines": write.logs(cfg.lines)}
    job = ws.job(cfg.job_id or 0)
    return {"job": job.id, "state": job.state, "lines": job.logs(cfg.lines)}


def _stop(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    return ws.job(_need(cfg, "job_id")).stop().status()


def _compare(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    runs = _need(cfg, "runs")
    return ws.compare(runs, baseline=cfg.baseline, program=cfg.program).to_dict()


def _rescore(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    run = ws.get_run(_one(_need(cfg, "run_id")))
    return run.rescore(cfg.program or "latest").to_dict()


def _report(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    return {"report": str(ws.report(_need(cfg, "runs"), title=cfg.name or "")), "runs": cfg.runs}


def _loop(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen import loop

    if not cfg.loop.name:
        raise ConfigError(
            "loop needs an experiment",
            allowed=config.options("experiment"),
            next="benchgen loop experiment=solar_system",
        )
    settings = loop.Settings(cfg.recipe, cfg.trainer.name, cfg.hardware, cfg.seed, cfg.limit)
    with screen.watch() as watcher:
        result = loop.run_loop(ws, cfg.loop, settings, cfg.confirm, watcher)
    if isinstance(result, loop.LoopResult):
        return result.to_dict()
    where = [] if cfg.workspace == "workspace" else [f"workspace={cfg.workspace}"]
    line = " ".join(["benchgen", "confirm", f"plan_id={result.id}", "answer=yes", *where])
    return {**result.summary(), "next": line}


def _doctor(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen import doctor

    checks = doctor.report()
    return {"ok": all(c.ok for c in checks), "checks": [c.to_dict() for c in checks]}


def _listing(kind: str) -> Callable[[Workspace, config.Config, Screen], Result]:
    def show(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
        return {kind: ws.table(kind).to_dicts()}

    return show


def _one(value: Any) -> int:
    if not isinstance(value, int) or isinstance(value, bool):
        raise ConfigError("one run is asked for here", got=value, next="run_id=1")
    return value


ACTIONS: dict[str, Callable[[Workspace, config.Config, Screen], Result]] = {
    "create": _create,
    "publish": _publish,
    "run": _run,
    "status": _status,
    "resume": _resume,
    "dataset": _dataset,
    "plan": _plan,
    "confirm": _confirm,
    "logs": _logs,
    "stop": _stop,
    "edit": _edit,
    "rescore": _rescore,
    "export": _export,
    "import": _import,
    "compare": _compare,
    "report": _report,
    "loop": _loop,
    "doctor": _doctor,
    **{
        kind: _listing(kind) for kind in ("benchmarks", "writes", "runs", "models", "plans", "jobs")
    },
}


if __name__ == "__main__":
    main()
