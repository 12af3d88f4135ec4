"""The rows of a run as data that its page's script pages through: bounded, and harmless in HTML."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

from benchgen.compare.markup import CELL_LIMIT, Browser, clean, cut
from benchgen.compare.tables import asked_text, outcome, target_text, trace_table
from benchgen.compare.views import RunView
from benchgen.types import Question, Trace

ROW_LIMIT = 2_000
"""Rows of a page: all that a benchmark may have; more are in the run dataset."""
STATIC_LIMIT = 200
"""Rows that are shown where scripts do not run."""
MAX_BYTES = 6 * 2**20
"""Of the rows' data; texts are cut shorter until it holds."""
SHORTEST = 60  # characters of a text, however many rows there are


def browser(view: RunView) -> Browser:
    """The view's first ROW_LIMIT replies; texts as long as MAX_BYTES allows, up to CELL_LIMIT characters."""
    traces, total = view.traces[:ROW_LIMIT], len(view.traces)
    limit = CELL_LIMIT
    data = _data(view.questions, traces, limit)
    while len(data.encode()) > MAX_BYTES and limit > SHORTEST:
        limit = max(SHORTEST, limit // 2)
        data = _data(view.questions, traces, limit)
    static = trace_table(view, STATIC_LIMIT)
    return Browser(Markup(data), len(traces), total, static)  # noqa: S704  escaped by `harmless`


def _data(questions: Sequence[Question], traces: Sequence[Trace], limit: int) -> str:
    """{"questions": [...], "rows": [...]} as rows.js unpacks it."""
    by_key = {question.key: question for question in questions}
    places: dict[tuple[str, str], int] = {}
    asked: list[list[str]] = []
    rows: list[list[Any]] = []
    for trace in traces:
        question = by_key[trace.key]
        prompt = asked_text(trace, question)
        place = places.setdefault((trace.key, prompt), len(asked))
        if place == len(asked):
            told = (prompt, target_text(question))
            named = (question.category, question.difficulty, question.language, question.key)
            asked.append([*(_text(part, limit) for part in told), *(_text(p, 100) for p in named)])
        fate = {True: 0, False: 1, None: 2}[trace.correct]
        texts = (_text(trace.reply, limit), _text(trace.extracted or "", limit))
        rows.append(
            [place, trace.repeat, _text(trace.status, 40), fate, _text(outcome(trace), 300), *texts]
        )
    return harmless({"questions": asked, "rows": rows})


def _text(text: str, limit: int) -> str:
    return clean(cut(text, limit))


def harmless(value: Any) -> str:
    """The value as JSON that can stand in a script element: nothing in it ends one or begins a comment.

    Texts must be `clean`. U+2028 and U+2029 are escaped too: older scripts take them for line ends.
    """
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return text
