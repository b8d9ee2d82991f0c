"""Which tables are recorded whole: a table is claimed only if each hook that fills it is there and unbroken."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from speckv_debug.collectors.sglang.engine import Engine

SCHEDULING = ("next_batch", "run_batch", "process_result")
NEEDS: dict[str, tuple[str, ...]] = {
    "alloc": ("allocate", "alloc_extend", "alloc_decode"),
    "free": ("free", "group_begin", "group_end", "release", "insert", "evict"),
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
SPECULATIVE: dict[str, tuple[str, ...]] = {
    "alloc": ("prepare_spec",),
    "table_write": ("prepare_spec", "write_spec"),
    "lengths": ("resolve",),
    "reserve": ("prepare_spec", "reserve"),
    "accept": ("sample", "greedy", "run_batch"),
    "move": ("move", "move_accepted"),
    "compact": ("compact",),
    "forward:target_verify": ("model_forward", "run_batch"),
}
DRAFTING: dict[str, tuple[str, ...]] = {
    "forward:draft": ("model_forward", "run_batch"),
    "forward:draft_extend": ("model_forward", "run_batch"),
}
NGRAM_NEVER_COMPACTS = "NGRAM"


def recorded_tables(
    engine: Engine, resolved: Mapping[str, str | None], broken: Collection[str]
) -> tuple[str, ...]:
    """The tables and kinds that are recorded whole, `note` and `drop` included."""
    working = {name for name, to in resolved.items() if to is not None} - set(broken)
    needs = _needs(engine)
    whole = {table for table, hooks in needs.items() if working >= {*hooks, *SCHEDULING}}
    kinds = {table for table in whole if table.startswith("forward:")}
    if kinds == {table for table in needs if table.startswith("forward:")} and not engine.runs_draft_graphs:
        whole = (whole - kinds) | {"forward"}
    return (*sorted(whole), "note", "drop")


def _needs(engine: Engine) -> dict[str, tuple[str, ...]]:
    needs = dict(NEEDS)
    if engine.algorithm is None:
        return needs
    for table, hooks in SPECULATIVE.items():
        needs[table] = (*needs.get(table, ()), *hooks)
    if engine.algorithm == NGRAM_NEVER_COMPACTS:
        needs["compact"] = ("sample",)
        needs["accept"] = (*needs["accept"], "verify_ngram", "prepare_verify_ngram")
    else:
        needs["accept"] = (*needs["accept"], "verify", "prepare_verify")
    if engine.draft_runners and not engine.runs_draft_graphs:
        needs.update(DRAFTING)
    return needs
