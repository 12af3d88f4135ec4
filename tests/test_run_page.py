"""The page of one run: what it tells, that nothing in it can run or leave, and that its rows can be used.

The script is run by Node where there is one, and by Chromium in tests/browser.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from benchgen.compare import markup
from benchgen.compare.browse import MAX_BYTES, ROW_LIMIT, browser, harmless
from benchgen.compare.markup import script
from benchgen.compare.paired import compare_runs
from benchgen.compare.runpage import run_page
from benchgen.compare.views import RunView
from benchgen.run.metrics import summary
from benchgen.types import Question, Trace
from tests.pages import HOSTILE, run_of

pytestmark = pytest.mark.slow

SCRIPT = Path(markup.__file__).parent / "templates" / "rows.js"


def data_of(html: str) -> dict[str, Any]:
    found = re.search(
        r'<script type="application/json" id="rows-data">(.*?)</script>', html, re.DOTALL
    )
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


def words_of(html: str) -> str:
    """The page's visible words without the script's data."""
    html = re.sub(r"<(script|style|noscript).*?</\1>", " ", html, flags=re.DOTALL)
    return " ".join(re.sub(r"<[^>]+>", " ", html).split())


def test_what_is_drawn_is_drawn_with_the_runs_own_seed() -> None:
    """The stored figures of a run, its page and its row of a comparison say the same."""
    once = run_of(60)
    again = [
        replace(t, repeat=1, correct=None if t.correct is None else bool(i % 2))
        for i, t in enumerate(once.traces)
    ]
    view = replace(once, traces=(*once.traces, *again), settings={"seed": 7})
    stored = summary(view.verdicts, view.questions, 7)
    assert stored["ci"] != summary(view.verdicts, view.questions, 0)["ci"]
    assert view.figures == stored
    [row] = compare_runs([view]).rows
    assert list(row.ci) == list(stored["ci"])


@pytest.mark.slow
def test_every_breakdown_and_figure_stands_with_n_and_interval() -> None:
    told = words_of(run_page(run_of(40)))
    assert "24 of 32 scored answers right, 75.0 %" in told
    for caption in (
        "Score by category",
        "Score by difficulty",
        "Score by language",
        "Replies by status",
    ):
        assert caption in told
    assert "moons 8 10 13 80.0 % 49.0 to 94.3" in told
    assert "en 12 16 20 75.0 %" in told
    assert re.search(r"error 8 20\.0 % 10\.5 to 34\.8", told)
    assert "clustered by template, t with" in told
    assert "8 of 40 not measured" in told


@pytest.mark.slow
def test_repeats_and_grades_are_told() -> None:
    view = run_of(12)
    traces = tuple(
        replace(
            t, repeat=i, correct=(j + i) % 3 == 0, value=(j + i) % 3 / 2, status="ok", reason=""
        )
        for j, t in enumerate(view.traces)
        for i in range(3)
    )
    told = words_of(
        run_page(replace(view, traces=traces, settings={"dtype": "bfloat16", "limit": None}))
    )
    assert "each question asked 3 times" in told
    assert "Mean value 50.0 % (95 % interval" in told
    assert "pass@k" in told
    assert "3 100.0 %" in told
    assert "dtype bfloat16" in told
    assert "limit" not in told.split("Settings")[1].split("Frozen")[0]


@pytest.mark.slow
def test_the_policy_allows_our_script_and_nothing_else() -> None:
    html = run_page(run_of(5))
    digest = base64.b64encode(hashlib.sha256(SCRIPT.read_bytes()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', html)
    assert policy is not None
    assert policy[1] == (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
    assert html.count("<script") == 2
    assert f"<script>{SCRIPT.read_text()}</script>" in html
    assert not re.search(r"""(?:src|href|url)\s*[=(]\s*["']?(?:https?:|//)""", html)


@pytest.mark.parametrize("attack", HOSTILE)
def test_rows_hold_any_text_and_no_text_ends_their_element(attack: str) -> None:
    question = Question("qa", "Who?", ["x"], category="c")
    trace = Trace(
        question.key,
        ({"role": "user", "content": attack},),
        attack,
        attack,
        "ok",
        attack,
        None,
        None,
    )
    view = RunView(1, attack, "base", 1, attack, "p", "e", (question,), (trace,))
    data = str(browser(view).data)
    for sign in "<>&\u2028\u2029":
        assert sign not in data
    assert not re.search("[\ud800-\udfff\u202a-\u202e\u2066-\u2069]", data)
    data.encode("utf-8")
    read = json.loads(data)
    assert read["rows"][0][5] == markup.clean(attack)
    assert read["questions"][0][0] == markup.clean(attack)


@pytest.mark.slow
def test_attacks_stay_text_on_the_whole_page() -> None:
    view = run_of(len(HOSTILE))
    traces = tuple(
        replace(t, reply=a, extracted=a, reason=a)
        for t, a in zip(view.traces, HOSTILE, strict=True)
    )
    html = run_page(replace(view, traces=traces))
    html.encode("utf-8")
    assert html.count("<script") == html.count("</script") == 2
    assert html.count("<noscript") == html.count("</noscript") == 1
    assert [row[5] for row in data_of(html)["rows"]] == [markup.clean(a) for a in HOSTILE]


def test_json_is_escaped_and_reads_back() -> None:
    value = ["</script><!--", "\u2028", "&amp;", "é字"]
    assert harmless(value) == r'["\u003c/script\u003e\u003c!--","\u2028","\u0026amp;","é字"]'
    assert json.loads(harmless(value)) == value


@pytest.mark.slow
def test_two_thousand_rows_make_a_page_of_bounded_size() -> None:
    """The longest texts there can be, in signs that JSON makes six of each."""
    worst = run_of(2_000, reply="<" * 5_000)
    found = browser(worst)
    assert len(found.data.encode()) <= MAX_BYTES
    assert (found.rows, found.total, found.note) == (2_000, 2_000, "")
    html = run_page(worst)
    assert len(html.encode()) < 2 * MAX_BYTES
    assert html.count("<tr") < 400  # the script makes the rest, a page at a time
    usual = run_page(run_of(2_000, reply="It is Titan, the largest moon of Saturn. Answer: B"))
    assert len(usual.encode()) < 1_200_000


def test_more_rows_than_a_page_takes_are_counted() -> None:
    view = run_of(30)
    many = replace(view, traces=tuple(replace(t, repeat=i) for i in range(70) for t in view.traces))
    found = browser(many)
    assert (found.rows, found.total) == (ROW_LIMIT, 2_100)
    assert found.note == "The first 2,000 of 2,100 replies are on this page."
    assert len(json.loads(found.data)["questions"]) == 30  # a question stands once


def test_a_long_reply_is_cut_with_a_note() -> None:
    reply = json.loads(browser(run_of(1, reply="y" * 5_000)).data)["rows"][0][5]
    assert reply == "y" * 2_000 + "… (3000 more characters)"


@pytest.mark.slow
def test_without_a_script_the_first_rows_can_be_read() -> None:
    html = run_page(run_of(230, reply="It was Huygens"))
    inside = re.search(r"<noscript>(.*?)</noscript>", html, re.DOTALL)
    assert inside is not None
    assert "Here are the first 200 of 230 replies." in inside[1]
    assert inside[1].count("It was Huygens") == 200
    hidden = re.findall(r"<(?:form|div)[^>]*data-script[^>]*>", html)
    assert len(hidden) == 2
    assert all("hidden" in tag for tag in hidden)


def test_every_control_has_a_name_and_is_a_native_one() -> None:
    html = run_page(run_of(3))
    form = re.search(r"<form.*?</form>", html, re.DOTALL)
    assert form is not None
    controls = re.findall(r"<(?:select|input)", form[0])
    assert len(controls) == len(re.findall(r"<label", form[0])) == 7
    assert re.findall(r"<button[^>]*>([^<]+)<", html) == [
        "Show all",
        "First",
        "Previous",
        "Next",
        "Last",
    ]
    assert 'role="status"' in html
    assert "tabindex" not in form[0]  # the order of the page is the order of the keys


# ---- the script ---------------------------------------------------------------------------------

node = pytest.mark.skipif(shutil.which("node") is None, reason="waits for a machine with Node.js")


def in_node(code: str, given: Any) -> Any:
    """What `code`, the body of a function of `rows` (the module) and `given`, returns."""
    program = (
        f"const rows = require({json.dumps(str(SCRIPT))});"
        "let text = ''; process.stdin.on('data', (c) => (text += c)).on('end', () => {"
        f"const given = JSON.parse(text); const answer = (() => {{ {code} }})();"
        "process.stdout.write(JSON.stringify(answer === undefined ? null : answer)); });"
    )
    done = subprocess.run(
        ["node", "-e", program],
        check=False,
        input=json.dumps(given),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@node
@pytest.mark.parametrize(
    ("wanted", "count"),
    [
        ({}, 40),
        ({"outcome": "*", "status": "*", "text": ""}, 40),
        ({"outcome": "right"}, 24),
        ({"outcome": "wrong"}, 8),
        ({"outcome": "not measured"}, 8),
        ({"status": "no_answer"}, 8),
        ({"status": "no_answer", "outcome": "right"}, 0),
        ({"category": "moons"}, 13),
        ({"category": ""}, 13),
        ({"language": "de", "difficulty": "easy"}, 10),
        ({"text": "NUMBER 7?"}, 1),
        ({"text": "(.*"}, 0),
        ({"text": "titan"}, 40),
    ],
)
def test_filters_leave_the_rows_that_fit(wanted: dict[str, str], count: int) -> None:
    view = run_of(40)
    data = json.loads(browser(view).data)
    code = "return rows.unpack(given[0]).filter((row) => rows.fits(row, given[1])).map((r) => r.number)"
    found = in_node(code, [data, wanted])
    assert len(found) == count
    assert found == sorted(found)


@node
def test_pages_cover_every_row_once_and_stay_in_range() -> None:
    code = "return given.map((page) => rows.pageOf([...Array(53).keys()], page, 25))"
    pages = in_node(code, [0, 1, 2, 3, -1, 1e300, None])
    assert [number for page in pages[:3] for number in page["rows"]] == list(range(53))
    assert [page["page"] for page in pages] == [0, 1, 2, 2, 0, 2, 0]
    assert {page["pages"] for page in pages} == {3}
    empty = in_node("return rows.pageOf([], 4, 25)", None)
    assert (empty["rows"], empty["page"], empty["pages"]) == ([], 0, 1)


@node
def test_the_line_above_the_table_counts() -> None:
    code = "return given.map(([n, at, all]) => rows.words(rows.pageOf(Array(n).fill(0), at, 25), 25, all))"
    assert in_node(code, [[0, 0, 9], [60, 1, 60], [30, 9, 2000]]) == [
        "No row of 9 fits these filters.",
        "Rows 26 to 50 of 60",
        "Rows 26 to 30 of 30 that fit, of 2000",
    ]


@node
def test_choices_are_counted_and_no_name_is_special() -> None:
    given = [{"category": c} for c in ("b", "a", "b", "__proto__", "constructor", "")]
    assert in_node("return rows.choices(given, 'category')", given) == [
        ["", 1], ["__proto__", 1], ["a", 1], ["b", 2], ["constructor", 1],
    ]  # fmt: skip


@node
def test_the_script_writes_text_and_never_markup() -> None:
    code = SCRIPT.read_text()
    for word in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "Function(",
                 "fetch(", "XMLHttp", "import(", "setAttribute"):  # fmt: skip
        assert word not in code
    assert "</script" not in code
    assert str(script()) == code
