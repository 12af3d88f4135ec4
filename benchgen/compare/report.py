"""The report of a comparison, and the page of one benchmark.

`sections` turns records into plain sections; `markup` writes the same sections as HTML and as
Markdown. Nothing here reads a clock, so the same view gives the same bytes.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchgen.compare import tables
from benchgen.compare.inference import IMPROVED, NOTHING, UNCLEAR, VALUE, PairedResult
from benchgen.compare.markup import (
    Answered,
    Cell,
    Example,
    Page,
    Section,
    Table,
    Tile,
    clean,
    cut,
    to_html,
    to_markdown,
)
from benchgen.compare.plots import (
    PART_NAMES,
    by_category,
    by_status,
    forest,
    loss_curve,
    percent,
)
from benchgen.compare.views import Comparison, Pair, RunView
from benchgen.run.metrics import outcomes, question_means
from benchgen.types import Evaluation, Plan, Question, sha256

QUESTION_LIMIT = 2_000  # rows of questions on a benchmark's page: all that a benchmark may have
SENTENCES = 6  # tests told in words at the head; the table has all
EXAMPLES = 10  # wins, and losses, that a report shows
PARTS = ("held_out", "same", "all")  # the order of a report: the honest number first
MARKS = {IMPROVED: "good", UNCLEAR: "mute", NOTHING: "mute"}
SUMS = "SHA256SUMS"
"""Of a report: its files and what each was when it was written."""


@dataclass(frozen=True)
class Trained:
    """One more job whose model is compared: what its plan predicted and what it took."""

    job: int
    plan: Plan
    actual: Mapping[str, float]


@dataclass(frozen=True)
class ReportView:
    """All that a report says. What is left empty is left out of the page."""

    title: str
    runs: tuple[RunView, ...]
    comparison: Comparison
    verdict: tuple[str, ...] = ()
    """Sentences that stand first; made from the comparison when empty."""
    plan: Plan | None = None
    actual: Mapping[str, float] = field(default_factory=dict)
    """What really happened, under the names and in the units of `plan.estimates`."""
    others: tuple[Trained, ...] = ()
    """Further jobs that made models of these runs, the newest first."""
    stages: Mapping[str, float] = field(default_factory=dict)
    """Seconds of each stage, in order."""
    curve: tuple[Mapping[str, Any], ...] = ()
    """Rows of the job's metrics: {"step", "loss", …}."""
    data: tuple[Mapping[str, Any], ...] = ()
    """Facts about the data (sizes, duplicates out, rows trained on): one table row each."""
    limits: tuple[str, ...] = ()
    """What was not run, and what the figures cannot say."""
    commands: tuple[str, ...] = ()
    """Exact command lines that repeat it."""
    manifest: Mapping[str, Any] = field(default_factory=dict)
    """Hashes, versions, platform; may be nested."""
    seed: int = 0
    """Draws the wins and losses that are shown."""


@dataclass(frozen=True)
class RunLine:
    """One finished run, as a benchmark's page lists it."""

    run_id: int
    model: str
    right: int
    scored: int
    asked: int
    score: float | None
    ci: tuple[float, float]
    """As the run's own summary has them: with repeats they are not those of the counts."""
    link: str


@dataclass(frozen=True)
class BenchmarkView:
    """All that a benchmark's page says."""

    benchmark_id: int
    name: str
    state: str
    questions: tuple[Question, ...]
    evaluation: Evaluation
    program_sha256: str = ""
    evaluation_sha256: str = ""
    notes: tuple[str, ...] = ()
    """What its author's report warns of."""
    version_of: int | None = None
    """The published benchmark that this one is a changed copy of."""
    runs: tuple[RunLine, ...] = ()


def write_report(view: ReportView, folder: Path) -> Path:
    """Path of the report.html written into `folder`, with report.md, plots/*.svg and their *.csv.

    Links of the runs that are absolute paths become relative to `folder`.
    """
    return write_page(_page(view, folder), folder)


def report_files(view: ReportView, folder: Path) -> dict[str, str]:
    """{file: text} of what `write_report` writes into that folder; nothing is written."""
    return _files(_page(view, folder))


def _page(view: ReportView, folder: Path) -> Page:
    return Page(
        title=view.title,
        lines=verdict(view),
        sections=sections(view),
        warnings=view.comparison.warnings,
        tiles=_tiles(view),
        here=folder,
    )


def write_page(page: Page, folder: Path) -> Path:
    """Path of the page written into `folder` as report.html, with report.md, plots/*.svg and their *.csv.

    Beside them SHA256SUMS, as `sha256sum -c SHA256SUMS` reads it.
    """
    files = _files(page)
    told = (f"{sha256(text)}  {name}\n" for name, text in sorted(files.items()))
    files[SUMS] = "".join(told)
    (folder / "plots").mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    return folder / "report.html"


def _files(page: Page) -> dict[str, str]:
    files = {"report.md": to_markdown(page), "report.html": to_html(page)}
    for plot in (plot for section in page.sections for plot in section.plots):
        files[f"plots/{plot.name}.svg"] = plot.svg
        files[f"plots/{plot.name}.csv"] = clean(plot.csv)
    return files


def benchmark_page(view: BenchmarkView) -> str:
    """One benchmark as a self-contained HTML page: questions with answers, evaluation, hashes."""
    kinds = ", ".join(sorted({question.kind for question in view.questions}))
    lines = [f"{view.name}: {len(view.questions)} questions ({kinds}), {view.state}."]
    if view.version_of is not None:
        lines.append(f"A changed copy of benchmark {view.version_of}.")
    marked = sum(question.held_out for question in view.questions)
    if marked:
        lines.append(f"{marked} of its questions are held out: no training here learns from them.")
    lines += view.notes
    frozen = {"scoring program": view.program_sha256, "evaluation": view.evaluation_sha256}
    frozen = {name: value or "frozen when it is published" for name, value in frozen.items()}
    asked = view.evaluation.to_dict()
    parts = (
        Section("Runs so far", tables=(tables.run_lines(view.runs),)) if view.runs else None,
        Section("Make-up", tables=tuple(tables.make_up(view.questions))),
        Section(
            "Questions",
            text=_cut_note(len(view.questions), QUESTION_LIMIT, "questions"),
            tables=(tables.question_table(view.questions[:QUESTION_LIMIT]),),
        ),
        Section(
            "How it is asked and scored",
            tables=(
                tables.facts("Evaluation", ("setting", "value"), asked),
                tables.facts("Frozen parts", ("part", "sha256"), frozen),
            ),
        ),
    )
    sections = tuple(part for part in parts if part is not None)
    return to_html(Page(f"Benchmark {view.benchmark_id}", lines, sections))


def comparison_page(comparison: Comparison) -> Page:
    """A comparison alone, as a notebook shows it: its tests in words, the scores, the paired differences."""
    found = (_score_section(comparison), _test_section(comparison))
    return Page(
        title="",
        lines=verdict(ReportView("", (), comparison)),
        sections=[section for section in found if section.has_content],
        warnings=comparison.warnings,
        here=Path.cwd(),
    )


def _cut_note(count: int, limit: int, what: str) -> tuple[str, ...]:
    return (f"The first {limit} of {count} {what} are shown.",) if count > limit else ()


# ------------------------------------------------------------------------------------------- wording


def verdict(view: ReportView) -> tuple[str, ...]:
    """The sentences that stand first: each test in words with numbers and interval, held-out first."""
    if view.verdict:
        return view.verdict
    names = {row.run_id: row.model for row in view.comparison.rows}
    tests = _tests(view.comparison)
    if tests:
        lines = [test_words(pair, names) for pair in tests[:SENTENCES]]
        rest = len(tests) - len(lines)
        return (*lines, f"{rest} more tests stand in the table below.") if rest else tuple(lines)
    return tuple(
        f"{row.model} on {row.benchmark}: {score_words(row.to_dict())}."
        + (f" This is the {row.label}." if row.model_kind == "reference" else "")
        for row in view.comparison.rows
    )


def _tests(comparison: Comparison) -> list[Pair]:
    """The tests that are not about the ceiling, held-out questions first."""
    tests = [pair for pair in comparison.pairs if not pair.ceiling]
    return sorted(tests, key=lambda pair: PARTS.index(pair.part))


def test_words(pair: Pair, names: Mapping[int, str]) -> str:
    """One test as a sentence; `names` are the models by run id."""
    got, model, base = pair.result, names[pair.run], names[pair.baseline]
    if got.delta is None:
        return (
            f"{model} and {base} share no scored question of {pair.benchmark}: nothing to compare."
        )
    word = {IMPROVED: "improved over", UNCLEAR: "is not distinguishable from"}
    measure = "mean value" if got.measure == VALUE else "right"
    asked = "questions" if pair.part == "all" else PART_NAMES[pair.part]
    where = f"on {got.n} {asked} ({pair.benchmark})"
    scores = f"{percent(got.score_b)} {measure} against {percent(got.score_a)}"
    if pair.ceiling:
        return f"{model} beside {base} {where}: {scores}. The worked answers are a ceiling, and nothing that a model achieved."
    text = (
        f"{model} {word.get(got.verdict, 'is worse than')} {base} {where}: {scores}, {points(got.delta)} points (95 % interval {points(got.ci[0])} to "
        f"{points(got.ci[1])}; {got.wins} wins, {got.losses} losses, {p_words(got.p)})."
    )
    if got.borderline:
        text += " Borderline: " + " and ".join(_doubts(got)) + "."
    if got.verdict == UNCLEAR:
        text += f" {_smallest_words(got.smallest)}"
    if pair.part == "same":
        text += " These questions were trained on, so this includes memorisation."
    return text


def _doubts(got: PairedResult) -> Iterator[str]:
    """Why a difference whose interval excludes zero is borderline all the same."""
    if got.p >= 0.05:
        yield f"the {'exact ' if 'exact' in got.test else ''}test does not reach 5 %"
    told = got.clustered
    if told is not None and told["ci"][0] <= 0 <= told["ci"][1]:
        yield (
            f"questions share a {told['by']}, and the interval by its {told['groups']} groups, "
            f"{points(told['ci'][0])} to {points(told['ci'][1])}, holds zero"
        )


def _smallest_words(smallest: float | None) -> str:
    if smallest is None:
        return "So few questions cannot show any difference."
    return f"So many questions show differences from about {100 * smallest:.0f} points up."


def score_words(figures: Mapping[str, Any]) -> str:
    """A run's score as words: right of scored, share with interval, form, repeats, what is not measured."""
    low, high = figures["ci"]
    if not figures["scored"]:
        return f"nothing was measured on {figures['asked']} questions"
    told = f"{figures['right']} of {figures['scored']} scored answers right"
    if figures["score"] is not None:
        told += f", {percent(figures['score'])} (95 % interval {percent(low)} to {percent(high)})"
    strict = figures["strict"]
    if strict["score"] is not None and strict["right"] < figures["right"]:
        told += f"; {strict['right']} in exactly the form asked for"
    missing = figures["asked"] - figures["scored"]
    if figures.get("repeats", 1) > 1:
        told += (
            f"; each question asked {figures['repeats']} times, the interval draws whole questions"
        )
    return told + (f"; {missing} of {figures['asked']} not measured" if missing else "")


def points(share: float | None) -> str:
    """'+46.7' or '-3.1': a difference of shares in percentage points; '' for None."""
    return "" if share is None else f"{100 * share:+.1f}"


def p_words(p: float) -> str:
    """'p = 0.063', or 'p < 0.001' below that."""
    return f"p {_p(p)}" if p < 0.001 else f"p = {_p(p)}"


def _p(p: float) -> str:
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def number(value: float) -> str:
    """'1,234' for whole numbers and from a hundred up, else three significant digits."""
    return f"{value:,.0f}" if value == int(value) or abs(value) >= 100 else f"{value:.3g}"


def _tiles(view: ReportView) -> list[Tile]:
    names = {row.run_id: row.model for row in view.comparison.rows}
    return [
        Tile(
            head=f"{PART_NAMES[pair.part].capitalize()} (n = {pair.result.n})",
            before=f"{names[pair.baseline]} {percent(pair.result.score_a)}",
            after=f"{names[pair.run]} {percent(pair.result.score_b)}",
            delta=points(pair.result.delta),
            interval=f"{points(pair.result.ci[0])} to {points(pair.result.ci[1])}",
            verdict=pair.verdict,
            mark=MARKS.get(pair.verdict, "bad"),
        )
        for pair in _tests(view.comparison)[:4]
        if pair.result.n
    ]


# ------------------------------------------------------------------------------------------ sections


def sections(view: ReportView) -> tuple[Section, ...]:
    """The parts of the report in reading order, without the empty ones."""
    manifest = tables.facts("What it was made with", ("part", "value"), tables.flat(view.manifest))
    found = (
        _score_section(view.comparison),
        _test_section(view.comparison),
        _breakdown_section(view),
        _example_section(view),
        _training_section(view),
        _data_section(view),
        Section("What was not run, and limits", lines=view.limits),
        Section("Repeat it", code="\n".join(view.commands)),
        Section("Manifest", tables=(manifest,) if manifest.rows else ()),
    )
    return tuple(section for section in found if section.has_content)


def _score_section(comparison: Comparison) -> Section:
    parts = comparison.parts
    groups = sorted({(PARTS.index(row.part), row.benchmark_id, row.benchmark) for row in parts})
    shown = []
    for place, bench_id, bench in groups:
        rows = [r for r in parts if (r.part, r.benchmark_id) == (PARTS[place], bench_id)]
        caption = f"{PART_NAMES[PARTS[place]].capitalize()}: {bench} (benchmark {bench_id})"
        shown.append(tables.score_table(caption, rows))
    text = (
        "Every model of a table answered the same questions. Intervals are Wilson 95 % intervals. An "
        "answer that was not measured (time-out, endpoint error) is neither right nor wrong."
    )
    scored = [row for row in parts if row.scored]
    return Section("Scores", (text,), (forest(scored),) if scored else (), tuple(shown))


def _test_section(comparison: Comparison) -> Section:
    names = {row.run_id: f"{row.model} (run {row.run_id})" for row in comparison.rows}
    pairs = sorted(comparison.pairs, key=lambda p: (p.ceiling, PARTS.index(p.part)))
    head = ("questions", "model against baseline", "verdict", "n", "difference", "95 % interval",
            "wins", "losses", "p", "p (Holm)", "smallest shown")  # fmt: skip
    rows = tuple(_test_cells(pair, names) for pair in pairs)
    caption = "Differences in points, model minus baseline, question by question"
    text = (
        f"Only questions that both runs have scored count. {_methods(pairs)} Holm: adjusted for all tests of this table that compare models. Smallest shown: "
        "the difference that so many questions find four times in five. The word improved is written "
        "only where the interval excludes zero."
    )
    table = Table(caption, head, rows, frozenset(range(3, 11)))
    return Section("Paired comparison", (text,), tables=(table,) if rows else ())


def _methods(pairs: Sequence[Pair]) -> str:
    """The intervals and tests of the table, each once."""
    intervals = dict.fromkeys(pair.result.interval for pair in pairs)
    tests = dict.fromkeys(pair.result.test for pair in pairs)
    return f"Interval: {' or '.join(intervals)}. p: {' or '.join(tests)} test;"


def _test_cells(pair: Pair, names: Mapping[int, str]) -> tuple[Cell, ...]:
    got = pair.result
    mark = "mute" if pair.ceiling else MARKS.get(got.verdict, "bad")
    asked = (
        Cell(f"{PART_NAMES[pair.part]}, {pair.benchmark}{', mean value' * (got.measure == VALUE)}"),
        Cell(f"{names[pair.run]} against {names[pair.baseline]}"),
    )
    if not got.n:
        return (*asked, Cell(pair.verdict, mark=mark), Cell("0"), *[Cell("")] * 7)
    return (
        *asked,
        Cell(pair.verdict + (" (borderline)" if got.borderline and not pair.ceiling else ""), mark=mark),
        Cell(str(got.n)),
        Cell(points(got.delta)),
        Cell(f"{points(got.ci[0])} to {points(got.ci[1])}"),
        Cell(str(got.wins)),
        Cell(str(got.losses)),
        Cell(_p(got.p)),
        Cell("" if pair.ceiling else _p(pair.p_holm)),
        Cell("none" if got.smallest is None else f"{100 * got.smallest:.1f}"),
    )  # fmt: skip


def _breakdown_section(view: ReportView) -> Section:
    """Status of all runs; categories by benchmark, drawn for the one that the first test is about."""
    groups: dict[int, list[RunView]] = {}
    for run in view.runs:
        groups.setdefault(run.benchmark_id, []).append(run)
    tests = _tests(view.comparison)
    tested = {run.run_id: run.benchmark_id for run in view.runs}
    first = groups[tested[tests[0].run] if tests else view.runs[0].benchmark_id]
    shown = [run for run in first if not run.is_reference] or first
    text = (
        f"The picture by category shows {shown[0].benchmark}; the tables show every benchmark.",
    )
    found = [tables.category_table(members) for members in groups.values()]
    plots = (by_category(shown), by_status(view.runs))
    return Section("Breakdown", text, plots, (*found, tables.status_table(view.runs)))


def _example_section(view: ReportView) -> Section:
    """Wins and losses of the first test, drawn at random."""
    tests = _tests(view.comparison)
    if not tests:
        return Section("Wins and losses")
    pair = tests[0]
    by_id = {run.run_id: run for run in view.runs}
    before, after = by_id[pair.baseline], by_id[pair.run]
    blocks = []
    for name, wanted in (("wins", (False, True)), ("losses", (True, False))):
        found = _differing(view, pair, wanted)
        drawn = sorted(
            random.Random(f"{view.seed} {name}").sample(found, min(EXAMPLES, len(found)))
        )
        examples = tuple(_example(key, before, after) for key in drawn)
        blocks.append((f"{name.capitalize()}: {len(drawn)} of {len(found)}", examples))
    text = (
        f"Drawn at random (seed {view.seed}), not picked, from the {PART_NAMES[pair.part]} of "
        f"{pair.benchmark}. A win: only {after.model} is right; a loss: only {before.model} is."
    )
    return Section("Wins and losses", (text,), examples=tuple(blocks))


def _differing(view: ReportView, pair: Pair, wanted: tuple[bool, bool]) -> list[str]:
    """Sorted keys of the pair's part on which baseline and run came out as `wanted`."""
    runs = {run.run_id: outcomes(run.verdicts) for run in view.runs}
    a, b = runs[pair.baseline], runs[pair.run]
    seen = frozenset().union(*(run.seen for run in view.runs))
    keys = sorted(key for key in a.keys() & b.keys() if _better(a[key], b[key]) == wanted)
    if pair.part == "all":
        return keys
    return [key for key in keys if (key in seen) == (pair.part == "same")]


def _better(a: Sequence[bool | None], b: Sequence[bool | None]) -> tuple[bool, bool] | None:
    """(whether a, whether b) is right more often; None where both are alike or one is not measured."""
    means = question_means({"a": a, "b": b})
    if len(means) < 2 or means["a"] == means["b"]:
        return None
    return means["a"] > means["b"], means["b"] > means["a"]


def _example(key: str, before: RunView, after: RunView) -> Example:
    question = next(question for question in after.questions if question.key == key)
    runs = (before, after)
    traces = [next(t for t in reversed(run.traces) if t.key == key) for run in runs]
    replies = [
        Answered(run.model, cut(trace.reply), tables.outcome(trace))
        for run, trace in zip(runs, traces, strict=True)
    ]
    head = ", ".join(part for part in (question.category, question.difficulty) if part)
    prompt, answer = tables.asked_text(traces[0], question), tables.target_text(question)
    return Example(head or question.kind, cut(prompt), cut(answer), tuple(replies))


def _training_section(view: ReportView) -> Section:
    curve = loss_curve(view.curve)
    shown = []
    if view.plan:
        shown.append(tables.facts("What was trained", ("setting", "value"), _settings(view.plan)))
    estimates = _estimate_table(view.plan, view.actual, "Predicted against actual")
    if estimates.rows:
        shown.append(estimates)
    for other in view.others:
        caption = (
            f"Predicted against actual: {other.plan.name} (job {other.job}, {other.plan.job_type})"
        )
        shown.append(_estimate_table(other.plan, other.actual, caption))
    if view.stages:
        shown.append(_stage_table(view.stages))
    told = view.plan.warnings if view.plan else ()
    return Section("Training", plots=(curve,) if curve else (), tables=tuple(shown), lines=told)


def _settings(plan: Plan) -> dict[str, Any]:
    return {
        "plan hash": plan.hash,
        "job": plan.job_type,
        "base model": plan.base_model,
        "model made": plan.name,
        "questions counted as seen": len(plan.seen),
        **tables.flat({"base": plan.base, "data": plan.dataset, "device": plan.device}),
        **tables.flat(plan.hyperparameters),
    }


def _estimate_table(plan: Plan | None, actual: Mapping[str, float], caption: str) -> Table:
    estimates = plan.estimates if plan else {}
    rows = []
    for name in [*estimates, *sorted(actual.keys() - estimates.keys())]:
        told, real = estimates.get(name), actual.get(name)
        unit = f" {told.unit}" if told and told.unit != name else ""
        ratio = real / told.value if told and told.value and real is not None else None
        rows.append(
            (
                Cell(name.replace("_", " ")),
                Cell(f"{number(told.value)}{unit}" if told else "no estimate"),
                Cell("not measured" if real is None else f"{number(real)}{unit}"),
                Cell("" if ratio is None else f"{ratio:.2f}"),
                Cell(told.basis if told else "", mark="mute"),
            )
        )
    head = ("quantity", "predicted", "actual", "actual / predicted", "basis of the prediction")
    return Table(caption, head, tuple(rows), frozenset({1, 2, 3}))


def _stage_table(stages: Mapping[str, float]) -> Table:
    total = sum(stages.values())
    rows = [
        (
            Cell(name),
            Cell(f"{seconds:.1f}"),
            Cell(f"{100 * seconds / total:.0f} %" if total else ""),
        )
        for name, seconds in stages.items()
    ]
    rows.append((Cell("together"), Cell(f"{total:.1f}"), Cell("")))
    return Table("Seconds by stage", ("stage", "seconds", "share"), tuple(rows), frozenset({1, 2}))


def _data_section(view: ReportView) -> Section:
    shown = [_key_table(view.runs)]
    if view.data:
        columns = tuple(dict.fromkeys(name for row in view.data for name in row))
        body = tuple(
            tuple(Cell(tables.plain(row.get(c, ""))) for c in columns) for row in view.data
        )
        shown.append(Table("Sizes", tuple(c.replace("_", " ") for c in columns), body))
    return Section("Data", tables=tuple(shown))


def _key_table(runs: Sequence[RunView]) -> Table:
    """Questions of each benchmark: how many, seen in training, and shared with the others."""
    keys: dict[tuple[int, str], set[str]] = {}
    for run in runs:
        found = keys.setdefault((run.benchmark_id, run.benchmark), set())
        found.update(question.key for question in run.questions)
    seen = frozenset().union(*(run.seen for run in runs))
    rows = []
    for bench, own in sorted(keys.items()):
        others: set[str] = set().union(*(k for name, k in keys.items() if name != bench))
        counts = (bench[0], len(own), len(own & seen), len(own - seen), len(own & others))
        rows.append((Cell(bench[1]), *(Cell(str(count)) for count in counts)))
    head = ("benchmark", "id", "questions", "seen in training", "held out", "shared with others")
    return Table("Questions, told apart by key", head, tuple(rows), frozenset(range(1, 6)))
