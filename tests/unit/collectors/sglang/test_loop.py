"""Steps and quiet points of the scheduler's loop, and lengths after a result."""

import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang.growth import GrowthHooks
from speckv_debug.collectors.sglang.lengths import LengthHooks
from speckv_debug.collectors.sglang.loop import LoopHooks, ResultSteps
from tests.unit.collectors.sglang.entering import enter

DECODE = SimpleNamespace(is_decode=lambda: True)


def batch_of(*reqs, **more):
    return SimpleNamespace(reqs=list(reqs), forward_mode=DECODE, **more)


def launch(toy, loop, result, *reqs):
    enter(loop, "run_batch", batch=batch_of(*reqs))(result)


def test_a_launch_is_a_step_and_a_quiet_point_before_it(toy):
    results = ResultSteps()
    loop = LoopHooks(toy.scene, results)
    result = object()
    launch(toy, loop, result, toy.request("a", 1))
    assert toy.scene.journal.launched == 1
    assert toy.sink.of("pool_stat", "step") == [(1,)]
    assert results.launch_of(result)[0] == 1
    assert results.launch_of(object()) == (None, None)


def test_a_batch_is_known_while_it_runs(toy):
    loop, batch = LoopHooks(toy.scene, ResultSteps()), batch_of(toy.request("a", 1))
    leave = enter(loop, "run_batch", batch=batch)
    assert [who.request for who in toy.scene.activity.batch] == ["a"]
    assert toy.scene.activity.in_round == [True]
    leave(object())
    assert toy.scene.activity.batch == ()
    assert (toy.scene.activity.in_round, toy.scene.journal.phases) == ([False], ["idle"])


def test_idle_turns_say_the_pools_once(toy):
    loop = LoopHooks(toy.scene, ResultSteps())
    for _ in range(3):
        enter(loop, "on_idle")()
    assert len(toy.sink.of("pool_stat")) == 1
    assert toy.sink.notes == ["flush"]
    toy.engine.allocator.alloc(1)
    enter(loop, "on_idle")()
    assert toy.sink.of("pool_stat", "available") == [(16,), (15,)]


def test_an_exception_of_the_loop_is_noted_and_closes_the_recording(toy):
    steps = LoopHooks(toy.scene, ResultSteps()).event_loop(None)
    next(steps)
    with pytest.raises(MemoryError):
        steps.throw(MemoryError("out of slots"))
    assert toy.sink.notes == ["the scheduler's loop ended: MemoryError: out of slots"]
    assert toy.sink.closed
    assert toy.sink.waited_s <= 5, "the engine's crash is not held up"


def test_results_in_flight_are_forgotten_in_time():
    results, kept = ResultSteps(), [object() for _ in range(200)]
    for step, result in enumerate(kept):
        results.remember(result, step)
    assert results.launch_of(kept[0])[0] is None
    assert results.launch_of(kept[-1])[0] == 199


def test_a_commit_carries_the_step_of_its_result(toy):
    results = ResultSteps()
    loop, lengths = LoopHooks(toy.scene, results), LengthHooks(toy.scene, results)
    live, ended = toy.request("live", 1), toy.request("ended", 2)
    for req, finished in ((live, False), (ended, True)):
        req.kv_committed_len, req.kv_allocated_len, req.is_retracted = 10, 30, False
        req.finished = lambda finished=finished: finished
    result = SimpleNamespace(accept_lens=torch.tensor([3, 2]))
    launch(toy, loop, result, live, ended)
    launch(toy, loop, object(), live)
    leave = enter(lengths, "resolve", result=result, batch=batch_of(live, ended))
    live.kv_committed_len += 3
    leave()
    rows = toy.sink.of("lengths", "request", "step", "committed", "allocated", "cause", "cut")
    assert rows == [("live", 1, 13, 30, "verify_commit", None)]


@pytest.mark.parametrize("how", ["finished", "retracted"])
def test_a_late_commit_is_said_of_the_row_that_the_result_was_launched_in(toy, how):
    results = ResultSteps()
    loop, lengths, req = LoopHooks(toy.scene, results), LengthHooks(toy.scene, results), toy.request("a", 1)
    req.kv_committed_len, req.kv_allocated_len = 10, 30
    result = SimpleNamespace(accept_lens=torch.tensor([3]))
    launch(toy, loop, result, req)
    req.req_pool_idx, req.kv_allocated_len = None, 0
    req.finished, req.is_retracted = lambda: how == "finished", how == "retracted"
    toy.scene.rows.hand_out(1, toy.request("b"))
    leave = enter(lengths, "resolve", result=result, batch=batch_of(req))
    req.kv_committed_len += 3
    leave()
    columns = ("request", "row", "epoch", "step", "committed", "allocated", "cause", "cut")
    assert toy.sink.of("lengths", *columns) == [("a", 1, 1, 1, 13, None, "verify_commit", None)]


def commit(toy, committed, accepted, resolved=None, **more):
    """What a result that accepted `accepted` rows leaves of a request that then commits `committed`."""
    lengths, req = LengthHooks(toy.scene, ResultSteps()), toy.request("a", 1, grammar=more.get("grammar"))
    req.kv_committed_len, req.is_retracted, req.finished = 10, False, lambda: False
    result = SimpleNamespace(
        accept_lens=torch.tensor([accepted]), grammar_retained_tokens=more.get("retained")
    )
    leave = enter(lengths, "resolve", result=result, batch=batch_of(req))
    req.kv_committed_len += committed
    leave(resolved)
    return toy.sink.of("lengths", "committed", "cut")


@pytest.mark.parametrize(("retained", "resolved"), [([[7]], [[7]]), (None, [[7]])])
def test_a_grammar_that_keeps_fewer_is_said(toy, retained, resolved):
    """0.5.23 remembers what the grammar kept, 0.5.15 only returns it."""
    assert commit(toy, 1, 4, resolved, grammar=object(), retained=retained) == [(11, "grammar")]


@pytest.mark.parametrize(
    ("resolved", "more"),
    [
        ([[7, 8, 9, 7]], {}),
        ([[7, 8, 9]], {}),
        ([[7, 8, 9, 7]], {"grammar": object(), "retained": [[7, 8, 9, 7]]}),
        (None, {"grammar": object()}),
    ],
)
def test_a_commit_that_is_short_without_a_grammar_that_cut_it_has_no_excuse(toy, resolved, more):
    assert commit(toy, 3, 4, resolved, **more) == [(13, None)]


@pytest.mark.parametrize(("speculative", "cause"), [(True, "spec_prepare"), (False, "decode")])
def test_preparing_a_decode(toy, speculative, cause):
    kind = SimpleNamespace(is_none=lambda: not speculative)
    batch = batch_of(toy.request("a", 1), spec_algorithm=kind)
    enter(LengthHooks(toy.scene, ResultSteps()), "prepare_decode", self=batch)()
    assert toy.sink.of("lengths", "cause") == [(cause,)]


def test_at_level_1_a_reserve_is_told_with_its_preparation(toy, monkeypatch):
    places = SimpleNamespace(get_alloc_reserve_per_decode=lambda: 8)
    monkeypatch.setitem(sys.modules, "sglang.srt.mem_cache.common", places)
    req = toy.request("a", 1)
    req.kv_committed_len, req.kv_allocated_len = 5, 9
    batch = batch_of(req, spec_algorithm=SimpleNamespace(is_none=lambda: False))
    leave = enter(LengthHooks(replace(toy.scene, level=1), ResultSteps()), "prepare_decode", self=batch)
    req.kv_allocated_len = 13
    leave()
    columns = ("request", "committed", "allocated", "reserve", "new_allocated", "page_size", "step")
    assert toy.sink.of("reserve", *columns) == [("a", 5, 9, 8, 13, 1, 1)]
    assert toy.sink.of("lengths", "committed", "allocated", "cause") == [(5, 13, "spec_prepare")]
    assert [row["event"] for row in toy.sink.rows] == ["reserve", "lengths"]
    assert "prepare_spec" not in [t.name for t, _ in GrowthHooks(replace(toy.scene, level=1)).functions()]
