"""What there is to look at: a run's replies page by page, a benchmark's questions, comparisons, trainings, scores.

Tables and pictures are outputs, so they stay in the notebook; only filters and page buttons are widgets.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen.compare import tables
from benchgen.compare.markup import Cell, Page, Section, Table, cut, to_notebook
from benchgen.compare.plots import by_category, by_status, loss_curve, metric_curve, percent
from benchgen.compare.report import comparison_page
from benchgen.records import Benchmark, Job, Run
from benchgen.rundata import pages
from benchgen.rundata.pages import Filters
from benchgen.types import LETTERS, STATUSES, Trace
from benchgen.ui import parts, render

if TYPE_CHECKING:
    from benchgen.workspace import Workspace

ROWS = 25
"""Rows of a page."""
PATIENCE_S = 0.3
"""How long a page looks for a rare text before it shows what was found so far."""
POLL_S = 1.0
ANY = None
"""A filter that lets all pass."""
OVER = ("finished", "failed", "stopped")


@dataclass(frozen=True)
class Output:
    """A piece of a notebook: HTML that is harmless, and text for what shows none."""

    html: str
    text: str

    def _repr_html_(self) -> str:
        return self.html

    def __repr__(self) -> str:
        return self.text


class Pager:
    """Pages of 25 rows with buttons to turn them; `page(number)` does the same without widgets."""

    def __init__(self) -> None:
        self.number = 0
        self._handle: Any = None
        self._made: parts.Parts | None = None
        self._turners: dict[str, Any] = {}
        self._lock = threading.Lock()

    def table(self) -> tuple[Table, str, bool]:
        """The page's rows, the line above them, and whether more follow."""
        raise NotImplementedError

    def filters(self, made: parts.Parts) -> Sequence[Any]:
        """The widgets that choose rows."""
        return ()

    def page(self, number: int) -> Output:
        """The page of that number, from 0; where it is shown already, it turns to it."""
        with self._lock:
            self.number = max(0, number)
            return self._shown()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self.close()
        if parts.widgets_shown():
            display(self._buttons(parts.Parts()))  # type: ignore[no-untyped-call]
        output = self._shown()
        self._handle = display(_bundle(output), raw=True, display_id=True)  # type: ignore[no-untyped-call]

    def _buttons(self, made: parts.Parts) -> Any:
        """Filters, and below them what turns the page."""
        self._made = made
        for name, step in (("Previous", -1), ("Next", 1)):
            button = made.button(name, "plain")
            button.on_click(parts.guarded(self._failed, partial(self._turn, step)))
            self._turners[name] = button
        return made.column(made.row(*self.filters(made)), made.row(*self._turners.values()))

    def close(self) -> None:
        """Take the widgets away; the page stays."""
        if self._made is not None:
            self._made.close()
        self._made, self._turners = None, {}

    def _turn(self, step: int, _button: Any = None) -> None:
        self.page(self.number + step)

    def _restart(self) -> None:
        """Other rows are wanted: their first page."""
        self.page(0)

    def _failed(self, what: str, after: str) -> None:
        told = Page("", [], [], [f"{what}. {after}".strip()])
        self._put(Output(to_notebook(told), what))

    def _shown(self) -> Output:
        shown, line, more = self.table()
        page = Page(
            "", [line], [Section("", tables=(shown,) if shown.rows else ())], here=Path.cwd()
        )
        output = Output(to_notebook(page), _plain(line, shown))
        if self._turners:
            self._turners["Previous"].disabled = self.number == 0
            self._turners["Next"].disabled = not more
        self._put(output)
        return output

    def _put(self, output: Output) -> None:
        if self._handle is not None:
            self._handle.update(_bundle(output), raw=True)


class RunBrowser(Pager):
    """A finished run's replies, read from its Parquet file a page at a time, with filters."""

    def __init__(self, run: Run, filters: Filters | None = None) -> None:
        super().__init__()
        self.run = run
        self.wanted = filters or Filters()
        self._pages = run.pages()
        self._questions = run.questions

    def table(self) -> tuple[Table, str, bool]:
        found = self._pages.page(self.number * ROWS, ROWS, self.wanted, PATIENCE_S)
        first = found.offset + 1
        rows = tuple(_reply(first + n, row) for n, row in enumerate(found.rows.to_dicts()))
        head = ("no.", "outcome", "prompt", "reply", "extracted", "right answer", "category")
        shown = Table(f"Run {self.run.id}: replies that fit", head, rows, frozenset({0}))
        return shown, self._line(found), found.more

    def filters(self, made: parts.Parts) -> Sequence[Any]:
        fields: dict[str, tuple[str, Sequence[str]]] = {
            "outcome": ("Outcome", tuple(pages.OUTCOMES)),
            "status": ("Status", STATUSES),
            "category": ("Category", _values(q.category for q in self._questions)),
            "difficulty": ("Difficulty", _values(q.difficulty for q in self._questions)),
        }
        shown = []
        for name, (label, values) in fields.items():
            if values:
                options = [("all", ANY), *((value.replace("_", " "), value) for value in values)]
                shown.append(made.choice(label, options))
                shown[-1].observe(parts.guarded(self._failed, partial(self._filter, name)), "value")
        text = made.line("Text", "in question or reply")
        text.observe(parts.guarded(self._failed, partial(self._filter, "text")), "value")
        return [*shown, text]

    def _filter(self, name: str, change: Mapping[str, Any]) -> None:
        self.wanted = replace(self.wanted, **{name: change["new"]})
        self._restart()

    def _line(self, found: pages.Page) -> str:
        if not found.rows.height:
            looked = "" if found.total is not None else f" among the first {found.looked:,}"
            return f"No row of {len(self._pages):,} fits{looked}."
        last = found.offset + found.rows.height
        total = (
            f"{found.total:,}"
            if found.total is not None
            else f"more; {found.looked:,} looked through so far"
        )
        fit = "" if self.wanted.is_open else f" that fit, of {len(self._pages):,}"
        return f"Rows {found.offset + 1:,} to {last:,} of {total}{fit}"


class BenchmarkPreview(Pager):
    """A benchmark's questions with their right answers, a page at a time."""

    def __init__(self, bench: Benchmark) -> None:
        super().__init__()
        self.bench = bench
        self._category: str | None = None

    def table(self) -> tuple[Table, str, bool]:
        wanted = [q for q in self.bench.questions if self._category in (None, q.category)]
        start = self.number * ROWS
        shown = tables.question_table(wanted[start : start + ROWS])
        numbered = tuple((Cell(str(start + n)), *row[1:]) for n, row in enumerate(shown.rows, 1))
        row = self.bench.row
        line = f"Benchmark {self.bench.id}, {row.name} ({row.state}): no question"
        if numbered:
            line = f"{line.removesuffix('no question')}questions {start + 1} to {start + len(numbered)} of {len(wanted)}"
        return replace(shown, rows=numbered), line, start + ROWS < len(wanted)

    def filters(self, made: parts.Parts) -> Sequence[Any]:
        values = _values(q.category for q in self.bench.questions)
        if not values:
            return ()
        chosen = made.choice("Category", [("all", ANY), *((value, value) for value in values)])
        chosen.observe(parts.guarded(self._failed, self._filter), "value")
        return [chosen]

    def _filter(self, change: Mapping[str, Any]) -> None:
        self._category = change["new"]
        self._restart()


def comparison(ws: Workspace, runs: Sequence[Run | int]) -> Output:
    """Runs side by side: tests in words, scores with a forest plot, by category and by status, differences."""
    compared = ws.compare(runs)
    page = comparison_page(compared)
    views = [Run.of(ws.place, run).view() for run in runs]
    drawn = Section("", plots=(by_status(views), *_categories(views)))
    html = to_notebook(replace(page, sections=[*page.sections, drawn]))
    return Output(html, "\n".join([*page.warnings, *page.lines]))


def _categories(views: Sequence[Any]) -> Sequence[Any]:
    """The picture by category, where all runs are of one benchmark that has categories."""
    one = len({view.benchmark_id for view in views}) == 1
    return (by_category(views),) if one and any(q.category for q in views[0].questions) else ()


def leaderboard(ws: Workspace) -> Output:
    """The workspace's finished runs, best first, one table a benchmark; intervals say what is told apart."""
    runs = [row for row in ws.runs().to_dicts() if row["state"] == "finished"]
    names = {row["id"]: row["name"] for row in ws.benchmarks().to_dicts()}
    shown = [
        _board(
            f"Benchmark {bench}: {names.get(bench, '')}",
            [r for r in runs if r["benchmark"] == bench],
        )
        for bench in sorted({row["benchmark"] for row in runs})
    ]
    line = (
        "Scores whose intervals overlap may well be the same: compare runs to test it."
        if shown
        else "No run is finished yet."
    )
    html = to_notebook(Page("", [line], [Section("", tables=tuple(shown))], here=Path.cwd()))
    return Output(html, "\n".join([line, *(_plain("", table) for table in shown)]))


def _board(caption: str, runs: Sequence[Mapping[str, Any]]) -> Table:
    rows = []
    for run in sorted(runs, key=lambda r: (-(r["score"] or 0), r["id"])):
        drawn = None if run["score"] is None else (run["low"], run["score"], run["high"])
        rows.append(
            (
                Cell(run["model"]),
                Cell(str(run["id"]), link=run["link"]),
                Cell(percent(run["score"])),
                Cell(f"{100 * run['low']:.1f} to {100 * run['high']:.1f}", interval=drawn),
                Cell(f"{run['right']} / {run['scored']} / {run['asked']}"),
                Cell(percent(run["strict"]), mark="mute"),
            )
        )
    head = ("model", "run", "score", "95 % interval", "right / scored / asked", "strict")
    return Table(caption, head, tuple(rows), frozenset({1, 2, 4, 5}))


class TrainingMonitor:
    """A job as it goes: state, step, loss, reward and held-out score, drawn again as they come."""

    def __init__(self, job: Job, poll_s: float = POLL_S) -> None:
        self.job, self.poll_s = job, poll_s
        self._handle: Any = None
        self._closed = threading.Event()

    def _ipython_display_(self) -> None:
        from IPython.display import display

        self._handle = display(_bundle(self.output()), raw=True, display_id=True)  # type: ignore[no-untyped-call]
        if self.job.state not in OVER and parts.widgets_shown():
            threading.Thread(target=self._watch, name="benchgen-monitor", daemon=True).start()

    def output(self) -> Output:
        """How it stands now."""
        told, rows = self.job.status(), self.job.metrics()
        line = f"Job {self.job.id}: {told['state']}" + _step(told, self.job.planned_steps)
        facts = {
            k: v for k, v in tables.flat(told).items() if k not in ("job", "plan", "state", "step")
        }
        curves = (
            loss_curve(rows),
            metric_curve(rows, "reward", "Reward", "mean reward"),
            metric_curve(rows, "held_out_score", "Held-out score", "share right"),
        )
        shown = tables.facts("How it goes", ("", "value"), facts)
        section = Section(
            "", plots=tuple(c for c in curves if c), tables=(shown,) if shown.rows else ()
        )
        html = to_notebook(Page("", [line], [section], here=Path.cwd()))
        return Output(html, _plain(line, shown))

    def close(self) -> None:
        """Draw no more."""
        self._closed.set()

    def _watch(self) -> None:
        drawn = ""
        while not self._closed.wait(self.poll_s):
            over = self.job.state in OVER
            output = self.output()
            if output.html != drawn:
                self._handle.update(_bundle(output), raw=True)
                drawn = output.html
            if over:
                return


def _step(told: Mapping[str, Any], steps: int) -> str:
    if "step" not in told:
        return ""
    left = told.get("seconds_left")
    told_left = f", about {left} s left" if left is not None else ""
    return f", step {told['step']}" + (f" of {steps}" if steps else "") + told_left


def _reply(number: int, row: Mapping[str, Any]) -> tuple[Cell, ...]:
    mark = {True: "good", False: "bad", None: "mute"}[row["correct"]]
    verdict = Trace(
        row["key"],
        (),
        "",
        None,
        row["status"],
        row["reason"] or "",
        row["correct"],
        None,
        row.get("strict"),
    )
    options = [f"{LETTERS[n]}. {choice}" for n, choice in enumerate(row["choices"] or ())]
    return (
        Cell(str(number)),
        Cell(tables.outcome(verdict), mark=mark),
        Cell(cut("\n".join([row["prompt"], *options])), long=True),
        Cell(cut(row["reply"] or ""), long=True),
        Cell(cut(row["extracted"] or "")),
        Cell(cut(row["target"] or "")),
        Cell(row["category"] or ""),
    )


def _values(found: Any) -> tuple[str, ...]:
    """What a filter offers; nothing where all are the same."""
    values = sorted({value for value in found if value})
    return tuple(values) if len(values) > 1 else ()


def _plain(line: str, shown: Table) -> str:
    rows = (" | ".join(render.plain_line(cell.text, 60) for cell in row) for row in (shown.rows))
    return "\n".join([*filter(None, [line or shown.caption]), " | ".join(shown.head), *rows])


def _bundle(output: Output) -> dict[str, str]:
    return {"text/html": output.html, "text/plain": output.text}
