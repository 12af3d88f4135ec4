"""Supervised fine-tuning of a LoRA adapter on question and worked-answer rows.

Rows are rendered and masked here, by the function that also renders evaluation prompts, and go to trl's
SFTTrainer as `input_ids` and `labels`. A killed training goes on from its last whole checkpoint.
"""

from __future__ import annotations

import json
import math
import resource
import shutil
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchgen.errors import ConfigError, DataError, StateError, TrainingError
from benchgen.models import quiet_libraries
from benchgen.models.chat import IGNORE, encode_row, stop_ids
from benchgen.models.device import Device
from benchgen.models.embedded import file_sha256
from benchgen.models.engine.load import load_base, pick_device
from benchgen.train.batches import Collator, packs_exactly
from benchgen.train.checkpoints import (
    last_checkpoint,
    mark_whole,
    save_adapter,
    write_json,
)
from benchgen.types import Record

quiet_libraries()

TRAINERS = ("trl", "unsloth")
SCHEDULERS = ("linear", "cosine", "constant", "constant_with_warmup")
BATCHINGS = ("auto", "packed", "padded")
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")
Metrics = Callable[[dict[str, Any]], None]


@dataclass(frozen=True)
class SFTSettings(Record):
    """Every hyperparameter, none left to a library's default."""

    learning_rate: float = 1e-3
    epochs: float = 1.0
    max_steps: int = -1
    """More than 0 overrides epochs."""
    batch_size: int = 8
    gradient_accumulation: int = 1
    r: int = 16
    alpha: int = 32
    dropout: float = 0.0
    targets: str = "all-linear"
    """`all-linear`, or names of projections separated by commas."""
    scheduler: str = "linear"
    warmup: float = 0.0
    """Share of the steps."""
    weight_decay: float = 0.0
    max_grad_norm: float = 1.0
    max_length: int = 512
    """Tokens of a row; what is longer is cut at the start of its prompt, never at its answer."""
    save_steps: int = 10
    seed: int = 0
    layers: float = 1.0
    """Upper share of the layers that get an adapter; 0.5 = the upper half, and half the backward pass."""
    optimizer: str = "auto"
    """auto = adamw_torch_fused on a CPU, adamw_8bit with unsloth on a GPU, adamw_torch_fused else."""
    gradient_checkpointing: bool = False
    batching: str = "auto"
    """packed (rows behind one shared beginning, no padding), padded, or auto = packed on a CPU with trl."""


@dataclass(frozen=True)
class TrainOutcome(Record):
    """What a training did and what it left."""

    steps: int
    rows_used: int
    rows_dropped: int
    rows_truncated: int
    tokens: int
    """Tokens of the rows of one epoch, padding not counted."""
    supervised_share: float
    seconds: float
    """Of this process; a resumed training counts from its resumption."""
    final_loss: float
    """Of the last step."""
    peak_rss_bytes: int
    peak_cuda_bytes: int
    adapter_path: str
    adapter_sha256: str
    """Of adapter_model.safetensors."""
    trainer: str
    dtype: str
    batching: str
    resumed_at: int = 0
    """The step this process began after; 0 = it did them all."""


@dataclass(frozen=True)
class _Job:
    """What the parts of one training need to know about it."""

    settings: SFTSettings
    out: Path
    trainer: str
    place: Device
    on_metrics: Metrics | None

    @property
    def packs(self) -> bool:
        """Whether packing is worth a try: unsloth's kernels and GPUs have means of their own."""
        asked = self.settings.batching
        return asked == "packed" or (
            asked == "auto" and self.trainer == "trl" and self.place.kind == "cpu"
        )


@dataclass(frozen=True)
class EncodedRows:
    """Rows as token ids, with what had to be left out."""

    rows: list[dict[str, list[int]]]
    dropped: int
    truncated: int

    @property
    def tokens(self) -> int:
        return sum(len(row["input_ids"]) for row in self.rows)

    @property
    def supervised(self) -> int:
        return sum(label != IGNORE for row in self.rows for label in row["labels"])


def train_lora(  # noqa: PLR0913 - the worker's one call; keywords only
    base: Path | str,
    rows: Sequence[Mapping[str, Any]],
    settings: SFTSettings,
    out: Path,
    *,
    trainer: str = "trl",
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
    revision: str | None = None,
    base_id: str | None = None,
    on_metrics: Metrics | None = None,
    resume: bool = False,
) -> TrainOutcome:
    """Train a LoRA adapter of `base` on `rows` ({"messages", "completion"}); it lands in `out/adapter`.

    `base_id` is the name of the base to write into the adapter instead of a path of this machine.
    With `resume` a finished training returns its outcome and an unfinished one goes on at its last
    whole checkpoint; steps after that one are run, and reported to `on_metrics`, again.
    Raises ConfigError for a bad setting, DataError for rows that cannot be learned from, TrainingError
    for a training that failed.
    """
    check_settings(settings, trainer)
    done = out / "outcome.json"
    if resume and done.is_file() and (out / "adapter" / "adapter_config.json").is_file():
        return TrainOutcome.from_dict(json.loads(done.read_text()))
    done.unlink(missing_ok=True)
    if trainer == "unsloth":
        _unsloth_first()
    began = time.monotonic()
    job = _Job(settings, out, trainer, pick_device(device, dtype, threads), on_metrics)
    model, tokenizer = _load(base, job, revision)
    encoded = encode_rows(tokenizer, rows, settings.max_length)
    check_rows(encoded, stop_ids(model, tokenizer))
    collator = _collator(model, tokenizer, encoded, job)
    run = _trainer(model, tokenizer, encoded, collator, job)
    start = last_checkpoint(out / "checkpoints") if resume else None
    losses = _run(run, out / "checkpoints", start)
    adapter = save_adapter(run.model, out, base_id or str(base))
    outcome = TrainOutcome(
        steps=int(run.state.global_step),
        rows_used=len(encoded.rows),
        rows_dropped=encoded.dropped,
        rows_truncated=encoded.truncated,
        tokens=encoded.tokens,
        supervised_share=round(encoded.supervised / encoded.tokens, 4),
        seconds=round(time.monotonic() - began, 3),
        final_loss=losses[-1],
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        peak_cuda_bytes=_peak_cuda(job.place),
        adapter_path=str(adapter),
        adapter_sha256=file_sha256(adapter / "adapter_model.safetensors"),
        trainer=trainer,
        dtype=job.place.dtype,
        resumed_at=int(start.name.rsplit("-", 1)[1]) if start else 0,
        batching="padded" if collator.shared is None else "packed",
    )
    write_json(done, outcome.to_dict())
    shutil.rmtree(out / "checkpoints", ignore_errors=True)
    return outcome


def _run(run: Any, checkpoints: Path, start: Path | None) -> list[float]:
    """The loss of every step, also of those before a resumption."""
    import torch

    if start is None:
        shutil.rmtree(checkpoints, ignore_errors=True)
    try:
        run.train(resume_from_checkpoint=str(start) if start else None)
    except torch.OutOfMemoryError as error:
        raise TrainingError(
            "the device's memory does not hold a training step",
            next="halve recipe.batch_size and double recipe.gradient_accumulation",
        ) from error
    except (RuntimeError, ValueError, OSError) as error:
        raise TrainingError(f"training stopped: {error}") from error
    losses = [float(entry["loss"]) for entry in run.state.log_history if "loss" in entry]
    if not losses:
        raise TrainingError("training ended without a step")
    return losses


# ---------------------------------------------------------------- checks before anything runs


def check_settings(settings: SFTSettings, trainer: str) -> None:
    """None; ConfigError names the first setting that cannot be used."""
    for name, value, allowed in (
        ("trainer", trainer, TRAINERS),
        ("scheduler", settings.scheduler, SCHEDULERS),
        ("batching", settings.batching, BATCHINGS),
    ):
        if value not in allowed:
            raise ConfigError(f"{name} is not known", got=value, allowed=allowed)
    for name in ("batch_size", "gradient_accumulation", "r", "alpha", "max_length", "save_steps"):
        if getattr(settings, name) < 1:
            raise ConfigError(f"{name} must be at least 1", got=getattr(settings, name))
    if settings.max_steps <= 0 and settings.epochs <= 0:
        raise ConfigError("either max_steps or epochs must be above 0", got=settings.epochs)
    if not 0 < settings.learning_rate < 1:
        raise ConfigError("learning_rate must be between 0 and 1", got=settings.learning_rate)
    for name, low, high in (("dropout", 0, 0.99), ("warmup", 0, 1), ("layers", 0.001, 1)):
        if not low <= getattr(settings, name) <= high:
            raise ConfigError(
                f"{name} must be between {low:g} and {high:g}", got=getattr(settings, name)
            )
    targets(settings)


def targets(settings: SFTSettings) -> str | list[str]:
    """peft's target modules; ConfigError for the output head, which would be trained to no effect."""
    if settings.targets == "all-linear":
        return "all-linear"
    names = [name.strip() for name in settings.targets.split(",") if name.strip()]
    if not names or "lm_head" in names:
        raise ConfigError(
            "targets cannot be trained", got=settings.targets, allowed=["all-linear", *PROJECTIONS]
        )
    return names


def encode_rows(tokenizer: Any, rows: Sequence[Mapping[str, Any]], max_length: int) -> EncodedRows:
    """Token ids and labels of each row; empty answers and those longer than max_length are dropped.

    A row that is too long loses the start of its prompt, so that the answer and its end stay whole.
    """
    kept, dropped, truncated = [], 0, 0
    for row in rows:
        completion = str(row["completion"])
        if not completion.strip():
            dropped += 1
            continue
        ids, labels = encode_row(tokenizer, row["messages"], completion)
        answer = sum(label != IGNORE for label in labels)
        if answer >= max_length:
            dropped += 1
            continue
        truncated += len(ids) > max_length
        kept.append({"input_ids": ids[-max_length:], "labels": labels[-max_length:]})
    return EncodedRows(kept, dropped, truncated)


def check_rows(encoded: EncodedRows, stops: frozenset[int]) -> None:
    """None; DataError unless there are rows, each ends with a stop token, and 1 to 99 % is supervised."""
    if not encoded.rows:
        raise DataError(
            "no row can be trained on",
            got=f"{encoded.dropped} rows with an empty or overlong answer",
            next="choose other rows, or raise recipe.max_length",
        )
    if any(row["labels"][-1] not in stops for row in encoded.rows):
        raise DataError("a row does not end with a token that stops the model")
    share = encoded.supervised / encoded.tokens
    if not 0.01 <= share <= 0.99:
        raise DataError(
            "the share of supervised tokens is out of range",
            got=f"{share:.1%}",
            allowed=["1 % to 99 %"],
            next="rows need a prompt and an answer of comparable length",
        )


# ---------------------------------------------------------------- the trainer's parts


def _unsloth_first() -> None:
    if "unsloth" not in sys.modules:
        if "trl" in sys.modules or "peft" in sys.modules:
            raise StateError(
                "unsloth must be imported before trl and peft", next="train in a process of its own"
            )
        try:
            import unsloth  # noqa: F401
        except Exception as error:
            raise ConfigError(
                f"trainer=unsloth cannot be used here: {error}",
                got="unsloth",
                allowed=["auto", "trl"],
            ) from error


def _load(base: Path | str, job: _Job, revision: str | None) -> tuple[Any, Any]:
    """(model with a fresh adapter, tokenizer)."""
    from peft import LoraConfig, get_peft_model
    from transformers import set_seed

    settings = job.settings
    set_seed(settings.seed)
    if job.trainer == "unsloth":
        return _load_unsloth(base, job, revision)
    model, tokenizer, folder = load_base(base, job.place, revision)
    model.config.use_cache = False
    config = LoraConfig(
        base_model_name_or_path=str(folder),
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules=_target_modules(model, settings),
        layers_to_transform=_layers(settings, model.config.num_hidden_layers),
        task_type="CAUSAL_LM",
    )
    return get_peft_model(model, config), tokenizer


def _load_unsloth(base: Path | str, job: _Job, revision: str | None) -> tuple[Any, Any]:
    import torch
    from unsloth import FastLanguageModel

    settings = job.settings
    model, tokenizer = FastLanguageModel.from_pretrained(
        str(base),
        max_seq_length=settings.max_length,
        dtype=getattr(torch, job.place.dtype),
        load_in_4bit=False,
        revision=revision,
        use_exact_model_name=True,
        random_state=settings.seed,
    )
    names = targets(settings)
    model = FastLanguageModel.get_peft_model(
        model,
        r=settings.r,
        lora_alpha=settings.alpha,
        lora_dropout=settings.dropout,
        bias="none",
        target_modules=list(PROJECTIONS) if names == "all-linear" else names,
        layers_to_transform=_layers(settings, model.config.num_hidden_layers),
        use_gradient_checkpointing="unsloth" if settings.gradient_checkpointing else False,
        random_state=settings.seed,
    )
    return model, tokenizer


def _target_modules(model: Any, settings: SFTSettings) -> str | list[str]:
    """As set; with a share of the layers peft wants the names that `all-linear` stands for."""
    import torch

    found = targets(settings)
    if found != "all-linear" or settings.layers >= 1:
        return found
    linear = {
        name.rpartition(".")[2]
        for name, module in model.named_modules()
        if isinstance(module, torch.nn.Linear)
    }
    return sorted(linear - {"lm_head"})


def _layers(settings: SFTSettings, count: int) -> list[int] | None:
    """Indices of the layers that get an adapter; None = all."""
    if settings.layers >= 1:
        return None
    return list(range(count - max(1, round(count * settings.layers)), count))


def _collator(model: Any, tokenizer: Any, encoded: EncodedRows, job: _Job) -> Collator:
    padding = tokenizer.pad_token_id if tokenizer.pad_token_id is not None else 0
    padded = Collator(padding, None)
    if not job.packs:
        return padded
    packed = Collator.sharing(padding, encoded.rows)
    if packs_exactly(model, encoded.rows, packed, padded):
        return packed
    if job.settings.batching == "packed":
        raise ConfigError(
            "this model does not give the same loss on packed rows",
            got="packed",
            allowed=["auto", "padded"],
        )
    return padded


def _trainer(
    model: Any, tokenizer: Any, encoded: EncodedRows, collator: Collator, job: _Job
) -> Any:
    from datasets import Dataset
    from datasets.utils import disable_progress_bars
    from transformers.trainer_callback import PrinterCallback, ProgressCallback
    from trl import SFTTrainer

    disable_progress_bars()
    run = SFTTrainer(
        model=model,
        args=_config(job),
        train_dataset=Dataset.from_list(encoded.rows),
        processing_class=tokenizer,
        data_collator=collator,
        callbacks=[_reporter(job.on_metrics)],
    )
    for printer in (PrinterCallback, ProgressCallback):
        run.remove_callback(printer)
    return run


def _config(job: _Job) -> Any:
    from trl import SFTConfig

    settings, place, gpu = job.settings, job.place, job.place.kind == "cuda"
    optimizer = settings.optimizer
    if optimizer == "auto":
        optimizer = "adamw_8bit" if gpu and job.trainer == "unsloth" else "adamw_torch_fused"
    return SFTConfig(
        output_dir=str(job.out / "checkpoints"),
        max_steps=settings.max_steps if settings.max_steps > 0 else -1,
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch_size,
        gradient_accumulation_steps=settings.gradient_accumulation,
        learning_rate=settings.learning_rate,
        lr_scheduler_type=settings.scheduler,
        # transformers 5 reads a float below 1 as a share of the steps, and 1.0 as one step.
        warmup_steps=min(settings.warmup, 0.999),
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.max_grad_norm,
        optim=optimizer,
        seed=settings.seed,
        data_seed=settings.seed,
        # The base is held in its own dtype and the adapter in float32; on a GPU autocast joins them.
        bf16=place.dtype == "bfloat16",
        fp16=place.dtype == "float16" and gpu,
        use_cpu=not gpu,
        gradient_checkpointing=settings.gradient_checkpointing,
        max_length=None,
        packing=False,
        loss_type="nll",
        dataset_kwargs={"skip_prepare_dataset": True},
        remove_unused_columns=False,
        dataloader_num_workers=0,
        dataloader_pin_memory=gpu,
        eval_strategy="no",
        save_strategy="steps",
        save_steps=settings.save_steps,
        save_total_limit=2,
        logging_steps=1,
        logging_first_step=True,
        report_to="none",
        push_to_hub=False,
        disable_tqdm=True,
    )


def _reporter(on_metrics: Metrics | None) -> Any:
    """A trainer callback that reports each step and marks whole checkpoints."""
    from transformers import TrainerCallback

    class Reporter(TrainerCallback):
        def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            self.began = time.monotonic()

        def on_log(
            self, args: Any, state: Any, control: Any, logs: Any = None, **kwargs: Any
        ) -> None:
            if not logs or "loss" not in logs:
                return
            if not math.isfinite(float(logs["loss"])):
                raise TrainingError(
                    f"the loss of step {state.global_step} is not a number",
                    got=logs["loss"],
                    next="a lower recipe.learning_rate",
                )
            if on_metrics is None:
                return
            on_metrics(
                {
                    "step": int(state.global_step),
                    "steps": int(state.max_steps),
                    "loss": float(logs["loss"]),
                    "token_accuracy": float(logs.get("mean_token_accuracy", 0.0)),
                    "grad_norm": float(logs.get("grad_norm", 0.0)),
                    "learning_rate": float(logs.get("learning_rate", 0.0)),
                    "epoch": round(float(state.epoch or 0.0), 4),
                    "seconds": round(time.monotonic() - self.began, 3),
                }
            )

        def on_save(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
            mark_whole(Path(args.output_dir) / f"checkpoint-{state.global_step}")

    return Reporter()


def _peak_cuda(place: Device) -> int:
    if place.kind != "cuda":
        return 0
    import torch

    return int(torch.cuda.max_memory_allocated())
