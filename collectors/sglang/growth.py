"""A request's row grows: prefill, plain decode, speculative reserve. Slots go to requests, rows are read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.requests import (
    allocated_of_all,
    committed_of_all,
    rows_of,
)
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Derived, Staged
from speckv_debug.recording.blocks import Cut, Each

_CHAIN = Target(
    "prepare_spec",
    (f"{targets.SPECULATIVE}.dflash_info_v2:DFlashDraftInputV2.prepare_for_decode",),
    parameters=("batch",),
)
_UNO = Target(
    "prepare_spec",
    (f"{targets.SPECULATIVE}.uno_info:UnoDraftInput.prepare_for_decode",),
    parameters=("batch",),
)
PREPARES = {"DFLASH": _CHAIN, "DSPARK": _CHAIN, "UNO": _UNO}
"""Families that reserve by a method of their own."""
RESERVE_CHAIN = Target(
    "reserve_chain",
    ("sglang.srt.mem_cache.allocation_sizing:page_aligned_decode_alloc_lens",),
    parameters=("reqs",),
    optional=True,
)


class SpecGrant(Grant):
    """A speculative reserve: what a decode preparation decides for each request.

    The new lengths are those that `alloc_for_spec_decode` is told (0.5.16 and later), or those that the
    requests have by the time slots are granted (0.5.12 to 0.5.15).
    """

    def __init__(self, scene: Scene, reqs: Sequence[Any]) -> None:
        super().__init__("spec_reserve", tuple(reqs))
        self.reserve: int | None = None
        self.new_lengths: list[int] | None = None
        self._scene = scene
        self._committed, self._allocated = committed_of_all(reqs), allocated_of_all(reqs)
        self._begun = False

    def begin(self) -> None:
        """Record the decision, once."""
        if self._begun:
            return
        self._begun = True
        self.new_lengths = self.new_lengths or allocated_of_all(self.reqs)
        self.counts = [new - old for new, old in zip(self.new_lengths, self._allocated, strict=True)]
        self._scene.journal.emit_rows(
            "reserve",
            len(self.reqs),
            **self._scene.rows.batch(self.reqs).columns(),
            committed=Each(self._committed),
            allocated=Each(self._allocated),
            reserve=self.reserve,
            page_size=self._scene.engine.page_size,
            new_allocated=Each(self.new_lengths),
        )


class GrowthHooks:
    """Functions that allocate for a batch and write its rows."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.ALLOC_EXTEND, self.alloc_extend
        yield targets.WRITE_EXTEND, self.write_extend
        yield targets.ALLOC_DECODE, self.alloc_decode
        if self._scene.engine.algorithm is not None:
            yield PREPARES.get(self._scene.engine.algorithm, targets.PREPARE_SPEC), self.prepare_spec
            yield targets.RESERVE, self.reserve
            yield RESERVE_CHAIN, self.reserve_chain
            yield targets.ALLOC_SPEC, self.alloc_spec
            yield targets.WRITE_SPEC, self.write_spec

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def alloc_extend(self, call: Call) -> Steps:
        """alloc_for_extend(batch): each request gets `extend_lens` slots."""
        batch = call["batch"]
        with self._scene.activity.granting(Grant("extend", tuple(batch.reqs), tuple(batch.extend_lens))):
            yield

    def write_extend(self, call: Call) -> Steps:
        """write_cache_indices(…): each row's prefix and its new slots, by a kernel or by `write`."""
        rows, ends = call["req_pool_indices_cpu"].tolist(), call["seq_lens_cpu"].tolist()
        with self._scene.activity.covering_rows():
            yield
        for row, end in zip(rows, ends, strict=True):
            self._record_row(row, 0, end)

    def alloc_decode(self, call: Call) -> Steps:
        """alloc_for_decode(batch, token_per_req): allocates, then writes one entry a row."""
        batch, count = call["batch"], int(call["token_per_req"])
        places = list(zip(rows_of(batch.reqs), committed_of_all(batch.reqs), strict=True))
        grant = Grant("decode", tuple(batch.reqs), (count,) * len(batch.reqs))
        with self._scene.activity.granting(grant), self._scene.activity.covering_rows():
            yield
        for row, start in places if not batch.model_config.is_encoder_decoder else ():
            self._record_row(row, start, start + count, settled=True)

    def prepare_spec(self, call: Call) -> Steps:
        """eagle_prepare_for_decode(batch)."""
        with self._scene.activity.granting(grant := SpecGrant(self._scene, call["batch"].reqs)):
            yield
            grant.begin()

    def reserve(self, call: Call) -> Steps:
        """get_alloc_reserve_per_decode(): the reserve that is being decided with."""
        reserve = yield
        grant = self._scene.activity.grant
        if isinstance(grant, SpecGrant):
            grant.reserve = int(reserve)

    def reserve_chain(self, call: Call) -> Steps:
        """page_aligned_decode_alloc_lens(reqs, reserve, …): a chain's own reserve comes as an argument."""
        grant = self._scene.activity.grant
        if isinstance(grant, SpecGrant):
            grant.reserve = int(call["reserve"])
        yield

    def alloc_spec(self, call: Call) -> Steps:
        """alloc_for_spec_decode(…, reqs, nxt_kv_lens_cpu): its CPU buffers are reused, so they are read at once."""
        outer = self._scene.activity.grant
        grant = outer if isinstance(outer, SpecGrant) else SpecGrant(self._scene, call["reqs"])
        grant.new_lengths = [int(length) for length in call["nxt_kv_lens_cpu"].tolist()]
        grant.begin()
        with self._scene.activity.granting(grant):
            yield

    def write_spec(self, call: Call) -> Steps:
        """assign_req_to_token_pool_func(…): its offsets are on the device, the grant has them on the host."""
        grant = self._scene.activity.grant
        yield
        if isinstance(grant, SpecGrant) and grant.new_lengths is not None:
            self._record_rows(grant, call.get("req_pool_indices"), call.get("start_offset"))

    def _record_rows(self, grant: SpecGrant, rows: Any, starts: Any) -> None:
        """What the rows of a reserve hold now where they grew: read together, as wide as the widest.

        Args:
            rows: [n] rows on the device.
            starts: [n] allocated length before, on the device.
        """
        width, stops = max(grant.counts, default=0), grant.new_lengths or ()
        if not width:
            return
        grown = [place for place, count in enumerate(grant.counts) if count]
        batch = self._scene.rows.batch(grant.reqs)
        windows = self._scene.table_windows(rows, starts, width)
        chosen = batch.pick(grown)
        self._scene.journal.emit_rows(
            "table_write",
            len(grown),
            row=Each(chosen.rows),
            epoch=Each(chosen.epochs),
            start=Each([stops[place] - grant.counts[place] for place in grown]),
            slots=Cut(
                _lines(windows, width, grown, len(batch)), [grant.counts[place] for place in grown], width
            ),
        )

    def _record_row(self, row: int | None, start: int, stop: int, *, settled: bool = False) -> None:
        """What the row holds now in [start, stop)."""
        if row is None or stop <= start:
            return
        slots = self._scene.table_slots(row, start, stop, settled=settled)
        epoch = self._scene.rows.epoch(row)
        self._scene.journal.emit("table_write", row=row, epoch=epoch, start=start, slots=slots)


def _lines(windows: Staged, width: int, places: Sequence[int], count: int) -> Staged | Derived:
    """The windows of some of `count` requests."""
    if len(places) == count:
        return windows
    return Derived(lambda: windows.resolve().reshape(count, width)[places].reshape(-1), windows.ready)
