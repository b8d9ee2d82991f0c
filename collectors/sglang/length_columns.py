"""The columns of `lengths` and `reserve`: made by the recorder's thread, of many steps at once where they are alike."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import Any

import numpy as np

from speckv_debug.collectors.sglang.requests import Batch, plain
from speckv_debug.recording.blocks import Each

Columns = dict[str, Any]
Lengths = tuple[list[Any], list[Any]]
"""Committed and allocated of each request, as the engine has them."""


class _LengthColumns:
    """The columns of `lengths`."""

    def __call__(
        self,
        who: Batch,
        rows: Sequence[int | None],
        lengths: Lengths,
        cause: str,
        cuts: list[str | None] | None,
        told: Sequence[int] | None,
        evicted: list[int | None] | None,
    ) -> Columns:
        """Those of one step.

        Args:
            who: Whom they are told of.
            rows: Rows as they are now: a request that gave its row back has no allocated length.
            lengths: Of each.
            cause: Which function changed them.
            cuts: Why fewer tokens than accepted were kept, None if nobody has a grammar.
            told: Places of those that are told of, None for all.
            evicted: How far each has given up its slots behind the window, None for a model without one.
        """
        committed, allocated = plain(lengths[0]), plain(lengths[1])
        if None in rows:
            allocated = _held(allocated, rows)
            evicted = evicted and _held(evicted, rows)
        if told is not None:
            who = who.pick(told)
            committed, allocated = [committed[i] for i in told], [allocated[i] for i in told]
            cuts = None if cuts is None else [cuts[i] for i in told]
            evicted = evicted and [evicted[i] for i in told]
        return {
            **_settled(who, cause),
            "committed": Each(committed),
            "allocated": Each(allocated),
            **({} if evicted is None else {"swa_evicted": Each(evicted)}),
            "cut": None if cuts is None else Each(cuts),
        }

    @staticmethod
    def together(given: Sequence[tuple[Any, ...]]) -> tuple[Columns, list[Columns]] | None:
        """Those of all rows of many steps, and the others of each; None if some step is told of in part."""
        if any(None in rows or rest != [None, None, None] for _, rows, _, _, *rest in given):
            return None
        whole = {
            "committed": _all(lengths[0] for _, _, lengths, *_ in given),
            "allocated": _all(lengths[1] for _, _, lengths, *_ in given),
        }
        return whole, [_settled(who, cause) for who, _, _, cause, *_ in given]


class _ReserveColumns:
    """The columns of `reserve`."""

    def __call__(self, who: Batch, lengths: Lengths, new: list[Any], reserve: Any, page_size: int) -> Columns:
        """Those of one step.

        Args:
            who: The requests.
            lengths: Of each before, on the host.
            new: Allocated afterwards.
            reserve: What is added to what is committed, None if unknown.
            page_size: The allocator's.
        """
        return {
            **_decided(who, reserve, page_size),
            "committed": Each(plain(lengths[0])),
            "allocated": Each(plain(lengths[1])),
            "new_allocated": Each(plain(new)),
        }

    @staticmethod
    def together(given: Sequence[tuple[Any, ...]]) -> tuple[Columns, list[Columns]]:
        """Those of all rows of many steps, and the others of each."""
        whole = {
            "committed": _all(lengths[0] for _, lengths, *_ in given),
            "allocated": _all(lengths[1] for _, lengths, *_ in given),
            "new_allocated": _all(new for _, _, new, *_ in given),
        }
        return whole, [_decided(who, reserve, page_size) for who, _, _, reserve, page_size in given]


length_columns, reserve_columns = _LengthColumns(), _ReserveColumns()


def _settled(who: Batch, cause: str) -> Columns:
    return {"pool": "full", **who.columns(), "cause": cause}


def _decided(who: Batch, reserve: Any, page_size: int) -> Columns:
    return {
        **who.columns(),
        "reserve": None if reserve is None else int(reserve),
        "page_size": page_size,
    }


def _held(values: Sequence[Any], rows: Sequence[int | None]) -> list[Any]:
    """None where the row was given back."""
    return [None if row is None else value for row, value in zip(rows, values, strict=True)]


def _all(lengths: Iterable[list[Any]]) -> Each:
    return Each(np.fromiter(chain.from_iterable(map(plain, lengths)), np.int64))
