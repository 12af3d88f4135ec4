"""The agent's tools: one typed method an intent, over the same functions as the command line.

Each gives an `Outcome`: short words that end with the next step, what was understood and found, what now
waits. What cannot be done comes back as an outcome too (`error`, `explain_draft`, `warn_incomparable`,
`no_claim_yet`, `refuse_limit`, `clarify`); errors of the store that a person can mend go through. No tool
starts a training, and none stops, deletes or unpublishes anything. The methods from `changed` on are the
gate's: no brain is given them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from benchgen.agent import wording
from benchgen.agent.reply import Outcome
from benchgen.agent.situation import Situation, Waiting, Wish
from benchgen.agent.tools import (
    changing,
    figures,
    lists,
    looking,
    planned,
    running,
    seeing,
    training,
    writing,
)
from benchgen.agent.tools.desk import Desk, number, waiting_for
from benchgen.agent.turn import Turn
from benchgen.workspace import Workspace

__all__ = ["Tools"]


class Tools:
    """What the agent can do in a workspace.

    `writer` is the model of the catalogue that writes questions where no shipped author can; None = the
    workspace's, else that of the config (agent.writer); empty = none.
    """

    def __init__(self, ws: Workspace, writer: str | None = None) -> None:
        self._desk = Desk(ws, ws.writer if writer is None else writer)

    def situation(self, **chat: Any) -> Situation:
        """The records of the workspace, with the facts of a chat: Situation's fields from `waiting` on."""
        return seeing.situation(self._desk.ws.place, **chat)

    # ------------------------------------------------------------------------------- benchmarks

    def create_benchmark(  # noqa: PLR0913 - each is a word of the person's request
        self,
        turn: Turn,
        kind: str = "mcq",
        n: int | None = None,
        topic: str = "",
        name: str = "",
        language: str = "en",
        n_options: int = 4,
        difficulty: str = "",
        groups: Sequence[Mapping[str, Any]] = (),
        based_on: int | None = None,
        no_overlap_with: int | None = None,
    ) -> Outcome:
        """Write a preview of a benchmark: nothing is created. `based_on`: new questions like a benchmark's."""
        asked = {
            "kind": kind,
            "n": n,
            "topic": topic,
            "name": name,
            "language": language,
            "n_options": n_options,
            "difficulty": difficulty,
            "groups": [dict(one) for one in groups],
            "based_on": based_on,
            "no_overlap_with": no_overlap_with,
        }
        return writing.create(
            self._desk, turn, {k: v for k, v in asked.items() if v not in (None, "", [])}
        )

    def import_file(self, path: str, name: str = "", kind: str = "", language: str = "") -> Outcome:
        """A preview of the questions of a file."""
        return writing.import_file(self._desk, path, name, kind, language)

    def import_inline(self, table: str, name: str = "", kind: str = "") -> Outcome:
        """A preview of questions that stand in the message itself, as a table with a line of column names."""
        return writing.import_inline(self._desk, table, name, kind)

    def create_from_document(  # noqa: PLR0913 - each is a word of the person's request
        self,
        turn: Turn,
        path: str,
        kind: str = "qa",
        n: int = 10,
        name: str = "",
        n_options: int = 4,
        language: str = "en",
        difficulty: str = "",
    ) -> Outcome:
        """A preview of questions that a document answers, each with the words that prove it."""
        asked = {
            "path": path,
            "kind": kind,
            "n": n,
            "name": name,
            "n_options": n_options,
            "language": language,
            "difficulty": difficulty,
        }
        return writing.from_document(self._desk, turn, {k: v for k, v in asked.items() if v != ""})

    def revise_preview(
        self,
        situation: Situation,
        turn: Turn,
        preview: str | None = None,
        edits: Sequence[Mapping[str, Any]] = (),
        **changes: Any,
    ) -> Outcome:
        """The waiting preview with some questions changed, or written again with other wishes; nothing is created."""
        label = changes.pop("batch", None)
        batch = None if label is None else waiting_for(situation, str(label), "batch")
        waiting = waiting_for(situation, preview, "preview")
        if batch is not None:
            return changing.so_far(self._desk, batch, number(changes.get("n")))
        return changing.revise(self._desk, turn, waiting, edits, _wishes(changes))

    # ------------------------------------------------------------------------------------- runs

    def publish(self, benchmark: int | None = None) -> Outcome:
        """Publish a draft, so that it can be run; it never changes from then on."""
        return running.publish(self._desk, benchmark)

    def publish_and_run(  # noqa: PLR0913 - each is a word of the person's request
        self,
        benchmark: int | None = None,
        model: str | None = None,
        models: Sequence[str] | None = None,
        model_candidates: Sequence[str] | None = None,
        limit: int | None = None,
        seed: int | None = None,
        repeats: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Outcome:
        """Publish a draft, then run a model on it, in the background."""
        settings = _settings(limit, seed, repeats, temperature, max_tokens)
        names = running.names_of(model, models, model_candidates)
        found = running.publish_and_run(self._desk, benchmark, names, settings)
        return running.with_candidates(found, None if model else model_candidates)

    def run_benchmark(  # noqa: PLR0913 - each is a word of the person's request
        self,
        benchmark: int | None = None,
        model: str | None = None,
        model_candidates: Sequence[str] | None = None,
        limit: int | None = None,
        seed: int | None = None,
        repeats: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Outcome:
        """Run a model on a published benchmark, in the background."""
        settings = _settings(limit, seed, repeats, temperature, max_tokens)
        names = running.names_of(model, None, model_candidates)
        found = running.run(self._desk, benchmark, names, settings)
        return running.with_candidates(found, None if model else model_candidates)

    def multi_run(  # noqa: PLR0913 - each is a word of the person's request
        self,
        benchmark: int | None = None,
        models: Sequence[str] = (),
        limit: int | None = None,
        seed: int | None = None,
        repeats: int | None = None,
        temperature: float | None = None,
        max_tokens: int | None = None,
    ) -> Outcome:
        """Run several models on one published benchmark, each in the background."""
        settings = _settings(limit, seed, repeats, temperature, max_tokens)
        return running.run(self._desk, benchmark, list(models), settings)

    def resume_run(self, run: int | None = None, job: int | None = None) -> Outcome:
        """Go on with a run that failed or was interrupted, without asking anything twice."""
        return running.resume(self._desk, run, job)

    def run_status(self, run: int | None = None, write: int | None = None) -> Outcome:
        """State and progress of a run, its score with the breakdown once finished; or how many questions of a
        writing are written; without either, all that is under way."""
        return looking.status(self._desk, run, write)

    def compare_runs(
        self,
        runs: Sequence[int] | None = None,
        run: int | None = None,
        models: Sequence[str] | None = None,
        benchmark: int | None = None,
        roles: Mapping[str, int] | None = None,
    ) -> Outcome:
        """Scores of finished runs of one benchmark side by side, with intervals, tests and links."""
        found = looking.compare(
            self._desk, runs or ([run] if run is not None else None), models, benchmark
        )
        return looking.with_roles(found, roles or {})

    def show_dataset(
        self,
        run: int | None = None,
        mode: str = "failures",
        rows: int | None = None,
        offset: int = 0,
        category: str = "",
    ) -> Outcome:
        """Rows of a finished run: mode failures, all or distill."""
        return looking.dataset(self._desk, run, mode, rows, offset, category)

    def explain_low_score(self, run: int | None = None) -> Outcome:
        """What a run's replies show about its score: statuses first, knowledge last."""
        return looking.explain_low(self._desk, run)

    def explain(  # noqa: PLR0913 - each is a word of the person's request
        self,
        situation: Situation,
        topic: str = "",
        percent: float | None = None,
        run: int | None = None,
        n: int | None = None,
        n_options: int | None = None,
        preview: str | None = None,
        q: int | None = None,
        listed: str = "",
        benchmark: int | None = None,
    ) -> Outcome:
        """What a word means; how much a figure says, of a run where it is one's; one question of a preview; a list."""
        if listed in lists.NEXT:
            return lists.listed(situation, listed)
        if topic == "benchmark" and benchmark is not None:
            return lists.benchmark(self._desk, benchmark)
        if preview is not None and q is not None:
            return changing.shown(self._desk, waiting_for(situation, preview, "preview"), q)
        if topic == figures.TOPIC and (percent is not None or run is not None):
            return figures.explained(self._desk, situation, percent, run, n, n_options)
        return wording.said(Wish("explain", {"topic": topic}), situation)

    # -------------------------------------------------------------------------------- trainings

    def plan_training(  # noqa: PLR0913 - each is a word of the person's request
        self,
        situation: Situation,
        job_type: str | None = None,
        base_model: str | None = None,
        base_model_candidates: Sequence[str] | None = None,
        dataset: str | None = None,
        run: int | None = None,
        runs: Sequence[int] | None = None,
        mode: str | None = None,
        benchmark: int | None = None,
        job: int | None = None,
        name: str | None = None,
        quantize: bool | None = None,
        epochs: float | None = None,
        max_steps: int | None = None,
        learning_rate: float | None = None,
        rank: int | None = None,
        alpha: int | None = None,
        batch_size: int | None = None,
        gradient_accumulation: int | None = None,
        max_length: int | None = None,
        warmup: float | None = None,
        weight_decay: float | None = None,
        dropout: float | None = None,
        seed: int | None = None,
        num_generations: int | None = None,
        temperature: float | None = None,
        beta: float | None = None,
        max_tokens: int | None = None,
    ) -> Outcome:
        """Show what a training would do: lora on a dataset, grpo on a benchmark, continue of a job's adapter, or
        from-run on what a run showed. Nothing starts before the person's own yes."""
        asked = {k: v for k, v in locals().items() if k not in ("self", "situation")}
        asked |= {"run": number(run), "job": number(job), "benchmark": number(benchmark)}
        asked = {k: v for k, v in asked.items() if v is not None}
        return training.plan(self._desk, situation, asked)

    def revise_plan(self, situation: Situation, plan: str | None = None, **changes: Any) -> Outcome:
        """Cancel the plan or merge that waits and show it again with these arguments changed."""
        waiting = waiting_for(situation, plan, "plan", "merge")
        return training.revise(self._desk, situation, waiting, _wishes(changes))

    def plan_merge(
        self, job: int | None = None, name: str | None = None, model: str | None = None
    ) -> Outcome:
        """Show what merging a job's adapter into its base would do. Nothing starts before the person's own yes."""
        return training.merge(self._desk, job, model, name)

    def training_status(self, job: int | None = None) -> Outcome:
        """How far a training or merge is; without one, the newest that is under way."""
        return training.status(self._desk, job)

    def training_logs(self, job: int | None = None, lines: int | None = None) -> Outcome:
        """The last lines of a job, and the cause where it failed."""
        return training.logs(self._desk, job, lines)

    # ------------------------------------------------------------------------ the gate's, no brain's

    def changed(self, waiting: Waiting) -> str:
        """What changed since a plan or merge was shown, in words; empty where nothing did."""
        return training.changed(self._desk, waiting)

    def confirm_plan(self, waiting: Waiting, answer: str) -> Outcome:
        """The plan's job, started; already_done where it was before."""
        return training.confirm(self._desk, waiting, answer)

    def confirm_merge(self, waiting: Waiting, answer: str) -> Outcome:
        """The merge's job, started; already_done where it was before."""
        return training.confirm(self._desk, waiting, answer)

    def cancel_plan(self, waiting: Waiting, answer: str) -> None:
        """The plan's or merge's record cancelled; one that was decided before stays as it is."""
        training.cancel(self._desk, waiting, answer)

    def about_plan(self, waiting: Waiting, topics: Sequence[str]) -> str:
        """What a plan or merge said of these topics; empty where it has no record."""
        return planned.about(self._desk, waiting, topics)

    def confirm_create(self, waiting: Waiting) -> Outcome:
        """The benchmark exactly as previewed, a draft, and the three things that can be next."""
        return writing.confirm_create(self._desk, waiting)

    def continue_batch(self, waiting: Waiting, turn: Turn) -> Outcome:
        """The next questions of a writing; waits again, or shows the preview when all are written."""
        write = self._desk.ws.get_write(int(waiting.told["write"]))
        before = {"written": len(write.written().questions), "total": write.row.wanted}
        found = writing.go_on(self._desk, turn, write, dict(waiting.told.get("asked") or {}))
        arguments = {**found.arguments, **before, "now": len(write.written().questions)}
        return replace(found, arguments=arguments)


def _settings(
    limit: int | None,
    seed: int | None,
    repeats: int | None,
    temperature: float | None,
    max_tokens: int | None,
) -> dict[str, Any]:
    """The settings of a run that were asked for."""
    told = {
        "limit": limit,
        "seed": seed,
        "repeats": repeats,
        "temperature": temperature,
        "max_tokens": max_tokens,
    }
    return {key: value for key, value in told.items() if value is not None}


SAID = ("show", "later", "wish", "missing")
"""Arguments of a wish that ask for nothing."""


def _wishes(changes: Mapping[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in changes.items() if value is not None and key not in SAID}
