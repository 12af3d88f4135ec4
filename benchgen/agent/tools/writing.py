"""Benchmarks: written or imported as previews, changed, and made exactly as shown."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchgen import config
from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Waiting
from benchgen.agent.tools import drafts, offline, words
from benchgen.agent.tools.desk import Desk, asking, wrong
from benchgen.agent.turn import Turn, TurnEnded
from benchgen.author.drafts import BY_MODEL, assignment, read_source, spec_of, write_draft
from benchgen.author.file import DocumentFile, FileSpec, QuestionFile, TrainingFile, read_bytes
from benchgen.author.imported import draft_of
from benchgen.author.write import MAX_QUESTIONS, Draft
from benchgen.config import BenchmarkConfig
from benchgen.errors import ConfigError, DataError, InputError, ModelError, NotFound, StateError
from benchgen.records import Benchmark, Write
from benchgen.stages.writing import taken
from benchgen.store import WriteRow
from benchgen.types import KINDS

SHOWN = 30
"""Questions of a preview in the reply; its page has all."""
DIFFICULTIES = ("easy", "medium", "hard")
NEXT = ("publish it", "run a model on it", "leave it as a draft")
"""What can be done with a new benchmark: every reply that made one ends with these three."""
CONNECT = (
    "To connect a model that writes: a file conf/model/NAME.yaml (kind: endpoint, name, base_url, and in api_key_env the "
    "variable that holds the key), then `benchgen chat agent.writer=NAME`, or `ws.writer = 'NAME'` before the chat begins."
)
PASTED = 1_000_000
"""Characters of a pasted table."""
TOOLS = "tools.json"
"""Of the workspace: the functions that questions of kind tool may call."""


# ---- from a description ----------------------------------------------------------------------------


def create(desk: Desk, turn: Turn, asked: Mapping[str, Any]) -> Outcome:
    """A preview of what was described; nothing is created."""
    if asked.get("based_on") is not None:
        return _sibling(desk, turn, asked)
    groups = _groups(asked.get("groups") or ())
    count = asked.get("n") or sum(groups.values()) or None
    topic = str(asked.get("topic") or "")
    missing = [*(["topic"] if not (topic or groups) else []), *(["n"] if count is None else [])]
    if missing or count is None:
        return asking(f"What is still open: {words.listed(missing)}. Please say.", missing)
    if (refused := over(count)) is not None:
        return refused
    kind = asked.get("kind") or "mcq"
    if kind not in KINDS:
        return wrong(
            "unknown kind", f"There is no kind {words.name(kind)}: {words.listed(KINDS, 'or')}."
        )
    found = offline.Asked(
        kind=kind,
        count=count,
        topic=topic,
        name=asked.get("name") or _title(topic or " ".join(groups)),
        language=asked.get("language") or "en",
        options=asked.get("n_options") or 4,
        mix=_mix(asked.get("difficulty") or ""),
        groups=groups,
    )
    return _written(desk, turn, found, asked)


def _written(desk: Desk, turn: Turn, found: offline.Asked, asked: Mapping[str, Any]) -> Outcome:
    """By a shipped author where one knows the topic, else by a model, else in words what could be done."""
    told, writer, why = offline.told_for(found), desk.author_model(), ""
    apart = asked.get("no_overlap_with")
    if told is not None:
        try:
            return preview(desk, _drawn(desk, told, found, apart), asked, found.count)
        except (DataError, ConfigError) as error:
            if not writer:
                return wrong(
                    "cannot be written so", f"{words.line(error.message, 400)}", **_of(asked)
                )
            why = f"The shipped facts do not reach that far ({words.line(error.what, 120)}), so a model writes."
    if not writer:
        return _no_author(found)
    spec = _model_spec(desk, found, writer)
    return _by_model(desk, turn, spec, asked, why)


def _drawn(desk: Desk, told: offline.Told, found: offline.Asked, apart: int | None) -> Draft:
    """The shipped author's draft; with fewer demands on it where the facts are too few for them."""
    others = _keys(desk, apart)
    spec = told.spec
    loose = dataclasses.replace(spec, author=dataclasses.replace(spec.author, templates=[]))
    tries = [spec, loose]
    if not found.mix or len(found.mix) == len(DIFFICULTIES):  # mixed comes by itself
        tries += [dataclasses.replace(one, mix={}) for one in (spec, loose)]
    error: DataError | None = None
    for one in tries:
        try:
            return told.grouped(write_draft(one, others))
        except DataError as failed:
            error = failed
    assert error is not None
    raise error


def _keys(desk: Desk, benchmark: int | None) -> frozenset[str]:
    if benchmark is None:
        return frozenset()
    return frozenset(q.key for q in desk.ws.benchmark(benchmark).questions)


def _no_author(found: offline.Asked) -> Outcome:
    """What can be written here without a model, and how to connect one."""
    topic = words.line(found.topic or " ".join(found.groups), 80)
    language = "" if found.language == "en" else f" in {words.line(found.language, 20)}"
    text = words.paragraphs(
        f"Nothing here can write {found.kind} questions about {topic}{language} without a model, and none is connected.",
        f"Without one, in English: {'; '.join(offline.titles())}; and your own files and tables of facts.",
        f"{CONNECT} Or put your questions into a file and say `import FILE`.",
    )
    return Outcome(text, {"n": found.count, "kind": found.kind, "written": 0})


def _model_spec(desk: Desk, found: offline.Asked, writer: str) -> BenchmarkConfig:
    """The config by which a model writes it."""
    spec = config.load_benchmark("by_model_topic")
    groups = list(found.groups)
    author = dataclasses.replace(
        spec.author,
        topic=found.topic or ", ".join(groups),
        model=writer,
        tools=_functions(desk) if found.kind == "tool" else None,
    )
    mix = found.mix or {}
    return dataclasses.replace(
        spec,
        name=found.name,
        author=author,
        kind=found.kind,
        count=found.count,
        options=found.options,
        mix=dict(mix),
        categories={name: float(n) for name, n in found.groups.items()},
        language=found.language,
    )


def _functions(desk: Desk) -> str:
    """The file of the functions that may be called; NotFound where the person has given none."""
    file = desk.ws.path / TOOLS
    if not file.is_file():
        raise NotFound(
            "questions of kind tool need the functions that may be called",
            got=str(file),
            allowed='a JSON list of {"name", "description", "parameters"}',
            next=f"write it to {file}, then ask again",
        )
    return str(file)


def with_functions(desk: Desk, spec: BenchmarkConfig) -> BenchmarkConfig:
    """The config of an earlier benchmark, with the workspace's functions where those it names are not there."""
    named = Path(spec.author.tools or "")
    if spec.kind != "tool" or (named.is_absolute() and named.is_file()):
        return spec
    return dataclasses.replace(
        spec, author=dataclasses.replace(spec.author, tools=_functions(desk))
    )


def _sibling(desk: Desk, turn: Turn, asked: Mapping[str, Any]) -> Outcome:
    """New questions of the same make as a benchmark's, none of them in any benchmark here."""
    bench = desk.ws.benchmark(asked["based_on"])
    row = bench.row
    count = asked.get("n") or row.questions
    if (refused := over(count)) is not None:
        return refused
    told = {"n": count, "kind": row.kind, "no_overlap_with": bench.id, **_of(asked)}
    made_from = row.spec.get("config")
    if not made_from or made_from["author"]["name"] in ("", "file"):
        text = (
            f"Benchmark {bench.id} was imported, so no author here can write more of it. Describe its topic, "
            "or import a second file."
        )
        return Outcome(text, told)
    spec = with_functions(desk, spec_of(made_from))
    rows = desk.ws.benchmarks().height
    spec = dataclasses.replace(
        spec,
        name=asked.get("name") or f"{row.name} 2",
        sibling_of=row.name,
        exclude=[],
        seed=spec.seed + rows,
        count=count,
    )
    if spec.author.name in BY_MODEL:
        if writer := desk.author_model():
            spec.author.model = writer
        return _by_model(desk, turn, spec, {**asked, **told})
    draft = write_draft(spec, taken(desk.ws.place))
    return preview(desk, draft, {**asked, **told}, count)


# ---- by a model, in turns --------------------------------------------------------------------------


def _by_model(
    desk: Desk, turn: Turn, spec: BenchmarkConfig, asked: Mapping[str, Any], why: str = ""
) -> Outcome:
    assignment(spec)  # refused before anything is recorded
    write = desk.ws.begin(spec)
    found = go_on(desk, turn, write, asked)
    return dataclasses.replace(found, text=words.paragraphs(why, found.text)) if why else found


def go_on(desk: Desk, turn: Turn, write: Write, asked: Mapping[str, Any]) -> Outcome:
    """A turn's questions more: the preview when all are written, else how many are and that `continue` goes on."""

    def told(done: int, total: int) -> None:
        turn.progress("write", write.id, done, total, f"{done} of {total} questions written")

    stopped = ""
    try:
        desk.ws.go_on(write, limit=turn.questions, progress=told)
    except TurnEnded as ended:  # all that was written is kept
        desk.ws.store.change(WriteRow, write.id, state="waiting", error="")
        stopped = words.line(ended.what)
    except ModelError as error:
        text = (
            f"The writing stopped: {words.line(error.what, 300)} "
            "Reply `continue` to go on where it stopped."
        )
        return dataclasses.replace(_batch(write, asked, text), intent="error")
    if write.state == "finished":
        return preview(desk, write.draft(), asked, write.row.wanted, write=write.id)
    written, total = len(write.written().questions), write.row.wanted
    text = (
        f"{f'{stopped}: ' if stopped else ''}{written} of {total} questions of {words.name(write.spec.name)} are "
        f"written and kept; about {turn.questions} fit one turn. Nothing is created yet. Reply `continue` to write "
        f"on, or in a terminal: `benchgen resume write_id={write.id} background=yes` writes the rest at once."
    )
    return _batch(write, asked, text)


def _batch(write: Write, asked: Mapping[str, Any], text: str) -> Outcome:
    numbers = {"written": len(write.written().questions), "total": write.row.wanted}
    told = {"name": write.spec.name, **numbers, "write": write.id, "asked": dict(asked)}
    return Outcome(text, numbers, waiting=Waiting("batch", f"W{write.id}", told))


# ---- from files ------------------------------------------------------------------------------------


def import_file(desk: Desk, path: str, name: str, kind: str, language: str) -> Outcome:
    """A preview of a file's own questions."""
    try:
        file = desk.file(path)
    except NotFound as error:
        return wrong("not found", f"There is no file {words.line(path)}. {_next(error)}", path=path)
    spec = config.load_author("file", path=str(file))
    spec = dataclasses.replace(spec, name=name, kind=kind, language=language or "en")
    try:
        found = read_source(spec)
        if isinstance(found, TrainingFile):
            text = (
                f"{words.name(file.name)} holds {words.plural(found.rows, 'training row')} ({found.format}), no "
                f"questions. To train on them: `plan a lora training of MODEL on {words.name(file.name)}`."
            )
            return wrong("training rows", text, path=path, n=found.rows)
        if isinstance(found, DocumentFile):
            text = (
                f"{words.name(file.name)} is a document of {found.characters:,} characters, not a table of questions. "
                f"For questions about it: `write 8 questions from {words.name(file.name)}`."
            )
            return wrong("a document", text, path=path)
        draft = draft_of(found, spec, file.name, file.stem)
    except InputError as error:
        return wrong(words.line(error.what, 200), _told(error), path=path)
    return preview(desk, draft, {"path": path}, len(draft.questions))


def import_inline(desk: Desk, table: str, name: str, kind: str) -> Outcome:
    """A preview of questions that were pasted into the message."""
    text = table.strip("\n")
    if not text.strip() or len(text) > PASTED:
        return asking("Paste the table: a line of column names, then a line a question.", ["table"])
    ending = {"{": ".jsonl", "[": ".json"}.get(text.lstrip()[:1], ".csv")
    if ending == ".csv" and "\t" in text.splitlines()[0]:
        ending = ".tsv"
    try:
        found = read_bytes(FileSpec(path=Path(f"pasted{ending}"), kind=kind or None), text.encode())
        if not isinstance(found, QuestionFile):
            return wrong("no questions", "What was pasted holds training rows, no questions.")
        spec = dataclasses.replace(config.load_author("file"), name=name, kind=kind)
        draft = draft_of(found, spec, "the pasted table", "pasted")
    except InputError as error:
        return wrong(words.line(error.what, 200), _told(error))
    return preview(desk, draft, {}, len(draft.questions))


def from_document(desk: Desk, turn: Turn, asked: Mapping[str, Any]) -> Outcome:
    """A preview of questions that a document answers, each with the words that prove it."""
    path, count = str(asked["path"]), asked.get("n") or 10
    if (refused := over(count)) is not None:
        return refused
    try:
        file = desk.file(path)
    except NotFound as error:
        return wrong("not found", f"There is no file {words.line(path)}. {_next(error)}", path=path)
    spec = config.load_benchmark("from_document")
    spec = dataclasses.replace(
        spec,
        name=asked.get("name") or file.stem,
        kind=asked.get("kind") or "qa",
        count=count,
        options=asked.get("n_options") or 4,
        language=asked.get("language") or "en",
        mix=_mix(asked.get("difficulty") or ""),
    )
    writer = desk.author_model()
    spec.author.path, spec.author.model = str(file), writer or "none"
    try:
        assignment(spec)  # that it is a document, long enough for so many
    except InputError as error:
        return wrong(words.line(error.what, 200), _told(error), path=path)
    if not writer:
        text = words.paragraphs(
            f"Questions about a document are written by a model, and none is connected; {words.name(file.name)} "
            f"itself can be read and is long enough for {count}.",
            CONNECT,
        )
        return Outcome(text, {"n": count, "grounded": True, "written": 0})
    return _by_model(desk, turn, spec, {**asked, "n": count, "grounded": True})


# ---- previews --------------------------------------------------------------------------------------


def preview(
    desk: Desk,
    draft: Draft,
    asked: Mapping[str, Any],
    count: int,
    *,
    label: str = "",
    write: int | None = None,
) -> Outcome:
    """The draft, kept as what `Create it` makes, with its questions and right answers."""
    kept = drafts.keep(desk.ws, draft, asked, label, write)
    page = str(drafts.page_of(desk.ws, kept.label))
    kinds = sorted({question.kind for question in draft.questions})
    kind = kinds[0] if len(kinds) == 1 else "mixed"
    n = len(draft.questions)
    notes = [*draft.report.get("decisions", ()), *draft.report.get("warnings", ())][:6]
    if n != count:
        notes.insert(0, f"{n} questions, where {count} were asked for")
    text = words.paragraphs(
        f"Preview {kept.label}: {words.name(draft.name)}, {words.plural(n, 'question')} ({kind}). Nothing is created yet.",
        _table(draft),
        f"The other {n - SHOWN} are on the page: {page}" if n > SHOWN else f"Page: {page}",
        "\n".join(f"- {words.line(note, 200)}" for note in notes),
        "Reply `Create it` to create it as a draft, or say what to change.",
    )
    told = {"name": draft.name, "kind": kind, "n": n}
    waiting = Waiting("preview", kept.label, {**told, "hash": draft.hash, "asked": dict(asked)})
    arguments = {
        **told,
        "preview": kept.label,
        **({"by_category": shares} if (shares := _by_category(draft)) else {}),
    }
    return Outcome(text, arguments, links=(page,), waiting=waiting)


def _by_category(draft: Draft) -> dict[str, int]:
    found: dict[str, int] = {}
    for question in draft.questions:
        if question.category:
            found[question.category] = found.get(question.category, 0) + 1
    return found


def _table(draft: Draft) -> str:
    rows = draft.preview()[:SHOWN]
    choices = any(row["options"] for row in rows)
    doubt = any(row.get("doubtful") for row in rows)
    head = ["no.", "question", *(["options"] if choices else []), "right answer", "difficulty"]
    cells = [
        [
            row["number"],
            row["prompt"],
            *([row["options"].replace(" | ", " / ")] if choices else []),
            row["answer"],
            row["difficulty"] + (" (doubtful)" if row.get("doubtful") else ""),
        ]
        for row in rows
    ]
    note = "\n\nDoubtful: a second look answered otherwise, so check these." if doubt else ""
    return words.table(head, cells) + note


def confirm_create(desk: Desk, waiting: Waiting) -> Outcome:
    """The benchmark exactly as previewed, a draft, and the three things that can be next."""
    kept = drafts.read(desk.ws, str(waiting.told.get("draft") or waiting.label))
    if kept.benchmark is not None:
        text = f"It was created already: benchmark {kept.benchmark}."
        told = {"preview": waiting.label, "benchmark": kept.benchmark}
        return Outcome(text, told, intent="already_done")
    shown = waiting.told.get("hash")
    if shown and kept.draft.hash != shown:
        raise StateError(
            "these are not the questions that were shown", got=kept.draft.hash, allowed=[shown]
        )
    bench = desk.ws.create(kept.draft)
    drafts.created(desk.ws, kept.label, bench.id)
    if kept.write is not None:
        desk.ws.store.change(WriteRow, kept.write, benchmark_id=bench.id)
    return made(bench, preview=waiting.label)


def made(bench: Benchmark, **told: Any) -> Outcome:
    """What is said of a new benchmark: its id, its link, and what can be next."""
    row = bench.row
    text = words.paragraphs(
        f"Benchmark {bench.id} is created, a draft: {words.name(row.name)}, {words.plural(row.questions, 'question')} "
        f"({row.kind}).",
        f"Page: {bench.link}",
        "What is next? Reply with a number.",
    )
    waiting = Waiting(
        "question",
        f"Q{bench.id}",
        {"after": f"created draft {bench.id}", "options": list(NEXT), "benchmark": bench.id},
    )
    arguments = {**told, "benchmark": bench.id, "n": row.questions}
    return Outcome(text, arguments, links=(bench.link,), choices=NEXT, waiting=waiting)


# ---- small things ----------------------------------------------------------------------------------


def over(count: int) -> Outcome | None:
    """What is said to a number that no benchmark can have."""
    if count > MAX_QUESTIONS:
        text = (
            f"A benchmark has {MAX_QUESTIONS:,} questions at most, and {count:,} were asked for. Say a smaller number, "
            "or make several benchmarks."
        )
        return Outcome(text, {"n": count, "limit": MAX_QUESTIONS}, intent="refuse_limit")
    if count < 1:
        return wrong("not a number of questions", "A benchmark has 1 question at least.", n=count)
    return None


def _groups(groups: Sequence[Any]) -> dict[str, int]:
    """{topic: questions} of groups as a message gives them."""
    found: dict[str, int] = {}
    for one in groups:
        topic, number = (one.get("topic"), one.get("n")) if isinstance(one, Mapping) else one
        if topic and number:
            found[str(topic)] = found.get(str(topic), 0) + int(number)
    return found


def _mix(difficulty: str) -> dict[str, float]:
    """Shares of difficulties: an even mix where it is mixed, {} where nothing was said."""
    if difficulty in DIFFICULTIES:
        return {difficulty: 1.0}
    return dict.fromkeys(DIFFICULTIES, 1.0) if difficulty == "mixed" else {}


def _title(topic: str) -> str:
    plain = words.line(topic, 60).rstrip(" .,:;…")
    return plain[:1].upper() + plain[1:] or "Questions"


def _of(asked: Mapping[str, Any]) -> dict[str, Any]:
    kept = ("kind", "n", "topic", "name", "based_on", "no_overlap_with")
    return {key: asked[key] for key in kept if asked.get(key) is not None}


def _told(error: InputError) -> str:
    return words.line(error.message, 500)


def _next(error: InputError) -> str:
    return f"Next: {words.line(error.next, 300)}." if error.next else ""
