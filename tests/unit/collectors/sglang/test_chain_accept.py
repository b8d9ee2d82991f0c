"""Rows of `accept` where a worker verifies a chain and gives lengths only."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.calls import Call
from speckv_debug.collectors.sglang import chain_accept
from speckv_debug.collectors.sglang.chain_accept import ChainAcceptHooks
from speckv_debug.collectors.sglang.requests import Identity


def call(*args, **named):
    return Call({}, args, named)


def ints(*values):
    return torch.tensor(values)


class Worker:
    """Two requests of up to three rows; its buffers are the same in every round."""

    def __init__(self, toy, algorithm="DFLASH", ragged=None):
        toy.scheduler.server_args.speculative_algorithm = algorithm
        toy.engine.table.req_to_token[1, :16] = torch.arange(16)
        toy.engine.table.req_to_token[2, :16] = torch.arange(20, 36)
        self.toy, self.hooks = toy, ChainAcceptHooks(toy.scene)
        self.layout = None if ragged is None else SimpleNamespace(verify_lens=ints(*ragged))
        self.lens, self.tokens = ints(2, 1), ints(11, 30, 0, 21, 0, 0)

    def verify(self, batch, *inside, idle=False):
        """One worker call: prepare, the hooks `inside`, the result; then its buffers are filled anew."""
        hooks, whose = self.hooks, (Identity("a", 1, 1), Identity("b", 2, 4))
        with self.toy.scene.activity.running(batch, whose):
            outer = hooks.verify(call(batch=batch))
            next(outer)
            step(hooks.prepare(call(self=self.input(), batch=batch)))
            for hook, arguments, result in inside:
                step(hook(call(**arguments)), result)
            step_on(outer, self.result())
        self.lens.fill_(9)
        self.tokens.fill_(9)

    def input(self):
        rows = [(5, 6, 7), (9, 10, 11)]
        if self.layout is not None:
            rows = [row[:n] for row, n in zip(rows, self.layout.verify_lens.tolist(), strict=True)]
        positions = ints(*(p for row in rows for p in row))
        return SimpleNamespace(
            draft_token=positions + 5,
            positions=positions,
            draft_token_num=3,
            ragged_verify_layout=self.layout,
        )

    def batch(self, **more):
        given = {"seq_lens": ints(5, 9), "req_pool_indices": ints(1, 2), "reqs": ["a", "b"]}
        given |= {"out_cache_loc": self.input().positions + 40, "sampling_info": None}
        given["forward_mode"] = SimpleNamespace(is_idle=lambda: False)
        return SimpleNamespace(**given | more)

    def result(self):
        following = SimpleNamespace(bonus_tokens=ints(30, 21))
        return SimpleNamespace(
            accept_lens=self.lens,
            next_token_ids=self.tokens,
            new_seq_lens=ints(7, 10),
            next_draft_input=following,
        )


def step(steps, result=None):
    next(steps)
    step_on(steps, result)


def step_on(steps, result):
    with pytest.raises(StopIteration):
        steps.send(result)


def test_a_round_is_a_chain_with_lengths_and_no_index(toy):
    worker = Worker(toy)
    greedy = (worker.hooks.greedy, {"target_predict": ints(11, 30, 1, 21, 2, 3)}, (ints(1, 0), None))
    worker.verify(worker.batch(), greedy)
    a, b = toy.sink.of("accept")
    assert (a["request"], a["row"], a["layout"], a["sampling"], a["width"]) == ("a", 1, "chain", "greedy", 3)
    assert (a["seq_len"], a["accept_len"], a["num_correct_drafts"], a["new_seq_len"]) == (5, 2, 1, 7)
    assert a["draft_tokens"] == [10, 11, 12]
    assert a["predict"] == [11, 30, 0], "taken before the buffers are filled anew"
    assert (a["out_cache_loc"], a["table_slots"]) == ([45, 46, 47], [5, 6, 7])
    assert (b["block_start"], b["target_predict"], b["table_slots"]) == (3, [21, 2, 3], [29, 30, 31])
    assert "accept_index" not in a
    assert toy.failures == []


def test_ragged_rows_lie_end_to_end_and_what_comes_back_is_strided(toy):
    worker = Worker(toy, "DSPARK", ragged=(3, 1))
    worker.verify(worker.batch())
    a, b = toy.sink.of("accept")
    assert (a["width"], b["width"], b["block_start"]) == (3, 1, 3)
    assert (b["draft_tokens"], b["predict"], b["out_cache_loc"]) == ([14], [21], [49])
    assert b["table_slots"] == [29]
    assert "num_correct_drafts" not in a, "a graph accepted, and nobody saw it count"


def test_the_way_of_accepting_is_told_by_what_ran_or_by_the_batch(toy, monkeypatch):
    worker = Worker(toy)
    mixed = worker.batch(sampling_info=SimpleNamespace(is_all_greedy=False))
    worker.verify(mixed, (worker.hooks.sampled, {}, (ints(1, 0), None)))
    worker.verify(mixed)
    toy.scheduler.server_args.speculative_algorithm = "DSPARK"
    worker.verify(mixed)
    monkeypatch.setattr(chain_accept, "simulates", lambda: True)
    worker.verify(mixed, (worker.hooks.block, {}, (ints(2, 2), None)))
    assert [row["sampling"] for row in toy.sink.of("accept")[::2]] == [
        "target_only",
        "target_only",
        "rejection",
        "simulated",
    ]


def test_fused_and_finished_counts_are_taken_where_they_are_made(toy):
    worker = Worker(toy)
    fused = {"target_top1": ints(11, 30, 1, 21, 2, 3), "accept_lens_out": ints(1, 0)}
    worker.verify(worker.batch(), (worker.hooks.greedy_fused, fused, None))
    outcome = SimpleNamespace(correct_len=ints(2, 0))
    worker.verify(worker.batch(), (worker.hooks.finalize, {}, outcome))
    assert [row["num_correct_drafts"] for row in toy.sink.of("accept")] == [1, 0, 2, 0]


def test_a_prefill_and_an_idle_round_verify_nothing(toy):
    worker = Worker(toy)
    worker.verify(worker.batch(reqs=[]))
    worker.verify(worker.batch(forward_mode=SimpleNamespace(is_idle=lambda: True)))
    steps = worker.hooks.verify(call(batch=worker.batch()))
    step(steps, worker.result())
    assert toy.sink.of("accept") == []


def test_only_chains_have_these_hooks(toy):
    hooks = ChainAcceptHooks(toy.scene)
    assert list(hooks.functions()) == []
    for algorithm, cls in (("DFLASH", "DFlashWorkerV2"), ("DSPARK", "DSparkWorkerV2")):
        toy.scheduler.server_args.speculative_algorithm = algorithm
        verify = next(target for target, _ in hooks.functions())
        assert cls in verify.candidates[0]
