"""Fakes that users may use too: a workspace in a described state, in which nothing real starts.

`workspace_from(account, path)` builds the records of an account: benchmarks, runs, jobs and models with
the ids, states and counts that it gives; questions and replies are made up to fit. Runs and jobs that are
begun there are recorded as `queued` and no process starts; a scripted model writes questions on any topic
and any document. `agent_in(ws, context)` is a chat in it, with what waits and what `it` means.
"""

from __future__ import annotations

import dataclasses
import json
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.agent.session import Agent
from benchgen.agent.situation import Waiting
from benchgen.agent.tools import Tools, drafts
from benchgen.agent.tools.writing import TOOLS
from benchgen.agent.turn import Turn
from benchgen.benchmark.prompts import worked_answer
from benchgen.errors import BenchgenError, InputError, ModelError
from benchgen.jobs import HEARTBEAT, LOG
from benchgen.models.mock import MockModel
from benchgen.records import Benchmark, Job, Run, begun
from benchgen.stages import datasets, running
from benchgen.stages.freezing import fill, new_row
from benchgen.store import (
    BenchmarkRow,
    JobRow,
    ModelRow,
    PlanRow,
    RunRow,
    WriteRow,
    file_sha256,
    make_folder,
    write_atomic,
    write_json,
    write_jsonl,
)
from benchgen.types import LETTERS, UNDER_WAY, Question, Reply, Request, sha256
from benchgen.workspace import Workspace

WRITER = "scripted"
"""Name of the model that writes questions in such a workspace."""
DATASET = "yahma/alpaca-cleaned"
"""The hub dataset that counts as present."""
BASE = "Qwen/Qwen2.5-0.5B-Instruct"
"""What a plan trains, and an earlier job trained, where the context does not say."""
FAR = 32503680000.0
"""Seconds since the epoch of a heartbeat that is never silent: the year 3000."""
NAMED = re.compile(
    r"^(adapter of job (?P<job>\d+) on (?P<base>\S+)|merged|OpenAI-compatible endpoint)"
)
FUNCTIONS = [
    {
        "name": "look_up",
        "description": "Find what is known about a subject.",
        "parameters": {
            "type": "object",
            "properties": {"subject": {"type": "string"}, "entry": {"type": "integer"}},
            "required": ["subject", "entry"],
        },
    }
]
"""What questions of kind tool may call."""


class AccountWorkspace(Workspace):
    """A workspace in which nothing real starts: what would is recorded as `queued`, as if on another machine."""

    writer = WRITER

    def __init__(self, path: str | Path, *, user: str | None = None) -> None:
        super().__init__(path, user=user)
        scripted = {WRITER: MockModel(write_questions, name=WRITER)}
        self.place = dataclasses.replace(self.place, started_by=elsewhere, scripted=scripted)


def elsewhere(workspace: Path, id: int, folder: Path, module: str) -> None:
    """A record as one that a process on another host works on: nothing is started."""
    told = {"host": "another host", "pid": 0, "started": 0.0, "beat": FAR}
    write_json(make_folder(folder) / HEARTBEAT, told)


# ---- the scripted author -----------------------------------------------------------------------------

_WORDS = tuple(
    line.split()
    for line in (
        "amber birch copper delta ember fjord garnet harbour indigo juniper",
        "anchor basket candle drum easel funnel goblet hammer inkwell jug",
        "north south east west upper lower inner outer old new",
        "mill bridge tower market garden quarry chapel ferry lane well",
        "river hill coast valley island forest meadow marsh canyon plain",
        "clerk baker mason pilot tailor potter miner weaver cooper farmer",
    )
)
"""Parts of made-up names."""
MANY, STRIDE = 10 ** len(_WORDS), 387_421
"""Names that there are, and the step from one question to the next: neighbours have no part in common."""
_SHAPES = (
    "Which entry of {topic} does {name} stand for?",
    "Under which name is {name} known in {topic}?",
    "In {topic}, what belongs to {name}?",
    "What is recorded about {name} in {topic}?",
)


def made_up(number: int) -> str:
    """A name that no other number below `MANY` has."""
    digits = [(number // 10**place) % 10 for place in range(len(_WORDS))]
    return " ".join(words[digit] for words, digit in zip(_WORDS, digits, strict=True))


def write_questions(request: Request) -> str | Reply:
    """The JSON of the questions that a writing request asks for, each of them new and right by its own words."""
    asked = request.messages[-1]["content"]
    count = int(_found(r"Write (\d+) exam questions", asked) or 0)
    if not count:
        return Reply("", error="no blind solve is scripted")  # which disputes no key
    topic = _found(r"exam questions about: (.+)", asked) or "the subject"
    start = int(sha256([asked, request.seed])[:12], 16)  # another request, other questions
    levels = [
        level for n, level in re.findall(r"(\d+) (easy|medium|hard)", asked) for _ in range(int(n))
    ]
    kind, quotes = _kind(asked), _sentences(asked)
    options = int(_found(r"\[(\d+) texts without letters\]", asked) or 4)
    made = (_item(kind, topic, (start + place * STRIDE) % MANY, options) for place in range(count))
    items = list(islice(_grounded(kind, asked, quotes, options) if quotes else made, count))
    for place, item in enumerate(items):
        item["difficulty"] = levels[place] if place < len(levels) else "medium"
        # of key points the explanation is the answer
        told = (
            " ".join(item["points"]) if kind == "keypoints" else f"The register of {topic} says so."
        )
        item["explanation"] = told
    return json.dumps({"questions": items})


def _found(pattern: str, text: str) -> str | None:
    found = re.search(pattern, text)
    return (found[1] if found.groups() else found[0]) if found else None


def _kind(asked: str) -> str:
    """The kind whose shape the request shows."""
    for sign, kind in (
        ('"options":', "mcq"),
        ('"calls":', "tool"),
        ('"points":', "keypoints"),
        ('"answers":', "qa"),
    ):
        if sign in asked:
            return kind
    return "numeric"


def _item(kind: str, topic: str, number: int, options: int) -> dict[str, Any]:
    name, about = made_up(number), topic[:60]
    prompt = _SHAPES[number % len(_SHAPES)].format(topic=about, name=f"the {name}")
    answer = f"entry {made_up(number + 5000)}"
    if kind == "mcq":
        others = [f"entry {made_up(number + 5000 + 7_777 * n)}" for n in range(1, options)]
        return {"prompt": prompt, "options": [answer, *others], "answer": answer}
    if kind == "numeric":
        return {
            "prompt": f"How many entries of {about} are kept under the {name}?",
            "answer": number + 1,
        }
    if kind == "tool":
        call = {"name": "look_up", "arguments": {"subject": name, "entry": number}}
        return {"prompt": f"Look up entry {number} on the {name} in {about}.", "calls": [call]}
    if kind == "keypoints":
        return {"prompt": prompt, "points": [f"It names the {name}.", f"It names {answer}."]}
    return {"prompt": prompt, "answers": [answer]}


def _sentences(asked: str) -> list[str]:
    """Sentences of the document that a request shows, long enough to be quoted; those of prose first."""
    if asked.count("-----") < 2:
        return []
    text = asked.split("-----", 1)[1].rsplit("-----", 1)[0]
    parts = [part.strip() for part in re.split(r"(?<=[.!?])\s+|\n+", text)]
    long = [part for part in parts if len(re.findall(r"\w+", part)) >= 4 and 12 <= len(part) <= 400]
    return sorted(dict.fromkeys(long), key=lambda part: "|" in part)


def _grounded(
    kind: str, asked: str, quotes: Sequence[str], options: int
) -> Iterator[dict[str, Any]]:
    """Items that the document answers, each quoting a sentence and asking for a word of it; none asked before."""
    for turn in range(2):
        for quote in quotes:
            parts = re.findall(r"\w+", quote)
            place = turn + 1 + (len(parts) - 2) // 2 * turn
            before, word = (
                " ".join(parts[max(0, place - 2) : place]),
                parts[min(place, len(parts) - 1)],
            )
            prompt = f"In the sentence '{quote[:120]}', which word follows '{before}'?"
            if kind == "numeric":
                prompt = (
                    f"How many words has the sentence '{quote[:120]}', counted with {turn} more?"
                )
            if prompt in asked:
                continue
            item: dict[str, Any] = {"prompt": prompt, "quote": quote}
            if kind == "mcq":
                others = [made_up(len(prompt) + 7_777 * n) for n in range(1, options)]
                item |= {"options": [word, *others], "answer": word}
            elif kind == "numeric":
                item["answer"] = len(parts) + turn
            elif kind == "keypoints":
                item["points"] = [f"It names {word}."]
            elif kind == "tool":
                item["calls"] = [{"name": "look_up", "arguments": {"subject": word, "entry": turn}}]
            else:
                item["answers"] = [word]
            yield item


# ---- an account --------------------------------------------------------------------------------------


def workspace_from(
    account: str | Path | Mapping[str, Any],
    path: str | Path,
    files: Sequence[str | Path] | None = None,
) -> AccountWorkspace:
    """A workspace in the state of an account: a mapping, or the JSON file of one.

    The files of each folder of `files` (default: `files/` beside the account's file) are copied to
    `<path>/files`.
    """
    told = account if isinstance(account, Mapping) else json.loads(Path(account).read_text("utf-8"))
    if files is None:
        beside = None if isinstance(account, Mapping) else Path(account).parent / "files"
        files = [beside] if beside is not None and beside.is_dir() else []
    ws = AccountWorkspace(path, user="ada")
    kept = make_folder(ws.path / "files")
    for one in map(Path, files):
        for file in sorted(one.iterdir()) if one.is_dir() else [one]:
            if file.is_file():
                shutil.copyfile(file, kept / file.name)
    write_json(ws.path / TOOLS, FUNCTIONS)
    _dataset(ws)
    ws.store.add(ModelRow(owner=ws.user, name=WRITER, kind="mock", spec={"source": ""}))
    _Account(ws, told).build()
    return ws


def _dataset(ws: Workspace) -> None:
    """The hub dataset, as if it had been fetched."""
    rows = [
        {
            "instruction": f"Say what the {made_up(n)} is.",
            "input": "",
            "output": f"It is entry {n}.",
        }
        for n in range(64)
    ]
    folder = make_folder(datasets.folder(ws.place))
    write_jsonl(folder / f"{DATASET.replace('/', '--')}.jsonl", rows)


class _Account:
    """The records of an account, made in the order in which they depend on each other."""

    def __init__(self, ws: AccountWorkspace, told: Mapping[str, Any]) -> None:
        self.ws, self.told = ws, told
        self.notes: Mapping[str, str] = told.get("model_notes", {})

    def build(self) -> None:
        """All of it; InputError where a record needs one that the account lacks."""
        for bench in self.told.get("benchmarks", ()):
            benchmark(self.ws, bench)
        for name in self.told.get("models", ()):
            if (made := self._made_by(name)) is None:
                self._model(name)
            elif made == 0:
                self._merged(name)
        left: list[Callable[[], bool]] = [
            *(self._run_of(run) for run in self.told.get("runs", ())),
            *(self._job_of(job) for job in self.told.get("jobs", ())),
        ]
        while left:
            waiting = [make for make in left if not make()]
            if len(waiting) == len(left):
                raise InputError(
                    "records of the account need others that it does not have", got=len(left)
                )
            left = waiting

    def _made_by(self, name: str) -> int | None:
        """Id of the job that made a model, 0 for a merged one, None for one that was not made here."""
        found = NAMED.match(self.notes.get(name, ""))
        if found is None or "endpoint" in found[0]:
            return None
        return int(found["job"] or 0)

    def _model(self, name: str) -> None:
        if "endpoint" in self.notes.get(name, ""):
            option = config.ModelConfig(
                name=name, kind="endpoint", base_url="http://127.0.0.1:9/v1"
            )
            self.ws.model(option)
        else:
            base(self.ws, name)

    def _merged(self, name: str) -> None:
        folder = f"models/{name}"
        hollow_base(self.ws.path / folder)
        self.ws.store.add(
            ModelRow(
                owner=self.ws.user, name=name, kind="merged", spec={"folder": folder, "sha256": {}}
            )
        )

    def _has(self, name: str) -> bool:
        return bool(self.ws.store.all(ModelRow, ModelRow.name == name))

    def _run_of(self, told: Mapping[str, Any]) -> Callable[[], bool]:
        def make() -> bool:
            ready = self._has(told["model"])
            if ready:
                run(self.ws, told)
            return ready

        return make

    def _job_of(self, told: Mapping[str, Any]) -> Callable[[], bool]:
        def make() -> bool:
            runs = [r.id for r in self.ws.store.all(RunRow, RunRow.state == "finished")]
            ready = told.get("run") is None or told["run"] in runs
            if ready:
                job(self.ws, told)
            return ready

        return make


def benchmark(ws: AccountWorkspace, told: Mapping[str, Any]) -> Benchmark:
    """A benchmark with the id, name, kind, number of questions and state that are told, each with a default but the id."""
    told = {"name": f"Benchmark {told['id']}", "kind": "mcq", "n": 10, "state": "draft", **told}
    spec = config.load_benchmark("by_model_topic")
    spec = dataclasses.replace(
        spec,
        name=told["name"],
        kind=told["kind"],
        count=told["n"],
        mix={},
        categories={"basics": 2, "details": 1},
        language=told.get("language", "en"),
        author=dataclasses.replace(spec.author, topic=told["name"], model=WRITER, checker="none"),
        evaluation=dataclasses.replace(spec.evaluation, max_new_tokens=64),
    )
    if spec.kind == "tool":
        spec.author.tools = str(ws.path / TOOLS)
    draft = ws.author(spec)
    if spec.kind == "tool":
        draft = dataclasses.replace(draft, config=_movable(draft.config))
        write = ws.store.all(WriteRow)[-1]
        ws.store.change(WriteRow, write.id, spec=_movable(write.spec))
    row = new_row(ws.place, draft)
    row.id = told["id"]
    with begun(ws.place, row) as bench:
        fill(bench, draft)
    if told.get("state", "draft") == "published":
        bench.publish()
    return bench


def _movable(told: Mapping[str, Any]) -> dict[str, Any]:
    """A config that names its functions by their file alone: they are those of the workspace, wherever it lies."""
    return {**told, "author": {**told["author"], "tools": TOOLS}}


def base(ws: Workspace, name: str) -> ModelRow:
    """A hub model as one whose files are here: small ones, that can be planned with and not loaded."""
    rows = ws.store.all(ModelRow, ModelRow.name == name)
    if rows:
        return rows[0]
    folder = f"datasets/models/{name.replace('/', '--')}"
    hollow_base(ws.path / folder)
    spec = {"source": name, "revision": None, "folder": folder}
    return ws.store.add(ModelRow(owner=ws.user, name=name, kind="base", spec=spec))


def hollow_base(folder: Path) -> Path:
    """The folder, of a base that can be planned with: config, tokenizer, and a file of no real weights."""
    import numpy as np
    from safetensors.numpy import save_file
    from tokenizers import Tokenizer, models, pre_tokenizers

    make_folder(folder)
    tokenizer = Tokenizer(models.WordLevel({"[UNK]": 0, "star": 1}, unk_token="[UNK]"))  # noqa: S106 - no password
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.save(str(folder / "tokenizer.json"))
    shape = {
        "model_type": "llama",
        "hidden_size": 8,
        "intermediate_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "vocab_size": 2,
        "tie_word_embeddings": True,
    }
    write_json(folder / "config.json", shape)
    save_file({"model.norm.weight": np.ones(8, np.float32)}, folder / "model.safetensors")
    return folder


def run(ws: AccountWorkspace, told: Mapping[str, Any]) -> Run:
    """A run with the id, state and counts that are told; its replies are made up and really scored."""
    rows = ws.store.all(ModelRow, ModelRow.name == told["model"])
    model = rows[0] if rows else base(ws, told["model"])
    if not ws.store.all(BenchmarkRow, BenchmarkRow.id == told["benchmark"]):
        benchmark(ws, {"id": told["benchmark"], "state": "published", "n": told.get("total", 10)})
    bench = Benchmark.of(ws.place, told["benchmark"])
    state, questions = told["state"], bench.questions
    row = ws.store.add(
        RunRow(
            id=told["id"],
            owner=ws.user,
            benchmark_id=bench.id,
            model_id=model.id,
            settings={"limit": None, "seed": 0, "repeats": 1, "sampling": {}},
        )
    )
    made = Run(ws.place, row.id)
    done = len(questions) if state == "finished" else int(told.get("done", 0))
    right = told.get("n_right", told.get("right_so_far"))
    if right is None:
        right = round(float(told.get("score", 50.0)) / 100 * done)
    script = _Replies(bench, int(right), done)
    place = dataclasses.replace(ws.place, scripted={model.name: MockModel(script, name=model.name)})
    if state == "finished":
        running.resume(place, made)
        return made
    if done:
        with suppress(BenchgenError):
            running.resume(place, made)
    if state in UNDER_WAY:
        ws.store.change(RunRow, made.id, state=state, error="")
        elsewhere(ws.path, made.id, made.folder, "")
    else:
        ws.store.change(RunRow, made.id, state="failed", error=str(told.get("error", "stopped")))
    return made


@dataclasses.dataclass
class _Replies:
    """Right replies to the first questions, wrong ones to the rest, and none after so many."""

    bench: Benchmark
    right: int
    most: int

    def __post_init__(self) -> None:
        self._places = {question.key: place for place, question in enumerate(self.bench.questions)}

    def __call__(self, request: Request) -> str:
        place = self._places[request.key]
        if place >= self.most:
            raise ModelError("the script ends here")
        question = self.bench.questions[place]
        # spread over the categories, so that each has right and wrong ones
        if (place * self.right) // self.most < ((place + 1) * self.right) // self.most:
            return worked_answer(question, self.bench.evaluation)
        return _wrong(question, place)


def _wrong(question: Question, place: int) -> str:
    """A wrong reply: another option, another value, or, each third time, no final answer at all."""
    if place % 3 == 2 and question.kind != "tool":
        return "That is hard to say."
    if question.kind == "mcq":
        right = LETTERS.index(question.target)
        return f"Answer: {LETTERS[(right + 1) % len(question.choices)]}"
    if question.kind == "numeric":
        return f"Answer: {float(question.target) + 1000:g}"
    if question.kind == "tool":
        return json.dumps([{"name": "look_up", "arguments": {"subject": "nothing", "entry": -1}}])
    return "Answer: nothing of the kind"


def job(ws: AccountWorkspace, told: Mapping[str, Any]) -> Job:
    """A job with the id, type and state that are told, from a real plan; completed, its adapter is there."""
    type_, name = told["type"], told.get("adapter")
    base(ws, told["base_model"])
    given: dict[str, Any] = {"base_model": told["base_model"], "name": name}
    if type_ == "from-run":
        given |= {"run": told["run"], "mode": told.get("mode", "failures")}
    elif type_ == "grpo":
        given |= {"benchmark": told["benchmark"]}
    else:
        given |= {"dataset": told.get("dataset", DATASET)}
    recipe = {"from-run": "from_run", "continue": "lora"}.get(type_, type_)
    steps = told.get("max_steps")
    record = ws.plan(recipe, **given, **({"max_steps": steps} if steps else {}))
    ws.store.change(PlanRow, record.id, state="confirmed", decided_by=ws.user)
    row = ws.store.add(JobRow(id=told["id"], owner=ws.user, plan_id=record.id))
    made = Job(ws.place, row.id)
    make_folder(made.folder)
    state, step = told.get("state", "queued"), int(told.get("step", 0))
    metrics = [
        {"step": n, "loss": round(2 - 0.02 * n, 3), "seconds": 3.0 * n} for n in range(1, step + 1)
    ]
    if metrics:
        write_jsonl(made.folder / "metrics.jsonl", metrics)
    lines = [f"step {m['step']}: loss {m['loss']:.4f}" for m in metrics]
    if state in ("completed", "finished"):
        _adapter(ws, made)
        lines.append(f"model {record.plan.name} is in the catalogue")
    elif state == "failed":
        error = str(told.get("error", "stopped"))
        ws.store.change(JobRow, made.id, state="failed", error=error)
        lines.append(f"failed: {error}")
    else:
        ws.store.change(JobRow, made.id, state=state)
        elsewhere(ws.path, made.id, made.folder, "")
    write_atomic(made.folder / LOG, "".join(f"{line}\n" for line in lines))
    return made


def _adapter(ws: AccountWorkspace, made: Job) -> None:
    """The job finished, with an adapter of the right shape and no real weights in the catalogue."""
    import numpy as np
    from safetensors.numpy import save_file

    plan = made.plan
    settings, folder = plan.hyperparameters, make_folder(made.folder / "adapter")
    shape = {
        "peft_type": "LORA",
        "r": settings["r"],
        "lora_alpha": settings["alpha"],
        "lora_dropout": settings["dropout"],
        "target_modules": ["q_proj"],
        "base_model_name_or_path": plan.base_model,
    }
    write_json(folder / "adapter_config.json", shape)
    file = folder / "adapter_model.safetensors"
    save_file({"a.lora_A.weight": np.full((settings["r"], 8), made.id, np.float32)}, file)
    parent = ws.store.all(ModelRow, ModelRow.name == plan.base["name"])[0]
    row = ws.store.add(
        ModelRow(
            owner=ws.user,
            name=plan.name,
            kind="adapter",
            spec={"adapter": f"jobs/{made.id}/adapter", "adapter_sha256": file_sha256(file)},
            parent_id=parent.id,
            job_id=made.id,
            seen=list(plan.seen),
        )
    )
    ws.store.change(JobRow, made.id, state="finished", model_id=row.id)


# ---- a chat in it ------------------------------------------------------------------------------------


def agent_in(ws: AccountWorkspace, context: Mapping[str, Any] | None = None) -> Agent:
    """A chat on the `rules` brain in the state that a context describes; null is absent.

    Keys: pending (an item, or a list of them), last_benchmark, last_run, last_job, last_view, just_created,
    submitted_before, cancelled_before, extra_runs, extra_benchmarks.
    """
    told = {key: value for key, value in (context or {}).items() if value is not None}
    for bench in told.get("extra_benchmarks", ()):
        benchmark(ws, bench)
    for one in told.get("extra_runs", ()):
        run(ws, one)
    agent = Agent(ws, "rules")
    facts: dict[str, Any] = {
        key: told[key]
        for key in ("last_benchmark", "last_run", "last_job", "last_view")
        if key in told
    }
    if "just_created" in told:
        facts["created"] = _created(ws, told["just_created"])
    if "cancelled_before" in told:
        facts |= {"ended": "cancelled", "ended_label": _label(told["cancelled_before"])}
    if "submitted_before" in told:
        facts |= _submitted(ws, told["submitted_before"])
    pending = told.get("pending") or []
    items = pending if isinstance(pending, list) else [pending]
    agent.restore([_waiting(ws, agent, item) for item in items], **facts)
    return agent


def _label(told: Any) -> str:
    if isinstance(told, Mapping):
        return str(next((told[key] for key in ("plan", "merge", "id") if key in told), ""))
    return str(told)


def _created(ws: AccountWorkspace, id: int) -> int:
    """The benchmark that was made last, made now where the account lacks it."""
    if not ws.store.all(BenchmarkRow, BenchmarkRow.id == id):
        benchmark(ws, {"id": id, "name": "Just created", "kind": "mcq", "n": 10, "state": "draft"})
    return id


def _submitted(ws: AccountWorkspace, told: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of a plan that was confirmed before, with its job."""
    id = told.get("job")
    if id is not None and not ws.store.all(JobRow, JobRow.id == id):
        job(
            ws,
            {"id": id, "type": "lora", "base_model": "Qwen/Qwen2.5-0.5B-Instruct", "max_steps": 50},
        )
    label = str(told.get("plan") or told.get("merge") or "")
    return {"submitted": dict(told), "ended": "submitted", "ended_label": label}


def _waiting(ws: AccountWorkspace, agent: Agent, item: Mapping[str, Any]) -> Waiting:
    """What waits, with the record behind it, under its own label."""
    kind = item["type"]
    told = {key: value for key, value in item.items() if key not in ("type", "id")}
    label = str(item.get("id") or f"{kind[0].upper()}1")
    found: Waiting | None = None
    if kind == "plan":
        found = _plan(ws, agent, told)
    elif kind == "merge":
        found = _merge(agent, told)
    elif kind == "preview":
        found = _preview(ws, told, label)
    elif kind == "batch":
        found = _batch(ws, told)
    behind = found.told if found is not None else {}
    return Waiting(kind, label, {**behind, **told})


def _tools(agent: Agent) -> Tools:
    tools: Tools = agent.tools
    return tools


def _plan(ws: AccountWorkspace, agent: Agent, told: Mapping[str, Any]) -> Waiting:
    """A plan as it was shown; where its data changed since, its file does."""
    data = str(told.get("dataset") or "")
    file = ws.path / "files" / data
    if data and not file.exists() and Path(data).suffix in (".json", ".jsonl"):
        rows = [
            {"instruction": f"Name entry {n}.", "input": "", "output": made_up(n)}
            for n in range(16)
        ]
        write_atomic(
            file,
            json.dumps(rows)
            if file.suffix == ".json"
            else "".join(json.dumps(r) + "\n" for r in rows),
        )
    names = (
        *("job_type", "base_model", "dataset", "run", "mode", "benchmark", "job", "name"),
        *("epochs", "max_steps", "learning_rate", "rank", "alpha", "batch_size"),
        *("num_generations", "max_length"),
    )
    given = {key: told[key] for key in names if told.get(key) is not None}
    found = _tools(agent).plan_training(agent.situation, **given)
    if found.waiting is None:  # told in part: what is missing of it does not matter to the case
        given = {"job_type": "lora", "base_model": BASE, "dataset": DATASET, **given}
        found = _tools(agent).plan_training(agent.situation, **given)
    if found.waiting is None:
        steps = {key: given[key] for key in ("epochs", "max_steps") if key in given}
        found = _tools(agent).plan_training(
            agent.situation, "lora", base_model=BASE, dataset=DATASET, **steps
        )
    assert found.waiting is not None, found.text
    hashes = {value for key, value in told.items() if key.startswith("dataset_sha")}
    if len(hashes) > 1 and file.is_file():
        write_atomic(file, file.read_bytes().replace(b"entry 1.", b"entry 99."))
    return found.waiting


def _merge(agent: Agent, told: Mapping[str, Any]) -> Waiting:
    """The plan of a merge as it was shown, under a free name where the one that is told is taken."""
    job = told.get("job") or max(one.job or 0 for one in agent.situation.models)
    name = str(told.get("name") or "merged")
    for one in (name, f"{name}-as-shown"):
        found = _tools(agent).plan_merge(job, one).waiting
        if found is not None:
            return found
    raise InputError("the merge that waits cannot be made", got=dict(told))


def _preview(ws: AccountWorkspace, told: Mapping[str, Any], label: str) -> Waiting:
    """A preview whose questions the scripted author wrote."""
    asked = {
        "topic": told.get("topic") or told.get("name"),
        **{k: told[k] for k in ("name", "kind", "n") if k in told},
    }
    tools = Tools(ws)
    found = tools.create_benchmark(
        Turn(), kind=told.get("kind", "mcq"), n=int(told.get("n", 10)), topic=str(asked["topic"]),
        name=str(told.get("name", "")),
    )  # fmt: skip
    assert found.waiting is not None
    kept = drafts.read(ws, found.waiting.label)
    drafts.keep(ws, kept.draft, asked, label, kept.write)
    return Waiting("preview", label, {**found.waiting.told, "asked": asked})


def _batch(ws: AccountWorkspace, told: Mapping[str, Any]) -> Waiting:
    """A writing that stopped after so many questions."""
    spec = config.load_benchmark("by_model_topic")
    spec = dataclasses.replace(
        spec, name=told.get("name", "Questions"), count=int(told["total"]), mix={}
    )
    spec.author.topic, spec.author.model = str(told.get("topic") or told.get("name")), WRITER
    spec.author.checker = "none"
    write = ws.begin(spec)
    ws.go_on(write, limit=int(told["written"]))
    asked = {"topic": spec.author.topic, "name": spec.name, "kind": "mcq", "n": spec.count}
    return Waiting("batch", f"W{write.id}", {"write": write.id, "asked": asked})


def counts(ws: Workspace) -> dict[str, int]:
    """How many records of each kind there are: what a message made is the difference."""
    tables: Iterable[Any] = (BenchmarkRow, RunRow, JobRow, PlanRow, ModelRow)
    return {table.__tablename__: len(ws.store.all(table)) for table in tables}
