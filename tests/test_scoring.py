"""The scoring program: what is read from a reply, and that its three uses agree."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchgen import scoring
from benchgen.benchmark import registry
from benchgen.benchmark.program import mcq, qa
from benchgen.scoring import Score, reward, score
from benchgen.types import KINDS, STATUSES
from tests.bounded import bounded

CASES = [
    json.loads(line)
    for line in (Path(__file__).parent / "cases" / "scoring.jsonl").read_text("utf-8").splitlines()
]
OWN = Path(__file__).parent / "cases" / "scoring_own"
EVERY_CASE = CASES + [
    json.loads(line)
    for path in sorted(OWN.glob("*.jsonl"))
    for line in path.read_text("utf-8").splitlines()
]
CELL = ["Nucleus", "Ribosome", "Chloroplast", "Vacuole"]
TREND = ["increase", "increase then decrease", "decrease", "stay the same"]
PLANETS = ["Mercury", "Venus", "Mars", "Jupiter"]
NUMBERS = ["5", "-5", "0.5", "50"]
VITAMINS = ["Vitamin A", "Vitamin B", "Vitamin C", "Vitamin D"]
EVEN = ["2", "3", "6", "7"]

# (why these belong together, options, {reply: label that is read, None = no option is read})
SINGLE: list[tuple[str, list[str], dict[str, str | None]]] = [
    (
        "wrappers around the label say nothing",
        CELL,
        dict.fromkeys(
            [
                *("**Answer: (C)**", "Answer: $C$", r"Answer: $\boxed{C}$", r"\boxed{\text{C}}"),
                *(r"$$\boxed{\mathrm{(C)}}$$", r"\[ \boxed{C} \]", "Answer: {C}", "Answer: <C>"),
                *("<answer>C</answer>", "<answer> C. Chloroplast </answer>", "`C`", "“C”", "> C"),
                *('{"answer": "C"}', '```json\n{"answer": "C"}\n```', "Answer: 'C'", "#### C"),
                r"The final answer is $\boxed{\text{C. Chloroplast}}$.",
            ],
            "C",
        ),
    ),
    (
        "the letter may be written in any way that is a letter",
        CELL,
        dict.fromkeys(
            ["Ｃ", "Ⓒ", "🅲", "c)", "(c)", "[C]", "ANSWER: c", "option c", "A\u200bnswer: C"], "C"
        ),
    ),
    (
        "a declaration has many forms",
        CELL,
        dict.fromkeys(
            [
                *("Answer = C", "Answer C", "Answer (C)", "Ans: C", "ans. C", "Answer--> C"),
                *(
                    "Final answer - C",
                    "Solution: C",
                    "Selected: C",
                    "### Answer\nC",
                    "Answer:\n\nC",
                ),
                *(
                    "I choose C.",
                    "I'd go with option C",
                    "Go with C",
                    "My choice: C",
                    "Answer is C",
                ),
                *("The correct option is C", "The best answer among the options is C", "1. C"),
                "The answer to the question 'Which structure captures light?' is C.",
                *("C is the correct answer.", "In conclusion, C.", "Probably C", "Let's see. C"),
                *("Hence the correct choice is (C).", r"Thus, the answer is: \textbf{C}", "✅ C"),
                *("Answer: C | Confidence: 0.9", "Answer: Option C: Chloroplast", "- C", "# C"),
            ],
            "C",
        ),
    ),
    (
        "a declaration may be in another language",
        CELL,
        dict.fromkeys(
            [
                *("Die Antwort ist C.", "La réponse est C", "La respuesta correcta es C."),
                *("Ответ: C", "正解はCです", "答えは C です。", "정답은 C 입니다", "故选C"),
                *(
                    "答案：C。因为叶绿体",
                    "正确答案是 C",
                    "答案不是A，而是C",
                    "答えはAではなくCです",
                ),
            ],
            "C",
        ),
    ),
    (
        "a denied label is not picked",
        CELL,
        {
            "The answer is not B but C.": "C",
            "The answer isn't B, it's C.": "C",
            "The answer is C, not B.": "C",
            "Answer: this rules out C, leaving D": "D",
            "The answer cannot be A or B; it must be C.": "C",
            "It can't be A, B or D. It has to be C.": "C",
            "Eliminating A, B, and D leaves C.": "C",
            "A is incorrect, B is incorrect, D is incorrect, so C.": "C",
            "B is wrong. C is correct.": "C",
            "Neither A nor B. The answer is C": "C",
            "Answer: not A": None,
            "A and B are wrong, D is wrong.": None,
            "The answer is Chloroplast, not Nucleus.": "C",
        },
    ),
    (
        "what is supposed, asked, doubted or said by others is no declaration",
        CELL,
        {
            "If the answer is B then plants die.": None,
            "If the answer is B, then the plant has no light. Answer: C": "C",
            "Some students say the answer is A.": None,
            "The answer is A? No.": None,
            "Is the answer A?": None,
            "C?": None,
            "I doubt the answer is A. The answer is C.": "C",
            "I don't think the answer is A": None,
            "There is no doubt the answer is C": "C",
            "The wrong answer is A.": None,
            "A common mistake is A. The answer is C": "C",
        },
    ),
    (
        "the last declaration wins",
        CELL,
        {
            "ANSWER: A\nWait, I made a mistake.\nANSWER: C": "C",
            "ANSWER: A ... actually, ANSWER: B": "B",
            "The answer is A. No wait, C.": "C",
            "I first thought the answer is A, but the answer is C.": "C",
            "Answer: C\nAnswer: E": None,
        },
    ),
    (
        "what follows the declaration does not take it back",
        CELL,
        dict.fromkeys(
            [
                "Answer: C. I hope this answer is helpful!",
                "The answer is C\n\nA is wrong because of DNA.\nB is wrong.\nD is wrong.",
                "Answer: C\nA: DNA\nB: proteins\nD: water",
                "Answer: C, because A is wrong",
                "Answer: C, and A is a distractor",
                "Answer: C\nConfidence: 90%",
            ],
            "C",
        ),
    ),
    (
        "only one label of the question is an answer",
        CELL,
        dict.fromkeys(
            [
                *("The answer is A or B.", "Both A and C", "Answer: A/C", "ANSWER: C, D", "AB"),
                *("Answer: E", "Answer: X", "C or D", "Answer: NAME", "Answer: LETTER"),
                *("Answer: None of the above", "ANSWER: NONE", "A. Nucleus\nB. Ribosome\n"),
                "A. Nucleus\nB. Ribosome\nC. Chloroplast\nD. Vacuole",
            ]
        ),
    ),
    (
        "words are not labels",
        CELL,
        dict.fromkeys(
            [
                *("Answer: A tree with needles", "Let's go.", "I don't know.", "Chloroplasts are"),
                "A train covers ground. I like it.",
            ]
        ),
    ),
    (
        "the label A is not always an article",
        CELL,
        dict.fromkeys(
            ["Answer: A because it holds DNA", "A", "a", "A is correct.", "Answer: A"], "A"
        ),
    ),
    (
        "reasoning is no answer",
        CELL,
        {
            "<think>The answer is A.</think>C": "C",
            "<thinking>\nANSWER: A\n</thinking>\nANSWER: C": "C",
            "<reasoning>Answer: A</reasoning>Answer: C": "C",
            "[THINK]Answer: A[/THINK]Answer: C": "C",
            "Answer: A</think>": None,
            "<think>Answer: C": None,
            "<|channel|>analysis<|message|>Answer: A<|end|><|start|>assistant"
            "<|channel|>final<|message|>Answer: C": "C",
        },
    ),
    (
        "an invented next question and its answer are not this one's",
        CELL,
        dict.fromkeys(
            [
                "C\n\nQuestion: What is 2+2?\nA. 3\nB. 4\nAnswer: A",
                "C\n\nWhat is 2+2?\nA. 3\nB. 4\nAnswer: A",
                "Answer: C\n\nQ: next?\nA: x\nAnswer: A",
                "Answer: C\nHuman: thanks\nAssistant: Answer: A",
                "C<|im_end|>\n<|im_start|>user\nAnswer: A",
            ],
            "C",
        ),
    ),
    (
        "a question restated before the answer is not a next one",
        CELL,
        {
            "Question: Which captures light?\nA. Nucleus\nB. Ribosome\nC. Chloroplast\nD. Vacuole\n"
            "Answer: C": "C"
        },
    ),
    (
        "an option's text stands for its label",
        PLANETS,
        {
            "Answer: Mars": "C",
            "It has a red surface.\nAnswer: mars.": "C",
            "Answer: The planet Mars": "C",
            "Answer: Mars, because it is red.": "C",
            "Answer: Not Venus but Mars": "C",
            "Answer: Mars (C)": "C",
            "Answer: C. Mars": "C",
            "Answer: Venus\nAnswer: Mars": "C",
            "Unlike Venus, Mars has moons.": "C",
            "Jupiter is larger than Mars.": "D",
            "Venus is hotter than Mercury. So Venus.": "B",
            "Venus is hotter than Mercury. So Venus it is, I think": "B",
            "Answer: Mars.\n\nExplanation: Venus is hotter.": "C",
        },
    ),
    (
        "an option's text counts only where it is one option's",
        PLANETS,
        dict.fromkeys(
            [
                *("Answer: Saturn", "Answer: Mars or Venus", "Mercury; Venus; Mars; Jupiter"),
                *("Answer: A. Mars", "Answer: B. Mars", "Venus and Mars are planets."),
            ]
        ),
    ),
    (
        "the longest option text counts",
        TREND,
        {
            "Answer: increase then decrease": "B",
            "It will increase then decrease.": "B",
            "Answer: increase": "A",
        },
    ),
    (
        "articles are no part of an option, names are",
        ["Moon", "The Moon of Mars", "Mars", "Sun"],
        {"Answer: the moon": "A", "Answer: Moon of Mars": "B"},
    ),
    (
        "a wavering reply counts by where it ends",
        CELL,
        {
            "I'm torn between A and C, but I'd say C.": "C",
            "It's either A or C. I'll go with C.": "C",
            "Although A is tempting, the answer is C.": "C",
            "Answer: C\n\nOn second thought, the answer is B.": "B",
            "Answer: C. Correction: B": "B",
            "Let's think step by step. A: no. B: no. C: yes. D: no. So the answer is C.": "C",
            "Anything but C.": None,
            "Not A, not B, not D.": None,
        },
    ),
    (
        "a list of all the options picks none",
        CELL,
        dict.fromkeys(
            ["A) Nucleus B) Ribosome C) Chloroplast D) Vacuole", "A. B. C. D.", "A B C D"]
        ),
    ),
    (
        "labels stand between other scripts and other marks",
        CELL,
        dict.fromkeys(
            [
                "选项C是正确的",
                "【答案】C",
                "应该选择C",
                "Réponse : C",
                "Svar: C",
                '{"choice": "C"}',
                "C – yes",
            ],
            "C",
        ),
    ),
    (
        "an option may be a sentence",
        ["The Sun is a star.", "The Sun is a planet.", "None of these"],
        {"Answer: The Sun is a star": "A", "The Sun is a star.": "A", "Answer: star": None},
    ),
    (
        "a quantity is whole or it is another",
        ["0.5 AU", "1 AU", "5.2 AU", "30 AU"],
        {"Answer: 5.2 AU": "C", "It is 1 AU away.": "B", "Answer: 2 AU": None, "Answer: 0.5": None},
    ),
    ("a stop may be part of an option", ["St. Helens", "Etna"], {"Answer: St. Helens": "A"}),
    (
        "signs and decimal points are part of a number",
        NUMBERS,
        {"Answer: -5": "B", "Answer: −5": "B", "Answer: $-5$": "B", "Answer: 5": "A", "0.5": "C"},
    ),
    (
        "a shared beginning is no option",
        VITAMINS,
        {"Vitamin C": "C", "Answer: Vitamin A": "A", "Answer: Vitamin": None},
    ),
    (
        "options that differ by signs alone stay apart",
        ["x > 5", "x < 5", "C++", "C#"],
        {"Answer: x < 5": "B", "Answer: C++": "C", "The language is C#": "D"},
    ),
]
FLAT = [
    pytest.param(choices, reply, label, id=f"{why[:30]}-{i}")
    for why, choices, replies in SINGLE
    for i, (reply, label) in enumerate(replies.items())
]

SEVERAL = [
    *("ANSWER: A, C", "ANSWER: AC", "ANSWER: C, A", "ANSWER: a, c", "Answer: **A** and **C**"),
    *("Answer: (A) and (C)", "The correct options are A and C.", "A\nC", "A. 2\nC. 6", "AC"),
    *("A and C are even.", "Answer: 2 and 6", "Answer: A. 2, C. 6", "Answer: A and C, not B"),
    *(r"\boxed{A, C}", "Answer:\n- A\n- C", "Answer:\nA. 2\nC. 6", "答案：A、C", "Answer: A & C"),
    *('Answer: ["A", "C"]', "Answer: A, C because they are even", "A, B, C, D?\nAnswer: A and C"),
]

# (accepted text, reply, right)
TEXTS: list[tuple[str, str, bool]] = [
    *(
        (("Paris"), reply, True)
        for reply in ("Paris", "paris.", "**Paris**", "“Paris”", "PARIS\r\n")
    ),
    *(
        (("Paris"), reply, True)
        for reply in ("Answer: Paris", "答案：Paris", r"\boxed{\text{Paris}}")
    ),
    *(
        (("Paris"), reply, True)
        for reply in ("### Answer\n\nParis", "Q: capital?\nA: Paris", "It's Paris!")
    ),
    ("Paris", "Answer: Lyon\nAnswer: Paris", True),
    ("Paris", "Answer: Paris\nAnswer: Lyon", False),
    ("Paris", "The capital of France is Paris.", True),
    ("Paris", "The capital is not Paris.", False),
    ("Paris", "The answer is not Paris.", False),
    ("Paris", "The answer is not Lyon but Paris.", True),
    ("Paris", "Paris and Lyon are cities in France; the capital is Lyon.", False),
    (
        "Paris",
        "I was in Paris, then in Lyon, and both are cities that I would gladly see again.",
        False,
    ),
    ("Paris", "Lyon is large.\nParis", True),
    ("Paris", "Answer: Paris, because it is the seat of government", True),
    ("Paris", "Answer: Paris (France)", True),
    ("Paris", "Answer: Paris or Lyon", False),
    ("Paris", "Paris, Texas", False),
    ("Paris", "Paris\n\nExplanation: it is the capital.", True),
    ("Paris", "Paris\n\nQuestion: capital of Germany?\nAnswer: Berlin", True),
    ("Berlin", "Paris\n\nWhat is the capital of Germany?\nAnswer: Berlin", False),
    ("Paris", "<think>Lyon</think>Paris", True),
    ("Paris", "<think>Paris</think>", False),
    ("Paris", "<think>Paris", False),
    ("red", "Answer: red, blue", False),
    ("red, blue", "Answer: blue, red", False),
    ("The Beatles", "Beatles", True),
    ("A", "a", True),
    ("A", "the", False),
    ("The The", "The The", True),
    ("Vitamin A", "vitamin", False),
    ("café", "cafe\u0301", True),
    ("don't", "don’t", True),
    ("H2O", "H₂O", True),
    ("Straße", "STRASSE", True),
    ("3.14", "3.141", False),
    ("3.14", "314", False),
    ("12:00", "11:12:00", False),
    ("-5", "5", False),
    ("-5", "−5", True),
    ("5%", "5", False),
    ("1,000", "1000", True),
    ("U.S.", "US", True),
    ("!", "?", False),
    ("C++", "C", False),
    ("का", "कि", False),
    ("yes", "Yes, it is.", True),
    ("True", "untrue", False),
    ("true", "The statement is not true.", False),
    ("Paris", "", False),
    ("Paris", "I cannot answer that.", False),
]


def parts_of(case: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """(kind, parts of the question and reply, options) of one row of the cases file."""
    options = dict(case.get("params") or {})
    finish = options.pop("finish_reason", None) or case.get("finish_reason", "stop")
    if "judge_reply" in options:
        said = options.pop("judge_reply")
        options["judge"] = lambda prompt: said
    kind = {"exact": "qa", "mcq_pair": "mcq"}.get(case["kind"], case["kind"])
    parts = {
        "reply": case["output"] if "output" in case else case["reply"],
        "target": case["target"],
        "choices": case.get("choices") or case.get("options"),
        "finish_reason": finish,
    }
    return kind, parts, options


def scored_case(case: dict[str, Any]) -> Score:
    """The verdict on one row of the cases file."""
    kind, parts, options = parts_of(case)
    return score(kind, **parts, **options)


# fresh*.jsonl were written by testers who had not read the program; experiments/LOG.md has their first scores.
FRESH = [case for case in EVERY_CASE if case["id"].startswith("fresh")]


@pytest.mark.parametrize("case", [*CASES, *FRESH], ids=lambda case: case["id"])
def test_collected_cases_are_read_as_a_person_reads_them(case: dict[str, Any]) -> None:
    verdict = scored_case(case)
    if case["kind"] == "mcq_pair":
        assert verdict.extracted == case["extracted"]
    else:
        assert (verdict.correct is True) == case["expected"]
    if "status" in case:
        same = {"invalid": {"no_answer"}, "no_answer": {"no_answer", "empty"}}
        assert verdict.status in same.get(case["status"], {case["status"]})
    assert (verdict.strict is None) == (verdict.correct is None)
    assert verdict.correct or not verdict.strict


@pytest.mark.parametrize(("choices", "reply", "label"), FLAT)
def test_the_label_that_a_reply_settles_on(
    choices: list[str], reply: str, label: str | None
) -> None:
    verdict = score("mcq", reply=reply, target="A", choices=choices)
    assert verdict.extracted == label
    assert verdict.correct is (label == "A")
    assert (verdict.status == "ok") == (label is not None)


@pytest.mark.parametrize("reply", SEVERAL)
def test_several_labels_are_one_set(reply: str) -> None:
    verdict = score("mcq", reply=reply, target=["C", "A"], choices=EVEN)
    assert (verdict.correct, verdict.extracted) == (True, "A,C")


@pytest.mark.parametrize(
    "reply", ["A", "Answer: A, B, C", "ANSWER: A, C, E", "", "Answer: B and D"]
)
def test_another_set_of_labels_is_wrong(reply: str) -> None:
    assert score("mcq", reply=reply, target=["A", "C"], choices=EVEN, multi=True).correct is False


@pytest.mark.parametrize(("gold", "reply", "right"), TEXTS)
def test_short_answers(gold: str, reply: str, right: bool) -> None:
    assert score("qa", reply=reply, target=[gold]).correct is right


def test_any_accepted_text_is_right() -> None:
    assert score("qa", reply="Answer: Luna", target=["the Moon", "Luna"]).correct is True


@pytest.mark.parametrize(
    ("option", "gold", "reply"),
    [
        ("keep_case", "pH", "PH"),
        ("keep_articles", "The Who", "Who"),
        ("keep_punctuation", "a-b", "a b"),
    ],
)
def test_what_is_ignored_can_be_kept(option: str, gold: str, reply: str) -> None:
    assert score("qa", reply=reply, target=gold).correct is True
    kept: dict[str, Any] = {option: True}
    assert score("qa", reply=reply, target=gold, **kept).correct is False


@pytest.mark.parametrize(
    ("gold", "reply", "right"),
    [
        ('{"a": 1, "b": [2]}', '```json\n{"b": [2.0], "a": 1}\n```', True),
        ('{"a": 1}', 'Here it is: {"a": true}', False),
        ("[1, 2]", "[2, 1]", False),
        ('{"a": 1}', '{"a": 1', False),
    ],
)
def test_json_is_compared_by_content(gold: str, reply: str, right: bool) -> None:
    assert score("qa", reply=reply, target=gold, format="json").correct is right


def test_equal_options_are_equally_right() -> None:
    choices = ["3", "4", "5", "4"]
    assert score("mcq", reply="Answer: D", target="B", choices=choices).correct is True


def test_labels_after_z_are_one_token() -> None:
    choices = [f"option {i}" for i in range(36)]
    assert score("mcq", reply="Answer: AJ", target="AJ", choices=choices).correct is True
    assert score("mcq", reply="Answer: J", target="AJ", choices=choices).correct is False
    assert score("mcq", reply="ANSWER: 10", target="10", choices=choices).extracted == "10"


@pytest.mark.parametrize(
    ("reply", "finish", "correct", "status"),
    [
        ("C is red. The answer is C", "length", False, "truncated"),  # may go on: ... C? No
        ("Answer: C", "length", False, "truncated"),  # may go on: Answer: Ceres
        ("Answer: C\nBecause the", "length", True, "ok"),  # the line is finished
        ("Answer: C\nWait, let me", "length", False, "truncated"),  # second thoughts
        ("Answer: C\n\nQuestion: x?\nA. y\nAns", "length", True, "ok"),  # ran on into a next one
        ("<think>It is C, since", "length", False, "truncated"),
        ("<think>It is C", "stop", False, "no_answer"),
        ("", "stop", False, "empty"),
        (" \n\u200b", "stop", False, "empty"),
        (None, "stop", False, "empty"),
        (None, "error", None, "error"),
        ("Answer: C", "content_filter", None, "refused"),
        ("I'm sorry, but I cannot help with that.", "stop", False, "refused"),
        ("Error: connection timed out", "stop", None, "error"),
        ("Error: it is hard to say", "stop", False, "no_answer"),  # a model may not excuse itself
        ("I would say Venus and Mars", "stop", False, "no_answer"),
        ("Venus and Mars are planets.", "stop", False, "ambiguous"),
    ],
)
def test_status_tells_a_format_problem_from_a_wrong_answer(
    reply: str | None, finish: str, correct: bool | None, status: str
) -> None:
    verdict = score("mcq", reply=reply, target="C", choices=PLANETS, finish_reason=finish)
    assert (verdict.correct, verdict.status) == (correct, status)


def test_an_unreadable_target_is_not_the_models_fault() -> None:
    assert score("mcq", reply="C", target="Q", choices=CELL).correct is None
    assert score("qa", reply="C", target=[]).correct is None


def test_a_crash_of_the_scorer_is_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    from benchgen.benchmark.program import score as program

    def broken(*args: object, **kwargs: object) -> Score:
        raise RuntimeError("broken")

    monkeypatch.setattr(program, "KINDS", {"mcq": broken})
    verdict = score("mcq", reply="C", target="C", choices=CELL)
    assert (verdict.correct, verdict.status) == (None, "error")
    assert "RuntimeError" in verdict.reason


def test_unknown_kinds_and_options_are_refused_by_name() -> None:
    with pytest.raises(ValueError, match=r"'essay'.*mcq, qa, numeric, tool, keypoints"):
        score("essay", reply="1", target=1)
    with pytest.raises(ValueError, match="mutli"):
        score("mcq", reply="A", target="A", choices=CELL, mutli=True)


# --- properties ------------------------------------------------------------------------------

PIECES = [
    *(
        "answer",
        "Answer:",
        "the answer is",
        "not",
        "B",
        "C",
        " A ",
        "(",
        ")",
        "**",
        "$",
        "\\boxed{",
    ),
    *(
        "}",
        "<think>",
        "</think>",
        "\n",
        "?",
        "Mars",
        "Venus",
        "so",
        "wait, ",
        "Question:",
        "答案是",
    ),
    *(
        "is correct",
        "I pick",
        "1.",
        "- ",
        ", ",
        "and",
        "```",
        '{"answer":',
        "\u200b",
        "Ｃ",
        "İ",
        "ﬁ",
    ),
]
hostile = st.one_of(
    st.text(max_size=200), st.lists(st.sampled_from(PIECES), max_size=30).map("".join)
)


@given(reply=hostile, target=st.sampled_from("ABCD"), cut=st.booleans(), multi=st.booleans())
def test_reading_a_choice_never_fails(reply: str, target: str, cut: bool, multi: bool) -> None:
    verdict = mcq.score(reply, target, PLANETS, truncated=cut, multi=multi)
    assert verdict.status in STATUSES
    assert (verdict.value is None) == (verdict.correct is None)
    assert not verdict.correct or verdict.extracted


@given(reply=hostile, gold=st.text(min_size=1, max_size=20), json_wanted=st.booleans())
def test_reading_a_text_never_fails(reply: str, gold: str, json_wanted: bool) -> None:
    verdict = qa.score(reply, gold, format="json" if json_wanted else "")
    assert verdict.status in STATUSES
    assert not verdict.correct or verdict.extracted


@given(gold=st.text(min_size=1, max_size=20).filter(lambda t: t.isprintable() and t.strip()))
def test_the_accepted_text_itself_is_right_and_nothing_is_not(gold: str) -> None:
    assert qa.score("", gold).correct is False
    if not re.search(r"[\\<>\[\]&?:=#q-]|\banswer\b", gold, re.IGNORECASE) and gold.isascii():
        assert qa.score(f"Answer: {gold}", gold).correct is True


WRAPS = [
    *(
        "**{}**",
        "({})",
        "${}$",
        "`{}`",
        '"{}"',
        "[{}]",
        "\\boxed{{{}}}",
        "\\text{{{}}}",
        "$\\boxed{{{}}}$",
    ),
    *(
        "\\(\\mathbf{{{}}}\\)",
        "__{}__",
        "“{}”",
        "{}.",
        "{}\r\n",
        "\u200b{}\u200b",
        "{}\n\nI hope this helps!",
    ),
    *("{}\n\nLet me know if you have further questions.", "{}<|im_end|>", "{}</s>"),
]
HEADS = [
    *(
        "Answer: {}",
        "The answer is {}",
        "Final answer: {}",
        "**Answer:** {}",
        "It is warm.\nAnswer: {}",
    ),
    "<think>Perhaps Venus. Answer: B</think>\nAnswer: {}",
    "Perhaps it is Venus.</think>Answer: {}",
]


@pytest.mark.parametrize("wrap", WRAPS)
@pytest.mark.parametrize("head", HEADS)
def test_wrapping_changes_no_verdict(head: str, wrap: str) -> None:
    for label, text in zip("ABCD", PLANETS, strict=True):
        for answer in (label, text, f"{label}. {text}"):
            reply = head.format(wrap.format(answer))
            verdict = score("mcq", reply=reply, target=label, choices=PLANETS)
            assert verdict.correct is True, reply
            other = "B" if label == "A" else "A"
            assert score("mcq", reply=reply, target=other, choices=PLANETS).correct is False
        reply = head.format(wrap.format(text))
        assert score("qa", reply=reply, target=[text]).correct is True, reply


UNITS = [
    *(
        "answer ",
        "the answer is ",
        "answer: ",
        "<think>",
        "</think>",
        "<",
        "\\boxed{",
        "[",
        "(",
        "*",
    ),
    *(
        "? \n",
        "?\na.",
        "Question: x\n",
        "so ",
        "it is ",
        "wait, ",
        "not ",
        "Mars ",
        "B is correct ",
    ),
    *(
        "B and ",
        "A, ",
        "i pick ",
        "correct option ",
        "答案",
        "选",
        " ",
        "\t",
        "\n",
        "1,000",
        "A. x\n",
    ),
    *(
        "no, ",
        "Sorry, I meant ",
        "A -> ",
        "В, ",
        "that is wrong. ",
        "Paris? No, ",
        "\n" * 9 + "x no, ",
    ),
]


@pytest.mark.parametrize("unit", UNITS)
def test_reading_hostile_text_ends(unit: str) -> None:
    reply = (unit * 100_000)[:100_000]
    with bounded():
        for options in ({"target": "B", "choices": PLANETS}, {"target": ["B"], "choices": PLANETS}):
            score("mcq", reply=reply, **options)
        score("qa", reply=reply, target=["B"])


@pytest.mark.parametrize("filler", ["so many words ", "9", "答", "<think>hm</think>\n"])
def test_of_a_huge_reply_both_ends_are_read(filler: str) -> None:
    middle = filler * (10_000_000 // len(filler))
    said = score("mcq", reply=f"{middle}\nAnswer: C", target="C", choices=PLANETS)
    assert said.correct is True
    thought = score("mcq", reply=f"<think>{middle}</think>Answer: C", target="C", choices=PLANETS)
    assert thought.correct is True
    assert score("mcq", reply=middle, target="C", choices=PLANETS).correct is False


# --- the three uses --------------------------------------------------------------------------


def test_function_reward_and_codabench_program_agree(tmp_path: Path) -> None:
    for folder in ("ref", "res"):
        (tmp_path / "in" / folder).mkdir(parents=True)
    questions, predictions, direct, rewards = [], [], [], []
    for case in EVERY_CASE:
        kind, parts, options = parts_of(case)
        reply, finish = parts["reply"], parts["finish_reason"]
        verdict = score(kind, **parts, **options)
        columns = {name: [value] for name, value in options.items()}
        for completion in (reply, [{"role": "assistant", "content": reply}]):
            given = reward(
                [completion],
                [parts["target"]],
                [kind],
                [parts["choices"]],
                finish_reason=[finish],
                **columns,
            )
            rewards.append((case["id"], given == [verdict.value]))
        if "judge" in options:  # a judge is a function: no file holds one
            continue
        if verdict.correct is None:  # codabench.py counts what is not measured as wrong
            continue
        known = {"target": parts["target"], "choices": parts["choices"], "options": options}
        questions.append({"key": case["id"], "kind": kind, **known})
        predictions.append({"key": case["id"], "reply": reply, "finish_reason": finish})
        direct.append((case["id"], verdict.correct, verdict.extracted, verdict.status))
    for name, rows in (("ref/questions", questions), ("res/predictions", predictions[::-1])):
        path = tmp_path / "in" / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    registry.copy_program(tmp_path / "program v1.0")
    subprocess.run(
        [
            sys.executable,
            "-I",
            tmp_path / "program v1.0" / "score.py",
            tmp_path / "in",
            tmp_path / "out",
        ],
        check=True,
    )
    rows = [
        json.loads(x) for x in (tmp_path / "out" / "verdicts.jsonl").read_text("utf-8").splitlines()
    ]
    assert [(r["key"], r["correct"], r["extracted"], r["status"]) for r in rows] == direct
    assert [name for name, same in rewards if not same] == []
    scores = json.loads((tmp_path / "out" / "scores.json").read_text("utf-8"))
    right = sum(bool(correct) for _, correct, _, _ in direct)
    assert scores == {
        "accuracy": right / len(direct),
        "right": right,
        "scored": len(direct),
        "asked": len(direct),
        "failed": 0,
        "strict": sum(row["strict"] is True for row in rows),
    }


MCQ = {"key": "k", "kind": "mcq", "target": "A", "choices": CELL}


def codabench(
    folder: Path, questions: list[dict[str, Any]], predictions: list[dict[str, Any]]
) -> subprocess.CompletedProcess[str]:
    """The program run as Codabench runs it, into folder/out."""
    for name, rows in (("ref/questions", questions), ("res/predictions", predictions)):
        path = folder / f"{name}.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    command = [sys.executable, "-I", str(registry.PROGRAM / "score.py"), str(folder)]
    command.append(str(folder / "out"))
    return subprocess.run(command, check=False, capture_output=True, text=True)


def scores_of(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / "scores.json").read_text("utf-8"))
    return found


@pytest.mark.parametrize(
    "prediction",
    [
        None,
        {"finish_reason": "error"},
        {"reply": "Answer: A", "finish_reason": "error"},
        {"reply": "Answer: A", "finish_reason": "content_filter"},
        {"reply": "Error: 503 service unavailable, retry"},
        {"reply": 7},
        {"reply": None},
        {"reply": ""},
    ],
)
def test_a_submission_gains_nothing_by_not_answering(
    tmp_path: Path, prediction: dict[str, Any] | None
) -> None:
    """Next to one right answer, all that is no answer is a wrong one; scores.json says how many."""
    questions = [{**MCQ, "key": str(i)} for i in range(2)]
    given = [{"key": "0", "reply": "A"}]
    given += [{"key": "1", **prediction}] if prediction else []
    assert codabench(tmp_path, questions, given).returncode == 0
    scores = scores_of(tmp_path)
    assert (scores["accuracy"], scores["right"], scores["asked"]) == (0.5, 1, 2)
    is_answer = prediction is not None and prediction.get("reply", 0) in (None, "")
    assert scores["failed"] == (0 if is_answer else 1)
    rows = (tmp_path / "out" / "verdicts.jsonl").read_text("utf-8").splitlines()
    second = json.loads(rows[1])
    assert (second["correct"], second["value"], second["strict"]) == (False, 0.0, False)


def test_no_question_has_no_accuracy(tmp_path: Path) -> None:
    assert codabench(tmp_path, [], []).returncode == 0
    assert scores_of(tmp_path)["accuracy"] is None


def test_half_a_surrogate_pair_is_written_as_it_is(tmp_path: Path) -> None:
    question = {"key": "k\ud800", "kind": "qa", "target": "Mars"}
    done = codabench(tmp_path, [question], [{"key": "k\ud800", "reply": "Answer: Mars\udc00"}])
    assert (done.returncode, done.stderr) == (0, "")
    row = json.loads((tmp_path / "out" / "verdicts.jsonl").read_text("ascii"))
    assert (row["key"], row["extracted"], row["correct"]) == ("k\ud800", "Mars\udc00", False)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"options": [1]}, "options '[1]' is not a JSON object"),
        ({"options": {"reply": "A"}}, "no option 'reply'; it has multi"),
        ({"options": {"choices": ["a"]}}, "no option 'choices'"),
        ({"kind": "essay"}, "kind 'essay' is not one of mcq, qa"),
        ({"kind": ["mcq"]}, "kind ['mcq'] is not one of"),
        ({"target": "Z"}, "unreadable_target"),
        ({"choices": 5}, "cannot be scored: scorer_crash: TypeError"),
        ({"kind": "numeric", "target": 1, "options": {"units": 5}}, "scorer_crash"),
        ({"kind": "numeric", "target": 1, "options": {"rel_tol": "x"}}, "unreadable_tolerance"),
        ({"kind": "keypoints", "target": ["x y"], "options": {"judge": "m"}}, "judge_failed"),
    ],
)
def test_an_unusable_question_is_one_line_and_writes_nothing(
    tmp_path: Path, change: dict[str, Any], told: str
) -> None:
    done = codabench(tmp_path, [MCQ, {**MCQ, **change}], [{"key": "k", "reply": "A"}])
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert done.stderr.startswith("cannot score: questions.jsonl line 2: ")
    assert told in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("text", ["{", "[1]", "\ud800", "[" * 100_000, '{"a": ' + "1" * 9999 + "}"])
def test_an_unreadable_line_is_one_line_and_writes_nothing(tmp_path: Path, text: str) -> None:
    codabench(tmp_path, [MCQ], [])
    (tmp_path / "res" / "predictions.jsonl").write_bytes(text.encode("utf-8", "surrogatepass"))
    program = str(registry.PROGRAM / "score.py")
    command = [sys.executable, program, str(tmp_path), str(tmp_path / "other")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert not (tmp_path / "other").exists()


def test_a_missing_folder_is_one_line(tmp_path: Path) -> None:
    program = str(registry.PROGRAM / "score.py")
    command = [sys.executable, program, str(tmp_path), str(tmp_path / "out")]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    assert (done.returncode, len(done.stderr.splitlines())) == (2, 1)
    assert not (tmp_path / "out").exists()


def test_reward_reads_chat_messages_and_leaves_out_the_unscored() -> None:
    completions = [
        "Answer: C",
        [{"role": "assistant", "content": "Answer: B"}],
        [{"role": "assistant", "content": [{"type": "text", "text": "Answer: Mars"}]}],
        "Error: rate limited",
    ]
    given = reward(
        completions, ["C"] * 4, "mcq", [PLANETS] * 4, prompts=["p"] * 4, trainer_state=None
    )
    assert given == [1.0, 0.0, 1.0, None]


def test_the_program_imports_the_standard_library_only() -> None:
    allowed = set(sys.stdlib_module_names)
    for path in registry.PROGRAM.glob("*.py"):
        for name in re.findall(
            r"^\s*(?:import|from) +([\w]+)", path.read_text("utf-8"), re.MULTILINE
        ):
            assert name in allowed, f"{path.name} imports {name}"


def test_the_newest_program_is_the_one_exported() -> None:
    assert tuple(scoring.KINDS) == KINDS


STRICT: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("mcq", "Answer: C", "C", {"choices": PLANETS}),
    ("mcq", "C", "C", {"choices": PLANETS}),
    ("mcq", "It is red.\nAnswer: C\n", "C", {"choices": PLANETS}),
    ("mcq", "<think>B?</think>\n\nAnswer: C", "C", {"choices": PLANETS}),
    ("mcq", "Answer: Mars", "C", {"choices": PLANETS}),
    ("mcq", "Answer: A, C", ["A", "C"], {"choices": EVEN}),
    ("qa", "Answer: Mars", ["mars", "Mars"], {}),
    ("qa", '{"a": 1}', '{"a": 1}', {"format": "json"}),
    ("numeric", "Answer: 42", 42, {}),
    ("numeric", "-0.5", "-1/2", {}),
    (
        "tool",
        '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        [{"name": "f", "arguments": {}}],
        {},
    ),
    ("tool", "No function fits.", [], {}),
]
LOOSE: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("mcq", "**Answer: C**", "C", {"choices": PLANETS}),
    ("mcq", "The answer is C", "C", {"choices": PLANETS}),
    ("mcq", "answer: C", "C", {"choices": PLANETS}),
    ("mcq", "Answer: C. Mars", "C", {"choices": PLANETS}),
    ("mcq", "Answer: C\nI hope this helps!", "C", {"choices": PLANETS}),
    ("mcq", "Answer: mars", "C", {"choices": PLANETS}),
    ("qa", "Answer: the mars", ["Mars"], {}),
    ("qa", '```json\n{"a": 1}\n```', '{"a": 1}', {"format": "json"}),
    ("numeric", "Answer: $42", 42, {}),
    ("numeric", r"\boxed{42}", 42, {}),
    ("numeric", "Answer: 1,000", 1000, {}),
    ("tool", '{"name": "f", "arguments": {}}', [{"name": "f", "arguments": {}}], {}),
]
WRONG: list[tuple[str, str, Any, dict[str, Any]]] = [
    ("tool", "<tool_call>broken", [], {}),
    ("tool", "I call it.\n<tool_call>\nclock", [], {}),
    ("qa", '{"a": 1, "a": 2}', '{"a": 2}', {"format": "json"}),
]


@pytest.mark.parametrize(("kind", "reply", "target", "more"), STRICT)
def test_the_form_asked_for_is_strictly_right(
    kind: str, reply: str, target: Any, more: dict[str, Any]
) -> None:
    verdict = score(kind, reply=reply, target=target, **more)
    assert (verdict.correct, verdict.strict) == (True, True)


@pytest.mark.parametrize(("kind", "reply", "target", "more"), WRONG)
def test_a_broken_answer_in_form_is_wrong(
    kind: str, reply: str, target: Any, more: dict[str, Any]
) -> None:
    verdict = score(kind, reply=reply, target=target, **more)
    assert (verdict.correct, verdict.strict) == (False, False)


@pytest.mark.parametrize(("kind", "reply", "target", "more"), LOOSE)
def test_a_right_answer_in_another_form_is_right_and_not_strictly(
    kind: str, reply: str, target: Any, more: dict[str, Any]
) -> None:
    verdict = score(kind, reply=reply, target=target, **more)
    assert (verdict.correct, verdict.strict) == (True, False)


def test_wrong_and_unmeasured_are_so_strictly_too() -> None:
    assert score("mcq", reply="Answer: A", target="C", choices=PLANETS).strict is False
    assert (
        score("mcq", reply=None, target="C", choices=PLANETS, finish_reason="error").strict is None
    )
    cut = score(
        "mcq", reply="Answer: C\nBecause", target="C", choices=PLANETS, finish_reason="length"
    )
    assert (cut.correct, cut.strict) == (True, False)


@pytest.mark.parametrize(
    ("written", "strict"),
    [("Bern", True), (" Bern", False), ("Ｂern", False)],
)
def test_an_argument_is_strictly_right_as_written(written: str, strict: bool) -> None:
    target = [{"name": "f", "arguments": {"city": "Bern"}}]
    for arguments in ({"city": written}, {"city": [written]}):
        gold = [{"name": "f", "arguments": {"city": ["Bern"]}}] if "[" in str(arguments) else target
        call = json.dumps({"name": "f", "arguments": arguments}, ensure_ascii=False)
        verdict = score("tool", reply=f"<tool_call>{call}</tool_call>", target=gold)
        assert (verdict.correct, verdict.strict) == (True, strict)
        message = {"role": "assistant", "tool_calls": [{"function": json.loads(call)}]}
        verdict = score("tool", reply=None, target=gold, messages=[message])
        assert (verdict.correct, verdict.strict) == (True, strict)


def test_calls_beside_the_text_are_in_form() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    messages = [{"role": "assistant", "content": None, "tool_calls": [call]}]
    target = [{"name": "f", "arguments": {}}]
    verdict = score("tool", reply=None, target=target, messages=messages)
    assert (verdict.correct, verdict.strict) == (True, True)
    assert reward([messages], [target], "tool") == [1.0]
