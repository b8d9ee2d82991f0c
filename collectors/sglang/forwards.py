"""One row a request and forward of the target or the draft model: what it writes where, how far it may read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.hooking import Hook, Methods, Steps, Target
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.requests import NOBODY, Identity
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.staging import Derived, Staged, stage

Forward = dict[str, Any]


class ForwardHooks:
    """`ModelRunner.forward` of both models; the target's worker then samples an extend's or decode's token."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._unsampled: list[Forward] | None = None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        yield targets.WORKER_FORWARD, self.worker_forward
        yield targets.MODEL_FORWARD, self.model_forward

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def worker_forward(self, call: Call) -> Steps:
        """TpModelWorker.forward_batch_generation(…): its result has the sampled tokens, unless sampling is delayed."""
        if self._scene.activity.schedule_batch is None:
            yield
            return
        self._unsampled = []
        try:
            result = yield
            self._sample(self._unsampled, getattr(result, "next_token_ids", None))
        finally:
            rows, self._unsampled = self._unsampled, None
            for row in rows:
                self._scene.journal.emit("forward", **row)

    def _sample(self, rows: Sequence[Forward], tokens: Any) -> None:
        """A request whose prompt goes on in another chunk has no sampled token."""
        if tokens is None:
            return
        staged, batch = stage(tokens), self._scene.activity.schedule_batch
        unfinished = getattr(batch, "chunked_req", None)
        for index, (row, req) in enumerate(zip(rows, batch.reqs, strict=False)):
            goes_on = row["mode"] == "extend" and req is unfinished
            if not goes_on and index < tokens.numel():
                row["next_token"] = staged.item(index)

    def model_forward(self, call: Call) -> Steps:
        """ModelRunner.forward(forward_batch): recorded as it is launched, an idle one with the padding it gets inside."""
        runner, batch = call["self"], call["forward_batch"]
        pool = self._scene.engine.pool_name(runner.token_to_kv_pool)
        if pool is None or self._scene.activity.schedule_batch is None:
            yield
            return
        if idle := str(batch.forward_mode.name) == "IDLE":
            yield
        rows = list(
            _rows(batch, runner is not self._scene.engine.target_runner, pool, self._scene.activity.batch)
        )
        if self._unsampled is not None and rows and rows[0]["mode"] in ("extend", "decode"):
            self._unsampled.extend(rows)
        else:
            for row in rows:
                self._scene.journal.emit("forward", **row)
        if not idle:
            yield


def _rows(batch: Any, drafts: bool, pool: str, whose: Sequence[Identity]) -> Iterator[Forward]:
    mode = _mode(batch.forward_mode, drafts)
    if mode is None or batch.out_cache_loc is None:
        return
    count, slots = int(batch.batch_size), stage(batch.out_cache_loc)
    tokens = None if batch.input_ids is None else stage(batch.input_ids)
    positions = None if batch.positions is None else stage(batch.positions)
    if mode == "idle":
        written = {"slots": slots, "tokens": tokens, "positions": positions}
        yield {"mode": mode, **NOBODY.columns(), "pool": pool, **written, "padded": True}
        return
    spans, lengths = _spans(batch, mode, count), stage(batch.seq_lens)
    for index, (start, stop) in enumerate(spans):
        identity = whose[index] if index < len(whose) else NOBODY
        yield {
            "mode": mode,
            **identity.columns(),
            "pool": pool,
            "slots": slots.part(start, stop),
            "tokens": tokens and tokens.part(start, stop),
            "positions": positions and positions.part(start, stop),
            "padded": index >= len(whose),
            **_reach(mode, lengths, index, stop - start),
        }


def _mode(forward_mode: Any, drafts: bool) -> str | None:
    """The contract's name of a forward mode; None for one that writes no KV of requests."""
    name = str(forward_mode.name)
    if name == "DECODE":
        return "draft" if drafts else "decode"
    if name in ("EXTEND", "MIXED", "SPLIT_PREFILL", "DLLM_EXTEND"):
        return "extend"
    if name.startswith("DRAFT_EXTEND"):
        return "draft_extend"
    return {"TARGET_VERIFY": "target_verify", "IDLE": "idle"}.get(name)


def _spans(batch: Any, mode: str, count: int) -> list[tuple[int, int]]:
    """Each request's part of the flat batch; only an extend is ragged, and its lengths are on the host."""
    if mode == "extend" and batch.extend_seq_lens_cpu is not None:
        ends, total = [], 0
        for length in batch.extend_seq_lens_cpu:
            total += int(length)
            ends.append((total - int(length), total))
        return ends
    width = batch.out_cache_loc.numel() // count if count else 0
    return [(index * width, (index + 1) * width) for index in range(count)]


def _reach(mode: str, lengths: Staged, index: int, width: int) -> dict[str, Any]:
    """First position written and exclusive end of what may be read.

    `seq_lens` counts this forward's own tokens, except for a verify. The topk rows of a draft step share
    one position: only their `positions` say it.
    """
    if mode == "draft":
        return {}
    before = width if mode == "target_verify" else 0
    end = Derived(lambda: int(lengths.resolve()[index]) + before, lengths.ready)
    return {"start": Derived(lambda: end.resolve() - width, lengths.ready), "read_len": end}
