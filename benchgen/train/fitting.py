"""A training that runs out of memory goes on with fewer rows at once and learns from as many a step."""

from __future__ import annotations

import gc
from collections.abc import Callable
from dataclasses import replace
from typing import TypeVar

from benchgen.errors import TrainingError
from benchgen.models.device import Device
from benchgen.train.ranks import world
from benchgen.train.settings import SFTSettings

MOST_HALVINGS = 3
"""Times that training goes on with fewer rows at once before it gives up."""
T = TypeVar("T")


class OutOfMemoryError(Exception):
    """A training step did not fit; it is tried again with fewer rows at once."""


def until_it_fits(
    attempt: Callable[[SFTSettings, bool], T], settings: SFTSettings, place: Device, resume: bool
) -> tuple[T, tuple[str, ...]]:
    """(what `attempt(settings, resume)` gives, what was changed until it did).

    After an OutOfMemoryError it is asked again to go on where it was, with smaller settings, three times.
    """
    notes: list[str] = []
    while True:
        try:
            return attempt(settings, resume), tuple(notes)
        except OutOfMemoryError as error:
            if world() > 1:  # the others wait for this one's gradients: all begin anew, or none
                raise TrainingError(
                    f"a device's memory does not hold its share of a step: {settings.batch_size} rows "
                    f"in {world()} processes",
                    next="a smaller recipe.batch_size with a larger recipe.gradient_accumulation",
                ) from error
            settings = smaller(settings, error, len(notes))
            notes.append(
                f"memory ran out: on with {settings.batch_size} rows at once, "
                f"{settings.gradient_accumulation} added up"
            )
            resume = True
        _free(place)  # out here, where the error no longer holds on to the model


def smaller(settings: SFTSettings, error: Exception, halvings: int) -> SFTSettings:
    """Fewer rows at once and more added up: their product, and what divides it, stays what it was."""
    rows = settings.batch_size
    part = next((n for n in range(2, rows + 1) if rows % n == 0), 0)
    if not part or halvings == MOST_HALVINGS:
        raise TrainingError(
            f"the device's memory does not hold a training step of {rows} rows",
            got=f"batch_size={rows} after {halvings} halvings",
            next="a smaller recipe.max_length or recipe.r, recipe.gradient_checkpointing=true, "
            "or a smaller base",
        ) from error
    return replace(
        settings,
        batch_size=rows // part,
        gradient_accumulation=settings.gradient_accumulation * part,
    )


def _free(place: Device) -> None:
    """Let go of what the failed attempt held."""
    gc.collect()
    if place.kind == "cuda":
        import torch

        torch.cuda.empty_cache()
