"""The families of speculative algorithms: which hooks see their verifies, and what an unknown one leaves unseen.

EAGLE, EAGLE3, NEXTN, STANDALONE, multi-layer EAGLE and frozen-KV MTP accept in `eagle_sample` inside one verify
driver, and so does NGRAM in its own. DFLASH and DSPARK verify a chain and give lengths only. UNO verifies behind a
clean root. An algorithm that a plugin registers, or a worker that a platform puts in the place of SGLang's, may do
anything.
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Mapping
from typing import Any

TREE = ("EAGLE", "EAGLE3", "NEXTN", "STANDALONE", "FROZEN_KV_MTP")
NGRAM, UNO = "NGRAM", "UNO"
CHAIN = ("DFLASH", "DSPARK")
KNOWN = (*TREE, NGRAM, UNO, *CHAIN)
CHAIN_HOOKS = frozenset(
    {"chain_greedy", "chain_greedy_fused", "chain_sampled", "chain_block", "chain_finalize", "reserve_chain"}
)
"""Hooks of a chain's acceptance that one of the two workers, or some releases, do without."""
WORKERS = "sglang.srt.speculative."
V1 = ("EAGLEWorker", "StandaloneWorker", "MultiLayerEagleWorker", "FrozenKVMTPWorker", "DFlashWorker")
UNSEEN = (
    *("accept", "move", "compact", "reserve", "lengths", "table_write", "forward:target_verify"),
    *("forward:draft", "forward:draft_extend", "forward:decode"),
)
"""Tables that say nothing for certain where an algorithm may bypass the hooks."""


def bypasses(algorithm: str | None, topk: int | None, worker: Any) -> str | None:
    """Why the hooks may not see what this algorithm does, None if they do.

    Args:
        algorithm: Name in upper case, None without speculation.
        topk: Branches of its draft trees, None if it has no such number.
        worker: The scheduler's speculative worker.
    """
    if algorithm is None:
        return None
    if algorithm not in KNOWN:
        return f"{algorithm} is none of SGLang's own algorithms"
    if algorithm == UNO and (topk or 1) > 1:
        return "UNO's trees begin one position behind the committed length"
    if frees_each_round(algorithm, worker):
        return "its worker is of the first kind (V1), which accepts and frees by itself"
    ours = any(cls.__module__.startswith(WORKERS) for cls in type(worker).__mro__)
    return None if ours or worker is None else f"its worker {type(worker).__qualname__} is not SGLang's own"


def frees_each_round(algorithm: str | None, worker: Any) -> bool:
    """Whether a worker gives rejected slots back in every round (V1, 0.5.12 and 0.5.13)."""
    if algorithm == NGRAM:
        inputs = getattr(sys.modules.get(f"{WORKERS}ngram_info"), "NgramVerifyInput", None)
        return hasattr(inputs, "_free_cache")
    return algorithm is not None and type(worker).__name__ in V1


def needs_of(algorithm: str | None, needs: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """The hooks that fill each table, for families without a tree; the others' as given."""
    own = dict(needs)
    if algorithm in CHAIN:
        own["accept"] = ("verify_chain", "prepare_chain", "chain_greedy", "run_batch")
        own["reserve"] = ("prepare_spec", "alloc_spec", "reserve_chain")
        own["move"] = own["compact"] = ("verify_chain",)  # prefixes stay where they are
    if algorithm == UNO:
        own["accept"] = ("verify_uno", "forward_uno", "accept_uno", "run_batch")
        own["move"] = own["compact"] = ("verify_uno",)
    return own


def without_unseen(tables: Collection[str], why: str | None) -> tuple[str, ...]:
    """Tables that stay claimed if an algorithm may bypass the hooks."""
    if why is None:
        return tuple(tables)
    return tuple(table for table in tables if table not in UNSEEN and table != "forward")
