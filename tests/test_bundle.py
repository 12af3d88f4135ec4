"""Bundles: what goes out comes back the same, and nothing of a foreign one is run or let out of its zip."""

from __future__ import annotations

import io
import json
import os
import stat
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from benchgen.author.write import write
from benchgen.benchmark import bundle, registry
from benchgen.errors import DataError, InputError, StateError
from benchgen.records import Benchmark
from benchgen.types import Evaluation, Question
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

QUESTIONS = (
    Question("mcq", "Which planet is red?", "B", ("Venus", "Mars", "Earth"), "planets", "easy"),
    Question("mcq", "Which are even?", ["A", "C"], ("2", "3", "6")),
    Question("qa", "Which planet is “red”?\u2028", ["Mars", "the red planet"], language="en"),
    Question("numeric", "Half of one, to 4 digits?", "1/2", options={"rel_tol": 1e-4}),
    Question(
        "tool",
        "Ping host a.",
        [{"name": "ping", "arguments": {"host": "a"}}],
        options={"tools": [{"name": "ping", "parameters": {"host": "string"}}]},
    ),
    Question("keypoints", "Why do leaves turn yellow?", ["chlorophyll breaks down"]),
)


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


@pytest.fixture
def bench(ws: Workspace) -> Benchmark:
    draft = write(
        lambda accept: [q for q in QUESTIONS if accept(q)], Evaluation(), name="six kinds"
    )
    assert not draft.rejected
    return ws.create(draft).publish()


@pytest.fixture
def path(ws: Workspace, bench: Benchmark, tmp_path: Path) -> Path:
    return ws.export(bench, tmp_path / "bench.zip")


def entries(path: Path) -> dict[str, bytes]:
    return bundle.unpacked(path.read_bytes(), path.name)


def repacked(path: Path, **changes: bytes | None) -> Path:
    """A copy of the bundle with parts changed (`reference_data_zip` = reference_data.zip) or left out."""
    files = entries(path)
    for key, data in changes.items():
        stem, _, ending = key.rpartition("_")
        name = f"{stem}.{ending}"
        files.pop(name, None)
        if data is not None:
            files[name] = data
    copy = path.with_name("changed.zip")
    copy.write_bytes(packed(files))
    return copy


def packed(files: dict[str, bytes], attributes: int = 0o644 << 16) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, attributes
            archive.writestr(entry, data)
    return buffer.getvalue()


# ------------------------------------------------------------------------------------- round trip


def test_a_bundle_comes_back_with_the_same_keys_evaluation_and_program(
    bench: Benchmark, path: Path, tmp_path: Path
) -> None:
    other = Workspace(tmp_path / "other", user="bob")
    trusted = Workspace(bench.place.path, user="ada").import_bundle(path)
    assert trusted.row.state == "draft"
    assert trusted.questions == bench.questions
    assert trusted.evaluation == bench.evaluation
    assert trusted.row.program_sha256 == bench.row.program_sha256
    assert trusted.row.spec["report"]["warnings"] == []
    abroad = other.import_bundle(path)
    assert [q.key for q in abroad.questions] == [q.key for q in bench.questions]


def test_exporting_twice_gives_the_same_bytes(
    ws: Workspace, bench: Benchmark, path: Path, tmp_path: Path
) -> None:
    again = ws.export(bench.id, tmp_path / "again.zip")
    assert again.read_bytes() == path.read_bytes()


def test_the_input_data_hold_no_answer(path: Path) -> None:
    inside = bundle.unpacked(entries(path)["input_data.zip"], "input_data.zip")
    rows = [json.loads(line) for line in inside["prompts.jsonl"].splitlines()]
    assert [set(row) for row in rows] == [{"key", "messages"}] * len(QUESTIONS)


def test_the_scoring_program_runs_as_codabench_runs_it(path: Path, tmp_path: Path) -> None:
    """By the command of metadata.yaml, with the folders that Codabench mounts."""
    app = tmp_path / "app"
    parts = {"program": "scoring_program.zip", "input/ref": "reference_data.zip"}
    for folder, name in parts.items():
        for inside, data in bundle.unpacked(entries(path)[name], name).items():
            (app / folder / inside).parent.mkdir(parents=True, exist_ok=True)
            (app / folder / inside).write_bytes(data)
    (app / "input" / "res").mkdir()
    replies = ["Answer: B", "Answer: A", "Answer: Mars", "0.5", "ping!", "It is cold."]
    rows = [{"key": q.key, "reply": r} for q, r in zip(QUESTIONS, replies, strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (app / "input" / "res" / "predictions.jsonl").write_text(lines)
    command = yaml.safe_load((app / "program" / "metadata.yaml").read_text())["command"]
    argv = [word.replace("/app", str(app)) for word in command.split()]
    subprocess.run([sys.executable, "-I", *argv[1:]], check=True, cwd="/")
    scores = json.loads((app / "output" / "scores.json").read_text())
    assert (scores["right"], scores["scored"], scores["asked"]) == (3, 6, 6)
    columns = yaml.safe_load(entries(path)["competition.yaml"])["leaderboards"][0]["columns"]
    assert {column["key"] for column in columns} <= scores.keys()


# ------------------------------------------------------------------------------- foreign programs

TRAPS: dict[str, Callable[[Path], str]] = {
    "a file written on import": lambda trap: f"open({str(trap)!r}, 'w').close()\n",
    "a fork bomb": lambda trap: (
        f"import os\nopen({str(trap)!r}, 'w').close()\nwhile True:\n    os.fork()\n"
    ),
    "ctypes": lambda trap: (
        f"import ctypes\nopen({str(trap)!r}, 'w').close()\nctypes.string_at(0)\n"
    ),
    "an audit hook": lambda trap: (
        f"import sys\nopen({str(trap)!r}, 'w').close()\nsys.addaudithook(print)\n"
    ),
}


@pytest.mark.parametrize("trap", TRAPS)
def test_not_a_line_of_a_foreign_program_is_run(
    ws: Workspace, path: Path, tmp_path: Path, trap: str
) -> None:
    ran = tmp_path / "ran"
    code = TRAPS[trap](ran).encode()
    program = packed({"score.py": code, "conftest.py": code, "__init__.py": code, "setup.cfg": b""})
    changed = repacked(path, scoring_program_zip=program)
    before = set(sys.modules)
    bench = ws.import_bundle(changed).publish()
    run = ws.run(bench, "reference")
    ws.export(bench, tmp_path / "out.zip")
    assert not ran.exists()
    assert run.score == 1.0
    assert not [name for name in set(sys.modules) - before if name.endswith("conftest")]
    assert bench.row.program_sha256 == registry.program_sha256(registry.PROGRAM)
    assert "never run" in bench.row.spec["report"]["warnings"][0]
    assert "never run" in Path(bench.link).read_text()
    assert entries(tmp_path / "out.zip")["scoring_program.zip"] == program
    assert not list(bench.folder.rglob("conftest.py"))


def test_a_changed_copy_of_our_program_is_foreign(ws: Workspace, path: Path) -> None:
    files = bundle.unpacked(entries(path)["scoring_program.zip"], "p")
    files["verdict.py"] += b"\n# one more line\n"
    bench = ws.import_bundle(repacked(path, scoring_program_zip=packed(files)))
    assert bench.row.spec["report"]["warnings"]


def test_an_imported_benchmark_has_no_author_for_a_sibling(ws: Workspace, path: Path) -> None:
    with pytest.raises(StateError, match="imported"):
        ws.sibling(ws.import_bundle(path))


# -------------------------------------------------------------------------------- hostile archives


def bomb() -> bytes:
    return packed({"competition.yaml": b"0" * (64 * 2**20)})


ALIASES = "a: &a [x, x]\nb: &b [*a, *a]\nc: [*b, *b]\n"
HOSTILE: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "not a zip": (lambda path: b"hello", "not a zip"),
    "empty": (lambda path: b"", "empty"),
    "cut short": (lambda path: path.read_bytes()[:-100], "not a zip"),
    "path upwards": (lambda path: packed({"../evil": b"x", "competition.yaml": b""}), "leads out"),
    "absolute path": (lambda path: packed({"/etc/evil": b"x"}), "leads out"),
    "backslash": (lambda path: packed({"..\\evil": b"x"}), "leads out"),
    "link": (lambda path: packed({"a": b"/etc/passwd"}, (stat.S_IFLNK | 0o777) << 16), "leads out"),
    "bomb": (lambda path: bomb(), "times its size"),
    "bomb inside": (
        lambda path: repacked(path, reference_data_zip=bomb()).read_bytes(),
        "times its size",
    ),
    "no yaml": (lambda path: repacked(path, competition_yaml=None).read_bytes(), "no competition"),
    "yaml that nests": (
        lambda path: repacked(path, competition_yaml=ALIASES.encode()).read_bytes(),
        "aliases",
    ),
    "yaml that makes objects": (
        lambda path: repacked(
            path, competition_yaml=b"tasks: !!python/object/apply:os.getcwd []"
        ).read_bytes(),
        "cannot be read",
    ),
    "no task": (lambda path: repacked(path, competition_yaml=b"title: x").read_bytes(), "no task"),
    "no reference": (
        lambda path: repacked(path, reference_data_zip=None).read_bytes(),
        "reference_data",
    ),
    "other reference": (
        lambda path: repacked(path, reference_data_zip=packed({"a.csv": b"x"})).read_bytes(),
        "author=file",
    ),
    "a changed target": (
        lambda path: repacked(
            path,
            reference_data_zip=packed(
                {
                    "questions.jsonl": bundle.unpacked(entries(path)["reference_data.zip"], "r")[
                        "questions.jsonl"
                    ].replace(b'"Mars"', b'"Pluto"')
                }
            ),
        ).read_bytes(),
        "key",
    ),
    "an odd question": (
        lambda path: repacked(
            path, reference_data_zip=packed({"questions.jsonl": b'{"kind": 3, "key": "x"}'})
        ).read_bytes(),
        "cannot be read",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_safe_bundle_is_refused_and_leaves_nothing(
    path: Path, tmp_path: Path, name: str
) -> None:
    make, told = HOSTILE[name]
    evil = tmp_path / "evil.zip"
    evil.write_bytes(make(path))
    fresh = Workspace(tmp_path / "fresh")
    with pytest.raises(DataError, match=told):
        fresh.import_bundle(evil)
    assert {p.name for p in tmp_path.iterdir()} - {"changed.zip"} == {"ws", "bench.zip", "evil.zip"}


def test_a_zipped_folder_is_a_bundle_too(ws: Workspace, path: Path, tmp_path: Path) -> None:
    inside = {f"bench/{name}": data for name, data in entries(path).items()}
    (tmp_path / "folder.zip").write_bytes(packed(inside))
    assert ws.import_bundle(tmp_path / "folder.zip").row.name == "six kinds"


@pytest.mark.parametrize(
    "change",
    [
        {"category": ["a"]},
        {"category": "\ud800"},
        {"options": {"foo": 1}},
        {"options": [1]},
        {"rationale": None},
        {"difficulty": {"a": 1}},
    ],
    ids=str,
)
def test_fields_of_a_wrong_type_are_refused_whole(
    path: Path, tmp_path: Path, change: dict[str, object]
) -> None:
    lines = bundle.unpacked(entries(path)["reference_data.zip"], "r")[
        "questions.jsonl"
    ].splitlines()
    row = {**json.loads(lines[2]), **change}
    data = packed({"questions.jsonl": json.dumps(row).encode() + b"\n"})
    fresh = Workspace(tmp_path / "fresh")
    with pytest.raises(InputError):
        fresh.import_bundle(repacked(path, reference_data_zip=data))
    assert not fresh.path.exists() or fresh.benchmarks().is_empty()


def test_nothing_that_is_there_is_written_over(ws: Workspace, bench: Benchmark, path: Path) -> None:
    before = path.read_bytes()
    with pytest.raises(DataError, match="there already"):
        ws.export(bench, path)
    assert path.read_bytes() == before


def test_all_archives_of_a_bundle_share_one_budget(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # each of them alone would fit: the bundle, its questions, its program
    outer = entries(path)
    inner = [bundle.unpacked(outer[f"{p}.zip"], p) for p in ("reference_data", "scoring_program")]
    sizes = [sum(map(len, files.values())) for files in (outer, *inner)]
    budget = bundle.Budget
    monkeypatch.setattr(bundle, "Budget", lambda: budget(bytes=sum(sizes) - 1))
    with pytest.raises(DataError, match="with all that lies within it"):
        bundle.read_bundle(path)
    monkeypatch.setattr(bundle, "Budget", lambda: budget(bytes=sum(sizes)))
    assert bundle.read_bundle(path).questions == QUESTIONS


def test_what_is_no_plain_file_is_no_bundle(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    (tmp_path / "zero.zip").symlink_to("/dev/zero")
    for name, what in (("pipe.zip", "a pipe"), ("zero.zip", "a device")):
        with pytest.raises(DataError, match=what):
            bundle.read_bundle(tmp_path / name)


def test_a_line_ends_where_its_line_feed_is(path: Path, tmp_path: Path) -> None:
    # U+2028, which some call the end of a line, stands in a question as it is
    lines = bundle.unpacked(entries(path)["reference_data.zip"], "r")["questions.jsonl"]
    lines = lines.replace(b"\\u2028", "\u2028".encode())
    assert "\u2028".encode() in lines
    raw = repacked(path, reference_data_zip=packed({"questions.jsonl": lines}))
    assert [q.key for q in bundle.read_bundle(raw).questions] == [q.key for q in QUESTIONS]
    broken = packed({"questions.jsonl": lines + b"{\n"})
    with pytest.raises(DataError, match=r"questions\.jsonl line 7: not JSON"):
        bundle.read_bundle(repacked(path, reference_data_zip=broken))


def test_the_next_version_keeps_the_foreign_program(
    ws: Workspace, path: Path, tmp_path: Path
) -> None:
    foreign = packed(
        {"score.py": b"print('theirs')\n", "metadata.yaml": b"command: python3 score.py\n"}
    )
    first = ws.import_bundle(repacked(path, scoring_program_zip=foreign)).publish()
    second = first.edit(1, category="red planets")
    assert second.id != first.id
    assert entries(ws.export(second, tmp_path / "second.zip"))["scoring_program.zip"] == foreign
