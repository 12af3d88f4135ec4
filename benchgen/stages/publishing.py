"""A trained or merged model taken to the Hugging Face hub: planned, confirmed by a person, private unless told.

The token is read from the environment when it is used, and stands in no plan, record or log.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.errors import BenchgenError, ConfigError, NotFound, StateError
from benchgen.models import catalogue, quiet_libraries
from benchgen.models.fingerprint import weights_fingerprint
from benchgen.records import Job, Place, PlanRecord
from benchgen.stages import cards, planning
from benchgen.stages.cards import CARD
from benchgen.stages.merging import MARK
from benchgen.store import JobRow, ModelRow, file_sha256, now
from benchgen.types import Estimate, Plan, sha256

VARIABLE = "HF_TOKEN"
HUB = "https://huggingface.co"
REPO = re.compile(r"[A-Za-z0-9][\w.-]{0,95}/[A-Za-z0-9][\w.-]{0,95}")


@dataclass(frozen=True)
class Wanted:
    """What a person asks: which model, where to, and who may see it."""

    model: str
    repo: str
    private: bool = True


def plan(place: Place, wanted: Wanted) -> PlanRecord:
    """What would be uploaded and where, frozen under a hash; nothing leaves this machine."""
    place.allow("push")
    if not REPO.fullmatch(wanted.repo):
        raise ConfigError(
            f"repo={wanted.repo} names no repository of the hub",
            got=wanted.repo,
            allowed="owner/name: letters, digits, dots, dashes and underscores",
            next="repo=org/name",
        )
    _token()
    row = catalogue.find(place.store, wanted.model)
    folder = _folder(place, row)
    files = _files(folder)
    size = sum((folder / name).stat().st_size for name in files)
    made = Plan(
        job_type="publish",
        base_model=catalogue.model_id(catalogue.base_of(place.store, row)),
        base={"name": row.name, "revision": None, "fingerprint": weights_fingerprint(folder)},
        dataset={
            "source": "nothing is trained on",
            "mode": None,
            "runs": [],
            "rows": 0,
            "sha256": sha256([]),
        },
        hyperparameters={
            "repo": wanted.repo,
            "private": wanted.private,
            "hub": os.environ.get("HF_ENDPOINT", HUB).rstrip("/"),
            "files": sorted({*files, CARD}),
        },
        device={"trainer": "huggingface_hub", "kind": "network", "name": "", "dtype": ""},
        name=row.name,
        estimates={"upload": Estimate(round(size / 2**20, 1), "MiB", f"{len(files)} files")},
        warnings=() if wanted.private else ("the repository will be open to everybody",),
    )
    return planning.record_plan(place, made, [])


def run(place: Place, plan: Plan, job: Job, tell: Callable[[str], None]) -> dict[str, Any]:
    """Address and commit of what was uploaded; one commit holds all of it, so a killed upload is none.

    Raises StateError where the model changed since the plan, BenchgenError where the hub refuses.
    """
    row = catalogue.find(place.store, plan.base["name"])
    folder, settings = _folder(place, row), plan.hyperparameters
    if weights_fingerprint(folder) != plan.base["fingerprint"]:
        raise StateError(f"the model {row.name} changed since the plan was made", next="plan again")
    token = _token()
    tell(f"uploading {row.name} to {settings['hub']}/{settings['repo']}")
    contents = {name: _content(folder, name) for name in settings["files"] if name != CARD}
    contents[CARD] = _card(place, row, folder)
    try:
        return _upload(settings, contents, token)
    except BenchgenError:
        raise
    except Exception as error:  # noqa: BLE001 - whatever a client of a network raises
        raise _refusal(error, settings, token) from None  # its own text may hold what was sent


def finish(place: Place, job: Job, outcome: dict[str, Any]) -> None:
    """The job finished; it made no model."""
    place.store.change(JobRow, job.id, state="finished", result=outcome, finished=now())


def _upload(
    settings: dict[str, Any], contents: dict[str, bytes | Path], token: str
) -> dict[str, Any]:
    quiet_libraries()
    from huggingface_hub import CommitOperationAdd, HfApi

    hub = HfApi(endpoint=settings["hub"], token=token, library_name="benchgen")
    repo = settings["repo"]
    hub.create_repo(repo, private=settings["private"], exist_ok=True)
    if settings["private"] and not hub.model_info(repo).private:
        raise StateError(
            f"the repository {repo} is there already and open to everybody",
            got="public",
            allowed=["private"],
            next="another repo=…, or private=no",
        )
    operations = [
        CommitOperationAdd(name, content if isinstance(content, bytes) else str(content))
        for name, content in sorted(contents.items())
    ]
    done = hub.create_commit(repo, operations, commit_message="Upload by benchgen")
    return {
        "repo": repo,
        "private": settings["private"],
        "url": f"{settings['hub']}/{repo}",
        "commit": done.oid,
        "files": len(operations),
    }


def _token() -> str:
    token = os.environ.get(VARIABLE, "").strip()
    if not token:
        raise ConfigError(
            f"publishing to the hub needs a token, and {VARIABLE} is not set",
            allowed="a token with write permission, in the environment",
            next=f"export {VARIABLE}=… (https://huggingface.co/settings/tokens)",
        )
    if os.environ.get("HF_HUB_OFFLINE", "").strip().upper() in ("1", "ON", "YES", "TRUE"):
        raise ConfigError(
            "publishing needs the network, and HF_HUB_OFFLINE is set",
            got=os.environ["HF_HUB_OFFLINE"],
            next="unset HF_HUB_OFFLINE",
        )
    return token


def _folder(place: Place, row: ModelRow) -> Path:
    """Where the model's files lie, whole and unchanged; ConfigError for one that was not made here."""
    if row.kind == "adapter":
        return catalogue.adapter_folder(row, place.path)
    if row.kind != "merged":
        raise ConfigError(
            f"model {row.name} is a {row.kind}: only what was trained here is published",
            got=row.kind,
            allowed=["adapter", "merged"],
            next="benchgen models lists them",
        )
    folder = Path(catalogue.weights(row, place.path))
    for name, wanted in row.spec["sha256"].items():
        if not (folder / name).is_file():
            raise NotFound(f"a file of model {row.name} is gone", got=name, next="merge again")
        if file_sha256(folder / name) != wanted:
            raise StateError(
                f"the model {row.name} was changed since it was merged",
                got=name,
                next="merge again",
            )
    return folder


def _files(folder: Path) -> list[str]:
    return sorted(
        file.name
        for file in folder.iterdir()
        if file.is_file() and file.name != MARK and not file.name.startswith(".")
    )


def _content(folder: Path, name: str) -> bytes | Path:
    """A file as it goes out: an adapter's configuration without a path of this machine."""
    if name != "adapter_config.json":
        return folder / name
    told = json.loads((folder / name).read_text(encoding="utf-8"))
    told["base_model_name_or_path"] = cards.shown(str(told["base_model_name_or_path"]))
    return json.dumps(told, indent=2, sort_keys=True).encode()


def _card(place: Place, row: ModelRow, folder: Path) -> bytes:
    if row.kind == "adapter":  # with what was measured since it landed
        return cards.adapter_card(place, row).encode()
    return (folder / CARD).read_bytes()


def _refusal(error: Exception, settings: dict[str, Any], token: str) -> BenchgenError:
    """One line of what the hub or the network said, without the token."""
    import httpx

    while isinstance(error, RuntimeError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # "error while uploading": of what, its cause says
    status = getattr(getattr(error, "response", None), "status_code", None)
    first = (str(error).strip() or type(error).__name__).splitlines()[0].replace(token, "…")[:200]
    where = f"{settings['hub']}/{settings['repo']}"
    if status in (401, 403):
        return ConfigError(
            f"the hub refuses to write to {settings['repo']}: {first}",
            got=f"HTTP {status}",
            next=f"a {VARIABLE} with write permission there, then resume the job",
        )
    if status is None and isinstance(error, (OSError, httpx.TransportError)):
        return BenchgenError(
            f"the hub cannot be reached: {first}",
            got=where,
            next="resume the job once there is a network; nothing was published",
        )
    return BenchgenError(
        f"the hub did not take the upload: {first}",
        got=where if status is None else f"HTTP {status}",
        next="resume the job later",
    )
