"""A model taken to the hub: only after a yes, private unless told, with the token from the environment alone."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchgen import cli
from benchgen.errors import BenchgenError, ConfigError, StateError
from benchgen.plan import gate
from benchgen.records import Job
from benchgen.stages import publishing
from benchgen.store import JobRow, ModelRow, PlanRow, file_sha256
from benchgen.workspace import Workspace
from tests.hub import Hub
from tests.trained import finished, planned

# The hub's client hands httpx a file in a way that httpx warns of.
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning"),
]
TOKEN = "hf_" + "secret" * 6


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    from huggingface_hub import constants

    with Hub(TOKEN) as server:
        monkeypatch.setenv("HF_ENDPOINT", server.url)
        monkeypatch.setenv("HF_TOKEN", TOKEN)
        monkeypatch.setenv("HF_HUB_OFFLINE", "0")
        monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")  # the stand-in knows plain LFS
        monkeypatch.setattr(
            constants, "HF_HUB_OFFLINE", False
        )  # read when it was loaded, by any test
        monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
        yield server


@pytest.fixture
def ws(workspace_path: Path, base_folder: Path) -> Workspace:
    """A workspace with an adapter, and a merged model whose files are as good as any for uploading."""
    ws = Workspace(workspace_path)
    job = finished(ws, planned(ws, base_folder, name="small-lora"))
    folder = ws.path / "models" / "mine"
    folder.mkdir(parents=True)
    for name, text in {
        "config.json": "{}", "README.md": "---\ntags: [benchgen]\n---\n# mine\n", "model.safetensors": "w",
        "benchgen.json": "{}",
    }.items():  # fmt: skip
        (folder / name).write_text(text)
    sha = {"model.safetensors": file_sha256(folder / "model.safetensors")}
    spec = {"folder": "models/mine", "sha256": sha, "base": "org/base"}
    parent = job.row.model_id
    ws.store.add(ModelRow(name="mine", kind="merged", spec=spec, parent_id=parent, job_id=job.id))
    return ws


def test_a_merged_model_goes_up_whole_private_and_confirmed(ws: Workspace, hub: Hub) -> None:
    """By a worker of its own, which has the token from its environment."""
    record = ws.publish_model("mine", "org/mine")
    assert hub.paths == []
    with pytest.raises(StateError, match="only the word yes"):
        ws.confirm(record, "sure")
    assert hub.paths == []
    job = ws.confirm(ws.publish_model("mine", "org/mine"), "yes").wait()
    assert hub.private is True
    assert hub.commits == 1
    folder = ws.path / "models" / "mine"
    wanted = {"README.md", "config.json", "model.safetensors"}
    assert hub.files == {name: (folder / name).read_bytes() for name in wanted}
    assert job.row.result["url"] == f"{hub.url}/org/mine"
    assert job.row.result["commit"] == "a" * 40
    assert job.model is None
    written = [p for p in ws.path.rglob("*") if p.is_file()]
    assert not [p for p in written if TOKEN.encode() in p.read_bytes()]
    again = ws.publish_model("mine", "org/mine")  # a model may go up once more
    assert again.plan.hash == record.plan.hash


def run_in_process(ws: Workspace, model: str, **asked: bool) -> dict[str, object]:
    record = ws.publish_model(model, "org/it", **asked)
    job = Job(ws.place, gate.decide(ws.store, record.id, "yes", "test").id)
    return publishing.run(ws.place, record.plan, job, lambda line: None)


def test_an_adapter_goes_up_with_a_card_and_without_paths_of_this_machine(
    ws: Workspace, hub: Hub, base_folder: Path
) -> None:
    assert ws.publish_model("small-lora", "org/it").plan.warnings == ()
    run_in_process(ws, "small-lora", private=False)
    assert hub.private is False
    assert set(hub.files) == {"README.md", "adapter_config.json", "adapter_model.safetensors"}
    config = json.loads(hub.files["adapter_config.json"])
    assert config["base_model_name_or_path"] == base_folder.name
    card = hub.files["README.md"].decode()
    assert "library_name: peft" in card
    assert "8 rows of" in card
    assert all(str(base_folder.parent).encode() not in content for content in hub.files.values())


def test_a_repository_that_is_open_already_is_not_taken_for_a_private_one(
    ws: Workspace, hub: Hub
) -> None:
    hub.open_before = True
    with pytest.raises(StateError, match="open to everybody"):
        run_in_process(ws, "mine")
    assert hub.commits == 0
    assert hub.objects == {}


def test_a_token_that_is_refused_is_one_line_without_it(
    ws: Workspace, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", TOKEN + "old")
    with pytest.raises(ConfigError, match="refuses to write") as failed:
        run_in_process(ws, "mine")
    assert hub.refused
    assert TOKEN not in failed.value.message
    assert "\n" not in failed.value.message


def test_what_the_hub_says_is_repeated_without_the_token() -> None:
    settings = {"hub": "https://hub", "repo": "org/it"}
    for error in (ValueError(f"bad header Bearer {TOKEN}"), OSError(f"{TOKEN}: refused")):
        told = publishing._refusal(error, settings, TOKEN).message
        assert TOKEN not in told
        assert "…" in told


def test_without_a_network_it_is_one_line(
    ws: Workspace, hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = ws.publish_model("mine", "org/it")
    job = Job(ws.place, gate.decide(ws.store, record.id, "yes", "test").id)
    hub.server.shutdown()
    hub.server.server_close()
    with pytest.raises(BenchgenError, match="cannot be reached") as failed:
        publishing.run(ws.place, record.plan, job, lambda line: None)
    assert "\n" not in failed.value.message
    assert "resume" in failed.value.next
    monkeypatch.setattr(hub.server, "shutdown", lambda: None)


@pytest.mark.parametrize("name", ["HF_TOKEN", "HF_HUB_OFFLINE"])
def test_without_token_or_network_nothing_is_planned(
    ws: Workspace, hub: Hub, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, {"HF_TOKEN": " ", "HF_HUB_OFFLINE": "1"}[name])
    plans = len(ws.store.all(PlanRow))
    with pytest.raises(ConfigError, match=name):
        ws.publish_model("mine", "org/mine")
    assert len(ws.store.all(PlanRow)) == plans


@pytest.mark.parametrize(
    "repo", ["mine", "org/", "org/a/b", "https://huggingface.co/org/a", "-x/y"]
)
def test_what_is_no_repository(ws: Workspace, hub: Hub, repo: str) -> None:
    with pytest.raises(ConfigError, match="names no repository"):
        ws.publish_model("mine", repo)


def test_only_what_was_made_here_and_is_whole(ws: Workspace, hub: Hub, base_folder: Path) -> None:
    with pytest.raises(ConfigError, match="only what was trained here"):
        ws.publish_model(str(base_folder), "org/mine")
    record = ws.publish_model("mine", "org/mine")
    weights = ws.path / "models" / "mine" / "model.safetensors"
    weights.write_text("v")
    with pytest.raises(StateError, match="changed since it was merged"):
        ws.publish_model("mine", "org/mine")
    job = Job(ws.place, gate.decide(ws.store, record.id, "yes", "test").id)
    with pytest.raises(StateError, match="changed since"):
        publishing.run(ws.place, record.plan, job, lambda line: None)
    assert hub.paths == []


def test_by_the_command_line(ws: Workspace, hub: Hub, capsys: pytest.CaptureFixture[str]) -> None:
    told = [f"workspace={ws.path}", "model=mine", "repo=org/mine", "output=json"]
    assert cli.run(["publish", *told]) == 0
    made = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (made["job_type"], made["state"]) == ("publish", "pending")
    assert made["hyperparameters"]["private"] is True
    assert cli.run(["publish", *told[:-1], "private=no"]) == 0
    assert "confirm plan_id=" in capsys.readouterr().out
    assert len(ws.store.all(JobRow)) == 1
    assert hub.paths == []
