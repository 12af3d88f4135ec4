"""A model made ready to answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext

from benchgen import config, jobs
from benchgen.models import catalogue
from benchgen.plan import planner
from benchgen.records import Place
from benchgen.store import ModelRow
from benchgen.types import Model as AnyModel


@contextmanager
def loaded(
    place: Place, row: ModelRow, hardware: config.HardwareConfig, answers: Mapping[str, str]
) -> Iterator[AnyModel]:
    """The model, ready to answer, with the device held where it needs one; NotAllowed for an endpoint not to be asked."""
    if row.kind == "endpoint":
        place.allow("endpoint")
    if row.name in place.scripted:
        yield place.scripted[row.name]
        return
    local = row.kind not in catalogue.REMOTE
    kind = planner.choose_device(hardware).kind
    with jobs.device_lock(kind) if local else nullcontext():
        if local:
            base = catalogue.base_of(place.store, row)
            catalogue.weights(base, place.path, place.on_convert)
        yield catalogue.load(place.store, row, place.path, hardware, answers)
