"""A chat in a terminal: a prompt with the keys of a shell; without a terminal each line is a message."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from benchgen.agent.reply import Reply
from benchgen.agent.session import Agent
from benchgen.agent.wording import how
from benchgen.errors import InputError
from benchgen.types import plain_line

PROMPT, MORE = "you> ", "...> "
LEAVE = ("exit", "quit")
PROGRESS_S = 5.0
"""Between two lines that say how far work is."""
REMEMBERED = 200


def talk(agent: Agent, say: Callable[[str], None], *, as_json: bool) -> int:
    """How many messages were answered, until their end; each answer is one JSON object with `as_json`.

    `say` puts a line beside the answers: what goes on meanwhile.
    """
    end = agent.on_event(_Progress(say))
    is_terminal = sys.stdin is not None and sys.stdin.isatty() and not as_json
    number = 0
    try:
        for text in _typed(agent, say) if is_terminal else _lines():
            _answer(agent, text, say, as_json=as_json)
            number += 1
    finally:
        end()
    return number


def _answer(agent: Agent, text: str, say: Callable[[str], None], *, as_json: bool) -> None:
    """Print the answer to one message; the keyboard ends the turn, not the chat."""
    try:
        reply = agent.send(text)
    except KeyboardInterrupt:
        say("stopped; runs and jobs that were started go on")
        return
    except InputError as error:
        if not as_json and sys.stdin.isatty():
            say(error.message)
            return
        raise
    _write(_json(reply) if as_json else shown(reply))


def shown(reply: Reply) -> str:
    """The answer as a terminal shows it: no character in it moves the cursor."""
    pages = [link for link in reply.links if link not in reply.text]
    text = "\n".join([reply.text, *pages])
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text) + "\n"


def _json(reply: Reply) -> str:
    told = {
        "text": reply.text,
        "intent": reply.intent,
        "arguments": reply.arguments,
        "plan": asdict(reply.plan) if reply.plan else None,
        "choices": list(reply.choices),
        "links": list(reply.links),
    }
    return plain_line(json.dumps(told, ensure_ascii=False, allow_nan=False))


def _write(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "replace").decode() + "\n")
    sys.stdout.flush()


def _lines() -> Iterator[str]:
    """Each line of standard input; InputError where that is no text."""
    if sys.stdin is None:
        return
    try:
        for line in sys.stdin:
            yield line.rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InputError(
            "standard input is no text", got=error.encoding, allowed="UTF-8", next="iconv -t utf-8"
        ) from error


def _typed(agent: Agent, say: Callable[[str], None]) -> Iterator[str]:
    """What a person types; a backslash at a line's end takes the next line with it."""
    _remember(agent)
    say(f"chat {agent.session}; `what can you do?` shows what to ask, `exit` leaves")
    for item in agent.waiting:
        say(how(item))
    while True:
        try:
            text = input(PROMPT)
            while text.endswith("\\"):
                text = f"{text[:-1]}\n{input(MORE)}"
        except EOFError:
            _write("")
            return
        if text.strip().lower() in LEAVE:
            return
        yield text


def _remember(agent: Agent) -> None:
    """The chat's messages under the arrow keys, as they were logged: without secrets."""
    with suppress(ImportError):
        import readline

        said = [str(event["text"]) for event in agent.events() if event["type"] == "user"]
        for text in said[-REMEMBERED:]:
            if "\n" not in text and text:
                readline.add_history(text)


class _Progress:
    """A line now and then that says how far work is."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._last = time.monotonic()

    def __call__(self, event: dict[str, Any]) -> None:
        now = time.monotonic()
        if event["type"] != "progress" or now - self._last < PROGRESS_S:
            return
        self._last = now
        words = f", {event['words']}" if event["words"] else ""
        self._say(f"{event['record']} {event['id']}: {event['done']} of {event['total']}{words}")
