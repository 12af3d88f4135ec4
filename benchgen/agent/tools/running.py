"""Benchmarks published and run: each run in a process of its own, so that the chat goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Waiting
from benchgen.agent.tools import words
from benchgen.agent.tools.desk import Desk, asking, wrong
from benchgen.errors import NotFound
from benchgen.records import Benchmark, Model, Run
from benchgen.run.runner import Sampling
from benchgen.types import UNDER_WAY

MOST_MODELS = 20
"""Runs that one message may begin."""
OFFER = "publish first"


def publish(desk: Desk, benchmark: int | None) -> Outcome:
    """The benchmark, published: it can be run, and never changes."""
    if benchmark is None:
        return asking("Which benchmark? Say its number.", ["benchmark"])
    bench = desk.ws.benchmark(benchmark)
    name, link = words.name(bench.row.name), bench.link
    told = {"benchmark": bench.id, "state": "published"}
    if bench.row.state == "published":
        text = f"Benchmark {bench.id} ({name}) is published already. Next: `run benchmark {bench.id} on MODEL`."
        return Outcome(text, told, links=(link,))
    bench.publish()
    text = (
        f"Benchmark {bench.id} ({name}) is published: it can be run, and will never change. Page: {link}\n\n"
        f"Next: `run benchmark {bench.id} on MODEL`."
    )
    return Outcome(text, told, links=(link,))


def publish_and_run(
    desk: Desk, benchmark: int | None, names: Sequence[str], settings: Mapping[str, Any]
) -> Outcome:
    """Published, then run: the models are looked up before anything is published."""
    if benchmark is None or not names:
        missing = [*(["benchmark"] if benchmark is None else []), *([] if names else ["model"])]
        return asking(f"What is still open: {words.listed(missing)}.", missing)
    if (refused := _unknown(desk, names)) is not None:
        return refused
    published = publish(desk, benchmark)
    found = run(desk, benchmark, names, settings)
    text = words.paragraphs(published.text.partition("\n\n")[0], found.text)
    return Outcome(
        text,
        {**published.arguments, **found.arguments},
        found.intent,
        (*published.links, *found.links),
    )


def run(
    desk: Desk, benchmark: int | None, names: Sequence[str], settings: Mapping[str, Any]
) -> Outcome:
    """A run of each model, begun in the background."""
    missing = [*(["benchmark"] if benchmark is None else []), *([] if names else ["model"])]
    if missing or benchmark is None:
        return _ask(desk, benchmark, missing)
    bench = desk.ws.benchmark(benchmark)
    if bench.state == "draft":
        return explain_draft(bench, names)
    if len(names) > MOST_MODELS:
        return wrong(
            "too many models", f"One message begins {MOST_MODELS} runs at most.", benchmark=bench.id
        )
    if (refused := _unknown(desk, names)) is not None:
        return refused
    lines, links, told = [], [], []
    for typed in names:
        model, others = desk.model(typed)
        begun = _begun(desk, bench, model, settings)
        lines.append(_line(begun, model, others, settings))
        links.append(begun.link)
        told.append({"run": begun.id, "model": str(model.row.name)})
    last = told[-1]["run"]
    status = f"status of run {last}" if len(told) == 1 else "what is the status?"
    text = words.paragraphs("\n".join(lines), f"Next: ask `{status}`; you need not wait here.")
    arguments: dict[str, Any] = {"benchmark": bench.id}
    if len(told) == 1:
        arguments |= told[0]
    else:
        arguments |= {
            "models": [one["model"] for one in told],
            "runs": [one["run"] for one in told],
        }
    return Outcome(text, arguments, links=tuple(links))


def _ask(desk: Desk, benchmark: int | None, missing: list[str]) -> Outcome:
    """What is missing, with the models of the workspace as numbered choices where it is the model."""
    told: dict[str, Any] = {} if benchmark is None else {"benchmark": benchmark}
    if missing != ["model"]:
        return asking(f"What is still open: {words.listed(missing)}.", missing, **told)
    rows = desk.ws.models()
    names = [n for n in rows["name"].to_list() if n not in desk.ws.place.scripted][:8]
    text = "On which model? Reply with a number, or name another."
    return asking(text, missing, tuple(names), **told)


def explain_draft(bench: Benchmark, names: Sequence[str]) -> Outcome:
    """Why a draft is not run, and the offer to publish it first."""
    which = words.listed(names) if names else "MODEL"
    choices = (
        f"publish benchmark {bench.id} and run {which} on it",
        f"leave benchmark {bench.id} as a draft",
    )
    text = (
        f"Benchmark {bench.id} ({words.name(bench.row.name)}) is a draft, and only a published one runs: a score counts "
        "only for questions that no longer change. I can publish it first."
    )
    waiting = Waiting(
        "question",
        f"Q{bench.id}",
        {"after": f"run of draft {bench.id}", "options": list(choices), "benchmark": bench.id},
    )
    told = {"benchmark": bench.id, "offer": OFFER}
    return Outcome(text, told, "explain_draft", (bench.link,), choices, waiting)


def _unknown(desk: Desk, names: Sequence[str]) -> Outcome | None:
    """What is said where one of the models is not known; nothing is begun then."""
    for name in names:
        try:
            desk.model(name)
        except NotFound as error:
            named = [one for one in error.allowed or [] if one not in desk.ws.place.scripted]
            known = ", ".join(map(words.name, named[:12]))
            text = f"There is no model {words.name(name)}. {f'There are: {known}. ' if known else ''}Next: name one of these, or a Hugging Face id."
            return wrong("unknown model", text, model=name)
    return None


def _begun(desk: Desk, bench: Benchmark, model: Model, settings: Mapping[str, Any]) -> Run:
    sampling = Sampling(
        temperature=settings.get("temperature"), max_new_tokens=settings.get("max_tokens")
    )
    begun = desk.ws.begin_run(
        bench,
        model,
        limit=settings.get("limit"),
        seed=settings.get("seed") or 0,
        repeats=settings.get("repeats") or 1,
        sampling=sampling,
    )
    return desk.ws.run_in_background(begun)


def _line(run: Run, model: Model, others: Sequence[str], settings: Mapping[str, Any]) -> str:
    bench = run.benchmark
    asked = len(run.questions) * run.row.settings.get("repeats", 1)
    set_so = ", ".join(
        f"{key.replace('_', ' ')} {value}" for key, value in settings.items() if value is not None
    )
    text = (
        f"Run {run.id} has begun in the background: {words.name(model.row.name)} on benchmark {bench.id} "
        f"({words.name(bench.row.name)}), {words.plural(asked, 'question')}{f', {set_so}' if set_so else ''}. "
        f"Page: {run.link}"
    )
    if others:
        text += f"\nI picked {words.name(model.row.name)}; {words.listed(others)} would fit too, each by its whole name."
    return text


def resume(desk: Desk, run: int | None, job: int | None) -> Outcome:
    """A run that stopped, gone on with in the background: what was answered is not asked again."""
    if job is not None:
        text = (
            f"A training is resumed by a person: `benchgen resume job_id={job}` goes on at its last checkpoint. "
            "Or plan it again here."
        )
        return Outcome(
            text, {"job": job, "where": f"benchgen resume job_id={job}"}, "refuse_unsupported"
        )
    if run is None:
        return asking("Which run? Say its number.", ["run"])
    found = desk.ws.get_run(run)
    told = found.status()
    state = told["state"]
    numbers = {
        "run": found.id,
        "done": told.get("done", told.get("asked")),
        "total": told.get("asked"),
    }
    if state == "finished":
        again = told.get("next", "")
        more = f" To ask again what got no reply: `{again}`." if again else ""
        text = f"Run {found.id} is finished: nothing is left to ask.{more}"
        return Outcome(text, {**numbers, "state": state}, links=(found.link,))
    if state in UNDER_WAY:
        text = f"Run {found.id} is under way already. {told['progress']}. Next: `status of run {found.id}`."
        return Outcome(text, {**numbers, "state": state}, links=(found.link,))
    desk.ws.run_in_background(found)
    text = (
        f"Run {found.id} goes on in the background: {numbers['done']} of {numbers['total']} are answered and kept, the "
        f"rest are asked now. Page: {found.link}\n\nNext: `status of run {found.id}`."
    )
    return Outcome(text, {**numbers, "state": found.state}, links=(found.link,))


def names_of(
    model: str | None, models: Sequence[str] | None, candidates: Sequence[str] | None
) -> list[str]:
    """The models that a message means: of several that fit one name, the first."""
    if models:
        return list(dict.fromkeys(models))
    return [model] if model else list(candidates or ())[:1]


def with_candidates(found: Outcome, candidates: Sequence[str] | None) -> Outcome:
    """The outcome that says which of several models that fit was picked."""
    if not candidates or len(candidates) < 2 or "run" not in found.arguments:
        return found
    picked, others = candidates[0], candidates[1:]
    line = f"I picked {words.name(picked)}; {words.listed(others)} would fit too, each by its whole name."
    if line in found.text:
        return found
    head, gap, rest = found.text.partition("\n\n")
    return Outcome(
        f"{head}\n{line}{gap}{rest}",
        found.arguments,
        found.intent,
        found.links,
        found.choices,
        found.waiting,
    )
