"""One run as a self-contained HTML page: score and intervals, breakdowns, and every reply to filter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchgen.compare import tables
from benchgen.compare.browse import browser
from benchgen.compare.markup import Cell, Page, Section, Table, to_html
from benchgen.compare.plots import by_category, by_status, percent
from benchgen.compare.report import score_words
from benchgen.compare.views import RunView
from benchgen.run.metrics import BREAKDOWNS, outcomes


def run_page(view: RunView) -> str:
    """The page as text; its only script is our own, named in the page's policy by its hash."""
    view = replace(view, link="")  # this is the page that it leads to
    figures = view.figures
    kind = tables.KIND_NAMES.get(view.model_kind, view.model_kind)
    lines = [f"{view.model} ({kind}) on {view.benchmark}: {score_words(figures)}."]
    lines += _more_words(figures)
    trained_on = len(outcomes(view.verdicts).keys() & view.seen)
    if view.is_reference:
        lines.append(
            "These replies are the author's own worked answers: a ceiling and a check of the "
            "scoring, no model's achievement."
        )
    elif trained_on:
        lines.append(
            f"Trained on {trained_on} of these {figures['questions']} questions: "
            "the score includes memorisation."
        )
    rows = browser(view)
    parts = (
        Section("Score", tables=(_intervals(figures), *_passes(figures))),
        Section("Answers", plots=(by_status([view]),), tables=(_statuses(figures),)),
        Section("Breakdown", plots=(by_category([view]),), tables=tuple(_breakdowns(figures))),
        Section("Replies", text=(rows.note,) if rows.note else (), browser=rows),
        Section("How it was made", tables=tuple(_made(view))),
    )
    return to_html(Page(f"Run {view.run_id}", lines, parts))


def waiting_page(run: int, model: str) -> str:
    """The page of a run that has no score yet: what its link leads to until it ends."""
    line = f"{model} is being asked. This page is written anew when the run ends."
    return to_html(Page(f"Run {run}", [line], ()))


def _more_words(figures: Mapping[str, Any]) -> Iterator[str]:
    """Sentences for what the first line leaves out: graded values, and questions that hang together."""
    graded = figures["graded"]
    if graded:
        yield f"Mean value {percent(graded['mean'])} (95 % interval {_range(graded['ci'])})."
    width = figures["ci"][1] - figures["ci"][0]
    for told in figures["clustered"]:
        if told["ci"][1] - told["ci"][0] > width:
            yield (
                f"Questions share a {told['by']}; counting its {told['groups']} groups instead, the 95 % "
                f"interval is {_range(told['ci'])}."
            )


def _range(ci: Sequence[float]) -> str:
    return f"{percent(ci[0])} to {percent(ci[1])}"


def _interval(score: float | None, ci: Sequence[float]) -> Cell:
    drawn = None if score is None else (ci[0], score, ci[1])
    return Cell(f"{100 * ci[0]:.1f} to {100 * ci[1]:.1f}", interval=drawn)


def _intervals(figures: Mapping[str, Any]) -> Table:
    """Every figure of the whole run with what its interval rests on."""
    repeated = figures["repeats"] > 1
    wilson = "mean over questions, whole questions drawn" if repeated else "Wilson"
    rows = [("right", figures["score"], figures["ci"], figures["scored"], "replies", wilson)]
    strict = figures["strict"]
    if strict["scored"]:
        name = "right in exactly the form asked for"
        rows.append((name, strict["score"], strict["ci"], strict["scored"], "replies", wilson))
    graded = figures["graded"]
    if graded:
        told = (graded["mean"], graded["ci"], graded["n"], "questions", graded["method"])
        rows.append(("mean value", *told))
    for told in figures["clustered"]:
        method = f"clustered by {told['by']}, t with {told['groups'] - 1} degrees of freedom"
        groups = (told["groups"], f"{told['by']} groups", method)
        rows.append(("right", figures["score"], told["ci"], *groups))
    cells = tuple(
        (
            Cell(name),
            Cell(percent(score)),
            _interval(score, ci),
            Cell(f"{n} {what}"),
            Cell(how, mark="mute"),
        )
        for name, score, ci, n, what, how in rows
    )
    head = ("figure", "score", "95 % interval", "n", "method")
    return Table("Scores with their intervals", head, cells, frozenset({1, 3}))


def _passes(figures: Mapping[str, Any]) -> Iterator[Table]:
    rows = tuple(
        (
            Cell(str(told["k"])),
            Cell(percent(told["score"])),
            _interval(told["score"], told["ci"]),
            Cell(str(told["n"])),
        )
        for told in figures["pass_at_k"]
    )
    if rows:
        caption = "pass@k: the chance that one of k replies is right (Chen et al. 2021, unbiased)"
        yield Table(
            caption, ("k", "pass@k", "95 % interval", "questions"), rows, frozenset({0, 1, 3})
        )


def _statuses(figures: Mapping[str, Any]) -> Table:
    rows = tuple(
        (
            Cell(name.replace("_", " ")),
            Cell(str(told["n"])),
            Cell(percent(told["share"])),
            _interval(told["share"], told["ci"]),
        )
        for name, told in figures["status_shares"].items()
    )
    return Table(
        "Replies by status",
        ("status", "replies", "share", "95 % interval"),
        rows,
        frozenset({1, 2}),
    )


def _breakdowns(figures: Mapping[str, Any]) -> Iterator[Table]:
    for name in BREAKDOWNS:
        rows = tuple(
            (
                Cell(group or "none given"),
                *(Cell(str(told[count])) for count in ("right", "scored", "asked")),
                Cell(percent(told["score"])),
                _interval(told["score"], told["ci"]),
            )
            for group, told in figures[f"by_{name}"].items()
        )
        head = (name, "right", "scored", "asked", "score", "95 % interval")
        yield Table(f"Score by {name}", head, rows, frozenset(range(1, 5)))


def _made(view: RunView) -> Iterator[Table]:
    settings = {k: v for k, v in tables.flat(view.settings).items() if v is not None}
    if settings:
        yield tables.facts("Settings", ("setting", "value"), settings)
    hashes = {"scoring program": view.program_sha256, "evaluation": view.evaluation_sha256}
    yield tables.facts("Frozen with the benchmark", ("part", "sha256"), hashes)
