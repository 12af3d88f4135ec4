"""What finished work rests on, looked at again: each recorded hash, figure and version against what is there now."""

from benchgen.verifying.checks import DIFFERS, MISSING, OK, UNRECORDED, Check, Verification
from benchgen.verifying.experiment import Experiment
from benchgen.verifying.subjects import verify

__all__ = [
    "DIFFERS",
    "MISSING",
    "OK",
    "UNRECORDED",
    "Check",
    "Experiment",
    "Verification",
    "verify",
]
