"""Words of a question: a template filled in, texts compared, the spellings of an answer."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence

from benchgen.errors import ConfigError


def fill(template: str, words: Mapping[str, str]) -> str:
    """The template with {name}, {Name} (capital first) and {a_name} (with an article) filled in."""

    def word(match: re.Match[str]) -> str:
        name = match[1]
        if name in words:
            return words[name]
        if name.startswith("a_") and name[2:] in words:
            text = words[name[2:]]
            return f"{'an' if text[:1].casefold() in 'aeiou' else 'a'} {text}"
        if name.casefold() in words:
            text = words[name.casefold()]
            return text[:1].upper() + text[1:]
        raise ConfigError(f"a template has an unknown word {{{name}}}", allowed=sorted(words))

    return re.sub(r"\{(\w+)\}", word, template)


def gives_away(name: str, value: str) -> bool:
    """Whether one text contains the words of the other, so that the question would answer itself."""
    one, other = (f" {' '.join(_WORD.findall(_bare(text).casefold()))} " for text in (name, value))
    return one in other or other in one


_WORD = re.compile(r"[^\W_]+")


def _bare(text: str) -> str:
    return text.removeprefix("the ")


def accepted(answers: Sequence[str]) -> list[str]:
    """The right answers as they may be written: with and without 'the' and diacritics."""
    plain = [_bare(text) for text in answers]
    bare = [
        "".join(c for c in unicodedata.normalize("NFKD", text) if not unicodedata.combining(c))
        for text in plain
    ]
    return distinct([*answers, *plain, *bare])


def distinct(texts: Iterable[str]) -> list[str]:
    """Each text once, in the order of its first place."""
    return list(dict.fromkeys(texts))


def join(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
