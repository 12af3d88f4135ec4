"""One `key=value` as typed: what the person wrote is what counts, and nothing is looked up for it."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen import config
from benchgen.errors import ConfigError
from benchgen.verbs.line import parse
from benchgen.verbs.typed import as_typed, elements

pytestmark = pytest.mark.slow


def told(override: str, *before: str) -> Any:
    """The value that a setting has once the line was typed."""
    _, overrides, _ = parse(["create", *before, override])
    found: Any = config.load(*overrides)
    for part in override.partition("=")[0].lstrip("+").split("."):
        found = found[part] if isinstance(found, dict) else getattr(found, part)
    return found


LOOK_ALIKES = (
    "5e4379008134", "1e3", "123", "1_000", "0x1F", "007", "1.0", "true", "False", "NULL", "inf", "nan",
    "a=b", "(x)", "[a,b]", "{a: 1}", "a, b", "it's", "'half", 'say "it"', "a\\", "a\\b'c\\'", "é ö", "  a", "~x",
    "#a", "a: b", "choice(a,b)", "${oc.env:HOME}", "a${b}c", "\\${x}", "${", "\u2028", "日本", "@x", "$HOME", "*", "?", "null",
)  # fmt: skip


@pytest.mark.slow
def test_text_is_the_text_that_was_typed() -> None:
    """Hydra alone reads many of these as numbers, truth values, lists, sweeps or variables."""
    keys = ["name", "hash", "program", "dataset", "user", "benchmark.name"]
    for text in LOOK_ALIKES:
        if text == "null":  # unsets a setting of a group
            keys.remove("benchmark.name")
        found = config.load(*parse(["create", *(f"{key}={text}" for key in keys)])[1])
        assert {found.name, found.hash, found.program, found.dataset, found.user} == {text}
        assert "benchmark.name" not in keys or found.benchmark.name == text


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), min_size=1))
def test_any_text_comes_through_the_parser(text: str) -> None:
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from omegaconf import OmegaConf

    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return  # quoted by the person
    parsed = OverridesParser.create().parse_override(as_typed(f"name={text}"))
    assert OmegaConf.to_container(OmegaConf.create([parsed.value()]), resolve=True) == [text]


@pytest.mark.parametrize("path", ["/tmp/ü (x)=1, [a]", "/a b/c", "/tmp/+-%&", "/tmp/日本", "/a\\b"])
def test_a_workspace_is_any_folder(path: str) -> None:
    assert told(f"workspace={path}") == path


def test_what_the_person_quoted_keeps_its_text() -> None:
    assert told("name='a, b'") == "a, b"
    assert told('name="it\'s"') == "it's"
    assert told("path='~/x'") == "~/x"
    assert told("path=~/x") != "~/x"


def test_null_unsets_a_setting_of_a_group() -> None:
    assert told("model.revision=null") is None
    assert told("model.revision=1e3") == "1e3"


def test_lists_and_maps_of_text() -> None:
    assert told("benchmark.evaluation.stop=[1e3, 'a, b', null]") == ["1e3", "a, b", "null"]
    assert told("author.columns={answer: 1e3, q: 'a, b'}", "author=file") == {
        "answer": "1e3",
        "q": "a, b",
    }
    assert told("author.columns.answer=1_0", "author=file") == "1_0"
    assert told("change.prompt=12") == "12"


@pytest.mark.parametrize(
    ("typed", "value"),
    [("runs=1,2", [1, 2]), ("runs=1", [1]), ("runs=[1, 2]", [1, 2]), ("run_id=1,2", [1, 2])],
)
def test_a_comma_is_a_list_where_only_a_list_can_be(typed: str, value: list[int]) -> None:
    assert told(typed) == value
    assert told("run_id=7") == 7


def test_in_a_sweep_a_comma_parts_the_elements() -> None:
    assert as_typed("name=1e3,'a,b',true", multirun=True) == "name='1e3','a,b','true'"
    assert as_typed("runs=[1,2],[1,3]", multirun=True) == "runs=[1,2],[1,3]"
    assert as_typed("name=choice(a,b)", multirun=True) == "name=choice(a,b)"


@pytest.mark.parametrize(
    "override", ["seed=${oc.env:BENCHGEN_TOLD}", "benchmark=${oc.env:BENCHGEN_TOLD}"]
)
def test_no_variable_is_looked_up_anywhere(override: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BENCHGEN_TOLD", "sk-abc123def456")
    with pytest.raises(ConfigError) as refused:
        told(override)
    assert "sk-abc" not in refused.value.message
    for change in ("{prompt: ${oc.env:BENCHGEN_TOLD}}", "{prompt: '${oc.env:BENCHGEN_TOLD}'}"):
        assert told(f"change={change}") == {"prompt": "${oc.env:BENCHGEN_TOLD}"}


def test_what_the_command_line_fills_itself_cannot_be_typed() -> None:
    for override in ("verb=run", "replace.change={prompt: x}", "+replace.change={prompt: x}"):
        with pytest.raises(ConfigError, match="no setting"):
            parse(["create", override])


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("a,b", ["a", "b"]),
        ("'a,b', c", ["'a,b'", "c"]),
        ("it's,b", ["it's", "b"]),
        ("[1,2],[3]", ["[1,2]", "[3]"]),
        ("{a: 'x,y'}", ["{a: 'x,y'}"]),
        ("'a\\',b',c", ["'a\\',b'", "c"]),
        ("", [""]),
    ],
)
def test_elements(value: str, parts: list[str]) -> None:
    assert elements(value) == parts
