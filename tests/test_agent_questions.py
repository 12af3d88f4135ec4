"""Questions between the steps, through the whole agent: they are answered, and nothing is started, created or lost."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgen.agent.session import Agent
from benchgen.store import BenchmarkRow, PlanRow, WriteRow
from benchgen.testing import AccountWorkspace, agent_in, counts, workspace_from

pytestmark = pytest.mark.slow

PLAN = {
    "type": "plan",
    "id": "P31",
    "job_type": "lora",
    "base_model": "Qwen/Qwen2.5-0.5B-Instruct",
    "dataset": "yahma/alpaca-cleaned",
    "epochs": 1,
    "max_steps": 50,
}
MERGE = {"type": "merge", "id": "M4", "job": 7, "name": "solar-small-merged"}
BATCH = {"type": "batch", "name": "Trees", "written": 150, "total": 180}
PREVIEW = {"type": "preview", "id": "D9", "name": "Metals", "kind": "mcq", "n": 10}

Begin = Callable[..., Agent]


@pytest.fixture
def begin(account: Path, tmp_path: Path) -> Begin:
    """A chat in a described state, in a copy of the account."""

    def make(**context: Any) -> Agent:
        shutil.copytree(account, tmp_path / "ws")
        return agent_in(AccountWorkspace(tmp_path / "ws"), context)

    return make


# ---- a plan that waits -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("what gpu would it use?", "device: no GPU here"),
        ("is it going to use the gpu", "device: no GPU here"),
        ("how long will it take?", "seconds:"),
        ("wie lange dauert das?", "seconds:"),
        ("¿cuánto tarda?", "seconds:"),
        ("多久?", "seconds:"),
        ("how much memory does that need?", "memory:"),
        ("what will it cost?", "no credits"),
        ("which base model is that?", "base_model: Qwen/Qwen2.5-0.5B-Instruct"),
        ("what learning rate are you using?", "learning_rate:"),
        ("how many steps is it?", "max_steps: 50"),
        ("which dataset?", "yahma/alpaca-cleaned: 64 rows"),
        ("does it overwrite my model?", "no model that is there changes"),
        ("what happens if i say yes", "starts exactly this"),
        ("ok, and what gpu would that use?", "device: no GPU here"),
        ("is that safe?", "Plan P31 (lora), as it was shown:"),
        ("why though?", "base_model:"),
    ],
)
def test_a_question_about_a_plan_is_answered_from_it_and_cancels_it(
    text: str, told: str, begin: Begin
) -> None:
    agent = begin(pending=PLAN)
    before = counts(agent.ws)
    reply = agent.send(text)
    assert told in reply.text
    assert "Plan P31 is cancelled" in reply.text
    assert (reply.intent, reply.arguments) == ("cancel_plan", {"plan": "P31"})
    assert agent.send("yes").intent == "nothing_pending"
    assert counts(agent.ws) == before
    assert {row.state for row in agent.ws.store.all(PlanRow)} <= {"cancelled", "confirmed"}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("what's the base model?", "base_model: Qwen/Qwen2.5-0.5B-Instruct"),
        ("how big will it be?", "disk:"),
        ("where will it be published?", "the model will be solar-small-merged"),
    ],
)
def test_a_question_about_a_merge_is_answered_from_it_and_cancels_it(
    text: str, told: str, begin: Begin
) -> None:
    agent = begin(pending=MERGE)
    reply = agent.send(text)
    assert told in reply.text
    assert "Merge plan M4 is cancelled" in reply.text
    assert agent.send("yes").intent == "nothing_pending"


@pytest.mark.parametrize("text", ["no", "cancel", "yes please", "👍", "yes?", "not now"])
def test_what_asks_nothing_is_answered_with_the_cancelling_alone(text: str, begin: Begin) -> None:
    reply = begin(pending=PLAN).send(text)
    assert reply.text.startswith("Plan P31 is cancelled")


# ---- a writing that waits --------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "how many are written so far?",
        "how many questions do you have by now",
        "how many are left?",
        "are you done writing?",
        "how far along are the questions?",
        "wie viele sind schon geschrieben?",
        "¿cuántas preguntas faltan?",
    ],
)
def test_how_far_a_writing_is_stays_a_question(text: str, begin: Begin) -> None:
    agent = begin(pending=BATCH)
    reply = agent.send(text)
    assert reply.intent == "run_status"
    assert (reply.arguments["written"], reply.arguments["total"]) == (150, 180)
    assert "150 of 180 questions of Trees are written" in reply.text
    assert agent.send("continue").intent == "continue_batch"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("continue, but only 10 more", "make it 160 questions"),
        ("continue with only 5", "make it 155 questions"),
        ("10 more please", "make it 160 questions"),
        ("write 60 more", "add 30 more questions"),
        ("continue but make them harder", "say at the preview"),
        ("continue, in french", "say at the preview"),
        ("continue and then publish it", "on its own writes on"),
    ],
)
def test_a_changed_continue_writes_nothing_and_says_what_would(
    text: str, told: str, begin: Begin
) -> None:
    agent = begin(pending=BATCH)
    reply = agent.send(text)
    assert reply.intent == "clarify"
    assert told in reply.text
    assert "nothing was written now" in reply.text
    assert agent.ws.store.all(WriteRow)[-1].written == 150
    assert agent.send("continue").arguments["written"] == 150


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("150 are enough", 150),
        ("no, stop there, that is enough", 150),
        ("create what you have", 150),
        ("100 is enough", 100),
    ],
)
def test_what_is_written_can_be_seen_before_all_is(text: str, count: int, begin: Begin) -> None:
    """Nothing is created by it: that takes `Create it` as ever, and `continue` still writes the others."""
    agent = begin(pending=BATCH)
    before = len(agent.ws.store.all(BenchmarkRow))
    reply = agent.send(text)
    assert (reply.intent, reply.arguments["n"]) == ("revise_preview", count)
    assert len(agent.ws.store.all(BenchmarkRow)) == before
    assert agent.ws.store.all(WriteRow)[-1].written == 150
    made = agent.send("Create it")
    assert (made.intent, made.arguments["n"]) == ("confirm_create", count)
    assert agent.send("continue").intent == "continue_batch"


# ---- a preview that waits --------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["what is the answer to question 2?", "why is q2 A?", "show q 2"])
def test_a_question_of_a_preview_is_shown_whole(text: str, begin: Begin) -> None:
    agent = begin(pending=PREVIEW)
    reply = agent.send(text)
    assert (reply.intent, reply.arguments["q"]) == ("explain", 2)
    assert "Question 2 of 10:" in reply.text
    assert "Right:" in reply.text
    assert agent.send("Create it").intent == "confirm_create"


@pytest.mark.parametrize("text", ["publish it", "run it on smollm2_135m"])
def test_what_needs_the_benchmark_of_a_preview_says_how_that_is_made(
    text: str, tmp_path: Path
) -> None:
    agent = agent_in(workspace_from({}, tmp_path / "ws"), {"pending": PREVIEW})
    reply = agent.send(text)
    assert reply.intent == "clarify"
    assert "`Create it` creates preview D9 (Metals)" in reply.text
    assert [item.kind for item in agent.waiting] == ["preview"]


def test_a_question_that_a_preview_lacks_is_an_error(begin: Begin) -> None:
    assert begin(pending=PREVIEW).send("what is the answer to question 11?").intent == "error"


@pytest.mark.parametrize(
    ("text", "intent"),
    [
        ("distill run 1079 into Qwen/Qwen2.5-0.5B-Instruct", "plan_training"),
        ("train on the failures of 1080", "plan_training"),
        ("run 12 on gemma with 10 questions", "run_benchmark"),
        ("merge job 7 as solar-small", "plan_merge"),
        ("dataset of 1080 with 5 rows", "show_dataset"),
        ("job 8 please", "training_status"),
        ("it took too long", "explain"),
    ],
)
def test_a_message_about_other_records_does_not_change_the_preview(
    text: str, intent: str, begin: Begin
) -> None:
    agent = begin(pending=PREVIEW, last_run=1079, last_benchmark=12)
    assert agent.send(text).intent == intent
    made = agent.send("Create it")
    assert (made.intent, made.arguments["n"]) == ("confirm_create", 10)


def test_a_question_found_bad_or_good_is_no_answer_to_it(begin: Begin) -> None:
    """`is rubbish` asks for another one, `is fine` for nothing, and neither is what is right."""
    agent = begin(pending=PREVIEW)
    reply = agent.send("question 3 is rubbish, question 4 is fine")
    assert "rubbish" not in reply.text.casefold().replace("is rubbish", "")
    assert reply.intent == "revise_preview"
    assert "Question 4" not in reply.text


# ---- figures ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "is 73% good?",
        "is 73.3% good or bad?",
        "is that a good score?",
        "could it just be luck?",
        "what does 73.3 percent mean?",
        "ist 73% gut?",
        "¿es bueno un 73%?",
        "how sure is the score of 1081?",
        "is 1081 better than chance?",
    ],
)
def test_a_figure_is_explained_by_its_interval_and_what_guessing_gives(
    text: str, begin: Begin
) -> None:
    reply = begin(last_run=1081, last_benchmark=12).send(text)
    assert (reply.intent, reply.arguments["run"]) == ("explain", 1081)
    assert reply.arguments["interval"] == [55.6, 85.8]
    assert reply.arguments["guess"] == 25.0
    assert "more than guessing" in reply.text
    assert "trained on 30 of these 30 questions" in reply.text
    assert "Qwen/Qwen2.5-0.5B-Instruct has 46.7 % there (run 1080)" in reply.text


def test_a_figure_of_no_run_is_explained_by_how_many_questions_it_takes(begin: Begin) -> None:
    agent = begin()
    reply = agent.send("is 30% good?")
    assert reply.intent == "explain"
    assert "on 20 questions its 95 % interval is 14.5 to 51.9" in reply.text
    assert "more than guessing from 500 questions on" in reply.text
    reply = agent.send("how good is 60 percent on 20 questions with 3 options?")
    assert reply.arguments["interval"] == [38.7, 78.1]
    assert "guessing among 3 options gives 33.3 %: it is more than guessing" in reply.text
    assert agent.send("is 140% good?").intent == "error"


def test_an_unfinished_run_has_no_figure_to_judge(begin: Begin) -> None:
    reply = begin().send("is the score of 1082 good?")

    assert "not finished" in reply.text


# ---- runs by their part ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("ceiling, baseline and distilled side by side", [1079, 1080, 1081]),
        ("compare the teacher with the student", [1079, 1081]),
        ("teacher vs student?", [1079, 1081]),
        ("compare the baseline with the trained one", [1080, 1081]),
        ("base vs adapter", [1080, 1081]),
        ("which one won, the teacher or the distilled one?", [1079, 1081]),
        ("did the student beat its baseline?", [1081, 1080]),
        ("whats the gap between ceiling and distilled", [1079, 1081]),
        ("show me baseline against distilled", [1080, 1081]),
        ("zeig mir lehrer und schüler nebeneinander", [1079, 1081]),
        ("compara el profesor con el alumno", [1079, 1081]),
        ("比较教师和学生", [1079, 1081]),
        ("compare the big model with the small one", [1079, 1081]),
        ("show the three scores side by side", [1079, 1080, 1081]),
        ("compare 1081 with the teacher", [1081, 1079]),
    ],
)
def test_runs_are_compared_by_the_part_they_play(text: str, runs: list[int], begin: Begin) -> None:
    reply = begin().send(text)
    assert (reply.intent, reply.arguments["runs"]) == ("compare_runs", runs)
    assert reply.text.startswith("Taken as ")


def test_a_student_that_has_not_run_yet_is_its_baseline(begin: Begin) -> None:
    """Before the trained model has run, no claim is made of it."""
    extra = {
        "id": 1090,
        "benchmark": 12,
        "model": "solar-distill-05b",
        "state": "running",
        "done": 3,
    }
    reply = begin(extra_runs=[extra]).send("compare the teacher with the distilled one")
    assert (reply.intent, reply.arguments["run"]) == ("no_claim_yet", 1090)


# ---- the run of an adapter -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text", ["plan training from 1081", "plan a from-run training from run 1081"]
)
def test_an_adapters_run_trains_the_base_it_stands_on_and_says_so(text: str, begin: Begin) -> None:
    agent = begin()
    reply = agent.send(text)
    assert reply.intent == "plan_training"
    assert reply.arguments["base_model"] == "Qwen/Qwen2.5-0.5B-Instruct"
    assert reply.text.startswith("Run 1081 is of solar-distill-05b, the adapter of job 7")
    assert "| base_model | Qwen/Qwen2.5-0.5B-Instruct |" in reply.text
    assert reply.plan is not None
    again = agent.send("continue job 7 on the failures of run 1081")
    assert (again.intent, again.arguments["job_type"]) == ("plan_training", "continue")


@pytest.mark.parametrize(
    "text",
    [
        "train further from run 1081",
        "continue training the adapter on the failures of 1081",
        "continue job 7 on the failures of run 1081",
        "keep training solar-distill-05b on the failures of run 1081",
    ],
)
def test_an_adapter_goes_on_where_that_is_asked(text: str, begin: Begin) -> None:
    reply = begin().send(text)
    assert reply.arguments["job_type"] == "continue"
    assert "| adapter | solar-distill-05b of job 7 |" in reply.text


def test_an_adapter_that_teaches_does_not_say_whom(begin: Begin) -> None:
    reply = begin().send("distill 1081")
    assert (reply.intent, reply.arguments["missing"]) == ("clarify", ["base_model"])
    assert reply.choices


# ---- what is long, what is under way -----------------------------------------------------------------


def test_what_was_not_read_of_a_long_message_is_said(begin: Begin) -> None:
    agent = begin()
    reply = agent.send("status of run 1080. " + "By the way, it rained today. " * 4000)
    assert reply.intent == "run_status"
    assert "characters in its middle were left out" in reply.text
    assert "left out" not in agent.send("status of run 1080. " + "It rained. " * 50).text


@pytest.mark.parametrize(
    ("text", "intent", "told"),
    [
        ("how many questions has run 1082 answered?", "run_status", {"run": 1082, "done": 9}),
        ("how long will 1082 take?", "run_status", {"run": 1082}),
        ("is run 1082 stuck?", "run_status", {"run": 1082, "state": "running"}),
        ("is the training over?", "training_status", {"job": 8, "step": 21}),
        ("what step is the training on", "training_status", {"job": 8}),
        ("did job 9 work?", "training_status", {"job": 9, "state": "failed"}),
        ("how long does job 8 still need", "training_status", {"job": 8}),
        ("how many are written so far?", "run_status", {}),
    ],
)
def test_progress_is_told_in_whatever_words_it_is_asked(
    text: str, intent: str, told: dict[str, Any], begin: Begin
) -> None:
    agent = begin()

    before = counts(agent.ws)
    reply = agent.send(text)
    assert reply.intent == intent
    assert told.items() <= reply.arguments.items()
    assert counts(agent.ws) == before


# ---- ids of another kind, lists, looking back ----------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("run 8 status", "8 is a job, not a run. Next: `training status of job 8`"),
        ("benchmark 1081", "1081 is a run, not a benchmark. Next: `status of run 1081`"),
        ("plan training from run 12", "12 is a benchmark, not a run. Next: `benchmark 12`"),
        ("logs of job 1081", "1081 is a run, not a job. Next: `status of run 1081`"),
    ],
)
def test_an_id_of_another_kind_is_told_apart(text: str, told: str, begin: Begin) -> None:
    """It is never taken for what has that number: it is used as it was said."""
    agent = begin()
    before = counts(agent.ws)
    reply = agent.send(text)
    assert reply.intent == "error"
    assert told in reply.text
    assert counts(agent.ws) == before


@pytest.mark.parametrize(
    ("text", "number", "told"),
    [
        ("list my runs", 6, "run 1082: Qwen/Qwen2.5-1.5B-Instruct on benchmark 16, running"),
        ("which benchmarks do i have?", 6, "benchmark 15: Solar System 100, 100 questions (mcq)"),
        ("show all jobs", 3, "job 7: from-run of Qwen/Qwen2.5-0.5B-Instruct, finished"),
        ("welche modelle gibt es?", 12, "solar-distill-05b: adapter of Qwen/Qwen2.5-0.5B-Instruct"),
    ],
)
def test_what_there_is_is_listed(text: str, number: int, told: str, begin: Begin) -> None:
    reply = begin().send(text)
    assert (reply.intent, reply.arguments["number"]) == ("explain", number)
    assert told in reply.text


@pytest.mark.parametrize(
    "text",
    [
        "what did frontier-large get on kitchen chemistry?",
        "did gemma ever run on 12",
        "has frontier-large been run on 16?",
        "why did you run gemma on 12",
        "is gemma running on 12?",
        "how much longer?",
    ],
)
def test_a_question_begins_no_run(text: str, begin: Begin) -> None:
    agent = begin(last_run=1084)
    before = counts(agent.ws)
    assert agent.send(text).intent not in ("run_benchmark", "resume_run", "publish_and_run")
    assert counts(agent.ws) == before


def test_a_run_again_on_new_questions_writes_them_first(begin: Begin) -> None:
    agent = begin(last_run=1081, last_benchmark=12)
    before = counts(agent.ws)
    reply = agent.send("run it again on new questions")
    assert (reply.intent, reply.arguments["based_on"]) == ("create_benchmark", 12)
    assert "Not done yet: the run" in reply.text
    assert counts(agent.ws) == before


def test_who_teaches_is_the_one_whose_answers_are_learnt_from(begin: Begin) -> None:
    """Whichever model is named first."""
    reply = begin().send("teach smollm2 135m with the correct answers of frontier-large")
    assert reply.intent == "plan_training"
    assert (reply.arguments["run"], reply.arguments["mode"]) == (1079, "distill")
    assert reply.arguments["base_model"] == "HuggingFaceTB/SmolLM2-135M-Instruct"
