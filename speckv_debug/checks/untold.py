"""Events that lack what a rule rests on, such as a move without its sources: they count as lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from speckv_debug.checks.rule import Indices, Scope
from speckv_debug.replay.ragged import Mask
from speckv_debug.replay.view import ProcessView
from speckv_debug.replay.writes import padding_rows


def untold(view: ProcessView, scope: Scope) -> Mapping[str, Indices]:
    """Why → instances whose span holds an event that lacks what the scope rests on.

    Where no event of the table has it, no instance can be judged.
    """
    unknown: dict[str, Indices] = {}
    taken = np.zeros(len(scope), dtype=np.bool_)
    for table, name, lacking in lacks(view, scope):
        seq, everywhere = view.columns(table).ints("seq"), _everywhere(view, table, lacking)
        hit = ~taken & (np.ones_like(taken) if everywhere else _around(scope, seq[lacking]))
        if hit.any():
            unknown[f"events of {table} have no {name}"] = np.flatnonzero(hit)
            taken |= hit
    return unknown


def not_said(scope: Scope) -> Mapping[str, int]:
    """Why → events that may be instances of the scope, and do not say so."""
    found: Mapping[str, int] = getattr(scope, "not_said", {})
    return found


def lacks(view: ProcessView, scope: Scope) -> Iterator[tuple[str, str, Mask]]:
    """Table, column and events of what is lacking; a recording may do without steps altogether."""
    for table, names in getattr(scope, "rests_on", {}).items():
        for name in () if not len(view.columns(table)) else names:
            found = _absent(view, table, name)
            if (
                found.any()
                and (found := found & _counted(view, table)).any()
                and not (name == "step" and view.stepless)
            ):
                yield table, name, found


def _absent(view: ProcessView, table: str, name: str) -> Mask:
    """Where a column has no value; a write that names no slots says as little as one without the list."""
    columns = view.columns(table)
    if (table, name) != ("table_write", "slots"):
        return columns.absent(name)
    return np.asarray(columns.absent(name) | (columns.lists(name).lengths == 0), dtype=np.bool_)


def _everywhere(view: ProcessView, table: str, lacking: Mask) -> bool:
    return bool(lacking[_counted(view, table)].all())


def _counted(view: ProcessView, table: str) -> Mask:
    """Events of a table, rows that pad a batch left out."""
    columns = view.columns(table)
    return ~padding_rows(columns) if table == "forward" else np.ones(len(columns), dtype=np.bool_)


def _around(scope: Scope, seq: Indices) -> Mask:
    """Instances whose span holds one of these events, ascending."""
    spans = getattr(scope, "spans", None)
    if spans is None:
        return np.zeros(len(scope), dtype=np.bool_)
    first, last = spans
    return np.asarray(np.searchsorted(seq, last, side="right") > np.searchsorted(seq, first), dtype=np.bool_)
