"""The tasks of reasoning-gym that can be asked here, and the generators behind them.

`tasks.json` lists them, and each that is left out with the reason; `experiments/procedural/derive.py`
made it, by the rule that stands there.
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import json
import re
import sys
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from decimal import Context
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from benchgen.errors import ConfigError

PACKAGE = "reasoning_gym"
VERSION = "0.1.25"
"""The list was derived with this one; another may word its questions and draw its items otherwise."""
INSTALL = f"pip install --no-deps reasoning-gym=={VERSION}"
LIST = Path(__file__).with_name("tasks.json")


@dataclass(frozen=True)
class Task:
    """One generator of the package, and how its items become questions."""

    name: str
    category: str
    """The package's own group: arithmetic, graphs …"""
    kind: str
    """qa | numeric"""
    description: str
    module: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """What the scorer is told, so that it judges as the package's own one does."""
    levels: Mapping[str, int] = field(default_factory=dict)
    """easy, medium, hard -> level of the task's own curriculum; {} where it has none that fit."""
    edits: tuple[tuple[str, str], ...] = ()
    """(pattern, replacement): what the text demands of the answer's form, which benchgen asks for itself."""
    skip: str = ""
    """Pattern of items whose key is wrong or open to doubt, searched in 'question newline answer'."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "edits", tuple((a, b) for a, b in self.edits))


def key_of(kind: str, answer: str) -> Any:
    """The target of a question whose answer the package gives as text, without the noise of its floats.

    qa [text]; numeric an int, or a decimal (15 digits at most) or fraction as text.
    """
    if kind == "qa":
        return [answer]
    if re.fullmatch(r"-?\d+", answer):
        return int(answer)
    if "/" in answer:
        return answer
    return f"{Context(prec=15).create_decimal(answer).normalize():f}"


def prompt_of(edits: Iterable[tuple[str, str]], question: str) -> str:
    """The item's question without what it demands of the answer's form."""
    for pattern, replacement in edits:
        question = re.sub(pattern, replacement, question)
    return question.strip()


@cache
def tasks() -> tuple[Task, ...]:
    """Every task that can be asked, by name."""
    return tuple(Task(**row) for row in json.loads(LIST.read_text(encoding="utf-8"))["used"])


@cache
def left_out() -> Mapping[str, str]:
    """Every other task of the package, with the reason."""
    reasons: dict[str, str] = json.loads(LIST.read_text(encoding="utf-8"))["left_out"]
    return reasons


# --- the package -----------------------------------------------------------------------------

_GROUPS = (
    "algebra",
    "algorithmic",
    "arc",
    "arithmetic",
    "code",
    "cognition",
    "games",
    "geometry",
    "graphs",
    "induction",
    "logic",
    "probability",
)
_lock = threading.RLock()
_modules: dict[str, ModuleType] = {}


@contextmanager
def package() -> Iterator[None]:
    """The package's modules can be imported one by one for as long as this lasts.

    `import reasoning_gym` loads all of its hundred tasks, with matplotlib, sympy, and eight packages
    that only left-out tasks need, one of which must be compiled: 4 s, where most tasks need 0.1 s and
    nothing else. So the `__init__` of the package and of its groups do not run here. What is in
    `sys.modules` outside is as it was before.
    """
    _check_installed()
    with _lock:
        outside = _ours(sys.modules)
        for name in outside:
            del sys.modules[name]
        sys.modules.update(_modules or _shells())
        try:
            importlib.import_module(f"{PACKAGE}.coaching")  # before `factory`, which needs it whole
            yield
        finally:
            inside = _ours(sys.modules)
            _modules.update(inside)
            for name in inside:
                del sys.modules[name]
            sys.modules.update(outside)


def generator(task: Task, difficulty: str, seed: int, size: int) -> Any:
    """The task's items by index, each {"question", "answer", "metadata"}; only within `package()`.

    Items of consecutive seeds overlap: the package draws item i with seed + i.
    """
    return make(task.name, task.module, task.levels[difficulty] if difficulty else None, seed, size)


def make(name: str, module: str, level: int | None, seed: int, size: int) -> Any:
    """As `generator`, at any level of the task's curriculum; None = the task's default parameters."""
    importlib.import_module(f"{PACKAGE}.{module}")
    factory = sys.modules[f"{PACKAGE}.factory"]
    maker, config = factory.DATASETS[name]
    given = {"seed": seed, "size": size}
    if level is None:
        return maker(config(**given))
    base = sys.modules[f"{PACKAGE}.coaching.base_curriculum"]
    curriculum = factory.create_curriculum(name)
    curriculum.set_global_level(level)
    # INCLUSIVE, the default, would mix the levels below in.
    only = base.DefaultCurriculumContext(mode=base.RangeAttributeMode.UPPER_BOUND)
    return maker(curriculum.generate_configuration(given, context=only))


def _ours(modules: Mapping[str, ModuleType]) -> dict[str, ModuleType]:
    return {
        name: module
        for name, module in modules.items()
        if name == PACKAGE or name.startswith(f"{PACKAGE}.")
    }


def _shells() -> dict[str, ModuleType]:
    """The package and its groups as modules that have a folder and nothing else."""
    spec = importlib.util.find_spec(PACKAGE)
    assert spec is not None
    assert spec.submodule_search_locations
    root = spec.submodule_search_locations[0]
    shells = {PACKAGE: Path(root)} | {f"{PACKAGE}.{g}": Path(root, g) for g in _GROUPS}
    modules = {name: ModuleType(name) for name in shells}
    for name, module in modules.items():
        module.__path__ = [str(shells[name])]
    return modules


def _check_installed() -> None:
    try:
        found = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        raise ConfigError(
            "author procedural needs the package reasoning-gym", next=INSTALL
        ) from None
    if found != VERSION:
        raise ConfigError(
            "author procedural was made for another version of reasoning-gym",
            got=found,
            allowed=VERSION,
            next=INSTALL,
        )
