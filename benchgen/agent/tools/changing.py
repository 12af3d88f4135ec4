"""A preview changed as the person says: a new one to look at, and still nothing is created."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Waiting
from benchgen.agent.tools import drafts, words, writing
from benchgen.agent.tools.desk import Desk, asking, wrong
from benchgen.agent.turn import Turn
from benchgen.author.drafts import BY_MODEL, assignment, spec_of, write_draft
from benchgen.author.write import Draft, balance, report_of
from benchgen.errors import DataError, InputError, StateError
from benchgen.records.editing import changed, check_name
from benchgen.stages.writing import taken
from benchgen.types import LETTERS, Question

SPARE = 3
"""Questions asked for beside those that are needed, since some come out as ones that are there already."""


def revise(
    desk: Desk,
    turn: Turn,
    waiting: Waiting | None,
    edits: Sequence[Mapping[str, Any]],
    changes: Mapping[str, Any],
) -> Outcome:
    """The preview with the edits done and the changes asked for; it waits under its own label."""
    if waiting is None:
        return asking("No preview waits. Describe the benchmark first.", ["preview"])
    kept = drafts.read(desk.ws, str(waiting.told.get("draft") or waiting.label))
    if kept.benchmark is not None:
        text = (
            f"That preview is benchmark {kept.benchmark} already. A draft is changed with "
            f"`benchgen edit benchmark_id={kept.benchmark} question=3 change=…`."
        )
        return wrong("created already", text, benchmark=kept.benchmark)
    if not edits and not changes:
        return asking(
            "What should be changed? Say the question's number and what is right.", ["edits"]
        )
    if (refused := writing.over(int(changes.get("n") or 1))) is not None:
        return refused
    renamed = {key: value for key, value in changes.items() if key == "name"}
    anew = {key: value for key, value in changes.items() if key != "name"}
    grown = anew.pop("n", None) if set(anew) == {"n"} else None
    if anew:
        found = _anew(desk, turn, kept, {**anew, **renamed}, waiting)
        if not edits:
            return found
        note = "All of it is written again, so changes of single questions were not made: say them of these."
        return dataclasses.replace(found, text=words.paragraphs(note, found.text))
    try:
        draft = _edited(desk, kept.draft, edits)
        if grown is not None:
            draft = _sized(desk, draft, int(grown))
        if renamed:
            check_name(str(renamed["name"]))
            draft = dataclasses.replace(draft, name=str(renamed["name"]))
    except InputError as error:
        return wrong(
            words.line(error.what, 200), words.line(error.message, 400), preview=waiting.label
        )
    asked = {**kept.asked, **changes}
    found = writing.preview(
        desk, draft, asked, len(draft.questions), label=kept.label, write=kept.write
    )
    text = words.paragraphs(_done(draft, edits), found.text)
    return dataclasses.replace(found, text=text, arguments=_named(found.arguments, waiting))


def _anew(
    desk: Desk, turn: Turn, kept: drafts.Kept, changes: Mapping[str, Any], waiting: Waiting
) -> Outcome:
    """Written again with the change: another topic, kind, language or number of options."""
    asked = {**kept.asked, **changes}
    if "path" in asked and "grounded" not in asked:
        text = "These questions come from your file: they are changed one by one, or in the file."
        return wrong("a file's own questions", text, preview=waiting.label)
    asked.setdefault("topic", kept.draft.name)
    asked.setdefault("n", len(kept.draft.questions))
    if "grounded" in asked:
        return writing.from_document(desk, turn, asked)
    return writing.create(desk, turn, asked)


def _named(arguments: Mapping[str, Any], waiting: Waiting) -> dict[str, Any]:
    return {**arguments, "preview": waiting.label}


def _edited(desk: Desk, draft: Draft, edits: Sequence[Mapping[str, Any]]) -> Draft:
    """The draft with each edit done; InputError for a number that it lacks, DataError for what cannot be."""
    questions = list(draft.questions)
    gone: set[int] = set()
    for edit in edits:
        number = edit.get("q")
        if not isinstance(number, int) or not 1 <= number <= len(questions):
            raise InputError(
                f"the preview has no question {number}",
                got=number,
                allowed=f"1 to {len(questions)}",
            )
        if edit.get("remove"):
            gone.add(number)
        elif edit.get("replace") or set(edit) <= {"q", "change"}:
            questions[number - 1] = _another(desk, draft, questions, number)
        else:
            questions = changed(
                0, questions, number, _fields(questions[number - 1], edit), draft.evaluation
            )
    left = [q for place, q in enumerate(questions, 1) if place not in gone]
    if not left:
        raise InputError("a benchmark has 1 question at least", got=0)
    return _again(draft, left)


def _again(draft: Draft, questions: Sequence[Question]) -> Draft:
    """The draft with these questions; the letters stay as they are unless their number changed."""
    same = len(questions) == len(draft.questions)
    found = tuple(questions) if same else balance(questions, len(questions))
    report = {**draft.report, **report_of(found, ())} if not same else draft.report
    return dataclasses.replace(draft, questions=found, report=report)


def _fields(question: Question, edit: Mapping[str, Any]) -> dict[str, Any]:
    """What an edit says, as fields of the question."""
    fields: dict[str, Any] = {}
    if edit.get("prompt"):
        fields["prompt"] = str(edit["prompt"])
    if edit.get("options"):
        fields["choices"] = [str(option) for option in edit["options"]]
    if edit.get("answer") is not None:
        fields |= _answer(question, str(edit["answer"]), fields.get("choices"))
    if not fields:
        raise InputError(
            "that edit changes nothing", got=dict(edit), allowed="an answer, a prompt, options"
        )
    return fields


def _answer(question: Question, answer: str, choices: list[str] | None) -> dict[str, Any]:
    """The fields that make this the right answer."""
    if question.kind == "mcq":
        options = list(choices or question.choices)
        letter = answer.strip().upper()
        if len(letter) == 1 and letter in LETTERS[: len(options)]:
            return {"target": letter}
        found = [
            i for i, text in enumerate(options) if text.casefold() == answer.strip().casefold()
        ]
        if found:
            return {"target": LETTERS[found[0]]}
        right = LETTERS.index(
            question.target if isinstance(question.target, str) else question.target[0]
        )
        options[right] = answer.strip()  # a new option, in the place of the one that was right
        return {"choices": options, "target": LETTERS[right]}
    if question.kind == "numeric":
        return {"target": answer.replace(",", "")}
    if question.kind == "keypoints":
        return {"target": [part.strip() for part in answer.split(";") if part.strip()]}
    if question.kind == "tool":
        raise InputError("the calls of a tool question are edited in its file", got=answer)
    return {"target": [answer.strip()]}


def _another(desk: Desk, draft: Draft, questions: Sequence[Question], number: int) -> Question:
    """A new question in the place of this one, by the author who wrote the others."""
    old = questions[number - 1]
    found = _more(desk, draft, questions, 1)
    alike = [q for q in found if q.category == old.category]
    return (alike or found)[0]


def _sized(desk: Desk, draft: Draft, count: int) -> Draft:
    """The draft with so many questions: the first of them, or more by the same author."""
    if (refused := writing.over(count)) is not None:
        raise InputError(refused.text, got=count)
    have = draft.questions
    if count <= len(have):
        return _again(draft, have[:count])
    return _again(draft, [*have, *_more(desk, draft, have, count - len(have))])


def _more(desk: Desk, draft: Draft, there: Sequence[Question], count: int) -> list[Question]:
    """So many questions that are not there yet; StateError where no author of the draft can write more."""
    author = (draft.config.get("author") or {}).get("name")
    if not author or author == "file":
        raise StateError("no author here can write more of these", got=author or "an import")
    keys = frozenset(q.key for q in there) | taken(desk.ws.place)
    spec = writing.with_functions(desk, spec_of(draft.config))
    spec = dataclasses.replace(spec, exclude=[], mix={}, categories={}, seed=spec.seed + len(there))
    if author in BY_MODEL:
        spec = dataclasses.replace(spec, count=count + SPARE)
        found = desk.ws.go_on(desk.ws.begin(spec)).written().questions
    else:
        found = list(write_draft(dataclasses.replace(spec, count=count), keys).questions)
    new = [q for q in found if q.key not in keys][:count]
    if len(new) < count:
        raise DataError("the author found no more questions", got=len(new), allowed=count)
    return new


def _done(draft: Draft, edits: Sequence[Mapping[str, Any]]) -> str:
    """The changed questions in words."""
    lines = []
    for edit in edits:
        number = edit.get("q")
        if edit.get("remove"):
            lines.append(f"Question {number} is taken out.")
        elif isinstance(number, int) and number <= len(draft.questions):
            question = draft.questions[number - 1]
            lines.append(
                f"Question {number} is now: {words.line(question.prompt)} Right: {words.line(question.target_text)}."
            )
    return "\n".join(lines[:10])


# ---- looked at, not changed --------------------------------------------------------------------------


def shown(desk: Desk, waiting: Waiting | None, number: int) -> Outcome:
    """One question of the preview that waits, whole, with what makes its answer right."""
    if waiting is None:
        return asking("No preview waits. Describe the benchmark first.", ["preview"])
    kept = drafts.read(desk.ws, str(waiting.told.get("draft") or waiting.label))
    questions = kept.draft.questions
    if not 1 <= number <= len(questions):
        text = f"The preview has no question {number}: say a number from 1 to {len(questions)}."
        return wrong("no such question", text, preview=waiting.label, q=number)
    question = questions[number - 1]
    options = [
        f"- {letter}: {words.line(option, 300)}"
        for letter, option in zip(LETTERS, question.choices, strict=False)
    ]
    why = f"Because: {words.line(question.rationale, 600)}" if question.rationale else ""
    text = words.paragraphs(
        f"Question {number} of {len(questions)}: {words.line(question.prompt, 1000)}",
        "\n".join(options),
        f"Right: {words.line(question.target_text, 300)}. {why}".strip(),
        f"Nothing is created yet. Next: `Create it`, or what is to be changed, such as `replace question {number}`.",
    )
    return Outcome(text, {"preview": waiting.label, "q": number, "answer": question.target_text})


def so_far(desk: Desk, batch: Waiting, most: int | None = None) -> Outcome:
    """A preview of the questions that are written, where no more are wanted; the writing can still go on."""
    write = desk.ws.get_write(int(batch.told["write"]))
    if write.row.state == "finished":
        draft = write.draft()
    else:
        draft = assignment(write.spec).draft(write.written(), [])
    if most is not None and 0 < most < len(draft.questions):
        draft = _again(draft, draft.questions[:most])
    count = len(draft.questions)
    if not count:
        text = "Nothing is written yet, so there is nothing to show. Next: `continue` writes on."
        return wrong("nothing written", text, batch=batch.label, n=0)
    asked = {**dict(batch.told.get("asked") or {}), "n": count}
    found = writing.preview(desk, draft, asked, write.row.wanted)
    note = (
        f"These are {count} of the questions that are written, not seen by a second look yet. "
        f"`continue` still writes the others, up to {write.row.wanted}."
    )
    told = {**found.arguments, "batch": batch.label}
    return dataclasses.replace(found, text=words.paragraphs(note, found.text), arguments=told)
