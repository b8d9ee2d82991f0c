"""Parents from first-child and next-sibling links."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.replay import trees as module
from speckv_debug.replay.columns import Columns
from speckv_debug.replay.ragged import Ragged
from speckv_debug.replay.trees import ROOT, UNLINKED, parents_of


def column(lists: list[list[int] | None]) -> Ragged:
    return Columns(pa.table({"x": pa.array(lists, pa.list_(pa.int64()))})).lists("x")


def links(parents: list[int]) -> tuple[list[int], list[int]]:
    """next_token and next_sibling of a tree whose row r hangs below `parents[r]`."""
    child, sibling, last = [-1] * len(parents), [-1] * len(parents), dict[int, int]()
    for row, parent in enumerate(parents):
        if row == 0:
            continue
        if parent in last:
            sibling[last[parent]] = row
        else:
            child[parent] = row
        last[parent] = row
    return child, sibling


TREES = st.integers(1, 12).flatmap(
    lambda w: st.tuples(*(st.just(ROOT) if row == 0 else st.integers(0, row - 1) for row in range(w)))
)


@given(st.lists(TREES, max_size=5))
def test_parents_of_any_tree(trees: list[tuple[int, ...]]) -> None:
    children, siblings = [], []
    for tree in trees:
        child, sibling = links(list(tree))
        children.append(child)
        siblings.append(sibling)
    width = np.array([len(tree) for tree in trees], dtype=np.int64)
    found = parents_of(column(children), column(siblings), width, np.zeros(len(trees), dtype=np.bool_))
    assert [found.tuple(i) for i in range(len(trees))] == trees


def test_a_chain_needs_no_links_and_a_tree_without_links_is_unknown() -> None:
    width, chain = np.array([3, 3]), np.array([True, False])
    found = parents_of(column([None, None]), column([None, None]), width, chain)
    assert [found.tuple(0), found.tuple(1)] == [(ROOT, 0, 1), None]


def test_links_that_point_nowhere_leave_their_row_unlinked() -> None:
    found = parents_of(column([[9, -1, -1]]), column([[-1, -1, 7]]), np.array([3]), np.array([False]))
    assert found.tuple(0) == (ROOT, UNLINKED, UNLINKED)


LINKS = st.lists(st.lists(st.tuples(st.integers(-2, 6), st.integers(-2, 6)), max_size=5), max_size=4)


@given(LINKS, st.integers(1, 5))
def test_compiled_code_follows_any_links_alike(linked: list[list[tuple[int, int]]], width: int) -> None:
    children, siblings = ([[pair[at] for pair in tree] for tree in linked] for at in (0, 1))
    widths = np.array([width if len(tree) == 3 else len(tree) for tree in linked], dtype=np.int64)
    found = []
    for compiled_from in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "COMPILED_FROM", compiled_from)
            chain = np.arange(len(linked)) == 3
            parents = parents_of(column(children), column(siblings), widths, chain)
        found.append([parents.tuple(i) for i in range(len(linked))])
    assert found[0] == found[1]
