"""The options of one question: their labels, and their texts to compare by."""

from __future__ import annotations

from functools import lru_cache

from . import lookalikes, spelling


class Options:
    """The options of one question, prepared once: labels, and texts to compare by."""

    def __init__(self, choices: tuple[str, ...], numbered: bool = False) -> None:
        texts = [spelling.normalised(str(choice)) for choice in choices]
        self.labels = [_label(i, numbered) for i in range(len(choices))]
        self.index = {label: i for i, label in enumerate(self.labels)}
        self.strict: dict[str, int] = {}
        self.loose: dict[str, int] = {}
        self.same: list[int] = []
        """The first option with the same text: either label of such a pair is as right."""
        for i, text in enumerate(texts):
            exact, words = spelling.squeezed(text), spelling.folded(text)
            self.same.append(self.strict.setdefault(exact, i))
            known = self.loose.setdefault(words, self.same[i])
            if known != self.same[i]:
                self.loose[words] = -1  # differ by punctuation alone: only the exact text decides
        self.lone_letters = any(map(lookalikes.has_lone_letter, texts))
        self.longest = 2 * max(map(len, texts), default=0) + 40
        """Characters; a longer text is no option's, whatever marks and spaces are folded."""
        self.by_length = sorted(
            ((words, i) for words, i in self.loose.items() if i >= 0 and words),
            key=lambda pair: -len(pair[0]),
        )

    def find(self, text: str) -> int | None:
        """The option whose whole text this is."""
        if len(text) > self.longest:
            return None
        found = self.strict.get(spelling.squeezed(text))
        if found is None:
            found = self.loose.get(spelling.folded(text), -1)
        return found if found >= 0 else None

    def label(self, token: str) -> int | None:
        return self.index.get(token.upper())

    def targets(self, target: object) -> tuple[int, ...] | None:
        """Indices of the right options; None when the target names none of them."""
        items = target if isinstance(target, (list, tuple, set, frozenset)) else [target]
        found = []
        for item in items:
            if not isinstance(item, str) or not item.strip():
                return None
            index = self.label(item.strip())
            index = self.find(spelling.normalised(item)) if index is None else index
            if index is None:
                return None
            found.append(index)
        return tuple(found)

    def mentions(self, words: str) -> list[tuple[int, int, int]]:
        """(start, end, option) in folded words: longest texts first, none inside another."""
        found: list[tuple[int, int, int]] = []
        taken = bytearray(len(words))
        for text, index in self.by_length:
            at = words.find(text)
            while at >= 0:
                end = at + len(text)
                if _whole(words, at, end) and not (taken[at] or taken[end - 1]):
                    taken[at:end] = b"\1" * len(text)
                    found.append((at, end, index))
                    at = words.find(text, end)
                else:
                    at = words.find(text, at + 1)
        return sorted(found)


@lru_cache(maxsize=4096)
def prepared(choices: tuple[str, ...], numbered: bool) -> Options:
    """The options, kept for the next reply to the same question."""
    return Options(choices, numbered)


def _label(index: int, numbered: bool) -> str:
    """A … Z, then AA, AB …, or 1, 2 … where the target is such a number; a label is one token."""
    if numbered and index >= 26:
        return str(index - 25)
    return (chr(64 + index // 26) if index >= 26 else "") + chr(65 + index % 26)


def _whole(text: str, start: int, end: int) -> bool:
    return (start == 0 or text[start - 1] == " ") and (end == len(text) or text[end] == " ")
