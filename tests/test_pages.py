"""Pages of a run's Parquet file against the same rows picked in memory, and exports of a run dataset."""

from __future__ import annotations

import itertools
import json
import random
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen.errors import DataError, InputError, NotFound
from benchgen.run.table import write_parquet
from benchgen.rundata import pages as pages_module
from benchgen.rundata.export import FORMS, chunks, write_dataset
from benchgen.rundata.pages import Filters, RunPages
from benchgen.rundata.select import SCHEMA, frame
from benchgen.types import Question, Trace

QUESTIONS = [
    Question(
        "qa", f"Who saw moon {i}?", [f"a{i}"], category=("moons", "stars")[i % 2],
        difficulty=("easy", "hard", "medium")[i % 3], language=("en", "de")[i % 5 == 0],
    )
    for i in range(60)
]  # fmt: skip
HOSTILE = '=cmd|"x"!A1, "quoted"\r\n</script>\u2028\u202e\x00 end'


def _trace(question: Question, repeat: int, rng: random.Random) -> Trace:
    correct = rng.choice((True, False, False, None))
    status = {True: "ok", False: rng.choice(("ok", "no_answer", "truncated")), None: "error"}[
        correct
    ]
    reply = f"I think it was {rng.choice(('Kepler', 'GALILEO', 'Huygens (a.k.a. C.H.)'))}. {repeat}"
    return Trace(
        question.key, ({"role": "user", "content": question.prompt},), reply, "x", status, "",
        correct, None if correct is None else float(correct), repeat=repeat,
    )  # fmt: skip


@pytest.fixture(scope="module")
def traces() -> list[Trace]:
    """4,800 replies: five row groups."""
    rng = random.Random(0)
    return [_trace(q, repeat, rng) for q in QUESTIONS for repeat in range(80)]


@pytest.fixture(scope="module")
def pages(traces: list[Trace], tmp_path_factory: pytest.TempPathFactory) -> RunPages:
    path = tmp_path_factory.mktemp("run") / "traces.parquet"
    write_parquet(traces, path)
    return RunPages(path, QUESTIONS)


@pytest.mark.parametrize("offset", [0, 999, 1_000, 2_390, 4_775, 4_790, 4_800, 90_000])
def test_a_page_is_that_slice_of_the_run(pages: RunPages, traces: list[Trace], offset: int) -> None:
    page = pages.page(offset, 25)
    wanted = frame(QUESTIONS, traces, "all")[offset : offset + 25]
    assert page.rows.select(list(SCHEMA)).equals(wanted)
    assert (page.total, page.more) == (4_800, offset + 25 < 4_800)


@pytest.mark.parametrize(
    ("filters", "column", "wanted"),
    [
        (Filters(mode="failures"), "correct", False),
        (Filters(mode="distill"), "correct", True),
        (Filters(outcome="unmeasured"), "correct", None),
        (Filters(outcome="wrong"), "correct", False),
        (Filters(status="truncated"), "status", "truncated"),
        (Filters(category="stars"), "category", "stars"),
        (Filters(difficulty="hard"), "difficulty", "hard"),
        (Filters(language="de"), "language", "de"),
        (Filters(repeat=79), "repeat", 79),
    ],
)
def test_a_filter_leaves_exactly_the_rows_that_fit(
    pages: RunPages, traces: list[Trace], filters: Filters, column: str, wanted: Any
) -> None:
    everything = frame(QUESTIONS, traces, "all").filter(pl.col(column).eq_missing(pl.lit(wanted)))
    assert 0 < everything.height < 4_800
    offset = everything.height // 2
    for start in (0, offset, everything.height - 3, everything.height):
        page = pages.page(start, 30, filters)
        assert page.rows.select(list(SCHEMA)).equals(everything[start : start + 30])
        assert page.total == everything.height
        assert page.more == (start + 30 < everything.height)


def test_filters_hold_together(pages: RunPages, traces: list[Trace]) -> None:
    both = Filters(mode="failures", status="no_answer", category="moons", text="galileo")
    wanted = frame(QUESTIONS, traces, "failures").filter(
        (pl.col("status") == "no_answer")
        & (pl.col("category") == "moons")
        & pl.col("reply").str.contains("GALILEO")
    )
    assert pages.page(0, 10_000, both).rows.select(list(SCHEMA)).equals(wanted)
    assert pages.page(0, 5, Filters(status="ok", outcome="unmeasured")).rows.is_empty()


@pytest.mark.parametrize(
    ("text", "count"),
    [("galileo", None), ("(A.K.A. c.h.)", None), ("moon 59?", 80), (".*", 0), ("zebra", 0)],
)
def test_a_text_is_looked_for_as_it_stands_in_any_case(
    pages: RunPages, traces: list[Trace], text: str, count: int | None
) -> None:
    asked = {q.key: q.prompt for q in QUESTIONS}
    wanted = [t for t in traces if text.lower() in (t.reply + "\n" + asked[t.key]).lower()]
    assert count in (None, len(wanted))
    page = pages.page(0, 10_000, Filters(text=text))
    assert page.rows["reply"].to_list() == [t.reply for t in wanted]
    assert page.total == len(wanted)


def test_a_text_is_looked_for_only_as_far_as_the_page_needs(
    pages: RunPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_module, "WINDOW", 500)
    first = pages.page(0, 25, Filters(text="think"))
    assert (first.looked, first.total, first.more) == (500, None, True)
    last = pages.page(4_790, 25, Filters(text="think"))
    assert (last.looked, last.total, last.more) == (4_800, 4_800, False)


def test_impatience_gives_what_was_found_and_looks_on_next_time(
    pages: RunPages, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pages_module, "WINDOW", 600)
    wanted = Filters(text="MOON 59?")  # the last 80 rows
    seen = [pages.page(0, 25, wanted, patience_s=0) for _ in range(9)]
    assert [page.looked for page in seen[:3]] == [600, 1_200, 1_800]
    assert seen[0].rows.is_empty()
    assert seen[0].total is None
    assert (seen[-1].looked, seen[-1].rows.height, seen[-1].more) == (4_800, 25, True)


def test_filters_that_nobody_looked_at_for_long_are_forgotten(pages: RunPages) -> None:
    for repeat in range(20):
        pages.page(0, 1, Filters(repeat=repeat))
    assert len(pages._found) == pages_module.KEPT
    assert pages.page(0, 1, Filters(repeat=0)).total == 60


@given(st.sets(st.integers(0, 100_000), max_size=60))
def test_rows_far_apart_are_read_in_stretches_that_hold_them_all(places: set[int]) -> None:
    ordered = sorted(places)
    found = list(pages_module._stretches(ordered))
    assert [place for stretch in found for place in stretch] == ordered
    for stretch in found:
        assert stretch[-1] - stretch[0] < 20_000
        assert all(b - a < 1_000 for a, b in itertools.pairwise(stretch))


def test_rows_far_apart_come_in_order(pages: RunPages, traces: list[Trace]) -> None:
    """One reply of each of five row groups."""
    places = pl.Series([3, 999, 1_000, 2_500, 4_799])
    got = pages._at(places)
    assert got["reply"].to_list() == [traces[place].reply for place in places]
    assert got["key"].to_list() == [traces[place].key for place in places]


@pytest.mark.parametrize(
    ("ask", "kind"),
    [
        (lambda p: p.page(-1), InputError),
        (lambda p: p.page(0, 0), InputError),
        (lambda p: p.page(0, 10_001), InputError),
        (lambda p: Filters(mode="wrong"), InputError),
        (lambda p: Filters(status="fine"), InputError),
        (lambda p: Filters(outcome="maybe"), InputError),
        (lambda p: RunPages(Path("none.parquet"), []), NotFound),
    ],
)
def test_bad_input_is_one_line(pages: RunPages, ask: Any, kind: type[Exception]) -> None:
    with pytest.raises(kind) as failed:
        ask(pages)
    assert "\n" not in str(failed.value)


# ---- exports ------------------------------------------------------------------------------------


@pytest.fixture
def table() -> pl.DataFrame:
    traces = [
        Trace(q.key, (), HOSTILE if i == 0 else f"reply {i}", None, "ok", "", bool(i % 2), 0.5)
        for i, q in enumerate(QUESTIONS[:7])
    ]
    return frame(QUESTIONS, traces, "all")


def test_every_form_comes_back_the_same(table: pl.DataFrame, tmp_path: Path) -> None:
    parts = [table[:3], table[3:]]
    written = {
        form: write_dataset(parts, form, tmp_path / f"out.{form}", "run 1") for form in FORMS
    }
    assert pl.read_parquet(written["parquet"]).equals(table)
    assert pl.read_ndjson(written["jsonl"], schema=SCHEMA).equals(table)
    csv = pl.read_csv(written["csv"], schema_overrides={"target": pl.String})
    assert csv["reply"].to_list() == table["reply"].to_list()
    assert csv["correct"].to_list() == table["correct"].to_list()
    assert len(written["jsonl"].read_bytes().splitlines()) == 7
    folder = written["hf"]
    assert pl.read_parquet(folder / "data/*.parquet").equals(table)
    assert (folder / "README.md").read_text().startswith("---\npretty_name: run 1\n")


@pytest.mark.torch
def test_the_folder_is_a_data_set_for_its_library(
    table: pl.DataFrame, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    folder = write_dataset([table], "hf", tmp_path / "set", "run: 1 # of 'x'")
    read = datasets.load_dataset(str(folder), cache_dir=str(tmp_path / "cache"))["train"]
    assert read.num_rows == 7
    assert list(read.column_names) == list(SCHEMA)


def test_a_run_goes_out_part_by_part(
    pages: RunPages, traces: list[Trace], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("benchgen.rundata.export.MOST_ROWS", 700)
    parts = list(chunks(pages, Filters(mode="failures")))
    assert max(part.height for part in parts) == 700
    assert pl.concat(parts).equals(frame(QUESTIONS, traces, "failures"))
    nothing = list(chunks(pages, Filters(text="zebra")))
    assert [part.height for part in nothing] == [0]
    path = write_dataset(nothing, "csv", tmp_path / "none.csv")
    assert path.read_text() == ",".join(SCHEMA) + "\n"


@pytest.mark.parametrize("form", FORMS)
def test_nothing_is_overwritten(table: pl.DataFrame, tmp_path: Path, form: str) -> None:
    path = tmp_path / "out"
    path.write_text("mine")
    with pytest.raises(DataError, match="is there already"):
        write_dataset([table], form, path)
    assert path.read_text() == "mine"
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


def test_a_file_that_another_process_wrote_meanwhile_stays(
    table: pl.DataFrame, tmp_path: Path
) -> None:
    path = tmp_path / "out.csv"

    def slow() -> Any:
        yield table
        path.write_text("theirs")

    with pytest.raises(DataError, match="is there already"):
        write_dataset(slow(), "csv", path)
    assert path.read_text() == "theirs"
    assert [p.name for p in tmp_path.iterdir()] == ["out.csv"]


def test_what_fails_half_way_leaves_nothing(table: pl.DataFrame, tmp_path: Path) -> None:
    def torn() -> Any:
        yield table
        raise OSError(28, "No space left on device")

    with pytest.raises(DataError, match="No space left"):
        write_dataset(torn(), "jsonl", tmp_path / "out.jsonl")
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_form_names_the_known_ones(table: pl.DataFrame, tmp_path: Path) -> None:
    with pytest.raises(InputError) as failed:
        write_dataset([table], "xlsx", tmp_path / "out.xlsx")
    assert failed.value.allowed == ["parquet", "csv", "jsonl", "hf"]
    assert json.dumps(failed.value.got) == '"xlsx"'
