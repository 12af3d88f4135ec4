"""How much of a benchmark stands in the training rows, word for word."""

from __future__ import annotations

import pytest

from benchgen.plan import overlap as module
from benchgen.types import Question


def overlap(rows: list[str], prompts: list[str]) -> int:
    return module.overlap(rows, [Question("qa", prompt, ["x"]) for prompt in prompts])


LONG = (
    "Which of the planets that were known in antiquity takes the longest time to go round the Sun?"
)


@pytest.mark.parametrize(
    "row",
    [
        LONG,
        f"Please answer: {LONG.upper()} Saturn.",
        LONG.replace(" ", "\n ").replace("?", ""),
        LONG.replace("Which of the planets", "Name the one among all planets"),
    ],
    ids=["itself", "inside, in capitals", "other spaces and signs", "another beginning"],
)
def test_a_prompt_that_stands_in_a_row_is_found(row: str) -> None:
    assert overlap([row], [LONG]) == 1


@pytest.mark.parametrize(
    "row",
    ["", "Which of the planets is the largest?", LONG[:40], " ".join(LONG.split()[::-1])],
    ids=["nothing", "another question", "its beginning alone", "its words in another order"],
)
def test_what_only_resembles_it_is_not(row: str) -> None:
    assert overlap([row], [LONG]) == 0


def test_a_short_prompt_counts_only_whole() -> None:
    assert overlap(["say: 17 plus 25 now"], ["17 plus 25"]) == 1
    assert overlap(["17 plus 26", "17 minus 25"], ["17 plus 25"]) == 0


def test_each_question_counts_once_and_rows_add_up() -> None:
    assert overlap([LONG, LONG, "17 plus 25"], [LONG, "17 plus 25", "", "??"]) == 2


def test_a_prompt_that_many_questions_share_counts_with_its_options_alone() -> None:
    ask = "Which of these is a star? Choose from: {}."
    star = Question("mcq", "Which of these is a star?", "A", ("Vega", "Io", "the Moon"))
    other = Question("mcq", "Which of these is a star?", "A", ("Sirius", "Rhea", "Titan"))
    rows = [ask.format("Io; The moon; Vega"), ask.format("Deneb; Mars; Titan")]
    assert module.overlap(rows, [star, other]) == 1
    apart = [ask.format("Rhea; Io"), "Sirius and Titan"]  # the options in different rows
    assert module.overlap(apart, [other]) == 0
