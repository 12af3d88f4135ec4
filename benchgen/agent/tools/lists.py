"""What there is: benchmarks, models, runs, jobs and files of the workspace, the newest of each."""

from __future__ import annotations

from collections.abc import Iterator

from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Situation
from benchgen.agent.tools import words
from benchgen.agent.tools.desk import Desk

MOST = 15
NEXT = {
    "benchmarks": "`run benchmark 1 on MODEL`",
    "models": "`run benchmark 1 on MODEL`",
    "runs": "`status of run 3`",
    "jobs": "`training status of job 2`",
    "files": "`import FILE`",
}
"""What can be done with one of them."""


def listed(situation: Situation, what: str) -> Outcome:
    """The newest records of a sort, and how many there are."""
    lines = list(_lines(situation, what))
    if not lines:
        return Outcome(
            f"There are no {what} here yet. Next: `what can you do?` shows how they come."
        )
    head = f"{words.plural(len(lines), what[:-1])}"
    if len(lines) > MOST:
        head += f", the newest {MOST}"
    shown = "\n".join(f"- {line}" for line in lines[-MOST:])
    rest = "" if what == "files" else f"; `benchgen {what}` lists them all"
    return Outcome(f"{head}:\n\n{shown}\n\nNext: {NEXT[what]}{rest}.", {"number": len(lines)})


def benchmark(desk: Desk, id: int) -> Outcome:
    """One benchmark as it stands, with its page."""
    found = desk.ws.benchmark(id)
    row = found.row
    number = words.plural(row.questions, "question")
    next_ = (
        f"run benchmark {id} on MODEL" if found.state == "published" else f"publish benchmark {id}"
    )
    text = (
        f"Benchmark {id}: {words.name(row.name)}, {number} ({row.kind}), {found.state}. Page: {found.link}\n\n"
        f"Next: `{next_}`."
    )
    return Outcome(text, {"benchmark": id, "state": found.state}, links=(found.link,))


def _lines(situation: Situation, what: str) -> Iterator[str]:
    if what == "benchmarks":
        for bench in situation.benchmarks:
            number = words.plural(bench.questions, "question")
            yield f"benchmark {bench.id}: {words.name(bench.name)}, {number} ({bench.kind}), {bench.state}"
    elif what == "models":
        for model in situation.models:
            stands = f" of {words.name(model.base)}, job {model.job}" if model.base else ""
            yield f"{words.name(model.name)}: {model.kind}{stands}"
    elif what == "runs":
        for run in situation.runs:
            far = f"{run.right} of {run.right + run.wrong} right"
            far = far if run.state == "finished" else f"{run.done} of {run.total} answered"
            yield f"run {run.id}: {words.name(run.model)} on benchmark {run.benchmark}, {run.state}, {far}"
    elif what == "jobs":
        for job in situation.jobs:
            made = f", made {words.name(job.model)}" if job.model else ""
            yield f"job {job.id}: {job.job_type} of {words.name(job.base_model)}, {job.state}{made}"
    elif what == "files":
        yield from map(words.name, situation.files)
