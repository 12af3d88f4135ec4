"""What a model's name means, and what that model was trained on."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from benchgen import config
from benchgen.errors import ConfigError, NotFound
from benchgen.models import catalogue
from benchgen.models.embedded import EMBEDDED_ID
from benchgen.models.names import Match, downloaded, match
from benchgen.models.reference import ReferenceModel
from benchgen.store import ModelRow, Store
from benchgen.types import Request

pytestmark = pytest.mark.slow


@pytest.fixture
def store(workspace_path: Path) -> Store:
    return Store(workspace_path / "benchgen.db")


def small(store: Store) -> ModelRow:
    """A recorded base."""
    spec = {"source": "embedded", "revision": None}
    return store.add(ModelRow(name="small", kind="base", spec=spec))


def trained(store: Store, name: str, parent: ModelRow, *seen: str) -> ModelRow:
    """A recorded adapter on that parent."""
    spec = {"adapter": f"jobs/{name}/adapter"}
    return store.add(
        ModelRow(name=name, kind="adapter", spec=spec, parent_id=parent.id, seen=list(seen))
    )


# ------------------------------------------------------------------------------------------- names


def test_every_option_of_conf_model_is_found_and_nothing_is_written(
    store: Store, workspace_path: Path
) -> None:
    for name in catalogue.names(store):
        row = catalogue.find(store, name)
        assert row.name == name
        assert not row.id
        assert row.spec["source"]
    assert {"smollm2_135m", "reference"} <= set(catalogue.names(store))
    assert not workspace_path.exists()


def test_the_word_for_a_name_from_the_catalogue_is_no_model(store: Store) -> None:
    """`model=catalogue model.name=…` is how the command line says it; alone it means nothing."""
    assert "catalogue" not in catalogue.names(store)
    with pytest.raises(NotFound):
        catalogue.find(store, "catalogue")


@pytest.mark.parametrize("name", ["Qwen/Qwen2.5-0.5B-Instruct", "org/name", "a_b/c.d-e"])
def test_a_hub_id_is_a_base(store: Store, name: str, workspace_path: Path) -> None:
    row = catalogue.find(store, name)
    assert (row.kind, row.spec) == ("base", {"source": name, "revision": None})
    assert catalogue.model_id(row) == catalogue.weights(row, workspace_path) == name


def test_a_local_folder_with_a_config_is_a_base(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also one that reads like a hub id; its path is kept in full, since jobs start elsewhere."""
    folder = tmp_path / "models" / "mine"
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for name in (str(folder), "models/mine"):
        row = catalogue.find(store, name)
        assert (row.kind, row.spec["source"]) == ("base", str(folder))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert catalogue.find(store, "~/models/mine").spec["source"] == str(folder)


@pytest.mark.parametrize(
    ("name", "close"),
    [("smollm2-135m", "model=smollm2_135m"), ("refrence", "model=reference"), ("qqq", "local folder")],
)  # fmt: skip
def test_an_unknown_name_is_answered_with_a_close_one(store: Store, name: str, close: str) -> None:
    with pytest.raises(NotFound) as failed:
        catalogue.find(store, name)
    assert failed.value.exit_code == 2
    assert failed.value.got == name
    assert "smollm2_135m" in failed.value.allowed
    assert close in failed.value.next


def test_several_names_at_once_are_told_of_sweeps(store: Store) -> None:
    with pytest.raises(NotFound, match="no model, but 2 of them") as failed:
        catalogue.find(store, "smollm2_135m,reference")
    assert "-m" in failed.value.next


@pytest.mark.parametrize("name", ["", "/no/such/folder", "a/b/c", "org/name ", "org/na me", "org/"])
def test_what_is_neither_name_nor_id_nor_folder(store: Store, name: str) -> None:
    with pytest.raises(NotFound):
        catalogue.find(store, name)


@pytest.mark.parametrize(
    "name",
    ["", "  ", "*", "\n", "a" * 300, "~nobody-here", "a\0b", "\udcff", "/proc/1/root/x", "\u0455mollm2_135m"],
    ids=ascii,
)  # fmt: skip
def test_no_name_is_too_odd_for_a_line(
    store: Store, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the current folder holds a model: a blank name does not mean it."""
    (tmp_path / "config.json").write_text("{}")
    monkeypatch.chdir(tmp_path)
    for look in (catalogue.find, catalogue.resolve):
        with pytest.raises(NotFound):
            look(store, name)


def test_a_trained_model_is_found_by_name_and_wins_over_the_files(store: Store) -> None:
    base = small(store)
    trained(store, "org/name", base)
    row = catalogue.find(store, "org/name")
    assert (row.kind, row.parent_id) == ("adapter", base.id)
    assert "org/name" in catalogue.names(store)


# ------------------------------------------------------------------------------------------ records


def test_a_model_is_recorded_once(store: Store) -> None:
    """Two runs at once use a model for the first time: one record."""
    rows = [catalogue.find(store, "org/name") for _ in range(3)]
    ids: list[int] = []
    threads = [
        threading.Thread(target=lambda row=row: ids.append(catalogue.record(store, row, "ada").id))
        for row in rows
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ids == [1, 1, 1]
    assert [row.owner for row in store.all(ModelRow)] == ["ada"]
    found = catalogue.find(store, "org/name")
    assert catalogue.record(store, found, "eve").owner == "ada"


def test_what_a_model_has_seen_is_that_of_its_whole_line(store: Store) -> None:
    base = small(store)
    first = trained(store, "first", base, "a", "b")
    second = trained(store, "second", first, "b", "c")
    other = trained(store, "other", base, "z")
    assert catalogue.seen_keys(store, base) == set()
    assert catalogue.seen_keys(store, first) == {"a", "b"}
    assert catalogue.seen_keys(store, second) == {"a", "b", "c"}
    assert catalogue.seen_keys(store, other) == {"z"}
    assert catalogue.seen_keys(store, catalogue.find(store, "org/name")) == set()  # never recorded


def test_the_base_of_an_adapter_is_what_is_loaded(store: Store) -> None:
    base = small(store)
    second = trained(store, "second", trained(store, "first", base))
    assert catalogue.base_of(store, second).id == base.id
    assert catalogue.base_of(store, base).id == base.id
    assert catalogue.model_id(base) == EMBEDDED_ID


def test_only_weights_can_be_trained(store: Store) -> None:
    base = catalogue.find(store, "org/name")
    assert catalogue.check_trainable(base) is base
    with pytest.raises(ConfigError, match="base_model=reference") as failed:
        catalogue.check_trainable(catalogue.find(store, "reference"))
    assert failed.value.exit_code == 2
    assert failed.value.got == "reference"
    assert "base" in failed.value.allowed
    assert failed.value.next


def test_the_reference_answers_without_torch(store: Store, workspace_path: Path) -> None:
    row = catalogue.find(store, "reference")
    answers = {"k": "Because.\nAnswer: x"}
    model = catalogue.load(store, row, workspace_path, config.HardwareConfig(), answers)
    assert isinstance(model, ReferenceModel)
    assert [reply.text for _, reply in model.generate([Request((), key="k")])] == [answers["k"]]


# ------------------------------------------------------------------------- names as people type them

KNOWN = [
    "my-tutor-v2",
    "smollm2_135m",
    "Qwen/Qwen2.5-0.5B-Instruct",
    "Qwen/Qwen2.5-1.5B-Instruct",
    "meta-llama/Llama-3.2-1B",
]


@pytest.mark.parametrize(
    ("typed", "name", "others"),
    [
        ("my-tutor-v2", "my-tutor-v2", ()),
        ("My Tutor V2", "my-tutor-v2", ()),
        ("SmolLM2 135M", "smollm2_135m", ()),
        ("qwen/qwen2.5-0.5b-instruct", "Qwen/Qwen2.5-0.5B-Instruct", ()),
        ("Qwen2.5-0.5B-Instruct", "Qwen/Qwen2.5-0.5B-Instruct", ()),
        ("qwen 0.5b", "Qwen/Qwen2.5-0.5B-Instruct", ()),
        ("llama 3.2", "meta-llama/Llama-3.2-1B", ()),
        ("qwen2.5", "Qwen/Qwen2.5-0.5B-Instruct", ("Qwen/Qwen2.5-1.5B-Instruct",)),
        ("instruct qwen", "Qwen/Qwen2.5-0.5B-Instruct", ("Qwen/Qwen2.5-1.5B-Instruct",)),
    ],
)
def test_a_name_as_people_type_it(typed: str, name: str, others: tuple[str, ...]) -> None:
    assert match(typed, KNOWN) == Match(name, others)


@pytest.mark.parametrize("typed", ["", "  ", "gpt", "qwen 7b", "5b", "tutor v3", "1"])
def test_what_fits_nothing_is_not_guessed(typed: str) -> None:
    assert match(typed, KNOWN) is None


def test_the_newest_of_several_is_picked_and_the_others_are_told(store: Store) -> None:
    base = small(store)
    trained(store, "planets tutor", base)
    trained(store, "planets tutor 2", base)
    row, others = catalogue.resolve(store, "Planets")
    assert (row.name, others) == ("planets tutor 2", ("planets tutor",))
    row, others = catalogue.resolve(store, "planets-tutor")
    assert (row.name, others) == ("planets tutor", ())
    with pytest.raises(NotFound):  # code is taken at its word
        catalogue.find(store, "Planets")


def test_the_embedded_model_has_its_published_name_without_the_vendor(store: Store) -> None:
    for typed in ("SmolLM2-135M-Instruct", "smollm2", "SmolLM2 135m"):
        row, others = catalogue.resolve(store, typed)
        assert (row.name, others) == ("smollm2_135m", ())
    row, _ = catalogue.resolve(store, EMBEDDED_ID)  # the hub's own weights, not the 4-bit ones
    assert (row.name, row.spec["source"]) == (EMBEDDED_ID, EMBEDDED_ID)


def test_downloaded_models_are_known_by_part_of_their_name(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    (tmp_path / "models--Qwen--Qwen2.5-0.5B-Instruct" / "snapshots").mkdir(parents=True)
    (tmp_path / "datasets--a--b" / "snapshots").mkdir(parents=True)
    assert downloaded() == ["Qwen/Qwen2.5-0.5B-Instruct"]
    for typed in ("qwen 0.5b", "qwen/qwen2.5-0.5b-instruct"):
        assert catalogue.resolve(store, typed)[0].name == "Qwen/Qwen2.5-0.5B-Instruct"
    other = catalogue.resolve(store, "org/never-seen")[0]
    assert other.spec["source"] == "org/never-seen"


def test_a_name_that_fits_nothing_is_refused_with_what_there_is(store: Store) -> None:
    with pytest.raises(NotFound) as caught:
        catalogue.resolve(store, "gpt nine")
    assert "smollm2_135m" in str(caught.value)


def test_an_endpoints_time_out_and_price_may_change_and_its_address_may_not(store: Store) -> None:
    option = config.ModelConfig(name="m", kind="endpoint", base_url="http://localhost:1/v1")
    first = catalogue.record(store, catalogue.stored_endpoint(store, option), "me")
    option.timeout_s, option.price_out = 7.0, 2.5
    again = catalogue.stored_endpoint(store, option)
    assert again.id == first.id
    assert (again.spec["timeout_s"], again.spec["price_out"]) == (7.0, 2.5)
    option.base_url = "http://localhost:2/v1"
    with pytest.raises(ConfigError, match="other settings") as caught:
        catalogue.stored_endpoint(store, option)
    assert "model.name=ANOTHER model.served=m" in str(caught.value)
    option.name, option.served = "m-2", "m"
    elsewhere = catalogue.record(store, catalogue.stored_endpoint(store, option), "me")
    assert (elsewhere.name, elsewhere.spec["name"]) == ("m-2", "m")


# ------------------------------------------------------------------------------------- where files lie


def test_a_downloaded_model_is_found_where_its_branch_points(
    store: Store, workspace_path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By branch, tag or commit, and only with weights: a cache may hold a tokenizer alone."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path))
    row = catalogue.find(store, "org/name")
    assert catalogue.local_folder(row, workspace_path) is None
    folder = tmp_path / "models--org--name"
    for commit in ("c1", "c2"):
        (folder / "snapshots" / commit).mkdir(parents=True)
        (folder / "snapshots" / commit / "config.json").write_text("{}")
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text("c2")
    assert catalogue.local_folder(row, workspace_path) is None
    (folder / "snapshots" / "c1" / "model.safetensors").write_text("w")
    (folder / "snapshots" / "c2" / "model.safetensors").write_text("w")
    assert catalogue.local_folder(row, workspace_path) == folder / "snapshots" / "c2"
    row.spec = {**row.spec, "revision": "c1"}
    assert catalogue.local_folder(row, workspace_path) == folder / "snapshots" / "c1"


def test_a_merged_model_lies_in_its_workspace_wherever_that_is(
    store: Store, workspace_path: Path
) -> None:
    """Workspaces are moved: the record holds no absolute path."""
    base = small(store)
    adapter = trained(store, "a", base, "k1")
    spec = {"folder": "models/m", "sha256": {}, "base": EMBEDDED_ID}
    row = store.add(ModelRow(name="m", kind="merged", spec=spec, parent_id=adapter.id, job_id=7))
    with pytest.raises(NotFound, match="are gone"):
        catalogue.weights(row, workspace_path)
    (workspace_path / "models" / "m").mkdir(parents=True)
    (workspace_path / "models" / "m" / "config.json").write_text("{}")
    assert catalogue.weights(row, workspace_path) == str(workspace_path / "models" / "m")
    assert catalogue.base_of(store, row).id == row.id
    assert catalogue.model_id(row) == "m"
    assert catalogue.seen_keys(store, row) == {"k1"}
    assert catalogue.check_trainable(row) is row
    assert catalogue.trained_by(store, row) == adapter.job_id
