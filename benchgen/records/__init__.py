"""Handles on records: a benchmark, writing, run, model, plan or job by its id, with its files.

A handle holds no state of its own: its row is read when asked for, so that what another process did
is seen at once.
"""

from benchgen.records.base import PAGE, Convert, Place
from benchgen.records.benchmark import (
    EVALUATION,
    FOREIGN,
    PROGRAM,
    QUESTIONS,
    Benchmark,
    begun,
)
from benchgen.records.run import Model, Run
from benchgen.records.training import Job, PlanRecord, plan_settings
from benchgen.records.writing import DOUBTFUL, Write

__all__ = [
    "DOUBTFUL",
    "EVALUATION",
    "FOREIGN",
    "PAGE",
    "PROGRAM",
    "QUESTIONS",
    "Benchmark",
    "Convert",
    "Job",
    "Model",
    "Place",
    "PlanRecord",
    "Run",
    "Write",
    "begun",
    "plan_settings",
]
