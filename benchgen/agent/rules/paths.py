"""Paths in a message: never cut at a space, `=` or comma, never with an escape undone."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from benchgen.agent.rules.marks import FILE, Mark, free

DOCUMENTS = ("md", "txt", "docx", "pdf", "html", "htm", "rst", "doc", "odt", "epub", "markdown")
TABLES = ("csv", "tsv", "jsonl", "json", "parquet", "xlsx", "xls", "ndjson", "arrow", "yaml", "yml")
_BUNDLES = ("zip", "tar", "gz", "tgz")
_ENDING = re.compile(
    rf"\.(?:{'|'.join((*DOCUMENTS, *TABLES, *_BUNDLES))})(?![\w\\/])(?!\.(?:gz|zip)\b)",
    re.IGNORECASE,
)
_ROOT = re.compile(
    r"(?<![\w:/\\.~])(?:[A-Za-z]:[\\/]|\\\\[\w.$-]+\\|~[\\/]|\.{1,2}[\\/]|file://|/(?=[\w.~]))"
)
_FOLDER = re.compile(r"(?<![\w/\\.~])[\w.-]+[\\/](?=[^\s\\/])")
_BARE = re.compile(
    r"(?<!\S)(?:[A-Za-z]:[\\/]|~/|\.{1,2}[\\/]|/)[^\s\"'“”‘’<>|]*[^\s\"'“”‘’<>|,.;:!?)]"
)
_WORD = re.compile(r"[^\s\"“”„«»「」『』‘`<>|*?]+")
_LONGEST = 1024
_ODD = re.compile(r"[=&()\[\]]")


def is_path(text: str) -> bool:
    """Whether a quoted text is a path rather than a name."""
    found = [*_ENDING.finditer(text)]
    return bool(found and found[-1].end() == len(text)) or bool(_ROOT.match(text) and len(text) > 2)


def suffix(path: str) -> str:
    """The path's ending in lower case, without the dot."""
    return path.rpartition(".")[2].lower() if "." in path else ""


def find(text: str, files: Iterable[str], taken: Sequence[Mark]) -> list[Mark]:
    """The paths of a message that stand unquoted, in order."""
    marks: list[Mark] = []
    for start, end in _known(text, files):
        if free(start, end, [*taken, *marks]):
            marks.append(Mark(FILE, text[start:end], start, end))
    before = 0
    for ending in _ENDING.finditer(text):
        if not free(ending.start(), ending.end(), [*taken, *marks]):
            continue
        floor = max([before, ending.start() - _LONGEST, *_ends(ending.start(), [*taken, *marks])])
        floor = max(floor, text.rfind("\n", floor, ending.start()) + 1)
        start = _start(text, floor, ending.start())
        if start < ending.start():
            marks.append(Mark(FILE, text[start : ending.end()], start, ending.end()))
            before = ending.end()
    for bare in _BARE.finditer(text):
        if free(bare.start(), bare.end(), [*taken, *marks]):
            marks.append(Mark(FILE, bare[0], *bare.span()))
    return sorted(marks, key=lambda mark: mark.start)


def _ends(at: int, marks: Iterable[Mark]) -> list[int]:
    return [mark.end for mark in marks if mark.end <= at]


def _known(text: str, files: Iterable[str]) -> Iterator[tuple[int, int]]:
    """Where names of the workspace's files stand, with the folders before them; longest names first."""
    for name in sorted(
        {f.replace("\\", "/").rpartition("/")[2] for f in files}, key=len, reverse=True
    ):
        if " " not in name and "," not in name:
            continue
        at = text.find(name)
        if at < 0:
            continue
        start = at
        if at and text[at - 1] in "/\\":
            floor = max(0, at - _LONGEST, text.rfind("\n", 0, at) + 1)
            root = [*_ROOT.finditer(text, floor, at)]
            word = text.rfind(" ", floor, at) + 1 or floor
            start = root[-1].start() if root else word
        yield start, at + len(name)


def _start(text: str, floor: int, end: int) -> int:
    """Where the path that ends here begins: at its root, at its folder, or at its last word."""
    roots = [found.start() for found in _ROOT.finditer(text, floor, end)]
    if roots:
        return roots[0]
    words = [(w.start(), w[0]) for w in _WORD.finditer(text, floor, end + 1)]
    if not words:
        return end
    start, last = words[-1][0], words[-1][1]
    if start + len(last) < end or last in (".", "-"):
        return end
    start += len(last) - len(last.lstrip("(,:=;"))
    if "/" in last or "\\" in last:
        return start
    for found in reversed([*_FOLDER.finditer(text, floor, end)]):
        if not re.search(
            r"\s(?:on|with|and|from|into|to|as|in|for|auf|mit|aus|con|avec|sur)\s",
            text[found.end() : end],
        ):
            return found.start()
    return _odd_start(words, start, end)


def _odd_start(words: Sequence[tuple[int, str]], start: int, end: int) -> int:
    """A bare name's beginning: words before it belong to it where signs such as = or (2) show it."""
    odd = [at for at, (_, word) in enumerate(words) if _ODD.search(word) and not word[0].isalpha()]
    if not odd or len(words) - odd[0] > 6 or odd[0] == 0 or odd[0] == len(words) - 1:
        return start
    return words[odd[0] - 1][0]
