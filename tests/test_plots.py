"""Pictures: the same bytes, text kept as text, every figure also in the alt text and the CSV."""

from __future__ import annotations

import csv
import io
import re
from functools import cache
from xml.etree import ElementTree

import pytest

from benchgen.compare.paired import compare_runs
from benchgen.compare.plots import (
    Plot,
    answer_counts,
    by_category,
    by_status,
    forest,
    inline,
    label,
    loss_curve,
)
from benchgen.compare.views import RunView
from benchgen.types import Question, Trace

pytestmark = pytest.mark.slow  # drawing takes its time

QUESTIONS = tuple(
    Question(
        kind="qa", prompt=f"Question {i}?", target=[str(i)], category=["moons", "stars"][i % 2]
    )
    for i in range(12)
)
CURVE = [{"step": i, "loss": 3 / i} for i in range(1, 31)]


def run_view(
    model: str = "tuned", run_id: int = 2, *, kind: str = "adapter", right: int = 9
) -> RunView:
    statuses = ["ok"] * 10 + ["no_answer", "error"]
    traces = tuple(
        Trace(
            key=question.key,
            messages=(),
            reply="",
            extracted=None,
            status=status,
            reason="",
            correct=None if status == "error" else i < right,
            value=None,
        )
        for i, (question, status) in enumerate(zip(QUESTIONS, statuses, strict=True))
    )
    return RunView(run_id, model, kind, 1, "solar", "p", "e", QUESTIONS, traces)


@cache
def every_plot(model: str = "tuned") -> list[Plot]:
    """The four pictures, drawn once a name: drawing is the slow part."""
    return draw(model)


def draw(model: str) -> list[Plot]:
    runs = [run_view("base", 1, kind="base", right=3), run_view(model)]
    curve = loss_curve(CURVE)
    assert curve is not None
    return [forest(compare_runs(runs).parts), by_category(runs), by_status(runs), curve]


def test_drawing_twice_gives_the_same_bytes() -> None:
    assert every_plot() == draw("tuned")


def test_pictures_carry_no_date_no_maker_and_no_outside_link() -> None:
    for plot in every_plot():
        assert "dc:date" not in plot.svg
        assert "matplotlib.org" not in plot.svg
        assert not re.search(r'(?:xlink:)?href="(?!#)', plot.svg)


def test_text_stays_text_and_every_picture_is_well_formed_xml() -> None:
    for plot in every_plot("a & <b> $x^2$ \\frac"):
        ElementTree.fromstring(plot.svg.encode())
    assert "a &amp; &lt;b&gt; $x^2$ \\frac" in every_plot("a & <b> $x^2$ \\frac")[0].svg


NAMES = ["模型-7B", "نموذج", "🤖 bot", "a\x00b\x1b[31m", "", "x" * 500, "$$", "]]>", "-->"]


def test_any_model_name_can_be_drawn() -> None:
    runs = [run_view(name, i) for i, name in enumerate(NAMES)]
    for plot in (forest(compare_runs(runs).parts), by_category(runs), by_status(runs)):
        ElementTree.fromstring(plot.svg.encode())
        ElementTree.fromstring(inline(plot))


def test_the_alt_text_and_the_numbers_say_what_is_drawn() -> None:
    scores, categories, statuses, curve = every_plot()
    assert "tuned on all questions 81.8 % (95 % interval 52.3 % to 94.9 %, 9 of 11)" in scores.alt
    assert "moons: tuned 83.3 % of 6" in categories.alt
    assert "tuned, run 2: 9 right, 1 wrong, 1 no_answer, 1 not measured" in statuses.alt
    assert "30 logged steps: 3.000 at step 1, 0.100 at step 30" in curve.alt
    rows = list(csv.DictReader(io.StringIO(scores.csv)))
    assert [(r["model"], r["right"], r["scored"]) for r in rows] == [
        ("base", "3", "11"),
        ("tuned", "9", "11"),
    ]
    assert len(list(csv.reader(io.StringIO(curve.csv)))) == 31


def test_a_name_that_a_spreadsheet_would_run_is_quoted_in_the_numbers() -> None:
    for plot in every_plot("=HYPERLINK(1)")[:3]:
        assert "=HYPERLINK" not in plot.csv.replace("'=HYPERLINK", "")


def test_the_ceiling_is_named_as_such() -> None:
    runs = [run_view("reference", 1, kind="reference", right=12), run_view()]
    assert "reference (ceiling)" in forest(compare_runs(runs).parts).svg


def test_statuses_are_counted_once_a_question_and_unmeasured_apart() -> None:
    traces = run_view().traces
    assert answer_counts([*traces, traces[0]]) == {
        "right": 9,
        "wrong": 1,
        "no_answer": 1,
        "not measured": 1,
    }


@pytest.mark.parametrize("rows", [[], [{"step": 1, "loss": 2.0}], [{"step": 1}, {"eval": 3}]])
def test_a_curve_needs_two_points(rows: list[dict[str, float]]) -> None:
    assert loss_curve(rows) is None


def test_a_loss_that_is_no_number_is_left_out() -> None:
    curve = loss_curve([*CURVE, {"step": 31, "loss": float("nan")}])
    assert curve is not None
    assert "30 logged steps" in curve.alt
    assert "1 of 31 logged steps have no finite loss" in curve.title


def test_inlined_pictures_share_no_id_and_follow_the_theme() -> None:
    inlined = [inline(plot) for plot in every_plot()]
    ids = [i for svg in inlined for i in re.findall(r'\bid="([^"]+)"', svg)]
    assert len(ids) == len(set(ids))
    for svg in inlined:
        used = re.findall(r'(?:href="#|url\(#)([^")]+)', svg)
        assert set(used) <= set(ids)
        assert "currentColor" in svg
        assert "<?xml" not in svg


def test_labels_are_short_and_on_one_line() -> None:
    assert label("a\n b\tc") == "a b c"
    assert label("organisation/model-name-7B-instruct-v2", 20) == "organisation/…uct-v2"
