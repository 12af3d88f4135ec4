"""A report, against what was written and against what its records give now; and the machine that it names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from benchgen.compare.report import SUMS
from benchgen.records import Place, Run
from benchgen.reports import SPEC, environment, rebuilt, report_folder
from benchgen.store import file_sha256, read_json
from benchgen.verifying.checks import MISSING, UNRECORDED, Check, counted, matched, worked_out

NAME = "report"
FILES, BUILT, SAME = "files as written", "built again", "byte for byte the same"
AGAIN = "the report differs from what its records give; or this version, or another matplotlib, draws it otherwise"


def of_report(place: Place, runs: Sequence[Run], expected: bool) -> Iterator[Check]:
    """Each file by its recorded sha256, all of them against a second building, the versions; `expected` = it must be there."""
    folder = report_folder(place, [run.id for run in runs])
    if not (folder / SPEC).is_file():
        why = "there is no report of exactly these runs, in this order"
        yield Check(NAME, FILES, MISSING if expected else UNRECORDED, why=why)
        return
    yield from _as_written(folder)
    yield _built_again(place, runs, folder)
    yield from of_environment(read_json(folder / SPEC)["environment"])


def _as_written(folder: Path) -> Iterator[Check]:
    """One line for all files that are as they were, one for each that is not."""
    if not (folder / SUMS).is_file():
        yield Check(NAME, FILES, UNRECORDED, why=f"{SUMS} is not there: report … writes it")
        return
    lines = (folder / SUMS).read_text("utf-8").splitlines()
    told = {name: sha for sha, _, name in (line.partition("  ") for line in lines)}
    now = _hashes(folder, told)
    yield counted(NAME, FILES, told, now, "changed or gone since they were written")
    for name, sha in told.items():
        if now.get(name) != sha:
            yield matched(NAME, name, sha, now.get(name), "changed since it was written")


def _hashes(folder: Path, names: Any) -> dict[str, str]:
    """{name: sha256} of those that lie in the folder; no name leads out of it."""
    inside = folder.resolve()
    files = {name: folder / name for name in names}
    return {
        name: file_sha256(file)
        for name, file in files.items()
        if file.resolve().is_relative_to(inside) and file.is_file()
    }


def _built_again(place: Place, runs: Sequence[Run], folder: Path) -> Check:
    def work() -> str:
        wanted = rebuilt(place, runs)
        there = {n: (folder / n).read_bytes() for n in wanted if (folder / n).is_file()}
        apart = [n for n, text in wanted.items() if there.get(n) != text.encode()]
        if not apart:
            return SAME
        listed = ", ".join(apart[:5]) + ("…" if len(apart) > 5 else "")
        return f"{len(apart)} of {len(wanted)} files differ: {listed}"

    return worked_out(NAME, BUILT, SAME, work, AGAIN)


def of_environment(told: dict[str, Any]) -> Iterator[Check]:
    """The versions that a report names, each against the one that is installed here."""
    here = environment()
    why = "another version is installed here: figures made with it may differ in the last digits"
    yield matched("environment", "python", str(told.get("python", "")), here["python"], why)
    for name, version in dict(told.get("versions", {})).items():
        now = here["versions"].get(name)
        yield matched("environment", name, str(version), now, why)


def elsewhere(place: Place, runs: Sequence[Run]) -> tuple[str, ...]:
    """A note where the report was made on another device than this one."""
    folder = report_folder(place, [run.id for run in runs])
    if not (folder / SPEC).is_file():
        return ()
    told, here = read_json(folder / SPEC)["environment"], environment()
    apart = [key for key in ("platform", "device") if told.get(key) != here[key]]
    return tuple(f"{key}: recorded {told.get(key)}, here {here[key]}" for key in apart)
