"""What a reply says, for every kind: one spelling of its characters, no reasoning, no second question.

All patterns are linear: no nested or adjacent unbounded repeats over the same characters.
"""

from __future__ import annotations

import re
import unicodedata
from collections import deque
from dataclasses import dataclass

_DASHES = "‐‑‒–—―−﹘﹣⁃"
_SINGLE = "‘’‚‛′´ʼ＇"
_DOUBLE = "“”„‟«»″「」『』《》〝〞"
_UNSEEN = (
    "".join(map(chr, [*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x2060, 0x206A)]))
    + "\u00ad\u180e\ufeff\ufe0e\ufe0f"
)
_FOLD = str.maketrans(
    {c: "-" for c in _DASHES}
    | {c: "'" for c in _SINGLE}
    | {c: '"' for c in _DOUBLE}
    | dict.fromkeys(_UNSEEN)
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


# --- words for comparing ---------------------------------------------------------------------

_PUNCTUATION = re.compile(
    r"[!\"()*;?\[\]_`{}\\$•·…|]"
    r"|\.(?!\d)|[,:/](?!\d)|(?<!\d)[,:/]"  # kept in 3.14, 12:00, 1/2
    r"|-(?![\d.])|(?<=[\w)])-"  # kept as a sign
)
_ACRONYM = re.compile(r"(?<![^\W_])([^\W\d_])\.(?=[^\W\d_](?![^\W_]))")
_THOUSANDS = re.compile(r"(?<=\d),(?=\d{3}(?!\d))")
_POSSESSIVE = re.compile(r"'(?=s\b)")
_ARTICLE = re.compile(r"(?<![\w'-])(?:[Tt]he|THE|[Aa]n|a)\s+(?=\w)")
_FIRST_A = re.compile(r"\A\s*A\s+(?=\w)")  # elsewhere a capital A is a name: vitamin A


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
        words = _ACRONYM.sub(r"\1", words) if "." in words else words
        words = _POSSESSIVE.sub(" ", words).replace("'", "") if "'" in words else words
        words = _PUNCTUATION.sub(" ", words)
        if not words.isascii():
            words = words.translate(_SYMBOLS)
    if not articles:
        words = _ARTICLE.sub("", words)
    words = " ".join((words if case else words.casefold()).split())
    return words or squeezed(text)


# --- what is the answer's text ---------------------------------------------------------------

_THINK = r"(?:think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad|seed:think|inner_monologue)"
_TAG = re.compile(
    rf"<(?P<a>/?){_THINK}\b[^<>\n/]{{0,80}}>|&lt;(?P<b>/?){_THINK}&gt;"
    r"|\[(?P<c>/?)think\]|◁(?P<d>/?)think▷"
    r"|<\|(?:begin|(?P<e>end))_of_thought\|>|<\|(?:start|(?P<f>end))_thinking\|>",
    re.IGNORECASE,
)
_TAG_STARTS = ("<", "[", "&lt;", "◁")
_FINAL_CHANNEL = "<|channel|>final<|message|>"
_END = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|eom_id|end_of_text|end|return|im_start|user)\|>"
    r"|</s>|<eos>|<end_of_turn>|<｜end▁of▁sentence｜>|<\|end▁of▁sentence\|>"
)
_LEAD = re.compile(
    r"\s*(?:<\|im_start\|>\s*(?:assistant)?|<\|start\|>assistant|<\|assistant\|>|<s>|<bos>)\s*"
)


MAX_PARTS = 8
MAX_DECLARATIONS = 128
"""Of one pattern, the last ones: enough, since the last readable one counts."""
MAX_VALUE = 1000
"""Characters of a declared value that are looked at; longer than any option."""


@dataclass(frozen=True)
class Reading:
    """A reply taken apart."""

    parts: tuple[str, ...]
    """The answer's text, and after it each question that the model invented; normalised."""
    cut: bool
    """The last part ends where the token limit, not the model, ended it."""
    note: str = ""
    """Why there is no text: 'unclosed_reasoning' or 'only_reasoning'."""


def read(reply: str, *, truncated: bool = False) -> Reading:
    """The reply's text without reasoning blocks, special tokens and invented further questions."""
    text, note = _outside_reasoning(normalised(reply))
    if "<" in text:
        lead = _LEAD.match(text)
        text = text[lead.end() :] if lead else text
        end = _END.search(text)
        if end and text[: end.start()].strip():
            text, truncated = text[: end.start()], False
    parts = _parts(text)
    if any(part.strip() for part in parts):
        note = ""
    return Reading(parts, truncated, note)


def _outside_reasoning(text: str) -> tuple[str, str]:
    """(text outside reasoning blocks, why it may be empty).

    An end without a beginning closes a block that the chat template opened: all before it is
    reasoning. A beginning without an end: all after it is.
    """
    if "<|channel|>" in text:  # the harmony format names each message's channel
        head, found, tail = text.rpartition(_FINAL_CHANNEL)
        return (tail, "") if found else (head if head else "", "unclosed_reasoning")
    if not any_of(_TAG_STARTS, text):
        return text, ""
    kept: list[str] = []
    position, inside, any_tag = 0, False, False
    for tag in _TAG.finditer(text):
        any_tag = True
        closing = any(tag.groupdict().values())
        if closing:
            if not inside:
                kept.clear()
            inside = False
        elif not inside:
            kept.append(text[position : tag.start()])
            inside = True
        position = tag.end()
    if not any_tag:
        return text, ""
    if not inside:
        kept.append(text[position:])
    return "\n".join(kept), "unclosed_reasoning" if inside else "only_reasoning"


_NEXT = re.compile(
    r"^[ \t]{0,12}[#*>_-]{0,6}[ \t]{0,4}(?:"
    r"(?:(?:next|new|another|follow-up)[ ])?(?:question|problem|exercise|query|frage|pregunta|domanda|"
    r"pergunta|вопрос|问题|問題|题目|질문|문제)[ \t]*(?:no\.?[ ]?)?#?\d{0,4}[ \t]*\**(?:[:.)]|\d\b)"
    r"|q[ \t]?\d{0,4}[ \t]*\**[:.)]"
    r"|(?:next|new|another|follow-up)[ ](?:question|problem)\b"
    r"|(?:human|user|instruction|input|### ?(?:human|user|instruction|question|input))[ \t]*\d{0,4}\**[ \t]*:?\**[ \t]*(?:$|(?<=:)|(?<=:\*\*)|(?<=: ))"
    r")",
    re.MULTILINE,
)
_NEXT_STEMS = (
    *("question", "problem", "exercise", "query", "q:", "q.", "q)", "human", "user", "input"),
    *("instruction", "frage", "pregunta", "domanda", "pergunta"),
)
_NEXT_STEMS_WIDE = ("вопрос", "问题", "問題", "题目", "질문", "문제")
_NUMBERED_Q = re.compile(r"^[ \t]{0,12}[#*>]{0,6}[ \t]{0,4}q[ \t]?\d", re.MULTILINE)
# A line that asks, then options or an answer: a question without a header.
_ASKED = re.compile(
    r"\?[ \t*]*\n\s{0,20}(?:[-*] ?)?(?:\(?a[.):]|\*{0,2}(?:answer|options|choices)\b\*{0,2}[ \t]*:)"
)


def _parts(text: str) -> tuple[str, ...]:
    """The text split before each further question; what comes before the first is the answer's own."""
    low = lowered(text)
    starts: set[int] = set()
    if (
        any_of(_NEXT_STEMS, low)
        or ("q" in low and _NUMBERED_Q.search(low))
        or (not low.isascii() and any_of(_NEXT_STEMS_WIDE, low))
    ):
        starts |= {m.start() for m in _NEXT.finditer(low)}
    if "?" in low:
        starts |= {low.rfind("\n", 0, m.start()) + 1 for m in _ASKED.finditer(low)}
    if not starts:
        return (text,)
    parts, position = [], 0
    for start in sorted(starts)[:MAX_PARTS]:
        before = text[position:start].rstrip()
        # Nothing, a question mark or an announcement before it: it restates the question asked.
        if before and before[-1] not in ":?":
            parts.append(text[position:start])
            position = start
    return (*parts, text[position:])


# --- where an answer is declared -------------------------------------------------------------

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
    r"(?<![^\W\d_])(?:antwort|lösung|réponse|reponse|respuesta|risposta|resposta|ответ|odpowiedź|antwoord"
    r"|svar|cevap|yanıt|jawaban|đáp án|الإجابة|الجواب|उत्तर)"
    rf"(?![^\W\d_])(?:{_GLUE}(?::|=|->)"
    r"|(?:[ \t][^.:;?!\n]{0,60}?)??[ \t](?:ist|lautet|est|es|è|é|jest|är|er|is|adalah|là|हैं|है|هي|هو)\b[ \t]*:?)"
)
_CJK = re.compile(
    r"(?:答案|正解|答え|回答|解答|정답|답변|답)[^\n.:是为為はが은는선選选不非]{0,12}(?:应该|應該)?(?:::?|:|是|为|為|は|が|은|는|选|選)[ \t]*:?"
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
    r"|guess|letter|label|pick)(?: (?:answer|option|choice|letter))?[*_ \t]{0,4}[:=.][*_]{0,3}",
    re.MULTILINE,
)
_OTHER_STEMS = ("antwo", "svar", "jawaban", "cevap", "respuesta", "risposta", "resposta", "reponse")
_OTHER_STEMS_WIDE = (
    *("odpowied", "yan\u0131t", "lösung", "réponse", "ответ", "đáp", "الإجابة", "الجواب", "उत्तर"),
)
# The person speaking does not hold this: hypothetical, denied, or somebody else's.
_NOT_MINE = re.compile(
    r"\b(?:if|whether|unless|suppose|supposing|assume|assuming|imagine"
    r"|don't (?:think|believe)|do not (?:think|believe)|doubt|not (?:sure|certain|convinced|true) "
    r"|incorrect|wrong|false|tempting|tempted|trap|naive|distractor"
    r"|people|students?|others?|someone|somebody|many|you (?:might|may|could)|one (?:might|may|could)"
    r"|at first|initially|originally|first thought|seemed|would be if|not the|not my|never)\b"
)
_NO_DOUBT = re.compile(r"no doubt|without (?:a )?doubt|not the only")
_CLAUSE_END = re.compile(r"[.;!?\n:]|, (?:but|so|and|yet|then|therefore|however)\b|\bbut\b")


@dataclass(frozen=True, slots=True)
class Declaration:
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
        if style in ("answer", "pick") and not at_line and _denied(before):
            continue
        end = match.end()
        if match[0].rstrip(" \t:").endswith("n't"):
            end = low.rfind("n't", start, end)  # the denial is part of what is declared
        found.append(Declaration(start, end, style, at_line))
    return found


def _denied(before: str) -> bool:
    clause = _CLAUSE_END.split(before)[-1]
    return bool(_NOT_MINE.search(clause)) and not _NO_DOUBT.search(clause)


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


def value_at(text: str, position: int) -> str:
    """The line of text from there, or the next one that says something, free of markup."""
    while position < len(text):
        end = text.find("\n", position)
        end = len(text) if end < 0 else end
        value = peeled(text[position : min(end, position + MAX_VALUE)])
        if value.strip(" \t:=>-.[](){}<"):
            return value
        position = end + 1
    return ""


def peeled(text: str) -> str:
    """The text without bold, code, LaTeX and quotation wrappers; inner words untouched."""
    if "\\" in text or "{" in text:
        text = _LATEX.sub("", text)
    if "<" in text and "</" in text:
        text = text.partition("</")[0]
    text = text.replace("**", "").replace("`", "").replace("__", "")
    return text.strip(_WRAP + "#>").strip()


def without_comment(text: str) -> str:
    """The text before a line that begins `Explanation:` or the like."""
    match = _COMMENT.search(lowered(text))
    return text[: match.start()] if match and text[: match.start()].strip() else text


# --- replies that are no answer --------------------------------------------------------------

_REFUSAL = re.compile(
    r"\A\W{0,8}(?:(?:i'm |i am )?(?:very |so )?(?:sorry|afraid)\b[^.\n]{0,40}?)?\W{0,6}(?:but )?(?:as an ai\b[^.\n]{0,60}?)?"
    r"i(?:'m| am)? (?:cannot|can't|can not|won't|will not|unable to|not able to|must decline|decline|refuse)"
    r"(?: to)? (?:answer|help|assist|provide|comply|do|fulfil|discuss|continue|respond|give|share|engage|with)"
)
_OUTAGE = re.compile(
    r"\A\W{0,4}(?:(?:\w{0,20}error|exception|http)\b[^\n]{0,80}?)?"
    r"(?:rate.?limit|time.?out\b|timed out|connection (?:error|refused|reset|aborted)|internal server error"
    r"|service (?:is )?(?:temporarily )?unavailable|bad gateway|gateway time|too many requests|overloaded"
    r"|quota exceeded|exceeded your (?:current )?quota|out of memory|(?:error|http|status)(?: code)?:? ?(?:429|5\d\d)\b)"
)


def refused(text: str) -> bool:
    """The model's own words of refusal open the reply."""
    return bool(_REFUSAL.match(lowered(text[:400])))


def outage(text: str) -> bool:
    """The reply is a short message of the machinery, not of the model."""
    text = text.strip()
    return len(text) <= 300 and bool(_OUTAGE.match(lowered(text)))
