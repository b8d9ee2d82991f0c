"""OWN-MAP: each full slot in the sliding window has one peer in the window's pool, from its grant to its free."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.evidence import more
from speckv_debug.checks.rule import ERROR, Details, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.model.finding import Cell, Evidence
from speckv_debug.model.text import plural, quantity
from speckv_debug.replay.peers import PeerMaps
from speckv_debug.replay.ragged import Int64s

SHOWN = 12


@rule(
    "OWN-MAP",
    severity=ERROR,
    needs=("swa_map",),
    scope="peer_maps",
    look_at="SWATokenToKVPoolAllocator.set_full_to_swa_mapping, free_swa",
    follows=("OWN-DFREE", "OWN-PAGESAFE", "OWN-MAP"),
)
def one_peer_each(peers: PeerMaps) -> Judgement:
    """A full slot gets its peer in the window's pool at its grant and loses it at its free; no two slots share a peer.

    A slot gets no other peer while it has one, none while it is free or was never granted, and none that the window's
    allocator has not granted, where its grants are recorded; the dummy slot gets none. At the first launch behind a free, of
    the slot or of its peer, and at the next grant, no slot of the page has one. A granted slot that the target writes has a
    peer. At a pool_stat as many pages hold a peer as are not available.

    Exceptions: 0 is no peer, so that slots behind the window (tombstones), of a transfer that takes the tail alone, or of a
    ring a request need none, and what a forward writes for a request that has ended; the tree may move a peer to its own
    slot, once the other has lost it; a free in a group takes the peer away at once; C4 ids are derived from full ones and are
    not mapped.

    Unknown: a peer that is still there, or not there, where changes of the mapping are not recorded whole; a peer of a slot
    whose grant may lie before the recording, or where grants are not recorded whole; a free that is not settled before the
    recording ends; a total where the mapping was not recorded from its beginning.

    Not judged: whether lengths that an engine combines are in one unit, tokens or keys of the tree.
    """
    failed = np.zeros(len(peers), dtype=np.bool_)
    if not len(peers):
        return verdict(failed, lambda i: _explain(peers, i))
    held = peers.over(peers.shared | peers.replaced, "swa_map") | peers.over(peers.leftover, "alloc")
    held |= peers.over(peers.frees.mapped & ~peers.frees.ends, "free") & peers.told
    held |= peers.over(peers.written_to_nothing, "forward")
    free, granting = peers.over(peers.unowned | peers.ungranted, "swa_map"), peers.info.records("alloc")
    failed |= (held & peers.recorded) | (free & granting) | peers.over(peers.padding, "swa_map")
    counted = peers.over(np.ones(len(peers.rows["pool_stat"]), dtype=np.bool_), "pool_stat")
    failed |= peers.over(peers.miscounted, "pool_stat") & peers.whole
    reasons = {
        "no full_slots and swa_slots of one length, or no slots": ~peers.told,
        "the recording ends before the free is settled": peers.over(
            peers.frees.mapped & peers.frees.ends, "free"
        ),
        "a change of the mapping may not have been recorded": held & (not peers.recorded),
        "a grant of the slot may not have been recorded": (free & (not granting))
        | peers.over(peers.unseen, "swa_map"),
        "the peer of the slot was not seen": peers.over(peers.written_unseen, "forward"),
        "the mapping was not recorded from its beginning": counted & (not peers.whole),
    }
    return verdict(failed, lambda i: _explain(peers, i), reasons)


def _explain(peers: PeerMaps, i: int) -> Details:
    table, row = peers.event(i)
    if table == "pool_stat":
        return _explain_total(peers, int(np.searchsorted(peers.rows[table], row)))
    if table == "alloc":
        number = int(np.searchsorted(peers.rows[table], row))
        owners, slots = peers.grants
        return _explain_leftover(peers, i, slots[(owners == number) & peers.leftover])
    if table == "free":
        return _explain_kept(peers, i, int(np.searchsorted(peers.rows[table], row)))
    if table == "forward":
        return _explain_written(peers, i, int(np.searchsorted(peers.rows[table], row)))
    mine = peers.entries.event == row
    for hit, explain in (
        (peers.shared, _explain_shared),
        (peers.replaced, _explain_replaced),
        (peers.padding, _explain_padding),
        (peers.unowned, _explain_unowned),
    ):
        if (found := np.flatnonzero(hit & mine)).size:
            return explain(peers, i, found)
    return _explain_ungranted(peers, i, np.flatnonzero(peers.ungranted & mine))


def _explain_shared(peers: PeerMaps, i: int, found: Int64s) -> Details:
    entries, first = peers.entries, int(found[0])
    full, swa, other = (
        int(v) for v in (entries.full[first], entries.swa[first], entries.full[entries.rival[first]])
    )
    return Details(
        message=f"full slot {full} gets the peer {swa}, which full slot {other} still has{more(found, 'slot')}",
        expected="each slot of the window's pool is the peer of one full slot",
        actual=f"{swa} is the peer of full slots {other} and {full}",
        slots=tuple(sorted({full, other})),
        evidence=(_history(peers, i, full), _history(peers, i, other)),
    )  # fmt: skip


def _explain_replaced(peers: PeerMaps, i: int, found: Int64s) -> Details:
    entries, first = peers.entries, int(found[0])
    full, swa, before = (
        int(v) for v in (entries.full[first], entries.swa[first], entries.swa[entries.last[first]])
    )
    return Details(
        message=f"full slot {full} gets the peer {swa} while it has {before}, which nobody gives back{more(found, 'slot')}",
        expected="the mapping is cleared before it is set again",
        actual=f"peer {before}, then {swa}",
        slots=(full,),
        evidence=(_history(peers, i, full),),
    )  # fmt: skip


def _explain_padding(peers: PeerMaps, i: int, found: Int64s) -> Details:
    full, swa = (int(v[found[0]]) for v in (peers.entries.full, peers.entries.swa))
    return Details(
        message=f"full slot {full}, which pads the batch and is nobody's, gets the peer {swa}{more(found, 'slot')}",
        expected="the dummy slot has no peer: what is written there is of no request",
        actual=f"full slot {full} is mapped to {swa}",
        slots=(full,),
        evidence=(_history(peers, i, full),),
    )


def _explain_unowned(peers: PeerMaps, i: int, found: Int64s) -> Details:
    full, swa = (int(v[found[0]]) for v in (peers.entries.full, peers.entries.swa))
    never = peers.granted_never(int(found[0]))
    where = "nobody was ever granted it" if never else "it is in the free list"
    return Details(
        message=f"full slot {full} gets the peer {swa} while {where}{more(found, 'slot')}",
        expected="a peer is given to slots that are granted",
        actual=f"full slot {full} {'was never granted' if never else 'is free'}",
        slots=(full,),
        evidence=(_history(peers, i, full),),
    )


def _explain_ungranted(peers: PeerMaps, i: int, found: Int64s) -> Details:
    full, swa = (int(v[found[0]]) for v in (peers.entries.full, peers.entries.swa))
    return Details(
        message=f"full slot {full} gets the peer {swa}, which pool {peers.pool} has not granted{more(found, 'slot')}",
        expected=f"a slot that pool {peers.pool} has granted",
        actual=f"slot {swa} is in its free list",
        slots=(full,),
        evidence=(_history(peers, i, full),),
    )


def _explain_leftover(peers: PeerMaps, i: int, slots: Int64s) -> Details:
    full = int(slots[0])
    seq = np.array([peers.seq[i]], dtype=np.int64)
    swa = int(peers.entries.swa[peers.entries.before(slots[:1], seq)[0]])
    return Details(
        message=f"full slot {full} is granted with the peer {swa} of its holder before: its free did not clear the mapping"
        f"{more(slots, 'slot')}",
        expected="a free clears the mapping of the slots that it returns",
        actual=f"full slot {full} is mapped to {swa} at its grant",
        slots=tuple(slots.tolist()),
        evidence=(_history(peers, i, full),),
    )


def _explain_kept(peers: PeerMaps, i: int, number: int) -> Details:
    found, settled = peers.frees.kept(number), int(peers.frees.settled[number])
    full, swa = (int(v[found[0]]) for v in (peers.entries.full, peers.entries.swa))
    if peers.frees.pool[number]:
        who = f"slot {swa} of pool {peers.pool} is free and still the peer of full slot {full}"
    else:
        who = f"full slot {full} is free and still has the peer {swa}"
    return Details(
        message=f"{who} at the next launch (event {settled}){more(found, 'slot')}",
        expected="a free clears the mapping of the pages that it returns",
        actual=f"full slot {full} is mapped to {swa}",
        slots=tuple(np.unique(peers.entries.full[found]).tolist()),
        evidence=(_history(peers, i, full),),
    )


def _explain_written(peers: PeerMaps, i: int, number: int) -> Details:
    writes = peers.writes
    found = np.flatnonzero(peers.written_to_nothing & (writes.owners == number))
    full, cleared = int(writes.slots[found[0]]), bool(writes.last[found[0]] >= 0)
    why = "its mapping was cleared" if cleared else "it never got one"
    return Details(
        message=f"full slot {full} is written and has no peer in pool {peers.pool}: {why}{more(found, 'slot')}",
        expected="a slot has its peer from its grant on, so that the window's layers have where to write",
        actual=f"full slot {full} is mapped to 0: the window's layers write to the dummy slot",
        slots=tuple(writes.slots[found].tolist()),
        evidence=(_history(peers, i, full),),
    )


def _explain_total(peers: PeerMaps, at: int) -> Details:
    mapped, allocated = int(peers.mapped[at]), int(peers.allocated[at])
    rows = (("pages that hold a peer", mapped), ("total - available, in pages", allocated))
    return Details(
        message=f"{quantity(allocated, 'page')} of pool {peers.pool} {plural(allocated, 'is', 'are')} not available, {quantity(mapped, 'holds', 'hold')} the peer of a full slot",
        expected=f"{quantity(allocated, 'page')} mapped",
        actual=f"{quantity(mapped, 'page')} mapped",
        evidence=(
            Evidence(
                title=f"pool {peers.pool}, page size {peers.page_size}", columns=("", "pages"), rows=rows
            ),
        ),
    )


def _history(peers: PeerMaps, i: int, full: int) -> Evidence:
    """The mapping of one full slot, event by event, up to the instance."""
    entries, table = peers.entries, peers.columns("swa_map")
    found = np.flatnonzero((entries.full == full) & (entries.seq <= peers.seq[i]))
    rows: tuple[tuple[Cell, ...], ...] = tuple(
        (int(entries.seq[k]), table.int_at("step", int(entries.event[k])), int(entries.swa[k]) or "none")
        for k in found[-SHOWN:].tolist()
    )
    left_out = f", the last {SHOWN} of {len(found)} entries" if len(found) > SHOWN else ""
    return Evidence(
        title=f"mapping of full slot {full}{left_out}", columns=("seq", "step", "peer"), rows=rows
    )
