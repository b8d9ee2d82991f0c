"""Faults planted from outside: a function of the engine is wrapped before the collector attaches."""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Callable
from typing import Any

FIRST_BAD_CALL = 6


def swapped_mover_arguments() -> None:
    """The KV mover copies the targets over the sources, from the sixth call on."""
    from sglang.srt.mem_cache.memory_pool import MHATokenToKVPool

    move, calls = MHATokenToKVPool.move_kv_cache, _Calls()

    def swapped(pool: Any, *locations: Any) -> Any:
        return move(pool, *(reversed(locations) if calls.is_bad() else locations))

    MHATokenToKVPool.move_kv_cache = swapped


def skipped_move() -> None:
    """Accepted tokens stay where the verify wrote them, from the sixth call on."""
    module = importlib.import_module("sglang.srt.speculative.spec_utils")
    move, calls = module.move_accept_tokens_to_target_kvcache, _Calls()

    def skipped(*args: Any, **kwargs: Any) -> Any:
        return None if calls.is_bad() else move(*args, **kwargs)

    _replace(move, skipped)


def window_left_behind() -> None:
    """The layers with a window are left out of the mover's calls, from the sixth call on."""
    from sglang.srt.mem_cache.swa_memory_pool import SWAKVPool

    move, calls = SWAKVPool.move_kv_cache, _Calls()

    def full_alone(pool: Any, *locations: Any) -> Any:
        return pool.full_kv_pool.move_kv_cache(*locations) if calls.is_bad() else move(pool, *locations)

    SWAKVPool.move_kv_cache = full_alone


def leaked_tail() -> None:
    """The over-allocated tail of one request is not freed: the second that ends keeps its own."""
    module = importlib.import_module("sglang.srt.mem_cache.common")
    free_tail, calls = module._release_overallocated_kv_indices, _Calls(first_bad=2, last_bad=2)

    def kept(*args: Any, **kwargs: Any) -> Any:
        return None if calls.is_bad() else free_tail(*args, **kwargs)

    _replace(free_tail, kept)
    checker = importlib.import_module("sglang.srt.managers.scheduler_components.invariant_checker")
    checker.SchedulerInvariantChecker._report_leak = lambda *args, **kwargs: None  # it would end the engine


def short_commit() -> None:
    """The sixth result commits one token less than was accepted, of the first request in it that still runs."""
    calls = _Calls(last_bad=FIRST_BAD_CALL)

    def shorten(reqs: list[Any], ended: list[bool], accepted: list[int]) -> None:
        if not all(ended) and calls.is_bad():
            reqs[ended.index(False)].kv.kv_committed_len -= 1

    _behind_each_result(shorten)


def late_commit() -> None:
    """A result that comes when its request has ended is committed all the same; happens once."""
    calls = _Calls(first_bad=1, last_bad=1)

    def commit(reqs: list[Any], ended: list[bool], accepted: list[int]) -> None:
        if any(ended) and calls.is_bad():
            reqs[ended.index(True)].kv.kv_committed_len += accepted[ended.index(True)]

    _behind_each_result(commit)


def untranslated_window() -> None:
    """The layers with a window write to the row's own slots, which nobody translated; once, where these have other peers."""
    backend = importlib.import_module("sglang.srt.layers.attention.intel_amx_backend").IntelAMXAttnBackend
    prepare, calls = backend._init_swa_forward_metadata, _Calls(first_bad=1, last_bad=1)

    def untranslated(self: Any, out_cache_loc: Any) -> None:
        prepare(self, out_cache_loc)
        peers = self.swa_out_cache_loc
        if peers is not None and bool((peers != out_cache_loc).any()) and calls.is_bad():
            self.swa_out_cache_loc = out_cache_loc

    backend._init_swa_forward_metadata = untranslated


def _behind_each_result(change: Callable[[list[Any], list[bool], list[int]], None]) -> None:
    """Call `change` with a result's requests, which of them had ended before, and what each had accepted."""
    place = "sglang.srt.managers.scheduler_components.batch_result_processor"
    processor = importlib.import_module(place).SchedulerBatchResultProcessor
    resolve = processor._resolve_spec_v2_tokens

    def changed(self: Any, result: Any, batch: Any) -> Any:
        ended = [req.finished() or req.is_retracted for req in batch.reqs]
        tokens = resolve(self, result, batch)
        change(batch.reqs, ended, result.accept_lens.tolist())
        return tokens

    processor._resolve_spec_v2_tokens = changed


FAULTS: dict[str, Callable[[], None]] = {
    "swapped-mover-arguments": swapped_mover_arguments,
    "skipped-move": skipped_move,
    "leaked-tail": leaked_tail,
    "short-commit": short_commit,
    "late-commit": late_commit,
    "untranslated-window": untranslated_window,
    "window-left-behind": window_left_behind,
}


class _Calls:
    """Counts calls; the bad ones are the `first_bad`-th to the `last_bad`-th."""

    def __init__(self, first_bad: int = FIRST_BAD_CALL, last_bad: int = sys.maxsize) -> None:
        self._count, self._first, self._last = 0, first_bad, last_bad

    def is_bad(self) -> bool:
        self._count += 1
        return self._first <= self._count <= self._last


def _replace(old: Any, new: Any) -> None:
    """Give the new function to the module that defines the old one and to all that imported it."""
    for module in list(sys.modules.values()):
        if isinstance(module, types.ModuleType):
            for name, value in list(vars(module).items()):
                if value is old:
                    setattr(module, name, new)
