"""Planning a training or a merge, and how trainings stand."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules.creating import named
from benchgen.agent.rules.looking import _MODES
from benchgen.agent.rules.marks import FILE, HUB, MODEL, QUOTE, Mark
from benchgen.agent.rules.reading import NUM, Reading
from benchgen.agent.rules.records import model_seen
from benchgen.agent.rules.references import (
    a_job,
    a_run,
    benchmark_ids,
    job_ids,
    job_seen,
    meant_benchmark,
    meant_job,
    mentions_it,
    run_ids,
    run_seen,
)
from benchgen.agent.rules.settings import settings
from benchgen.agent.situation import Wish

_TRAINING_SETTINGS = frozenset(
    [
        "epochs",
        "max_steps",
        "learning_rate",
        "rank",
        "alpha",
        "batch_size",
        "num_generations",
        "max_length",
        "seed",
        "temperature",
        "beta",
        "warmup",
        "weight_decay",
        "dropout",
        "gradient_accumulation",
        "max_tokens",
        "quantize",
    ]
)


_PROGRESS = (
    r"^(?:(?:and|so|but|please|,) )*(?:is|are|was|has|have|did|when|where|WHAT|HOW|HOWMANY|DURATION|which)\b"
    r".*\b(?:TRAIN|JOB|LORA|GRPO)\b"
)
"""How a training stands, rather than one to plan."""


def plan(reading: Reading) -> Wish | None:
    """A training to plan; None if none is asked for."""
    if not _asks(reading):
        return None
    kind = job_type(reading)
    arguments: dict[str, Any] = {"job_type": kind} if kind else {}
    arguments |= _subject(reading, kind)
    arguments |= {k: v for k, v in settings(reading).items() if k in _TRAINING_SETTINGS}
    name, _ = named(reading) if reading.has(r"\bNAME\b") else ("", None)
    if name:
        arguments["name"] = name
    if missing := _missing(reading, kind, arguments):
        return Wish("clarify", {"missing": missing, "wish": "plan_training", **arguments})
    return Wish("plan_training", arguments)


def _asks(reading: Reading) -> bool:
    if re.match(r"\W*q?lora\b", reading.text, re.IGNORECASE) and reading.has(r"\bRANK\b"):
        return not reading.situation.waiting  # beside a plan it is one of its settings
    if reading.has(_PROGRESS) and not (
        reading.has(r"\bPLAN\b") or run_ids(reading) or reading.of_kind(HUB, FILE, MODEL)
    ):
        return False
    if reading.has(r"^(?:\S+ ){0,2}HOW\b") and not reading.has(r"\bPLAN\b"):
        return False
    if reading.has(r"^(?:(?:PLAN|a|you|please) )*from RUN\b"):
        return True
    if (
        reading.has(r"\bCONTINUE\b")
        and reading.has(r"\b(?:JOB|ADAPTER)\b|@model")
        and reading.has(r"@hub|@file|\b(?:STEP|EPOCH|DATASET|FAILURES|DISTILL)\b|\bRUN \d")
    ):
        return True
    if reading.has(
        r"\b(?:EVAL|RERUN)\b.*(?:BENCHMARK|@bench|\bit\b).*(?:MODEL (?:\S+ ){0,5}?(?:TRAIN|JOB)|(?:TRAIN|LORA|DISTILL) (?:\d+ )?MODEL|ADAPTER)"
    ):
        return False
    if reading.has(r"\b(?:TRAIN|LORA|GRPO)\b") and not reading.has(
        r"^(?:\S+ ){0,4}(?:STATUS|LOGS|SHOW)\b|\bLOGS\b"
    ):
        return not reading.has(r"\bSTATUS\b") or reading.has(r"\bPLAN\b|EPOCH|STEP|LR|@hub|@file")
    if reading.has(r"\bDISTILL\b") and not reading.has(r"\bSHOW\b|\bDATASET of\b|\bROW\b|\bWHAT\b"):
        return (
            bool(run_ids(reading))
            or bool(reading.of_kind(MODEL))
            or reading.has(r"\bit\b|\bRUN\b|\bPLAN\b|^(?:\S+ ){0,2}DISTILL$")
        )
    if reading.has(r"\bPLAN\b") and not reading.has(r"\bMERGE\b|\bSHOW\b|\bWHAT\b|SAME PLAN"):
        return reading.has(
            r"\bRUN\b|FAILURES|DISTILL|@hub|@file|EPOCH|STEP|@model|\d{2,}|JOB|ADAPTER|DATASET"
        )
    return False


def job_type(reading: Reading) -> str | None:
    """lora, grpo, continue or from-run; None where the words leave it open."""
    if reading.has(r"\bGRPO\b"):
        return "grpo"
    data = reading.of_kind(HUB, FILE)
    if _goes_on(reading):
        return "continue"
    if (
        run_ids(reading)
        or reading.has(
            r"\b(?:FAILURES|DISTILL)\b|from (?:a )?(?:LAST |it )*RUN|RUN (?:based )?TRAIN"
        )
        or (reading.situation.last_run is not None and reading.has(r"\bfrom it\b"))
    ) and (not data or reading.has(r"from (?:a )?(?:LAST |it )*RUN")):
        return "from-run"
    if data or reading.has(r"\bLORA\b|\bQUANT\b|\bDATASET\b"):
        return "lora"
    return None


def _goes_on(reading: Reading) -> bool:
    """Whether an adapter that is there is to be trained further."""
    if reading.has(r"\bfrom (?:a )*JOB \d"):
        return True
    if not reading.has(r"\bCONTINUE\b|\bMORE\b|\bfurther\b|\bRESUME TRAIN|\bagain\b"):
        return False
    if _made_by(reading) is not None and reading.has(r"\b(?:CONTINUE|further)\b"):
        return True
    adapters = [m for m in reading.of_kind(MODEL) if _is_adapter(reading, m)]
    return (
        bool(adapters)
        or bool(job_ids(reading))
        or reading.has(r"\bADAPTER\b|\bJOB\b|CONTINUE(?: a)? TRAIN|TRAIN it")
    )


def _made_by(reading: Reading) -> int | None:
    """The job that made the model of the run that a message names, where that is an adapter."""
    ids = run_ids(reading)
    run = run_seen(ids[0], reading.situation) if ids else None
    seen = model_seen(run.model, reading.situation) if run else None
    return seen.job if seen and seen.base else None


def _made_last(reading: Reading) -> int | None:
    """The job that made the model of the last run, where `it` can only mean that adapter."""
    run = run_seen(reading.situation.last_run, reading.situation)
    seen = model_seen(run.model, reading.situation) if run and mentions_it(reading) else None
    return seen.job if seen and seen.base and not reading.of_kind(MODEL) else None


def _is_adapter(reading: Reading, mark: Mark) -> bool:
    seen = model_seen(str(mark.value), reading.situation)
    return bool(seen and seen.kind == "adapter")


def _subject(reading: Reading, kind: str | None) -> dict[str, Any]:
    """What is trained on what."""
    found = {"from-run": _of_runs, "continue": _of_job, "grpo": _of_benchmark}.get(
        kind or "", lambda _: {}
    )(reading)
    if dataset := _dataset(reading):
        found["dataset"] = dataset
    if kind != "continue":
        found |= base_model(reading)
    if kind == "from-run":
        found |= _student(reading, found)
    return {name: value for name, value in found.items() if value != ""}


def _of_runs(reading: Reading) -> dict[str, Any]:
    """The runs whose rows are trained on, and which of their rows."""
    ids = run_ids(reading)
    run = ids[0] if ids else _run_of_first(reading)
    found: dict[str, Any] = {} if run is None else {"run": run}
    if len(ids) > 1:
        found["runs"] = ids
    return {**found, "mode": _mode(reading)}


def _of_job(reading: Reading) -> dict[str, Any]:
    """The job whose adapter is trained further: named, else the one that made the model of the run named."""
    ids, made = run_ids(reading), _made_by(reading)
    if made is None and not ids and reading.situation.last_job is None:
        made = _made_last(reading)
    job = made if made is not None and not job_ids(reading) else a_job(reading)
    found: dict[str, Any] = {} if job is None else {"job": job}
    return {**found, "run": ids[0], "mode": _mode(reading)} if ids else found


def _of_benchmark(reading: Reading) -> dict[str, Any]:
    """The benchmark whose questions are the prompts."""
    ids = benchmark_ids(reading)
    benchmark = ids[0] if len(ids) == 1 else None if ids else _of_run(reading)
    return {} if benchmark is None else {"benchmark": benchmark}


def _student(reading: Reading, found: dict[str, Any]) -> dict[str, Any]:
    """A teacher is not its own student; `the base` is the one that the run's adapter stands on."""
    run = run_seen(found.get("run"), reading.situation)
    seen = model_seen(run.model, reading.situation) if run else None
    if seen and seen.base and reading.has(r"\bBASE\b") and not reading.of_kind(MODEL):
        return {"base_model": seen.base}
    teaches = found.get("mode") == "distill" and not run_ids(reading)
    if (
        run
        and teaches
        and found.get("base_model") == run.model
        and not reading.has(r"BASE|\binto\b|\bit\b")
    ):
        return {"base_model": ""}
    return {}


def _run_of_first(reading: Reading) -> int | None:
    """The latest run of the model named first, the one that taught or failed; else the run spoken of."""
    marks = reading.of_kind(MODEL)
    marks = [_teacher(reading) or marks[0]] if marks else []
    fits = [r.id for r in reading.situation.runs if marks and r.model in marks[0].all]
    return max(fits) if fits else a_run(reading)


def _teacher(reading: Reading) -> Mark | None:
    """The model whose answers are learnt from, where another one is named too: the right answers of X."""
    found = reading.find(
        r"\b(?:FAILURES|DISTILL|ANSWER|RUN)(?: (?!@|into\b)\S+){0,2}? (?:of|from|by)(?: a)* (@model\d+)"
    )
    several = len({mark.value for mark in reading.of_kind(MODEL)}) > 1
    return reading.marks[found[1]] if found and several else None


def _of_run(reading: Reading) -> int | None:
    """The benchmark of the run named, else the one talked about."""
    runs = run_ids(reading)
    run = run_seen(runs[0], reading.situation) if runs else None
    return run.benchmark if run else meant_benchmark(reading.situation)


def _mode(reading: Reading) -> str:
    """failures unless another is said; a mode that does not exist stays as typed."""
    if match := reading.find(r"MODE (?:(?:is|=|:|of|a) )*(@quote\d+|[^\s,.;:?!@]+)"):
        for concept, mode in _MODES:
            if concept in match[1]:
                return mode
        return reading.group(match).strip("\"'“”")
    return next(
        (mode for concept, mode in _MODES[:2] if reading.has(rf"\b{concept}\b")), "failures"
    )


def _dataset(reading: Reading) -> str:
    """The training data: a hub id or file."""
    files = reading.of_kind(FILE)
    if files:
        return str(files[0].value)
    hubs = [m for m in reading.of_kind(HUB) if not _model_place(reading, m)]
    if hubs:
        return str(hubs[0].value)
    if match := reading.find(r"DATASET (?:(?:NAME|of|:|=|from|a|on) )*(@quote\d+)"):
        return str(reading.marks[match[1]].value)
    if match := reading.find(r"(?:on|with) (?:a )*((?!@)[^\s,.;:]{4,})"):
        typed = reading.group(match).strip().casefold()
        known = [name for name in reading.situation.datasets if typed in name.casefold()]
        if len(known) == 1:
            return known[0]
    match = reading.find(
        r"(?:on|with|with the|using) (?:a )*(?:DATASET )((?!@|of\b|with\b|RUN|it\b|for\b)[^\s,.;:]+(?: (?!with|,|for|and|\d)[^\s,.;:]+){0,2})"
    ) or reading.find(
        r"\bon (?:a )*((?!@|a\b|it\b|SAME|RUN|BENCHMARK|FAILURES|DISTILL)[^\s,.;:]+(?: (?!with|,|for|and|\d)[^\s,.;:]+){0,2}) DATASET"
    )
    return reading.group(match).strip() if match else ""


def _model_place(reading: Reading, mark: Mark) -> bool:
    """Whether an unknown hub id stands where a base model does: `of X on Y`, `base model X`."""
    place = next((g for g, m in reading.marks.items() if m is mark), "")
    before = reading.plain[: reading.plain.find(place)][-40:]
    if re.search(
        r"DATASET(?: (?:of|:|=|NAME|a))* $|\bon (?:a )*(?:DATASET )?$|\bwith DATASET $", before
    ):
        return False
    if re.search(
        r"(?:BASE|MODEL|LORA|TRAIN|GRPO|QUANT)(?: (?:of|on|:|=|a|is|to|for|model|with|it))* $",
        before,
    ):
        return not (reading.of_kind(MODEL) and re.search(r"\bon\b", before[-6:]))
    return (
        len(list(reading.of_kind(HUB))) > 1
        and not reading.of_kind(MODEL)
        and re.search(r"\bof (?:a )?$", before) is not None
    )


def base_model(reading: Reading) -> dict[str, Any]:
    """{base_model}, {base_model_candidates}, or nothing; a name that no list holds as it was typed."""
    marks = reading.of_kind(MODEL)
    place = reading.find(
        r"BASE (?:(?:MODEL|of|is|:|=|a|should|be|into|to|student) )*(@(?:model|hub)\d+)"
    ) or reading.find(r"into (?:a )*(?:\S+ )?(@(?:model|hub)\d+)")
    if place:
        marks = [reading.marks[place[1]], *marks]
    elif not run_ids(reading) and (teacher := _teacher(reading)) is not None:
        marks = [mark for mark in marks if mark.value != teacher.value]
    elif reading.has(r"\bDISTILL (?:a )*@model") and not run_ids(reading):
        marks = marks[1:]
    quoted = reading.find(r"(?:LORA|TRAIN|GRPO|BASE)(?: (?:of|for|to|a|on|:|=|is))* (@quote\d+)")
    if not marks and quoted:
        return {"base_model": reading.marks[quoted[1]].value}
    if marks:
        mark = marks[0]
        return (
            {"base_model_candidates": list(mark.all)} if mark.others else {"base_model": mark.value}
        )
    for mark in reading.of_kind(HUB):
        if _model_place(reading, mark):
            return {"base_model": mark.value}
    for pattern in (
        r"BASE (?:(?:MODEL|of|is|:|=|a|should|be|into) )*((?!@|,|and\b|with\b|on\b|SAME)[^\s,;:]+(?: (?!on\b|with\b|and\b|,|for\b|\d+ (?:STEP|EPOCH))[^\s,;:]+){0,3})",
        r"(?:LORA|TRAIN|GRPO)(?: (?:of|for|to|a|on))+ ((?!@|it\b|SAME|DATASET|RUN|ADAPTER|BENCHMARK|FAILURES|DISTILL|MODEL|JOB|a\b|ALL)[^\s,.;:]+(?: (?!on\b|with\b|and\b|,|for\b|from\b)[^\s,;:]+){0,3}) (?:on|with|for|using)\b",
        r"(?:LORA|TRAIN) ((?!@|it\b|BASE|SAME|DATASET|RUN|ADAPTER|BENCHMARK|of\b|on\b|from\b|for\b|with\b|a\b|MODEL|STATUS|JOB|LORA|TRAIN)[^\s,.;:]+(?: (?!on\b|with\b|and\b|,|for\b|from\b)[^\s,;:]+){0,3}) (?:on|with)\b",
    ):
        match = reading.find(pattern)
        typed = reading.group(match).strip(" .,'\"") if match else ""
        if (
            len(typed) > 2
            and re.search(r"[a-z]", typed, re.IGNORECASE)
            and not re.search(
                r"^(?:it|this|that|model|fine|tune|tuning|something|anything|some|any|one|another)\b",
                typed,
                re.IGNORECASE,
            )
        ):
            return {"base_model": typed}
    return {}


def _missing(reading: Reading, kind: str | None, arguments: dict[str, Any]) -> list[str]:
    """What a plan cannot do without and the message does not say."""
    has_base = "base_model" in arguments
    if kind == "from-run":
        missing = [] if "run" in arguments else ["run"]
        return missing + ([] if has_base or not _needs_base(reading, arguments) else ["base_model"])
    if kind == "continue":
        return [
            name
            for name in ("job", "dataset")
            if name not in arguments and not (name == "dataset" and run_ids(reading))
        ]
    wanted = ("base_model", "benchmark") if kind == "grpo" else ("base_model", "dataset")
    return [name for name in wanted if name not in arguments]


def _needs_base(reading: Reading, arguments: dict[str, Any]) -> bool:
    """Whether the run does not say which model to train: its model has no weights here, or is a teacher."""
    if "base_model_candidates" in arguments:
        return True
    run = run_seen(arguments.get("run"), reading.situation)
    if run is None or (
        arguments["mode"] == "failures" and run.state == "finished" and not run.wrong
    ):
        return False
    seen = model_seen(run.model, reading.situation)
    if (
        seen is not None and seen.base
    ):  # an adapter: its base learns from its mistakes, but it may teach any
        return bool(arguments["mode"] == "distill")
    return seen is not None and not seen.trainable


# --------------------------------------------------------------------------------------- merge


def merge(reading: Reading) -> Wish | None:
    """An adapter to merge into its base; None if none is."""
    if not reading.has(r"\bMERGE\b") or reading.has(r"\bEVAL\b.*MERGE MODEL|MERGE MODEL.*\bEVAL\b"):
        return None
    name, _ = named(reading)
    if not name:
        quotes = reading.of_kind(QUOTE)
        name = str(quotes[-1].value) if quotes else _as_name(reading)
    job = _adapter_job(reading, name)
    arguments: dict[str, Any] = {}
    if job is not None:
        arguments["job"] = job
        seen = job_seen(job, reading.situation)
        if seen:
            arguments["base_model"] = seen.base_model
    elif adapters := [m for m in reading.of_kind(MODEL) if m.value != name]:
        arguments["model"] = adapters[0].value
    if name:
        arguments["name"] = name
    missing = [] if {"job", "model"} & set(arguments) else ["job"]
    missing += [] if name else ["name"]
    if missing:
        return Wish("clarify", {"missing": missing, "wish": "plan_merge", **arguments})
    return Wish("plan_merge", arguments)


def _adapter_job(reading: Reading, name: str) -> int | None:
    """The job whose adapter is meant: named, made by the model named, the last one, or the only one with a model."""
    state = reading.situation
    if ids := job_ids(reading):
        return ids[0]
    for mark in reading.of_kind(MODEL):
        made = [job.id for job in state.jobs if job.model and job.model in mark.all]
        if made and mark.value != name:
            return made[-1]
    if reading.of_kind(MODEL) and any(m.value != name for m in reading.of_kind(MODEL)):
        return None
    if state.last_job is not None:
        return state.last_job
    with_model = [job.id for job in state.jobs if job.model]
    return with_model[0] if len(with_model) == 1 else None


def _as_name(reading: Reading) -> str:
    """The name after `as` or `into`: publish it as my-model."""
    written = reading.written(0, len(reading.plain))
    names = re.findall(
        r"(?:\bas|\binto|\bto|\bals|\bcomo|\bcomme|\bcome|\bname[dsn]?|\bcalled|为|成)\s*[:=]?\s+?([\w./-]*\w)",
        written,
        re.IGNORECASE,
    )
    plain = (
        "a",
        "an",
        "the",
        "it",
        "one",
        "its",
        "base",
        "model",
        "standalone",
        "full",
        "new",
        "catalogue",
        "that",
        "be",
    )
    return next((name for name in reversed(names) if name.lower() not in plain), "")


# ---------------------------------------------------------------------------- status and logs


def logs(reading: Reading) -> Wish | None:
    """The log of a job; None if none is asked for."""
    named = bool(job_ids(reading))
    failed = reading.has(
        r"\b(?:WHY|WHAT)\b.*\b(?:FAIL|failed|FAILURES|STOP|stopped|wrong|happened)\b|\bFAIL\b"
    )
    rows = reading.has(r"^(?:(?!WHY|WHAT)\S+ )*TRAIN\b.*\b(?:on|from|with) WHAT\b")
    why = failed and not rows and (named or reading.has(r"\bTRAIN\b|\bJOB\b"))
    why = why or (named and reading.has(r"\bWHY\b") and not reading.has(r"\bLOW\b"))
    if not (reading.has(r"\bLOGS\b") or why):
        return None
    if run_ids(reading) and not job_ids(reading):
        return None
    job = a_job(reading)
    broken = [j.id for j in reading.situation.jobs if j.state == "failed"]
    if why and not named and len(broken) == 1 and reading.situation.last_job is None:
        job = broken[0]
    arguments: dict[str, Any] = {"job": job} if job is not None else {}
    if match := reading.find(rf"{NUM}(?: \S+)? (?:LINE|ROW|LOGS)\b|(?:LAST|ORD1|LIMIT) {NUM}"):
        number = float(match[1] or match[2])
        if number.is_integer() and int(number) != job:
            arguments["lines"] = int(number)
    return Wish("training_logs", arguments)


def status(reading: Reading) -> Wish | None:
    """How a training stands; None if that is not asked."""
    asks = reading.has(_PROGRESS) or reading.has(
        r"\b(?:STATUS|HOW|WHY|HOWMANY|SCORE|loss|STEP|DURATION|SOFAR|WRITTEN)\b|\b(?:over|through|complete|worked|work|ended|end|running|going|when)\b"
    )
    subject = job_ids(reading) or reading.has(r"\bTRAIN\b|\bJOB\b|\bLORA\b|\bGRPO\b|\bloss\b")
    bare = reading.has(r"^(?:SHOW |a |please )*JOB (?:# )?\d+(?: (?:please|[.?!]))*$")
    alone = (
        asks and not run_ids(reading) and not reading.has(r"RUN|BENCHMARK|@") and _only_job(reading)
    )
    if not ((asks and subject) or bare or alone) or (run_ids(reading) and not job_ids(reading)):
        return None
    job = a_job(reading) if not reading.has(r"\bALL\b") or job_ids(reading) else None
    return Wish("training_status", {"job": job} if job is not None else {})


def _only_job(reading: Reading) -> bool:
    """Whether a job is what was talked about last, and no run is."""
    state = reading.situation
    return (
        state.last_run is None
        and meant_job(state) is not None
        and (state.last_job is not None or bool(state.submitted))
        and (reading.has(r"STATUS|DURATION") or mentions_it(reading))
    )
