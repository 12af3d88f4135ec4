"""The words of this project, explained in a sentence or two, each with what a person can do with it."""

from __future__ import annotations

EXPLAINED = {
    "options are reordered automatically": "The options are put in order so that the right letters come out even, "
    "in every benchmark: there is nothing to ask for. What each option says, and which one is right, stays as it is.",
    "start a new chat, name runs by id": "If runs or models were mixed up, this chat has become about too many of "
    "them. Start a new chat and name everything by its id: `run 3`, `benchmark 1`, `job 2`; `benchgen runs` lists them.",
    "permission to train: send it again; if it stays, it is not allowed here": "A 403 means that this message was "
    "sent without the right to start a training. Send it again; if it is refused again, this installation does not "
    "allow it: what you may do stands in conf/permissions/.",
    "wait a moment and send it again; split a large request, or continue": "A message may take up to 15 minutes; "
    "what was done by then is kept. Next: ask for less at once, or say `continue` where a benchmark is being written. "
    "Where a model does not answer, wait a minute and send the message again.",
    "grpo": "GRPO samples several answers to each question, scores them with the benchmark's own scorer, and moves the "
    "model towards the better ones. It learns only from questions that it gets right sometimes and not always. "
    "Next: `grpo on benchmark 1, base model smollm2_135m`.",
    "merge": "A trained adapter is used on top of its base model, which is enough to run it. Merging writes both into "
    "one set of weights under a name of its own. Next: `merge the adapter of job 2 as my-model`.",
    "distill": "Distilling trains a small model on the answers that a stronger model got right, its reasoning "
    "included. Run both on the same benchmark first. Next: `plan a from-run training from run 3, mode distill, base "
    "model smollm2_135m`.",
    "modes of a run dataset": "A finished run has a dataset in three modes: `failures` are the questions scored as "
    "wrong, with the right answers; `all` is every question with what was answered; `distill` are the right answers in "
    "full. Next: `dataset of run 3, mode all, 10 rows`.",
    "adapter": "An adapter holds the few weights that a LoRA training changed; it is used on top of its base model, "
    "and can be run and trained further like any model. Next: `run benchmark 1 on ADAPTER`.",
    "lora": "LoRA trains a small number of added weights and leaves the base model as it is, so it needs little "
    "memory; with 4-bit weights (QLoRA) still less, on a GPU only. Next: `lora fine-tune MODEL on FILE, 1 epoch`.",
    "draft and published": "A benchmark begins as a draft, which can be changed and deleted but not run. Published, it "
    "never changes again and can be run. Next: `publish benchmark 1`.",
    "epochs and steps": "One epoch goes once through all training rows; a step is one update, on batch_size times "
    "gradient_accumulation rows. A limit of steps wins over epochs. Next: say `1 epoch` or `at most 50 steps` with a plan.",
    "learning rate": "How far each step moves the weights: too small learns nothing, too large forgets. LoRA takes "
    "about 1e-4 to 1e-3. Next: say `learning rate 2e-4` with a plan.",
    "rank": "The rank is the size of the matrices that LoRA adds: a higher one can learn more and needs more memory; "
    "16 is usual, with an alpha of twice that. Next: say `rank 32` with a plan.",
    "base model": "The model whose weights a training begins from: smollm2_135m is built in, others are named by "
    "their Hugging Face id, such as Qwen/Qwen2.5-0.5B-Instruct. A model behind an endpoint has no weights here.",
    "kinds of questions": "Five kinds: mcq (multiple choice), qa (short answers), numeric, tool (calls of functions), "
    "keypoints (open answers scored on points). Next: `create 20 numeric questions about percentages`.",
    "training": "Four kinds: LoRA on a dataset, GRPO on a benchmark, more training of an adapter, and from-run, on "
    "what a run showed. A plan comes first and starts nothing; `yes` starts exactly it. Next: `plan a from-run training "
    "from run 3`.",
    "run dataset": "The rows of a finished run: question, right answer, what the model answered and how it was "
    "counted. Next: `dataset of run 3, mode failures, 10 rows`.",
    "comparing runs": "Runs of one benchmark are compared question by question: the difference comes with its 95 % "
    "interval and a test, and counts as improved only where the interval excludes zero. Next: `compare runs 3 and 4`.",
    "score": "The share of right answers among those that could be scored, with its 95 % interval. What could not be "
    "measured (a time-out, a crash) counts as neither right nor wrong. Next: `status of run 3`.",
    "benchmark": "Questions together with the program that scores them, frozen at the start so that scores stay "
    "comparable. Next: `create 20 questions about the solar system`.",
    "run": "One model asked all questions of one published benchmark; it goes on in the background. "
    "Next: `run benchmark 1 on smollm2_135m`, then `status`.",
    "cost": "Local models cost only this machine's time; an endpoint costs what its provider takes, shown with a run "
    "where a price is set for the model. A plan shows its time before it starts.",
    "tokens": "I need no token and take none: name the environment variable that holds it in the model's settings, "
    "and set that before you start.",
    "temperature and seed": "At temperature 0 a model always gives its likeliest answer, so a run can be repeated; "
    "above it answers are drawn, and the seed says which. Next: `run benchmark 1 on MODEL, temperature 0.7, 4 repeats`.",
    "held-out questions": "Held-out questions were never trained on, so a score on them is no matter of memory. A "
    "benchmark can keep some apart, and a second one shares none with the first. Next: `30 new questions like "
    "benchmark 1`.",
    "files": "Files lie in the folder `files` of the workspace, or are named with their path: tables of questions, "
    "documents, training rows. Next: `import FILE`.",
    "exporting": "A benchmark goes out for other tools with `benchgen export benchmark_id=1 format=inspect path=out` "
    "(also codabench, lm_eval, hf), a run with `benchgen export run_id=1 path=out`, and a chat, to be done again, with "
    "`benchgen export session=NAME path=chat.ipynb`.",
    "models that write": "Questions on any topic, and about documents, are written by a model that you connect: a file "
    "conf/model/NAME.yaml (kind: endpoint, name, base_url, and in api_key_env the variable that holds the key), then "
    "`benchgen chat agent.writer=NAME`. Without one there are the solar system, the elements, countries, units, "
    "arithmetic, and your own files. Next: `create 20 questions about the solar system`.",
    "privacy": "All of it stays in the workspace on this machine: benchmarks, runs, chats. Something leaves it only "
    "where a model behind an endpoint is asked, a hub id is fetched or online tracking is set, and then without keys.",
    "undoing": "What was done stays on record. A plan that waits is cancelled by any word but `yes`, a preview is "
    "nothing until `Create it`, and a draft can be taken away with `benchgen delete benchmark_id=1`.",
    "models": "A model is a base model, one behind an endpoint, an adapter or a merged one; `benchgen models` lists "
    "them. Next: `run benchmark 1 on MODEL`.",
    "publishing a model": "Taking a model to the Hugging Face hub is done with the command line, where it is planned "
    "and confirmed: `benchgen publish model=NAME repo=OWNER/NAME`.",
    "below baseline": "A model that scores below its baseline after training has usually not lost what it knew: its "
    "answers have another form than the benchmark asks for. Next: ask for the dataset of its run in mode all, and "
    "read what it answered and how each answer was counted.",
}
"""{topic, as the rules name it: the explanation}"""
