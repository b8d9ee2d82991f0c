"""One row a request and forward of the target or the draft model: what it writes where, how far it may read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache, partial
from typing import Any

import numpy as np

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.device_times import Span
from speckv_debug.collectors.hooking import NEVER, Hook, Methods, Steps, Target, Unless
from speckv_debug.collectors.sglang import targets
from speckv_debug.collectors.sglang.levels import BRIEF, FORENSIC
from speckv_debug.collectors.sglang.ragged import cut_ragged
from speckv_debug.collectors.sglang.requests import NOBODY, Batch, Identity
from speckv_debug.collectors.sglang.scene import Scene
from speckv_debug.collectors.sglang.window_forwards import record_window, tell_window
from speckv_debug.collectors.staging import Derived, Load, Staged, clock, send, stage, stage_all, stage_group
from speckv_debug.recording.blocks import Cut, Each

Forwards = tuple[int, dict[str, Any]]
"""How many requests, and the columns of `forward`."""
SAMPLING = ("extend", "decode")
"""Modes behind which the target's worker samples a token."""
IN_ROUNDS = ("target_verify", "draft", "draft_extend")
"""Modes of a speculative round."""
OF_TARGET = (*SAMPLING, "target_verify")
"""Modes whose slots are laid out in order."""


class ForwardHooks:
    """`ModelRunner.forward` of both models; the target's worker then samples an extend's or decode's token."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._unsampled: list[Forwards] | None = None
        timed = scene.level >= FORENSIC
        self._clock = clock(scene.engine.table.req_to_token.device) if timed else None

    def functions(self) -> Iterator[tuple[Target, Hook]]:
        rounds = self._scene.activity.in_round
        yield targets.WORKER_FORWARD, Unless(self.worker_forward, rounds)
        passes = rounds if self._scene.level == BRIEF else NEVER
        yield targets.MODEL_FORWARD, Unless(self.model_forward, passes)

    def methods(self) -> Iterator[Methods]:
        yield from ()

    def worker_forward(self, call: Call) -> Steps:
        """TpModelWorker.forward_batch_generation(…): its result has the sampled tokens, unless sampling is delayed.

        In a speculative round it samples nothing, and is passed by.
        """
        if self._scene.activity.schedule_batch is None:
            yield
            return
        self._unsampled = []
        try:
            result = yield
            self._sample(self._unsampled, getattr(result, "next_token_ids", None))
        finally:
            forwards, self._unsampled = self._unsampled, None
            for rows, columns in forwards:
                self._scene.journal.emit_rows("forward", rows, **columns)
            if forwards:
                send(joined=True)

    def _sample(self, forwards: Sequence[Forwards], tokens: Any) -> None:
        """A request whose prompt goes on in another chunk has no sampled token."""
        if tokens is None:
            return
        staged, batch = stage(tokens, settled=True), self._scene.activity.schedule_batch
        unfinished = getattr(batch, "chunked_req", None)
        for rows, columns in forwards:
            goes_on = columns["mode"] == "extend" and unfinished is not None
            last = [not (goes_on and req is unfinished) for req in batch.reqs][:rows]
            columns["next_token"] = Each(Derived(partial(_sampled, staged, last, rows), staged.ready))

    def model_forward(self, call: Call) -> Steps:
        """ModelRunner.forward(forward_batch): recorded as it is launched, an idle one with the padding it gets inside."""
        runner, batch = call["self"], call["forward_batch"]
        drafts = runner is not self._scene.engine.target_runner or _is_proposal(batch)
        mode = _mode(batch.forward_mode.name, drafts)
        if not self._takes(mode) or self._scene.activity.schedule_batch is None:
            yield
            return
        pool = self._scene.engine.pool_name(runner.token_to_kv_pool)
        if pool is None:
            yield
            return
        if idle := mode == "idle":
            yield
        if self._clock is None and mode in IN_ROUNDS and _layout(batch) is None:
            told = self._tell(batch, str(mode), pool)
            yield
            if told is not None and mode == "target_verify":
                tell_window(self._scene, runner, _round_columns, *told)
            return
        span, times, forward = Span(), self._clock, None
        if batch.out_cache_loc is not None:
            forward = rows, columns = _columns(batch, str(mode), pool, self._scene.activity.batch)
            timed = {} if times is None or idle else {"begin_ns": times.now(), "end_ns": span}
            self._record(mode, (rows, columns | timed))
        if idle:
            return
        try:
            yield
            span.close(None if times is None else times.now())
        finally:
            span.close_if_open()
        if forward is not None and mode in OF_TARGET:
            record_window(self._scene, runner, *forward)

    def _tell(self, batch: Any, mode: str, pool: str) -> tuple[Any, ...] | None:
        """A verify's batch is the engine's own until the verify is done; a draft's changes between steps and leaves at once."""
        slots, tokens, positions = batch.out_cache_loc, batch.input_ids, batch.positions
        if slots is None:
            return None
        count, width = int(batch.batch_size), slots.numel() // max(1, int(batch.batch_size))
        tensors = (slots, tokens, positions, batch.seq_lens)
        if mode == "target_verify" and tokens is not None and positions is not None:
            staged: tuple[Load, Sequence[int | None]] = stage_group("forward", tensors)
        else:
            staged = stage_all(tensors)
            send()
        load, places = staged
        given = (load, places, mode, pool, count, width, Batch.of(self._scene.activity.batch))
        self._scene.journal.defer("forward", count, load, _round_columns, *given)
        return given

    def _takes(self, mode: str | None) -> bool:
        """At level 1 a verify and its drafts are known from `accept` alone."""
        return mode is not None and (self._scene.level > 1 or mode in SAMPLING)

    def _record(self, mode: str | None, forward: Forwards) -> None:
        if self._unsampled is not None and mode in SAMPLING:
            self._unsampled.append(forward)
        else:
            self._scene.journal.emit_rows("forward", forward[0], **forward[1])


def _columns(batch: Any, mode: str, pool: str, whose: Sequence[Identity]) -> Forwards:
    """One row a request. The batch is the engine's own until its forward is done, a draft's changes between steps."""
    settled = mode in SAMPLING or mode == "target_verify"
    count, slots = int(batch.batch_size), stage(batch.out_cache_loc, settled=settled)
    tokens = None if batch.input_ids is None else stage(batch.input_ids, settled=settled)
    positions = None if batch.positions is None else stage(batch.positions, settled=settled)
    if mode == "idle":
        written = {"slots": slots, "tokens": tokens, "positions": positions}
        lists = {
            name: values and Cut(values, batch.out_cache_loc.numel()) for name, values in written.items()
        }
        return 1, {"mode": mode, **NOBODY.columns(), "pool": pool, **lists, "padded": True}
    widths, seq_lens = _widths(batch, mode, count), stage(batch.seq_lens, settled=settled)
    return count, {
        "mode": mode,
        **Batch.of(whose).first(count).columns(),
        "pool": pool,
        "slots": _cut(slots, widths, count),
        "tokens": tokens and _cut(tokens, widths, count),
        "positions": positions and _cut(positions, widths, count),
        "padded": count > len(whose) and Each([place >= len(whose) for place in range(count)]),
        **_reach(mode, seq_lens, widths, count),
    }


def _round_columns(
    load: Load, places: Sequence[int | None], mode: str, pool: str, count: int, width: int, whose: Batch
) -> dict[str, Any]:
    """The columns of a forward of `width` rows a request, once its tensors have arrived: as `_columns`."""
    slots, tokens, positions, lengths = (None if at is None else load.values(at) for at in places)
    columns: dict[str, Any] = {
        "mode": mode,
        **whose.first(count).columns(),
        "pool": pool,
        "slots": Cut(slots, width),
        "tokens": None if tokens is None else Cut(tokens, width),
        "positions": None if positions is None else Cut(positions, width),
        "padded": count > len(whose) and Each([place >= len(whose) for place in range(count)]),
    }
    if mode != "draft" and lengths is not None:
        end = lengths[:count].astype(np.int64) + (width if mode == "target_verify" else 0)
        columns |= {"start": Each(end - width), "read_len": Each(end)}
    return columns


def _layout(batch: Any) -> Any:
    """How a ragged verify lies in its flat batch, None for equal widths."""
    return getattr(getattr(batch, "spec_info", None), "ragged_verify_layout", None)


def _cut(values: Staged, widths: Any, count: int) -> Cut | Each:
    """The flat values of each request; widths that are on the device are known when the values are."""
    return cut_ragged(values, widths, count) if isinstance(widths, Staged) else Cut(values, widths)


def _sampled(tokens: Staged, last: Sequence[bool], rows: int) -> list[int | None]:
    values: list[Any] = tokens.resolve().tolist()[:rows]
    taken = [token if done else None for token, done in zip(values, last, strict=False)]
    return [*taken, *[None] * (rows - len(taken))]


@cache
def _mode(name: str, drafts: bool) -> str | None:
    """The contract's name of a forward mode; None for one that writes no KV of requests."""
    if name in ("DECODE", "TARGET_VERIFY") and drafts:
        return "draft"
    if name == "DECODE":
        return "decode"
    if name in ("EXTEND", "MIXED", "SPLIT_PREFILL", "DLLM_EXTEND"):
        return "extend"
    if name.startswith("DRAFT_EXTEND"):
        return "draft_extend"
    return {"TARGET_VERIFY": "target_verify", "IDLE": "idle"}.get(name)


def _is_proposal(batch: Any) -> bool:
    """Whether the target itself drafts: UNO's first forward of a round."""
    kind = getattr(getattr(batch, "spec_info", None), "spec_input_type", None)
    return str(getattr(kind, "name", "")) == "UNO_DRAFT"


def _widths(batch: Any, mode: str, count: int) -> int | list[int] | Staged:
    """Each request's rows of the flat batch: those of an extend are on the host, those of a ragged verify are not."""
    layout = _layout(batch)
    if mode == "target_verify" and layout is not None:
        return stage(layout.verify_lens)
    if mode == "extend" and batch.extend_seq_lens_cpu is not None:
        return [int(length) for length in batch.extend_seq_lens_cpu]
    return batch.out_cache_loc.numel() // count if count else 0


def _reach(mode: str, lengths: Staged, widths: Any, count: int) -> dict[str, Any]:
    """First position written and exclusive end of what may be read.

    `seq_lens` counts this forward's own tokens, except for a verify. The topk rows of a draft step share
    one position: only their `positions` say it.
    """
    if mode == "draft":
        return {}

    def width() -> Any:
        return np.asarray(widths.resolve()[:count] if isinstance(widths, Staged) else widths, dtype=np.int64)

    def end() -> Any:
        return lengths.resolve()[:count].astype(np.int64) + (width() if mode == "target_verify" else 0)

    def ready() -> bool:
        return lengths.ready() and (not isinstance(widths, Staged) or widths.ready())

    return {"start": Each(Derived(lambda: end() - width(), ready)), "read_len": Each(Derived(end, ready))}
