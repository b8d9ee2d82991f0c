"""From a fault's name to an engine that has it."""

from __future__ import annotations

from speckv_debug.collectors.reference.engine import Engine
from speckv_debug.collectors.reference.faults import (
    accepting,
    addressing,
    counting,
    drafting,
    lengths,
    moving,
    owning,
    states,
    windows,
)
from speckv_debug.collectors.reference.faults.catalogue import Fault
from speckv_debug.collectors.reference.faults.shot import Shot

PLANTS = (
    accepting.PLANTS
    | addressing.PLANTS
    | moving.PLANTS
    | lengths.PLANTS
    | owning.PLANTS
    | drafting.PLANTS
    | windows.PLANTS
    | states.PLANTS
    | counting.PLANTS
)


def plant(engine: Engine, fault: Fault) -> Shot:
    """Give the engine the fault; the returned shot tells when and where the engine first did wrong."""
    shot = Shot()
    PLANTS[fault.name](engine, shot)
    return shot
