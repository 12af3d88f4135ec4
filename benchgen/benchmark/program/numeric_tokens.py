"""The pieces of a formula or a sentence: numerals, words, LaTeX commands and symbols."""

from __future__ import annotations

import re
from typing import NamedTuple

from .numeric_spelled import Number, literal

MAX_TOKENS = 400


class Token(NamedTuple):
    """A piece of text. `kind`: n number, w word, v unknown command or name, else the symbol itself."""

    kind: str
    start: int
    end: int
    text: str
    number: Number | None = None


_TOKEN = re.compile(
    r"(?P<n>(?:\d{1,3}(?:[ ]\d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,'_]\d+)*|\.\d+)"
    r"(?:[eE][+-]?\d+(?![A-Za-z0-9]))?)"
    r"|\\(?P<c>[a-zA-Z]+|.)|(?P<w>[^\W\d_\u0e00-\uffff]+|[^\W\d_]+)|(?P<s>\*\*|\S)",
    re.DOTALL,
)
_COMMANDS = (
    dict.fromkeys(("times", "cdot", "ast", "bullet"), "*")
    | dict.fromkeys(("frac", "dfrac", "tfrac", "cfrac"), "frac")
    | dict.fromkeys(("pm", "mp"), "±")
    | dict.fromkeys(("ldots", "dots", "cdots"), "…")
    | dict.fromkeys(("circ", "degree"), "°")
    | dict.fromkeys(("Omega", "mu", "AA", "ell"), "w")
    | dict.fromkeys(("lbrace", "{", "langle", "lfloor", "lceil"), "(")
    | dict.fromkeys(("rbrace", "}", "rangle", "rfloor", "rceil"), ")")
    | {"div": "/", "sqrt": "√", "pi": "π", "infty": "∞", "%": "%", "$": "$", "#": "#", "_": "_"}
)
_SYMBOLS = (
    dict.fromkeys("×·⋅∙∗✕✖", "*")
    | dict.fromkeys("≤≥≠>⩽⩾", "<")
    | dict.fromkeys("≈∼~≃≅", "≈")
    | dict.fromkeys("→⇒⟹≡", "=")
    | dict.fromkeys("$€£¥₹₽₩₪₺₴฿₫₦¢", "$")
    | {"÷": "/", "∕": "/", "**": "^", "﹪": "%", "％": "%", "º": "°"}
)


def tokens(text: str, decimal: str = "auto") -> list[Token]:
    """The text's tokens, at most `MAX_TOKENS`."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        if len(found) >= MAX_TOKENS:
            break
        start, end, group = match.start(), match.end(), match.lastgroup
        piece = match[0]
        if group == "n":
            found.append(_numeral(piece, start, end, found, decimal))
        elif group == "w":
            found.append(Token(_word_kind(piece, found), start, end, piece))
        elif group == "c":
            found.append(Token(_COMMANDS.get(match["c"], "v"), start, end, piece))
        else:
            found.append(Token(_SYMBOLS.get(piece, piece), start, end, piece))
    return found


_NAMES_BEFORE = frozenset(
    ("usd", "eur", "gbp", "rs", "inr", "us", "ca", "au", "nt", "r", "x", "by", "is", "to")
)


def _numeral(piece: str, start: int, end: int, before: list[Token], decimal: str) -> Token:
    last = before[-1] if before else None
    if last is not None and last.end == start:
        if last.kind == "," and (len(before) < 2 or before[-2].end < last.start):
            return Token("v", start, end, piece)  # ,5
        named = last.kind in ("w", "v") and last.text[-1] < "\u0590"
        if last.kind == "-" and len(before) > 1 and before[-2].end == last.start:
            named = before[-2].kind == "w" and len(before[-2].text) > 1  # COVID-19
            if named and before[-2].text[-1] < "\u0590":
                return Token("w", start, end, piece)
        if (named and last.text.lower() not in _NAMES_BEFORE) or last.kind == "_":
            return Token("w", start, end, piece)  # x2, H2O: no number of its own
    number = literal(piece, decimal)
    if number is None:
        return Token("list" if "," in piece else "v", start, end, piece)
    return Token("n", start, end, piece, number)


def _word_kind(word: str, before: list[Token]) -> str:
    low = word.lower()
    if low in ("minus", "negative", "moins", "menos"):
        return "-"
    if low in ("x", "х") and before and before[-1].kind in ("n", ")", "}"):
        return "x"  # a multiplication sign if a number follows
    if low == "sqrt":
        return "√"
    if word in ("pi", "Pi", "π"):
        return "π"
    return "w"
