"""The pools of a process at one point as text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TextIO

from speckv_debug.model.finding import Evidence
from speckv_debug.model.text import amount, printable
from speckv_debug.replay.counted_state import CountedPool
from speckv_debug.replay.page_history import ranges
from speckv_debug.replay.pool_state import PoolState, Use
from speckv_debug.replay.ring_state import PageRing, RingState
from speckv_debug.replay.snapshots import Account, Snapshot
from speckv_debug.replay.unseen import reasons
from speckv_debug.viewers.terminal.table import table_lines

SHOWN_REQUESTS = 20
GROUPS = (
    ("requests", {"committed": Use.COMMITTED, "reserve": Use.RESERVE, "granted": Use.GRANTED}),
    ("tree", {"locked": Use.LOCKED, "evictable": Use.EVICTABLE, "locks not recorded": Use.TREE}),
)
SINGLE = (
    ("sessions", Use.SESSION), ("transfer", Use.TRANSFER), ("waiting in a free group", Use.WAITING), ("free", Use.FREE),
    ("held by nobody", Use.UNHELD), ("conflict", Use.CONFLICT), ("unknown", Use.UNKNOWN),
)  # fmt: skip
ALWAYS = (Use.FREE, Use.SESSION, Use.TRANSFER, Use.CONFLICT)
"""Said even where no page is used so."""


def render(found: Snapshot, out: TextIO, *, verbose: bool = False) -> None:
    """One block a pool, the running requests, what the recording does not hold."""
    at = "" if found.step is None else f"step {found.step}, "
    lines = [f"{printable(found.process)} · {at}after event {found.seq}"]
    for pool in found.pools:
        lines += _pool(pool, found.accounts.get(pool.pool))
    told = {pool.pool for pool in found.counted} | {ring.pool for ring in found.rings}
    told |= {ring.pool for ring in found.page_rings} | {pool.pool for pool in found.recurrent}
    lines += [
        f"pool {printable(name)} · its pages can't be followed" for name in found.left_out if name not in told
    ]
    for counted in found.counted:
        lines += _counted(counted, found.accounts.get(counted.pool), verbose)
    lines += [*_rings(found, verbose), *_page_rings(found, verbose), *_recurrent(found, verbose)]
    lines += _requests(found, verbose)
    lines += [f"unknown  {printable(why)}" for why in reasons(found.unseen)]
    out.write("".join(f"{line}\n" for line in lines))


def _pool(pool: PoolState, account: Account | None) -> Iterator[str]:
    counts = pool.counts
    size = amount(len(pool.use), "page") + ("" if pool.whole else " that events name")
    yield f"pool {printable(pool.pool)} · {size} of {amount(pool.page_size, 'slot')}"
    for name, parts in GROUPS:
        said = [f"{part} {counts[use]:,}" for part, use in parts.items() if counts[use]]
        total = sum(counts[use] for use in parts.values())
        if pool.held_as is None or total:
            yield _line(name, total, f"({', '.join(said)})" if said else "")
    if pool.held_as is not None:
        yield f"   who holds its pages follows from pool {printable(pool.held_as)}"
    for name, use in SINGLE:
        if counts[use] or use in ALWAYS:
            yield _line(name, counts[use], _about(pool, use))
    if pool.dangling:
        pages = f"pages {ranges(pool.dangling)}; normal until the row is written again"
        yield _line("freed, still in a row", len(pool.dangling), pages)
    if account is not None:
        yield f"   {_account(account, pool.page_size)}"


def _line(name: str, pages: int, aside: str) -> str:
    return f"   {name:<24} {pages:>9,}  {aside}".rstrip()


def _about(pool: PoolState, use: Use) -> str:
    if use in (Use.CONFLICT, Use.UNHELD) and len(pages := pool.pages(use)):
        return f"pages {ranges(tuple(pages.tolist()))}"
    return printable(pool.why_unknown or "") if use is Use.UNKNOWN else ""


def _account(account: Account, page_size: int = 1) -> str:
    """The engine counts slots, not pages, and now and then: what it said last need not fit the lines above."""
    names = ("available", "evictable", "protected", "session", "total")
    facts = [(name, getattr(account, name)) for name in names]
    when = f"event {account.seq}" + ("" if account.step is None else f" of step {account.step}")
    unit = "slots" if page_size == 1 else f"slots, {page_size} to a page"
    said = ", ".join(f"{name} {value:,}" for name, value in facts if value is not None)
    return f"engine's own account, its last before this point ({when}), in {unit}: {said}"


def _counted(pool: CountedPool, account: Account | None, verbose: bool) -> Iterator[str]:
    """The ledger of a pool whose pages are counted: a page, its count, who holds it."""
    held, references = amount(len(pool.pages), "page"), amount(pool.references, "reference")
    yield f"pool {printable(pool.pool)} · counted: {held} held by {references}"
    rows = tuple((page.page, page.count, ", ".join(page.holders)) for page in pool.pages)
    yield from _listed(("page", "count", "holders"), rows, verbose)
    if account is not None:
        yield f"   {_account(account)}"


def _rings(found: Snapshot, verbose: bool) -> Iterator[str]:
    """Which positions the rings of compressor state hold, pool by pool."""
    names = {each.row: each.request for each in found.requests}
    for pool in dict.fromkeys(ring.pool for ring in found.rings):
        mine = [ring for ring in found.rings if ring.pool == pool]
        yield f"pool {printable(pool)} · compressor state: {amount(len(mine), 'ring')}"
        rows = tuple(
            (names.get(ring.row), ring.row, ring.size, _held(ring), _rejected(ring), ring.cleared)
            for ring in mine
        )
        columns = ("request", "row", "ring", "positions held", "rejected", "cleared")
        yield from _listed(columns, rows, verbose)


def _page_rings(found: Snapshot, verbose: bool) -> Iterator[str]:
    """Which positions the state holds that lies by pages of the window's pool."""
    for pool in dict.fromkeys(ring.pool for ring in found.page_rings):
        mine = [ring for ring in found.page_rings if ring.pool == pool]
        yield f"pool {printable(pool)} · compressor state bound to pages of the window: {amount(len(mine), 'page')}"
        rows = tuple(
            (ring.page, ring.request, _held(ring), _rejected(ring), ring.others or None) for ring in mine
        )
        columns = ("page", "written last by", "positions held", "rejected", "cells of others")
        yield from _listed(columns, rows, verbose)


def _held(ring: RingState | PageRing) -> str:
    """The positions that are stored, without those of rejected drafts."""
    rejected = set(ring.rejected)
    return ranges(tuple(p for p in ring.positions if p not in rejected)) or "none"


def _rejected(ring: RingState | PageRing) -> str | None:
    return ranges(ring.rejected) if ring.rejected else None


def _recurrent(found: Snapshot, verbose: bool) -> Iterator[str]:
    """Behind which tokens the recurrent state of each request stands, and which states the tree has."""
    names = {each.row: each.request for each in found.requests}
    for pool in found.recurrent:
        requests, tree = amount(len(pool.kept), "request"), amount(len(pool.tracked), "state")
        yield f"pool {printable(pool.pool)} · recurrent state: of {requests}, {tree} in the tree"
        rows = tuple((names.get(k.row), k.row, k.step, k.verify_row, k.tokens) for k in pool.kept)
        yield from _listed(("request", "row", "kept in step", "verify row", "behind tokens"), rows, verbose)
        states = tuple((state.slot, state.node, state.tokens) for state in pool.tracked)
        yield from _listed(("slot", "node", "behind tokens"), states, verbose)


def _listed(
    columns: tuple[str, ...], rows: tuple[tuple[int | str | None, ...], ...], verbose: bool
) -> Iterator[str]:
    if rows:
        shown = None if verbose else SHOWN_REQUESTS
        evidence = Evidence(title="", columns=columns, rows=rows)
        yield from (f"   {line}" for line in table_lines(evidence, shown=shown))


def _requests(found: Snapshot, verbose: bool) -> Iterator[str]:
    yield f"{amount(len(found.requests), 'request')} running"
    columns = ("request", "row", "epoch", "committed", "allocated", "pages")
    rows = tuple(
        (*(getattr(each, name) for name in columns[:-1]), "unknown" if each.pages is None else each.pages)
        for each in found.requests
    )
    yield from _listed(columns, rows, verbose)
