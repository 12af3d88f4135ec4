"""From a benchmark config to its draft, by the author that the config names.

`table`, `procedural` and `file` write at once. `llm` and `document` ask a model, part by part: for them
this module gives the layout and the author that `parts.write_parts` needs.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from benchgen.author.document import DocumentAuthor, check_capacity, unproved
from benchgen.author.file import (
    DocumentFile,
    FileSpec,
    Imported,
    QuestionFile,
    read_file,
)
from benchgen.author.files.frames import read_frame
from benchgen.author.frame import pack_from_frame
from benchgen.author.imported import as_name, draft_of, evaluation_of
from benchgen.author.llm import Brief, LlmAuthor
from benchgen.author.packs import Pack
from benchgen.author.parts import Layout, Written, lay_out
from benchgen.author.procedural import ProceduralSpec, write_procedural
from benchgen.author.table import write_benchmark
from benchgen.author.write import (
    Draft,
    balance,
    check_count,
    hold_out,
    report_of,
    write,
)
from benchgen.benchmark.exchange.folder import read_plain
from benchgen.config import AuthorConfig, BenchmarkConfig, EvaluationConfig
from benchgen.errors import ConfigError, DataError
from benchgen.types import KINDS, Evaluation, Model

MAX_TOOLS, MAX_TOOLS_BYTES = 100, 8_000_000


def write_draft(
    spec: BenchmarkConfig, taken: frozenset[str] = frozenset(), pack: Pack | None = None
) -> Draft:
    """The draft that the config asks for, with no question whose key is in `taken`."""
    draft = WRITERS[author_name(spec)](spec, taken, pack)
    return hold_out(draft, spec.held_out, spec.seed)


def spec_of(stored: Mapping[str, Any]) -> BenchmarkConfig:
    """The config that a benchmark's record holds as plain values."""
    fields = dict(stored)
    evaluation = EvaluationConfig(**fields.pop("evaluation"))
    author = AuthorConfig(**fields.pop("author"))
    return BenchmarkConfig(**fields, evaluation=evaluation, author=author)


def author_name(spec: BenchmarkConfig) -> str:
    """The config's author; ConfigError for one that is not known."""
    name = spec.author.name
    known = [*WRITERS, *BY_MODEL]
    if name not in known:
        said = f"author={name} is not known" if name else "no author is named"
        raise ConfigError(said, got=name, allowed=known, next="author=NAME, or benchmark=NAME")
    return name


# --- authors that write at once --------------------------------------------------------------


def _table(spec: BenchmarkConfig, taken: frozenset[str], pack: Pack | None) -> Draft:
    author = spec.author
    if pack is None and author.path:
        path = Path(author.path)
        pack = pack_from_frame(
            read_frame(path), path.stem, entity=author.entity, language=spec.language
        )
    if pack is None and not author.pack:
        raise ConfigError("author=table needs facts", next="author.pack=elements or author.path=F")
    name = spec.name or (pack.name if pack else author.pack)
    return write_benchmark(dataclasses.replace(spec, name=name), taken, pack)


def _file(spec: BenchmarkConfig, taken: frozenset[str], pack: Pack | None) -> Draft:
    found = read_source(spec)
    path = Path(spec.author.path or "")
    if not isinstance(found, QuestionFile):
        document = isinstance(found, DocumentFile)
        raise DataError(
            f"{path.name} holds {'a document' if document else 'training rows'}, no questions",
            got=str(path),
            next=f"benchgen create author=document author.path={path} author.model=NAME"
            if document
            else f"benchgen plan recipe=lora dataset={path}",
        )
    return draft_of(found, spec, path.name, path.stem)


def read_source(spec: BenchmarkConfig) -> Imported:
    """What the file of `author=file` holds: questions, training rows or a document."""
    author = spec.author
    if not author.path:
        raise ConfigError("author=file needs a file", next="author.path=FILE")
    for role, column in author.columns.items():
        if not isinstance(column, str):
            raise ConfigError(
                f"author.columns.{role} names one column",
                got=column,
                next="options in columns of their own: author.columns='{A: first, B: second}'",
            )
    return read_file(
        FileSpec(
            path=Path(author.path),
            kind=spec.kind or None,
            index_base=author.index_base,
            columns=author.columns,
            answers_are=author.answers_are,
            decimal=author.decimal,
            multi=author.multi,
            sheet=author.sheet,
            language=spec.language,
        )
    )


def _procedural(spec: BenchmarkConfig, taken: frozenset[str], pack: Pack | None) -> Draft:
    asked = ProceduralSpec(
        tasks=spec.author.tasks,
        count=spec.count,
        kind=spec.kind,
        mix=spec.mix,
        seed=spec.seed,
        language=spec.language,
        exclude=taken,
    )
    return write(
        partial(write_procedural, asked),
        evaluation_of(spec),
        name=spec.name or "procedural",
        seed=spec.seed,
        config=dataclasses.asdict(spec),
    )


WRITERS: Mapping[str, Callable[[BenchmarkConfig, frozenset[str], Pack | None], Draft]] = {
    "table": _table,
    "procedural": _procedural,
    "file": _file,
}


# --- authors that ask a model ----------------------------------------------------------------

BY_MODEL = ("llm", "document")


@dataclass(frozen=True)
class Assignment:
    """What a model is to write, read from a config and checked before it is asked anything."""

    spec: BenchmarkConfig
    brief: Brief
    layout: Layout
    evaluation: Evaluation
    passages: tuple[str, ...] = ()

    def author(self, model: Model) -> LlmAuthor:
        """The part author that asks this model."""
        if self.spec.author.name == "document":
            name = Path(self.spec.author.path or "").name
            return DocumentAuthor(model, self.brief, name=name, passages=self.passages)
        return LlmAuthor(model, self.brief)

    def draft(self, written: Written, doubtful: list[str]) -> Draft:
        """The draft of what is written in full, with the keys that a blind solve disputes."""
        questions = balance(written.questions, self.spec.seed)
        report = report_of(questions, written.rejected)
        if doubtful:
            report["warnings"].append(
                f"{len(doubtful)} keys are doubtful: a blind solve answered otherwise ({', '.join(doubtful)})"
            )
        apart = unproved(questions) if self.spec.author.name == "document" else []
        if apart:
            numbers = [str(n) for n, q in enumerate(questions, start=1) if q.key in set(apart)]
            report["warnings"].append(
                f"{len(apart)} keys are doubtful: the answer shares no word or number with the words quoted "
                f"for it, so it is a negation, an inference, or wrong (questions {', '.join(numbers)})"
            )
        draft = Draft(
            name=self.spec.name or as_name(self.brief.topic[:40]),
            questions=questions,
            evaluation=self.evaluation,
            rejected=tuple(written.rejected),
            report={**report, "doubtful": list(dict.fromkeys([*doubtful, *apart]))},
            config=dataclasses.asdict(self.spec),
        )
        return hold_out(draft, self.spec.held_out, self.spec.seed)


def assignment(spec: BenchmarkConfig) -> Assignment:
    """What the config asks a model to write; ConfigError or DataError where it cannot be written."""
    author, kind = spec.author, spec.kind or "mcq"
    author_name(spec)
    if kind not in KINDS:
        raise ConfigError(f"kind={kind} is not known", got=kind, allowed=list(KINDS))
    if not author.model:
        raise ConfigError(
            f"author={author.name} needs a model that writes",
            next="author.model=NAME, a stored endpoint or a local chat model",
        )
    check_count(spec.count)
    if author.per_turn < 1:
        raise ConfigError("author.per_turn is too small", got=author.per_turn, allowed="1 or more")
    passages: tuple[str, ...] = ()
    topic = author.topic
    if author.name == "document":
        passages = _passages(spec)
        topic = topic or f"the text of {Path(author.path or '').name}"
    if not topic.strip():
        raise ConfigError("author=llm needs a topic", next="author.topic='rivers of Europe'")
    brief = Brief(
        topic=topic,
        kind=kind,
        options=spec.options,
        language=spec.language,
        tools=_tools(author) if kind == "tool" else (),
        seed=spec.seed,
    )
    layout = lay_out(spec.count, spec.categories, spec.mix, spec.seed)
    return Assignment(spec, brief, layout, evaluation_of(spec), passages)


def _passages(spec: BenchmarkConfig) -> tuple[str, ...]:
    path = spec.author.path
    if not path:
        raise ConfigError("author=document needs a document", next="author.path=FILE")
    found = read_file(FileSpec(path=Path(path), kind="document"))
    assert isinstance(found, DocumentFile)
    check_capacity(spec.count, found.passages, Path(path).name)
    return found.passages


def _tools(author: AuthorConfig) -> tuple[Mapping[str, Any], ...]:
    """The functions of `author.tools`: a JSON list of definitions, plain or in OpenAI's shape."""
    if not author.tools:
        raise ConfigError("kind=tool needs functions to call", next="author.tools=FILE.json")
    path = Path(author.tools)
    try:
        found = json.loads(read_plain(path, MAX_TOOLS_BYTES, str(path)).decode("utf-8-sig"))
        tools = tuple(tool.get("function", tool) for tool in found)
        named = all(isinstance(tool["name"], str) and tool["name"] for tool in tools)
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        raise DataError(f"{path} is no JSON list of functions with names", got=str(path)) from error
    if not named or not 1 <= len(tools) <= MAX_TOOLS:
        raise DataError(f"{path} must list 1 to {MAX_TOOLS} functions with names", got=len(tools))
    return tools
