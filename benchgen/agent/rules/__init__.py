"""The embedded brain: `understand(text, situation)` is the wish that a message utters. Offline, no state, milliseconds.

It reads what a person asks, never whether it can be done: a run on a draft is `run_benchmark`, a run that no
list holds is named by its number, a bad mode stays as typed. The tools know the rest. What it cannot know it
asks for (`clarify`), and a yes, `Create it` or `continue` is the gate's to read, before any brain.

Arguments by intent. An absent one was not said; ids are ints; a name that fits several models gives
`model_candidates` (`base_model_candidates` of a training), best first, instead of `model` (`base_model`).

| intent | arguments |
| --- | --- |
| create_benchmark | kind (mcq, qa, numeric, tool, keypoints), n, topic, name, language ("en"), n_options, difficulty (easy, medium, hard, mixed), groups [{"topic", "n"}], based_on + no_overlap_with (a benchmark id: same topic, new questions) |
| import_file | path (as typed), name, kind, language |
| import_inline | table (the pasted text), kind, name, n (rows) |
| create_from_document | path, kind, n, name, n_options, language, difficulty, grounded (always true) |
| publish | benchmark |
| publish_and_run | benchmark, model or models; run settings as below |
| run_benchmark | benchmark, model, report (always ["run id", "link"]); settings: limit, seed, repeats, temperature, max_tokens |
| multi_run | benchmark, models (names); settings as above |
| run_status | run; write, written, total (of the writing that waits); or nothing: all that is under way |
| resume_run | run (job, where a job is meant) |
| compare_runs | runs; run (the last one, where `it` is compared with what came before); roles {teacher, student, baseline, trained: run}; links |
| show_dataset | run, mode (as typed, of any language once known), rows, offset, category |
| explain_low_score | run, suggest {"mode": "all"} |
| plan_training | job_type (lora, grpo, continue, from-run), base_model, dataset, run (runs, where several), mode, benchmark, job, name, quantize (4-bit); settings: epochs, max_steps, learning_rate, rank, alpha, batch_size, num_generations, max_length, seed, temperature, beta, warmup, weight_decay, dropout, gradient_accumulation, max_tokens |
| revise_plan | plan (its label), show (that the changed plan waits for a new yes), and each changed argument of plan_training |
| revise_preview | preview (its label), edits [{"q", "answer" or "prompt" or "options" or "remove" or "replace" or "change"}], and each changed argument of create_benchmark; or batch (its label) and n: what a writing has so far |
| plan_merge | job, model, name, base_model |
| training_status | job |
| training_logs | job, lines |
| choose_option | option (from 1), benchmark, then ("run" or "publish", where that is asked for after it), model |
| leave_draft | benchmark |
| refuse_unsupported | action (stop, stop run, delete, delete run, unpublish), run, job, benchmark or model, where (the command for people) |
| refuse_secret | nothing, least of all the secret |
| refuse_limit | n, limit, and what else was said |
| help | limit where one was asked for, topic |
| explain | topic, and the record that it is about; of topic score: percent, run, n, n_options; of a question of a preview: preview, q; listed (benchmarks, models, runs, jobs, files), where a list is asked for; benchmark, where one is to be seen |
| clarify | missing [argument names], wish (the intent it would be), and all that was understood |
| error | reason, and the offending argument as given |
| continue_batch | written, total: while a batch waits, in other words than `continue` |
| cancel_plan | plan (the label of what waits), about (what a question asks of it) |
| ignore_or_cancel, unclear | nothing |

Any wish may carry `later`: the intents that the same message asks for afterwards, in order; `Wish.later` holds
them with their arguments, where what they are about is known by then.
"""

from __future__ import annotations

from benchgen.agent.rules.brain import understand
from benchgen.agent.rules.reading import unread

__all__ = ["understand", "unread"]
