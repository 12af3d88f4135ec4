"""The words of the command line: what each does, and which keys it reads."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """What a word of the command line does."""

    name: str
    usage: str
    about: str
    makes: bool
    """Whether it makes something: then it is a Hydra job."""


VERBS = {
    verb.name: verb
    for verb in (
        Verb(
            "create",
            "benchmark=NAME | author=file author.path=F | sibling_of=1",
            "write a benchmark, a draft",
            True,
        ),
        Verb(
            "edit",
            "benchmark_id=1 question=3 change='{target: B}'",
            "change one question; of a published one in a new draft",
            False,
        ),
        Verb("rename", "benchmark_id=1 name=N", "give a draft another name", False),
        Verb("delete", "benchmark_id=1", "take away a draft and its files", False),
        Verb(
            "publish",
            "benchmark_id=1 | model=NAME repo=org/name [private=no]",
            "freeze a draft, so that it can be run; or plan a model's upload to the hub",
            False,
        ),
        Verb(
            "unpublish",
            "benchmark_id=1",
            "make a published benchmark that nothing uses a draft again",
            False,
        ),
        Verb(
            "export",
            "benchmark_id=1 path=F [format=codabench] | run_id=1 path=F | session=NAME path=F",
            "a benchmark or a run for other tools, a chat to be done again",
            False,
        ),
        Verb("import", "path=F", "a bundle as a draft; its program is not run", True),
        Verb("run", "benchmark_id=1 model=smollm2_135m [limit=10]", "ask a model", True),
        Verb(
            "status",
            "run_id=1 | job_id=1 | write_id=1",
            "state and progress, score once finished",
            False,
        ),
        Verb(
            "resume",
            "run_id=1 [retry_errors=yes] | job_id=1 | write_id=1",
            "go on with what was interrupted",
            False,
        ),
        Verb(
            "dataset",
            "run_id=1 mode=failures [rows=10] [format=csv path=F]",
            "rows of a run",
            False,
        ),
        Verb(
            "preflight",
            "benchmark_id=1 model=NAME [limit=64]",
            "sample as recipe=grpo would: is there anything to learn from",
            True,
        ),
        Verb("plan", "recipe=from_run run_id=[1,2] mode=distill", "what a training would do", True),
        Verb(
            "merge",
            "job_id=1 name=N | model=NAME name=N",
            "what merging an adapter into its base would do",
            True,
        ),
        Verb("confirm", "plan_id=1 answer=yes", "start a plan; anything but yes cancels it", True),
        Verb("logs", "job_id=1 | write_id=1 lines=20", "the last lines of its process", False),
        Verb("stop", "job_id=1 | run_id=1", "end a job, or a run in the background", False),
        Verb("rescore", "run_id=1 [program=latest]", "score stored replies again", False),
        Verb("compare", "runs=[1,2,3] [baseline=1]", "scores and paired differences", False),
        Verb(
            "report",
            "runs=[1,2,3] | sweep=NAME",
            "a page and a Markdown file of these runs, or of a sweep",
            True,
        ),
        Verb(
            "verify",
            "experiment=solar_system [rerun=yes] | runs=[1,2] | run_id=1",
            "is all as it was recorded: questions, traces, models, plan, report, versions",
            False,
        ),
        Verb(
            "loop", "experiment=solar_system [confirm=yes]", "measure, train, measure again", True
        ),
        Verb(
            "chat", "[session=NAME] [agent=llm agent.model=M]", "say what you want, in words", False
        ),
        Verb("benchmarks", "", "list benchmarks", False),
        Verb("writes", "", "list benchmarks that a model is writing", False),
        Verb("runs", "", "list runs", False),
        Verb("models", "", "list models", False),
        Verb("plans", "", "list plans", False),
        Verb("jobs", "", "list jobs", False),
        Verb("doctor", "", "what this machine has and what is missing", False),
    )
}

KEYS = {
    "sibling_of": "id of a benchmark: make another of its kind with no question in common",
    "dry": "yes: show what would be made, make nothing",
    "name": "name of the benchmark or model that is made",
    "benchmark_id": "id of a benchmark",
    "model": "reference, an option of conf/model/, a trained model, a Hugging Face id or a folder",
    "model_id": "id of a model, as models lists it",
    "limit": "ask only the first questions",
    "seed": "of sampling and training; greedy answers do not depend on it",
    "repeats": "ask each question so often; needs a temperature above 0",
    "sampling": "in place of the benchmark's: sampling.temperature=0.7, top_p, top_k, max_new_tokens",
    "retry_errors": "yes: ask again what got no reply",
    "run_id": "id of a run, or a list of them: run_id=[1,2]",
    "hash": "make it only if it is what the preview of that hash showed",
    "background": "yes: a model writes all of it in a process of its own",
    "question": "number of the question, from 1",
    "change": "its fields with new values: prompt, choices, target, rationale, category, difficulty",
    "write_id": "id of a benchmark that a model is writing",
    "author": "table, procedural, file, document or llm, with its settings: author.path=F",
    "kind": "mcq, qa, numeric, tool or keypoints, where the author leaves a choice",
    "count": "how many questions",
    "job_id": "id of a training job; of run and preflight: the model that it made",
    "plan_id": "id of a plan",
    "answer": "yes starts the plan, anything else cancels it",
    "mode": "failures (scored and wrong), distill (scored and right) or all",
    "rows": "at most so many rows",
    "offset": "the page that begins after so many rows; rows=25 on it unless told",
    "every": "yes: test every two runs, not each against the baseline alone",
    "format": "dataset: jsonl, parquet, csv or hf; export: codabench, inspect, lm_eval, hf, csv or jsonl; of a chat: notebook or commands",
    "path": "file to write, or to import",
    "dataset": "file of prompt + completion, or messages, to train on",
    "base_model": "the model that learns",
    "runs": "ids of runs: runs=[1,2,3]",
    "baseline": "id of the run that the others are compared with",
    "program": "scoring program: latest, own, or the first digits of one's sha256",
    "lines": "at most so many lines",
    "repo": "a repository of the Hugging Face hub, owner/name; HF_TOKEN is read from the environment",
    "private": "no: everybody may see it",
    "confirm": "yes: the word on the plan, given beforehand",
    "rerun": "yes: repeat the experiment in a workspace of its own, its training with it, and compare",
    "session": "name of a chat: go on with it, or call a new one so",
    "sweep": "name of a sweep",
    "agent": "who reads the messages: rules (embedded), or llm with agent.model=M",
    "limits": "of one turn: limits.turn_s=900, limits.questions_per_turn=150; limits.plan_s=3600 for a yes",
}
VERB_KEYS = {
    "create": "author kind count name sibling_of dry hash background",
    "edit": "benchmark_id question change",
    "rename": "benchmark_id name",
    "delete": "benchmark_id",
    "publish": "benchmark_id model repo private",
    "unpublish": "benchmark_id",
    "export": "benchmark_id run_id session format path",
    "import": "path",
    "run": "benchmark_id model model_id job_id limit seed repeats sampling",
    "status": "run_id job_id write_id",
    "resume": "run_id retry_errors job_id write_id background",
    "dataset": "run_id mode rows offset format path",
    "preflight": "benchmark_id model model_id job_id limit seed",
    "plan": "run_id mode benchmark_id dataset base_model job_id name seed",
    "merge": "job_id model name limit format",
    "confirm": "plan_id answer",
    "logs": "job_id write_id lines",
    "stop": "job_id run_id",
    "rescore": "run_id program",
    "compare": "runs baseline every program",
    "report": "runs name sweep",
    "verify": "runs run_id rerun",
    "loop": "model confirm seed limit",
    "chat": "session agent limits",
}
VERB_GROUPS = {
    "create": "benchmark author model hardware",
    "run": "model hardware",
    "resume": "hardware",
    "preflight": "recipe model hardware",
    "plan": "recipe trainer hardware",
    "merge": "hardware",
    "verify": "experiment",
    "loop": "experiment recipe trainer hardware",
    "chat": "agent",
}
"""Config groups that a verb reads."""
EXAMPLES = {
    "create": "benchgen create author=file author.path=questions.csv name=mine",
    "edit": "benchgen edit benchmark_id=1 question=3 change='{target: B, rationale: Because …}'",
    "rename": "benchgen rename benchmark_id=1 name='Stars and moons'",
    "export": "benchgen export benchmark_id=1 format=inspect path=out",
    "import": "benchgen import path=bundle.zip",
    "run": "benchgen run benchmark_id=1 model=Qwen/Qwen2.5-0.5B-Instruct limit=10",
    "status": "benchgen status run_id=1",
    "resume": "benchgen resume run_id=1",
    "dataset": "benchgen dataset run_id=1 mode=failures rows=10",
    "preflight": "benchgen preflight benchmark_id=1 model=smollm2_135m recipe.grpo.max_completion_length=96",
    "plan": "benchgen plan recipe=from_run run_id=1 mode=distill base_model=smollm2_135m recipe.max_steps=50",
    "publish": "benchgen publish benchmark_id=1",
    "merge": "benchgen merge job_id=1 name=my-model",
    "logs": "benchgen logs job_id=1 lines=20",
    "rescore": "benchgen rescore run_id=1 program=latest",
    "compare": "benchgen compare runs=1,2,3",
    "report": "benchgen report runs=1,2,3",
    "verify": "benchgen verify experiment=solar_system",
    "loop": "benchgen loop experiment=solar_system confirm=yes",
    "chat": "benchgen chat",
}
"""A line to begin with, where the usage alone is none."""
