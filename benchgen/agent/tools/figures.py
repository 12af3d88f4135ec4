"""How much a figure says: its interval, what guessing would give, and what else there is to set it beside."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from statistics import fmean
from typing import Any

from benchgen.agent.reply import Outcome
from benchgen.agent.situation import RunSeen, Situation
from benchgen.agent.tools import looking, words
from benchgen.agent.tools.desk import Desk
from benchgen.models import catalogue
from benchgen.records import Run
from benchgen.run.statistics import wilson

TOPIC = "score"
SIZES = (20, 50, 100, 500)
"""Numbers of questions for which an interval is told where none was said."""
OPTIONS = 4
"""Of a multiple choice question, where none was said."""
MOST_OTHERS = 5
MOST_QUESTIONS, MOST_OPTIONS = 100_000, 100


def explained(
    desk: Desk,
    situation: Situation,
    percent: float | None,
    run: int | None,
    n: int | None,
    n_options: int | None,
) -> Outcome:
    """What a figure says: a run's where it is one's, else a percentage as such."""
    if percent is not None and not 0 <= percent <= 100:
        text = f"A score lies between 0 and 100 %, so {percent:g} % is none."
        return Outcome(text, {"percent": percent, "reason": "no percentage"}, "error")
    about = run if run is not None else _run_of(situation, percent) if n is None else None
    if about is None:
        return _alone(percent or 0.0, n, n_options)
    found = desk.ws.get_run(about)
    if (early := looking.not_finished(found)) is not None:
        return early
    return _of_run(desk, situation, found, percent)


def _run_of(situation: Situation, percent: float | None) -> int | None:
    """The finished run with that score, the one talked about before any other; the newest of several."""
    finished = [run for run in situation.runs if run.state == "finished" and run.right + run.wrong]
    if percent is None:
        return situation.last_run
    fits = [run.id for run in finished if _has(run, percent)]
    return situation.last_run if situation.last_run in fits else max(fits, default=None)


def _has(run: RunSeen, percent: float) -> bool:
    """Whether that is the run's score, as far as it was written."""
    exact = 100 * run.right / (run.right + run.wrong)
    near = 0.5 if float(percent).is_integer() else 0.051
    return abs(exact - percent) <= near


def _of_run(desk: Desk, situation: Situation, run: Run, percent: float | None) -> Outcome:
    figures, bench = run.summary, run.benchmark
    told: dict[str, Any] = {"run": run.id, "score": words.points(figures["score"])}
    if figures["score"] is None:
        return Outcome(f"Run {run.id}: {words.score(figures)}.", told, links=(run.link,))
    guess = _guess(run)
    lines = [*_against_guess(guess, figures["ci"]), *_trained_on(desk, run)]
    others = _others(situation, run)
    lines += [
        f"{words.name(one.model)} has {words.percent(one.right / (one.right + one.wrong))} there (run {one.id})"
        for one in others
    ]
    differs = percent is not None and abs(percent - 100 * figures["score"]) > 1
    next_ = (
        f"Next: `compare runs {others[0].id} and {run.id}` tells whether they differ."
        if others
        else f"Next: `run benchmark {bench.id} on MODEL`, so that there is something to set it beside."
    )
    text = words.paragraphs(
        f"Run {run.id} ({words.name(run.model.row.name)} on benchmark {bench.id}): {words.score(figures)}."
        + (f" It is not {percent:g} %." if differs else ""),
        "Whether that is good is told by what stands beside it:",
        "\n".join(f"- {line}" for line in lines),
        next_,
    )
    told |= {
        "interval": [words.points(one) for one in figures["ci"]],
        "guess": words.points(guess),
        "runs": [one.id for one in others],
    }
    return Outcome(text, told, links=(run.link,))


def _guess(run: Run) -> float:
    """The share of right answers that guessing among the options gives; 0 where there are none."""
    shares = [
        1 / len(q.choices) if q.kind == "mcq" and q.choices else 0.0
        for q in run.benchmark.questions
    ]
    return fmean(shares) if shares else 0.0


def _against_guess(guess: float, ci: tuple[float, float]) -> Iterator[str]:
    """What the interval says of guessing."""
    if not guess:
        yield "guessing gives about nothing on questions without options"
        return
    low, high = ci
    level = f"guessing among its options gives {words.percent(guess)}"
    if low > guess:
        yield f"{level}: the whole interval lies above, so this is more than guessing"
    elif high < guess:
        yield f"{level}: the whole interval lies below, which is mostly a matter of the answers' form"
    else:
        yield f"{level}: the interval holds it, so this cannot be told from guessing"


def _trained_on(desk: Desk, run: Run) -> Iterator[str]:
    """That the model was trained on some of these questions."""
    seen = catalogue.seen_keys(desk.ws.store, run.model.row)
    number = sum(question.key in seen for question in run.questions)
    if number:
        yield (
            f"its model was trained on {number} of these {len(run.questions)} questions, so part of it is memory: "
            f"`{len(run.questions)} new questions like benchmark {run.row.benchmark_id}` give a figure without"
        )


def _others(situation: Situation, run: Run) -> list[RunSeen]:
    """Other models' newest finished runs of the same benchmark, the base of the run's own model first."""
    model = run.model.row.name
    base = next((m.base for m in situation.models if m.name == model), "")
    newest = {
        one.model: one
        for one in situation.runs
        if one.benchmark == run.row.benchmark_id
        and one.state == "finished"
        and one.model != model
        and one.right + one.wrong
    }
    return sorted(newest.values(), key=lambda one: (one.model != base, -one.id))[:MOST_OTHERS]


def _alone(percent: float, n: int | None, n_options: int | None) -> Outcome:
    """What a percentage says where it is no run's: it depends on the number of questions and of options."""
    sizes: Sequence[int] = [n] if n is not None and 0 < n <= MOST_QUESTIONS else SIZES
    rows = [(size, *wilson(round(percent / 100 * size), size)) for size in sizes]
    options = n_options if n_options and 1 < n_options <= MOST_OPTIONS else OPTIONS
    guess = 1 / options
    told: dict[str, Any] = {"percent": percent, "guess": words.points(guess)}
    if len(rows) == 1:
        told["interval"] = [words.points(one) for one in rows[0][1:]]
    lines = [
        f"on {size} questions its 95 % interval is {100 * low:.1f} to {100 * high:.1f}"
        for size, low, high in rows
    ]
    least = next((size for size, low, _ in rows if low > guess), None)
    above = f"more than guessing from {least} questions on" if least else "not more than guessing"
    whole = above if len(rows) > 1 else "more than guessing" if least else "not told from guessing"
    lines.append(f"guessing among {options} options gives {words.percent(guess)}: it is {whole}")
    text = words.paragraphs(
        f"{percent:g} % says little by itself:",
        "\n".join(f"- {line}" for line in lines),
        "Whether it is good is told by the base and by the best model on the same questions. "
        "Next: name the run, `is the score of run 3 good?`.",
    )
    return Outcome(text, told)
