"""The state of a process at one event as lines."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from rich.cells import cell_len, set_cell_size

from speckv_debug.model.text import amount, printable
from speckv_debug.replay.counted_state import CountedPool
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.pool_state import LiveRequest, PoolState, Use
from speckv_debug.replay.ring_state import RingState
from speckv_debug.replay.snapshots import Account, Snapshot
from speckv_debug.replay.unseen import reasons
from speckv_debug.viewers.tui.history import LIFE, Question
from speckv_debug.viewers.tui.page_signs import ALWAYS, OF_OTHERS, SIGNS, words_of

SHORTEST_NAME, LONGEST_NAME = 14, 22
"""Cells for the name of a request: with all its numbers behind it 80 columns have room for one of the longest."""


@dataclass(frozen=True, slots=True)
class StateLine:
    """A line of text; `heading` begins a part, `doubt` is about what is not known; `question` asks for its history.

    `parts` are shares of a whole, drawn behind it as a bar where there is room.
    """

    text: str
    heading: bool = False
    doubt: bool = False
    question: Question | None = None
    parts: tuple[float, ...] = ()


def state_lines(found: Snapshot) -> Iterator[StateLine]:
    """Pools, counted pages, rings, running requests, what the recording can't tell."""
    for pool in found.pools:
        yield from _pool(pool, found.accounts.get(pool.pool))
    for counted in found.counted:
        yield from _counted(counted)
    yield from _rings(found)
    yield from _requests(found.requests)
    told = {pool.pool for pool in found.counted} | {ring.pool for ring in found.rings}
    for name in found.left_out:
        if name not in told:
            yield StateLine(f"pool {printable(name)}: its pages can't be followed", doubt=True)
    for why in reasons(found.unseen):
        yield StateLine(f"unknown  {printable(why)}", doubt=True)


def _pool(pool: PoolState, account: Account | None) -> Iterator[StateLine]:
    size = amount(len(pool.use), "page") + ("" if pool.whole else " that events name")
    yield StateLine(f"pool {printable(pool.pool)} · {size} of {amount(pool.page_size, 'slot')}", heading=True)
    counts = pool.counts
    for use, (sign, _, _) in SIGNS.items():
        if counts[use] or use in (ALWAYS if pool.held_as is None else OF_OTHERS):
            share = counts[use] / max(1, len(pool.use))
            text = f"{counts[use]:>9,}  {sign:^7}  {words_of(use, pool)}{_about(pool, use)}"
            yield StateLine(text, parts=(share,))
    if pool.dangling:
        yield StateLine(
            f"{len(pool.dangling):>9,}  {'':7}  freed, still in a row: pages {ranges(pool.dangling)}"
        )
    if account is not None:
        yield StateLine(f"  engine's own account, in slots, at event {account.seq}:")
        yield StateLine(f"  {_account(account)}")


def _about(pool: PoolState, use: Use) -> str:
    if use in (Use.CONFLICT, Use.UNHELD) and len(pages := pool.pages(use)):
        return f": pages {ranges(tuple(pages.tolist()))}"
    return f": {printable(pool.why_unknown)}" if use is Use.UNKNOWN and pool.why_unknown else ""


def _account(account: Account) -> str:
    names = ("available", "evictable", "protected", "session", "total")
    facts = [(name, getattr(account, name)) for name in names]
    return ", ".join(f"{name} {value:,}" for name, value in facts if value is not None)


def _counted(pool: CountedPool) -> Iterator[StateLine]:
    held, references = amount(len(pool.pages), "page"), amount(pool.references, "reference")
    yield StateLine(f"pool {printable(pool.pool)} · counted: {held} held by {references}", heading=True)
    yield StateLine(f"{'page':>9}  {'count':>7}  holders")
    for page in pool.pages:
        count = "?" if page.count is None else str(page.count)
        question = Question("page", str(page.page), pool.pool)
        wrong = page.count is not None and page.count != len(page.holders)
        mark = f"   ✗ {amount(len(page.holders), 'holder')} seen, {page.count} counted" if wrong else ""
        holders = printable(", ".join(page.holders)) or "nobody"
        yield StateLine(f"{page.page:>9}  {count:>7}  {holders}{mark}", question=question)


def _rings(found: Snapshot) -> Iterator[StateLine]:
    names = {each.row: each.request for each in found.requests}
    for pool in dict.fromkeys(ring.pool for ring in found.rings):
        mine = [ring for ring in found.rings if ring.pool == pool]
        title = f"pool {printable(pool)} · compressor state: {amount(len(mine), 'ring')}"
        yield StateLine(title, heading=True)
        yield StateLine(f"{'row':>9}  {'request':<14}  ring (position mod size, ○ neutral, · not seen)")
        for ring in mine:
            yield _ring(ring, names.get(ring.row))


def _ring(ring: RingState, request: str | None) -> StateLine:
    """Cells of a small ring one by one, of a large one its positions."""
    who = _fitted(printable(request or "unnamed"), SHORTEST_NAME)
    question = None if request is None else Question(LIFE, request)
    if ring.size is None or not 0 < ring.size <= 16:
        size = "size unknown" if ring.size is None else f"{ring.size} cells"
        held = ranges(ring.positions) or "none"
        text = f"{size}: positions {held}" + (f", {ring.cleared} neutral" if ring.cleared else "")
        return StateLine(f"{ring.row:>9}  {who}  {text}", question=question)
    cells = ["·"] * ring.size
    for position in ring.positions:
        cells[position % ring.size] = str(position)
    neutral = ring.cleared
    for at, cell in enumerate(cells):
        if cell == "·" and neutral:
            cells[at], neutral = "○", neutral - 1
    return StateLine(f"{ring.row:>9}  {who}  [{' '.join(cells)}]", question=question)


def _fitted(name: str, cells: int) -> str:
    """A name in so many cells, cut with an ellipsis."""
    return set_cell_size(name, cells) if cell_len(name) <= cells else set_cell_size(name, cells - 1) + "…"


def _requests(requests: tuple[LiveRequest, ...]) -> Iterator[StateLine]:
    names = [printable(each.request or "unnamed") for each in requests]
    room = min(LONGEST_NAME, max(map(cell_len, names), default=SHORTEST_NAME))
    room = max(SHORTEST_NAME, room)
    yield StateLine(f"{amount(len(requests), 'request')} running", heading=True)
    if requests:
        yield StateLine(
            f"{'row':>9}  {'request':<{room}} {'epoch':>5} {'committed':>10} {'allocated':>10} {'reserve':>8} {'pages':>7}"
        )
    longest = max((each.allocated or each.committed or 0 for each in requests), default=0)
    for each, name in zip(requests, names, strict=True):
        lengths = each.committed, each.allocated
        reserve = None if None in lengths else (each.allocated or 0) - (each.committed or 0)
        cells = [_known(value) for value in (*lengths, reserve, each.pages)]
        yield StateLine(
            f"{each.row:>9}  {_fitted(name, room)} {each.epoch:>5} {cells[0]:>10} {cells[1]:>10} {cells[2]:>8} {cells[3]:>7}",
            question=None if each.request is None else Question(LIFE, each.request),
            parts=()
            if reserve is None
            else ((each.committed or 0) / max(1, longest), reserve / max(1, longest)),
        )


def _known(value: int | None) -> str:
    return "?" if value is None else f"{value:,}"
