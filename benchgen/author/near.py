"""Questions that ask the same in nearly the same words.

Two questions are near duplicates if their prompts are alike and their answers are the same, or if the
prompts alone are so alike that only an odd word differs. Likeness is rapidfuzz's token sort ratio:
100 times the share of equal characters after the words are put in order.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from rapidfuzz import fuzz, process

from benchgen.types import Question

SAME_ANSWER, ANY_ANSWER = 82.0, 96.0
"""From this likeness of the prompts on, with the same answer and with any answer."""
_WORD = re.compile(r"\w+")


class NearDuplicates:
    """The questions so far, by their words."""

    def __init__(self, questions: Iterable[Question] = ()) -> None:
        self._questions: list[Question] = []
        self._words: list[str] = []
        for question in questions:
            self.add(question)

    def add(self, question: Question) -> None:
        """Remember a question."""
        self._questions.append(question)
        self._words.append(words(question.prompt))

    def find(self, question: Question) -> tuple[Question, float] | None:
        """(the likest earlier question, likeness) if it is a near duplicate; None otherwise."""
        answer = words(question.target_text)
        found = process.extract(
            words(question.prompt),
            self._words,
            scorer=fuzz.token_sort_ratio,
            score_cutoff=SAME_ANSWER,
            limit=5,
        )
        for _, likeness, index in found:
            other = self._questions[index]
            if likeness >= ANY_ANSWER or words(other.target_text) == answer:
                return other, likeness
        return None


def words(text: str) -> str:
    """The text's words in lower case, one space between."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFKC", text).casefold()))
