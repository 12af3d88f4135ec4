"""Do the exported tasks give, in the real tools, the scores that benchgen gives? Writes result.json.

    experiments/interchange/setup.sh
    .venv/bin/python experiments/interchange/run.py

The questions and replies are the scoring cases of the tests, which are the hard ones, and a few plain ones;
each reply is a question of its own. Nothing is fetched: both tools run offline.
"""

from __future__ import annotations

import itertools
import json
import os
import platform
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.author.write import fault
from benchgen.benchmark import registry
from benchgen.benchmark.bundle import Bundle, packed_program
from benchgen.benchmark.exchange.formats import FORMATS, read_any, write_as
from benchgen.benchmark.exchange.inspect_log import RunLog, write_inspect_log
from benchgen.benchmark.prompts import render
from benchgen.run.runner import Task, scored, trace_of
from benchgen.types import KINDS, LETTERS, Evaluation, Question, Reply, Request

HERE = Path(__file__).parent
CASES = HERE.parents[1] / "tests" / "cases"
PYTHON = HERE / ".venv" / "bin" / "python"
OFFLINE = {"HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1", "INSPECT_LOG_LEVEL": "error"}
EVALUATION = Evaluation(
    system="Answer as shortly as you can.",
    instruct_in="system",
    max_new_tokens=80,
    stop=("\n\n\n",),
)
SAME_AS = {"exact": "qa", "mcq_pair": "mcq"}
FINISHED = ("stop", "length", "content_filter")

PLAIN = {
    "mcq": (("Which planet is red?", "B", ("Venus", "Mars", "Earth")),),
    "qa": (("Which planet is red?", ["Mars", "the red planet"], ()),),
}
SAID = {
    "mcq": (
        "Answer: B",
        "B",
        "mars",
        "**(b)**",
        "Answer: A",
        "A or B",
        "not B but C",
        "I think so.",
        "",
    ),
    "qa": (
        "Answer: Mars",
        "mars.",
        "The Red Planet",
        "Answer: Venus",
        "It is Mars",
        "Mars or Venus",
        " ",
    ),
}


@dataclass(frozen=True)
class Asked:
    """A question with the reply that is given to it."""

    question: Question
    reply: str
    finish: str = "stop"


def asked() -> list[Asked]:
    """Every case that is one reply in text, and the plain ones."""
    rows: list[dict[str, Any]] = []
    for path in (CASES / "scoring.jsonl", *sorted((CASES / "scoring_own").glob("*.jsonl"))):
        rows += [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    found = [case for row in rows if (case := of_case(row))]
    for kind, questions in PLAIN.items():
        for (prompt, target, choices), (i, reply) in itertools.product(
            questions, enumerate(SAID[kind])
        ):
            found.append(Asked(Question(kind, f"{prompt} ({i})", target, choices), reply))
    return found


def of_case(row: Mapping[str, Any]) -> Asked | None:
    """A case of the tests as a question with its reply; None for one that no benchmark holds."""
    options = dict(row.get("params") or {})
    finish = row.get("finish_reason") or options.pop("finish_reason", None) or "stop"
    reply = row.get("reply", row.get("output"))
    if not isinstance(reply, str) or "judge_reply" in options or "messages" in row:
        return None
    choices = tuple(row.get("choices") or row.get("options") or ())
    if finish not in FINISHED or len(choices) > len(LETTERS):
        return None
    question = Question(
        kind=SAME_AS.get(row["kind"], row["kind"]),
        prompt=f"{row.get('question') or 'Which one?'} [{row['id']}]",
        target=row["target"],
        choices=choices,
        options=options,
    )
    try:
        return None if fault(question, EVALUATION) else Asked(question, reply, finish)
    except (KeyError, TypeError):  # a case of a target that cannot be read
        return None


def in_tool(script: str, *arguments: Path) -> dict[str, Any]:
    """What a script of this folder found in the separate environment."""
    with tempfile.TemporaryDirectory() as place:
        out = Path(place) / "out.json"
        command = [str(PYTHON), str(HERE / script), *map(str, arguments), str(out)]
        environment = {**os.environ, **OFFLINE, "HF_HOME": place}
        done = subprocess.run(
            command, env=environment, capture_output=True, text=True, check=False, cwd=place
        )
        if done.returncode:
            raise SystemExit(f"{script}:\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")
        told: dict[str, Any] = json.loads(out.read_text())
    return told


def agreement(
    cases: list[Asked], ours: Mapping[str, Any], theirs: Mapping[str, Any]
) -> dict[str, dict[str, int]]:
    """By kind: how many, how many with the same score and strict score, and how ours are."""
    table: dict[str, dict[str, int]] = {}
    for kind in KINDS:
        keys = [case.question.key for case in cases if case.question.kind == kind]
        table[kind] = {
            "n": len(keys),
            "acc_same": sum(same(ours[k]["correct"], theirs[k]["acc"]) for k in keys),
            "strict_same": sum(same(ours[k]["strict"], theirs[k]["strict"]) for k in keys),
            "right": sum(ours[k]["correct"] is True for k in keys),
            "wrong": sum(ours[k]["correct"] is False for k in keys),
            "not_measured": sum(ours[k]["correct"] is None for k in keys),
        }
    return table


def same(ours: bool | None, theirs: float | None) -> bool:
    """Whether both say the same; None = not measured, in both."""
    return theirs is None if ours is None else theirs == float(ours)


def means(verdicts: Mapping[str, Any]) -> dict[str, float]:
    """Right of measured, and strictly right of measured."""
    measured = [v for v in verdicts.values() if v["correct"] is not None]
    return {
        "acc": sum(v["correct"] for v in measured) / len(measured),
        "strict": sum(v["strict"] for v in measured) / len(measured),
    }


def compared(
    cases: list[Asked], ours: Mapping[str, Any], told: Mapping[str, Any]
) -> dict[str, Any]:
    """What one tool found beside what benchgen found."""
    words = {c.question.key: list(render(c.question, EVALUATION)) for c in cases}
    found = {
        "kinds": agreement(cases, ours, told["scores"]),
        "asked_in_the_same_words": sum(
            told["asked"][key]["messages"] == messages for key, messages in words.items()
        ),
    }
    if "means" in told:
        found["means"] = {"benchgen": means(ours), "tool": told["means"]}
    settings = [each.get("settings") for each in told["asked"].values()]
    if settings[0]:
        found["settings"] = settings[0]
        assert all(each == settings[0] for each in settings)
    return found


def main() -> None:
    """Export, ask in each tool, compare, write result.json."""
    cases = asked()
    questions = tuple(case.question for case in cases)
    bench = Bundle("Interchange", questions, EVALUATION, packed_program(registry.program_sources()))
    sha = registry.program_sha256(registry.PROGRAM)
    score = registry.load_program(registry.PROGRAM, {sha})
    ours = {c.question.key: scored(c.question, c.reply, c.finish, score) for c in cases}
    as_ended = {c.question.key: scored(c.question, c.reply, "stop", score) for c in cases}
    traces = tuple(
        trace_of(
            c.question,
            Request(render(c.question, EVALUATION)),
            Reply(c.reply, c.finish, tokens_in=10, tokens_out=5, seconds=0.1),
            Task((c.question,), EVALUATION, score),
        )
        for c in cases
    )
    with tempfile.TemporaryDirectory() as place:
        out = Path(place)
        folders = {form: write_as(bench, out / form, form) for form in FORMATS}
        replies = out / "replies.json"
        replies.write_text(
            json.dumps({c.question.key: {"reply": c.reply, "finish": c.finish} for c in cases})
        )
        run = RunLog(
            "Interchange", "prepared", "2026-01-01", questions, traces, EVALUATION, sha, {"run": 1}
        )
        log = write_inspect_log(run, out / "run.json")
        harness = in_tool("ask_lm_eval.py", folders["lm_eval"], replies)
        inspect = in_tool("ask_inspect.py", folders["inspect"], replies, log)
        library = in_tool("ask_datasets.py", folders["huggingface"], replies)
        back = {form: read_any(folder) == bench for form, folder in folders.items()}
    read = inspect["log"]
    result: dict[str, Any] = {
        "versions": {
            **{k: v for t in (harness, inspect, library) for k, v in t["versions"].items()},
            "python": platform.python_version(),
            "scoring_program": registry.version_of(score),
            "scoring_program_sha256": sha,
        },
        "n": len(cases),
        "cut_or_filtered": sum(case.finish != "stop" for case in cases),
        # The harness tells no finish reason: there benchgen's figure is that of replies that ended.
        "lm_eval": compared(cases, as_ended, harness),
        "inspect_ai": compared(cases, ours, inspect),
        "datasets": compared(cases, ours, library),
        "inspect_log": {
            "kinds": agreement(cases, ours, read["scores"]),
            "replies_same": sum(read["replies"][c.question.key] == c.reply for c in cases),
            "means": {"benchgen": means(ours), "tool": read["means"]},
        },
        "read_back_equal_after_the_tools_used_them": back,
    }
    (HERE / "result.json").write_text(json.dumps(result, indent=1) + "\n")
    for tool in ("lm_eval", "inspect_ai", "datasets", "inspect_log"):
        for kind, row in result[tool]["kinds"].items():
            print(
                f"{tool:12} {kind:10} n {row['n']:4}  same {row['acc_same']:4}  strict {row['strict_same']:4}"
            )


if __name__ == "__main__":
    main()
