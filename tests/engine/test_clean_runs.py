"""Clean runs of the real SGLang: complete, consistent with the engine's own account, and without a finding."""

from __future__ import annotations

import pytest
from accounts import rejected_at_the_end
from claims import require_clean, require_hooks_held, require_nearly_all_judged
from running import Run
from scenarios import CLEAN, PLAIN, RELEASES

from speckv_debug.replay.engine_version import preclaims

SCENARIOS = [
    *(scenario.name for scenario in CLEAN),
    *(pytest.param(scenario.name, marks=pytest.mark.full) for scenario in RELEASES),
]
pytestmark = pytest.mark.parametrize("scenario", SCENARIOS)

EVERY_ALGORITHM = {
    "accept",
    "alloc",
    "cache",
    "forward",
    "free",
    "free_group",
    "lengths",
    "move",
    "pool_stat",
    "release",
    "reserve",
    "row_alloc",
    "row_free",
    "table_write",
}
ALWAYS_JUDGED = [
    "ACC-COUNT",
    "ACC-BLOCK",
    "ACC-CHAIN",
    "ACC-SHIFT",
    "LOC-ROW",
    "LOC-UNIQ",
    "LOC-RANGE",
    "LOC-OWNED",
    "LOC-WIDTH",
    "MOV-MISSING",
    "LEN-SEQ",
    "LEN-ORDER",
    "LEN-COMMIT",
    "LEN-STALE",
    "LEN-ALLOC",
    "LEN-READ",
    "LEN-REACH",
    "LEN-TOKEN",
    "OWN-DFREE",
    "OWN-UAF",
    "OWN-ALIAS",
    "OWN-LEAK",
    "OWN-PAGESAFE",
    "TRC-GAP",
]


def test_the_target_ended_well_and_reported(run: Run) -> None:
    assert run.exit_code == 0, run.stderr[-2000:]
    assert "reported" in run.stderr
    info = run.process.info
    assert (info.engine, info.engine_version) == ("sglang", run.scenario.release)
    assert run.process.problems == ()
    assert info.from_start


def test_every_hook_resolved_and_no_hook_failed(run: Run) -> None:
    require_hooks_held(run, EVERY_ALGORITHM)
    assert {"compact", "compact:predict"} & set(run.process.info.tables)
    assert run.of("drop") == []


def test_the_process_describes_itself(run: Run) -> None:
    scenario, info = run.scenario, run.process.info
    settings = info.settings
    assert settings["algorithm"] == scenario.algorithm
    assert settings["overlap"] is scenario.overlap
    assert settings["num_draft_tokens"] == (4 if scenario.topk == 1 else 6)
    assert (settings["num_non_draft"], settings["accept_index_rows"]) == (1, "flat")
    pool = info.pool("full")
    assert (pool.page_size, pool.reserved_slots) == (scenario.page, scenario.page)
    assert (info.pool("draft") is None) == (scenario.algorithm == "NGRAM")


def test_the_run_holds_what_it_was_made_for(run: Run) -> None:
    assert len(run.of("accept")) >= 60
    moved = sum(
        src != tgt
        for e in run.of("move")
        if e.caller == "accept"
        for src, tgt in zip(e.src, e.tgt, strict=True)
    )
    assert moved >= 20 if run.scenario.moves else moved == 0
    assert any(e.action == "match" and e.served_len for e in run.of("cache"))
    assert rejected_at_the_end(run.events)


def test_check_finds_nothing_and_judges_nearly_all(run: Run) -> None:
    require_clean(run)
    require_nearly_all_judged(run)


def test_every_rule_whose_event_occurs_has_judged_instances(run: Run) -> None:
    expected = list(ALWAYS_JUDGED)
    if run.of("move"):
        expected += ["MOV-PAIR", "MOV-HAZARD"]
    if run.of("compact"):
        expected += ["MOV-COMPACT"]
    assert {
        rule: run.report["checked"].get(rule, 0) for rule in expected if not run.report["checked"].get(rule)
    } == {}


def test_tokens_are_those_of_plain_decoding(run: Run, runs) -> None:
    assert runs[PLAIN.name].exit_code == 0, runs[PLAIN.name].stderr[-2000:]
    assert run.tokens == runs[PLAIN.name].tokens


def test_accepted_tokens_are_the_output(run: Run) -> None:
    """The token after the prompt, then each verify's choices along its path: what the client got."""
    for request, output in run.tokens.items():
        first = next(
            e.next_token for e in run.of("forward") if e.request == request and e.next_token is not None
        )
        told = [first]
        for e in (e for e in run.of("accept") if e.request == request):
            told += [e.predict[row - e.block_start] for row in e.accept_index[: e.accept_len]]
        assert told[: len(output)] == output


def test_preparation_carries_the_step_that_it_prepares(run: Run) -> None:
    launched = {e.step for e in run.of("forward")}
    for table in ("reserve", "alloc", "row_alloc"):
        assert {e.step for e in run.of(table)} <= launched
    verifies = {(e.request, e.step): e for e in run.of("accept")}
    commits = [e for e in run.of("lengths") if e.cause == "verify_commit"]
    assert commits
    ended = {(e.row, e.epoch): e.seq for e in run.of("release")}
    ahead = {
        e.committed - verifies[e.request, e.step].new_seq_len
        for e in commits
        if e.seq < ended[e.row, e.epoch]
        or not preclaims(run.process.info)  # a late result takes its claim back
    }
    assert ahead <= ({0, 1} if run.scenario.overlap and preclaims(run.process.info) else {0})


def test_lanes_are_told_apart_only_under_overlap(run: Run) -> None:
    lanes = {e.lane for e in run.events if e.table not in ("note", "drop")}
    assert lanes == ({"schedule", "forward"} if run.scenario.overlap else {None})
    if run.scenario.overlap:
        assert {e.lane for e in run.of("accept") + run.of("move")} == {"forward"}


def test_the_host_lags_one_verify_behind_only_under_overlap(run: Run) -> None:
    """What a verify starts from, less what the host had committed when it was launched.

    Old releases commit the bonus token of each round ahead, that of the round in flight, too.
    """
    claimed = preclaims(run.process.info)
    committed: dict[str, int] = {}
    accepted: dict[str, int] = {}
    lags = []
    for e in run.events:
        if e.table == "lengths":
            committed[e.request] = e.committed
        elif e.table == "accept":
            lags.append((e.seq_len - committed[e.request], accepted.get(e.request)))
            accepted[e.request] = e.accept_len
    in_time, late = (-1, -2) if claimed else (0, 0)
    assert all(lag in (in_time, (before or 0) + late) for lag, before in lags)
    assert any(lag != in_time for lag, _ in lags) is run.scenario.overlap
