"""Where a reply declares its answer, and the declared text without its wrappers."""

from __future__ import annotations

import re
from collections import deque
from typing import NamedTuple

from .spelling import any_of, lowered

MAX_DECLARATIONS = 128
"""Of one pattern, the last ones: enough, since the last readable one counts."""
MAX_VALUE = 1000
"""Characters of a declared value that are looked at; longer than any option."""

_GLUE = r"[\s*_`\"')\]]{0,8}"
_IS = (
    r"(?:is|are|was|were|would be|should be|must be|will be|has to be|have to be|can only be|could only be"
    r"|may be|might be|seems to be|appears to be|isn't|aren't|lies)\b(?: that\b| as follows\b| therefore\b| thus\b)?[ \t]*:?"
)
_ANSWER = re.compile(
    rf"(?<![a-z])answers?(?:\b|_)(?:{_GLUE}(?::|=>|-{{1,3}}>|=|→|-(?=\s))"
    rf"|(?:[ \t](?:[^.:;?!\n]|\?['\"]){{0,100}}?)??[ \t*_`]{{1,4}}{_IS}"
    r"|[ \t]*\**[ \t]*(?:\n|(?=\(?[a-z0-9]\)?[.*]{0,3}[ \t]*(?:\n|$))|(?=\([a-z]\))))"
)
_TAGGED = re.compile(r"<(?:final_?)?answer>")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{")
_OTHER = re.compile(
    r"(?<![^\W\d_])(?:antwort|lösung|réponse|reponse|respuesta|risposta|resposta|(?:ответ|(?:верный|правильный) вариант)|відповідь|отговор|одговор"
    r"|odpowiedź|odpověď|odpoveď|odgovor|antwoord|svar|svaret|vastaus|válasz|răspuns|răspunsul|raspunsul|atsakymas"
    r"|cevap|yanıt|jawaban|jawapan|sagot|jibu|đáp án|απάντηση|תשובה|התשובה|الإجابة|الجواب|پاسخ|جواب|उत्तर|উত্তর|விடை"
    r"|பதில்|సమాధానం|คําตอบ(?:ที่ถูกต้อง)?)"
    rf"(?:(?![^\W\d_])(?:{_GLUE}(?::|=|->|-(?=\s))"
    r"|(?:[ \t][^.:;?!\n]{0,60}?)??[ \t](?:n'|ليست?[ \t]|не[ \t]|bukan(?:lah)?[ \t])?(?:ist|lautet|est|es|è|é|e|este|jest|to|je|on|är|er|ar|yra|is|adalah|ialah|ay|ni|là"
    r"|είναι|є|हैं|है|হল|হলো|هي|هو|است|ہے|היא|הוא)\b[ \t]*:?"
    r"|[ \t]{1,3}(?=\(?[a-z]\)?(?:[ \t.]|\Z|\n|'[a-zışçğüö])))|คือ[ \t]*)"
)
_CJK = re.compile(
    r"(?:答案|正解|答え|回答|解答|정답|답변|답)[^\n.:是为為はが은는선選选不非]{0,12}(?:应该|應該)?(?:::?|:|是|为|為|は|が|은|는|选|選|\])[ \t]*:?"
    r"|(?:正确|正確)的?(?:选项|選項|答案)?(?:是|为|為|:)"
    r"|而是|应为|應為|(?:选择|選擇|选|選)(?!项|項|择|擇)[ \t]*[:是为為]?|答[ \t]*:"
)
_PICK = re.compile(
    r"(?<![a-z])(?:i(?:'d|'ll| would| will| must| have to| am going to)?(?: have)?(?: \w{2,10}ly)?(?: rather)?"
    r" (?:choose|chose|pick|picked|select|selected|go with|going with|went with|opt for|vote for|say|guess)"
    r"(?: that)?(?: it(?:'s| is))?"
    r"|(?:i'm|im) (?:choosing|picking|selecting|going with)"
    r"|(?:let's|we|let us) (?:go with|pick|choose|select|say)|(?<!\w )go with"
    r"|my (?:final |best |first )?(?:choice|pick|guess|selection|vote|response)(?: is| would be|:))"
)
_PICK_STEMS = ("choos", "chose", "pick", "select", "with", "opt for", "vote", "say", "guess", "my ")
_RIGHT = re.compile(
    r"(?<![a-z])(?:correct|right|best|final|likely|valid|true|appropriate|accurate|suitable)"
    r"(?: answer| and| best)?(?: option| choice| statement| one| letter| response| selection| alternative| match| term| name)s?"
    rf"(?:[ \t][^.:;?!\n]{{0,80}}?)??{_GLUE}(?::|{_IS})"
)
_RIGHT_STEMS = (
    *("correct", "right", "best", "final", "likely", "valid", "true", "approp", "accur", "suitab"),
)
_LABELLED = re.compile(
    r"^[ \t#*>_-]{0,8}(?:(?P<answer>ans|final)|selected|selection|solution|result|choice|option|response|verdict|conclusion"
    r"|guess|letter|label|pick)(?: (?:answer|option|choice|letter))?[*_ \t]{0,4}[:=.][*_]{0,3}"
    r"|[\"'](?:selected|selection|choice|option|letter|label|final|result)[\"'][ \t]?:",
    re.MULTILINE,
)
_OTHER_STEMS = (
    *("antwo", "svar", "jawab", "jawap", "cevap", "respuesta", "risposta", "resposta", "reponse"),
    *("vastaus", "odgovor", "raspuns", "atsakymas", "sagot", "jibu"),
)
_OTHER_STEMS_WIDE = (
    *(
        "odpov",
        "odpowied",
        "yan\u0131t",
        "lösung",
        "réponse",
        "ответ",
        "вариант",
        "відповідь",
        "отговор",
        "одговор",
    ),
    *("válasz", "răspuns", "đáp", "απάντηση", "תשובה", "الإجابة", "الجواب", "پاسخ", "جواب", "उत्तर"),
    *("উত্তর", "விடை", "பதில்", "సమాధానం", "คําตอบ"),
)
_DENIAL = re.compile(
    r"\b(?:no|não|nao|non|nicht|kein\w{0,2}|pas|inte|ikke|niet|не|nie|není|bukan(?:lah)?|ليست?)\b|n'(?=est)"
)
# The question asks for what is wrong: the wrong statement, not a wrong answer.
_ASKED_WRONG = re.compile(
    r"(?:incorrect|wrong|false|untrue|not (?:correct|true|right)) (?:statement|sentence|claim|assertion|pair|match|pairing)s? (?:is|are|would be)"
    r"|(?:statement|sentence|claim|assertion|pair|one|option) (?:that|which) (?:is|are) (?:not (?:correct|true|right)|incorrect|wrong|false|untrue) (?:is|are)"
    r"|(?<![a-z])the exception (?:is|would be)"
    r"|(?:错误|錯誤|不正确|不正確|不对|不對)的(?:说法|說法|选项|選項|一项|一項)?(?:是|为|為|:)"
)
_ASKED_WRONG_STEMS = (
    "statement",
    "sentence",
    "claim",
    "assertion",
    "pair",
    "match",
    "exception",
    "that",
    "which",
)
_ASKED_WRONG_WIDE = ("错误的", "錯誤的", "不正确的", "不正確的", "不对的", "不對的")
# The person speaking does not hold this: hypothetical, denied, or somebody else's.
_NOT_MINE = re.compile(
    r"\b(?:if|whether|unless|suppose|supposing|assume|assuming|imagine"
    r"|don't (?:think|believe)|do not (?:think|believe)|doubt|not (?:sure|certain|convinced|true) "
    r"|incorrect|wrong|false|tempting|tempted|trap|naive|distractor"
    r"|people|students?|others?|someone|somebody|many|some (?:would |may |might |will )?(?:say|think|believe|claim|argue|hold)|you (?:might|may|could)|one (?:might|may|could)"
    r"|(?:often|commonly|widely|sometimes|frequently|popularly|mistakenly) (?:thought|believed|said|assumed|claimed|held)"
    r"|misconception|myth"
    r"|at first|initially|originally|first thought|seemed|would be if|not the|not my|never)\b"
)
_NO_DOUBT = re.compile(r"no doubt|without (?:a )?doubt|not the only")
_CLAUSE_END = re.compile(r"[.;!?\n:,]|\bbut\b")


class Declaration(NamedTuple):
    """A place where the reply says that its answer follows."""

    start: int
    value: int
    """Where the answer's text begins."""
    style: str
    """answer | pick | label | boxed | tag"""
    line: bool
    """It is the first thing on its line."""


def declarations(text: str, low: str) -> list[Declaration]:
    """Every explicit declaration in order; those denied, supposed or put in another's mouth are out."""
    found: list[Declaration] = []
    if "answer" in low:
        found += _each(_ANSWER, "answer", low)
        found += _each(_TAGGED, "tag", low) if "<" in low else []
    if "\\" in low:
        found += _each(_BOXED, "boxed", low)
    if any_of(_PICK_STEMS, low):
        found += _each(_PICK, "pick", low)
    if any_of(_RIGHT_STEMS, low):
        found += _each(_RIGHT, "pick", low)
    if any_of(_ASKED_WRONG_STEMS, low) or (not low.isascii() and any_of(_ASKED_WRONG_WIDE, low)):
        found += _each(_ASKED_WRONG, "pick", low)
    if ":" in low or "=" in low or "ans." in low:
        found += [
            Declaration(m.start(), m.end(), "answer" if m["answer"] else "label", True)
            for m in _LABELLED.finditer(low)
        ]
    if any_of(_OTHER_STEMS, low) or (not low.isascii() and any_of(_OTHER_STEMS_WIDE, low)):
        found += _each(_OTHER, "answer", low)
    if not text.isascii():
        found += _each(_CJK, "answer", low)
    found.sort(key=lambda d: d.value)
    return found


def _each(pattern: re.Pattern[str], style: str, low: str) -> list[Declaration]:
    found = []
    for match in deque(pattern.finditer(low), maxlen=MAX_DECLARATIONS):
        start = match.start()
        before = low[max(0, start - 120) : start]
        lead = before[before.rfind("\n") + 1 :]
        at_line = not lead.strip(" \t#*_>`$\\[(-✅✔").strip() and len(lead) < 100
        if style in ("answer", "pick") and not at_line and denied(before):
            continue
        end = match.end()
        if "would be" in match[0] and _hypothetical(before, low[end : end + 120]):
            continue
        if match[0].rstrip(" \t:").endswith("n't"):
            end = low.rfind("n't", start, end)  # the denial is part of what is declared
        elif pattern is _OTHER and (denial := _DENIAL.search(low, start, end)):
            end = denial.start()
        found.append(Declaration(start, end, style, at_line))
    return found


def denied(before: str) -> bool:
    """Whether the clause that ends `before` denies, supposes or reports what follows it."""
    clause = _CLAUSE_END.split(before)[-1]
    return bool(_NOT_MINE.search(clause)) and not _NO_DOUBT.search(clause)


_SUPPOSED_BEFORE = re.compile(r"\b(?:if|had|were|unless|suppose|supposing|should)\b[^.;!?\n]*\Z")
_SUPPOSED_AFTER = re.compile(r"[^.;!?\n,]{0,60}\b(?:if|had|were|unless)\b")


def _hypothetical(before: str, after: str) -> bool:
    """What would be the answer to another question: `if it asked for …, the answer would be A`."""
    return bool(_SUPPOSED_BEFORE.search(before) or _SUPPOSED_AFTER.match(after))


# --- peeling ---------------------------------------------------------------------------------

_WRAP = " \t*_`\"'$"
FILLER = re.compile(
    r"(?:(?:(?:most|very) )?(?:probably|likely|definitely|clearly|simply|just|certainly|actually|indeed|therefore|thus"
    r"|in conclusion|obviously|surely|perhaps)[ ,:]{1,3}"
    r"|(?:it|that|this|they|these|there)(?:'s| is| are| was| were| would be| must be)[ ]"
    r"|(?:called|known as|named)[ ]){1,3}",
    re.IGNORECASE,
)
"""Words before an answer that are not part of it."""
_LATEX = re.compile(
    r"\\(?:text|mathrm|mathbf|mathit|mathsf|textbf|textit|boldsymbol|bm|rm|bf|boxed|fbox|operatorname)\b\s?\{?"
    r"|\\[()\[\],;! ]|\\quad|\\left|\\right|[{}]"
)
_COMMENT = re.compile(
    r"\n[ \t]{0,12}[*_#>-]{0,4}[ \t]{0,4}(?:explanation|reason|reasoning|rationale|note|justification|because|why)\b[*_ \t]*:"
)


def line_at(text: str, position: int) -> str:
    """The line of text from there, or the next one that says something; "" if none does."""
    start = position
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        line = text[start : min(end, start + MAX_VALUE)]
        if peeled(line).strip(" \t:=>-.[](){}<"):
            return line
        start = end + 1
    return text[position : position + MAX_VALUE].strip().partition("\n")[0]


def value_at(text: str, position: int) -> str:
    """The declared value that begins there, free of markup."""
    return peeled(line_at(text, position))


def peeled(text: str) -> str:
    """The text without bold, code, LaTeX and quotation wrappers; inner words untouched."""
    if "\\" in text or "{" in text:
        text = _LATEX.sub("", text)
    if "<" in text and "</" in text:
        text = text.partition("</")[0]
    text = text.replace("**", "").replace("`", "").replace("__", "")
    return text.lstrip(_WRAP + "#>").rstrip(_WRAP).removesuffix(" #").strip()


def without_comment(text: str) -> str:
    """The text before a line that begins `Explanation:` or the like."""
    match = _COMMENT.search(lowered(text))
    return text[: match.start()] if match and text[: match.start()].strip() else text
