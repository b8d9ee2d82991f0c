"""The small tables that prove a finding about a length."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import number
from speckv_debug.checks.rule import Details
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.replay.bounds import Reserves
from speckv_debug.replay.continuity import Successions
from speckv_debug.replay.lengths import Lengths

SHOWN = 8


def two_verifies(verifies: Successions, i: int) -> Evidence:
    """This verify and the one before it."""
    columns = verifies.columns
    names = ("seq", "step", "seq_len", "accept_len", "new_seq_len")
    events = [int(verifies.before[i]), int(verifies.index[i])]
    rows = tuple(tuple(columns.int_at(n, e) for n in names) for e in events if e >= 0)
    return Evidence(title="verifies of the request", columns=names, rows=rows, marked=(len(rows) - 1,))


def lengths_of(lengths: Lengths, life: int, until_seq: int) -> Evidence:
    """Accepts, lengths and ends of one life of a row, up to an event, which is marked."""
    tables = ("accept", "lengths", "release", "row_free")
    found = [row for table in tables for row in _told(lengths, table, life) if row[0] <= until_seq]
    found.sort(key=lambda row: row[0])
    left_out = f", the last {SHOWN} of {len(found)} events" if len(found) > SHOWN else ""
    rows = tuple((seq, *cells) for seq, cells in found[-SHOWN:])
    columns = ("seq", "step", "event", "accept_len", "committed", "allocated", "cause")
    return Evidence(
        title=f"lengths of the request{left_out}", columns=columns, rows=rows, marked=(len(rows) - 1,)
    )


def explain_growth(reserves: Reserves, i: int) -> Details:
    """A growth that is not what it should be, or was not granted or reported as decided."""
    c, k, r, grown = (
        int(reserves.ints(name)[i]) for name in ("committed", "allocated", "reserve", "new_allocated")
    )
    size, own = number(reserves.page_size[i]), number(reserves.ints("page_size")[i])
    granted = number(reserves.granted[i])
    formulas = {
        "plain": (int(reserves.plain[i]), f"max({k}, {c} + {r})"),
        "rounded": (int(reserves.rounded[i]), f"max({k}, ceil({c} + {r}) to pages of {size})"),
    }
    due = [formulas[form] for form in formulas if reserves.form in (form, "either")]
    return Details(
        message=_wrong_growth(reserves, i, tuple(length for length, _ in due)),
        expected=" or ".join(f"{text} = {length}" for length, text in due),
        actual=f"new_allocated {grown}, slots granted {'unknown' if granted is None else granted}, page_size {own}",
        evidence=(_growth(reserves, i),),
    )


def _wrong_growth(reserves: Reserves, i: int, due: tuple[int, ...]) -> str:
    k, grown = int(reserves.ints("allocated")[i]), int(reserves.ints("new_allocated")[i])
    granted, reported = number(reserves.granted[i]), number(reserves.reported[i])
    if grown not in due:
        return f"the row grows to {grown}, due is {' or '.join(str(length) for length in dict.fromkeys(due))}"
    if granted is not None and granted != grown - k:
        return f"{granted} slots were granted for growing from {k} to {grown}, due are {grown - k}"
    if reported is not None and reported != grown:
        return f"the row was to grow to {grown}, the host reports {reported} allocated"
    own, size = number(reserves.ints("page_size")[i]), number(reserves.page_size[i])
    return f"the reserve is rounded to pages of {own}, the allocator's pages hold {size}"


def _growth(reserves: Reserves, i: int) -> Evidence:
    """The numbers that go into a growth, and what comes out."""
    values: tuple[tuple[Cell, ...], ...] = (
        ("committed C", int(reserves.ints("committed")[i])),
        ("allocated K", int(reserves.ints("allocated")[i])),
        ("reserve", int(reserves.ints("reserve")[i])),
        ("page size of the allocator", number(reserves.page_size[i])),
        ("max(K, C + reserve)", int(reserves.plain[i])),
        ("max(K, ceil(C + reserve))", int(reserves.rounded[i])),
        ("new allocated", int(reserves.ints("new_allocated")[i])),
        ("slots granted", number(reserves.granted[i])),
        ("allocated as reported", number(reserves.reported[i])),
    )
    return Evidence(title="growth", columns=("", "positions"), rows=values, marked=(6,))


def _told(lengths: Lengths, table: str, life: int) -> list[tuple[int, tuple[Cell, ...]]]:
    """`seq` and what an event says of lengths."""
    columns = lengths.columns(table)
    cause = {"lengths": "cause", "release": "kind"}.get(table)
    found = []
    for row in np.flatnonzero(lengths.lives.of(table) == life).tolist():
        numbers = (columns.int_at(name, row) for name in ("accept_len", "committed", "allocated"))
        why = columns.text_at(cause, row) if cause else None
        found.append((int(columns.ints("seq")[row]), (columns.int_at("step", row), table, *numbers, why)))
    return found
