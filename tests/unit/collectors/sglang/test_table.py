"""Rows of req_to_token handed out, given back and written."""

import torch

from speckv_debug.collectors.sglang.table import TableHooks


def test_a_new_row_is_an_event_and_a_held_one_is_not(toy):
    toy.install(TableHooks)
    chunked, new = toy.request("chunked", 2), toy.request("new")
    toy.engine.table.alloc([chunked, new])
    assert toy.sink.of("row_alloc", "request", "row", "epoch") == [("new", 1, 1)]


def test_a_row_that_comes_back_has_the_next_epoch(toy):
    toy.install(TableHooks)
    first, second = toy.request("first"), toy.request("second")
    toy.engine.table.alloc([first])
    toy.engine.table.free(first)
    toy.engine.table.alloc([second])
    assert toy.sink.of("row_free", "request", "row", "epoch") == [("first", 1, 1)]
    assert toy.sink.of("row_alloc", "request", "row", "epoch")[1] == ("second", 1, 2)


def test_a_write_of_a_part_of_a_row(toy):
    toy.install(TableHooks)
    toy.request("a", 3)
    toy.engine.table.write((3, slice(4, 6)), torch.tensor([8, 9]))
    assert toy.sink.of("table_write", "row", "epoch", "start", "slots") == [(3, 1, 4, [8, 9])]


def test_writes_that_a_known_writer_records_are_silent_here(toy):
    toy.install(TableHooks)
    with toy.scene.activity.covering_rows():
        toy.engine.table.write((1, slice(0, 1)), torch.tensor([8]))
    toy.engine.table.write((torch.tensor([1]), torch.tensor([0])), torch.tensor([8]))
    toy.engine.table.write((1, slice(2, 2)), torch.tensor([], dtype=torch.int64))
    assert toy.sink.rows == []
    assert toy.failures == []
