"""The terminal: progress on the error stream as work goes on, results as tables on standard output."""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.table import Table

from benchgen.loop import Watcher
from benchgen.records import PlanRecord, plan_settings
from benchgen.types import Estimate

Result = Mapping[str, Any]
WIDTH = 140
QUESTIONS_SHOWN = 25
"""Questions of a draft, as `create` shows them."""
CHANGES_SHOWN = 50
"""Changed verdicts of a re-scoring; `output=json` has them all."""
UNLISTED = ("owner", "created")
"""Columns of lists that a terminal leaves out; `output=json` has them."""
CHECK_MARKS = {
    "ok": "[green]ok[/]",
    "differs": "[red]differs[/]",
    "not recorded": "[yellow]not recorded[/]",
    "missing": "[red]missing[/]",
}


class Screen:
    """Standard output for results, the error stream for what happens meanwhile."""

    def __init__(self, quiet_output: bool = False) -> None:
        self.out, self.err = (_console(stream) for stream in (sys.stdout, sys.stderr))
        self.story = self.err if quiet_output else self.out
        self._live: Progress | None = None
        self._converting: tuple[Progress, TaskID] | None = None

    def say(self, line: str) -> None:
        """One line on the error stream."""
        self.err.print(escape(line))

    @contextmanager
    def bar(self, label: str) -> Iterator[Callable[[int, int], None]]:
        """A callback (done, total) that moves a progress bar."""
        progress = _progress(self.err)
        task = progress.add_task(escape(label), total=None)

        def move(done: int, total: int) -> None:
            progress.start()  # only now: work that is refused shows no bar
            progress.update(task, completed=done, total=total)

        try:
            yield move
        finally:
            progress.stop()

    @contextmanager
    def watch(self) -> Iterator[Watcher]:
        """A loop's watcher: one bar a stage, the plan in full before it is decided."""
        with _progress(self.err) as progress:
            self._live = progress
            tasks: list[TaskID] = []
            steps = 0

            def stage(name: str) -> None:
                _end(progress, tasks)
                tasks.append(progress.add_task(escape(name), total=None))

            def move(done: int, total: int) -> None:
                progress.update(tasks[-1], completed=done, total=total)

            def metrics(row: dict[str, Any]) -> None:
                if "loss" in row:
                    label = f"train, loss {row['loss']:.2f}"
                    progress.update(
                        tasks[-1], completed=row["step"], total=steps, description=label
                    )

            def plan(record: PlanRecord) -> None:
                nonlocal steps
                steps = round(record.plan.estimates["steps"].value)
                self.plan(record)

            yield Watcher(stage=stage, progress=move, metrics=metrics, plan=plan)
            _end(progress, tasks)

    def convert(self, what: str, done: int, total: int) -> None:
        """A bar for the first conversion of the embedded model; gone when it is ready."""
        if self._converting is None:
            progress = self._live or _progress(self.err)
            progress.start()
            self._converting = progress, progress.add_task(escape(what), total=None)
        progress, task = self._converting
        progress.update(task, description=escape(what), completed=done, total=total)
        if done == total == 1:  # the converter's last word
            self._converting = None
            if progress is not self._live:
                progress.stop()

    def plan(self, record: PlanRecord) -> None:
        """The plan as it will run: settings, estimates with their basis, warnings."""
        plan = record.plan
        table = _table(
            f"Plan {record.id}, hash {record.hash}: nothing has started", "setting", "value"
        )
        for name, value in plan_settings(plan):
            table.add_row(name, _text(value))
        for name, estimate in plan.estimates.items():
            shown = f"{estimate.words} ({estimate.basis})"
            table.add_row(f"estimated {name}", escape(shown))
        self.story.print(table)
        _notes(self.story, plan.warnings)

    def result(self, verb: str, result: Result) -> None:
        """A verb's result as a person reads it."""
        shown = {
            "loop": self._loop,
            "plan": self._plan,
            "merge": self._plan,
            "create": self._create,
            "import": self._create,
            "compare": self._compare,
            "rescore": self._rescore,
            "dataset": self._dataset,
            "doctor": self._doctor,
            "logs": self._logs,
            "sweep": self._sweep,
            "verify": self._verify,
        }.get(verb)
        if verb == "publish" and "plan" in result:
            shown = self._plan
        if shown is not None:
            shown(result)
        elif verb in result and isinstance(result[verb], list):
            self._rows(verb, result[verb], result.get("of", 0))
        else:
            self._fields(result)

    def _fields(self, result: Result, title: str = "") -> None:
        table = _table(title, "", "")
        for name, value in result.items():
            table.add_row(name, escape(_share(value)) if _is_tally(value) else _listed(name, value))
        self.out.print(table)

    def _rows(self, title: str, rows: Sequence[Result], of: int) -> None:
        if not rows:
            self.out.print(f"no {title} yet")
            return
        names = [name for name in rows[0] if name not in UNLISTED]
        table = _table("", *names)
        for row in rows:
            table.add_row(*(_path(row[n]) if n == "link" else _text(row[n]) for n in names))
        self.out.print(table)
        if of > len(rows):
            self.out.print(
                f"The newest {len(rows)} of {of:,} {title}; output=json lists all of them."
            )

    def _plan(self, result: Result) -> None:
        parts = ("dataset", "hyperparameters", "device")
        flat = {k: v for k, v in result.items() if k not in (*parts, "base", "estimates")}
        flat["model"] = flat.pop("name")
        if "adapter" in result["base"]:
            adapter = result["base"]["adapter"]
            flat["adapter"] = f"{adapter['name']} of job {adapter['job']}"
        for part in parts:
            flat |= {f"{part}: {key}": value for key, value in result[part].items()}
        for name, told in result["estimates"].items():
            flat[f"estimated {name}"] = f"{Estimate(**told).words} ({told['basis']})"
        self._fields(flat, f"Plan {result['plan']}, hash {result['hash']}: nothing has started")
        self.out.print(f"To start it: benchgen confirm plan_id={result['plan']} answer=yes")

    def _loop(self, result: Result) -> None:
        if "report" not in result:
            self.out.print(f"Nothing has started. To train: {escape(result['next'])}")
            return
        for part, title in (
            ("same", "Trained on these questions"),
            ("held_out", "Held-out questions"),
        ):
            table = _table(title, "model", "score", "95 % interval", "right/scored/asked", "")
            for row in result["scores"][part]:
                low, high = row["ci"]
                counts = _counts(row)
                table.add_row(
                    escape(row["model"]),
                    _percent(row["score"]),
                    f"{low:.1%} to {high:.1%}",
                    counts,
                    escape(row["label"]),
                )
            self.out.print(table)
            pair = result[part]
            low, high = pair["ci"]
            self.out.print(
                f"trained minus base: {pair['delta']:+.1%} points [{low:+.1%}, {high:+.1%}], "
                f"n={pair['n']}, {pair['wins']} wins, {pair['losses']} losses, "
                f"exact McNemar p={pair['p']:.2g}: {pair['verdict']}\n"
            )
        table = _table("Seconds", "stage", "s")
        for stage, seconds in result["seconds"].items():
            table.add_row(escape(stage), f"{seconds:.1f}")
        table.add_row("all stages", f"{sum(result['seconds'].values()):.1f}")
        self.out.print(table)
        self.out.print(f"Report: {escape(result['report'])}")

    def _create(self, result: Result) -> None:
        """What is or would be made, with the right answers of the first questions."""
        told = ("preview", "first", "report")
        self._fields({k: v for k, v in result.items() if k not in told})
        report = result.get("report") or {}
        for decision in report.get("decisions", ()):
            self.out.print(f"decided: {escape(decision)}")
        _notes(self.out, report.get("warnings", ()))
        rows = result.get("preview") or []
        if not rows:
            return
        shown = rows[:QUESTIONS_SHOWN]
        table = _table(f"{len(shown)} of {len(rows)} questions", *rows[0])
        for row in shown:
            table.add_row(*(_text(value, 300) for value in row.values()))
        self.out.print(table)

    def _compare(self, result: Result) -> None:
        table = _table(
            "",
            "run",
            "model",
            "benchmark",
            "score",
            "95 % interval",
            "right/scored/asked",
            "",
            "page",
        )
        for row in result["rows"]:
            low, high = row["ci"]
            counts = _counts(row)
            cells = (row["run_id"], row["model"], row["benchmark"], _percent(row["score"]))
            shown = (*cells, f"{low:.1%} to {high:.1%}", counts, row["label"], row["link"])
            table.add_row(*map(_text, shown[:-1]), _path(shown[-1]))
        self.out.print(table)
        for pair in result["pairs"]:
            if pair["result"]["delta"] is not None:
                self.out.print(escape(_difference(pair, several=len(result["pairs"]) > 1)))
        _notes(self.out, result["warnings"])

    def _rescore(self, result: Result) -> None:
        title = f"run {result['run']}: the same replies under two scoring programs"
        table = _table(
            title, "program", "", "score", "95 % interval", "right/scored/asked", "strict"
        )
        for row in result["scores"]:
            low, high = row["ci"]
            table.add_row(
                _text(f"{row['program']} ({row['sha256'][:12]})"),
                "the benchmark's own" if row["own"] else "",
                _percent(row["score"]),
                f"{low:.1%} to {high:.1%}",
                _counts(row),
                _percent(row["strict"]["score"]),
            )
        self.out.print(table)
        moves = ", ".join(f"{n} {name}" for name, n in result["changed"].items())
        self.out.print(f"changed verdicts: {moves or 'none'}")
        if not result["rows"]:
            return
        table = _table("", "key", "reply", "before", "now")
        for row in result["rows"][:CHANGES_SHOWN]:
            told = (" ".join(filter(None, map(str, _told(row[k])))) for k in ("before", "after"))
            table.add_row(row["key"], _text(row["reply"], 300), *map(_text, told))
        self.out.print(table)

    def _dataset(self, result: Result) -> None:
        if "data" not in result:
            self._fields(result)
            return
        shown = f"{result['rows']} rows"
        if "offset" in result:
            shown += f" after the first {result['offset']}, of {result['total']}"
        table = _table(f"run {result['run']}, mode {result['mode']}: {shown}")
        for name in ("prompt", "target", "extracted", "status", "reply"):
            table.add_column(name, overflow="fold")
        for row in result["data"]:
            table.add_row(
                *(_text(row[c], 300) for c in ("prompt", "target", "extracted", "status", "reply"))
            )
        self.out.print(table)

    def _logs(self, result: Result) -> None:
        for line in result["lines"]:
            self.out.print(escape(line))

    def _sweep(self, result: Result) -> None:
        title = f"sweep {result['sweep']}: {result['done']} of {result['jobs']} jobs done"
        table = _table(title, "job", "settings", "state", "s", "error")
        for told in result["results"]:
            seconds = told.get("seconds")
            cells = (told["job"], " ".join(told["overrides"]), told["state"])
            shown = "" if seconds is None else f"{seconds:.1f}"
            table.add_row(*map(_text, cells), shown, _text(told.get("error", ""), 300))
        self.out.print(table)
        self.out.print(f"Report: {_path(result['report'])}")

    def _doctor(self, result: Result) -> None:
        table = _table("", "", "check", "found", "wanted", "next")
        for check in result["checks"]:
            mark = "[green]ok[/]" if check["ok"] else "[red]--[/]"
            table.add_row(mark, *(_text(check[k]) for k in ("name", "found", "wanted", "next")))
        self.out.print(table)

    def _verify(self, result: Result) -> None:
        """A line a check; at the end what differs, in words."""
        table = _table(result["subject"], "", "of", "what", "recorded", "found", "why")
        for check in result["checks"]:
            mark = CHECK_MARKS[check["state"]]
            hashes = (_digits(check[k]) for k in ("recorded", "found"))
            table.add_row(
                mark, *map(_text, (check["record"], check["what"], *hashes, check["why"]))
            )
        self.out.print(table)
        _notes(self.out, result["notes"])
        if result["workspace"]:
            self.out.print(f"Done again in: {_path(result['workspace'])}")
        counts = ", ".join(f"{n} {state}" for state, n in result["counts"].items() if n)
        self.out.print(counts + (": nothing differs" if result["ok"] else ""))


class _Console(Console):
    """Leaves a reader that has gone to the command line, which ends quietly."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError


def _console(stream: TextIO) -> Console:
    """As wide as the terminal; wide enough for tables where there is none."""
    width = None if stream is not None and stream.isatty() else WIDTH
    return _Console(file=stream, highlight=False, soft_wrap=False, width=width)


def _notes(console: Console, notes: Iterable[str]) -> None:
    """What must be said beside a result, a line each."""
    for note in notes:
        console.print(f"[yellow]note:[/] {escape(note)}")


def _path(value: Any) -> str:
    """A path as short as it is still right from here."""
    path = Path(str(value))
    return escape(str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path))


def _end(progress: Progress, tasks: Sequence[TaskID]) -> None:
    """The last stage is over: its clock stands still, and one that told no steps is full."""
    for task in progress.tasks:
        if task.id in tasks[-1:]:
            if task.total is None:
                progress.update(task.id, completed=1, total=1)
            progress.stop_task(task.id)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TaskProgressColumn(show_speed=True),
        TimeElapsedColumn(),
        TextColumn("so far,"),
        TimeRemainingColumn(),
        TextColumn("left"),
        console=console,
        refresh_per_second=4,
    )


def _table(title: str, *columns: str) -> Table:
    table = Table(title=escape(title) or None, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def _text(value: Any, limit: int = 2000) -> str:
    """A value as safe text: markup that came from a model or a file is shown, not obeyed."""
    if value is None:
        return "-"
    text = f"{value:.4g}" if isinstance(value, float) else str(value)
    text = "".join(c if c.isprintable() or c == "\n" else "\ufffd" for c in text)  # no escape codes
    return escape(text if len(text) <= limit else text[:limit] + "…")


def _digits(value: str) -> str:
    """A sha256 by its first digits; anything else as it is."""
    return value[:12] if re.fullmatch(r"[0-9a-f]{64}", value) else value


def _difference(pair: Result, several: bool) -> str:
    """One paired test: difference with interval, counts, p (adjusted where there are several), verdict."""
    told = pair["result"]
    low, high = told["ci"]
    what = pair["part"] if told["measure"] == "right" else f"{pair['part']}, mean value"
    text = (
        f"run {pair['run']} minus run {pair['baseline']} ({what}): "
        f"{told['delta']:+.1%} [{low:+.1%}, {high:+.1%}], n={told['n']}, "
        f"{told['wins']} wins, {told['losses']} losses, p={told['p']:.2g}"
    )
    if several:
        text += f" (Holm {pair['p_holm']:.2g})"
    if told["clustered"]:
        low, high = told["clustered"]["ci"]
        text += f", by {told['clustered']['by']} [{low:+.1%}, {high:+.1%}]"
    return f"{text}: {pair['verdict']}"


def _percent(score: float | None) -> str:
    return "-" if score is None else f"{score:.1%}"


def _counts(row: Result) -> str:
    return f"{row['right']}/{row['scored']}/{row['asked']}"


def _is_tally(value: Any) -> bool:
    return isinstance(value, Mapping) and "right" in value and "scored" in value


def _share(told: Result) -> str:
    return f"{told['right']}/{told['scored']} {_percent(told['score'])} {_range(told['ci'])}"


def _range(ci: Sequence[float]) -> str:
    return f"({ci[0]:.1%} to {ci[1]:.1%})"


def _interval_line(told: Result) -> str:
    """A line of `clustered` or of `pass_at_k`."""
    if "k" in told:
        return f"pass@{told['k']}: {_percent(told['score'])} {_range(told['ci'])} of {told['n']} questions"
    return f"{told['groups']} groups by {told['by']}: {_range(told['ci'])}"


def _listed(name: str, value: Any) -> str:
    """A field's value as a person reads it: shares in percent, maps one entry a line."""
    if name == "score":
        return _percent(value)
    if name == "ci":
        return f"{value[0]:.1%} to {value[1]:.1%} (95 %)"
    if name in ("clustered", "pass_at_k"):
        return "\n".join(map(_interval_line, value)) or "-"
    if name == "graded" and value is not None:
        return f"{_percent(value['mean'])} {_range(value['ci'])} of {value['n']} questions"
    if name == "status_shares":
        return _text(
            "\n".join(f"{k}: {_percent(v['share'])} {_range(v['ci'])}" for k, v in value.items())
        )
    if isinstance(value, Mapping):
        shown = (f"{k or '-'}: {_share(v) if _is_tally(v) else v}" for k, v in value.items())
        return _text("\n".join(shown))
    if isinstance(value, (list, tuple)):
        return _text("\n".join(map(str, value)))
    return _text(value)


def _told(verdict: Result) -> tuple[Any, ...]:
    word = {True: "right", False: "wrong", None: "not measured"}[verdict["correct"]]
    said = f"({verdict['status']}{': ' * bool(verdict['reason'])}{verdict['reason']})"
    return word, verdict["extracted"], said
