"""What a message means while something waits: another plan, an edited preview, one of the options."""

from __future__ import annotations

import re
from typing import Any

from benchgen.agent.rules import planned, training
from benchgen.agent.rules.creating import described, levels, limited, named
from benchgen.agent.rules.marks import FILE, HUB, MODEL, QUOTE
from benchgen.agent.rules.numbers import WORDS, fold, sequence
from benchgen.agent.rules.reading import Reading
from benchgen.agent.rules.references import job_ids, made_model, model_arguments, run_ids
from benchgen.agent.rules.settings import settings
from benchgen.agent.situation import Waiting, Wish

_SHOW = "the updated plan, wait for a new yes"
"""What a changed plan calls for."""


def last_of(reading: Reading, *kinds: str) -> Waiting | None:
    """The newest thing of these kinds that waits."""
    return next((w for w in reversed(reading.situation.waiting) if w.kind in kinds), None)


# ------------------------------------------------------------------------------------ question


def choice(reading: Reading) -> Wish | None:
    """One of the options of the question that waits, by number, place or name; None if none is chosen."""
    waiting = last_of(reading, "question")
    if waiting is None:
        return None
    options = [str(o) for o in waiting.told.get("options", ())]
    if several := _places(reading, len(options)):
        return Wish("clarify", {"missing": ["option"], "option": several})
    number = _place(reading, len(options)) or _number_word(reading)
    if number is None:
        return _by_word(reading, options)
    arguments: dict[str, Any] = {"option": number}
    if reading.situation.last_benchmark is not None:
        arguments["benchmark"] = reading.situation.last_benchmark
    if then := reading.find(r"\b(?:then|and|,|after)\b.*?\b(EVAL|PUBLISH|RERUN)\b"):
        arguments["then"] = "publish" if then[1] == "PUBLISH" else "run"
    arguments |= model_arguments(reading.of_kind(MODEL))
    if "model" not in arguments and (made := made_model(reading)):
        arguments["model"] = made
    if arguments.get("then") != "run":
        return Wish("choose_option", arguments)
    run = {k: v for k, v in arguments.items() if k in ("benchmark", "model", "model_candidates")}
    return Wish("choose_option", arguments, (Wish("run_benchmark", run),))


def _places(reading: Reading, options: int) -> list[int]:
    """The options where the message is two or more numbers and nothing else: `1 and 2`, `2, 3`."""
    if not reading.has(
        r"^(?:(?:OPTION|please|a|#) )*(?:ORD)?\d(?: (?:,|and|or|\+|/)+ (?:(?:OPTION|a|#|,|and) )*(?:ORD)?\d)+(?: (?:please|\.|!|one))*$"
    ):
        return []
    found = [int(match[1]) for match in reading.all(r"(\d)\b")]
    return found if all(1 <= number <= options for number in found) else []


def _number_word(reading: Reading) -> int | None:
    """The number that the whole message is, in any language."""
    words = [fold(word) for word in re.findall(r"[^\W\d_]+", reading.text[:40])]
    for language in WORDS if len(words) == 1 else ():
        if (found := sequence(words, language)) and found[0] < 20:
            return found[0]
    return None


def _place(reading: Reading, options: int) -> int | None:
    """The number of the option chosen, if the message begins with one."""
    match = reading.find(
        r"^(?:(?:please|a|you|WANT|it|OPTION|number|#|no|let|go|with|i|ll|will|take|IMPORT|'|:|\(|pick|choose|say|EVAL|choice|ok|of|answer|ANSWER|QUESTION|nr|num|numero|nummer|opcion|variante|one|CREATE|\") )*(?:ORD(\d)|(\d{1,2})|LAST)(?![\w.]*\d)(?: (?:one|OPTION|a|please|of|it|\)|\.|!|choice))*(?P<rest>.*)"
    )
    if reading.has(r"^(?:please )?one(?: ?$| [,.!;)]| then| please)"):
        return 1
    if not match:
        return None
    rest = match["rest"]
    if re.search(r"^ ?(?:QUESTION|EPOCH|STEP|ROW|MCQ|LINE|RUN|BENCHMARK|JOB|MORE)\b", rest):
        return None
    if match[1] is None and match[2] is None:
        return options or None
    number = int(match[1] or match[2])
    if rest.strip(" .,!") and number > options:
        return None
    return number


def _by_word(reading: Reading, options: list[str]) -> Wish | None:
    """An option that is named: `the publish one`; leaving a draft has its own intent."""
    kept = leave(reading)
    if kept:
        return kept
    text = " ".join(re.findall(r"\w+", reading.text.lower()))
    for number, option in enumerate(options, 1):
        if text and text == " ".join(re.findall(r"\w+", option.lower())):
            arguments: dict[str, Any] = {"option": number}
            if reading.situation.last_benchmark is not None:
                arguments["benchmark"] = reading.situation.last_benchmark
            return Wish("choose_option", arguments)
    return None


def leave(reading: Reading) -> Wish | None:
    """A draft that is to stay one; None if that is not said."""
    if not reading.has(r"\bKEEP\b|\bDRAFT\b|not (?:\S+ ){0,2}?PUBLISH|\blater\b|\blatter\b"):
        return None
    draft = reading.situation.last_benchmark
    stays = reading.has(
        r"\bKEEP\b.*\b(?:DRAFT|it|as)\b|\bDRAFT\b.*\bKEEP\b|not (?:\S+ ){0,2}?PUBLISH|^(?:\S+ )?KEEP|\bstays?\b"
    )
    question = last_of(reading, "question") is not None
    if reading.has(r"\b(?:EVAL|CREATE|PLAN|DELETE)\b") or not (
        stays or (question and reading.has(r"\bDRAFT\b|\blater\b|KEEP"))
    ):
        return None
    if draft is None and not question and not reading.has("DRAFT"):
        return None
    return Wish("leave_draft", {"benchmark": draft} if draft is not None else {})


# ---------------------------------------------------------------------------------------- plan


def revised_plan(reading: Reading) -> Wish | None:
    """The plan that waits with something changed; None if nothing of it is to change."""
    waiting = last_of(reading, "plan", "merge")
    said = reading.has(
        r"SAME (?:\S+ )?PLAN|PLAN (?:\S+ )?(?:SAME|again)|(?:CHANGE|updated?|NEXT|new|WANT) (?:a )?PLAN"
    )
    if waiting is None:
        if said and (changed := _changes(reading)):
            return Wish("clarify", {"missing": ["plan"], "wish": "revise_plan", **changed})
        return None
    if (
        reading.has(
            r"\b(?:EVAL|COMPARE|PUBLISH|LOGS|CREATE|BENCHMARK|HOWMANY|DELETE|SHOW|STATUS|RESUME|ROW|EXPLAIN|MERGE)\b"
        )
        and not said
    ):
        return None
    if _is_question(reading) or _is_new_plan(reading):
        return None
    changed = {**_scaled(reading, waiting), **_changes(reading)}
    if waiting.kind == "merge":
        changed = _merge_changes(reading)
    if not changed:
        return None
    return Wish("revise_plan", {"plan": waiting.label, **changed, "show": _SHOW})


def asked_of_plan(reading: Reading) -> Wish | None:
    """`launch`, or a question about the plan that waits: it is given up, and answers; None of anything else."""
    waiting = last_of(reading, "plan", "merge")
    if waiting is None or run_ids(reading) or reading.of_kind(MODEL):
        return None
    if reading.has(
        r"^(?:(?:and|you|please|then|let) )*(?:EVAL|RERUN)(?: (?:it|you|a|please|TRAIN|PLAN|JOB|!|\.))*$"
    ):
        return cancelled(reading)
    if _changes(reading) and not _is_question(reading):
        return None
    return planned.asked(reading, waiting)


def _is_question(reading: Reading) -> bool:
    """Whether the message only asks: what would 3 epochs cost?"""
    return reading.has(r"\?$|\? $|^(?:WHAT|WHY|HOW|HOWMANY|EXPLAIN)\b") and not reading.has(
        r"\b(?:CHANGE|MAKE|SAME|instead|you|about|ABOUT)\b"
    )


def _is_new_plan(reading: Reading) -> bool:
    """Whether another training is asked for rather than this one changed."""
    if reading.has(
        r"^(?:\S+ ){0,3}PLAN (?:\S+ ){0,2}?(?:GRPO|LORA|from RUN)|^(?:\S+ ){0,2}MERGE\b"
        r"|^(?:\S+ ){0,2}CONTINUE (?:a )*(?:JOB|ADAPTER|TRAIN|@model)"
    ):
        return True
    fresh = reading.has(r"^(?:\S+ ){0,3}(?:PLAN|TRAIN|LORA|GRPO)\b") and not reading.has(
        r"\b(?:SAME|CHANGE|instead|updated?)\b"
    )
    return fresh and (
        bool(run_ids(reading))
        or bool(reading.of_kind(HUB, FILE))
        or reading.has(r"\bGRPO\b|\bLORA\b")
    )


_SCALED = {
    "epochs": "EPOCH",
    "max_steps": "STEP",
    "rank": "RANK",
    "learning_rate": "LR",
    "batch_size": "BATCH",
}
_FACTORS = ((r"(?:doubled?|twice|verdoppel\w*)", 2.0), (r"(?:half|halve|halved|halbier\w*)", 0.5))


def _scaled(reading: Reading, waiting: Waiting) -> dict[str, Any]:
    """Values of the plan that are to be doubled or halved."""
    found: dict[str, Any] = {}
    for name, concept in _SCALED.items():
        shown = waiting.told.get(name)
        for words, factor in _FACTORS:
            if isinstance(shown, int | float) and reading.has(
                rf"\b{words}(?: (?:a|as|many|it|number|of))* {concept}\b"
            ):
                value = shown * factor
                found[name] = int(value) if float(value).is_integer() else value
    return found


def _changes(reading: Reading) -> dict[str, Any]:
    """The arguments of a plan that the message gives."""
    changed = settings(reading)
    if reading.of_kind(MODEL) or reading.has(r"\bBASE\b"):
        changed |= training.base_model(reading)
    if reading.of_kind(FILE, HUB):
        changed["dataset"] = reading.of_kind(FILE, HUB)[0].value
    if reading.has(r"\bMODE\b") or (
        reading.has(r"\bDISTILL\b|\bFAILURES\b")
        and reading.has(r"SAME|CHANGE|instead|IMPORT|MAKE|with")
    ):
        changed["mode"] = training._mode(reading)
    if runs := run_ids(reading):
        changed["run"] = runs[0]
    return changed


def _merge_changes(reading: Reading) -> dict[str, Any]:
    """A merge's other name."""
    name, _ = named(reading)
    quotes = reading.of_kind(QUOTE)
    if not name and quotes:
        name = str(quotes[-1].value)
    if not name and reading.has(r"\bNAME\b|\binto\b|CHANGE|instead"):
        name = training._as_name(reading)
    return {"name": name} if name else {}


def cancelled(reading: Reading) -> Wish:
    """Nothing else is asked while a plan waits: it is given up; a question is one about it."""
    waiting = last_of(reading, "plan", "merge")
    if waiting is None:
        return Wish("cancel_plan")
    about = planned.topics_of(reading) or ["short"] if planned.asks(reading) else []
    return Wish("cancel_plan", {"plan": waiting.label, **({"about": about} if about else {})})


# ------------------------------------------------------------------------------------- preview

_QUESTIONS = r"(?:QUESTION|q)(?: (?:#|number|no|nr|num|\.|s|:))* (\d+)((?: (?:(?:,|and) )+\d+(?! QUESTION))*)"
_ONE = r"\b(?:ORD(\d+) one|(?:number|no|#) (\d+)(?= (?:is|has|should|must)\b))"
"""A question of the preview that waits, not called one: the third one, number 3 is."""
_LONGEST_RANGE = 200
_KEPT = {"keep": True}
"""Of a question that is spoken of and stays."""
_STAYS = re.compile(
    r"^ ?(?:(?:is|are|looks?|seems?|s|'|’) )+(?:fine|good|great|perfect|ok|you|correct|right|nice|IMPROVED)(?: ?$| ?[,.;!])"
)
_ANSWER_CHARS = 60
"""A longer text for a question is its prompt, not its answer."""
_SAID = re.compile(
    r"^(?: (?:'|’|s|is|a|one|FAILURES|:|,|it's|it|-|>))*? (?:should be|must be|into|to|is|be|=|:|->|- >|it's) (?!FAILURES|LOW|FAIL|MIXUP|a\b|MORE|HARD|EASY|ALL|not\b|of\b|about|ABOUT|it\b|it's|too\b|so\b|very\b|really\b|quite\b|kind\b|rubbish|garbage|nonsense|boring|unclear|ambiguous|silly|pointless|useless|unfair|misleading|outdated|trivial|duplicate|repeated|vague|fine\b|good\b|ok\b)(\S.*)"
)
_ACTIONS = re.compile(r"\b(?:DELETE|REPLACE|ANSWER|CHANGE|QUESTION \d|RENAME|NAME|MAKE)\b")


def asked_of_preview(reading: Reading) -> Wish | None:
    """One question of the preview that waits, to be seen whole; None if none is asked about."""
    waiting = last_of(reading, "preview")
    found = [int(match[1]) for match in reading.all(_QUESTIONS)]
    if waiting is None or len(found) != 1 or run_ids(reading) or job_ids(reading):
        return None
    asks = reading.has(
        r"^(?:(?:and|but|you|please|,|a) )*(?:WHAT|WHY|HOW|SHOW|EXPLAIN|TELL|is|are|does|which)\b|\? ?$"
    )
    if not asks or reading.has(
        r"\b(?:DELETE|REPLACE|CHANGE|MAKE|RENAME|CREATE|HARD|EASY)\b|\bshould be\b|\bmust be\b|\binto\b|->"
    ):
        return None
    return Wish("explain", {"preview": waiting.label, "q": found[0]})


def revised_preview(reading: Reading) -> Wish | None:
    """The preview that waits with something changed; None if nothing of it is to change."""
    waiting = last_of(reading, "preview")
    if waiting is None or reading.has(r"^(?:WHAT|HOW|WHY|HOWMANY|are|is|does|do)\b"):
        return None
    edits = _edits(reading)
    if not edits and (_is_new_benchmark(reading) or _of_others(reading)):
        return None
    spans = [m.span() for m in reading.all(_QUESTIONS)]
    rest = reading.without(*spans) if spans else reading
    changed = (
        {}
        if edits and not reading.has(r"\b(?:NAME|RENAME|EASY|HARD|OPTION|LANG_\w+)\b")
        else _spec_changes(rest)
    )
    if not edits and not changed:
        return None
    if (
        not edits
        and not _whole(reading)
        and not reading.has(
            r"\b(?:MAKE|CHANGE|RENAME|NAME|REPLACE|MORE|CONTINUE|only|instead|WANT|with|EASY|HARD|into|LANG_\w+|CREATE|OPTION|SAME|DELETE|IMPORT|fewer|less|but|QUESTION)\b"
        )
    ):
        return None
    if refused := limited(changed):
        return refused
    if any(edit.get("change") in ("harder", "easier") for edit in edits):
        changed.pop("difficulty", None)
    given: dict[str, Any] = {"preview": waiting.label, **changed}
    if edits:
        given["edits"] = edits
    return Wish("revise_preview", given)


def _whole(reading: Reading) -> bool:
    """Whether the message is a number of questions and nothing else: `15 please`, `half as many`."""
    number = (
        r"^(?:(?:please|you|just|only|a|it|but) )*\d{1,4}(?: (?:please|QUESTION|instead|it|!|\.))*$"
    )
    return reading.has(number) or any(reading.has(_times(words)) for words, _ in _FACTORS)


def _times(words: str) -> str:
    """Half as many, twice the questions, double it."""
    return rf"\b{words}(?: (?:a|as|into|many|of|number|it|QUESTION|BENCHMARK))+(?= ?(?:$|please|[,.!]))"


def _of_others(reading: Reading) -> bool:
    """Whether the message asks for something to be done with other records than what waits: a run, a job, a model."""
    if run_ids(reading) or job_ids(reading):
        return True
    verbs = "EVAL|RERUN|TRAIN|LORA|GRPO|DISTILL|MERGE|PLAN|COMPARE|PUBLISH|STATUS|LOGS|RESUME"
    return bool(reading.of_kind(MODEL, HUB)) and reading.has(rf"\b(?:{verbs})\b")


def created_and(reading: Reading) -> Wish | None:
    """The question for a plain `Create it`, where the message says it with more words around it."""
    waiting = last_of(reading, "preview")
    if waiting is None or not reading.has(
        r"^(?:(?!not\b|WHY|WHAT|HOW|can\b|does|is\b)\S+ ){0,5}CREATE it\b"
    ):
        return None
    if re.fullmatch(r"\W*create\s+it\W*", reading.text, re.IGNORECASE):
        return None  # the gate's own word: a brain that meets it has nothing to do
    return Wish("clarify", {"missing": ["Create it"], "preview": waiting.label})


def _is_new_benchmark(reading: Reading) -> bool:
    """Whether another benchmark is asked for rather than this one changed: so many questions on a topic of their own."""
    begins = reading.has(
        r"^(?:(?:please|you|and|a|also|then|WANT|,) )*(?:CREATE|MAKE|WANT)(?: (?:me|a|another|new))* (?:\d+|BENCHMARK|MCQ|QA|NUMERIC|TOOL|KEYPOINTS)\b"
    )
    if not begins or reading.has(r"\b(?:MORE|CHANGE|instead|REPLACE|RENAME|add|FRESH)\b"):
        return False
    found = described(reading)
    return "n" in found and "topic" in found and reading.has(r"\b(?:about|ABOUT|on|TOPIC)\b")


def _spec_changes(reading: Reading) -> dict[str, Any]:
    """What is said of the whole benchmark."""
    found = described(reading)
    if "n_options" in found and not reading.has(r"\b(?:MCQ)\b"):
        found.pop("kind", None)
    if found.get("language") == reading.language and not reading.has("LANG_"):
        found.pop("language", None)
    if "topic" in found and not reading.has(r"\b(?:about|ABOUT|ABOUTED|TOPIC|on)\b"):
        del found["topic"]
    waiting = last_of(reading, "preview")
    if reading.has(r"\d (?:of )?ROW\b") and not reading.has(
        r"\b(?:MAKE|WANT|only|just)\b.*\d ROW\b"
    ):
        found.pop("n", None)
    for words, factor in _FACTORS:
        if waiting and isinstance(waiting.told.get("n"), int) and reading.has(_times(words)):
            found["n"] = max(1, int(waiting.told["n"] * factor))
            return found
    number = found.get("n")
    if (
        number is not None
        and waiting
        and reading.has(r"\d (?:\S+ )?MORE|MORE QUESTION|add")
        and isinstance(waiting.told.get("n"), int)
    ):
        found["n"] = waiting.told["n"] + number
    return found


def _edits(reading: Reading) -> list[dict[str, Any]]:
    """The changes of single questions, in their order."""
    matches = list(reading.all(_QUESTIONS))
    waiting = last_of(reading, "preview")
    if several := _range(reading):
        return several
    if not matches and waiting and reading.has(r"DELETE (?:a )?LAST QUESTION"):
        return [{"q": waiting.told["n"], "remove": True}] if "n" in waiting.told else []
    if not matches and waiting and (one := next(reading.all(_ONE), None)):
        before, after = reading.plain[: one.start()], reading.plain[one.end() :]
        change = _change(reading, before, after, one.end(), len(reading.plain))
        return [{"q": int(one[1] or one[2]), **change}] if change and change != _KEPT else []
    found: list[tuple[list[int], dict[str, Any]]] = []
    for at, match in enumerate(matches):
        end = matches[at + 1].start() if at + 1 < len(matches) else len(reading.plain)
        before = reading.plain[matches[at - 1].end() if at else 0 : match.start()]
        after = reading.plain[match.end() : end]
        change = _change(reading, before, after, match.end(), end)
        found.append(([int(match[1]), *map(int, re.findall(r"\d+", match[2]))], change))
    changes = [change for _, change in found]
    told = [change for change in changes if change and change != _KEPT]
    edits = []
    for at, (numbers, change) in enumerate(found):
        near = [*changes[at + 1 :], *reversed(changes[:at])]
        shared = change or next((c for c in near if c in told), {})
        edits += [{"q": number, **shared} for number in numbers if shared and shared != _KEPT]
    return edits


def _range(reading: Reading) -> list[dict[str, Any]]:
    """The questions from one to another that are to go or to be replaced: delete questions 1 to 3."""
    match = reading.find(
        r"\b(DELETE|REPLACE)\b.*\bQUESTION (\d+) (?:to|-|–|through|into|bis|until|a|у|до) (\d+)\b"
    )
    if match is None or not 0 < int(match[3]) - int(match[2]) < _LONGEST_RANGE:
        return []
    change = {"remove": True} if match[1] == "DELETE" else {"replace": True}
    return [{"q": number, **change} for number in range(int(match[2]), int(match[3]) + 1)]


def _change(reading: Reading, before: str, after: str, start: int, end: int) -> dict[str, Any]:
    """What is to be done with a question."""
    if answer := _answer(reading, before, start, end):
        asked = re.search(r"(?:into|to|:) (@quote\d+)(?=.* ANSWER)", after)
        return {**({"prompt": reading.marks[asked[1]].value} if asked else {}), "answer": answer}
    near = before.rsplit(",", 1)[-1]
    if _STAYS.search(after) or re.search(r"(?<!not )\bKEEP(?: (?:a|it))* $", near):
        return _KEPT
    if re.search(r"\bDELETE\b|not (?:\S+ )?KEEP|without", near) or re.search(
        r"^ ?(?:\S+ ){0,3}?(?:DELETE|out\b)", after
    ):
        return {"remove": True}
    if re.search(r"\bREPLACE\b|another|different|new", near + after):
        if quote := re.search(r"(?:with|by|into|:) (@quote\d+)", after):
            return {"prompt": reading.marks[quote[1]].value}
        return {"replace": True}
    if wanted := levels(near + after, reading.language):
        return {"change": "harder" if "hard" in wanted else "easier"}
    if quote := re.search(r"(?:into|to|:|with|be|is) (@quote\d+)", after):
        value = str(reading.marks[quote[1]].value)
        return {"prompt" if value.endswith("?") or len(value) > _ANSWER_CHARS else "answer": value}
    if said := _SAID.search(after):
        return {"answer": _value(reading, start + said.start(1), start + said.end(1))}
    text = re.sub(
        r"^(?:and|und|y|et|e|,)\s*|\s*(?:and|und|y|et|e)$",
        "",
        reading.written(start, end).strip(" ,.:;-–"),
    )
    return (
        {"change": text[:500]} if text else {"replace": True} if re.search("CHANGE", near) else {}
    )


def _answer(reading: Reading, before: str, start: int, end: int) -> str:
    """The new answer of a question: after `the answer should be`, or `answer of q3 to`."""
    stretch = reading.plain[start:end]
    if re.search(r"\bANSWER\b", before.rsplit(",", 1)[-1] + stretch) and (
        should := re.search(r"(?:should|must|needs? to|ought to|has to) be (?!ANSWER)(.+)", stretch)
    ):
        return _value(reading, start + should.start(1), start + should.end(1))
    link = r"(?:should|must|is|be|are|into|to|=|:|with|a|CHANGE|not|in|as|you|muss|soll|sein|ist|devrait|etre|debe|ser|deve|essere|должен|быть|ha|doit|sea|actually|really|было|it)"
    pattern = rf"ANSWER(?: {link})* (.+)"
    if re.search(r"\bANSWER\b", before.rsplit(",", 1)[-1]) and not re.search("ANSWER", stretch):
        pattern = rf"^(?: {link})+ (.+)"
    elif re.search(r"^ ?(?:\S+ ){0,2}?:? ?[a-h](?: ?$| [,.])", stretch) and not re.search(
        "ANSWER", stretch
    ):
        pattern = r"(?:into|to|:|is|be) ([a-h])(?= ?$| [,.])"
    match = re.search(pattern, stretch)
    if not match:
        return ""
    return _value(reading, start + match.start(1), start + match.end(1))


def _value(reading: Reading, found_start: int, found_end: int) -> str:
    """The answer that begins here, up to a sign or the next request."""
    value = reading.plain[found_start:found_end]
    if quote := re.match(r"(@quote\d+)", value):
        return str(reading.marks[quote[1]].value)
    cut = re.search(
        r" (?:[,;\n]|\.(?= |$)|please|and (?:DELETE|CHANGE|REPLACE|MAKE|RENAME|QUESTION|CREATE)|and(?= ?$)|then|instead|not\b|sein(?= )|lauten(?= )|CREATE)",
        value + " ",
    )
    found_end = found_start + cut.start() if cut else found_end
    text = reading.written(found_start, found_end).strip(" \"'.,;:!?")
    return re.sub(r"\s(?:and|und|y|et|e|и)$", "", text)
