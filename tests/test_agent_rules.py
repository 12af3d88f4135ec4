"""The rule brain: what people write, in their own words and languages, becomes the wish they mean."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.agent.llm.scrub import Scrubber, holds_secret
from benchgen.agent.rules import understand, unread
from benchgen.agent.rules.secrets import hidden
from benchgen.agent.situation import (
    BenchmarkSeen,
    JobSeen,
    ModelSeen,
    RunSeen,
    Situation,
    View,
    Waiting,
    Wish,
)
from tests.bounded import bounded

CASES = Path(__file__).parent / "cases"
ACCOUNT = json.loads((CASES / "chat_account.json").read_text(encoding="utf-8"))


def situation(context: dict[str, Any]) -> Situation:
    """What a brain may know of the account of the cases, in a case's state."""
    notes = ACCOUNT["model_notes"]
    jobs = tuple(_job(job) for job in ACCOUNT["jobs"])
    view = context.get("last_view")
    submitted = context.get("submitted_before") or {}
    return Situation(
        benchmarks=tuple(
            BenchmarkSeen(b["id"], b["name"], b["kind"], b["n"], b["state"], b["language"])
            for b in [*ACCOUNT["benchmarks"], *context.get("extra_benchmarks", [])]
        ),
        models=tuple(_model(name, notes.get(name, ""), jobs) for name in ACCOUNT["models"]),
        runs=tuple(_run(r) for r in [*ACCOUNT["runs"], *context.get("extra_runs", [])]),
        jobs=jobs,
        files=tuple(path.name for path in (CASES / "files").iterdir()),
        datasets=("yahma/alpaca-cleaned",),
        waiting=tuple(_waiting(item) for item in _items(context.get("pending"))),
        last_benchmark=context.get("last_benchmark"),
        last_run=context.get("last_run"),
        last_job=context.get("last_job"),
        last_view=View(**view) if view else None,
        just_created=context.get("just_created"),
        submitted=submitted,
    )


def _items(pending: Any) -> list[dict[str, Any]]:
    return pending if isinstance(pending, list) else [pending] if pending else []


def _waiting(item: dict[str, Any]) -> Waiting:
    told = {key: value for key, value in item.items() if key not in ("type", "id")}
    return Waiting(item["type"], str(item.get("id", item["type"])), told)


def _job(job: dict[str, Any]) -> JobSeen:
    names = {
        "id",
        "run",
        "mode",
        "benchmark",
        "state",
        "base_model",
        "dataset",
        "step",
        "max_steps",
        "error",
    }
    given = {key: value for key, value in job.items() if key in names}
    return JobSeen(job_type=job["type"], model=job.get("adapter", ""), **given)


def _model(name: str, note: str, jobs: tuple[JobSeen, ...]) -> ModelSeen:
    kind = next((k for k in ("adapter", "merged", "endpoint") if k in note), "base")
    made = next((job for job in jobs if job.model == name), None)
    return ModelSeen(
        name, kind, kind != "endpoint", made.base_model if made else "", made.id if made else None
    )


def _run(run: dict[str, Any]) -> RunSeen:
    right, wrong = run.get("n_right", 0), run.get("n_wrong", 0)
    done, total = run.get("done", right + wrong), run.get("total", right + wrong)
    return RunSeen(
        run["id"],
        run["benchmark"],
        run["model"],
        run["state"],
        right,
        wrong,
        done,
        total,
        run.get("error", ""),
    )


def cases(name: str) -> list[dict[str, Any]]:
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


OF_GATE = {
    "already_done",
    "cancel_plan",
    "confirm_create",
    "confirm_merge",
    "confirm_or_cancel",
    "confirm_plan",
    "continue_batch",
    "nothing_pending",
    "replan",
}
"""Intents that the gate gives before any brain."""
UNDERLYING = {
    "error": (
        "import_file",
        "plan_training",
        "plan_merge",
        "show_dataset",
        "run_benchmark",
        "run_status",
    ),
    "explain": ("plan_training", "explain"),
    "explain_draft": ("run_benchmark",),
    "no_claim_yet": ("compare_runs",),
    "warn_incomparable": ("compare_runs",),
}
"""Outcomes that only the store can tell, and what was wished there."""
OF_STORE = {
    "import_file": {"kind", "n"},
    "error": {"reason"},
    "explain": {"n_failures", "suggest"},
    "explain_draft": {"offer"},
    "resume_run": {"done"},
    "run_status": {"state"},
    "no_claim_yet": {"state"},
    "warn_incomparable": {"benchmarks"},
    "training_status": {"step", "max_steps"},
    "training_logs": {"error"},
    "refuse_unsupported": {"where"},
}
"""Arguments that no message tells."""


def lacks(case: dict[str, Any], wish: Wish) -> list[str]:
    """What the wish lacks of a case: its intent, and each argument that the message itself tells."""
    faults = []
    if wish.intent not in (case["intent"], *UNDERLYING.get(case["intent"], ())):
        faults.append(f"intent {wish.intent}")
    for key, value in case["args"].items():
        told = key not in OF_STORE.get(case["intent"], ())
        if told and wish.arguments.get(key) != value:
            faults.append(f"{key}={wish.arguments.get(key)!r}")
    return faults


@pytest.mark.parametrize("case", cases("chat_own.jsonl"), ids=lambda case: case["text"][:60])
def test_messages_in_other_words(case: dict[str, Any]) -> None:
    """Own cases: every intent, nine languages, slips of the pen."""
    wish = understand(case["text"], situation(case["context"]))
    assert wish.intent == case["intent"], f"{case['text']!r} -> {wish}"
    assert not lacks(case, wish), f"{case['text']!r} -> {wish}"


@pytest.mark.parametrize("case", cases("chat.jsonl"), ids=lambda case: case["id"])
def test_messages_of_the_contract(case: dict[str, Any]) -> None:
    """Where the gate decides, the brain asks for nothing that could start; else it understands the case."""
    wish = understand(case["text"], situation(case["context"]))
    if case["intent"] in OF_GATE:
        assert wish.intent in ("cancel_plan", "continue_batch", "ignore_or_cancel", "unclear")
    else:
        assert not lacks(case, wish), f"{case['text']!r} -> {wish}"


@pytest.mark.parametrize(
    "text",
    [
        "yes",
        "YES!",
        "yes please",
        "ok",
        "confirm",
        "Create it",
        "continue",
        "\U0001f44d",
        "sí",
        "да",
        "好",
        "y\u0435s",
    ],
)
@pytest.mark.parametrize("kind", ["plan", "merge", "preview", "batch", "question"])
def test_no_message_confirms(text: str, kind: str) -> None:
    """A brain has no word for a confirmation: only the gate does."""
    told = {"options": ["publish it", "run a model on it", "leave it as a draft"]}
    waiting = {"pending": {"type": kind, "id": "X1", **told}, "last_benchmark": 15}
    assert not understand(text, situation(waiting)).intent.startswith("confirm")


SECRETS = [
    "hf_abcDEFghijKLMnopQRSTuvwx",
    "sk-proj-0123456789abcdefABCDEF",
    "ghp_0123456789abcdefghijABCDEFGHIJ012345",
    "AKIAIOSFODNN7EXAMPLE",
]


@pytest.mark.parametrize("secret", SECRETS)
@pytest.mark.parametrize(
    "text", ["run frontier-large on 12 with key {}", "{}", "create a quiz called '{}'", "token={}"]
)
def test_a_secret_is_refused_and_forgotten(secret: str, text: str) -> None:
    wish = understand(text.format(secret), situation({}))
    assert wish == Wish("refuse_secret")


@pytest.mark.parametrize(
    "name",
    [
        "hf-internal-testing/tiny-random-LlamaForCausalLM",
        "hf-audio/wav2vec2-bert-CV16-en",
        "xai-org/grok-one-small",
        "npm-config-registry/readme",
    ],
)
def test_a_name_that_begins_as_a_key_does_is_no_secret(name: str) -> None:
    """Owners of the hub are called so; what follows reads as words."""
    wish = understand(f"run benchmark 12 on {name}", situation({}))
    assert (wish.intent, wish.arguments["model"]) == ("run_benchmark", name)
    assert hidden(f"run 12 on {name}", "X") == f"run 12 on {name}"
    assert Scrubber({}).text(f"run 12 on {name}.") == f"run 12 on {name}."


@pytest.mark.parametrize(
    "key",
    [
        f"hf_{'aB3xY9' * 6}",
        "hf_internaltestingtokenthatislong12",
        "hf-aB3xY9aB3xY9aB3xY9aB3xY9aB3xY9",
        "xai-9fK2mQ7pL4sT8vW1zX5cB3nR6yH0jG",
        "npm_aB3xY9aB3xY9aB3xY9aB3xY9aB3xY9aB3xY9",
    ],
)
def test_a_key_of_that_beginning_is_still_hidden(key: str) -> None:
    assert key not in Scrubber({}).text(f"use {key} for it")
    assert holds_secret(f"use {key} for it")


@pytest.mark.parametrize(
    "path",
    [
        "C:\\Users\\Ana Maria\\new\\table = v2 (final), copy.csv",
        "\\\\server\\share\\a b\\quiz, 2.tsv",
        "/home/li wei/exam, final = 2.xlsx",
        "~/my data/a=b,c (2).jsonl",
        "../up one/questions.csv",
        "files/solar system = v2 (final), copy.csv",
        "solar system = v2 (final), copy.csv",
    ],
)
@pytest.mark.parametrize(
    "text",
    [
        "import {}",
        "make a benchmark of {} please",
        "here: {}  - a benchmark, please",
        'use "{}" as a benchmark called Elbe',
    ],
)
def test_a_path_is_never_cut(path: str, text: str) -> None:
    """Spaces, `=`, commas and backslashes are part of it, whatever stands around it."""
    wish = understand(text.format(path), situation({}))
    assert (wish.intent, wish.arguments["path"]) == ("import_file", path)


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400))
def test_any_text_is_understood_without_a_fault(text: str) -> None:
    assert isinstance(understand(text, situation({})), Wish)


_BITS = st.sampled_from(
    [
        "run",
        "12",
        "1081",
        "#",
        "@",
        "create",
        "a",
        "quiz",
        "of",
        "about",
        ",",
        ".",
        "\n",
        '"',
        "'",
        "(",
        "}",
        "{",
        "--",
        "=",
        "\\",
        "/",
        "C:\\a",
        ".csv",
        "files/",
        "qwen",
        "0.5b",
        "二十五道题",
        "五",
        "q3",
        "answer",
        "should",
        "be",
        "and",
        "then",
        "same",
        "plan",
        "3",
        "epochs",
        "lr",
        "2e-4",
        "9e999",
        "½",
        "²",
        "٣",
        "dataset",
        "mode",
        "all",
        "yes",
        "stop",
        "it",
        "job",
        "8",
        "|",
        ";",
        "\t",
        "a,b",
    ]
)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(_BITS, max_size=40),
    st.sampled_from(["plan", "preview", "question", "batch", "merge", None]),
)
def test_any_mix_of_its_own_words_is_understood_without_a_fault(
    bits: list[str], kind: str | None
) -> None:
    waiting = (
        {"type": kind, "id": "X1", "n": 10, "options": ["publish it", "run", "leave"]}
        if kind
        else None
    )
    wish = understand(
        " ".join(bits), situation({"pending": waiting, "last_benchmark": 15, "last_run": 1081})
    )
    json.dumps(wish.arguments, default=str)


@pytest.mark.parametrize(
    "unit",
    ["a", "a ", "1", "1,", "1 2 ", "((", '"', "'", "create ", "a/b ", "\\", "C:\\a ", ".csv ", "=", "run 1080, ", "qwen-",
     "fünf", "und", "二", "の", "q3 ", "{", "a,b\n", "question,A,B,answer\n", "\n", "\x00", "e\u0301", "then run ", "@", "“"],
)  # fmt: skip
@pytest.mark.slow
def test_reading_hostile_text_ends(unit: str) -> None:
    """100 kB of the worst repetition; experiments/speed/rules.py measures what it and a plain message take."""
    text = (unit * (100_000 // len(unit) + 1))[:100_000]
    with bounded():
        understand(text, situation({}))


@pytest.mark.parametrize("place", ["first", "last"])
def test_what_stands_at_either_end_of_a_long_message_is_read(place: str) -> None:
    """How much of its middle was not is told; a pasted table is read whole."""
    padding = "It rained today, and the harbour was grey. " * 1000
    asked = "status of run 1081."
    text = f"{asked} {padding}" if place == "first" else f"{padding} {asked}"
    wish = understand(text, situation({}))
    assert (wish.intent, wish.arguments) == ("run_status", {"run": 1081})
    assert 0 < unread(text) < len(text)
    assert unread(asked) == 0
    assert unread("question,A,B,answer\n" + "Is it so?,yes,no,A\n" * 2000) == 0
