"""Every knob as a plain dataclass, and the one door through which YAML and overrides become them."""

from benchgen.config.composing import (
    compose,
    load,
    load_author,
    load_benchmark,
    load_model,
    load_recipe,
    own_maps,
    register,
    validate,
)
from benchgen.config.machine import cache_folder, user_name
from benchgen.config.messages import explain
from benchgen.config.schema import (
    AuthorConfig,
    BenchmarkConfig,
    Config,
    EvaluationConfig,
    GrpoConfig,
    HardwareConfig,
    LoopConfig,
    ModelConfig,
    RecipeConfig,
    RowsConfig,
    SamplingConfig,
    StopConfig,
    TrackerConfig,
    TrainerConfig,
)
from benchgen.config.settings import options, root

__all__ = [
    "AuthorConfig",
    "BenchmarkConfig",
    "Config",
    "EvaluationConfig",
    "GrpoConfig",
    "HardwareConfig",
    "LoopConfig",
    "ModelConfig",
    "RecipeConfig",
    "RowsConfig",
    "SamplingConfig",
    "StopConfig",
    "TrackerConfig",
    "TrainerConfig",
    "cache_folder",
    "compose",
    "explain",
    "load",
    "load_author",
    "load_benchmark",
    "load_model",
    "load_recipe",
    "options",
    "own_maps",
    "register",
    "root",
    "user_name",
    "validate",
]
