"""Every author through the workspace: from a file, a table or a model to a draft and a benchmark."""

from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchgen import config
from benchgen.author.file import refers_to_positions
from benchgen.author.write import even
from benchgen.errors import ConfigError, DataError, InputError, ModelError, StateError
from benchgen.models.mock import MockModel
from benchgen.store import ModelRow
from benchgen.types import Question, Reply, Request
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow  # real parts: files, processes, sockets

FILES = Path(__file__).parent / "cases" / "files"
MANIFEST = [json.loads(line) for line in (FILES / "manifest.jsonl").read_text("utf-8").splitlines()]
KINDS = ("mcq", "qa", "numeric", "tool", "keypoints")
IMPORTED = [
    case for case in MANIFEST if case["expected"]["kind"] in KINDS and not case.get("options")
]


@pytest.fixture
def ws(tmp_path: Path) -> Workspace:
    return Workspace(tmp_path / "ws", user="ada")


# --- files -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", IMPORTED, ids=lambda case: case["file"])
def test_a_file_of_questions_becomes_a_draft_that_proves_itself(
    case: dict[str, Any], ws: Workspace
) -> None:
    draft = ws.author(str(FILES / case["file"]))
    expected = case["expected"]
    assert len(draft.questions) == expected["n_questions"]
    first = draft.questions[0]
    if expected["kind"] == "mcq" and "first_target_text" in expected:
        assert first.target_text == expected["first_target_text"]
    if "even_letters" in expected:
        assert Counter(q.target for q in draft.questions) == expected["even_letters"]
    assert not ws.path.exists()


def test_letters_come_out_even_and_references_to_places_stay(ws: Workspace) -> None:
    draft = ws.author(str(FILES / "mcq_position_references.csv"))
    assert draft.questions[0].target_text == "Both A and B"
    assert [q.choices for q in draft.questions if refers_to_positions(q)]


def mcq(number: int, letter: str, *choices: str) -> Question:
    options = choices or ("one", "two", "three", "four")
    return Question("mcq", f"Number {number}?", letter, tuple(f"{c} {number}" for c in options))


def test_as_few_as_possible_are_moved_and_none_that_refers_to_places() -> None:
    balanced = [mcq(i, letter) for i, letter in enumerate("ABCDA")]
    assert even(balanced) == tuple(balanced)
    skewed = [mcq(i, "A") for i in range(8)]
    found = even(skewed)
    assert Counter(q.target for q in found) == {"A": 2, "B": 2, "C": 2, "D": 2}
    assert found[:2] == tuple(skewed[:2])
    assert [q.target_text for q in found] == [q.target_text for q in skewed]
    assert [q.key for q in found] == [q.key for q in skewed]
    held = even(skewed, lambda q: q.prompt in ("Number 6?", "Number 7?"))
    assert held[6:] == tuple(skewed[6:])
    assert Counter(q.target for q in held) == {"A": 2, "B": 2, "C": 2, "D": 2}


def test_what_holds_no_questions_says_where_it_belongs(ws: Workspace) -> None:
    with pytest.raises(DataError, match=r"document.*author=document"):
        ws.author(str(FILES / "doc_handbook.md"))
    with pytest.raises(DataError, match=r"training rows.*recipe=lora"):
        ws.author(str(FILES / "own_train_alpaca.jsonl"))


def test_an_imported_file_has_no_sibling(ws: Workspace) -> None:
    bench = ws.create(ws.author(FILES / "mcq_semicolon.csv"))
    with pytest.raises(StateError, match="imported"):
        ws.sibling(bench)


# --- tables ----------------------------------------------------------------------------------

ANIMALS = pl.DataFrame(
    {
        "animal": ["cat", "ant", "eagle", "carp", "frog", "adder", "bee", "otter"],
        "class": ["mammal", "insect", "bird", "fish", "amphibian", "reptile", "insect", "mammal"],
        "legs": [4, 6, 2, 0, 4, 0, 6, 4],
    }
)


def test_a_frame_and_a_csv_of_ones_own_become_benchmarks(ws: Workspace, tmp_path: Path) -> None:
    spec = config.load_author("table", path=str(tmp_path / "animals.csv"))
    ANIMALS.write_csv(tmp_path / "animals.csv")
    draft = ws.author(dataclasses.replace(spec, kind="qa", count=4))
    assert draft.name == "animals"
    assert len(draft.questions) == 4
    sibling = ws.sibling(ws.create(draft))
    assert not {q.key for q in sibling.questions} & {q.key for q in draft.questions}
    with pytest.raises(ConfigError, match=r"author\.pack"):
        ws.author(config.load_author("table"))


def test_an_unknown_author_names_those_there_are(ws: Workspace) -> None:
    with pytest.raises(ConfigError, match=r"table.*file.*llm"):
        ws.author(config.BenchmarkConfig(author=config.AuthorConfig(name="poet")))
    with pytest.raises(ConfigError, match="no author is named"):
        ws.author("blank")


# --- models ----------------------------------------------------------------------------------


class Writer:
    """Says what a model would: JSON with as many questions as it was asked for, each of its own."""

    def __init__(self) -> None:
        self.said = 0
        self.fail_after = 10_000

    def __call__(self, request: Request) -> str | Reply:
        text = request.messages[-1]["content"]
        if not text.startswith("Write "):  # the blind solve
            return "Answer: word7"
        if self.said >= self.fail_after:
            return Reply("", error="timeout after 60 s")
        items = []
        for _ in range(int(text.split()[1])):
            self.said += 1
            asked = " ".join(
                f"{chr(97 + self.said * k % 26)}{self.said * k}" for k in (3, 5, 7, 11)
            )
            items.append({"prompt": f"{asked} is called what?", "answers": [f"word{self.said}"]})
        return json.dumps({"questions": items})


@pytest.fixture
def writer(monkeypatch: pytest.MonkeyPatch) -> Writer:
    writer = Writer()
    row = ModelRow(name="scribe", kind="endpoint", spec={})
    monkeypatch.setattr("benchgen.models.catalogue.find", lambda store, name: row)
    monkeypatch.setattr("benchgen.models.catalogue.load", lambda *a: MockModel(writer))
    return writer


def spec(count: int = 60, **author: Any) -> config.BenchmarkConfig:
    found = config.load_author("llm", **{"topic": "letters", "model": "scribe", **author})
    return dataclasses.replace(found, kind="qa", count=count, name="letters")


def test_a_model_writes_in_turns_and_nothing_is_made_before_the_end(
    ws: Workspace, writer: Writer
) -> None:
    write = ws.begin(spec(60))
    ws.go_on(write, limit=30)
    assert (write.state, write.status()["written"]) == ("waiting", 50)
    with pytest.raises(StateError, match=r"50 of 60.*resume write_id=1"):
        write.draft()
    assert ws.benchmarks().is_empty()
    ws.go_on(write, limit=30)
    assert (write.state, writer.said) == ("finished", 60)
    bench = ws.created(write)
    assert ws.created(write).id == bench.id  # once
    assert len({q.key for q in bench.questions}) == 60
    assert ws.writes().row(0, named=True)["benchmark"] == bench.id


def test_a_blind_solve_flags_doubtful_keys_unless_it_is_not_wanted(
    ws: Workspace, writer: Writer
) -> None:
    draft = ws.author(spec(8))
    right = [q.key for q in draft.questions if q.target == ["word7"]]
    assert len(draft.report["doubtful"]) == 7
    assert not set(right) & set(draft.report["doubtful"])
    assert "7 keys are doubtful" in draft.report["warnings"][-1]
    assert ws.author(spec(8, checker="none")).report["doubtful"] == []


def test_a_model_that_stops_answering_loses_nothing(ws: Workspace, writer: Writer) -> None:
    write = ws.begin(spec(60))
    writer.fail_after = 25
    with pytest.raises(ModelError, match="timeout after 60 s"):
        ws.go_on(write)
    assert (write.state, write.status()["written"]) == ("failed", 25)
    assert "timeout" in write.status()["error"]
    writer.fail_after = 10_000
    assert ws.go_on(write).draft().questions
    assert writer.said == 60


def test_what_a_model_cannot_be_asked_is_refused_before_it_is(
    ws: Workspace, writer: Writer, tmp_path: Path
) -> None:
    for changes, says in (
        ({"model": ""}, r"author\.model"),
        ({"topic": " "}, r"author\.topic"),
    ):
        with pytest.raises(ConfigError, match=says):
            ws.begin(spec(5, **changes))
    for count in (0, 2001):
        with pytest.raises(ConfigError, match="1 to 2000"):
            ws.begin(spec(count))
    with pytest.raises(ConfigError, match=r"author\.tools"):
        ws.begin(dataclasses.replace(spec(5), kind="tool"))
    tiny = tmp_path / "tiny.txt"
    tiny.write_text("The red lamp is on.")
    on_paper = dataclasses.replace(spec(30), author=dataclasses.replace(
        spec().author, name="document", path=str(tiny)))  # fmt: skip
    with pytest.raises(DataError, match=r"tiny\.txt.*1 to 2"):
        ws.begin(on_paper)
    assert writer.said == 0
    assert ws.writes().is_empty()


# --- previews, edits and versions --------------------------------------------------------------


def test_the_hash_of_a_preview_is_that_of_what_is_made_of_it(ws: Workspace) -> None:
    path = FILES / "mcq_semicolon.csv"
    first, second = ws.author(path), ws.author(path)
    assert first.hash == second.hash
    changed = dataclasses.replace(first, questions=first.questions[:-1])
    assert changed.hash != first.hash
    shown = first.preview()
    assert [row["answer"] for row in shown] == [q.target_text for q in first.questions]
    assert ws.create(first).questions == list(first.questions)


def test_a_question_of_a_draft_is_changed_in_place(ws: Workspace) -> None:
    bench = ws.create(ws.author(FILES / "mcq_semicolon.csv"))
    before = bench.questions
    assert bench.edit(2, prompt="What is asked instead here?").id == bench.id
    again = ws.benchmark(bench.id)
    assert again.questions[1].prompt == "What is asked instead here?"
    assert again.questions[0] == before[0]
    assert "What is asked instead here?" in Path(bench.link).read_text()


def test_a_change_to_a_published_benchmark_is_a_new_version_of_it(ws: Workspace) -> None:
    bench = ws.create(ws.author(FILES / "mcq_semicolon.csv")).publish()
    before = (bench.folder / "questions.jsonl").read_bytes()
    new = bench.edit(1, rationale="Because it is so.")
    assert new.id != bench.id
    assert (new.row.state, new.row.spec["version_of"]) == ("draft", bench.id)
    assert new.row.program_sha256 == bench.row.program_sha256
    assert (bench.folder / "questions.jsonl").read_bytes() == before
    assert f"changed copy of benchmark {bench.id}" in Path(new.link).read_text()
    assert new.publish().questions[0].rationale == "Because it is so."


@pytest.mark.parametrize(
    ("number", "changes", "says"),
    [
        (9, {"prompt": "x"}, "1 to 4"),
        (0, {"prompt": "x"}, "1 to 4"),
        (1, {"target": "Q"}, "letters"),
        (1, {"prompt": " "}, "no prompt"),
        (1, {"colour": "red"}, "prompt"),
        (1, {}, "prompt"),
    ],
)
def test_an_edit_that_proves_nothing_is_refused_and_changes_nothing(
    ws: Workspace, number: int, changes: dict[str, Any], says: str
) -> None:
    bench = ws.create(ws.author(FILES / "mcq_semicolon.csv"))
    before = {p: p.read_bytes() for p in bench.folder.rglob("*") if p.is_file()}
    with pytest.raises(InputError, match=says):
        bench.edit(number, **changes)
    after = {p: p.read_bytes() for p in bench.folder.rglob("*") if p.is_file()}
    assert after == before


def test_an_editor_killed_between_file_and_record_leaves_either_version(ws: Workspace) -> None:
    bench = ws.create(ws.author(FILES / "mcq_semicolon.csv"))
    path = bench.folder / "questions.jsonl"
    old, sha = path.read_bytes(), bench.row.questions_sha256
    bench.edit(2, prompt="What is asked instead here?")
    new = path.read_bytes()
    path.write_bytes(old)  # as if killed after the record changed, before the file did
    path.with_suffix(".edited").write_bytes(new)
    assert bench.questions[1].prompt == "What is asked instead here?"
    assert not path.with_suffix(".edited").exists()
    ws.store.change(type(bench.row), bench.id, questions_sha256=sha)
    path.write_bytes(old)  # as if killed before the record changed
    path.with_suffix(".edited").write_bytes(new)
    assert bench.questions[1].prompt != "What is asked instead here?"


def test_a_benchmarks_page_has_its_letters_and_its_runs_so_far(ws: Workspace) -> None:
    bench = ws.create(ws.author(FILES / "mcq_all_A.csv")).publish()
    assert "Correct letters" in Path(bench.link).read_text()
    assert "Finished runs" not in Path(bench.link).read_text()
    ws.run(bench, "reference")
    assert "8 / 8 / 8" in Path(bench.link).read_text()


def test_of_two_editors_at_once_one_waits_or_is_told(ws: Workspace) -> None:
    from benchgen import jobs

    bench = ws.create(ws.author(FILES / "mcq_semicolon.csv"))
    with jobs.record_lock(bench.folder), pytest.raises(StateError, match="another process"):
        bench.edit(1, rationale="Because.")
    assert bench.edit(1, rationale="Because.").questions[0].rationale == "Because."


def test_a_key_where_its_variable_belongs_is_stored_nowhere(ws: Workspace) -> None:
    option = config.ModelConfig(
        name="far",
        kind="endpoint",
        base_url="http://127.0.0.1:9/v1",
        api_key_env="sk-abc123def456ghi789",
    )
    with pytest.raises(ConfigError):
        ws.model(option)
    assert "far" not in ws.models()["name"].to_list()
