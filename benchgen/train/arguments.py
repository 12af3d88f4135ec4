"""What every trainer of trl is told alike: optimiser, types, checkpoints, silence."""

from __future__ import annotations

from typing import Any

from benchgen.train.job import Job
from benchgen.train.ranks import world


def shared_arguments(job: Job) -> dict[str, Any]:
    """The fields that SFTConfig and GRPOConfig have in common, but for the number of steps."""
    settings, place, gpu = job.settings, job.place, job.place.kind == "cuda"
    optimizer = settings.optimizer
    if optimizer == "auto":
        optimizer = "adamw_8bit" if gpu and job.trainer == "unsloth" else "adamw_torch_fused"
    return {
        "output_dir": str(job.out / "checkpoints"),
        "per_device_train_batch_size": settings.batch_size // world(),
        "gradient_accumulation_steps": settings.gradient_accumulation,
        "learning_rate": settings.learning_rate,
        "lr_scheduler_type": settings.scheduler,
        # transformers 5 reads a float below 1 as a share of the steps, and 1.0 as one step.
        "warmup_steps": min(settings.warmup, 0.999),
        "weight_decay": settings.weight_decay,
        "max_grad_norm": settings.max_grad_norm,
        "optim": optimizer,
        "seed": settings.seed,
        "data_seed": settings.seed,
        # The base is held in its own dtype and the adapter in float32; on a GPU autocast joins them.
        "bf16": place.dtype == "bfloat16",
        "fp16": place.dtype == "float16" and gpu,
        "use_cpu": not gpu,
        "gradient_checkpointing": settings.gradient_checkpointing,
        "remove_unused_columns": False,
        "dataloader_num_workers": 0,
        "dataloader_pin_memory": gpu,
        "eval_strategy": "no",
        "save_strategy": "steps",
        "save_steps": settings.save_steps,
        "save_total_limit": 2,
        "logging_steps": 1,
        "logging_first_step": True,
        # Replaced by the mean of the steps before, a loss that is no number would never be seen.
        "logging_nan_inf_filter": False,
        **({"ddp_find_unused_parameters": False} if world() > 1 else {}),
        **({"ddp_backend": "gloo"} if world() > 1 and not gpu else {}),
        "report_to": "none",
        "push_to_hub": False,
        "disable_tqdm": True,
    }


def silenced(run: Any) -> Any:
    """The trainer without transformers' own printing: the job's metrics say it all."""
    from transformers.trainer_callback import PrinterCallback, ProgressCallback

    for printer in (PrinterCallback, ProgressCallback):
        run.remove_callback(printer)
    return run
