"""Calls in tags and special tokens, and the reasoning between them."""

from __future__ import annotations

import re
from typing import Any

from . import reading
from .call_python import CALLED, python_calls
from .call_values import (
    CALL_NUMBER,
    MAX_CALLS,
    MAX_TRIES,
    Call,
    Found,
    Untyped,
    arguments_of,
    plain_name,
    shaped,
)
from .json_values import DUPLICATE_KEY, Malformed, json_at

_TAGS = r"(?:tool_calls?|function_calls?|functioncall|toolcall|tool_use|tool_code|tools)"
_OPEN = (
    rf"<(?:[a-z]{{1,16}}:)?{_TAGS}>|\[TOOL_CALLS?\]"
    r"|<[｜|]tool[▁_]calls?(?:[▁_]section)?[▁_]begin[｜|]>"  # DeepSeek, Kimi
    r"|<\|(?:tool_calls?|tool_call_start|python_tag|start_action|action_start\|>\s{0,9}<\|plugin)\|>"
)
_OPENED = re.compile(_OPEN, re.IGNORECASE)
_MARK = re.compile(
    rf"(?P<thought>{reading.TAG.pattern})"
    rf"|(?P<open>{_OPEN}|(?=<(?:[a-z]{{1,16}}:)?(?:function|tool)=)|(?=<(?:[a-z]{{1,16}}:)?invoke\s))",
    re.IGNORECASE,
)
_SHUT = re.compile(
    rf"</(?:[a-z]{{1,16}}:)?{_TAGS}>|\[/TOOL_CALLS?\]|<[｜|]tool[▁_]calls?(?:[▁_]section)?[▁_]end[｜|]>"
    rf"|<\|(?:/tool_calls?|end_action|action_end)\|>|{reading.END.pattern}",
    re.IGNORECASE,
)
_WRONG = re.compile(
    rf"\s{{0,9}}[^\s<`'\"][^<]{{0,400}}</(?:[a-z]{{1,16}}:)?{_TAGS}>", re.IGNORECASE
)
"""After an opening tag: something else than a call, and the closing tag."""
GLUE = re.compile(r"(?:[\s,;]|```(?:json)?)*+", re.IGNORECASE)
_SEP = r"<[｜|]tool[▁_]sep[｜|]>"
_NAMED = re.compile(
    rf"(?:function\s{{0,9}}{_SEP}\s{{0,9}})?(?P<name>\w[\w.-]{{0,127}}(?::\d{{1,4}})?)"
    rf"(?:\s|```(?:json)?|{_SEP}|\[CALL_ID\]\w{{0,64}}|\[ARGS\]|<\|tool_call_argument_begin\|>){{0,12}}"
    r"(?=\{|(?P<pairs><arg_key>))"
)
_FUNCTION = re.compile(
    r"<(?:[a-z]{1,16}:)?(?:(?:function|tool)=|invoke\s{1,9}name=)[\"']?(?P<name>[^<>\"'\n]{1,128})[\"']?\s*>\s*"
)
_FUNCTION_END = re.compile(r"\s*</(?:[a-z]{1,16}:)?(?:function|tool|invoke)>")
_PARAMETER = re.compile(
    r"\s*(?:<(?:[a-z]{1,16}:)?param(?:eter)?(?:=|\s{1,9}name=)[\"']?(?P<key>[^<>\"'\n]{1,128})[\"']?[^<>\n]{0,80}>"
    r"|<arg_key>(?P<glm>[^<>\n]{1,128})</arg_key>\s*<arg_value>)\n?"
)
_PARAMETER_END = re.compile(r"\n?</(?:[a-z]{1,16}:)?(?:param(?:eter)?|arg_value)>")


def _parameters(text: str, position: int) -> tuple[dict[str, Any], int]:
    """(arguments in XML, each as written but for one line break at each end; where they end)."""
    found: dict[str, Any] = {}
    while parameter := _PARAMETER.match(text, position):
        end = _PARAMETER_END.search(text, parameter.end())
        if end is None:
            raise Malformed
        key = (parameter["key"] or parameter["glm"]).strip()
        if key in found:
            raise Malformed(DUPLICATE_KEY)
        found[key] = Untyped(text[parameter.end() : end.start()])
        position = end.end()
    return found, position


def _payload(text: str, position: int) -> tuple[list[Call], int] | None:
    """(the calls that begin there, where they end); None if nothing there sets out to be a call."""
    if text[position : position + 1] in ("{", "["):
        if CALLED.match(text, position):
            return python_calls(text, position)
        value, end = json_at(text, position)
        return shaped(value, strict=True) or [], end
    if function := _FUNCTION.match(text, position):
        return _xml_call(text, function)
    if named := _NAMED.match(text, position):
        arguments, end = (_parameters if named["pairs"] else json_at)(text, named.end())
        return [Call(CALL_NUMBER.sub("", plain_name(named["name"])), arguments_of(arguments))], end
    if CALLED.match(text, position):
        return python_calls(text, position)
    return None


def _xml_call(text: str, function: re.Match[str]) -> tuple[list[Call], int]:
    """`<function=f>` with parameters, or with JSON arguments as Llama 3 writes them."""
    if text[function.end() : function.end() + 1] == "{":
        value, position = json_at(text, function.end())
        arguments = arguments_of(value)
    else:
        arguments, position = _parameters(text, function.end())
    end = _FUNCTION_END.match(text, position)
    if end is None and text[position:].strip():
        raise Malformed
    return [Call(plain_name(function["name"]), arguments)], end.end() if end else len(text)


def block(text: str, position: int, bare: bool) -> tuple[list[Call], int, bool] | None:
    """(calls, end, whether an end mark stands there) of what an opening tag begins.

    None if the tag is only mentioned: nothing after it sets out to be a call.
    """
    calls: list[Call] = []
    any_payload = closed = False
    for _ in range(MAX_CALLS):
        position = GLUE.match(text, position).end()  # type: ignore[union-attr]
        if shut := _SHUT.match(text, position):
            closed, position = True, shut.end()
        elif opened := _OPENED.match(text, position):
            closed, position = False, opened.end()
        elif closed or (step := _payload(text, position)) is None:
            break
        else:
            calls += step[0]
            any_payload, position = True, step[1]
            closed = bare and text.endswith(("</function>", "</invoke>"), 0, position)
    if any_payload and text[position : position + 1] in ("}", "]", '"') and not closed:
        raise Malformed
    if not any_payload and closed:
        raise Malformed
    return (calls, position, closed) if any_payload else None


_TURN = (
    r"^[ \t*#]{0,6}(?:user|human|question(?: \d{1,3})?|q)[ \t*]{0,4}:"
    r"|<\|(?:im_start|start_header_id)\|>\s{0,4}(?:user|tool|ipython)|<\|user\|>|<[｜|]User[｜|]>"
    rf"|\[INST\]|{reading.END.pattern}"
)
_NEXT_TURN = re.compile(_TURN, re.MULTILINE | re.IGNORECASE)
_RESULT = re.compile(
    rf"{_TURN}|</?(?:tool_responses?|tool_results?|tool_outputs?|function_results?|function_response|observation)>"
    r"|\[TOOL_RESULTS\]|<[｜|]tool[▁_]outputs?[▁_]begin[｜|]>|<\|(?:tool_response|observation)\|>"
    r"|^[ \t*#]{0,6}(?:observation|(?:tool|function|action) (?:result|response|output)s?)[ \t*]{0,4}:",
    re.MULTILINE | re.IGNORECASE,
)


def made_up(text: str, start: int, end: int, called: bool) -> bool:
    """A turn or a tool's result that the model wrote itself stands there: what follows is not the reply.

    A result is made up only after a call; a turn only after some text.
    """
    if called:
        return _RESULT.search(text, start, end) is not None
    found = _NEXT_TURN.search(text, start, end)
    return found is not None and bool(text[start : found.start()].strip())


class Tagged:
    """A walk over the tags of a text, reasoning and calls alike, so that neither is sought in the other."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.forget()
        self.tries = self.last = self.kept_to = 0
        self.note = ""

    def forget(self) -> None:
        """All before was reasoning."""
        self.calls: list[Call] = []
        self.kept: list[str] = []
        self.malformed = self.closed = False

    def found(self) -> Found:
        """The calls, and the text outside them."""
        position = 0
        while self.tries < MAX_TRIES and len(self.calls) < MAX_CALLS:
            mark = _MARK.search(self.text, position)
            if mark is None:
                break
            position = self.thought(mark) if mark["thought"] else self.block(mark)
        self.kept.append(self.text[self.kept_to :])
        finished = self.closed and not self.text[self.last :].strip()
        malformed = self.malformed or self.tries >= MAX_TRIES
        text = "\n".join(self.kept)
        return Found(self.calls, text, malformed, finished, "" if text.strip() else self.note)

    def thought(self, mark: re.Match[str]) -> int:
        """Where the reasoning ends."""
        self.note = "only_reasoning"
        if _closing(mark):
            self.forget()
            self.kept_to = self.last = mark.end()
            return mark.end()
        self.kept.append(self.text[self.kept_to : mark.start()])
        tags = reading.TAG.finditer(self.text, mark.end())
        end = next((tag.end() for tag in tags if _closing(tag)), None)
        self.note = "unclosed_reasoning" if end is None else self.note
        self.kept_to = len(self.text) if end is None else end
        return self.kept_to

    def opens_a_line(self, start: int) -> bool:
        """A tag there sets out to be a call; within a line it may only be talked about."""
        return not self.text[max(self.text.rfind("\n", 0, start) + 1, start - 40) : start].strip()

    def block(self, mark: re.Match[str]) -> int:
        """Where the call ends, or where to look on."""
        start, position = mark.start(), max(mark.end(), mark.start() + 1)
        if made_up(self.text, self.last, start, bool(self.calls)):
            return len(self.text)
        try:
            step = block(self.text, mark.end(), bare=not mark["open"])
        except Malformed:
            self.malformed, step = True, None
        if step is None:
            self.tries += 1
            token = mark[0].startswith(("[", "<|", "<｜")) or self.opens_a_line(start)
            self.malformed = self.malformed or token or bool(_WRONG.match(self.text, position))
            return position
        calls, end, self.closed = step
        self.last = end
        if calls:
            self.calls += calls
            self.kept.append(self.text[self.kept_to : start])
            self.kept_to = end
        return end


def _closing(tag: re.Match[str]) -> bool:
    return any(tag[name] for name in "abcdef")
