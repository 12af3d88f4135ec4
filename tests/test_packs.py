"""The shipped facts: complete, sourced, and in step with what the second sources said of them."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from benchgen.author import packs
from benchgen.author.packs import Row, check, load_pack, make_table
from benchgen.errors import ConfigError, DataError, NotFound

FIVE = {"planets", "moons", "missions", "stars", "galaxies"}
LOOKUP = {
    "name": "colour_of",
    "form": "lookup",
    "column": "colour",
    "prompts": ["What colour is {name}?"],
    "rationale": "{name} is {value}.",
}


def test_solar_system_has_five_categories_and_150_entities() -> None:
    # the floor; features are counted apart because they are no bodies of their own
    pack = load_pack("solar_system")
    assert {table.category for table in pack.tables} == FIVE
    assert sum(len(t.rows) for t in pack.tables if t.name != "features") >= 150


def test_every_row_and_column_names_a_known_publication() -> None:
    # a source code without its publication would leave a question without a source
    pack = load_pack("solar_system")
    for table in pack.tables:
        codes = {row["source"][0] for row in table.rows} | set(table.sources.values())
        assert codes <= set(pack.sources), table.name


def test_prompts_and_rationales_are_short() -> None:
    # each token is paid for in every training step on a CPU
    for table in load_pack("solar_system").tables:
        for template in table.templates:
            if template.form != "count":
                assert all(len(prompt.split()) <= 10 for prompt in template.prompts)
                assert len(template.rationale.split()) <= 9


def test_checked_csv_covers_exactly_the_facts_of_the_pack() -> None:
    # a changed fact must be checked again: renew with python -m benchgen.author.packs.check
    known = [(c.table, c.name, c.column, c.value) for c in check.read_checked()]
    assert known == [
        (f.table, f.name, f.column, f.value) for f in check.facts(load_pack("solar_system"))
    ]


def test_no_second_source_disagrees_and_a_third_or_more_was_checked() -> None:
    outcomes = [fact.outcome for fact in check.read_checked()]
    assert set(outcomes) == {"agreed", "unchecked"}
    assert outcomes.count("agreed") > len(outcomes) / 3


def test_readme_counts_are_those_of_checked_csv() -> None:
    # the README's table is made from the file: renew with python -m benchgen.author.packs.check
    text = (check.FOLDER / "README.md").read_text(encoding="utf-8")
    shown = text.split(check.MARKS[0])[1].split(check.MARKS[1])[0].strip()
    assert shown == check.counts(check.read_checked())


def test_missing_packages_are_named_and_their_facts_stay_unchecked(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def nothing(name: str) -> ModuleType:
        raise ImportError(name)

    before = (check.FOLDER / "checked.csv").read_bytes()
    monkeypatch.setattr(check, "import_module", nothing)
    assert check.main() == 0
    out = capsys.readouterr().out
    for package in ("spiceypy", "ephem", "pyongc", "boinor"):
        assert f"package {package} is not installed" in out
    assert (check.FOLDER / "checked.csv").read_bytes() == before


def test_a_disagreement_is_printed_and_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # a second source that puts every moon at Mars must be heard, and must not renew the files
    def mars(module: ModuleType, row: Row) -> str:
        return "Mars"

    before = (check.FOLDER / "checked.csv").read_bytes()
    monkeypatch.setattr(check, "SECOND", {("moons", "orbits"): check.Second("pytest", "csv", mars)})
    assert check.main() == 1
    out = capsys.readouterr().out
    assert "disagreed: moons Titan orbits: Saturn here, Mars in pytest" in out
    assert "disagreed: moons Phobos" not in out
    assert (check.FOLDER / "checked.csv").read_bytes() == before


def test_unknown_pack_names_the_shipped_ones() -> None:
    with pytest.raises(NotFound, match="solar_system"):
        load_pack("atlantis")


def test_a_folder_is_a_pack_too(tmp_path: Path) -> None:
    # any CSV can be fed through templates of one's own
    (tmp_path / "fruit.csv").write_text("name,colour\nplum,blue\nlime,green | yellow\n")
    (tmp_path / "pack.yaml").write_text(
        "name: fruit\ntables:\n  fruit:\n    file: fruit.csv\n    category: fruit\n    templates: []\n"
    )
    rows = load_pack(tmp_path).tables[0].rows
    assert rows[1]["colour"] == ("green", "yellow")


@pytest.mark.parametrize(
    ("yaml", "error", "says"),
    [
        ("name: [", DataError, "not YAML"),
        ("[]", ConfigError, "not a mapping"),
        ("name: x\ntables: {}\nextra: 1", ConfigError, "extra"),
        ("tables: {}", ConfigError, "missing"),
        (
            "name: x\ntables: {t: {file: none.csv, category: c, templates: []}}",
            NotFound,
            "none.csv",
        ),
        ("name: x\ntables: {t: {file: bad.csv, category: c, templates: []}}", DataError, "line 3"),
    ],
)
def test_a_faulty_folder_is_refused_in_one_line(
    tmp_path: Path, yaml: str, error: type[Exception], says: str
) -> None:
    (tmp_path / "bad.csv").write_text("name,colour\nplum,blue\nlime\n")
    (tmp_path / "pack.yaml").write_text(yaml)
    with pytest.raises(error, match=says) as caught:
        load_pack(tmp_path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("rows", "change", "says"),
    [
        ([], {}, "no rows"),
        ([{"name": "a", "colour": "x"}, {"name": "A ", "colour": "y"}], {}, "repeated"),
        ([{"name": "a", "colour": "x", "fame": 4}], {}, "fame"),
        ([{"name": "a", "colour": "x"}], {"form": "guess"}, "lookup"),
        ([{"name": "a", "colour": "x"}], {"column": "size"}, "colour"),
        ([{"name": "a", "colour": "x"}], {"level": 9}, "level"),
        ([{"name": "a", "colour": "x"}], {"form": "most", "kinds": ["qa"]}, "needs options"),
        ([{"name": "a", "colour": "x"}], {"prompts": []}, "no prompts"),
        ([{"name": "a", "colour": "x"}], {"wording": "?"}, "wording"),
    ],
)
def test_a_faulty_table_is_refused(
    rows: list[dict[str, object]], change: dict[str, object], says: str
) -> None:
    with pytest.raises((ConfigError, DataError), match=says):
        make_table("t", "c", rows, [{**LOOKUP, **change}])


def test_one_value_in_two_spellings_is_one_value() -> None:
    # "Mars" and "mars " must not stand side by side as options
    rows = [{"name": "a", "colour": "Deep  red"}, {"name": "b", "colour": "deep red "}]
    table = make_table("t", "c", rows, [LOOKUP])
    assert table.rows[0]["colour"] == table.rows[1]["colour"]


def test_packs_lists_the_shipped_ones() -> None:
    assert packs.packs() == ["solar_system"]
