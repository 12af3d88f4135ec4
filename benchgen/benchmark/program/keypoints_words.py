"""A sentence's words in one spelling, and the base forms by which two words agree."""

from __future__ import annotations

import re
from functools import lru_cache

from .keypoints_lists import FORMULAS, IRREGULAR, NUMBERS, PARTICIPLES, SPELLINGS

STATED, DENIED = "stated", "denied"
"""What a sentence does with a point; "" if neither."""
_PREFIX = re.compile(
    r"\b(non|semi|anti|pre|post|sub|super|multi|inter|intra|de|re|un|bi|tri|counter|co|ultra|micro|macro)-(?=[a-z])"
)
_COMPOUND = re.compile(
    r"\b(break|build|slow|melt|shut|warm|cool|wash|speed|start|turn|run|burn)(down|up|off|out|away)\b"
)
_NOT_ONLY = re.compile(
    r"\bnot (?:only|just|merely|simply|solely)\b|\b(?:no|without(?: an?y?)?) doubt\b|\bof course\b"
)
_NOT_BUT = re.compile(r"\bnot\b[^,.;:!?]{1,80}?,? but (?!also\b|not\b)")
_MAY = re.compile(r"(?<=\b[Ii]n )May\b|(?<=\b[Oo]f )May\b|(?<=\d )May\b|\bMay(?= \d)")
MAY = "maymonth"
"""The month, told from the verb."""
_CALL = re.compile(r"(?<=\w)\(([^()\n]{0,30})\)")
_FORMULA = re.compile(r"\b(?:co2|o2|h2o)\b")
_DEGREES = re.compile(r"\s?(?:°|\bdegrees?\b)\s?(celsius|centigrade|fahrenheit|kelvin|c|f|k)\b")
_TOKEN = re.compile(
    r"(?<![\w)])-\d+(?:[.,]\d+)*|\d+(?:[.,]\d+)*|[^\W\d_]+(?:'[^\W\d_]+)*"
    r"|(?<=\s)-{1,3}(?=\s)|[,;:()!?/%°=<>+&→$€£¥¶]"
)
_MARKS = {"-": "--", "---": "--", "/": "or", "&": "and", "→": ":", "?": ";", "!": ";"}


def words(sentence: str, *, turned: bool = True) -> list[str]:
    """Lower-case words, numbers, units and clause marks of one normalised sentence, in order.

    `not` stands alone (isn't -> is not), `not only` is gone, and so is what `not X but Y` denies if
    `turned`. Numbers have one spelling; a sign belongs to its number.
    """
    low = _MAY.sub(MAY, sentence).casefold() if "May" in sentence else sentence.casefold()
    if "rather than" in low or "instead of" in low:
        low = low.replace("rather than", "insteadof").replace("instead of", "insteadof")
    if "n't" in low or "cannot" in low:
        low = low.replace("cannot", "can not").replace("n't", " not")
    if "not" in low or "doubt" in low or "of course" in low:
        low = _NOT_ONLY.sub(" also ", low)
        if turned and " but " in low:
            low = _NOT_BUT.sub(" ", low)
    if "-" in low:
        low = _PREFIX.sub(r"\1", low)
    if "2o" in low or "o2" in low:
        low = _FORMULA.sub(lambda m: FORMULAS[m[0]], low)
    if "°" in low or "degree" in low:
        low = _DEGREES.sub(lambda m: f" °{m[1][0]} ", low)
    if "(" in low:
        low = _CALL.sub(r" \1 ", low.replace("(s)", ""))
    low = _COMPOUND.sub(r"\1 \2", low)
    return [_spelt(token) for token in _TOKEN.findall(low)]


def _spelt(token: str) -> str:
    if token in _MARKS:
        return _MARKS[token]
    if token[-1].isdigit():
        parts = token.split(",")
        if len(parts) > 1 and all(len(part.partition(".")[0]) == 3 for part in parts[1:]):
            token = "".join(parts)
        return token.rstrip("0").rstrip(".") if "." in token else token
    if "'" in token:
        token = token.partition("'")[0]
    return "%" if token in ("percent", "pct") else NUMBERS.get(token, token)


@lru_cache(maxsize=16384)
def forms(word: str) -> frozenset[str]:
    """The word and every base it may be an inflection of; two words agree if these meet.

    `breaks` and `broken` meet in `break`; `rate` and `rat` do not meet.
    """
    found = {word}
    if 3 < len(word) <= 40 and word.isalpha():
        ending = next((end for end in SPELLINGS if word.endswith(end)), "")
        american = word.removesuffix(ending) + SPELLINGS.get(ending, "") if len(word) > 4 else word
        for spelt in (word, american):
            found.update((spelt, *_without_s(spelt), *_without_ending(spelt)))
    elif len(word) == 3 and word[-1] == "s":
        found.add(word[:-1])
    if word in IRREGULAR:
        found.add(IRREGULAR[word])
    return frozenset(found)


def _without_ending(word: str) -> tuple[str, ...]:
    if word.endswith("ied"):
        return (word[:-3] + "y",)
    if word.endswith("ed"):
        return _bare(word[:-2])
    if word.endswith("ing") and len(word) > 5:
        return _bare(word[:-3])
    if word.endswith("ation") and len(word) > 7:
        return (word[:-5], word[:-5] + "e", word[:-3] + "e")
    if word.endswith("ion") and len(word) > 6:
        return (word[:-3], word[:-3] + "e")
    return ()


def _without_s(word: str) -> tuple[str, ...]:
    if not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return ()
    if word.endswith("ies") and len(word) > 4:
        return (word[:-3] + "y", word[:-1])
    if word.endswith("ves"):
        return (word[:-3] + "f", word[:-3] + "fe", word[:-1])
    if word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return (word[:-2], word[:-1])
    return (word[:-1],)


def _bare(stem: str) -> tuple[str, ...]:
    if len(stem) < 2:
        return ()
    if len(stem) > 3 and stem[-1] == stem[-2] and stem[-1] not in "aeiou":
        return (stem, stem[:-1], stem + "e")
    return (stem, stem + "e")


def is_participle(word: str) -> bool:
    """It may be the verb of a passive."""
    return word in PARTICIPLES or (word.endswith("ed") and len(word) > 4)
