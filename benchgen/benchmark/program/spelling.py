"""One spelling of a reply's characters, and the words to compare by."""

from __future__ import annotations

import re
import unicodedata

_DASHES = "‐‑‒–—―−﹘﹣⁃"
_SINGLE = "‘’‚‛′´ʼ＇"
_DOUBLE = "“”„‟«»″「」『』《》〝〞"
UNSEEN = (
    "".join(map(chr, [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)]))
    + "\u00ad\u180e\ufeff\ufe0e\ufe0f"
)
_FOLD = str.maketrans(
    dict.fromkeys(_DASHES, "-")
    | dict.fromkeys(_SINGLE, "'")
    | dict.fromkeys(_DOUBLE, '"')
    | dict.fromkeys(UNSEEN)
    | {"\u2028": "\n", "\u2029": "\n", "\x85": "\n", "İ": "I", "、": ",", "،": ",", "؟": "?"}
    | {"。": ". ", "।": ". ", "【": "[", "】": "]", "〔": "[", "〕": "]", "⁄": "/"}
    # White letters on black and flag letters, which NFKC leaves alone.
    | {chr(start + i): chr(65 + i) for start in (0x1F150, 0x1F170, 0x1F1E6) for i in range(26)}
)


def normalised(text: str) -> str:
    """The text in NFKC with plain dashes, quotes, spaces and line ends, without unseen characters."""
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii():
        return text
    # Twice: the table must see what NFKC would take apart (´), and what NFKC brings forth.
    return unicodedata.normalize("NFKC", text.translate(_FOLD)).translate(_FOLD)


def composed(text: str) -> str:
    """The text with each accent in one character with its letter, otherwise as written."""
    return text if text.isascii() else unicodedata.normalize("NFC", text)


def lowered(text: str) -> str:
    """Lower case of the same length, so that positions in it are positions in the text."""
    low = text.lower()
    return low if len(low) == len(text) else "".join(c.lower()[:1] or c for c in text)


def any_of(stems: tuple[str, ...], text: str) -> bool:
    """Whether one of the stems stands in the text: the cheap test before a pattern is tried."""
    for stem in stems:  # noqa: SIM110 - a generator costs more than the search
        if stem in text:
            return True
    return False


# Each pattern begins with the sign or letter that it is about and looks back from there: a search can
# then skip to the next such character.
_PUNCTUATION = re.compile(
    r"[!\"()*;?\[\]_`{}\\$•·…|]"
    r"|\.(?!\d)|[,:/](?!\d)|[,:/](?<!\d[,:/])"  # kept in 3.14, 12:00, 1/2
    r"|-(?=[^\W\d_])|-(?<!\b\w-)(?=[^\w.]|\Z)|-(?<=[\w)]-)(?=[\d.])"  # kept as a sign, and in A-
)
_PLAIN = str.maketrans(dict.fromkeys('!"()*;?[]_`{}\\$•·…|', " "))
_BETWEEN = re.compile(r"[.,:/](?!\d)|[,:/](?<!\d[,:/])")
_ACRONYM = re.compile(r"(?<![^\W_])([^\W\d_])\.(?=[^\W\d_](?![^\W_]))")
_POINTED = re.compile(r"\.[^\W\d_]")
_THOUSANDS = re.compile(r",(?<=\d,)(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"'(?=s\b)")
_ARTICLE = re.compile(
    r"(?:[Tt](?<![\w'-].)he|T(?<![\w'-].)HE|[Aa](?<![\w'-].)n|a(?<![\w'-].))\s+(?=\w)"
)
_FIRST_A = re.compile(r"\A\s*A\s+(?=\w)")  # elsewhere a capital A is a name: vitamin A


def _without_marks(words: str) -> str:
    """The words with a space for each punctuation sign that is not part of a number or a word."""
    if "-" in words:  # whether a hyphen is one depends on the signs beside it
        return _PUNCTUATION.sub(" ", words)
    words = words.translate(_PLAIN)
    return _BETWEEN.sub(" ", words)


# Pictures and ornaments (✅, →️, ®) are punctuation; mathematical symbols (category Sm) are not.
_SYMBOLS = {
    code: " "
    for start, stop in ((0x00A6, 0x00AF), (0x2100, 0x2C00), (0x3000, 0x3300), (0x1F000, 0x1FB00))
    for code in range(start, stop)
    if unicodedata.category(chr(code)) == "So"
}


def squeezed(text: str) -> str:
    """Case and white space folded, nothing else."""
    return " ".join(text.casefold().split())


def folded(text: str, *, case: bool = False, articles: bool = False, marks: bool = False) -> str:
    """The words to compare by: case, articles and punctuation folded, unless one is to be kept.

    Never empty for a text that is not: "The" and "!" stay themselves. Signs, decimal points, clock
    colons and mathematical symbols are not punctuation.
    """
    words = text if articles else _FIRST_A.sub("", text)
    if not marks:
        words = _THOUSANDS.sub("", words) if "," in words else words
        words = _ACRONYM.sub(r"\1", words) if _POINTED.search(words) else words
        words = _POSSESSIVE.sub(" ", words).replace("'", "") if "'" in words else words
        words = _without_marks(words)
        if not words.isascii():
            words = words.translate(_SYMBOLS)
    if not articles:
        words = _ARTICLE.sub("", words)
    words = " ".join((words if case else words.casefold()).split())
    return words or squeezed(text)
