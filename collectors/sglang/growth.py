"""A request's row grows: prefill, plain decode, speculative reserve. Slots go to requests, rows are read back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import sub
from typing import Any

from speckv_debug.collectors.around import Around
from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.activity import Grant
from speckv_debug.collectors.sglang.length_columns import reserve_columns
from speckv_debug.collectors.sglang.levels import tells_reserves_late
from speckv_debug.collectors.sglang.requests import (
    Batch,
    committed_of_all,
    lengths_of_all,
    plain,
    rows_of,
)
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Staged
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
        super().__init__("spec_reserve", reqs)
        self.reserve: int | None = None
        self.new_lengths: list[int] | None = None
        self._scene = scene
        self._before = lengths_of_all(reqs)
        self._begun = False

    def begin(self) -> None:
        """Record the decision, once."""
        if self._begun:
            return
        self._begun = True
        scene, reqs, before = self._scene, self.reqs, self._before
        self.new_lengths = self.new_lengths or plain(lengths_of_all(reqs)[1])
        self.counts = list(map(sub, self.new_lengths, plain(before[1])))
        given = (scene.rows.batch(reqs), before, self.new_lengths, self.reserve, scene.engine.page_size)
        scene.journal.defer("reserve", len(reqs), None, reserve_columns, *given)


class GrowthHooks:
    """Functions that allocate for a batch and write its rows."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.ALLOC_EXTEND, self.alloc_extend
        yield targets.WRITE_EXTEND, self.write_extend
        yield targets.ALLOC_DECODE, self.alloc_decode
        algorithm = self._scene.engine.algorithm
        if algorithm is not None and not tells_reserves_late(self._scene.level, algorithm):
            prepare = Around(self.preparing, self.prepared, self.broke_off, takes="batch")
            yield PREPARES.get(algorithm, targets.PREPARE_SPEC), prepare
            yield targets.RESERVE, Around(_nothing, self.reserved)
            yield RESERVE_CHAIN, Around(self.reserving_chain)
            yield targets.ALLOC_SPEC, Around(self.allocating, self.broke_off, self.broke_off)
            yield targets.WRITE_SPEC, Around(self.writing, self.written)

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

    def preparing(self, batch: Any) -> SpecGrant:
        """eagle_prepare_for_decode(batch)."""
        grant = SpecGrant(self._scene, batch.reqs)
        self._scene.activity.grants.append(grant)
        return grant

    def prepared(self, grant: SpecGrant, _: Any) -> None:
        """Where no slots were needed the decision is told now."""
        try:
            grant.begin()
        finally:
            self._scene.activity.grants.pop()

    def broke_off(self, *_: Any) -> None:
        """The allocation is over."""
        self._scene.activity.grants.pop()

    def _spec_grant(self) -> SpecGrant | None:
        grants = self._scene.activity.grants
        return grants[-1] if grants and isinstance(grants[-1], SpecGrant) else None

    def reserved(self, _: Any, reserve: Any) -> None:
        """get_alloc_reserve_per_decode(): the reserve that is being decided with."""
        if (grant := self._spec_grant()) is not None:
            grant.reserve = int(reserve)

    def reserving_chain(self, call: Call) -> None:
        """page_aligned_decode_alloc_lens(reqs, reserve, …): a chain's own reserve comes as an argument."""
        if (grant := self._spec_grant()) is not None:
            grant.reserve = int(call["reserve"])

    def allocating(self, call: Call) -> None:
        """alloc_for_spec_decode(…, reqs, nxt_kv_lens_cpu): its CPU buffers are reused, so they are read at once."""
        grant = self._spec_grant() or SpecGrant(self._scene, call["reqs"])
        grant.new_lengths = call["nxt_kv_lens_cpu"].tolist()
        grant.begin()
        self._scene.activity.grants.append(grant)

    def writing(self, call: Call) -> tuple[Call, SpecGrant | None]:
        """assign_req_to_token_pool_func(…): its offsets are on the device, the grant has them on the host."""
        return call, self._spec_grant()

    def written(self, state: tuple[Call, SpecGrant | None], _: Any) -> None:
        """What the rows hold now."""
        call, grant = state
        if grant is not None and grant.new_lengths is not None:
            self._record_rows(grant, call.get("req_pool_indices"), call.get("start_offset"))

    def _record_rows(self, grant: SpecGrant, rows: Any, starts: Any) -> None:
        """What the rows of a reserve hold now where they grew: read together, as wide as the widest.

        Args:
            rows: [n] rows on the device.
            starts: [n] allocated length before, on the device.
        """
        width = max(grant.counts, default=0)
        if not width:
            return
        windows, batch = self._scene.table_windows(rows, starts, width), self._scene.rows.batch(grant.reqs)
        rows_told = len(grant.counts) - grant.counts.count(0)
        given = (windows, batch, grant.counts, grant.new_lengths, width)
        self._scene.journal.defer("table_write", rows_told, windows, _written, *given)

    def _record_row(self, row: int | None, start: int, stop: int, *, settled: bool = False) -> None:
        """What the row holds now in [start, stop)."""
        if row is None or stop <= start:
            return
        slots = self._scene.table_slots(row, start, stop, settled=settled)
        epoch = self._scene.rows.epoch(row)
        self._scene.journal.emit("table_write", row=row, epoch=epoch, start=start, slots=slots)


def _written(
    windows: Staged, batch: Batch, counts: Sequence[int], stops: Sequence[int], width: int
) -> dict[str, Any]:
    """The columns of `table_write` of the rows that grew, once their entries have arrived.

    Args:
        windows: `width` entries of each request, from the allocated length before on.
        batch: The requests.
        counts: Slots that each got.
        stops: Allocated length of each afterwards.
        width: The largest count.
    """
    grown = [place for place, count in enumerate(counts) if count]
    chosen, lines = batch.pick(grown), windows.resolve().reshape(len(counts), width)
    return {
        "row": Each(chosen.rows),
        "epoch": Each(chosen.epochs),
        "start": Each([stops[place] - counts[place] for place in grown]),
        "slots": Cut(lines[grown].reshape(-1), [counts[place] for place in grown], width),
    }


def _nothing(_: Any) -> None:
    """What counts comes afterwards."""
