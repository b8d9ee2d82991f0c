"""The laws: one function a law, one module a family. Importing this package registers all of them."""

from speckv_debug.checks import (
    accept,
    conservation,
    length,
    location,
    location_groups,
    move,
    move_content,
    ownership,
    ownership_map,
    ownership_refs,
    ranks,
    reach,
    replay_accept,
    replay_shadow,
    replay_slots,
    replay_state,
    state,
    state_rings,
    state_window,
    tokens,
    trace,
)
from speckv_debug.checks.rule import RULES, sort_rules

sort_rules()

__all__ = [
    "RULES",
    "accept",
    "conservation",
    "length",
    "location",
    "location_groups",
    "move",
    "move_content",
    "ownership",
    "ownership_map",
    "ownership_refs",
    "ranks",
    "reach",
    "replay_accept",
    "replay_shadow",
    "replay_slots",
    "replay_state",
    "state",
    "state_rings",
    "state_window",
    "tokens",
    "trace",
]
