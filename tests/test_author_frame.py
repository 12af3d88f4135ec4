"""A person's own table: what is asked follows from the data alone, and what is open is not asked."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.author.files.frames import read_frame
from benchgen.author.frame import REL_TOL, pack_from_frame
from benchgen.author.packs import Pack
from benchgen.author.table import TableSpec, write_benchmark, write_table
from benchgen.author.write import write
from benchgen.config import BenchmarkConfig
from benchgen.errors import ConfigError, DataError
from benchgen.types import LETTERS, Evaluation, Question

pytestmark = pytest.mark.slow

ZOO = pl.DataFrame(
    {
        "animal": ["ant", "bee", "crab", "dog", "eel", "mole", "cow"],
        "legs": [6, 6, 10, 4, None, 4, 4],
        "home": ["nest", "hive", "sea", "kennel", " Sea", "soil", "field"],
        "wings": [False, True, False, False, False, False, None],
        "weight_kg": [0.000003, 0.0001, 2.5, 20.0, 3.3, 0.1, 500.0],
    }
)


def zoo(**more: Any) -> Pack:
    return pack_from_frame(ZOO, "zoo.csv", **{"entity": "animal", **more})


def all_of(pack: Pack, kind: str, **more: Any) -> list[Question]:
    """Everything the pack can ask in that kind, after the checks of every author; [] for nothing."""
    spec = TableSpec(pack, kind=kind, count=2000, **more)
    try:
        questions = write_table(spec)
    except DataError as error:
        if error.allowed is None:
            return []
        questions = write_table(replace(spec, count=int(str(error.allowed).split(" to ")[1])))
    return list(
        write(lambda accept: [q for q in questions if accept(q)], Evaluation(), name="x").questions
    )


def test_texts_are_looked_up_both_ways() -> None:
    questions = {q.prompt: q for q in all_of(zoo(columns=["home"]), "qa")}
    assert questions["What is the home of ant?"].target == ["nest"]
    assert questions["Which animal has the home kennel?"].target == ["dog"]
    asked = all_of(zoo(columns=["home"]), "mcq")
    assert {q.prompt for q in asked} >= {
        "What is the home of dog?",
        "Which of these has the home hive?",
    }


def test_one_value_in_two_spellings_has_two_holders() -> None:
    # "sea" and " Sea": neither may be the wrong option of the other, and no one animal "has the home sea"
    prompts = {q.prompt.casefold() for q in all_of(zoo(), "qa")}
    assert "which animal has the home sea?" not in prompts
    assert "what is the home of eel?" in prompts
    for q in all_of(zoo(columns=["home"]), "mcq"):
        if "home sea" in q.prompt.casefold():
            assert len({"crab", "eel"} & set(q.choices)) == 1


def test_numbers_are_compared_and_asked_for_and_ties_are_not() -> None:
    asked = all_of(zoo(columns=["legs"]), "mcq")
    legs = dict(zip(ZOO["animal"], ZOO["legs"], strict=True))
    assert {q.prompt for q in asked} == {
        "Which of these has the most legs?",
        "Which of these has the fewest legs?",
    }
    for q in asked:
        values = sorted((legs[c] for c in q.choices), reverse="most" in q.prompt)
        assert legs[q.target_text] == values[0] != values[1]
    numbers = {q.prompt: q for q in all_of(zoo(columns=["legs"]), "numeric")}
    assert numbers["What is the number of legs of crab?"].target == 10
    assert numbers["What is the number of legs of crab?"].options == {}


def test_decimals_and_large_numbers_have_a_tolerance_and_years_have_none() -> None:
    frame = pl.DataFrame(
        {
            "town": ["a", "b", "c"],
            "people": [12_345, 999, 3],
            "founded": [1200, 1650, 1999],
            "height": [1.5, 2.0, 3.25],
        }
    )
    options = {
        q.source.split(", ")[1]: q.options for q in all_of(pack_from_frame(frame, "t"), "numeric")
    }
    assert options == {
        "people": {"rel_tol": REL_TOL},
        "founded": {},
        "height": {"rel_tol": REL_TOL},
    }


def prompts_of(pack: Pack) -> set[str]:
    return {q.prompt for kind in ("mcq", "qa", "numeric") for q in all_of(pack, kind, options=2)}


def test_a_name_that_ends_in_a_unit_gives_it() -> None:
    frame = pl.DataFrame(
        {"hill": ["a", "b", "c"], "height_m": [90, 80, 75], "Area (km²)": [1.5, 2.5, 3.25]}
    )
    pack = pack_from_frame(frame, "t")
    assert {
        "What is the height of a in m?",
        "Which of these has the highest height?",
        "What is the Area of b in km²?",
    } <= prompts_of(pack)
    # of what is no number, an ending is a part of the name
    names = pl.DataFrame({"hill": ["a", "b"], "code_m": ["x", "y"]})
    assert "What is the code m of a?" in prompts_of(pack_from_frame(names, "t", entity="hill"))


def test_years_and_dates_are_asked_for_as_such() -> None:
    frame = pl.DataFrame(
        {
            "town": ["Ulm", "Bonn", "Kiel"],
            "founded": [1200, 1650, 1999],
            "burned": [1, 2, 3],
            "born": [date(1900, 1, 31), date(1899, 12, 1), date(1900, 2, 1)],
            "fair": ["2024-05-01", "2024-04-30", "2025-01-01"],
        }
    )
    asked = {
        q.prompt: q
        for column in frame.columns[1:]
        for kind in ("mcq", "numeric" if column in ("founded", "burned") else "qa")
        for q in all_of(pack_from_frame(frame, "t", columns=[column]), kind, options=3)
    }
    assert asked["In which year was Bonn founded?"].target == 1650
    assert asked["Which of these was founded first?"].target_text == "Ulm"
    assert "What is the burned of Ulm?" in asked  # 1, 2 and 3 are no years
    assert asked["On which date was Ulm born?"].kind == "qa"
    assert asked["On which date was Ulm born?"].target == ["1900-01-31"]
    assert asked["Which of these was born first?"].target_text == "Bonn"
    assert asked["Which of these was born last?"].target_text == "Kiel"
    assert asked["What is the fair of Kiel?"].target == ["2025-01-01"]
    assert asked["Which of these has the earliest fair?"].target_text == "Bonn"
    assert not any("in order" in prompt for prompt in asked)


@pytest.mark.parametrize("texts", [["2024-05-01", "soon"], ["2024-13-01", "2024-01-01"]])
def test_what_is_no_date_is_a_text(texts: list[str]) -> None:
    frame = pl.DataFrame({"town": ["a", "b"], "fair": texts})
    assert not any("est fair" in p for p in prompts_of(pack_from_frame(frame, "t", entity="town")))


def test_yes_and_no_under_a_verb_are_said_with_it() -> None:
    frame = pl.DataFrame(
        {
            "world": ["a", "b", "c", "d"],
            "has_rings": [True, False, False, True],
            "can land": ["yes", "no", "yes", "no"],
        }
    )
    pack = pack_from_frame(frame, "t")
    asked = {q.prompt: q for q in all_of(pack, "mcq", options=2)}
    assert asked["Which of these has rings?"].target_text in ("a", "d")
    assert asked["Which of these does not have rings?"].target_text in ("b", "c")
    assert asked["Which of these cannot land?"].target_text in ("b", "d")
    counts = [q for q in all_of(pack, "numeric") if "“has rings”" in q.prompt]
    assert counts
    for q in counts:
        assert q.target == sum(name in "ad" for name in q.prompt.partition(": ")[2])


def test_what_several_rows_share_is_counted() -> None:
    frame = pl.DataFrame({"beast": list("abcdef"), "home": ["sea", "sea", "soil"] * 2})
    counts = {q.prompt: q.target for q in all_of(pack_from_frame(frame, "t"), "numeric")}
    assert counts
    homes = dict(zip("abcdef", ["sea", "sea", "soil"] * 2, strict=True))
    for prompt, number in counts.items():
        home, _, listed = prompt.removeprefix("How many of these have the home ").partition(": ")
        assert number == sum(homes[name] == home for name in listed.removesuffix("?").split(", "))


def test_yes_and_no_are_counted() -> None:
    counts = all_of(zoo(columns=["wings"]), "numeric")
    assert counts
    for q in counts:
        value, listed = q.prompt.removeprefix("For how many of these is wings ").split(": ")
        names = listed.removesuffix("?").split(", ")
        wings = dict(zip(ZOO["animal"], ZOO["wings"], strict=True))
        assert "cow" not in names  # nobody knows
        assert q.target == sum(wings[name] is (value == "true") for name in names)


def test_yes_and_no_may_be_words() -> None:
    frame = pl.DataFrame({"world": ["a", "b", "c", "d"], "rings": ["yes", "No", "no", "YES"]})
    prompts = {q.prompt for q in all_of(pack_from_frame(frame, "t"), "mcq", options=2)}
    assert "For which of these is rings yes?" in prompts
    assert not any("What is" in prompt for prompt in prompts)


@pytest.mark.parametrize("kind", ["mcq", "qa", "numeric"])
def test_the_unknown_is_neither_asked_nor_offered(kind: str) -> None:
    for q in all_of(zoo(columns=["legs", "wings"]), kind):
        if "legs" in q.source:
            assert "eel" not in q.prompt + " ".join(q.choices)
        else:
            assert "cow" not in q.prompt + " ".join(q.choices)


def test_an_empty_cell_may_hold_any_value_so_no_holder_is_the_only_one() -> None:
    frame = pl.DataFrame({"land": ["a", "b", "c"], "town": ["x", "y", None]})
    assert {q.prompt for q in all_of(pack_from_frame(frame, "t", entity="land"), "qa")} == {
        "What is the town of a?",
        "What is the town of b?",
    }


def test_rows_of_one_entity_that_differ_leave_the_fact_open() -> None:
    # Ann has two jobs in two rows: neither is asked for, and she is no wrong option for either
    frame = pl.DataFrame(
        {
            "who": ["Ann", "ann ", "Bob", "Cid", "Dot"],
            "job": ["cook", "smith", "smith", "baker", "guard"],
            "age": [30, 30, 40, 50, 60],
        }
    )
    pack = pack_from_frame(frame, "t", entity="who")
    for q in all_of(pack, "mcq", options=3):
        if "job" in q.source:
            assert "Ann" not in q.prompt + " ".join(q.choices)
    assert "What is the age of Ann?" in {q.prompt for q in all_of(pack, "numeric")}
    assert "Which who has the job smith?" not in {q.prompt for q in all_of(pack, "qa")}


def test_lists_are_several_true_values() -> None:
    frame = pl.DataFrame({"land": ["a", "b", "c"], "tongue": [["x"], ["y", "x"], ["z"]]})
    questions = all_of(pack_from_frame(frame, "t"), "mcq", options=2)
    assert not [q for q in questions if q.prompt == "What is the tongue of b?"]
    for q in questions:
        if q.prompt == "Which of these has the tongue x?":
            assert set(q.choices) == {"a", "c"}


def test_signs_with_a_meaning_elsewhere_are_plain_text() -> None:
    # "|" separates values in a pack's files, braces mark words: neither in a person's table
    frame = pl.DataFrame({"x{name}": ["a|b", "{value}", "c"], "the_{y}": ["p|q", "{name}", "r"]})
    asked = {
        q.prompt: q.target for q in all_of(pack_from_frame(frame, "t", entity="x{name}"), "qa")
    }
    assert asked["What is the the y of a|b?"] == ["p|q"]
    assert asked["What is the the y of {value}?"] == ["{name}"]
    assert asked["Which x name has the the y r?"] == ["c"]


def test_columns_may_be_called_like_a_packs_own() -> None:
    frame = pl.DataFrame(
        {"title": ["a", "b"], "name": ["x", "y"], "fame": ["p", "q"], "source": ["s", "t"]}
    )
    prompts = {q.prompt for q in all_of(pack_from_frame(frame, "t", entity="title"), "qa")}
    assert {"What is the fame of a?", "Which entry has the source t?"} <= prompts


def test_codes_that_differ_in_case_alone_stay_apart() -> None:
    frame = pl.DataFrame({"prefix": ["pico", "peta", "nano"], "sign": ["p", "P", "n"]})
    asked = {q.prompt: q.target for q in all_of(pack_from_frame(frame, "t", entity="prefix"), "qa")}
    assert asked["What is the sign of pico?"] == ["p"]
    assert asked["What is the sign of peta?"] == ["P"]


def test_prose_row_numbers_and_constants_are_not_asked_for() -> None:
    frame = pl.DataFrame(
        {"id": [1, 2], "what": ["a", "b"], "text": ["w " * 99, "v"], "same": [1, 1], "size": [1, 2]}
    )
    pack = pack_from_frame(frame, "t")
    assert {t.label for t in pack.tables[0].templates} == {"size"}


@pytest.mark.parametrize("texts", [["01", "02"], ["1,5", "2,5"]])
def test_codes_and_numbers_that_may_be_two_things_are_texts(texts: list[str]) -> None:
    frame = pl.DataFrame({"what": ["a", "b"], "code": texts})
    pack = pack_from_frame(frame, "t", entity="what")
    assert {t.form for t in pack.tables[0].templates} == {"lookup", "reverse"}


# ---- the entity, the categories -----------------------------------------------------------------


def test_the_only_column_of_different_texts_names_the_entities() -> None:
    frame = ZOO.with_columns(home=pl.lit("zoo"))
    pack = pack_from_frame(frame, "zoo.csv")
    assert [row["name"][0] for row in pack.tables[0].rows] == list(ZOO["animal"])


def test_several_such_columns_are_named_and_the_option_that_chooses() -> None:
    frame = ZOO.with_columns(code=pl.Series(list("abcdefg")))
    with pytest.raises(ConfigError, match="animal, code") as caught:
        pack_from_frame(frame, "zoo.csv")
    assert "author.entity=" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_column_that_is_asked_for_does_not_name_the_entities() -> None:
    frame = ZOO.with_columns(code=pl.Series(list("abcdefg")))
    pack = pack_from_frame(frame, "zoo.csv", columns=["code", "legs"])
    assert pack.tables[0].rows[0]["name"] == ("ant",)


def test_no_such_column_lists_them_all() -> None:
    frame = pl.DataFrame({"a": ["x", "x"], "b": [1, 2]})
    with pytest.raises(ConfigError, match="Allowed: a, b"):
        pack_from_frame(frame, "t")


def test_a_column_gives_the_categories() -> None:
    pack = zoo(category="home", columns=["legs", "weight_kg"])
    questions = all_of(pack, "numeric")
    assert Counter(q.category for q in questions)["sea"] == 3  # crab twice, eel once
    only = write_table(TableSpec(pack, kind="numeric", count=2, categories={"sea": 1}))
    assert {q.category for q in only} == {"sea"}


def test_any_other_text_is_the_category_of_all() -> None:
    assert {q.category for q in all_of(zoo(category="animals"), "qa")} == {"animals"}
    assert {q.category for q in all_of(zoo(), "qa")} == {"zoo.csv"}


@pytest.mark.parametrize(
    ("change", "error", "says"),
    [
        ({"entity": "beast"}, ConfigError, "author.entity"),
        ({"columns": ["tail"]}, ConfigError, "weight_kg"),
        ({"columns": ["animal"]}, ConfigError, "names the entities"),
        ({"language": "fr"}, ConfigError, "worded in English"),
        ({"entity": "legs"}, DataError, "row 5"),
        ({"frame": ZOO.head(0)}, DataError, "no rows"),
        ({"frame": pl.DataFrame()}, DataError, "no rows"),
        ({"frame": ZOO.select("animal")}, DataError, "no column to ask for"),
        ({"frame": ZOO.with_columns(legs=pl.lit(4)), "columns": ["legs"]}, DataError, "legs"),
    ],
)
def test_what_cannot_be_asked_is_refused_in_one_line(
    change: dict[str, Any], error: type[Exception], says: str
) -> None:
    about = {"entity": "animal", **change}
    frame = about.pop("frame", ZOO)
    with pytest.raises(error, match=says) as caught:
        pack_from_frame(frame, "zoo.csv", **about)
    assert "\n" not in str(caught.value)


# ---- the way through ----------------------------------------------------------------------------


def test_a_config_over_a_frame_becomes_a_draft() -> None:
    pack = zoo(columns=["legs", "wings", "weight_kg"])
    draft = write_benchmark(BenchmarkConfig(name="mine", count=20, seed=5), pack=pack)
    assert len(draft.questions) == 20
    assert not draft.rejected
    letters = Counter(q.target for q in draft.questions)
    assert max(letters.values()) - min(letters.values()) <= 1


cells = st.one_of(st.none(), st.sampled_from(["red", "Red", "blue", "green", "deep blue"]))


@settings(max_examples=15, deadline=None)
@given(
    rows=st.lists(
        st.tuples(
            cells, st.one_of(st.none(), st.integers(-3, 3)), st.one_of(st.none(), st.booleans())
        ),
        min_size=3,
        max_size=9,
    )
)
def test_every_key_follows_from_the_rows(rows: list[tuple[Any, Any, Any]]) -> None:
    # an independent reading of the rows agrees with every question that is written from them
    names = [f"thing {i}" for i in range(len(rows))]
    columns = {"item": names, "hue": [], "size": [], "on": []}
    frame = pl.DataFrame(
        {**columns, **{c: [r[i] for r in rows] for i, c in enumerate(("hue", "size", "on"))}},
        schema={"item": pl.String, "hue": pl.String, "size": pl.Int64, "on": pl.Boolean},
    )
    try:
        pack = pack_from_frame(frame, "t", entity="item")
    except DataError:
        return  # nothing in it but empty and equal cells
    by_name = dict(zip(names, rows, strict=True))
    questions = all_of_or_none(pack, "mcq")
    for q in questions:
        right = [c for c in q.choices if holds(q.prompt, c, q.choices, by_name)]
        assert right == [q.choices[LETTERS.index(q.target)]], q


def all_of_or_none(pack: Pack, kind: str) -> list[Question]:
    try:
        return all_of(pack, kind, options=3)
    except DataError:
        return []


def holds(prompt: str, choice: str, choices: tuple[str, ...], rows: dict[str, Any]) -> bool:
    """Whether the choice answers the prompt by the rows alone."""
    if prompt.startswith("What is the hue of "):
        own = rows[prompt.removeprefix("What is the hue of ").removesuffix("?")][0]
        return bool(own) and own.casefold() == choice.casefold()
    if prompt.startswith("Which of these has the hue "):
        hue = prompt.removeprefix("Which of these has the hue ").removesuffix("?")
        return (rows[choice][0] or hue).casefold() == hue.casefold()
    if "est size" in prompt:
        sizes = [rows[c][1] for c in choices]
        return None in sizes or rows[choice][1] == (max if "highest" in prompt else min)(sizes)
    if prompt.startswith("How many of these have the hue "):
        hue, _, named = prompt.removeprefix("How many of these have the hue ").partition(": ")
        hues = [rows[name][0] for name in named.removesuffix("?").split(", ")]
        return int(choice) == sum(str(h).casefold() == hue.casefold() for h in hues)
    value = "is on true" in prompt
    if prompt.startswith("For which of these is on "):
        return rows[choice][2] in (value, None)
    listed = prompt.removesuffix("?").split(": ")[1].split(", ")
    return int(choice) == sum(rows[name][2] is value for name in listed)


# ---- files --------------------------------------------------------------------------------------

TEXT = 'name,size,note\nant,1,"a, b"\nbee,2.5,\n'


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.csv", TEXT.encode()),
        ("bom.csv", b"\xef\xbb\xbf" + TEXT.encode()),
        ("wide.csv", TEXT.encode("utf-16")),
        ("crlf.CSV", TEXT.replace("\n", "\r\n").encode()),
        ("semicolon.csv", b'name;size;note\nant;1;"a, b"\nbee;2.5;\n'),
        ("tab.tsv", b"name\tsize\tnote\nant\t1\ta, b\nbee\t2.5\t\n"),
        ("tab.csv", b"name\tsize\tnote\nant\t1\ta, b\nbee\t2.5\t\n"),
    ],
)
def test_tables_of_text_are_read_as_they_come(tmp_path: Path, name: str, data: bytes) -> None:
    (tmp_path / name).write_bytes(data)
    frame = read_frame(tmp_path / name)
    assert frame.to_dict(as_series=False) == {
        "name": ["ant", "bee"],
        "size": [1.0, 2.5],
        "note": ["a, b", None],
    }


def test_only_an_empty_cell_is_empty(tmp_path: Path) -> None:
    # NA is the code of Namibia
    (tmp_path / "a.csv").write_text("land,code\nNamibia,NA\nPeru,PE\n")
    assert list(read_frame(tmp_path / "a.csv")["code"]) == ["NA", "PE"]


def test_parquet_is_read_and_asked(tmp_path: Path) -> None:
    ZOO.write_parquet(tmp_path / "zoo.parquet")
    frame = read_frame(tmp_path / "zoo.parquet")
    assert frame.equals(ZOO)
    spec = TableSpec(pack_from_frame(frame, "zoo", entity="animal"), count=10)
    assert len(write(partial(write_table, spec), Evaluation(), name="x").questions) == 10


def test_a_sheet_is_read_where_its_package_is_there(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl", reason="waits for a package that reads .xlsx")
    book = openpyxl.Workbook()
    for row in (["name", "size"], ["ant", 1], ["bee", 2]):
        book.active.append(row)
    book.save(tmp_path / "a.xlsx")
    assert read_frame(tmp_path / "a.xlsx").to_dict(as_series=False) == {
        "name": ["ant", "bee"],
        "size": [1, 2],
    }


@pytest.mark.parametrize(
    ("name", "data", "says"),
    [
        ("none.csv", None, "not a file"),
        ("a.docx", b"", "no kind of table"),
        ("empty.csv", b"\n", "it is empty"),
        ("latin.csv", b"name,size\ncaf\xe9,1\n", "utf-8"),
        ("ragged.csv", b"name,size\nant,1\nbee,2,3\n", "cannot be read"),
        ("not.parquet", b"name,size\n", "cannot be read"),
    ],
)
def test_a_file_that_is_no_table_is_named_with_the_reason(
    tmp_path: Path, name: str, data: bytes | None, says: str
) -> None:
    if data is not None:
        (tmp_path / name).write_bytes(data)
    with pytest.raises(DataError, match=says) as caught:
        read_frame(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
