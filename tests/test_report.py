"""Reports and pages: what they say, that they say it twice alike, and that nothing in them runs.

`python tests/test_report.py FOLDER` writes the example report there. To renew the golden files, look at
it first, then: RENEW_GOLDEN=1 pytest tests/test_report.py
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import mistune
import pytest

from benchgen.compare.markup import clean, cut, escape_markdown, fence, href
from benchgen.compare.paired import compare_runs
from benchgen.compare.report import (
    BenchmarkView,
    ReportView,
    RunLine,
    benchmark_page,
    number,
    verdict,
    write_report,
)
from benchgen.compare.runpage import run_page
from benchgen.compare.views import RunView
from benchgen.types import Estimate, Evaluation, Plan, Question, Trace

pytestmark = pytest.mark.slow  # drawing takes its time

GOLDEN = Path(__file__).parent / "golden" / "report"
PAYLOADS = (
    "<script>alert(1)</script>",
    "</title></style></textarea><script>alert(1)</script>",
    '"><img src=x onerror=alert(1)>',
    "'><svg/onload=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<iframe srcdoc='<script>alert(1)</script>'></iframe>",
    "<a href=javascript:alert(1)>x</a>",
    "[x](javascript:alert(1))",
    "![x](data:text/html,<script>alert(1)</script>)",
    "<body onload=alert(1)><details open ontoggle=alert(1)>",
    "<math><mtext><style><img src=x onerror=alert(1)></style></mtext></math>",
    "{{ 7*7 }}{% include '/etc/passwd' %}",
    "--><script>alert(1)</script><!-- ]]><script>alert(1)</script>",
    "```\n<script>alert(1)</script>\n```\n# heading",
    "| a | b |\n|---|---|\n<meta http-equiv=refresh content=0;url=http://evil.example>",
    "\x00<scr\x00ipt>alert(1)</scr\x00ipt>\ud800\u202e",
    "<base href=//evil.example><form action=//evil.example><button formaction=javascript:x>",
    "http://evil.example/?q=<b> <https://evil.example> www.evil.example",
)


def questions(
    count: int, category: str = "", prompt: str = "Which moon is number"
) -> tuple[Question, ...]:
    return tuple(
        Question(
            kind="mcq",
            prompt=f"{prompt} {i}?",
            target="B",
            choices=("Io", "Titan", "Charon"),
            category=category or ("moons", "stars")[i % 2],
            difficulty=("easy", "hard")[i % 2],
            rationale="Titan is the one.",
        )
        for i in range(count)
    )


def run_view(
    run_id: int,
    model: str,
    kind: str,
    asked: tuple[Question, ...],
    right: int,
    *,
    seen: tuple[Question, ...] = (),
    benchmark: tuple[int, str] = (1, "solar"),
    reply: str = "",
) -> RunView:
    """`right` right answers, then one of each way to be wrong, in turn."""
    ways = (("ok", False), ("no_answer", False), ("error", None), ("truncated", False))
    traces = []
    for i, question in enumerate(asked):
        status, correct = ("ok", True) if i < right else ways[(i - right) % len(ways)]
        traces.append(
            Trace(
                key=question.key,
                messages=({"role": "user", "content": question.prompt},),
                reply=reply or f"Answer: {'Titan' if correct else 'Io'}",
                extracted="B" if correct else "A",
                status=status,
                reason="timeout" if status == "error" else "",
                correct=correct,
                value=None,
            )
        )
    hashes = ("a1" * 32, "b2" * 32)
    keys = frozenset(question.key for question in seen)
    return RunView(
        run_id,
        model,
        kind,
        *benchmark,
        *hashes,
        asked,
        tuple(traces),
        keys,
        f"../runs/{run_id}/run.html",
    )


@cache
def example() -> ReportView:
    """The loop: reference, base and trained on 30 questions, base and trained on 40 held-out ones."""
    everything = questions(70)
    same, held_out = everything[:30], everything[30:]
    sibling = (2, "solar_sibling")
    runs = (
        run_view(1, "reference", "reference", same, 30),
        run_view(2, "small", "base", same, 8),
        run_view(3, "small-tuned", "adapter", same, 27, seen=same),
        run_view(4, "small", "base", held_out, 12, benchmark=sibling),
        run_view(5, "small-tuned", "adapter", held_out, 34, seen=same, benchmark=sibling),
    )
    plan = Plan(
        job_type="from-run",
        base_model="org/small",
        base={"name": "small", "fingerprint": "f0" * 8},
        dataset={"source": "runs 1", "mode": "distill", "rows": 30, "sha256": "cd" * 32},
        hyperparameters={"r": 16, "learning_rate": 1e-3, "target_modules": ["q_proj", "v_proj"]},
        device={"trainer": "trl", "kind": "cpu", "dtype": "bfloat16"},
        name="small-tuned",
        estimates={
            "steps": Estimate(40, "steps", "max_steps"),
            "seconds": Estimate(200.0, "s", "rule of thumb"),
        },
        warnings=("1 row is longer than max_length",),
        seen=tuple(sorted(question.key for question in same)),
    )
    return ReportView(
        title="Solar system, small model",
        runs=runs,
        comparison=compare_runs(runs),
        plan=plan,
        actual={"steps": 40, "seconds": 250.0, "peak_memory": 1.5},
        stages={"run": 12.5, "train": 250.0},
        curve=tuple({"step": i, "loss": 3 / i} for i in range(1, 41)),
        data=({"set": "practice", "rows": 30, "duplicates_out": 2},),
        limits=("One seed: the spread between seeds was not measured.",),
        commands=("make setup", "benchgen loop experiment=solar_system confirm=yes"),
        manifest={"versions": {"torch": "2.13.0"}, "platform": "Linux"},
    )


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(example(), tmp_path_factory.mktemp("report")).parent


def files(folder: Path) -> dict[str, bytes]:
    return {
        path.relative_to(folder).as_posix(): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


class Reader(HTMLParser):
    """All tags, attributes and text of a page, and what is wrong with them."""

    VOID = frozenset({"meta", "br", "hr", "img", "link", "input", "base"})

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.text: list[str] = []
        self.feed(html)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def check_inert(self, browses: bool = False) -> None:
        """Nothing runs, nothing is loaded, nothing leads away but a plain link.

        `browses`: it has our own form and buttons, data for our script, and that script, which its policy
        names by hash; and no other.
        """
        banned = {"script", "iframe", "object", "embed", "base", "form", "img", "button", "link"}
        if browses:
            scripts = [attrs for tag, attrs in self.tags if tag == "script"]
            assert scripts == [{"type": "application/json", "id": "rows-data"}, {}]
            assert [tag for tag, _ in self.tags].count("form") == 1
            assert {attrs["type"] for tag, attrs in self.tags if tag == "button"} == {
                "button",
                "reset",
            }
            banned -= {"script", "form", "button"}
        for tag, attrs in self.tags:
            assert tag not in banned, tag
            for name, value in attrs.items():
                assert not name.startswith("on"), (tag, name)
                assert name not in ("srcdoc", "formaction", "action", "ping", "src"), (tag, name)
                if name in ("href", "xlink:href"):
                    assert re.match(r"#|https?://|[\w./%-]+$", value or ""), value
                    assert ":" not in (value or "").split("/")[0] or (value or "").startswith(
                        "http"
                    )
            if tag == "meta":
                assert (
                    attrs.get("http-equiv") or "Content-Security-Policy"
                ) == "Content-Security-Policy"
        assert self.open == []


def test_the_first_lines_are_the_verdict_with_numbers_and_interval(written: Path) -> None:
    markdown = (written / "report.md").read_text(encoding="utf-8").splitlines()
    assert markdown[0] == "# Solar system, small model"
    assert markdown[2].startswith("**small-tuned improved over small on 32 held-out questions")
    assert "points (95 % interval +" in markdown[2]
    assert "memorisation" in markdown[4]
    page = Reader((written / "report.html").read_text(encoding="utf-8"))
    text = "".join(page.text)
    assert text.index("small-tuned improved over small on 32 held-out") < text.index(
        "Paired comparison"
    )


@pytest.mark.slow
def test_building_twice_in_another_process_gives_the_same_bytes(
    written: Path, tmp_path: Path
) -> None:
    """Another hash seed, folder, locale and time zone: none may reach a byte."""
    env = {
        **os.environ,
        "PYTHONHASHSEED": "77",
        "TZ": "Asia/Tokyo",
        "LC_ALL": "C",
        "MPLBACKEND": "agg",
    }
    folder = tmp_path / "else where"
    subprocess.run([sys.executable, __file__, str(folder)], check=True, env=env)
    assert files(folder) == files(written)


@pytest.mark.parametrize("name", ["report.md", "report.html"])
def test_the_example_report_is_the_golden_one(written: Path, name: str) -> None:
    """Pictures and style are left out: matplotlib's next release may draw a line differently."""
    text = (written / name).read_text(encoding="utf-8")
    text = re.sub(r"<svg xmlns.*?</svg>", "(picture)", text, flags=re.DOTALL)
    text = re.sub(r"<svg role.*?</svg>", "(picture)", text, flags=re.DOTALL)
    text = re.sub(r"<style>.*?</style>", "(style)", text, flags=re.DOTALL)
    golden = GOLDEN / name
    if os.environ.get("RENEW_GOLDEN"):
        golden.parent.mkdir(parents=True, exist_ok=True)
        golden.write_text(text, encoding="utf-8", newline="\n")
    assert text == golden.read_text(encoding="utf-8")


def test_every_picture_has_a_file_numbers_and_words(written: Path) -> None:
    names = {"scores", "categories", "statuses", "loss"}
    plots = files(written / "plots")
    assert set(plots) == {f"{name}.{end}" for name in names for end in ("svg", "csv")}
    page = Reader((written / "report.html").read_text(encoding="utf-8"))
    pictures = [attrs for tag, attrs in page.tags if tag == "svg" and attrs.get("role") == "img"]
    ids = {attrs.get("id") for _, attrs in page.tags}
    assert len(pictures) == 4
    assert all(attrs["aria-labelledby"] in ids for attrs in pictures)


def test_markdown_and_html_say_the_same(written: Path) -> None:
    html = "".join(Reader((written / "report.html").read_text(encoding="utf-8")).text)
    markdown = (written / "report.md").read_text(encoding="utf-8")
    for heading in re.findall(r"^##+ (.*)$", markdown, re.MULTILINE):
        assert heading in html
    for cells in re.findall(r"^\| (.*) \|$", markdown, re.MULTILINE):
        for cell in cells.replace("&lt;", "<").replace("\\", "").split(" | "):
            assert re.sub(r"\[(.*)\]\(.*\)", r"\1", cell).strip() in html


@pytest.mark.parametrize(
    "wanted",
    [
        "reference: the author's worked answers, a ceiling and no model's achievement",
        "trained on these questions",
        "ceiling, not an achievement",
        "reference (run 1, ceiling)",
        "benchgen loop experiment=solar_system confirm=yes",
        "One seed: the spread between seeds was not measured.",
        "1 row is longer than max_length",
        "peak memory",
        "versions.torch",
        "wrong: no answer",
        "Losses: 0 of 0",
    ],
)
def test_the_report_tells(written: Path, wanted: str) -> None:
    assert wanted in "".join(Reader((written / "report.html").read_text(encoding="utf-8")).text)
    markdown = (written / "report.md").read_text(encoding="utf-8")
    assert wanted in markdown.replace("\\", "")


def test_the_ceiling_is_never_said_to_have_improved(written: Path) -> None:
    for line in verdict(example()):
        assert "reference" not in line
    rows = (written / "report.md").read_text(encoding="utf-8").splitlines()
    assert not [row for row in rows if "reference" in row and "| improved" in row]


def test_predicted_stands_beside_actual(written: Path) -> None:
    markdown = (written / "report.md").read_text(encoding="utf-8")
    assert "| seconds | 200 s | 250 s | 1.25 | rule of thumb |" in markdown
    assert "| peak memory | no estimate | 1.5 |  |  |" in markdown


def test_no_difference_is_said_to_be_none_with_what_would_have_shown() -> None:
    asked = questions(30)
    runs = (run_view(1, "a", "base", asked, 10), run_view(2, "b", "base", asked, 11))
    (line,) = verdict(ReportView("t", runs, compare_runs(runs)))
    assert "b is not distinguishable from a on" in line
    assert "improved" not in line
    assert re.search(r"show differences from about \d+ points up", line)


def test_a_worse_model_is_called_worse() -> None:
    asked = questions(30)
    runs = (run_view(1, "a", "base", asked, 28), run_view(2, "b", "base", asked, 3))
    assert "b is worse than a on" in verdict(ReportView("t", runs, compare_runs(runs)))[0]


def test_a_sweep_tells_its_first_tests_in_words_and_counts_the_rest() -> None:
    asked = questions(10)
    runs = tuple(run_view(i, f"m{i}", "base", asked, i) for i in range(1, 10))
    lines = verdict(ReportView("t", runs, compare_runs(runs)))
    assert len(lines) == 7
    assert lines[-1] == "2 more tests stand in the table below."


def test_one_run_alone_and_a_run_without_traces_can_be_reported(tmp_path: Path) -> None:
    one = (run_view(1, "a", "base", questions(4), 2),)
    page = write_report(ReportView("t", one, compare_runs(one)), tmp_path / "one")
    assert "a on solar: 2 of 3 scored answers right, 66.7 %" not in page.read_text(encoding="utf-8")
    assert "a on solar: 2 of 4 scored answers right, 50.0 %" in page.read_text(encoding="utf-8")
    none = (replace(one[0], traces=()),)
    Reader(
        write_report(ReportView("t", none, compare_runs(none)), tmp_path / "none").read_text(
            encoding="utf-8"
        )
    )


def test_warnings_of_the_comparison_stand_at_the_head(tmp_path: Path) -> None:
    asked = questions(20)
    runs = (run_view(1, "a", "base", asked, 3), run_view(2, "b", "adapter", asked, 19, seen=asked))
    page = write_report(ReportView("t", runs, compare_runs(runs)), tmp_path)
    text = "".join(Reader(page.read_text(encoding="utf-8")).text)
    assert text.index("Make a sibling benchmark") < text.index("Scores")
    assert "> Mind: b was trained on these questions" in (tmp_path / "report.md").read_text(
        encoding="utf-8"
    )


@pytest.fixture(scope="module")
def poisoned(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A report in which every text that a model or a file could bring is an attack, all in one."""
    bad = " ".join(PAYLOADS)
    asked = questions(len(PAYLOADS) * 2, category=bad, prompt=clean(bad))  # a key needs valid text
    runs = tuple(
        replace(
            run_view(i, f"{bad}{i}", kind, asked, right, reply=bad, benchmark=(1, bad)),
            link=link,
            program_sha256=bad,
        )
        for i, kind, right, link in (
            (1, "base", 2, "javascript:alert(1)"),
            (2, bad, 30, 'x" onmouseover="alert(1)) [y](javascript:alert(1)'),
            (3, "adapter", 20, "data:text/html,<script>alert(1)</script>"),
        )
    )
    plan = example().plan
    assert plan is not None
    view = replace(
        example(),
        title=bad,
        runs=runs,
        comparison=compare_runs(runs),
        stages={bad: 1.0},
        data=({bad: bad},),
        limits=PAYLOADS,
        commands=PAYLOADS,
        manifest={bad: {bad: bad}},
        actual={bad: 1.0},
        plan=replace(plan, base_model=clean(bad), warnings=PAYLOADS),
    )
    folder = tmp_path_factory.mktemp("poisoned")
    write_report(view, folder)
    (folder / "run.html").write_text(run_page(runs[1]), encoding="utf-8")
    bench = BenchmarkView(
        1, bad, bad, asked, Evaluation(system=bad, stop=PAYLOADS), bad, bad, (bad,)
    )
    (folder / "benchmark.html").write_text(benchmark_page(bench), encoding="utf-8")
    return folder


@pytest.mark.parametrize("name", ["report.html", "run.html", "benchmark.html"])
def test_attacks_stay_text_in_html(poisoned: Path, name: str) -> None:
    html = (poisoned / name).read_text(encoding="utf-8")
    page = Reader(html)
    page.check_inert(browses=name == "run.html")
    assert "<script>alert(1)</script>" in "".join(page.text)  # shown, so it was not just dropped
    assert "49" not in re.sub(r"[^{}\d]", "", html.split("{{ 7*7 }}")[0][-4:])  # not evaluated
    assert "{{ 7*7 }}" in html


def test_attacks_stay_text_in_markdown(poisoned: Path) -> None:
    """Rendered by a renderer that lets HTML through, only our own pictures and links are left."""
    text = (poisoned / "report.md").read_text(encoding="utf-8")
    render = mistune.create_markdown(escape=False, plugins=["table", "url", "strikethrough"])
    page = Reader(str(render(text)))
    images = [attrs["src"] for tag, attrs in page.tags if tag == "img"]
    assert images == [f"plots/{name}.svg" for name in ("scores", "categories", "statuses", "loss")]
    links = [attrs["href"] or "" for tag, attrs in page.tags if tag == "a"]
    assert links
    assert all(re.fullmatch(r"[\w./%-]+", link) for link in links), links
    tags = {tag for tag, _ in page.tags}
    assert tags <= {
        "h1",
        "h2",
        "h3",
        "p",
        "strong",
        "em",
        "a",
        "img",
        "table",
        "thead",
        "tbody",
        "tr",
        "th",
        "td",
        "pre",
        "code",
        "ul",
        "li",
        "blockquote",
    }
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]
    assert [t for t, _ in page.tags].count("h1") == 1


def test_attacks_stay_text_in_the_pictures(poisoned: Path) -> None:
    for path in sorted((poisoned / "plots").glob("*.svg")):
        Reader(path.read_text(encoding="utf-8").split('svg11.dtd">')[1]).check_inert()


@pytest.mark.parametrize("payload", PAYLOADS)
def test_each_attack_alone_is_one_line_of_markdown_text(payload: str) -> None:
    escaped = escape_markdown(payload)
    assert "\n" not in escaped
    html = mistune.create_markdown(escape=False, plugins=["table", "url"])(str(escaped))
    page = Reader(str(html))
    assert {tag for tag, _ in page.tags} <= {"p"}
    shown = "".join(page.text).replace("\u200b", "").strip()
    assert shown == " ".join(clean(payload).split())


@pytest.mark.parametrize(
    ("link", "wanted"),
    [
        ("runs/3/run.html", "runs/3/run.html"),
        ("../a b/ü.html", "../a%20b/%C3%BC.html"),
        ("https://example.org/a?b=c&d", "https://example.org/a?b=c&d"),
        ("javascript:alert(1)", "./javascript%3Aalert%281%29"),
        ("JaVaScRiPt:alert(1)", "./JaVaScRiPt%3Aalert%281%29"),
        ("\x01javascript:x", "./%EF%BF%BDjavascript%3Ax"),
        ("/srv/w/runs/3/run.html", "../runs/3/run.html"),
        ("//evil.example/x", "../../../evil.example/x"),
    ],
)
def test_links_are_relative_or_http_and_nothing_else(link: str, wanted: str) -> None:
    assert href(link, Path("/srv/w/report")) == wanted


def test_a_fence_is_longer_than_any_inside() -> None:
    assert fence("a\n````\nb").startswith("`````text\n")


def test_pages_are_accessible(written: Path) -> None:
    pages = [
        (written / "report.html").read_text(encoding="utf-8"),
        run_page(example().runs[1]),
        benchmark_page(BenchmarkView(1, "solar", "draft", questions(3), Evaluation())),
    ]
    for html in pages:
        page = Reader(html)
        page.check_inert(browses="rows-data" in html)
        tags = [tag for tag, _ in page.tags]
        assert ("html", {"lang": "en"}) in page.tags
        assert tags.count("h1") == 1
        assert tags.count("caption") == tags.count("table") > 0
        assert all(attrs.get("scope") in ("col", "row") for tag, attrs in page.tags if tag == "th")
        ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
        assert len(ids) == len(set(ids))
        targets = {(attrs.get("href") or "")[1:] for tag, attrs in page.tags if tag == "a"
                   and (attrs.get("href") or "").startswith("#")}  # fmt: skip
        assert targets <= set(ids)
        assert "prefers-color-scheme: dark" in html


def luminance(colour: str) -> float:
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def test_text_colours_reach_a_contrast_of_4_5_in_both_themes(written: Path) -> None:
    """WCAG 2.2, 1.4.3; the colours are read from the page itself."""
    html = (written / "report.html").read_text(encoding="utf-8")
    themes = re.findall(r":root \{(.*?)\}", html, re.DOTALL)
    assert len(themes) == 2
    for theme in themes:
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", theme))
        pairs = [(a, b) for a in ("ink", "soft", "link", "good", "bad") for b in ("paper", "card")]
        pairs += [("good", "good-bg"), ("bad", "bad-bg"), ("warn", "warn-bg"), ("ink", "mute-bg")]
        for text, ground in pairs:
            light, dark = sorted(
                (luminance(colours[text]), luminance(colours[ground])), reverse=True
            )
            assert (light + 0.05) / (dark + 0.05) >= 4.5, (text, ground)


def test_a_benchmark_lists_its_runs_with_their_own_intervals() -> None:
    """Of a run with repeats the counts are of replies, and the interval is of questions."""
    line = RunLine(7, "small", 60, 90, 90, 0.65, (0.41, 0.83), "runs/7/index.html")
    page = benchmark_page(
        BenchmarkView(1, "solar", "published", questions(3), Evaluation(), runs=(line,))
    )
    assert "60 / 90 / 90" in page
    assert "41.0 to 83.0" in page
    assert "65.0 %" in page


def test_a_page_of_the_reference_says_what_it_is() -> None:
    html = run_page(run_view(1, "reference", "reference", questions(3), 3))
    assert "ceiling: the author&#39;s worked answers" in html
    assert "no model&#39;s achievement" in html


def test_a_page_of_a_trained_model_says_that_it_was_trained_on_the_questions() -> None:
    asked = questions(6)
    html = run_page(run_view(1, "m", "adapter", asked, 5, seen=asked[:4]))
    assert "Trained on 4 of these 6 questions" in html


@pytest.mark.parametrize(
    ("kind", "target", "shown"),
    [
        ("qa", ["Titan", "titan"], "Titan | titan"),
        ("numeric", 3.5, "3.5"),
        ("tool", [{"name": "f", "arguments": {"x": 1}}], "f"),
        ("keypoints", ["one", "two"], "one | two"),
    ],
)
def test_every_kind_of_target_can_be_shown(kind: str, target: Any, shown: str) -> None:
    question = Question(kind=kind, prompt="?", target=target)
    html = benchmark_page(BenchmarkView(1, "b", "draft", (question,), Evaluation()))
    assert shown in html


def test_numbers_are_short() -> None:
    assert [number(v) for v in (60, 38112.0, 1.9, 0.01234, 210.5)] == [
        "60",
        "38,112",
        "1.9",
        "0.0123",
        "210",
    ]


def test_cutting_says_how_much_is_gone() -> None:
    assert cut("abcdef", 4) == "abcd… (2 more characters)"


if __name__ == "__main__":
    write_report(example(), Path(sys.argv[1]))
