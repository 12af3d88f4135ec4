"""The pictures of a report as SVG text, the same bytes for the same figures, each with its numbers.

Text stays text (`svg.fonttype` none) and is measured with the font that matplotlib itself ships, and
every margin is set in inches, so the fonts of a machine do not move a line. Colours are the Okabe-Ito
set, which colour-blind readers tell apart; markers and hatches repeat what colour says.
"""

from __future__ import annotations

import csv
import io
import math
import re
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import fmean
from typing import TYPE_CHECKING, Any

from benchgen.compare.inference import PairedResult
from benchgen.compare.views import RunView, ScoreRow
from benchgen.types import STATUSES, Trace

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

INK, SOFT, PAPER = "#1f2328", "#8b949e", "#ffffff"
PALETTE = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7f7f7f")
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
ANSWERS = ("right", "wrong", *(s for s in STATUSES if s not in ("ok", "error")), "not measured")
ANSWER_LOOKS = {
    "right": ("#009E73", ""),
    "wrong": ("#D55E00", "/"),
    "no_answer": ("#E69F00", "x"),
    "ambiguous": ("#CC79A7", "\\"),
    "truncated": ("#56B4E9", "."),
    "empty": ("#b3b3b3", "-"),
    "refused": ("#7f7f7f", "+"),
    "not measured": ("#e6e6e6", "|"),
}
PART_NAMES = {
    "held_out": "held-out questions",
    "same": "questions seen in training",
    "all": "all questions",
}
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"
WIDTH = 7.6  # inches; at 72 units an inch the drawing is 547 units wide and scales with the page
STYLE: Any = {
    "svg.fonttype": "none",
    "svg.hashsalt": "benchgen",
    "svg.image_inline": True,
    "font.family": ["DejaVu Sans"],
    "font.size": 10,
    "text.parse_math": False,  # a dollar sign in a model's name is a dollar sign
    "text.usetex": False,
    "text.color": INK,
    "axes.edgecolor": SOFT,
    "axes.labelcolor": INK,
    "axes.facecolor": PAPER,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.spines.left": False,
    "axes.unicode_minus": False,
    "figure.facecolor": PAPER,
    "grid.color": SOFT,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.7,
    "hatch.linewidth": 0.6,
    "hatch.color": PAPER,
    "legend.frameon": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "ytick.major.size": 0,
}


@dataclass(frozen=True)
class Plot:
    """One picture: `svg` to show, `alt` to read instead, `csv` the numbers drawn."""

    name: str
    title: str
    alt: str
    svg: str
    csv: str


@dataclass(frozen=True)
class Score:
    """One combination of a sweep, as it is drawn: mean score, interval, and the score of each seed."""

    name: str
    score: float | None
    ci: tuple[float, float]
    seeds: tuple[float, ...]
    is_reference: bool


@dataclass(frozen=True)
class Effect:
    """One combination of a sweep against the first: all seeds together, and seed by seed."""

    name: str
    result: PairedResult
    p_holm: float
    by_seed: tuple[float, ...]
    ceiling: bool


def forest(rows: Sequence[ScoreRow]) -> Plot:
    """Score with its 95 % interval, one line a run and part; parts stand in groups."""
    order = {"held_out": 0, "same": 1, "all": 2}
    shown = sorted((r for r in rows if r.scored), key=lambda r: (order[r.part], r.benchmark_id))
    parts = list(dict.fromkeys((row.part, row.benchmark) for row in shown))
    models = list(dict.fromkeys(row.model for row in rows if row.model_kind != "reference"))
    places: list[tuple[float, ScoreRow]] = []
    heads: list[tuple[float, str]] = []
    y = 0.0
    for part, bench in parts:
        heads.append((y, f"{PART_NAMES[part].capitalize()}: {label(bench, 60)}"))
        members = [row for row in shown if (row.part, row.benchmark) == (part, bench)]
        places += [(y + 1 + i, row) for i, row in enumerate(members)]
        y += len(members) + 1.4
    with _style():
        figure, axes = _canvas(0.30 * max(y, 1) + 0.55, left=2.1, right=1.75, top=0.1)
        for place, row in places:
            look = models.index(row.model) if row.model in models else 0
            _interval(axes, row.score or 0.0, row.ci, place, look, row.model_kind)
            text = f"{percent(row.score)}  ({row.right} of {row.scored})"
            axes.annotate(text, (1, place), (10, 0), **_beside("left"))
            name = label(row.model) + (" (ceiling)" if row.model_kind == "reference" else "")
            axes.annotate(name, (0, place), (-10, 0), **_beside("right"))
        for place, head in heads:
            axes.annotate(head, (0, place), (-140, 0), weight="bold", **_beside("left"))
        _share_axis(axes, (y - 0.6, -0.6))
        svg = _svg(figure, "scores")
    told = [
        f"{label(r.model)} on {PART_NAMES[r.part]} {percent(r.score)} "
        f"(95 % interval {percent(r.ci[0])} to {percent(r.ci[1])}, {r.right} of {r.scored})"
        for _, r in places
    ]
    return Plot(
        "scores",
        "Scores with 95 % intervals",
        "Share right by model. " + "; ".join(told) + ".",
        svg,
        _csv(
            ("run", "model", "kind", "benchmark", "part", "right", "scored", "low", "score", "high"),
            (
                (r.run_id, r.model, r.model_kind, r.benchmark, r.part, r.right, r.scored, r.ci[0],
                 r.score, r.ci[1])
                for _, r in places
            ),
        ),
    )  # fmt: skip


def sweep_scores(rows: Sequence[Score], name: str, title: str) -> Plot:
    """Mean score of each combination with its 95 % interval, its seeds as small marks."""
    shown = [row for row in rows if row.score is not None]
    with _style():
        figure, axes = _canvas(0.34 * max(len(shown), 1) + 0.65, left=2.9, right=0.9, top=0.1)
        for place, row in enumerate(shown):
            kind = "reference" if row.is_reference else ""
            axes.plot(row.seeds, [place] * len(row.seeds), "|", color=INK, markersize=9, alpha=0.7)
            _interval(axes, row.score or 0.0, row.ci, place, place, kind)
            text = row.name + (" (ceiling)" if row.is_reference else "")
            axes.annotate(label(text, 36), (0, place), (-10, 0), fontsize=9, **_beside("right"))
            axes.annotate(percent(row.score), (1, place), (10, 0), **_beside("left"))
        _share_axis(axes, (len(shown) - 0.4, -0.6))
        svg = _svg(figure, name)
    told = [
        f"{label(r.name, 60)} {percent(r.score)} (95 % interval {percent(r.ci[0])} to "
        f"{percent(r.ci[1])}, {len(r.seeds)} seeds)"
        for r in shown
    ]
    return Plot(
        name, title, "Share right by combination. " + "; ".join(told) + ".", svg,
        _csv(
            ("combination", "low", "score", "high", "seeds"),
            ((r.name, r.ci[0], r.score, r.ci[1], " ".join(map(repr, r.seeds))) for r in shown),
        ),
    )  # fmt: skip


def effects(rows: Sequence[Effect], name: str, title: str) -> Plot:
    """Paired difference of each combination from the first with its 95 % interval, seeds as small marks."""
    shown = [row for row in rows if row.result.delta is not None]
    ends = [abs(end) for row in shown for end in (*row.result.ci, *row.by_seed)]
    widest = min(1.0, max([0.1, *ends]) * 1.05)
    with _style():
        figure, axes = _canvas(0.34 * max(len(shown), 1) + 0.65, left=2.9, right=0.9, top=0.1)
        axes.axvline(0, color=SOFT, linewidth=1)
        for place, row in enumerate(shown):
            delta = row.result.delta or 0.0
            axes.plot(
                row.by_seed, [place] * len(row.by_seed), "|", color=INK, markersize=9, alpha=0.7
            )
            _interval(axes, delta, row.result.ci, place, place + 1, "reference" * row.ceiling)
            axes.annotate(
                label(row.name, 36), (-widest, place), (-10, 0), fontsize=9, **_beside("right")
            )
            axes.annotate(f"{100 * delta:+.1f}", (widest, place), (10, 0), **_beside("left"))
        axes.set_xlim(-widest, widest)
        axes.set_ylim(len(shown) - 0.4, -0.6)
        axes.set_yticks([])
        axes.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+.0f}")
        axes.set_xlabel("points")
        axes.grid(axis="x")
        svg = _svg(figure, name)
    told = [
        f"{label(r.name, 60)} {100 * (r.result.delta or 0):+.1f} points (95 % interval "
        f"{100 * r.result.ci[0]:+.1f} to {100 * r.result.ci[1]:+.1f})"
        for r in shown
    ]
    return Plot(
        name, title, "Difference by combination. " + "; ".join(told) + ".", svg,
        _csv(
            ("combination", "low", "difference", "high", "by seed"),
            ((r.name, r.result.ci[0], r.result.delta, r.result.ci[1], " ".join(map(repr, r.by_seed)))
             for r in shown),
        ),
    )  # fmt: skip


def by_category(runs: Sequence[RunView]) -> Plot:
    """Score with its 95 % interval for each category and run, categories in groups."""
    figures = [(run, run.figures["by_category"]) for run in runs]
    names = sorted({name for _, groups in figures for name in groups})
    step = len(runs) + 1
    rows = []
    with _style():
        height = 0.21 * max(len(names) * step, 2) + 0.95
        figure, axes = _canvas(height, left=2.1, right=1.75, top=0.45)
        for i, name in enumerate(names):
            middle = i * step + (len(runs) - 1) / 2
            axes.annotate(label(name or "no category"), (0, middle), (-10, 0), **_beside("right"))
            for j, (run, groups) in enumerate(figures):
                got = groups.get(name)
                if got is None or not got["scored"]:
                    continue
                _interval(axes, got["score"], got["ci"], i * step + j, j, run.model_kind)
                text = f"{percent(got['score'])}  ({got['right']} of {got['scored']})"
                style = {**_beside("left"), "fontsize": 8}
                axes.annotate(text, (1, i * step + j), (10, 0), **style)
                rows.append((name, run.run_id, run.model, got["right"], got["scored"],
                             got["ci"][0], got["score"], got["ci"][1]))  # fmt: skip
        _share_axis(axes, (len(names) * step - 0.5, -1))
        _model_legend(axes, runs)
        svg = _svg(figure, "categories")
    told = [f"{r[0] or 'no category'}: {label(r[2])} {percent(r[6])} of {r[4]}" for r in rows]
    return Plot(
        "categories",
        "Score by category",
        "Share right by category and model. " + "; ".join(told) + ".",
        svg,
        _csv(("category", "run", "model", "right", "scored", "low", "score", "high"), rows),
    )


def by_status(runs: Sequence[RunView]) -> Plot:
    """What became of every answer: one stacked bar a run, in shares of the questions asked."""
    counted = [(run, answer_counts(run.verdicts)) for run in runs]
    with _style():
        figure, axes = _canvas(0.42 * max(len(runs), 1) + 1.0, left=2.1, right=0.5, top=0.5)
        for place, (run, counts) in enumerate(counted):
            asked, start = max(sum(counts.values()), 1), 0.0
            for name in ANSWERS:
                if not counts[name]:
                    continue
                share = counts[name] / asked
                colour, hatch = ANSWER_LOOKS[name]
                axes.barh(place, share, 0.7, start, color=colour, hatch=hatch, edgecolor=PAPER,
                          linewidth=0.8)  # fmt: skip
                if share > 0.035:
                    axes.text(start + share / 2, place, str(counts[name]), ha="center",
                              va="center", fontsize=9, color="#111111", bbox=_PLATE)  # fmt: skip
                start += share
            name = f"{label(run.model, 20)}, run {run.run_id}"
            axes.annotate(name, (0, place), (-10, 0), **_beside("right"))
        _share_axis(axes, (len(runs) - 0.4, -0.6))
        _answer_legend(axes, {name for _, counts in counted for name in counts if counts[name]})
        svg = _svg(figure, "statuses")
    told = [
        f"{label(run.model)}, run {run.run_id}: "
        + ", ".join(f"{counts[name]} {name}" for name in ANSWERS if counts[name])
        for run, counts in counted
    ]
    return Plot(
        "statuses",
        "What became of every answer",
        "Answers by status. " + "; ".join(told) + ".",
        svg,
        _csv(
            ("run", "model", *ANSWERS),
            ((run.run_id, run.model, *(counts[n] for n in ANSWERS)) for run, counts in counted),
        ),
    )


def loss_curve(rows: Sequence[Mapping[str, Any]]) -> Plot | None:
    """Training loss by step, with a running mean when the curve is long; None without two points."""
    logged = [(float(r["step"]), float(r["loss"])) for r in rows if "step" in r and "loss" in r]
    points = sorted(point for point in logged if math.isfinite(point[1]))
    if len(points) < 2:
        return None
    steps, losses = zip(*points, strict=True)
    window = max(1, len(points) // 10)
    smooth = [
        fmean(losses[max(0, i - window // 2) : i + window // 2 + 1]) for i in range(len(losses))
    ]
    with _style():
        figure, axes = _canvas(2.9, left=0.75, right=0.3, top=0.25)
        axes.spines["left"].set_visible(True)
        faint = 0.4 if window > 1 else 1.0
        axes.plot(steps, losses, color=PALETTE[0], alpha=faint, linewidth=1.4, marker="o",
                  markersize=2.5, label="each step")  # fmt: skip
        if window > 1:
            axes.plot(
                steps, smooth, color=PALETTE[1], linewidth=2, label=f"mean of {window // 2 * 2 + 1}"
            )
            axes.legend(loc="upper right")
        axes.set_xlabel("optimiser step")
        axes.set_ylabel("loss (nats a token)")
        axes.set_ylim(bottom=0)
        axes.grid(axis="y")
        svg = _svg(figure, "loss")
    alt = (
        f"Training loss over {len(points)} logged steps: {losses[0]:.3f} at step {steps[0]:g}, "
        f"{losses[-1]:.3f} at step {steps[-1]:g}, lowest {min(losses):.3f}."
    )
    title, lost = "Training loss", len(logged) - len(points)
    if lost:  # a diverged training must not look like a short one
        title += f" ({lost} of {len(logged)} logged steps have no finite loss and are not drawn)"
    return Plot("loss", title, alt, svg, _csv(("step", "loss"), points))


def metric_curve(
    rows: Sequence[Mapping[str, Any]], name: str, title: str, unit: str
) -> Plot | None:
    """A logged figure by step, such as the reward or a held-out score; None without two points."""
    logged = ((r["step"], r[name]) for r in rows if "step" in r and r.get(name) is not None)
    points = sorted((float(s), float(v)) for s, v in logged if math.isfinite(v))
    if len(points) < 2:
        return None
    steps, values = zip(*points, strict=True)
    with _style():
        figure, axes = _canvas(2.4, left=0.75, right=0.3, top=0.25)
        axes.spines["left"].set_visible(True)
        axes.plot(steps, values, color=PALETTE[2], linewidth=1.6, marker="s", markersize=4)
        axes.set_xlabel("optimiser step")
        axes.set_ylabel(unit)
        axes.grid(axis="y")
        svg = _svg(figure, name)
    alt = (
        f"{title} over {len(points)} steps: {values[0]:.3f} at step {steps[0]:g}, {values[-1]:.3f} at "
        f"step {steps[-1]:g}, highest {max(values):.3f}."
    )
    return Plot(name, title, alt, svg, _csv(("step", name), points))


def answer_counts(traces: Iterable[Trace]) -> Counter[str]:
    """How many answers were right, wrong, not usable (by status) or not measured."""

    def fate(trace: Trace) -> str:
        if trace.correct is None:
            return "not measured"
        if trace.correct:
            return "right"
        return "wrong" if trace.status not in ANSWERS else trace.status

    return Counter({(trace.key, trace.repeat): fate(trace) for trace in traces}.values())


def inline(plot: Plot) -> str:
    """The picture for use inside a page: no XML head, ids of its own, inks that follow the theme."""
    svg = plot.svg[plot.svg.index("<svg") :]
    svg = svg.replace(INK, "currentColor").replace(f"fill: {PAPER}", "fill: none")
    svg = re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{plot.name}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-labelledby="{plot.name}-caption" ', 1)


def label(text: str, limit: int = 26) -> str:
    """The text on one line without control characters, cut in its middle to `limit` characters."""
    shown = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    if len(shown) <= limit:
        return shown
    head = limit * 2 // 3
    return shown[:head] + "…" + shown[len(shown) - (limit - head - 1) :]


def percent(share: float | None) -> str:
    """'46.7 %'; 'not scored' for None."""
    return "not scored" if share is None else f"{100 * share:.1f} %"


_PLATE = {"boxstyle": "round,pad=0.15", "facecolor": "#fefefe", "edgecolor": "none"}


def _style() -> AbstractContextManager[None]:
    import matplotlib as mpl  # half a second, so only when something is drawn

    return mpl.rc_context(STYLE)


def _canvas(height: float, *, left: float, right: float, top: float) -> tuple[Figure, Axes]:
    """A figure of WIDTH x height inches whose margins are given in inches (0.45 below)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, height))
    axes = figure.add_axes(
        (left / WIDTH, 0.45 / height, 1 - (left + right) / WIDTH, 1 - (0.45 + top) / height)
    )
    return figure, axes


def _beside(side: str) -> dict[str, Any]:
    return {"textcoords": "offset points", "ha": side, "va": "center", "annotation_clip": False}


def _interval(
    axes: Axes, score: float, ci: Sequence[float], place: float, look: int, kind: str
) -> None:
    colour = SOFT if kind == "reference" else PALETTE[look % len(PALETTE)]
    axes.plot(ci, (place, place), color=colour, linewidth=2.2, solid_capstyle="round")
    axes.plot(score, place, color=colour, marker=MARKERS[look % len(MARKERS)], markersize=6.5,
              markerfacecolor="none" if kind == "reference" else colour, clip_on=False)  # fmt: skip


def _share_axis(axes: Axes, limits: tuple[float, float]) -> None:
    axes.set_xlim(0, 1)
    axes.set_ylim(*limits)
    axes.set_yticks([])
    axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25", "50", "75", "100 %"])
    axes.grid(axis="x")


def _model_legend(axes: Axes, runs: Sequence[RunView]) -> None:
    for j, run in enumerate(runs):
        axes.plot([], [], color=SOFT if run.model_kind == "reference" else PALETTE[j % len(PALETTE)],
                  marker=MARKERS[j % len(MARKERS)], label=label(run.model))  # fmt: skip
    axes.legend(loc="lower left", bbox_to_anchor=(-0.02, 1.0), ncols=3, fontsize=9)


def _answer_legend(axes: Axes, used: set[str]) -> None:
    from matplotlib.patches import Patch

    handles = []
    for name in ANSWERS:
        if name in used:
            colour, hatch = ANSWER_LOOKS[name]
            text = name.replace("_", " ")
            handles.append(Patch(facecolor=colour, hatch=hatch, edgecolor=PAPER, label=text))
    axes.legend(handles=handles, loc="lower left", bbox_to_anchor=(-0.42, 1.0), ncols=8,
                fontsize=9, columnspacing=1.0, handlelength=1.5, handletextpad=0.5)  # fmt: skip


def _svg(figure: Figure, name: str) -> str:
    """The figure as SVG text, without date or maker, with the page's fonts named."""
    buffer = io.StringIO()
    with warnings.catch_warnings():
        # Names may be in scripts that the measuring font lacks; the reader's own font draws them.
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        figure.savefig(
            buffer, format="svg", metadata={"Date": None, "Creator": None, "Title": name}
        )
    lines = (line.rstrip() for line in buffer.getvalue().splitlines())
    return "\n".join(lines).replace("'DejaVu Sans'", FONT) + "\n"


def _csv(head: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(head)
    writer.writerows([_cell(value) for value in row] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    """The value for a CSV cell; text that a spreadsheet would run as a formula gets a quote first."""
    if isinstance(value, str) and value[:1] in ("=", "+", "-", "@", "\t", "\r"):
        return "'" + value
    return value
