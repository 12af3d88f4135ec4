"""The hyperparameters of a supervised training, and which of them cannot be trained with."""

from __future__ import annotations

from dataclasses import dataclass

from benchgen.errors import ConfigError
from benchgen.types import Record

TRAINERS = ("trl", "unsloth")
SCHEDULERS = ("linear", "cosine", "constant", "constant_with_warmup")
BATCHINGS = ("auto", "packed", "padded")
QUANTIZATIONS = ("none", "nf4")
PROJECTIONS = ("q_proj", "k_proj", "v_proj", "o_proj", "gate_proj", "up_proj", "down_proj")


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
    quantization: str = "none"
    """nf4 = the base's linear maps in 4 bits (QLoRA, Dettmers et al. 2023), on a CUDA device only."""


def check_settings(settings: SFTSettings, trainer: str) -> None:
    """None; ConfigError names the first setting that cannot be used."""
    for name, value, allowed in (
        ("trainer", trainer, TRAINERS),
        ("scheduler", settings.scheduler, SCHEDULERS),
        ("batching", settings.batching, BATCHINGS),
        ("quantization", settings.quantization, QUANTIZATIONS),
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
