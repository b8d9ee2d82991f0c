"""Rows are handed out last in, first out, with epochs; writes are unchecked, as a kernel's."""

import torch

from speckv_debug.collectors.reference.observe import Observer
from speckv_debug.collectors.reference.request import Request
from speckv_debug.collectors.reference.table import RequestTable


def request(name: str) -> Request:
    return Request(id=name, prompt=[1], max_new_tokens=1)


def table() -> RequestTable:
    return RequestTable(3, 4, Observer(None, overlap=False))


def test_row_zero_is_reserved_and_the_row_freed_last_comes_first() -> None:
    rows, (a, b, c) = table(), map(request, "abc")
    rows.take_row(a)
    rows.take_row(b)
    assert (a.row, b.row) == (1, 2)
    rows.free_row(a)
    rows.take_row(c)
    assert (c.row, c.epoch) == (1, 2)


def test_a_row_keeps_stale_contents() -> None:
    rows, (a, b) = table(), map(request, "ab")
    rows.take_row(a)
    rows.write(a, 0, [7, 8])
    rows.free_row(a)
    rows.take_row(b)
    assert rows.slots(b, 0, 2) == [7, 8]


def test_a_write_beyond_the_end_lands_in_the_next_row() -> None:
    rows, (a, b) = table(), map(request, "ab")
    rows.take_row(a)
    rows.take_row(b)
    rows.write(a, 3, [7, 8])
    assert rows.slots(b, 0, 1) == [8]


def test_the_window_is_read_per_row() -> None:
    rows, (a, b) = table(), map(request, "ab")
    for each, slots in ((a, [7, 8, 9]), (b, [4, 5, 6])):
        rows.take_row(each)
        rows.write(each, 0, slots)
    assert rows.window(torch.tensor([1, 2]), torch.tensor([1, 0]), 2).tolist() == [[8, 9], [4, 5]]
