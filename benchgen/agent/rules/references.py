"""Which records a message means: by id, by name, or as `it`, `the last run`, `the failed one`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from benchgen.agent.rules.marks import BENCH, MODEL, QUOTE, Mark
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.records import benchmarks_like
from benchgen.agent.situation import JobSeen, RunSeen, Situation
from benchgen.types import UNDER_WAY

_ID = r"(?:(?:id|number|no|nr|num|of|a|#|:|\.|=|s|和) )*"
_MORE = r"(?: (?:(?:,|and|or|with|on|COMPARE|into|-|–|/|then|to|you|of|#|RUN|it) )+(\d+))"
_IT = r"(?<!\S)(?:it|this|that)(?!\S)"
_UNITS = r" ?(?:\S+ ){0,1}?(?:QUESTION|ROW|STEP|EPOCH|OPTION|LINE|TOKEN|GENERATIONS|FRESH|%|MORE)\b"

_LONGEST_NUMBER = 3
"""Digits of the number of a question."""
_NAMED = (
    r"(?:BENCHMARK|JOB|QUESTION|LIMIT|ROW|SEED|STEP|EPOCH|LENGTH|TOKEN|RANK|ALPHA|BATCH|GENERATIONS|TEMPERATURE|"
    r"DECAY|DROPOUT|ACCUMULATION|BETA|WARMUP|LR|REPEATS|TOP)(?: (?:of|is|to|=|:|#|at|size|most|LIMIT))*"
)
"""Words before a number that make it their own: `batch size 2` is no run 2."""


def run_seen(id: int | None, situation: Situation) -> RunSeen | None:
    """The run with this id, if it is known."""
    return next((run for run in situation.runs if run.id == id), None)


def job_seen(id: int | None, situation: Situation) -> JobSeen | None:
    """The job with this id, if it is known."""
    return next((job for job in situation.jobs if job.id == id), None)


# ---------------------------------------------------------------------------------------- runs


def run_ids(reading: Reading) -> list[int]:
    """Ids of the runs that a message names by number, in its order, once each."""
    found: list[tuple[int, int]] = []
    known = {run.id for run in reading.situation.runs}
    side_by_side = reading.has(r"\bCOMPARE\b")
    for match in reading.all(rf"\bRUN {_ID}(\d+)(?!\.\d)(?:{_MORE}){{0,40}}"):
        between = [(match.start(1), int(match[1]))]
        rest = reading.plain[match.end(1) : match.end()]
        for more in re.finditer(r"\d+", rest):
            at = match.end(1) + more.start()
            counts = re.match(_UNITS, reading.plain[at + len(more[0]) :])
            if not counts and (int(more[0]) in known or _like_ids(int(more[0]), known)):
                between.append((at, int(more[0])))
        found += between
    for match in reading.all(r"(?<![\w.@])(\d+)(?![\w.@])"):
        alike = int(match[1]) in known or (side_by_side and _like_ids(int(match[1]), known))
        if alike and not _counted(reading, match):
            found.append((match.start(1), int(match[1])))
    for match in reading.all(r"# (\d+)"):
        if not _job_like(reading, int(match[1])) and not _benchmark_like(reading, match):
            found.append((match.start(1), int(match[1])))
    return list(dict.fromkeys(number for _, number in sorted(found)))


def _like_ids(number: int, known: Iterable[int]) -> bool:
    """Whether a number that no run has could be meant as a run's: as many digits as theirs."""
    return len(str(number)) in {len(str(id)) for id in known}


def _counted(reading: Reading, match: re.Match[str]) -> bool:
    """Whether the number counts things rather than names one."""
    before = reading.plain[max(0, match.start() - 32) : match.start()]
    if re.search(r"\bQUESTION $", before) and len(match[1]) > _LONGEST_NUMBER:
        return False  # `the questions 1084 answered`
    if re.search(r"(?:\d|ALL|LAST|ORD\d) (?:ROW|QUESTION|LINE) (?:of|from|in) (?:a )?$", before):
        return False  # `5 rows of 1080`: the rows are counted already
    return bool(
        re.match(_UNITS, reading.plain[match.end() :]) or re.search(rf"\b(?:{_NAMED}) $", before)
    )


def _job_like(reading: Reading, number: int) -> bool:
    return job_seen(number, reading.situation) is not None and reading.has(
        r"\bJOB\b|\bTRAIN\b|\bLOGS\b|\bMERGE\b|\bADAPTER\b"
    )


def _benchmark_like(reading: Reading, match: re.Match[str]) -> bool:
    before = reading.plain[max(0, match.start() - 24) : match.start()]
    is_benchmark = any(b.id == int(match[1]) for b in reading.situation.benchmarks)
    is_run = run_seen(int(match[1]), reading.situation) is not None
    return bool(re.search(r"(?:BENCHMARK|JOB|QUESTION|DRAFT|SEED) ?$", before)) or (
        is_benchmark and not is_run
    )


def a_run(reading: Reading) -> int | None:
    """The one run that a message is about, also as `it`, `the last run` or by its model; None if none is meant."""
    ids = run_ids(reading)
    if ids:
        return ids[0]
    state = reading.situation
    if found := _by_state(reading, state.runs):
        return found
    if reading.has(r"LAST (?:\S+ ){0,2}?(?:RUN|one)\b") and state.last_run is None and state.runs:
        return max(run.id for run in state.runs)
    if by_model := runs_of_models(reading):
        return by_model[-1]
    return state.last_run


def _by_state(reading: Reading, runs: Sequence[RunSeen]) -> int | None:
    """The one run that failed or is under way, where the message says so."""
    for words, states in (
        (r"(?:failed|FAIL|broken|crashed) (?:RUN|one)\b", ("failed",)),
        (r"running (?:RUN|one)\b", UNDER_WAY),
    ):
        if reading.has(words):
            found = [run.id for run in runs if run.state in states]
            if reading.situation.last_run in found:
                return reading.situation.last_run
            if len(found) == 1:
                return found[0]
    return None


def runs_of_models(reading: Reading) -> list[int]:
    """The latest run of each model named, on the benchmark named if one is."""
    benchmark = benchmark_ids(reading)
    found = []
    for mark in reading.of_kind(MODEL):
        fits = [r for r in reading.situation.runs if r.model in mark.all]
        if benchmark:
            fits = [r for r in fits if r.benchmark == benchmark[0]]
        if fits:
            found.append(max(run.id for run in fits))
    return list(dict.fromkeys(found))


# ---------------------------------------------------------------------------------- benchmarks


def benchmark_ids(reading: Reading) -> tuple[int, ...]:
    """Ids that the benchmark of a message could have, best first; none if it names none."""
    if marks := reading.of_kind(BENCH):
        return marks[0].all
    known = {b.id for b in reading.situation.benchmarks}
    if found := reading.find(rf"(?:BENCHMARK|DRAFT) {_ID}(\d+)(?!\.\d)(?!{_UNITS})"):
        return (int(found[1]),)
    found = reading.find(r"(?<![\w.@])(\d+) (?:BENCHMARK|DRAFT)\b")
    if found and int(found[1]) in known:
        return (int(found[1]),)
    for match in reading.all(
        r"# ?(\d+)|(?:EVAL|PUBLISH|UNPUBLISH|DELETE|on|SAME|RERUN|with|COMPARE) (?:#|a|for|of|no)? ?(\d+)\b"
    ):
        number = int(match[1] or match[2])
        if number in known and not re.match(_UNITS, reading.plain[match.end() :]):
            return (number,)
    if reading.language in ("ja", "zh") and (
        found := reading.find(r"(?<![\w.@])(\d+) (?:(?:a|on) )*@model")
    ):
        return (int(found[1]),) if int(found[1]) in known else ()
    # a number that no record has is still what was named, and never something else in its place
    if found := reading.find(
        rf"\b(?:PUBLISH|UNPUBLISH)(?: (?:#|a|number|no|nr|id))* (\d+)(?![\w.@])(?!{_UNITS})|\bEVAL(?: #)? (\d+) (?:on|with) @"
    ):
        return (int(found[1] or found[2]),)
    return _by_words(reading)


def other_benchmarks(reading: Reading, first: int | None) -> list[int]:
    """Benchmarks that a message names beside its first: `12, 16 and 21`, or a second name."""
    if first is None:
        return []
    known = {b.id for b in reading.situation.benchmarks}
    found = [mark.value for mark in reading.of_kind(BENCH) if not mark.others]
    for match in reading.all(
        rf"(?<![\w.@]){first}((?: (?:(?:,|and|BENCHMARK|#) )+\d+(?![\w.@])(?!{_UNITS}))+)"
    ):
        found += [int(number) for number in re.findall(r"\d+", match[1])]
    return [id for id in dict.fromkeys(found) if id in known and id != first]


def _by_words(reading: Reading) -> tuple[int, ...]:
    """Benchmarks by part of their name: the kitchen benchmark, `Weather Tools` in quotes, a misspelt name."""
    for mark in reading.of_kind(QUOTE):
        if ids := benchmarks_like(mark.value, reading.situation):
            return ids
    for pattern in (
        r"((?:[\w'-]+ ){1,4})BENCHMARK\b",
        r"(?:on|EVAL|of|with|PUBLISH|UNPUBLISH|DELETE|SAME|RERUN|COMPARE|in|from|about|ABOUT) (?:a )?((?!on\b|with\b|and\b|then\b)[\w'-]+(?: (?!on\b|with\b|and\b|then\b)[\w'-]+){0,4})",
    ):
        for match in reading.all(pattern):
            typed = reading.group(match)
            for words in _shorter(typed):
                if ids := benchmarks_like(words, reading.situation):
                    return ids
    return ()


def _shorter(typed: str) -> Iterable[str]:
    """The words, then without the first, then without the last."""
    words = typed.split()[:6]
    yield " ".join(words)
    for start in range(1, len(words)):
        yield " ".join(words[start:])
    for end in range(len(words) - 1, 0, -1):
        yield " ".join(words[:end])


def a_benchmark(reading: Reading) -> int | None:
    """The benchmark that a message is about, also as `it` or through a run; None if it leaves several or none."""
    ids = benchmark_ids(reading)
    if len(ids) == 1:
        return ids[0]
    return None if ids else meant_benchmark(reading.situation)


def meant_benchmark(situation: Situation) -> int | None:
    """What `it` and `the benchmark` mean: the one just made or named last, else that of the last run."""
    for id in (situation.just_created, situation.last_benchmark):
        if id is not None:
            return id
    run = run_seen(situation.last_run, situation)
    return run.benchmark if run else None


# ---------------------------------------------------------------------------------------- jobs


def job_ids(reading: Reading) -> list[int]:
    """Ids of the jobs that a message names, in its order."""
    known = {job.id for job in reading.situation.jobs}
    called = [
        match
        for match in reading.all(
            rf"\b(?:JOB|TRAIN|ADAPTER|LORA|MERGE|GRPO)(?: (?:of|from))? (?:a )?{_ID}(\d+)(?!\.\d)(?!{_UNITS})"
        )
        if match.group().startswith("JOB") or int(match[1]) in known
    ]
    bare = [
        match
        for match in reading.all(
            r"(?:# |(?<![\w.@])(?:LOGS|STATUS|STOP|RESUME|CONTINUE|DELETE|of|HOW|did|is|on) (?:of |a )*)(\d+)(?![\w.@])"
        )
        if int(match[1]) in known
        and not _counted(reading, match)
        and not reading.has(rf"(?:BENCHMARK|RUN) (?:# )?{match[1]}\b")
    ]
    found = sorted((match.start(1), int(match[1])) for match in [*called, *bare])
    return list(dict.fromkeys(number for _, number in found))


def a_job(reading: Reading) -> int | None:
    """The job that a message is about, by id, by the model that it made, by its state or as the last one."""
    ids = job_ids(reading)
    if ids:
        return ids[0]
    state = reading.situation
    for mark in reading.of_kind(MODEL):
        made = [job.id for job in state.jobs if job.model and job.model in mark.all]
        if made:
            return made[-1]
    for words, states in (
        (r"failed (?:TRAIN|JOB)|(?:TRAIN|JOB) (?:that |which )?(?:failed|FAIL)", ("failed",)),
        (r"running (?:TRAIN|JOB)", UNDER_WAY),
    ):
        if reading.has(words):
            found = [job.id for job in state.jobs if job.state in states]
            if len(found) == 1:
                return found[0]
    if reading.has(r"\bGRPO\b"):
        found = [job.id for job in state.jobs if job.job_type == "grpo"]
        if len(found) == 1:
            return found[0]
    return meant_job(state)


def meant_job(situation: Situation) -> int | None:
    """What `the training` means: the last one named or started, else the only one under way."""
    if situation.last_job is not None:
        return situation.last_job
    submitted = situation.submitted.get("job")
    if isinstance(submitted, int):
        return submitted
    under_way = [job.id for job in situation.jobs if job.state in UNDER_WAY]
    return under_way[0] if len(under_way) == 1 else None


# -------------------------------------------------------------------------------------- models


def made_model(reading: Reading) -> str | None:
    """The model meant by `the model this training produced`, `the adapter`, `the trained model`."""
    state = reading.situation
    if reading.has(r"\bmerged MODEL|MERGE MODEL"):
        merged = [m.name for m in state.models if m.kind == "merged"]
        if len(merged) == 1:
            return merged[0]
    if not reading.has(
        r"MODEL (?:\S+ ){0,5}?(?:TRAIN|JOB|produced|made|trained)|(?:trained|tuned|new|WANT|TRAIN|distilled|DISTILL|LORA|resulting|improved|IMPROVED) MODEL"
        r"|\bADAPTER\b|(?:what|which|that|one|result|output) (?:\S+ ){0,3}?(?:TRAIN|JOB)\b(?: (?:produced|made|gave|\d+))?|student MODEL|JOB (?:\d+ )?(?:s )?MODEL|TRAIN (?:\d+ )?MODEL"
    ):
        return None
    job = job_seen(a_job(reading), state)
    if job and job.model:
        return job.model
    if job is None or not job_ids(reading):
        made = [j for j in state.jobs if j.model]
        if made and (job is None or not job.model):
            return made[-1].model if job is None else None
    return None


def model_arguments(marks: Sequence[Mark], key: str = "model") -> dict[str, object]:
    """{model} of one that is clear, {model_candidates} of one that is not; empty for none."""
    if not marks:
        return {}
    mark = marks[0]
    if mark.others:
        return {f"{key}_candidates": list(mark.all)}
    return {key: mark.value}


def mentions_it(reading: Reading) -> bool:
    """Whether the message says `it`, `this` or `that`."""
    return reading.has(_IT)
