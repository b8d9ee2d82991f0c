"""Pages that rows name, each once a request, beside what a loop over the same rows says."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.replay.ledger_tenure import Tenure, TenureStore
from speckv_debug.replay.named_pages import NamedPages

ROW = st.tuples(
    st.lists(st.integers(-1, 6), max_size=12), st.integers(-1, 14), st.sets(st.integers(0, 6), max_size=2)
)


def tenures(rows: list[tuple[list[int], int, set[int]]]) -> list[Tenure]:
    """Lives whose rows name these pages, with a committed length and pages that went to the free list."""
    store, found = TenureStore(0), []
    for id, (pages, committed, stale) in enumerate(rows):
        tenure = Tenure(store, id, id, 1, None, complete=True)
        tenure.make_room(len(pages))
        tenure.pages[: len(pages)], tenure.extent = pages, len(pages)
        tenure.committed, tenure.stale = committed, stale
        found.append(tenure)
    return found


@given(st.lists(ROW, max_size=4))
def test_every_pair_is_there_once_with_what_is_known_of_it(
    rows: list[tuple[list[int], int, set[int]]],
) -> None:
    due = [
        (owner, page, page in pages[: max(committed, 0)], page in stale)
        for owner, (pages, committed, stale) in enumerate(rows)
        for page in sorted(set(pages) - {-1})
    ]
    named = NamedPages.of(tenures(rows))
    columns = (named.owner, named.page, named.kept, named.stale)
    assert list(zip(*(np.asarray(column).tolist() for column in columns), strict=True)) == due
