"""Verify steps as people look at them: one `VerifyStep` at a time out of the columns."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from speckv_debug.model.verify import DraftTree, KVBounds, SlotMove, VerifyStep
from speckv_debug.recording.reader import ProcessRecording
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import NULL, Int64s
from speckv_debug.replay.view import ProcessView


def steps_with_verifies(processes: Iterable[ProcessRecording]) -> Int64s:
    """Every step, ascending, at which one of the processes recorded a verify."""
    found = [np.unique(Columns(process.columns("accept", "step")).ints("step")) for process in processes]
    known: Int64s = np.unique(np.concatenate([np.empty(0, np.int64), *found]))
    told: Int64s = known[known != NULL]
    return told


class StepIndex:
    """All target verifies of one process; index i is a row of `accept` in the order of `seq`.

    Columns (int64[n], NULL where absent, see `replay.ragged`): `seq`, `step`, `row`, `accept_len`, `width`;
    `simulated` is bool[n]; `request` is a list of str or None.

    Args:
        process: The process.
        view: A part of it, such as a window; the whole process if None.
    """

    def __init__(self, process: ProcessRecording, view: ProcessView | None = None) -> None:
        self._view = view or ProcessView(process)
        self._verifies = self._view.verifies
        self.seq, self.step, self.row = self._verifies.seq, self._verifies.step, self._verifies.row
        self.accept_len, self.width = self._verifies.accepted, self._verifies.width
        self.simulated = self._verifies.simulated

    def __len__(self) -> int:
        return len(self._verifies)

    @cached_property
    def request(self) -> list[str | None]:
        """The request of each verify."""
        texts = self._verifies.request
        return [texts[i] for i in range(len(self))]

    def find(self, step: int, request: str | None = None) -> list[int]:
        """Indices of the verifies of a step, of one request if named."""
        at = np.flatnonzero(self.step == step).tolist()
        return at if request is None else [i for i in at if self.request[i] == request]

    def verify(self, index: int) -> VerifyStep:
        """Everything known of one verify.

        Raises:
            IndexError: There is no verify of that index.
        """
        if not 0 <= index < len(self):
            raise IndexError(f"verify {index} of {len(self)}")
        batch, columns = self._verifies, self._verifies.columns
        accepted = tuple(batch.path[index].tolist())
        pool = self._view.info.pool(None)
        return VerifyStep(
            process=self._view.label,
            seq=int(batch.seq[index]),
            step=columns.int_at("step", index),
            request=columns.text_at("request", index),
            row=columns.int_at("row", index),
            epoch=columns.int_at("epoch", index),
            algorithm=columns.text_at("algorithm", index),
            sampling=columns.text_at("sampling", index),
            seq_len=columns.int_at("seq_len", index),
            accept_len=columns.int_at("accept_len", index),
            new_seq_len=columns.int_at("new_seq_len", index),
            bonus_token=columns.int_at("bonus_token", index),
            block_start=columns.int_at("block_start", index) or 0,
            tree=self._tree(index),
            accepted=accepted,
            output_tokens=self._tokens("predict", index, accepted),
            kv_tokens=self._tokens("draft_tokens", index, accepted),
            out_cache_loc=batch.ragged("out_cache_loc").tuple(index),
            predict=batch.ragged("predict").tuple(index),
            moves=self._moves(index, accepted),
            bounds=self._bounds(index),
            page_size=None if pool is None else pool.page_size,
            simulated=bool(batch.simulated[index]),
        )

    def _tree(self, index: int) -> DraftTree:
        batch = self._verifies
        tokens = batch.ragged("draft_tokens").tuple(index)
        parents = batch.parents.tuple(index)
        if parents is None:
            parents = tuple(range(-1, len(tokens or ()) - 1)) if batch.of("layout", "chain")[index] else ()
        return DraftTree(
            tokens=tokens or (), parents=parents, positions=batch.ragged("positions").tuple(index)
        )

    def _tokens(self, column: str, index: int, rows: tuple[int, ...]) -> tuple[int | None, ...]:
        values = self._verifies.ragged(column)[index].tolist()
        return tuple(values[row] if row < len(values) else None for row in rows)

    def _moves(self, index: int, accepted: tuple[int, ...]) -> tuple[SlotMove, ...]:
        batch, at = self._verifies, self._relocation_of[index]
        loc, table = (
            batch.ragged("out_cache_loc").tuple(index) or (),
            batch.ragged("table_slots").tuple(index),
        )
        targets = loc if table is None else table
        seq_len = batch.columns.int_at("seq_len", index)
        moves = []
        for k, (row, token) in enumerate(
            zip(accepted, self._tokens("draft_tokens", index, accepted), strict=True)
        ):
            source = loc[row] if row < len(loc) else None
            target = targets[k] if k < len(targets) else None
            engine = None if at < 0 else self._view.relocations.engine_pair(int(at), k, source, target)
            position = k if seq_len is None else seq_len + k
            moves.append(
                SlotMove(
                    k=k,
                    token=token,
                    verify_row=row,
                    position=position,
                    source=source,
                    target=target,
                    engine_source=None if engine is None else engine[0],
                    engine_target=None if engine is None else engine[1],
                )
            )
        return tuple(moves)

    @cached_property
    def _relocation_of(self) -> Int64s:
        """Index into the relocations of each verify's first mover call, -1 if there was none."""
        found = np.full(len(self), -1, dtype=np.int64)
        relocations = self._view.relocations
        found[relocations.verify[::-1]] = np.arange(len(relocations))[::-1]
        return found

    def _bounds(self, index: int) -> KVBounds | None:
        """The host's lengths of the same request and epoch as last reported before the verify."""
        lengths, batch = self._view.columns("lengths"), self._verifies
        until = int(np.searchsorted(lengths.ints("seq"), batch.seq[index]))
        pool = lengths.texts("pool")
        same = (lengths.ints("row")[:until] == batch.row[index]) & (
            lengths.ints("epoch")[:until] == batch.epoch[index]
        )
        same &= (pool.equal(self._view.info.main_pool) | ~pool.known)[:until] & (batch.row[index] != NULL)
        rows = np.flatnonzero(same)
        if not len(rows):
            return None
        committed, allocated = (lengths.int_at(name, int(rows[-1])) for name in ("committed", "allocated"))
        return (
            None
            if committed is None or allocated is None
            else KVBounds(committed=committed, allocated=allocated)
        )
