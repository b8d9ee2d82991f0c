"""Rows of req_to_token handed out, given back and written."""

import pytest
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


def test_a_row_that_is_given_back_twice_is_told_twice(toy):
    """The toy's pool takes the row of whoever names it, as `free_rows` of the engine's does."""
    toy.install(TableHooks)
    req, session = toy.request("a"), toy.request(None)
    toy.engine.table.alloc([req])
    session.req_pool_idx = req.req_pool_idx
    toy.engine.table.free(req)
    toy.engine.table.free(session)
    assert toy.sink.of("row_free", "request", "row", "epoch") == [("a", 1, 1), (None, 1, 1)]


def test_a_pool_that_frees_through_its_base_frees_once(toy):
    base = type(toy.engine.table)
    toy.engine.table.__class__ = type(
        "DSV4NPUReqToTokenPool", (base,), {"free": lambda self, req: base.free(self, req)}
    )
    toy.install(TableHooks)
    req = toy.request("a")
    toy.engine.table.alloc([req])
    toy.engine.table.free(req)
    toy.engine.table.alloc([req])
    toy.engine.table.free(req)
    assert toy.sink.of("row_free", "row", "epoch") == [(1, 1), (1, 2)]


def test_a_free_that_the_engine_refuses_gives_nothing_back(toy):
    toy.install(TableHooks)
    req = toy.request("a")
    toy.engine.table.alloc([req])
    toy.engine.table.rows = None
    with pytest.raises(AttributeError):
        toy.engine.table.free(req)
    assert toy.sink.of("row_free") == []
    assert toy.failures == []


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
