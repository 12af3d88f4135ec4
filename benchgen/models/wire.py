"""What is sent to a chat completions endpoint, and what its answer holds: no network here.

An answer that cannot be read as a whole is a failure (not measured); an empty one that ended normally
is an empty reply (measured). Reasoning that comes in a field of its own is put back in front of the
answer as `<think>…</think>`, tool calls behind it as `<tool_call>{"name", "arguments"}</tool_call>`
lines: the two forms in which a model writes them itself, and which scoring reads.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.models.calls import read
from benchgen.models.failures import Answer, Failed, of_error, told
from benchgen.types import Message, Reply, Request

OWN = frozenset(
    {
        *("model", "messages", "stream", "stream_options", "n", "temperature", "stop", "seed"),
        *("max_tokens", "max_completion_tokens"),
    }
)
"""Fields that follow from the request; `extra` may not set them."""
REPLACEABLE = ("max_tokens", "temperature", "stop", "seed", "top_p", "top_k")
"""Fields that some models reject: the first gets its newer name, the others are left out."""

_LENGTH = ("length", "max_tokens", "model_length", "max_output_tokens")
_FILTER = ("content_filter", "safety", "recitation", "blocklist", "prohibited_content", "spii")
_BROKEN = ("error", "abort", "aborted", "cancelled", "insufficient_system_resource")
_MEANINGFUL = frozenset(
    {"choices", "message", "content", "finish_reason", "tool_calls", "function_call", "refusal"}
)
_REJECTS = re.compile(
    r"unsupported|not supported|not support\b|unrecognized|unknown|unexpected|not permitted|not allowed"
    r"|extra (?:inputs?|fields?)|extra_forbidden|invalid (?:parameter|argument|field)|deprecated|not compatible"
)
_NO_SYSTEM = re.compile(
    r"system\W.{0,40}(?:not support|unsupported|not allowed)|not support.{0,40}\bsystem\b"
    r"|roles must alternate|only user and assistant",
    re.DOTALL,
)


# --- sent ------------------------------------------------------------------------------------


REPEAT_SEEDS = 1_000_003
"""How far the seeds of two repeats of one question lie apart: more than people's own seeds do."""


def body_for(
    model: str, request: Request, learned: frozenset[str], extra: Mapping[str, Any]
) -> dict[str, Any]:
    """The JSON body. `learned` are the fields that this model was found not to take.

    A seed goes along only where something is drawn.
    """
    messages = [{role: writable(text) for role, text in m.items()} for m in request.messages]
    if "system" in learned:
        messages = _without_system(messages)
    limit = "max_completion_tokens" if "max_tokens" in learned else "max_tokens"
    sent = [_fields(m) for m in messages] if request.tools else messages
    body = {**extra, "model": model, "messages": sent, limit: request.max_new_tokens}
    body["temperature"] = request.temperature
    if request.tools:
        body["tools"] = list(request.tools)
    if request.stop:
        body["stop"] = list(request.stop)
    if request.temperature > 0:
        body["seed"] = request.seed + request.repeat * REPEAT_SEEDS
        if request.top_p < 1:
            body["top_p"] = request.top_p
        if request.top_k:
            body["top_k"] = request.top_k  # vLLM, SGLang and llama.cpp take it; OpenAI does not
    return {name: value for name, value in body.items() if name not in learned}


def _fields(message: Message) -> dict[str, Any]:
    """The message with the calls of its text in the field that the API has for them."""
    if message["role"] != "assistant":
        return dict(message)
    text, calls = read(message["content"])
    if not calls:
        return dict(message)
    told = [
        {
            "id": call.id,
            "type": "function",
            "function": {"name": call.name, "arguments": json.dumps(call.arguments or {})},
        }
        for call in calls
    ]
    return {"role": "assistant", "content": text, "tool_calls": told}


def _without_system(messages: list[Message]) -> list[Message]:
    """The messages with the system text at the head of the first turn after it."""
    if len(messages) < 2 or messages[0]["role"] != "system":
        return messages
    first, second, *rest = messages
    return [{**second, "content": f"{first['content']}\n\n{second['content']}"}, *rest]


def rejected_field(answer: Answer, sent: Mapping[str, Any]) -> str | None:
    """The field whose absence may make this request acceptable: one of REPLACEABLE, or "system"."""
    if answer.status not in (400, 422):
        return None
    said = told(answer.body)
    rejects = bool(_REJECTS.search(said.all))
    for name in REPLACEABLE:
        named = said.param == name or re.search(rf"\b{name}\b", said.message.lower())
        if name in sent and named and rejects:
            return name
    messages = sent["messages"]
    can_fold = len(messages) > 1 and messages[0]["role"] == "system"
    return "system" if can_fold and _NO_SYSTEM.search(said.all) else None


# --- received --------------------------------------------------------------------------------


def reply_from(answer: Answer, request: Request, key: str) -> Reply:
    """The reply that an answer with a 2xx status holds; Failed where it holds none."""
    data = _json(answer)
    choices = data.get("choices")
    if data.get("error") and not choices:
        raise Failed.of(of_error(data["error"], key))
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
        raise Failed("no_choices", f"an answer without choices: {_shown(data)}")
    choice = choices[0]
    if choice.get("error"):
        raise Failed.of(of_error(choice["error"], key))
    finish = _finish(choice.get("finish_reason"))
    text, finish = _text(_message(choice), finish, request.stop)
    usage = data.get("usage")
    usage = usage if isinstance(usage, dict) else {}
    return Reply(
        text=writable(text),
        finish_reason=finish,
        tokens_in=_count(usage.get("prompt_tokens", usage.get("input_tokens"))),
        tokens_out=_count(usage.get("completion_tokens", usage.get("output_tokens"))),
    )


def _json(answer: Answer) -> dict[str, Any]:
    try:
        text = answer.body.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise Failed("bad_encoding", "the answer is not valid UTF-8") from None
    if not text.strip():
        raise Failed("empty_body", f"an empty answer (HTTP {answer.status})")
    try:
        data = json.loads(text, object_pairs_hook=_object)
    except (ValueError, RecursionError):
        raise Failed("not_json", _what_else(text)) from None
    if not isinstance(data, dict):
        raise Failed("no_choices", f"an answer that is no JSON object: {_shown(data)}")
    return data


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """The pairs as a dict; Failed where a field that matters stands twice with different values."""
    found: dict[str, Any] = {}
    for name, value in pairs:
        if name in _MEANINGFUL and name in found and found[name] != value:
            raise Failed(
                "duplicate_fields", f"the answer has {name!r} twice, with different values"
            )
        found[name] = value
    return found


def _what_else(text: str) -> str:
    start = text.lstrip()[:200]
    if start.startswith("<"):
        return "a web page instead of JSON; model.base_url usually ends in /v1"
    if start.startswith(("data:", "event:", ":")):
        return "a stream of events, although none was asked for"
    return f"no JSON: {start}"


def _shown(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)[:120]


def _message(choice: dict[str, Any]) -> dict[str, Any]:
    """The message of a choice; the text of a plain completion counts as one."""
    message = choice.get("message")
    if message is None and isinstance(choice.get("text"), str):
        message = {"content": choice["text"]}
    if not isinstance(message, dict):
        raise Failed("no_message", f"a choice without a message: {_shown(choice)}")
    if not message.keys() - {"role"} and not choice.get("finish_reason"):
        raise Failed("no_message", "a choice with an empty message and no finish reason")
    return message


def _finish(reason: Any) -> str:
    """'stop', 'length' or 'content_filter', from the words of several servers."""
    word = str(reason or "stop").lower()
    if word in _LENGTH:
        return "length"
    if word.partition(":")[0] in _FILTER:  # Gemini adds which one after a colon
        return "content_filter"
    if word in _BROKEN:
        raise Failed("generation_failed", f"the endpoint broke off the answer ({word[:40]})")
    return "stop"


def _text(message: dict[str, Any], finish: str, stops: Sequence[str]) -> tuple[str, str]:
    """(reasoning, answer or refusal, and tool calls as one text; the finish reason).

    Stop strings are looked for here as well: some servers ignore them, some models do not take them.
    """
    content, thought, declined = _content(message.get("content"))
    for name in ("reasoning_content", "reasoning", "thinking"):
        if not thought and isinstance(message.get(name), str):
            thought = message[name]
    if isinstance(message.get("refusal"), str):
        declined = declined or message["refusal"]
    cut = min((at for stop in stops if stop and (at := content.find(stop)) >= 0), default=-1)
    if cut >= 0:
        content, finish = content[:cut], "stop" if finish == "length" else finish
    calls = [] if cut >= 0 else _calls(message)
    answer = "\n".join(part for part in (content or declined, *calls) if part)
    if thought.strip() and "<think" not in content:
        answer = _thinking(thought, answer, finish)
    return answer, finish


def _content(content: Any) -> tuple[str, str, str]:
    """(text, reasoning, refusal) of a content field: a text, nothing, or a list of parts."""
    if content is None or isinstance(content, str):
        return content or "", "", ""
    if not isinstance(content, list):
        raise Failed("bad_content", f"the message's content is no text: {_shown(content)}")
    texts: dict[str, list[str]] = {"text": [], "thinking": [], "refusal": []}
    for part in content:
        part = {"type": "text", "text": part} if isinstance(part, str) else part
        if not isinstance(part, dict):
            raise Failed("bad_content", f"a part of the content is no text: {_shown(part)}")
        kind = {"output_text": "text", "reasoning": "thinking"}.get(str(part.get("type")), "")
        kind = kind or str(part.get("type", "text"))
        value = part.get(kind, part.get("text"))
        if isinstance(value, list):  # Mistral: {"type": "thinking", "thinking": [{"text": …}]}
            value = "".join(str(v.get("text") or "") for v in value if isinstance(v, dict))
        if kind in texts and isinstance(value, str):
            texts[kind].append(value)
    return "".join(texts["text"]), "".join(texts["thinking"]), "".join(texts["refusal"])


def _thinking(thought: str, answer: str, finish: str) -> str:
    """The answer behind its reasoning; reasoning that was cut off stays open."""
    thought = re.sub(r"<(?=/?think)", "‹", thought.strip(), flags=re.IGNORECASE)
    if not answer and finish == "length":
        return f"<think>\n{thought}"
    return f"<think>\n{thought}\n</think>\n{answer}"


def _calls(message: dict[str, Any]) -> list[str]:
    """One `<tool_call>` line a call, in the newer field or the older `function_call`."""
    calls = message.get("tool_calls") or message.get("function_call") or []
    return [_call(call) for call in (calls if isinstance(calls, list) else [calls])]


def _call(call: Any) -> str:
    inner = call
    if isinstance(call, dict):
        named = (call[name] for name in ("function", "custom") if isinstance(call.get(name), dict))
        inner = next(named, call)
    if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
        return f"<tool_call>{json.dumps(call, ensure_ascii=False)}</tool_call>"
    arguments = inner.get("arguments", inner.get("input"))
    written = arguments if _is_object(arguments) else json.dumps(arguments, ensure_ascii=False)
    name = json.dumps(inner["name"], ensure_ascii=False)
    return f'<tool_call>{{"name": {name}, "arguments": {written}}}</tool_call>'


def _is_object(arguments: Any) -> bool:
    """Whether it is the text of a JSON object: put in as it stands. Any other text stays a text."""
    if not isinstance(arguments, str):
        return False
    try:
        return isinstance(json.loads(arguments), dict)
    except (ValueError, RecursionError):
        return False


def _count(value: Any) -> int:
    """A number of tokens; 0 for anything that cannot be one."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return 0
    return int(value) if 0 <= value < 1e12 else 0


def writable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate, which JSON may hold and UTF-8 cannot."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
