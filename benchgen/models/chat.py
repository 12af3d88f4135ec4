"""From messages to token ids and back to where an answer ends: the one renderer, for asking and for training.

Takes a tokenizer as it is; loads neither torch nor transformers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchgen.errors import ModelError
from benchgen.types import Message, Request

IGNORE = -100
"""Label of a token that is not learned (torch's and transformers' convention)."""


def encode_prompt(
    tokenizer: Any,
    messages: Sequence[Message],
    thinking: bool = False,
    tools: Sequence[dict[str, Any]] = (),
) -> list[int]:
    """Token ids of a conversation up to where the model is to answer; the one renderer of this package.

    The model's own chat template (thinking off unless asked for, where it has that switch), no special
    tokens added after it, exactly one BOS in front if the tokenizer uses one. A model without a template
    gets the texts separated by blank lines (`notes` says so). `tools` are told as the template tells them;
    ModelError where it does not.
    """
    if tools and not takes_tools(tokenizer):
        raise ModelError("The chat template of this model has no place for tools")
    return _ids(tokenizer, _render(tokenizer, list(messages), thinking=thinking, tools=tools))


def continuations(
    tokenizer: Any, request: Request, thinking: bool = False
) -> tuple[list[int], list[list[int]]]:
    """(prompt ids with the opening, ids of each choice after it); ModelError if a choice has no token.

    Prompt and choice are tokenised as one text and cut where the prompt's own ids end, as
    lm-evaluation-harness does, so that a choice has the tokens that it has in running text.
    """
    text = _render(tokenizer, list(request.messages), thinking=thinking) + request.opening
    bare = text.rstrip(" ")  # a space belongs to the word after it
    prompt = _ids(tokenizer, bare)
    choices = []
    for choice in request.choices:
        whole = _ids(tokenizer, text + choice)[len(prompt) :]
        choices.append(whole or tokenizer(choice, add_special_tokens=False)["input_ids"])
    if not all(choices):
        told = f"option {choices.index([]) + 1} of {len(choices)}"
        raise ModelError(f"The tokenizer makes no token of {told}, so it has no likelihood")
    return prompt, choices


def takes_tools(tokenizer: Any) -> bool:
    """Whether the chat template has a place for the functions that a model may call."""
    ask = [{"role": "user", "content": "x"}]
    parameters = {"type": "object", "properties": {}}
    named = {"name": "benchgen", "description": "benchgen", "parameters": parameters}
    tool = {"type": "function", "function": named}
    try:
        return bool(tokenizer.chat_template) and "benchgen" in _template(
            tokenizer, ask, True, tools=[tool]
        )
    except Exception:  # noqa: BLE001 - a template's own refusal
        return False


def thinks(tokenizer: Any) -> bool:
    """Whether the chat template has a switch for reasoning before the answer."""
    ask = [{"role": "user", "content": "x"}]
    return bool(tokenizer.chat_template) and _render(tokenizer, ask, thinking=True) != _render(
        tokenizer, ask
    )


def notes(tokenizer: Any) -> tuple[str, ...]:
    """What is done for this model's prompts that a reader of its scores should know."""
    if not tokenizer.chat_template:
        return ("no chat template: the prompt is the texts alone, separated by blank lines",)
    mark = "benchgen"
    ask = [{"role": "system", "content": mark}, {"role": "user", "content": "x"}]
    try:
        if mark in _template(tokenizer, ask, True):
            return ()
    except Exception:  # noqa: BLE001, S110 - a template's own refusal; what is done then is said below
        pass
    return ("the chat template has no system turn: its text opens the first user turn",)


def _ids(tokenizer: Any, text: str) -> list[int]:
    """The text's ids with exactly one BOS in front, if the tokenizer uses one."""
    ids: list[int] = tokenizer(text, add_special_tokens=False)["input_ids"]
    bos = tokenizer.bos_token_id
    if bos is None:
        return ids
    while ids[:2] == [bos, bos]:
        ids = ids[1:]
    adds_bos = tokenizer("a")["input_ids"][:1] == [bos]
    return [bos, *ids] if adds_bos and ids[:1] != [bos] else ids


def encode_row(
    tokenizer: Any, messages: Sequence[Message], completion: str
) -> tuple[list[int], list[int]]:
    """(input ids, labels) of a training row: the prompt as asked, then the completion and the end of turn.

    The prompt's labels are IGNORE; the end-of-turn token is learned and nothing follows it. The
    completion is tokenised on its own, as generated tokens are, so the prompt is a prefix of the row.
    """
    prompt = encode_prompt(tokenizer, messages)
    answer: list[int] = tokenizer(completion, add_special_tokens=False)["input_ids"]
    end = end_of_turn(tokenizer)
    while answer and answer[-1] == end:
        answer = answer[:-1]
    answer = [*answer, end]
    ids = prompt + answer
    assert ids[: len(prompt)] == prompt
    return ids, [IGNORE] * len(prompt) + answer


def end_of_turn(tokenizer: Any) -> int:
    """Id of the token that ends an answer: what the template writes after one, else the EOS token."""
    found = _end_written(tokenizer)
    found = tokenizer.eos_token_id if found is None else found
    if found is None:
        raise ModelError("The tokenizer has no end token, so no answer could end")
    return int(found)


def _end_written(tokenizer: Any) -> int | None:
    """Id of the special token that the template writes after an answer, if it does."""
    if tokenizer.chat_template:
        mark = "benchgen"
        text = _render(
            tokenizer,
            [{"role": "user", "content": "x"}, {"role": "assistant", "content": mark}],
            False,
        )
        tail = tokenizer(text.rpartition(mark)[2], add_special_tokens=False)["input_ids"]
        special = set(tokenizer.all_special_ids) | set(tokenizer.added_tokens_decoder)
        if tail and tail[0] in special:
            return int(tail[0])
    return None


def stop_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Every token id that ends an answer: the generation config's, the tokenizer's, the template's.

    None where no one knows any: then only the token limit ends an answer.
    """
    eos = model.generation_config.eos_token_id if model.generation_config else None
    listed = eos if isinstance(eos, list) else [eos]
    known = [*listed, tokenizer.eos_token_id, _end_written(tokenizer)]
    return frozenset(i for i in known if isinstance(i, int))


def _render(
    tokenizer: Any,
    messages: list[Message],
    for_answer: bool = True,
    *,
    thinking: bool = False,
    tools: Sequence[dict[str, Any]] = (),
) -> str:
    if not tokenizer.chat_template:
        return "\n\n".join(m["content"] for m in messages) + ("\n\n" if for_answer else "")
    system = len(messages) > 1 and messages[0]["role"] == "system"
    folded = messages
    if system:
        # Some templates have no system turn: its text then opens the first user turn.
        first, second, *rest = messages
        folded = [{**second, "content": f"{first['content']}\n\n{second['content']}"}, *rest]
    try:
        text = _template(tokenizer, messages, for_answer, thinking, tools)
        if not system or messages[0]["content"].strip() in text:
            return text
    except Exception as error:
        if not system:
            raise ModelError(f"The model's chat template failed: {error}") from error
    return _render(tokenizer, folded, for_answer, thinking=thinking, tools=tools)


def _template(
    tokenizer: Any,
    messages: list[Message],
    for_answer: bool,
    thinking: bool = False,
    tools: Sequence[dict[str, Any]] = (),
) -> str:
    told: dict[str, Any] = {"tools": list(tools)} if tools else {}
    return str(
        tokenizer.apply_chat_template(
            messages,
            tokenize=False,
            add_generation_prompt=for_answer,
            enable_thinking=thinking,
            **told,
        )
    )
