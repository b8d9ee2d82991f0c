"""One request in one verify, as people look at it: draft tree, accepted path, moves, room."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DraftTree:
    """Nodes are local verify rows; `parents[0]` is -1 and `parents[i] < 0` for an unlinked row."""

    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    positions: tuple[int, ...] | None = None

    @property
    def is_chain(self) -> bool:
        """Each row's parent is the row before it."""
        return all(parent == row - 1 for row, parent in enumerate(self.parents))

    def children(self, row: int) -> tuple[int, ...]:
        """Local rows whose parent is `row`, in row order."""
        return tuple(i for i, parent in enumerate(self.parents) if parent == row and i != row)


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotMove:
    """What is due and what the engine did for the k-th accepted row; engine_* None if no pair was seen."""

    k: int
    token: int | None
    verify_row: int
    position: int
    source: int | None
    target: int | None
    engine_source: int | None = None
    engine_target: int | None = None

    @property
    def in_place(self) -> bool:
        """Source and target are one slot: nothing has to move."""
        return self.source is not None and self.source == self.target


@dataclass(frozen=True, slots=True, kw_only=True)
class KVBounds:
    """`[0, committed)` is valid history, `[committed, allocated)` reserve."""

    committed: int
    allocated: int


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifyStep:
    """One request in one target verify.

    Attributes:
        accepted: Local verify rows of the accepted path, root first (valid prefix of accept_index).
        output_tokens: What the request's output gains, `predict` on the accepted rows.
        kv_tokens: What KV commits, the inputs of the accepted rows: same length, one apart.
        moves: One entry an accepted row.
        bounds: The host's lengths as last reported before this verify, or None.
        simulated: The engine's simulation set the accept length: by this verify's mode, or by setting where it has none.
    """

    process: str
    seq: int
    step: int | None
    request: str | None
    row: int | None
    epoch: int | None
    algorithm: str | None
    sampling: str | None
    seq_len: int | None
    accept_len: int | None
    new_seq_len: int | None
    bonus_token: int | None
    block_start: int
    tree: DraftTree
    accepted: tuple[int, ...]
    output_tokens: tuple[int | None, ...]
    kv_tokens: tuple[int | None, ...]
    out_cache_loc: tuple[int, ...] | None
    predict: tuple[int, ...] | None
    moves: tuple[SlotMove, ...]
    bounds: KVBounds | None = None
    page_size: int | None = None
    simulated: bool = False
