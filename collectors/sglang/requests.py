"""A request's row and lengths, wherever this release of SGLang keeps them, and how often each row was handed out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


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


def _kept(req: Any, name: str) -> Any:
    """0.5.19 and later keep rows and lengths in `req.kv`, 0.5.16 to 0.5.18 only `kv_allocated_len`, earlier none."""
    record = getattr(req, "kv", None)
    return getattr(record, name) if record is not None and hasattr(record, name) else getattr(req, name, None)


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


def is_settled(req: Any) -> bool:
    """Whether a result that arrives now commits nothing: the request has ended or was retracted."""
    return bool(req.finished() or getattr(req, "is_retracted", False))


class Rows:
    """Rows of req_to_token: `epoch` counts how often each was handed out."""

    def __init__(self) -> None:
        self._epochs: dict[int, int] = {}
        self._holders: dict[int, Any] = {}

    def hand_out(self, row: int, req: Any) -> int:
        """The row's new epoch."""
        self._epochs[row] = self._epochs.get(row, 0) + 1
        self._holders[row] = req
        return self._epochs[row]

    def take_back(self, row: int) -> bool:
        """End the row's epoch; false if it had ended already."""
        held = row in self._holders or row not in self._epochs
        self._holders.pop(row, None)
        return held

    def holder(self, row: int) -> Any:
        """The request that was given the row, None if it is free or was handed out before recording began."""
        return self._holders.get(row)

    def epoch(self, row: int | None) -> int | None:
        """The row's epoch; None for a row that was handed out before recording began."""
        return None if row is None else self._epochs.get(row)

    def identity(self, req: Any) -> Identity:
        """The request in its row."""
        row = row_of(req)
        return Identity(request_id(req), row, self.epoch(row))


def request_id(req: Any) -> str | None:
    """The engine's request id; None for what is no request (a session's slot)."""
    rid = getattr(req, "rid", None)
    return None if rid is None else str(rid)
