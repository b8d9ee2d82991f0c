"""A table is claimed only while every hook that fills it works."""

from types import SimpleNamespace

import pytest

from speckv_debug.collectors.sglang.coverage import (
    DRAFTING,
    NEEDS,
    OPTIONAL,
    SCHEDULING,
    SESSIONS,
    SPECULATIVE,
    recorded_tables,
    untaken_tables,
)


def engine(
    algorithm="EAGLE",
    drafts=True,
    graphs=False,
    host=False,
    bypass=None,
    encoder=False,
    sessions=None,
    window=False,
    mode=None,
):
    runners = ("runner",) if drafts else ()
    return SimpleNamespace(
        algorithm=algorithm,
        draft_runners=runners,
        hides_drafts=graphs,
        caches_on_host=host,
        has_encoder=encoder,
        bypass=bypass,
        sessions=sessions,
        has_window=window,
        is_all_window=False,
        counts_references=False,
        has_recurrent_state=False,
        target_pool=None,
        argument={"disaggregation_mode": mode}.get,
    )


def everything(*more):
    names = {name for needs in (NEEDS, SPECULATIVE, DRAFTING) for hooks in needs.values() for name in hooks}
    return dict.fromkeys({*names, *SCHEDULING, "verify", "prepare_verify", *more}, "somewhere")


def test_all_hooks_there():
    tables = recorded_tables(engine(), everything(), ())
    assert {"accept", "move", "compact", "forward", "reserve", "alloc", "cache"} <= set(tables)
    assert tables[-2:] == ("note", "drop")


@pytest.mark.parametrize(
    ("hook", "table"), [("move", "move"), ("sample", "accept"), ("resolve", "lengths"), ("insert", "cache")]
)
def test_a_broken_hook_takes_its_table_away(hook, table):
    assert table in recorded_tables(engine(), everything(), ())
    assert table not in recorded_tables(engine(), everything(), {hook})
    assert table not in recorded_tables(engine(), everything() | {hook: None}, ())


def test_a_function_that_a_release_does_without_is_no_hole_but_a_broken_hook_is():
    without = {name: to for name, to in everything().items() if name not in OPTIONAL}
    assert {"alloc", "free", "move"} <= set(recorded_tables(engine(), without, ()))
    assert "alloc" not in recorded_tables(engine(), everything(), {"alloc_spec"})


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("algorithm", [None, "EAGLE"])
def test_positions_behind_an_encoder_are_not_claimed(algorithm, level):
    behind = {"accept", "forward", "table_write"}
    tables = recorded_tables(engine(algorithm), everything(), (), level)
    assert behind & {table.partition(":")[0] for table in tables}
    tables = recorded_tables(engine(algorithm, encoder=True), everything(), (), level)
    assert not behind & {table.partition(":")[0] for table in tables}
    assert {"row_alloc", "lengths", "release"} <= set(tables)
    assert behind <= untaken_tables(engine(algorithm, encoder=True), level)
    assert not {"accept", "forward"} & untaken_tables(engine(algorithm), level)


@pytest.mark.parametrize("algorithm", [None, "EAGLE"])
def test_what_a_session_does_is_told_by_hooks_of_its_own(algorithm):
    kept = {"release", "lengths", "row_free", "cache"}
    keeper = engine(algorithm, sessions="keeper")
    assert not kept & set(recorded_tables(keeper, everything(), ()))
    assert kept <= set(recorded_tables(keeper, everything(*SESSIONS), ()))
    assert not kept & set(recorded_tables(keeper, everything(*SESSIONS), {"session_close"}))


@pytest.mark.parametrize("algorithm", [None, "EAGLE"])
def test_peers_and_transfers_are_claimed_without_speculation_too(algorithm):
    peers = ("free_full", "free_swa", "swa_set", "swa_clear")
    more = {*peers, "preallocate", "received"}
    beside = engine(algorithm, window=True, mode="decode")
    assert {"swa_map", "transfer", "lengths"} <= set(recorded_tables(beside, everything(*more), ()))
    assert not {"transfer", "lengths"} & set(recorded_tables(beside, everything(*peers), ()))
    without = everything(*more) | {"swa_clear": None}
    assert "swa_map" not in recorded_tables(beside, without, ())
    assert not {"swa_map", "transfer"} & set(recorded_tables(engine(algorithm), everything(*more), ()))


def test_draft_forwards_in_graphs_are_not_seen():
    tables = recorded_tables(engine(graphs=True), everything(), ())
    assert "forward" not in tables
    assert {"forward:extend", "forward:decode", "forward:target_verify"} <= set(tables)
    assert "forward:draft" not in tables


def test_without_speculation_nothing_is_accepted():
    tables = recorded_tables(engine(algorithm=None, drafts=False), everything(), ())
    assert "forward" in tables
    assert not {"accept", "move", "compact", "reserve"} & set(tables)


def test_a_tree_that_lies_partly_on_the_host_is_not_recorded_whole():
    assert "cache" not in recorded_tables(engine(host=True), everything(), ())


def test_ngram_has_its_own_driver():
    assert "accept" not in recorded_tables(engine("NGRAM", drafts=False), everything(), ())
    tables = recorded_tables(
        engine("NGRAM", drafts=False), everything("verify_ngram", "prepare_verify_ngram"), ()
    )
    assert {"accept", "compact", "forward"} <= set(tables)


def test_the_loop_itself_must_be_known():
    assert recorded_tables(engine(), everything() | {"run_batch": None}, ()) == ("note", "drop")
