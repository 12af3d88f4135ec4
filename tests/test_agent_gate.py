"""The gate of a chat: only the literal word confirms, once; anything else cancels; nothing else gets lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from benchgen.agent.gate import COSTLY, Held, Verdict, judge
from benchgen.agent.situation import Waiting
from benchgen.plan.gate import says_yes

CASES = Path(__file__).parent / "cases" / "chat.jsonl"
PLAN = Waiting("plan", "31", {"job_type": "lora", "epochs": 1})
MERGE = Waiting("merge", "4", {"job": 7, "name": "small"})
PREVIEW = Waiting("preview", "D9", {"name": "Metals", "n": 10})
BATCH = Waiting("batch", "W3", {"name": "Trees", "written": 150, "total": 180})
QUESTION = Waiting(
    "question", "Q1", {"options": ["publish it", "run a model on it", "leave it as a draft"]}
)
MODELS = Waiting("question", "Q2", {"options": ["Qwen/Qwen2.5-0.5B-Instruct", "smollm2_135m"]})
HOUR = 3600.0


def held(*items: Waiting, now: float = 0.0) -> Held:
    """What waits, oldest first, as it came."""
    found = Held()
    for item in items:
        found = found.add(item, now)
    return found


def said(text: str, state: Held, now: float = 1.0, changed: str = "") -> Verdict:
    return judge(text, state, now=now, expires_s=HOUR, changed=lambda _: changed)


# ------------------------------------------------------------------------------------------ yes


@pytest.mark.parametrize("word", ["yes", "Yes", "YES", " yes ", "yes\n", "\tyEs"])
@pytest.mark.parametrize("item", [PLAN, MERGE])
def test_the_word_alone_confirms_in_any_case(word: str, item: Waiting) -> None:
    found = said(word, held(item))
    assert (found.intent, found.item) == (f"confirm_{item.kind}", item)
    assert found.arguments == {item.kind: item.label}
    assert not found.cancelled


NOT_YES = """yes.|yes!|yes please|y|yep|ok|okay|sure|go|go ahead|do it|confirm|confirmed|start it|👍|no|nope
cancel|never mind|yes yes|yes, start|yеs|ｙｅｓ|sí|ja|oui|да|是|好的|"yes"|`yes`|yes?|ye s|yess|yes\u200b|not yes|..."""


@pytest.mark.parametrize("text", NOT_YES.replace("\n", "|").split("|"))
@pytest.mark.parametrize("item", [PLAN, MERGE])
def test_every_other_answer_cancels(text: str, item: Waiting) -> None:
    """An answer alone needs no brain: an agent that asks a model does not ask it about an `ok`."""
    found = said(text, held(item))
    assert found.cancelled == (item,)
    assert not found.intent.startswith("confirm")
    assert found.intent in ("cancel_plan", "")


@pytest.mark.parametrize("text", ["ok", "yes please", "👍", "no", "cancel the plan", "Yes!"])
def test_an_answer_and_nothing_else_is_a_cancellation(text: str) -> None:
    assert said(text, held(PLAN)).intent == "cancel_plan"
    assert said(text, held(PLAN)).arguments == {"plan": "31"}


@pytest.mark.parametrize(
    "text", ["same plan but 3 epochs", "what does rank mean?", "what is the status?", "run 1081"]
)
def test_a_request_or_question_goes_to_the_brain_and_still_cancels(text: str) -> None:
    found = said(text, held(PLAN))
    assert (found.intent, found.cancelled, found.agreed) == ("", (PLAN,), False)


@pytest.mark.parametrize("text", ["yes, and run solar on it after", "ok then run it on qwen"])
def test_an_agreement_with_more_behind_it_is_told_apart(text: str) -> None:
    """One confirmation never covers two steps: what follows may ask and change, not start."""
    found = said(text, held(PLAN))
    assert (found.intent, found.cancelled, found.agreed) == ("", (PLAN,), True)


def test_the_word_with_nothing_waiting_confirms_nothing() -> None:
    assert said("yes", Held()) == Verdict("nothing_pending")
    cancelled = held(PLAN).cancel(PLAN)
    assert said("yes", cancelled).intent == "nothing_pending"
    assert said("yes", cancelled).arguments == {"cancelled": "31"}


def test_the_word_a_second_time_names_the_job_of_the_first() -> None:
    state = held(PLAN).submit(PLAN, 10)
    found = said("yes", state)
    assert (found.intent, found.arguments) == ("already_done", {"plan": "31", "job": 10})


def test_a_plan_that_was_cancelled_since_hides_the_job_before() -> None:
    newer = Waiting("plan", "32")
    state = held(PLAN).submit(PLAN, 10).add(newer, 1.0).cancel(newer)
    assert said("yes", state).intent == "nothing_pending"


def test_a_plan_that_waited_too_long_is_shown_again_first() -> None:
    state = held(PLAN, now=0.0)
    assert said("yes", state, now=HOUR).intent == "confirm_plan"
    late = said("yes", state, now=HOUR + 1)
    assert (late.intent, late.cancelled) == ("replan", (PLAN,))
    assert "60 minutes" in late.why


def test_a_plan_whose_data_changed_since_is_shown_again_first() -> None:
    found = said("yes", held(PLAN), changed="the file has other rows")
    assert (found.intent, found.cancelled) == ("replan", (PLAN,))
    assert found.arguments == {"plan": "31", "reason": "the file has other rows"}
    told = Waiting("plan", "31", {"dataset_sha_at_plan": "aaa", "dataset_sha_now": "bbb"})
    assert said("yes", held(told)).intent == "replan"
    same = Waiting("plan", "31", {"dataset_sha_at_plan": "aaa", "dataset_sha_now": "aaa"})
    assert said("yes", held(same)).intent == "confirm_plan"


def test_one_yes_covers_one_of_several() -> None:
    """Two plans can wait where a chat was restored so; the newest is meant, the older falls."""
    state = Held((PLAN, MERGE))
    found = said("yes", state)
    assert (found.intent, found.item, found.cancelled) == ("confirm_merge", MERGE, (PLAN,))


def test_a_new_plan_takes_the_place_of_the_one_before() -> None:
    newer = Waiting("plan", "32")
    state = held(PLAN, newer)
    assert state.waiting == (newer,)
    assert said("yes", state).item == newer
    assert held(PLAN, MERGE).waiting == (MERGE,)


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_an_empty_message_cancels_too(text: str) -> None:
    found = said(text, held(PREVIEW, PLAN))
    assert (found.intent, found.cancelled) == ("ignore_or_cancel", (PLAN,))
    assert said(text, held(PREVIEW)).cancelled == ()


# ------------------------------------------------------------------------------------ a preview


@pytest.mark.parametrize(
    "text", ["Create it", "create it", "CREATE IT", " Create it.", "`Create it`"]
)
def test_create_it_creates_what_was_shown(text: str) -> None:
    found = said(text, held(PREVIEW))
    assert (found.intent, found.item) == ("confirm_create", PREVIEW)
    assert found.arguments == {"preview": "D9"}


@pytest.mark.parametrize(
    "text", ["create it but change q3", "create", "yes create it now with 20", "ok", "create it?"]
)
def test_nothing_else_creates(text: str) -> None:
    assert said(text, held(PREVIEW)).intent != "confirm_create"


def test_create_it_twice_names_the_benchmark_of_the_first() -> None:
    state = held(PREVIEW).create(PREVIEW, 22)
    assert said("Create it", state) == Verdict("already_done", arguments={"benchmark": 22})
    assert said("Create it", Held()).intent == "nothing_pending"


def test_an_older_preview_is_not_created_by_the_second_word() -> None:
    older = Waiting("preview", "D8")
    state = Held((older, PREVIEW)).create(PREVIEW, 22)
    assert said("create it", state).intent == "already_done"


def test_a_yes_does_not_create() -> None:
    found = said("yes", held(PREVIEW))
    assert (found.intent, found.item) == ("clarify", PREVIEW)
    assert found.arguments["missing"] == ["Create it"]


def test_creating_cancels_a_plan_that_waits() -> None:
    found = said("Create it", held(PREVIEW, PLAN))
    assert (found.intent, found.item, found.cancelled) == ("confirm_create", PREVIEW, (PLAN,))


def test_a_yes_to_a_plan_leaves_the_preview() -> None:
    state = held(PREVIEW, PLAN)
    found = said("yes", state)
    assert (found.intent, found.cancelled) == ("confirm_plan", ())
    assert state.submit(PLAN, 1).waiting == (PREVIEW,)


def test_create_it_is_no_word_for_a_plan() -> None:
    assert said("Create it", held(PLAN)).intent == "cancel_plan"
    assert said("continue", held(PLAN)).intent == "cancel_plan"


# -------------------------------------------------------------------------------------- a batch


@pytest.mark.parametrize("text", ["continue", "Continue", " continue. "])
def test_continue_goes_on(text: str) -> None:
    found = said(text, held(BATCH))
    assert (found.intent, found.arguments) == ("continue_batch", {"written": 150, "total": 180})


@pytest.mark.parametrize("text", ["go on", "Keep going, please", "weiter bitte", "继续"])
def test_other_words_go_on_too_unless_a_plan_waits(text: str) -> None:
    assert said(text, held(BATCH)).intent == "continue_batch"
    found = said(text, held(BATCH, PLAN))
    assert found.intent != "continue_batch"
    assert found.cancelled == (PLAN,)


def test_continue_with_nothing_to_go_on_with() -> None:
    assert said("continue", Held()).intent == "nothing_pending"
    assert said("continue", held(PREVIEW)).intent == "nothing_pending"


# ----------------------------------------------------------------------------------- a question

NUMBERED = {
    "2": 2, "2.": 2, "#2": 2, "(2)": 2, "option 2": 2, "number 2": 2, "two": 2, "Two!": 2, "the second one": 2,
    "second": 2, "2nd": 2, "the third option": 3, "3 please": 3, "the last one": 3, "1": 1, "first": 1, "２": 2,
    "I'd take the first one": 1, "die zweite": 2, "la segunda": 2, "第二个": 2, "go with 3": 3,
    "run a model on it": 2, "Run a model on it.": 2,
}  # fmt: skip


@pytest.mark.parametrize(("text", "number"), NUMBERED.items())
def test_a_question_is_answered_by_number_ordinal_or_text(text: str, number: int) -> None:
    found = said(text, held(QUESTION))
    assert (found.intent, found.arguments) == ("choose_option", {"option": number})


@pytest.mark.parametrize("text", ["4", "0", "-1", "99", "ten", "option 7"])
def test_a_number_out_of_range_is_asked_again(text: str) -> None:
    found = said(text, held(QUESTION))
    assert (found.intent, found.item) == ("clarify", QUESTION)
    assert found.arguments["options"] == 3


def test_what_follows_a_number_is_kept_for_later() -> None:
    found = said("one, then run the small qwen", held(QUESTION))
    assert (found.arguments, found.rest) == ({"option": 1}, "run the small qwen")


@pytest.mark.parametrize(
    "text",
    ["publish it", "leave it as draft", "what is 2?", "run 2", "2.5", "2 questions about tea"],
)
def test_what_is_a_request_of_its_own_goes_to_the_brain(text: str) -> None:
    assert said(text, held(QUESTION)).intent == ""


def test_the_text_of_an_option_is_enough() -> None:
    assert said("smollm2_135m", held(MODELS)).arguments == {"option": 2}
    assert said("qwen/qwen2.5-0.5b-instruct", held(MODELS)).arguments == {"option": 1}


def test_a_number_without_a_question_is_nothing_to_the_gate() -> None:
    assert said("2", Held()) == Verdict()
    assert said("2", held(PLAN)).cancelled == (PLAN,)


def test_a_number_answers_the_newest_question_and_cancels_a_plan() -> None:
    state = Held((MODELS, PLAN, QUESTION))
    found = said("3", state)
    assert (found.intent, found.item, found.cancelled) == ("choose_option", QUESTION, (PLAN,))


# ----------------------------------------------------------------------------------- all of them


def of_case(pending: Any) -> tuple[Waiting, ...]:
    """What a case says that waits."""
    items = pending if isinstance(pending, list) else [pending] if pending else []
    return tuple(
        Waiting(item["type"], item.get("id") or item["type"], dict(item)) for item in items
    )


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(c, id=c["id"])
        for c in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())
        if c["context"].get("pending")
        or c["context"].get("submitted_before")
        or c["context"].get("just_created")
    ],
)
def test_every_case_of_the_account_in_which_something_waits(case: dict[str, Any]) -> None:
    """Where the gate decides it says what the case wants; where it does not, it has cancelled first."""
    context = case["context"]
    before = context.get("submitted_before")
    state = Held(
        of_case(context.get("pending")),
        submitted=before or {},
        ended="submitted" if before else "",
        created=context.get("just_created"),
    )
    found = said(case["text"], state)
    wanted = {"confirm": ("confirm_plan", "confirm_merge", "confirm_create"), "cancel": ()}
    expected = case.get("expected")
    if expected == "confirm":
        assert found.intent in wanted["confirm"]
    elif expected == "cancel":
        assert found.cancelled
        assert not found.intent.startswith("confirm")
    if not case.get("contested") and found.intent:
        assert found.intent == case["intent"]
    waits = [w for w in state.waiting if w.kind in COSTLY]
    if found.intent.startswith("confirm") and waits:
        assert says_yes(case["text"])


TEXTS = st.one_of(
    st.text(max_size=40),
    st.sampled_from(
        ["yes", "Yes ", "yes.", "no", "Create it", "continue", "2", "one, then run it", "", "ok", "run 3 on x"]
    ),
)  # fmt: skip
ITEMS = st.lists(
    st.sampled_from([PLAN, MERGE, PREVIEW, BATCH, QUESTION, MODELS]), max_size=4, unique_by=id
)


@settings(max_examples=500)
@given(TEXTS, ITEMS, st.booleans())
@example("yes", [PLAN, PREVIEW], False)
@example("the " * 99, [QUESTION], False)
def test_no_text_in_no_state_confirms_without_the_word(
    text: str, items: list[Waiting], late: bool
) -> None:
    """No exception; a plan or merge is confirmed by the literal word only; no message leaves one waiting."""
    state = Held(tuple(items))
    found = said(text, state, now=2 * HOUR if late else 1.0)
    costly = {id(w) for w in items if w.kind in COSTLY}
    if found.intent in ("confirm_plan", "confirm_merge"):
        assert says_yes(text)
    if found.intent == "confirm_create":
        assert text.strip(" .!`'\"\n\t").casefold() == "create it"
    settled = {id(w) for w in found.cancelled}
    settled |= {id(found.item)} if found.intent.startswith("confirm_") else set()
    assert costly <= settled, "a plan is decided by the first message after it, whatever that is"
    left = state.drop(*found.cancelled)
    assert all(w.kind not in COSTLY or w is found.item for w in left.waiting)
