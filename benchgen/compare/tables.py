"""Tables of runs, traces and questions, as every page shows them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchgen.compare.markup import Cell, Table, cut
from benchgen.compare.plots import ANSWERS, answer_counts, percent
from benchgen.compare.views import RunView, ScoreRow
from benchgen.types import LETTERS, Question, Trace

KIND_NAMES = {
    "base": "base model",
    "adapter": "trained (adapter)",
    "merged": "trained (merged)",
    "endpoint": "endpoint",
    "reference": "ceiling: the author's worked answers",
}


def score_table(caption: str, rows: Sequence[ScoreRow]) -> Table:
    """Scores with counts, interval, what was unusable, and what must be said beside them."""
    head = (
        "model",
        "run",
        "right",
        "scored",
        "asked",
        "score",
        "95 % interval",
        "strict",
        "unusable",
        "note",
    )
    return Table(caption, head, tuple(map(_score_cells, rows)), frozenset({1, 2, 3, 4, 5, 7}))


def _score_cells(row: ScoreRow) -> tuple[Cell, ...]:
    unusable = [
        f"{n} {name.replace('_', ' ')}" for name, n in row.by_status.items() if name != "ok"
    ]
    drawn = None if row.score is None else (row.ci[0], row.score, row.ci[1])
    note = row.label or KIND_NAMES.get(row.model_kind, row.model_kind)
    return (
        Cell(row.model),
        Cell(str(row.run_id), link=row.link),
        Cell(str(row.right)),
        Cell(str(row.scored)),
        Cell(str(row.asked)),
        Cell(percent(row.score)),
        Cell(f"{100 * row.ci[0]:.1f} to {100 * row.ci[1]:.1f}", interval=drawn),
        Cell(percent(row.strict["score"])),
        Cell(", ".join(unusable) or "none", mark="mute"),
        Cell(note, mark="mute"),
    )


def category_table(runs: Sequence[RunView]) -> Table:
    """Score by category, one column a run; all runs are of one benchmark."""
    figures = [run.figures["by_category"] for run in runs]
    names = sorted({name for groups in figures for name in groups})
    empty = {"score": None, "right": 0, "scored": 0}
    rows = []
    for name in names:
        got = [groups.get(name, empty) for groups in figures]
        cells = (Cell(f"{percent(g['score'])} ({g['right']} of {g['scored']})") for g in got)
        rows.append((Cell(name or "no category"), *cells))
    head = ("category", *(_run_name(run) for run in runs))
    numbers = frozenset(range(1, len(head)))
    return Table(f"By category, {runs[0].benchmark}", head, tuple(rows), numbers)


def _run_name(run: RunView) -> str:
    return f"{run.model} (run {run.run_id}{', ceiling' if run.is_reference else ''})"


def status_table(runs: Sequence[RunView]) -> Table:
    """How many answers of each run were right, wrong, unusable (by status) or not measured."""
    rows = []
    for run in runs:
        counts = answer_counts(run.verdicts)
        name = f"{run.model} (ceiling)" if run.is_reference else run.model
        cells = (Cell(str(counts[name]), mark="" if counts[name] else "mute") for name in ANSWERS)
        ids = (Cell(name), Cell(str(run.run_id), link=run.link), Cell(run.benchmark))
        rows.append((*ids, *cells))
    head = ("model", "run", "benchmark", *(name.replace("_", " ") for name in ANSWERS))
    numbers = frozenset({1, *range(3, len(head))})
    return Table("What became of every answer", head, tuple(rows), numbers)


def trace_table(view: RunView, limit: int) -> Table:
    """The first `limit` replies and how each was scored."""
    questions = {question.key: question for question in view.questions}
    rows = []
    for trace in view.traces[:limit]:
        question = questions[trace.key]
        asked = asked_text(trace, question)
        mark = {True: "good", False: "bad", None: "mute"}[trace.correct]
        rows.append(
            (
                Cell(cut(asked), long=True),
                Cell(cut(trace.reply), long=True),
                Cell(cut(trace.extracted or "")),
                Cell(cut(target_text(question))),
                Cell(outcome(trace), mark=mark),
                Cell(question.category),
            )
        )
    head = ("prompt", "reply", "extracted", "right answer", "outcome", "category")
    return Table("Every question with its reply", head, tuple(rows))


def question_table(questions: Sequence[Question]) -> Table:
    """The questions with options, right and worked answers, and keys."""
    rows = tuple(
        (
            Cell(str(place)),
            Cell(cut(prompt_text(q)), long=True),
            Cell(cut(target_text(q))),
            Cell(cut(q.rationale), long=True),
            Cell(q.category),
            Cell(q.difficulty),
            Cell(q.key, mark="mute"),
        )
        for place, q in enumerate(questions, 1)
    )
    head = ("no.", "question", "right answer", "worked answer", "category", "difficulty", "key")
    return Table("Questions with their answers", head, rows, frozenset({0}))


def make_up(questions: Sequence[Question]) -> Iterator[Table]:
    """How many questions there are by category, difficulty and language, and right ones by letter."""
    for name in ("category", "difficulty", "language"):
        counts = Counter(getattr(question, name) or "not given" for question in questions)
        rows = tuple((Cell(value), Cell(str(counts[value]))) for value in sorted(counts))
        yield Table(f"Questions by {name}", (name, "questions"), rows, frozenset({1}))
    letters = Counter(q.target for q in questions if q.kind == "mcq" and isinstance(q.target, str))
    if letters:
        rows = tuple((Cell(letter), Cell(str(letters[letter]))) for letter in sorted(letters))
        yield Table("Correct letters", ("letter", "questions"), rows, frozenset({1}))


def run_lines(runs: Sequence[Any]) -> Table:
    """Finished runs of one benchmark: model, counts, score and interval, link."""
    rows = []
    for run in runs:
        (low, high), share = run.ci, run.score
        counts = f"{run.right} / {run.scored} / {run.asked}"
        drawn = None if share is None else (low, share, high)
        interval = Cell(f"{100 * low:.1f} to {100 * high:.1f}", interval=drawn)
        name = Cell(str(run.run_id), link=run.link)
        rows.append((name, Cell(run.model), Cell(counts), Cell(percent(share)), interval))
    head = ("run", "model", "right / scored / asked", "score", "95 % interval")
    return Table("Finished runs", head, tuple(rows), frozenset({0, 2, 3}))


def facts(caption: str, head: tuple[str, str], pairs: Mapping[str, Any]) -> Table:
    """Two columns: a name and its value."""
    rows = tuple((Cell(str(name)), Cell(cut(plain(value)))) for name, value in pairs.items())
    return Table(caption, head, rows)


def flat(value: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    """The mapping with the names of nested ones joined by dots, sorted."""
    found: dict[str, Any] = {}
    for name in sorted(value, key=str):
        inner = value[name]
        if isinstance(inner, Mapping) and inner:
            found.update(flat(inner, f"{before}{name}."))
        else:
            found[f"{before}{name}"] = inner
    return found


def plain(value: Any) -> str:
    """The value as a person would write it: lists with commas, short numbers, else JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, (list, tuple)) and all(isinstance(v, (str, int, float)) for v in value):
        return ", ".join(map(plain, value)) or "none"
    return json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)


def asked_text(trace: Trace, question: Question) -> str:
    """What the model really read: the messages of the trace, not the question as a benchmark lists it."""
    return "\n".join(m.get("content") or "" for m in trace.messages) or prompt_text(question)


def prompt_text(question: Question) -> str:
    """The prompt with its options, one a line."""
    options = (f"{LETTERS[i]}. {choice}" for i, choice in enumerate(question.choices))
    return "\n".join([question.prompt, *options])


def target_text(question: Question) -> str:
    """The right answer: letter and option text, accepted texts, or the target as JSON."""
    if question.kind == "mcq":
        letters = question.target if isinstance(question.target, list) else [question.target]
        return f"{', '.join(letters)}. {question.target_text}"
    if isinstance(question.target, list) and all(isinstance(t, str) for t in question.target):
        return " | ".join(question.target)
    return plain(question.target)


def outcome(trace: Trace) -> str:
    """'right', 'right, not in the form asked for', 'wrong', 'wrong: no answer', 'not measured (timeout)'."""
    if trace.correct is None:
        return f"not measured ({trace.reason or trace.status})"
    word = "right" if trace.correct else "wrong"
    if trace.correct and trace.strict is False:
        return f"{word}, not in the form asked for"
    return word if trace.status == "ok" else f"{word}: {trace.status.replace('_', ' ')}"
