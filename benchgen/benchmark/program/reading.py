"""What of a reply may hold its answer: no reasoning, no special tokens, no second question.

All patterns here and beside are linear: no adjacent unbounded repeats over the same characters.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from .spelling import any_of, lowered, normalised

_THINK = r"(?:think|thinking|thoughts?|reason|reasoning|reflection|analysis|scratchpad|seed:think|inner_monologue)"
TAG = re.compile(
    rf"<(?P<a>/?){_THINK}\b[^<>\n/]{{0,80}}>|&lt;(?P<b>/?){_THINK}&gt;"
    r"|\[(?P<c>/?)think\]|◁(?P<d>/?)think▷"
    r"|<\|(?:begin|(?P<e>end))_of_thought\|>|<\|(?:start|(?P<f>end))_thinking\|>",
    re.IGNORECASE,
)
_TAG_STARTS = ("<", "[", "&lt;", "◁")
_FINAL_CHANNEL = "<|channel|>final<|message|>"
END = re.compile(
    r"<\|(?:im_end|endoftext|eot_id|eom_id|end_of_text|end|return|im_start|user)\|>"
    r"|</s>|<eos>|<end_of_turn>|<｜end▁of▁sentence｜>|<\|end▁of▁sentence\|>"
)
LEAD = re.compile(
    r"\s*(?:<\|im_start\|>\s*(?:assistant)?|<\|start\|>assistant|<\|assistant\|>|<s>|<bos>)\s*"
)


MAX_PARTS = 8
MAX_HALF = 100_000
"""Characters of a long reply's beginning, and of its end, that are read."""


def bounded(reply: str) -> str:
    """The reply; of one that is very long its beginning and its end, where answers stand."""
    if len(reply) <= 2 * MAX_HALF:
        return reply
    return f"{reply[:MAX_HALF]}\n{reply[-MAX_HALF:]}"


class Reading(NamedTuple):
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
        lead = LEAD.match(text)
        text = text[lead.end() :] if lead else text
        end = END.search(text)
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
    for tag in TAG.finditer(text):
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


_REFUSAL = re.compile(
    r"\A\W{0,8}(?:(?:i'm |i am )?(?:very |so )?(?:sorry|afraid)\b[^.\n]{0,40}?)?\W{0,6}(?:but )?(?:as an ai\b[^.\n]{0,60}?)?"
    r"i(?:'m| am)? (?:cannot|can't|can not|won't|will not|unable to|not able to|must decline|decline|refuse)"
    r"(?: to)? (?:answer|help|assist|provide|comply|do|fulfil|discuss|continue|respond|give|share|engage|with)"
)
_OUTAGE = re.compile(
    r"\A\W{0,4}(?:(?:\w{0,20}error|exception|http)\b[^\n]{0,80}?)?(?:[45]\d\d\b[ :-]{0,3})?"
    r"(?:(?:the |your )?(?:request|read|write|connection|server|gateway|upstream|operation|model|api)\b[^\n]{0,20}?)?"
    r"(?:rate.?limit|time.?out\b|timed out|connection (?:error|refused|reset|aborted)|internal server error"
    r"|service (?:is )?(?:temporarily )?unavailable|bad gateway|gateway time|too many requests|overloaded"
    r"|quota exceeded|exceeded your (?:current )?quota|out of memory|(?:error|http|status)(?: code)?:? ?(?:429|5\d\d)\b)"
)


def refused(text: str) -> bool:
    """The model's own words of refusal open the reply."""
    return bool(_REFUSAL.match(lowered(text[:400])))


_SURELY = re.compile(r"timed? ?.?out\b|retry|exceeded|unavailable|refused|reset by|overloaded")


def outage(text: str, *, surely: bool = False) -> bool:
    """The reply is a short message of the machinery, not of the model.

    `surely`: in words that no answer has, so that `HTTP 429` may still be one.
    """
    text = lowered(text.strip())
    if len(text) > 300 or not _OUTAGE.match(text):
        return False
    return not surely or bool(_SURELY.search(text))


_UNSURE = re.compile(
    r"\bi(?:'m| am)? (?:not|n't) (?:sure|certain|able)|\bi(?:'m| am) (?:unsure|uncertain)|\bi (?:do not|don't) (?:really )?know"
    r"|\b(?:need|require)s? (?:some )?more (?:information|details|context|data)|\bnot enough (?:information|details|data)"
    r"|\b(?:cannot|can't|could not|couldn't|unable to) (?:be )?(?:determine|solve|say|tell|answer|know|find|comput|calculat)"
)


def unsure(text: str) -> bool:
    """The model says that it does not know."""
    return bool(_UNSURE.search(lowered(text)))
