"""What the engine is doing around a hooked call: whose allocation, why a free, which batch, who moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from speckv_debug.collectors.sglang.requests import NOBODY, Identity

T = TypeVar("T")


@dataclass(slots=True)
class Grant:
    """An allocation for several requests: the allocator's slots are theirs in this order, so many each."""

    reason: str
    reqs: Sequence[Any] = ()
    counts: Sequence[int] = ()

    def begin(self) -> None:
        """Called when slots are granted, before they are recorded: `counts` must be known now."""


@dataclass(slots=True)
class Freeing:
    """A stretch of engine code whose frees have one reason; the first behind an insert may have another.

    `kind` says how the request ends that is released here, `freed` what was freed: the position where each free
    starts in its request's row and its number of slots, None where not told.
    """

    reason: str
    after_insert: str | None = None
    kind: str = "finish"
    pending: str | None = None
    freed: list[tuple[int | None, int | None]] = field(default_factory=list)

    def next_reason(self) -> str:
        """Why the next call of the allocator's free is made."""
        reason, self.pending = self.pending or self.reason, None
        return reason


class _Within(Generic[T]):
    """Something that holds for a block: on top of a stack, then away again."""

    __slots__ = ("_stack", "_value")

    def __init__(self, stack: list[T], value: T) -> None:
        self._stack, self._value = stack, value

    def __enter__(self) -> T:
        self._stack.append(self._value)
        return self._value

    def __exit__(self, *error: object) -> None:
        self._stack.pop()


@dataclass(slots=True)
class Activity:
    """Nested contexts of the one scheduler thread."""

    batches: list[tuple[Any, Sequence[Identity]]] = field(default_factory=lambda: [(None, ())])
    movers: list[str] = field(default_factory=lambda: ["other"])
    grants: list[Grant] = field(default_factory=list)
    freeings: list[Freeing] = field(default_factory=list)
    requests: list[Identity] = field(default_factory=list)
    retracting: bool = False
    transfers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rows_covered: bool = False
    in_round: list[bool] = field(default_factory=lambda: [False])
    """One entry: whether the batch that runs now goes through a speculative round."""

    @property
    def batch(self) -> Sequence[Identity]:
        """The requests of the batch that runs now."""
        return self.batches[-1][1]

    @property
    def schedule_batch(self) -> Any:
        """The batch that runs now, None between batches."""
        return self.batches[-1][0]

    @property
    def mover(self) -> str:
        """Who calls the KV mover now."""
        return self.movers[-1]

    @property
    def request(self) -> Identity:
        """The request that the engine works on now."""
        return self.requests[-1] if self.requests else NOBODY

    @property
    def grant(self) -> Grant:
        """The allocation that is being made."""
        return self.grants[-1] if self.grants else Grant("other")

    def free_reason(self) -> str:
        """Why the free that is being made is made."""
        return self.freeings[-1].next_reason() if self.freeings else "other"

    def has_freed(self, start: int | None, count: int | None) -> None:
        """Note what the free that is being made gives back."""
        if self.freeings:
            self.freeings[-1].freed.append((start, count))

    def working_on(self, identity: Identity) -> _Within[Identity]:
        """Let locks and frees belong to a request."""
        return _Within(self.requests, identity)

    def granting(self, grant: Grant) -> _Within[Grant]:
        """Let allocations have a reason and be split between requests."""
        return _Within(self.grants, grant)

    def inserted(self) -> None:
        """An insert has been made: the stretch of code around it frees its duplicates next."""
        if self.freeings:
            self.freeings[-1].pending = self.freeings[-1].after_insert

    @contextmanager
    def freeing(self, reason: str, after_insert: str | None = None) -> Iterator[Freeing]:
        """Let frees have a reason; the first behind an insert another one if given."""
        frame = Freeing(reason, after_insert)
        self.freeings.append(frame)
        try:
            yield frame
        finally:
            self.freeings.pop()

    def moving(self, caller: str) -> _Within[str]:
        """Let calls of the mover have a caller."""
        return _Within(self.movers, caller)

    def running(self, schedule_batch: Any, identities: Sequence[Identity]) -> _Within[Any]:
        """Let forwards and verifies belong to the requests of a batch."""
        return _Within(self.batches, (schedule_batch, identities))

    @contextmanager
    def covering_rows(self) -> Iterator[None]:
        """Let row writes be recorded by whoever knows them better than the row pool's `write`."""
        before, self.rows_covered = self.rows_covered, True
        try:
            yield
        finally:
            self.rows_covered = before
