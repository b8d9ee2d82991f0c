"""Rows of `forward` cut from a flat batch."""

from __future__ import annotations

import time
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.hooking import Call
from speckv_debug.collectors.sglang.forwards import ForwardHooks


def ints(*values):
    return torch.tensor(values)


def batch(mode, count, lengths, slots, **more):
    flat = {"input_ids": slots + 100, "positions": slots + 200, "extend_seq_lens_cpu": None}
    named = SimpleNamespace(name=mode)
    return SimpleNamespace(
        forward_mode=named, batch_size=count, seq_lens=lengths, out_cache_loc=slots, **(flat | more)
    )


def run(toy, forward_batch, runner=None, sampled=None, **schedule):
    """One forward of the target's worker, or of another runner, for requests a and b."""
    hooks, engine = ForwardHooks(toy.scene), toy.engine
    reqs = [toy.request("a", 1), toy.request("b", 2)]
    identities = [toy.scene.rows.identity(req) for req in reqs]
    running = SimpleNamespace(reqs=reqs, chunked_req=reqs[1] if schedule.get("goes_on") else None)
    with toy.scene.activity.running(running, identities):
        worker = hooks.worker_forward(Call({}, (), {}))
        next(worker)
        arguments = {"self": runner or engine.target_runner, "forward_batch": forward_batch}
        model = hooks.model_forward(Call({}, (), arguments))
        next(model)
        for steps, result in ((model, None), (worker, SimpleNamespace(next_token_ids=sampled))):
            with pytest.raises(StopIteration):
                steps.send(result)


def test_an_extend_is_ragged_and_its_tokens_are_sampled_behind_it(toy):
    run(
        toy,
        batch("EXTEND", 2, ints(7, 2), ints(1, 2, 3, 4, 5), extend_seq_lens_cpu=[3, 2]),
        sampled=ints(40, 41),
    )
    columns = ("request", "mode", "start", "read_len", "slots", "next_token")
    assert toy.sink.of("forward", *columns) == [
        ("a", "extend", 4, 7, [1, 2, 3], 40),
        ("b", "extend", 0, 2, [4, 5], 41),
    ]


def test_a_prompt_that_goes_on_has_no_sampled_token(toy):
    forward = batch("EXTEND", 2, ints(7, 2), ints(1, 2, 3, 4, 5), extend_seq_lens_cpu=[3, 2])
    run(toy, forward, sampled=ints(40, 41), goes_on=True)
    assert toy.sink.of("forward", "request", "next_token") == [("a", 40), ("b", None)]


def test_a_decode_writes_one_slot_each(toy):
    run(toy, batch("DECODE", 2, ints(8, 3), ints(6, 7)), sampled=ints(1, 2), goes_on=True)
    rows = toy.sink.of("forward", "mode", "start", "read_len", "tokens", "next_token")
    assert rows == [("decode", 7, 8, [106], 1), ("decode", 2, 3, [107], 2)]


def test_a_verify_reads_beyond_the_length_by_its_width(toy):
    run(toy, batch("TARGET_VERIFY", 2, ints(8, 3), ints(1, 2, 3, 4)))
    rows = toy.sink.of("forward", "mode", "start", "read_len", "positions")
    assert rows == [("target_verify", 8, 10, [201, 202]), ("target_verify", 3, 5, [203, 204])]


def test_the_draft_model_writes_into_its_own_pool(toy):
    runner = SimpleNamespace(token_to_kv_pool=object())
    toy.engine._pool_names[id(runner.token_to_kv_pool)] = "draft"
    run(toy, batch("DECODE", 2, ints(8, 3), ints(1, 2, 3, 4)), runner)
    run(toy, batch("DRAFT_EXTEND_V2", 2, ints(10, 5), ints(1, 2, 3, 4)), runner)
    rows = toy.sink.of("forward", "mode", "pool", "start", "slots")
    assert rows[0] == ("draft", "draft", None, [1, 2])
    assert rows[2] == ("draft_extend", "draft", 8, [1, 2])


def test_rows_that_pad_the_batch_are_marked(toy):
    run(toy, batch("DECODE", 3, ints(8, 3, 1), ints(6, 7, 0)))
    assert toy.sink.of("forward", "request", "padded")[2] == (None, True)


@pytest.mark.parametrize("slots", [[], [0, 0, 0]])
def test_an_idle_forward_is_one_row_of_nobody_with_what_it_pads(toy, slots):
    run(toy, batch("IDLE", 0, ints(), ints(*slots)))
    columns = ("mode", "request", "row", "pool", "slots", "padded", "start")
    assert toy.sink.of("forward", *columns) == [("idle", None, None, "full", slots, True, None)]


def test_level_3_takes_device_times_and_an_open_end_where_a_forward_broke_off(toy):
    toy.scene = replace(toy.scene, level=3)
    kept = []
    toy.sink.emit_rows = lambda table, rows, columns: kept.append(columns)
    before = time.time_ns()
    run(toy, batch("DECODE", 2, ints(8, 3), ints(6, 7)))
    begin, end = kept[0]["begin_ns"].resolve(), kept[0]["end_ns"].resolve()
    assert before <= begin <= end <= time.time_ns()
    hooks = ForwardHooks(toy.scene)
    with toy.scene.activity.running(SimpleNamespace(reqs=[]), []):
        arguments = {
            "self": toy.engine.target_runner,
            "forward_batch": batch("TARGET_VERIFY", 1, ints(8), ints(1)),
        }
        steps = hooks.model_forward(Call({}, (), arguments))
        next(steps)
        assert not kept[1]["end_ns"].ready()
        with pytest.raises(RuntimeError):
            steps.throw(RuntimeError())
    assert kept[1]["end_ns"].ready() and kept[1]["end_ns"].resolve() is None
