"""Labels in letters that only look like the question's, or with an ending of the reply's language."""

from __future__ import annotations

import re

_ALIKE = dict(zip("АВЕЅІЈКМНОРСТУХΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABESIJKMHOPCTYXABEZHIKMNOPTYX", strict=True))
_LETTERS = "".join(_ALIKE)
_LONE = re.compile(rf"(?<![\w'])[{_LETTERS}](?=[)\]}}.,:;!?*\"'|/]|\s*(?:\n|\Z))")
_OWN_ALPHABET = re.compile(r"(?<!\w)[БГДЖЗΓΔ](?=[).:,]|\s*(?:\n|\Z))")
_SUFFIX = re.compile(r"(?<![\w'])([A-Z])'(?=(?:[dt][ıiuü]r|[ysn][ıiuü]n?|nolu)(?![^\W\d_]))")


def has_lone_letter(text: str) -> bool:
    """Whether such a letter stands alone in the text, as in `Витамин С`."""
    return not text.isascii() and bool(_LONE.search(text))


def plain_labels(text: str) -> str:
    """The text, as long as before, with Latin letters for those that look like them and stand as labels do.

    Cyrillic `В` alone before a mark or a line's end is B, unless the reply uses labels of its own
    alphabet (Б, Г); Turkish `C'dir` is `C dir`.
    """
    if "'" in text:
        text = _SUFFIX.sub(r"\1 ", text)
    if text.isascii() or _OWN_ALPHABET.search(text):
        return text
    return _LONE.sub(lambda m: _ALIKE[m[0]], text)
