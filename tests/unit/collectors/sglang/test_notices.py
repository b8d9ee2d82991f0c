"""Aborts and chunks become notes."""

from __future__ import annotations

from types import SimpleNamespace

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.sglang.notices import NoticeHooks
from tests.unit.collectors.sglang.entering import enter


class AbortReq:
    def __init__(self, rid, abort_all=False):
        self.rid, self.abort_all = rid, abort_all


def run(steps):
    next(steps)
    list(steps)


def test_an_abort_is_noted_and_nothing_else_that_arrives(toy):
    arriving = [AbortReq("r1"), SimpleNamespace(rid="r2"), AbortReq("", abort_all=True)]
    enter(NoticeHooks(toy.scene), "arrive", recv_reqs=arriving)
    enter(NoticeHooks(toy.scene), "arrive", recv_reqs=None)
    assert toy.sink.of("note", "level", "text") == [
        ("info", "abort of request r1 was asked for"),
        ("info", "abort of all requests was asked for"),
    ]


def test_a_chunk_says_how_far_the_prompt_is(toy):
    req = toy.request("r1", row=1, origin_input_ids=[0] * 9)
    req.kv_committed_len = 4
    run(NoticeHooks(toy.scene).chunk(Call({"req": 0}, (req,), {})))
    assert toy.sink.of("note", "text") == [("prompt of request r1 is in chunks: 4 of 9 tokens done",)]
