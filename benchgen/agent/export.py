"""A chat as work that can be done again: a notebook, and a script of `benchgen` commands.

Both are made of what the chat did, as the records hold it: what was only shown or cancelled is left out.
Records that the chat made have names of their own, so that they may have other ids where it is repeated;
records that were there before are named by their ids. A benchmark that its config alone would not make
again (a pasted table, a changed question, a model's words) goes along as a bundle.
"""

from __future__ import annotations

import dataclasses
import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen import config
from benchgen.author.drafts import BY_MODEL, spec_of
from benchgen.config.overrides import SHORT, changed, written
from benchgen.errors import BenchgenError, InputError
from benchgen.store import JobRow, PlanRow, write_atomic

if TYPE_CHECKING:
    from benchgen.agent.events import Event
    from benchgen.workspace import Workspace

FORMS = ("notebook", "commands")
RECIPES = {"lora": "lora", "from-run": "from_run", "grpo": "grpo", "continue": "continue"}
"""{job type: recipe}"""
HEAD = """#!/usr/bin/env bash
# {title}
# Works on the workspace that BENCHGEN_WORKSPACE names, ./workspace without it.
set -euo pipefail
HERE=$(cd "$(dirname "$0")" && pwd)
field() {{ "${{PYTHON:-python3}}" -c 'import json, sys
print(json.loads(sys.stdin.read().splitlines()[-1])[sys.argv[1]])' "$1"; }}
finished() {{  # waits for a job
  while state=$(benchgen status "job_id=$1" output=json | field state); do
    case $state in
      finished) return 0 ;;
      queued | running) sleep 1 ;;
      *) benchgen logs "job_id=$1"; return 1 ;;
    esac
  done
}}
"""
Names = dict[tuple[str, int], str]


@dataclass(frozen=True)
class Line:
    """One thing done: as a command, and as Python."""

    command: str
    python: str


@dataclass
class Step:
    """One message of the person with what was done for it."""

    said: str
    answered: str = ""
    lines: list[Line] = field(default_factory=list)


def export(ws: Workspace, events: Sequence[Event], path: str | Path, form: str, title: str) -> Path:
    """Path of the file written: a notebook or a shell script; bundles that it needs lie beside it.

    InputError for another form, or where a file is there already.
    """
    if form not in FORMS:
        raise InputError(f"a chat has no format={form}", got=form, allowed=FORMS)
    path = ws.place.outside(Path(path))
    if path.exists():
        raise InputError("there is a file already", got=str(path), next="path=ANOTHER")
    steps = list(_Steps(ws, path).of(events))
    text = _notebook(steps, title) if form == "notebook" else _script(steps, title)
    write_atomic(path, text)
    if form == "commands":
        path.chmod(0o755)
    return path


def _script(steps: Sequence[Step], title: str) -> str:
    parts = [HEAD.format(title=title)]
    for step in steps:
        said = [f"# you: {line}" for line in step.said.splitlines() or [""]]
        parts.append("\n".join([*said, *(line.command for line in step.lines)]) + "\n")
    return "\n".join(parts)


def _notebook(steps: Sequence[Step], title: str) -> str:
    """nbformat 4.5, not executed."""
    cells = [_markdown(f"# {title}"), _code("import benchgen\nfrom benchgen import config\n\nws = benchgen.Workspace()")]  # fmt: skip
    for step in steps:
        cells.append(_markdown(f"**You**\n\n{_fenced(step.said)}\n\n**benchgen**\n\n{_fenced(step.answered)}"))  # fmt: skip
        if step.lines:
            cells.append(_code("\n".join(line.python for line in step.lines)))
    for number, cell in enumerate(cells):
        cell["id"] = f"cell-{number}"
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    book = {"cells": cells, "metadata": {"kernelspec": kernel}, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(book, indent=1, ensure_ascii=False) + "\n"


def _markdown(text: str) -> dict[str, Any]:
    return {"cell_type": "markdown", "metadata": {}, "source": text}


def _code(text: str) -> dict[str, Any]:
    return {"cell_type": "code", "metadata": {}, "source": text, "outputs": [], "execution_count": None}  # fmt: skip


def _fenced(text: str) -> str:
    """The text as it is, whatever marks it holds."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}text\n{text}\n{fence}"


class _Steps:
    """The steps of a chat, with the names of the records that it made."""

    def __init__(self, ws: Workspace, path: Path) -> None:
        self.ws = ws
        self.path = path
        self.made: Names = {}

    def of(self, events: Sequence[Event]) -> Iterator[Step]:
        """One step a message, in their order."""
        step: Step | None = None
        for event in events:
            if event["type"] == "user":
                if step is not None:
                    yield step
                step = Step(event["text"])
            elif step is not None and event["type"] in ("agent", "error"):
                step.answered = event.get("text") or event.get("message", "")
            elif step is not None:
                step.lines += self._done(event)
        if step is not None:
            yield step

    def _done(self, event: Event) -> list[Line]:
        """What an event did, nothing for one that only tells."""
        if event["type"] == "decided":
            if event["decision"] == "created":
                return [self._create(event["benchmark"])]
            if event["decision"] == "confirmed":
                return self._confirm(event)
        if event["type"] != "tool" or not event.get("ok"):
            return []
        act = getattr(self, f"_{event['name']}", None)
        told = {**event["arguments"], **event.get("found", {})}
        return list(act(told)) if act else []

    # ------------------------------------------------------------------------ records by their names

    def _make(self, kind: str, id: int) -> tuple[str, str]:
        """(name in the script, name in the notebook) of a record that is made here."""
        self.made[kind, id] = f"{kind}_{id}"
        return f"{kind}_{id}".upper(), f"{kind}_{id}"

    def _shell(self, kind: str, id: int) -> str:
        name = self.made.get((kind, id))
        return f'"${name.upper()}"' if name else str(id)

    def _python(self, kind: str, id: int) -> str:
        """The handle of a record."""
        getter = {"benchmark": "benchmark", "run": "get_run", "job": "job"}[kind]
        return self.made.get((kind, id)) or f"ws.{getter}({id})"

    # ---------------------------------------------------------------------------------- benchmarks

    def _create(self, id: int) -> Line:
        spec = self._repeatable(id)
        shell, python = self._make("benchmark", id)
        if spec is not None:
            words = shlex.join(["benchgen", "create", *_overrides(spec), "output=json"])
            made = _construct(spec, config.BenchmarkConfig())
            return Line(f"{shell}=$({words} | field benchmark)", f"{python} = ws.create(ws.author({made}))")  # fmt: skip
        name = f"{self.path.stem}-benchmark-{id}.zip"
        bundle = self.path.with_name(name)
        if not bundle.exists():
            self.ws.export(id, bundle)
        words = f'benchgen import path="$HERE"/{shlex.quote(name)} output=json'
        return Line(f"{shell}=$({words} | field benchmark)", f"{python} = ws.import_bundle({name!r})")  # fmt: skip

    def _repeatable(self, id: int) -> config.BenchmarkConfig | None:
        """The benchmark's config, if it alone makes the same questions again."""
        bench = self.ws.benchmark(id)
        told = bench.row.spec.get("config")
        if not told or told["author"]["name"] in BY_MODEL:
            return None
        try:
            spec = dataclasses.replace(spec_of(told), name=bench.row.name)
            draft = self.ws.author(spec)
        except (BenchgenError, OSError, KeyError, TypeError):
            return None
        same = list(draft.questions) == bench.questions and draft.evaluation == bench.evaluation
        return spec if same else None

    def _publish(self, told: Mapping[str, Any]) -> Iterator[Line]:
        id = told["benchmark"]
        yield Line(
            f"benchgen publish benchmark_id={self._shell('benchmark', id)}",
            f"{self._python('benchmark', id)}.publish()",
        )

    def _publish_and_run(self, told: Mapping[str, Any]) -> Iterator[Line]:
        yield from self._publish(told)
        yield from self._run_benchmark(told)

    # ---------------------------------------------------------------------------------------- runs

    def _run_benchmark(self, told: Mapping[str, Any]) -> Iterator[Line]:
        for id in told.get("runs") or [told["run"]]:
            yield self._run(id)

    _multi_run = _run_benchmark

    def _run(self, id: int) -> Line:
        run = self.ws.get_run(id)
        row, model = run.row, str(run.model.row.name)
        settings = row.settings
        plain = {k: settings.get(k) for k in ("limit", "seed", "repeats")}
        usual = {"limit": None, "seed": 0, "repeats": 1}
        given = {k: v for k, v in plain.items() if v != usual[k]}
        unset = dataclasses.asdict(config.SamplingConfig())
        drawn = {
            k: v
            for k, v in (settings.get("sampling") or {}).items()
            if k in unset and v != unset[k]
        }
        bench = row.benchmark_id
        about = self._shell("benchmark", bench)
        words = [f"{k}={v}" for k, v in given.items()]
        words += [f"sampling.{k}={v}" for k, v in drawn.items()]
        shell, python = self._make("run", id)
        command = f"benchgen run benchmark_id={about} {shlex.join([f'model={model}', *words])} output=json"  # fmt: skip
        more = [f"{k}={v!r}" for k, v in given.items()]
        if drawn:
            inner = ", ".join(f"{k}={v!r}" for k, v in drawn.items())
            more.append(f"sampling=Sampling({inner})")
        called = ", ".join([self._python("benchmark", bench), repr(model), *more])
        imported = "from benchgen.run.runner import Sampling\n" if drawn else ""
        return Line(f"{shell}=$({command} | field run)", f"{imported}{python} = ws.run({called})")

    def _resume_run(self, told: Mapping[str, Any]) -> Iterator[Line]:
        kind = "job" if told.get("job") is not None else "run"
        id = told[kind]
        python = self._python(kind, id)
        yield Line(
            f"benchgen resume {kind}_id={self._shell(kind, id)}",
            f"{python}.resume().wait()" if kind == "job" else f"ws.resume_run({python})",
        )

    def _run_status(self, told: Mapping[str, Any]) -> Iterator[Line]:
        if told.get("run") is None:
            yield Line("benchgen runs", "ws.runs()")
            return
        yield self._look("run", told["run"], "status", "status()")

    def _explain_low_score(self, told: Mapping[str, Any]) -> Iterator[Line]:
        yield from self._show_dataset({"run": told["run"], "mode": "all"})

    def _show_dataset(self, told: Mapping[str, Any]) -> Iterator[Line]:
        mode, offset, rows = told.get("mode", "failures"), told.get("offset") or 0, told.get("rows")
        words = f"mode={mode}" + (f" rows={rows}" if rows else "")
        last = f", {offset + rows}" if rows else ""
        sliced = f"[{offset}:]" if offset else ""
        words += f" offset={offset}" if offset else ""
        yield Line(
            f"benchgen dataset run_id={self._shell('run', told['run'])} {words}",
            f"{self._python('run', told['run'])}.dataset({mode!r}{last}){sliced}",
        )

    def _compare_runs(self, told: Mapping[str, Any]) -> Iterator[Line]:
        runs = told.get("runs") or []
        names = ",".join(self._shell("run", id) for id in runs)
        handles = ", ".join(self._python("run", id) for id in runs)
        yield Line(f"benchgen compare runs={names}", f"ws.compare([{handles}])")

    # ------------------------------------------------------------------------------------ trainings

    def _training_status(self, told: Mapping[str, Any]) -> Iterator[Line]:
        if told.get("job") is None:
            yield Line("benchgen jobs", "ws.jobs()")
            return
        yield self._look("job", told["job"], "status", "status()")

    def _training_logs(self, told: Mapping[str, Any]) -> Iterator[Line]:
        lines = told.get("lines") or 20
        yield self._look("job", told["job"], f"logs lines={lines}", f"logs({lines})")

    def _look(self, kind: str, id: int, verb: str, method: str) -> Line:
        verb, _, more = verb.partition(" ")
        command = " ".join(
            filter(None, ("benchgen", verb, f"{kind}_id={self._shell(kind, id)}", more))
        )
        return Line(command, f"{self._python(kind, id)}.{method}")

    def _confirm(self, event: Event) -> list[Line]:
        """The plan as its record holds it, its confirmation, and the wait for its job."""
        if event.get("job") is None:
            return []
        job = int(event["job"])
        id = int(self.ws.store.get(JobRow, job).plan_id)
        told = self.ws.store.get(PlanRow, id).plan
        plan, handle = self._make("plan", id)
        made = self._merge(told) if told["job_type"] == "merge" else self._plan(told)
        name, job_handle = self._make("job", job)
        return [
            Line(f"{plan}=$({made.command} output=json | field plan)", f"{handle} = {made.python}"),
            Line(
                f'{name}=$(benchgen confirm plan_id="${plan}" answer=yes output=json | field job)\n'
                f'finished "${name}"',
                f'{job_handle} = ws.confirm({handle}, "yes")\n{job_handle}.wait()',
            ),
        ]

    def _plan(self, told: Mapping[str, Any]) -> Line:
        """The training with every setting that its recipe does not have by itself."""
        data, settings = told["dataset"], _changed(told)
        recipe = (
            "qlora" if settings.pop("quantization", "none") == "nf4" else RECIPES[told["job_type"]]
        )
        words, called = [f"recipe={recipe}"], [repr(recipe)]
        if told["job_type"] == "from-run":
            runs = data["runs"]
            words += [f"run_id=[{','.join(self._shell('run', r) for r in runs)}]", f"mode={data['mode']}"]  # fmt: skip
            called += [f"run=[{', '.join(self._python('run', r) for r in runs)}]", f"mode={data['mode']!r}"]  # fmt: skip
        elif told["job_type"] == "grpo":
            words.append(f"benchmark_id={self._shell('benchmark', data['benchmark'])}")
            called.append(f"benchmark={self._python('benchmark', data['benchmark'])}")
        else:
            words.append(shlex.quote(f"dataset={data['source']}"))
            called.append(f"dataset={data['source']!r}")
        if told["job_type"] == "continue":
            job = told["base"]["adapter"]["job"]
            words.append(f"job_id={self._shell('job', job)}")
            called.append(f"job={self._python('job', job)}")
        else:
            words.append(shlex.quote(f"base_model={told['base']['name']}"))
            called.append(f"base_model={told['base']['name']!r}")
        words.append(shlex.quote(f"name={told['name']}"))
        called.append(f"name={told['name']!r}")
        seed = settings.pop("seed", 0)
        words += [f"seed={seed}"] if seed else []
        called += [f"seed={seed}"] if seed else []
        own, grpo = _parted(settings)
        words += [f"recipe.{k}={written(v)}" for k, v in own.items()]
        words += [f"recipe.grpo.{k}={written(v)}" for k, v in grpo.items()]
        called += [f"{k}={v!r}" for k, v in own.items()] + ([f"grpo={grpo!r}"] if grpo else [])
        return Line(f"benchgen plan {' '.join(words)}", f"ws.plan({', '.join(called)})")

    def _merge(self, told: Mapping[str, Any]) -> Line:
        job, name = told["base"]["adapter"]["job"], str(told["name"])
        return Line(
            f"benchgen merge job_id={self._shell('job', job)} {shlex.quote('name=' + name)}",
            f"ws.merge({self._python('job', job)}, {name!r})",
        )


def _changed(told: Mapping[str, Any]) -> dict[str, Any]:
    """The hyperparameters that are not what the plan's recipe says."""
    recipe = config.load_recipe(RECIPES[told["job_type"]])
    usual = {**dataclasses.asdict(recipe.grpo), **dataclasses.asdict(recipe)}
    return {k: v for k, v in told["hyperparameters"].items() if usual.get(k, v if k != "seed" else 0) != v}  # fmt: skip


def _parted(settings: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """(settings of a recipe, settings of its part for GRPO)."""
    names = {f.name for f in dataclasses.fields(config.RecipeConfig)}
    own = {k: v for k, v in settings.items() if k in names}
    return own, {k: v for k, v in settings.items() if k not in names}


def _overrides(spec: config.BenchmarkConfig) -> list[str]:
    """What the command line is told to make this benchmark."""
    blank = config.load_author(spec.author.name)
    words = [f"author={spec.author.name}", "benchmark=blank"]
    words += changed(spec, blank, "benchmark.", SHORT)
    words += changed(spec.author, blank.author, "author.")
    return words + changed(spec.evaluation, blank.evaluation, "benchmark.evaluation.")


def _construct(value: Any, usual: Any) -> str:
    """Python that makes a config, with what is not its default."""
    told = []
    for one in dataclasses.fields(value):
        mine, other = getattr(value, one.name), getattr(usual, one.name)
        if mine == other:
            continue
        told.append(f"{one.name}={_construct(mine, other) if dataclasses.is_dataclass(mine) else repr(mine)}")  # fmt: skip
    return f"config.{type(value).__name__}({', '.join(told)})"
