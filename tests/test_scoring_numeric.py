"""Numbers: what is read from a reply, and when it is the target's value."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchgen.benchmark.program import numeric
from benchgen.benchmark.program.numeric_spelled import in_words, literal
from tests.bounded import bounded

FILE = Path(__file__).parent / "cases" / "scoring_own" / "numeric.jsonl"
CASES = [json.loads(line) for line in FILE.read_text("utf-8").splitlines()]


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
def test_case(case: dict[str, Any]) -> None:
    """Each row's `why` says what is at stake."""
    params = dict(case.get("params", {}))
    cut = params.pop("finish_reason", "stop") == "length"
    verdict = numeric.score(case["output"], case["target"], truncated=cut, **params)
    assert verdict.correct is case["expected"], (case["why"], verdict)
    assert verdict.status == case.get("status", verdict.status)
    assert verdict.reason == case.get("reason", verdict.reason)


def test_the_cases_are_half_wrong() -> None:
    """A scorer that says yes to everything must not look good on them."""
    false = sum(case["expected"] is False for case in CASES)
    assert len(CASES) >= 60
    assert 0.4 < false / len(CASES) < 0.6


RIGHT = [
    *(("42", 42), ("-5", -5), ("3.14", 3.14), ("1,234", 1234), ("3/4", "3/4"), ("11 5/6", "71/6")),
    *((r"\frac{3}{4}", 0.75), ("60%", 60), ("1.2e5", 120000), (r"2\sqrt{2}", r"\sqrt{8}")),
    *(("18 dollars", 18), ("5 km/h", 5), ("−7", -7), (r"\$18", 18), ("10^{11}", 10**11)),
]
WRONG = [
    *(("43", 42), ("5", -5), ("33.14", 3.14), ("3/4", 3), (r"\frac{3}{4}", 4), ("11 5/6", 11)),
    *((r"2\sqrt{2}", 2), ("12:30", 12), ("3 and 7", 3), ("5-10", 5), (r"\pm 5", 5), ("2x", 2)),
    *(("42abc", 42), ("between 5 and 10", 10), ("unknown", 0), ("", 0), ("at least 5", 5)),
]
WRAPPERS = [
    *("{}", "**{}**", '"{}"', "({})", "[{}]", "`{}`", "*{}*", "> {}", "${}$", r"\({}\)", "{}."),
    *("Answer: {}", "**Answer:** {}", "**Answer: {}**", "Final answer: {}", "Answer:\n\n{}"),
    *("## Answer\n\n{}", "#### {}", "x = {}", "Total: {}", "The answer is {}.", "It is {}."),
    *("The result is {}.", "So we get {}.", "<answer>{}</answer>", '{{"answer": "{}"}}'),
    *(r"\boxed{{{}}}", r"$$\boxed{{{}}}$$", "答案是{}。", "答えは{}です。", "Die Antwort ist {}."),
    *("<think>maybe 99</think>\n{}", "Answer: {}\r\n", "\u200bAnswer: {}\u200b"),
    *("{}\n\nI hope this helps!", "First, 3 + 4 = 7.\n\nAnswer: {}", "{}<|im_end|>"),
    "Answer: {}\n\nQuestion: What is 1 + 1?\nAnswer: 2",
]


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_wrappers_say_nothing(wrapper: str) -> None:
    """Neither a right nor a wrong value changes its verdict by what stands around it."""
    for value, target in RIGHT:
        assert numeric.score(wrapper.format(value), target).correct is True, value
    for value, target in WRONG:
        assert numeric.score(wrapper.format(value), target).correct is False, value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        *(("1,234,567", 1234567), ("12,34,567", 1234567), ("1 234", 1234), ("1'234.5", 1234.5)),
        *(("1_000", 1000), ("1.234.567", 1234567), ("1.234,5", 1234.5), ("0,123", 0.123)),
        *(("1.5e-3", 0.0015), (".5", 0.5), ("1,23,456", 123456), ("1,2,3", None), ("1.2.3", None)),
        *(("1e5000", None), ("9" * 2000, None), ("52_8", 52), ("0012", 12)),
    ],
)
def test_digits_and_their_marks(text: str, value: float | None) -> None:
    number = literal(text)
    assert (number and number.value) == (None if value is None else Fraction(str(value)))


@pytest.mark.parametrize(
    ("words", "value"),
    [
        *(("zero", 0), ("forty-two", 42), ("one hundred and five", 105), ("minus three", -3)),
        *(("two thousand five hundred", 2500), ("a dozen", 12), ("three quarters", 0.75)),
        *(("one hundred fifty", 150), ("twelve million", 12e6), ("四十二", 42), ("一百二十", 120)),
        *(("two three", None), ("twenty hundred ten twenty", None), ("onerous", None)),
    ],
)
def test_small_numbers_in_words(words: str, value: float | None) -> None:
    found = in_words(words)
    assert (found and found[0].value) == (None if value is None else Fraction(value))


@given(st.integers(-(10**30), 10**30))
@settings(max_examples=60, deadline=None)
def test_an_integer_is_itself_and_no_neighbour(n: int) -> None:
    """However it is written, and to the last digit."""
    for text in (f"{n}", f"Answer: {n:,}", rf"\boxed{{{n}}}", f"The answer is {n:_}.", f"{n}.0"):
        assert numeric.score(text, n).correct is True, text
        assert numeric.score(text, n + 1).correct is False, text
    assert numeric.score(f"{n}", str(n)).correct is True


@given(st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300))
@settings(max_examples=60, deadline=None)
def test_a_float_is_what_it_prints(x: float) -> None:
    assert numeric.score(f"The answer is {x!r}.", x).correct is True


FRAGMENTS = st.sampled_from(
    [
        *(
            "Answer:",
            "the answer is",
            " is ",
            "=",
            "+",
            "-",
            "*",
            "/",
            "^",
            "**",
            "(",
            ")",
            "[",
            "]",
        ),
        *(
            "{",
            "}",
            r"\frac",
            r"\sqrt",
            r"\boxed{",
            r"\text{",
            r"\pm",
            r"\pi",
            "$",
            "%",
            "e",
            "x",
            ",",
        ),
        *(
            ".",
            "!",
            "?",
            ":",
            "\n",
            " not ",
            "no wait, ",
            "million",
            "k",
            "m^2",
            "²",
            "½",
            "٤",
            "四十",
        ),
        *("####", "<think>", "</think>", "|", "_", "≈", "<", "±", "∞", " and ", " to ", "10^10^10"),
        *("12:30", "1e999", "\\", "&", "if ", "\ud800", "\x00", r"\overline{3}", "<<1+1=2>>", "°"),
    ]
)
NUMBERS = st.sampled_from(["1", "2", "42", "3.14", "1,234", "9**9**9", "1e400", "forty-two"])


@given(
    st.lists(FRAGMENTS | NUMBERS, max_size=25).map("".join) | st.text(max_size=80),
    st.booleans(),
    st.sampled_from(["auto", "point", "comma"]),
)
@settings(max_examples=120, deadline=None)
def test_no_text_raises(text: str, cut: bool, decimal: str) -> None:
    """As a reply or as a target."""
    for verdict in (
        numeric.score(text, 42, truncated=cut, decimal=decimal, units=("km",)),
        numeric.score("Answer: 42", text, decimal=decimal),
    ):
        assert (verdict.correct is None) == (verdict.value is None)


@given(st.lists(FRAGMENTS, max_size=25).map("".join))
@settings(max_examples=120, deadline=None)
def test_junk_never_scores(text: str) -> None:
    """A value that no fragment holds is never read out of them."""
    assert numeric.score(text, 7777).correct is False
    assert numeric.score(text, "7/7919").correct is False


@pytest.mark.parametrize(
    "reply",
    [
        *(
            "Answer: 10^10^10",
            "Answer: 9**9**9",
            "Answer: 2500!!",
            r"\boxed{\sqrt[99]{2^{9999999}}}",
        ),
        *("9" * 200_000, "Answer: " + "(" * 200_000, "Answer: " + "9^" * 100_000, "1," * 100_000),
        *(
            r"\boxed{" * 30_000,
            "the answer is " * 15_000,
            "wait, no. " * 20_000,
            "#### 5\n" * 30_000,
        ),
        *("½" * 100_000, "²a" * 100_000, "Answer: 5. No, that's wrong. " * 7_000, "| " * 100_000),
        *("I say 5. " * 20_000, "result: 5\n" * 20_000, "1 234 " * 30_000, r"\text{" * 30_000),
    ],
    ids=range(20),
)
def test_reading_hostile_text_ends(reply: str) -> None:
    """Bounds on length, nesting, exponents and digits; no pattern is quadratic."""
    with bounded():
        assert numeric.score(reply, 7).correct is False


@pytest.mark.parametrize(
    "target", [True, None, "", "twelve apples or so", "3 and 7", [3], float("nan"), float("inf")]
)
def test_a_target_that_is_no_number_is_not_measured(target: object) -> None:
    verdict = numeric.score("Answer: 3", target)
    assert verdict.correct is None
    assert (verdict.status, verdict.reason) == ("error", "unreadable_target")


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"percent": "perhaps"}, "unknown_option"),
        ({"decimal": ";"}, "unknown_option"),
        ({"rel_tol": -1e-3}, "unreadable_tolerance"),
        ({"abs_tol": float("nan")}, "unreadable_tolerance"),
    ],
)
def test_an_option_that_means_nothing_is_an_error(options: dict[str, Any], reason: str) -> None:
    """Rather than a default that nobody asked for."""
    verdict = numeric.score("Answer: 3", 3, **options)
    assert verdict.correct is None
    assert verdict.reason == reason


@pytest.mark.parametrize(
    ("reply", "extracted"),
    [
        *(
            ("**Answer: \\$1,234.50 per day.**", "1,234.50"),
            ("Answer: −5", "-5"),
            ("It is 60%.", "60%"),
        ),
        *((r"\boxed{\dfrac{9}{7}}", r"\dfrac{9}{7}"), ("The answer is forty-two.", "forty-two")),
        *(("3 and 7", None), ("no idea", None)),
    ],
)
def test_the_number_is_shown_as_written(reply: str, extracted: str | None) -> None:
    assert numeric.score(reply, 1).extracted == extracted
