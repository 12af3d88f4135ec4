"""Training beside plain trl: `python experiments/speed/training.py`. Writes training.json.

The same rows, base, LoRA, batch, optimiser, types, steps and threads: once through `train_lora` as a plan
on a CPU has it (`trainer=trl`, `batching=auto`), once through trl's own SFTTrainer, which renders, masks
and pads the rows itself. Each measurement is a process of its own, five pairs in alternating order. A
figure is tokens of the rows' texts (padding not counted, the same for both) a second of the steps after
the first; the target is a median ratio of at least 0.97. `--small` is a miniature that writes nothing.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

PAIRS, STEPS, BATCH, RANK = 5, 12, 8, 16
TARGET = 0.97
WAYS = ("ours", "trl")


def prepare(folder: Path, small: bool) -> Path:
    """The base's folder; rows.json beside it: the worked answers of the demo's practice questions."""
    from benchgen.benchmark.prompts import render, worked_answer
    from benchgen.models.embedded import embedded_model
    from benchgen.workspace import Workspace

    draft = Workspace(folder / "ws").author("solar_system_practice")
    rows = [
        {
            "messages": list(render(question, draft.evaluation)),
            "completion": worked_answer(question, draft.evaluation).strip(),
        }
        for question in draft.questions
    ]
    (folder / "rows.json").write_text(json.dumps(rows))
    return _tiny(folder / "base") if small else embedded_model()


def _tiny(folder: Path) -> Path:
    """A random model of two layers with the embedded model's tokenizer."""
    import torch
    from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM

    from benchgen.models.embedded import embedded_model

    tokenizer = AutoTokenizer.from_pretrained(str(embedded_model()))
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        tie_word_embeddings=True,
        eos_token_id=2,
        pad_token_id=2,
    )
    LlamaForCausalLM(config).save_pretrained(str(folder))
    tokenizer.save_pretrained(str(folder))
    return folder


def measure(way: str, folder: Path, base: Path, steps: int) -> dict[str, Any]:
    """Seconds of each step after the first, the losses, and tokens of the rows that the steps saw."""
    from transformers import AutoTokenizer

    from benchgen.models import quiet_libraries
    from benchgen.models.chat import encode_row
    from benchgen.models.engine.load import pick_device
    from benchgen.train.job import Job
    from benchgen.train.settings import SFTSettings

    quiet_libraries()
    rows = json.loads((folder / "rows.json").read_text())
    settings = SFTSettings(max_steps=steps, batch_size=BATCH, r=RANK, save_steps=10 * steps)
    place = pick_device("cpu", threads=len(os.sched_getaffinity(0)))
    out = Path(tempfile.mkdtemp(dir=folder))
    job = Job(settings, out, "trl", place, None)
    seconds, losses = (_ours if way == "ours" else _plain)(base, rows, job)
    tokenizer = AutoTokenizer.from_pretrained(str(base))
    lengths = [len(encode_row(tokenizer, r["messages"], r["completion"])[0]) for r in rows]
    seen = statistics.fmean(lengths) * BATCH * (len(seconds) - 1)
    return {
        "way": way,
        "tokens_a_second": round(seen / sum(seconds[1:]), 1),
        "seconds": [round(s, 3) for s in seconds],
        "losses": [round(loss, 4) for loss in losses],
        "dtype": place.dtype,
    }


def _ours(base: Path, rows: list[dict[str, Any]], job: Any) -> tuple[list[float], list[float]]:
    from benchgen.train.sft import train_lora

    told: list[dict[str, Any]] = []
    train_lora(
        base,
        rows,
        job.settings,
        job.out,
        device="cpu",
        dtype=job.place.dtype,
        threads=job.place.threads,
        on_metrics=told.append,
    )
    return [row["seconds"] for row in told], [row["loss"] for row in told]


def _plain(base: Path, rows: list[dict[str, Any]], job: Any) -> tuple[list[float], list[float]]:
    """As trl's documentation has it: prompt and completion, loss on the completion alone."""
    import torch
    from datasets import Dataset
    from peft import LoraConfig
    from transformers import AutoModelForCausalLM, AutoTokenizer, TrainerCallback, set_seed
    from trl import SFTConfig, SFTTrainer

    from benchgen.train.arguments import shared_arguments, silenced

    torch.set_num_threads(job.place.threads)
    set_seed(job.settings.seed)
    settings, seconds = job.settings, list[float]()

    class Clock(TrainerCallback):
        def on_step_begin(self, *_: Any, **__: Any) -> None:
            self.began = time.monotonic()

        def on_log(self, *_: Any, logs: Any = None, **__: Any) -> None:
            if logs and "loss" in logs:
                seconds.append(time.monotonic() - self.began)

    data = [
        {
            "prompt": row["messages"],
            "completion": [{"role": "assistant", "content": row["completion"]}],
        }
        for row in rows
    ]
    run = SFTTrainer(
        model=AutoModelForCausalLM.from_pretrained(
            str(base), dtype=getattr(torch, job.place.dtype)
        ),
        args=SFTConfig(
            **{**shared_arguments(job), "remove_unused_columns": True},
            max_steps=settings.max_steps,
            max_length=settings.max_length,
            packing=False,
            completion_only_loss=True,
            loss_type="nll",
        ),
        train_dataset=Dataset.from_list(data),
        processing_class=AutoTokenizer.from_pretrained(str(base)),
        peft_config=LoraConfig(
            r=settings.r,
            lora_alpha=settings.alpha,
            lora_dropout=settings.dropout,
            target_modules="all-linear",
            task_type="CAUSAL_LM",
        ),
        callbacks=[Clock()],
    )
    silenced(run).train()
    return seconds, [e["loss"] for e in run.state.log_history if "loss" in e]


def main(small: bool) -> None:
    """Pairs of both ways, one after the other, the first of a pair by turns."""
    pairs, steps = (2, 3) if small else (PAIRS, STEPS)
    found: list[dict[str, dict[str, Any]]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        base = prepare(folder, small)
        for number in range(pairs):
            pair = {}
            for way in WAYS if number % 2 == 0 else WAYS[::-1]:
                command = [
                    sys.executable,
                    __file__,
                    "--one",
                    way,
                    str(folder),
                    str(base),
                    str(steps),
                ]
                done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
                pair[way] = json.loads(done.stdout.splitlines()[-1])
                print(
                    f"pair {number + 1}, {way}: {pair[way]['tokens_a_second']} tokens/s", flush=True
                )
            found.append(pair)
    result = _result(found, steps)
    print(json.dumps(result, indent=1))
    if not small:
        Path(__file__).with_suffix(".json").write_text(json.dumps(result, indent=1) + "\n")


def _result(found: list[dict[str, dict[str, Any]]], steps: int) -> dict[str, Any]:
    from benchgen.models.device import detect
    from benchgen.reports import environment

    ratios = [pair["ours"]["tokens_a_second"] / pair["trl"]["tokens_a_second"] for pair in found]
    speeds = {
        way: round(statistics.median(pair[way]["tokens_a_second"] for pair in found), 1)
        for way in WAYS
    }
    return {
        "machine": {
            "cpu": detect().name,
            "cores": len(os.sched_getaffinity(0)),
            "python": platform.python_version(),
            "versions": environment()["versions"],
        },
        "settings": {
            "steps": steps,
            "batch_size": BATCH,
            "r": RANK,
            "dtype": found[0]["ours"]["dtype"],
        },
        "tokens_a_second": speeds,
        "ratios": [round(ratio, 3) for ratio in ratios],
        "median_ratio": round(statistics.median(ratios), 3),
        "target": TARGET,
        "last_loss": {way: [pair[way]["losses"][-1] for pair in found] for way in WAYS},
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--one"]:
        way, folder, base, steps = sys.argv[2:]
        print(json.dumps(measure(way, Path(folder), Path(base), int(steps))))
    else:
        parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
        parser.add_argument("--small", action="store_true", help="a miniature that writes nothing")
        main(parser.parse_args().small)
