"""A request's row and lengths in the three places where releases of SGLang kept them."""

from types import SimpleNamespace

import pytest

from speckv_debug.collectors.sglang.requests import (
    Rows,
    allocated_of,
    committed_of,
    is_settled,
    row_of,
)

LENGTHS = {"kv_committed_len": 7, "kv_allocated_len": 12}
SHAPES = {
    "0.5.15": SimpleNamespace(rid="a", req_pool_idx=3, **LENGTHS),
    "0.5.16": SimpleNamespace(
        rid="a", req_pool_idx=3, kv_committed_len=7, kv=SimpleNamespace(kv_allocated_len=12)
    ),
    "0.5.23": SimpleNamespace(rid="a", kv=SimpleNamespace(req_pool_idx=3, **LENGTHS)),
}


@pytest.mark.parametrize("release", SHAPES)
def test_where_a_release_keeps_them(release):
    req = SHAPES[release]
    assert (row_of(req), committed_of(req), allocated_of(req)) == (3, 7, 12)


def test_a_request_without_a_row():
    waiting = SimpleNamespace(rid="w", req_pool_idx=None, kv=None, kv_committed_len=0)
    assert row_of(waiting) is None
    assert allocated_of(waiting) == 0
    assert Rows().identity(waiting).columns() == {"request": "w", "row": None, "epoch": None}


@pytest.mark.parametrize(("finished", "retracted"), [(True, False), (False, True), (False, False)])
def test_a_late_result_commits_nothing(finished, retracted):
    req = SimpleNamespace(finished=lambda: finished, is_retracted=retracted)
    assert is_settled(req) is (finished or retracted)


def test_a_row_has_a_new_epoch_each_time():
    rows, req = Rows(), SHAPES["0.5.23"]
    assert rows.epoch(3) is None
    assert [rows.hand_out(3, req), rows.hand_out(3, req)] == [1, 2]
    assert rows.identity(req).epoch == 2
    assert rows.holder(3) is req


def test_a_row_is_taken_back_once():
    rows = Rows()
    assert rows.take_back(5), "handed out before recording began"
    rows.hand_out(5, object())
    assert rows.take_back(5)
    assert not rows.take_back(5)
