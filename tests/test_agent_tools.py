"""The agent's tools on a described workspace: what they do to the store, and what they say instead."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Waiting
from benchgen.agent.tools import Tools, offline, words
from benchgen.agent.turn import Turn
from benchgen.author.write import Draft
from benchgen.errors import NotFound, StateError
from benchgen.store import BenchmarkRow, JobRow, PlanRow, RunRow, WriteRow
from benchgen.testing import AccountWorkspace
from benchgen.workspace import Workspace

pytestmark = pytest.mark.slow

CASES = Path(__file__).parent / "cases"


@pytest.fixture
def ws(account: Path, tmp_path: Path) -> AccountWorkspace:
    shutil.copytree(account, tmp_path / "ws")
    return AccountWorkspace(tmp_path / "ws")


@pytest.fixture
def tools(ws: AccountWorkspace) -> Tools:
    return Tools(ws)


@pytest.fixture
def plain(tmp_path: Path) -> Tools:
    """Tools of an empty workspace without a model that writes: what is offline on any machine."""
    return Tools(Workspace(tmp_path / "plain", user="ada"), writer="")


def waits(outcome: Outcome) -> Waiting:
    assert outcome.waiting is not None, outcome.text
    return outcome.waiting


# ---- writing ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("topic", "kind", "pack"),
    [
        ("the solar system and space: planets, moons, orbits and stars", "mcq", "solar_system"),
        ("moons", "mcq", "solar_system"),
        ("chemical elements", "mcq", "elements"),
        ("capitals of the countries of Europe", "qa", "countries"),
        ("unit conversion", "numeric", "units"),
    ],
)
def test_a_known_topic_is_written_without_a_model(
    plain: Tools, topic: str, kind: str, pack: str
) -> None:
    found = plain.create_benchmark(Turn(), kind=kind, n=12, topic=topic)
    told = waits(found).told
    assert (told["n"], told["kind"]) == (12, kind), found.text
    assert "Create it" in found.text
    assert "Nothing is created yet" in found.text
    made = plain.confirm_create(waits(found))
    assert made.arguments["benchmark"] == 1
    assert made.choices == ("publish it", "run a model on it", "leave it as a draft")
    config = plain._desk.ws.benchmark(1).row.spec["config"]
    assert config["author"]["pack"] == pack


def test_sums_are_worked_out_without_a_model(plain: Tools) -> None:
    found = plain.create_benchmark(Turn(), kind="numeric", n=10, topic="mental arithmetic")
    assert waits(found).told["n"] == 10


def test_groups_become_categories_with_their_counts(plain: Tools) -> None:
    groups = [{"topic": "planets", "n": 5}, {"topic": "stars and galaxies", "n": 7}]
    found = plain.create_benchmark(Turn(), groups=groups, topic="the solar system", name="Sky")
    assert found.arguments["by_category"] == {"planets": 5, "stars and galaxies": 7}
    assert waits(found).told["name"] == "Sky"


@pytest.mark.parametrize(
    "topic", ["bike repair", "stars of Hollywood films", "moons of Jupiter's poets"]
)
def test_a_topic_that_nobody_here_knows_is_said_to_be_so(plain: Tools, topic: str) -> None:
    found = plain.create_benchmark(Turn(), n=5, topic=topic)
    assert found.waiting is None
    assert found.intent == ""
    assert "agent.writer=NAME" in found.text
    assert "the solar system" in found.text
    assert plain._desk.ws.benchmarks().is_empty()


def test_a_language_without_an_author_is_not_written_in_another_one(plain: Tools) -> None:
    found = plain.create_benchmark(Turn(), n=5, topic="planets", language="fr")
    assert found.waiting is None
    assert "in fr" in found.text


def test_more_than_the_facts_give_is_an_error_with_the_number_there_is(plain: Tools) -> None:
    found = plain.create_benchmark(Turn(), kind="qa", n=2000, topic="galaxies")
    assert (found.intent, found.waiting) == ("error", None)
    assert "1 to" in found.text


def test_nothing_is_stored_before_create_it_and_exactly_the_preview_after_it(
    tools: Tools, ws: AccountWorkspace
) -> None:
    before = ws.benchmarks().height
    found = tools.create_benchmark(Turn(), n=10, topic="knots", n_options=3, name="Knots")
    assert ws.benchmarks().height == before
    waiting = waits(found)
    made = tools.confirm_create(waiting)
    bench = ws.benchmark(made.arguments["benchmark"])
    assert bench.row.state == "draft"
    assert all(len(q.choices) == 3 for q in bench.questions)
    assert Draft("", tuple(bench.questions), bench.evaluation).hash == waiting.told["hash"]
    again = tools.confirm_create(waiting)
    assert (again.intent, again.arguments["benchmark"]) == ("already_done", bench.id)
    assert ws.benchmarks().height == before + 1


def test_a_preview_that_was_tampered_with_is_not_created(
    tools: Tools, ws: AccountWorkspace
) -> None:
    found = tools.create_benchmark(Turn(), n=5, topic="knots")
    file = ws.path / "drafts" / f"{waits(found).label}.json"
    file.write_text(file.read_text().replace("entry", "thing", 1))
    with pytest.raises(StateError):
        tools.confirm_create(waits(found))


def test_more_than_a_turn_holds_waits_for_continue_and_loses_nothing(
    tools: Tools, ws: AccountWorkspace
) -> None:
    found = tools.create_benchmark(Turn(questions=50), n=80, topic="trees")
    batch = waits(found)
    assert (batch.kind, batch.told["written"], batch.told["total"]) == ("batch", 50, 80)
    first = [q.key for q in ws.get_write(batch.told["write"]).written().questions]
    found = tools.continue_batch(batch, Turn(questions=50))
    preview = waits(found)
    assert (preview.kind, preview.told["n"]) == ("preview", 80)
    assert found.arguments["written"] == 50
    keys = [q.key for q in ws.get_write(batch.told["write"]).written().questions]
    assert keys[:50] == first
    assert len(set(keys)) == 80
    made = tools.confirm_create(preview)
    row = ws.store.get(WriteRow, batch.told["write"])
    assert row.benchmark_id == made.arguments["benchmark"]


def test_a_turn_that_ends_keeps_what_was_written(tools: Tools, ws: AccountWorkspace) -> None:
    turn = Turn()
    turn.stop()
    found = tools.create_benchmark(turn, n=60, topic="trees")
    assert waits(found).told["written"] == 25
    assert ws.get_write(waits(found).told["write"]).state == "waiting"


def test_a_sibling_shares_no_question(tools: Tools, ws: AccountWorkspace) -> None:
    found = tools.create_benchmark(Turn(), based_on=12, n=30, no_overlap_with=12)
    made = tools.confirm_create(waits(found))
    new = {q.key for q in ws.benchmark(made.arguments["benchmark"]).questions}
    assert len(new) == 30
    assert not new & {q.key for q in ws.benchmark(12).questions}


def test_a_preview_is_changed_as_said(tools: Tools, ws: AccountWorkspace) -> None:
    label = waits(tools.create_benchmark(Turn(), n=6, topic="metals", name="Metals")).label

    def now(outcome: Outcome) -> list[dict[str, Any]]:
        told = json.loads((ws.path / "drafts" / f"{waits(outcome).label}.json").read_text())
        questions: list[dict[str, Any]] = told["questions"]
        return questions

    def revise(waiting: Waiting, *edits: dict[str, Any], **changes: Any) -> Outcome:
        situation = tools.situation(waiting=(waiting,))
        return tools.revise_preview(situation, Turn(), waiting.label, edits, **changes)

    waiting = Waiting("preview", label, {})
    found = revise(waiting, {"q": 3, "answer": "Copper"})
    question = now(found)[2]
    assert question["choices"]["ABCD".index(question["target"])] == "Copper"
    assert "Copper" in found.text
    found = revise(waits(found), {"q": 1, "remove": True})
    assert len(now(found)) == 5
    found = revise(waits(found), {"q": 2, "prompt": "Which metal is this one?"}, name="Alloys")
    assert now(found)[1]["prompt"] == "Which metal is this one?"
    assert waits(found).told["name"] == "Alloys"
    found = revise(waits(found), n=8)
    assert len(now(found)) == 8
    wrong = revise(waits(found), {"q": 99, "answer": "x"})
    assert wrong.intent == "error"
    found = revise(waits(found), n_options=3)
    assert {len(q["choices"]) for q in now(found)} == {3}
    assert ws.store.all(BenchmarkRow, BenchmarkRow.name == "Alloys") == []


@pytest.mark.parametrize(
    ("path", "reason"),
    [
        ("nope.csv", "not found"),
        ("C:\\Users\\A\\nope.csv", "not found"),
        ("doc_handbook.md", "a document"),
        ("rows.jsonl", "training rows"),
        ("empty.csv", "empty"),
    ],
)
def test_a_file_that_is_no_benchmark_is_an_error(
    tools: Tools, ws: AccountWorkspace, path: str, reason: str
) -> None:
    (ws.path / "files" / "rows.jsonl").write_text('{"prompt": "1 + 1?", "completion": "2"}\n')
    found = tools.import_file(path)
    assert (found.intent, found.waiting) == ("error", None)
    assert reason in found.arguments["reason"]
    assert found.arguments["path"] == path


def test_questions_of_a_document_quote_it(tools: Tools, ws: AccountWorkspace) -> None:
    found = tools.create_from_document(Turn(), "doc_handbook.md", kind="mcq", n=8)
    made = tools.confirm_create(waits(found))
    text = (ws.path / "files" / "doc_handbook.md").read_text()
    quotes = [
        q.source.partition("“")[2].rstrip("”")
        for q in ws.benchmark(made.arguments["benchmark"]).questions
    ]
    assert all(quote and quote in text for quote in quotes)


# ---- runs ------------------------------------------------------------------------------------------


def test_a_draft_is_not_run_and_nothing_is_published(tools: Tools, ws: AccountWorkspace) -> None:
    found = tools.run_benchmark(15, "frontier-large")
    assert (found.intent, found.arguments["offer"]) == ("explain_draft", "publish first")
    assert ws.benchmark(15).row.state == "draft"
    assert ws.runs().height == 6


def test_an_unknown_model_publishes_nothing(tools: Tools, ws: AccountWorkspace) -> None:
    found = tools.publish_and_run(15, "nothing-of-that-name")
    assert found.intent == "error"
    assert ws.benchmark(15).row.state == "draft"


def test_a_run_keeps_the_settings_that_were_asked_for(tools: Tools, ws: AccountWorkspace) -> None:
    found = tools.run_benchmark(12, "Qwen/Qwen3-0.6B", temperature=0.5, max_tokens=64, limit=5)
    run = ws.get_run(found.arguments["run"])
    assert (run.state, run.row.settings["limit"]) == ("queued", 5)
    sampling = run.row.settings["sampling"]
    assert (sampling["temperature"], sampling["max_new_tokens"]) == (0.5, 64)
    assert Path(found.links[0]).is_file()


def test_of_several_models_the_picked_one_is_named(tools: Tools) -> None:
    names = ["HuggingFaceTB/SmolLM2-135M-Instruct", "HuggingFaceTB/SmolLM2-360M-Instruct"]
    found = tools.run_benchmark(12, model_candidates=names)
    assert found.arguments["model"] == names[0]
    assert f"I picked {names[0]}; {names[1]} would fit too" in found.text


@pytest.mark.parametrize("look", ["run_status", "compare_runs", "explain_low_score", "resume_run"])
def test_what_ends_while_it_is_looked_at_is_told_as_it_ended(
    ws: AccountWorkspace, tools: Tools, monkeypatch: pytest.MonkeyPatch, look: str
) -> None:
    """Each look at the process may be the last before it ends."""
    last = ws.store.get(RunRow, 1081)

    def ending(folder: Path) -> bool:
        ws.store.change(RunRow, last.id, state="finished")
        return True

    ws.store.change(RunRow, last.id, state="running")
    monkeypatch.setattr("benchgen.jobs.alive", ending)
    looks: dict[str, Callable[[], Outcome]] = {
        "run_status": lambda: tools.run_status(last.id),
        "compare_runs": lambda: tools.compare_runs([1080, last.id]),
        "explain_low_score": lambda: tools.explain_low_score(last.id),
        "resume_run": lambda: tools.resume_run(last.id),
    }
    found = looks[look]()
    assert f"{last.id}" in found.text


def test_status_says_a_score_only_of_a_finished_run(tools: Tools) -> None:
    found = tools.run_status(1081)
    assert (found.arguments["score"], sum(found.arguments["by_category"].values())) == (73.3, 30)
    running = tools.run_status(1082)
    assert "Processing: 9/25 (36%)" in running.text
    failed = tools.run_status(1084)
    assert "connection reset" in failed.text
    for found in (running, failed):
        assert "score" not in found.arguments
        assert "0 %" not in found.text.replace("(36%)", "")
    assert {"run 1082", "job 8"} <= {
        w for w in ("run 1082", "job 8") if w in tools.run_status().text
    }


def test_runs_of_one_benchmark_are_compared_with_their_intervals(tools: Tools) -> None:
    found = tools.compare_runs([1079, 1080, 1081])
    assert found.arguments["scores"] == {"1079": 100.0, "1080": 46.7, "1081": 73.3}
    assert len(found.links) == 3
    assert "p = " in found.text


def test_no_claim_before_every_run_has_finished(tools: Tools) -> None:
    found = tools.compare_runs([1080, 1084])
    assert found.intent == "no_claim_yet"
    assert "improve" not in found.text


def test_runs_of_two_benchmarks_are_not_ranked(tools: Tools) -> None:
    found = tools.compare_runs([1080, 1083])
    assert (found.intent, found.arguments["benchmarks"]) == ("warn_incomparable", [12, 18])


@pytest.mark.parametrize(
    ("mode", "rows", "shown", "total"),
    [("failures", 10, 8, 8), ("distill", 10, 10, 22), ("all", 30, 30, 30), ("all", 0, 0, 30)],
)
def test_rows_of_a_run(tools: Tools, mode: str, rows: int, shown: int, total: int) -> None:
    found = tools.show_dataset(1081, mode, rows)
    assert (found.arguments["rows"], found.arguments["total"]) == (shown, total)


def test_rows_go_on_and_end(tools: Tools) -> None:
    assert tools.show_dataset(1081, "failures", 5, offset=5).arguments["rows"] == 3
    assert "none are left" in tools.show_dataset(1081, "failures", 5, offset=8).text
    assert tools.show_dataset(1079, "failures").arguments["rows"] == 0


def test_what_has_no_rows_is_said_plainly(tools: Tools) -> None:
    assert tools.show_dataset(1082).arguments["reason"] == "not finished"
    bad = tools.show_dataset(1081, "best")
    assert (bad.intent, bad.arguments["mode"]) == ("error", "best")
    assert "failures, all and distill" in bad.text


# ---- trainings -------------------------------------------------------------------------------------


def plan(tools: Tools, **asked: Any) -> Outcome:
    return tools.plan_training(tools.situation(), **asked)


def test_a_plan_starts_nothing_and_says_all_that_would_run(
    tools: Tools, ws: AccountWorkspace
) -> None:
    jobs = ws.jobs().height
    found = plan(
        tools, job_type="lora", base_model="Qwen/Qwen2.5-0.5B-Instruct", dataset="yahma/alpaca-cleaned",
        epochs=1, max_steps=50, learning_rate=2e-4, rank=8,
    )  # fmt: skip
    told = found.arguments
    assert (told["max_steps"], told["learning_rate"], told["rank"], told["epochs"]) == (
        50,
        2e-4,
        8,
        1,
    )
    for word in (
        "job_type",
        "base_model",
        "dataset",
        "device",
        "learning_rate",
        "Nothing has started",
    ):
        assert word in found.text
    assert ws.jobs().height == jobs
    assert tools.changed(waits(found)) == ""


def test_a_word_starts_it_once(tools: Tools, ws: AccountWorkspace) -> None:
    waiting = waits(plan(tools, job_type="from-run", run=1080))
    found = tools.confirm_plan(waiting, "yes")
    assert ws.job(found.arguments["job"]).state == "queued"
    again = tools.confirm_plan(waiting, "yes")
    assert (again.intent, again.arguments["job"]) == ("already_done", found.arguments["job"])
    assert ws.jobs().height == 4


def test_another_word_cancels_it_for_good(tools: Tools, ws: AccountWorkspace) -> None:
    waiting = waits(plan(tools, job_type="from-run", run=1080))
    tools.cancel_plan(waiting, "yes please")
    assert ws.store.get(PlanRow, waiting.told["record"]).state == "cancelled"
    with pytest.raises(StateError):
        tools.confirm_plan(waiting, "yes")
    assert ws.jobs().height == 3


def test_a_changed_plan_takes_the_place_of_the_old_one(tools: Tools, ws: AccountWorkspace) -> None:
    old = waits(plan(tools, job_type="from-run", run=1080, max_steps=20))
    found = tools.revise_plan(tools.situation(waiting=(old,)), old.label, epochs=3, max_steps=40)
    assert (found.arguments["epochs"], found.arguments["max_steps"]) == (3, 40)
    assert ws.store.get(PlanRow, old.told["record"]).state == "cancelled"
    assert waits(found).told["record"] != old.told["record"]


def test_a_changed_dataset_is_seen(tools: Tools, ws: AccountWorkspace) -> None:
    file = ws.path / "files" / "rows.jsonl"
    rows = [{"prompt": f"Number {n}?", "completion": f"{n}"} for n in range(8)]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    waiting = waits(
        plan(tools, job_type="lora", base_model="Qwen/Qwen3-0.6B", dataset="rows.jsonl")
    )
    assert tools.changed(waiting) == ""
    file.write_text(file.read_text().replace("Number 3", "Figure 3"))
    assert "dataset file changed" in tools.changed(waiting)


@pytest.mark.parametrize(
    ("asked", "intent", "told"),
    [
        ({"job_type": "from-run", "run": 1079}, "explain", {"n_failures": 0}),
        ({"job_type": "from-run", "run": 1082}, "error", {"reason": "not finished"}),
        (
            {"job_type": "from-run", "run": 1079, "mode": "distill"},
            "clarify",
            {"missing": ["base_model"]},
        ),
        ({"job_type": "from-run", "run": 1080, "mode": "best"}, "error", {"mode": "best"}),
        ({"job_type": "from-run"}, "clarify", {"missing": ["run"]}),
        (
            {"job_type": "lora", "dataset": "yahma/alpaca-cleaned"},
            "clarify",
            {"missing": ["base_model"]},
        ),
        (
            {"job_type": "lora", "base_model": "Qwen/Qwen3-0.6B"},
            "clarify",
            {"missing": ["dataset"]},
        ),
        (
            {"job_type": "lora", "base_model": "Qwen/Qwen3-0.6B", "dataset": "gone.jsonl"},
            "error",
            {"reason": "not found"},
        ),
        (
            {
                "job_type": "lora",
                "base_model": "solar-distill-05b",
                "dataset": "yahma/alpaca-cleaned",
            },
            "error",
            {"reason": "an adapter"},
        ),
        (
            {"job_type": "grpo", "benchmark": 15, "base_model": "Qwen/Qwen3-0.6B"},
            "error",
            {"reason": "draft"},
        ),
        ({"job_type": "continue", "job": 9}, "error", {"reason": "not finished"}),
        ({"job_type": "continue", "job": 7}, "clarify", {"missing": ["dataset"]}),
        ({}, "clarify", {"missing": ["job_type"]}),
    ],
    ids=lambda value: "-".join(map(str, value.values())) if isinstance(value, dict) else value,
)
def test_what_cannot_be_planned_is_said_or_asked(
    tools: Tools, ws: AccountWorkspace, asked: dict[str, Any], intent: str, told: dict[str, Any]
) -> None:
    plans = ws.plans().height
    found = plan(tools, **asked)
    assert found.intent == intent, found.text
    assert told.items() <= found.arguments.items()
    assert ws.plans().height == plans
    assert found.waiting is None


def test_distilling_counts_the_right_answers(tools: Tools) -> None:
    found = plan(
        tools,
        job_type="from-run",
        run=1079,
        mode="distill",
        base_model="Qwen/Qwen2.5-0.5B-Instruct",
    )
    assert "30 correct trajectories" in found.text


def test_an_adapter_is_trained_further(tools: Tools) -> None:
    found = plan(tools, job_type="continue", job=7, dataset="yahma/alpaca-cleaned", max_steps=10)
    assert (found.arguments["job_type"], found.arguments["max_steps"]) == ("continue", 10)
    assert "solar-distill-05b of job 7" in found.text


def test_grpo_is_planned_on_a_published_benchmark(tools: Tools) -> None:
    found = plan(
        tools, job_type="grpo", benchmark=12, base_model="Qwen/Qwen3-0.6B", num_generations=4
    )
    assert (found.arguments["job_type"], found.arguments["num_generations"]) == ("grpo", 4)


@pytest.mark.parametrize(
    ("job", "name", "reason"),
    [
        (7, "my-model-merged", "name is taken"),
        (7, "../x", "not a valid name"),
        (9, "fine", "not finished"),
    ],
)
def test_a_merge_that_cannot_be_is_refused(tools: Tools, job: int, name: str, reason: str) -> None:
    assert tools.plan_merge(job, name).arguments["reason"] == reason


def test_a_merge_waits_for_its_own_word(tools: Tools, ws: AccountWorkspace) -> None:
    waiting = waits(tools.plan_merge(7, "solar-small-merged"))
    assert waiting.kind == "merge"
    found = tools.confirm_merge(waiting, "yes")
    assert ws.store.get(JobRow, found.arguments["job"]).state == "queued"


def test_status_and_logs_of_jobs(tools: Tools) -> None:
    found = tools.training_status(8)
    assert (found.arguments["step"], found.arguments["max_steps"]) == (21, 50)
    assert tools.training_status().arguments["job"] == 8
    logs = tools.training_logs(9)
    assert logs.arguments["error"] == "out of memory"
    assert "CUDA out of memory" in logs.text
    with pytest.raises(NotFound):
        tools.training_status(99)


# ---- words -----------------------------------------------------------------------------------------


def test_texts_of_others_are_bounded_and_on_one_line() -> None:
    shown = words.line("a\n\n| b \u202e <script>`x`[y](z)" + "w" * 500, 60)
    assert len(shown) == 60
    assert not set("\n<`[]\u202e") & set(shown)
    assert "|" not in words.cell("a|b")


def test_no_tool_stops_deletes_or_unpublishes() -> None:
    named = [name for name in vars(Tools) if not name.startswith("_")]
    assert not [
        name for name in named if any(w in name for w in ("stop", "delete", "unpublish", "remove"))
    ]


@pytest.mark.parametrize("source", offline.SOURCES, ids=lambda source: source.config)
def test_each_source_knows_its_own_title(source: offline.Source) -> None:
    assert offline.source_of(source.title.split(",")[0]) is source


def test_a_workspace_that_was_moved_still_writes_questions_of_its_own_functions(
    account: Path, tools: Tools, ws: AccountWorkspace
) -> None:
    """No record of the account names the folder in which it was made."""
    assert str(account) not in json.dumps([row.spec for row in ws.store.all(BenchmarkRow)])
    assert str(account) not in json.dumps([row.spec for row in ws.store.all(WriteRow)])
    found = tools.create_benchmark(Turn(), based_on=18, n=6)
    assert (waits(found).told["kind"], waits(found).told["n"]) == ("tool", 6)
    more = tools.revise_preview(tools.situation(waiting=(waits(found),)), Turn(), n=8)
    assert waits(more).told["n"] == 8
