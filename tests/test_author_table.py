"""The table author: keys that follow from the data, the asked-for shape, and no question twice."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen import config
from benchgen.author.packs import Pack, Row, Table, Template, load_pack, make_table
from benchgen.author.table import DIFFICULTIES, TableSpec, shares, write_benchmark, write_table
from benchgen.author.write import write
from benchgen.config import AuthorConfig, BenchmarkConfig
from benchgen.errors import ConfigError, DataError, InputError
from benchgen.scoring import score
from benchgen.types import Evaluation, Question, sha256

pytestmark = pytest.mark.slow

SOLAR = load_pack("solar_system")
TEMPLATES = {t.name: (table, t) for table in SOLAR.tables for t in table.templates}
MIX = {"easy": 10.0, "medium": 12.0, "hard": 8.0}
FIVE = ("planets", "moons", "missions", "stars", "galaxies")
BASICS = TableSpec("solar_system", count=30, mix=MIX, seed=1)


def the_row(table: Table, name: str) -> Row:
    return next(row for row in table.rows if row["name"] == (name,))


def right_options(question: Question) -> list[str]:
    """The options that the data calls right, found from the rows alone and not from the author's slots."""
    table, template = TEMPLATES[question.template]
    column = template.column
    named = [row for row in table.rows if row["name"][0] in question.choices]
    if template.form == "lookup":
        asked = max(
            (r for r in table.rows if mentions(question.prompt, r["name"][0])),
            key=lambda r: len(r["name"][0]),
        )
        true = asked[column] + asked.get(f"{column}_also", ())
        return [option for option in question.choices if option in true]
    if template.form == "reverse":
        value = max(
            (
                r[column][0]
                for r in table.rows
                if r[column] and mentions(question.prompt, r[column][0])
            ),
            key=len,
        )
        return [r["name"][0] for r in named if value in r[column] + r.get(f"{column}_also", ())]
    assert template.form in ("most", "least")
    values = {row["name"][0]: float(row[column][0]) for row in named}
    assert len(values) == len(question.choices)  # nothing of unknown size among the options
    best = (max if template.form == "most" else min)(values.values())
    return [name for name, value in values.items() if value == best]


def mentions(prompt: str, text: str) -> bool:
    return text.casefold() in prompt.casefold()


@settings(max_examples=10, deadline=None)
@given(seed=st.integers(0, 10**6), options=st.integers(2, 8))
def test_exactly_one_option_is_right_by_the_data(seed: int, options: int) -> None:
    # an independent reading of the rows agrees with every key, for any seed and number of options
    core = [name for name, (_, t) in TEMPLATES.items() if "mcq" in t.kinds and t.form != "count"]
    for q in write_table(
        TableSpec(SOLAR, count=40, options=options, templates=tuple(core), seed=seed)
    ):
        assert right_options(q) == [q.target_text], q
        assert len(set(q.choices)) == options


def test_every_question_carries_what_is_asked_of_it() -> None:
    for q in write_table(BASICS):
        assert q.category in FIVE
        assert q.difficulty in DIFFICULTIES
        assert q.language == "en"
        assert q.target_text.casefold() in q.rationale.casefold()
        assert q.source
        assert q.template in TEMPLATES
        assert len(q.prompt.split()) <= 15
        assert len(q.rationale.split()) <= 12
        assert "{" not in q.prompt + q.rationale


def test_mix_and_categories_are_met_exactly() -> None:
    questions = write_table(BASICS)
    assert Counter(q.difficulty for q in questions) == {"easy": 10, "medium": 12, "hard": 8}
    assert set(Counter(q.category for q in questions).values()) == {6}


def test_mix_is_shares_when_the_count_is_another() -> None:
    counts = Counter(q.difficulty for q in write_table(replace(BASICS, count=100)))
    assert counts == {"easy": 33, "medium": 40, "hard": 27}


def test_uneven_categories_are_met() -> None:
    asked = {"moons": 3, "stars": 1}
    questions = write_table(replace(BASICS, count=40, categories=asked))
    assert Counter(q.category for q in questions) == {"moons": 30, "stars": 10}


def test_same_seed_same_questions_in_the_same_order_and_another_seed_others() -> None:
    assert write_table(BASICS) == write_table(BASICS)
    assert write_table(BASICS) != write_table(replace(BASICS, seed=2))


def test_sibling_and_practice_share_no_key_even_under_one_seed() -> None:
    # the exclusion alone must keep them apart, not the luck of another seed
    taken: frozenset[str] = frozenset()
    for count in (30, 100, 300):
        questions = write_table(replace(BASICS, count=count, exclude=taken))
        keys = {q.key for q in questions}
        assert len(keys) == count
        assert not keys & taken
        taken |= keys


def test_facts_repeat_only_when_all_were_asked() -> None:
    # 60 look-ups of 62 moons: each of another moon
    spec = TableSpec(SOLAR, count=60, templates=("moon_orbits",))
    assert len({q.source for q in write_table(spec)}) == 60


def test_more_than_the_pack_can_give_says_how_many_and_that_many_works() -> None:
    spec = TableSpec(SOLAR, kind="qa", count=2000, mix=MIX)
    with pytest.raises(DataError, match="Allowed: '1 to") as caught:
        write_table(spec)
    most = int(str(caught.value.allowed).split(" to ")[1])
    assert len(write_table(replace(spec, count=most))) == most
    with pytest.raises(DataError):
        write_table(replace(spec, count=most + 1))


def test_excluded_questions_are_not_counted_as_available() -> None:
    spec = TableSpec(SOLAR, kind="qa", count=2, templates=("planet_at",))
    taken = frozenset(q.key for q in write_table(replace(spec, count=7)))
    with pytest.raises(DataError, match="1 to 1"):
        write_table(replace(spec, exclude=taken))


def test_refused_questions_are_replaced_within_their_cell() -> None:
    def no_titan(question: Question) -> bool:
        return (
            "Titan" not in (question.prompt, *question.choices) and "Titan" not in question.prompt
        )

    questions = write_table(replace(BASICS, count=200), no_titan)
    assert len(questions) == 200
    assert all(map(no_titan, questions))
    assert Counter(q.difficulty for q in questions) == shares(200, MIX)


def test_qa_accepts_every_true_answer_with_and_without_article_and_diacritics() -> None:
    only = ("star_constellation", "mission_target")
    spec = TableSpec(SOLAR, kind="qa", templates=only)
    asked = {q.prompt: q for q in all_of(spec)}
    assert asked["In which constellation is the star Arcturus?"].target == ["Boötes", "Bootes"]
    assert asked["Where was the mission Apollo 11 sent?"].target == ["the Moon", "Moon"]
    assert all(not q.choices for q in asked.values())


def test_counts_are_counted_from_the_list_in_the_prompt() -> None:
    table, template = TEMPLATES["moons_counted"]
    questions = write_table(
        TableSpec(SOLAR, count=40, templates=("moons_counted",), categories={"moons": 1})
    )
    for q in questions:
        host, listed = q.prompt.removesuffix("?").split(": ")
        names = listed.split(", ")
        true = [n for n in names if host.endswith(the_row(table, n)[template.column][0])]
        assert q.target_text == str(len(true))
        assert len(names) == 4
    assert len({q.target_text for q in questions}) == 4


ROWS: list[dict[str, Any]] = [
    {"name": "ant", "legs": 6, "home": "nest|mound", "home_also": "soil", "fame": 1},
    {"name": "bee", "legs": 6, "home": "hive", "home_also": "", "fame": 1},
    {"name": "crab", "legs": 10, "home": "sea", "home_also": "", "fame": 2},
    {"name": "dog", "legs": 4, "home": "kennel", "home_also": "", "fame": 1},
    {"name": "eel", "legs": "", "home": "sea", "home_also": "", "fame": 3},
    {"name": "mole", "legs": 4, "home": "soil", "home_also": "", "fame": 2},
    {"name": "hive beetle", "legs": 6, "home": "hive", "home_also": "", "fame": 3},
]


def zoo(form: str, column: str, **more: Any) -> Pack:
    about = {"name": "t", "form": form, "column": column, "rationale": "{name}: {value}."}
    prompts = more.pop(
        "prompts", ["Where lives {name}?" if form == "lookup" else "Which has {value}?"]
    )
    template: dict[str, Any] = {**about, "prompts": prompts, **more}
    return Pack("zoo", (make_table("zoo", "animals", ROWS, [template]),))


def all_of(spec: TableSpec) -> list[Question]:
    """Everything the spec can give."""
    try:
        return write_table(replace(spec, count=2000))
    except DataError as error:
        return write_table(replace(spec, count=int(str(error.allowed).split(" to ")[1])))


def test_any_table_works_and_values_true_in_part_are_never_distractors() -> None:
    # the ant lives in nest or mound and also in soil: none of these may be offered as wrong
    questions = all_of(TableSpec(zoo("lookup", "home"), options=3))
    ant = [q for q in questions if q.prompt == "Where lives ant?"]
    assert {c for q in ant for c in q.choices} == {"nest", "hive", "sea", "kennel"}
    assert {q.difficulty for q in ant} == {"easy"}


def test_a_question_that_answers_itself_is_not_asked() -> None:
    prompts = {q.prompt for q in all_of(TableSpec(zoo("lookup", "home"), options=3))}
    assert "Where lives hive beetle?" not in prompts
    assert "Where lives bee?" in prompts


def test_reverse_look_up_leaves_out_whatever_has_the_value_too() -> None:
    for q in all_of(TableSpec(zoo("reverse", "home", level=1), options=2)):
        if q.prompt == "Which has soil?":
            assert q.target_text == "mole"
            assert "ant" not in q.choices
        if q.prompt == "Which has sea?":
            assert len({"crab", "eel"} & set(q.choices)) == 1


def test_qa_never_asks_for_one_of_several_holders() -> None:
    # "which has sea" has two right answers; soil has two as well, one of them only in part
    questions = all_of(TableSpec(zoo("reverse", "home", kinds=["qa"]), kind="qa"))
    assert {q.prompt: q.target for q in questions} == {
        "Which has nest?": ["ant"],
        "Which has kennel?": ["dog"],
    }


def test_ties_and_unknown_values_stay_out_of_comparisons() -> None:
    questions = all_of(TableSpec(zoo("most", "legs", prompts=["Which has most legs?"]), options=3))
    legs = {r["name"]: r["legs"] for r in ROWS}
    assert questions
    for q in questions:
        assert "eel" not in q.choices
        assert sorted(legs[c] for c in q.choices)[-2] < legs[q.target_text]


@pytest.mark.parametrize(
    ("absolute", "rivals"),
    [(True, {"dog", "mole"}), (False, {"ant", "bee", "dog", "mole", "hive beetle"})],
)
def test_margin_is_a_share_or_a_plain_difference(absolute: bool, rivals: set[str]) -> None:
    # crab has 10: a lead of 6 leaves those with 4, a lead of 0.4 of itself those with 6 as well
    pack = zoo("most", "legs", prompts=["?"], margin=6 if absolute else 0.4, absolute=absolute)
    crab = [q for q in all_of(TableSpec(pack, options=2)) if q.target_text == "crab"]
    assert {c for q in crab for c in q.choices} - {"crab"} == rivals


def test_a_compared_value_that_is_no_number_is_named() -> None:
    with pytest.raises(DataError, match="nest"):
        write_table(TableSpec(zoo("most", "home"), count=1, options=2))


def test_words_of_a_template_are_data_not_code() -> None:
    # braces in a table stay as they are; an unknown word in a template is refused
    rows = [{"name": "{value}", "home": "{x}"}, {"name": "b", "home": "y"}]
    template = Template("t", "lookup", "home", ("Where is {Name}?",), "{name} is {a_value}.")
    pack = Pack("p", (make_table("t", "c", rows, [template]),))
    assert {q.prompt for q in write_table(TableSpec(pack, count=2, options=2))} == {
        "Where is {value}?",
        "Where is B?",
    }
    bad = Pack(
        "p", (make_table("t", "c", rows, [replace(template, rationale="{name.__class__} {oops}")]),)
    )
    with pytest.raises(ConfigError, match="oops"):
        write_table(TableSpec(bad, count=1, options=2))


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: TableSpec("solar_system", kind="essay"), "mcq, numeric, qa"),
        (lambda: TableSpec("solar_system", count=0), "count"),
        (lambda: TableSpec("solar_system", count=2001), "count from 1 to 2000"),
        (lambda: TableSpec("solar_system", options=9), "options"),
        (lambda: TableSpec("solar_system", mix={"trivial": 1}), "easy"),
        (lambda: TableSpec("solar_system", mix={"easy": 0}), "mix"),
        (lambda: TableSpec("solar_system", categories={"moons": -1, "stars": 2}), "categories"),
        (lambda: write_table(TableSpec("solar_system", categories={"comets": 1})), "galaxies"),
        (
            lambda: write_table(TableSpec("solar_system", templates=("moon_off",))),
            "did you mean moon_of",
        ),
        (lambda: write_table(TableSpec("solar_system", language="fr")), "language"),
        (lambda: write_table(TableSpec("nowhere")), "solar_system"),
        (lambda: write_table(TableSpec(zoo("lookup", "home"), kind="qa")), "qa"),
    ],
)
def test_bad_requests_say_what_is_allowed(make: Callable[[], object], says: str) -> None:
    with pytest.raises(InputError, match=says):
        make()


@given(
    count=st.integers(1, 2000),
    weights=st.dictionaries(st.text(max_size=3), st.floats(0, 50), min_size=1, max_size=6),
)
def test_shares_sum_to_the_count_and_are_off_by_less_than_one(
    count: int, weights: dict[str, float]
) -> None:
    total = sum(weights.values())
    if total < 1e-6:
        return
    whole = shares(count, weights)
    assert sum(whole.values()) == count
    assert all(abs(whole[k] - count * w / total) < 1 + 1e-6 for k, w in weights.items())


def test_a_config_becomes_a_draft() -> None:
    # the whole way of `create`: config -> questions with even letters, evaluation and report
    author = AuthorConfig(name="table", pack="solar_system")
    about = BenchmarkConfig(name="x", author=author, count=30, mix=MIX, seed=1)
    draft = write_benchmark(about)
    letters = Counter(q.target for q in draft.questions)
    assert max(letters.values()) - min(letters.values()) <= 1
    assert len(letters) == 4
    assert draft.name == "x"
    assert draft.evaluation.options == "names"
    assert not draft.rejected
    assert draft.config["author"]["pack"] == "solar_system"
    assert set(draft.report) == {"decisions", "warnings"}
    again = write_benchmark(about, frozenset(q.key for q in draft.questions))
    assert not {q.key for q in draft.questions} & {q.key for q in again.questions}


DIGESTS = {
    "basics": "43b61663f4a3468e",
    "sibling": "4551c7f0b3ba21c8",
    "practice": "c1d7708db7869baa",
    "qa": "4f11ab50b76d2a3d",
    "letters": "43b61663f4a3468e",
    "mixed": "0d0c35ff41fea175",
}
"""First digits of the sha256 of the keys in order, as release 0.1.0 wrote them: never to be renewed."""


def test_shipped_benchmarks_are_disjoint_and_ask_what_they_always_asked() -> None:
    # conf/benchmark: what the demo trains on must share no question with what it is measured on, and a
    # benchmark that is written again must be the same, or nothing published could be repeated
    keys: dict[str, set[str]] = {}
    for name, digest in DIGESTS.items():
        about = config.load_benchmark(f"solar_system_{name}")
        assert about.name == f"solar_system_{name}"
        taken = {
            key for other in about.exclude for key in keys[other.removeprefix("solar_system_")]
        }
        questions = write_benchmark(about, frozenset(taken)).questions
        assert sha256([q.key for q in questions])[:16] == digest
        keys[name] = {q.key for q in questions}
        assert len(keys[name]) == about.count
        assert Counter(q.category for q in questions) == dict.fromkeys(FIVE, about.count // 5)
    assert [len(keys[name]) for name in keys] == [30, 100, 300, 30, 30, 30]
    assert not keys["basics"] & keys["sibling"]
    assert not (keys["basics"] | keys["sibling"]) & keys["practice"]
    assert keys["letters"] == keys["basics"]


def test_worked_examples_of_the_other_packs_are_written_without_a_refusal() -> None:
    # mcq, qa and numeric: each proves its own key, in the asked-for number
    for name, kind in (
        ("elements_basics", "mcq"),
        ("countries_basics", "qa"),
        ("units_numeric", "numeric"),
    ):
        about = config.load_benchmark(name)
        draft = write_benchmark(about)
        assert len(draft.questions) == about.count
        assert {q.kind for q in draft.questions} == {kind}
        assert not draft.rejected


# ---- numbers ------------------------------------------------------------------------------------


def drafted(spec: TableSpec) -> list[Question]:
    """The questions after the checks that every author's go through: none is refused."""
    draft = write(partial(write_table, spec), Evaluation(), name="x")
    assert not draft.rejected
    return list(draft.questions)


def test_a_number_is_asked_for_within_the_tolerance_that_the_template_states() -> None:
    spec = TableSpec("elements", kind="numeric", count=60, templates=("element_melting",))
    about = {q.source.split(": ")[-1].split(",")[0]: q for q in drafted(spec)}
    question = next(iter(about.values()))
    assert question.options == {"rel_tol": 0.01, "units": ["K", "kelvin", "kelvins"]}
    assert isinstance(question.target, int | float)
    assert "kelvins" in question.prompt

    def said(value: float) -> bool | None:
        return score(
            "numeric", reply=f"Answer: {value} K", target=question.target, **question.options
        ).correct

    assert said(question.target * 1.009)
    assert said(question.target * 1.02) is False


def test_whole_numbers_without_a_tolerance_are_exact() -> None:
    spec = TableSpec("elements", kind="numeric", count=118, templates=("element_number",))
    questions = drafted(spec)
    assert {q.target for q in questions} == set(range(1, 119))
    assert all(q.options == {} for q in questions)


@pytest.mark.parametrize(
    ("pack", "templates", "known"),
    [
        ("elements", ("period_total",), {"period 1": 2, "period 4": 18, "period 7": 32}),
        (
            "countries",
            ("region_total", "subregion_total"),
            {"in Africa": 54, "in Europe": 43, "in Central Asia": 5, "in South America": 12},
        ),
        (
            "units",
            ("kind_total", "side_total"),
            {
                "many SI base units are there": 7,
                "special names are there": 22,
                "larger than one": 12,
            },
        ),
    ],
)
def test_totals_are_those_of_the_world(
    pack: str, templates: tuple[str, ...], known: dict[str, int]
) -> None:
    # counted over the whole table, so it must hold every member of the set: checked against known totals
    asked = {
        q.prompt: q.target for q in all_of(TableSpec(pack, kind="numeric", templates=templates))
    }
    for words, number in known.items():
        assert {n for prompt, n in asked.items() if prompt.endswith(f"{words}?")} == {number}


def test_ratios_are_those_of_the_two_rows_and_only_within_a_family() -> None:
    spec = TableSpec("units", kind="numeric", count=300, templates=("unit_ratio",), seed=3)
    rows = {row["name"][0]: row for row in load_pack("units").tables[0].rows}
    plurals = {row["plural"][0]: row for row in rows.values()}
    for q in write_table(spec):
        other, name = q.prompt.removeprefix("How many ").removesuffix("?").split(" make one ")
        assert plurals[other]["family"] == rows[name]["family"]
        ratio = float(rows[name]["size"][0]) / float(plurals[other]["size"][0])
        assert q.target == pytest.approx(ratio, rel=1e-9)
        assert 1 < q.target <= 1e6


def test_counts_are_asked_as_numbers_too() -> None:
    spec = TableSpec(SOLAR, kind="numeric", count=40, templates=("moons_counted",))
    assert {q.target for q in drafted(spec)} == {1, 2, 3, 4}


def test_a_number_with_two_true_values_is_not_asked_for() -> None:
    rows = [{"name": "a", "size": "3|4"}, {"name": "b", "size": "5"}, {"name": "c", "size": "6.5"}]
    template = Template("t", "lookup", "size", ("Size of {name}?",), "{value}.", ("numeric",))
    pack = Pack("p", (make_table("t", "c", rows, [template]),))
    assert {q.prompt: q.target for q in all_of(TableSpec(pack, kind="numeric"))} == {
        "Size of b?": 5,
        "Size of c?": 6.5,
    }


def test_a_total_that_is_true_in_part_of_more_rows_is_not_asked_for() -> None:
    # the mole lives in soil, the ant partly: how many live in soil is open
    rows = [{**row, "home": row["home"]} for row in ROWS]
    template = Template("t", "total", "home", ("How many in {value}?",), "{number}.", ("numeric",))
    table = make_table("zoo", "animals", rows, [template], None, {"home": ()})
    questions = all_of(TableSpec(Pack("zoo", (table,)), kind="numeric"))
    asked = {q.prompt: q.target for q in questions}
    assert "How many in soil?" not in asked
    assert asked["How many in sea?"] == 2


def test_categories_can_come_from_a_column() -> None:
    questions = write_table(TableSpec("countries", count=50, templates=("country_capital",)))
    assert Counter(q.category for q in questions) == dict.fromkeys(
        ("Africa", "the Americas", "Asia", "Europe", "Oceania"), 10
    )


def test_a_small_category_gives_what_it_has_when_none_was_asked_for() -> None:
    # 13 capitals in Oceania: the rest is even; asked for by name, the same is refused
    spec = TableSpec("countries", kind="qa", count=100, templates=("country_capital",))
    counts = Counter(q.category for q in write_table(spec))
    assert counts["Oceania"] < 20 == min(n for c, n in counts.items() if c != "Oceania") - 1
    with pytest.raises(DataError, match="too few"):
        write_table(replace(spec, categories={"Oceania": 1, "Europe": 1}))


def test_every_name_of_an_entity_is_accepted() -> None:
    spec = TableSpec("countries", kind="qa", templates=("capital_country",))
    asked = {q.prompt: q.target for q in all_of(spec)}
    assert {"Côte d'Ivoire", "Ivory Coast", "Cote d'Ivoire"} <= set(
        asked["Yamoussoukro is the capital of which country?"]
    )
    assert {"the Netherlands", "Netherlands", "Holland"} <= set(
        asked["Amsterdam is the capital of which country?"]
    )


def test_case_tells_symbols_apart() -> None:
    # P is peta, p is pico: as one value, either question would have a wrong key
    spec = TableSpec("units", templates=("prefix_symbol",), count=400, categories={"prefixes": 1})
    right = {q.prompt: q.target_text for q in write_table(spec)}
    assert right["What is the symbol of the SI prefix pico?"] == "p"
    assert right["What is the symbol of the SI prefix peta?"] == "P"


def test_a_long_table_is_asked_in_part_but_read_in_full() -> None:
    # 5,000 rows: the one holder of a value is known from all rows, not from those that are asked for
    rows = [{"name": f"n{i}", "code": f"c{i // 2 if i < 4990 else i}"} for i in range(5000)]
    template = Template("t", "reverse", "code", ("Which has {value}?",), "{name}.", ("qa",))
    pack = Pack("p", (make_table("t", "c", rows, [template]),))
    questions = all_of(TableSpec(pack, kind="qa"))
    assert questions
    assert all(int(q.target[0][1:]) >= 4990 for q in questions)
