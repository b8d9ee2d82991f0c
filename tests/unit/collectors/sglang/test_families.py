"""Which algorithms the hooks see, and what is no longer claimed of the others."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from speckv_debug.collectors.sglang.collector import SglangCollector
from speckv_debug.collectors.sglang.coverage import recorded_tables
from speckv_debug.collectors.sglang.families import KNOWN, bypasses, needs_of


def own(name="EAGLEWorkerV2"):
    return type(name, (), {"__module__": "sglang.srt.speculative.eagle_worker_v2"})()


@pytest.mark.parametrize("algorithm", KNOWN)
def test_sglangs_own_are_seen(algorithm):
    assert bypasses(algorithm, 1, own()) is None
    assert bypasses(algorithm, 1, None) is None


def test_others_are_said_to_bypass_the_hooks():
    assert bypasses(None, None, None) is None
    assert bypasses("HOME_MADE", None, own()) == "HOME_MADE is none of SGLang's own algorithms"
    foreign = type("Worker", (), {"__module__": "elsewhere"})
    assert bypasses("EAGLE", 4, foreign()) == "its worker Worker is not SGLang's own"
    derived = type("Derived", (type(own()),), {"__module__": "elsewhere"})
    assert bypasses("EAGLE", 4, derived()) is None
    assert "one position" in str(bypasses("UNO", 4, own()))


def test_nothing_is_claimed_of_what_may_pass_by():
    hooks = dict.fromkeys(
        (
            "allocate",
            "free",
            "free_pages",
            "group_begin",
            "group_end",
            "insert",
            "evict",
            "release",
            "retract",
        ),
        "somewhere",
    )
    hooks |= dict.fromkeys(
        ("next_batch", "run_batch", "process_result", "on_idle", "checkpoint"), "somewhere"
    )
    engine = SimpleNamespace(
        algorithm="HOME_MADE",
        draft_runners=(),
        hides_drafts=False,
        caches_on_host=False,
        has_encoder=False,
        bypass="why",
        sessions=None,
        has_window=False,
        is_all_window=False,
        counts_references=False,
        has_recurrent_state=False,
        target_pool=None,
        argument=lambda name: None,
    )
    assert set(recorded_tables(engine, hooks, ())) == {
        *("free", "free_group", "release", "pool_stat", "note", "drop"),
    }


def test_a_chain_moves_and_compacts_nothing():
    needs = needs_of("DSPARK", {"move": ("move",), "accept": ("sample",), "alloc": ("allocate",)})
    assert needs["move"] == needs["compact"] == ("verify_chain",)
    assert "sample" not in needs["accept"]
    assert needs["alloc"] == ("allocate",)
    assert needs_of("UNO", {})["accept"][0] == "verify_uno"
    assert needs_of("EAGLE", {"move": ("move",)}) == {"move": ("move",)}


def test_a_recording_says_that_an_algorithm_passes_by(toy):
    toy.scheduler.server_args.speculative_algorithm = "HOME_MADE"
    toy.scheduler.tp_worker.model_runner.model_config = SimpleNamespace(context_len=64)
    SglangCollector(sink=toy.sink).bind(toy.scheduler)
    assert toy.sink.notes == [
        f"what is verified, moved and reserved may pass the hooks by: {bypasses('HOME_MADE', 1, None)}"
    ]
