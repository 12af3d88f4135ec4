"""Publishing, running a benchmark on models, going on with a run, and how a run stands."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules.marks import BENCH, FILE, HUB, MODEL, QUOTE, Mark
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.records import model_seen
from benchgen.agent.rules.references import (
    a_job,
    a_run,
    benchmark_ids,
    job_ids,
    made_model,
    meant_benchmark,
    mentions_it,
    model_arguments,
    other_benchmarks,
    run_ids,
    run_seen,
    runs_of_models,
)
from benchgen.agent.rules.settings import run_settings
from benchgen.agent.situation import Wish

_SLOT_END = r"(?= ?(?:[,.;:?!\n]|$)| (?:on|with|and|then|please|of|in|LIMIT|TEMPERATURE|SEED|you|it|@)(?: |$))"
_NOT_MODELS = frozenset(
    [
        "it",
        "this",
        "that",
        "a",
        "the",
        "them",
        "model",
        "result",
        "results",
        "outcome",
        "output",
        "benchmark",
        "first",
        "again",
        "now",
        "all",
        "both",
        "every",
        "each",
    ]
)


def publish(reading: Reading) -> Wish | None:
    """A benchmark to publish, with a run after it where one is asked for."""
    if not reading.has(r"\bPUBLISH\b") or reading.has(r"not (?:\S+ ){0,2}?PUBLISH"):
        return None
    arguments = _benchmark(reading)
    if reading.has(r"\bEVAL\b|\bRUN\b") or (reading.of_kind(MODEL) and reading.has("then|and")):
        wish = _ask(reading, "publish_and_run", {**arguments, **_models(reading)})
        return _with_settings(wish, reading)
    if reading.of_kind(MODEL) and not reading.of_kind(BENCH):
        return Wish(
            "explain", {"topic": "publishing a model", **model_arguments(reading.of_kind(MODEL))}
        )
    wish = _ask(reading, "publish", arguments)
    return _with_others(wish, other_benchmarks(reading, arguments.get("benchmark")))


def _benchmark(reading: Reading) -> dict[str, Any]:
    """{benchmark}, or {benchmark_candidates} where a name fits several, or nothing."""
    ids = benchmark_ids(reading)
    if len(ids) == 1:
        return {"benchmark": ids[0]}
    if ids:
        return {"benchmark_candidates": list(ids)}
    if (run := next((r for r in map(_seen(reading), run_ids(reading)) if r), None)) is not None:
        return {"benchmark": run.benchmark}
    if _says_which(reading) and (meant := meant_benchmark(reading.situation)) is not None:
        return {"benchmark": meant}
    return {}


def _seen(reading: Reading) -> Any:
    return lambda id: run_seen(id, reading.situation)


def _says_which(reading: Reading) -> bool:
    """Whether `it`, `the same benchmark` or nothing at all points at the one talked about."""
    return not reading.has(r"\b(?:which|any|some) BENCHMARK")


def _models(reading: Reading) -> dict[str, Any]:
    """{model}, {model_candidates} or {models}, as far as the message names any."""
    marks = _distinct(reading.of_kind(MODEL))
    if len(marks) > 1:
        return {"models": [mark.value for mark in marks]}
    if marks:
        return model_arguments(marks)
    if (made := made_model(reading)) is not None:
        return {"model": made}
    if reading.has(r"(?:SAME|old|previous|PREVIOUS) MODEL"):
        run = run_seen(reading.situation.last_run, reading.situation)
        return {"model": run.model} if run else {}
    if hubs := reading.of_kind(HUB):
        return {"model": hubs[0].value}
    if reading.has(r"\bBASE\b") and (base := _base_of_last(reading)):
        return {"model": base}
    return _as_typed(reading)


def _base_of_last(reading: Reading) -> str:
    """The base of the last run's model, where that is an adapter."""
    run = run_seen(reading.situation.last_run, reading.situation)
    seen = model_seen(run.model, reading.situation) if run else None
    return seen.base if seen else ""


def _distinct(marks: list[Mark]) -> list[Mark]:
    seen: dict[Any, Mark] = {}
    for mark in marks:
        seen.setdefault((mark.value, mark.others), mark)
    return list(seen.values())


def _as_typed(reading: Reading) -> dict[str, Any]:
    """The name of a model that no list holds, as it was typed."""
    for pattern in (
        r"(?:\bEVAL|\bRERUN|\bMODEL) ((?:(?!on\b|with\b|a\b|it\b|BENCHMARK|RUN|@|and\b|then\b)\S+ ){1,5})(?:on|with|of)\b",
        rf"\bEVAL\b.*?(?:@bench\d+|BENCHMARK(?: \d+)?|it|\d+) (?:on|with|of|to)(?: (?:a|MODEL|it))* ((?!@|\d+ QUESTION|LIMIT|TEMPERATURE)\S+(?: (?!on\b|with\b|and\b|then\b|please\b|,)\S+){{0,5}}?){_SLOT_END}",
        rf"\bEVAL (?:it|BENCHMARK)?(?: ?(?:on|with))(?: (?:a|MODEL))* ((?!@|LIMIT|it\b|SAME|BENCHMARK)\S+(?: (?!on\b|with\b|and\b|then\b|please\b|,)\S+){{0,5}}?){_SLOT_END}",
    ):
        if match := reading.find(pattern):
            typed = reading.group(match).strip(" \"'.,;:!?")
            if _can_be_model(typed):
                return {"model": typed}
    for mark in reading.of_kind(QUOTE):
        if reading.has(r"\bEVAL\b") and not reading.has(r"NAME @quote"):
            return {"model": mark.value}
    return {}


def _can_be_model(typed: str) -> bool:
    return (
        len(typed) > 2
        and typed.casefold() not in _NOT_MODELS
        and bool(re.search(r"[a-z]", typed, re.IGNORECASE))
        and bool(re.search(r"[\d/-]", typed) or len(typed.split()) < 3)
        and not re.search(
            r"\b(?:benchmark|quiz|test|question|model|again|everything|it)s?\b",
            typed,
            re.IGNORECASE,
        )
    )


def run(reading: Reading) -> Wish | None:
    """A benchmark to run on one model or several; None if no run is asked for."""
    noun_too = (
        reading.language in ("zh", "ja")
        and reading.has(r"\bRUN\b(?! \d)")
        and reading.has("@model")
    )
    wanted = reading.has(r"\bEVAL\b|\bRERUN\b") or (noun_too and bool(benchmark_ids(reading)))
    again = reading.has(
        r"\bRERUN\b|\bEVAL\b.*\bagain\b|again.*\bEVAL\b|\bRUN (?:# )?\d+ again|once more|one more time|^(?:(?:and|now|then|you|a) )*SAME (?:\S+ )?again\b"
    )
    implied = reading.has(
        r"(?:HOW|WHAT about|WHAT ABOUT).*@model|@model.*\b(?:on|with)\b.*@bench|@bench\d+ (?:on|with) (?:a )?@model|COMPARE.*@model.*@bench|(?:IMPORT|let|TRAIN|take|takes|answer|ANSWER|WANT).*@model.*@bench"
    ) and bool(reading.of_kind(MODEL))
    if not (wanted or again or implied) or reading.has(r"not (?:\S+ )?EVAL"):
        return None
    if reading.of_kind(FILE):
        return None
    if _looks_back(reading, wanted or again):
        return None
    if again and reading.has(r"\bFRESH\b") and (anew := _on_new_questions(reading)) is not None:
        return anew
    arguments = _benchmark(reading)
    others = other_benchmarks(reading, arguments.get("benchmark"))
    models = _models(reading)
    several = reading.has(
        r"\b(?:ALL|both|each|every|2|3|4)\b(?: \S+){0,3}? MODEL\b|\b(?:ALL|both) (?:\d |of |a )*@model"
    )
    if several and "model_candidates" in models:
        models = {"models": models["model_candidates"]}
    if again and not models:
        run = run_seen(a_run(reading), reading.situation)
        if run:
            arguments, models = {"benchmark": run.benchmark}, {"model": run.model}
    if not (arguments or models or wanted):
        return None
    wish = _with_settings(_run_wish(reading, arguments, models), reading)
    return _with_others(wish, others)


def _looks_back(reading: Reading, wanted: bool) -> bool:
    """Whether the message asks what was run or scored: such a question begins no run."""
    if reading.has(
        r"^(?:(?:and|so|but|,) )*(?:did|has|have|was|were|is|are|does|WHY|when|HOWMANY)\b"
    ):
        return True
    if wanted:
        return False
    if reading.has(r"\bHOW\b") and runs_of_models(reading):
        return True
    return reading.has(r"^(?:(?:and|so|but|,) )*(?:WHAT|which)\b") and not reading.has(
        r"^(?:\S+ )?(?:WHAT|HOW) (?:about|ABOUT)\b"
    )


def _on_new_questions(reading: Reading) -> Wish | None:
    """A benchmark of new questions first, where a run is to be done again on some; None without one to follow."""
    parent = meant_benchmark(reading.situation)
    seen = next((b for b in reading.situation.benchmarks if b.id == parent), None)
    if seen is None:
        return None
    told = {"based_on": seen.id, "no_overlap_with": seen.id, "kind": seen.kind, "n": seen.questions}
    then = Wish("run_benchmark", _models(reading))
    given = {**told, "language": seen.language, "later": ["run_benchmark"]}
    return Wish("create_benchmark", given, (then,))


def _with_others(wish: Wish, others: list[int]) -> Wish:
    """The wish with its runs of further benchmarks to be asked for after it."""
    if not others or wish.intent == "clarify":
        return wish
    kept = {k: v for k, v in wish.arguments.items() if k != "report"}
    later = tuple(Wish(wish.intent, {**kept, "benchmark": other}) for other in others)
    told = {**wish.arguments, "later": [wish.intent] * len(later)}
    return Wish(wish.intent, told, (*later, *wish.later))


def _run_wish(reading: Reading, arguments: dict[str, Any], models: dict[str, Any]) -> Wish:
    if "models" in models:
        return _ask(reading, "multi_run", {**arguments, **models})
    if not models and arguments and reading.has(r"(?:ALL|both|every|each) (?:\S+ )?MODEL"):
        arguments["models"] = [m.name for m in reading.situation.models]
        return _ask(reading, "multi_run", arguments)
    named = benchmark_ids(reading)
    if not models and not named and not mentions_it(reading) and not reading.has(r"SAME|@model"):
        arguments = arguments if reading.situation.last_benchmark is not None else {}
    return _ask(reading, "run_benchmark", {**arguments, **models})


def _with_settings(wish: Wish, reading: Reading) -> Wish:
    """The wish with the run's settings, and with what the reply tells of each run."""
    given: dict[str, Any] = dict(run_settings(reading))
    if wish.intent != "clarify":
        given["report"] = ["run id", "link"]
    return Wish(wish.intent, {**wish.arguments, **given}, wish.later)


def _ask(reading: Reading, intent: str, arguments: dict[str, Any]) -> Wish:
    """The wish, or the question for what it lacks."""
    missing = []
    if "benchmark" not in arguments:
        missing.append("benchmark")
    if intent in ("run_benchmark", "publish_and_run", "multi_run") and not (
        {"model", "model_candidates", "models"} & set(arguments)
    ):
        missing.append("model")
    if missing:
        return Wish("clarify", {"missing": missing, "wish": intent, **arguments})
    return Wish(intent, arguments)


# ---------------------------------------------------------------------------- status and resume


def resume(reading: Reading) -> Wish | None:
    """A run or job to go on with from where it stopped."""
    if not reading.has(r"\bRESUME\b|\bCONTINUE\b"):
        return None
    if (
        reading.has(
            r"\bTRAIN\b|\bLORA\b|\bGRPO\b|\bADAPTER\b|DATASET|@hub|@file|\bSTEP\b|\bEPOCH\b"
        )
        and not run_ids(reading)
        and not (
            reading.has(r"\bRESUME\b")
            and reading.has(r"\bTRAIN\b|\bJOB\b")
            and not reading.has(r"@hub|@file|DATASET|ADAPTER")
        )
    ):
        return None
    if reading.has(r"^(?:(?:and|so|but|,) )*(?:HOWMANY|DURATION|WHAT|is|are|did|does|will|when)\b"):
        return None
    trains = r"\b(?:TRAIN|LORA|GRPO|ADAPTER|JOB|FAILURES|DISTILL)\b"
    if run_ids(reading) and not reading.has(r"\bRESUME\b") and reading.has(trains):
        return None
    if reading.has(r"\bWHY\b|\bHOW\b|CONTINUE (?:a )*(?:ADAPTER|TRAIN)"):
        return None
    if not run_ids(reading) and (job_ids(reading) or reading.has(r"\bJOB\b|\bTRAIN\b")):
        return _resumed_job(reading)
    run = a_run(reading)
    if run is None:
        failed = [r.id for r in reading.situation.runs if r.state == "failed"]
        run = (
            failed[0] if len(failed) == 1 and reading.has(r"RUN|failed|FAIL|one|FAILURES") else None
        )
    if run is None:
        if not reading.has(r"\bRESUME\b|RUN"):
            return None
        return Wish("clarify", {"missing": ["run"], "wish": "resume_run"})
    return Wish("resume_run", {"run": run})


def _resumed_job(reading: Reading) -> Wish:
    job = a_job(reading)
    if job is None:
        return Wish("clarify", {"missing": ["job"], "wish": "resume_run"})
    return Wish("resume_run", {"job": job})


def status(reading: Reading) -> Wish | None:
    """How a run stands or what it scored; None if that is not asked."""
    ids = run_ids(reading)
    if not ids and reading.has(
        r"^(?:WHAT|is|are|which|anything)\b(?: (?:is|are|a|RUN|s|JOB|anything|something|MODEL|BENCHMARK|still))* running\b"
    ):
        return Wish("run_status", {})
    if not ids and reading.has(r"\bHOWMANY\b.*\b(?:WRITTEN|SOFAR)\b"):
        return Wish("run_status", {})
    asks = reading.has(r"\b(?:STATUS|SCORE|HOW|LINK|DURATION|SOFAR|HOWMANY|TROUBLE)\b") or (
        bool(ids)
        and reading.has(
            r"^(?:is|are|was|has|have|did|does|WHAT|WHY|HOW|which|when|where|who)\b|\? ?$"
        )
    )
    asks = asks or (bool(reading.of_kind(MODEL)) and reading.has(r"\bdid\b|\bgets?\b|\bgot\b"))
    failed = reading.has(
        r"\b(?:WHY|WHAT)\b.*\b(?:FAIL|failed|FAILURES|happened|stopped|STOP)\b|\bFAIL\b"
    ) and (ids or reading.has(r"\bRUN\b|\bit\b"))
    about_it = reading.situation.last_run is not None and reading.has(r"\bLINK\b|^SHOW it$")
    bare = about_it or (bool(ids) and _only_names(reading))
    about_last = reading.situation.last_run is not None and reading.has(r"\bDURATION\b")
    about = (
        bool(ids)
        or about_last
        or reading.has(
            r"\bRUN\b|\bit\b|LAST|@bench|BENCHMARK|@model|^(?:\S+ ){0,4}(?:STATUS|SCORE)"
        )
    )
    if not (bare or failed or (asks and about)):
        return None
    if (
        not ids
        and reading.of_kind(MODEL)
        and benchmark_ids(reading)
        and not runs_of_models(reading)
    ):
        asked = {**_benchmark(reading), **model_arguments(reading.of_kind(MODEL))}
        return Wish("clarify", {"missing": ["run"], "wish": "run_status", **asked})
    run = a_run(reading)
    made = made_model(reading) if not ids else None
    if of_made := [r.id for r in reading.situation.runs if r.model == made]:
        return Wish("run_status", {"run": max(of_made)})
    if not ids and reading.of_kind(MODEL) and (of_model := runs_of_models(reading)):
        return Wish("run_status", {"run": of_model[-1]})
    if not ids and reading.has(r"\bALL\b|everything|\bRUN s\b"):
        run = None
    if not ids and reading.of_kind(BENCH):
        fits = [
            r.id for r in reading.situation.runs if r.benchmark in reading.of_kind(BENCH)[0].all
        ]
        run = max(fits) if fits and run not in fits else run
    return Wish("run_status", {"run": run} if run is not None else {})


def _only_names(reading: Reading) -> bool:
    """Whether the message is a run's id and little else: `run 1081`, `#1081?`, `show me run 1081`."""
    rest = re.sub(
        r"\d+|#|RUN|EVAL|SHOW|OPEN|a|please|you|me|my|now|[.,?!:]|id|of|LINK|open|about|WHAT|EXPLAIN",
        " ",
        reading.plain,
    )
    return not rest.split()
