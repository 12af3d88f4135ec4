"""Supervised fine-tuning of a LoRA adapter on question and worked-answer rows.

Rows are rendered and masked here, by the function that also renders evaluation prompts, and go to trl's
SFTTrainer as `input_ids` and `labels`. A killed training goes on from its last whole checkpoint.
"""

from __future__ import annotations

import json
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchgen.errors import ConfigError, TrainingError
from benchgen.models import quiet_libraries
from benchgen.models.chat import stop_ids
from benchgen.models.embedded import file_sha256
from benchgen.models.engine.load import pick_device
from benchgen.train.arguments import shared_arguments, silenced
from benchgen.train.batches import Collator, packs_exactly
from benchgen.train.checkpoints import last_checkpoint, save_adapter, step_of, write_json
from benchgen.train.continuing import prove
from benchgen.train.encoding import EncodedRows, check_rows, encode_rows
from benchgen.train.fitting import OutOfMemoryError, until_it_fits
from benchgen.train.job import HeldOut, Job, Metrics, TrainOutcome, peak_cuda
from benchgen.train.loading import load_for_training, unsloth_first
from benchgen.train.ranks import FollowedError, rank
from benchgen.train.reporting import reporter
from benchgen.train.settings import SFTSettings, check_settings
from benchgen.train.stopping import EarlyStop, callback

quiet_libraries()


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
    adapter: Path | None = None,
    on_metrics: Metrics | None = None,
    held_out: HeldOut | None = None,
    resume: bool = False,
) -> TrainOutcome:
    """Train a LoRA adapter of `base` on `rows` ({"messages", "completion"}); it lands in `out/adapter`.

    `base_id` is the name of the base to write into the adapter instead of a path of this machine.
    `adapter` is the folder of an earlier one to go on from; that it does is proved before the first step.
    `held_out` questions are asked on the way: training stops when their score no longer rises, and the
    best step's adapter lands. When memory runs out it goes on with half the rows at once, three times.
    With `resume` a finished training returns its outcome and an unfinished one goes on at its last
    whole checkpoint; steps after that one are run, and reported to `on_metrics`, again.
    Raises ConfigError for a bad setting, DataError for rows that cannot be learned from, TrainingError
    for a training that failed, FollowedError in a process that has only trained along (ranks.py).
    """
    check_settings(settings, trainer)
    done = out / "outcome.json"
    if resume and done.is_file() and (out / "adapter" / "adapter_config.json").is_file():
        return TrainOutcome.from_dict(json.loads(done.read_text()))
    if rank() == 0:
        done.unlink(missing_ok=True)
    if trainer == "unsloth":
        unsloth_first()
    began, place = time.monotonic(), pick_device(device, dtype, threads)

    def attempt(settings: SFTSettings, resume: bool) -> TrainOutcome:
        job = Job(settings, out, trainer, place, on_metrics, held_out)
        return _train(base, rows, job, revision, adapter, base_id, resume)

    outcome, notes = until_it_fits(attempt, settings, place, resume)
    outcome = replace(outcome, seconds=round(time.monotonic() - began, 3), notes=notes)
    write_json(done, outcome.to_dict())
    shutil.rmtree(out / "checkpoints", ignore_errors=True)
    return outcome


def _train(  # noqa: PLR0913 - the parts of `train_lora`
    base: Path | str,
    rows: Sequence[Mapping[str, Any]],
    job: Job,
    revision: str | None,
    adapter: Path | None,
    base_id: str | None,
    resume: bool,
) -> TrainOutcome:
    settings, out = job.settings, job.out
    model, tokenizer = load_for_training(base, job, revision, adapter)
    encoded = encode_rows(tokenizer, rows, settings.max_length)
    check_rows(encoded, stop_ids(model, tokenizer))
    collator = _collator(model, tokenizer, encoded, job)
    run = _trainer(model, tokenizer, encoded, collator, job)
    continued = prove(run, adapter, settings.batch_size) if adapter else None
    start = last_checkpoint(out / "checkpoints") if resume else None
    resumed_at = step_of(start)
    watch = EarlyStop(job.held_out, out, job.on_metrics) if job.held_out else None
    if watch:
        watch.begin(resumed_at)
        run.add_callback(callback(watch, tokenizer))
    losses = _run(run, out / "checkpoints", start)
    if rank() > 0:
        raise FollowedError
    best_step = watch.restore(run.model) if watch else None
    made = save_adapter(run.model, out, base_id or str(base))
    if watch:
        watch.clear()
    return TrainOutcome(
        steps=int(run.state.global_step),
        rows_used=len(encoded.rows),
        rows_dropped=encoded.dropped,
        rows_truncated=encoded.truncated,
        tokens=encoded.tokens,
        supervised_share=round(encoded.supervised / encoded.tokens, 4),
        seconds=0.0,  # of all attempts, by the caller
        final_loss=losses[-1],
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        peak_cuda_bytes=peak_cuda(job.place),
        adapter_path=str(made),
        adapter_sha256=file_sha256(made / "adapter_model.safetensors"),
        trainer=job.trainer,
        dtype=job.place.dtype,
        resumed_at=resumed_at,
        batching="padded" if collator.shared is None else "packed",
        batch_size=settings.batch_size,
        gradient_accumulation=settings.gradient_accumulation,
        evaluations=tuple(watch.evaluations) if watch else (),
        best_step=best_step,
        continued=continued.to_dict() if continued else None,
    )


def _run(run: Any, checkpoints: Path, start: Path | None) -> list[float]:
    """The loss of every step, also of those before a resumption."""
    import torch

    if start is None and rank() == 0:
        shutil.rmtree(checkpoints, ignore_errors=True)
    try:
        run.train(resume_from_checkpoint=str(start) if start else None)
    except torch.OutOfMemoryError as error:
        raise OutOfMemoryError from error
    except (RuntimeError, ValueError, OSError) as error:
        raise TrainingError(f"training stopped: {error}") from error
    losses = [float(entry["loss"]) for entry in run.state.log_history if "loss" in entry]
    if not losses:
        raise TrainingError("training ended without a step")
    return losses


def _collator(model: Any, tokenizer: Any, encoded: EncodedRows, job: Job) -> Collator:
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


def _trainer(model: Any, tokenizer: Any, encoded: EncodedRows, collator: Collator, job: Job) -> Any:
    from datasets import Dataset
    from datasets.utils import disable_progress_bars
    from trl import SFTTrainer

    disable_progress_bars()
    run = SFTTrainer(
        model=model,
        args=_config(job),
        train_dataset=Dataset.from_list(encoded.rows),
        processing_class=tokenizer,
        data_collator=collator,
        callbacks=[reporter(job.on_metrics)],
    )
    return silenced(run)


def _config(job: Job) -> Any:
    from trl import SFTConfig

    return SFTConfig(
        **shared_arguments(job),
        max_steps=job.settings.max_steps if job.settings.max_steps > 0 else -1,
        num_train_epochs=job.settings.epochs,
        max_length=None,
        packing=False,
        loss_type="nll",
        dataset_kwargs={"skip_prepare_dataset": True},
    )
