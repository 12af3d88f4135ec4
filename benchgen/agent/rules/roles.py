"""Runs by the part that they play: the teacher's (the ceiling), the student's before (the baseline) and after."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from benchgen.agent.rules.numbers import fold
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.references import benchmark_ids, run_seen
from benchgen.agent.situation import JobSeen, RunSeen, Situation

TEACHER, STUDENT, BASELINE, TRAINED = "teacher", "student", "baseline", "trained"
_SAYS = {
    TEACHER: r"\bteachers?\b|\bceiling\b|\bfrontier\b|\b(?:big|large|strong)(?:g?er|g?est)? (?:model|one)\b|\blehrer\w*"
    r"|\bobergrenze\b|\bprofesor\w*|\bmaestro\b|\btecho\b|\bprofesseur\w*|\benseignant\w*|\bplafond\b|\bprofessor\w*"
    r"|\bteto\b|\binsegnante\b|\btetto\b|учител\w*|потол\w*|教师|老师|上限|教師",
    STUDENT: r"\bstudents?\b|\bpupil\b|\b(?:small|little|tiny|weak)(?:er|est)? (?:model|one)\b|\bschuler\w*"
    r"|\balumn[oa]\b|\bestudiante\b|\beleve\b|\betudiant\w*|\balun[oa]\b|\bstudente\b|\balliev[oa]\b|ученик\w*"
    r"|студент\w*|学生|生徒",
    BASELINE: r"\bbase ?lines?\b|\bbase(?: model)?\b(?! ?_)|\buntrained\b|\bbefore (?:the )?(?:training|distil\w*)\b"
    r"|\boriginal (?:model|one)\b|\bausgangs(?:modell|wert)\w*|\bbasis(?:modell)?\b|\blinea (?:de )?base\b"
    r"|\bmodel[oe] (?:de )?base\b|\blinha de base\b|\bmodello (?:di )?base\b|базов\w*|基线|基準|ベースライン",
    TRAINED: r"\bdistill?ed\b|\b(?:re)?trained\b|\b(?:fine-? ?)?tuned\b|\badapt[eo]r\b"
    r"|\bafter (?:the )?(?:training|distil\w*)\b|\bdestillierte?\w*|\btrainierte?\w*|\bdestilad[oa]\b|\bentrenad[oa]\b"
    r"|\bdistillee?\b|\bentrainee?\b|\btreinad[oa]\b|\bdistillat[oa]\b|\baddestrat[oa]\b|дистиллирован\w*|обученн\w*"
    r"|蒸馏后|蒸馏模型|蒸留後|蒸留モデル",
}
_FOUND = {role: re.compile(words) for role, words in _SAYS.items()}


def named(reading: Reading) -> list[str]:
    """The parts that a message speaks of, in its order; what stands inside a name does not count."""
    text = fold(
        " ".join(reading.text[t.start : t.end] for t in reading.tokens if t.gloss[:1] != "@")
    )
    places = {
        role: found.start() for role, words in _FOUND.items() if (found := words.search(text))
    }
    return sorted(places, key=lambda role: places[role])


def is_part(text: str) -> bool:
    """Whether a word names a part rather than something to do: distilled, trained."""
    return any(words.fullmatch(fold(text)) for words in _FOUND.values())


def runs_of_roles(reading: Reading, wanted: Sequence[str] = ()) -> dict[str, int]:
    """{part: run} of the parts that are wanted, else named, in their order, as far as there are runs of them."""
    roles = list(wanted) or named(reading)
    if not roles:
        return {}
    state, ids = reading.situation, benchmark_ids(reading)
    job = _training(state, ids[0] if len(ids) == 1 else None)
    benchmark = ids[0] if len(ids) == 1 else _benchmark(state, job)
    found: dict[str, int] = {}
    for role in roles:
        run = next(_runs(state, job, benchmark, _part(role, roles, state, job, benchmark)), None)
        if run is not None and run.id not in found.values():
            found[role] = run.id
    return found


def _training(state: Situation, benchmark: int | None) -> JobSeen | None:
    """The training that is spoken of: the last one, that of the last run's model, else the newest that distilled."""
    made = [job for job in state.jobs if job.model and job.job_type != "merge"]
    if benchmark is not None:
        asked = {run.model for run in state.runs if run.benchmark == benchmark}
        made = [job for job in made if job.model in asked] or made
    last = run_seen(state.last_run, state)
    for fits in (
        [job for job in made if job.id == state.last_job],
        [job for job in made if last and job.model == last.model],
        [job for job in made if job.mode == "distill"],
        made,
    ):
        if fits:
            return fits[-1]
    return None


def _benchmark(state: Situation, job: JobSeen | None) -> int | None:
    """The benchmark on which they are set side by side: the last one, else that of what the training learnt from."""
    learnt = run_seen(job.run, state) if job else None
    mine = [run.benchmark for run in state.runs if job and run.model == job.model]
    last = state.last_benchmark
    return last if last in mine else learnt.benchmark if learnt else mine[-1] if mine else last


def _part(
    role: str, roles: list[str], state: Situation, job: JobSeen | None, benchmark: int | None
) -> str:
    """Whether `the student` is the one before or after: after, unless that is named too or has not run."""
    if role != STUDENT:
        return role
    after = next(_runs(state, job, benchmark, TRAINED), None)
    return BASELINE if TRAINED in roles or after is None else TRAINED


def _runs(
    state: Situation, job: JobSeen | None, benchmark: int | None, part: str
) -> Iterator[RunSeen]:
    """Runs on the benchmark that play the part, the one that is meant first."""
    there = [run for run in reversed(state.runs) if run.benchmark == benchmark]
    finished = [run for run in there if run.state == "finished"]
    own = {job.model, job.base_model} if job else set()
    if part == TEACHER:
        taught = [run for run in finished if job and run.id == job.run and run.model not in own]
        others = [run for run in finished if run.model not in own]
        yield from taught or sorted(others, key=lambda run: -run.right)
    elif part == BASELINE:
        name = job.base_model if job else _smallest(state, finished)
        yield from [run for run in finished if run.model == name]
        yield from [run for run in there if run.model == name]
    elif job:
        yield from [run for run in there if run.model == job.model]


def _smallest(state: Situation, finished: list[RunSeen]) -> str:
    """The model that could be taught, where none was yet: the one with weights here that had the fewest right."""
    able = {model.name for model in state.models if model.trainable}
    least = min((r for r in finished if r.model in able), key=lambda r: r.right, default=None)
    return least.model if least else ""
