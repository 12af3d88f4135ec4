"""What the agent says where no tool speaks: about itself, about what waits, and about what went wrong.

Each text says what is so, and what the person can do next.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchgen.agent.commands import command, refusal
from benchgen.agent.gate import CONTINUE
from benchgen.agent.glossary import EXPLAINED
from benchgen.agent.reply import Outcome, Reply
from benchgen.agent.situation import Situation, Waiting, Wish
from benchgen.errors import BenchgenError
from benchgen.plan.gate import WORD

MOST_QUESTIONS = 2000
MOST_CHOICES = 12
QUOTED_CHARS = 200
NAMES = {
    "plan": "Plan",
    "merge": "Merge plan",
    "preview": "Preview",
    "batch": "Writing",
    "question": "Question",
}
HOW = {
    "plan": f"`{WORD}` starts plan {{}}, anything else cancels it.",
    "merge": f"`{WORD}` starts merge {{}}, anything else cancels it.",
    "preview": "`Create it` creates preview {} as it was shown; or say what should be different.",
    "batch": "`continue` writes the next questions of {}.",
    "question": "The question above is still open: answer it with a number.",
}
"""How each thing that waits is answered."""
HELP = """I measure a model, look inside its run, train on what that showed, and measure again. For example:

- **Write a benchmark**: `Create a multiple choice benchmark "Tides" with 20 questions about the sea`, `import my_questions.csv`, `8 questions from handbook.md`. You see it first; `Create it` makes it, a draft.
- **Publish and run**: `publish it`, `run benchmark 1 on smollm2_135m`, `publish it and run smollm2_135m on it`.
- **Look inside**: `status of run 3`, `dataset of run 3, mode failures, 10 rows` (modes failures, all, distill), `why is run 3 so low?`, `compare runs 3 and 4`.
- **Train**: `plan a from-run training from run 3`, `lora fine-tune MODEL on FILE, 1 epoch, at most 50 steps`, GRPO, or more training of an adapter. You see the whole plan first: `yes` starts it, anything else cancels it.
- **Afterwards**: `training status`, `training logs of job 2`, `merge the adapter of job 2 as my-model`.

Name records by id, and ask for one thing a message. Stopping, deleting and unpublishing are yours alone: `benchgen stop`, `benchgen delete`."""
PASTED = "If you pasted one here, make a new one where it came from: take it as known."
LIMITS = (
    f"A benchmark holds up to {MOST_QUESTIONS:,} questions. A model writes about {{questions}} of them in one "
    "message, in parts of 25; then it stops, and `continue` goes on. Nothing is created before you have seen "
    "it all and said `Create it`."
)


def said(wish: Wish, situation: Situation, intent: str = "") -> Outcome:
    """The answer to a wish that no tool carries out; with the wish's arguments where another `intent` answers."""
    told = wish.arguments
    if wish.intent == "clarify":
        return _clarify(told, situation, intent)
    if wish.intent == "refuse_unsupported":
        action = str(told.get("action") or "do that")
        where = command(action, told, situation)
        return Outcome(refusal(action, told, situation), {"where": where} if where else {})
    words = {
        "help": lambda: _help(told),
        "explain": lambda: EXPLAINED.get(str(told.get("topic")), HELP),
        "error": lambda: _error(told),
        "leave_draft": lambda: _leave(told, situation),
        "refuse_secret": lambda: f"{EXPLAINED['tokens']} {PASTED}",
        "refuse_limit": lambda: _too_many(told),
    }.get(wish.intent)
    if words is None:
        return Outcome(unclear(situation), intent="clarify")
    return Outcome(words())


def unclear(situation: Situation) -> str:
    """No request was understood: what waits, and what could be asked."""
    waits = [how(item) for item in situation.waiting if item.kind not in ("plan", "merge")]
    ask = "I do not understand what to do, so I did nothing. Ask for one thing, such as `run benchmark 1 on "
    return "\n\n".join(
        [ask + "smollm2_135m` or `status of run 3`; `what can you do?` shows more.", *waits[-1:]]
    )


def partly_read(reply: Reply, missed: int) -> Reply:
    """The reply, with how much of an overlong message was not read."""
    if missed <= 0:
        return reply
    words = (
        f"Your message is too long to be read as a whole: {missed:,} characters in its middle were left out. "
        "Next: say what is wanted at its beginning, or put the rest into a file and name that."
    )
    return replace(reply, text="\n\n".join(filter(None, (reply.text, words))))


def how(item: Waiting) -> str:
    """How something that waits is answered."""
    words = HOW[item.kind].format(shown(item))
    options = item.told.get("options") or ()
    return "\n".join([words, *(f"{n}. {option}" for n, option in enumerate(options, 1))])


def shown(item: Waiting) -> str:
    """What waits, by its name where it has one, else by its label."""
    name = item.told.get("name")
    return (
        f"{item.label} ({name})"
        if isinstance(name, str) and item.kind != "batch"
        else (str(name) if name and item.kind == "batch" else item.label)
    )


def cancelled(items: Sequence[Waiting], asked: Mapping[str, str], *, again: bool = True) -> str:
    """That these are cancelled; how to plan again, unless a newer plan stands there already."""
    names = " and ".join(f"{NAMES[item.kind].lower()} {item.label}" for item in items)
    verb = "is" if len(items) == 1 else "are"
    text = f"{names[:1].upper()}{names[1:]} {verb} cancelled, nothing of it was started and no later `{WORD}` will."
    if not again:
        return text
    request = " ".join(asked.get(items[-1].label, "").split())
    if not request or len(request) > QUOTED_CHARS:
        return (
            f"{text} Only the word `{WORD}` on its own starts a plan. Next: ask for the plan again."
        )
    return f"{text} Only the word `{WORD}` on its own starts a plan. Next: to see it again, ask: {request}"


def one_at_a_time(item: Waiting) -> str:
    """Why a yes with more behind it starts nothing."""
    return (
        f"A `{WORD}` confirms one step and stands alone. So that nothing runs that was not meant, "
        f"neither {item.kind} {item.label} nor the rest of your message was started."
    )


def replan(item: Waiting, why: str) -> str:
    """Why a yes came too late for what was shown."""
    return (
        f"{NAMES[item.kind]} {item.label} was not started: {why}. What would run now is not what you saw. "
        f"Next: ask for the plan again, and confirm the new one."
    )


def nothing_pending(last: str) -> str:
    """That nothing waits; `last` is the label of what was cancelled before."""
    if last:
        return (
            f"Nothing was started: {last} was cancelled before and cannot be confirmed any more. "
            "Next: ask for the plan again."
        )
    return "Nothing waits for a word of yours, so nothing was done. Next: ask for a benchmark, a run or a plan."


def already_done(told: Mapping[str, Any]) -> str:
    """That a word came a second time, and what the first one made."""
    if told.get("benchmark") is not None:
        return (
            f"It is created already: benchmark {told['benchmark']}. No second one was made. "
            f"Next: `publish benchmark {told['benchmark']}`."
        )
    label = next((f"{k} {told[k]}" for k in ("plan", "merge") if told.get(k)), "it")
    return (
        f"That was confirmed before: {label} is job {told.get('job')}, and no second one was started. "
        "Next: `training status`."
    )


def empty(items: Sequence[Waiting]) -> str:
    """The answer to a message without words."""
    waits = f" {how(items[-1])}" if items else ""
    return f"The message was empty, so I did nothing.{waits}"


def out_of_range(item: Waiting, number: Any) -> str:
    """A number that is none of the options."""
    count = len(item.told.get("options") or ())
    return f"There is no option {number}: answer with a number from 1 to {count}."


def wants(item: Waiting) -> str:
    """A yes to what no yes answers."""
    return f"`{WORD}` is not what {item.kind} {shown(item)} waits for. {how(item)}"


def afterwards(wish: Wish) -> str:
    """What the message asked for after this, told as next steps: nothing of it is done yet."""
    steps = ", then ".join(_step(one) for one in wish.later)
    return f"Not done yet: {steps}. Ask for it once this is finished; each step has its own word."


def _step(wish: Wish) -> str:
    told = wish.arguments
    names = {
        "run_benchmark": "the run",
        "compare_runs": "the comparison",
        "plan_training": "the training plan",
        "plan_merge": "the merge",
        "publish": "publishing",
        "show_dataset": "the dataset",
    }
    about = ", ".join(
        f"{k} {told[k]}" for k in ("benchmark", "model", "run", "job") if told.get(k) is not None
    )
    name = names.get(wish.intent, wish.intent.replace("_", " "))
    return f"{name} ({about})" if about else name


# ------------------------------------------------------------------------------ what went wrong


def failed(error: BenchgenError, wish: Wish, situation: Situation) -> Outcome:
    """An error that the person can mend, as the answer to what they asked."""
    told = {"reason": error.what}
    text = forbidden(error) or error.message
    return Outcome(f"{text}{_mixed_up(wish, situation)}", told, intent="error")


def _mixed_up(wish: Wish, situation: Situation) -> str:
    """That an id which no record of its kind has is one of another kind; empty where it is not so."""
    there = {
        "run": {run.id for run in situation.runs},
        "job": {job.id for job in situation.jobs},
        "benchmark": {bench.id for bench in situation.benchmarks},
    }
    ask = {"run": "status of run", "job": "training status of job", "benchmark": "benchmark"}
    for kind, ids in there.items():
        id = wish.arguments.get(kind)
        others = [other for other in there if other != kind and id in there[other]]
        if id is not None and id not in ids and others:
            return f" {id} is a {others[0]}, not a {kind}. Next: `{ask[others[0]]} {id}`."
    return ""


def forbidden(error: BenchgenError) -> str:
    """The words for a right that is missing; empty for any other error."""
    text = error.message
    if type(error).__name__ == "NotAllowed":
        return text
    if "403" not in text and "permission" not in text.lower():
        return ""
    return (
        f"That was refused: {text} What this message was sent with had not the right to do it. "
        "Next: send the message again; if it is refused again, this installation does not allow it."
    )


def timed_out(limit_s: float) -> tuple[str, str]:
    """(what happened, what next) where a turn's time ran out."""
    return (
        f"This turn took longer than its {limit_s / 60:g} minutes and was ended; all that was written "
        "by then is kept.",
        "ask for less in one message, or say `continue` where a benchmark is being written",
    )


def stopped() -> tuple[str, str]:
    """(what happened, what next) where the person stopped a turn."""
    return (
        "Stopped. What was done by then is kept; runs and jobs that were started go on by themselves.",
        "send the next message, or ask `status`",
    )


def offline(detail: str) -> tuple[str, str]:
    """(what happened, what next) where the model behind the agent does not answer."""
    return (
        f"The model that I ask does not answer ({detail}). Nothing was done.",
        "wait a minute and send the message again, or go on without it: benchgen chat agent=rules",
    )


def broken(error: BaseException, log: str) -> tuple[str, str]:
    """(what happened, what next) for a fault of our own."""
    return (
        f"Something broke inside ({type(error).__name__}); nothing more of this message was done. "
        f"Details: {log}",
        "send it again, or do the same with the command line: benchgen --help",
    )


def interrupted() -> tuple[str, str]:
    """(what happened, what next) where the process was ended in the middle of a turn."""
    return (
        "This turn was cut off before it ended; what it had kept by then is kept.",
        "ask `status` for what it had begun, or send the message again",
    )


# ----------------------------------------------------------------------------------- words alone


def _help(told: Mapping[str, Any]) -> str:
    return LIMITS.format(questions=told.get("per_turn", 150)) if told.get("limit") else HELP


def _clarify(told: Mapping[str, Any], situation: Situation, intent: str) -> Outcome:
    """The question for what is missing; for one model, with those that it can be as numbered choices."""
    missing = [str(m) for m in told.get("missing") or ()]
    arguments = dict(told) if intent else {}
    if missing == ["run"] and told.get("model") and told.get("benchmark"):
        model = " ".join(str(told["model"]).replace("`", "'").split())[:QUOTED_CHARS]
        bench = told["benchmark"]
        text = f"No run of {model} on benchmark {bench} is there yet. Next: `run benchmark {bench} on {model}`."
        return Outcome(text, arguments, intent=intent)
    if missing == ["continue"]:
        return Outcome(writes_on(told, situation), arguments, intent=intent)
    if missing in (["model"], ["base_model"]):
        names = _models(told, situation, trainable=missing == ["base_model"])
        if names:
            return Outcome("Which model?", arguments, intent=intent, choices=names)
    if not missing:
        text = "I need to know more to do that. Next: say it with names and ids."
    else:
        words = ", ".join(m.replace("_", " ") for m in missing)
        text = f"To do that I need: {words}. Next: say that, and I go on."
    return Outcome(text, arguments, intent=intent)


def writes_on(told: Mapping[str, Any], situation: Situation) -> str:
    """Why `continue` with more words writes nothing, what it would write alone, and how to end otherwise."""
    label = told.get("batch")
    waits = [w for w in situation.waiting if w.kind == "batch" and label in (None, w.label)]
    name = shown(waits[-1]) if waits else "it"
    written, total = told.get("written"), told.get("total")
    if not isinstance(written, int) or not isinstance(total, int):
        return f"`{CONTINUE}` on its own writes on at {name}; with more words it starts nothing."
    text = (
        f"`{CONTINUE}` on its own writes on; with more words it starts nothing, and nothing was written now. "
        f"{name}: {written} of {total} questions are written and kept, and `{CONTINUE}` writes the {total - written} "
        f"that are left, as far as one message reaches."
    )
    fewer = told.get("n") if isinstance(told.get("n"), int) else None
    if fewer is not None and written < fewer < total:
        text += f" For {fewer}: `{CONTINUE}`, and at the preview `make it {fewer} questions`."
    elif fewer is not None and fewer > total:
        text += (
            f" For {fewer}: `{CONTINUE}`, and at the preview `add {fewer - total} more questions`."
        )
    if {"difficulty", "language"} & set(told):
        text += (
            " What is written already stays as it is: say at the preview what should be different."
        )
    return f"{text} To write no more: `{written} are enough` shows what there is as a preview."


def _models(told: Mapping[str, Any], situation: Situation, *, trainable: bool) -> tuple[str, ...]:
    """Names of models that can be meant; () where they are too many to choose from."""
    candidates = told.get("model_candidates") or told.get("base_model_candidates")
    kinds = ("base", "merged", "adapter", "endpoint", "reference")
    able = [m for m in situation.models if (m.trainable or not trainable) and m.kind in kinds]
    seen = [m.name for m in sorted(able, key=lambda m: kinds.index(m.kind))]
    names = tuple(map(str, candidates or seen))
    return names if 0 < len(names) <= MOST_CHOICES else ()


def _error(told: Mapping[str, Any]) -> str:
    given = ", ".join(f"{k}: {v}" for k, v in told.items() if k != "reason")
    what = str(told.get("reason") or "it cannot be done")
    return f"Nothing was done: {what}{f' ({given})' if given else ''}. Next: say it with another value."


def _leave(told: Mapping[str, Any], situation: Situation) -> str:
    which = told.get("benchmark")
    name = f"Benchmark {which}" if which is not None else "It"
    if any(b.id == which and b.state == "published" for b in situation.benchmarks):
        return f"{name} is published already, and stays so. Next, whenever you like: `run benchmark {which} on MODEL`."
    return f"{name} stays a draft. Next, whenever you like: `publish benchmark {which or 'ID'}`."


def _too_many(told: Mapping[str, Any]) -> str:
    limit, asked = told.get("limit", MOST_QUESTIONS), told.get("n")
    return (
        f"A benchmark holds at most {limit} questions, and {asked} were asked for, so I wrote none. "
        f"Next: ask for up to {limit}, or for several benchmarks."
    )
