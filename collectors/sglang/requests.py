"""A request's row and lengths, wherever this release of SGLang keeps them, and how often each row was handed out."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from speckv_debug.recording.blocks import Each


@dataclass(frozen=True, slots=True)
class Identity:
    """A request in its row: what the columns `request`, `row` and `epoch` say."""

    request: str | None
    row: int | None
    epoch: int | None

    def columns(self) -> dict[str, Any]:
        """The three columns."""
        return {"request": self.request, "row": self.row, "epoch": self.epoch}


NOBODY = Identity(None, None, None)


@dataclass(frozen=True, slots=True)
class Batch(Sequence[Identity]):
    """Requests in their rows, column by column; the lists stay as they are."""

    requests: list[str | None]
    rows: list[int | None]
    epochs: list[int | None]

    @classmethod
    def of(cls, identities: Sequence[Identity]) -> Batch:
        """The same as columns."""
        if isinstance(identities, Batch):
            return identities
        who = list(identities)
        return cls([each.request for each in who], [each.row for each in who], [each.epoch for each in who])

    def __len__(self) -> int:
        return len(self.requests)

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, slice):
            return Batch(self.requests[index], self.rows[index], self.epochs[index])
        return Identity(self.requests[index], self.rows[index], self.epochs[index])

    def columns(self) -> dict[str, Any]:
        """The three columns of as many events."""
        return {"request": Each(self.requests), "row": Each(self.rows), "epoch": Each(self.epochs)}

    def pick(self, places: Sequence[int]) -> Batch:
        """Some of them, in the order given."""
        if len(places) == len(self.requests):
            return self
        return Batch(
            [self.requests[place] for place in places],
            [self.rows[place] for place in places],
            [self.epochs[place] for place in places],
        )

    def first(self, count: int) -> Batch:
        """The first so many, padded with nobody."""
        if count == len(self.requests):
            return self
        return Batch.of([*self[:count], *[NOBODY] * (count - len(self.requests))])


NO_BATCH = Batch([], [], [])


def _kept(req: Any, name: str) -> Any:
    """0.5.19 and later keep rows and lengths in `req.kv`, 0.5.16 to 0.5.18 only `kv_allocated_len`, earlier none."""
    record = getattr(req, "kv", None)
    return getattr(record, name) if record is not None and hasattr(record, name) else getattr(req, name, None)


def _kept_of_all(reqs: Sequence[Any], name: str) -> list[Any]:
    """`_kept` of each; where this release keeps it is looked up once, and no function is called for each."""
    if not reqs:
        return []
    record = getattr(reqs[0], "kv", None)
    key = (record is not None and hasattr(record, name), name)
    get = _getters.get(key) or _getters.setdefault(key, attrgetter(f"kv.{name}" if key[0] else name))
    try:
        return list(map(get, reqs))
    except AttributeError:
        return [_kept(req, name) for req in reqs]


def lengths_of_all(reqs: Sequence[Any]) -> tuple[list[Any], list[Any]]:
    """Committed and allocated lengths of each as the engine has them, None where a release took them away."""
    try:
        committed, allocated = _lengths[getattr(reqs[0], "kv", None) is not None]
        return list(map(committed, reqs)), list(map(allocated, reqs))
    except (AttributeError, IndexError):  # other releases, or some that were released
        return (
            [_kept(req, "kv_committed_len") for req in reqs],
            [_kept(req, "kv_allocated_len") for req in reqs],
        )


def committed_now(reqs: Sequence[Any]) -> list[Any]:
    """Committed lengths alone, as the engine has them."""
    return _kept_of_all(reqs, "kv_committed_len")


def rows_now(reqs: Sequence[Any]) -> list[Any]:
    """Rows as the engine has them, None where a request holds none."""
    return _kept_of_all(reqs, "req_pool_idx")


_lengths = {
    False: (attrgetter("kv_committed_len"), attrgetter("kv_allocated_len")),
    True: (attrgetter("kv.kv_committed_len"), attrgetter("kv.kv_allocated_len")),
}
_getters: dict[tuple[bool, str], Callable[[Any], Any]] = {}
_get_id = attrgetter("rid")


def rows_of(reqs: Sequence[Any]) -> list[int | None]:
    """`row_of` of each."""
    rows = rows_now(reqs)
    if list(map(type, rows)).count(int) == len(rows):
        return rows
    return [None if row is None else int(row) for row in rows]


def committed_of_all(reqs: Sequence[Any]) -> list[int]:
    """`committed_of` of each."""
    return plain(committed_now(reqs))


def allocated_of_all(reqs: Sequence[Any]) -> list[int]:
    """`allocated_of` of each."""
    return plain(_kept_of_all(reqs, "kv_allocated_len"))


def plain(lengths: list[Any]) -> list[Any]:
    """Lengths as plain integers, 0 where the engine has none."""
    if list(map(type, lengths)).count(int) == len(lengths):
        return lengths
    return [int(length or 0) for length in lengths]


def evicted_of_all(reqs: Sequence[Any]) -> list[int | None]:
    """How far each has given up its slots behind the sliding window; None where a release took the record away.

    A field up to 0.5.20, one cursor of several since.
    """
    return [evicted_of(req) for req in reqs]


def evicted_of(req: Any) -> int | None:
    """The same of one request or of the record that a session keeps."""
    record = getattr(req, "kv", None) or req
    if hasattr(record, "get_evicted_seqlen"):
        kinds: Any = sys.modules.get("sglang.srt.mem_cache.unified_cache.component_type")
        return None if kinds is None else int(record.get_evicted_seqlen(kinds.ComponentType.SWA))
    evicted = _kept(req, "swa_evicted_seqlen")
    return None if evicted is None else int(evicted)


def ids_of(reqs: Sequence[Any]) -> list[str | None]:
    """`request_id` of each."""
    try:
        ids = list(map(_get_id, reqs))
    except AttributeError:
        return [request_id(req) for req in reqs]
    return ids if list(map(type, ids)).count(str) == len(ids) else [request_id(req) for req in reqs]


def nobody_has(reqs: Sequence[Any], name: str) -> bool:
    """Whether an attribute is None, or not there, for all of them."""
    try:
        return not any(value is not None for value in map(attrgetter(name), reqs))
    except AttributeError:
        return all(getattr(req, name, None) is None for req in reqs)


def row_of(req: Any) -> int | None:
    """The request's row in req_to_token, None if it holds none."""
    row = _kept(req, "req_pool_idx")
    return None if row is None else int(row)


def committed_of(req: Any) -> int:
    """Length whose KV is committed, on the host."""
    return int(_kept(req, "kv_committed_len") or 0)


def allocated_of(req: Any) -> int:
    """Length that the row has slots for, on the host."""
    return int(_kept(req, "kv_allocated_len") or 0)


def protected_of(req: Any) -> int | None:
    """Length of the prefix that is the tree's and not the request's to free, on the host."""
    protected = _kept(req, "cache_protected_len")
    return None if protected is None else int(protected)


def is_settled(req: Any) -> bool:
    """Whether a result that arrives now commits nothing: the request has ended or was retracted."""
    return bool(req.finished() or getattr(req, "is_retracted", False))


class Rows:
    """Rows of req_to_token: `epoch` counts how often each was handed out."""

    def __init__(self) -> None:
        self._epochs: dict[int, int] = {}
        self._holders: dict[int, Any] = {}
        self._last = NO_BATCH
        self._reqs: list[Any] | None = None

    def hand_out(self, row: int, req: Any) -> int:
        """The row's new epoch."""
        self._epochs[row] = self._epochs.get(row, 0) + 1
        self._holders[row] = req
        self._reqs = None
        return self._epochs[row]

    def take_back(self, row: int) -> bool:
        """End the row's epoch; false if it had ended already."""
        held = row in self._holders or row not in self._epochs
        self._holders.pop(row, None)
        self._reqs = None
        return held

    def holder(self, row: int) -> Any:
        """The request that was given the row, None if it is free or was handed out before recording began."""
        return self._holders.get(row)

    def epoch(self, row: int | None) -> int | None:
        """The row's epoch; None for a row that was handed out before recording began."""
        return None if row is None else self._epochs.get(row)

    def batch(self, reqs: Sequence[Any]) -> Batch:
        """The requests in their rows; the same object as last time if they are the same.

        Between a row that is handed out and one that is taken back, the same requests are in the same rows.
        """
        if reqs == self._reqs:
            return self._last
        ids, rows, last = ids_of(reqs), rows_of(reqs), self._last
        of_row: Callable[[Any], int | None] = self._epochs.get  # no row, no epoch
        epochs = list(map(of_row, rows))
        if rows != last.rows or ids != last.requests or epochs != last.epochs:
            self._last = Batch(ids, rows, epochs)
        self._reqs = list(reqs)
        return self._last

    def forget(self) -> None:
        """Look at the next batch anew: hooks were away, or nothing runs."""
        self._reqs = None

    def identity(self, req: Any) -> Identity:
        """The request in its row."""
        row = row_of(req)
        return Identity(request_id(req), row, self.epoch(row))


def request_id(req: Any) -> str | None:
    """The engine's request id; None for what is no request (a session's slot)."""
    rid = getattr(req, "rid", None)
    return None if rid is None else str(rid)
