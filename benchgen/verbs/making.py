"""Verbs that make and change benchmarks, and take them out and in."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from benchgen import config
from benchgen.errors import ConfigError, InputError, StateError
from benchgen.verbs.given import Act, Result, need, one

if TYPE_CHECKING:
    from benchgen.author.write import Draft
    from benchgen.records import Write
    from benchgen.ui.plain import Screen
    from benchgen.workspace import Workspace


def _create(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    from benchgen.author.drafts import BY_MODEL, assignment, read_source
    from benchgen.author.file import DocumentFile, TrainingFile

    if cfg.sibling_of is not None:
        return _created(ws, cfg, ws.sibling(cfg.sibling_of, count=cfg.count))
    spec = _asked(cfg)
    if spec.author.name in BY_MODEL and not spec.author.model and cfg.model.kind == "endpoint":
        spec.author.model = ws.model(cfg.model).row.name
    if spec.author.name in BY_MODEL and cfg.dry:
        count = assignment(spec).layout.count
        return {"benchmark": None, "state": "dry", "name": spec.name, "wanted": count}
    if spec.author.name in BY_MODEL:
        return turn(ws, ws.begin(spec), cfg, screen)
    if spec.author.name == "file" and cfg.dry:
        found = read_source(spec)
        report = {"decisions": list(found.decisions), "warnings": list(found.warnings)}
        if isinstance(found, TrainingFile):
            return {"kind": "train", "rows": found.rows, "format": found.format, "report": report}
        if isinstance(found, DocumentFile):
            told = {"characters": found.characters, "passages": len(found.passages)}
            return {"kind": "document", **told, "report": report}
    return _created(ws, cfg, ws.author(spec))


def _asked(cfg: config.Config) -> config.BenchmarkConfig:
    """The benchmark config with what the command line says beside it."""
    spec = cfg.benchmark
    if not cfg.author.name:  # benchmark=from_file author.path=F: what is set goes into its author
        unset = config.AuthorConfig()
        fields = [f.name for f in dataclasses.fields(unset)]
        own = {f: getattr(cfg.author, f) for f in fields}
        own = {f: value for f, value in own.items() if value != getattr(unset, f)}
        spec = dataclasses.replace(spec, author=dataclasses.replace(spec.author, **own))
    else:
        if cfg.count is not None and cfg.author.name == "file":
            raise ConfigError(
                "a file is imported whole", got=f"count={cfg.count}", next="leave it out"
            )
        spec = dataclasses.replace(spec, author=cfg.author)
    changes: dict[str, Any] = {"name": cfg.name, "kind": cfg.kind, "count": cfg.count}
    given = {key: value for key, value in changes.items() if value is not None}
    return dataclasses.replace(spec, **given)


def _created(ws: Workspace, cfg: config.Config, draft: Draft) -> Result:
    first = draft.questions[0]
    told: Result = {
        "benchmark": None,
        "state": "dry" if cfg.dry else "draft",
        "name": draft.name,
        "kind": first.kind,
        "questions": len(draft.questions),
        "first": {
            "prompt": first.prompt,
            "target": first.target,
            "target_text": first.target_text if first.kind == "mcq" else None,
        },
        "report": draft.report,
        "hash": draft.hash,
    }
    if cfg.output == "text":
        told["preview"] = draft.preview()
    if cfg.dry:
        return told
    if cfg.hash is not None and cfg.hash != draft.hash:
        raise StateError(
            "these are not the questions that were previewed", got=draft.hash, allowed=[cfg.hash]
        )
    bench = ws.create(draft)
    return {**told, "benchmark": bench.id, "link": bench.link}


def turn(ws: Workspace, write: Write, cfg: config.Config, screen: Screen) -> Result:
    """One turn of a writing, or all of it in the background; the benchmark once it is whole."""
    if cfg.background:
        ws.go_on_in_background(write)
        return {**write.status(), "next": f"benchgen status write_id={write.id}"}
    with screen.bar(f"write {write.id}") as progress:
        limit = write.spec.author.per_turn
        ws.go_on(write, limit=limit, hardware=cfg.hardware, progress=progress)
    if write.state != "finished":
        return {**write.status(), "next": f"benchgen resume write_id={write.id}"}
    bench = ws.created(write)
    made = {"benchmark": bench.id, "state": bench.row.state, "link": bench.link}
    return {**write.status(), **made, "report": bench.row.spec["report"]}


def _edit(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(need(cfg, "benchmark_id"))
    edited = bench.edit(need(cfg, "question"), **need(cfg, "change"))
    changed = edited.questions[(cfg.question or 1) - 1]
    return {
        "benchmark": edited.id,
        "state": edited.row.state,
        "version_of": edited.row.spec.get("version_of"),
        "question": {"prompt": changed.prompt, "target": changed.target},
        "link": edited.link,
    }


def _publish(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    if cfg.repo is not None:
        return ws.publish_model(cfg.model.name, cfg.repo, private=cfg.private).summary()
    bench = ws.benchmark(need(cfg, "benchmark_id")).publish()
    return {"benchmark": bench.id, "state": bench.row.state, "link": bench.link}


def _rename(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(need(cfg, "benchmark_id")).rename(need(cfg, "name"))
    row = bench.row
    return {"benchmark": bench.id, "state": row.state, "name": row.name, "link": bench.link}


def _delete(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(need(cfg, "benchmark_id"))
    name = bench.row.name
    bench.delete()
    return {"benchmark": bench.id, "name": name, "state": "deleted"}


def _unpublish(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.benchmark(need(cfg, "benchmark_id")).unpublish()
    return {"benchmark": bench.id, "state": bench.row.state, "link": bench.link}


def _export(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    need(cfg, "benchmark_id", "run_id", "session")
    if cfg.session is not None:
        from benchgen.agent.session import Agent

        form = cfg.format or "notebook"
        path = Agent(ws, session=cfg.session).export(need(cfg, "path"), form)
        return {"session": cfg.session, "format": form, "path": str(path)}
    if cfg.run_id is not None:
        form = cfg.format or "inspect"
        if form != "inspect":
            raise InputError(f"a run has no format={form}", got=form, allowed=["inspect"])
        run = ws.get_run(one(cfg.run_id))
        return {"run": run.id, "format": form, "path": str(ws.export_run(run, need(cfg, "path")))}
    bench, form = ws.benchmark(cfg.benchmark_id or 0), cfg.format or "codabench"
    path = ws.export(bench, need(cfg, "path"), form)
    return {"benchmark": bench.id, "format": form, "path": str(path)}


def _import(ws: Workspace, cfg: config.Config, screen: Screen) -> Result:
    bench = ws.import_bundle(need(cfg, "path"))
    return {
        "benchmark": bench.id,
        "state": bench.row.state,
        "name": bench.row.name,
        "kind": bench.row.kind,
        "questions": bench.row.questions,
        "report": bench.row.spec["report"],
        "link": bench.link,
    }


ACTS: dict[str, Act] = {
    "create": _create,
    "edit": _edit,
    "rename": _rename,
    "delete": _delete,
    "publish": _publish,
    "unpublish": _unpublish,
    "export": _export,
    "import": _import,
}
