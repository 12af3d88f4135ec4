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
from benchgen.errors import ConfigError, NotFound
from benchgen.models.embedded import EMBEDDED_ID, embedded_model
from benchgen.models.reference import ReferenceModel
from benchgen.store import ModelRow, Store
from benchgen.types import Model

HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
TRAINABLE = ("base", "merged")
UNNAMED = frozenset(("catalogue", "endpoint"))
"""Options of conf/model/ that are no model until they are given a name."""
REMOTE = ("reference", "endpoint")
"""Kinds that use no device of this machine."""
ENDPOINT = (
    *("name", "base_url", "api_key_env", "concurrency"),
    *("timeout_first_s", "timeout_s", "max_retries", "extra"),
)


def find(store: Store, name: str) -> ModelRow:
    """The record that `name` means; it has no id yet if it was never used in this workspace."""
    rows = store.all(ModelRow, ModelRow.name == name)
    if rows:
        return rows[0]
    if name in config.options("model") and name not in UNNAMED:
        return from_config(config.load_model(name))
    folder = Path(name).expanduser()
    if (folder / "config.json").is_file():
        resolved = str(folder.resolve())  # the name too: it must mean the same from any folder
        rows = store.all(ModelRow, ModelRow.name == resolved)
        spec = {"source": resolved, "revision": None}
        return rows[0] if rows else ModelRow(name=resolved, kind="base", spec=spec)
    if folder.is_dir():
        raise NotFound(
            f"there is no model in the folder {name} (no config.json)",
            got=name,
            next="name the folder that holds config.json, or a Hugging Face id",
        )
    if HUB_ID.fullmatch(name):
        return ModelRow(name=name, kind="base", spec={"source": name, "revision": None})
    known = names(store)
    close = difflib.get_close_matches(name, known, n=1)
    raise NotFound(
        f"model {name!r} is not in the catalogue",
        got=name,
        allowed=known,
        next=f"model={close[0]}" if close else "a name above, a Hugging Face id or a local folder",
    )


def from_config(option: config.ModelConfig) -> ModelRow:
    """The record, without an id yet, that a config of conf/model/ describes."""
    if option.kind != "endpoint":
        spec: dict[str, Any] = {"source": option.source, "revision": option.revision}
    else:
        from benchgen.models.endpoint import EndpointModel

        spec = {key: getattr(option, key) for key in ENDPOINT}
        settings = {key: value for key, value in spec.items() if key != "name"}
        checked = EndpointModel(
            name=option.name, model=option.name, **settings
        )  # before it is stored
        spec["base_url"] = checked.base_url
    return ModelRow(name=option.name, kind=option.kind, spec=spec)


def stored_endpoint(store: Store, option: config.ModelConfig) -> ModelRow:
    """The record of an endpoint: the one of that name, or a new one; ConfigError if that is another."""
    row = from_config(option)
    rows = store.all(ModelRow, ModelRow.name == row.name)
    if rows and (rows[0].kind, rows[0].spec) != (row.kind, row.spec):
        raise ConfigError(
            f"a model named {row.name} is stored with other settings",
            got=option.base_url,
            allowed=[rows[0].spec.get("base_url") or rows[0].kind],
            next=f"model={row.name} uses the stored one; another needs a file of its own in conf/model/",
        )
    return rows[0] if rows else row


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
    """The id that a plan and a card name: a Hugging Face id or the local folder."""
    source = str(row.spec.get("source", ""))
    return EMBEDDED_ID if source == "embedded" else source


def check_trainable(row: ModelRow) -> ModelRow:
    """The row itself if its weights can be trained; ConfigError for a reference or an endpoint."""
    if row.kind == "adapter":
        raise ConfigError(
            f"base_model={row.name} is an adapter: training would start again from its base",
            got=row.kind,
            allowed=TRAINABLE,
            next="name the base itself",
        )
    if row.kind not in TRAINABLE:
        raise ConfigError(
            f"base_model={row.name} is a {row.kind} and has no weights to train",
            got=row.kind,
            allowed=TRAINABLE,
            next="base_model=smollm2_135m, a Hugging Face id or a local folder",
        )
    return row


def weights(row: ModelRow, on_progress: Any = None) -> str:
    """The folder or hub id to load a base from; converts the embedded model the first time."""
    source = str(row.spec["source"])
    if source == "embedded":
        return str(embedded_model(on_progress=on_progress))
    return source


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

        settings = {key: value for key, value in row.spec.items() if key != "name"}
        return EndpointModel(name=row.name, model=row.spec["name"], **settings)
    from benchgen.models.local import LocalModel  # torch: only when a model is really loaded

    adapter = row.spec.get("adapter")
    base = base_of(store, row)
    return LocalModel(
        weights(base),
        name=row.name,
        adapter=workspace / adapter if adapter else None,
        revision=base.spec.get("revision"),
        device=hardware.device,
        dtype=hardware.dtype,
        threads=hardware.threads,
        batch_rows=hardware.batch_rows,
    )
