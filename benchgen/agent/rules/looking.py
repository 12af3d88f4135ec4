"""Looking at runs: their questions and answers, several side by side, and why a score is low."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules import roles
from benchgen.agent.rules.marks import BENCH, MODEL
from benchgen.agent.rules.reading import NUM, Reading
from benchgen.agent.rules.references import (
    a_run,
    benchmark_ids,
    made_model,
    meant_benchmark,
    other_benchmarks,
    run_ids,
    runs_of_models,
)
from benchgen.agent.situation import RunSeen, Situation, View, Wish

ROWS = 10
"""Rows that `the next ones` means where nothing was shown before."""
_PAGING_TOKENS = 12
"""A longer message is no mere `next`."""
_ONE = re.compile(
    r"\b(?:question|q|item|frage|pregunta|pergunta|domanda)\s?(?:#|no\.?|number|nr\.?)?\s?(?P<number>\d{1,4})\b(?!\s?(?:,|and|to|-)\s?\d)",
    re.IGNORECASE,
)
"""One question by its place."""
_SPAN = r"\b(?:ROW|LINE|QUESTION|FAILURES|DISTILL) (\d+) (?:to|-|–|through|until|bis|into|a|до|and) (\d+)\b"
"""Rows from one to another."""
_MODES = (("DISTILL", "distill"), ("FAILURES", "failures"), ("ALL", "all"))


def dataset(reading: Reading) -> Wish | None:
    """Rows of a run to show; None if none are asked for."""
    view = reading.situation.last_view
    if not _asks(reading):
        return None
    run = a_run(reading)
    arguments: dict[str, Any] = {}
    if run is not None:
        arguments["run"] = run
    elif view:
        arguments["run"] = view.run
    mode = _mode(reading)
    if mode is None and view and arguments.get("run") == view.run:
        mode = view.mode
    if (span := reading.find(_SPAN)) is not None and int(span[1]) <= int(span[2]):
        count = int(span[2]) - int(span[1]) + 1
        arguments |= {"rows": count, "offset": max(0, int(span[1]) - 1)}
    elif mode in (None, "all") and (one := _ONE.search(reading.text)) is not None:
        arguments |= {"mode": "all", "rows": 1, "offset": max(0, int(one["number"]) - 1)}
        mode = "all"
    arguments["mode"] = mode or "failures"
    if "offset" not in arguments and (
        (rows := _rows(reading) or _every(reading, arguments)) is not None
    ):
        arguments["rows"] = rows
    if "run" not in arguments:
        return Wish("clarify", {"missing": ["run"], "wish": "show_dataset", **arguments})
    return Wish("show_dataset", arguments)


def _every(reading: Reading, arguments: dict[str, Any]) -> int | None:
    """All rows of the run, where everything is asked for and not only mode all."""
    run = next((r for r in reading.situation.runs if r.id == arguments.get("run")), None)
    if (
        run is None
        or arguments["mode"] != "all"
        or not re.search(
            r"\b(?:everything|all of (?:it|them)|every (?:one|single)|all (?:rows|questions|\d+)|the whole|complete|full|alles|todo|tout|tudo|tutto)\b|全部|所有|すべて|全て|全問|всё|все ",
            reading.text,
            re.IGNORECASE,
        )
    ):
        return None
    return run.total or run.right + run.wrong or None


def paged(reading: Reading) -> Wish | None:
    """The rows that go on from those shown last; None if that is not asked."""
    view = reading.situation.last_view
    if (
        view is None
        or reading.has(r"\b(?:RESUME|FAIL|RUN)\b")
        or len(reading.tokens) > _PAGING_TOKENS
    ):
        return None
    return _paged(reading, view)


def _trains(reading: Reading) -> bool:
    """Whether `distill` or `from-run` is what is to be done, not what is to be shown."""
    return reading.has(
        r"^(?:(?:you|please|and|,|then) )*DISTILL\b(?! (?:ROW|QUESTION|DATASET|of\b))|DISTILL.*\binto\b"
        r"|^(?:(?:PLAN|a|you|please) )*from RUN\b|\bCONTINUE (?:a )*(?:JOB|ADAPTER|TRAIN|@model)"
    )


def _asks(reading: Reading) -> bool:
    if _trains(reading) or _sides(reading):
        return False
    if reading.has(r"\bTRAIN\b|\bLORA\b|\bGRPO\b|\bPLAN\b|\bMERGE\b") and not reading.has(
        r"SHOW.*DATASET"
    ):
        return False
    if (
        reading.has(r"\bEVAL\b")
        and (reading.of_kind(MODEL) or reading.of_kind(BENCH))
        and not reading.has(r"SHOW|MODE")
    ):
        return False
    if reading.has(r"\bDATASET\b") and reading.has(r"RUN|\d|MODE|\bit\b|ROW|SHOW"):
        return True
    if reading.has(r"\bMODE\b") and (run_ids(reading) or reading.has(r"ROW|SHOW|RUN")):
        return True
    if reading.situation.last_run is not None and reading.has(
        r"^(?:(?:and|now|a|with|please|same|SAME|in|only|SHOW|me|you|ALL|\d+|more|MORE) )*(?:ROW\b|MODE (?:ALL|DISTILL|FAILURES)|ALL(?: \d+)?$)"
    ):
        return True
    if reading.situation.last_view is not None and reading.has(
        r"^(?:(?:and|you|now|then|a|SHOW|me|please|,) )*(?:only|just) (?:(?:a|it|of|one) )*(?:FAILURES|DISTILL)(?: (?:one|please|RUN|QUESTION|ROW|ANSWER|it|\?|\.|!))*$"
    ):
        return True
    rows = reading.has(r"\b(?:FAILURES|DISTILL)\b")
    if rows and reading.has(
        r"\b(?:SHOW|WHAT|WANT|MAKE|ROW|LIMIT|QUESTION|which|HOW|RUN|it|you|MORE|ORD1|EXPLAIN)\b|^(?:(?:and|a|now|then|just) )*FAILURES"
        r"|^(?:RUN |# )*\d+ (?:s |a )*(?:FAILURES|DISTILL)\b"
    ):
        return not reading.has(r"\bWHY\b.*\bFAIL|HOWMANY")
    if reading.has(r"\b(?:SHOW|WHAT|WANT|LIMIT|ORD1|which|HOW)\b") and reading.has(
        r"\bROW\b|\bQUESTION\b|\bANSWER\b|\banswered\b|\breplies\b|\brepl(?:y|ied)\b|\bsaid\b|\bsay\b|\bwrote\b|outputs?\b"
    ):
        return (
            bool(run_ids(reading))
            or reading.has(r"\bRUN\b|MODEL|@model|\bit\b")
            or reading.situation.last_view is not None
        )
    return bool(run_ids(reading)) and reading.has(r"\bROW\b|\d+ QUESTION|\bALL\b")


def _mode(reading: Reading) -> str | None:
    """The mode named; one that does not exist as it was typed."""
    match = reading.find(r"MODE (?:(?:is|=|:|of|a) )*(@quote\d+|[^\s,.;:?!@]+)") or reading.find(
        r"([^\s,.;:?!@]+) MODE\b"
    )
    if match:
        for concept, mode in _MODES:
            if concept in match[1]:
                return mode
        if (
            match[1] not in ("in", "a", "with", "on", "of", "it", "which", "and", "ROW")
            and not match[1].isdigit()
        ):
            typed = _whole_word(reading, match)
            if not match.group().endswith("MODE") or typed.isidentifier():
                return typed
    actual = reading.has(
        r"actually|really|everything|ALL\b|each QUESTION|every QUESTION|replies|replied|said|say\b|wrote"
    )
    for concept, mode in _MODES[:2]:
        if reading.has(rf"\b{concept}\b"):
            return mode
    if actual or (reading.has(r"\bANSWER\b|answered") and not reading.has(r"not (?:\S+ )?ANSWER")):
        return "all"
    return None


def _whole_word(reading: Reading, match: re.Match[str]) -> str:
    """The mode as typed, with all parts that are joined to it: mistakes_only."""
    start = reading.tokens[reading.index(match.start(1))].start
    found = re.match(r"[\"'“`]?([\w.-]+)", reading.text[start : start + 60])
    return found[1] if found else reading.group(match)


def _rows(reading: Reading) -> int | None:
    """How many rows are asked for."""
    for pattern in (
        rf"{NUM}(?: (?!RUN|MODE|\d|,)\S+){{0,2}}? (?:ROW|QUESTION|LINE|FAILURES|DISTILL|ANSWER|MORE|NEXT)\b",
        rf"(?:LIMIT|ORD1|only|just|NEXT|top|MORE|LAST)(?: (?:a|of|to|you|=|:|only))* {NUM}",
        rf"(?:ROW|QUESTION)(?: (?::|=|of))* {NUM}",
    ):
        for match in reading.all(pattern):
            number = float(match[1])
            if number.is_integer() and int(number) not in run_ids(reading):
                return -int(number) if reading.below_zero(match.start(1)) else int(number)
    if reading.has(r"\b(?:one|a) (?:\S+ )?ROW\b") or reading.has(r"\b1 ROW"):
        return 1
    return None


def _paged(reading: Reading, view: View) -> Wish | None:
    """The rows after (or before) those shown last."""
    onward = reading.has(r"\b(?:NEXT|MORE|CONTINUE)\b")
    back = reading.has(r"\bPREVIOUS\b")
    if not (onward or back) or reading.has(r"\b(?:TRAIN|EPOCH|STEP|CREATE|EVAL|BENCHMARK|PLAN)\b"):
        return None
    ids = run_ids(reading)
    if ids and ids[0] != view.run:
        return None
    rows = _rows(reading) or _loose_number(reading) or view.rows or ROWS
    offset = max(0, view.offset - rows) if back else view.offset + view.rows
    return Wish(
        "show_dataset",
        {"run": view.run, "mode": _mode(reading) or view.mode, "rows": rows, "offset": offset},
    )


def _loose_number(reading: Reading) -> int | None:
    numbers = [int(m[1]) for m in reading.all(r"(?<![\w.@])(\d+)(?![\w.@])")]
    numbers = [n for n in numbers if n not in run_ids(reading)]
    return numbers[0] if len(numbers) == 1 else None


# -------------------------------------------------------------------------------- side by side


def compare(reading: Reading) -> Wish | None:
    """Runs to set side by side; None if no comparison is asked for."""
    ids = run_ids(reading)
    better = reading.has(
        r"\bIMPROVED\b|\bbetter\b|\bhelped\b|\bworse\b|\bgain|\b(?:TRAIN|JOB|LORA|GRPO|DISTILL|it) HELP\b|\bDISTILL (?:work|worked|succeed|pay)\b"
    )
    several = len(ids) > 1 and reading.has(
        r"\bLOW\b|\bSCORE\b|\bSHOW\b|\bSTATUS\b|\bLINK\b|^(?:\S+ )?HOW\b"
    )
    both = reading.has(
        r"\b(?:both|two|three|2|3) (?:of them |it )?(?:SCORE|RUN)\b|SCORE of (?:it|these|ALL) RUN|(?:it|ALL) (?:\d |two |three )?(?:RUN|SCORE).*side"
    )
    best = reading.has(_BEST) and not ids
    if not (
        reading.has(r"\bCOMPARE\b")
        or several
        or both
        or best
        or _sides(reading)
        or (better and _about_runs(reading))
    ):
        return None
    if (
        better
        and not reading.has(r"\bCOMPARE\b")
        and reading.has(r"\b(?:LOW|WHY|HOW you|CREATE|TRAIN it)\b")
    ):
        return None
    first = next(iter(benchmark_ids(reading)), None)
    if not ids and (other_benchmarks(reading, first) or reading.has(_TWO_BENCHMARKS)):
        return Wish("clarify", {"missing": ["runs"], "wish": "compare_runs"})
    return _compared(reading, ids)


_TWO_BENCHMARKS = r"\bBENCHMARK \d+ (?:(?:and|with|to|against|vs|,|&) )+(?:BENCHMARK )?\d+\b"
"""Other questions each: nothing says whose runs are to stand side by side."""
_BEST = (
    r"^(?:which|WHAT)\b.*(?:\bMODEL\b.*\b(?:best|highest|better|IMPROVED|worst|top)\b|\b(?:best|top) (?:\S+ )?MODEL\b)"
    r"|\b(?:leaderboard|winning|winner)\b|\bRANK (?:a )*(?:RUN|MODEL)\b"
)
"""Which model is the best: all finished runs of a benchmark."""


def _about_runs(reading: Reading) -> bool:
    if reading.situation.last_run is not None and reading.has(r"^(?:is|was|are)\b.*\bIMPROVED\b"):
        return True
    return bool(run_ids(reading)) or reading.has(
        r"\bit\b|\bRUN\b|\bTRAIN\b|MODEL|@model|\bSCORE\b|\bJOB\b|\bLORA\b|DISTILL"
    )


def _sides(reading: Reading) -> bool:
    """Whether two parts are set against each other, and nothing is asked to be done with them."""
    doing = r"\b(?:EVAL|RERUN|TRAIN|LORA|GRPO|PLAN|MERGE|CREATE|IMPORT|PUBLISH|DATASET|ROW|MODE|EXPLAIN|BASE MODEL)\b|^(?:\S+ ){0,2}DISTILL (?:a )*(?:\S+ )?(?:into|from|with|of)\b"
    return len(roles.named(reading)) > 1 and not reading.has(doing)


def _by_roles(reading: Reading, ids: list[int]) -> dict[str, Any]:
    """{runs, roles} where runs are named by the part they play; {} where they are not, or only as an id's base."""
    named = roles.named(reading)
    if not ids and not named and reading.has(r"\b3 (?:of (?:it )?|\S+ )?(?:SCORE|RUN)\b"):
        named = [roles.TEACHER, roles.BASELINE, roles.TRAINED]
    if (
        not ids
        and not named
        and reading.situation.last_run is None
        and reading.has(r"\bDISTILL work")
    ):
        named = [roles.BASELINE, roles.TRAINED]
    if len(ids) > 1 or not (len(named) > 1 or roles.TEACHER in named):
        return {}
    found = roles.runs_of_roles(reading, named)
    others = [*ids, *([] if len(found) > 1 else runs_of_models(reading))]
    if not others and len(named) == 1 and (last := a_run(reading)) is not None:
        others = [last]
    runs = list(dict.fromkeys([*others, *found.values()]))
    return {"runs": runs, "roles": found} if found and len(runs) > 1 else {}


def _compared(reading: Reading, ids: list[int]) -> Wish:
    arguments: dict[str, Any] = _by_roles(reading, ids)
    runs = arguments.get("runs") or (ids if len(ids) > 1 else _runs_meant(reading, ids))
    if len(ids) < 2 and reading.situation.last_run in runs:
        arguments["run"] = reading.situation.last_run
    if len(runs) > 1:
        arguments["runs"] = runs
    if reading.has(r"\bLINK\b"):
        arguments["links"] = True
    if "runs" not in arguments:
        if runs:
            arguments["runs"] = runs
        else:
            return Wish("clarify", {"missing": ["runs"], "wish": "compare_runs", **arguments})
    return Wish("compare_runs", arguments)


def _runs_meant(reading: Reading, ids: list[int]) -> list[int]:
    """The runs meant without their numbers: of the models named, of a benchmark, the last ones."""
    state = reading.situation
    if (by_model := runs_of_models(reading)) and (len(by_model) > 1 or not ids):
        both = list(dict.fromkeys([*ids, *by_model]))
        if len(both) > 1:
            return both
    match = reading.find(rf"LAST (?:{NUM}|two|three|both) (?:RUN|SCORE|one)")
    number = reading.find(r"LAST (\d+)")
    if match:
        return sorted(run.id for run in state.runs)[-(int(number[1]) if number else 2) :]
    if (benchmark := benchmark_ids(reading)) and reading.has(r"@bench|BENCHMARK \d|\bon \d"):
        return _finished(state, benchmark[0])
    if not ids and reading.has(_BEST):
        return _finished(state, _most_run(state) if benchmark == () else benchmark[0])
    if ids and reading.has(r"base|before|baseline|BASE|PREVIOUS"):
        return _with_earlier(ids[0], state)
    if not ids and reading.has(
        r"\bit\b|\bALL\b|\bboth\b|\bRUN\b|\bSCORE\b|IMPROVED|better|\btwo\b|\bTRAIN\b"
    ):
        last = a_run(reading)
        if last is not None:
            return _with_earlier(last, state)
        meant = meant_benchmark(state)
        return _finished(state, meant) if meant is not None else []
    return ids


def _most_run(state: Situation) -> int:
    """The benchmark talked about, else the one with the most finished runs; 0 without any."""
    if (meant := meant_benchmark(state)) is not None:
        return meant
    numbers = [run.benchmark for run in state.runs if run.state == "finished"]
    return max(set(numbers), key=numbers.count, default=0)


def _finished(state: Situation, benchmark: int) -> list[int]:
    return [run.id for run in state.runs if run.benchmark == benchmark and run.state == "finished"]


def _with_earlier(id: int, state: Situation) -> list[int]:
    """The run and the one that it is measured against: of its base model, else the one before, same benchmark."""
    run = next((r for r in state.runs if r.id == id), None)
    if run is None:
        return [id]
    base = next((m.base for m in state.models if m.name == run.model and m.base), "")
    earlier: list[RunSeen] = [
        r
        for r in state.runs
        if r.benchmark == run.benchmark and r.id != id and r.state == "finished"
    ]
    of_base = [r.id for r in earlier if base and r.model == base]
    before = [r.id for r in earlier if r.id < id]
    return [*(of_base or before)[-1:], id]


def low_score(reading: Reading) -> Wish | None:
    """Why a score is low; None if that is not asked."""
    asks = reading.has(
        r"\bWHY\b|\bHOW\b|expected?\b|looks?\b|seems?\b|thought|hoped|surpris|strange|weird|\?|!|LOW"
    )
    low = reading.has(
        r"\bLOW\b|\bonly\b|expected (?:\S+ )*(?:MORE|higher|better|IMPROVED)|not (?:\S+ )?(?:IMPROVED|good|higher)|FAILURES|wrong|down\b|below"
    )
    subject = (
        (reading.has(r"^WHY (?:\S+ )?LOW") and reading.situation.last_run is not None)
        or bool(run_ids(reading))
        or reading.has(r"\bSCORE\b|%|percent|\bRUN\b|@model|MODEL|\bit\b|baseline|BENCHMARK")
    )
    if not (asks and low and subject) or reading.has(
        r"\bLR\b|\bEPOCH\b|\bCREATE\b|\bPLAN\b|\bCHANGE\b|\bRANK\b"
    ):
        return None
    if not reading.has(
        r"\bWHY\b|\bSCORE\b|%|percent|expected|baseline|than|so LOW|HOW|RUN|\bTRAIN\b.*\bmade\b.*\bLOW\b"
    ):
        return None
    if len(run_ids(reading)) > 1 and not reading.has(r"\bWHY\b"):
        return None
    made = made_model(reading) if not run_ids(reading) else None
    of_made = [r.id for r in reading.situation.runs if r.model == made]
    run = max(of_made) if of_made else a_run(reading)
    if run is None:
        return Wish("clarify", {"missing": ["run"], "wish": "explain_low_score"})
    return Wish("explain_low_score", {"run": run, "suggest": {"mode": "all"}})
