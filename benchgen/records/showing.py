"""A record as a notebook shows it: a few lines, one table, and the way to its page."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from benchgen.compare import tables
from benchgen.compare.markup import Cell, Page, Section, Table, to_notebook
from benchgen.compare.plots import percent
from benchgen.compare.report import score_words

if TYPE_CHECKING:
    from benchgen.records.benchmark import Benchmark
    from benchgen.records.run import Run
    from benchgen.records.training import Job, PlanRecord

QUESTIONS = 5
"""Of a benchmark, with their answers; its page and the preview have all."""


def benchmark_html(bench: Benchmark) -> str:
    """Name, state and the first questions with their right answers."""
    row, state = bench.row, bench.state
    title = f"Benchmark {bench.id}: {row.name} ({row.kind}, {state})"
    if state not in ("draft", "published"):
        return _html(title, [], [])
    questions = bench.questions
    held = sum(question.held_out for question in questions)
    line = f"{len(questions)} questions" + (f", {held} of them held out" if held else "")
    shown = tables.question_table(questions[:QUESTIONS])
    if len(questions) > QUESTIONS:
        line += f"; the first {QUESTIONS}:"
    return _html(title, [line], [shown], bench.link)


def run_html(run: Run) -> str:
    """State and progress; once finished the score with its interval, and that of each category."""
    told, bench = run.status(), run.benchmark
    title = f"Run {run.id}: {told['model']} on {bench.row.name} ({told['state']})"
    if told["state"] != "finished":
        lines = [str(told["progress"]), *(str(told[k]) for k in ("error", "next") if k in told)]
        return _html(title, lines, [])
    lines = [f"{score_words(told)}."]
    return _html(title, lines, [_categories(told["by_category"])], run.link)


def plan_html(record: PlanRecord) -> str:
    """All that would run, the estimates with their basis, warnings first."""
    plan, state = record.plan, str(record.row.state)
    settings = [(r["setting"], r["value"]) for r in record.table().to_dicts() if not r["basis"]]
    rows = {k: v for k, v in settings if k not in ("hash", "warning")}
    shown = [tables.facts("What would run", ("setting", "value"), rows)]
    if plan.estimates:
        shown.append(estimate_table(record))
    title = f"Plan {record.id}, hash {record.hash} ({state})"
    lines = ["Nothing has started."] if state == "pending" else []
    return _html(title, lines, shown, warnings=plan.warnings)


def estimate_table(record: PlanRecord) -> Table:
    """What the plan expects: figure and what it rests on."""
    rows = tuple(
        (Cell(name), Cell(estimate.words), Cell(estimate.basis, mark="mute"))
        for name, estimate in record.plan.estimates.items()
    )
    return Table("Estimates", ("estimate", "value", "basis"), rows)


def job_html(job: Job) -> str:
    """State, step and loss; what came of it once it has ended."""
    told = job.status()
    title = f"Job {job.id} of plan {told['plan']} ({told['state']})"
    rows = {k: v for k, v in tables.flat(told).items() if k not in ("job", "plan", "state")}
    return _html(title, [], [tables.facts("How it goes", ("", "value"), rows)] if rows else [])


def _categories(groups: dict[str, Any]) -> Table:
    rows = []
    for name, got in groups.items():
        low, high = got["ci"]
        drawn = None if got["score"] is None else (low, got["score"], high)
        counts = f"{got['right']} / {got['scored']} / {got['asked']}"
        interval = Cell(f"{100 * low:.1f} to {100 * high:.1f}", interval=drawn)
        rows.append(
            (Cell(name or "none given"), Cell(counts), Cell(percent(got["score"])), interval)
        )
    head = ("category", "right / scored / asked", "score", "95 % interval")
    return Table("Score by category", head, tuple(rows), frozenset({1, 2}))


def _html(
    title: str,
    lines: list[str],
    shown: list[Table],
    link: str = "",
    warnings: tuple[str, ...] = (),
) -> str:
    sections = [Section("", tables=tuple(shown))]
    links = [(link, "Its page, with everything")] if link and Path(link).is_file() else []
    return to_notebook(Page(title, lines, sections, warnings, here=Path.cwd()), links)
