"""What the engine is doing around a hooked call: whose allocation, why a free, which batch, who moves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from speckv_debug.collectors.sglang.requests import NOBODY, Identity


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


@dataclass(slots=True)
class Activity:
    """Nested contexts of the one scheduler thread."""

    batch: Sequence[Identity] = ()
    schedule_batch: Any = None
    mover: str = "other"
    grants: list[Grant] = field(default_factory=list)
    freeings: list[Freeing] = field(default_factory=list)
    requests: list[Identity] = field(default_factory=list)
    retracting: bool = False
    transfers: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    rows_covered: bool = False

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

    @contextmanager
    def working_on(self, identity: Identity) -> Iterator[None]:
        """Let locks and frees belong to a request."""
        self.requests.append(identity)
        try:
            yield
        finally:
            self.requests.pop()

    @contextmanager
    def granting(self, grant: Grant) -> Iterator[Grant]:
        """Let allocations have a reason and be split between requests."""
        self.grants.append(grant)
        try:
            yield grant
        finally:
            self.grants.pop()

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

    @contextmanager
    def moving(self, caller: str) -> Iterator[None]:
        """Let calls of the mover have a caller."""
        before, self.mover = self.mover, caller
        try:
            yield
        finally:
            self.mover = before

    @contextmanager
    def running(self, schedule_batch: Any, identities: Sequence[Identity]) -> Iterator[None]:
        """Let forwards and verifies belong to the requests of a batch."""
        before = (self.schedule_batch, self.batch)
        self.schedule_batch, self.batch = schedule_batch, identities
        try:
            yield
        finally:
            self.schedule_batch, self.batch = before

    @contextmanager
    def covering_rows(self) -> Iterator[None]:
        """Let row writes be recorded by whoever knows them better than the row pool's `write`."""
        before, self.rows_covered = self.rows_covered, True
        try:
            yield
        finally:
            self.rows_covered = before
