"""GRPO of a LoRA adapter: completions are sampled in groups, scored, and compared within their group.

Group relative policy optimisation (Shao et al. 2024, arXiv 2402.03300) by trl's GRPOTrainer. Prompts
are the token ids that evaluation asks with, completions come from evaluation's engine, and the reward
is the benchmark's own scorer, given as a function. A killed training goes on from its last whole
checkpoint, sampling what it would have.
"""

from __future__ import annotations

import json
import os
import random
import resource
import shutil
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchgen.errors import ConfigError, DataError, TrainingError
from benchgen.models import quiet_libraries
from benchgen.models.chat import encode_prompt, stop_ids
from benchgen.models.embedded import file_sha256
from benchgen.models.engine.load import pick_device
from benchgen.plan.grpo_limits import check_grpo, grpo_steps
from benchgen.train.arguments import shared_arguments, silenced
from benchgen.train.checkpoints import last_checkpoint, save_adapter, step_of, write_json
from benchgen.train.fitting import OutOfMemoryError, until_it_fits
from benchgen.train.grpo_reporting import grpo_reporter
from benchgen.train.grpo_settings import GRPOSettings
from benchgen.train.job import Job, Metrics, peak_cuda
from benchgen.train.loading import load_for_training, unsloth_first
from benchgen.train.rewards import Judge, Rewards
from benchgen.train.rollouts import Rollouts
from benchgen.train.settings import SFTSettings, check_settings
from benchgen.types import Record

quiet_libraries()


@dataclass(frozen=True)
class GRPOOutcome(Record):
    """What a training did and what it left."""

    steps: int
    prompts_used: int
    prompts_dropped: int
    """Too long for recipe.max_length with a completion behind them."""
    completions: int
    tokens_seen: int
    """Of all prompts and completions of all steps, padding not counted."""
    unmeasured: int
    """Completions that got no reward because the scorer could not measure them."""
    seconds: float
    """Of this process; a resumed training counts from its resumption."""
    first_reward: float | None
    """Mean of the first step."""
    final_reward: float | None
    """Mean of the last step."""
    peak_rss_bytes: int
    peak_cuda_bytes: int
    adapter_path: str
    adapter_sha256: str
    trainer: str
    dtype: str
    resumed_at: int = 0
    batch_size: int = 0
    gradient_accumulation: int = 0
    """As trained with at last: smaller and more where memory ran out, with the same product."""
    notes: tuple[str, ...] = ()
    """What differed from the plan on the way."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "notes", tuple(self.notes))


@dataclass(frozen=True)
class _Parts:
    """What is put together before the trainer is."""

    model: Any
    tokenizer: Any
    stops: frozenset[int]
    prompts: Mapping[str, list[int]]
    """{key: token ids} of the prompts that are trained on."""
    dropped: int
    steps: int


def train_grpo(  # noqa: PLR0913 - the worker's one call; keywords only
    base: Path | str,
    rows: Sequence[Mapping[str, Any]],
    judge: Judge,
    settings: SFTSettings,
    grpo: GRPOSettings,
    out: Path,
    *,
    adapter: Path | None = None,
    stop: Sequence[str] = (),
    trainer: str = "trl",
    device: str = "auto",
    dtype: str = "auto",
    threads: int | None = None,
    revision: str | None = None,
    base_id: str | None = None,
    on_metrics: Metrics | None = None,
    resume: bool = False,
) -> GRPOOutcome:
    """Train a LoRA adapter of `base` on prompts `rows` ({"key", "messages"}); it lands in `out/adapter`.

    `judge` scores a completion; `stop` are the strings that end one. With `adapter` that one is trained
    on instead of a fresh one. When memory runs out it goes on with half the completions at once, three
    times. `resume` goes on at the last whole checkpoint, or returns the outcome of a finished training.
    `out/samples.jsonl` holds a few completions of each step.
    Raises ConfigError for a bad setting, DataError for prompts that cannot be trained on, TrainingError
    for a training that failed or learns nothing more (watch.py).
    """
    check_settings(settings, trainer)
    check_grpo(grpo.to_dict(), settings.batch_size, settings.gradient_accumulation)
    done = out / "outcome.json"
    if resume and done.is_file() and (out / "adapter" / "adapter_config.json").is_file():
        return GRPOOutcome.from_dict(json.loads(done.read_text()))
    done.unlink(missing_ok=True)
    if trainer == "unsloth":
        unsloth_first()
    began, place = time.monotonic(), pick_device(device, dtype, threads)

    def attempt(settings: SFTSettings, resume: bool) -> GRPOOutcome:
        job = Job(settings, out, trainer, place, on_metrics)
        return _train(base, rows, judge, job, grpo, tuple(stop), revision, adapter, base_id, resume)

    outcome, notes = until_it_fits(attempt, settings, place, resume)
    outcome = replace(outcome, seconds=round(time.monotonic() - began, 3), notes=notes)
    write_json(done, outcome.to_dict())
    shutil.rmtree(out / "checkpoints", ignore_errors=True)
    return outcome


def _train(  # noqa: PLR0913 - the parts of `train_grpo`
    base: Path | str,
    rows: Sequence[Mapping[str, Any]],
    judge: Judge,
    job: Job,
    grpo: GRPOSettings,
    stop: tuple[str, ...],
    revision: str | None,
    adapter: Path | None,
    base_id: str | None,
    resume: bool,
) -> GRPOOutcome:
    settings, out = job.settings, job.out
    model, tokenizer = load_for_training(base, job, revision, adapter)
    parts = _parts(model, tokenizer, rows, job, grpo)
    start = last_checkpoint(out / "checkpoints") if resume else None
    if start is None:
        shutil.rmtree(out / "checkpoints", ignore_errors=True)
        (out / "samples.jsonl").unlink(missing_ok=True)
    run = _trainer(parts, judge, job, grpo, stop)
    _run(run, start)
    made = save_adapter(run.model, out, base_id or str(base))
    logs = [entry for entry in run.state.log_history if "reward" in entry]
    step = settings.batch_size * settings.gradient_accumulation
    return GRPOOutcome(
        steps=int(run.state.global_step),
        prompts_used=len(parts.prompts),
        prompts_dropped=parts.dropped,
        completions=step * int(run.state.global_step),
        tokens_seen=int(run.state.num_input_tokens_seen),
        unmeasured=round(sum(entry["unmeasured"] for entry in logs) * step),
        seconds=0.0,  # of all attempts, by the caller
        first_reward=logs[0]["reward"],
        final_reward=logs[-1]["reward"],
        peak_rss_bytes=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        peak_cuda_bytes=peak_cuda(job.place),
        adapter_path=str(made),
        adapter_sha256=file_sha256(made / "adapter_model.safetensors"),
        trainer=job.trainer,
        dtype=job.place.dtype,
        resumed_at=step_of(start),
        batch_size=settings.batch_size,
        gradient_accumulation=settings.gradient_accumulation,
    )


def encode_prompts(
    tokenizer: Any, rows: Sequence[Mapping[str, Any]], longest: int
) -> dict[str, list[int]]:
    """{key: token ids} of the prompts of at most `longest` tokens, as evaluation asks them."""
    prompts = {row["key"]: encode_prompt(tokenizer, row["messages"]) for row in rows}
    return {key: ids for key, ids in prompts.items() if len(ids) <= longest}


def schedule(keys: Sequence[str], steps: int, a_step: int, seed: int) -> list[str]:
    """The keys of all steps in order, `a_step` different ones each: every key once before any comes again."""
    order: list[str] = []
    drawn = random.Random(seed)
    while len(order) < steps * a_step:
        begun = set(
            order[len(order) - len(order) % a_step :]
        )  # a step that the last pass left open
        rest = list(keys)
        drawn.shuffle(rest)
        head = [key for key in rest if key not in begun][: -len(begun) % a_step]
        order += head + [key for key in rest if key not in set(head)]
    return order[: steps * a_step]


def _parts(
    model: Any, tokenizer: Any, rows: Sequence[Mapping[str, Any]], job: Job, grpo: GRPOSettings
) -> _Parts:
    settings = job.settings
    longest = settings.max_length - grpo.max_completion_length
    prompts = encode_prompts(tokenizer, rows, longest)
    a_step = settings.batch_size * settings.gradient_accumulation // grpo.num_generations
    if len(prompts) < a_step:
        raise DataError(
            f"a step compares completions of {a_step} prompts",
            got=f"{len(prompts)} prompts of at most {longest} tokens",
            next="a smaller recipe.batch_size, a larger recipe.max_length, or more questions",
        )
    steps = grpo_steps(settings.max_steps, settings.epochs, len(prompts), a_step)
    stops = stop_ids(model, tokenizer)
    model.generation_config.eos_token_id = sorted(
        stops
    )  # what ends a completion is what ends a reply
    return _Parts(model, tokenizer, stops, prompts, len(rows) - len(prompts), steps)


def _run(run: Any, start: Path | None) -> None:
    import torch

    try:
        run.train(resume_from_checkpoint=str(start) if start else None)
    except torch.OutOfMemoryError as error:
        raise OutOfMemoryError from error
    except (RuntimeError, ValueError, OSError) as error:
        raise TrainingError(f"training stopped: {error}") from error
    if not any("reward" in entry for entry in run.state.log_history):
        raise TrainingError("training ended without a step")


def _trainer(
    parts: _Parts, judge: Judge, job: Job, grpo: GRPOSettings, stop: tuple[str, ...]
) -> Any:
    from datasets import Dataset
    from datasets.utils import disable_progress_bars
    from trl import GRPOTrainer

    settings, group = job.settings, grpo.num_generations
    step = settings.batch_size * settings.gradient_accumulation
    disable_progress_bars()
    os.environ.setdefault(
        "TRL_EXPERIMENTAL_SILENCE", "1"
    )  # its warning that rollout_func may change

    class Trainer(GRPOTrainer):
        def _tokenize_prompts(
            self, prompts: list[str]
        ) -> tuple[list[list[int]], None, dict[str, Any]]:
            """Where trl, unsloth or vLLM sample: the same ids, none of them tokenised again."""
            return [parts.prompts[key] for key in prompts], None, {}

    rollouts = None
    if job.trainer == "trl" and not grpo.vllm:
        rollouts = Rollouts.of(
            parts.model,
            parts.tokenizer,
            parts.stops,
            job.place.kind,
            prompts=parts.prompts,
            settings=grpo,
            seed=settings.seed,
            stop=stop,
        )
    elif stop:
        raise ConfigError(
            "only our own sampling ends at stop strings", got=list(stop), next="trainer=trl"
        )
    keys = schedule(list(parts.prompts), parts.steps, step // group, settings.seed)
    run = Trainer(
        model=parts.model,
        reward_funcs=Rewards(
            judge, grpo.format_weight, group, parts.stops, job.out / "samples.jsonl"
        ),
        args=_config(job, grpo, parts.steps, masked_here=rollouts is not None),
        train_dataset=Dataset.from_list([{"prompt": key} for key in keys]),
        processing_class=parts.tokenizer,
        callbacks=[grpo_reporter(job.on_metrics, step)],
        rollout_func=rollouts,
    )
    return silenced(run)


def _config(job: Job, grpo: GRPOSettings, steps: int, *, masked_here: bool) -> Any:
    from trl import GRPOConfig

    return GRPOConfig(
        **shared_arguments(job),
        max_steps=steps,
        steps_per_generation=job.settings.gradient_accumulation,
        num_generations=grpo.num_generations,
        num_iterations=1,
        max_completion_length=grpo.max_completion_length,
        shuffle_dataset=False,  # `schedule` has settled the order, so that a resumed job has it too
        temperature=grpo.temperature,
        top_p=1.0,  # a cut distribution is not the one whose likelihood is trained
        top_k=0,
        min_p=None,
        repetition_penalty=1.0,
        loss_type=grpo.loss_type,
        beta=grpo.beta,
        epsilon=grpo.epsilon,
        epsilon_high=grpo.epsilon_high,
        delta=None,
        importance_sampling_level="token",
        scale_rewards=grpo.scale_rewards,
        multi_objective_aggregation="sum_then_normalize",
        reward_weights=None,
        mask_truncated_completions=grpo.mask_truncated_completions and not masked_here,
        top_entropy_quantile=1.0,
        entropy_coef=0.0,
        disable_dropout=False,
        use_vllm=grpo.vllm,
        vllm_mode="colocate",
        vllm_importance_sampling_correction=True,
        use_liger_kernel=False,
        log_completions=False,  # trl would print them; samples.jsonl keeps some
    )
