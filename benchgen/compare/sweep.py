"""The page of a sweep: score by combination, what seeds move, effects against the first combination.

A combination is a job's settings without its seed. Its seeds are repeats of one question: they are
averaged before anything is counted, so more seeds make no more questions. Where all seeds of all
combinations compared agree on every question, that is the plain comparison of right and wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from benchgen.compare import tables
from benchgen.compare.inference import IMPROVED, NOTHING, UNCLEAR, PairedResult, holm, paired
from benchgen.compare.markup import Cell, Page, Section, Table, cut
from benchgen.compare.plots import Effect, Score, effects, percent, sweep_scores
from benchgen.compare.report import points
from benchgen.compare.views import RunView
from benchgen.run.metrics import outcomes, question_means
from benchgen.run.statistics import clustered, mean_interval, wilson

SEED = "seed"
ALONE = "all jobs"
CEILING = "ceiling, not an achievement"
MARKS = {IMPROVED: "good", UNCLEAR: "mute", NOTHING: "mute"}


@dataclass(frozen=True)
class JobView:
    """One job: its settings, how it ended, and the runs that it made by what they are in it."""

    job: int
    settings: Mapping[str, str]
    state: str
    seconds: float | None
    error: str = ""
    traceback: str = ""
    """Path of the file."""
    made: str = ""
    """What it made, in words."""
    runs: Mapping[str, RunView] = field(default_factory=dict)
    """{role: run}: "run", or a loop's base, trained, base_held_out …"""


@dataclass(frozen=True)
class SweepView:
    """All that the page of a sweep says."""

    name: str
    verb: str
    jobs: tuple[JobView, ...]
    commands: tuple[str, ...]
    manifest: Mapping[str, Any]


@dataclass(frozen=True)
class Combined:
    """One combination on one benchmark: its runs, by seed, as one."""

    name: str
    runs: tuple[tuple[str, RunView], ...]
    """(seed, run)"""

    @property
    def is_reference(self) -> bool:
        return any(run.is_reference for _, run in self.runs)

    @property
    def means(self) -> dict[str, list[float]]:
        """{question key: [its mean over the seeds]}, measured ones alone."""
        grid: dict[str, list[bool | None]] = {}
        for _, run in self.runs:
            for key, told in outcomes(run.verdicts).items():
                grid.setdefault(key, []).extend(told)
        return {key: [mean] for key, mean in question_means(grid).items()}

    @property
    def by_seed(self) -> dict[str, float]:
        """{seed: score}; of two runs of one seed the later one holds."""
        scores = ((seed, run.figures["score"]) for seed, run in self.runs)
        return {seed: score for seed, score in scores if score is not None}

    @property
    def score(self) -> Score:
        """Mean over questions with its 95 % interval, and the score of each seed."""
        means = [mean for (mean,) in self.means.values()]
        if all(mean in (0, 1) for mean in means):
            ci = wilson(sum(means), len(means))
        else:
            ci, _ = mean_interval(means)
        score = math.fsum(means) / len(means) if means else None
        return Score(self.name, score, ci, tuple(self.by_seed.values()), self.is_reference)


def sweep_page(view: SweepView, here: Path) -> Page:
    """The page of the sweep, to lie in the folder `here`."""
    done = sum(job.state == "done" for job in view.jobs)
    lines = [f"{done} of {len(view.jobs)} jobs of benchgen {view.verb} are done."]
    sections = [_job_section(view)]
    groups = _groups(view)
    for number, ((role, bench), members) in enumerate(groups.items(), 1):
        title = bench if role == "run" else f"{role.replace('_', ' ')}: {bench}"
        found = _effects(members)
        lines += [_sentence(title, members[0].name, effect) for effect in found]
        sections.append(_score_section(title, number, members, found))
    manifest = tables.facts("What it was made with", ("part", "value"), tables.flat(view.manifest))
    sections += [
        Section("Repeat it", code="\n".join(view.commands)),
        Section("Manifest", tables=(manifest,) if manifest.rows else ()),
    ]
    shown = tuple(section for section in sections if section.has_content)
    return Page(f"Sweep {view.name}", lines, shown, _warnings(view), here=here)


def score_rows(view: SweepView) -> list[dict[str, Any]]:
    """One row a combination on a benchmark, for each role: mean score in [0, 1], interval, what seeds move."""
    found = []
    for (role, bench), members in _groups(view).items():
        for member in members:
            told, seeds = member.score, list(member.by_seed.values())
            found.append(
                {
                    "role": role,
                    "benchmark": bench,
                    "combination": member.name,
                    "seeds": len(seeds),
                    "questions": len(member.means),
                    "score": told.score,
                    "low": told.ci[0],
                    "high": told.ci[1],
                    "sd": stdev(seeds) if len(seeds) > 1 else None,
                    "runs": [run.run_id for _, run in member.runs],
                    "note": "; ".join(_notes(member)),
                }
            )
    return found


def difference_rows(view: SweepView) -> list[dict[str, Any]]:
    """One row a combination against the first one of its role and benchmark, question by question."""
    found = []
    for (role, bench), members in _groups(view).items():
        for effect in _effects(members):
            got = effect.result
            found.append(
                {
                    "role": role,
                    "benchmark": bench,
                    "combination": effect.name,
                    "minus": members[0].name,
                    "n": got.n,
                    "difference": got.delta,
                    "low": got.ci[0],
                    "high": got.ci[1],
                    "wins": got.wins,
                    "losses": got.losses,
                    "p": got.p,
                    "p_holm": None if effect.ceiling else effect.p_holm,
                    "verdict": CEILING if effect.ceiling else got.verdict,
                }
            )
    return found


def varied(jobs: Sequence[JobView]) -> list[str]:
    """The settings in which the jobs differ, in the order in which they were given."""
    names = dict.fromkeys(name for job in jobs for name in job.settings)
    return [name for name in names if len({job.settings.get(name) for job in jobs}) > 1]


def _groups(view: SweepView) -> dict[tuple[str, str], list[Combined]]:
    """{(role, benchmark): its combinations}, the one that the others are compared with first.

    That is the first one, unless it is the reference: against a ceiling nothing can be an achievement.
    """
    jobs: dict[tuple[str, str], list[JobView]] = {}
    for job in view.jobs:
        for role, run in job.runs.items():
            jobs.setdefault((role, run.benchmark), []).append(job)
    return {(role, bench): _combinations(role, members) for (role, bench), members in jobs.items()}


def _combinations(role: str, jobs: Sequence[JobView]) -> list[Combined]:
    """The runs of that role by the settings, but for the seed, in which these jobs differ."""
    names = [name for name in varied(jobs) if name != SEED]
    found: dict[str, list[tuple[str, RunView]]] = {}
    for job in jobs:
        told = " ".join(f"{n}={job.settings[n]}" for n in names if n in job.settings)
        run = job.runs[role]
        found.setdefault(told or ALONE, []).append((str(run.seed), run))
    combined = [Combined(name, tuple(runs)) for name, runs in found.items()]
    first = next((one for one in combined if not one.is_reference), combined[0])
    return [first, *(one for one in combined if one is not first)]


def _effects(members: Sequence[Combined]) -> list[Effect]:
    """Each combination against the first one, question by question, p adjusted over those of models."""
    first, found = members[0], []
    for other in members[1:]:
        keys = sorted(first.means.keys() & other.means.keys())
        result = paired(first.means, other.means, keys)
        ceiling = first.is_reference or other.is_reference
        found.append(Effect(other.name, result, result.p, _by_seed(first, other), ceiling))
    tests = [place for place, effect in enumerate(found) if effect.result.n and not effect.ceiling]
    told = dict(zip(tests, holm([found[place].result.p for place in tests]), strict=True))
    return [
        replace(effect, p_holm=told.get(place, effect.p_holm)) for place, effect in enumerate(found)
    ]


def _by_seed(first: Combined, other: Combined) -> tuple[float, ...]:
    """The differences of the seeds that both have."""
    a, b = first.by_seed, other.by_seed
    return tuple(b[seed] - a[seed] for seed in a if seed in b)


def _sentence(title: str, first: str, effect: Effect) -> str:
    got = effect.result
    if got.delta is None:
        return f"{title}: {effect.name} and {first} share no scored question."
    word = _WORDS.get(got.verdict, "is worse than")
    if effect.ceiling:
        word = "beside"
    note = " This is a distance to the ceiling, no achievement." if effect.ceiling else ""
    return (
        f"{title}: {effect.name} {word} {first}: {points(got.delta)} points (95 % interval "
        f"{points(got.ci[0])} to {points(got.ci[1])}, {got.n} questions).{note}"
    )


_WORDS = {IMPROVED: "improved over", UNCLEAR: "is not distinguishable from"}


def _job_section(view: SweepView) -> Section:
    names = varied(view.jobs)
    rows = [
        (
            Cell(str(job.job)),
            *(Cell(job.settings.get(name, "")) for name in names),
            Cell(job.state, mark="" if job.state == "done" else "bad"),
            Cell("" if job.seconds is None else f"{job.seconds:.1f}"),
            Cell(job.made),
            Cell(cut(job.error), link=job.traceback),
        )
        for job in view.jobs
    ]
    head = ("job", *names, "state", "seconds", "made", "error, with its traceback")
    numbers = frozenset({0, len(names) + 2})
    return Section("Jobs", tables=(Table("Every job of the sweep", head, tuple(rows), numbers),))


def _score_section(
    title: str, number: int, members: Sequence[Combined], found: Sequence[Effect]
) -> Section:
    scores = [member.score for member in members]
    rows = tuple(map(_score_cells, members, scores))
    head = ("combination", "seeds", "questions", "mean score", "95 % interval",
            "spread over seeds (SD)", "lowest to highest", "runs", "note")  # fmt: skip
    shown = [Table(f"Scores: {title}", head, rows, frozenset(range(1, 7)))]
    plots = [sweep_scores(scores, f"scores-{number}", f"Score by combination: {title}")]
    if found:
        shown.append(_effect_table(members[0].name, found))
        plots.append(
            effects(found, f"effects-{number}", f"Difference from {members[0].name}: {title}")
        )
    text = (
        "Seeds of one combination are averaged question by question first; the interval is that of "
        "the questions (Wilson where every seed agrees, else BCa bootstrap). The spread over seeds is "
        "the standard deviation of their scores.",
    )
    return Section(title, text, tuple(plots), tuple(shown))


def _score_cells(member: Combined, told: Score) -> tuple[Cell, ...]:
    seeds = list(member.by_seed.values())
    low, high = told.ci
    drawn = None if told.score is None else (low, told.score, high)
    return (
        Cell(member.name),
        Cell(str(len(seeds))),
        Cell(str(len(member.means))),
        Cell(percent(told.score)),
        Cell(f"{100 * low:.1f} to {100 * high:.1f}", interval=drawn),
        Cell(f"{100 * stdev(seeds):.1f}" if len(seeds) > 1 else "one seed"),
        Cell(f"{percent(min(seeds))} to {percent(max(seeds))}" if seeds else ""),
        Cell(", ".join(str(run.run_id) for _, run in member.runs)),
        Cell("; ".join(_notes(member)), mark="mute"),
    )


def _notes(member: Combined) -> Iterator[str]:
    if member.is_reference:
        yield "reference: the author's worked answers, a ceiling and no model's achievement"
    seen = max(len(run.seen & outcomes(run.verdicts).keys()) for _, run in member.runs)
    if seen and not member.is_reference:
        yield f"trained on {seen} of these questions"


def _effect_table(first: str, found: Sequence[Effect]) -> Table:
    head = ("combination", "verdict", "n", "difference", "95 % interval", "wins", "losses", "p",
            "p (Holm)", "mean over seeds, 95 % t interval", "test")  # fmt: skip
    rows = tuple(_effect_cells(effect) for effect in found)
    caption = f"Differences in points from {first}, question by question"
    return Table(caption, head, rows, frozenset(range(2, 10)))


def _effect_cells(effect: Effect) -> tuple[Cell, ...]:
    got: PairedResult = effect.result
    if not got.n:
        return (Cell(effect.name), Cell(got.verdict, mark="mute"), Cell("0"), *[Cell("")] * 8)
    mark = "mute" if effect.ceiling else MARKS.get(got.verdict, "bad")
    return (
        Cell(effect.name),
        Cell(CEILING if effect.ceiling else got.verdict, mark=mark),
        Cell(str(got.n)),
        Cell(points(got.delta)),
        Cell(f"{points(got.ci[0])} to {points(got.ci[1])}"),
        Cell(str(got.wins)),
        Cell(str(got.losses)),
        Cell(f"{got.p:.2g}"),
        Cell("" if effect.ceiling else f"{effect.p_holm:.2g}"),
        Cell(_over_seeds(effect.by_seed)),
        Cell(f"{got.interval}; {got.test}", mark="mute"),
    )


def _over_seeds(differences: Sequence[float]) -> str:
    """Their mean with the t interval over seeds; with one seed there is none."""
    told = clustered(differences, range(len(differences)), (-1.0, 1.0))
    if told is None:
        return "one seed"
    low, high = told.ci
    return (
        f"{points(fmean(differences))} ({points(low)} to {points(high)}), {len(differences)} seeds"
    )


def _warnings(view: SweepView) -> tuple[str, ...]:
    undone = [str(job.job) for job in view.jobs if job.state != "done"]
    if not undone:
        return ()
    return (
        f"{len(undone)} of {len(view.jobs)} jobs are not done ({', '.join(undone[:20])}): what stands "
        "here is of the others. The same command line again does them.",
    )
