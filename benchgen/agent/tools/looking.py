"""Runs looked at: status, scores side by side, replies, and why a score is low. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchgen.agent.reply import Outcome
from benchgen.agent.tools import words
from benchgen.agent.tools.desk import Desk, asking, wrong
from benchgen.models import catalogue
from benchgen.records import Run, Write
from benchgen.rundata.pages import Filters
from benchgen.store import JobRow, ModelRow, RunRow, WriteRow
from benchgen.types import MODES, UNDER_WAY

ROWS, MOST_ROWS = 10, 100
"""Rows of a dataset that are shown unless told, and at most."""
REPLY = 600
"""Characters of a full reply; the run's page has all of it."""
FORM = {
    "no_answer": "no final answer could be found in the reply",
    "ambiguous": "the reply names several answers",
    "truncated": "the reply was cut at the token limit",
    "empty": "the reply was empty",
    "refused": "the model declined to answer",
    "error": "no reply came (not counted as wrong)",
}
"""Statuses that are no wrong answer of a model that answered."""


def status(desk: Desk, run: int | None, write: int | None = None) -> Outcome:
    """A run's state: the score with its breakdown, or how far it is, or why it failed; a writing's; all under way."""
    if run is None and write is not None:
        return _writing(desk, write)
    if run is None:
        return _all_under_way(desk)
    found = desk.ws.get_run(run)
    told = found.status()
    state = told["state"]
    if state == "finished":
        return _finished(found)
    numbers = {"run": found.id, "state": state, "done": told["done"], "total": told["asked"]}
    head = f"Run {found.id} ({words.name(told['model'])} on benchmark {found.benchmark.id})"
    links = (found.link,)
    if state in UNDER_WAY:
        waits = " It waits for its turn." if state == "queued" else ""
        text = f"{head} is {state}. {told['progress']}.{waits} No score before it has finished."
        return Outcome(text, {**numbers, "progress": told["progress"]}, links=links)
    reason = words.line(told.get("error") or "its process is gone", 300)
    stands = "has failed" if state == "failed" else "was interrupted"
    text = (
        f"{head} {stands}: {reason}. {told['done']} of {told['asked']} questions are answered and kept; it has no score.\n\n"
        f"Next: `resume run {found.id}`."
    )
    return Outcome(text, {**numbers, "error": reason}, links=links)


def _finished(run: Run) -> Outcome:
    figures, bench = run.summary, run.benchmark
    categories = [
        (
            name or "(none)",
            words.percent(one["score"]),
            f"{one['right']} of {one['scored']}",
            one["asked"],
        )
        for name, one in figures["by_category"].items()
    ]
    statuses = ", ".join(f"{name} {n}" for name, n in figures["by_status"].items())
    text = words.paragraphs(
        f"Run {run.id}, {words.name(run.model.row.name)} on benchmark {bench.id} ({words.name(bench.row.name)}): "
        f"{words.score(figures)}.",
        words.table(("category", "score", "right", "asked"), categories)
        if list(figures["by_category"]) != [""]
        else "Its questions have no categories.",
        f"Replies by status: {statuses}. Page: {run.link}",
        f"Next: `dataset of run {run.id} in mode failures`, or `plan a from-run training from run {run.id}`.",
    )
    told = {
        "run": run.id,
        "state": "finished",
        "score": words.points(figures["score"]),
        **{key: figures[key] for key in ("right", "scored", "asked", "by_status")},
        "by_category": {name: one["asked"] for name, one in figures["by_category"].items()},
    }
    return Outcome(text, told, links=(run.link,))


def _writing(desk: Desk, write: int) -> Outcome:
    """How many questions of a writing there are, and what writes the others."""
    found = desk.ws.get_write(write)
    told = found.status()
    written, total = told["written"], told["wanted"]
    name = words.name(found.spec.name)
    numbers = {"write": found.id, "state": told["state"], "written": written, "total": total}
    head = f"{written} of {total} questions of {name} are written and kept, {total - written} are left."
    if told["benchmark"] is not None:
        text = f"{head} They are benchmark {told['benchmark']}."
        return Outcome(text, {**numbers, "benchmark": told["benchmark"]})
    if told["state"] == "finished":
        return Outcome(f"{head} Nothing is created before `Create it` to their preview.", numbers)
    if told["state"] == "writing":
        return Outcome(f"{head} They are being written now. Next: ask again at any time.", numbers)
    text = (
        f"{head} Nothing is created yet. Next: `continue` writes on, and `{written} are enough` shows what there is."
        if written
        else f"{head} Next: `continue` writes on."
    )
    return Outcome(text, numbers)


def _all_under_way(desk: Desk) -> Outcome:
    place = desk.ws.place
    lines, links = [], []
    for row in place.store.all(RunRow, RunRow.state.in_(UNDER_WAY)):
        run = Run(place, row.id)
        told = run.status()
        if told["state"] == "finished":  # since the list was read
            continue
        lines.append(f"- run {run.id}: {told['state']}. {told['progress']}")
        links.append(run.link)
    for job in place.store.all(JobRow, JobRow.state.in_(UNDER_WAY)):
        told = desk.ws.job(job.id).status()
        step = f", step {told['step']}" if "step" in told else ""
        lines.append(f"- job {job.id}: {told['state']}{step}")
    for write in place.store.all(WriteRow, WriteRow.benchmark_id.is_(None)):
        one = Write(place, write.id).status()
        if one["state"] == "finished":  # a preview that nobody created
            continue
        lines.append(
            f"- writing {write.id}: {one['state']}, {one['written']} of {one['wanted']} questions"
        )
    newest = place.store.all(RunRow, RunRow.state == "finished")[-1:]
    last = (
        f"The newest finished run is {newest[0].id}: `status of run {newest[0].id}`."
        if newest
        else ""
    )
    head = "Under way:" if lines else "Nothing is under way."
    return Outcome(words.paragraphs(head, "\n".join(lines[-20:]), last), links=tuple(links[-20:]))


# ---- side by side ----------------------------------------------------------------------------------


def compare(
    desk: Desk, runs: Sequence[int] | None, models: Sequence[str] | None, benchmark: int | None
) -> Outcome:
    """Scores side by side with their intervals and links; no claim before all have finished."""
    asked = list(dict.fromkeys(runs or _newest(desk, models, benchmark)))
    found = [desk.ws.get_run(one) for one in asked]
    if len(found) == 1:
        found = [*_before(desk, found[0]), *found]
    for run in found:
        told = run.status()
        if told["state"] != "finished":
            return _too_early(run, told, found)
    if len(found) < 2:
        return asking(
            "Which runs? A comparison needs two: `compare runs 3 and 4`.", ["runs"], runs=asked
        )
    benches = list(dict.fromkeys(run.row.benchmark_id for run in found))
    told = {"runs": [run.id for run in found]}
    links = tuple(run.link for run in found)
    if len(benches) > 1:
        text = words.paragraphs(
            f"These runs are of different benchmarks ({words.listed(benches)}): other questions, so their scores cannot "
            "be set against each other, and I do not.",
            words.table(("run", "benchmark", "model", "score", "page"), map(_row, found)),
            f"Next: run one benchmark on both models, such as `run benchmark {benches[0]} on MODEL`.",
        )
        return Outcome(text, {**told, "benchmarks": benches}, "warn_incomparable", links)
    result = desk.ws.compare(found)
    rows = [
        (
            row.run_id,
            row.model,
            words.percent(row.score),
            f"{100 * row.ci[0]:.1f} to {100 * row.ci[1]:.1f}",
        )
        + (f"{row.right} of {row.scored}", row.label or "", row.link)
        for row in result.rows
    ]
    pairs = [
        f"- run {pair.run} against run {pair.baseline} ({pair.part.replace('_', ' ')} questions, {pair.result.n} of them): "
        f"{100 * (pair.result.delta or 0):+.1f} points, 95 % {100 * pair.result.ci[0]:+.1f} to {100 * pair.result.ci[1]:+.1f}, "
        f"p = {pair.result.p:.3g}: {words.line(pair.verdict, 200)}"
        for pair in result.pairs
        if pair.result.delta is not None
    ]
    text = words.paragraphs(
        f"Benchmark {benches[0]} ({words.name(found[0].benchmark.row.name)}), side by side:",
        words.table(("run", "model", "score", "95 %", "right", "note", "page"), rows),
        "\n".join(pairs[:12]),
        "\n".join(f"- {words.line(one, 300)}" for one in result.warnings[:6]),
        f"Next: `dataset of run {found[-1].id} in mode all` shows what was answered.",
    )
    scores = {str(row.run_id): words.points(row.score) for row in result.rows}
    return Outcome(
        text, {**told, "benchmark": benches[0], "scores": scores, "links": True}, links=links
    )


def with_roles(found: Outcome, roles: Mapping[str, int]) -> Outcome:
    """The outcome, with which run was taken for the teacher, the baseline, the trained one."""
    if not roles:
        return found
    taken = ", ".join(f"{words.name(role)}: run {run}" for role, run in roles.items())
    return replace(found, text=words.paragraphs(f"Taken as {taken}.", found.text))


def _row(run: Run) -> tuple[Any, ...]:
    figures = run.summary
    name = f"{run.row.benchmark_id} ({run.benchmark.row.name})"
    return (run.id, name, run.model.row.name, words.score(figures), run.link)


def _newest(desk: Desk, models: Sequence[str] | None, benchmark: int | None) -> Iterator[int]:
    """Ids of the newest run of each model, or of each model on the benchmark."""
    rows = desk.ws.store.all(RunRow)
    names = {row.id: row.name for row in desk.ws.store.all(ModelRow)}
    if benchmark is not None:
        rows = [row for row in rows if row.benchmark_id == benchmark]
    wanted = models or (
        list(dict.fromkeys(names[row.model_id] for row in rows)) if benchmark else []
    )
    for model in wanted:
        mine = [row.id for row in rows if names[row.model_id] == model]
        yield from mine[-1:]


def _before(desk: Desk, run: Run) -> list[Run]:
    """The newest finished run, on the same benchmark, of the base that this run's model was trained from."""
    model = run.model.row
    if model.kind not in ("adapter", "merged") or model.parent_id is None:
        return []
    base = catalogue.base_of(desk.ws.store, desk.ws.store.get(ModelRow, model.parent_id))
    rows = desk.ws.store.all(
        RunRow,
        RunRow.benchmark_id == run.row.benchmark_id,
        RunRow.model_id == base.id,
        RunRow.state == "finished",
    )
    return [Run(desk.ws.place, rows[-1].id)] if rows else []


def _too_early(run: Run, told: Mapping[str, Any], found: Sequence[Run]) -> Outcome:
    """That nothing can be said yet, with the scores that there are; `told` is how the run stands."""
    there = [
        f"- run {r.id}, {words.name(r.model.row.name)}: {words.score(r.summary)}"
        for r in found
        if r.state == "finished"
    ]
    state = told["state"]
    waits = state in UNDER_WAY
    how = "is not finished" if waits else "has failed" if state == "failed" else "was interrupted"
    text = words.paragraphs(
        f"Run {run.id} {how}. {_far(told, waits)}. Whether there is a difference can be said only once every run has finished.",
        "\n".join(there),
        f"Next: `status of run {run.id}`." if waits else f"Next: `resume run {run.id}`.",
    )
    arguments = {"run": run.id, "state": state, "done": told["done"], "total": told["asked"]}
    return Outcome(text, arguments, "no_claim_yet", (run.link,))


# ---- replies ---------------------------------------------------------------------------------------


def dataset(
    desk: Desk, run: int | None, mode: str, rows: int | None, offset: int, category: str
) -> Outcome:
    """Rows of a finished run: what was asked, what is right, what was answered, and how that was counted."""
    if run is None:
        return asking("Which run? Say its number.", ["run"], mode=mode)
    if mode not in MODES:
        text = f"There is no mode {words.name(mode)}. The modes are {words.listed(MODES)}: `dataset of run {run} in mode all`."
        return wrong("unknown mode", text, run=run, mode=mode, allowed=list(MODES))
    found = desk.ws.get_run(run)
    if (early := not_finished(found)) is not None:
        return early
    if rows is not None and rows < 0:
        return wrong("not a number of rows", "Rows are 0 or more.", run=run, rows=rows)
    wanted = min(ROWS if rows is None else rows, MOST_ROWS)
    page = found.pages().page(offset, max(1, wanted), Filters(mode, category=category or None))
    shown = page.rows.head(wanted)
    total = page.total or 0
    told = {"run": run, "mode": mode, "rows": shown.height, "offset": offset, "total": total}
    if not shown.height:
        text = _no_rows(run, mode, total, offset)
        return Outcome(text, told, links=(found.link,))
    last = offset + shown.height
    more = f"Next: `the next {wanted} rows`." if last < total else f"That is all of mode {mode}."
    if rows is not None and rows > wanted:
        more += f" {MOST_ROWS} rows at most are shown at once; the page, or `benchgen dataset run_id={run} mode={mode} path=FILE`, has all."
    head, cells = _shown(shown.to_dicts(), mode, offset)
    text = words.paragraphs(
        f"Run {run}, mode {mode}: rows {offset + 1} to {last} of {total}.",
        words.table(head, cells, REPLY if mode == "distill" else words.CELL),
        f"Page: {found.link}",
        more,
    )
    return Outcome(text, told, links=(found.link,))


def _no_rows(run: int, mode: str, total: int, offset: int) -> str:
    if offset and total:
        return f"Run {run} has {total} rows in mode {mode}: none are left after the first {offset}."
    what = {"failures": "no wrong answers", "distill": "no right answers"}.get(mode, "no such rows")
    return f"Run {run} has {what}. Next: `dataset of run {run} in mode all`."


def _shown(
    rows: Sequence[dict[str, Any]], mode: str, offset: int
) -> tuple[list[str], list[list[Any]]]:
    """Head and cells: in distill the whole reply counts, in the others what was read from it."""
    if mode == "distill":
        head = ["no.", "question", "right answer", "full reply"]
        cells = [[n, r["prompt"], r["target"], r["reply"]] for n, r in enumerate(rows, offset + 1)]
        return head, cells
    head = ["no.", "question", "right answer", "answered", "counted as", "status"]
    verdict = {True: "right", False: "wrong", None: "not measured"}
    return head, [
        [
            n,
            r["prompt"],
            r["target"],
            r["extracted"] or r["reply"],
            verdict[r["correct"]],
            _status(r),
        ]
        for n, r in enumerate(rows, offset + 1)
    ]


def _status(row: dict[str, Any]) -> str:
    return f"{row['status']} ({row['reason']})" if row["reason"] else str(row["status"])


def not_finished(run: Run) -> Outcome | None:
    """What is said of a run that has no score and no dataset yet; None where it has."""
    told = run.status()
    state = told["state"]
    if state == "finished":
        return None
    waits = state in UNDER_WAY
    next = f"status of run {run.id}" if waits else f"resume run {run.id}"
    stands = f"is {state} and not finished" if waits else f"is not finished: it is {state}"
    text = f"Run {run.id} {stands}. {_far(told, waits)}. It has no score and no dataset yet. Next: `{next}`."
    return wrong("not finished", text, run=run.id, state=state)


def _far(told: Mapping[str, Any], under_way: bool) -> str:
    """How far a run is, as a status says it."""
    if under_way:
        return str(told["progress"])
    return f"{told['done']} of {told['asked']} questions are answered and kept"


def explain_low(desk: Desk, run: int | None) -> Outcome:
    """What the replies of a run show about its score, before anything is said about knowledge."""
    if run is None:
        return asking("Which run? Say its number.", ["run"])
    found = desk.ws.get_run(run)
    if (early := not_finished(found)) is not None:
        return early
    figures = found.summary
    by_status = figures["by_status"]
    forms = [(n, FORM[status]) for status, n in by_status.items() if status in FORM]
    wrong_ones = figures["scored"] - figures["right"]
    answered = wrong_ones - sum(
        n for status, n in by_status.items() if status in FORM and status != "error"
    )
    lines = [f"- {n} of {figures['asked']}: {why}" for n, why in forms]
    lines.append(
        f"- {max(0, answered)} of {figures['asked']}: an answer was read, and it is not the right one"
    )
    weakest = sorted(
        (
            (one["score"], name)
            for name, one in figures["by_category"].items()
            if one["score"] is not None
        )
    )[:2]
    if len(figures["by_category"]) > 1:
        lines += [
            f"- weakest category: {words.name(name)}, {words.percent(score)}"
            for score, name in weakest[:1]
        ]
    text = words.paragraphs(
        f"Run {run}: {words.score(figures)}. What its replies show:",
        "\n".join(lines),
        "A low score may come from the form of the answers or from the answers themselves; only the replies tell. "
        f"Next: `dataset of run {run} in mode all` shows what it really answered.",
    )
    told = {"run": run, "suggest": {"mode": "all"}, "by_status": dict(by_status)}
    return Outcome(text, told, links=(found.link,))
