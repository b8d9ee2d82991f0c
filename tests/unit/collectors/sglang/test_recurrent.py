"""Recurrent state: which verify row's state is kept, as the backend or the kernels were told."""

import sys
from types import SimpleNamespace

import pytest
import torch

from speckv_debug.collectors.sglang import describe
from speckv_debug.collectors.sglang.recurrent import RecurrentHooks
from speckv_debug.collectors.sglang.scene import Scene

UTILS = "sglang.srt.speculative.spec_utils"


@pytest.fixture
def verify(toy, monkeypatch):
    """`commit_mamba_states_after_verify` of a toy; what it asks for is in `ways`."""
    ways = {"backend": True, "works_out": True}

    class Backend:
        def update_mamba_state_after_mtp_verify(self, last_correct_step_indices, model=None):
            pass

    backend = Backend()

    def _verify_commit_step_indices(*, batch):
        return batch.steps, None

    def commit_mamba_states_after_verify(target_worker, batch, prepared_step_indices=None):
        steps = prepared_step_indices or (
            module._verify_commit_step_indices(batch=batch) if ways["works_out"] else None
        )
        if ways["backend"] and steps is not None:
            backend.update_mamba_state_after_mtp_verify(
                last_correct_step_indices=steps[0] + ways.get("off", 0)
            )

    module = SimpleNamespace(
        _verify_commit_step_indices=_verify_commit_step_indices,
        commit_mamba_states_after_verify=commit_mamba_states_after_verify,
    )
    monkeypatch.setitem(sys.modules, UTILS, module)
    withdrawn = []
    toy.engine.table.mamba_pool, toy.engine.target_runner.attn_backend = SimpleNamespace(size=3), backend
    scene = toy.scene
    toy.scene = Scene(
        toy.engine, scene.journal, scene.activity, scene.rows, lambda *told: withdrawn.append(told)
    )
    hooks = RecurrentHooks(toy.scene)
    for target, hook in hooks.functions():
        toy.patches.install(target, hook)
    toy.install(lambda scene: hooks)

    def commit(prepared=None, idle=False, **how):
        ways.update(how)
        reqs = [toy.request("a", 1), toy.request("b", 3)]
        mode = SimpleNamespace(is_idle=lambda: idle)
        rows, steps = torch.tensor([1, 3]), torch.tensor([2, 0])
        batch = SimpleNamespace(forward_mode=mode, req_pool_indices=rows, steps=steps)
        with toy.scene.activity.running(batch, toy.scene.rows.batch(reqs)):
            module.commit_mamba_states_after_verify(None, batch, prepared)
        assert toy.failures == []
        return toy.sink.of("state_commit", "pool", "request", "row", "step_index"), withdrawn

    return commit


KEPT = [("mamba", "a", 1, 2), ("mamba", "b", 3, 0)]


def test_what_the_backend_is_told_counts(verify):
    assert verify() == (KEPT, [])
    assert verify(off=1)[0][2:] == [("mamba", "a", 1, 3), ("mamba", "b", 3, 1)]


def test_without_the_backend_what_was_worked_out_or_handed_over(verify):
    assert verify(backend=False) == (KEPT, [])
    assert verify((torch.tensor([1, 1]), None))[0][2:] == [("mamba", "a", 1, 1), ("mamba", "b", 3, 1)]


def test_what_a_kernel_works_out_by_itself_is_not_claimed(verify):
    told, withdrawn = verify(works_out=False)
    assert told == [] and [table for table, _ in withdrawn] == ["state_commit"]


def test_an_idle_batch_keeps_nothing(verify):
    assert verify(idle=True, works_out=False) == ([], [])


def test_the_states_are_a_pool(toy):
    assert "mamba" not in {pool["kind"] for pool in describe.pools(toy.engine)}
    toy.engine.table.mamba_pool = SimpleNamespace(size=3)
    (pool,) = [pool for pool in describe.pools(toy.engine) if pool["kind"] == "mamba"]
    assert (pool["slots"], pool["owner"]) == (3, "request")
