"""Points in scripts without spaces between words: compared as a piece of text, clause by clause."""

from __future__ import annotations

import re

from . import spelling
from .keypoints_words import DENIED, STATED

_SCRIPTS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]"
)
_CLAUSE = re.compile(r"[,.;:!?()\n]")
_NOT = re.compile(
    r"不(?!仅|僅|但|只|光|断|斷|同|管|论|論|过|過)|[没沒](?!错|錯)|未(?!来|來)|无(?!论|数)|無(?!論|数)|非(?!常)|别|勿|並非|ない(?!と)|なかっ|ません"
    r"|아니|않|못|없|ไม่"
)
_DOUBT = re.compile(
    r"(?i:\b(?:not|no|never|\w{2,6}n't|nobody|false|wrong|myth|if|whether|some|doubt|suppose|claim)\b)|如果|假如|若|要是|もし|たら|만약|吗|嗎|ですか|ますか|でしょうか|有人|误以为|誤以為|误解|誤解|错误|錯誤|错的|錯的|誤り|間違|迷信|谣言|거짓|틀린|잘못"
)


def written(text: str) -> bool:
    """Whether some of the text is in such a script."""
    return bool(_SCRIPTS.search(text))


def squeezed(text: str) -> str:
    """The text folded and without spaces."""
    return spelling.folded(text).replace(" ", "").replace("-", "")


def find(point: str, text: str) -> str:
    """STATED where a clause holds the point, denied as often as it, neither asked nor supposed; else DENIED or ""."""
    denials = len(_NOT.findall(point))
    doubted = text.rstrip().endswith("?") or _DOUBT.search(text)
    for clause in _CLAUSE.split(text):
        folded = squeezed(clause)
        if point not in folded:
            continue
        if len(_NOT.findall(folded)) != denials:
            return DENIED
        return "" if doubted and not _DOUBT.search(point) else STATED
    folded = squeezed(text)
    across = point in folded and len(_NOT.findall(folded)) == denials  # over clause marks
    return STATED if across and not doubted else ""
