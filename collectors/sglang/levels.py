"""How much is recorded: which hooks and tables begin at which level.

1: host facts and one packed copy a step. 2: the slots of every allocation, free and table write, all forwards, the
tree, compaction of `predict`. 3: fingerprints of what is moved beside KV, device times. What is not named here
belongs to level 1; hooks that run at level 1 for what they know of a call may fill tables that are not taken there.
"""

from __future__ import annotations

from collections.abc import Collection

from speckv_debug.collectors.sglang.families import NGRAM, TREE

BRIEF, DETAILED, FORENSIC = 1, 2, 3
LEVELS = (BRIEF, DETAILED, FORENSIC)

HOOKS = dict.fromkeys(
    (
        *("allocate", "alloc_extend", "alloc_decode", "write_extend", "write_spec", "row_write"),
        *("group_begin", "group_end", "prepare_verify", "prepare_verify_ngram"),
        *("match", "lock", "unlock", "reset", "admit", "admit_chunk", "compact"),
        *("arrive", "next_batch", "process_result", "free_swa", "swa_set", "swa_clear"),
        *("mamba_alloc", "mamba_free", "compress_plan"),
    ),
    DETAILED,
)
"""The level from which on a hook is put in place."""

TABLES = dict.fromkeys(
    (
        *("alloc", "free", "free_group", "table_write", "cache", "compact", "swa_map", "pool_stat"),
        "state_access",
        *("forward:target_verify", "forward:draft", "forward:draft_extend"),
    ),
    DETAILED,
)
"""The level from which on a table, or a kind of it, is taken."""


def hooked(name: str, level: int) -> bool:
    """Whether a hook runs at a level."""
    return HOOKS.get(name, BRIEF) <= level


def muted_tables(level: int) -> Collection[str]:
    """Tables of which nothing is taken at a level."""
    return frozenset(table for table, first in TABLES.items() if level < first)


def tells_reserves_late(level: int, algorithm: str | None) -> bool:
    """Whether a reserve is told with the preparation that it is made in: as nothing between them is taken.

    DFLASH, DSPARK and UNO decide by functions with arguments of their own, which have to be seen.
    """
    return level == BRIEF and algorithm in (*TREE, NGRAM)
