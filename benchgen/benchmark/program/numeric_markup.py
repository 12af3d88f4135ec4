"""The text of a formula or a sentence with numbers, free of what only sets type."""

from __future__ import annotations

import re
import unicodedata
from fractions import Fraction

from .spelling import any_of

MAX_TEXT = 1000
"""Characters of a line or sentence that are looked at."""

# --- other scripts ---------------------------------------------------------------------------

_ZEROS = (
    *(
        0x0660,
        0x06F0,
        0x07C0,
        0x0966,
        0x09E6,
        0x0A66,
        0x0AE6,
        0x0B66,
        0x0BE6,
        0x0C66,
        0x0CE6,
        0x0D66,
    ),
    *(
        0x0DE6,
        0x0E50,
        0x0ED0,
        0x0F20,
        0x1040,
        0x1090,
        0x17E0,
        0x1810,
        0x19D0,
        0xA620,
        0xA8D0,
        0xA9D0,
    ),
)
_UP, _DOWN, _END = "\ue000", "\ue001", "\ue002"
_PLAIN = str.maketrans(
    {chr(zero + i): str(i) for zero in _ZEROS for i in range(10)}
    | {c: f"{_UP}{i}{_END}" for c, i in zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-", strict=True)}
    | {chr(0x2080 + i): f"{_DOWN}{i}{_END}" for i in range(10)}
    | {
        c: " " + unicodedata.normalize("NFKC", c).replace("\u2044", "/")
        for c in "¼½¾⅐⅑⅒⅓⅔⅕⅖⅗⅘⅙⅚⅛⅜⅝⅞↉"
    }
    | {"٫": ".", "٬": ",", "٪": "%", "、": ", "}
)
_SUP = re.compile(r"<sup>([^<>\n]{1,40})</sup>", re.IGNORECASE)


def plain(text: str) -> str:
    """The text with ASCII digits; 10⁵ as 10^{5}, 1½ as 1 1/2, a list's 、 as a comma and a space.

    Unicode's own normalisation would make them 105, 11/2 and a decimal comma.
    """
    if "<" in text and ("<sup>" in text or "<SUP>" in text):
        text = _SUP.sub(r"^{\1}", text)
    if text.isascii():
        return text
    text = text.translate(_PLAIN)
    if _END in text:
        text = text.replace(_END + _UP, "").replace(_END + _DOWN, "")
        text = text.replace(_UP, "^{").replace(_DOWN, "_{").replace(_END, "}")
    return text


# --- markup ----------------------------------------------------------------------------------

_TEXT = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|normal)?|math(?:rm|bf|it|sf|bb|tt)|operatorname|mbox|hbox|boldsymbol|bm|emph|underline|textcolor\{\w+\})"
    r"\s?\{([^{}]{0,300})\}"
)
_NO_MATHS = re.compile(
    r"\\(?:left|right|displaystyle|textstyle|limits|[bB]igg?[lr]?|boxed|fbox|hline|notag|hspace|text\w{0,6}|math[a-z]{2}"
    r"|boldsymbol|bm|operatorname|rm|bf)(?![a-zA-Z])|\\(?:begin|end)\{[a-z*]{1,20}\}"
)
_SPACE = re.compile(r"\\(?:[,;:> ]|q?quad(?![a-zA-Z])|enspace|thinspace|[()\[\]\\])|~|&")
_TIGHT = re.compile(r"[ ]?\\![ ]?")
_MARK = re.compile(r"\{([.,'])\}")
_SIGN = (
    dict.fromkeys(("approx", "simeq", "cong", "sim", "doteq"), " ≈ ")
    | dict.fromkeys(
        ("le", "leq", "leqslant", "ge", "geq", "geqslant", "lt", "gt", "ne", "neq"), " ≠ "
    )
    | dict.fromkeys(("to", "rightarrow", "Rightarrow", "implies", "longrightarrow"), " → ")
)
_SIGNS = re.compile(rf"\\({'|'.join(_SIGN)})(?![a-zA-Z])")
_RECURRING = re.compile(r"(\d{0,20})\.(\d{0,20})\\(?:overline|bar|dot)\s?\{(\d{1,20})\}")
_BOLD = re.compile(r"(?<![\d)])\*\*|\*\*(?![\d(-])|__|`|(?<![\w})])_(?=\S)|(?<=\S)_(?![\w{])")
_STRUCK = re.compile(r"~~[^~\n]{0,80}~~")
_WORKED = re.compile(r"<<[^<>\n]{0,120}>>")
_HTML = re.compile(r"</?[a-zA-Z][^<>\n]{0,60}>")
_CLOCK = re.compile(
    r"(?<![\d.,])(?:\d{1,9}(?::\d{1,9}){1,4}|\d{1,9} : \d{1,9}|\d{4}-\d{2}-\d{2}|\d{1,2}/\d{1,2}/\d{4})(?![\d])(?:\s?[ap]\.?m\b)?"
    r"|\b0[xbo][0-9a-f]{1,40}\b",
    re.IGNORECASE,
)
_AND_A_HALF = re.compile(r"(?<=\d) and (?:a|one) half\b")
_ARROW = re.compile(r"[-=]{1,3}>")
_PLUS_MINUS = re.compile(r"\+/-|(?<![\d)\w])\+-")


def cleaned(text: str) -> str:
    """The text without bold, code, tags and the LaTeX that only sets type; formulas stay as written."""
    text = text[:MAX_TEXT]
    if "\\" in text:
        text = _without_latex(text)
    if "{" in text:
        text = _MARK.sub(r"\1", text)
    if "<" in text or ">" in text:
        text = _HTML.sub(" ", _WORKED.sub("", text.partition("</answer")[0]))
        text = _ARROW.sub("→", text)
    if "*" in text or "`" in text or "_" in text or "~" in text:
        text = _BOLD.sub("", _STRUCK.sub("", text))
    if any_of((":", "/", "-", "0"), text):
        text = _CLOCK.sub("⌚", text)
    if "+" in text:
        text = _PLUS_MINUS.sub("±", text)
    return _AND_A_HALF.sub(" 1/2", text) if " half" in text else text


def _without_latex(text: str) -> str:
    text = _SIGNS.sub(lambda m: _SIGN[m[1]], _TIGHT.sub("", text))
    for _ in range(2):
        text = _TEXT.sub(r" \1 ", text)
    return _SPACE.sub(" ", _RECURRING.sub(_as_fraction, _NO_MATHS.sub("", text)))


def _as_fraction(match: re.Match[str]) -> str:
    whole, once, again = match[1] or "0", match[2], match[3]
    scale = 10 ** len(once)
    value = Fraction(int(whole + once), scale) + Fraction(
        int(again), scale * (10 ** len(again) - 1)
    )
    return f"({value.numerator}/{value.denominator})"
