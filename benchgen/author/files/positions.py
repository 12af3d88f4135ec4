"""Options that speak of other options by their place: 'Both A and B', 'None of the above'."""

from __future__ import annotations

import re

from benchgen.types import Question

_ONE = r"\(?(?-i:[A-H])\)?"
_LABELS = rf"{_ONE}(?:(?:\s*[,&/]\s*|,?\s+(?:and|or|nor|und|oder|et|ou|y|o|e)\s+){_ONE})+"
_REFERS = re.compile(
    rf"\b(?:both|neither|either|only|beide|weder|sowohl)\s+{_LABELS}"
    rf"|^(?:only\s+)?{_LABELS}(?:\s+only|\s+are\s+\w+)?\.?$"
    rf"|\b(?:options?|choices?|answers?|alternatives?)\s+{_ONE}(?![\w'])"
    rf"|^(?:only\s+)?{_ONE}\s+only\.?$|^only\s+{_ONE}\.?$"
    r"|\b(?:all|none|any|some|both|neither|two|three|most|more than one|each|one)\s+"
    r"(?:of\s+)?(?:the\s+)?(?:above|below|these|those|preceding|foregoing|following|previous|"
    r"options|choices|answers|other\s+(?:options|choices|answers)|others)\b"
    r"|\ball of them\b|\bnone of them\b|\bthe (?:first|last) (?:two|three|option|choice)\b"
    r"|\b(?:all|none) (?:are|is) (?:correct|right|true|wrong)\b"
    r"|\b(?:alle|keine|keiner|keines|beide) (?:der |davon|dieser |die )?(?:oben |vorher|genannt|antwort|option|möglich|davon)"
    r"|\b(?:toutes|aucune) (?:les|des|de ces|ces) (?:réponses|propositions)\b|\baucune de ces\b"
    r"|\b(?:todas|ninguna|todos|ninguno) (?:las|de las|los|de los) anteriores\b"
    r"|\b(?:todas|nenhuma) (?:as|das) (?:anteriores|alternativas)\b"
    r"|\b(?:tutte|nessuna) (?:le|delle) (?:precedenti|risposte)\b|\bвс[её] (?:выше)?перечисленн|\bни один из"
    r"|以上|上述|上記",
    re.IGNORECASE,
)
_TOLD = re.compile(
    r"\b(?:[Oo]ption|[Cc]hoice|[Aa]nswer)s?\s+(?:is\s+)?\(?[A-H]\)?(?![\w'])|(?<!\w)\([A-H]\)(?!\w)|^\s*[A-H][).:]\s",
    re.MULTILINE,
)


def refers_to_positions(question: Question) -> bool:
    """Whether an option, the prompt or the worked answer names options by place: 'Both A and B'.

    The options of such a question must keep their order.
    """
    if question.kind != "mcq":
        return False
    if any(_REFERS.search(text) for text in question.choices):
        return True
    return bool(_TOLD.search(question.prompt) or _TOLD.search(question.rationale))
