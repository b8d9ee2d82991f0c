"""Which tables are recorded whole: a table is claimed only if each hook that fills it is there and unbroken."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from speckv_debug.collectors.sglang import levels
from speckv_debug.collectors.sglang.compressors import PLAN, state_pools
from speckv_debug.collectors.sglang.engine import Engine
from speckv_debug.collectors.sglang.families import CHAIN_HOOKS, NGRAM, TREE, needs_of, without_unseen
from speckv_debug.collectors.sglang.recurrent import COMMITS
from speckv_debug.collectors.sglang.recurrent_slots import SLOTS, state_allocator
from speckv_debug.collectors.sglang.rings import clearing_hooks

SCHEDULING = ("next_batch", "run_batch", "process_result")
NEEDS: dict[str, tuple[str, ...]] = {
    "alloc": ("allocate", "alloc_extend", "alloc_decode"),
    "free": (
        *("free", "free_full", "free_inner", "free_pages", "group_begin", "group_end", "insert", "evict"),
        *("release", "release_tail", "checkpoint", "cache_finished"),
    ),
    "free_group": ("group_begin", "group_end"),
    "table_write": ("row_write", "write_extend", "alloc_decode", "row_alloc"),
    "row_alloc": ("row_alloc",),
    "row_free": ("row_free",),
    "lengths": ("prepare_extend", "prepare_decode", "release"),
    "cache": ("insert", "match", "evict", "lock", "unlock", "reset", "free"),
    "release": ("release", "retract"),
    "pool_stat": ("run_batch", "on_idle"),
    "forward:extend": ("model_forward", "worker_forward", "run_batch"),
    "forward:decode": ("model_forward", "worker_forward", "run_batch"),
}
OPTIONAL = frozenset(
    {
        *("alloc_spec", "cache_finished", "draft_tail", "free_full", "free_pages", "move_core", "move_index"),
        *("free_inner", "release_tail"),
    }
)
"""Hooks of functions that some releases do without; where one is, it has to work."""
SPECULATIVE: dict[str, tuple[str, ...]] = {
    "alloc": ("prepare_spec", "alloc_spec"),
    "table_write": ("prepare_spec", "alloc_spec", "write_spec"),
    "lengths": ("resolve",),
    "reserve": ("prepare_spec", "alloc_spec", "reserve"),
    "accept": ("sample", "greedy", "run_batch"),
    "move": ("move", "move_core", "move_index", "move_accepted", "draft_tail"),
    "compact": ("compact",),
    "forward:target_verify": ("model_forward", "run_batch"),
}
DRAFTING: dict[str, tuple[str, ...]] = {
    "forward:draft": ("model_forward", "run_batch"),
    "forward:draft_extend": ("model_forward", "run_batch"),
}
SESSIONS = (
    *("session_match", "session_finish", "session_tail"),
    *("session_trim", "session_free", "session_close"),
)
REFERENCES = ("ref_retain", "ref_release", "ref_replace", "sidecar_free", "c128_alloc", "c128_free")
TRANSFERS = {"decode": ("preallocate", "received", "release"), "prefill": ("send_chunk", "release")}

BEHIND_ENCODER = ("accept", "forward", "table_write")
"""Tables left out for encoder-decoder models: their rows begin with the encoder's slots, but `seq_lens` and positions don't
count these (`ScheduleBatch.prepare_encoder_info_extend`), so no event of these tables would name the row's own positions."""

ALL_WINDOW = ("alloc", "free", "free_group", "cache", "table_write", "pool_stat", "swa_map")
"""Tables left out where all layers have a window (`PureSWATokenToKVPoolAllocator`): a row's slots are freed one after the
other while it runs, and no law knows of that."""


def recorded_tables(
    engine: Engine,
    resolved: Mapping[str, str | None],
    broken: Collection[str],
    level: int = levels.FORENSIC,
) -> tuple[str, ...]:
    """The tables and kinds that are recorded whole, `note` and `drop` included."""
    works = {name: to is not None and name not in broken for name, to in resolved.items()}
    needs = _at_level(_needs(engine), level, untaken_tables(engine, level))
    if levels.tells_reserves_late(level, engine.algorithm):
        needs["reserve"] = ("prepare_decode",)
    loop = tuple(hook for hook in SCHEDULING if levels.hooked(hook, level))
    absent = OPTIONAL | CHAIN_HOOKS
    whole = {t for t, hooks in needs.items() if all(works.get(h, h in absent) for h in (*hooks, *loop))}
    kinds = {table for table in whole if table.startswith("forward:")}
    if (
        kinds
        and kinds == {table for table in needs if table.startswith("forward:")}
        and not engine.hides_drafts
    ):
        whole = (whole - kinds) | {"forward"} if level > levels.BRIEF else whole
    return (*without_unseen(sorted(whole), engine.bypass), "note", "drop")


def untaken_tables(engine: Engine, level: int) -> Collection[str]:
    """Tables of which nothing is taken, by the level and by the kind of model."""
    encoder, window = (BEHIND_ENCODER, engine.has_encoder), (ALL_WINDOW, engine.is_all_window)
    by_model = (table for tables, holds in (encoder, window) if holds for table in tables)
    return frozenset((*levels.muted_tables(level), *by_model))


def _at_level(
    needs: Mapping[str, tuple[str, ...]], level: int, muted: Collection[str]
) -> dict[str, tuple[str, ...]]:
    """What is filled at a level, and by which of its hooks; hidden states are compacted at level 3 alone."""
    found = {
        table: tuple(hook for hook in hooks if levels.hooked(hook, level))
        for table, hooks in needs.items()
        if table not in muted and table.partition(":")[0] not in muted
    }
    if level < levels.FORENSIC and "compact" in found.get("compact", ()):
        found["compact:predict"] = found.pop("compact")
    return found


def _needs(engine: Engine) -> dict[str, tuple[str, ...]]:
    needs = dict(NEEDS)
    if engine.caches_on_host:
        del needs["cache"]
    if engine.algorithm is not None:
        needs = _speculating(engine, needs)
    return _beside(engine, needs)


def _speculating(engine: Engine, needs: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What speculation adds."""
    for table, hooks in SPECULATIVE.items():
        needs[table] = (*needs.get(table, ()), *hooks)
    if engine.algorithm == NGRAM:
        needs["compact"] = ("sample",)  # it gathers what was accepted and compacts nothing
        needs["accept"] = (*needs["accept"], "verify_ngram", "prepare_verify_ngram")
    else:
        needs["accept"] = (*needs["accept"], "verify", "prepare_verify")
    if engine.draft_runners and not engine.hides_drafts:
        needs.update(DRAFTING)
    return needs_of(engine.algorithm, needs)


def _beside(engine: Engine, needs: dict[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """What sessions, a sliding window and a hand-off to another machine add."""
    found = dict(needs)
    if engine.sessions is not None:
        for table in {"release", "lengths", "row_free", "cache"} & needs.keys():
            found[table] = (*needs[table], *SESSIONS)
    if engine.has_window:
        found["swa_map"] = ("allocate", "free", "free_full", "free_swa", "swa_set", "swa_clear")
    if engine.counts_references:
        found["page_ref"] = REFERENCES
        for table in ("alloc", "free", "table_write"):
            found[table] = (*found[table], *REFERENCES)
    if rings := clearing_hooks(engine.target_pool):
        found["state_clear"] = rings
    if state_pools(engine):
        found["state_access"] = (PLAN.name,)
    if state_allocator(engine) is not None:
        for table in ("alloc", "free"):
            found[table] = (*found[table], *SLOTS)
    if engine.has_recurrent_state and engine.algorithm in (*TREE, NGRAM):
        found["state_commit"] = COMMITS
    if hooks := TRANSFERS.get(str(engine.argument("disaggregation_mode"))):
        found["transfer"] = hooks
        found["lengths"] = (*found["lengths"], *hooks)
    return found
