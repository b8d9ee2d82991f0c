"""What a finding about state or pages beside the main KV is about: KV or state, whose, and what its clean-up is for."""

from __future__ import annotations

from speckv_debug.model.process import MAIN, Process

STALE = "cleaned up against a stale read, which gives no page back"
BACK = "cleaned up to give its pages back"
OF_KIND = {
    "full": (
        "KV pages of all positions",
        "owned by the request rows, nodes of the prefix tree and sessions that hold them",
        BACK,
    ),
    "c128_state": ("a compressor state (C128), no KV page", "owned by the request row", STALE),
    "c4_state": (
        "a compressor state (C4), no KV page",
        "owned by the request row",
        "needs no clean-up between verifies: it is overwritten before it is read",
    ),
    "mamba": (
        "a recurrent state, no KV page",
        "owned by the request row",
        "not cleaned up after a verify: the state of the last accepted row replaces it",
    ),
    "c128": (
        "a KV page (C128)",
        "owned by its references: sidecar rows and nodes of the prefix tree",
        "cleaned up to give the page back, with its last reference and by no accept_len",
    ),
    "c4": ("a KV page (C4)", "owned by the full slots that its entries follow", BACK),
    "indexer": (
        "the indexer's keys, part of the KV",
        "owned by the slots that the target's KV has too",
        BACK,
    ),
    "swa": ("KV pages of the sliding window", "owned by the full slots that they are the peers of", BACK),
    "draft": ("KV pages of the drafter", "owned by the slots that the target's KV has too", BACK),
}
BY_RULE = {
    "ST-C128": "c128_state",
    "ST-MAMBA": "mamba",
    "ST-SWA": "swa",
    "ST-DRAFT": "draft",
    "OWN-REF": "c128",
    "OWN-MAP": "swa",
}
BY_POOL = (
    *("ST-RING", "RPL-STATE", "MOV-ALLPOOLS", "LOC-GROUP", "LOC-OWNED", "LOC-RANGE", "LOC-UNIQ"),
    *("OWN-DFREE", "OWN-UAF", "OWN-CONSERVE", "OWN-REF"),
)
"""Rules whose findings are about the kind of pool that they name; what `BY_RULE` says is for those that name none."""
OF_MAIN = ("MOV-ALLPOOLS", "LOC-GROUP")
"""Rules of which the main pool is one of several: what is asked of the others is answered for it, too."""
PAGED = ("c4_state", "page")


def about(rule: str, pool: str | None, info: Process) -> str | None:
    """The three answers in a line; None where a rule is about KV in general, or the pool is not known."""
    found = next((each for each in info.pools if each.name == pool), None)
    kind = found.kind if found and rule in BY_POOL else BY_RULE.get(rule)
    if kind not in OF_KIND or (kind == MAIN and rule not in OF_MAIN):
        return None
    what, owner, cleaned = OF_KIND[kind]
    if found and (found.kind, found.owner) == PAGED:
        owner = "owned by the page of the sliding window, and shared with it"
    return f"{what} · {owner} · {cleaned}"
