"""Runs and hostile texts that tests of pages share."""

from __future__ import annotations

from benchgen.compare.views import RunView
from benchgen.types import Question, Trace

HOSTILE = (
    "</script><script>window.__xss = 1</script>",
    "<!--<script>",
    "</noscript><img src=x onerror='window.__xss = 1'>",
    "</table></style><svg onload=window.__xss=1>",
    "line\u2028separator\u2029and paragraph",
    "lone \ud800 surrogate \udfff",
    "right \u202eto left\u2066 and\u2069 back",
    "\x00null \x1b[31mred",
    "\"quotes\" 'and' `ticks` ${window.__xss = 1} {{ 7*7 }}",
    "]]> --> &lt;b&gt; &amp;",
    "javascript:window.__xss=1",
    "﷽ 👩‍👩‍👧 é e\u0301 字",
)


def run_of(count: int, reply: str = "") -> RunView:
    """A run on `count` questions: three in five right, then wrong without an answer, then not measured."""
    asked = tuple(
        Question(
            "mcq",
            f"Which moon is number {i}?",
            "B",
            ("Io", "Titan", "Charon"),
            category=("stars", "moons", "")[i % 3],
            difficulty=("easy", "hard")[i // 2 % 2],
            language=("en", "de")[i % 2],
            template=f"t{i % 7}",
        )
        for i in range(count)
    )
    fates = ((True, "ok"), (True, "ok"), (True, "ok"), (False, "no_answer"), (None, "error"))
    traces = []
    for i, question in enumerate(asked):
        correct, status = fates[i % 5]
        asking = ({"role": "user", "content": question.prompt},)
        said = reply or f"I say Titan, number {i}."
        reason = "timeout" if status == "error" else ""
        traces.append(Trace(question.key, asking, said, "B", status, reason, correct, None))
    return RunView(1, "small", "base", 1, "solar", "a1" * 32, "b2" * 32, asked, tuple(traces))
