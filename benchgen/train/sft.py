"""LoRA on pre-tokenised rows, through trl + peft or through unsloth: the same rows, the same loss.

Rows are tokenised here, with the renderer that evaluation uses, so template, end token and mask cannot
differ from it. Which rows a step sees is laid out beforehand from the seed; a killed training goes on at
its last whole checkpoint with the very rows that come next.
"""

from __future__ import annotations

import hashlib
import json
import math
import random
import resource
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.errors import DataError, TrainingError
from benchgen.models.local import IGNORE, encode_row, load_base, pick_device, stop_ids
from benchgen.types import Record

TARGETS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
POOL_STEPS = 8
"""Rows of so many steps are sorted by length together: less padding, still shuffled."""


@dataclass(frozen=True)
class SFTSettings(Record):
    """Every hyperparameter of a LoRA training; nothing is left to a library's default."""

    learning_rate: float
    epochs: float
    max_steps: int
    """More than 0 overrides `epochs`."""
    batch_size: int
    gradient_accumulation: int
    r: int
    alpha: int
    dropout: float
    targets: str
    """'all-linear', or module names separated by commas."""
    scheduler: str
    warmup: float
    """Share of the steps if below 1, else their number."""
    weight_decay: float
    max_grad_norm: float
    max_length: int
    """Tokens of a row; what is longer is cut at its end and counted."""
    save_steps: int
    seed: int

    @property
    def effective_batch(self) -> int:
        return self.batch_size * self.gradient_accumulation


@dataclass(frozen=True)
class TrainOutcome(Record):
    """What a training did."""

    steps: int
    rows_used: int
    rows_dropped: int
    """Without one supervised token after cutting."""
    rows_truncated: int
    tokens: int
    """Trained over all steps, padding not counted."""
    supervised_share: float
    seconds: float
    """Of the steps alone, this process's part if it was resumed."""
    resumed_at: int
    final_loss: float
    peak_rss_bytes: int
    peak_cuda_bytes: int
    adapter_path: str
    adapter_sha256: str
    trainer: str
    dtype: str


@dataclass(frozen=True)
class Rows:
    """Tokenised rows and what was lost on the way."""

    input_ids: tuple[tuple[int, ...], ...]
    labels: tuple[tuple[int, ...], ...]
    dropped: int
    truncated: int

    @property
    def supervised_share(self) -> float:
        """Share of tokens that are learnt, in (0, 1)."""
        learnt = sum(label != IGNORE for row in self.labels for label in row)
        return learnt / sum(map(len, self.labels))


def tokenise(tokenizer: Any, rows: Sequence[Mapping[str, Any]], max_length: int) -> Rows:
    """The rows as input ids and labels; DataError if none of them has anything to learn."""
    ids, labels, dropped, truncated = [], [], 0, 0
    for row in rows:
        row_ids, row_labels = encode_row(tokenizer, row["messages"], row["completion"])
        truncated += len(row_ids) > max_length
        row_ids, row_labels = row_ids[:max_length], row_labels[:max_length]
        if all(label == IGNORE for label in row_labels):
            dropped += 1
            continue
        ids.append(tuple(row_ids))
        labels.append(tuple(row_labels))
    if not ids:
        raise DataError(
            f"none of {len(rows)} rows has a token to learn within max_length={max_length}",
            got=len(rows),
            allowed="at least 1 usable row",
            next="raise recipe.max_length, or look at the rows",
        )
    return Rows(tuple(ids), tuple(labels), dropped, truncated)


def check_rows(rows: Rows, stops: frozenset[int]) -> None:
    """Nothing; TrainingError if answers would not learn to end, or if everything were learnt.

    Rows cut at max_length lose their end and are counted already; of the whole ones each must end in a
    token that ends an answer at evaluation.
    """
    whole = len(rows.labels) - rows.truncated
    ends = sum(row[-1] in stops for row in rows.labels)
    if ends < whole:
        raise TrainingError(f"{whole - ends} rows do not end with a token that stops the model")
    if not 0.0 < rows.supervised_share < 1.0:
        raise TrainingError(f"{rows.supervised_share:.0%} of the tokens would be learnt")


def schedule(lengths: Sequence[int], settings: SFTSettings) -> list[int]:
    """Row numbers in the order they are trained on, epoch after epoch, whole steps only.

    Each epoch is shuffled by the seed; within a pool of a few steps rows are sorted by length and the
    steps shuffled again, because padding costs as much as text.
    """
    size = settings.effective_batch
    per_epoch = math.ceil(len(lengths) / size)
    steps = settings.max_steps if settings.max_steps > 0 else math.ceil(settings.epochs * per_epoch)
    rng = random.Random(settings.seed)
    order: list[int] = []
    while len(order) < steps * size:
        order += _epoch(lengths, size, rng)
    return order[: steps * size]


def _epoch(lengths: Sequence[int], size: int, rng: random.Random) -> list[int]:
    rows = rng.sample(range(len(lengths)), len(lengths))
    rows += rows[: -len(rows) % size]  # the last step is filled up from the start
    while len(rows) % size:  # fewer rows than one step holds
        rows += rows[: size - len(rows) % size]
    steps = []
    for start in range(0, len(rows), POOL_STEPS * size):
        pool = sorted(rows[start : start + POOL_STEPS * size], key=lambda i: lengths[i])
        steps += [pool[i : i + size] for i in range(0, len(pool), size)]
    rng.shuffle(steps)
    return [row for step in steps for row in step]


def train_lora(  # noqa: PLR0913 - what is trained, on what, how, to where, with what
    base: str,
    rows: Sequence[Mapping[str, Any]],
    settings: SFTSettings,
    out: Path,
    *,
    trainer: str = "trl",
    device: str = "auto",
    dtype: str = "auto",
    revision: str | None = None,
    on_metrics: Callable[[dict[str, Any]], None] | None = None,
    resume: bool = True,
) -> TrainOutcome:
    """The outcome of a whole training; `out/adapter` holds the adapter afterwards.

    Goes on at the last whole checkpoint in `out/checkpoints` if `resume`. With trainer='unsloth' the
    caller has imported unsloth before anything of transformers.
    """
    import torch
    import transformers

    transformers.set_seed(settings.seed)
    place = pick_device(device, dtype)
    make = _unsloth_model if trainer == "unsloth" else _peft_model
    model, tokenizer = make(base, settings, place, revision)
    data = tokenise(tokenizer, rows, settings.max_length)
    check_rows(data, stop_ids(model, tokenizer))
    order = schedule([len(ids) for ids in data.input_ids], settings)
    checkpoints = out / "checkpoints"
    last = last_checkpoint(checkpoints) if resume else None
    runner = _trainer(model, tokenizer, data, order, settings, place, checkpoints)
    watch = _watcher(on_metrics or (lambda row: None))
    runner.add_callback(watch)
    started = time.monotonic()
    runner.train(resume_from_checkpoint=str(last) if last else None)
    seconds = time.monotonic() - started
    adapter = save_adapter(runner.model, tokenizer, out / "adapter")
    cuda = torch.cuda.max_memory_allocated() if place.kind == "cuda" else 0
    return TrainOutcome(
        steps=runner.state.global_step,
        rows_used=len(data.input_ids),
        rows_dropped=data.dropped,
        rows_truncated=data.truncated,
        tokens=sum(len(data.input_ids[i]) for i in order),
        supervised_share=round(data.supervised_share, 4),
        seconds=round(seconds, 2),
        resumed_at=int(last.name.rsplit("-", 1)[1]) if last else 0,
        final_loss=watch.loss,
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        peak_cuda_bytes=cuda,
        adapter_path=str(adapter),
        adapter_sha256=_sha256(adapter / "adapter_model.safetensors"),
        trainer=trainer,
        dtype=place.dtype,
    )


def last_checkpoint(folder: Path) -> Path | None:
    """The newest checkpoint that was written to its end; None if there is none.

    The trainer writes `trainer_state.json` last, so one without it was cut off.
    """
    found = [p for p in folder.glob("checkpoint-*") if _is_whole(p)]
    return max(found, key=lambda p: int(p.name.rsplit("-", 1)[1]), default=None)


def save_adapter(model: Any, tokenizer: Any, to: Path) -> Path:
    """The folder `to` with the adapter and tokenizer, complete or not there at all."""
    part = to.with_name(f".{to.name}.part")
    shutil.rmtree(part, ignore_errors=True)
    model.save_pretrained(str(part), safe_serialization=True)
    tokenizer.save_pretrained(str(part))
    shutil.rmtree(to, ignore_errors=True)
    part.rename(to)
    return to


def _is_whole(checkpoint: Path) -> bool:
    try:
        state = json.loads((checkpoint / "trainer_state.json").read_text())
    except (OSError, ValueError):
        return False
    needed = ("optimizer.pt", "scheduler.pt", "adapter_model.safetensors")
    return "global_step" in state and all((checkpoint / name).exists() for name in needed)


def _targets(settings: SFTSettings) -> list[str]:
    if settings.targets == "all-linear":
        return list(TARGETS)
    return [name.strip() for name in settings.targets.split(",")]


def _peft_model(
    base: str, settings: SFTSettings, place: Any, revision: str | None
) -> tuple[Any, Any]:
    from peft import LoraConfig, get_peft_model

    model, tokenizer, _ = load_base(base, place, revision)
    config = LoraConfig(
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules="all-linear" if settings.targets == "all-linear" else _targets(settings),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config), tokenizer


def _unsloth_model(
    base: str, settings: SFTSettings, place: Any, revision: str | None
) -> tuple[Any, Any]:
    import torch
    from unsloth import FastLanguageModel

    model, tokenizer = FastLanguageModel.from_pretrained(
        base,
        max_seq_length=settings.max_length,
        dtype=getattr(torch, place.dtype),
        load_in_4bit=False,
        revision=revision,
    )
    model = FastLanguageModel.get_peft_model(
        model,
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules=_targets(settings),
        use_gradient_checkpointing=False if place.kind == "cpu" else "unsloth",
        random_state=settings.seed,
    )
    return model, tokenizer


def _trainer(  # noqa: PLR0913
    model: Any,
    tokenizer: Any,
    data: Rows,
    order: Sequence[int],
    settings: SFTSettings,
    place: Any,
    checkpoints: Path,
) -> Any:
    from datasets import Dataset
    from transformers import PrinterCallback
    from trl import SFTConfig, SFTTrainer

    on_cpu = place.kind == "cpu"
    config = SFTConfig(
        output_dir=str(checkpoints),
        max_steps=len(order) // settings.effective_batch,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.scheduler,
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        optim="adamw_torch_fused" if on_cpu else "adamw_8bit",
        max_length=None,  # cut and counted already
        packing=False,
        padding_free=False,
        train_sampling_strategy="sequential",  # `order` is the shuffle
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        gradient_checkpointing=not on_cpu,
        use_cpu=on_cpu,
        bf16=place.dtype == "bfloat16" and not on_cpu,
        fp16=place.dtype == "float16",
        logging_steps=1,
        logging_first_step=True,
        save_strategy="steps",
        save_steps=settings.save_steps,
        save_total_limit=2,
        save_only_model=False,
        eval_strategy="no",
        report_to="none",
        disable_tqdm=True,
        dataloader_num_workers=0,
        dataloader_pin_memory=not on_cpu,
        seed=settings.seed,
        data_seed=settings.seed,
    )
    rows = {
        "input_ids": [list(data.input_ids[i]) for i in order],
        "labels": [list(data.labels[i]) for i in order],
    }
    trainer = SFTTrainer(
        model=model,
        args=config,
        train_dataset=Dataset.from_dict(rows),
        data_collator=_collator(int(tokenizer.pad_token_id or 0)),
        processing_class=tokenizer,
    )
    trainer.remove_callback(PrinterCallback)  # metrics are told in one place, by the watcher
    return trainer


def _collator(pad: int) -> Callable[[Sequence[Mapping[str, Any]]], dict[str, Any]]:
    import torch

    def collate(batch: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        """Tensors (B, T), padded on the right; padding is neither attended to nor learnt."""
        width = max(len(row["input_ids"]) for row in batch)

        def column(name: str, fill: int) -> torch.Tensor:
            rows = [list(row[name]) + [fill] * (width - len(row[name])) for row in batch]
            return torch.tensor(rows)

        mask = [[1] * len(r["input_ids"]) + [0] * (width - len(r["input_ids"])) for r in batch]
        return {
            "input_ids": column("input_ids", pad),
            "labels": column("labels", IGNORE),
            "attention_mask": torch.tensor(mask),
        }

    return collate


def _watcher(tell: Callable[[dict[str, Any]], None]) -> Any:
    """A callback that tells each step's metrics and stops a training whose loss is no number."""
    from transformers import TrainerCallback

    class Watcher(TrainerCallback):  # type: ignore[misc]
        loss = float("nan")
        bad = 0

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
            if not logs or "loss" not in logs:
                return
            loss = float(logs["loss"])
            self.bad = 0 if math.isfinite(loss) else self.bad + 1
            if self.bad >= 3:
                raise TrainingError("the loss was not a number for three steps", next="a lower learning rate")
            if math.isfinite(loss):
                self.loss = loss
            row = {"step": state.global_step, "time": round(time.time(), 2)}
            names = ("loss", "grad_norm", "learning_rate", "mean_token_accuracy", "num_tokens")
            told = {n: float(logs[n]) for n in names if n in logs}
            tell(row | {n: v for n, v in told.items() if math.isfinite(v)})

    return Watcher()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
