"""Sliding-window eviction: how far each request has given up its slots behind the window."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property

import numpy as np

from speckv_debug.replay.lengths import Lengths, Picked
from speckv_debug.replay.ragged import NULL, Int64s, Mask, mask
from speckv_debug.replay.searching import latest_with

SWA = "swa"
GOING_BACK = ("session_trim", "session_restore", "retract", "finish")
"""Causes of a report whose cursor may lie before the one that was reported last."""
LONGEST = 1 << 40
"""Positions that no request has."""
DECODING = ("decode", "spec_prepare", "verify_commit")


class WindowEvictions(Picked):
    """One instance a `lengths` event that says how far the window's slots are evicted (`swa_evicted`).

    Attributes:
        before: The life's previous such event, -1 if there is none.
        window: Positions of the window, None if not recorded.
        interval: Positions that may wait for an eviction beyond the window, None if not recorded.
        page_size: Of the pool of the window's layers, 1 if not recorded.
    """

    reads = ("lengths", "release", "cache")
    columns_from = (*Picked.columns_from, "cache")
    rests_on: Mapping[str, tuple[str, ...]] = {
        "lengths": ("row", "epoch", "cause"),
        "release": ("row", "epoch", "kind"),
    }

    def __init__(self, lengths: Lengths) -> None:
        which = mask(lengths.columns("lengths").ints("swa_evicted") != NULL)
        super().__init__(lengths, "lengths", which)
        self.before = lengths.lives.before("lengths", self.ints("seq"), self.life, which)
        pool = next((pool for pool in self.info.pools if pool.kind == SWA), self.info.pool(None))
        self.page_size = max(1, (pool.page_size if pool is not None else None) or 1)
        self.window, self.interval = (self._setting(n) for n in ("sliding_window", "swa_eviction_interval"))

    def _setting(self, name: str) -> int | None:
        value = self.info.settings.get(name)
        return value if isinstance(value, int) and value > 0 else None

    @cached_property
    def cursor(self) -> Int64s:
        """Positions before it have no slot in the window's pool any more."""
        return self.ints("swa_evicted")

    @cached_property
    def committed(self) -> Int64s:
        """Committed length of the same report, NULL if it has none."""
        return self.ints("committed")

    @cached_property
    def cursor_before(self) -> Int64s:
        """The cursor of the report before, NULL if there is none."""
        return np.append(self.columns.ints("swa_evicted"), NULL)[self.before]

    @cached_property
    def spans(self) -> tuple[Int64s, Int64s]:
        """From the report before to this one; from the prompt's last one where it counts what was committed since, from the
        beginning where it counts what the tree was ever given.
        """
        seq = self.ints("seq")
        prompt = np.append(self.columns.ints("seq"), 0)[self._prefilled]
        since = np.where(self.waiting > 0, np.minimum(self._reported, prompt), self._reported)
        return np.where(self.past, 0, since), seq

    @cached_property
    def _reported(self) -> Int64s:
        """`seq` of the report before, its own without one."""
        before = np.append(self.columns.ints("seq"), 0)[self.before]
        return np.where(self.before < 0, self.ints("seq"), before)

    @cached_property
    def highest(self) -> Int64s:
        """Where the cursor may stand at most: page_floor(committed - window); NULL if unknown."""
        known = (self.committed != NULL) & (self.window is not None)
        room = np.maximum(np.where(known, self.committed, 0) - (self.window or 0), 0)
        return np.where(known, room // self.page_size * self.page_size, NULL)

    @cached_property
    def past(self) -> Mask:
        """The cursor stands behind that, behind a prompt that is kept, and behind what the prefix tree is known to have.

        The tree gives up its own slots, so the cursor begins where they end: SGLang 0.5.12 `ScheduleBatch._evict_swa`, 0.5.15 to
        0.5.23 `free_swa_out_of_window_slots` (`cache_protected_len`).
        """
        past = (self.highest != NULL) & (self.cursor > self.highest) & (self.cursor > self._kept_prompt)
        return mask(past & (self.cursor > self._protected)) if past.any() else mask(past)

    @cached_property
    def _kept_prompt(self) -> Int64s:
        """Where the cursor of a model begins whose window keeps the whole prompt: page_ceil(prompt), 0 for other models.

        SGLang 0.5.15 and later, `ModelRunner.prefill_aware_swa`: `free_swa_out_of_window_slots` raises the cursor to
        `swa_evict_floor`. A prompt whose length was not seen keeps everything.
        """
        if not self.info.settings.get("prefill_aware_swa"):
            return np.zeros(len(self), dtype=np.int64)
        return np.where(self._prompt == NULL, LONGEST, -(-self._prompt // self.page_size) * self.page_size)

    @cached_property
    def _prompt(self) -> Int64s:
        """The length that the latest part of the prompt before each report committed, NULL if unknown."""
        return np.append(self.columns.ints("committed"), NULL)[self._prefilled]

    @cached_property
    def _prefilled(self) -> Int64s:
        """That report of the prompt, -1 if there is none."""
        return self.lengths.previous_of(("extend",), self.ints("seq"), self.life)

    @property
    def tree_told(self) -> bool:
        """Whether all that the tree has of requests is in the recording."""
        return self.info.records("cache") and self.info.from_start

    @property
    def looks_further(self) -> Mask:
        """What a window of the process may not hold all of: what the tree was given before."""
        return mask((self.highest != NULL) & (self.cursor > self.highest))

    @cached_property
    def _protected(self) -> Int64s:
        """How far the tree was seen to have each report's request, in positions."""
        cache, own = self.lengths.columns("cache"), self.columns.texts("request")
        number = {name: at for at, name in enumerate(cache.texts("request").names)}
        asked = own.numbered(number)[self.index]
        start, codes = np.maximum(cache.ints("start"), 0), cache.texts("request").codes.astype(np.int64)
        taken = np.where(cache.texts("action").equal("insert"), cache.ints("key_len"), 0)
        told = [start + cache.lists("slots").lengths, taken, cache.ints("served_len")]
        ends = np.clip(np.maximum.reduce(told), 0, LONGEST - 1) + codes * LONGEST
        order = np.lexsort((cache.ints("seq"), codes))
        so_far = np.empty(len(order), dtype=np.int64)
        so_far[order] = np.maximum.accumulate(ends[order]) % LONGEST
        latest = latest_with((codes,), cache.ints("seq"), (asked,), self.seq)
        return np.where(asked < 0, 0, np.append(so_far, 0)[latest])

    @cached_property
    def trimmed(self) -> Mask:
        """The life was trimmed, restored or reset at this report, or since the one before."""
        own = self.columns.texts("cause").equal(*GOING_BACK)[self.index]
        release, seq = self.lengths.columns("release"), self.ints("seq")
        latest = self.lengths.lives.before("release", seq, self.life)
        causes = self.lengths.previous_of(GOING_BACK, seq, self.life)
        since = np.maximum(
            np.append(release.ints("seq"), -1)[latest], np.append(self.columns.ints("seq"), -1)[causes]
        )
        return mask(own | (since > self._reported))

    @cached_property
    def waiting(self) -> Int64s:
        """Positions that were committed since the eviction of the cursor's page fell due, NULL if unknown.

        An eviction falls due as its position leaves the window, at the earliest when decoding began: a prompt is
        evicted by the steps that follow it.
        """
        base = self._prompt
        known = (base != NULL) & (self.committed != NULL) & (self.window is not None)
        due = np.maximum(self.cursor + (self.window or 0), np.where(known, base, 0))
        decoding = self.columns.texts("cause").equal(*DECODING)[self.index]
        return np.where(known & decoding, self.committed - due, NULL)

    @property
    def patience(self) -> int | None:
        """Positions that may be waiting: the interval, a page, and what two verifies commit; None if unknown.

        A tree may keep the window behind a checkpoint of recurrent state (`swa_retain_floor`): as the setting of that name
        says, which is unknown without it where there is such state.
        """
        floor = self.info.settings.get("swa_retain_floor")
        recurrent = any(pool.kind == "mamba" for pool in self.info.pools)
        if self.interval is None or floor or (floor is None and recurrent):
            return None
        width = self.info.settings.get("num_draft_tokens")
        return self.interval + self.page_size + 2 * max(1, width if isinstance(width, int) else 1)
