"""The models there are: what a name means, where its weights lie, and what it was trained on.

A name is, in this order, a record of the workspace, an option of conf/model/, a Hugging Face id
(`org/name`) or a local folder with a config.json.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchgen import config
from benchgen.errors import ConfigError, NotFound, StateError, StoreError
from benchgen.models import import_once
from benchgen.models.embedded import (
    EMBEDDED_CONTEXT,
    EMBEDDED_ID,
    EMBEDDED_NAME,
    embedded_model,
)
from benchgen.models.mock import FixedModel
from benchgen.models.names import WHOLE, downloaded, match, snapshot
from benchgen.models.reference import ReferenceModel
from benchgen.store import ModelRow, Store, file_sha256, read_json
from benchgen.types import Model

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
TRAINABLE = ("base", "merged")
ADAPTER_WEIGHTS = "adapter_model.safetensors"
UNNAMED = frozenset(("catalogue", "endpoint"))
"""Options of conf/model/ that are no model until they are given a name."""
REMOTE = ("reference", "endpoint", "mock")
"""Kinds that use no device of this machine."""
ASKED = (
    "base_url",
    "api_key_env",
    "concurrency",
    "timeout_first_s",
    "timeout_s",
    "max_retries",
    "extra",
)
"""Settings of an endpoint that its client takes."""
IDENTITY = ("name", "base_url", "extra")
"""Settings of an endpoint that decide what it answers."""


def find(store: Store, name: str) -> ModelRow:
    """The record that `name` means; it has no id yet if it was never used in this workspace."""
    name = name.encode("utf-8", "replace").decode()  # a shell may hand over bytes that are no text
    rows = store.all(ModelRow, ModelRow.name == name)
    if rows:
        return rows[0]
    if name in config.options("model") and name not in UNNAMED:
        return from_config(config.load_model(name))
    folder = _folder(name)
    if folder is not None and (folder / "config.json").is_file():
        resolved = str(folder.resolve())  # the name too: it must mean the same from any folder
        rows = store.all(ModelRow, ModelRow.name == resolved)
        spec = {"source": resolved, "revision": None}
        return rows[0] if rows else ModelRow(name=resolved, kind="base", spec=spec)
    if folder is not None:
        raise NotFound(
            f"there is no model in the folder {name} (no config.json)",
            got=name,
            next="name the folder that holds config.json, or a Hugging Face id",
        )
    if HUB_ID.fullmatch(name):
        return ModelRow(name=name, kind="base", spec={"source": name, "revision": None})
    known = names(store)
    several = [part.strip() for part in name.split(",")]
    if len(several) > 1 and set(several) <= set(known):
        raise NotFound(
            f"{name!r} is no model, but {len(several)} of them",
            got=name,
            next="add -m for a job of each, or give one: model=" + several[0],
        )
    close = difflib.get_close_matches(name, known, n=1)
    raise NotFound(
        f"model {name!r} is not in the catalogue",
        got=name,
        allowed=known,
        next=f"model={close[0]}" if close else "a name above, a Hugging Face id or a local folder",
    )


def _folder(name: str) -> Path | None:
    """The folder of that path; None where there is none, or none that can be looked into."""
    try:
        folder = Path(name).expanduser()
        (folder / "config.json").is_file()  # may be forbidden, or longer than a path can be
        return folder if name.strip() and folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None


def resolve(store: Store, typed: str) -> tuple[ModelRow, tuple[str, ...]]:
    """(the record that a typed name means, other names that fit as well); NotFound as `find`.

    For people: `find` is what code uses, and takes a name as it is. Of several the newest record of the
    workspace is taken, then an option of conf/model/, then a model already downloaded.
    """
    try:
        found = find(store, typed)
        if found.id is not None or not HUB_ID.fullmatch(typed):
            return found, ()
    except NotFound:
        found = None
    newest = [row.name for row in sorted(store.all(ModelRow), key=lambda row: -row.id)]
    known = [*newest, *(n for n in config.options("model") if n not in UNNAMED), *downloaded()]
    if found is not None:  # org/name: another one only if it differs in case or signs alone
        same = match(typed, known, WHOLE)
        return (find(store, same.name), same.others) if same else (found, ())
    fits = match(typed, [*known, EMBEDDED_ID])
    if fits is None:
        return find(store, typed), ()  # whose error says what there is
    own = {EMBEDDED_ID: EMBEDDED_NAME}
    names = dict.fromkeys(own.get(name, name) for name in (fits.name, *fits.others))
    return find(store, next(iter(names))), tuple(names)[1:]


def from_config(option: config.ModelConfig) -> ModelRow:
    """The record, without an id yet, that a config of conf/model/ describes."""
    if option.kind != "endpoint":
        spec: dict[str, Any] = {"source": option.source, "revision": option.revision}
        if option.thinking:
            spec["thinking"] = True
    else:
        from benchgen.models.endpoint import EndpointModel

        spec = {key: getattr(option, key) for key in (*ASKED, "price_in", "price_out")}
        spec["name"] = option.served or option.name
        settings = {key: spec[key] for key in ASKED}
        checked = EndpointModel(  # before it is stored
            name=option.name, model=spec["name"], **settings
        )
        spec["base_url"] = checked.base_url
    return ModelRow(name=option.name, kind=option.kind, spec=spec)


def stored_endpoint(store: Store, option: config.ModelConfig) -> ModelRow:
    """The record of an endpoint: the one of that name, or a new one; ConfigError if that is another."""
    row = from_config(option)
    rows = store.all(ModelRow, ModelRow.name == row.name)
    if not rows:
        return row
    before = rows[0].spec
    if rows[0].kind != row.kind or any(before.get(key) != row.spec[key] for key in IDENTITY):
        raise ConfigError(
            f"a model named {row.name} is stored with other settings",
            got=option.base_url,
            allowed=[before.get("base_url") or rows[0].kind],
            next=f"model={row.name} asks the stored one; this one needs a name of its own: "
            f"model.name=ANOTHER model.served={row.spec.get('name', row.name)}",
        )
    if before != row.spec:  # a time-out, a price: what it answers stays the same
        store.change(ModelRow, rows[0].id, spec=row.spec)
        return store.get(ModelRow, rows[0].id)
    return rows[0]


def names(store: Store) -> list[str]:
    """Every name that `find` knows without looking outside: recorded ones and conf/model/ options."""
    recorded = {row.name for row in store.all(ModelRow)}
    return sorted(recorded | set(config.options("model")) - UNNAMED)


def record(store: Store, row: ModelRow, owner: str) -> ModelRow:
    """The row with an id: as found, or added now (by another process meanwhile, that one)."""
    if row.id is not None:
        return row
    row.owner = owner
    try:
        return store.add(row)
    except sa.exc.IntegrityError:
        return store.all(ModelRow, ModelRow.name == row.name)[0]


def seen_keys(store: Store, row: ModelRow) -> set[str]:
    """Keys of all questions that this model or one it was trained from has seen in training."""
    keys = set(row.seen or [])
    while row.parent_id is not None:
        row = store.get(ModelRow, row.parent_id)
        keys |= set(row.seen or [])
    return keys


def base_of(store: Store, row: ModelRow) -> ModelRow:
    """The model whose weights are loaded: itself, or the base of an adapter."""
    while row.kind == "adapter" and row.parent_id is not None:
        row = store.get(ModelRow, row.parent_id)
    return row


def model_id(row: ModelRow) -> str:
    """The id that a plan and a card name: a Hugging Face id, the local folder, or a merged model's name."""
    if row.kind == "merged":
        return row.name
    source = str(row.spec.get("source", ""))
    return EMBEDDED_ID if source == "embedded" else source


def check_trainable(row: ModelRow) -> ModelRow:
    """The row itself if its weights can be trained; ConfigError for a reference or an endpoint."""
    if row.kind == "adapter":
        raise ConfigError(
            f"base_model={row.name} is an adapter: training would start again from its base",
            got=row.kind,
            allowed=TRAINABLE,
            next=f"recipe=continue job_id={row.job_id} trains it further; or name the base itself",
        )
    if row.kind not in TRAINABLE:
        raise ConfigError(
            f"base_model={row.name} is a {row.kind} and has no weights to train",
            got=row.kind,
            allowed=TRAINABLE,
            next="base_model=smollm2_135m, a Hugging Face id or a local folder",
        )
    return row


def weights(row: ModelRow, workspace: Path, on_progress: Any = None) -> str:
    """The folder or hub id to load a base from; converts the embedded model the first time.

    NotFound where it was a folder of this machine, or a merged model's, that is gone.
    """
    if "folder" in row.spec:  # its files lie in the workspace
        source = str(workspace / row.spec["folder"])
    else:
        source = str(row.spec["source"])
    if source == "embedded":
        return str(embedded_model(on_progress=on_progress))
    if source.startswith("/") and not (Path(source) / "config.json").is_file():
        raise NotFound(
            f"the weights of model {row.name} are gone: there is no model in their folder",
            got=source,
            next="put the folder back where it was, or use another model",
        )
    return source


def local_folder(row: ModelRow, workspace: Path, on_progress: Any = None) -> Path | None:
    """Where a base's files lie on this machine; None for a hub id that was not downloaded yet."""
    source = weights(row, workspace, on_progress)
    return Path(source) if Path(source).is_dir() else snapshot(source, row.spec.get("revision"))


def context(store: Store, row: ModelRow, workspace: Path) -> int | None:
    """Tokens that prompt and reply may have together, as the model's files on this machine say.

    None where it is no model with files, or where they are not here or say nothing.
    """
    base = base_of(store, row)
    if base.kind not in TRAINABLE:
        return None
    if base.spec.get("source") == "embedded":  # which may not be converted yet
        return EMBEDDED_CONTEXT
    folder = local_folder(base, workspace)
    try:
        told = read_json(folder / "config.json") if folder else {}
        found = (told.get("text_config") or told).get("max_position_embeddings")
    except (StoreError, AttributeError):
        return None
    return found if isinstance(found, int) and found > 0 else None


def trained_by(store: Store, row: ModelRow) -> int | None:
    """Id of the job that trained it; of a merged model, of the one that trained its adapter."""
    while row.kind == "merged" and row.parent_id is not None:
        row = store.get(ModelRow, row.parent_id)
    return row.job_id


def adapter_folder(row: ModelRow, workspace: Path) -> Path:
    """The folder of an adapter as it was trained; NotFound where it is gone, StateError where it changed."""
    folder = workspace / str(row.spec["adapter"])
    file = folder / ADAPTER_WEIGHTS
    if not file.is_file() or not (folder / "adapter_config.json").is_file():
        raise NotFound(
            f"the adapter {row.name} is gone: its files are not in the workspace",
            got=str(folder),
            next=f"restore the folder of job {row.job_id}, or train it again",
        )
    found = file_sha256(file)
    if found != row.spec["adapter_sha256"]:
        raise StateError(
            f"the adapter {row.name} was changed since it was trained",
            got=found[:12],
            allowed=[str(row.spec["adapter_sha256"])[:12]],
            next=f"restore the folder of job {row.job_id}, or train it again",
        )
    return folder


def load(
    store: Store,
    row: ModelRow,
    workspace: Path,
    hardware: config.HardwareConfig,
    answers: Mapping[str, str],
) -> Model:
    """The model, ready to answer. `answers` {key: worked answer} is what a reference model says."""
    if row.kind == "reference":
        return ReferenceModel(answers)
    if row.kind == "endpoint":
        from benchgen.models.endpoint import EndpointModel

        settings = {key: row.spec[key] for key in ASKED}
        return EndpointModel(name=row.name, model=row.spec["name"], **settings)
    if row.kind == "mock":
        return FixedModel(row.spec["source"], name=row.name)
    import_once("benchgen.models.local")  # torch: only when a model is really loaded
    from benchgen.models.local import LocalModel

    adapter = row.spec.get("adapter")
    base = base_of(store, row)
    return LocalModel(
        weights(base, workspace),
        name=row.name,
        adapter=workspace / adapter if adapter else None,
        revision=base.spec.get("revision"),
        device=hardware.device,
        dtype=hardware.dtype,
        threads=hardware.threads,
        batch_rows=hardware.batch_rows,
        thinking=bool(base.spec.get("thinking")),
    )
