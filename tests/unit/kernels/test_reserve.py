"""Growth and tails in plain integers: the figures of the smallest example and of a real run."""

import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from speckv_debug.kernels import reserve

lengths = st.integers(0, 5000)
page_sizes = st.sampled_from([1, 4, 16, 64, 128])


@given(lengths, page_sizes)
def test_floor_and_ceil_enclose_a_length_by_less_than_a_page(length: int, page_size: int) -> None:
    low, high = reserve.page_floor(length, page_size), reserve.page_ceil(length, page_size)
    assert low <= length <= high
    assert low % page_size == high % page_size == 0
    assert length - low < page_size and high - length < page_size


@given(lengths, lengths, page_sizes)
def test_pages_between_is_what_a_row_lacks(start: int, more: int, page_size: int) -> None:
    held = -(-start // page_size)
    due = -(-(start + more) // page_size)
    assert reserve.pages_between(start, start + more, page_size) == due - held
    assert reserve.pages_between(start + more, start, page_size) == 0


@pytest.mark.parametrize(
    ("topk", "num_steps", "num_draft_tokens", "page_size", "due"),
    [
        (4, 4, 10, 1, 32),  # SGLang 0.5.15 on an H200: 32 a request at page 1, topk 4
        (4, 4, 10, 64, 1024),  # and 1,024 at page 64, where each branch gets pages of its own
        (1, 3, 4, 16, 8),  # a chain never pads
        (2, 2, 4, 1, 8),
    ],
)
def test_reserve_is_two_rounds_as_the_engine_computes_it(
    topk: int, num_steps: int, num_draft_tokens: int, page_size: int, due: int
) -> None:
    assert (
        reserve.decode_reserve(
            topk=topk, num_steps=num_steps, num_draft_tokens=num_draft_tokens, page_size=page_size
        )
        == due
    )


def test_a_tree_without_draft_kv_takes_no_pages_of_its_own() -> None:
    ngram = {"topk": 4, "num_steps": 4, "num_draft_tokens": 8, "page_size": 64}
    assert reserve.decode_reserve(**ngram, draft_kv=False) == 32


def test_the_smallest_example_keeps_its_reserve_and_frees_whole_pages() -> None:
    assert reserve.grown_length(4352, 4099, 16, 128) == 4352
    assert reserve.tail_start(4099, 128) == 4224


@given(st.lists(st.tuples(lengths, lengths, st.integers(1, 300), page_sizes), min_size=1, max_size=9))
def test_arrays_grow_element_by_element(rows: list[tuple[int, int, int, int]]) -> None:
    columns: list[Any] = [np.array(column, np.int64) for column in zip(*rows, strict=True)]
    k, c, room, size = columns
    aligned = [reserve.grown_length(*row) for row in rows]
    plain = [reserve.grown_length_unaligned(*row[:3]) for row in rows]
    tails = [reserve.tail_start(row[1], row[3]) for row in rows]
    np.testing.assert_array_equal(reserve.grown_length(k, c, room, size), aligned)
    np.testing.assert_array_equal(reserve.grown_length_unaligned(k, c, room), plain)
    np.testing.assert_array_equal(reserve.tail_start(c, size), tails)


@given(lengths, lengths, st.integers(1, 300), page_sizes)
def test_growth_reaches_the_reserve_and_never_shrinks(k: int, c: int, room: int, page_size: int) -> None:
    grown = reserve.grown_length(k, c, room, page_size)
    assert grown >= max(k, c + room)
    assert grown == k or grown % page_size == 0
    assert reserve.grown_length_unaligned(k, c, room) == max(k, c + room) <= grown


@given(lengths, page_sizes)
def test_a_tail_starts_behind_the_last_live_page(length: int, page_size: int) -> None:
    start = reserve.tail_start(length, page_size)
    assert start % page_size == 0
    assert length <= start < length + page_size


def test_the_arithmetic_needs_no_torch() -> None:
    program = "import sys, speckv_debug.kernels.reserve; print(sorted({'torch', 'numpy'} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
