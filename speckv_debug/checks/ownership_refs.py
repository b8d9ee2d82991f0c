"""OWN-REF: a page that is kept by references (C128) has as many as holders, and goes back with the last one."""

from __future__ import annotations

import numpy as np

from speckv_debug.checks.ownership_refs_evidence import explain
from speckv_debug.checks.rule import ERROR, Judgement, rule
from speckv_debug.checks.verdict import verdict
from speckv_debug.replay.lives import NEVER
from speckv_debug.replay.page_refs import PageRefs
from speckv_debug.replay.ragged import NULL, mask

LOOK_AT = "release_c128_pages, retain_c128_pages, replace_req_c128_prefix, DSV4NPUReqToTokenPool.free"


@rule(
    "OWN-REF", severity=ERROR, needs=("page_ref",), scope="page_refs", look_at=LOOK_AT, follows=("OWN-REF",)
)
def counted_by_holders(refs: PageRefs) -> Judgement:
    """A counted page has as many references as holders and goes back with the last; a row that ends leaves its sidecar and ring empty.

    The count never falls below 0; only a holder gives up a reference, and none is taken to a page that is free or that nobody
    was granted; a sidecar row names pages that it holds; at the end of a row its sidecar is zeroed and holds nothing, and its
    ring of C128 state is emptied before the next life uses it. At settled points what is available is what no reference
    holds. Nothing of this depends on how many rows a verify accepts.

    Exceptions: page 0 is a pad; a release takes duplicates out of its list, a retain does not; nodes of the tree hand pages
    on as they split; copies on the host are not counted; a replace releases what changed, then retains: where a page that
    only moved keeps another holder no harm is done, which is a note. Rings are judged where the engine was seen to empty one.

    Unknown: what rests on references, names of pages, grants or frees that are not recorded whole, or on references from before
    the recording; a granted page that took no reference and was not freed; what is not settled before the recording ends.
    """
    if not len(refs):
        return verdict(np.zeros(0, dtype=np.bool_), lambda i: explain(refs, i))
    entries, held, (fell, settled) = refs.entries, refs.held, refs.kept_back
    missing = (held != NULL) & (held <= 0)
    left, (free, due) = refs.left_named | refs.left_held, refs.available
    surely, (idle, seen) = refs.surely_left, refs.unreferenced
    broken = {
        "page_ref": refs.wrong | (refs.swapped & refs.recorded),
        "alloc": refs.left > 0,
        "free": refs.left > 0,
        "table_write": missing & (refs.until != NEVER) & refs.names_recorded,
        "row_free": (surely & (refs.ends[1] != NEVER)) | refs.left_in_ring,
        "pool_stat": (due != NULL) & (free != due),
    }
    reasons = {
        "no pages, slots or start": ~refs.told,
        "neither a count_after nor a holder": refs.over(
            (entries.told == NULL) & (entries.holder < 0), "page_ref"
        ),
        "references, names of pages or grants were not recorded whole": refs.over(refs.doubtful, "page_ref")
        | refs.over(missing & (not refs.names_recorded), "table_write")
        | refs.over(left & ~surely, "row_free"),
        "no reference to a page that was granted, nor its free": refs.over(idle & seen, "alloc"),
        "frees of the pool were not recorded": refs.over(fell & (not refs.frees_told), "page_ref"),
        "references of the page were not seen before": refs.over(refs.left == NULL, "alloc")
        | refs.over(refs.left == NULL, "free")
        | refs.over((held == NULL) & (refs.cells.page > 0) & refs.cells.kept(refs.until), "table_write")
        | refs.over(due == NULL, "pool_stat"),
        "the recording ends before it is settled": refs.over(fell & ~settled, "page_ref")
        | refs.over(missing, "table_write")
        | refs.over(idle & ~seen, "alloc")
        | refs.over(left, "row_free"),
    }
    failed = np.any([refs.over(hit, table) for table, hit in broken.items()], axis=0)
    return verdict(mask(failed), lambda i: explain(refs, i), reasons)
