r"""Scores one reply to one question: the same function in evaluation, re-scoring and as GRPO's reward.

Policy of this version
  1. Read once: NFKC, plain dashes, quotes and line ends, unseen characters out; full-width letters
     and circled letters are letters.
     Of a reply of over 200,000 characters the first and the last 100,000 are read.
  2. Reasoning blocks are no answer. An end tag alone closes a block that began before the reply;
     a block that never ends hides all after it.
  3. Text after an invented next question belongs to that question.
  4. The last explicit declaration wins ("Answer: X", "the answer is X", \boxed{X}, "I choose X",
     "wait, X", and the like in other languages); a firm one beats "so X" and "X is correct"; only
     without any, the reply's own line, bracketed label or option text counts. A correction ("no, X",
     "or rather X", "Correction: X") is a declaration. What is taken back ("that is wrong") is no answer.
  5. What a clause denies or excepts is not picked ("not B but C", "nicht B, sondern C", "anything but B",
     "rules out C, leaving D"). What is supposed ("if the answer is B") or somebody else's ("students may
     say the answer is B") is no declaration.
  6. Wrappers say nothing: bold, brackets, quotes, code, LaTeX, \boxed.
  7. Only the question's own labels count. A last declaration outside them, or of several where one is
     asked, is no answer (`out_of_set`, `several_labels`), whatever stands before it. Options with
     equal texts are equally right. A letter that looks like a label (Cyrillic В) is one where it stands
     as one, unless the reply has labels of that alphabet. "B -> C", "B | C" are two labels. An option's
     text stands for its label: whole, or as the longest and only one named. A label with another
     option's text is ambiguous.
  8. A short answer (qa) is right if the declared text, else the whole reply, its last line, or the end
     of a short last sentence "... is X" equals an accepted text; a mention in running text is not enough.
  9. A truncated reply counts only by a finished line that declares, with no second thought after it.
 10. A number (numeric) is read whole: in digits of any script, with thousands marks, units,
     currency, percent, fractions and powers. Integers and fractions are equal exactly, decimals within
     `rel_tol`; several values, a range, a formula that cannot be computed or an operation in words ("half
     of 42", "42 squared") are no answer.
 11. Calls (tool) are compared as a multiset, by name and by the JSON value of each argument; an argument
     that the target lacks is wrong. Calls in reasoning or in prose are not made. Nothing is computed. In all
     JSON numbers are exact, and a key that stands twice has no value.
 12. A key point (keypoints) is made where a sentence states it, undenied; its words are the evidence. A
     judge, where one is given, decides each point instead, and what it quotes must stand in the reply;
     what it does not plainly say is not measured.
 13. Strict: right, and in exactly the form asked for: a last line `Answer: X`, or X alone (form.py).
 14. Unmeasured is not wrong: a filter, an outage (finish_reason "error", or its message as the reply) or a
     crash of the scorer give correct = None. An empty or null reply that ended normally is wrong. In a
     submission made elsewhere all of these are wrong, so that leaving out an answer gains nothing.

As a Codabench scoring program: `python score.py [INPUT OUTPUT]` reads INPUT/ref/questions.jsonl and
INPUT/res/predictions.jsonl, writes OUTPUT/scores.json and OUTPUT/verdicts.jsonl (codabench.py).

Standard library only. Nothing here may import from outside this folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

if not __package__:  # run as a file, on Codabench: the folder becomes a package of its own name
    import types

    __package__ = "scoring_program"
    _package = types.ModuleType(__package__)
    _package.__path__ = [str(Path(__file__).resolve().parent)]
    sys.modules.setdefault(__package__, _package)

from . import form, keypoints, mcq, numeric, qa, reading, spelling, tool
from .verdict import Score, missed, unmeasured

__all__ = ["KINDS", "OPTIONS", "VERSION", "Score", "reward", "score"]

VERSION = "4"
"""`.dev` at the end marks a program that is not released; see released.json."""

KINDS: Mapping[str, Callable[..., Score]] = {
    "mcq": mcq.score,
    "qa": qa.score,
    "numeric": numeric.score,
    "tool": tool.score,
    "keypoints": keypoints.score,
}

OPTIONS: Mapping[str, tuple[str, ...]] = {
    "mcq": ("multi",),
    "qa": ("format", "keep_case", "keep_articles", "keep_punctuation"),
    "numeric": ("rel_tol", "abs_tol", "percent", "decimal", "units"),
    "tool": ("schema", "tools", "ordered"),
    "keypoints": ("judge", "question", "require", "threshold"),
}

_CUT = ("length", "max_tokens", "model_length")
_FILTERED = ("content_filter", "safety", "recitation")


def score(
    kind: str,
    *,
    reply: str | None,
    target: Any,
    choices: Sequence[str] | None = None,
    finish_reason: str | None = "stop",
    messages: Sequence[Mapping[str, Any]] | None = None,
    **options: Any,
) -> Score:
    """The verdict on one reply. ValueError for a kind or an option that this program does not have.

    `target`: mcq a label, or a list of them; qa an accepted text, or a list of them; numeric a number,
    also as text; tool the expected calls `[{"name", "arguments"}]`; keypoints the points. `messages`:
    if there is no reply, the last assistant message's text is it, and its calls are the reply's.
    """
    if kind not in KINDS:
        raise ValueError(
            f"kind {kind!r} is not scored by program version {VERSION}; it has {', '.join(KINDS)}"
        )
    if options and (unknown := sorted(set(options) - set(OPTIONS[kind]))):
        raise ValueError(
            f"kind {kind!r} has no option {', '.join(unknown)}; it has {', '.join(OPTIONS[kind])}"
        )
    if reply is None and messages:
        reply = _last_text(messages)
    if isinstance(reply, str):
        reply = reading.bounded(reply)
    arguments = {"truncated": finish_reason in _CUT, **options}
    if kind == "mcq":
        arguments["choices"] = choices or ()
    if kind == "tool" and messages:
        arguments["messages"] = messages
        reply = reply or ""  # a message that only calls has no text
    early = _without_answer(reply, finish_reason, may_be_empty="messages" in arguments)
    if early is not None:
        return early
    assert isinstance(reply, str)
    try:
        verdict = _explained(KINDS[kind](reply, target, **arguments), reply)
        return _with_form(verdict, kind, reply, target, arguments)
    except Exception as error:  # noqa: BLE001 - a crash of the scorer says nothing about the model
        return unmeasured("error", f"scorer_crash: {type(error).__name__}")


def reward(
    completions: Sequence[Any],
    target: Sequence[Any],
    kind: Sequence[str] | str = "mcq",
    choices: Sequence[Sequence[str] | None] | None = None,
    **columns: Any,
) -> list[float | None]:
    """A reward in [0, 1] for each completion, None for one that was not scored; for trl's GRPO.

    Completions are texts or lists of chat messages. Columns named as options (`multi`, `format` …) or
    `finish_reason` hold one value a completion; other columns are not looked at.
    """
    rewards: list[float | None] = []
    for i, completion in enumerate(completions):
        name = kind if isinstance(kind, str) else kind[i]
        known = ("finish_reason", *OPTIONS.get(name, ()))
        given = {column: columns[column][i] for column in known if column in columns}
        is_text = isinstance(completion, str)
        options = {column: value for column, value in given.items() if value is not None}
        verdict = score(
            name,
            reply=completion if is_text else _last_text(completion),
            messages=None if is_text else completion,
            target=target[i],
            choices=choices[i] if choices is not None else None,
            **options,
        )
        rewards.append(verdict.value)
    return rewards


def _without_answer(
    reply: object, finish_reason: str | None, *, may_be_empty: bool
) -> Score | None:
    """The verdict on what cannot hold an answer, None for a reply that may."""
    if finish_reason == "error":
        return unmeasured("error", "not_answered")
    if finish_reason in _FILTERED:
        return unmeasured("refused", "by_filter")
    if reply is None:
        return missed("empty", "no_reply")
    if not isinstance(reply, str):
        return unmeasured("error", "reply_not_text")
    if may_be_empty:
        return None
    if not reply.strip() or (not reply.isascii() and not spelling.normalised(reply).strip()):
        if finish_reason in _CUT:
            return missed("truncated", "no_text")
        return missed("empty", "no_text")
    return None


def _explained(verdict: Score, reply: str) -> Score:
    """The verdict, with an outage or a refusal told from an answer that could not be read."""
    if verdict.status not in ("ok", "no_answer", "ambiguous"):
        return verdict
    if len(reply) <= 300 and reading.outage(
        spelling.normalised(reply), surely=verdict.correct is True
    ):
        return unmeasured("error", "outage_text")
    if verdict.status == "ok":
        return verdict
    if verdict.status == "no_answer" and reading.refused(spelling.normalised(reply[:500])):
        return missed("refused", "by_model")
    return verdict


def _with_form(
    verdict: Score, kind: str, reply: str, target: Any, arguments: Mapping[str, Any]
) -> Score:
    """The verdict, strictly right too if the reply is in form."""
    if not verdict.correct:
        return verdict
    several = bool(arguments.get("multi")) or isinstance(target, (list, tuple, set, frozenset))
    as_written = kind != "tool" or not verdict.reason  # tool.NOT_EXACT
    in_form = (as_written and not arguments["truncated"]) and (
        _calls_natively(arguments.get("messages"))
        or form.followed(
            kind,
            reply,
            target,
            arguments.get("choices", ()),
            several=several,
            as_json=arguments.get("format") == "json",
        )
    )
    if not in_form:
        return verdict
    told = (verdict.correct, verdict.value, verdict.extracted, verdict.status, verdict.reason)
    return Score(*told, strict=True)


def _calls_natively(messages: Any) -> bool:
    """Whether the last message holds its calls beside its text, as an endpoint gives them."""
    return (
        bool(messages)
        and isinstance(messages[-1], Mapping)
        and bool(messages[-1].get("tool_calls"))
    )


def _last_text(messages: Any) -> str | None:
    """The text of the last assistant message; None if there is none."""
    if not isinstance(messages, (list, tuple)):
        return None
    for message in reversed(messages):
        if not isinstance(message, Mapping) or message.get("role", "assistant") != "assistant":
            continue
        content = message.get("content")
        if isinstance(content, (list, tuple)):
            parts = [part.get("text") for part in content if isinstance(part, Mapping)]
            content = "".join(part for part in parts if isinstance(part, str))
        return content if isinstance(content, str) else None
    return None


if __name__ == "__main__":
    from .codabench import main

    if len(sys.argv) not in (1, 3):
        sys.exit("usage: python score.py [INPUT OUTPUT]")
    sys.exit(main(sys.argv[1:]))
