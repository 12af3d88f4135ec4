"""What every test stands on: no network, no key, no stray settings, fixed seeds.

The environment is set while this file is read, so that notebook kernels and started processes have it too.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import hypothesis
import pytest

from benchgen.config import cache_folder
from benchgen.doctor import nvidia_driver
from benchgen.errors import NotFound
from benchgen.models.device import detect
from benchgen.models.embedded import FOLDER, embedded_model

# BENCHGEN_CACHE names where the embedded model lies, converted once and used by every test.
# The others set the length of the tests that `make soak` runs in their long form.
KEPT = {"BENCHGEN_CACHE", "BENCHGEN_KILLS", "BENCHGEN_WRITERS_S", "BENCHGEN_SOAK"}
SECRETS = (
    "WANDB_API_KEY",
    "HF_TOKEN",
    "HUGGING_FACE_HUB_TOKEN",
    "OPENAI_API_KEY",
    "ANTHROPIC_API_KEY",
)
for _name in [
    n for n in os.environ if n.startswith(("BENCHGEN_", "WANDB_", "HYDRA_")) or n in SECRETS
]:
    if _name not in KEPT:
        del os.environ[_name]
os.environ.update(
    HF_HUB_OFFLINE="1",
    HF_HUB_DISABLE_TELEMETRY="1",
    HF_HUB_DISABLE_PROGRESS_BARS="1",
    WANDB_MODE="disabled",
    MPLBACKEND="agg",
    NO_COLOR="1",
    COLUMNS="100",
)


def _own_cache(worker: str) -> None:
    """Gives one of several workers a cache of its own, with what lies in the machine's.

    A device's lock lies in the cache: with one for all, the jobs of one worker's tests wait for another's.
    """
    shared, own = cache_folder(), Path(tempfile.mkdtemp(prefix=f"cache-{worker}-"))
    atexit.register(shutil.rmtree, own, ignore_errors=True)
    for part in (FOLDER, "threads.json"):
        if (shared / part).exists():
            (own / part).symlink_to(shared / part)
    os.environ["BENCHGEN_CACHE"] = str(own)


if "PYTEST_XDIST_WORKER" in os.environ:
    _own_cache(os.environ["PYTEST_XDIST_WORKER"])

hypothesis.settings.register_profile("repeatable", deadline=None, derandomize=True, database=None)
hypothesis.settings.load_profile("repeatable")

_MARKED_TORCH = re.compile(r"^pytestmark\b.*\bmark\.torch\b", re.MULTILINE)


@pytest.fixture
def workspace_path(tmp_path: Path) -> Path:
    """The path of a workspace that does not exist yet."""
    return tmp_path / "workspace"


@pytest.fixture(scope="session")
def account(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The workspace of the chat cases' account, built once: whoever changes something works in a copy."""
    from benchgen.testing import workspace_from

    cases = Path(__file__).parent / "cases"
    return workspace_from(
        cases / "chat_account.json", tmp_path_factory.mktemp("account") / "ws"
    ).path


@pytest.fixture(autouse=True)
def _settled(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Seeds fixed before each test, environment and current folder put back after it."""
    here = Path.cwd()
    before = dict(os.environ)
    random.seed(0)
    for library, seed in (("numpy", "random.seed"), ("torch", "manual_seed")):
        function = sys.modules.get(library)
        for part in seed.split("."):
            function = getattr(function, part, None)
        if callable(function):
            function(0)
    yield
    os.chdir(here)
    if os.environ != before:
        os.environ.clear()
        os.environ.update(before)


def _without_torch(config: pytest.Config) -> bool:
    return "not torch" in str(config.option.markexpr)


def pytest_configure(config: pytest.Config) -> None:
    """Converts the embedded model before several workers begin, so that they have it in common."""
    if getattr(config.option, "numprocesses", None) and not _without_torch(config):
        with suppress(NotFound):  # without the wheel the tests that need it say so
            embedded_model()


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leaves out whole files marked `torch` where torch is not wanted, since importing them may load it."""
    if collection_path.suffix != ".py" or not _without_torch(config):
        return None
    return True if _MARKED_TORCH.search(collection_path.read_text()) else None


LONGEST = ("browser", "notebook", "torch", "slow")
"""Marks of the files that take longest, the longest first."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks every executed notebook, skips what needs a GPU where there is none, and puts the longest files first.

    Workers take whole files in this order, so that none is alone with a long one at the end.
    """
    places: dict[Path, int] = {}
    for item in items:
        if item.path.suffix == ".ipynb":
            item.add_marker(pytest.mark.notebook)
        if item.get_closest_marker("gpu") and nvidia_driver() is None:
            item.add_marker(pytest.mark.skip(reason="waits for a machine with an NVIDIA GPU"))
        marks = {mark.name for mark in item.iter_markers()}
        place = next((n for n, name in enumerate(LONGEST) if name in marks), len(LONGEST))
        places[item.path] = min(place, places.get(item.path, place))
    items.sort(key=lambda item: places[item.path])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Gives each notebook a workspace of its own and the short form of its questions and steps."""
    if item.path.suffix != ".ipynb":
        return (yield)
    short = {"BENCHGEN_LIMIT": "2", "BENCHGEN_STEPS": "1"}
    with tempfile.TemporaryDirectory(prefix="notebook-") as folder:
        os.environ.update(short, BENCHGEN_WORKSPACE=folder)
        try:
            return (yield)
        finally:
            for name in (*short, "BENCHGEN_WORKSPACE"):
                del os.environ[name]


def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Takes back what loading a model sets for the whole process: smallest floats are numbers again."""
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_flush_denormal(False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fails the test that loads torch in a run that leaves torch out."""
    loaded = "torch" in sys.modules
    yield
    if _without_torch(item.config) and not loaded and "torch" in sys.modules:
        pytest.fail(f"{item.nodeid} loaded torch: mark it `torch`", pytrace=False)


def pytest_collection_finish(session: pytest.Session) -> None:
    """Stops a run without torch whose test files loaded it already; what is loaded is collected no more.

    Trainers collect garbage at each start: a second each time, over all that the tests have imported.
    """
    gc.collect()
    gc.freeze()
    if _without_torch(session.config) and "torch" in sys.modules:
        raise pytest.UsageError(
            "collecting the tests loaded torch: mark that file `pytestmark = pytest.mark.torch`"
        )


@pytest.fixture
def soak() -> Callable[..., None]:
    """Call with a name and figures: written under experiments/soak/ by `make soak`, else dropped."""

    def write(name: str, **figures: object) -> None:
        if folder := os.environ.get("BENCHGEN_SOAK"):
            figures |= {"cpu": detect().name, "cores": len(os.sched_getaffinity(0))}
            text = json.dumps(figures, indent=1, sort_keys=True) + "\n"
            (Path(folder) / f"{name}.json").write_text(text)

    return write


@pytest.fixture
def base_folder(tmp_path: Path) -> Path:
    """A model folder that can be planned with but not loaded: config, tokenizer, and a file of no real weights."""
    from benchgen.testing import hollow_base

    return hollow_base(tmp_path / "tiny-base")


@pytest.fixture(scope="session")
def tiny_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random two-layer llama: real files, quick to train and to ask."""
    from tests.tiny import tiny_llama

    return tiny_llama(
        tmp_path_factory.mktemp("models") / "tiny",
        max_position_embeddings=512,
        tie_word_embeddings=True,
    )
